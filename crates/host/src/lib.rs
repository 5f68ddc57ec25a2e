//! The background runtime: owns all product state, takes intents, publishes events.
//!
//! The window, the command line and the tests are clients of the same [`HostHandle`]:
//!
//! ```no_run
//! use std::time::Duration;
//! use host::{Event, Host, HostOptions, Intent};
//!
//! let host = Host::start(HostOptions::new("/tmp/folkmoot".into()))?;
//! let handle = host.handle();
//! let events = handle.subscribe(|| { /* wake the client */ });
//! handle.send(Intent::Ready)?;
//! if let Some(Event::Snapshot(snapshot)) = events.recv_timeout(Duration::from_secs(5)) {
//!     println!("{} threads", snapshot.threads.len());
//! }
//! host.shutdown();
//! # Ok::<(), host::HostError>(())
//! ```

use std::path::{Path, PathBuf};

use models::{ModelError, Vault, VaultError, VaultKind};
use thiserror::Error;
use tokio::sync::mpsc;
use transcript::StoreError;

mod client_state;
mod core;
mod disk;
mod folder;
mod graph;
mod mailbox;
mod protocol;
mod seats;
pub mod settings;
mod settings_files;
mod stream;
mod thinking;

pub use client_state::{ClientState, SeatOverride, write_atomically};
pub use folder::{AttachError, read_context_block};
pub use graph::{CycleData, GraphData, GraphState};
pub use mailbox::Events;
pub use protocol::{
    Channel, Delta, EndpointState, EndpointStatus, Event, HostNotice, InspectedRequest, Intent,
    QueueState, SeatView, SendMessage, Severity, Snapshot, ThreadSnapshot, TurnState,
};
pub use settings_files::{load_settings, project_settings_path, settings_path};

pub use crate::core::TERMS_REASON;
use crate::core::{Core, CoreParts, Inbound};

/// Intents and news that may wait for the host.
const WAITING_INBOUND: usize = 1024;

/// How a host is started.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// The data folder; made where it is missing.
    pub home: PathBuf,
    /// The folder to work on.
    pub folder: Option<PathBuf>,
    /// Threads of the runtime.
    pub worker_threads: usize,
    /// Whether the demo table opens when no other seat is there.
    pub demo_when_empty: bool,
    /// Where keys are kept.
    pub vault: VaultKind,
}

impl HostOptions {
    /// The usual options for a data folder: two workers, the demo table, the best vault there is.
    pub fn new(home: PathBuf) -> Self {
        Self {
            home,
            folder: None,
            worker_threads: 2,
            demo_when_empty: true,
            vault: VaultKind::Auto,
        }
    }
}

/// Why a host did not start, or takes no more intents.
#[derive(Debug, Error)]
pub enum HostError {
    /// The thread store could not be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The vault could not be opened.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The HTTP client could not be set up.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The runtime could not be started.
    #[error("the background runtime could not be started: {0}")]
    Runtime(#[from] std::io::Error),
    /// The host has ended.
    #[error("the host has ended")]
    Ended,
    /// So much waits that no more is taken.
    #[error("the host is busy; try again in a moment")]
    Busy,
}

/// A running host. Dropping it shuts it down and waits until everything is saved.
pub struct Host {
    handle: HostHandle,
    runner: Option<std::thread::JoinHandle<()>>,
}

/// What clients hold. Cheap to clone.
#[derive(Clone)]
pub struct HostHandle {
    inbox: mpsc::Sender<Inbound>,
}

impl Host {
    /// Opens the data folder and starts the runtime on a thread of its own.
    ///
    /// # Errors
    /// When the data folder can't be used at all, or the machine has no room for the runtime. A broken thread
    /// or settings file is no reason to fail: it becomes a notice.
    pub fn start(options: HostOptions) -> Result<Self, HostError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(options.worker_threads.max(1))
            .thread_name("folkmoot-worker")
            .enable_all()
            .build()?;
        let (inbox, inbound) = mpsc::channel(WAITING_INBOUND);
        let (disk, store_notices) = disk::Disk::open(&options.home)?;
        let vault = Vault::open(&options.home, options.vault)?;
        let core = Core::new(CoreParts {
            home: options.home,
            folder: options.folder,
            disk,
            store_notices,
            vault,
            demo_when_empty: options.demo_when_empty,
            inbox: inbox.clone(),
        })?;
        let runner = std::thread::Builder::new()
            .name("folkmoot-host".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    // On a worker, so that the streams' tasks and the core share the runtime evenly.
                    if tokio::spawn(core.run(inbound)).await.is_err() {
                        log::error!("the host's task panicked");
                    }
                });
            })?;
        Ok(Self {
            handle: HostHandle { inbox },
            runner: Some(runner),
        })
    }

    /// A handle for a client.
    pub fn handle(&self) -> HostHandle {
        self.handle.clone()
    }

    /// Stops all turns, saves everything and ends.
    pub fn shutdown(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(runner) = self.runner.take() else {
            return;
        };
        // The inbox may be full of news; this waits for a place.
        let _ended = self
            .handle
            .inbox
            .blocking_send(Inbound::Intent(Intent::Shutdown));
        if runner.join().is_err() {
            log::error!("the host's thread panicked");
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.end();
    }
}

impl HostHandle {
    /// Gives an intent to the host, without waiting.
    ///
    /// # Errors
    /// When the host has ended or is flooded.
    pub fn send(&self, intent: Intent) -> Result<(), HostError> {
        self.offer(intent).map_err(|refusal| refusal.1)
    }

    /// As [`Self::send`], for a client that keeps what isn't taken.
    ///
    /// # Errors
    /// The intent, and why it was not taken.
    pub fn offer(&self, intent: Intent) -> Result<(), Box<(Intent, HostError)>> {
        match self.inbox.try_reserve() {
            Ok(place) => {
                place.send(Inbound::Intent(intent));
                Ok(())
            }
            Err(error) => Err(Box::new((intent, refused(&error)))),
        }
    }

    /// Subscribes to events; `waker` is called, from another thread, when some arrive after a pause.
    /// A client that falls far behind gets [`Event::Resync`] instead of what it missed.
    pub fn subscribe(&self, waker: impl Fn() + Send + Sync + 'static) -> Events {
        self.subscribe_to(mailbox::mailbox(waker, false))
    }

    /// Subscribes to events without ever missing one, for a client that writes them out at its reader's pace.
    pub fn subscribe_to_all(&self) -> Events {
        self.subscribe_to(mailbox::mailbox(|| {}, true))
    }

    fn subscribe_to(&self, (postman, events): (mailbox::Postman, Events)) -> Events {
        if let Err(error) = self.inbox.try_send(Inbound::Subscribe(postman)) {
            log::error!("a client could not subscribe: {}", refused(&error));
        }
        events
    }
}

fn refused<T>(error: &mpsc::error::TrySendError<T>) -> HostError {
    match error {
        mpsc::error::TrySendError::Full(_) => HostError::Busy,
        mpsc::error::TrySendError::Closed(_) => HostError::Ended,
    }
}

/// The data folder: `FOLKMOOT_HOME`, else `.folkmoot` in the person's home folder.
pub fn data_home() -> Option<PathBuf> {
    let own = std::env::var_os("FOLKMOOT_HOME")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from);
    own.or_else(|| {
        std::env::home_dir()
            .filter(|h| !h.as_os_str().is_empty())
            .map(|h| h.join(".folkmoot"))
    })
}

/// Whether a folder exists and can be listed, so that it can be worked on.
pub fn is_usable_folder(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok()
}
