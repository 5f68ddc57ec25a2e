//! A thread: the canonical record, and the only ways to change it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::{
    Message, MessageId, NewMessage, Role, SeatId, Settlement, Status, ThreadId, Timestamp,
};

/// The version of the thread file that this crate reads and writes.
pub(crate) const FORMAT_VERSION: u64 = 1;

/// Longest title made from a first message, in characters.
const TITLE_MAX_CHARS: usize = 60;

/// Where a fork was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkOrigin {
    /// The thread it was taken from.
    pub thread_id: ThreadId,
    /// The last message that both share.
    pub seq: u64,
}

/// Why a change to a thread was refused. The thread is as it was before.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ThreadError {
    /// A reply is being received; nothing can be said before it has settled.
    #[error("a reply is still streaming: {0}")]
    Busy(MessageId),
    /// An assistant message by a seat that the thread doesn't know.
    #[error("unknown seat: {0}")]
    UnknownSeat(SeatId),
    /// Role and speaker don't belong together.
    #[error("speaker does not fit the role: {0}")]
    WrongSpeaker(SeatId),
    /// No such message.
    #[error("no such message: {0}")]
    UnknownMessage(MessageId),
    /// The message is not streaming any more, so it can't grow or settle.
    #[error("message is already settled: {0}")]
    Settled(MessageId),
    /// An id that is in use.
    #[error("message id is already in use: {0}")]
    DuplicateId(MessageId),
    /// `Streaming` or `Deleted` where only a way to end was allowed.
    #[error("not a way for a message to end: {0:?}")]
    NotTerminal(Status),
    /// A seat named `user`, `system`, or nothing.
    #[error("not a name for a seat: {0:?}")]
    ReservedSeat(SeatId),
}

/// Why a thread file was refused as a thread.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ThreadFormatError {
    /// Written by another format version.
    #[error("thread format version {0} is not known (expected {FORMAT_VERSION})")]
    Version(u64),
    /// Messages are not numbered 0, 1, 2, ...
    #[error("message number {found} stands where {expected} should")]
    Gap {
        /// The number that the place asks for.
        expected: u64,
        /// The number found there.
        found: u64,
    },
    /// Two messages with one id.
    #[error("message id occurs twice: {0}")]
    DuplicateId(MessageId),
}

/// Everything of a thread but its messages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ThreadHeader {
    pub(crate) id: ThreadId,
    pub(crate) title: String,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) participants: Vec<SeatId>,
    pub(crate) forked_from: Option<ForkOrigin>,
    pub(crate) archived: bool,
    pub(crate) extra: Map<String, Value>,
}

/// The canonical record of one conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    id: ThreadId,
    title: String,
    created_at: Timestamp,
    updated_at: Timestamp,
    participants: Vec<SeatId>,
    forked_from: Option<ForkOrigin>,
    archived: bool,
    messages: Vec<Arc<Message>>,
    place_of: HashMap<MessageId, usize>,
    extra: Map<String, Value>,
}

impl Thread {
    /// An empty thread without a title.
    pub fn new(id: ThreadId, now: Timestamp) -> Self {
        Self {
            id,
            title: String::new(),
            created_at: now,
            updated_at: now,
            participants: Vec::new(),
            forked_from: None,
            archived: false,
            messages: Vec::new(),
            place_of: HashMap::new(),
            extra: Map::new(),
        }
    }

    /// Its id.
    pub fn id(&self) -> &ThreadId {
        &self.id
    }

