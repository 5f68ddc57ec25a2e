//! Keys that the text field would treat otherwise than a writer of messages expects.

use egui::text::{CCursor, CCursorRange};
use egui::{Event, Id, Key, TextEdit, Ui};
use unicode_segmentation::UnicodeSegmentation;

use super::{Composer, ComposerAction};

impl Composer {
    /// Handles the keys that the text field would treat otherwise, before it sees them.
    pub(super) fn take_keys(&mut self, ui: &Ui, id: Id, actions: &mut Vec<ComposerAction>) {
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
        let holds_nothing = self.written.text.is_empty() && self.written.attachments.is_empty();
        if holds_nothing && ui.input_mut(|input| take_key(input, Key::ArrowUp)) {
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
        let at = byte_of_char(&self.written.text, caret.index.0);
        let before = self.written.text[..at]
            .graphemes(true)
            .next_back()
            .map_or(0, |g| g.chars().count());
        let after = self.written.text[at..]
            .graphemes(true)
            .next()
            .map_or(0, |g| g.chars().count());
        let index = caret.index.0;
        let mut moved_to = None;
        if before > 1 && ui.input_mut(|i| take_key(i, Key::Backspace)) {
            self.written
                .text
                .replace_range(byte_of_char(&self.written.text, index - before)..at, "");
            actions.push(ComposerAction::Changed);
            moved_to = Some(index - before);
        } else if before > 1 && ui.input_mut(|i| take_key(i, Key::ArrowLeft)) {
            moved_to = Some(index - before);
        } else if after > 1 && ui.input_mut(|i| take_key(i, Key::Delete)) {
            self.written
                .text
                .replace_range(at..byte_of_char(&self.written.text, index + after), "");
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
}

fn byte_of_char(text: &str, index: usize) -> usize {
    text.char_indices()
        .nth(index)
        .map_or(text.len(), |(at, _)| at)
}

pub(super) fn place_caret(ui: &Ui, id: Id, index: usize) {
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

pub(super) fn is_enter(event: &Event) -> bool {
    matches!(event, Event::Key { key: Key::Enter, pressed: true, modifiers, .. } if modifiers.is_none())
}

pub(super) fn is_escape(event: &Event) -> bool {
    matches!(
        event,
        Event::Key {
            key: Key::Escape,
            pressed: true,
            ..
        }
    )
}
