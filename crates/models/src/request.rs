//! A chat request and the bytes it becomes for an endpoint.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::completion::ToolCall;
use crate::profile::{EffortField, MaxTokensField, Profile, ReasoningField};

/// Who a message speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// Instructions.
    System,
    /// The person, and every other seat.
    User,
    /// The addressed seat's own words.
    Assistant,
    /// The result of a tool call.
    Tool,
}

/// One message of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatMessage {
    /// Its role.
    pub role: ChatRole,
    /// Its text. Speakers are told apart by labels in the text: the `name` field is refused or ignored too often.
    pub content: String,
    /// The reasoning that led to `tool_calls`; sent only along with them.
    pub reasoning: Option<String>,
    /// The calls an assistant message made.
    pub tool_calls: Vec<ToolCall>,
    /// The call a tool message answers.
    pub tool_call_id: Option<String>,
    /// Further fields of the message, sent as they are.
    pub extra: Map<String, Value>,
}

impl ChatMessage {
    /// A message of plain text.
    pub fn new(role: ChatRole, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
            reasoning: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            extra: Map::new(),
        }
    }

    /// The result of a tool call.
    pub fn tool_result(tool_call_id: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            tool_call_id: Some(tool_call_id.into()),
            ..Self::new(ChatRole::Tool, content)
        }
    }

    fn is_plain(&self) -> bool {
        self.tool_calls.is_empty()
            && self.tool_call_id.is_none()
            && self.extra.is_empty()
            && self.role != ChatRole::Tool
    }
}

/// What a seat is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// The model's id.
    pub model: String,
    /// The messages in order.
    pub messages: Vec<ChatMessage>,
    /// How hard the model should think: `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`, or a word of the
    /// provider's own. `None` leaves it to the provider.
    pub effort: Option<String>,
    /// Tool schemas in OpenAI's form.
    pub tools: Vec<Value>,
    /// The most tokens of the reply, reasoning included.
    pub max_output_tokens: Option<u64>,
}

impl ChatRequest {
    /// A request for plain text.
    pub fn new(model: impl Into<String>, messages: Vec<ChatMessage>) -> Self {
        Self {
            model: model.into(),
            messages,
            effort: None,
            tools: Vec::new(),
            max_output_tokens: None,
        }
    }

    /// The messages as the endpoint gets them: merged where it refuses neighbours of the same role or a second system
    /// message. Idempotent, and the identity for an endpoint that refuses nothing.
    pub fn shaped_messages(&self, profile: &Profile) -> Vec<ChatMessage> {
        let mut messages = self.messages.clone();
        if profile.single_system_message {
            messages = one_system_message(messages);
        }
        if profile.merge_same_role {
            messages = user_first(merge_neighbours(messages));
        }
        messages
    }

    /// What the body holds besides the messages and the schemas of tools: model, effort, limits.
    pub fn settings(&self, profile: &Profile) -> Map<String, Value> {
        let bare = ChatRequest {
            effort: self.effort.clone(),
            max_output_tokens: self.max_output_tokens,
            ..ChatRequest::new(self.model.as_str(), Vec::new())
        };
        let mut fields: Map<String, Value> =
            serde_json::from_slice(&bare.body(profile)).unwrap_or_default();
        fields.shift_remove("messages");
        fields
    }

    /// The body that is sent, byte for byte.
    pub fn body(&self, profile: &Profile) -> Vec<u8> {
        let messages = self.shaped_messages(profile);
        let body = WireRequest {
            model: &self.model,
            messages: messages
                .iter()
                .map(|message| WireMessage { message, profile })
                .collect(),
            stream: true,
            stream_options: profile
                .include_usage
                .then(|| json!({"include_usage": true})),
            tools: &self.tools,
            max_tokens: self
                .max_output_tokens
                .filter(|_| profile.max_tokens_field == MaxTokensField::MaxTokens),
            max_completion_tokens: self
                .max_output_tokens
                .filter(|_| profile.max_tokens_field == MaxTokensField::MaxCompletionTokens),
            effort: self
                .effort
                .as_deref()
                .map(|effort| effort_fields(effort, profile))
                .unwrap_or_default(),
        };
        // Serialising strings and maps with string keys into memory has no way to fail.
        serde_json::to_vec(&body).unwrap_or_default()
    }
}

fn effort_fields(effort: &str, profile: &Profile) -> Map<String, Value> {
    let mut fields = Map::new();
    let effort = match profile.effort_field {
        EffortField::ReasoningEffort => effort,
        EffortField::DeepSeek => {
            let off = matches!(effort, "none" | "off" | "disabled");
            let switch = if off { "disabled" } else { "enabled" };
            fields.insert("thinking".to_owned(), json!({"type": switch}));
            match effort {
                _ if off => return fields,
                "minimal" | "low" => "low",
                "medium" | "high" | "xhigh" => "high",
                "ultra" | "max" => "max",
                other => other,
            }
        }
    };
    fields.insert("reasoning_effort".to_owned(), Value::from(effort));
    fields
}

