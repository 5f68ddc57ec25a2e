//! A reply that is being received.

use transcript::{MessageId, Settlement, Usage};

use crate::Seat;
use crate::bonfire::{Bonfire, Progress, Step, StepRequest};
use crate::ending::{Failure, finish_error, of_failed, of_finished, total_usage};
use crate::event::TurnEvent;
use crate::input::{Finish, RequestId, SendMode};
use crate::journal_entry::JournalEntry;
use crate::label_echo::LabelStripper;
use crate::output::{Effort, Output, Purpose, Request};
use crate::prompt::Prompt;
use crate::thread_writer::ThreadWriter;

/// A reply and the requests that are open for it: one, or several while a Bonfire drafts.
#[derive(Debug)]
pub(crate) struct Reply {
    message_id: MessageId,
    seat: Seat,
    stripper: LabelStripper,
    open: Vec<OpenRequest>,
    bonfire: Option<Bonfire>,
    usage: Option<Usage>,
}

#[derive(Debug)]
struct OpenRequest {
    id: RequestId,
    purpose: Purpose,
    reasoning: String,
}

/// Whether a reply goes on after its request has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// More is to come.
    Continues,
    /// It has settled, well or not.
    Settled {
        /// Whether it was said in full.
        ok: bool,
    },
}

impl Reply {
    /// Makes the first request for a reply that stands in the thread, empty.
    pub(crate) fn begin(
        message_id: MessageId,
        seat: Seat,
        prompt: Prompt,
        mode: SendMode,
        next_request: &mut u64,
        writer: &mut ThreadWriter<'_, '_>,
    ) -> Self {
        let mut reply = Self {
            message_id,
            stripper: LabelStripper::new(&seat),
            open: Vec::new(),
            bonfire: None,
            usage: None,
            seat,
        };
        match mode {
            SendMode::Chat => reply.ask(Purpose::Reply, prompt, None, next_request, writer),
            SendMode::Bonfire => {
                let (bonfire, plan) = Bonfire::start(prompt, reply.seat.merge_same_role);
                reply.bonfire = Some(bonfire);
                reply.ask_step(plan, next_request, writer);
            }
        }
        reply
    }

    pub(crate) fn message_id(&self) -> &MessageId {
        &self.message_id
    }

    pub(crate) fn has_open(&self, request: RequestId) -> bool {
        self.open.iter().any(|open| open.id == request)
    }

    pub(crate) fn open_requests(&self) -> impl Iterator<Item = RequestId> {
        self.open.iter().map(|open| open.id)
    }

    pub(crate) fn heard(
        &mut self,
        request: RequestId,
        text: &str,
        writer: &mut ThreadWriter<'_, '_>,
    ) {
        let Some(open) = self.open.iter().find(|open| open.id == request) else {
            return;
        };
        match open.purpose {
            Purpose::Reply | Purpose::Bonfire(Step::Synthesis) => {
                let shown = self.stripper.feed(text);
                writer.grow(&self.message_id, shown);
            }
            Purpose::Bonfire(step) => {
                let purpose = open.purpose;
                if let Some(bonfire) = &mut self.bonfire {
                    bonfire.hear(step, text);
                }
                self.think_aloud(purpose, text, writer);
            }
        }
    }

    pub(crate) fn thought(
        &mut self,
        request: RequestId,
        text: &str,
        writer: &mut ThreadWriter<'_, '_>,
    ) {
        let Some(open) = self.open.iter_mut().find(|open| open.id == request) else {
            return;
        };
        open.reasoning.push_str(text);
        let purpose = open.purpose;
        self.think_aloud(purpose, text, writer);
    }

    pub(crate) fn finished(
        &mut self,
        request: RequestId,
        usage: Option<Usage>,
        model: Option<String>,
        finish: &Finish,
        next_request: &mut u64,
        writer: &mut ThreadWriter<'_, '_>,
    ) -> After {
        let Some(open) = self.close(request, writer) else {
            return After::Continues;
        };
        let response = JournalEntry::Response {
            request,
            purpose: open.purpose,
            text: self.unspoken_text(open.purpose),
            usage: usage.clone(),
            finish: finish.clone(),
        };
        writer.journal(&self.message_id, response);
        self.usage = total_usage(self.usage.take(), usage);
        match open.purpose {
            Purpose::Reply | Purpose::Bonfire(Step::Synthesis) => {
                self.settle(writer, |said_something| Settlement {
                    model,
                    ..of_finished(finish, said_something)
                })
            }
            Purpose::Bonfire(step) => {
                let outcome = finish_error(finish).map_or(Ok(()), Err);
                self.step_ended(step, outcome, next_request, writer)
            }
        }
    }

