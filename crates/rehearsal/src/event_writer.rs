//! Server-sent events that carry chat completion chunks.

use serde_json::{Map, Value, json};

/// Writes the events of one reply: same id, same model, same spelling.
#[derive(Debug, Clone)]
pub(crate) struct EventWriter {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) line_end: &'static str,
    pub(crate) space_after_colon: bool,
}

/// What stands at `choices` of a chunk.
#[derive(Debug)]
pub(crate) enum Choices<'a> {
    Delta {
        delta: Map<String, Value>,
        finish: Option<&'a str>,
    },
    Empty,
    Null,
    Missing,
}

impl EventWriter {
    /// One event with this payload; each line of it becomes a `data:` line.
    pub(crate) fn event(&self, payload: &str) -> Vec<u8> {
        let mut event = String::with_capacity(payload.len() + 16);
        for line in payload.split('\n') {
            event.push_str("data:");
            if self.space_after_colon {
                event.push(' ');
            }
            event.push_str(line);
            event.push_str(self.line_end);
        }
        event.push_str(self.line_end);
        event.into_bytes()
    }

    /// Comment lines, which a reader skips.
    pub(crate) fn comment(&self, text: &str) -> Vec<u8> {
        let mut lines = String::new();
        for line in text.split('\n') {
            lines.push_str(": ");
            lines.push_str(line);
            lines.push_str(self.line_end);
        }
        lines.push_str(self.line_end);
        lines.into_bytes()
    }

    /// One event with a `chat.completion.chunk`.
    pub(crate) fn chunk(&self, choices: Choices<'_>, usage: Option<Value>) -> Vec<u8> {
        let mut object = Map::new();
        object.insert("id".to_owned(), self.id.clone().into());
        object.insert("object".to_owned(), "chat.completion.chunk".into());
        object.insert("created".to_owned(), 0.into());
        object.insert("model".to_owned(), self.model.clone().into());
        let choices = match choices {
            Choices::Delta { delta, finish } => Some(json!([
                { "index": 0, "delta": delta, "finish_reason": finish }
            ])),
            Choices::Empty => Some(json!([])),
            Choices::Null => Some(Value::Null),
            Choices::Missing => None,
        };
        object.extend(choices.map(|choices| ("choices".to_owned(), choices)));
        object.extend(usage.map(|usage| ("usage".to_owned(), usage)));
        self.event(&Value::Object(object).to_string())
    }

    /// One event with a content delta and nothing else.
    pub(crate) fn content(&self, text: &str) -> Vec<u8> {
        let delta = Map::from_iter([("content".to_owned(), Value::from(text))]);
        self.chunk(
            Choices::Delta {
                delta,
                finish: None,
            },
            None,
        )
    }

    /// A content delta whose `data:` line, its end not counted, has this many bytes, or as few as it can.
    pub(crate) fn content_of_line_bytes(&self, bytes: usize) -> Vec<u8> {
        let frame = self.content("").len() - 2 * self.line_end.len();
        self.content(&"x".repeat(bytes.saturating_sub(frame)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(line_end: &'static str, space_after_colon: bool) -> EventWriter {
        EventWriter {
            id: "chatcmpl-1".to_owned(),
            model: "m".to_owned(),
            line_end,
            space_after_colon,
        }
    }

    #[test]
    fn every_line_of_a_payload_is_a_data_line() {
        assert_eq!(writer("\n", true).event("a\nb"), b"data: a\ndata: b\n\n");
        assert_eq!(writer("\r\n", false).event("a"), b"data:a\r\n\r\n");
        assert_eq!(writer("\r", true).event("a"), b"data: a\r\r");
    }

    #[test]
    fn a_chunk_has_the_shape_that_clients_expect() {
        let event = writer("\n", true).content("hi");
        assert_eq!(
            String::from_utf8_lossy(&event),
            "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"m\",\
             \"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":null}]}\n\n"
        );
    }

    #[test]
    fn a_huge_line_has_exactly_the_size_asked_for() {
        for line_end in ["\n", "\r\n"] {
            let event = writer(line_end, true).content_of_line_bytes(10_000);
            assert_eq!(event.len(), 10_000 + 2 * line_end.len());
        }
    }
}
