//! A chat reply as a stream of events.

use serde_json::{Map, Value, json};

use crate::delivery::{Action, cut_actions, reply_head};
use crate::event_writer::{Choices, EventWriter};
use crate::http::Framing;
use crate::pieces::{Piece, pieces};
use crate::script::{ReasoningField, Reply, RoleStyle, UsageStyle};
use crate::template::Meaning;
use crate::token_counts::TokenCounts;

/// Adds everything from the head to the bytes after `[DONE]`.
pub(crate) fn push_actions(
    reply: &Reply,
    meaning: Meaning<'_>,
    seq: usize,
    actions: &mut Vec<Action>,
) {
    let framing = if reply.until_close {
        Framing::UntilClose
    } else {
        Framing::Chunked
    };
    actions.push(reply_head(reply, "text/event-stream", framing));
    let model = reply.answer_model.as_ref().unwrap_or(&meaning.view.model);
    let mut stream = Stream {
        reply,
        writer: EventWriter {
            id: format!("chatcmpl-rehearsal-{seq}"),
            model: model.clone(),
            line_end: reply.line_end,
            space_after_colon: reply.space_after_colon,
        },
        counts: TokenCounts::of(reply, meaning.view.prompt.chars().count()),
        actions,
        chunks: 0,
        reply_chars: 0,
        role_sent: false,
        thinking: false,
    };
    stream.push_opening();
    let pieces = pieces(reply, meaning);
    if pieces.iter().all(|piece| stream.push_piece(piece)) && stream.push_end_of_chunks() {
        stream.push_done();
    }
}

struct Stream<'a> {
    reply: &'a Reply,
    writer: EventWriter,
    counts: TokenCounts,
    actions: &'a mut Vec<Action>,
    chunks: usize,
    reply_chars: usize,
    role_sent: bool,
    /// Whether a `<think>` tag is open.
    thinking: bool,
}

