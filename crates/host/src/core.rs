//! The host's one task. It owns all product state and is alone in changing it, so nothing here needs a lock.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use conversation::{Input, Seat, thoughts};
use models::{Client, SecretString, Timeouts, Vault};
use rehearsal::Rehearsal;
use tokio::sync::mpsc;
use tokio::time::Instant;
use transcript::{Notice, NoticeSeverity, StoreError, ThreadId, ThreadSummary};

use crate::client_state::ClientState;
use crate::disk::Disk;
use crate::graph::{GraphNews, GraphService, GraphState};
use crate::mailbox::Postman;
use crate::protocol::{
    EndpointStatus, Event, HostNotice, Intent, SeatView, SendMessage, Severity, Snapshot,
};
use crate::settings::{Settings, SettingsProblem};
use crate::settings_files::{load_settings, project_settings_path, settings_path};
use crate::stream::StreamNews;

mod code_graph;
mod configuration;
mod endpoints;
mod threads;
mod turns;

use threads::LiveThread;
pub use turns::TERMS_REASON;

/// How long changes that need not be durable at once may wait.
const WRITE_BEHIND: Duration = Duration::from_millis(500);
/// How long to wait before a disk that refused is tried again.
const DISK_RETRY: Duration = Duration::from_secs(5);
/// How long a thread must have rested before its append log is folded into its file.
const FOLD_AFTER: Duration = Duration::from_secs(20);
/// Editors write a file in several steps; the settings are read once they are done.
const SETTINGS_SETTLE: Duration = Duration::from_millis(200);

/// What reaches the core.
pub(crate) enum Inbound {
    /// A client's wish.
    Intent(Intent),
    /// A new client.
    Subscribe(Postman),
    /// News of a request.
    Stream(StreamNews),
    /// An endpoint's answer to being asked how it is.
    Endpoint(endpoints::EndpointAnswer),
    Graph(u64, GraphNews),
    /// A settings file was touched.
    SettingsTouched,
}

/// When the next piece of timed work is due.
#[derive(Default)]
struct Deadlines {
    commit: Option<Instant>,
    state: Option<Instant>,
    settings: Option<Instant>,
}

pub(crate) struct Core {
    home: PathBuf,
    folder: Option<PathBuf>,
    disk: Disk,
    state: ClientState,
    settings: Arc<Settings>,
    settings_problems: Vec<SettingsProblem>,
    watcher: Option<notify::RecommendedWatcher>,
    /// Whether the open folder had settings of its own when the watch began.
    watches_project: bool,
    /// Whether clients were told last that the open folder's settings wait for trust.
    asked_trust: bool,
    vault: Arc<Vault>,
    keys: HashMap<String, SecretString>,
    client: Client,
    demo: Option<Rehearsal>,
    /// Servers of the demo table that were replaced while a reply streamed; they go when none does.
    retired_demos: Vec<Rehearsal>,
    demo_when_empty: bool,
    endpoints: Arc<Vec<EndpointStatus>>,
    endpoint_checks: BTreeMap<String, u64>,
    looks: HashMap<String, endpoints::Look>,
    graph: Option<GraphService>,
    graph_state: GraphState,
    /// Which of the threads that read a graph counts; news of an older one is out of date.
    graph_thread: u64,
    last_check: u64,
    seats: Arc<Vec<SeatView>>,
    /// The seats as the conversation knows them.
    table: Vec<Seat>,
    threads: HashMap<ThreadId, LiveThread>,
    current: ThreadId,
    listed: Vec<ThreadSummary>,
    waiting_sends: Vec<SendMessage>,
    clients: Vec<Postman>,
    notices: Vec<HostNotice>,
    last_notice: u64,
    disk_notice: Option<u64>,
    state_notice: Option<u64>,
    deadlines: Deadlines,
    unfolded: HashMap<ThreadId, Instant>,
    inbox: mpsc::Sender<Inbound>,
}

/// What the core is made of.
pub(crate) struct CoreParts {
    pub(crate) home: PathBuf,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) disk: Disk,
    pub(crate) store_notices: Vec<Notice>,
    pub(crate) vault: Vault,
    pub(crate) demo_when_empty: bool,
    pub(crate) inbox: mpsc::Sender<Inbound>,
}

