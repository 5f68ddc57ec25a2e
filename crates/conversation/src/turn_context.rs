//! What a turn needs from the outside.

use transcript::{MessageId, SeatId, Timestamp};

use crate::Seat;
use crate::prompt::PromptOptions;
use crate::router::RouterMode;

/// The circumstances under which an input is handled. Time and names come from here, so that the same inputs
/// under the same circumstances make the same transcript.
pub struct TurnContext<'a> {
    /// The table, switched-off seats included.
    pub seats: &'a [Seat],
    /// How long prompts may get.
    pub options: PromptOptions,
    /// Who responds when nobody is mentioned.
    pub router_mode: RouterMode,
    /// The seat that the person is speaking to.
    pub selected: Option<&'a SeatId>,
    /// The present.
    pub now: Timestamp,
    /// Names the next reply; never twice the same in a thread.
    pub new_id: &'a mut dyn FnMut() -> MessageId,
}
