//! The invariant of tool calls in a request: each call of an assistant message is answered exactly once, by the tool
//! messages that follow it at once, and no tool message answers anything else. An endpoint refuses a conversation that
//! breaks it, and would go on refusing it for ever.

use std::collections::HashSet;

use models::{ChatMessage, ChatRole};

/// What a call is answered that never got a result.
pub(crate) const NO_RESULT: &str =
    "Error (cancelled): it was not carried out, or its result is lost";

/// How the invariant is broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenPairing {
    /// A call has no result before the next message.
    #[error("the tool call {call} of message {message} has no result")]
    Unanswered {
        /// Which call.
        call: String,
        /// The place of its message.
        message: usize,
    },
    /// A result answers no call of the message before, or one that was answered already.
    #[error("message {message} is the result of no open tool call: {call}")]
    Stray {
        /// Which call it names.
        call: String,
        /// Its place.
        message: usize,
    },
    /// Two calls of one message have the same id.
    #[error("message {message} makes two tool calls of the same id: {call}")]
    SameId {
        /// The id.
        call: String,
        /// The place of the message.
        message: usize,
    },
}

/// Holds messages against the invariant.
///
/// # Errors
/// The first place where it is broken.
pub fn check(messages: &[ChatMessage]) -> Result<(), BrokenPairing> {
    let mut open: HashSet<&str> = HashSet::new();
    let mut of = 0;
    for (at, message) in messages.iter().enumerate() {
        if message.role == ChatRole::Tool {
            let call = message.tool_call_id.as_deref().unwrap_or_default();
            if !open.remove(call) {
                return Err(BrokenPairing::Stray {
                    call: call.to_owned(),
                    message: at,
                });
            }
            continue;
        }
        refuse_open(&open, of)?;
        of = at;
        for call in &message.tool_calls {
            if !open.insert(&call.id) {
                return Err(BrokenPairing::SameId {
                    call: call.id.clone(),
                    message: at,
                });
            }
        }
    }
    refuse_open(&open, of)
}

fn refuse_open(open: &HashSet<&str>, message: usize) -> Result<(), BrokenPairing> {
    match open.iter().min() {
        None => Ok(()),
        Some(call) => Err(BrokenPairing::Unanswered {
            call: (*call).to_owned(),
            message,
        }),
    }
}

/// Makes the invariant hold: calls without a result are answered by one that says so, stray results go, and of calls
/// with the same id the first stays.
pub fn mend(messages: &mut Vec<ChatMessage>) {
    let mut mended: Vec<ChatMessage> = Vec::with_capacity(messages.len());
    let mut open: Vec<String> = Vec::new();
    for mut message in messages.drain(..) {
        if message.role == ChatRole::Tool {
            let call = message.tool_call_id.as_deref().unwrap_or_default();
            if let Some(at) = open.iter().position(|id| id == call) {
                open.remove(at);
                mended.push(message);
            }
            continue;
        }
        answer(&mut mended, &mut open);
        let mut seen = HashSet::new();
        message
            .tool_calls
            .retain(|call| seen.insert(call.id.clone()));
        open.extend(message.tool_calls.iter().map(|call| call.id.clone()));
        mended.push(message);
    }
    answer(&mut mended, &mut open);
    *messages = mended;
}

fn answer(messages: &mut Vec<ChatMessage>, open: &mut Vec<String>) {
    let results = open
        .drain(..)
        .map(|call| ChatMessage::tool_result(call, NO_RESULT));
    messages.extend(results);
}

#[cfg(test)]
mod tests {
    use models::ToolCall;

    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall {
            id: id.into(),
            name: "grep".into(),
            arguments: "{}".into(),
            extra: serde_json::Map::new(),
        }
    }

    fn calls(ids: &[&str]) -> ChatMessage {
        let mut message = ChatMessage::new(ChatRole::Assistant, "");
        message.tool_calls = ids.iter().map(|id| call(id)).collect();
        message
    }

    fn result(id: &str) -> ChatMessage {
        ChatMessage::tool_result(id, "fine")
    }

    fn said(text: &str) -> ChatMessage {
        ChatMessage::new(ChatRole::User, text)
    }

    #[test]
    fn each_break_is_told_by_its_place_and_mended() {
        let unanswered = |call: &str, message| BrokenPairing::Unanswered {
            call: call.into(),
            message,
        };
        let stray = |call: &str, message| BrokenPairing::Stray {
            call: call.into(),
            message,
        };
        for (messages, broken) in [
            (
                vec![said("a"), calls(&["1", "2"]), result("1")],
                unanswered("2", 1),
            ),
            (
                vec![calls(&["1"]), said("a"), result("1")],
                unanswered("1", 0),
            ),
            (
                vec![calls(&["1"]), calls(&["1"]), result("1")],
                unanswered("1", 0),
            ),
            (vec![said("a"), result("1")], stray("1", 1)),
            (vec![calls(&["1"]), result("1"), result("1")], stray("1", 2)),
            (
                vec![calls(&["1", "1"]), result("1")],
                BrokenPairing::SameId {
                    call: "1".into(),
                    message: 0,
                },
            ),
        ] {
            assert_eq!(check(&messages), Err(broken));
            let mut mended = messages;
            mend(&mut mended);
            assert_eq!(check(&mended), Ok(()), "{mended:?}");
        }
    }

    #[test]
    fn what_holds_is_left_alone_also_where_ids_come_again_in_later_rounds() {
        let messages = [
            said("a"),
            calls(&["1", "2"]),
            result("2"),
            result("1"),
            calls(&["1"]),
            result("1"),
            said("b"),
        ];
        assert_eq!(check(&messages), Ok(()));
        let mut mended = messages.to_vec();
        mend(&mut mended);
        assert_eq!(mended, messages);
    }
}