    pub(crate) fn failed(
        &mut self,
        request: RequestId,
        failure: Failure,
        next_request: &mut u64,
        writer: &mut ThreadWriter<'_, '_>,
    ) -> After {
        let Some(open) = self.close(request, writer) else {
            return After::Continues;
        };
        self.journal_error(&open, failure.text.clone(), writer);
        match open.purpose {
            Purpose::Reply | Purpose::Bonfire(Step::Synthesis) => {
                self.settle(writer, |said_something| of_failed(failure, said_something))
            }
            Purpose::Bonfire(step) => self.step_ended(step, Err(failure), next_request, writer),
        }
    }

    /// Aborts what is open and keeps what has arrived.
    pub(crate) fn stop(&mut self, writer: &mut ThreadWriter<'_, '_>) {
        let requests: Vec<RequestId> = self.open_requests().collect();
        for request in &requests {
            writer.outputs.push(Output::Abort { request: *request });
        }
        for request in requests {
            if let Some(open) = self.close(request, writer) {
                self.journal_error(&open, "stopped".to_owned(), writer);
            }
        }
        self.settle(writer, |_| Settlement::cancelled(None));
    }

    fn step_ended(
        &mut self,
        step: Step,
        outcome: Result<(), Failure>,
        next_request: &mut u64,
        writer: &mut ThreadWriter<'_, '_>,
    ) -> After {
        let Some(bonfire) = &mut self.bonfire else {
            return After::Continues;
        };
        match bonfire.step_ended(step, outcome) {
            Progress::Waiting => After::Continues,
            Progress::Next(requests) => {
                for request in requests {
                    self.ask_step(request, next_request, writer);
                }
                After::Continues
            }
            Progress::Failed(failure) => self.settle(writer, |_| failure.settlement()),
        }
    }

    fn ask_step(
        &mut self,
        next: StepRequest,
        next_request: &mut u64,
        writer: &mut ThreadWriter<'_, '_>,
    ) {
        self.ask(
            Purpose::Bonfire(next.step),
            next.prompt,
            Some(next.instruction),
            next_request,
            writer,
        );
    }

    fn ask(
        &mut self,
        purpose: Purpose,
        prompt: Prompt,
        instruction: Option<String>,
        next_request: &mut u64,
        writer: &mut ThreadWriter<'_, '_>,
    ) {
        *next_request += 1;
        let request = RequestId(*next_request);
        self.open.push(OpenRequest {
            id: request,
            purpose,
            reasoning: String::new(),
        });
        let entry = JournalEntry::Request {
            request,
            purpose,
            seat: self.seat.id.clone(),
            model: self.seat.model.clone(),
            chars: prompt.chars,
            dropped: prompt.dropped.len(),
            instruction,
        };
        writer.journal(&self.message_id, entry);
        writer.outputs.push(Output::Request(Request {
            request,
            seat: self.seat.id.clone(),
            prompt,
            effort: match purpose {
                Purpose::Reply => Effort::OfSeat(self.seat.effort.clone()),
                Purpose::Bonfire(_) => Effort::Highest,
            },
            purpose,
            message_id: self.message_id.clone(),
        }));
    }

    /// Takes a request off the open ones, and journals what was thought in it.
    fn close(
        &mut self,
        request: RequestId,
        writer: &mut ThreadWriter<'_, '_>,
    ) -> Option<OpenRequest> {
        let at = self.open.iter().position(|open| open.id == request)?;
        let mut open = self.open.remove(at);
        if !open.reasoning.is_empty() {
            let thought = JournalEntry::Reasoning {
                request,
                purpose: open.purpose,
                text: std::mem::take(&mut open.reasoning),
            };
            writer.journal(&self.message_id, thought);
        }
        Some(open)
    }

    fn settle(
        &mut self,
        writer: &mut ThreadWriter<'_, '_>,
        end: impl FnOnce(bool) -> Settlement,
    ) -> After {
        let held = self.stripper.finish();
        writer.grow(&self.message_id, held);
        let mut end = end(writer.said_something(&self.message_id));
        end.usage = self.usage.take();
        let ok = end.status == transcript::Status::Complete;
        writer.settle(&self.message_id, end);
        After::Settled { ok }
    }

    fn think_aloud(&self, purpose: Purpose, text: &str, writer: &mut ThreadWriter<'_, '_>) {
        if text.is_empty() {
            return;
        }
        writer.tell(|thread, generation| TurnEvent::Reasoning {
            thread,
            generation,
            message: self.message_id.clone(),
            purpose,
            text: text.to_owned(),
        });
    }

    fn unspoken_text(&self, purpose: Purpose) -> Option<String> {
        match (purpose, &self.bonfire) {
            (Purpose::Bonfire(step), Some(bonfire)) if !purpose.is_spoken() => {
                Some(bonfire.said(step).to_owned())
            }
            _ => None,
        }
    }

    fn journal_error(&self, open: &OpenRequest, error: String, writer: &mut ThreadWriter<'_, '_>) {
        let entry = JournalEntry::Error {
            request: open.id,
            purpose: open.purpose,
            error,
            text: self.unspoken_text(open.purpose),
        };
        writer.journal(&self.message_id, entry);
    }
}
