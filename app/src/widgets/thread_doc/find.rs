//! Finding text in a thread, drawn or not.

use std::{ops::Range, sync::Arc};

use super::{MessageId, ThreadDoc, entry::Entry};

/// A text to look for, without regard to case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The letters in lower case.
    letters: Arc<[char]>,
    /// Both cases of the first letter, when it is ASCII, for a fast search.
    first: Option<(u8, u8)>,
}

impl Query {
    /// A query for `text`; `None` when there is nothing to look for.
    pub fn new(text: &str) -> Option<Self> {
        let letters: Arc<[char]> = text.chars().flat_map(char::to_lowercase).collect();
        let first = *letters.first()?;
        let byte = u8::try_from(first).ok().filter(u8::is_ascii);
        Some(Self {
            letters,
            // The Kelvin sign and the long s are lower cased to ASCII: those letters are looked for the slow way.
            first: byte
                .filter(|byte| !matches!(byte, b'k' | b's' | b'i'))
                .map(|byte| (byte, byte.to_ascii_uppercase())),
        })
    }

    /// The first match in `text` that begins at `from` or later.
    pub fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let mut at = text.ceil_char_boundary(from);
        while at < text.len() {
            at += match self.first {
                Some((lower, upper)) => memchr::memchr2(lower, upper, &text.as_bytes()[at..])?,
                None => 0,
            };
            if let Some(len) = self.matches_at(&text[at..]) {
                return Some(at..at + len);
            }
            at = text.ceil_char_boundary(at + 1);
        }
        None
    }

    /// Length of the match that `text` begins with.
    fn matches_at(&self, text: &str) -> Option<usize> {
        let mut letters = self.letters.iter();
        for (start, found) in text.char_indices() {
            for lower in found.to_lowercase() {
                match letters.next() {
                    Some(&letter) if letter == lower => {}
                    Some(_) => return None,
                    // The match ends inside of one character's lower case form.
                    None => return Some(start + found.len_utf8()),
                }
            }
            if letters.len() == 0 {
                return Some(start + found.len_utf8());
            }
        }
        None
    }

    /// All matches in `text`.
    pub fn find_all<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        let mut from = 0;
        std::iter::from_fn(move || {
            let found = self.find(text, from)?;
            from = found.end;
            Some(found)
        })
    }
}

/// Where a query was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindHit {
    /// The message.
    pub message: MessageId,
    /// Bytes of its source.
    pub range: Range<usize>,
}

impl ThreadDoc {
    /// Marks every match of `query` in what is visible, until told otherwise.
    pub fn mark_matches(&mut self, query: Option<Query>) {
        self.content.query = query;
    }

    /// The next match after `hit`, or before it when not `forward`, from the other end when there is none there.
    ///
    /// Looks at message after message, so its cost is that of the texts up to the match.
    pub fn find_next(
        &self,
        query: &Query,
        hit: Option<&FindHit>,
        forward: bool,
    ) -> Option<FindHit> {
        let count = self.len();
        let origin = hit.and_then(|hit| self.content.index.get(&hit.message).copied());
        let last = count.checked_sub(1)?;
        let start = origin.unwrap_or(if forward { 0 } else { last });
        // The message of the last hit is visited twice: for what is beyond the hit, and at the end for the rest.
        for step in 0..=count {
            let at = if forward {
                (start + step) % count
            } else {
                (start + 2 * count - step) % count
            };
            let beyond = hit.filter(|_| step == 0 && origin.is_some());
            let text = self.content.entries.get(at).map(Entry::source)?;
            let range = match (forward, beyond) {
                (true, beyond) => query.find(text, beyond.map_or(0, |hit| hit.range.end)),
                (false, beyond) => {
                    let limit = beyond.map_or(text.len(), |hit| hit.range.start);
                    query
                        .find_all(text)
                        .take_while(|found| found.end <= limit)
                        .last()
                }
            };
            if let Some(range) = range {
                return Some(FindHit {
                    message: self.content.entries[at].view.id.clone(),
                    range,
                });
            }
        }
        None
    }

    /// Scrolls to a hit and marks its block for a moment.
    pub fn jump_to_hit(&mut self, hit: &FindHit) -> bool {
        self.jump_to_byte(&hit.message, hit.range.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(query: &str, text: &str) -> Vec<String> {
        let query = Query::new(query).unwrap();
        query
            .find_all(text)
            .map(|range| text[range].to_owned())
            .collect()
    }

    #[test]
    fn case_makes_no_difference_in_any_script() {
        assert_eq!(found("Stream", "a stream, STREAMS"), ["stream", "STREAM"]);
        assert_eq!(found("é漢", "É漢 e漢 é漢"), ["É漢", "é漢"]);
        assert_eq!(found("kelvin", "\u{212A}elvin"), ["\u{212A}elvin"]);
    }

    #[test]
    fn matches_do_not_overlap_and_an_empty_query_is_none() {
        assert_eq!(found("aa", "aaaaa").len(), 2);
        assert_eq!(Query::new(""), None);
    }
}