impl Core {
    pub(crate) fn new(parts: CoreParts) -> Result<Self, models::ModelError> {
        let (mut state, state_problem) = ClientState::load(&parts.home);
        state.queued_into_drafts();
        let trusted = parts
            .folder
            .as_deref()
            .filter(|folder| is_trusted(&state, folder));
        let (settings, settings_problems) = load_settings(&parts.home, trusted);
        let client = Client::new(timeouts(&settings))?;
        let mut core = Self {
            home: parts.home,
            folder: parts.folder,
            disk: parts.disk,
            state,
            settings: Arc::new(settings),
            settings_problems,
            watcher: None,
            watches_project: false,
            asked_trust: false,
            vault: Arc::new(parts.vault),
            keys: HashMap::new(),
            client,
            demo: None,
            retired_demos: Vec::new(),
            demo_when_empty: parts.demo_when_empty,
            endpoints: Arc::default(),
            endpoint_checks: BTreeMap::new(),
            looks: HashMap::new(),
            graph: None,
            graph_state: GraphState::Closed,
            graph_thread: 0,
            last_check: 0,
            seats: Arc::default(),
            table: Vec::new(),
            threads: HashMap::new(),
            current: ThreadId::generate(),
            listed: Vec::new(),
            waiting_sends: Vec::new(),
            clients: Vec::new(),
            notices: Vec::new(),
            last_notice: 0,
            disk_notice: None,
            state_notice: None,
            deadlines: Deadlines::default(),
            unfolded: HashMap::new(),
            inbox: parts.inbox,
        };
        for notice in parts.store_notices {
            core.store_notice(notice);
        }
        if let Some(problem) = state_problem {
            core.notice(Severity::Warning, problem, false);
        }
        Ok(core)
    }

    /// Serves intents until the shutdown.
    pub(crate) async fn run(mut self, mut inbound: mpsc::Receiver<Inbound>) {
        self.listed = self.disk.list();
        self.open_last_thread();
        self.watch_settings();
        self.load_keys().await;
        self.configure_endpoints().await;
        loop {
            let next = match self.next_deadline() {
                Some(at) => tokio::time::timeout_at(at, inbound.recv()).await,
                None => Ok(inbound.recv().await),
            };
            match next {
                Ok(Some(Inbound::Intent(Intent::Shutdown)) | None) => break,
                Ok(Some(message)) => self.receive(message).await,
                Err(_elapsed) => self.work_that_is_due().await,
            }
        }
        self.shut_down().await;
    }

    async fn receive(&mut self, message: Inbound) {
        match message {
            Inbound::Intent(intent) => self.intent(intent).await,
            Inbound::Subscribe(postman) => self.clients.push(postman),
            Inbound::Stream(news) => self.stream_news(news),
            Inbound::Endpoint(answer) => self.endpoint_answer(answer).await,
            Inbound::Graph(thread, news) => self.graph_news(thread, news),
            Inbound::SettingsTouched => {
                self.deadlines.settings = Some(Instant::now() + SETTINGS_SETTLE);
            }
        }
        // Streams can keep the inbox busy for long; what is due must not wait for a pause.
        if self.next_deadline().is_some_and(|at| at <= Instant::now()) {
            self.work_that_is_due().await;
        }
    }

