//! Find in thread: a bar above the messages, hits in the source text of all of them.

use egui::{Frame, Id, Key, Margin, Modifiers, RichText, Ui};
use transcript::MessageId;

use crate::theme::{Tokens, fonts::Families};
use crate::widgets::icons::{self, icon_button};
use crate::widgets::text_field::text_field;

/// Where a hit lies: a message and bytes of its source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindHit {
    /// The message.
    pub message: MessageId,
    /// The bytes.
    pub range: std::ops::Range<usize>,
}

/// What the person did in the find bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindAction {
    /// The words to find changed.
    Changed,
    /// Go to the next hit.
    Next,
    /// Go to the previous hit.
    Previous,
    /// Close the bar.
    Close,
}

/// The state of the find bar.
#[derive(Default)]
pub struct Find {
    /// Whether the bar is seen.
    pub is_open: bool,
    /// The words to find.
    pub needle: String,
    /// All hits in order.
    pub hits: Vec<FindHit>,
    /// The hit shown.
    pub current: usize,
    wants_focus: bool,
}

impl Find {
    /// Opens the bar and puts the caret into it.
    pub fn open(&mut self) {
        self.is_open = true;
        self.wants_focus = true;
    }

    /// Takes over new hits; the shown one stays where it is if it can.
    pub fn set_hits(&mut self, hits: Vec<FindHit>) {
        let shown = self.hits.get(self.current).cloned();
        self.current = shown
            .and_then(|hit| hits.iter().position(|h| *h == hit))
            .unwrap_or(0);
        self.hits = hits;
    }

    /// The hit shown.
    pub fn current_hit(&self) -> Option<&FindHit> {
        self.hits.get(self.current)
    }

    /// Goes to another hit, around the ends.
    pub fn step(&mut self, forward: bool) {
        let count = self.hits.len();
        if count > 0 {
            let step = if forward { 1 } else { count - 1 };
            self.current = (self.current + step) % count;
        }
    }

    /// Draws the bar and returns what the person did.
    pub fn find_ui(&mut self, ui: &mut Ui, tokens: &Tokens) -> Option<FindAction> {
        let mut action = None;
        Frame::new()
            .fill(tokens.surface.raised)
            .inner_margin(Margin::symmetric(tokens.metrics.space.inside_card as i8, 4))
            .show(ui, |ui| {
                ui.horizontal(|ui| {
                    ui.label(icons::icon_text(icons::SEARCH, tokens));
                    action = self.field_ui(ui, tokens);
                    let count = match (self.needle.is_empty(), self.hits.len()) {
                        (true, _) => String::new(),
                        (false, 0) => "no hits".to_owned(),
                        (false, n) => format!("{} of {n}", self.current + 1),
                    };
                    ui.label(
                        RichText::new(count)
                            .family(Families::default().tabular)
                            .color(tokens.text.secondary),
                    );
                    if icon_button(ui, tokens, icons::CARET_UP, "Previous hit", None).clicked() {
                        action = Some(FindAction::Previous);
                    }
                    if icon_button(ui, tokens, icons::CARET_DOWN, "Next hit", None).clicked() {
                        action = Some(FindAction::Next);
                    }
                    if icon_button(ui, tokens, icons::X, "Close the search", None).clicked() {
                        action = Some(FindAction::Close);
                    }
                });
            });
        action
    }

    /// The id of the text field.
    pub fn field_id() -> Id {
        Id::unique("find in thread")
    }

    fn field_ui(&mut self, ui: &mut Ui, tokens: &Tokens) -> Option<FindAction> {
        let id = Self::field_id();
        // Esc has taken the focus away by now.
        let has_focus = ui.memory(|m| m.has_focus(id) || m.had_focus_last_frame(id));
        let mut action = None;
        if has_focus {
            ui.input_mut(|i| {
                if i.consume_key(Modifiers::SHIFT, Key::Enter) {
                    action = Some(FindAction::Previous);
                } else if i.consume_key(Modifiers::NONE, Key::Enter) {
                    action = Some(FindAction::Next);
                } else if i.consume_key(Modifiers::NONE, Key::Escape) {
                    action = Some(FindAction::Close);
                }
            });
        }
        let field = text_field(&mut self.needle)
            .id(id)
            .hint_text(RichText::new("Find in thread").color(tokens.text.secondary))
            .desired_width(260.0)
            .show(ui);
        let response = &field.response.response;
        response.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Find in thread")
        });
        if std::mem::take(&mut self.wants_focus) {
            response.request_focus();
        }
        if response.changed() {
            action = Some(FindAction::Changed);
        }
        action
    }
}
