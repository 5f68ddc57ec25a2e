//! Puts tool calls together from deltas that number, name and split them in every way there is.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::completion::{StreamEvent, ToolCall};
use crate::usage::whole_number;
use crate::wire::{RawFields, Text};

/// The tool calls of one reply, growing.
#[derive(Debug, Default)]
pub(crate) struct ToolCalls {
    calls: Vec<Growing>,
}

#[derive(Debug, Default)]
struct Growing {
    /// The number the endpoint gave it: sparse, missing or reused.
    wire_index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Map<String, Value>,
}

/// One delta's known fields; the others go to `extra`.
#[derive(Debug, Default)]
struct CallDelta<'a> {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: Cow<'a, str>,
    extra: Map<String, Value>,
}

impl ToolCalls {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes a `tool_calls` value: a list of deltas, or a single one.
    pub(crate) fn add(&mut self, raw: &RawValue, sink: &mut impl FnMut(StreamEvent)) {
        match serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
            Ok(deltas) => {
                for delta in deltas {
                    self.add_one(CallDelta::of(delta), sink);
                }
            }
            Err(_) => self.add_one(CallDelta::of(raw), sink),
        }
    }

    /// Takes the single call of the `function_call` field that came before `tool_calls`.
    pub(crate) fn add_function_call(&mut self, raw: &RawValue, sink: &mut impl FnMut(StreamEvent)) {
        let mut delta = CallDelta::default();
        delta.function(raw);
        self.add_one(delta, sink);
    }

    fn add_one(&mut self, delta: CallDelta<'_>, sink: &mut impl FnMut(StreamEvent)) {
        if delta.is_empty() {
            return;
        }
        let at = self.place(&delta).unwrap_or_else(|| {
            self.calls.push(Growing {
                wire_index: delta.index,
                ..Growing::default()
            });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id.clone_from(&delta.id);
        }
        if call.name.is_empty() {
            call.name.clone_from(&delta.name);
        }
        call.arguments.push_str(&delta.arguments);
        merge(&mut call.extra, delta.extra);
        sink(StreamEvent::ToolCallDelta {
            index: at,
            id: Some(delta.id).filter(|id| !id.is_empty()),
            name: Some(delta.name).filter(|name| !name.is_empty()),
            arguments: delta.arguments.into_owned(),
        });
    }

    /// The call that a delta continues, `None` where it begins a new one.
    ///
    /// With an index, the newest call of that index; without, the call of the same id, or else the last. Either way a
    /// new id begins a new call, because indices are reused.
    fn place(&self, delta: &CallDelta<'_>) -> Option<usize> {
        let same_id = |call: &Growing| !delta.id.is_empty() && call.id == delta.id;
        let at = match delta.index {
            Some(index) => self
                .calls
                .iter()
                .rposition(|call| call.wire_index == Some(index))?,
            None => self
                .calls
                .iter()
                .rposition(same_id)
                .or_else(|| self.calls.len().checked_sub(1))?,
        };
        (!self.calls[at].is_left_behind_by(delta)).then_some(at)
    }

    /// The finished calls. Ids that are missing or repeat are made here from `local_ids`.
    pub(crate) fn finish(self, local_ids: &str) -> Vec<ToolCall> {
        let mut finished: Vec<ToolCall> = Vec::with_capacity(self.calls.len());
        for call in self.calls {
            for (part, arguments) in split_arguments(&call.arguments).into_iter().enumerate() {
                let taken = call.id.is_empty()
                    || part > 0
                    || finished.iter().any(|other| other.id == call.id);
                let id = if taken {
                    format!("{local_ids}_{}", finished.len())
                } else {
                    call.id.clone()
                };
                finished.push(ToolCall {
                    id,
                    name: call.name.clone(),
                    arguments,
                    extra: call.extra.clone(),
                });
            }
        }
        finished
    }
}

impl Growing {
    /// Whether `delta`, which was addressed to this call, must be the start of another.
    fn is_left_behind_by(&self, delta: &CallDelta<'_>) -> bool {
        if !delta.id.is_empty() {
            let unnamed_yet =
                self.id.is_empty() && self.name.is_empty() && self.arguments.is_empty();
            return delta.id != self.id && !unnamed_yet;
        }
        if delta.name.is_empty() || self.name.is_empty() {
            return false;
        }
        // Without an id a name is a header, unless it only repeats the header of a call that is still open.
        delta.name != self.name || is_whole(&self.arguments)
    }
}

