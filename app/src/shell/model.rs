//! The render model: what the window shows, kept up by events. It may be thrown away at any time and made
//! anew from a snapshot.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codegraph::query::Answer;
use host::settings::{Settings, SettingsProblem};
use host::{
    Channel, EndpointStatus, Event, GraphState, HostNotice, InspectedRequest, QueueState, SeatView,
    Snapshot, ThreadSnapshot, TurnState,
};
use transcript::{ContextBlock, MessageId, SeatId, ThreadId, ThreadSummary};

/// What the composer shows of the prompt to come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Who answers.
    pub targets: Vec<SeatId>,
    /// Characters, tokens, and whether messages are left out.
    pub size: Option<(usize, usize, bool)>,
    /// Mentions that name nobody.
    pub unknown_mentions: Vec<String>,
}

/// What a change of the model means for the views.
#[derive(Debug)]
pub enum Change {
    /// Another thread is shown, or all of it may have changed.
    Thread,
    /// A message was added to the shown thread.
    Added(Arc<transcript::Message>),
    /// Text arrived for a message of the shown thread.
    Delta(host::Delta),
    /// A message of the shown thread changed.
    Message(Arc<transcript::Message>),
    /// The thoughts behind a message, from the journal.
    Reasoning(MessageId, String),
    /// An attachment for the composer.
    Attachment(ContextBlock),
    /// What was sent or waited goes back to the composer.
    BackToComposer {
        /// The text.
        text: String,
        /// The attachments.
        context_blocks: Vec<ContextBlock>,
        /// Why, where it was not the person's wish.
        reason: Option<String>,
    },
    /// Something to know about the shown thread.
    Warning(String),
    /// What a seat was shown for a message.
    Inspection(MessageId, Vec<InspectedRequest>),
    /// What the code graph answers to a question.
    GraphAnswer(u64, Result<Arc<Answer>, String>),
    /// Seats changed, so colours and names may have.
    Seats,
    /// The settings changed.
    Settings,
    /// Notices changed.
    Notices,
    /// The window's own state of the last run has arrived.
    Window(serde_json::Value),
    /// Events were lost: ask for a snapshot.
    Resync,
    /// The host has ended.
    Ended,
}

/// Everything that the window shows.
pub struct Model {
    /// Whether a snapshot has arrived.
    pub is_ready: bool,
    /// The open folder.
    pub folder: Option<PathBuf>,
    /// Whether the folder brings settings that wait for trust.
    pub folder_asks_trust: bool,
    /// Why nothing is saved.
    pub read_only: Option<String>,
    /// The settings in force.
    pub settings: Arc<Settings>,
    /// What in them was not understood.
    pub settings_problems: Vec<SettingsProblem>,
    /// The settings file.
    pub settings_path: PathBuf,
    /// The seats.
    pub seats: Arc<Vec<SeatView>>,
    /// The endpoints.
    pub endpoints: Arc<Vec<EndpointStatus>>,
    /// The threads.
    pub threads: Arc<Vec<ThreadSummary>>,
    /// The open thread.
    pub thread: Option<ThreadSnapshot>,
    /// Text of the streaming reply so far.
    pub live_text: String,
    /// Threads in which a turn runs.
    pub generating: HashSet<ThreadId>,
    /// Since when the shown reply streams.
    pub streaming_since: Option<Instant>,
    /// Notices.
    pub notices: Vec<HostNotice>,
    /// Whether the notice about providers' terms is due.
    pub shows_terms_notice: bool,
    /// The code graph of the open folder.
    pub graph: GraphState,
    /// The prompt to come.
    pub estimate: Estimate,
    /// Until when a seat should not be asked.
    pub limited_until: HashMap<SeatId, Instant>,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            is_ready: false,
            folder: None,
            folder_asks_trust: false,
            read_only: None,
            settings: Arc::new(Settings::default()),
            settings_problems: Vec::new(),
            settings_path: PathBuf::new(),
            seats: Arc::default(),
            endpoints: Arc::default(),
            threads: Arc::default(),
            thread: None,
            live_text: String::new(),
            generating: HashSet::new(),
            streaming_since: None,
            notices: Vec::new(),
            shows_terms_notice: false,
            graph: GraphState::Closed,
            estimate: Estimate::default(),
            limited_until: HashMap::new(),
        }
    }
}

