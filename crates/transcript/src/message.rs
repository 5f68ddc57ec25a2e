//! One message of a thread, in the shape of the thread file.

use std::fmt;

use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{MessageId, SeatId, Timestamp};

/// On whose side of the conversation a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// A seat.
    Assistant,
    /// A note to the whole table.
    System,
}

/// How far a message got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Said in full.
    Complete,
    /// Being received. Lives in memory only.
    Streaming,
    /// Ended by an error; what had arrived is kept.
    Error,
    /// Stopped by the person, by a cut connection or by a crash; what had arrived is kept.
    Cancelled,
    /// Taken back: content cleared, place kept.
    Deleted,
}

impl Status {
    /// Whether the message can no longer grow.
    pub fn is_terminal(self) -> bool {
        self != Self::Streaming
    }
}

/// What a context block was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockKind {
    /// A whole file.
    File,
    /// Some lines of a file.
    Selection,
}

/// Text that the person attached to a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextBlock {
    /// File or selection.
    pub kind: BlockKind,
    /// Path as shown, with `/`, relative to the open folder where it lies inside.
    pub path: String,
    /// First and last line, 1-based and inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[u32; 2]>,
    /// The text itself, as it was when attached.
    pub content: String,
    /// Fields of other writers, kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Tokens that a reply cost, as reported by the endpoint. What it did not report is `None`, never zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Fields of other writers, kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Which endpoint and model produced a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// Kind of endpoint: `sidecar`, `keyed`, `rehearsal`, ...
    pub endpoint: String,
    /// The model as the endpoint named it in its answer, else as requested.
    pub model: String,
    /// Fields of other writers, kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What kind of failure ended a reply, as far as it decides what helps. What fits none is only told in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The connection or the provider ended the reply before the model did.
    CutOff,
    /// A key, an address, a model's name or a login is missing or wrong.
    Configuration,
    /// The prompt didn't fit into the model's context window.
    ContextFull,
    /// A limit of the account or the provider was reached.
    RateLimited,
}

/// One message. Read through its methods; changed only through [`crate::Thread`].
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub(crate) id: MessageId,
    pub(crate) seq: u64,
    pub(crate) role: Role,
    pub(crate) speaker: SeatId,
    pub(crate) content: String,
    pub(crate) context_blocks: Vec<ContextBlock>,
    pub(crate) targets: Vec<SeatId>,
    pub(crate) status: Status,
    pub(crate) error: Option<String>,
    pub(crate) failure: Option<FailureKind>,
    pub(crate) usage: Option<Usage>,
    pub(crate) route: Option<Route>,
    pub(crate) created_at: Timestamp,
    pub(crate) extra: Map<String, Value>,
}

impl Message {
    /// Its id, unique in the thread.
    pub fn id(&self) -> &MessageId {
        &self.id
    }

    /// Its place in the thread, from 0.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// On whose side it stands.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Who said it: `user`, `system` or a seat.
    pub fn speaker(&self) -> &SeatId {
        &self.speaker
    }

    /// Markdown source.
    pub fn content(&self) -> &str {
        &self.content
    }

    /// What the person attached.
    pub fn context_blocks(&self) -> &[ContextBlock] {
        &self.context_blocks
    }

    /// Which seats the router resolved this message to, in order of speaking.
    pub fn targets(&self) -> &[SeatId] {
        &self.targets
    }

    /// How far it got.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Why it ended, where it did not end well.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// What kind of failure ended it, where that is known.
    pub fn failure(&self) -> Option<FailureKind> {
        self.failure
    }

    /// What it cost, where reported.
    pub fn usage(&self) -> Option<&Usage> {
        self.usage.as_ref()
    }

    /// Where it came from, for replies.
    pub fn route(&self) -> Option<&Route> {
        self.route.as_ref()
    }