fn one_system_message(messages: Vec<ChatMessage>) -> Vec<ChatMessage> {
    let (system, mut rest): (Vec<_>, Vec<_>) = messages
        .into_iter()
        .partition(|message| message.role == ChatRole::System);
    let merged = system.into_iter().reduce(|mut first, next| {
        append(&mut first.content, &next.content);
        first
    });
    rest.splice(0..0, merged);
    rest
}

fn merge_neighbours(messages: Vec<ChatMessage>) -> Vec<ChatMessage> {
    let mut merged: Vec<ChatMessage> = Vec::with_capacity(messages.len());
    for message in messages {
        match merged.last_mut() {
            Some(last) if last.role == message.role && last.is_plain() && message.is_plain() => {
                append(&mut last.content, &message.content);
            }
            _ => merged.push(message),
        }
    }
    merged
}

/// Strict templates want a user message first. Where the conversation begins otherwise, one that says so goes ahead.
fn user_first(mut messages: Vec<ChatMessage>) -> Vec<ChatMessage> {
    let first = messages
        .iter()
        .position(|message| message.role != ChatRole::System);
    if let Some(at) = first
        && messages[at].role != ChatRole::User
    {
        messages.insert(
            at,
            ChatMessage::new(
                ChatRole::User,
                "[System] The conversation begins with your own message.",
            ),
        );
    }
    messages
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

#[derive(Serialize)]
struct WireRequest<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
    #[serde(skip_serializing_if = "<[Value]>::is_empty")]
    tools: &'a [Value],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(flatten)]
    effort: Map<String, Value>,
}

struct WireMessage<'a> {
    message: &'a ChatMessage,
    profile: &'a Profile,
}

impl Serialize for WireMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;

        let ChatMessage {
            role,
            content,
            reasoning,
            tool_calls,
            tool_call_id,
            extra,
        } = self.message;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", role)?;
        if let Some(id) = tool_call_id {
            map.serialize_entry("tool_call_id", id)?;
        }
        // An empty text block beside tool calls is refused by some; null is the form of the original API.
        let silent = content.is_empty() && !tool_calls.is_empty();
        map.serialize_entry("content", &Some(content).filter(|_| !silent))?;
        if let Some(reasoning) = reasoning
            && !tool_calls.is_empty()
            && self.profile.reasoning_field == ReasoningField::ReasoningContent
        {
            map.serialize_entry("reasoning_content", reasoning)?;
        }
        if !tool_calls.is_empty() {
            let calls: Vec<Value> = tool_calls.iter().map(wire_call).collect();
            map.serialize_entry("tool_calls", &calls)?;
        }
        for (name, value) in extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// A call as it goes back: the known fields, and every other field as it came.
