//! A field for one line of text.

use egui::{Align2, TextBuffer, TextEdit};

/// A field for one line, with its text in the middle of its height.
pub fn text_field(text: &mut dyn TextBuffer) -> TextEdit<'_> {
    TextEdit::singleline(text).align(Align2::LEFT_CENTER)
}
