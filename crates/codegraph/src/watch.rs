//! Watches a folder and gathers what changed into batches.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use thiserror::Error;

/// A folder that can't be watched.
#[derive(Debug, Error)]
#[error("cannot watch the folder: {0}")]
pub struct WatchError(#[from] notify::Error);

/// When a batch is handed out: after a pause, or at the latest after so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debounce {
    /// The pause after the last change.
    pub pause: Duration,
    /// The longest wait after the first change.
    pub at_most: Duration,
}

impl Default for Debounce {
    fn default() -> Self {
        Self {
            pause: Duration::from_secs(2),
            at_most: Duration::from_secs(10),
        }
    }
}

/// The changes gathered so far, and when they are due.
#[derive(Debug, Default)]
struct Batch {
    paths: BTreeSet<PathBuf>,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Batch {
    fn add(&mut self, path: PathBuf, now: Instant) {
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.paths.insert(path);
    }

    /// When the batch is due; `None` while it is empty.
    fn due(&self, debounce: Debounce) -> Option<Instant> {
        Some((self.last? + debounce.pause).min(self.first? + debounce.at_most))
    }
}

/// What reaches a watcher.
enum Touched {
    Path(PathBuf),
    Wake,
}

/// Ends the wait of a [`Watcher`] for its next batch.
#[derive(Clone)]
pub struct Waker(Sender<Touched>);

impl Waker {
    /// Ends the wait that runs, or the next one. Does nothing once the watcher is gone.
    pub fn wake(&self) {
        drop(self.0.send(Touched::Wake));
    }
}

/// A watched folder.
///
/// Where the system watches directory by directory, only those that belong to the graph are watched, so that
/// `node_modules` costs nothing; [`Watcher::follow`] adds those that came since.
pub struct Watcher {
    watcher: RecommendedWatcher,
    events: Receiver<Touched>,
    sender: Sender<Touched>,
    debounce: Debounce,
    root: PathBuf,
    watched: BTreeSet<String>,
    batch: Batch,
}

impl Watcher {
    /// Starts to watch a folder.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn new(root: &Path, debounce: Debounce) -> Result<Self, WatchError> {
        let (sender, events) = channel();
        let own_sender = sender.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            if !event.kind.is_access() {
                // The other end is gone only when the watcher is being dropped.
                let touched = event.paths.into_iter().map(Touched::Path);
                touched.for_each(|path| drop(sender.send(path)));
            }
        })?;
        let mut this = Self {
            watcher,
            events,
            sender: own_sender,
            debounce,
            root: root.to_owned(),
            watched: BTreeSet::new(),
            batch: Batch::default(),
        };
        if !cfg!(target_os = "linux") {
            this.watcher.watch(root, RecursiveMode::Recursive)?;
        }
        Ok(this)
    }

    /// Watches exactly these directories: new ones are added, those that are gone are dropped. Says whether any was
    /// added: something may have happened in it before it was watched.
    pub fn follow(&mut self, directories: &BTreeSet<String>) -> bool {
        if !cfg!(target_os = "linux") {
            return false;
        }
        for gone in self.watched.difference(directories) {
            // The system drops the watch of a directory that was deleted by itself.
            drop(self.watcher.unwatch(&self.root.join(gone)));
        }
        self.watched
            .retain(|directory| directories.contains(directory));
        let mut has_new = false;
        for directory in directories {
            if !self.watched.contains(directory)
                && self
                    .watcher
                    .watch(&self.root.join(directory), RecursiveMode::NonRecursive)
                    .is_ok()
            {
                has_new = true;
                self.watched.insert(directory.clone());
            }
        }
        has_new
    }

    /// What ends a wait for a batch from another thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker(self.sender.clone())
    }

    /// Waits for the next batch of changed paths; `None` once `until` has passed without one, or when a [`Waker`] ended
    /// the wait.
    pub fn next_batch(&mut self, until: Instant) -> Option<Vec<PathBuf>> {
        loop {
            let due = self.batch.due(self.debounce);
            let wait = due
                .unwrap_or(until)
                .min(until)
                .saturating_duration_since(Instant::now());
            match self.events.recv_timeout(wait) {
                Ok(Touched::Path(path)) => self.batch.add(path, Instant::now()),
                Ok(Touched::Wake) => return None,
                Err(RecvTimeoutError::Timeout) if due.is_some_and(|due| due <= Instant::now()) => {
                    return Some(std::mem::take(&mut self.batch).paths.into_iter().collect());
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
                Err(_) => return None,
            }
        }
    }

    /// Whether changes are known that no batch has handed out yet: the graph may be stale.
    pub fn is_stale(&mut self) -> bool {
        while let Ok(touched) = self.events.try_recv() {
            if let Touched::Path(path) = touched {
                self.batch.add(path, Instant::now());
            }
        }
        !self.batch.paths.is_empty()
    }

    /// Hands out at once what was gathered, for a question that can't wait.
    pub fn flush(&mut self) -> Vec<PathBuf> {
        self.is_stale();
        std::mem::take(&mut self.batch).paths.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_ended_from_elsewhere_and_changes_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut watcher = Watcher::new(folder.path(), Debounce::default()).unwrap();
        let waker = watcher.waker();
        watcher.batch.add("a".into(), Instant::now());
        let waiting = std::thread::spawn(move || {
            let batch = watcher.next_batch(Instant::now() + Duration::from_secs(600));
            (batch, watcher.flush())
        });
        waker.wake();
        assert_eq!(waiting.join().unwrap(), (None, vec![PathBuf::from("a")]));
    }

    #[test]
    fn a_batch_is_due_after_a_pause_and_never_later_than_its_longest_wait() {
        let debounce = Debounce::default();
        let start = Instant::now();
        let mut batch = Batch::default();
        assert_eq!(batch.due(debounce), None);
        batch.add("a".into(), start);
        assert_eq!(batch.due(debounce), Some(start + Duration::from_secs(2)));
        for second in 1..20 {
            batch.add("b".into(), start + Duration::from_secs(second));
        }
        assert_eq!(batch.due(debounce), Some(start + Duration::from_secs(10)));
    }
}
