//! What every search over the tree has in common: bounds, a deadline, a way to stop, and the walk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ignore::{DirEntry, WalkBuilder};
use serde::Serialize;

use crate::folders::is_never_shown;
use crate::root::{Follow, Found};
use crate::workspace::{Access, Workspace};
use crate::{RelPath, SecretPolicy, WorkspaceError};

/// Bounds of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchLimits {
    /// Matches returned.
    pub matches: usize,
    /// Files looked into.
    pub files: usize,
    /// Bytes of a file; larger ones are passed over and counted.
    pub file_bytes: u64,
    /// After this long the search returns what it has.
    pub time: Duration,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self {
            matches: 200,
            files: 200_000,
            file_bytes: 10 * 1024 * 1024,
            time: Duration::from_secs(10),
        }
    }
}

/// Why a search returned less than there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CutShort {
    /// The bound on matches.
    Matches,
    /// The bound on files.
    Files,
    /// The deadline.
    Time,
}

/// Set by the caller to stop a search or a command: one token from the Stop button to the innermost loop.
#[derive(Clone, Debug, Default)]
pub struct StopToken(Arc<AtomicBool>);

impl StopToken {
    /// Stops whatever has this token.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The flag itself, for those who know no token.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The part of the tree that is searched.
pub(crate) struct Scope {
    /// Where the walk begins, and under which path that appears.
    pub(crate) starts: Vec<(std::path::PathBuf, RelPath)>,
}

impl Workspace {
    /// The folder or file below which is searched; everything unless given.
    pub(crate) fn scope(&self, subdir: Option<&str>) -> Result<Scope, WorkspaceError> {
        let given = RelPath::parse(subdir.unwrap_or_default())?;
        if given.is_root() {
            let roots = self.roots();
            let starts = roots
                .map(|(path, root)| (root.real().to_owned(), path))
                .collect();
            return Ok(Scope { starts });
        }
        let located = self.locate_existing(given.as_str(), Access::Read, Follow::Whole)?;
        if !matches!(located.place.found, Found::Folder | Found::File(_)) {
            return Err(WorkspaceError::input("not a folder", given.to_string()));
        }
        let start = located.root.real().join(located.place.real.as_str());
        Ok(Scope {
            starts: vec![(start, located.real)],
        })
    }
}

/// A walk from one start: hidden files are seen, what Git ignores only on demand, secrets and Git's own files never.
pub(crate) fn walker(
    start: &Path,
    at: &RelPath,
    include_ignored: bool,
    secrets: &Arc<SecretPolicy>,
) -> WalkBuilder {
    let mut builder = WalkBuilder::new(start);
    let (top, at, secrets) = (start.to_owned(), at.clone(), Arc::clone(secrets));
    builder
        .standard_filters(false)
        .hidden(false)
        .follow_links(false)
        .parents(!include_ignored)
        .ignore(!include_ignored)
        .git_ignore(!include_ignored)
        .git_exclude(!include_ignored)
        .require_git(false)
        .filter_entry(move |entry| {
            let Some(name) = entry.file_name().to_str() else {
                return entry.depth() == 0;
            };
            entry.depth() == 0
                || (!is_never_shown(name)
                    && rel_path_of(entry, &top, &at).is_some_and(|path| !secrets.hides_last(&path)))
        });
    builder
}

/// The path under which a walked entry appears; none if a name isn't UTF-8.
pub(crate) fn rel_path_of(entry: &DirEntry, top: &Path, at: &RelPath) -> Option<RelPath> {
    let below = entry.path().as_os_str().as_encoded_bytes();
    let below = below.get(top.as_os_str().len()..)?;
    let below = std::str::from_utf8(below).ok()?;
    Some(at.below(below.trim_start_matches('/')))
}

/// When to stop, and whether it is time.
#[derive(Clone, Debug)]
pub(crate) struct Deadline {
    pub(crate) started: Instant,
    ends: Instant,
    stop: StopToken,
    /// Set when the caller no longer listens.
    pub(crate) over: Arc<AtomicBool>,
}

impl Deadline {
    pub(crate) fn new(time: Duration, stop: &StopToken) -> Self {
        let started = Instant::now();
        Self {
            started,
            ends: started + time,
            stop: stop.clone(),
            over: Arc::default(),
        }
    }

    pub(crate) fn left(&self) -> Duration {
        self.ends.saturating_duration_since(Instant::now())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.stop.is_stopped() || self.left().is_zero()
    }

    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn millis(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn refuse_stopped(&self, what: &str) -> Result<(), WorkspaceError> {
        if self.stop.is_stopped() {
            return Err(WorkspaceError::Cancelled { what: what.into() });
        }
        Ok(())
    }
}
