//! Turns: what the person sends goes into the conversation's state machine, and what comes out is carried out.

use conversation::{
    Durability, Effort, Input, JournalEntry, Output, PromptMessage, PromptOptions, Purpose,
    QueuedKind, Request, RequestId, TurnContext, TurnEvent, assemble, instructions, route,
};
use models::{EndpointKind, ModelError};
use tokio_util::sync::CancellationToken;
use transcript::{
    ContextBlock, FailureKind, JournalRecord, MessageId, Role, SeatId, Status, ThreadId, Timestamp,
};

use super::{Core, Inbound};
use crate::client_state::WaitingMessage;
use crate::protocol::{Channel, Delta, Event, QueueState, SendMessage};
use crate::stream::{self, NewsKind, Outgoing, StreamNews};
use crate::thinking::ThinkingSteps;

/// How many of the last messages a prompt always keeps.
const KEEP_RECENT: usize = 8;
/// Prompts kept for "what the model saw"; older ones are assembled anew when asked for.
const KEPT_INSPECTIONS: usize = 16;
/// The highest effort by the name that providers share.
const HIGHEST_EFFORT: &str = "high";

/// Why a send is refused while the notice about providers' terms is unread.
pub const TERMS_REASON: &str =
    "Read the notice about subscription accounts first; it is shown once.";

impl Core {
    /// Takes a message of the person, or says why not.
    pub(super) fn send(&mut self, message: SendMessage) {
        if message.text.trim().is_empty() && message.context_blocks.is_empty() {
            return self.refuse(message, "The message is empty.");
        }
        if self.table.is_empty()
            && self
                .endpoints
                .iter()
                .any(|e| e.state == super::endpoints::CHECKING)
        {
            self.waiting_sends.push(message);
            return;
        }
        let thread = match &message.thread {
            Some(id) if self.threads.contains_key(id) => id.clone(),
            Some(id) => {
                self.switch_thread(id);
                if !self.threads.contains_key(id) {
                    let reason = format!("The thread can't be opened: {id}");
                    return self.refuse(message, &reason);
                }
                id.clone()
            }
            None => {
                self.new_thread();
                self.current.clone()
            }
        };
        let responders = self.responders(&thread, &message);
        if responders.is_empty() {
            return self.refuse(
                message,
                "Nobody can answer: no seat is enabled. Add one in the settings.",
            );
        }
        if !self.state.terms_notice_dismissed
            && responders.iter().any(|seat| self.uses_sidecar(seat))
        {
            self.publish(&Event::TermsNotice(true));
            return self.refuse(message, TERMS_REASON);
        }
        self.state.drafts.remove(thread.as_str());
        self.state.draft_blocks.remove(thread.as_str());
        self.state_changed();
        let input = Input::Send {
            message_id: MessageId::generate(),
            text: message.text,
            context_blocks: message.context_blocks,
            targets: message.targets,
            mode: message.mode,
        };
        self.input(&thread, input);
    }

    fn refuse(&mut self, message: SendMessage, reason: &str) {
        self.publish(&Event::SendRefused {
            thread: message.thread,
            text: message.text,
            context_blocks: message.context_blocks,
            reason: reason.to_owned(),
        });
    }

    fn responders(&self, thread: &ThreadId, message: &SendMessage) -> Vec<SeatId> {
        if let Some(targets) = message.targets.as_ref().filter(|t| !t.is_empty()) {
            return targets.clone();
        }
        let Some(live) = self.threads.get(thread) else {
            return Vec::new();
        };
        let selected = self.default_target(thread);
        route(
            &live.thread,
            &message.text,
            &self.table,
            selected,
            self.settings.default_mode,
        )
        .responders
    }

    pub(super) fn default_target(&self, thread: &ThreadId) -> Option<&SeatId> {
        self.state.default_targets.get(thread.as_str())
    }

    fn uses_sidecar(&self, seat: &SeatId) -> bool {
        let seat = self.table.iter().find(|s| s.id == *seat);
        seat.is_some_and(|s| {
            self.endpoints
                .iter()
                .any(|e| e.id == s.endpoint && e.kind == EndpointKind::Sidecar)
        })
    }

