//! Splits thinking that a local model writes into its text as `<think>...</think>` from the answer.

const TAGS: [(&str, &str); 3] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
];

/// Which channel a piece of text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    Answer,
    Thought,
}

/// A splitter over text that comes in pieces, tags cut anywhere.
///
/// A tag opens a thought only where the answer has not begun: a model that explains `<think>` in its answer, or writes
/// it in code, means the word.
#[derive(Debug)]
pub(crate) struct ThinkTags {
    state: State,
    held: String,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Only white space so far; `after_thought` says that a thought came before it.
    Opening {
        after_thought: bool,
    },
    Thinking {
        close: &'static str,
    },
    Answering,
}

impl ThinkTags {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Opening {
                after_thought: false,
            },
            held: String::new(),
        }
    }

    /// Takes the next piece of text and hands on what is certain by now.
    pub(crate) fn push(&mut self, text: &str, out: &mut impl FnMut(Channel, &str)) {
        if matches!(self.state, State::Answering) {
            emit(out, Channel::Answer, text);
            return;
        }
        self.held.push_str(text);
        while self.step(out) {}
    }

    /// The text ended: hands on what was held back.
    pub(crate) fn finish(&mut self, out: &mut impl FnMut(Channel, &str)) {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Thinking { .. } => emit(out, Channel::Thought, &held),
            State::Opening {
                after_thought: true,
            } => emit(out, Channel::Answer, held.trim_start()),
            State::Opening {
                after_thought: false,
            }
            | State::Answering => emit(out, Channel::Answer, &held),
        }
        self.state = State::Answering;
    }

    /// Settles one state change; false when more text is needed.
    fn step(&mut self, out: &mut impl FnMut(Channel, &str)) -> bool {
        match self.state {
            State::Answering => false,
            State::Thinking { close } => {
                if let Some(at) = self.held.find(close) {
                    emit(out, Channel::Thought, &self.held[..at]);
                    self.held.drain(..at + close.len());
                    self.state = State::Opening {
                        after_thought: true,
                    };
                    return true;
                }
                let keep = overlap(&self.held, close);
                let sure = self.held.len() - keep;
                emit(out, Channel::Thought, &self.held[..sure]);
                self.held.drain(..sure);
                false
            }
            State::Opening { after_thought } => {
                let start = self.held.trim_start();
                if let Some((open, close)) = TAGS.iter().find(|(open, _)| start.starts_with(open)) {
                    let skip = self.held.len() - start.len() + open.len();
                    self.held.drain(..skip);
                    self.state = State::Thinking { close };
                    return true;
                }
                if TAGS.iter().any(|(open, _)| open.starts_with(start)) {
                    return false;
                }
                let answer = if after_thought { start } else { &self.held };
                emit(out, Channel::Answer, answer);
                self.held.clear();
                self.state = State::Answering;
                false
            }
        }
    }
}

fn emit(out: &mut impl FnMut(Channel, &str), channel: Channel, text: &str) {
    if !text.is_empty() {
        out(channel, text);
    }
}

/// Length of the longest end of `text` that `tag` begins with.
fn overlap(text: &str, tag: &str) -> usize {
    (1..tag.len().min(text.len() + 1))
        .rev()
        .find(|len| text.as_bytes().ends_with(&tag.as_bytes()[..*len]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&str]) -> (String, String) {
        let (mut thought, mut answer) = (String::new(), String::new());
        let mut tags = ThinkTags::new();
        let mut out = |channel: Channel, text: &str| match channel {
            Channel::Thought => thought.push_str(text),
            Channel::Answer => answer.push_str(text),
        };
        for piece in pieces {
            tags.push(piece, &mut out);
        }
        tags.finish(&mut out);
        (thought, answer)
    }

    fn expect(text: &str, thought: &str, answer: &str) {
        let expected = (thought.to_owned(), answer.to_owned());
        assert_eq!(split(&[text]), expected);
        for (at, _) in text.char_indices() {
            assert_eq!(
                split(&[&text[..at], &text[at..]]),
                expected,
                "cut at {at} of {text:?}"
            );
        }
        let each: Vec<String> = text.chars().map(String::from).collect();
        let each: Vec<&str> = each.iter().map(String::as_str).collect();
        assert_eq!(split(&each), expected, "{text:?} character by character");
    }

    #[test]
    fn a_thought_before_the_answer_is_split_off_wherever_its_tags_are_cut() {
        expect("<think>é <b>?</think>\n\nYes.", "é <b>?", "Yes.");
        expect("\n<thinking>a</think></thinking>b", "a</think>", "b");
        expect("<think>a</think> <thought>b</thought>c", "ab", "c");
    }

    #[test]
    fn a_thought_that_never_closes_stays_a_thought() {
        expect("<think>still at it </thi", "still at it </thi", "");
    }

    #[test]
    fn a_tag_inside_the_answer_is_just_text() {
        expect("Use `<think>x</think>`.", "", "Use `<think>x</think>`.");
        expect("  <thin air>", "", "  <thin air>");
        expect("<", "", "<");
        expect("  ", "", "  ");
    }
}