impl Model {
    /// The id of the open thread.
    pub fn thread_id(&self) -> Option<&ThreadId> {
        self.thread.as_ref().map(|thread| &thread.id)
    }

    /// How the open thread's turn stands.
    pub fn turn(&self) -> TurnState {
        self.thread
            .as_ref()
            .map(|thread| thread.turn.clone())
            .unwrap_or_default()
    }

    /// What waits in the open thread.
    pub fn queue(&self) -> QueueState {
        self.thread
            .as_ref()
            .map(|thread| thread.queue.clone())
            .unwrap_or_default()
    }

    /// Seconds until a seat may be asked again.
    pub fn wait_secs(&self, seat: &SeatId) -> Option<u64> {
        let until = self.limited_until.get(seat)?;
        let left = until.saturating_duration_since(Instant::now());
        (left > Duration::ZERO).then(|| left.as_secs() + 1)
    }

    /// Takes an event in; returns what it means for the views.
    pub fn apply(&mut self, event: Event) -> Option<Change> {
        match event {
            Event::Snapshot(snapshot) => return Some(self.take_snapshot(*snapshot)),
            Event::Resync => return Some(Change::Resync),
            Event::ThreadOpened(thread) | Event::ThreadEnd(thread) => {
                self.open_thread(*thread);
                return Some(Change::Thread);
            }
            Event::Threads(threads) => {
                self.threads = threads;
                let id = self.thread_id().cloned();
                let title = self
                    .threads
                    .iter()
                    .find(|t| Some(&t.id) == id.as_ref())
                    .map(|t| t.title.clone());
                if let (Some(thread), Some(title)) = (&mut self.thread, title) {
                    thread.title = title;
                }
            }
            Event::Seats(seats) => {
                self.seats = seats;
                return Some(Change::Seats);
            }
            Event::Endpoints(endpoints) => self.endpoints = endpoints,
            Event::Settings(settings, problems) => {
                self.settings = settings;
                self.settings_problems = problems;
                return Some(Change::Settings);
            }
            Event::Turn(id, turn) => self.turn_changed(&id, turn),
            Event::Queue(id, queue) => {
                if let Some(thread) = self.shown(&id) {
                    thread.queue = queue;
                }
            }
            Event::Dropped(id, dropped) => {
                if let Some(thread) = self.shown(&id) {
                    thread.dropped = dropped;
                }
            }
            Event::Estimate {
                thread,
                targets,
                chars,
                approx_tokens,
                over_budget,
                unknown_mentions,
            } => {
                if self.thread_id() == Some(&thread) {
                    let size = Some((chars, approx_tokens, over_budget));
                    self.estimate = Estimate {
                        targets,
                        size,
                        unknown_mentions,
                    };
                }
            }
            Event::RateLimited { seat, wait_secs } => {
                self.limited_until
                    .insert(seat, Instant::now() + Duration::from_secs(wait_secs));
            }
            Event::TermsNotice(is_due) => self.shows_terms_notice = is_due,
            Event::Notices(notices) => {
                self.notices = notices;
                return Some(Change::Notices);
            }
            Event::Folder(folder, asks_trust) => {
                self.folder = folder;
                self.folder_asks_trust = asks_trust;
            }
            Event::Graph(graph) => self.graph = graph,
            Event::GraphAnswer(number, answer) => {
                return Some(Change::GraphAnswer(number, answer));
            }
            Event::TurnEnded { .. } => {}
            Event::Ended => return Some(Change::Ended),
            other => return self.apply_to_thread(other),
        }
        None
    }

