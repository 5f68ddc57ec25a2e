//! What passes between a run and its host: calls and replies, cancellation, the clock and the random source.

use crate::events::Progress;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

/// One call that the program made and the host answers.
#[derive(Clone, Debug)]
pub struct Call {
    /// Number of the call among the admitted ones, in the order of creation.
    pub id: u64,
    /// Index of the tool in its set.
    pub tool: usize,
    /// Dotted path of the tool.
    pub path: String,
    /// The input, as JSON.
    pub input: serde_json::Value,
    /// Tells how far the call is.
    pub progress: Progress,
}

/// What a tool returned.
#[derive(Clone, Debug)]
pub enum Output {
    /// A JSON value.
    Json(serde_json::Value),
    /// JSON text, read straight into the program's memory.
    Text(String),
}

/// Why a tool refused or failed; the program can catch it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    /// The text that the program and the model see.
    pub message: String,
}

/// The answer to a call.
pub type Reply = Result<Output, ToolError>;

/// Stops a run from outside.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag {
    inner: Arc<CancelState>,
}

#[derive(Debug, Default)]
struct CancelState {
    set: AtomicBool,
    notify: Notify,
}

impl CancelFlag {
    /// Asks the run to stop; it does within milliseconds, whatever it is doing.
    pub fn cancel(&self) {
        self.inner.set.store(true, Ordering::Release);
        self.inner.notify.notify_waiters();
        self.inner.notify.notify_one();
    }

    /// Whether the run was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.inner.set.load(Ordering::Acquire)
    }

    pub(crate) async fn cancelled(&self) {
        while !self.is_cancelled() {
            self.inner.notify.notified().await;
        }
    }
}

/// Where a run gets the time and its random numbers from; fix both and a run repeats itself.
#[derive(Clone)]
pub struct Environment {
    /// Milliseconds since 1970.
    pub now_ms: Arc<dyn Fn() -> f64 + Send + Sync>,
    /// Start of the random sequence.
    pub seed: u64,
}

impl Default for Environment {
    fn default() -> Environment {
        let now_ms = || {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0.0, |d| d.as_millis() as f64)
        };
        let seed = std::collections::hash_map::RandomState::new()
            .build_hasher()
            .finish();
        Environment {
            now_ms: Arc::new(now_ms),
            seed,
        }
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}
