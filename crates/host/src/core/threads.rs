//! Threads: opening, switching, forking, naming, putting aside, and what is remembered about each while open.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use conversation::{Input, Orchestrator, PromptEstimator, Purpose, RequestId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use transcript::{
    ContextBlock, Message, MessageId, SeatId, StoreError, Thread, ThreadEnd, ThreadId,
    ThreadSummary, Timestamp,
};

use super::{Core, FOLD_AFTER};
use crate::folder::read_context_block;
use crate::protocol::{
    Event, InspectedRequest, QueueState, SendMessage, Severity, ThreadSnapshot, TurnState,
};
use crate::thinking::ThinkingSteps;

/// Threads kept in memory beside the open one and those that stream.
const KEPT_THREADS: usize = 8;

/// A thread in memory, with everything that lasts only as long as it is there.
pub(super) struct LiveThread {
    pub(super) thread: Thread,
    pub(super) orchestrator: Orchestrator,
    pub(super) estimator: PromptEstimator,
    pub(super) requests: HashMap<RequestId, CancellationToken>,
    pub(super) purposes: HashMap<RequestId, Purpose>,
    pub(super) steps: ThinkingSteps,
    pub(super) inspections: VecDeque<(MessageId, Vec<InspectedRequest>)>,
    pub(super) turn: TurnState,
    pub(super) live_reasoning: String,
    pub(super) dropped: Vec<MessageId>,
    /// Bytes of the streaming reply that the store has.
    pub(super) saved_len: usize,
    /// Whether the store knows the thread; an empty one isn't written.
    pub(super) is_on_disk: bool,
    last_used: Instant,
}

impl LiveThread {
    fn new(thread: Thread, is_on_disk: bool) -> Self {
        Self {
            thread,
            orchestrator: Orchestrator::new(),
            estimator: PromptEstimator::new(),
            requests: HashMap::new(),
            purposes: HashMap::new(),
            steps: ThinkingSteps::default(),
            inspections: VecDeque::new(),
            turn: TurnState::default(),
            live_reasoning: String::new(),
            dropped: Vec::new(),
            saved_len: 0,
            is_on_disk,
            last_used: Instant::now(),
        }
    }
}

impl Core {
    /// Opens the thread of the last run; where there is none any more, an empty one keeps its draft.
    pub(super) fn open_last_thread(&mut self) {
        if let Some(id) = self.state.current_thread.clone() {
            match self.disk.load(&id) {
                Ok((thread, notices)) => {
                    for notice in notices {
                        self.store_notice(notice);
                    }
                    self.threads
                        .insert(id.clone(), LiveThread::new(thread, true));
                    self.current = id;
                }
                Err(StoreError::NotFound(_)) => self.move_plans(&id),
                Err(error) => {
                    self.notice(
                        Severity::Error,
                        format!("The last thread could not be opened: {error}"),
                        true,
                    );
                    self.current = id;
                }
            }
        }
        self.ensure_current();
        self.state.current_thread = Some(self.current.clone());
    }

    /// Takes draft, attachments and target of a thread that isn't there over to the open one. Its id stays free,
    /// because the thread may lie in the bin and come back.
    fn move_plans(&mut self, from: &ThreadId) {
        fn rekey<V>(plans: &mut BTreeMap<String, V>, from: &ThreadId, to: &ThreadId) {
            if let Some(plan) = plans.remove(from.as_str()) {
                plans.insert(to.to_string(), plan);
            }
        }
        let state = &mut self.state;
        rekey(&mut state.drafts, from, &self.current);
        rekey(&mut state.draft_blocks, from, &self.current);
        rekey(&mut state.default_targets, from, &self.current);
    }

    /// Makes sure that the open thread exists in memory.
    fn ensure_current(&mut self) {
        if !self.threads.contains_key(&self.current) {
            let thread = Thread::new(self.current.clone(), Timestamp::now());
            self.threads
                .insert(self.current.clone(), LiveThread::new(thread, false));
        }
    }

    fn make_current(&mut self, id: ThreadId) {
        self.current = id;
        self.ensure_current();
        if let Some(live) = self.threads.get_mut(&self.current) {
            live.last_used = Instant::now();
        }
        self.state.current_thread = Some(self.current.clone());
        self.state_changed();
        self.forget_old_threads();
        if let Some(snapshot) = self.thread_snapshot(&self.current.clone()) {
            self.publish(&Event::ThreadOpened(Box::new(snapshot)));
        }
    }

    fn forget_old_threads(&mut self) {
        let mut idle: Vec<(Instant, ThreadId)> = self
            .threads
            .iter()
            .filter(|(id, live)| {
                **id != self.current && !live.orchestrator.is_generating() && live.is_on_disk
            })
            .filter(|(id, live)| {
                live.orchestrator.queued().is_empty() && !self.unfolded.contains_key(id)
            })
            .map(|(id, live)| (live.last_used, id.clone()))
            .collect();
        idle.sort();
        let surplus = idle.len().saturating_sub(KEPT_THREADS);
        for (_, id) in idle.drain(..surplus) {
            self.threads.remove(&id);
        }
    }