    /// Its title; empty until the first message or a rename.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// When it was made.
    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }

    /// When it was last changed.
    pub fn updated_at(&self) -> Timestamp {
        self.updated_at
    }

    /// Seats that have spoken or were asked to.
    pub fn participants(&self) -> &[SeatId] {
        &self.participants
    }

    /// Where it was forked, for a fork.
    pub fn forked_from(&self) -> Option<&ForkOrigin> {
        self.forked_from.as_ref()
    }

    /// Whether the person put it aside.
    pub fn is_archived(&self) -> bool {
        self.archived
    }

    /// All messages, in order, a streaming one last.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The message with this id.
    pub fn message(&self, id: &MessageId) -> Option<&Arc<Message>> {
        self.place_of.get(id).map(|place| &self.messages[*place])
    }

    /// The message that is being received, if any.
    pub fn streaming(&self) -> Option<&Arc<Message>> {
        self.messages
            .last()
            .filter(|m| m.status == Status::Streaming)
    }

    /// Makes a seat known, so that it may speak.
    ///
    /// # Errors
    /// [`ThreadError::ReservedSeat`] for `user`, `system` and the empty name.
    pub fn seat(&mut self, seat: &SeatId) -> Result<(), ThreadError> {
        if matches!(seat.as_str(), SeatId::USER | SeatId::SYSTEM | "") {
            return Err(ThreadError::ReservedSeat(seat.clone()));
        }
        if !self.participants.contains(seat) {
            self.participants.push(seat.clone());
        }
        Ok(())
    }

    /// Adds a message at the end. A reply begins as [`Status::Streaming`], anything else is complete.
    /// The first message of the person gives the thread its title.
    ///
    /// # Errors
    /// While a reply streams; for an unknown seat; for a speaker that doesn't fit the role; for an id in use.
    pub fn append(
        &mut self,
        new: NewMessage,
        id: MessageId,
        now: Timestamp,
    ) -> Result<Arc<Message>, ThreadError> {
        if let Some(live) = self.streaming() {
            return Err(ThreadError::Busy(live.id.clone()));
        }
        match new.role {
            Role::User if new.speaker.as_str() != SeatId::USER => {
                return Err(ThreadError::WrongSpeaker(new.speaker));
            }
            Role::System if new.speaker.as_str() != SeatId::SYSTEM => {
                return Err(ThreadError::WrongSpeaker(new.speaker));
            }
            Role::Assistant if !self.participants.contains(&new.speaker) => {
                return Err(ThreadError::UnknownSeat(new.speaker));
            }
            _ => {}
        }
        if self.message(&id).is_some() {
            return Err(ThreadError::DuplicateId(id));
        }
        if self.title.is_empty() && new.role == Role::User {
            self.title = title_from(&new.content);
        }
        let message = Arc::new(Message {
            id,
            seq: self.messages.len() as u64,
            role: new.role,
            speaker: new.speaker,
            content: new.content,
            context_blocks: new.context_blocks,
            targets: new.targets,
            status: match new.role {
                Role::Assistant => Status::Streaming,
                Role::User | Role::System => Status::Complete,
            },
            error: None,
            failure: None,
            usage: None,
            route: new.route,
            created_at: now,
            extra: Map::new(),
        });
        self.push(Arc::clone(&message));
        self.updated_at = now;
        Ok(message)
    }

    /// Adds text to the reply that is being received.
    ///
    /// # Errors
    /// When there is no such message, or it has settled.
    pub fn grow(&mut self, id: &MessageId, delta: &str) -> Result<(), ThreadError> {
        self.streaming_mut(id)?.content.push_str(delta);
        Ok(())
    }

    /// Ends the reply that is being received.
    ///
    /// # Errors
    /// When there is no such message, it has settled, or `end.status` isn't a way to end.
    pub fn settle(
        &mut self,
        id: &MessageId,
        end: Settlement,
        now: Timestamp,
    ) -> Result<Arc<Message>, ThreadError> {
        if matches!(end.status, Status::Streaming | Status::Deleted) {
            return Err(ThreadError::NotTerminal(end.status));
        }
        let message = self.streaming_mut(id)?;
        message.status = end.status;
        message.error = end.error;
        message.failure = end.failure;
        message.usage = end.usage;
        if let Some(content) = end.content {
            message.content = content;
        }
        if let (Some(route), Some(model)) = (&mut message.route, end.model) {
            route.model = model;
        }
        self.updated_at = now;
        self.messages
            .last()
            .cloned()
            .ok_or_else(|| ThreadError::UnknownMessage(id.clone()))
    }

    /// Takes a message back: its content is cleared, its place stays.
    ///
    /// # Errors
    /// When there is no such message, or it is streaming.
    pub fn tombstone(
        &mut self,
        id: &MessageId,
        now: Timestamp,
    ) -> Result<Arc<Message>, ThreadError> {
        let index = self.index_of(id)?;
        if self.messages[index].status == Status::Streaming {
            return Err(ThreadError::Busy(id.clone()));
        }
        let message = Arc::make_mut(&mut self.messages[index]);
        message.content = String::new();
        message.context_blocks = Vec::new();
        message.error = None;
        message.failure = None;
        message.status = Status::Deleted;
        self.updated_at = now;
        Ok(Arc::clone(&self.messages[index]))
    }

    /// Gives the thread a title; blanks at the ends are dropped, control characters become spaces.
    pub fn rename(&mut self, title: &str, now: Timestamp) {
        let clean: String = title
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        clean.trim().clone_into(&mut self.title);
        self.updated_at = now;
    }

    /// Puts the thread aside or brings it back.
    pub fn set_archived(&mut self, archived: bool, now: Timestamp) {
        self.archived = archived;
        self.updated_at = now;
    }

    /// A new thread with the messages up to and including `last_shared`, or with none for `None`.
    /// A reply that still streams is left behind.
    pub fn fork(&self, last_shared: Option<u64>, id: ThreadId, now: Timestamp) -> Self {
        let keep = last_shared.map_or(0, |seq| {
            usize::try_from(seq)
                .unwrap_or(usize::MAX)
                .saturating_add(1)
                .min(self.messages.len())
        });
        let mut messages = self.messages[..keep].to_vec();
        if messages
            .last()
            .is_some_and(|m| m.status == Status::Streaming)
        {
            messages.pop();
        }
        Self {
            id,
            title: self.title.clone(),
            created_at: now,
            updated_at: now,
            participants: self.participants.clone(),
            forked_from: messages.last().map(|shared| ForkOrigin {
                thread_id: self.id.clone(),
                seq: shared.seq,
            }),
            archived: false,
            place_of: messages
                .iter()
                .enumerate()
                .map(|(i, m)| (m.id.clone(), i))
                .collect(),
            messages,
            extra: Map::new(),
        }
    }

    /// Everything but the messages, as the thread file writes it.
    pub(crate) fn header(&self) -> ThreadHeader {
        ThreadHeader {
            id: self.id.clone(),
            title: self.title.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            participants: self.participants.clone(),
            forked_from: self.forked_from.clone(),
            archived: self.archived,
            extra: self.extra.clone(),
        }
    }

    /// Takes over a header read from disk.
    pub(crate) fn set_header(&mut self, header: ThreadHeader) {
        self.id = header.id;
        self.title = header.title;
        self.created_at = header.created_at;
        self.updated_at = header.updated_at;
        self.participants = header.participants;
        self.forked_from = header.forked_from;
        self.archived = header.archived;
        self.extra = header.extra;
        for message in &self.messages {
            if message.role == Role::Assistant && !self.participants.contains(&message.speaker) {
                self.participants.push(message.speaker.clone());
            }
        }
    }

    /// Puts a message read from disk into its place: the next one, or one that is there already with the
    /// same id. A message that was saved while streaming ended in a crash, so it is `cancelled`; the
    /// speaker of a reply becomes known if it wasn't.
    pub(crate) fn restore(&mut self, mut message: Message) -> Result<(), ThreadFormatError> {
        let known = self.place_of.get(&message.id).copied();
        match known {
            None => self.restore_next(message),
            Some(place) if place as u64 == message.seq => {
                if message.status == Status::Streaming {
                    message.status = Status::Cancelled;
                }
                self.messages[place] = Arc::new(message);
                Ok(())
            }
            Some(_) => Err(ThreadFormatError::DuplicateId(message.id)),
        }
    }

    /// As [`Thread::restore`], for the next message only.
    pub(crate) fn restore_next(&mut self, mut message: Message) -> Result<(), ThreadFormatError> {
        let place = self.messages.len();
        if message.seq != place as u64 {
            return Err(ThreadFormatError::Gap {
                expected: place as u64,
                found: message.seq,
            });
        }
        match self.place_of.entry(message.id.clone()) {
            Entry::Occupied(_) => return Err(ThreadFormatError::DuplicateId(message.id)),
            Entry::Vacant(free) => free.insert(place),
        };
        if message.status == Status::Streaming {
            message.status = Status::Cancelled;
        }
        if message.role == Role::Assistant && !self.participants.contains(&message.speaker) {
            self.participants.push(message.speaker.clone());
        }
        self.messages.push(Arc::new(message));
        Ok(())
    }

    /// Gives a reply that a crash cut short more of its text, which begins where the content had `at` bytes.
    /// Text that is there already is not added twice; text that doesn't fit is left out.
    pub(crate) fn regrow(&mut self, seq: u64, at: usize, text: &str) {
        let message = usize::try_from(seq)
            .ok()
            .and_then(|place| self.messages.get_mut(place));
        let Some(message) = message.filter(|m| m.status == Status::Cancelled) else {
            return;
        };
        let Some(known) = message.content.get(at..) else {
            return;
        };
        if let Some(new) = text.strip_prefix(known).filter(|new| !new.is_empty()) {
            Arc::make_mut(message).content.push_str(new);
        }
    }

    fn push(&mut self, message: Arc<Message>) {
        self.place_of
            .insert(message.id.clone(), self.messages.len());
        self.messages.push(message);
    }

    fn index_of(&self, id: &MessageId) -> Result<usize, ThreadError> {
        self.place_of
            .get(id)
            .copied()
            .ok_or_else(|| ThreadError::UnknownMessage(id.clone()))
    }

    fn streaming_mut(&mut self, id: &MessageId) -> Result<&mut Message, ThreadError> {
        let index = self.index_of(id)?;
        if self.messages[index].status != Status::Streaming {
            return Err(ThreadError::Settled(id.clone()));
        }
        Ok(Arc::make_mut(&mut self.messages[index]))
    }
}

