//! The composer: where a message is written, addressed, given attachments, and sent.

use std::sync::Arc;

use conversation::{MentionKind, Seat, mentions};
use egui::text::{LayoutJob, TextFormat};
use egui::{
    CompletionPopup, Event, Frame, Galley, Id, Key, Margin, Modifiers, RectAlign, RichText, Stroke,
    Suggestion, TextBuffer, TextEdit, Ui,
};
use host::SeatView;
use transcript::{BlockKind, ContextBlock, SeatId};

use crate::theme::{SeatColor, Tokens, chip_colors, seat_color};
use crate::widgets::icons::{self, icon_button};

mod footer;
mod keys;

use keys::{is_enter, is_escape, place_caret};

/// Pasted text longer than this becomes an attachment: a text field is no place for a log file.
const MAX_INLINE_PASTE_BYTES: usize = 32 << 10;
/// Longest text that stays editable in the field.
const MAX_INLINE_BYTES: usize = 256 << 10;

/// How a message is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Each seat answers once.
    #[default]
    Chat,
    /// Plan, drafts, criticism, synthesis.
    Bonfire,
}

/// What the composer is told about the table.
pub struct ComposerContext<'a> {
    /// The seats.
    pub seats: &'a [SeatView],
    /// Who answers, as last estimated.
    pub responders: &'a [SeatId],
    /// Who answers messages without a mention; `None` leaves it to the last one addressed.
    pub default_target: Option<&'a SeatId>,
    /// Characters and tokens of the prompt, and whether messages would be left out, as last estimated.
    pub estimate: Option<(usize, usize, bool)>,
    /// Mentions that name nobody.
    pub unknown_mentions: &'a [String],
    /// Whether a turn runs.
    pub is_generating: bool,
    /// Why nothing can be sent now.
    pub blocked: Option<&'a str>,
    /// Most of the height that the composer may take.
    pub max_height: f32,
    /// Label of the key that stops a turn, for the tooltip.
    pub stop_key: &'a str,
}

/// What the person did in the composer.
#[derive(Clone, Debug, PartialEq)]
pub enum ComposerAction {
    /// Send what it holds.
    Send,
    /// End the running turn.
    Stop,
    /// The text or the attachments changed.
    Changed,
    /// Choose a file to attach.
    AttachFile,
    /// Edit the last message.
    EditLast,
    /// Address messages without a mention to this seat, or to the last one addressed.
    SetDefaultTarget(Option<SeatId>),
}

/// What a person has written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// The text.
    pub text: String,
    /// The attachments.
    pub attachments: Vec<ContextBlock>,
}

impl Written {
    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.attachments.is_empty()
    }

    /// Goes on with this where `earlier` ends.
    pub fn put_in_front(&mut self, earlier: Written) {
        let between = if earlier.text.is_empty() || self.text.is_empty() {
            ""
        } else {
            "\n\n"
        };
        self.text = format!("{}{between}{}", earlier.text, self.text);
        self.attachments.splice(0..0, earlier.attachments);
    }
}

/// What the person is writing.
#[derive(Default)]
pub struct Composer {
    /// The message so far.
    pub written: Written,
    /// How it is answered.
    pub mode: Mode,
    wants_focus: bool,
    wants_caret_at_end: bool,
    popup_was_open: bool,
    is_composing: bool,
    pastes: usize,
    layout: Option<LaidOut>,
}

/// The text's layout job, kept until the text or the seats change.
struct LaidOut {
    text: String,
    seats: Vec<SeatId>,
    dark: bool,
    job: LayoutJob,
}

impl Composer {
    /// An empty one.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }

    /// The id of the text field.
    pub fn field_id() -> Id {
        Id::unique("composer text")
    }

    /// Puts the caret into the field at the next frame.
    pub fn focus(&mut self) {
        self.wants_focus = true;
    }

    /// Replaces the text and puts the caret behind it.
    pub fn set_text(&mut self, text: String) {
        self.written.text = text;
        self.wants_caret_at_end = true;
    }

    /// Replaces everything and puts the caret behind the text.
    pub fn set(&mut self, written: Written) {
        self.written = written;
        self.wants_caret_at_end = true;
    }

    /// Takes what it holds, for sending.
    pub fn take(&mut self) -> Written {
        self.layout = None;
        std::mem::take(&mut self.written)
    }

