//! What the run journal records of a turn.

use serde_json::{Value, json};
use transcript::{SeatId, Usage};

use crate::input::{Finish, RequestId};
use crate::output::Purpose;

/// A line of the run journal. Never read back into a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum JournalEntry {
    /// A request was made.
    Request {
        /// Its name.
        request: RequestId,
        /// What for.
        purpose: Purpose,
        /// Of whom.
        seat: SeatId,
        /// The model asked for.
        model: String,
        /// Characters sent.
        chars: usize,
        /// How many messages were left out for length.
        dropped: usize,
        /// What was added to the thread's own prompt, for a step of a Bonfire.
        instruction: Option<String>,
    },
    /// What the model thought in it, as far as the provider shows that.
    Reasoning {
        /// Its name.
        request: RequestId,
        /// What for.
        purpose: Purpose,
        /// The thought.
        text: String,
    },
    /// It finished.
    Response {
        /// Its name.
        request: RequestId,
        /// What for.
        purpose: Purpose,
        /// What the model said, where that isn't the reply itself.
        text: Option<String>,
        /// What it cost, where reported.
        usage: Option<Usage>,
        /// Why the model stopped.
        finish: Finish,
    },
    /// It failed or was stopped.
    Error {
        /// Its name.
        request: RequestId,
        /// What for.
        purpose: Purpose,
        /// Why.
        error: String,
        /// What the model had said until then, where that isn't the reply itself.
        text: Option<String>,
    },
}

impl JournalEntry {
    /// The kind of the journal record: `request`, `reasoning`, `response` or `error`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Reasoning { .. } => "reasoning",
            Self::Response { .. } => "response",
            Self::Error { .. } => "error",
        }
    }

    /// The data of the journal record: an object.
    pub fn data(&self) -> Value {
        match self {
            Self::Request {
                request,
                purpose,
                seat,
                model,
                chars,
                dropped,
                instruction,
            } => json!({
                "request": request.0,
                "purpose": purpose.name(),
                "seat": seat,
                "model": model,
                "chars": chars,
                "dropped": dropped,
                "instruction": instruction,
            }),
            Self::Reasoning {
                request,
                purpose,
                text,
            } => json!({"request": request.0, "purpose": purpose.name(), "text": text}),
            Self::Response {
                request,
                purpose,
                text,
                usage,
                finish,
            } => json!({
                "request": request.0,
                "purpose": purpose.name(),
                "text": text,
                "usage": usage,
                "finish": finish.name(),
            }),
            Self::Error {
                request,
                purpose,
                error,
                text,
            } => json!({
                "request": request.0,
                "purpose": purpose.name(),
                "error": error,
                "text": text,
            }),
        }
    }
}
