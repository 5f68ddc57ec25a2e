//! What a run knows of its host: the tools, the limits, the clock and the random source, and the calls in flight.

use crate::tools::ToolSet;
use crate::value::ObjId;
use rustc_hash::FxHashMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

/// One call that the program made and the host answers.
#[derive(Clone, Debug)]
pub struct Call {
    /// Number of the call within the run, in the order of creation.
    pub id: u64,
    /// Index of the tool in its set.
    pub tool: usize,
    /// Dotted path of the tool.
    pub path: String,
    /// The input, as JSON.
    pub input: serde_json::Value,
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

/// Limits of a run. What isn't limited runs freely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall time in milliseconds, tool time included; at least 1.
    pub timeout_ms: Option<u64>,
    /// Tool calls admitted.
    pub max_tool_calls: Option<u64>,
    /// Bytes of result and logs kept, in UTF-8.
    pub max_output_bytes: Option<u64>,
    /// Bytes that the program's data may occupy.
    pub heap_bytes: usize,
    /// Steps of work: roughly one a loop round, call or kilobyte handled.
    pub fuel: Option<u64>,
    /// How an oversized result is cut.
    pub truncation: Truncation,
}

/// How an oversized result is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Truncation {
    /// Arrays, objects and strings are shortened inside the value, which stays JSON.
    #[default]
    Structured,
    /// The result becomes the start of its JSON text and a marker.
    Text,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            timeout_ms: None,
            max_tool_calls: None,
            max_output_bytes: None,
            heap_bytes: 512 << 20,
            fuel: None,
            truncation: Truncation::default(),
        }
    }
}

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

/// The run's side of the host.
pub(crate) struct HostState {
    pub(crate) limits: Limits,
    pub(crate) tools: Arc<ToolSet>,
    pub(crate) calls: Vec<String>,
    pub(crate) logs: Vec<String>,
    pub(crate) outbox: Vec<Call>,
    /// Async functions that wait.
    pub(crate) waiting: usize,
    pending: FxHashMap<u64, (ObjId, usize, Option<u32>)>,
    next_call: u64,
    cancel: CancelFlag,
    deadline: Option<Instant>,
    environment: Environment,
    random: u64,
    /// A value that must outlive collections while the run waits.
    pub(crate) held: Vec<ObjId>,
}

impl HostState {
    pub(crate) fn new(
        limits: Limits,
        tools: Arc<ToolSet>,
        cancel: CancelFlag,
        environment: Environment,
    ) -> HostState {
        let deadline = limits
            .timeout_ms
            .and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
        let random = environment.seed;
        HostState {
            limits,
            tools,
            calls: Vec::new(),
            logs: Vec::new(),
            outbox: Vec::new(),
            waiting: 0,
            pending: FxHashMap::default(),
            next_call: 0,
            cancel,
            deadline,
            environment,
            random,
            held: Vec::new(),
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    pub(crate) fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(crate) fn now_ms(&self) -> f64 {
        (self.environment.now_ms)().trunc()
    }

    /// The next number of a SplitMix64 sequence (Steele, Lea and Flood 2014).
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn random(&mut self) -> f64 {
        (self.next_random() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn random_byte(&mut self) -> u8 {
        (self.next_random() >> 56) as u8
    }

    pub(crate) fn log(&mut self, line: String) {
        self.logs.push(line);
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.pending.len()
    }

    pub(crate) fn send(&mut self, mut call: Call, promise: ObjId, span: Option<u32>) {
        call.id = self.next_call;
        self.next_call += 1;
        self.pending.insert(call.id, (promise, call.tool, span));
        self.outbox.push(call);
    }

    pub(crate) fn take_pending(&mut self, id: u64) -> Option<(ObjId, usize, Option<u32>)> {
        self.pending.remove(&id)
    }

    /// Objects that the host side holds on to.
    pub(crate) fn roots(&self) -> impl Iterator<Item = ObjId> + '_ {
        self.pending
            .values()
            .map(|(promise, ..)| *promise)
            .chain(self.held.iter().copied())
    }
}
