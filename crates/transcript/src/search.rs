//! Finding text, ignoring case.
//!
//! Case is ignored by full folding: what is equal once put in lower, upper and lower
//! case is equal, so `STRASSE` finds `Straße` and `ΣΊΣΥΦΟΣ` finds `Σίσυφος`. A hit covers whole characters of
//! the text as it is written.

use std::ops::Range;
use std::sync::OnceLock;

use memchr::{memchr2_iter, memchr3, memmem};

/// Every place in a text where `needle` stands, in bytes, in order. Hits don't overlap; an empty needle is nowhere.
pub fn find_in_text(text: &str, needle: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    Needle::new(needle).find_in(text, &mut |range| ranges.push(range));
    ranges
}

/// A text to look for, in the form that is quickest to find.
enum Needle {
    /// Nothing, which is found nowhere.
    Empty,
    /// No character of it has another form, so its bytes are all there is to look for.
    Caseless(Box<memmem::Finder<'static>>),
    /// ASCII letters among it; in a text that isn't ASCII other characters may fold to them.
    Ascii(Vec<u8>, AsciiAnchor, Folded),
    /// Anything.
    Folded(Folded),
}

/// A needle after folding, and how to find where it may begin.
struct Folded {
    chars: Vec<char>,
    beginning: Beginning,
}

/// The bytes with which a character begins that folds to what the needle begins with.
enum Beginning {
    /// Only this character does.
    Character(Box<memmem::Finder<'static>>),
    Three(u8, u8, u8),
    Many(Box<[bool; 256]>),
}

/// The byte of an ASCII needle that is looked for first: the one that is rarest in text.
struct AsciiAnchor {
    at: usize,
    lower: u8,
    upper: u8,
}

impl Needle {
    fn new(needle: &str) -> Self {
        let folded: Vec<char> = needle.chars().flat_map(fold).collect();
        if folded.is_empty() {
            Self::Empty
        } else if needle.chars().all(is_caseless) {
            Self::Caseless(Box::new(memmem::Finder::new(needle).into_owned()))
        } else if folded.iter().all(char::is_ascii) {
            let bytes: Vec<u8> = folded.iter().map(|c| *c as u8).collect();
            let anchor = AsciiAnchor::rarest(&bytes);
            Self::Ascii(bytes, anchor, Folded::new(folded))
        } else {
            Self::Folded(Folded::new(folded))
        }
    }

    fn find_in(&self, text: &str, found: &mut dyn FnMut(Range<usize>)) {
        match self {
            Self::Empty => {}
            Self::Caseless(finder) => {
                let len = finder.needle().len();
                finder
                    .find_iter(text.as_bytes())
                    .for_each(|at| found(at..at + len));
            }
            Self::Ascii(needle, anchor, _) if text.is_ascii() => {
                find_ascii(text.as_bytes(), needle, anchor, found);
            }
            Self::Ascii(_, _, folded) | Self::Folded(folded) => folded.find_in(text, found),
        }
    }
}

impl AsciiAnchor {
    fn rarest(needle: &[u8]) -> Self {
        // By falling frequency in English text; what is not listed is rarer still.
        const COMMON: &[u8] = b" etaoinsrhldcumfpgwybvkxjqz";
        let commonness = |byte: &u8| {
            let rank = COMMON.iter().position(|common| common == byte);
            rank.map_or(0, |rank| COMMON.len() - rank)
        };
        let rarest = needle
            .iter()
            .enumerate()
            .min_by_key(|(_, byte)| commonness(byte));
        let (at, lower) = rarest.map_or((0, 0), |(at, byte)| (at, *byte));
        Self {
            at,
            lower,
            upper: lower.to_ascii_uppercase(),
        }
    }
}

fn find_ascii(
    text: &[u8],
    needle: &[u8],
    anchor: &AsciiAnchor,
    found: &mut dyn FnMut(Range<usize>),
) {
    let mut free_from = 0;
    for at in memchr2_iter(anchor.lower, anchor.upper, text) {
        let Some(start) = at
            .checked_sub(anchor.at)
            .filter(|start| *start >= free_from)
        else {
            continue;
        };
        let end = start + needle.len();
        if text
            .get(start..end)
            .is_some_and(|part| part.eq_ignore_ascii_case(needle))
        {
            found(start..end);
            free_from = end;
        }
    }
}

impl Folded {
    fn new(chars: Vec<char>) -> Self {
        let first = chars.first().copied().unwrap_or_default();
        Self {
            chars,
            beginning: Beginning::of(first),
        }
    }