    /// Whether the notice about providers' terms is due: a seat would use the proxy.
    pub(super) fn must_show_terms(&self) -> bool {
        !self.state.terms_notice_dismissed
            && self
                .table
                .iter()
                .any(|s| s.enabled && self.uses_sidecar(&s.id))
    }

    pub(super) fn prompt_options(&self) -> PromptOptions {
        PromptOptions {
            soft_limit_chars: self.settings.soft_limit_chars,
            keep_recent: KEEP_RECENT,
        }
    }

    /// Feeds a thread's state machine and carries out what it asks for.
    pub(super) fn input(&mut self, id: &ThreadId, input: Input) {
        for output in self.handle(id, input) {
            self.carry_out(id, output);
        }
    }

    fn handle(&mut self, id: &ThreadId, input: Input) -> Vec<Output> {
        let options = self.prompt_options();
        let Some(live) = self.threads.get_mut(id) else {
            return Vec::new();
        };
        let mut context = TurnContext {
            seats: &self.table,
            options,
            router_mode: self.settings.default_mode,
            selected: self.state.default_targets.get(id.as_str()),
            now: Timestamp::now(),
            new_id: &mut MessageId::generate,
        };
        live.orchestrator
            .handle(&mut live.thread, input, &mut context)
    }

    fn carry_out(&mut self, id: &ThreadId, output: Output) {
        match output {
            Output::Persist {
                message_id,
                durability,
            } => self.persist(id, &message_id, durability),
            Output::PersistHeader => self.persist_header(id),
            Output::Request(request) => self.start_request(id, request),
            Output::Abort { request } => {
                if let Some(cancel) = self
                    .threads
                    .get_mut(id)
                    .and_then(|t| t.requests.remove(&request))
                {
                    cancel.cancel();
                }
            }
            Output::Journal { message_id, entry } => self.journal(id, message_id, &entry),
            Output::Event(event) => self.turn_event(id, event),
        }
    }

    fn persist(&mut self, id: &ThreadId, message_id: &MessageId, durability: Durability) {
        let Some(live) = self.threads.get_mut(id) else {
            return;
        };
        let Some(message) = live.thread.message(message_id).cloned() else {
            return;
        };
        self.unfolded
            .insert(id.clone(), tokio::time::Instant::now());
        if live.is_on_disk {
            live.note_saved(&message);
            self.disk.put(&live.thread, &message);
        } else {
            live.is_on_disk = true;
            if let Err(error) = self.disk.create(&live.thread) {
                live.is_on_disk = false;
                self.disk_refused(&error);
            }
        }
        self.list_thread(id);
        match durability {
            Durability::Now => {
                self.commit();
                self.publish_threads();
            }
            Durability::Later => self.save_later(),
        }
    }

    fn journal(&mut self, id: &ThreadId, message_id: MessageId, entry: &JournalEntry) {
        if !self.settings.journal_enabled {
            return;
        }
        let turn = self
            .threads
            .get(id)
            .map_or(0, |live| live.orchestrator.generation());
        self.disk.journal(
            id,
            &JournalRecord {
                at: Timestamp::now(),
                turn,
                message_id: Some(message_id),
                kind: entry.kind().to_owned().into(),
                data: entry.data(),
            },
        );
    }

    /// Lets the next of the parallel steps speak on the thinking channel, once one of them has ended.
    fn step_ended(&mut self, id: &ThreadId, purpose: Purpose) {
        let Some(live) = self.threads.get_mut(id) else {
            return;
        };
        let Some(message) = live.turn.streaming.clone() else {
            return;
        };
        if let Some(text) = live.steps.end(purpose) {
            live.live_reasoning.push_str(&text);
            let generation = live.turn.generation;
            self.delta(id, generation, message, Channel::Reasoning, text);
        }
    }

