//! A turn at the table: who speaks, what they are shown, and how the turn proceeds.
//!
//! Everything here is a pure function or a state machine of the [`transcript::Thread`] and what it is given:
//! no clock, no randomness, no I/O. Read it in this order:
//!
//! 1. [`seat`]: who sits at the table. [`mention`] and [`router`]: who answers a message.
//! 2. [`prompt`]: what they are shown. [`estimate`]: how much that is. [`label_echo`]: what they should not
//!    have written.
//! 3. [`orchestrator`]: how a turn proceeds, from [`input`]s to [`output`]s. [`bonfire`]: the long way to one
//!    reply.
//!
//! ```
//! use conversation::{PromptOptions, RouterMode, Seat, assemble, route};
//! use transcript::{NewMessage, Thread, Timestamp};
//!
//! let now = Timestamp::UNIX_EPOCH;
//! let table = [
//!     Seat::new("claude", "Claude", "sidecar", "claude-opus-4-8"),
//!     Seat::new("gpt", "GPT", "sidecar", "gpt-5"),
//! ];
//! let mut thread = Thread::new("t1".into(), now);
//! let text = "What do you think, @gpt?";
//! let routing = route(&thread, text, &table, None, RouterMode::Manual);
//! assert_eq!(routing.responders, ["gpt".into()]);
//!
//! thread.append(NewMessage::user(text), "m1".into(), now)?;
//! let prompt = assemble(&thread, &table[1], &table, &PromptOptions::default());
//! assert_eq!(prompt.messages[1].content, "[User] What do you think, @gpt?");
//! # Ok::<(), transcript::ThreadError>(())
//! ```

pub mod bonfire;
mod code_regions;
pub mod context_block;
mod ending;
pub mod estimate;
pub mod event;
pub mod input;
pub mod journal_entry;
pub mod label_echo;
pub mod mention;
pub mod orchestrator;
mod outline;
pub mod output;
pub mod prompt;
mod queue;
mod reply;
pub mod router;
pub mod seat;
mod seat_view;
mod size;
mod speaker_names;
mod thread_writer;
mod turn;
pub mod turn_context;

pub use context_block::render_context_block;
pub use ending::Failure;
pub use estimate::{Draft, PromptEstimate, PromptEstimator};
pub use event::TurnEvent;
pub use input::{Finish, Input, RequestId, SendMode};
pub use journal_entry::{JournalEntry, instructions, thoughts};
pub use label_echo::{LabelStripper, foreign_label, strip_own_label};
pub use mention::{Mention, MentionKind, mentions};
pub use orchestrator::Orchestrator;
pub use output::{Durability, Effort, Output, Purpose, Queued, QueuedKind, Request};
pub use prompt::{Prompt, PromptMessage, PromptOptions, PromptRole, assemble, assemble_without};
pub use router::{RouterMode, Routing, RoutingReason, last_addressed, route};
pub use seat::Seat;
pub use turn::failed_attempts;
pub use turn_context::TurnContext;
