//! What moves a turn forward.

use std::fmt;

use transcript::{ContextBlock, FailureKind, MessageId, SeatId, Usage};

/// Names one request to a model, unique for the life of an orchestrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a message is to be answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SendMode {
    /// One request for each reply.
    #[default]
    Chat,
    /// Plan, drafts, critique and synthesis for each reply: see [`crate::bonfire`].
    Bonfire,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It had said everything.
    Stop,
    /// It reached its limit of output.
    Length,
    /// It asked for a tool.
    ToolCalls,
    /// The provider's filter stepped in.
    ContentFilter,
    /// Something else, in the provider's word.
    Other(String),
}

impl Finish {
    /// The field's word for it: `stop`, `length`, `tool_calls`, `content_filter`, or the provider's own.
    pub fn name(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Other(word) => word,
        }
    }
}

/// Something that happened to a thread: an act of the person, or news about a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The person sends a message. During a turn it waits in the queue.
    Send {
        /// The id it will have.
        message_id: MessageId,
        /// Markdown source.
        text: String,
        /// Attachments.
        context_blocks: Vec<ContextBlock>,
        /// Who is to answer, whatever the text mentions; `None` or empty leaves it to the router.
        targets: Option<Vec<SeatId>>,
        /// How it is to be answered.
        mode: SendMode,
    },
    /// A piece of a reply.
    Delta {
        /// Whose.
        request: RequestId,
        /// The piece.
        text: String,
    },
    /// A piece of a model's reasoning.
    Reasoning {
        /// Whose.
        request: RequestId,
        /// The piece.
        text: String,
    },
    /// A request ended with a reason to finish.
    Done {
        /// Which.
        request: RequestId,
        /// What it cost, where reported.
        usage: Option<Usage>,
        /// The model as answered, where it was named.
        model: Option<String>,
        /// Why the model stopped.
        finish: Finish,
    },
    /// A request ended in any other way.
    Failed {
        /// Which.
        request: RequestId,
        /// Why, in words for the person, the provider's own where it sent some.
        error: String,
        /// What kind of failure it was, where that is known.
        kind: Option<FailureKind>,
    },
    /// The person stops the turn. What has arrived stays, seats still to speak are skipped, and queued
    /// messages wait until [`Input::Resume`]. A message sent meanwhile is answered at once.
    Stop,
    /// The queue goes on.
    Resume,
    /// A failed or stopped reply is to be tried again. During a turn this waits in the queue.
    Retry {
        /// The reply.
        message_id: MessageId,
    },
    /// A queued message or retry is taken out again.
    Unqueue {
        /// The message to send, or the reply to retry.
        message_id: MessageId,
    },
    /// A message is taken back.
    Delete {
        /// Which.
        message_id: MessageId,
    },
    /// A note to the whole table. While a reply streams it waits for the reply's end.
    Note {
        /// The id it will have.
        message_id: MessageId,
        /// Markdown source.
        text: String,
    },
}