    /// When it was begun.
    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }

    /// Whether a prompt shows it: settled, not taken back, not empty.
    pub fn is_shared_context(&self) -> bool {
        let said_something = !self.content.is_empty() || !self.context_blocks.is_empty();
        said_something && !matches!(self.status, Status::Streaming | Status::Deleted)
    }

    /// The form in which a streaming message may be saved: as if it ended now, `cancelled`.
    pub fn as_interrupted(&self) -> Self {
        let status = if self.status == Status::Streaming {
            Status::Cancelled
        } else {
            self.status
        };
        Self {
            status,
            ..self.clone()
        }
    }
}

/// What a caller gives to [`crate::Thread::append`]; place, id and time are given by the thread.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    /// On whose side it stands.
    pub role: Role,
    /// Who says it.
    pub speaker: SeatId,
    /// Markdown source.
    pub content: String,
    /// Attachments; user messages only.
    pub context_blocks: Vec<ContextBlock>,
    /// The router's answer; user messages only.
    pub targets: Vec<SeatId>,
    /// Where the reply comes from; assistant messages only.
    pub route: Option<Route>,
}

/// Its content, for those who share the message rather than copy its text.
impl AsRef<str> for Message {
    fn as_ref(&self) -> &str {
        &self.content
    }
}

impl NewMessage {
    /// A message of the person.
    pub fn user(content: impl Into<String>) -> Self {
        Self {
            role: Role::User,
            speaker: SeatId::from(SeatId::USER),
            content: content.into(),
            context_blocks: Vec::new(),
            targets: Vec::new(),
            route: None,
        }
    }

    /// A note to the whole table.
    pub fn system(content: impl Into<String>) -> Self {
        Self {
            role: Role::System,
            speaker: SeatId::from(SeatId::SYSTEM),
            ..Self::user(content)
        }
    }

    /// The empty reply of a seat that is about to stream.
    pub fn reply(speaker: SeatId, route: Route) -> Self {
        Self {
            role: Role::Assistant,
            speaker,
            route: Some(route),
            ..Self::user("")
        }
    }
}

/// How a streaming message ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    /// `Complete`, `Error` or `Cancelled`.
    pub status: Status,
    /// Why, where it did not end well.
    pub error: Option<String>,
    /// What kind of failure it was, where that is known.
    pub failure: Option<FailureKind>,
    /// What it cost, where reported.
    pub usage: Option<Usage>,
    /// The model as answered, where it differs from the one asked for.
    pub model: Option<String>,
    /// The final text where it differs from the sum of the deltas (a stripped label, say).
    pub content: Option<String>,
}

impl Settlement {
    /// Said in full.
    pub fn complete() -> Self {
        Self {
            status: Status::Complete,
            error: None,
            failure: None,
            usage: None,
            model: None,
            content: None,
        }
    }

    /// Ended by an error.
    pub fn error(why: impl Into<String>) -> Self {
        Self {
            status: Status::Error,
            error: Some(why.into()),
            ..Self::complete()
        }
    }

    /// Ended before the model was done; what came of it stays.
    pub fn cut_off(why: impl Into<String>) -> Self {
        Self {
            failure: Some(FailureKind::CutOff),
            ..Self::cancelled(Some(why.into()))
        }
    }

    /// Stopped; `why` is `None` when the person stopped it.
    pub fn cancelled(why: Option<String>) -> Self {
        Self {
            status: Status::Cancelled,
            error: why,
            ..Self::complete()
        }
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("seq", &self.seq)?;
        map.serialize_entry("role", &self.role)?;
        map.serialize_entry("speaker", &self.speaker)?;
        map.serialize_entry("content", &self.content)?;
        if !self.context_blocks.is_empty() {
            map.serialize_entry("contextBlocks", &self.context_blocks)?;
        }
        if !self.targets.is_empty() {
            map.serialize_entry("targets", &self.targets)?;
        }
        map.serialize_entry("status", &self.status)?;
        if let Some(error) = &self.error {
            map.serialize_entry("error", error)?;
        }
        if let Some(failure) = &self.failure {
            map.serialize_entry("failure", failure)?;
        }
        if let Some(usage) = &self.usage {
            map.serialize_entry("usage", usage)?;
        }
        if let Some(route) = &self.route {
            map.serialize_entry("route", route)?;
        }
        map.serialize_entry("createdAt", &self.created_at)?;
        for (key, value) in &self.extra {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

// Written by hand because a flattened catch-all makes serde buffer every message, which doubles the time
// to open a long thread.
impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MessageVisitor)
    }
}