    fn find_in(&self, text: &str, found: &mut dyn FnMut(Range<usize>)) {
        let mut at = 0;
        while let Some(skipped) = self.beginning.find(&text.as_bytes()[at..]) {
            at += skipped;
            match folded_prefix(&text[at..], &self.chars) {
                Some(len) => {
                    found(at..at + len);
                    at += len;
                }
                None => at += text[at..].chars().next().map_or(1, char::len_utf8),
            }
        }
    }
}

impl Beginning {
    fn of(first: char) -> Self {
        let mut utf8 = [0; 4];
        if is_caseless(first) {
            let only = first.encode_utf8(&mut utf8);
            return Self::Character(Box::new(memmem::Finder::new(only).into_owned()));
        }
        let mut leads: Vec<u8> = cased_characters()
            .iter()
            .filter(|(begins_with, _)| *begins_with == first)
            .map(|(_, lead)| *lead)
            .chain([first.encode_utf8(&mut utf8).as_bytes()[0]])
            .collect();
        leads.sort_unstable();
        leads.dedup();
        match leads[..] {
            [a] => Self::Three(a, a, a),
            [a, b] => Self::Three(a, b, b),
            [a, b, c] => Self::Three(a, b, c),
            _ => {
                let mut table = Box::new([false; 256]);
                leads
                    .iter()
                    .for_each(|lead| table[usize::from(*lead)] = true);
                Self::Many(table)
            }
        }
    }

    fn find(&self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Character(finder) => finder.find(bytes),
            Self::Three(a, b, c) => memchr3(*a, *b, *c, bytes),
            Self::Many(table) => bytes.iter().position(|byte| table[usize::from(*byte)]),
        }
    }
}

/// All characters that fold to something else: the first character of that, and the first byte of their own.
fn cased_characters() -> &'static [(char, u8)] {
    static CASED: OnceLock<Vec<(char, u8)>> = OnceLock::new();
    CASED.get_or_init(|| {
        let mut utf8 = [0; 4];
        ('\0'..=char::MAX)
            .filter(|c| !is_caseless(*c))
            .filter_map(|c| {
                let first = fold(c).next().filter(|first| *first != c)?;
                Some((first, c.encode_utf8(&mut utf8).as_bytes()[0]))
            })
            .collect()
    })
}

/// How many bytes at the beginning of `text` fold to exactly `needle`.
fn folded_prefix(text: &str, needle: &[char]) -> Option<usize> {
    let mut rest = needle.iter();
    for (at, c) in text.char_indices() {
        if rest.as_slice().is_empty() {
            return Some(at);
        }
        for folded in fold(c) {
            if rest.next() != Some(&folded) {
                return None;
            }
        }
    }
    rest.as_slice().is_empty().then_some(text.len())
}

/// The folded form of a character: one, or a few (`ß` is `ss`).
fn fold(c: char) -> impl Iterator<Item = char> {
    // The common cases need no tables; the others go through both.
    let (quick, slow) = if c.is_ascii() {
        (Some(c.to_ascii_lowercase()), None)
    } else if is_caseless(c) {
        (Some(c), None)
    } else {
        (None, Some(through_all_cases(c)))
    };
    quick.into_iter().chain(slow.into_iter().flatten())
}

/// Lower case, upper case and lower case again: `ẞ` has to become `ß` before it becomes `SS` and `ss`.
fn through_all_cases(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
}