/// A title from the first line of a message that has words in it, without the mentions at its beginning, at
/// most 60 characters, cut at a word.
pub fn title_from(content: &str) -> String {
    let line = content
        .lines()
        .map(|line| {
            line.trim_start_matches(['#', '>', '-', '*', '`', ' ', '\t'])
                .trim()
        })
        .find(|line| line.chars().any(char::is_alphanumeric))
        .unwrap_or_else(|| content.trim().lines().next().unwrap_or_default());
    let clean: String = without_leading_mentions(line)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if clean.chars().count() <= TITLE_MAX_CHARS {
        return clean;
    }
    let cut: String = clean.chars().take(TITLE_MAX_CHARS - 1).collect();
    let at_word = cut
        .rfind(char::is_whitespace)
        .filter(|at| *at > cut.len() / 2);
    format!("{}…", cut[..at_word.unwrap_or(cut.len())].trim_end())
}

fn without_leading_mentions(line: &str) -> &str {
    let mut rest = line;
    while let Some(mention) = rest.strip_prefix('@') {
        let end = mention.find(char::is_whitespace).unwrap_or(mention.len());
        rest = mention[end..].trim_start_matches([' ', '\t', ',', ':']);
    }
    if rest.is_empty() { line } else { rest }
}

#[cfg(test)]
mod tests {
    use super::title_from;

    #[test]
    fn a_title_says_what_it_is_about() {
        assert_eq!(title_from("@all @gpt What now?"), "What now?");
        assert_eq!(title_from("@all"), "@all");
        assert_eq!(title_from("\n## Heading\nmore"), "Heading");
        assert_eq!(title_from("   "), "");
        let long = title_from(&"word ".repeat(40));
        assert!(
            long.chars().count() <= 60 && long.ends_with("word…"),
            "{long}"
        );
    }
}
