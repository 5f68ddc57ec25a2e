//! How large the next prompt would be, cheaply enough to ask at every keystroke.

use std::sync::{Arc, Weak};

use transcript::{ContextBlock, Message, NewMessage, Role, SeatId, Thread, ThreadId, Timestamp};

use crate::Seat;
use crate::outline::{Entry, Outline};
use crate::prompt::{PromptOptions, PromptRole};
use crate::seat_view::{SeatView, body_size};
use crate::size::{Budget, Size};

/// A message that is still being written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Draft<'a> {
    /// What the composer holds.
    pub text: &'a str,
    /// What is attached.
    pub context_blocks: &'a [ContextBlock],
}

impl<'a> From<&'a str> for Draft<'a> {
    fn from(text: &'a str) -> Self {
        Self {
            text,
            context_blocks: &[],
        }
    }
}

/// What the prompt would measure if the draft were sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptEstimate {
    /// Characters, exactly.
    pub chars: usize,
    /// Tokens, by a rule of thumb: a quarter of a token for an ASCII character, half a one or a whole one
    /// for characters of other scripts.
    pub approx_tokens: usize,
    /// Whether it is too long for the seat even with the oldest messages dropped.
    pub over_budget: bool,
    /// How many messages would be dropped.
    pub dropped: usize,
}

/// Estimates prompts for one thread. It remembers the size of each message, so that after the first time
/// only what changed is measured; given another thread it starts anew.
#[derive(Debug, Default)]
pub struct PromptEstimator {
    thread: Option<ThreadId>,
    measured: Vec<Measured>,
    speakers: Vec<(Role, SeatId)>,
}

#[derive(Debug)]
struct Measured {
    // A message that changes moves away from under its weak references, so an equal address means an
    // unchanged message.
    message: Weak<Message>,
    shown: Option<Shown>,
}

#[derive(Clone, Copy, Debug)]
struct Shown {
    body: Size,
    /// Index into `speakers`.
    speaker: usize,
}

impl PromptEstimator {
    /// One that has measured nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What [`crate::prompt::assemble`] would make of the thread with the draft at its end.
    pub fn estimate<'d>(
        &mut self,
        thread: &Thread,
        draft: impl Into<Draft<'d>>,
        seat: &Seat,
        table: &[Seat],
        options: &PromptOptions,
    ) -> PromptEstimate {
        self.measure(thread);
        let view = SeatView::new(seat, table);
        let by_speaker: Vec<(PromptRole, Size)> = self
            .speakers
            .iter()
            .map(|(role, id)| (view.role_of(*role, id), Size::of(&view.label_of(*role, id))))
            .collect();
        let mut entries: Vec<Entry> = self
            .measured
            .iter()
            .filter_map(|measured| measured.shown)
            .map(|shown| {
                let (role, label) = by_speaker[shown.speaker];
                Entry {
                    role,
                    size: label + shown.body,
                }
            })
            .collect();
        entries.extend(draft_entry(draft.into(), &view));
        let budget = Budget::new(options.soft_limit_chars, seat.context_window_tokens);
        let outline = Outline::new(&entries, &view, budget, options.keep_recent);
        PromptEstimate {
            chars: outline.size.chars,
            approx_tokens: outline.size.tokens(),
            over_budget: outline.over_budget,
            dropped: outline.dropped,
        }
    }

    fn measure(&mut self, thread: &Thread) {
        if self.thread.as_ref() != Some(thread.id()) {
            *self = Self {
                thread: Some(thread.id().clone()),
                ..Self::default()
            };
        }
        let messages = thread.messages();
        self.measured.truncate(messages.len());
        for (at, message) in messages.iter().enumerate() {
            let known = self.measured.get(at);
            if known.is_some_and(|known| known.message.as_ptr() == Arc::as_ptr(message)) {
                continue;
            }
            let shown = message.is_shared_context().then(|| Shown {
                body: body_size(message),
                speaker: self.speaker_index(message),
            });
            let measured = Measured {
                message: Arc::downgrade(message),
                shown,
            };
            if at < self.measured.len() {
                self.measured[at] = measured;
            } else {
                self.measured.push(measured);
            }
        }
    }

    fn speaker_index(&mut self, message: &Message) -> usize {
        let is_speaker =
            |(role, id): &(Role, SeatId)| *role == message.role() && *id == *message.speaker();
        self.speakers
            .iter()
            .position(is_speaker)
            .unwrap_or_else(|| {
                self.speakers
                    .push((message.role(), message.speaker().clone()));
                self.speakers.len() - 1
            })
    }
}

/// The draft as the message it would become; nothing while it is empty.
fn draft_entry(draft: Draft<'_>, view: &SeatView<'_>) -> Option<Entry> {
    let mut scratch = Thread::new("draft".into(), Timestamp::UNIX_EPOCH);
    let new = NewMessage {
        context_blocks: draft.context_blocks.to_vec(),
        ..NewMessage::user(draft.text)
    };
    let message = scratch
        .append(new, "draft".into(), Timestamp::UNIX_EPOCH)
        .ok()?;
    message.is_shared_context().then(|| view.entry(&message))
}
