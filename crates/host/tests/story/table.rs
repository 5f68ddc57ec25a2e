//! A host, a scripted model server, and what a client sees of both.

use std::path::Path;
use std::time::{Duration, Instant};

use host::{Event, Events, Host, HostHandle, HostOptions, Intent, SendMessage, Snapshot};
use models::VaultKind;
use rehearsal::{Options, Rehearsal, Script};
use tempfile::TempDir;
use transcript::{Message, ThreadId};

/// Far longer than anything here takes; reaching it is a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// A host whose seats `ann` and `bob` are played by a script.
pub(crate) struct Table {
    pub(crate) host: Option<Host>,
    pub(crate) handle: HostHandle,
    pub(crate) events: Events,
    pub(crate) home: TempDir,
    pub(crate) server: Rehearsal,
    pub(crate) runtime: tokio::runtime::Runtime,
    pub(crate) snapshot: Snapshot,
}

impl Table {
    /// Opens a table over the steps of a script.
    pub(crate) fn open(script: &str) -> Self {
        Self::open_with(script, "")
    }

    /// As [`Self::open`], with more settings.
    pub(crate) fn open_with(script: &str, settings: &str) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let script = Script::parse(script).unwrap();
        let server = runtime
            .block_on(Rehearsal::start(script, Options::default()))
            .unwrap();
        let home = tempfile::tempdir().unwrap();
        let text = settings_for(&server.base_url(), settings);
        std::fs::write(home.path().join("settings.toml"), text).unwrap();
        let (host, handle, events, snapshot) = start(home.path());
        Self {
            host: Some(host),
            handle,
            events,
            home,
            server,
            runtime,
            snapshot,
        }
    }

    /// The open thread.
    pub(crate) fn thread(&self) -> ThreadId {
        self.snapshot.current.id.clone()
    }

    /// Ends the host as a person does, and starts it again.
    pub(crate) fn restart(&mut self) {
        if let Some(host) = self.host.take() {
            host.shutdown();
        }
        let (host, handle, events, snapshot) = start(self.home.path());
        self.host = Some(host);
        self.handle = handle;
        self.events = events;
        self.snapshot = snapshot;
    }

    pub(crate) fn intent(&self, intent: Intent) {
        self.handle.send(intent).unwrap();
    }

    pub(crate) fn say(&self, text: &str) {
        self.intent(Intent::Send(SendMessage::chat(self.thread(), text)));
    }

    /// The next event that `pick` wants.
    pub(crate) fn wait<T>(&self, what: &str, pick: impl FnMut(&Event) -> Option<T>) -> T {
        wait(&self.events, what, pick)
    }

    /// Waits for the end of the turn; returns whether every seat completed.
    pub(crate) fn turn_ended(&self) -> bool {
        self.wait("the turn's end", |event| match event {
            Event::TurnEnded { ok, .. } => Some(*ok),
            _ => None,
        })
    }

    /// The messages of the open thread, as a fresh client sees them.
    pub(crate) fn messages(&self) -> Vec<(String, String, transcript::Status)> {
        self.fresh_snapshot()
            .current
            .messages
            .iter()
            .map(|m| (m.speaker().to_string(), m.content().to_owned(), m.status()))
            .collect()
    }

    pub(crate) fn fresh_snapshot(&self) -> Snapshot {
        let events = self.handle.subscribe(|| {});
        self.intent(Intent::Ready);
        wait(&events, "a snapshot", |event| match event {
            Event::Snapshot(snapshot) => Some((**snapshot).clone()),
            _ => None,
        })
    }

    /// What the nth chat request said, from 1: role and content of each message.
    pub(crate) fn request(&self, nth: usize) -> Vec<(String, String)> {
        let recorded = self
            .runtime
            .block_on(async {
                tokio::time::timeout(PATIENCE, self.server.wait_for_request(nth)).await
            })
            .expect("the request is made");
        let messages = recorded.body["messages"].as_array().unwrap().clone();
        messages
            .iter()
            .map(|m| {
                (
                    m["role"].as_str().unwrap().to_owned(),
                    m["content"].as_str().unwrap().to_owned(),
                )
            })
            .collect()
    }

    pub(crate) fn at_gate(&self, name: &str) {
        self.runtime
            .block_on(async {
                tokio::time::timeout(PATIENCE, self.server.wait_at_gate(name)).await
            })
            .expect("the reply reaches the gate");
    }
}

pub(crate) fn settings_for(url: &str, more: &str) -> String {
    format!(
        "[sidecar]\nexternal_url = \"http://127.0.0.1:9\"\n{more}\n\
         [[endpoints]]\nid = \"script\"\nurl = \"{url}\"\n\
         [[participants]]\nid = \"ann\"\ndisplay_name = \"Ann\"\nendpoint = \"script\"\nmodel = \"model-a\"\n\
         [[participants]]\nid = \"bob\"\ndisplay_name = \"Bob\"\nendpoint = \"script\"\nmodel = \"model-b\"\n"
    )
}

pub(crate) fn options(home: &Path) -> HostOptions {
    HostOptions {
        vault: VaultKind::File,
        ..HostOptions::new(home.to_owned())
    }
}

pub(crate) fn start(home: &Path) -> (Host, HostHandle, Events, Snapshot) {
    let host = Host::start(options(home)).unwrap();
    let handle = host.handle();
    let events = handle.subscribe(|| {});
    handle.send(Intent::Ready).unwrap();
    let snapshot = wait(&events, "the first snapshot", |event| match event {
        Event::Snapshot(snapshot) => Some((**snapshot).clone()),
        _ => None,
    });
    (host, handle, events, snapshot)
}

pub(crate) fn wait<T>(events: &Events, what: &str, mut pick: impl FnMut(&Event) -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    let mut seen = Vec::new();
    while Instant::now() < deadline {
        let Some(event) = events.recv_timeout(Duration::from_millis(200)) else {
            continue;
        };
        if let Some(found) = pick(&event) {
            return found;
        }
        seen.push(format!("{event:?}").chars().take(160).collect::<String>());
    }
    panic!("{what} did not come; seen:\n{}", seen.join("\n"));
}

pub(crate) fn is_reply(message: &Message) -> bool {
    message.role() == transcript::Role::Assistant
}
