//! What clients and the host say to each other: [`Intent`]s in, [`Event`]s out.
//!
//! A client holds a render model only. It may drop it at any time and ask for a [`Snapshot`] again.

use std::path::PathBuf;
use std::sync::Arc;

use conversation::{Queued, Seat, SendMode};
use models::{ChatMessage, EndpointKind, ModelInfo};
use transcript::{ContextBlock, Message, MessageId, SeatId, ThreadId, ThreadSummary};

use codegraph::query::Answer;

use crate::client_state::SeatOverride;
use crate::graph::GraphState;
use crate::settings::{Settings, SettingsEdit, SettingsProblem};

/// What a client wants.
#[derive(Clone, Debug)]
pub enum Intent {
    /// Answer with a full [`Event::Snapshot`].
    Ready,
    /// Work on another folder, or on none.
    OpenFolder(Option<PathBuf>),
    /// Let a folder's own settings count.
    TrustFolder(PathBuf),
    /// Say something. Starts a turn, or waits in the thread's queue while one runs.
    Send(SendMessage),
    /// Take a waiting message or retry out of the queue.
    Unqueue(ThreadId, MessageId),
    /// Let the queue go on after a stop.
    ResumeQueue(ThreadId),
    /// End the running turn; what has arrived is kept.
    Stop(ThreadId),
    /// Open a new, empty thread.
    NewThread,
    /// Open a thread. What streams elsewhere goes on streaming.
    SwitchThread(ThreadId),
    /// Choose who answers messages without a mention; `None` goes back to the last one addressed.
    SetDefaultTarget {
        /// In which thread.
        thread: ThreadId,
        /// Whom.
        seat: Option<SeatId>,
    },
    /// Run a failed or stopped reply again.
    Retry(ThreadId, MessageId),
    /// Take a message back.
    DeleteMessage(ThreadId, MessageId),
    /// Open a new thread that shares this one's messages up to `last_shared`, and say `resend` there.
    Fork {
        /// The thread to fork.
        thread: ThreadId,
        /// The last message to share; `None` shares none.
        last_shared: Option<u64>,
        /// What to say in the fork at once.
        resend: Option<Box<SendMessage>>,
    },
    /// Give a thread a title.
    Rename(ThreadId, String),
    /// Put a thread aside or bring it back.
    Archive(ThreadId, bool),
    /// Move a thread to the store's bin.
    DeleteThread(ThreadId),
    /// Bring a deleted thread back.
    RestoreThread(ThreadId),
    /// Remember what is unsent.
    SetDraft {
        /// In which thread.
        thread: ThreadId,
        /// The text.
        text: String,
        /// The attachments.
        context_blocks: Vec<ContextBlock>,
    },
    /// Answer with [`Event::Estimate`].
    EstimatePrompt {
        /// In which thread.
        thread: ThreadId,
        /// The unsent text.
        draft: String,
        /// The attachments.
        context_blocks: Vec<ContextBlock>,
    },
    /// Answer with [`Event::Inspection`]: what the seat would be shown, or was shown, for a reply.
    Inspect {
        /// In which thread.
        thread: ThreadId,
        /// The reply.
        message: MessageId,
    },
    /// Answer with [`Event::Reasoning`]: the thoughts behind a reply, from the run journal.
    ShowReasoning(ThreadId, MessageId),
    /// Read a file as a context block and answer with [`Event::ComposerInsert`].
    Attach {
        /// For which thread's composer.
        thread: ThreadId,
        /// The file.
        path: PathBuf,
        /// First and last line, 1-based, or the whole file.
        range: Option<[u32; 2]>,
    },
    /// Read the code graph of the open folder, and follow it; answers with [`Event::Graph`].
    ShowGraph,
    /// Ask the code graph; answers with [`Event::GraphAnswer`] of the same number.
    AskGraph(u64, String),
    /// The notice about providers' terms was read.
    DismissTermsNotice,
    /// Ask an endpoint, or all, how they are.
    CheckEndpoints(Option<String>),
    /// Choose model and effort for a seat that comes from the live list.
    OverrideSeat(SeatId, SeatOverride),
    /// Change the settings file.
    EditSettings(SettingsEdit),
    /// Put a key into the vault. The key is not kept anywhere else.
    SetKey {
        /// The endpoint.
        endpoint: String,
        /// The key.
        key: models::SecretString,
    },
    /// Forget a key.
    RemoveKey(String),
    /// Remember the window's own state.
    SaveWindow(serde_json::Value),
    /// Close a persistent notice.
    DismissNotice(u64),
    /// Save everything and end.
    Shutdown,
}

/// A message on its way into a thread.
#[derive(Clone, Debug)]
pub struct SendMessage {
    /// The thread, or `None` for a new one.
    pub thread: Option<ThreadId>,
    /// Markdown source.
    pub text: String,
    /// Who shall answer, where mentions and the thread's choice don't decide.
    pub targets: Option<Vec<SeatId>>,
    /// Attachments.
    pub context_blocks: Vec<ContextBlock>,
    /// Chat or Bonfire.
    pub mode: SendMode,
    /// Whether it is the thread's draft, which ends with it, and which it is again when it is refused.
    pub is_draft: bool,
}

