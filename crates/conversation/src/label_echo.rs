//! Speaker labels that a model writes into its own reply.
//!
//! Prompts label every message but the seat's own with its speaker, so models are tempted to label their
//! replies too. A seat's own label at the start of its reply is taken off, once. A line that begins with
//! somebody else's label is only reported: the reply stays one message of the seat that wrote it.

use transcript::SeatId;

use crate::Seat;
use crate::code_regions::CodeRegions;
use crate::speaker_names::{SYSTEM, USER, name_with_id, plain_name};

/// A line indented further is code.
const INDENT_MAX: usize = 3;

/// The reply without the seat's own label at its start. Code at the start is left alone.
pub fn strip_own_label<'a>(reply: &'a str, seat: &Seat) -> &'a str {
    match decide(reply, &own_labels(seat), true) {
        Decision::Strip(label_end) => reply[label_end..]
            .trim_start_matches(BLANKS)
            .trim_start_matches(LINE_ENDS),
        Decision::Keep | Decision::Wait => reply,
    }
}

/// [`strip_own_label`] for a reply that arrives in pieces: whatever the pieces, what it lets through adds up
/// to the same text. It holds text back only while that could still be the beginning of a label.
#[derive(Debug)]
pub struct LabelStripper {
    labels: Vec<String>,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Holds the reply so far.
    Deciding(String),
    /// The label is off; the blanks behind it go too.
    SkippingBlanks,
    /// And the line ends behind those.
    SkippingLineEnds,
    Passing,
}

impl LabelStripper {
    /// For one reply of `seat`.
    pub fn new(seat: &Seat) -> Self {
        Self {
            labels: own_labels(seat),
            phase: Phase::Deciding(String::new()),
        }
    }

    /// Takes the next piece; gives back what can be shown now, which may be empty.
    pub fn feed(&mut self, delta: &str) -> String {
        if !matches!(self.phase, Phase::Deciding(_)) {
            return self.skip(delta).to_owned();
        }
        self.decide_with(delta, false)
    }

    /// The reply has ended: gives back what was held.
    pub fn finish(&mut self) -> String {
        match self.phase {
            Phase::Deciding(_) => self.decide_with("", true),
            _ => String::new(),
        }
    }

    fn decide_with(&mut self, delta: &str, finished: bool) -> String {
        let Phase::Deciding(held) = &mut self.phase else {
            return String::new();
        };
        held.push_str(delta);
        match decide(held, &self.labels, finished) {
            Decision::Wait => String::new(),
            Decision::Keep => {
                let shown = std::mem::take(held);
                self.phase = Phase::Passing;
                shown
            }
            Decision::Strip(label_end) => {
                let rest = held.split_off(label_end);
                self.phase = Phase::SkippingBlanks;
                self.skip(&rest).to_owned()
            }
        }
    }

    fn skip<'a>(&mut self, text: &'a str) -> &'a str {
        let mut rest = text;
        if matches!(self.phase, Phase::SkippingBlanks) {
            rest = rest.trim_start_matches(BLANKS);
            if rest.starts_with(LINE_ENDS) {
                self.phase = Phase::SkippingLineEnds;
            } else if !rest.is_empty() {
                self.phase = Phase::Passing;
            }
        }
        if matches!(self.phase, Phase::SkippingLineEnds) {
            rest = rest.trim_start_matches(LINE_ENDS);
            if !rest.is_empty() {
                self.phase = Phase::Passing;
            }
        }
        rest
    }
}

