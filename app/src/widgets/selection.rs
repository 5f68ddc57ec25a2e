//! A selection in a document of many texts, kept as positions in the sources, so that it includes what isn't drawn.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

/// A position: which text, and which byte of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DocPos {
    /// The text's number in the document.
    pub text: usize,
    /// A byte offset in its source.
    pub byte: usize,
}

/// What a drag selects by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Grapheme by grapheme, after a single press.
    Grapheme,
    /// Word by word, after a double click.
    Word,
    /// Block by block, after a triple click.
    Block,
}

/// What is selected: everything from the unit that was pressed to the unit the pointer is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// What moving the pointer selects by.
    pub unit: Unit,
    origin: (DocPos, DocPos),
    head: (DocPos, DocPos),
}

impl Selection {
    /// Selects one unit, from `start` to `end`.
    pub fn new(unit: Unit, start: DocPos, end: DocPos) -> Self {
        Self {
            unit,
            origin: (start, end),
            head: (start, end),
        }
    }

    /// Selects everything in `texts` texts.
    pub fn all(texts: usize) -> Self {
        let start = DocPos { text: 0, byte: 0 };
        let end = DocPos {
            text: texts.saturating_sub(1),
            byte: usize::MAX,
        };
        Self::new(Unit::Grapheme, start, end)
    }

    /// The same selection after `count` texts came before all others.
    pub fn shifted(self, count: usize) -> Self {
        let shift = |(start, end): (DocPos, DocPos)| {
            let moved = |at: DocPos| DocPos {
                text: at.text + count,
                ..at
            };
            (moved(start), moved(end))
        };
        Self {
            unit: self.unit,
            origin: shift(self.origin),
            head: shift(self.head),
        }
    }

    /// Moves the far end to the unit from `start` to `end`.
    pub fn extend_to(&mut self, start: DocPos, end: DocPos) {
        self.head = (start, end);
    }

    /// The first and the last position.
    pub fn bounds(&self) -> (DocPos, DocPos) {
        (
            self.origin.0.min(self.head.0),
            self.origin.1.max(self.head.1),
        )
    }

    /// Whether nothing is selected.
    pub fn is_empty(&self) -> bool {
        let (start, end) = self.bounds();
        start == end
    }

    /// The selected part of text number `text`, whose source has `len` bytes.
    pub fn range_in(&self, text: usize, len: usize) -> Option<Range<usize>> {
        let (start, end) = self.bounds();
        if text < start.text || text > end.text {
            return None;
        }
        let from = if text == start.text { start.byte } else { 0 };
        let to = if text == end.text { end.byte } else { len };
        let range = from.min(len)..to.min(len);
        (range.start < range.end).then_some(range)
    }

    /// The selected source text; texts are set apart by an empty line. `source` gives the source of a text.
    pub fn copy<'t>(&self, source: impl Fn(usize) -> Option<&'t str>) -> String {
        let (start, end) = self.bounds();
        let mut out = String::new();
        for text in start.text..=end.text {
            let Some(source) = source(text) else { continue };
            if let Some(part) = self
                .range_in(text, source.len())
                .and_then(|range| source.get(range))
            {
                if !out.is_empty() {
                    out.push_str("\n\n");
                }
                out.push_str(part);
            }
        }
        out
    }
}

/// The grapheme boundary at or before `byte` (UAX #29).
pub fn grapheme_floor(text: &str, byte: usize) -> usize {
    let byte = text.floor_char_boundary(byte.min(text.len()));
    let mut cursor = GraphemeCursor::new(byte, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(false) => cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0),
        _ => byte,
    }
}

/// The word at `byte`, or the run of what is between words.
pub fn word_at(text: &str, byte: usize) -> Range<usize> {
    let byte = byte.min(text.len());
    let line_start = text[..text.floor_char_boundary(byte)]
        .rfind('\n')
        .map_or(0, |at| at + 1);
    text[line_start..]
        .split_word_bound_indices()
        .map(|(start, word)| line_start + start..line_start + start + word.len())
        .find(|word| word.end > byte)
        .unwrap_or(text.len()..text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: usize, byte: usize) -> DocPos {
        DocPos { text, byte }
    }

    #[test]
    fn a_selection_across_texts_copies_their_source() {
        let texts = ["one **two**", "", "three", "four"];
        let mut selection = Selection::new(Unit::Grapheme, at(3, 2), at(3, 2));
        selection.extend_to(at(0, 4), at(0, 4));
        assert_eq!(
            selection.copy(|text| texts.get(text).copied()),
            "**two**\n\nthree\n\nfo"
        );
        assert_eq!(selection.range_in(2, 5), Some(0..5));
        assert_eq!(selection.range_in(1, 0), None);
    }

    #[test]
    fn everything_is_selected_without_knowing_how_long_it_is() {
        let texts = ["a", "bc"];
        let all = Selection::all(texts.len());
        assert_eq!(all.copy(|text| texts.get(text).copied()), "a\n\nbc");
    }

    #[test]
    fn a_drag_by_words_keeps_the_first_word_whichever_way_it_goes() {
        let mut selection = Selection::new(Unit::Word, at(0, 4), at(0, 7));
        selection.extend_to(at(0, 0), at(0, 3));
        assert_eq!(selection.bounds(), (at(0, 0), at(0, 7)));
        selection.extend_to(at(0, 8), at(0, 12));
        assert_eq!(selection.bounds(), (at(0, 4), at(0, 12)));
    }

    #[test]
    fn a_family_is_one_grapheme() {
        let text = "a👨‍👩‍👧b";
        for byte in 1..text.len() - 1 {
            assert_eq!(grapheme_floor(text, byte), 1);
        }
        assert_eq!(grapheme_floor(text, text.len() - 1), text.len() - 1);
    }

    #[test]
    fn words_end_where_unicode_says() {
        assert_eq!(word_at("don't stop", 2), 0..5);
        assert_eq!(word_at("don't stop", 5), 5..6);
        assert_eq!(word_at("a\nbee cee", 3), 2..5);
        assert_eq!(word_at("x", 1), 1..1);
    }
}