fn wire_call(call: &ToolCall) -> Value {
    let mut function = Map::new();
    function.insert("name".to_owned(), Value::from(call.name.as_str()));
    function.insert("arguments".to_owned(), Value::from(call.arguments.as_str()));
    let mut whole = Map::new();
    whole.insert("id".to_owned(), Value::from(call.id.as_str()));
    whole.insert("type".to_owned(), Value::from("function"));
    for (name, value) in &call.extra {
        match value {
            Value::Object(fields) if name == "function" => function.extend(fields.clone()),
            value => {
                whole.insert(name.clone(), value.clone());
            }
        }
    }
    whole.insert("function".to_owned(), Value::Object(function));
    Value::Object(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_a_request_are_those_of_its_body() {
        let request = ChatRequest {
            effort: Some("high".to_owned()),
            max_output_tokens: Some(7),
            ..ChatRequest::new("m", vec![ChatMessage::new(ChatRole::User, "hi")])
        };
        let url = url::Url::parse("https://api.deepseek.com/v1").expect("valid");
        for profile in [Profile::default(), Profile::for_url(&url)] {
            let mut whole = body(&request, &profile);
            whole
                .as_object_mut()
                .map(|fields| fields.shift_remove("messages"));
            assert_eq!(Value::Object(request.settings(&profile)), whole);
        }
    }

    fn body(request: &ChatRequest, profile: &Profile) -> Value {
        serde_json::from_slice(&request.body(profile)).expect("valid")
    }

    fn roles(messages: &[ChatMessage]) -> Vec<(ChatRole, &str)> {
        messages
            .iter()
            .map(|message| (message.role, message.content.as_str()))
            .collect()
    }

    fn table() -> ChatRequest {
        use ChatRole::{Assistant, System, User};
        let say = ChatMessage::new;
        ChatRequest::new(
            "m",
            vec![
                say(System, "s"),
                say(Assistant, "a"),
                say(User, "u"),
                say(User, "v"),
                say(System, "t"),
                say(User, "w"),
            ],
        )
    }

    #[test]
    fn a_plain_request_has_nothing_optional_in_it() {
        assert_eq!(
            String::from_utf8(
                ChatRequest::new("m", vec![ChatMessage::new(ChatRole::User, "hi")])
                    .body(&Profile::default())
            )
            .expect("valid"),
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}"#
        );
    }

    #[test]
    fn neighbours_merge_and_a_user_begins_for_endpoints_that_insist() {
        use ChatRole::{System, User};
        let profile = Profile {
            merge_same_role: true,
            single_system_message: true,
            ..Profile::default()
        };
        let shaped = table().shaped_messages(&profile);
        assert_eq!(roles(&shaped)[0], (System, "s\n\nt"));
        assert_eq!(shaped[1].role, User);
        assert_eq!(
            roles(&shaped)[2..],
            [(ChatRole::Assistant, "a"), (User, "u\n\nv\n\nw")]
        );
        let again = ChatRequest::new("m", shaped.clone()).shaped_messages(&profile);
        assert_eq!(again, shaped);
        assert_eq!(
            table().shaped_messages(&Profile::default()),
            table().messages
        );
    }

    #[test]
    fn the_limit_has_the_name_the_endpoint_knows() {
        let mut request = table();
        request.max_output_tokens = Some(9);
        assert_eq!(body(&request, &Profile::default())["max_tokens"], 9);
        let openai = Profile {
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            ..Profile::default()
        };
        assert_eq!(body(&request, &openai)["max_completion_tokens"], 9);
        assert_eq!(body(&request, &openai).get("max_tokens"), None);
    }

    #[test]
    fn usage_is_asked_for_only_by_profile() {
        let profile = Profile {
            include_usage: true,
            ..Profile::default()
        };
        assert_eq!(
            body(&table(), &profile)["stream_options"],
            json!({"include_usage": true})
        );
        assert_eq!(
            body(&table(), &Profile::default()).get("stream_options"),
            None
        );
    }

    #[test]
    fn effort_goes_as_the_endpoint_takes_it() {
        let deepseek = Profile {
            effort_field: EffortField::DeepSeek,
            ..Profile::default()
        };
        for (asked, thinking, sent) in [
            ("minimal", "enabled", Some("low")),
            ("medium", "enabled", Some("high")),
            ("ultra", "enabled", Some("max")),
            ("none", "disabled", None),
        ] {
            let mut request = table();
            request.effort = Some(asked.to_owned());
            let sent_body = body(&request, &deepseek);
            assert_eq!(sent_body["thinking"]["type"], thinking, "{asked}");
            assert_eq!(
                sent_body.get("reasoning_effort").and_then(Value::as_str),
                sent,
                "{asked}"
            );
            assert_eq!(
                body(&request, &Profile::default())["reasoning_effort"],
                asked
            );
        }
        assert_eq!(body(&table(), &deepseek).get("thinking"), None);
    }

    #[test]
    fn a_tool_call_goes_back_with_its_reasoning_and_every_field_it_came_with() {
        let mut call = ChatMessage::new(ChatRole::Assistant, "");
        call.reasoning = Some("because".to_owned());
        call.tool_calls = vec![ToolCall {
            id: "a".to_owned(),
            name: "f".to_owned(),
            arguments: "{}".to_owned(),
            extra: serde_json::from_value(json!({
                "extra_content": {"google": {"thought_signature": "c2ln"}}, "function": {"strict": true}
            }))
            .expect("valid"),
        }];
        let request = ChatRequest::new("m", vec![call, ChatMessage::tool_result("a", "42")]);
        assert_eq!(
            body(&request, &Profile::default())["messages"],
            json!([
                {"role": "assistant", "content": null, "reasoning_content": "because", "tool_calls": [{
                    "id": "a", "type": "function", "extra_content": {"google": {"thought_signature": "c2ln"}},
                    "function": {"name": "f", "arguments": "{}", "strict": true}
                }]},
                {"role": "tool", "tool_call_id": "a", "content": "42"}
            ])
        );
    }

    #[test]
    fn reasoning_without_tool_calls_stays_at_home_and_no_message_has_a_name() {
        let mut message = ChatMessage::new(ChatRole::Assistant, "a");
        message.reasoning = Some("because".to_owned());
        let sent = body(&ChatRequest::new("m", vec![message]), &Profile::default());
        assert_eq!(
            sent["messages"],
            json!([{"role": "assistant", "content": "a"}])
        );
    }
}