    /// Opens an empty thread; an open one that is empty serves.
    pub(super) fn new_thread(&mut self) {
        let is_empty = self
            .threads
            .get(&self.current)
            .is_some_and(|live| live.thread.messages().is_empty());
        let id = if is_empty {
            self.current.clone()
        } else {
            ThreadId::generate()
        };
        self.make_current(id);
    }

    pub(super) fn switch_thread(&mut self, id: &ThreadId) {
        if !self.threads.contains_key(id) {
            let end = self.disk.load_end(id);
            let shows_end = end.is_some();
            if let Some(end) = end {
                self.publish_end(id, end);
            }
            match self.disk.load(id) {
                Ok((thread, notices)) => {
                    for notice in notices {
                        self.store_notice(notice);
                    }
                    self.threads
                        .insert(id.clone(), LiveThread::new(thread, true));
                }
                Err(error) => {
                    self.notice(
                        Severity::Error,
                        format!("Thread {id} could not be opened: {error}"),
                        false,
                    );
                    self.listed = self.disk.list();
                    self.publish_threads();
                    let open = self.thread_snapshot(&self.current.clone());
                    if let Some(open) = open.filter(|_| shows_end) {
                        self.publish(&Event::ThreadOpened(Box::new(open)));
                    }
                    return;
                }
            }
        }
        self.make_current(id.clone());
    }

    pub(super) fn fork(
        &mut self,
        from: &ThreadId,
        last_shared: Option<u64>,
        resend: Option<Box<SendMessage>>,
    ) {
        let Some(live) = self.threads.get(from) else {
            return;
        };
        let fork = live
            .thread
            .fork(last_shared, ThreadId::generate(), Timestamp::now());
        let id = fork.id().clone();
        let has_messages = !fork.messages().is_empty();
        let mut forked = LiveThread::new(fork, has_messages);
        if has_messages && let Err(error) = self.disk.create(&forked.thread) {
            forked.is_on_disk = false;
            self.disk_refused(&error);
        }
        self.threads.insert(id.clone(), forked);
        if let Some(target) = self.state.default_targets.get(from.as_str()).cloned() {
            self.state.default_targets.insert(id.to_string(), target);
        }
        if has_messages {
            self.list_thread(&id);
            self.publish_threads();
        }
        self.make_current(id.clone());
        if let Some(mut message) = resend {
            message.thread = Some(id);
            // Refused, it must not be lost: the composer that held it is empty by now.
            message.is_draft = true;
            self.send(*message);
        }
    }

    pub(super) fn rename(&mut self, id: &ThreadId, title: &str) {
        self.change_header(id, |thread| thread.rename(title, Timestamp::now()));
    }

    pub(super) fn archive(&mut self, id: &ThreadId, archived: bool) {
        self.change_header(id, |thread| thread.set_archived(archived, Timestamp::now()));
    }

    fn change_header(&mut self, id: &ThreadId, change: impl FnOnce(&mut Thread)) {
        if !self.threads.contains_key(id) {
            match self.disk.load(id) {
                Ok((thread, _)) => {
                    self.threads
                        .insert(id.clone(), LiveThread::new(thread, true));
                }
                Err(error) => {
                    self.notice(
                        Severity::Error,
                        format!("Thread {id} could not be changed: {error}"),
                        false,
                    );
                    return;
                }
            }
        }
        let Some(live) = self.threads.get_mut(id) else {
            return;
        };
        change(&mut live.thread);
        self.persist_header(id);
        self.publish_threads();
        if *id == self.current
            && let Some(snapshot) = self.thread_snapshot(id)
        {
            self.publish(&Event::ThreadOpened(Box::new(snapshot)));
        }
    }

    pub(super) fn persist_header(&mut self, id: &ThreadId) {
        let Some(live) = self.threads.get(id) else {
            return;
        };
        if live.is_on_disk {
            self.disk.put_header(&live.thread);
            self.unfolded.insert(id.clone(), Instant::now());
            self.save_later();
            self.list_thread(id);
        }
    }

    pub(super) fn delete_thread(&mut self, id: &ThreadId) {
        self.input(id, Input::Stop);
        self.commit();
        if self.listed.iter().any(|t| t.id == *id)
            && let Err(error) = self.disk.delete(id)
        {
            self.notice(
                Severity::Error,
                format!("Thread {id} could not be deleted: {error}"),
                false,
            );
            return;
        }
        self.threads.remove(id);
        self.unfolded.remove(id);
        self.listed.retain(|thread| thread.id != *id);
        self.publish_threads();
        if *id == self.current {
            let next = self
                .listed
                .iter()
                .find(|t| !t.archived)
                .map(|t| t.id.clone());
            match next {
                Some(next) => {
                    self.current = ThreadId::generate();
                    self.switch_thread(&next);
                    self.ensure_current();
                }
                None => self.make_current(ThreadId::generate()),
            }
        }
    }

