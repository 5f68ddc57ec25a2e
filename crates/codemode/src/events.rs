//! What a run tells while it goes on: calls as they start and settle, progress of tools, log lines.
//!
//! A run never waits for its reader. The channel holds a bounded number of events and bytes; what finds no room is
//! dropped and counted, and [`Event::Lost`] stands in its place once there is room again. The outcome of a run holds all
//! log lines and calls in any case.

use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Bytes of text that waiting events may hold together.
const BYTE_LIMIT: usize = 1 << 20;

/// One thing that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Event {
    /// A call was handed to the host.
    Started {
        /// Number of the call among the admitted ones.
        index: u64,
        /// Dotted path of the tool.
        name: String,
        /// The input.
        input: serde_json::Value,
        /// Number of the promise that the call returned.
        promise: u32,
        /// Number of the promise of the asynchronous function or handler that made the call; none for the program's
        /// own first turn.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent: Option<u32>,
    },
    /// A tool told how far it is.
    Progress {
        /// Number of the call.
        index: u64,
        /// What the tool told.
        value: serde_json::Value,
    },
    /// A call ended.
    Settled {
        /// Number of the call.
        index: u64,
        /// How.
        outcome: Settlement,
        /// Milliseconds since it started.
        duration_ms: f64,
    },
    /// The program logged a line.
    Log {
        /// The line.
        line: String,
    },
    /// Events that found no room.
    Lost {
        /// How many.
        count: u64,
    },
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Settlement {
    /// With a result.
    Succeeded,
    /// With an error whose text the program saw.
    Failed(String),
    /// Refused before it started; the reason.
    Denied(String),
    /// Cut off by the end of the run.
    Interrupted,
}

impl Event {
    fn bytes(&self) -> usize {
        match self {
            Event::Started { name, input, .. } => name.len() + size(input),
            Event::Progress { value, .. } => size(value),
            Event::Settled { outcome, .. } => match outcome {
                Settlement::Failed(text) | Settlement::Denied(text) => text.len(),
                Settlement::Succeeded | Settlement::Interrupted => 0,
            },
            Event::Log { line } => line.len(),
            Event::Lost { .. } => 0,
        }
    }
}

/// Bytes of the text in a JSON value, roughly.
fn size(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    match value {
        Value::String(s) => s.len(),
        Value::Array(items) => items.iter().map(|i| size(i) + 8).sum(),
        Value::Object(map) => map.iter().map(|(k, v)| k.len() + size(v) + 8).sum(),
        _ => 8,
    }
}

#[derive(Debug, Default)]
struct Waiting {
    queue: VecDeque<Event>,
    bytes: usize,
    lost: u64,
    senders: usize,
    /// The run is over, whatever its tools still tell.
    is_over: bool,
    is_read: bool,
}

#[derive(Debug)]
struct Shared {
    waiting: Mutex<Waiting>,
    notify: Notify,
    capacity: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The run's end of a channel of events.
#[derive(Debug)]
pub struct EventSender {
    shared: Arc<Shared>,
}

/// The reader's end of a channel of events.
#[derive(Debug)]
pub struct EventReceiver {
    shared: Arc<Shared>,
}

/// A channel for at most `capacity` waiting events (at least 2), holding at most a megabyte of text.
pub fn channel(capacity: usize) -> (EventSender, EventReceiver) {
    let shared = Arc::new(Shared {
        waiting: Mutex::new(Waiting {
            senders: 1,
            is_read: true,
            ..Waiting::default()
        }),
        notify: Notify::new(),
        capacity: capacity.max(2),
    });
    let sender = EventSender {
        shared: Arc::clone(&shared),
    };
    (sender, EventReceiver { shared })
}

impl EventSender {
    /// Hands an event to the reader, or counts it as lost.
    pub(crate) fn send(&self, event: Event) {
        let mut waiting = self.shared.lock();
        if !waiting.is_read || waiting.is_over {
            return;
        }
        let bytes = event.bytes();
        let needed = 1 + usize::from(waiting.lost > 0);
        if waiting.queue.len() + needed > self.shared.capacity || waiting.bytes + bytes > BYTE_LIMIT
        {
            waiting.lost += 1;
            return;
        }
        if waiting.lost > 0 {
            let count = std::mem::take(&mut waiting.lost);
            waiting.queue.push_back(Event::Lost { count });
        }
        waiting.bytes += bytes;
        waiting.queue.push_back(event);
        drop(waiting);
        self.shared.notify.notify_one();
    }
}

impl EventSender {
    /// Nothing more comes.
    pub(crate) fn close(&self) {
        self.shared.lock().is_over = true;
        self.shared.notify.notify_one();
    }
}

impl Clone for EventSender {
    fn clone(&self) -> EventSender {
        self.shared.lock().senders += 1;
        EventSender {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl Drop for EventSender {
    fn drop(&mut self) {
        self.shared.lock().senders -= 1;
        self.shared.notify.notify_one();
    }
}

impl EventReceiver {
    /// The next event that waits, if any does.
    pub fn try_next(&mut self) -> Option<Event> {
        let mut waiting = self.shared.lock();
        match waiting.queue.pop_front() {
            Some(event) => {
                waiting.bytes -= event.bytes();
                Some(event)
            }
            None if waiting.lost > 0 => {
                let count = std::mem::take(&mut waiting.lost);
                Some(Event::Lost { count })
            }
            None => None,
        }
    }

    /// The next event; none once the run is over and everything was read.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            let is_over = {
                let waiting = self.shared.lock();
                waiting.is_over || waiting.senders == 0
            };
            if is_over {
                return self.try_next();
            }
            self.shared.notify.notified().await;
        }
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        let mut waiting = self.shared.lock();
        waiting.is_read = false;
        waiting.queue.clear();
    }
}

/// How a tool tells how far it is.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    pub(crate) sender: Option<EventSender>,
    pub(crate) index: u64,
}

impl Progress {
    /// Tells the reader of the run's events; nobody listens, nothing happens.
    pub fn report(&self, value: serde_json::Value) {
        if let Some(sender) = &self.sender {
            sender.send(Event::Progress {
                index: self.index,
                value,
            });
        }
    }
}
