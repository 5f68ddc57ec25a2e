//! What a seat is shown: the shared thread, rendered from where it sits.

use serde::Serialize;
use transcript::{Message, MessageId, Thread};

use crate::Seat;
use crate::outline::{Entry, MERGE_SEPARATOR, Outline, Part};
use crate::seat_view::SeatView;
use crate::size::{Budget, Size};

/// How long prompts may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptOptions {
    /// Above this many characters the oldest messages are dropped.
    pub soft_limit_chars: usize,
    /// How many of the latest messages are never dropped; at least the very last is kept.
    pub keep_recent: usize,
}

impl Default for PromptOptions {
    fn default() -> Self {
        Self {
            soft_limit_chars: 150_000,
            keep_recent: 8,
        }
    }
}

/// The role of a message in a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptRole {
    /// Instructions and notes.
    System,
    /// Everything that the seat hears.
    User,
    /// What the seat itself said.
    Assistant,
}

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PromptMessage {
    /// On whose side it stands.
    pub role: PromptRole,
    /// Its text, sent as it is.
    pub content: String,
}

/// What is sent to a seat's model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prompt {
    /// The messages, a system message first.
    pub messages: Vec<PromptMessage>,
    /// Characters of all contents.
    pub chars: usize,
    /// Messages of the thread that were left out for length, oldest first.
    pub dropped: Vec<MessageId>,
    /// Whether it is too long even so.
    pub over_budget: bool,
}

impl Prompt {
    /// The same prompt with one more message to the seat at its end, merged into the last one where `merge`
    /// says so and that one is the user's too.
    pub fn followed_by(&self, text: &str, merge: bool) -> Self {
        let mut longer = self.clone();
        let more = PromptMessage {
            role: PromptRole::User,
            content: text.to_owned(),
        };
        push(&mut longer.messages, more, merge);
        longer.chars = total_chars(&longer.messages);
        longer
    }
}

/// Assembles the prompt for `seat` from the thread and nothing else.
///
/// First a system message: who the seat is, who else is at the table, how speakers are labelled, and the
/// seat's own instructions. Then the thread: the seat's own words as the assistant's, the person's labelled
/// `[User]` and followed by their context blocks, the other seats' labelled `[Name]:` and, like the person's,
/// as the user's. Notes to the table follow the system message, or stay in place labelled `[System]` where
/// the endpoint takes one system message only. What is taken back, empty or still streaming is not shown; a
/// reply that was stopped or failed half-way is.
///
/// Where that exceeds the budget, the oldest messages give way to one omission marker, in steps that free
/// half of the room, so that a prompt goes on with the bytes of the one before it for many turns.
pub fn assemble(thread: &Thread, seat: &Seat, table: &[Seat], options: &PromptOptions) -> Prompt {
    assemble_without(thread, seat, table, options, &[])
}

/// [`assemble`], with some messages left out: the failed attempts that a retry is to make good.
pub fn assemble_without(
    thread: &Thread,
    seat: &Seat,
    table: &[Seat],
    options: &PromptOptions,
    left_out: &[MessageId],
) -> Prompt {
    let view = SeatView::new(seat, table);
    let shown: Vec<&Message> = thread
        .messages()
        .iter()
        .map(AsRef::as_ref)
        .filter(|message| message.is_shared_context() && !left_out.contains(message.id()))
        .collect();
    let entries: Vec<Entry> = shown.iter().map(|message| view.entry(message)).collect();
    let budget = Budget::new(options.soft_limit_chars, seat.context_window_tokens);
    let outline = Outline::new(&entries, &view, budget, options.keep_recent);

    let mut messages = Vec::with_capacity(outline.parts.len());
    for part in outline.parts {
        let message = match part {
            Part::System => PromptMessage {
                role: PromptRole::System,
                content: view.system.clone(),
            },
            Part::Entry(at) => view.render(shown[at]),
            Part::OmissionMarker => view.omission_marker(),
            Part::Opener => view.opener(),
            Part::Cue => view.cue(),
        };
        push(&mut messages, message, view.merges());
    }
    Prompt {
        messages,
        chars: outline.size.chars,
        dropped: shown[..outline.dropped]
            .iter()
            .map(|message| message.id().clone())
            .collect(),
        over_budget: outline.over_budget,
    }
}

fn push(messages: &mut Vec<PromptMessage>, message: PromptMessage, merge: bool) {
    match messages.last_mut() {
        Some(last) if merge && last.role == message.role => {
            last.content.push_str(MERGE_SEPARATOR);
            last.content.push_str(&message.content);
        }
        _ => messages.push(message),
    }
}

fn total_chars(messages: &[PromptMessage]) -> usize {
    messages
        .iter()
        .map(|message| Size::of(&message.content).chars)
        .sum()
}
