//! What waits for the turn in progress to end.

use transcript::{ContextBlock, MessageId, SeatId};

use crate::input::SendMode;

/// A turn or retry that waits for the one in progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Queued {
    /// The message to send, or the reply to retry.
    pub message_id: MessageId,
    /// Which of the two.
    pub kind: QueuedKind,
}

/// What waits.
#[derive(Clone, Debug, PartialEq)]
pub enum QueuedKind {
    /// A message of the person.
    Send {
        /// Its text.
        text: String,
        /// Its attachments.
        context_blocks: Vec<ContextBlock>,
        /// How it is to be answered.
        mode: SendMode,
    },
    /// Another attempt at a reply.
    Retry,
}

#[derive(Debug)]
pub(crate) enum WaitingTurn {
    Send(Send),
    Retry(MessageId),
}

#[derive(Debug)]
pub(crate) struct Send {
    pub(crate) message_id: MessageId,
    pub(crate) text: String,
    pub(crate) context_blocks: Vec<ContextBlock>,
    pub(crate) targets: Option<Vec<SeatId>>,
    pub(crate) mode: SendMode,
    /// Whom the person was speaking to when they sent it.
    pub(crate) selected: Option<SeatId>,
}

impl WaitingTurn {
    pub(crate) fn message_id(&self) -> &MessageId {
        match self {
            Self::Send(send) => &send.message_id,
            Self::Retry(message_id) => message_id,
        }
    }

    pub(crate) fn summary(&self) -> Queued {
        Queued {
            message_id: self.message_id().clone(),
            kind: match self {
                Self::Send(send) => QueuedKind::Send {
                    text: send.text.clone(),
                    context_blocks: send.context_blocks.clone(),
                    mode: send.mode,
                },
                Self::Retry(_) => QueuedKind::Retry,
            },
        }
    }
}
