//! Regular expressions of ECMA-262: a parser, a compiler and a backtracking matcher that counts its steps, so that no
//! pattern can hold a run longer than its owner allows.

mod charset;
mod class;
mod escape;
mod matcher;
mod parser;
mod program;

pub(crate) use matcher::{Captures, MatchError};

use crate::text::Units;
use program::Inst;

/// Flags of a regular expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) indices: bool,
    pub(crate) global: bool,
    pub(crate) ignore_case: bool,
    pub(crate) multiline: bool,
    pub(crate) dot_all: bool,
    pub(crate) unicode: bool,
    pub(crate) unicode_sets: bool,
    pub(crate) sticky: bool,
}

impl Flags {
    pub(crate) fn parse(text: &str) -> Option<Flags> {
        let mut flags = Flags::default();
        for c in text.chars() {
            let flag = match c {
                'd' => &mut flags.indices,
                'g' => &mut flags.global,
                'i' => &mut flags.ignore_case,
                'm' => &mut flags.multiline,
                's' => &mut flags.dot_all,
                'u' => &mut flags.unicode,
                'v' => &mut flags.unicode_sets,
                'y' => &mut flags.sticky,
                _ => return None,
            };
            if std::mem::replace(flag, true) {
                return None;
            }
        }
        (!(flags.unicode && flags.unicode_sets)).then_some(flags)
    }

    pub(crate) fn by_code_point(self) -> bool {
        self.unicode || self.unicode_sets
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Regex {
    pub(crate) flags: Flags,
    /// Groups, the whole match included.
    pub(crate) groups: usize,
    /// Named groups in source order; a name may stand for several groups.
    pub(crate) names: Vec<(String, Vec<usize>)>,
    code: Vec<Inst>,
    sets: Vec<charset::CharSet>,
    counters: usize,
    lists: Vec<Vec<usize>>,
    bounds: Vec<(u32, u32)>,
    /// Units below 256 that can start a match, when every match starts with such a set.
    first: Option<[bool; 256]>,
}

impl Regex {
    /// Compiles a pattern; the error says what is wrong with it.
    pub(crate) fn new(pattern: Units<'_>, flags: Flags) -> Result<Regex, String> {
        let parsed = parser::parse(pattern, flags)?;
        program::compile(parsed, flags)
    }

    /// Finds the first match at or after `start`, or only at `start` when sticky.
    pub(crate) fn exec(
        &self,
        text: Units<'_>,
        start: usize,
        sticky: bool,
        interrupt: &mut dyn FnMut(u32) -> bool,
    ) -> Result<Option<Captures>, MatchError> {
        matcher::search(self, text, start, sticky, interrupt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    fn find(pattern: &str, flags: &str, text: &str) -> Option<Vec<Option<String>>> {
        let regex = Regex::new(Text::new(pattern).units(), Flags::parse(flags)?).ok()?;
        let text = Text::new(text);
        let captures = regex.exec(text.units(), 0, false, &mut |_| true).ok()??;
        Some(
            captures
                .iter()
                .map(|c| c.map(|(a, b)| text.units().slice(a, b).to_utf8()))
                .collect(),
        )
    }

    fn whole(pattern: &str, flags: &str, text: &str) -> Option<String> {
        find(pattern, flags, text).and_then(|c| c[0].clone())
    }

    #[test]
    fn patterns_match_as_the_standard_says() {
        for (pattern, flags, text, expected) in [
            ("a|ab", "", "abc", Some("a")),
            ("((a)|(ab))((c)|(bc))", "", "abc", Some("abc")),
            ("a[a-z]{2,4}", "", "abcdefghi", Some("abcde")),
            ("a[a-z]{2,4}?", "", "abcdefghi", Some("abc")),
            ("(aa|aabaac|ba|b|c)*", "", "aabaac", Some("aaba")),
            ("(z)((a+)?(b+)?(c))*", "", "zaacbbbcac", Some("zaacbbbcac")),
            ("(?=(a+))a*b\\1", "", "baaabac", Some("aba")),
            (
                "(.*?)a(?!(a+)b\\2c)\\2(.*)",
                "",
                "baaabaac",
                Some("baaabaac"),
            ),
            ("(?<=\\$)\\d+(\\.\\d*)?", "", "cost $10.50", Some("10.50")),
            ("(?<!\\$)\\b\\d+", "", "$10 20", Some("20")),
            ("^b", "m", "a\nb", Some("b")),
            (".", "su", "\u{1F600}", Some("\u{1F600}")),
            ("\\p{Lu}+", "u", "abCDe", Some("CD")),
            ("[^x]", "v", "xy", Some("y")),
            ("[\\w--\\d]+", "v", "12ab", Some("ab")),
            ("HELLO", "i", "say hello", Some("hello")),
            ("(?i:h)ello", "", "Hello", Some("Hello")),
            ("\\1(a)", "", "aa", Some("a")),
            ("x{,2}", "", "x{,2}", Some("x{,2}")),
            ("(?:a*)*b", "", "aaab", Some("aaab")),
            ("a{0}b", "", "ab", Some("b")),
        ] {
            assert_eq!(
                whole(pattern, flags, text).as_deref(),
                expected,
                "/{pattern}/{flags} on {text}"
            );
        }
    }

    #[test]
    fn captures_inside_a_loop_are_those_of_its_last_round() {
        let captures = find("(z)((a+)?(b+)?(c))*", "", "zaacbbbcac").unwrap();
        let texts: Vec<Option<&str>> = captures.iter().map(Option::as_deref).collect();
        assert_eq!(
            texts,
            [
                Some("zaacbbbcac"),
                Some("z"),
                Some("ac"),
                Some("a"),
                None,
                Some("c")
            ]
        );
    }

    #[test]
    fn malformed_patterns_are_refused() {
        for (pattern, flags) in [
            ("(", ""),
            ("a**", ""),
            ("[b-a]", ""),
            ("\\", ""),
            ("{1}", "u"),
            ("(?<a>)(?<a>)", ""),
            ("\\p{Foo}", "u"),
        ] {
            assert!(find(pattern, flags, "").is_none(), "{pattern}");
            assert!(
                Regex::new(Text::new(pattern).units(), Flags::parse(flags).unwrap()).is_err(),
                "{pattern}"
            );
        }
    }

    #[test]
    fn a_catastrophic_pattern_stops_when_told() {
        let regex = Regex::new(Text::new("(a+)+b").units(), Flags::default()).unwrap();
        let text = Text::new(&"a".repeat(40));
        let mut budget = 100;
        let outcome = regex.exec(text.units(), 0, false, &mut |_| {
            budget -= 1;
            budget > 0
        });
        assert!(matches!(outcome, Err(MatchError::Interrupted)));
    }
}