    pub(super) fn restore_thread(&mut self, id: &ThreadId) {
        if let Err(error) = self.disk.restore(id) {
            self.notice(
                Severity::Error,
                format!("Thread {id} could not be brought back: {error}"),
                false,
            );
            return;
        }
        self.listed = self.disk.list();
        self.publish_threads();
        self.switch_thread(id);
    }

    pub(super) fn set_default_target(&mut self, thread: &ThreadId, seat: Option<SeatId>) {
        match seat {
            Some(seat) => drop(self.state.default_targets.insert(thread.to_string(), seat)),
            None => drop(self.state.default_targets.remove(thread.as_str())),
        }
        self.state_changed();
        if let Some(snapshot) = self
            .thread_snapshot(thread)
            .filter(|_| *thread == self.current)
        {
            self.publish(&Event::ThreadOpened(Box::new(snapshot)));
        }
    }

    pub(super) fn set_draft(&mut self, thread: &ThreadId, text: String, blocks: Vec<ContextBlock>) {
        let id = thread.to_string();
        if text.is_empty() {
            self.state.drafts.remove(&id);
        } else {
            self.state.drafts.insert(id.clone(), text);
        }
        if blocks.is_empty() {
            self.state.draft_blocks.remove(&id);
        } else {
            self.state.draft_blocks.insert(id, blocks);
        }
        self.state_changed();
    }

    pub(super) async fn attach(
        &mut self,
        thread: ThreadId,
        path: PathBuf,
        range: Option<[u32; 2]>,
    ) {
        let folder = self.folder.clone();
        let read = move || read_context_block(folder.as_deref(), &path, range);
        match tokio::task::spawn_blocking(read).await {
            Ok(Ok(block)) => self.publish(&Event::ComposerInsert(thread, block)),
            Ok(Err(error)) => self.publish(&Event::Warning(thread, error.to_string())),
            Err(_panicked) => self.publish(&Event::Warning(
                thread,
                "The file could not be read.".to_owned(),
            )),
        }
    }

    /// Shows how a long thread ends while the rest of it is still to be read.
    fn publish_end(&mut self, id: &ThreadId, end: ThreadEnd) {
        let snapshot = self.quiet_snapshot(id, end.title, end.messages);
        self.publish(&Event::ThreadEnd(Box::new(snapshot)));
    }

    /// A thread as clients show it.
    pub(super) fn thread_snapshot(&self, id: &ThreadId) -> Option<ThreadSnapshot> {
        let live = self.threads.get(id)?;
        let title = live.thread.title().to_owned();
        Some(ThreadSnapshot {
            live_reasoning: live.live_reasoning.clone(),
            turn: live.turn.clone(),
            queue: QueueState {
                waiting: live.orchestrator.queued(),
                is_paused: live.orchestrator.is_paused(),
            },
            dropped: live.dropped.clone(),
            ..self.quiet_snapshot(id, title, live.thread.messages().to_vec())
        })
    }

    /// A thread in which nothing goes on, with what is remembered about it.
    fn quiet_snapshot(
        &self,
        id: &ThreadId,
        title: String,
        messages: Vec<Arc<Message>>,
    ) -> ThreadSnapshot {
        ThreadSnapshot {
            id: id.clone(),
            title,
            messages,
            live_reasoning: String::new(),
            turn: TurnState::default(),
            queue: QueueState::default(),
            draft: self
                .state
                .drafts
                .get(id.as_str())
                .cloned()
                .unwrap_or_default(),
            draft_blocks: self
                .state
                .draft_blocks
                .get(id.as_str())
                .cloned()
                .unwrap_or_default(),
            default_target: self.default_target(id).cloned(),
            dropped: Vec::new(),
        }
    }

    /// Moves a thread to the top of the list, as it is now.
    pub(super) fn list_thread(&mut self, id: &ThreadId) {
        let Some(live) = self.threads.get(id) else {
            return;
        };
        let thread = &live.thread;
        let summary = ThreadSummary {
            id: id.clone(),
            title: thread.title().to_owned(),
            updated_at: thread.updated_at(),
            messages: thread.messages().len(),
            archived: thread.is_archived(),
        };
        // The thread in use is nearly always near the top already.
        match self.listed.iter().position(|t| t.id == *id) {
            Some(place) => {
                self.listed[..=place].rotate_right(1);
                self.listed[0] = summary;
            }
            None => self.listed.insert(0, summary),
        }
    }

    pub(super) fn publish_threads(&mut self) {
        let threads = Arc::new(self.listed.clone());
        self.publish(&Event::Threads(threads));
    }

    /// Folds the append logs of threads that have rested.
    pub(super) fn fold_what_rests(&mut self, now: Instant) {
        let threads = &self.threads;
        let disk = &mut self.disk;
        self.unfolded.retain(|id, at| {
            let Some(live) = threads.get(id) else {
                return false;
            };
            if live.orchestrator.is_generating() {
                *at = now;
            }
            let rests = *at + FOLD_AFTER <= now;
            if rests {
                disk.fold(&live.thread);
            }
            !rests
        });
    }
}