    /// Takes in what concerns the content of one thread; what concerns another than the shown one is left out,
    /// as that thread comes whole when it is opened.
    fn apply_to_thread(&mut self, event: Event) -> Option<Change> {
        match event {
            Event::MessageAdded(id, message) => {
                let thread = self.shown(&id)?;
                thread.messages.push(Arc::clone(&message));
                if thread.title.is_empty() && message.role() == transcript::Role::User {
                    thread.title = transcript::title_from(message.content());
                }
                if message.status() == transcript::Status::Streaming {
                    thread.live_reasoning.clear();
                    self.live_text.clear();
                    self.streaming_since = Some(Instant::now());
                }
                Some(Change::Added(message))
            }
            Event::Delta(delta) => {
                let thread = self.shown(&delta.thread)?;
                // What came for a reply that has ended meanwhile is no part of the next one.
                let growing = thread.messages.last()?;
                let grows = growing.status() == transcript::Status::Streaming;
                if !grows || *growing.id() != delta.message {
                    return None;
                }
                match delta.channel {
                    Channel::Reply => self.live_text.push_str(&delta.text),
                    Channel::Reasoning => thread.live_reasoning.push_str(&delta.text),
                }
                Some(Change::Delta(delta))
            }
            Event::MessageChanged(id, message) => {
                let thread = self.shown(&id)?;
                let place = usize::try_from(message.seq()).ok()?;
                if let Some(known) = thread
                    .messages
                    .get_mut(place)
                    .filter(|known| known.id() == message.id())
                {
                    *known = Arc::clone(&message);
                }
                Some(Change::Message(message))
            }
            Event::Warning(id, text) => {
                self.shown(&id)?;
                Some(Change::Warning(text))
            }
            Event::Reasoning(id, message, text) => {
                self.shown(&id)?;
                Some(Change::Reasoning(message, text))
            }
            Event::ComposerInsert(id, block) => {
                self.shown(&id)?;
                Some(Change::Attachment(block))
            }
            Event::Inspection {
                thread,
                message,
                requests,
            } => {
                self.shown(&thread)?;
                Some(Change::Inspection(message, requests))
            }
            Event::SendRefused {
                thread,
                text,
                context_blocks,
                reason,
            } => {
                // The host keeps it as the draft of its thread, which is another one.
                if let Some(thread) = thread {
                    self.shown(&thread)?;
                }
                Some(Change::BackToComposer {
                    text,
                    context_blocks,
                    reason: Some(reason),
                })
            }
            Event::Unqueued {
                thread,
                text,
                context_blocks,
            } => {
                self.shown(&thread)?;
                Some(Change::BackToComposer {
                    text,
                    context_blocks,
                    reason: None,
                })
            }
            _ => None,
        }
    }

    fn take_snapshot(&mut self, snapshot: Snapshot) -> Change {
        let is_first = !self.is_ready;
        self.is_ready = true;
        self.folder = snapshot.folder;
        self.folder_asks_trust = snapshot.folder_asks_trust;
        self.read_only = snapshot.read_only;
        self.settings = snapshot.settings;
        self.settings_problems = snapshot.settings_problems;
        self.settings_path = snapshot.settings_path;
        self.seats = snapshot.seats;
        self.endpoints = snapshot.endpoints;
        self.threads = snapshot.threads;
        self.notices = snapshot.notices;
        self.shows_terms_notice = snapshot.show_terms_notice;
        self.graph = snapshot.graph;
        self.open_thread(snapshot.current);
        if is_first {
            Change::Window(snapshot.window)
        } else {
            Change::Thread
        }
    }

    fn open_thread(&mut self, thread: ThreadSnapshot) {
        let is_other = self.thread_id() != Some(&thread.id);
        if is_other {
            self.estimate = Estimate::default();
            self.streaming_since = thread.turn.streaming.is_some().then(Instant::now);
        }
        self.mark_generating(&thread.id, thread.turn.is_generating);
        let live = thread
            .messages
            .last()
            .filter(|m| m.status() == transcript::Status::Streaming);
        self.live_text = live.map(|m| m.content().to_owned()).unwrap_or_default();
        self.thread = Some(thread);
    }

    fn turn_changed(&mut self, id: &ThreadId, turn: TurnState) {
        self.mark_generating(id, turn.is_generating);
        if let Some(thread) = self.shown(id) {
            let streams = turn.streaming.is_some();
            thread.turn = turn;
            if !streams {
                self.streaming_since = None;
            }
        }
    }

    fn mark_generating(&mut self, id: &ThreadId, is_generating: bool) {
        if is_generating {
            self.generating.insert(id.clone());
        } else {
            self.generating.remove(id);
        }
    }

    fn shown(&mut self, id: &ThreadId) -> Option<&mut ThreadSnapshot> {
        self.thread.as_mut().filter(|thread| thread.id == *id)
    }
}
