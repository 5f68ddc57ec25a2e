//! Turns: what the person sends goes into the conversation's state machine, and what comes out is carried out.

use conversation::{
    Durability, Effort, Input, JournalEntry, Output, Prompt, PromptOptions, Purpose, QueuedKind,
    Request, RequestId, TurnContext, TurnEvent, assemble_without, failed_attempts, instructions,
    route,
};
use models::{Endpoint, EndpointKind, ModelError, Profile};
use tokio_util::sync::CancellationToken;
use transcript::{
    ContextBlock, FailureKind, JournalRecord, MessageId, Role, SeatId, Status, Thread, ThreadId,
    Timestamp,
};

use super::{Core, Inbound};
use crate::client_state::WaitingMessage;
use crate::protocol::{Channel, Delta, Event, InspectedRequest, QueueState, SendMessage};
use crate::stream::{self, NewsKind, Outgoing, StreamNews};
use crate::thinking::ThinkingSteps;

/// How many of the last messages a prompt always keeps.
const KEEP_RECENT: usize = 8;
/// Prompts kept for "what the model saw"; older ones are assembled anew when asked for.
const KEPT_INSPECTIONS: usize = 16;

/// Why a send is refused while the notice about providers' terms is unread.
pub const TERMS_REASON: &str =
    "Read the notice about subscription accounts first; it is shown once.";

impl Core {
    /// Takes a message of the person, or says why not.
    pub(super) fn send(&mut self, message: SendMessage) {
        if let Some(thread) = message.thread.as_ref().filter(|_| message.is_draft) {
            self.state.drafts.remove(thread.as_str());
            self.state.draft_blocks.remove(thread.as_str());
            self.state_changed();
        }
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
        if let Some(thread) = message.thread.as_ref().filter(|_| message.is_draft) {
            self.put_back(thread, &message.text, &message.context_blocks);
        }
        self.publish(&Event::SendRefused {
            thread: message.thread,
            text: message.text,
            context_blocks: message.context_blocks,
            reason: reason.to_owned(),
        });
    }

    /// Makes a message that isn't sent the beginning of its thread's draft.
    fn put_back(&mut self, thread: &ThreadId, text: &str, blocks: &[ContextBlock]) {
        let draft = self.state.drafts.entry(thread.to_string()).or_default();
        *draft = joined_texts(text, draft);
        if !blocks.is_empty() {
            let kept = self.state.draft_blocks.entry(thread.to_string());
            kept.or_default().splice(0..0, blocks.iter().cloned());
        }
        self.state_changed();
    }

