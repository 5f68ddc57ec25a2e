//! A reply's pieces: what is sent in one chunk, with every placeholder filled in and every text cut.

use serde_json::{Map, Value};
use std::time::Duration;

use crate::script::{Chunk, Reply, ReplyBody};
use crate::template::Meaning;

/// One chunk of a reply to one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) delay: Option<Duration>,
    pub(crate) gate: Option<String>,
    pub(crate) comment: Option<String>,
    pub(crate) raw: Vec<u8>,
    pub(crate) data: Vec<String>,
    pub(crate) content: Option<String>,
    pub(crate) reasoning: Option<String>,
    pub(crate) tool_calls: Vec<Map<String, Value>>,
    pub(crate) finish: Option<String>,
    pub(crate) usage: Option<Map<String, Value>>,
}

/// The whole reply in order. A finish is added when the script names none, forbids none and reports no error.
pub(crate) fn pieces(reply: &Reply, meaning: Meaning<'_>) -> Vec<Piece> {
    let (mut pieces, failed) = match &reply.body {
        ReplyBody::Text {
            reasoning,
            content,
            piece_chars,
        } => {
            let mut cutter = Cutter::new(*piece_chars);
            let thought = reasoning.as_ref().map(|thought| thought.expand(meaning));
            let thought = cutter.cut(thought.as_deref().unwrap_or_default());
            let words = cutter.cut(&content.expand(meaning));
            let thought = thought.into_iter().map(|text| Piece {
                reasoning: Some(text),
                ..Piece::default()
            });
            let words = words.into_iter().map(|text| Piece {
                content: Some(text),
                ..Piece::default()
            });
            (thought.chain(words).collect::<Vec<_>>(), false)
        }
        ReplyBody::Chunks(chunks) => (
            chunks
                .iter()
                .map(|chunk| expanded(chunk, meaning))
                .collect(),
            chunks.iter().any(|chunk| chunk.is_error),
        ),
    };
    for piece in pieces.iter_mut().skip(1) {
        piece.delay = piece.delay.or(reply.pace);
    }
    let finished = pieces.iter().any(|piece| piece.finish.is_some());
    if !finished && !failed && !reply.no_finish {
        let calls_tools = pieces.iter().any(|piece| !piece.tool_calls.is_empty());
        let usual = if calls_tools { "tool_calls" } else { "stop" };
        pieces.push(Piece {
            finish: Some(reply.finish.clone().unwrap_or_else(|| usual.to_owned())),
            ..Piece::default()
        });
    }
    pieces
}

fn expanded(chunk: &Chunk, meaning: Meaning<'_>) -> Piece {
    let delta = &chunk.delta;
    Piece {
        delay: chunk.delay,
        gate: chunk.gate.clone(),
        comment: chunk.comment.clone(),
        raw: chunk.raw.clone(),
        data: chunk.data.clone(),
        content: delta.content.as_ref().map(|text| text.expand(meaning)),
        reasoning: delta.reasoning.as_ref().map(|text| text.expand(meaning)),
        tool_calls: delta.tool_calls.clone(),
        finish: delta.finish.clone(),
        usage: delta.usage.clone(),
    }
}

/// Cuts texts into runs of characters whose lengths vary within bounds, the same way each time.
struct Cutter {
    least: usize,
    spread: usize,
    state: u32,
}

impl Cutter {
    fn new((least, most): (usize, usize)) -> Cutter {
        Cutter {
            least,
            spread: most - least + 1,
            state: 1,
        }
    }

    fn next_length(&mut self) -> usize {
        // The minimal standard generator's successor (Park, Miller and Stockmeyer, 1993); it needs no quality here.
        self.state = (u64::from(self.state) * 48_271 % 0x7fff_ffff) as u32;
        self.least + self.state as usize % self.spread
    }

    fn cut(&mut self, text: &str) -> Vec<String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let chars = self.next_length();
            let end = rest
                .char_indices()
                .nth(chars)
                .map_or(rest.len(), |(at, _)| at);
            let (piece, tail) = rest.split_at(end);
            pieces.push(piece.to_owned());
            rest = tail;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{AnswerKind, Script};
    use crate::table_view::TableView;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The pieces that every step of a script says, step by step.
    fn said(script: &Script) -> Vec<Vec<Piece>> {
        let meaning = Meaning {
            view: &TableView::default(),
            facts: &BTreeMap::new(),
        };
        let replies = script
            .steps
            .iter()
            .filter_map(|step| match &step.answer.kind {
                AnswerKind::Reply(reply) => Some(pieces(reply, meaning)),
                _ => None,
            });
        replies.collect()
    }

    #[test]
    fn a_pace_delays_every_chunk_but_the_first_and_those_with_a_delay_of_their_own() {
        let script = "[[step]]\ntokens_per_second = 100.0\nreply = [{ content = 'a' }, { content = 'b' }, { content = 'c', delay_ms = 3 }]";
        let script = Script::parse(script).expect("the script is well formed");
        let delays: Vec<_> = said(&script)[0].iter().map(|piece| piece.delay).collect();
        let millis = |n| Some(Duration::from_millis(n));
        assert_eq!(delays, [None, millis(10), millis(3), None]);
    }

    #[test]
    fn the_demo_speaks_at_a_readers_pace_in_pieces_of_a_few_letters() {
        for pieces in said(&Script::demo()) {
            let (finish, words) = pieces.split_last().expect("a reply has pieces");
            assert!(finish.finish.is_some());
            for piece in &words[1..] {
                let delay = piece.delay.expect("the demo has a pace").as_millis();
                assert!((16..=84).contains(&delay), "{delay} ms");
            }
            for piece in words {
                let text = piece.content.as_ref().or(piece.reasoning.as_ref());
                let chars = text.map_or(0, |text| text.chars().count());
                assert!((1..=6).contains(&chars), "{piece:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_cut_pieces_make_the_text_again(text in ".{0,200}", least in 1_usize..9, more in 0_usize..9) {
            let pieces = Cutter::new((least, least + more)).cut(&text);
            prop_assert_eq!(pieces.concat(), text);
            for (index, piece) in pieces.iter().enumerate() {
                let chars = piece.chars().count();
                prop_assert!(chars <= least + more);
                prop_assert!(chars >= least || index + 1 == pieces.len());
            }
        }
    }

    #[test]
    fn a_range_of_lengths_is_used_in_full() {
        let lengths: std::collections::BTreeSet<usize> = Cutter::new((3, 6))
            .cut(&"x".repeat(1000))
            .iter()
            .map(String::len)
            .collect();
        assert!(lengths.is_superset(&[3, 4, 5, 6].into()), "{lengths:?}");
    }
}