impl<'a> CallDelta<'a> {
    fn of(raw: &'a RawValue) -> CallDelta<'a> {
        let mut delta = CallDelta::default();
        for (field, value) in RawFields::of(raw).0 {
            match &*field {
                "index" => delta.index = number(value),
                "id" => delta.id = text(value),
                "type" if text(value) == "function" || value.get() == "null" => {}
                "function" => delta.function(value),
                // Gateways that flatten the function object.
                "name" => delta.name = text(value),
                "arguments" => delta.arguments = argument_text(value),
                _ => keep(&mut delta.extra, &field, value),
            }
        }
        delta
    }

    fn function(&mut self, raw: &'a RawValue) {
        let mut others = Map::new();
        for (field, value) in RawFields::of(raw).0 {
            match &*field {
                "name" => self.name = text(value),
                "arguments" => self.arguments = argument_text(value),
                _ => keep(&mut others, &field, value),
            }
        }
        if !others.is_empty() {
            self.extra
                .insert("function".to_owned(), Value::Object(others));
        }
    }

    fn is_empty(&self) -> bool {
        self.id.is_empty()
            && self.name.is_empty()
            && self.arguments.is_empty()
            && self.extra.is_empty()
    }
}

fn text(raw: &RawValue) -> String {
    serde_json::from_str::<Text<'_>>(raw.get())
        .map_or_else(|_| String::new(), |text| text.text.into_owned())
}

fn number(raw: &RawValue) -> Option<u64> {
    whole_number(&serde_json::from_str(raw.get()).ok()?)
}

/// Arguments as text: a string's content, null as nothing, an object or list as it stands.
fn argument_text(raw: &RawValue) -> Cow<'_, str> {
    match raw.get().as_bytes().first() {
        Some(b'{' | b'[') => Cow::Borrowed(raw.get()),
        _ => serde_json::from_str::<Text<'_>>(raw.get())
            .map_or_else(|_| Cow::Borrowed(""), |text| text.text),
    }
}

fn keep(extra: &mut Map<String, Value>, field: &str, raw: &RawValue) {
    if let Ok(value) = serde_json::from_str::<Value>(raw.get())
        && !value.is_null()
    {
        extra.insert(field.to_owned(), value);
    }
}

fn merge(extra: &mut Map<String, Value>, later: Map<String, Value>) {
    for (field, value) in later {
        match (extra.get_mut(&field), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            (_, value) => {
                extra.insert(field, value);
            }
        }
    }
}

fn is_whole(json: &str) -> bool {
    json.trim_end().ends_with(['}', ']']) && serde_json::from_str::<IgnoredAny>(json).is_ok()
}