struct MessageVisitor;

impl<'de> Visitor<'de> for MessageVisitor {
    type Value = Message;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Message, A::Error> {
        let mut id = None;
        let mut seq = None;
        let mut role = None;
        let mut speaker = None;
        let mut content = None;
        let mut status = None;
        let mut created_at = None;
        let mut context_blocks = None;
        let mut targets = None;
        let mut error = None;
        let mut failure = None;
        let mut usage = None;
        let mut route = None;
        let mut extra = Map::new();
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Id => id = Some(map.next_value()?),
                Key::Seq => seq = Some(map.next_value()?),
                Key::Role => role = Some(map.next_value()?),
                Key::Speaker => speaker = Some(map.next_value()?),
                Key::Content => content = Some(map.next_value()?),
                Key::Status => status = Some(map.next_value()?),
                Key::CreatedAt => created_at = Some(map.next_value()?),
                Key::ContextBlocks => context_blocks = map.next_value()?,
                Key::Targets => targets = map.next_value()?,
                Key::Error => error = map.next_value()?,
                Key::Failure => {
                    let value: Value = map.next_value()?;
                    failure = FailureKind::deserialize(&value).ok();
                    if failure.is_none() {
                        // A kind that a later version knows.
                        extra.insert("failure".to_owned(), value);
                    }
                }
                Key::Usage => usage = map.next_value()?,
                Key::Route => route = map.next_value()?,
                Key::Other(name) if extra.contains_key(&name) => {
                    map.next_value::<IgnoredAny>()?;
                }
                Key::Other(name) => {
                    extra.insert(name, map.next_value()?);
                }
            }
        }
        let missing = de::Error::missing_field;
        Ok(Message {
            id: id.ok_or_else(|| missing("id"))?,
            seq: seq.ok_or_else(|| missing("seq"))?,
            role: role.ok_or_else(|| missing("role"))?,
            speaker: speaker.ok_or_else(|| missing("speaker"))?,
            content: content.ok_or_else(|| missing("content"))?,
            status: status.ok_or_else(|| missing("status"))?,
            created_at: created_at.ok_or_else(|| missing("createdAt"))?,
            context_blocks: context_blocks.unwrap_or_default(),
            targets: targets.unwrap_or_default(),
            error,
            failure,
            usage,
            route,
            extra,
        })
    }
}

enum Key {
    Id,
    Seq,
    Role,
    Speaker,
    Content,
    Status,
    CreatedAt,
    ContextBlocks,
    Targets,
    Error,
    Failure,
    Usage,
    Route,
    Other(String),
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl Visitor<'_> for KeyVisitor {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field name")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Key, E> {
                Ok(match name {
                    "id" => Key::Id,
                    "seq" => Key::Seq,
                    "role" => Key::Role,
                    "speaker" => Key::Speaker,
                    "content" => Key::Content,
                    "status" => Key::Status,
                    "createdAt" => Key::CreatedAt,
                    "contextBlocks" => Key::ContextBlocks,
                    "targets" => Key::Targets,
                    "error" => Key::Error,
                    "failure" => Key::Failure,
                    "usage" => Key::Usage,
                    "route" => Key::Route,
                    other => Key::Other(other.to_owned()),
                })
            }
        }
        deserializer.deserialize_identifier(KeyVisitor)
    }
}