    async fn intent(&mut self, intent: Intent) {
        match intent {
            Intent::Ready => self.publish_snapshot(),
            Intent::OpenFolder(folder) => self.open_folder(folder).await,
            Intent::ShowGraph => self.show_graph(),
            Intent::AskGraph(number, question) => self.ask_graph(number, question),
            Intent::TrustFolder(folder) => self.trust_folder(folder).await,
            Intent::Send(message) => self.send(message),
            Intent::Unqueue(thread, message_id) => self.unqueue(&thread, message_id),
            Intent::ResumeQueue(thread) => {
                self.input(&thread, Input::Resume);
            }
            Intent::Stop(thread) => self.input(&thread, Input::Stop),
            Intent::Retry(thread, message_id) => {
                self.input(&thread, Input::Retry { message_id });
            }
            Intent::DeleteMessage(thread, message_id) => {
                self.input(&thread, Input::Delete { message_id });
            }
            Intent::NewThread => self.new_thread(),
            Intent::SwitchThread(thread) => self.switch_thread(&thread),
            Intent::SetDefaultTarget { thread, seat } => self.set_default_target(&thread, seat),
            Intent::Fork {
                thread,
                last_shared,
                resend,
            } => self.fork(&thread, last_shared, resend),
            Intent::Rename(thread, title) => self.rename(&thread, &title),
            Intent::Archive(thread, archived) => self.archive(&thread, archived),
            Intent::DeleteThread(thread) => self.delete_thread(&thread),
            Intent::RestoreThread(thread) => self.restore_thread(&thread),
            Intent::SetDraft {
                thread,
                text,
                context_blocks,
            } => self.set_draft(&thread, text, context_blocks),
            Intent::EstimatePrompt {
                thread,
                draft,
                context_blocks,
            } => {
                self.estimate(&thread, &draft, &context_blocks);
            }
            Intent::Inspect { thread, message } => self.inspect(&thread, &message),
            Intent::ShowReasoning(thread, message) => {
                let text = thoughts(&self.disk.journal_of(&thread, &message));
                self.publish(&Event::Reasoning(thread, message, text));
            }
            Intent::Attach {
                thread,
                path,
                range,
            } => self.attach(thread, path, range).await,
            Intent::DismissTermsNotice => {
                self.state.terms_notice_dismissed = true;
                self.state_changed();
                self.publish(&Event::TermsNotice(false));
            }
            Intent::CheckEndpoints(which) => {
                self.load_keys().await;
                self.check_endpoints(which.as_deref());
            }
            Intent::OverrideSeat(seat, choice) => {
                self.state.seat_overrides.insert(seat.to_string(), choice);
                self.state_changed();
                self.resolve_seats();
            }
            Intent::EditSettings(edit) => self.edit_settings(&edit).await,
            Intent::SetKey { endpoint, key } => self.set_key(endpoint, Some(key)).await,
            Intent::RemoveKey(endpoint) => self.set_key(endpoint, None).await,
            Intent::SaveWindow(window) => {
                self.state.window = window;
                self.state_changed();
            }
            Intent::DismissNotice(id) => self.dismiss_by_person(id),
            // Ends the loop before it comes here.
            Intent::Shutdown => {}
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let deadlines = &self.deadlines;
        let fold = self.unfolded.values().min().map(|at| *at + FOLD_AFTER);
        let look = self.looks.values().filter_map(|look| look.next).min();
        [
            deadlines.commit,
            deadlines.state,
            deadlines.settings,
            fold,
            look,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    async fn work_that_is_due(&mut self) {
        let now = Instant::now();
        let due = |deadline: &mut Option<Instant>| deadline.take_if(|at| *at <= now).is_some();
        if due(&mut self.deadlines.commit) {
            self.save_partial_replies();
            self.commit();
        }
        if due(&mut self.deadlines.state) {
            self.save_state();
        }
        if due(&mut self.deadlines.settings) {
            self.reload_settings().await;
        }
        self.fold_what_rests(now);
        self.look_again(now);
    }

    /// Makes all remembered changes durable; a refusal of the disk is shown until it is over.
    fn commit(&mut self) {
        self.deadlines.commit = None;
        match self.disk.commit() {
            Ok(()) => {
                if let Some(id) = self.disk_notice.take() {
                    self.dismiss_notice(id);
                }
            }
            Err(error) => self.disk_refused(&error),
        }
    }

    fn disk_refused(&mut self, error: &StoreError) {
        self.deadlines.commit = Some(Instant::now() + DISK_RETRY);
        if self.disk_notice.is_none() {
            let text = format!(
                "Not saved: {error}. The conversation goes on in memory and is saved as soon as the disk takes it; \
                 free some space, or copy what you need before you quit."
            );
            self.disk_notice = Some(self.notice(Severity::Error, text, true));
        }
    }

    fn save_later(&mut self) {
        let at = Instant::now() + WRITE_BEHIND;
        self.deadlines.commit.get_or_insert(at);
    }

    fn state_changed(&mut self) {
        self.deadlines
            .state
            .get_or_insert(Instant::now() + WRITE_BEHIND);
    }

    fn save_state(&mut self) {
        match self.disk.save_state(&self.state) {
            Ok(()) => {
                if let Some(id) = self.state_notice.take() {
                    self.dismiss_notice(id);
                }
            }
            Err(error) if self.state_notice.is_none() => {
                let text = format!(
                    "Drafts and window layout could not be saved: {error}. They are tried again."
                );
                self.state_notice = Some(self.notice(Severity::Warning, text, false));
                self.deadlines.state = Some(Instant::now() + DISK_RETRY);
            }
            Err(_) => self.deadlines.state = Some(Instant::now() + DISK_RETRY),
        }
    }

    async fn shut_down(mut self) {
        let generating: Vec<ThreadId> = self
            .threads
            .values()
            .filter(|t| t.orchestrator.is_generating())
            .map(|t| t.thread.id().clone())
            .collect();
        for thread in generating {
            self.input(&thread, Input::Stop);
        }
        self.commit();
        self.save_state();
        if self.disk_notice.is_some() {
            // The last word: whoever waits for the end learns that something is not saved.
            self.publish(&Event::Notices(self.notices.clone()));
        }
        for live in self.threads.values().filter(|live| live.is_on_disk) {
            self.disk.fold(&live.thread);
        }
        if let Some(demo) = self.demo.take() {
            demo.shutdown().await;
        }
        if let Err(error) = self.disk.close() {
            log::error!("not everything was saved: {error}");
        }
        for client in &self.clients {
            client.send(Event::Ended);
        }
    }

    fn publish(&mut self, event: &Event) {
        self.clients.retain(|client| client.send(event.clone()));
    }

    fn publish_snapshot(&mut self) {
        let Some(current) = self.thread_snapshot(&self.current.clone()) else {
            return;
        };
        let snapshot = Snapshot {
            folder: self.folder.clone(),
            folder_asks_trust: self.folder_asks_trust(),
            read_only: self.disk.read_only.clone(),
            settings: Arc::clone(&self.settings),
            settings_problems: self.settings_problems.clone(),
            settings_path: settings_path(&self.home),
            seats: Arc::clone(&self.seats),
            endpoints: Arc::clone(&self.endpoints),
            threads: Arc::new(self.listed.clone()),
            current,
            notices: self.notices.clone(),
            show_terms_notice: self.must_show_terms(),
            window: self.state.window.clone(),
            graph: self.graph_state.clone(),
        };
        self.publish(&Event::Snapshot(Box::new(snapshot)));
    }

    fn notice(&mut self, severity: Severity, text: String, is_persistent: bool) -> u64 {
        self.last_notice += 1;
        let id = self.last_notice;
        self.notices.push(HostNotice {
            id,
            severity,
            text,
            is_persistent,
        });
        self.publish(&Event::Notices(self.notices.clone()));
        id
    }

    fn store_notice(&mut self, notice: Notice) {
        let severity = match notice.severity {
            NoticeSeverity::Warning => Severity::Warning,
            NoticeSeverity::Error => Severity::Error,
        };
        self.notice(severity, notice.text, severity == Severity::Error);
    }

    fn dismiss_notice(&mut self, id: u64) {
        self.notices.retain(|notice| notice.id != id);
        self.publish(&Event::Notices(self.notices.clone()));
    }

    /// Closes a notice for the person. One that says that nothing is saved stays until that is over.
    fn dismiss_by_person(&mut self, id: u64) {
        if self.disk_notice != Some(id) {
            self.dismiss_notice(id);
        }
    }

    fn folder_asks_trust(&self) -> bool {
        self.folder
            .as_deref()
            .is_some_and(|f| !is_trusted(&self.state, f) && project_settings_path(f).is_file())
    }

    fn trusted_folder(&self) -> Option<&Path> {
        self.folder
            .as_deref()
            .filter(|folder| is_trusted(&self.state, folder))
    }
}

fn is_trusted(state: &ClientState, folder: &Path) -> bool {
    let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    state.trusted_folders.contains(&real)
}

fn timeouts(settings: &Settings) -> Timeouts {
    Timeouts {
        first_byte: settings.first_byte_timeout,
        stall: settings.stall_timeout,
        ..Timeouts::default()
    }
}