    fn start_request(&mut self, id: &ThreadId, request: Request) {
        let Some(seat) = self.table.iter().find(|s| s.id == request.seat) else {
            return;
        };
        let effort = match request.effort {
            Effort::OfSeat(effort) => effort,
            Effort::Highest => Some(HIGHEST_EFFORT.to_owned()),
        };
        let chat = stream::chat_request(&seat.model, &request.prompt, effort);
        let endpoint = self.endpoint(&seat.endpoint);
        let cancel = CancellationToken::new();
        let phase = match request.purpose {
            Purpose::Reply => None,
            other => Some(other.name()),
        };
        if let Some(live) = self.threads.get_mut(id) {
            live.requests.insert(request.request, cancel.clone());
            live.purposes.insert(request.request, request.purpose);
            live.turn.phase = phase;
            live.keep_inspection(
                &request.message_id,
                request.purpose.name(),
                request.prompt.messages,
            );
        }
        self.publish_turn(id);
        let core = self.inbox.clone();
        let (thread, request) = (id.clone(), request.request);
        match endpoint {
            Ok(endpoint) => {
                let client = self.client.clone();
                tokio::spawn(
                    Outgoing {
                        client,
                        endpoint,
                        chat,
                        cancel,
                        thread,
                        request,
                        core,
                    }
                    .run(),
                );
            }
            Err(error) => {
                // By way of the inbox, as the core must not wait for itself.
                tokio::spawn(async move {
                    let kind = NewsKind::Ended(Err(error));
                    let _ended = core
                        .send(Inbound::Stream(StreamNews {
                            thread,
                            request,
                            kind,
                        }))
                        .await;
                });
            }
        }
    }

    pub(super) fn stream_news(&mut self, news: StreamNews) {
        let StreamNews {
            thread,
            request,
            kind,
        } = news;
        let input = match kind {
            NewsKind::Content(text) => Input::Delta { request, text },
            NewsKind::Reasoning(text) => Input::Reasoning { request, text },
            NewsKind::TooLong => {
                if let Some(live) = self.threads.get_mut(&thread) {
                    live.requests.remove(&request);
                }
                let error =
                    "cut off: the reply grew beyond 64 MiB and was ended; ask for less at a time";
                Input::Failed {
                    request,
                    error: error.to_owned(),
                    kind: Some(FailureKind::CutOff),
                }
            }
            NewsKind::Ended(result) => {
                let purpose = self.threads.get_mut(&thread).and_then(|live| {
                    live.requests.remove(&request);
                    live.purposes.remove(&request)
                });
                if let Some(purpose) = purpose {
                    self.step_ended(&thread, purpose);
                }
                self.ended(&thread, request, result)
            }
        };
        self.input(&thread, input);
    }

    fn ended(
        &mut self,
        thread: &ThreadId,
        request: RequestId,
        result: Result<models::Completion, ModelError>,
    ) -> Input {
        match result {
            Ok(completion) => Input::Done {
                request,
                usage: completion.usage.as_ref().map(stream::usage),
                model: completion.model,
                finish: stream::finish(completion.finish),
            },
            Err(error) => {
                self.look_after(thread, &error);
                Input::Failed {
                    request,
                    error: error.to_string(),
                    kind: stream::failure_kind(&error),
                }
            }
        }
    }

    /// What an error means beyond its message: a wait for the seat, a look at the endpoint.
    fn look_after(&mut self, thread: &ThreadId, error: &ModelError) {
        let seat = self
            .threads
            .get(thread)
            .and_then(|live| live.turn.seat.clone());
        let Some(seat) = seat else { return };
        if let Some(wait) = error.retry_after() {
            let wait_secs = wait.as_secs().max(1);
            self.publish(&Event::RateLimited {
                seat: seat.clone(),
                wait_secs,
            });
        }
        if matches!(
            error,
            ModelError::Connect { .. } | ModelError::Disconnected { .. }
        ) {
            let endpoint = self
                .table
                .iter()
                .find(|s| s.id == seat)
                .map(|s| s.endpoint.clone());
            self.check_endpoints(endpoint.as_deref());
        }
    }

