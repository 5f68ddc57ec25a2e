//! The turns of one thread: a state machine without clock, names or I/O of its own.

use std::collections::VecDeque;

use transcript::{MessageId, NewMessage, Status, Thread};

use crate::ending::Failure;
use crate::event::TurnEvent;
use crate::input::{Input, RequestId};
use crate::output::{Durability, Output};
use crate::queue::{Queued, Send, WaitingTurn};
use crate::reply::{After, Reply};
use crate::thread_writer::ThreadWriter;
use crate::turn::{Responder, Turn, open_retry, open_turn, place_reply, retriable};
use crate::turn_context::TurnContext;

/// Runs the turns of one thread, one at a time.
///
/// A turn is a message and the replies to it, one seat after the other, each prompt assembled once the reply
/// before it has settled. A reply that fails doesn't keep the next seat from answering; [`Input::Stop`] does.
/// What the person sends during a turn is queued and becomes the next turn.
///
/// A retry is a turn of one seat. Its prompt shows the thread as it is now, less the attempts of that seat
/// that failed since the message they were to answer, so that a model neither repeats nor continues its own
/// broken words. The failed reply stays in the thread, unless it says nothing at all: then it is taken back.
///
/// News of requests that are not open any more is ignored.
#[derive(Debug, Default)]
pub struct Orchestrator {
    generation: u64,
    last_request: u64,
    turn: Option<Turn>,
    queue: VecDeque<WaitingTurn>,
    /// After a stop the queue waits for the person.
    paused: bool,
    /// Notes that wait for the reply in progress to settle.
    notes: VecDeque<(MessageId, String)>,
}

impl Orchestrator {
    /// One for a thread in which nothing is going on.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a turn is in progress.
    pub fn is_generating(&self) -> bool {
        self.turn.is_some()
    }

    /// The number of the current or last turn.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The reply in progress.
    pub fn streaming(&self) -> Option<&MessageId> {
        Some(self.reply()?.message_id())
    }

    /// The requests that are open.
    pub fn open_requests(&self) -> Vec<RequestId> {
        self.reply()
            .map(|reply| reply.open_requests().collect())
            .unwrap_or_default()
    }

    /// What waits for its turn, next first.
    pub fn queued(&self) -> Vec<Queued> {
        self.queue.iter().map(WaitingTurn::summary).collect()
    }

    /// Whether what waits waits for [`Input::Resume`].
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Handles one input; the outputs are to be carried out in order. Input that makes no sense now changes
    /// nothing, and says so by a warning where it was an act of the person.
    pub fn handle(
        &mut self,
        thread: &mut Thread,
        input: Input,
        context: &mut TurnContext<'_>,
    ) -> Vec<Output> {
        let mut writer = ThreadWriter {
            thread,
            context,
            generation: self.generation,
            outputs: Vec::new(),
        };
        match input {
            Input::Send {
                message_id,
                text,
                context_blocks,
                targets,
                mode,
            } => {
                let send = Send {
                    message_id,
                    text,
                    context_blocks,
                    targets,
                    mode,
                    selected: writer.context.selected.cloned(),
                };
                self.send(send, &mut writer);
            }
            Input::Delta { request, text } => {
                if let Some(reply) = self.reply_to(request) {
                    reply.heard(request, &text, &mut writer);
                }
            }
            Input::Reasoning { request, text } => {
                if let Some(reply) = self.reply_to(request) {
                    reply.thought(request, &text, &mut writer);
                }
            }
            Input::Done {
                request,
                usage,
                model,
                finish,
            } => self.request_ended(request, &mut writer, |reply, last_request, writer| {
                reply.finished(request, usage, model, &finish, last_request, writer)
            }),
            Input::Failed {
                request,
                error,
                kind,
            } => self.request_ended(request, &mut writer, |reply, last_request, writer| {
                reply.failed(request, Failure::new(error, kind), last_request, writer)
            }),
            Input::Stop => self.stop(&mut writer),
            Input::Resume => self.resume(&mut writer),
            Input::Retry { message_id } => self.retry(message_id, &mut writer),
            Input::Unqueue { message_id } => self.unqueue(&message_id, &mut writer),
            Input::Delete { message_id } => delete(&message_id, &mut writer),
            Input::Note { message_id, text } => self.note(message_id, text, &mut writer),
        }
        self.go_on(&mut writer);
        writer.outputs
    }

    fn reply(&self) -> Option<&Reply> {
        self.turn.as_ref()?.reply.as_ref()
    }

    fn reply_to(&mut self, request: RequestId) -> Option<&mut Reply> {
        let reply = self.turn.as_mut()?.reply.as_mut()?;
        reply.has_open(request).then_some(reply)
    }

    fn send(&mut self, send: Send, writer: &mut ThreadWriter<'_, '_>) {
        if self.is_taken(&send.message_id, writer) {
            writer.warn(format!("message id is already in use: {}", send.message_id));
        } else if self.turn.is_some() {
            self.queue.push_back(WaitingTurn::Send(send));
            self.tell_queue(writer);
        } else {
            self.begin(WaitingTurn::Send(send), writer);
        }
    }

