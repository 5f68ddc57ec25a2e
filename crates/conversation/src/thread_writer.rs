//! Changes to a thread, and what follows from each.

use std::sync::Arc;

use transcript::{
    Message, MessageId, NewMessage, SeatId, Settlement, Status, Thread, ThreadError, ThreadId,
};

use crate::Seat;
use crate::event::TurnEvent;
use crate::journal_entry::JournalEntry;
use crate::label_echo::foreign_label;
use crate::output::{Durability, Output};
use crate::turn_context::TurnContext;

/// Writes to the thread while one input is handled, and collects the outputs: no change goes unsaved or untold.
pub(crate) struct ThreadWriter<'a, 'c> {
    pub(crate) thread: &'a mut Thread,
    pub(crate) context: &'a mut TurnContext<'c>,
    pub(crate) generation: u64,
    pub(crate) outputs: Vec<Output>,
}

impl ThreadWriter<'_, '_> {
    pub(crate) fn seat(&self, id: &SeatId) -> Option<&Seat> {
        let mut seats = self.context.seats.iter();
        seats.find(|seat| seat.enabled && seat.id == *id)
    }

    pub(crate) fn tell(&mut self, event: impl FnOnce(ThreadId, u64) -> TurnEvent) {
        let event = event(self.thread.id().clone(), self.generation);
        self.outputs.push(Output::Event(event));
    }

    pub(crate) fn warn(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.tell(|thread, generation| TurnEvent::Warning {
            thread,
            generation,
            text,
        });
    }

    pub(crate) fn journal(&mut self, message_id: &MessageId, entry: JournalEntry) {
        self.outputs.push(Output::Journal {
            message_id: message_id.clone(),
            entry,
        });
    }

    /// Makes a seat a participant.
    pub(crate) fn seat_participant(&mut self, id: &SeatId) -> Result<(), ThreadError> {
        let known = self.thread.participants().len();
        self.thread.seat(id)?;
        if self.thread.participants().len() > known {
            self.outputs.push(Output::PersistHeader);
        }
        Ok(())
    }

    pub(crate) fn append(
        &mut self,
        new: NewMessage,
        id: MessageId,
        durability: Durability,
    ) -> Result<(), ThreadError> {
        let untitled = self.thread.title().is_empty();
        let message = self.thread.append(new, id, self.context.now)?;
        self.persist(&message, durability);
        if untitled && !self.thread.title().is_empty() {
            self.outputs.push(Output::PersistHeader);
        }
        self.tell(|thread, generation| TurnEvent::MessageAdded {
            thread,
            generation,
            message,
        });
        Ok(())
    }

    pub(crate) fn grow(&mut self, id: &MessageId, text: String) {
        if text.is_empty() {
            return;
        }
        match self.thread.grow(id, &text) {
            Ok(()) => self.tell(|thread, generation| TurnEvent::Delta {
                thread,
                generation,
                message: id.clone(),
                text,
            }),
            Err(error) => self.warn(error.to_string()),
        }
    }

    pub(crate) fn said_something(&self, id: &MessageId) -> bool {
        let message = self.thread.message(id);
        message.is_some_and(|message| !message.content().trim().is_empty())
    }

    /// Ends a reply. One with a line that begins with somebody else's label is complete with a note that says so.
    pub(crate) fn settle(&mut self, id: &MessageId, mut end: Settlement) {
        if end.status == Status::Complete
            && let Some(claimed) = self.claimed_speaker(id, &end)
        {
            let claim = format!("a line claims to be by {claimed}; it is the seat's own text");
            let notes = end.error.into_iter().chain([claim]).collect::<Vec<_>>();
            end.error = Some(notes.join("; "));
        }
        match self.thread.settle(id, end, self.context.now) {
            Ok(message) => self.changed(message),
            Err(error) => self.warn(error.to_string()),
        }
    }

    /// The name of another speaker whose label begins a line of a reply.
    fn claimed_speaker(&self, id: &MessageId, end: &Settlement) -> Option<String> {
        let message = self.thread.message(id)?;
        let text = end.content.as_deref().unwrap_or(message.content());
        let seats = self.context.seats;
        let speaker = foreign_label(text, seats, message.speaker())?;
        let seat = seats.iter().find(|seat| seat.id == speaker);
        Some(seat.map_or_else(|| speaker.to_string(), |seat| seat.display_name.clone()))
    }

    pub(crate) fn tombstone(&mut self, id: &MessageId) {
        match self.thread.tombstone(id, self.context.now) {
            Ok(message) => self.changed(message),
            Err(ThreadError::Busy(_)) => {
                self.warn("a reply that is still arriving can't be deleted: stop it first");
            }
            Err(error) => self.warn(error.to_string()),
        }
    }

    fn changed(&mut self, message: Arc<Message>) {
        self.persist(&message, Durability::Later);
        self.tell(|thread, generation| TurnEvent::MessageChanged {
            thread,
            generation,
            message,
        });
    }

    fn persist(&mut self, message: &Message, durability: Durability) {
        self.outputs.push(Output::Persist {
            message_id: message.id().clone(),
            durability,
        });
    }
}