    fn turn_event(&mut self, id: &ThreadId, event: TurnEvent) {
        let Some(live) = self.threads.get_mut(id) else {
            return;
        };
        match event {
            TurnEvent::TurnStarted { generation, .. } => {
                live.turn = crate::protocol::TurnState {
                    generation,
                    is_generating: true,
                    ..Default::default()
                };
                let had_dropped = !std::mem::take(&mut live.dropped).is_empty();
                if had_dropped {
                    self.publish(&Event::Dropped(id.clone(), Vec::new()));
                }
                self.publish_turn(id);
            }
            TurnEvent::MessageAdded { message, .. } => {
                if message.role() == Role::Assistant {
                    live.live_reasoning.clear();
                    live.steps = ThinkingSteps::default();
                    live.turn.streaming = Some(message.id().clone());
                    live.turn.seat = Some(message.speaker().clone());
                    live.saved_len = 0;
                }
                self.publish(&Event::MessageAdded(id.clone(), message));
                self.publish_turn(id);
            }
            TurnEvent::Delta {
                generation,
                message,
                text,
                ..
            } => {
                self.save_later();
                self.delta(id, generation, message, Channel::Reply, text);
            }
            TurnEvent::Reasoning {
                generation,
                message,
                purpose,
                text,
                ..
            } => {
                if let Some(text) = live.steps.tell(purpose, text) {
                    live.live_reasoning.push_str(&text);
                    self.delta(id, generation, message, Channel::Reasoning, text);
                }
            }
            TurnEvent::MessageChanged { message, .. } => {
                if live.turn.streaming.as_ref() == Some(message.id())
                    && message.status() != Status::Streaming
                {
                    live.turn.streaming = None;
                    live.turn.phase = None;
                }
                self.publish(&Event::MessageChanged(id.clone(), message));
            }
            TurnEvent::Dropped {
                message_ids,
                over_budget,
                ..
            } => {
                live.dropped.clone_from(&message_ids);
                if over_budget {
                    let text = "The conversation is longer than this seat can read, even with its oldest messages left out."
                        .to_owned();
                    self.publish(&Event::Warning(id.clone(), text));
                }
                self.publish(&Event::Dropped(id.clone(), message_ids));
            }
            TurnEvent::ForeignLabel { speaker, .. } => {
                let seat = self.table.iter().find(|seat| seat.id == speaker);
                let speaker = seat.map_or(speaker.as_str(), |seat| &seat.display_name);
                let text = format!(
                    "This reply has a line that claims to be by {speaker}; it is the seat's own text."
                );
                self.publish(&Event::Warning(id.clone(), text));
            }
            TurnEvent::QueueChanged { queued, paused, .. } => {
                let state = QueueState {
                    waiting: queued,
                    is_paused: paused,
                };
                self.remember_queue(id, &state);
                self.publish(&Event::Queue(id.clone(), state));
            }
            TurnEvent::Warning { text, .. } => self.publish(&Event::Warning(id.clone(), text)),
            TurnEvent::TurnEnded { generation, ok, .. } => {
                live.turn = crate::protocol::TurnState {
                    generation,
                    ..Default::default()
                };
                self.publish_turn(id);
                self.publish(&Event::TurnEnded {
                    thread: id.clone(),
                    generation,
                    ok,
                });
                self.publish_threads();
            }
        }
    }

    /// Keeps what waiting messages say and bring along, so that it comes back as a draft after a crash or a restart.
    fn remember_queue(&mut self, id: &ThreadId, queue: &QueueState) {
        let waiting: Vec<WaitingMessage> = queue
            .waiting
            .iter()
            .filter_map(|queued| match &queued.kind {
                QueuedKind::Send {
                    text,
                    context_blocks,
                    ..
                } => Some(WaitingMessage {
                    text: text.clone(),
                    context_blocks: context_blocks.clone(),
                }),
                QueuedKind::Retry => None,
            })
            .collect();
        if waiting.is_empty() {
            self.state.queued.remove(id.as_str());
        } else {
            self.state.queued.insert(id.to_string(), waiting);
        }
        self.state_changed();
    }

    fn delta(
        &mut self,
        id: &ThreadId,
        generation: u64,
        message: MessageId,
        channel: Channel,
        text: String,
    ) {
        self.publish(&Event::Delta(Delta {
            thread: id.clone(),
            message,
            generation,
            channel,
            text,
        }));
    }

    fn publish_turn(&mut self, id: &ThreadId) {
        if let Some(live) = self.threads.get(id) {
            let event = Event::Turn(id.clone(), live.turn.clone());
            self.publish(&event);
        }
    }