impl Stream<'_> {
    fn send(&mut self, bytes: Vec<u8>) {
        self.actions.push(Action::Body(bytes));
    }

    /// What comes before the reply's own chunks and isn't counted as one of them.
    fn push_opening(&mut self) {
        if self.reply.data_null {
            self.send(self.writer.event("null"));
        }
        if let Some(bytes) = self.reply.huge_line_bytes {
            self.send(self.writer.content_of_line_bytes(bytes));
        }
        if let Some(rate) = self.reply.flood {
            self.actions.push(Action::Flood(self.writer.clone(), rate));
        }
    }

    /// Adds one chunk, or breaks the stream off in its place and returns false.
    fn push_piece(&mut self, piece: &Piece) -> bool {
        let bytes = self.piece_bytes(piece);
        if let Some(cut) = self.reply.cut.filter(|cut| cut.after_chunks == self.chunks) {
            cut_actions(cut, &bytes, self.actions);
            return false;
        }
        self.actions.extend(piece.delay.map(Action::Wait));
        self.actions.extend(piece.gate.clone().map(Action::Gate));
        if !bytes.is_empty() {
            self.send(bytes);
        }
        self.chunks += 1;
        true
    }

    fn piece_bytes(&mut self, piece: &Piece) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(comment) = &piece.comment {
            bytes.extend(self.writer.comment(comment));
        }
        bytes.extend_from_slice(&piece.raw);
        for payload in &piece.data {
            bytes.extend(self.writer.event(payload));
        }
        let says = piece.content.is_some()
            || piece.reasoning.is_some()
            || piece.finish.is_some()
            || !piece.tool_calls.is_empty();
        if says {
            bytes.extend(self.delta_bytes(piece));
        } else if let Some(usage) = &piece.usage {
            let usage = Value::Object(usage.clone());
            bytes.extend(self.writer.chunk(Choices::Empty, Some(usage)));
        }
        bytes
    }

    fn delta_bytes(&mut self, piece: &Piece) -> Vec<u8> {
        let mut delta = Map::new();
        let wants_role = match self.reply.role {
            RoleStyle::First => !self.role_sent,
            RoleStyle::Every => true,
            RoleStyle::Never => false,
        };
        if wants_role {
            delta.insert("role".to_owned(), "assistant".into());
            self.role_sent = true;
        }
        self.put_texts(piece, &mut delta);
        if !piece.tool_calls.is_empty() {
            delta.insert("tool_calls".to_owned(), piece.tool_calls.clone().into());
        }
        let chars = |text: &Option<String>| text.as_ref().map_or(0, |text| text.chars().count());
        self.reply_chars += chars(&piece.content) + chars(&piece.reasoning);
        let finish = piece.finish.as_deref();
        let usage = match &piece.usage {
            Some(usage) => Some(Value::Object(usage.clone())),
            None => self.usage_beside_delta(finish.is_some()),
        };
        self.writer.chunk(Choices::Delta { delta, finish }, usage)
    }

    fn usage_beside_delta(&self, finishes: bool) -> Option<Value> {
        match (self.counts.style, finishes) {
            (UsageStyle::WithFinish | UsageStyle::EveryChunk, true) => {
                Some(self.counts.total(self.reply_chars))
            }
            (UsageStyle::EveryChunk, false) => Some(self.counts.so_far(self.reply_chars)),
            (UsageStyle::Zeros, _) => Some(TokenCounts::zeros()),
            _ => None,
        }
    }

    fn put_texts(&mut self, piece: &Piece, delta: &mut Map<String, Value>) {
        let thought = piece.reasoning.as_deref();
        let words = piece.content.as_deref();
        match self.reply.reasoning_field {
            ReasoningField::ThinkTags => {
                if let Some(content) = self.tagged(thought, words, piece.finish.is_some()) {
                    delta.insert("content".to_owned(), content.into());
                }
                return;
            }
            ReasoningField::ContentParts => {
                let thought = thought.map(|text| {
                    json!({ "type": "thinking", "thinking": [{ "type": "text", "text": text }] })
                });
                let words = words.map(|text| json!({ "type": "text", "text": text }));
                let parts: Vec<Value> = thought.into_iter().chain(words).collect();
                if !parts.is_empty() {
                    delta.insert("content".to_owned(), parts.into());
                }
                return;
            }
            ReasoningField::ReasoningDetails => delta.extend(thought.map(|text| {
                let details = json!([{ "type": "reasoning.text", "text": text, "index": 0 }]);
                ("reasoning_details".to_owned(), details)
            })),
            ReasoningField::Reasoning => {
                delta.extend(thought.map(|text| ("reasoning".to_owned(), text.into())));
            }
            ReasoningField::ReasoningContent => {
                delta.extend(thought.map(|text| ("reasoning_content".to_owned(), text.into())));
            }
        }
        delta.extend(words.map(|text| ("content".to_owned(), text.into())));
    }

    /// Thought and words as one content, the thought between `<think>` tags.
    fn tagged(
        &mut self,
        thought: Option<&str>,
        words: Option<&str>,
        finishes: bool,
    ) -> Option<String> {
        let mut content = String::new();
        if let Some(thought) = thought {
            if !self.thinking {
                content.push_str("<think>");
                self.thinking = true;
            }
            content.push_str(thought);
        }
        if self.thinking && (words.is_some() || finishes) {
            content.push_str("</think>");
            self.thinking = false;
        }
        content.push_str(words.unwrap_or_default());
        (!content.is_empty() || words.is_some()).then_some(content)
    }

    /// Adds what follows the last chunk, or breaks off there and returns false when the script cuts at a chunk that
    /// never came.
    fn push_end_of_chunks(&mut self) -> bool {
        let total = self.counts.total(self.reply_chars);
        let extra = match self.counts.style {
            UsageStyle::ExtraChunk | UsageStyle::Zeros => Some(Choices::Empty),
            UsageStyle::NullChoices => Some(Choices::Null),
            UsageStyle::NoChoices => Some(Choices::Missing),
            UsageStyle::WithFinish | UsageStyle::EveryChunk | UsageStyle::Never => None,
        };
        let extra = extra.map(|choices| self.writer.chunk(choices, Some(total)));
        if let Some(cut) = self.reply.cut {
            let next = extra.unwrap_or_else(|| self.writer.event("[DONE]"));
            cut_actions(cut, &next, self.actions);
            return false;
        }
        if let Some(bytes) = extra {
            self.send(bytes);
        }
        true
    }

    fn push_done(&mut self) {
        let done = &self.reply.done;
        for _ in 0..done.times {
            self.send(self.writer.event("[DONE]"));
        }
        if let Some(then) = &done.then {
            self.send(then.clone().into_bytes());
        }
    }
}
