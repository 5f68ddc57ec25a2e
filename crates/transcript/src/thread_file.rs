//! The thread file: a thread as one JSON document.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::thread::ThreadFormatError;
use crate::thread::{FORMAT_VERSION, ThreadHeader};
use crate::{Message, Thread};

impl ThreadHeader {
    fn serialize_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("version", &FORMAT_VERSION)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("title", &self.title)?;
        map.serialize_entry("createdAt", &self.created_at)?;
        map.serialize_entry("updatedAt", &self.updated_at)?;
        map.serialize_entry("participants", &self.participants)?;
        if let Some(origin) = &self.forked_from {
            map.serialize_entry("forkedFrom", origin)?;
        }
        if self.archived {
            map.serialize_entry("archived", &true)?;
        }
        for (key, value) in &self.extra {
            map.serialize_entry(key, value)?;
        }
        Ok(())
    }
}

impl Serialize for ThreadHeader {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.serialize_into(&mut map)?;
        map.end()
    }
}

impl Serialize for Thread {
    /// Writes the settled messages only: what still streams is not said yet.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Settled<'a>(&'a Thread);
        impl Serialize for Settled<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let messages = self.0.messages().iter();
                serializer.collect_seq(messages.filter(|m| m.status().is_terminal()))
            }
        }
        let mut map = serializer.serialize_map(None)?;
        self.header().serialize_into(&mut map)?;
        map.serialize_entry("messages", &Settled(self))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Thread {
    /// Reads a thread file: holds the invariants, repairs what a crash left streaming.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ThreadVisitor {
            messages_required: true,
        })
    }
}

impl<'de> Deserialize<'de> for ThreadHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let thread = deserializer.deserialize_map(ThreadVisitor {
            messages_required: false,
        })?;
        Ok(thread.header())
    }
}

struct ThreadVisitor {
    messages_required: bool,
}

impl<'de> Visitor<'de> for ThreadVisitor {
    type Value = Thread;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a thread object")
    }

    // Fields are matched by hand: a flattened catch-all would make serde buffer all messages first.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Thread, A::Error> {
        let missing = de::Error::missing_field;
        let mut version: Option<u64> = None;
        let mut id = None;
        let mut title = None;
        let mut created_at = None;
        let mut updated_at = None;
        let mut participants = None;
        let mut forked_from = None;
        let mut archived = None;
        let mut extra = Map::new();
        let mut messages: Option<Thread> = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "version" => version = Some(map.next_value()?),
                "id" => id = Some(map.next_value()?),
                "title" => title = map.next_value()?,
                "createdAt" => created_at = Some(map.next_value()?),
                "updatedAt" => updated_at = map.next_value()?,
                "participants" => participants = map.next_value()?,
                "forkedFrom" => forked_from = map.next_value()?,
                "archived" => archived = map.next_value()?,
                "messages" => messages = Some(map.next_value_seed(MessagesSeed)?),
                _ => {
                    extra.insert(key, map.next_value()?);
                }
            }
        }
        match version {
            Some(FORMAT_VERSION) => {}
            Some(other) => return Err(de::Error::custom(ThreadFormatError::Version(other))),
            None => return Err(missing("version")),
        }
        let created_at = created_at.ok_or_else(|| missing("createdAt"))?;
        let header = ThreadHeader {
            id: id.ok_or_else(|| missing("id"))?,
            title: title.unwrap_or_default(),
            created_at,
            updated_at: updated_at.unwrap_or(created_at),
            participants: participants.unwrap_or_default(),
            forked_from,
            archived: archived.unwrap_or_default(),
            extra,
        };
        let mut thread = match messages {
            Some(thread) => thread,
            None if self.messages_required => return Err(missing("messages")),
            None => Thread::new(header.id.clone(), created_at),
        };
        thread.set_header(header);
        Ok(thread)
    }
}

/// Reads messages straight into a thread, so that a long file needs no second copy.
struct MessagesSeed;

impl<'de> DeserializeSeed<'de> for MessagesSeed {
    type Value = Thread;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Thread, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for MessagesSeed {
    type Value = Thread;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Thread, A::Error> {
        let mut thread = Thread::new("".into(), crate::Timestamp::UNIX_EPOCH);
        while let Some(message) = seq.next_element::<Message>()? {
            thread.restore_next(message).map_err(de::Error::custom)?;
        }
        Ok(thread)
    }
}
