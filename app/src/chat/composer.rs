//! The composer: where a message is written, addressed, given attachments, and sent.

use std::sync::Arc;

use conversation::{MentionKind, Seat, mentions};
use egui::text::{CCursor, CCursorRange, LayoutJob, TextFormat};
use egui::{
    Align, CompletionPopup, Event, Frame, Galley, Id, Key, Layout, Margin, Modifiers, RectAlign,
    RichText, Stroke, Suggestion, TextBuffer, TextEdit, Ui, vec2,
};
use host::SeatView;
use transcript::{BlockKind, ContextBlock, SeatId};
use unicode_segmentation::UnicodeSegmentation;

use crate::theme::{SeatColor, Tokens, seat_color};
use crate::widgets::icons::{self, icon_button};

/// Pasted text longer than this becomes an attachment: a text field is no place for a log file.
const MAX_INLINE_PASTE_BYTES: usize = 32 << 10;
/// Longest text that stays editable in the field.
const MAX_INLINE_BYTES: usize = 256 << 10;

/// Room that the hint on the prompt's size needs, in points; in less it is left out.
const HINT_WIDTH: f32 = 240.0;

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

/// What the person is writing.
#[derive(Default)]
pub struct Composer {
    /// The text.
    pub text: String,
    /// The attachments.
    pub attachments: Vec<ContextBlock>,
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
        self.text = text;
        self.wants_caret_at_end = true;
    }

    /// Whether there is no text to send.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Takes what it holds, for sending.
    pub fn take(&mut self) -> (String, Vec<ContextBlock>) {
        self.layout = None;
        (
            std::mem::take(&mut self.text),
            std::mem::take(&mut self.attachments),
        )
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
        if self.attachments.is_empty() {
            return;
        }
        let mut removed = None;
        ui.horizontal_wrapped(|ui| {
            for (index, block) in self.attachments.iter().enumerate() {
                let name = block_name(block);
                Frame::new()
                    .fill(tokens.surface.hover)
                    .corner_radius(tokens.metrics.radius.control)
                    .inner_margin(Margin::symmetric(tokens.metrics.space.inside_chip as i8, 0))
                    .show(ui, |ui| {
                        ui.spacing_mut().item_spacing.x = tokens.metrics.space.inside_chip;
                        let size = crate::chat::size_label(block.content.len());
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
            self.attachments.remove(index);
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
            place_caret(ui, id, self.text.chars().count());
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
                let field = TextEdit::multiline(&mut self.text)
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

    /// Handles the keys that the text field would treat otherwise, before it sees them.
    fn take_keys(&mut self, ui: &Ui, id: Id, actions: &mut Vec<ComposerAction>) {
        ui.input(|input| {
            for event in &input.events {
                if let Event::Ime(ime) = event {
                    self.is_composing =
                        matches!(ime, egui::ImeEvent::Preedit { text, .. } if !text.is_empty());
                }
            }
        });
        if self.is_composing || self.popup_was_open {
            return;
        }
        if ui.input_mut(|input| take_key(input, Key::Enter)) {
            actions.push(ComposerAction::Send);
        }
        if self.text.is_empty() && ui.input_mut(|input| take_key(input, Key::ArrowUp)) {
            actions.push(ComposerAction::EditLast);
        }
        self.edit_by_grapheme(ui, id, actions);
    }

    /// Moves and deletes by whole graphemes where one is made of several characters: egui steps by one
    /// character, which would take an emoji family apart.
    fn edit_by_grapheme(&mut self, ui: &Ui, id: Id, actions: &mut Vec<ComposerAction>) {
        let Some(mut state) = TextEdit::load_state(ui.ctx(), id) else {
            return;
        };
        let Some(caret) = state.cursor.char_range().and_then(|range| range.single()) else {
            return;
        };
        let at = byte_of_char(&self.text, caret.index.0);
        let before = self.text[..at]
            .graphemes(true)
            .next_back()
            .map_or(0, |g| g.chars().count());
        let after = self.text[at..]
            .graphemes(true)
            .next()
            .map_or(0, |g| g.chars().count());
        let index = caret.index.0;
        let mut moved_to = None;
        if before > 1 && ui.input_mut(|i| take_key(i, Key::Backspace)) {
            self.text
                .replace_range(byte_of_char(&self.text, index - before)..at, "");
            actions.push(ComposerAction::Changed);
            moved_to = Some(index - before);
        } else if before > 1 && ui.input_mut(|i| take_key(i, Key::ArrowLeft)) {
            moved_to = Some(index - before);
        } else if after > 1 && ui.input_mut(|i| take_key(i, Key::Delete)) {
            self.text
                .replace_range(at..byte_of_char(&self.text, index + after), "");
            actions.push(ComposerAction::Changed);
            moved_to = Some(index);
        } else if after > 1 && ui.input_mut(|i| take_key(i, Key::ArrowRight)) {
            moved_to = Some(index + after);
        }
        if let Some(index) = moved_to {
            state
                .cursor
                .set_char_range(Some(CCursorRange::one(CCursor::new(index))));
            state.store(ui.ctx(), id);
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
        if self.text.len() > MAX_INLINE_BYTES {
            let text = std::mem::take(&mut self.text);
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
        self.attachments.push(ContextBlock {
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
        let is_fresh = |l: &LaidOut| l.text == self.text && l.seats == ids && l.dark == dark;
        if let Some(laid_out) = self.layout.as_ref().filter(|l| is_fresh(l)) {
            return laid_out.job.clone();
        }
        let job = mention_job(tokens, &self.text, views, seats);
        self.layout = Some(LaidOut {
            text: self.text.clone(),
            seats: ids,
            dark,
            job: job.clone(),
        });
        job
    }

    fn footer_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        context: &ComposerContext<'_>,
        actions: &mut Vec<ComposerAction>,
    ) {
        ui.add_space(tokens.metrics.space.inside_chip);
        ui.horizontal(|ui| {
            if icon_button(ui, tokens, icons::PAPERCLIP, "Attach a file", None).clicked() {
                actions.push(ComposerAction::AttachFile);
            }
            self.mode_ui(ui, tokens, actions);
            target_ui(ui, tokens, context, self.popup_was_open, actions);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                self.send_or_stop_ui(ui, tokens, context, actions);
                if ui.available_width() > HINT_WIDTH {
                    hint_ui(ui, tokens, context);
                }
            });
        });
    }

    fn mode_ui(&mut self, ui: &mut Ui, tokens: &Tokens, actions: &mut Vec<ComposerAction>) {
        let requests = conversation::bonfire::request_count();
        let (label, explanation) = match self.mode {
            Mode::Chat => ("Chat", "Each seat answers once.".to_owned()),
            Mode::Bonfire => (
                "Bonfire",
                format!(
                    "Plan, drafts, criticism, synthesis: about {requests} requests for each answer."
                ),
            ),
        };
        let text = RichText::new(label).size(tokens.metrics.typ.secondary);
        let button = ui
            .button(text)
            .on_hover_text(format!("{explanation} Click to change."));
        button.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Mode: {label}"))
        });
        if button.clicked() {
            self.mode = match self.mode {
                Mode::Chat => Mode::Bonfire,
                Mode::Bonfire => Mode::Chat,
            };
            actions.push(ComposerAction::Changed);
        }
        if self.mode == Mode::Bonfire {
            ui.label(
                RichText::new(format!("about {requests} requests"))
                    .size(tokens.metrics.typ.secondary)
                    .color(tokens.state.warn),
            );
        }
    }

    fn send_or_stop_ui(
        &self,
        ui: &mut Ui,
        tokens: &Tokens,
        context: &ComposerContext<'_>,
        actions: &mut Vec<ComposerAction>,
    ) {
        let is_empty = self.is_blank() && self.attachments.is_empty();
        let can_send = !is_empty && context.blocked.is_none();
        let label = if context.is_generating {
            "Queue"
        } else {
            "Send"
        };
        let fill = if can_send {
            tokens.accent
        } else {
            tokens.surface.hover
        };
        let color = if can_send {
            tokens.on_accent
        } else {
            tokens.text.disabled
        };
        let send = egui::Button::new(RichText::new(label).color(color))
            .fill(fill)
            .min_size(vec2(0.0, tokens.metrics.size.hit_target_min));
        let response = ui.add_enabled(can_send, send);
        let why_not = context.blocked.unwrap_or("There is nothing to send yet");
        if response
            .on_hover_text("Send (Enter)")
            .on_disabled_hover_text(why_not)
            .clicked()
        {
            actions.push(ComposerAction::Send);
        }
        if context.is_generating {
            let stop = egui::Button::new(RichText::new("Stop").color(tokens.state.error))
                .min_size(vec2(0.0, tokens.metrics.size.hit_target_min));
            let tip = format!(
                "End this turn; what has arrived is kept ({})",
                context.stop_key
            );
            if ui.add(stop).on_hover_text(tip).clicked() {
                actions.push(ComposerAction::Stop);
            }
        }
    }
}

/// Who will answer, and a menu to choose.
fn target_ui(
    ui: &mut Ui,
    tokens: &Tokens,
    context: &ComposerContext<'_>,
    is_completing: bool,
    actions: &mut Vec<ComposerAction>,
) {
    let name = |id: &SeatId| {
        let view = context.seats.iter().find(|view| view.seat.id == *id);
        view.map_or_else(|| id.to_string(), |view| view.seat.display_name.clone())
    };
    let names: Vec<String> = context.responders.iter().map(name).collect();
    let summary = if names.is_empty() {
        "nobody".to_owned()
    } else {
        names.join(", then ")
    };
    let text = RichText::new(format!("to {summary}")).size(tokens.metrics.typ.secondary);
    let button = ui.menu_button(text, |ui| {
        let last = ui.selectable_label(
            context.default_target.is_none(),
            "Whoever was addressed last",
        );
        if last.clicked() {
            actions.push(ComposerAction::SetDefaultTarget(None));
        }
        for view in context.seats.iter().filter(|view| view.seat.enabled) {
            let is_chosen = context.default_target == Some(&view.seat.id);
            if ui
                .selectable_label(is_chosen, &view.seat.display_name)
                .clicked()
            {
                actions.push(ComposerAction::SetDefaultTarget(Some(view.seat.id.clone())));
            }
        }
    });
    button.response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Speaking to {summary}"))
    });
    button
        .response
        .on_hover_text("Who answers a message without a mention");
    // While a mention is being typed it names nobody yet.
    for unknown in context.unknown_mentions.iter().filter(|_| !is_completing) {
        ui.label(icons::icon_text(icons::WARNING, tokens).color(tokens.state.warn));
        ui.label(
            RichText::new(format!("nobody is called @{unknown}"))
                .size(tokens.metrics.typ.secondary)
                .color(tokens.state.warn),
        );
    }
}

fn hint_ui(ui: &mut Ui, tokens: &Tokens, context: &ComposerContext<'_>) {
    let Some((chars, approx_tokens, over_budget)) = context.estimate else {
        return;
    };
    let amount = if approx_tokens >= 1000 {
        format!("~{:.1}k tokens", approx_tokens as f32 / 1000.0)
    } else {
        format!("~{approx_tokens} tokens")
    };
    let (text, color) = if over_budget {
        (
            format!("{amount}, older messages left out"),
            tokens.state.warn,
        )
    } else {
        (amount, tokens.text.secondary)
    };
    ui.label(
        RichText::new(text)
            .size(tokens.metrics.typ.secondary)
            .color(color),
    )
    .on_hover_text(format!(
        "The prompt for the largest seat would have {chars} characters"
    ));
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
        let chip = TextFormat {
            background: color.gamma_multiply(0.18),
            color,
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

fn byte_of_char(text: &str, index: usize) -> usize {
    text.char_indices()
        .nth(index)
        .map_or(text.len(), |(at, _)| at)
}

fn place_caret(ui: &Ui, id: Id, index: usize) {
    let mut state = TextEdit::load_state(ui.ctx(), id).unwrap_or_default();
    state
        .cursor
        .set_char_range(Some(CCursorRange::one(CCursor::new(index))));
    state.store(ui.ctx(), id);
}

/// Takes presses of a key without modifiers out of the input.
fn take_key(input: &mut egui::InputState, key: Key) -> bool {
    let mut found = false;
    input.events.retain(|event| {
        let is_it = matches!(event, Event::Key { key: k, pressed: true, modifiers, .. }
            if *k == key && modifiers.is_none());
        found |= is_it;
        !is_it
    });
    found
}

fn is_enter(event: &Event) -> bool {
    matches!(event, Event::Key { key: Key::Enter, pressed: true, modifiers, .. } if modifiers.is_none())
}

fn is_escape(event: &Event) -> bool {
    matches!(
        event,
        Event::Key {
            key: Key::Escape,
            pressed: true,
            ..
        }
    )
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