/// Whether a character surely has one form only, and no other folds to it: ASCII that is no letter, and the blocks
/// of punctuation, CJK, kana, Hangul and emoji, and what lies beyond the scripts that have case.
fn is_caseless(c: char) -> bool {
    match c {
        '\0'..='\x7f' => !c.is_ascii_alphabetic(),
        '\u{2000}'..='\u{206f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' => true,
        '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ff20}' | '\u{1f300}'.. => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found<'a>(text: &'a str, needle: &str) -> Vec<&'a str> {
        find_in_text(text, needle)
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn case_is_ignored_in_every_script_and_the_text_is_given_as_written() {
        assert_eq!(found("The Table, the TABLE", "table"), ["Table", "TABLE"]);
        assert_eq!(found("Straße, STRASSE", "strasse"), ["Straße", "STRASSE"]);
        assert_eq!(
            found("Straße, STRASSE, STRAẞE", "straße"),
            ["Straße", "STRASSE", "STRAẞE"]
        );
        assert_eq!(found("Σίσυφος", "ΣΊΣΥΦΟΣ"), ["Σίσυφος"]);
        assert_eq!(found("über ÜBER", "Über"), ["über", "ÜBER"]);
        assert_eq!(found("Привет, ПРИВЕТ", "привет"), ["Привет", "ПРИВЕТ"]);
        assert_eq!(found("这是一个表格。表格", "表格"), ["表格", "表格"]);
        assert_eq!(found("é TABLE 表 table", "table"), ["TABLE", "table"]);
        assert_eq!(found("ﬁne İstanbul", "FINE"), ["ﬁne"]);
        assert_eq!(found("300 \u{212a} and 5 k", "k"), ["\u{212a}", "k"]);
        assert_eq!(found("a.b*c[d]", "B*C["), ["b*c["]);
    }

    #[test]
    fn a_hit_never_cuts_a_character_and_hits_do_not_overlap() {
        assert_eq!(found("ß", "s"), [""; 0]);
        assert_eq!(found("aßs", "ss"), ["ß"]);
        assert_eq!(found("aaaa", "aa"), ["aa", "aa"]);
        assert_eq!(found("ääää", "ÄÄ"), ["ää", "ää"]);
        assert_eq!(found("abc", ""), [""; 0]);
        assert_eq!(found("", "a"), [""; 0]);
    }

    fn folded(text: &str) -> String {
        text.chars().flat_map(through_all_cases).collect()
    }

    proptest! {
        #[test]
        fn a_hit_is_equal_to_the_needle_ignoring_case(text in "[a-cA-CßſKk表É é]{0,30}", needle in "[a-cA-CßskK表éÉ]{1,3}") {
            for hit in find_in_text(&text, &needle) {
                prop_assert_eq!(folded(&text[hit]), folded(&needle));
            }
        }

        #[test]
        fn every_occurrence_of_the_text_itself_is_found(before in "\\PC{0,10}", needle in "\\PC{1,6}", after in "\\PC{0,10}") {
            let text = format!("{before}{needle}{after}");
            let hits = find_in_text(&text, &needle);
            // An earlier hit may overlap the one that was put there.
            prop_assert!(hits.iter().any(|hit| hit.start <= before.len() && hit.end > before.len()));
        }

        #[test]
        fn the_quick_ways_find_what_the_slow_one_finds(text in "[a-cA-C .]{0,40}|[a-cA-CßſKkﬁfI表é]{0,40}", needle in "[a-cA-C.]{1,3}|[a-cſKkßﬁisI表É]{1,3}") {
            let mut slow = Vec::new();
            let folded: Vec<char> = needle.chars().flat_map(fold).collect();
            find_slowly(&text, &folded, &mut |range| slow.push(range));
            prop_assert_eq!(find_in_text(&text, &needle), slow);
        }
    }

    /// Tries every character of the text.
    fn find_slowly(text: &str, needle: &[char], found: &mut dyn FnMut(Range<usize>)) {
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            match folded_prefix(&text[at..], needle) {
                Some(len) => {
                    found(at..at + len);
                    at += len;
                }
                None => at += c.len_utf8(),
            }
        }
    }

    #[test]
    fn a_character_called_caseless_is_what_nothing_else_folds_to() {
        for c in '\0'..=char::MAX {
            let folds: Vec<char> = through_all_cases(c).collect();
            assert!(
                folds == [c] || !folds.iter().any(|folded| is_caseless(*folded)),
                "{c}"
            );
            assert!(fold(c).eq(folds), "{c}");
        }
    }
}
