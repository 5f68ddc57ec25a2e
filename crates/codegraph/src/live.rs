//! A folder that is watched: its graph follows what is saved, and no question is answered from a stale one.

use std::path::{Path, PathBuf};
use std::time::Instant;

use thiserror::Error;

use crate::analysis::history::History;
use crate::engine::{Changes, Engine, EngineError};
use crate::filter::Filter;
use crate::query::{self, Answer, Context, QueryError};
use crate::watch::{Debounce, Waker, WatchError, Watcher};

/// A folder that can't be kept up to date.
#[derive(Debug, Error)]
pub enum LiveError {
    /// The folder can't be opened or read.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The folder can't be watched.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The question has no answer.
    #[error(transparent)]
    Query(#[from] QueryError),
}

/// An open folder with its watcher.
pub struct LiveGraph {
    engine: Engine,
    watcher: Watcher,
}

impl LiveGraph {
    /// Builds a folder's graph and watches it; what happened in between is looked at again.
    ///
    /// # Errors
    /// Where the folder can't be read or watched.
    pub fn open(
        root: &Path,
        filter: Filter,
        cache_file: Option<PathBuf>,
        debounce: Debounce,
    ) -> Result<Self, LiveError> {
        let root = root
            .canonicalize()
            .map_err(|_| EngineError::Root(root.to_owned()))?;
        let watcher = Watcher::new(&root, debounce)?;
        let mut live = Self {
            engine: Engine::open(&root, filter, cache_file)?,
            watcher,
        };
        live.follow()?;
        Ok(live)
    }

    /// Watches new directories, and looks again at what happened before they were watched, until there is none.
    fn follow(&mut self) -> Result<Changes, LiveError> {
        let mut all = Changes::default();
        while self.watcher.follow(self.engine.directories()) {
            let changes = self.engine.refresh()?;
            all.added.extend(changes.added);
            all.changed.extend(changes.changed);
            all.removed.extend(changes.removed);
        }
        Ok(all)
    }

    /// What ends [`LiveGraph::next_changes`] from another thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        self.watcher.waker()
    }

    /// Waits for the next batch of changes and takes it in; `None` once `until` has passed without one, or when a
    /// [`Waker`] ended the wait.
    ///
    /// # Errors
    /// Where the root is gone; the graph then stays as it was.
    pub fn next_changes(&mut self, until: Instant) -> Result<Option<Changes>, LiveError> {
        while let Some(paths) = self.watcher.next_batch(until) {
            let changes = self.take_in(&paths)?;
            if !changes.is_empty() {
                return Ok(Some(changes));
            }
        }
        Ok(None)
    }

    fn take_in(&mut self, paths: &[PathBuf]) -> Result<Changes, LiveError> {
        let mut changes = self.engine.refresh_paths(paths)?;
        let more = self.follow()?;
        changes.added.extend(more.added);
        changes.changed.extend(more.changed);
        changes.removed.extend(more.removed);
        Ok(changes)
    }

    /// Answers a question, after everything that the watcher knows was taken in.
    ///
    /// # Errors
    /// As [`query::ask`] and [`LiveGraph::next_changes`].
    pub fn ask(&mut self, question: &str, history: Option<&History>) -> Result<Answer, LiveError> {
        let paths = self.watcher.flush();
        if !paths.is_empty() {
            self.take_in(&paths)?;
        }
        let context = Context {
            history,
            ..Context::new(self.engine.graph())
        };
        Ok(query::ask(&context, question)?)
    }

    /// The folder and its graph.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The folder, for writing its snapshot.
    pub fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }
}