    /// Takes a message out of the queue; what it says becomes part of the draft.
    pub(super) fn unqueue(&mut self, thread: &ThreadId, message_id: MessageId) {
        let Some(live) = self.threads.get(thread) else {
            return;
        };
        let waiting = live.orchestrator.queued();
        let found = waiting.into_iter().find(|q| q.message_id == message_id);
        self.input(thread, Input::Unqueue { message_id });
        if let Some(QueuedKind::Send {
            text,
            context_blocks,
            ..
        }) = found.map(|queued| queued.kind)
        {
            self.put_back(thread, &text, &context_blocks);
            self.publish(&Event::Unqueued {
                thread: thread.clone(),
                text,
                context_blocks,
            });
        }
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
        let seat = self.table.iter().find(|s| s.id == request.seat);
        let endpoint = match seat {
            Some(seat) => self.endpoint(&seat.endpoint),
            None => Err(ModelError::NotConfigured {
                reason: format!("the seat left the table: {}", request.seat),
            }),
        };
        let profile = endpoint
            .as_ref()
            .map_or_else(|_| Profile::default(), |e| e.profile.clone());
        let effort = match request.effort {
            Effort::OfSeat(effort) => effort,
            Effort::Highest => Some(profile.highest_effort().to_owned()),
        };
        let model = seat.map_or("", |seat| &seat.model);
        let chat = stream::chat_request(model, &request.prompt, effort);
        let inspected = InspectedRequest {
            purpose: request.purpose.name(),
            is_reconstructed: false,
            host: endpoint.as_ref().ok().map(Endpoint::host),
            settings: chat.settings(&profile),
            messages: chat.shaped_messages(&profile),
        };
        let cancel = CancellationToken::new();
        let phase = match request.purpose {
            Purpose::Reply => None,
            other => Some(other.name()),
        };
        if let Some(live) = self.threads.get_mut(id) {
            live.requests.insert(request.request, cancel.clone());
            live.purposes.insert(request.request, request.purpose);
            live.turn.phase = phase;
            live.keep_inspection(&request.message_id, inspected);
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
                self.request_ended(&thread, request);
                let error =
                    "cut off: the reply grew beyond 64 MiB and was ended; ask for less at a time";
                Input::Failed {
                    request,
                    error: error.to_owned(),
                    kind: Some(FailureKind::CutOff),
                }
            }
            NewsKind::Ended(result) => {
                self.request_ended(&thread, request);
                self.ended(&thread, request, result)
            }
        };
        self.input(&thread, input);
    }

    fn request_ended(&mut self, thread: &ThreadId, request: RequestId) {
        let purpose = self.threads.get_mut(thread).and_then(|live| {
            live.requests.remove(&request);
            live.purposes.remove(&request)
        });
        if let Some(purpose) = purpose {
            self.step_ended(thread, purpose);
        }
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
                self.drop_retired_demos();
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

    /// Tells what a seat was sent for a reply; for replies of earlier runs, what it would have been sent.
    pub(super) fn inspect(&mut self, id: &ThreadId, message: &MessageId) {
        let Some(live) = self.threads.get(id) else {
            return;
        };
        let kept = live.inspections.iter().find(|(of, _)| of == message);
        let requests = kept.map_or_else(
            || {
                self.requests_anew(&live.thread, message)
                    .unwrap_or_default()
            },
            |(_, requests)| requests.clone(),
        );
        self.publish(&Event::Inspection {
            thread: id.clone(),
            message: message.clone(),
            requests,
        });
    }

    /// The requests for a reply as today's settings would make them; `None` where its seat has left the table.
    fn requests_anew(&self, thread: &Thread, message: &MessageId) -> Option<Vec<InspectedRequest>> {
        let reply = thread.message(message)?;
        let seat = self.table.iter().find(|s| s.id == *reply.speaker())?;
        let endpoint = self.endpoint(&seat.endpoint).ok();
        let profile = endpoint
            .as_ref()
            .map_or_else(Profile::default, |e| e.profile.clone());
        let before = thread.fork(
            reply.seq().checked_sub(1),
            thread.id().clone(),
            reply.created_at(),
        );
        let left_out = failed_attempts(&before, reply);
        let options = self.prompt_options();
        let prompt = assemble_without(&before, seat, &self.table, &options, &left_out);
        let request = |purpose: String, prompt: &Prompt, effort: Option<String>| {
            let chat = stream::chat_request(&seat.model, prompt, effort);
            InspectedRequest {
                purpose,
                is_reconstructed: true,
                host: endpoint.as_ref().map(Endpoint::host),
                settings: chat.settings(&profile),
                messages: chat.shaped_messages(&profile),
            }
        };
        let steps = instructions(&self.disk.journal_of(thread.id(), message));
        if steps.is_empty() {
            let purpose = Purpose::Reply.name();
            return Some(vec![request(purpose, &prompt, seat.effort.clone())]);
        }
        let steps = steps.into_iter().map(|(purpose, instruction)| {
            let asked = prompt.followed_by(&instruction, seat.merge_same_role);
            request(purpose, &asked, Some(profile.highest_effort().to_owned()))
        });
        Some(steps.collect())
    }
}

/// Two pieces of what a person wrote, as paragraphs.
pub(crate) fn joined_texts(first: &str, second: &str) -> String {
    match (first, second) {
        ("", text) | (text, "") => text.to_owned(),
        _ => format!("{first}\n\n{second}"),
    }
}

impl super::LiveThread {
    /// Remembers how much of a message the store has.
    fn note_saved(&mut self, message: &transcript::Message) {
        if message.status() == Status::Streaming {
            self.saved_len = message.content().len();
        }
    }

    fn keep_inspection(&mut self, message: &MessageId, request: InspectedRequest) {
        match self.inspections.iter_mut().find(|(of, _)| of == message) {
            Some((_, requests)) => requests.push(request),
            None => self.inspections.push_back((message.clone(), vec![request])),
        }
        if self.inspections.len() > KEPT_INSPECTIONS {
            self.inspections.pop_front();
        }
    }
}
