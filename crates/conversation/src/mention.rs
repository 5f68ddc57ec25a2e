//! Mentions: `@claude`, `@all`.

use std::ops::Range;

use transcript::SeatId;
use unicode_segmentation::UnicodeSegmentation;

use crate::Seat;
use crate::code_regions::CodeRegions;

/// The token that addresses every enabled seat.
pub const ALL: &str = "all";

/// One mention in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Where it stands, in bytes, the `@` included.
    pub range: Range<usize>,
    /// What was typed after the `@`.
    pub token: String,
    /// Whom it addresses.
    pub kind: MentionKind,
}

/// Whom a mention addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MentionKind {
    /// Every enabled seat.
    All,
    /// One enabled seat.
    Seat(SeatId),
    /// Nobody who sits at the table: no such seat, or one that is switched off.
    Unknown,
}

/// The mentions of a draft or message, in order.
///
/// A mention is an `@` at the start of the text or after a character that belongs to no word, followed by
/// `[A-Za-z0-9_-]+`, and stands outside code. It is compared without regard to case. A token that runs on
/// into other letters (`@claudé`) is taken whole and addresses nobody.
pub fn mentions(text: &str, seats: &[Seat]) -> Vec<Mention> {
    if !text.contains('@') {
        return Vec::new();
    }
    let code = CodeRegions::of(text);
    text.match_indices('@')
        .filter(|(at, _)| !code.contains(*at) && !ends_inside_a_word(&text[..*at]))
        .filter_map(|(at, _)| {
            let rest = &text[at + 1..];
            let token = &rest[..token_len(rest)];
            (!token.is_empty()).then(|| Mention {
                range: at..at + 1 + token.len(),
                token: token.to_owned(),
                kind: addressee(token, seats),
            })
        })
        .collect()
}

fn token_len(rest: &str) -> usize {
    if !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        return 0;
    }
    rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
        .unwrap_or(rest.len())
}

fn addressee(token: &str, seats: &[Seat]) -> MentionKind {
    if token.eq_ignore_ascii_case(ALL) {
        return MentionKind::All;
    }
    let enabled = || seats.iter().filter(|seat| seat.enabled);
    enabled()
        .find(|seat| seat.id.as_str() == token)
        .or_else(|| enabled().find(|seat| seat.id.as_str().eq_ignore_ascii_case(token)))
        .map_or(MentionKind::Unknown, |seat| {
            MentionKind::Seat(seat.id.clone())
        })
}

// A letter with its accents as separate code points is one grapheme that ends in a non-letter.
fn ends_inside_a_word(before: &str) -> bool {
    before
        .graphemes(true)
        .next_back()
        .is_some_and(|cluster| cluster.chars().any(|c| c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vec<Seat> {
        let mut off = Seat::new("gone", "Gone", "sidecar", "m");
        off.enabled = false;
        vec![
            Seat::new("claude", "Claude", "sidecar", "m"),
            Seat::new("gpt-5", "GPT", "sidecar", "m"),
            off,
        ]
    }

    fn found(text: &str) -> Vec<(String, MentionKind)> {
        mentions(text, &table())
            .into_iter()
            .map(|m| {
                assert_eq!(text[m.range.clone()], format!("@{}", m.token));
                (m.token, m.kind)
            })
            .collect()
    }

    fn tokens(text: &str) -> Vec<String> {
        found(text).into_iter().map(|(token, _)| token).collect()
    }

    #[test]
    fn mentions_are_found_in_order_and_without_regard_to_case() {
        assert_eq!(
            found("@GPT-5, then (@Claude)! And @ALL."),
            [
                ("GPT-5".into(), MentionKind::Seat("gpt-5".into())),
                ("Claude".into(), MentionKind::Seat("claude".into())),
                ("ALL".into(), MentionKind::All),
            ]
        );
    }

    #[test]
    fn an_at_sign_inside_a_word_is_no_mention() {
        for text in [
            "foo@claude",
            "x@gpt.com",
            "é@claude",
            "e\u{301}@claude",
            "漢@claude",
            "_@claude",
            "7@claude",
            "@ claude",
            "@",
        ] {
            assert_eq!(tokens(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn anything_but_a_word_may_stand_before_a_mention() {
        for text in [
            "@claude",
            "(@claude",
            "—@claude",
            "。@claude",
            "🙂@claude",
            "\n@claude",
        ] {
            assert_eq!(tokens(text), ["claude"], "{text}");
        }
    }

    #[test]
    fn code_holds_no_mentions() {
        assert_eq!(
            tokens("`@claude` and ``a ` @claude`` but @gpt-5"),
            ["gpt-5"]
        );
        assert_eq!(tokens("```\n@claude\n```\n@gpt-5"), ["gpt-5"]);
        assert_eq!(tokens("~~~ @claude\n```\n@claude\n~~~\n@gpt-5"), ["gpt-5"]);
        assert_eq!(tokens("> ```\n> @claude\n> ```\n\n- @gpt-5"), ["gpt-5"]);
        assert_eq!(tokens("an open fence\n```\n@claude"), Vec::<String>::new());
    }

    #[test]
    fn a_lone_backtick_hides_nothing() {
        assert_eq!(tokens("it`s @claude"), ["claude"]);
        assert_eq!(tokens("a ` here\n\nand ` there, @claude"), ["claude"]);
    }

    #[test]
    fn who_does_not_sit_at_the_table_is_unknown() {
        for text in ["@nobody", "@gone", "@claudé", "@claude-x"] {
            let all = found(text);
            assert_eq!(all.len(), 1, "{text}");
            assert_eq!(all[0].1, MentionKind::Unknown, "{text}");
        }
    }
}
