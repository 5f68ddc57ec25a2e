//! From the composer to the thread and back: drafts, sending, editing what was sent.

use std::time::Instant;

use conversation::SendMode;
use host::{EndpointState, Intent, SendMessage};
use transcript::{MessageId, Role, SeatId, Status};

use super::{ChatAction, ChatView, intent};
use crate::chat::composer::{Mode, Written};
use crate::shell::model::Model;
use crate::widgets::thread_doc::ThreadDoc;

/// A message of the past that is in the composer: sent, it goes on from there in a fork.
pub(super) struct Editing {
    message: MessageId,
    /// What was being written before; it comes back.
    set_aside: Written,
}

impl ChatView {
    /// Saves the draft that has not been saved yet, if there is one.
    pub fn unsaved_draft(&mut self) -> Option<Intent> {
        self.draft_at.take()?;
        let thread = self.shown.clone()?;
        let draft = match &self.editing {
            Some(editing) => &editing.set_aside,
            None => &self.composer.written,
        };
        Some(Intent::SetDraft {
            thread,
            text: draft.text.clone(),
            context_blocks: draft.attachments.clone(),
        })
    }

    /// Changes between Chat and Bonfire.
    pub fn toggle_bonfire(&mut self) {
        self.composer.mode = match self.composer.mode {
            Mode::Chat => Mode::Bonfire,
            Mode::Bonfire => Mode::Chat,
        };
    }

    /// Attaches what is selected in the thread to the message being written.
    pub fn attach_selection(&mut self) {
        let text = self.doc.as_ref().map(ThreadDoc::selected_text);
        match text.filter(|text| !text.is_empty()) {
            Some(text) => {
                self.composer.attach_quote(text);
                self.composer.focus();
                self.draft_at = Some(Instant::now());
                self.estimate_at = Some(Instant::now());
            }
            None => self.warn("Select some text in the thread first.".to_owned()),
        }
    }

    /// Puts the person's last message into the composer; sending it goes on in a fork. What is being written there
    /// comes back afterwards.
    pub fn edit_last(&mut self, model: &Model) {
        self.composer.focus();
        let last = messages(model)
            .iter()
            .rev()
            .find(|m| m.role() == Role::User && m.status() != Status::Deleted);
        let Some(message) = last.filter(|_| self.editing.is_none()) else {
            return;
        };
        let set_aside = self.composer.take();
        self.editing = Some(Editing {
            message: message.id().clone(),
            set_aside,
        });
        self.composer.set(Written {
            text: message.content().to_owned(),
            attachments: message.context_blocks().to_vec(),
        });
    }

    /// Gives up editing a message of the past.
    pub(super) fn stop_editing(&mut self) {
        if let Some(editing) = self.editing.take() {
            self.composer.set(editing.set_aside);
            self.composer.focus();
            self.estimate_at = Some(Instant::now());
        }
    }

    /// Puts what was not sent in front of what is being written.
    pub(super) fn put_back(&mut self, unsent: Written) {
        match &mut self.editing {
            Some(editing) => editing.set_aside.put_in_front(unsent),
            None => {
                let mut written = self.composer.take();
                written.put_in_front(unsent);
                self.composer.set(written);
            }
        }
        self.draft_at = Some(Instant::now());
        self.estimate_at = Some(Instant::now());
    }

    /// Puts back a message that the host could not take.
    pub fn put_back_message(&mut self, message: SendMessage) {
        self.put_back(Written {
            text: message.text,
            attachments: message.context_blocks,
        });
    }

    /// What sending the composer's content means now; `None` when there is nothing to send.
    pub fn send_intent(&mut self, model: &Model) -> Option<Intent> {
        if self.composer.written.is_empty() {
            return None;
        }
        if let Some(reason) = blocked(model) {
            self.warn(format!("{reason}."));
            return None;
        }
        let thread = model.thread_id()?.clone();
        let edited_seq = match &self.editing {
            Some(editing) => {
                let edited = messages(model).iter().find(|m| *m.id() == editing.message);
                Some(edited.map(|m| m.seq())?)
            }
            None => None,
        };
        let Written { text, attachments } = self.composer.take();
        // The draft ends with the message.
        self.draft_at = None;
        let mode = match self.composer.mode {
            Mode::Chat => SendMode::Chat,
            Mode::Bonfire => SendMode::Bonfire,
        };
        self.composer.mode = Mode::Chat;
        self.notes.retain(|note| note.restore.is_some());
        let message = SendMessage {
            thread: Some(thread.clone()),
            text,
            targets: None,
            context_blocks: attachments,
            mode,
            is_draft: edited_seq.is_none(),
        };
        let Some(seq) = edited_seq else {
            return Some(Intent::Send(message));
        };
        self.stop_editing();
        self.draft_at = Some(Instant::now());
        Some(Intent::Fork {
            thread,
            last_shared: seq.checked_sub(1),
            resend: Some(Box::new(message)),
        })
    }

    /// Work that waits for a pause in the person's typing.
    pub(super) fn timed_work(
        &mut self,
        ctx: &egui::Context,
        model: &Model,
        actions: &mut Vec<ChatAction>,
    ) {
        let Some(thread) = model.thread_id().cloned() else {
            return;
        };
        let now = Instant::now();
        actions.extend(self.left_draft.take().map(intent));
        if self.estimate_at.take_if(|at| *at <= now).is_some() {
            actions.push(intent(Intent::EstimatePrompt {
                thread,
                draft: self.composer.written.text.clone(),
                context_blocks: self.composer.written.attachments.clone(),
            }));
        }
        if self.draft_at.is_some_and(|at| at <= now) {
            actions.extend(self.unsaved_draft().map(intent));
        }
        for at in [self.estimate_at, self.draft_at].into_iter().flatten() {
            ctx.request_repaint_after(at.saturating_duration_since(now));
        }
    }
}

fn messages(model: &Model) -> &[std::sync::Arc<transcript::Message>] {
    let thread = model.thread.as_ref();
    thread.map(|t| t.messages.as_slice()).unwrap_or_default()
}

/// Why nothing can be sent now.
pub(super) fn blocked(model: &Model) -> Option<&'static str> {
    let through_proxy = |id: &SeatId| {
        let seat = model.seats.iter().find(|view| view.seat.id == *id);
        seat.is_some_and(|view| view.seat.endpoint == "sidecar")
    };
    if model.shows_terms_notice && model.estimate.targets.iter().any(through_proxy) {
        Some("Read the notice at the top first")
    } else if model.seats.iter().any(|view| view.seat.enabled) {
        None
    } else if model
        .endpoints
        .iter()
        .any(|e| e.state == EndpointState::Checking)
    {
        // The host sends it as soon as somebody is there.
        None
    } else {
        Some("Nobody sits at the table yet; add an endpoint or a seat in the settings")
    }
}
