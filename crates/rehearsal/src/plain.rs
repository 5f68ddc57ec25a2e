//! A chat reply as one JSON object, for requests that don't stream.

use serde_json::{Map, Value, json};

use crate::delivery::{Action, cut_actions, reply_head};
use crate::http::Framing;
use crate::pieces::{Piece, pieces};
use crate::script::{ReasoningField, Reply, UsageStyle};
use crate::template::Meaning;
use crate::token_counts::TokenCounts;

/// Adds the whole reply. Its chunks' delays and gates come before the head, as they would with a real model; what
/// only makes sense in a stream (raw bytes, comments, `[DONE]`, a flood) is left out.
pub(crate) fn push_actions(
    reply: &Reply,
    meaning: Meaning<'_>,
    seq: usize,
    actions: &mut Vec<Action>,
) {
    let pieces = pieces(reply, meaning);
    for piece in &pieces {
        actions.extend(piece.delay.map(Action::Wait));
        actions.extend(piece.gate.clone().map(Action::Gate));
    }
    let body = completion(reply, &pieces, meaning, seq)
        .to_string()
        .into_bytes();
    let framing = if reply.until_close {
        Framing::UntilClose
    } else {
        Framing::Length(body.len())
    };
    actions.push(reply_head(reply, "application/json", framing));
    match reply.cut {
        Some(cut) => cut_actions(cut, &body, actions),
        None => actions.push(Action::Body(body)),
    }
}

fn completion(reply: &Reply, pieces: &[Piece], meaning: Meaning<'_>, seq: usize) -> Value {
    let content: String = pieces.iter().filter_map(|p| p.content.as_deref()).collect();
    let thought: String = pieces
        .iter()
        .filter_map(|p| p.reasoning.as_deref())
        .collect();
    let reply_chars = content.chars().count() + thought.chars().count();
    let finish = pieces
        .iter()
        .rev()
        .find_map(|piece| piece.finish.as_deref());
    let counts = TokenCounts::of(reply, meaning.view.prompt.chars().count());
    let usage = pieces
        .iter()
        .rev()
        .find_map(|piece| piece.usage.clone().map(Value::Object))
        .or_else(|| (counts.style != UsageStyle::Never).then(|| counts.total(reply_chars)));
    let mut object = json!({
        "id": format!("chatcmpl-rehearsal-{seq}"),
        "object": "chat.completion",
        "created": 0,
        "model": reply.answer_model.as_ref().unwrap_or(&meaning.view.model),
        "choices": [{
            "index": 0,
            "message": message(reply, pieces, content, thought),
            "finish_reason": finish,
        }],
    });
    if let (Some(object), Some(usage)) = (object.as_object_mut(), usage) {
        object.insert("usage".to_owned(), usage);
    }
    object
}

fn message(
    reply: &Reply,
    pieces: &[Piece],
    content: String,
    thought: String,
) -> Map<String, Value> {
    let mut message = Map::from_iter([("role".to_owned(), Value::from("assistant"))]);
    let thought = (!thought.is_empty()).then_some(thought);
    let content = match (reply.reasoning_field, &thought) {
        (ReasoningField::ThinkTags, Some(thought)) => {
            format!("<think>{thought}</think>{content}").into()
        }
        (ReasoningField::ContentParts, Some(thought)) => json!([
            { "type": "thinking", "thinking": [{ "type": "text", "text": thought }] },
            { "type": "text", "text": content },
        ]),
        _ => Value::from(content),
    };
    message.insert("content".to_owned(), content);
    let own_field = match (reply.reasoning_field, thought) {
        (ReasoningField::ReasoningContent, Some(thought)) => {
            Some(("reasoning_content", thought.into()))
        }
        (ReasoningField::Reasoning, Some(thought)) => Some(("reasoning", thought.into())),
        (ReasoningField::ReasoningDetails, Some(thought)) => Some((
            "reasoning_details",
            json!([{ "type": "reasoning.text", "text": thought, "index": 0 }]),
        )),
        _ => None,
    };
    message.extend(own_field.map(|(key, value)| (key.to_owned(), value)));
    let calls = whole_tool_calls(pieces);
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), calls.into());
    }
    message
}

/// Puts tool calls together from their deltas: a new id, or a name without one, begins a call, anything else goes on
/// with the last.
fn whole_tool_calls(pieces: &[Piece]) -> Vec<Value> {
    let mut calls: Vec<Map<String, Value>> = Vec::new();
    for delta in pieces.iter().flat_map(|piece| &piece.tool_calls) {
        let function = delta.get("function");
        let part = |key: &str| function.and_then(|function| function.get(key));
        let begins = delta.contains_key("id") || part("name").is_some();
        match calls.last_mut().filter(|_| !begins) {
            Some(call) => {
                let more = part("arguments")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                append_arguments(call, more);
            }
            None => calls.push(delta.clone()),
        }
    }
    for call in &mut calls {
        call.shift_remove("index");
    }
    calls.into_iter().map(Value::Object).collect()
}

fn append_arguments(call: &mut Map<String, Value>, more: &str) {
    let function = call.get_mut("function").and_then(Value::as_object_mut);
    if let Some(function) = function {
        let arguments = function.entry("arguments").or_insert_with(|| "".into());
        if let Value::String(so_far) = arguments {
            so_far.push_str(more);
        }
    }
}