impl SendMessage {
    /// A plain message in a thread.
    pub fn chat(thread: ThreadId, text: impl Into<String>) -> Self {
        Self {
            thread: Some(thread),
            text: text.into(),
            targets: None,
            context_blocks: Vec::new(),
            mode: SendMode::Chat,
            is_draft: false,
        }
    }
}

/// Which text of a reply a delta belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// The reply itself.
    Reply,
    /// The thoughts behind it; shown, kept in the journal, never in the transcript.
    Reasoning,
}

/// Text that arrived for a streaming reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// Its thread.
    pub thread: ThreadId,
    /// The reply.
    pub message: MessageId,
    /// The turn's number within its thread; text of an older turn is never delivered in a newer one.
    pub generation: u64,
    /// Reply or reasoning.
    pub channel: Channel,
    /// The new text.
    pub text: String,
}

/// How a thread's turn stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnState {
    /// The turn's number within its thread.
    pub generation: u64,
    /// The reply that is being received.
    pub streaming: Option<MessageId>,
    /// Whether a turn runs.
    pub is_generating: bool,
    /// The seat that is answering.
    pub seat: Option<SeatId>,
    /// What the running request is for, where it is not plainly the reply ("plan", "critique", ...).
    pub phase: Option<String>,
}

/// What waits for the running turn to end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueState {
    /// The waiting messages and retries, next first.
    pub waiting: Vec<Queued>,
    /// Whether they wait for the person, after a stop.
    pub is_paused: bool,
}

/// How an endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointState {
    /// Being asked.
    Checking,
    /// Answers and offers models.
    Green,
    /// Answers, but something needs attention.
    Amber,
    /// Doesn't answer.
    Red,
}

/// One endpoint as last seen.
#[derive(Clone, Debug)]
pub struct EndpointStatus {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: EndpointKind,
    /// Base URL as requests use it.
    pub url: String,
    /// How it is.
    pub state: EndpointState,
    /// Why, and what to do.
    pub detail: String,
    /// What it offers.
    pub models: Vec<ModelInfo>,
    /// Whether the vault has a key for it.
    pub has_key: bool,
}

/// A seat with what clients show of it.
#[derive(Clone, Debug, PartialEq)]
pub struct SeatView {
    /// The seat.
    pub seat: Seat,
    /// Set for a seat of the demo table: "Demo: scripted, not an AI".
    pub demo_label: Option<&'static str>,
    /// Whether the seat came from the live model list.
    pub is_derived: bool,
    /// Models of the same family, which the seat may change to.
    pub variants: Vec<String>,
    /// What speaks against it answering well ("the endpoint doesn't list this model").
    pub warning: Option<String>,
}

/// A request to a model, as its endpoint got it.
#[derive(Clone, Debug, PartialEq)]
pub struct InspectedRequest {
    /// What it was for: `reply`, or a step of Bonfire.
    pub purpose: String,
    /// Whether it was put together anew, with today's settings, as what was sent is no longer at hand.
    pub is_reconstructed: bool,
    /// The host it went to; `None` where there is no such endpoint any more.
    pub host: Option<String>,
    /// The fields of its body besides the messages: model, effort.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// The messages, merged as the endpoint wants them.
    pub messages: Vec<ChatMessage>,
}

/// How urgent a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Something was repaired or ignored.
    Warning,
    /// Something is not saved or does not work.
    Error,
}

/// Something that has no place in a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostNotice {
    /// Its number, to dismiss it by.
    pub id: u64,
    /// How urgent.
    pub severity: Severity,
    /// What happened, where, and what to do.
    pub text: String,
    /// Whether it stays until its cause is gone.
    pub is_persistent: bool,
}

/// A thread, whole.
#[derive(Clone, Debug)]
pub struct ThreadSnapshot {
    /// Its id.
    pub id: ThreadId,
    /// Its title.
    pub title: String,
    /// Its messages; those that are settled are shared, not copied.
    pub messages: Vec<Arc<Message>>,
    /// Thoughts of the streaming reply so far.
    pub live_reasoning: String,
    /// How its turn stands.
    pub turn: TurnState,
    /// Messages that wait.
    pub queue: QueueState,
    /// Unsent text.
    pub draft: String,
    /// Attachments of the unsent text.
    pub draft_blocks: Vec<ContextBlock>,
    /// Who answers a message without a mention.
    pub default_target: Option<SeatId>,
    /// Messages that no longer fit the last prompt.
    pub dropped: Vec<MessageId>,
}