    /// Draws it and returns what the person did.
    pub fn composer_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        context: &ComposerContext<'_>,
    ) -> Vec<ComposerAction> {
        let mut actions = Vec::new();
        let space = &tokens.metrics.space;
        let focused = ui.memory(|memory| memory.has_focus(Self::field_id()));
        let border = if focused {
            tokens.accent
        } else {
            tokens.border.strong
        };
        Frame::new()
            .fill(tokens.surface.raised)
            .stroke(Stroke::new(1.0, border))
            .corner_radius(tokens.metrics.radius.card)
            .inner_margin(Margin::symmetric(
                space.inside_card as i8,
                space.related as i8,
            ))
            .show(ui, |ui| {
                self.attachments_ui(ui, tokens, &mut actions);
                self.field_ui(ui, tokens, context, &mut actions);
                self.footer_ui(ui, tokens, context, &mut actions);
            });
        actions
    }

    fn attachments_ui(&mut self, ui: &mut Ui, tokens: &Tokens, actions: &mut Vec<ComposerAction>) {
        if self.written.attachments.is_empty() {
            return;
        }
        let mut removed = None;
        ui.horizontal_wrapped(|ui| {
            for (index, block) in self.written.attachments.iter().enumerate() {
                let name = block_name(block);
                Frame::new()
                    .fill(tokens.surface.hover)
                    .corner_radius(tokens.metrics.radius.control)
                    .inner_margin(Margin::symmetric(tokens.metrics.space.inside_chip as i8, 0))
                    .show(ui, |ui| {
                        ui.spacing_mut().item_spacing.x = tokens.metrics.space.inside_chip;
                        let size = crate::widgets::size_label(block.content.len());
                        ui.label(RichText::new(&name).size(tokens.metrics.typ.secondary));
                        ui.label(
                            RichText::new(size)
                                .size(tokens.metrics.typ.secondary)
                                .color(tokens.text.secondary),
                        );
                        if icon_button(ui, tokens, icons::X, &format!("Remove {name}"), None)
                            .clicked()
                        {
                            removed = Some(index);
                        }
                    });
            }
        });
        if let Some(index) = removed {
            self.written.attachments.remove(index);
            actions.push(ComposerAction::Changed);
        }
    }

    fn field_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        context: &ComposerContext<'_>,
        actions: &mut Vec<ComposerAction>,
    ) {
        let id = Self::field_id();
        // Esc stops a turn or closes something; it doesn't take the caret away.
        let is_escaped = ui.memory(|m| m.had_focus_last_frame(id) && !m.has_focus(id))
            && ui.input(|i| i.raw.events.iter().any(is_escape));
        if std::mem::take(&mut self.wants_focus) || is_escaped {
            ui.memory_mut(|memory| memory.request_focus(id));
        }
        if std::mem::take(&mut self.wants_caret_at_end) {
            place_caret(ui, id, self.written.text.chars().count());
        }
        if ui.memory(|memory| memory.has_focus(id)) {
            self.take_keys(ui, id, actions);
            self.take_large_pastes(ui, actions);
        }
        // An open popup takes Enter, also where the same frame brings text that closes it.
        let enter_for_popup = self.popup_was_open && ui.input(|i| i.events.iter().any(is_enter));
        let seats: Vec<Seat> = context.seats.iter().map(|view| view.seat.clone()).collect();
        let job = self.layout_job(tokens, context.seats, &seats);
        let mut layouter = |ui: &Ui, text: &dyn TextBuffer, wrap_width: f32| -> Arc<Galley> {
            let mut job = if text.as_str() == job.text {
                job.clone()
            } else {
                plain_job(tokens, text.as_str())
            };
            job.wrap.max_width = wrap_width;
            ui.fonts_mut(|fonts| fonts.layout_job(job))
        };
        let hint = if context.is_generating {
            "Write the next message; it waits until the turn has ended"
        } else {
            "Message the table. @ mentions a seat, Shift+Enter begins a new line"
        };
        let output = egui::ScrollArea::vertical()
            .id_salt("composer scroll")
            .max_height(context.max_height)
            .show(ui, |ui| {
                let field = TextEdit::multiline(&mut self.written.text)
                    .frame(Frame::NONE)
                    .hint_text(RichText::new(hint).color(tokens.text.secondary))
                    .desired_rows(2)
                    .desired_width(f32::INFINITY)
                    .return_key(egui::KeyboardShortcut::new(Modifiers::SHIFT, Key::Enter))
                    .layouter(&mut layouter);
                CompletionPopup::new(id)
                    .align(RectAlign::TOP_START)
                    .show(ui, field, |query| suggestions(query.word, context.seats))
            })
            .inner;
        self.popup_was_open = output.is_open;
        if enter_for_popup && output.accepted.is_none() && !self.is_composing {
            actions.push(ComposerAction::Send);
        }
        let response = &output.text_edit.response.response;
        response.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::MultilineTextInput, true, "Message to the table")
        });
        if response.changed() || output.accepted.is_some() {
            self.move_long_text_to_attachment();
            actions.push(ComposerAction::Changed);
        }
    }

    fn take_large_pastes(&mut self, ui: &Ui, actions: &mut Vec<ComposerAction>) {
        let mut pasted = Vec::new();
        ui.input_mut(|input| {
            input.events.retain(|event| match event {
                Event::Paste(text) if text.len() > MAX_INLINE_PASTE_BYTES => {
                    pasted.push(text.clone());
                    false
                }
                _ => true,
            });
        });
        for text in pasted {
            self.attach_text(text);
            actions.push(ComposerAction::Changed);
        }
    }

    fn move_long_text_to_attachment(&mut self) {
        if self.written.text.len() > MAX_INLINE_BYTES {
            let text = std::mem::take(&mut self.written.text);
            self.attach_text(text);
        }
    }

    /// Attaches text that was selected in the thread.
    pub fn attach_quote(&mut self, content: String) {
        self.attach("quoted text", content);
    }

    fn attach_text(&mut self, content: String) {
        self.attach("pasted text", content);
    }

    fn attach(&mut self, what: &str, content: String) {
        self.pastes += 1;
        self.written.attachments.push(ContextBlock {
            kind: BlockKind::Selection,
            path: format!("{what} {}", self.pastes),
            range: None,
            content,
            extra: serde_json::Map::new(),
        });
    }

    fn layout_job(&mut self, tokens: &Tokens, views: &[SeatView], seats: &[Seat]) -> LayoutJob {
        let ids: Vec<SeatId> = seats.iter().map(|seat| seat.id.clone()).collect();
        let dark = tokens.mode == crate::theme::Mode::Dark;
        let is_fresh =
            |l: &LaidOut| l.text == self.written.text && l.seats == ids && l.dark == dark;
        if let Some(laid_out) = self.layout.as_ref().filter(|l| is_fresh(l)) {
            return laid_out.job.clone();
        }
        let job = mention_job(tokens, &self.written.text, views, seats);
        self.layout = Some(LaidOut {
            text: self.written.text.clone(),
            seats: ids,
            dark,
            job: job.clone(),
        });
        job
    }
}