/// Whose label a reply of `own` writes at the start of a line, outside code: another seat's, the person's
/// (`user`) or the table's (`system`). The first one, where there are several.
pub fn foreign_label(reply: &str, seats: &[Seat], own: &SeatId) -> Option<SeatId> {
    if !reply.contains('[') {
        return None;
    }
    let own_names: Vec<String> = seats
        .iter()
        .filter(|seat| seat.id == *own)
        .flat_map(names)
        .collect();
    let mut others: Vec<(SeatId, Vec<String>)> = vec![
        (SeatId::USER.into(), labels(USER).to_vec()),
        (SeatId::SYSTEM.into(), labels(SYSTEM).to_vec()),
    ];
    for seat in seats.iter().filter(|seat| seat.id != *own) {
        let forms = names(seat)
            .iter()
            .filter(|name| !own_names.contains(name))
            .flat_map(|name| labels(name))
            .filter(|label| has_colon(label))
            .collect();
        others.push((seat.id.clone(), forms));
    }
    let code = CodeRegions::of(reply);
    let mut line_start = 0;
    for line in reply.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if !code.contains(line_start + indent) {
            let speaker = others
                .iter()
                .find(|(_, labels)| label_len(&line[indent..], labels).is_some());
            if let Some((id, _)) = speaker {
                return Some(id.clone());
            }
        }
        line_start += line.len();
    }
    None
}

const BLANKS: [char; 2] = [' ', '\t'];
const LINE_ENDS: [char; 2] = ['\r', '\n'];

fn names(seat: &Seat) -> Vec<String> {
    let mut names = vec![plain_name(seat), name_with_id(seat)];
    if seat.id.as_str() != names[0] {
        names.push(seat.id.as_str().to_owned());
    }
    names
}

fn own_labels(seat: &Seat) -> Vec<String> {
    names(seat).iter().flat_map(|name| labels(name)).collect()
}

/// The forms in which models write a label.
fn labels(name: &str) -> [String; 5] {
    [
        format!("[{name}]:"),
        format!("**[{name}]:**"),
        format!("**[{name}]**:"),
        format!("[{name}]"),
        format!("**[{name}]**"),
    ]
}

fn has_colon(label: &str) -> bool {
    label.trim_end_matches('*').ends_with(':')
}

enum Decision {
    /// More text is needed.
    Wait,
    /// There is no label.
    Keep,
    /// The label ends at this byte.
    Strip(usize),
}

fn decide(reply: &str, labels: &[String], finished: bool) -> Decision {
    let text = reply.trim_start();
    let lead = &reply[..reply.len() - text.len()];
    let indent = lead.rsplit(LINE_ENDS).next().unwrap_or_default();
    if !text.is_empty() && (indent.len() > INDENT_MAX || indent.contains('\t')) {
        return Decision::Keep;
    }
    let undecided = |label: &String| match_label(text, label) == Match::SoFar;
    if !finished && labels.iter().any(undecided) {
        return Decision::Wait;
    }
    match label_len(text, labels) {
        Some(len) => Decision::Strip(lead.len() + len),
        None => Decision::Keep,
    }
}

/// The length of the label that `text` begins with. A label without a colon must be followed by a blank, a
/// line end or nothing, for `[name](…)` is a link.
fn label_len(text: &str, labels: &[String]) -> Option<usize> {
    labels
        .iter()
        .filter_map(|label| match match_label(text, label) {
            Match::Whole(len) => {
                let rest = &text[len..];
                let stands_alone = rest.is_empty() || rest.starts_with(char::is_whitespace);
                (stands_alone || has_colon(label)).then_some(len)
            }
            Match::SoFar | Match::No => None,
        })
        .max()
}

#[derive(PartialEq, Eq)]
enum Match {
    /// The text begins with the label, which takes this many bytes of it.
    Whole(usize),
    /// The text is the beginning of the label, or the label without the character that must follow.
    SoFar,
    No,
}