    fn retry(&mut self, message_id: MessageId, writer: &mut ThreadWriter<'_, '_>) {
        if let Err(why) = retriable(writer.thread, &message_id) {
            writer.warn(why);
        } else if self.turn.is_none() {
            self.begin(WaitingTurn::Retry(message_id), writer);
        } else if !self.queue.iter().any(|w| *w.message_id() == message_id) {
            self.queue.push_back(WaitingTurn::Retry(message_id));
            self.tell_queue(writer);
        }
    }

    fn note(&mut self, message_id: MessageId, text: String, writer: &mut ThreadWriter<'_, '_>) {
        if self.is_taken(&message_id, writer) {
            writer.warn(format!("message id is already in use: {message_id}"));
        } else {
            // Put down by `go_on`, at once unless a reply is in progress.
            self.notes.push_back((message_id, text));
        }
    }

    fn unqueue(&mut self, message_id: &MessageId, writer: &mut ThreadWriter<'_, '_>) {
        let waiting = self.queue.len();
        self.queue.retain(|w| w.message_id() != message_id);
        if self.queue.len() < waiting {
            self.paused &= !self.queue.is_empty();
            self.tell_queue(writer);
        }
    }

    fn resume(&mut self, writer: &mut ThreadWriter<'_, '_>) {
        if std::mem::take(&mut self.paused) {
            self.tell_queue(writer);
        }
    }

    fn stop(&mut self, writer: &mut ThreadWriter<'_, '_>) {
        let Some(turn) = &mut self.turn else {
            return;
        };
        turn.ok = false;
        turn.pending.clear();
        if let Some(mut reply) = turn.reply.take() {
            reply.stop(writer);
        }
        if !self.queue.is_empty() {
            self.paused = true;
            self.tell_queue(writer);
        }
    }

    fn request_ended(
        &mut self,
        request: RequestId,
        writer: &mut ThreadWriter<'_, '_>,
        end: impl FnOnce(&mut Reply, &mut u64, &mut ThreadWriter<'_, '_>) -> After,
    ) {
        let Some(turn) = &mut self.turn else {
            return;
        };
        let Some(reply) = turn.reply.as_mut().filter(|reply| reply.has_open(request)) else {
            return;
        };
        if let After::Settled { ok } = end(reply, &mut self.last_request, writer) {
            turn.reply = None;
            turn.ok &= ok;
        }
    }

    /// Moves on until a reply is in progress or there is nothing left to do.
    fn go_on(&mut self, writer: &mut ThreadWriter<'_, '_>) {
        loop {
            if self.reply().is_some() {
                return;
            }
            self.put_down_notes(writer);
            if let Some(turn) = &mut self.turn {
                match turn.pending.pop_front() {
                    Some(responder) => self.begin_reply(&responder, writer),
                    None => self.end_turn(writer),
                }
            } else if self.paused {
                return;
            } else if let Some(next) = self.queue.pop_front() {
                self.tell_queue(writer);
                self.begin(next, writer);
            } else {
                return;
            }
        }
    }

    fn begin(&mut self, waiting: WaitingTurn, writer: &mut ThreadWriter<'_, '_>) {
        self.generation += 1;
        writer.generation = self.generation;
        writer.tell(|thread, generation| TurnEvent::TurnStarted { thread, generation });
        self.turn = Some(match waiting {
            WaitingTurn::Send(send) => open_turn(send, writer),
            WaitingTurn::Retry(message_id) => open_retry(&message_id, writer),
        });
    }

    fn begin_reply(&mut self, responder: &Responder, writer: &mut ThreadWriter<'_, '_>) {
        let Some(turn) = &mut self.turn else {
            return;
        };
        match place_reply(responder, turn.mode, writer) {
            Ok((message_id, seat, prompt)) => {
                let last = &mut self.last_request;
                turn.reply = Some(Reply::begin(
                    message_id, seat, prompt, turn.mode, last, writer,
                ));
            }
            Err(why) => {
                turn.ok = false;
                writer.warn(why);
            }
        }
    }

    fn end_turn(&mut self, writer: &mut ThreadWriter<'_, '_>) {
        if let Some(turn) = self.turn.take() {
            writer.tell(|thread, generation| TurnEvent::TurnEnded {
                thread,
                generation,
                ok: turn.ok,
            });
        }
    }

    fn put_down_notes(&mut self, writer: &mut ThreadWriter<'_, '_>) {
        for (message_id, text) in self.notes.drain(..) {
            if let Err(error) =
                writer.append(NewMessage::system(text), message_id, Durability::Later)
            {
                writer.warn(error.to_string());
            }
        }
    }

    fn tell_queue(&self, writer: &mut ThreadWriter<'_, '_>) {
        writer.tell(|thread, generation| TurnEvent::QueueChanged {
            thread,
            generation,
            queued: self.queued(),
            paused: self.paused,
        });
    }

    fn is_taken(&self, id: &MessageId, writer: &ThreadWriter<'_, '_>) -> bool {
        writer.thread.message(id).is_some()
            || self.queue.iter().any(|waiting| waiting.message_id() == id)
            || self.notes.iter().any(|(waiting, _)| waiting == id)
    }
}

fn delete(message_id: &MessageId, writer: &mut ThreadWriter<'_, '_>) {
    match writer.thread.message(message_id).map(|m| m.status()) {
        Some(Status::Deleted) => {}
        _ => writer.tombstone(message_id),
    }
}
