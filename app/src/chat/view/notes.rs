//! Lines above the composer: what to know, what waits, what is being edited.

use std::time::Duration;

use conversation::QueuedKind;
use egui::{Align, Layout, Ui};
use host::{Intent, QueueState};
use transcript::ThreadId;

use super::{ChatAction, ChatView, intent, secondary};
use crate::shell::model::Model;
use crate::theme::Tokens;
use crate::widgets::icons::{self, icon_button};

/// Messages that are named when many were left out.
const DROPPED_SHOWN: usize = 12;

/// Messages of an opened thread, from its end, that are looked through for text from right to left.
const NEWEST_LOOKED_AT: usize = 64;

/// A line above the composer: something to know, and perhaps something to do.
pub(super) struct Note {
    pub(super) text: String,
    pub(super) restore: Option<ThreadId>,
}

impl ChatView {
    pub(super) fn notes_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        model: &Model,
        actions: &mut Vec<ChatAction>,
    ) {
        let mut closed = None;
        for (index, note) in self.notes.iter().enumerate() {
            let wanted = note_ui(ui, tokens, note);
            if wanted == NoteOutcome::Restore
                && let Some(thread) = &note.restore
            {
                actions.push(intent(Intent::RestoreThread(thread.clone())));
            }
            if wanted != NoteOutcome::Stays {
                closed = Some(index);
            }
        }
        if let Some(index) = closed {
            self.notes.remove(index);
        }
        if self.editing.is_some() {
            ui.horizontal(|ui| {
                ui.label(icons::icon_text(icons::GIT_FORK, tokens).color(tokens.text.secondary));
                ui.label(secondary(tokens, "You are editing an earlier message. Sending it goes on in a new thread; this one stays."));
                let escaped = ui.input_mut(|i| i.consume_key(egui::Modifiers::NONE, egui::Key::Escape));
                if icon_button(ui, tokens, icons::X, "Stop editing", None).clicked() || escaped {
                    self.stop_editing();
                }
            });
        }
        for view in model.seats.iter() {
            if let Some(secs) = model.wait_secs(&view.seat.id) {
                let text = format!("{} asks to wait {secs} s.", view.seat.display_name);
                ui.label(secondary(tokens, &text));
                ui.ctx().request_repaint_after(Duration::from_millis(500));
            }
        }
        let dropped = model
            .thread
            .as_ref()
            .map_or(0, |thread| thread.dropped.len());
        if dropped > 0 {
            let text = format!(
                "The oldest {dropped} messages no longer fit into the prompt and were left out."
            );
            let label = ui.label(secondary(tokens, &text));
            let titles = dropped_titles(model);
            ui.ctx()
                .accesskit_node_builder(label.id, |node| node.set_description(titles.as_str()));
            label.on_hover_text(titles);
        }
    }

    /// Says once that text from right to left is shown in the order it is stored in, when there is some.
    pub(super) fn note_direction<'a>(
        &mut self,
        messages: impl Iterator<Item = &'a transcript::Message>,
    ) {
        if self.has_noted_direction {
            return;
        }
        let mut messages = messages.take(NEWEST_LOOKED_AT);
        if messages.any(|message| has_right_to_left(message.content())) {
            self.has_noted_direction = true;
            let text = "Right-to-left text is kept and copied as it is, but shown from left to right: this version \
                can't lay it out yet.";
            self.warn(text.to_owned());
        }
    }

    pub(super) fn queue_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        model: &Model,
        actions: &mut Vec<ChatAction>,
    ) {
        let QueueState { waiting, is_paused } = model.queue();
        let Some(thread) = model.thread_id() else {
            return;
        };
        for queued in &waiting {
            ui.horizontal(|ui| {
                let text = match &queued.kind {
                    QueuedKind::Send { text, .. } => {
                        format!("Waits: {}", transcript::title_from(text))
                    }
                    QueuedKind::Retry => "Waits: another try".to_owned(),
                };
                ui.label(icons::icon_text(icons::HOURGLASS, tokens).color(tokens.text.secondary));
                ui.label(secondary(tokens, &text));
                if icon_button(ui, tokens, icons::X, "Take it back out of the queue", None)
                    .clicked()
                {
                    actions.push(intent(Intent::Unqueue(
                        thread.clone(),
                        queued.message_id.clone(),
                    )));
                }
            });
        }
        if is_paused && !waiting.is_empty() && ui.button("Go on with what waits").clicked() {
            actions.push(intent(Intent::ResumeQueue(thread.clone())));
        }
    }
}

#[derive(PartialEq, Eq)]
enum NoteOutcome {
    Stays,
    Closed,
    Restore,
}

fn note_ui(ui: &mut Ui, tokens: &Tokens, note: &Note) -> NoteOutcome {
    let mut outcome = NoteOutcome::Stays;
    ui.horizontal(|ui| {
        let (icon, color) = match note.restore {
            Some(_) => (icons::TRASH, tokens.text.secondary),
            None => (icons::WARNING, tokens.state.warn),
        };
        ui.label(icons::icon_text(icon, tokens).color(color));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if icon_button(ui, tokens, icons::X, "Dismiss", None).clicked() {
                outcome = NoteOutcome::Closed;
            }
            if note.restore.is_some() && ui.button("Bring it back").clicked() {
                outcome = NoteOutcome::Restore;
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.add(egui::Label::new(secondary(tokens, &note.text)).wrap());
            });
        });
    });
    outcome
}

/// Whether a text has letters that are written from right to left.
fn has_right_to_left(text: &str) -> bool {
    // Nearly all text is ASCII, and these blocks begin with bytes that it hasn't.
    !text.is_ascii()
        && text.chars().any(|c| {
            matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
                | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
        })
}

/// What was left out of the last prompt, a line for each message, shortened where it is many.
fn dropped_titles(model: &Model) -> String {
    let Some(thread) = &model.thread else {
        return String::new();
    };
    let titles: Vec<String> = thread
        .messages
        .iter()
        .filter(|message| thread.dropped.contains(message.id()))
        .take(DROPPED_SHOWN)
        .map(|message| {
            format!(
                "{}: {}",
                message.speaker(),
                transcript::title_from(message.content())
            )
        })
        .collect();
    let more = thread.dropped.len().saturating_sub(titles.len());
    let rest = if more > 0 {
        format!("\nand {more} more")
    } else {
        String::new()
    };
    titles.join("\n") + &rest
}