/// The arguments of the call, or of the several calls that an endpoint glued into one.
///
/// Some send an empty object ahead of the real one, some send the whole call again at its end; what remains
/// after those are taken out is as many calls as there are values.
fn split_arguments(arguments: &str) -> Vec<String> {
    if arguments.trim().is_empty() {
        return vec!["{}".to_owned()];
    }
    let values: Result<Vec<&RawValue>, _> = serde_json::Deserializer::from_str(arguments)
        .into_iter()
        .collect();
    let Ok(mut values) = values else {
        return vec![arguments.to_owned()];
    };
    if values.len() < 2 || !values.iter().all(|value| value.get().starts_with('{')) {
        return vec![arguments.to_owned()];
    }
    let filled = |value: &&RawValue| !RawFields::of(value).0.is_empty();
    if values.iter().any(filled) {
        values.retain(filled);
    }
    let mut whole: Vec<String> = values
        .into_iter()
        .map(|value| value.get().to_owned())
        .collect();
    whole.dedup();
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(deltas: &[&str]) -> Vec<ToolCall> {
        let mut calls = ToolCalls::default();
        for delta in deltas {
            let raw: Box<RawValue> = serde_json::from_str(delta).expect("valid");
            calls.add(&raw, &mut |_| {});
        }
        calls.finish("local")
    }

    fn brief(deltas: &[&str]) -> Vec<String> {
        calls(deltas)
            .iter()
            .map(|call| format!("{} {} {}", call.id, call.name, call.arguments))
            .collect()
    }

    #[test]
    fn fragments_join_under_their_index() {
        assert_eq!(
            brief(&[
                r#"[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]"#,
                r#"[{"index":0,"function":{"arguments":"{\"x\""}},{"index":1,"id":"b","function":{"name":"g"}}]"#,
                r#"[{"index":1,"function":{"arguments":"{}"}},{"index":0,"function":{"arguments":":1}"}}]"#,
            ]),
            ["a f {\"x\":1}", "b g {}"]
        );
    }

    #[test]
    fn sparse_indices_are_two_calls() {
        assert_eq!(
            brief(&[
                r#"[{"index":1,"id":"a","function":{"name":"f","arguments":"{}"}}]"#,
                r#"[{"index":4,"id":"b","function":{"name":"g","arguments":"{}"}}]"#,
            ]),
            ["a f {}", "b g {}"]
        );
    }

    #[test]
    fn without_an_index_a_new_id_or_name_begins_a_call_and_the_rest_joins_the_last() {
        assert_eq!(
            brief(&[
                r#"[{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]"#,
                r#"[{"function":{"arguments":"1}"}}]"#,
                r#"[{"id":"b","function":{"name":"f","arguments":"{}"}}]"#,
                r#"[{"function":{"name":"g","arguments":"{}"}}]"#,
                r#"[{"function":{"name":"g","arguments":"{\"y\":2}"}}]"#,
            ]),
            [
                "a f {\"x\":1}",
                "b f {}",
                "local_2 g {}",
                "local_3 g {\"y\":2}"
            ]
        );
    }

    #[test]
    fn an_index_reused_with_a_new_id_is_a_second_call() {
        assert_eq!(
            brief(&[
                r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]"#,
                r#"[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\""}}]"#,
                r#"[{"index":0,"function":{"arguments":":2}"}}]"#,
            ]),
            ["a f {\"x\":1}", "b f {\"x\":2}"]
        );
    }

    #[test]
    fn an_index_reused_without_ids_is_a_second_call_once_the_first_is_whole() {
        assert_eq!(
            brief(&[
                r#"[{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}]"#,
                r#"[{"index":0,"function":{"name":"f","arguments":"{\"x\":2}"}}]"#,
            ]),
            ["local_0 f {\"x\":1}", "local_1 f {\"x\":2}"]
        );
    }

    #[test]
    fn a_header_repeated_in_every_fragment_begins_nothing() {
        assert_eq!(
            brief(&[
                r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]"#,
                r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"\"}\"}"}}]"#,
            ]),
            ["a f {\"x\":\"}\"}"]
        );
        assert_eq!(
            brief(&[
                r#"[{"index":0,"function":{"name":"f","arguments":"{\"x\":"}}]"#,
                r#"[{"index":0,"function":{"name":"f","arguments":"1}"}}]"#,
            ]),
            ["local_0 f {\"x\":1}"]
        );
    }

    #[test]
    fn missing_and_repeated_ids_are_made_here() {
        assert_eq!(
            brief(&[
                r#"[{"index":0,"function":{"name":"f"}},{"index":1,"id":"","function":{"name":"g"}}]"#,
                r#"[{"index":2,"id":"a","function":{"name":"h"}},{"index":3,"id":"a","function":{"name":"i"}}]"#,
            ]),
            ["local_0 f {}", "local_1 g {}", "a h {}", "local_3 i {}"]
        );
    }

    #[test]
    fn arguments_come_as_an_object_whole_empty_or_null() {
        assert_eq!(
            brief(&[r#"[{"id":"a","function":{"name":"f","arguments":{"x": 1.0}}}]"#]),
            ["a f {\"x\": 1.0}"]
        );
        for empty in ["\"\"", "null", "{}", "\" \""] {
            let delta = format!(r#"[{{"id":"a","function":{{"name":"f","arguments":{empty}}}}}]"#);
            assert_eq!(brief(&[&delta]), ["a f {}"], "{empty}");
        }
    }

    #[test]
    fn glued_values_become_calls_of_their_own_and_repeats_are_dropped() {
        let glued = |arguments: &str| {
            let arguments = Value::from(arguments);
            brief(&[&format!(
                r#"[{{"id":"a","function":{{"name":"f","arguments":{arguments}}}}}]"#
            )])
        };
        assert_eq!(
            glued(r#"{"x":1}{"x":2}"#),
            ["a f {\"x\":1}", "local_1 f {\"x\":2}"]
        );
        assert_eq!(glued(r#"{"x":1}{"x":1}"#), ["a f {\"x\":1}"]);
        assert_eq!(glued(r#"{}{"x":1}"#), ["a f {\"x\":1}"]);
        assert_eq!(glued(r#"{"x":"#), ["a f {\"x\":"]);
    }

    #[test]
    fn unknown_fields_are_kept_verbatim() {
        let call = calls(&[
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{}","strict":true},
                 "extra_content":{"google":{"thought_signature":"c2ln"}}}]"#,
            r#"[{"index":0,"function":{"arguments":""},"extra_content":{"google":{"more":1}}}]"#,
        ])
        .remove(0);
        assert_eq!(
            Value::Object(call.extra),
            serde_json::json!({
                "function": {"strict": true},
                "extra_content": {"google": {"thought_signature": "c2ln", "more": 1}}
            })
        );
    }

    #[test]
    fn a_single_call_outside_a_list_and_the_old_function_call_are_read() {
        assert_eq!(
            brief(&[r#"{"id":"a","function":{"name":"f"}}"#]),
            ["a f {}"]
        );
        let mut calls = ToolCalls::default();
        for delta in [
            r#"{"name":"f","arguments":"{\"x\""}"#,
            r#"{"arguments":":1}"}"#,
        ] {
            let raw: Box<RawValue> = serde_json::from_str(delta).expect("valid");
            calls.add_function_call(&raw, &mut |_| {});
        }
        assert_eq!(calls.finish("local")[0].arguments, "{\"x\":1}");
    }
}
