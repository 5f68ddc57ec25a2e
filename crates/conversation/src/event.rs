//! What the views of a thread are told.

use std::sync::Arc;

use transcript::{Message, MessageId, ThreadId};

use crate::output::{Purpose, Queued};

/// What the views of a thread are told. `generation` counts the turns of the thread's orchestrator: an event
/// with a lower one than a view has seen is late.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnEvent {
    /// A turn has begun.
    TurnStarted {
        /// Which thread.
        thread: ThreadId,
        /// Which turn.
        generation: u64,
    },
    /// A message stands at the thread's end now.
    MessageAdded {
        /// Which thread.
        thread: ThreadId,
        /// In which turn.
        generation: u64,
        /// The message; a reply is still empty.
        message: Arc<Message>,
    },
    /// A reply has grown.
    Delta {
        /// Which thread.
        thread: ThreadId,
        /// In which turn.
        generation: u64,
        /// The reply.
        message: MessageId,
        /// What to add to it.
        text: String,
    },
    /// Something for the thinking channel of a reply.
    Reasoning {
        /// Which thread.
        thread: ThreadId,
        /// In which turn.
        generation: u64,
        /// The reply.
        message: MessageId,
        /// Of which request.
        purpose: Purpose,
        /// What to add.
        text: String,
    },
    /// A message has ended or was taken back.
    MessageChanged {
        /// Which thread.
        thread: ThreadId,
        /// In which turn.
        generation: u64,
        /// The message as it is now.
        message: Arc<Message>,
    },
    /// The prompt for a reply left out these messages for length.
    Dropped {
        /// Which thread.
        thread: ThreadId,
        /// In which turn.
        generation: u64,
        /// The reply.
        message: MessageId,
        /// What was left out, oldest first.
        message_ids: Vec<MessageId>,
        /// Whether the prompt is too long for the seat even so.
        over_budget: bool,
    },
    /// What waits has changed.
    QueueChanged {
        /// Which thread.
        thread: ThreadId,
        /// In which turn.
        generation: u64,
        /// What waits, next first.
        queued: Vec<Queued>,
        /// Whether it waits for the person, after a stop.
        paused: bool,
    },
    /// Something the person should know; nothing is lost.
    Warning {
        /// Which thread.
        thread: ThreadId,
        /// In which turn.
        generation: u64,
        /// In words.
        text: String,
    },
    /// The turn is over.
    TurnEnded {
        /// Which thread.
        thread: ThreadId,
        /// Which turn.
        generation: u64,
        /// Whether every seat that was addressed has answered in full.
        ok: bool,
    },
}
