//! Which parts of a markdown text are code.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

/// The code in a markdown text, as CommonMark reads it: spans with their backticks, fenced and indented
/// blocks whole. Asking is cheap; a text with any sign of code
/// is parsed once.
pub(crate) struct CodeRegions(Vec<Range<usize>>);

impl CodeRegions {
    /// Finds the code in `text`.
    pub(crate) fn of(text: &str) -> Self {
        let marks = ["`", "~~~", "    ", "\t"];
        if !marks.iter().any(|mark| text.contains(mark)) {
            return Self(Vec::new());
        }
        Self(
            Parser::new_ext(text, Options::ENABLE_TABLES)
                .into_offset_iter()
                .filter(|(event, _)| {
                    matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_)))
                })
                .map(|(_, range)| range)
                .collect(),
        )
    }

    /// Whether the byte at `at` lies in code.
    pub(crate) fn contains(&self, at: usize) -> bool {
        let after = self.0.partition_point(|region| region.start <= at);
        self.0[..after]
            .last()
            .is_some_and(|region| region.contains(&at))
    }
}