fn suggestions(word: &str, seats: &[SeatView]) -> Vec<Suggestion> {
    let Some(begun) = word.strip_prefix('@') else {
        return Vec::new();
    };
    let begun = begun.to_lowercase();
    let mut found: Vec<Suggestion> = seats
        .iter()
        .filter(|view| view.seat.enabled)
        .filter(|view| {
            let name = view.seat.display_name.to_lowercase();
            view.seat.id.as_str().to_lowercase().starts_with(&begun) || name.starts_with(&begun)
        })
        .map(|view| {
            let seat = &view.seat;
            let about = view.demo_label.unwrap_or(&seat.model);
            Suggestion::new(format!("@{} ", seat.id))
                .content(format!("@{}  {}", seat.id, seat.display_name))
                .description(about)
        })
        .collect();
    if "all".starts_with(&begun) {
        found.push(Suggestion::new("@all ").description("every seat, one after the other"));
    }
    found
}

fn plain_job(tokens: &Tokens, text: &str) -> LayoutJob {
    LayoutJob::simple(
        text.to_owned(),
        egui::FontId::proportional(tokens.metrics.typ.ui),
        tokens.text.primary,
        f32::INFINITY,
    )
}

/// The text with its mentions as chips.
fn mention_job(tokens: &Tokens, text: &str, views: &[SeatView], seats: &[Seat]) -> LayoutJob {
    let font = egui::FontId::proportional(tokens.metrics.typ.ui);
    let plain = TextFormat::simple(font.clone(), tokens.text.primary);
    let mut job = LayoutJob::default();
    let mut done = 0;
    for mention in mentions(text, seats) {
        let color = match &mention.kind {
            MentionKind::Seat(id) => {
                let place = views
                    .iter()
                    .position(|view| view.seat.id == *id)
                    .unwrap_or(0);
                super::color_of(views, place, tokens)
            }
            MentionKind::All => tokens.accent,
            MentionKind::Unknown => tokens.state.warn,
        };
        job.append(&text[done..mention.range.start], 0.0, plain.clone());
        let (color, background) = chip_colors(color, tokens);
        let chip = TextFormat {
            background,
            ..TextFormat::simple(font.clone(), color)
        };
        job.append(&text[mention.range.clone()], 0.0, chip);
        done = mention.range.end;
    }
    job.append(&text[done..], 0.0, plain);
    job
}

fn block_name(block: &ContextBlock) -> String {
    match block.range {
        Some([first, last]) => format!("{}:{first}-{last}", block.path),
        None => block.path.clone(),
    }
}

/// The colour of the seat at a place of the table.
pub fn seat_color_at(view: &SeatView, place: usize, tokens: &Tokens) -> egui::Color32 {
    let chosen = view
        .seat
        .color
        .as_deref()
        .and_then(|hex| egui::Color32::from_hex(hex).ok());
    seat_color(
        chosen.map_or(SeatColor::Nth(place), SeatColor::Chosen),
        tokens,
    )
}
