//! What a model's reply is made of, whatever dialect it came in.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A piece of a reply, delivered while it streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamEvent {
    /// Text of the answer.
    Content(String),
    /// Text of the model's thinking: its own channel, never part of the answer.
    Reasoning(String),
    /// A fragment of a tool call. The whole calls come with the [`Completion`].
    ToolCallDelta {
        /// The call's position among this reply's calls, counted from 0 without gaps.
        index: usize,
        /// The endpoint's id, where this fragment brought one.
        id: Option<String>,
        /// The tool's name, where this fragment brought one.
        name: Option<String>,
        /// The next piece of the arguments' JSON text; may be empty.
        arguments: String,
    },
}

/// Why a model stopped: the many names that endpoints use, mapped to five reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Finish {
    /// The model was done.
    Stop,
    /// The output or context limit was reached: the text ends early.
    Length,
    /// The model waits for the results of its tool calls.
    ToolCalls,
    /// The provider withheld the rest.
    ContentFilter,
    /// A reason of the provider's own, in its own word (`insufficient_system_resource`).
    Other(String),
}

impl Finish {
    /// Maps an endpoint's `finish_reason`; `None` for the empty string, which says nothing.
    pub fn from_wire(reason: &str) -> Option<Finish> {
        let finish = match reason.trim().to_ascii_lowercase().as_str() {
            "" => return None,
            "stop" | "end_turn" | "end" | "eos" | "eos_token" | "stop_sequence"
            | "stop_sequences" | "completed" | "complete" | "done" => Finish::Stop,
            "length"
            | "max_tokens"
            | "max_output_tokens"
            | "max_completion_tokens"
            | "model_length"
            | "model_context_window_exceeded" => Finish::Length,
            "tool_calls" | "tool_call" | "tool_use" | "function_call" => Finish::ToolCalls,
            "content_filter" | "content_filtered" | "safety" | "recitation"
            | "prohibited_content" | "blocklist" | "refusal" | "sensitive" => Finish::ContentFilter,
            _ => Finish::Other(reason.trim().to_owned()),
        };
        Some(finish)
    }
}

/// A whole tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The endpoint's id, or one made here where it sent none. Unique within the reply.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as JSON text; `{}` where the model sent none. Not checked to be valid JSON.
    pub arguments: String,
    /// Every other field of the call, verbatim (`extra_content` with its thought signature, say), to be sent back with
    /// the call. Other fields of the call's `function` object lie under the key `function`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// The tokens a reply cost. `None` is unknown, which is not zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub input_tokens: Option<u64>,
    /// Tokens of the reply, reasoning included.
    pub output_tokens: Option<u64>,
    /// The part of the prompt that the provider's prefix cache served.
    pub cached_input_tokens: Option<u64>,
    /// The part of the reply that was reasoning.
    pub reasoning_tokens: Option<u64>,
}

/// The end of a reply that came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// Why the model stopped.
    pub finish: Finish,
    /// The tokens it cost, where the endpoint said.
    pub usage: Option<Usage>,
    /// The tool calls in the order they began.
    pub tool_calls: Vec<ToolCall>,
    /// The model that answered, as the endpoint named it: it may differ from the one asked for.
    pub model: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_finish_reason_maps_to_one_of_five() {
        let stop = ["stop", "STOP", "end_turn", "eos", "stop_sequence"];
        let length = ["length", "max_tokens", "MAX_TOKENS", "max_output_tokens"];
        let tools = ["tool_calls", "function_call", "tool_use"];
        let filter = ["content_filter", "SAFETY", "refusal"];
        for (names, finish) in [
            (&stop[..], Finish::Stop),
            (&length[..], Finish::Length),
            (&tools[..], Finish::ToolCalls),
            (&filter[..], Finish::ContentFilter),
        ] {
            for name in names {
                assert_eq!(Finish::from_wire(name), Some(finish.clone()), "{name}");
            }
        }
        assert_eq!(
            Finish::from_wire("insufficient_system_resource"),
            Some(Finish::Other("insufficient_system_resource".to_owned()))
        );
        assert_eq!(Finish::from_wire(""), None);
    }
}