    /// Puts the new text of streaming replies on its way to the disk, so that a crash loses half a second.
    pub(super) fn save_partial_replies(&mut self) {
        for live in self.threads.values_mut().filter(|live| live.is_on_disk) {
            let Some(reply) = live.thread.streaming().cloned() else {
                continue;
            };
            let content = reply.content();
            if live.saved_len == 0 && !content.is_empty() {
                self.disk.put(&live.thread, &reply);
            } else if let Some(more) = content
                .get(live.saved_len..)
                .filter(|more| !more.is_empty())
            {
                self.disk
                    .grow(live.thread.id(), reply.seq(), live.saved_len, more);
            }
            live.saved_len = content.len();
        }
    }

    /// Tells how large the prompt of a draft would be, for the seat where it is largest.
    pub(super) fn estimate(&mut self, id: &ThreadId, draft: &str, context_blocks: &[ContextBlock]) {
        let options = self.prompt_options();
        let selected = self.state.default_targets.get(id.as_str());
        let Some(live) = self.threads.get_mut(id) else {
            return;
        };
        let routing = route(
            &live.thread,
            draft,
            &self.table,
            selected,
            self.settings.default_mode,
        );
        let draft = conversation::Draft {
            text: draft,
            context_blocks,
        };
        let (mut chars, mut approx_tokens, mut over_budget) = (0, 0, false);
        for seat in self
            .table
            .iter()
            .filter(|seat| routing.responders.contains(&seat.id))
        {
            let estimate =
                live.estimator
                    .estimate(&live.thread, draft, seat, &self.table, &options);
            chars = chars.max(estimate.chars);
            approx_tokens = approx_tokens.max(estimate.approx_tokens);
            over_budget |= estimate.over_budget || estimate.dropped > 0;
        }
        self.publish(&Event::Estimate {
            thread: id.clone(),
            targets: routing.responders,
            chars,
            approx_tokens,
            over_budget,
            unknown_mentions: routing.unknown_mentions,
        });
    }

    /// Tells what a seat was shown for a reply; for replies of earlier runs, what it would have been shown.
    pub(super) fn inspect(&mut self, id: &ThreadId, message: &MessageId) {
        let Some(live) = self.threads.get(id) else {
            return;
        };
        let kept = live
            .inspections
            .iter()
            .find(|(of, _)| of == message)
            .map(|(_, requests)| requests.clone());
        let requests = kept.unwrap_or_else(|| {
            let Some(reply) = live.thread.message(message) else {
                return Vec::new();
            };
            let Some(seat) = self.table.iter().find(|s| s.id == *reply.speaker()) else {
                return Vec::new();
            };
            let before =
                live.thread
                    .fork(reply.seq().checked_sub(1), id.clone(), reply.created_at());
            let prompt = assemble(&before, seat, &self.table, &self.prompt_options());
            let titled = |purpose: &str| format!("{purpose}, as today's settings would ask for it");
            let steps = instructions(&self.disk.journal_of(id, message));
            if steps.is_empty() {
                return vec![(titled("reply"), prompt.messages)];
            }
            let steps = steps.into_iter().map(|(purpose, instruction)| {
                let asked = prompt.followed_by(&instruction, seat.merge_same_role);
                (titled(&purpose), asked.messages)
            });
            steps.collect()
        });
        self.publish(&Event::Inspection {
            thread: id.clone(),
            message: message.clone(),
            requests,
        });
    }
}

impl super::LiveThread {
    /// Remembers how much of a message the store has.
    fn note_saved(&mut self, message: &transcript::Message) {
        if message.status() == Status::Streaming {
            self.saved_len = message.content().len();
        }
    }

    fn keep_inspection(&mut self, message: &MessageId, title: String, prompt: Vec<PromptMessage>) {
        match self.inspections.iter_mut().find(|(of, _)| of == message) {
            Some((_, requests)) => requests.push((title, prompt)),
            None => self
                .inspections
                .push_back((message.clone(), vec![(title, prompt)])),
        }
        if self.inspections.len() > KEPT_INSPECTIONS {
            self.inspections.pop_front();
        }
    }
}