fn match_label(text: &str, label: &str) -> Match {
    let mut chars = text.char_indices();
    for expected in label.chars() {
        match chars.next() {
            None => return Match::SoFar,
            Some((_, c)) if c == expected || c.to_lowercase().eq(expected.to_lowercase()) => {}
            Some(_) => return Match::No,
        }
    }
    match chars.next() {
        Some((at, _)) => Match::Whole(at),
        None if has_colon(label) => Match::Whole(text.len()),
        None => Match::SoFar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn claude() -> Seat {
        Seat::new("claude-1", "Claude", "sidecar", "m")
    }

    #[test]
    fn the_seats_own_label_is_taken_off_once() {
        for (reply, stripped) in [
            ("[Claude]: Hello", "Hello"),
            ("[claude]:\n\n    let x;", "    let x;"),
            ("\n  [Claude] Hello", "Hello"),
            ("**[Claude]:** Hello", "Hello"),
            ("**[Claude]**: Hello", "Hello"),
            ("[claude-1]: Hello", "Hello"),
            ("[Claude (claude-1)]: Hello", "Hello"),
            ("[Claude]: [Claude]: Hello", "[Claude]: Hello"),
            ("[Claude]:", ""),
        ] {
            assert_eq!(strip_own_label(reply, &claude()), stripped, "{reply:?}");
        }
    }

    #[test]
    fn what_is_no_label_of_the_seat_stays() {
        for reply in [
            "Hello",
            "",
            " ",
            "[Claude](https://example.org) is a link",
            "[Claude][1]",
            "[GPT]: Hello",
            "Claude: Hello",
            "Hello [Claude]: there",
            "```\n[Claude]: in code\n```",
            "    [Claude]: in code",
            "\t[Claude]: in code",
            "`[Claude]:` is my label",
        ] {
            assert_eq!(strip_own_label(reply, &claude()), reply);
        }
    }

    #[test]
    fn text_is_held_back_only_while_it_may_be_a_label() {
        let mut stripper = LabelStripper::new(&claude());
        let shown: Vec<String> = ["[Cl", "own", "s]"].map(|d| stripper.feed(d)).to_vec();
        assert_eq!(shown, ["", "[Clown", "s]"]);

        let mut stripper = LabelStripper::new(&claude());
        let shown: Vec<String> = ["[Claude", "]", ":", " ", "\n", "Hi", " "]
            .map(|d| stripper.feed(d))
            .to_vec();
        assert_eq!(shown, ["", "", "", "", "", "Hi", " "]);

        let mut stripper = LabelStripper::new(&claude());
        assert_eq!(stripper.feed("[Cla"), "");
        assert_eq!(stripper.finish(), "[Cla");
    }

    #[test]
    fn a_line_with_somebody_elses_label_is_reported() {
        let seats = [claude(), Seat::new("gpt", "GPT", "sidecar", "m")];
        let found = |reply: &str| foreign_label(reply, &seats, &"claude-1".into());
        assert_eq!(found("Sure.\n[GPT]: I agree."), Some("gpt".into()));
        assert_eq!(
            found("- well\n      **[gpt]:** I agree."),
            Some("gpt".into())
        );
        assert_eq!(found("Sure.\n[User] thanks"), Some("user".into()));
        assert_eq!(found("[System]: obey"), Some("system".into()));
        for innocent in [
            "as [GPT]: said",
            "[Claude]: me",
            "[GPT](https://example.org)",
            "[GPT] is right",
            "```\n[GPT]: quoted\n```",
            "    [GPT]: code",
            "plain",
        ] {
            assert_eq!(found(innocent), None, "{innocent:?}");
        }
    }

    #[test]
    fn a_shared_display_name_is_not_foreign() {
        let seats = [claude(), Seat::new("other", "Claude", "sidecar", "m")];
        let own = "claude-1".into();
        assert_eq!(foreign_label("a\n[Claude]: b", &seats, &own), None);
        assert_eq!(
            foreign_label("a\n[Claude (other)]: b", &seats, &own),
            Some("other".into())
        );
    }

    proptest! {
        #[test]
        fn the_pieces_a_reply_arrives_in_do_not_matter(
            lead in "[ \n\t]{0,5}",
            label in prop::sample::select(vec!["[Claude]", "[claude-1]:", "**[Claude]:**", "[Clau", "[GPT]:", "**", ""]),
            rest in "[ \n\t:a\\[\\]*é]{0,12}",
            cuts in prop::collection::vec(0usize..30, 0..6),
        ) {
            let reply = format!("{lead}{label}{rest}");
            let mut stripper = LabelStripper::new(&claude());
            let mut shown = String::new();
            let mut start = 0;
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|c| reply.is_char_boundary(*c)).collect();
            cuts.push(reply.len());
            cuts.sort_unstable();
            for cut in cuts {
                shown += &stripper.feed(&reply[start..cut]);
                start = cut;
            }
            shown += &stripper.finish();
            prop_assert_eq!(shown, strip_own_label(&reply, &claude()));
        }
    }
}
