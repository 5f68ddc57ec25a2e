//! The way of events from the host to one client: bounded, coalescing, and waking the client at most once
//! per batch.
//!
//! Deltas of one message that wait together become one event. When a client is so far behind that the box
//! is full, everything waiting is dropped for a single [`Event::Resync`], after which the client asks for a
//! fresh snapshot: state is never guessed from a gap.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::Event;

/// Events that may wait for one client before it is told to resynchronise.
const CAPACITY: usize = 4096;
/// Bytes of text that may wait for one client.
const CAPACITY_BYTES: usize = 16 << 20;

type Waker = Box<dyn Fn() + Send + Sync>;

/// The client's end.
pub struct Events {
    shared: Arc<Shared>,
}

/// The host's end. Sending fails once the client has gone.
#[derive(Clone)]
pub(crate) struct Postman {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
    waker: Waker,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    bytes: usize,
    client_gone: bool,
    host_gone: bool,
}

/// A mailbox whose `waker` is called when something arrives in the empty box.
pub(crate) fn mailbox(waker: impl Fn() + Send + Sync + 'static) -> (Postman, Events) {
    let shared = Arc::new(Shared {
        queue: Mutex::new(Queue::default()),
        arrived: Condvar::new(),
        waker: Box::new(waker),
    });
    (
        Postman {
            shared: Arc::clone(&shared),
        },
        Events { shared },
    )
}

impl Shared {
    // A panic while the lock is held leaves a usable queue, so poisoning is no reason to fail.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Postman {
    /// Delivers an event; returns whether the client is still there.
    pub(crate) fn send(&self, event: Event) -> bool {
        let was_empty = {
            let mut queue = self.shared.lock();
            if queue.client_gone {
                return false;
            }
            let was_empty = queue.events.is_empty();
            queue.push(event);
            was_empty
        };
        self.shared.arrived.notify_one();
        if was_empty {
            (self.shared.waker)();
        }
        true
    }
}

impl Drop for Postman {
    fn drop(&mut self) {
        // The other strong references are the client's and those of clones.
        if Arc::strong_count(&self.shared) <= 2 {
            self.shared.lock().host_gone = true;
            self.shared.arrived.notify_all();
        }
    }
}

impl Queue {
    fn push(&mut self, event: Event) {
        let size = event.text_len();
        if let (Some(last), Event::Delta(new)) = (self.events.back_mut(), &event)
            && let Event::Delta(waiting) = last
            && waiting.message == new.message
            && waiting.thread == new.thread
            && waiting.channel == new.channel
            && waiting.generation == new.generation
        {
            waiting.text.push_str(&new.text);
            self.bytes += size;
        } else {
            self.bytes += size;
            self.events.push_back(event);
        }
        if self.events.len() > CAPACITY || self.bytes > CAPACITY_BYTES {
            self.events.clear();
            self.events.push_back(Event::Resync);
            self.bytes = 0;
        }
    }
}

impl Events {
    /// Takes everything that waits, at most `limit` events, without waiting.
    pub fn drain(&self, limit: usize) -> Vec<Event> {
        let mut queue = self.shared.lock();
        let count = queue.events.len().min(limit);
        let taken: Vec<Event> = queue.events.drain(..count).collect();
        queue.bytes = queue
            .bytes
            .saturating_sub(taken.iter().map(Event::text_len).sum());
        taken
    }

    /// Whether something waits.
    pub fn is_empty(&self) -> bool {
        self.shared.lock().events.is_empty()
    }

    /// Waits for the next event. `None` when the time is up or the host has ended.
    pub fn recv_timeout(&self, timeout: Duration) -> Option<Event> {
        let deadline = Instant::now() + timeout;
        let mut queue = self.shared.lock();
        loop {
            if let Some(event) = queue.events.pop_front() {
                queue.bytes = queue.bytes.saturating_sub(event.text_len());
                return Some(event);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if queue.host_gone || left.is_zero() {
                return None;
            }
            queue = self
                .shared
                .arrived
                .wait_timeout(queue, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.client_gone = true;
        queue.events.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::{Channel, Delta};

    fn delta(message: &str, text: &str) -> Event {
        Event::Delta(Delta {
            thread: "t".into(),
            message: message.into(),
            generation: 1,
            channel: Channel::Reply,
            text: text.into(),
        })
    }

    #[test]
    fn waiting_deltas_of_one_message_become_one_and_wake_once() {
        let wakes = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&wakes);
        let (postman, events) = mailbox(move || {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        for text in ["a", "b", "c"] {
            assert!(postman.send(delta("m", text)));
        }
        postman.send(delta("n", "x"));
        assert_eq!(wakes.load(Ordering::SeqCst), 1);
        let texts: Vec<String> = events
            .drain(10)
            .into_iter()
            .map(|e| match e {
                Event::Delta(d) => d.text,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(texts, ["abc", "x"]);
        postman.send(delta("m", "d"));
        assert_eq!(wakes.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_client_that_never_reads_is_told_to_resync_and_costs_bounded_memory() {
        let (postman, events) = mailbox(|| {});
        for i in 0..3 * CAPACITY {
            postman.send(delta(&format!("m{}", i % 2), "text"));
        }
        let waiting = events.drain(usize::MAX);
        assert!(waiting.len() <= CAPACITY);
        assert!(matches!(waiting[0], Event::Resync));
    }

    #[test]
    fn each_end_learns_that_the_other_has_gone() {
        let (postman, events) = mailbox(|| {});
        let other = postman.clone();
        drop(postman);
        other.send(delta("m", "x"));
        drop(other);
        assert!(events.recv_timeout(Duration::from_secs(60)).is_some());
        assert!(events.recv_timeout(Duration::from_secs(60)).is_none());
        let (postman, events) = mailbox(|| {});
        drop(events);
        assert!(!postman.send(delta("m", "x")));
    }
}
