//! What a turn asks of the host.

use transcript::{MessageId, SeatId};

use crate::bonfire::Step;
use crate::event::TurnEvent;
use crate::input::RequestId;
use crate::journal_entry::JournalEntry;
use crate::prompt::Prompt;
pub use crate::queue::{Queued, QueuedKind};

/// One thing for the host to do. Outputs are done in order, each before the next is begun: a request after a
/// [`Output::Persist`] leaves only once that message is on disk.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Save this message as it is now.
    Persist {
        /// Which.
        message_id: MessageId,
        /// By when.
        durability: Durability,
    },
    /// The thread's title or its list of participants has changed.
    PersistHeader,
    /// Ask a model. News comes back as [`crate::input::Input`]s with this id, and exactly one of them is
    /// `Done` or `Failed`, unless the request is aborted first.
    Request(Request),
    /// Close the connection of this request; no news of it is expected any more.
    Abort {
        /// Which.
        request: RequestId,
    },
    /// Write this to the run journal.
    Journal {
        /// The reply it belongs to.
        message_id: MessageId,
        /// What happened.
        entry: JournalEntry,
    },
    /// Tell the views.
    Event(TurnEvent),
}

/// By when a message has to be on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before the next output is carried out.
    Now,
    /// With the next write-behind.
    Later,
}

/// A request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Its name.
    pub request: RequestId,
    /// Who is asked; the seat says where and which model.
    pub seat: SeatId,
    /// What is sent.
    pub prompt: Prompt,
    /// How hard the model is to think.
    pub effort: Effort,
    /// What for.
    pub purpose: Purpose,
    /// The reply that it contributes to.
    pub message_id: MessageId,
}

/// How hard a model is to think.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effort {
    /// As the seat is set; `None` leaves it to the model.
    OfSeat(Option<String>),
    /// As hard as the model can.
    Highest,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The reply itself.
    Reply,
    /// A step of a Bonfire.
    Bonfire(Step),
}

impl Purpose {
    /// Whether what the model says goes into the reply, rather than onto the thinking channel.
    pub fn is_spoken(self) -> bool {
        matches!(self, Self::Reply | Self::Bonfire(Step::Synthesis))
    }

    /// A name for people and for the journal: `reply`, `plan`, `draft 1`, ...
    pub fn name(self) -> String {
        match self {
            Self::Reply => "reply".to_owned(),
            Self::Bonfire(step) => step.to_string(),
        }
    }
}