/// Everything that a client shows.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The open folder.
    pub folder: Option<PathBuf>,
    /// Whether the folder brings settings that do not count because it isn't trusted.
    pub folder_asks_trust: bool,
    /// Why nothing is saved, if nothing is.
    pub read_only: Option<String>,
    /// The settings in force.
    pub settings: Arc<Settings>,
    /// What in the settings files was not understood.
    pub settings_problems: Vec<SettingsProblem>,
    /// The settings file of the person.
    pub settings_path: PathBuf,
    /// The seats at the table.
    pub seats: Arc<Vec<SeatView>>,
    /// The endpoints.
    pub endpoints: Arc<Vec<EndpointStatus>>,
    /// All threads, last used first.
    pub threads: Arc<Vec<ThreadSummary>>,
    /// The open thread.
    pub current: ThreadSnapshot,
    /// Notices.
    pub notices: Vec<HostNotice>,
    /// Whether the notice about providers' terms is still to be shown.
    pub show_terms_notice: bool,
    /// The window's own state of the last run.
    pub window: serde_json::Value,
    /// How the code graph of the open folder is.
    pub graph: GraphState,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// Everything, on request.
    Snapshot(Box<Snapshot>),
    /// Events were lost because the client was too slow; ask for a snapshot.
    Resync,
    /// Another thread is open, or the open one changed beyond a delta.
    ThreadOpened(Box<ThreadSnapshot>),
    /// How a long thread ends, to be shown while the rest of it is read. [`Event::ThreadOpened`] follows: with all of
    /// this thread, or with the one that was open if this one can't be read.
    ThreadEnd(Box<ThreadSnapshot>),
    /// The list of threads changed.
    Threads(Arc<Vec<ThreadSummary>>),
    /// Seats changed.
    Seats(Arc<Vec<SeatView>>),
    /// Endpoints changed.
    Endpoints(Arc<Vec<EndpointStatus>>),
    /// Settings changed.
    Settings(Arc<Settings>, Vec<SettingsProblem>),
    /// A message was added at the end. The person's own ones are on disk by now.
    MessageAdded(ThreadId, Arc<Message>),
    /// Text arrived.
    Delta(Delta),
    /// A message settled, was deleted, or changed otherwise.
    MessageChanged(ThreadId, Arc<Message>),
    /// A turn began, went on or ended.
    Turn(ThreadId, TurnState),
    /// A turn ended; `ok` when every addressed seat completed.
    TurnEnded {
        /// Its thread.
        thread: ThreadId,
        /// The turn's number.
        generation: u64,
        /// Whether every addressed seat completed.
        ok: bool,
    },
    /// The queue of a thread changed.
    Queue(ThreadId, QueueState),
    /// Something to know about a send: an unknown mention, a label of another seat, ...
    Warning(ThreadId, String),
    /// A waiting message was taken out of the queue; it is part of the thread's draft again.
    Unqueued {
        /// The thread it was for.
        thread: ThreadId,
        /// The text.
        text: String,
        /// The attachments.
        context_blocks: Vec<ContextBlock>,
    },
    /// A send was not taken; where it was a draft, it is one again.
    SendRefused {
        /// The thread it was for.
        thread: Option<ThreadId>,
        /// The text.
        text: String,
        /// The attachments.
        context_blocks: Vec<ContextBlock>,
        /// Why, and what to do.
        reason: String,
    },
    /// These messages no longer fit the prompt.
    Dropped(ThreadId, Vec<MessageId>),
    /// Size of the prompt that a draft would make.
    Estimate {
        /// The thread.
        thread: ThreadId,
        /// Who would answer.
        targets: Vec<SeatId>,
        /// Characters of the largest prompt.
        chars: usize,
        /// About so many tokens.
        approx_tokens: usize,
        /// Whether messages would be left out.
        over_budget: bool,
        /// Mentions that name nobody.
        unknown_mentions: Vec<String>,
    },
    /// What a seat is or was shown.
    Inspection {
        /// The thread.
        thread: ThreadId,
        /// The reply.
        message: MessageId,
        /// Each request made for the reply: a title and its messages.
        requests: Vec<InspectedRequest>,
    },
    /// Thoughts behind a reply, from the journal.
    Reasoning(ThreadId, MessageId, String),
    /// An attachment for the composer.
    ComposerInsert(ThreadId, ContextBlock),
    /// A seat may not be asked before so many seconds have passed.
    RateLimited {
        /// The seat.
        seat: SeatId,
        /// Seconds from now.
        wait_secs: u64,
    },
    /// The person must see the notice about providers' terms first.
    TermsNotice(bool),
    /// Notices changed.
    Notices(Vec<HostNotice>),
    /// How the code graph of the open folder is.
    Graph(GraphState),
    /// What the code graph answers to the question with this number, or why it can't.
    GraphAnswer(u64, Result<Arc<Answer>, String>),
    /// The folder changed.
    Folder(Option<PathBuf>, bool),
    /// Everything is saved; nothing follows.
    Ended,
}

impl Event {
    /// Bytes of text that it carries, for the mailbox's bound.
    pub(crate) fn text_len(&self) -> usize {
        match self {
            Self::Delta(delta) => delta.text.len(),
            Self::MessageAdded(_, message) | Self::MessageChanged(_, message) => {
                message.content().len()
            }
            Self::Reasoning(_, _, text) => text.len(),
            _ => 0,
        }
    }
}
