//! Finding files and folders by name.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{WalkBuilder, WalkState};
use serde::{Deserialize, Serialize};

use crate::search::{CutShort, Deadline, Scope, SearchLimits, StopToken, rel_path_of, walker};
use crate::workspace::Workspace;
use crate::{EntryKind, RelPath, WorkspaceError};

/// What to look for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FindRequest {
    /// Part of a name, in either case; with `*`, `?` or `[` a glob over the name, or over the path if it has a `/`.
    pub pattern: String,
    /// The folder below which is searched.
    #[serde(default)]
    pub subdir: Option<String>,
    /// Also what Git ignores.
    #[serde(default)]
    pub include_ignored: bool,
}

/// A file or folder that was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FoundPath {
    /// Its path.
    pub path: RelPath,
    /// What it is.
    pub kind: EntryKind,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FindResult {
    /// By path.
    pub matches: Vec<FoundPath>,
    /// How many there are, as far as was searched.
    pub total: usize,
    /// Whether there may be more.
    pub truncated: bool,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_short_by: Option<CutShort>,
    /// How long it took.
    pub elapsed_ms: u64,
}

/// How names are compared.
enum Wanted {
    Part(String),
    Name(GlobMatcher),
    Path(GlobMatcher),
}

impl Wanted {
    fn of(pattern: &str) -> Result<Self, WorkspaceError> {
        if pattern.trim().is_empty() || pattern.len() > 1_000 {
            let why = "give a part of a name, of at most 1000 bytes";
            return Err(WorkspaceError::input(
                why,
                pattern.chars().take(80).collect::<String>(),
            ));
        }
        if !pattern.contains(['*', '?', '[']) {
            return Ok(Self::Part(pattern.to_lowercase()));
        }
        let glob = GlobBuilder::new(pattern)
            .case_insensitive(true)
            .literal_separator(true)
            .build();
        let glob =
            glob.map_err(|error| WorkspaceError::input(format!("not a glob, {error}"), pattern))?;
        let matcher = glob.compile_matcher();
        Ok(if pattern.contains('/') {
            Self::Path(matcher)
        } else {
            Self::Name(matcher)
        })
    }

    /// By the name alone, before the path is put together.
    fn may_match(&self, name: &str) -> bool {
        match self {
            Self::Part(part) if part.contains('/') => true,
            Self::Part(part) => contains_in_lower_case(name, part),
            Self::Name(glob) => glob.is_match(name),
            Self::Path(_) => true,
        }
    }

    fn matches(&self, path: &RelPath) -> bool {
        let name = path.name().unwrap_or_default();
        match self {
            Self::Part(part) if part.contains('/') => contains_in_lower_case(path.as_str(), part),
            Self::Part(part) => contains_in_lower_case(name, part),
            Self::Name(glob) => glob.is_match(name),
            Self::Path(glob) => glob.is_match(path.as_str()),
        }
    }
}

fn contains_in_lower_case(text: &str, part: &str) -> bool {
    if text.is_ascii() && part.is_ascii() {
        let (text, part) = (text.as_bytes(), part.as_bytes());
        return text
            .windows(part.len())
            .any(|window| window.eq_ignore_ascii_case(part));
    }
    text.to_lowercase().contains(part)
}

/// What the threads of a walk share.
struct Shared {
    wanted: Wanted,
    deadline: Deadline,
    files: AtomicUsize,
    most_files: usize,
    found: Mutex<Vec<FoundPath>>,
}

impl Workspace {
    /// Finds files and folders by name.
    ///
    /// # Errors
    /// The pattern or the folder makes no sense or is refused, or the search was stopped.
    pub fn search_files(
        &self,
        request: &FindRequest,
        limits: &SearchLimits,
        stop: &StopToken,
    ) -> Result<FindResult, WorkspaceError> {
        let shared = Arc::new(Shared {
            wanted: Wanted::of(&request.pattern)?,
            deadline: Deadline::new(limits.time, stop),
            files: AtomicUsize::new(0),
            most_files: limits.files,
            found: Mutex::default(),
        });
        let Scope { starts } = self.scope(request.subdir.as_deref())?;
        let secrets = Arc::new(self.secrets().clone());
        // The walk may hang in the file system; then the caller still returns in time.
        let (done, finished) = sync_channel(1);
        let theirs = Arc::clone(&shared);
        let include_ignored = request.include_ignored;
        std::thread::spawn(move || {
            for (start, at) in &starts {
                walk(
                    &theirs,
                    &walker(start, at, include_ignored, &secrets),
                    start,
                    at,
                );
            }
            finish(&done);
        });
        let timed_out = matches!(
            finished.recv_timeout(shared.deadline.left()),
            Err(RecvTimeoutError::Timeout)
        );
        let late = timed_out || shared.deadline.left().is_zero();
        shared.deadline.end();
        shared.deadline.refuse_stopped("search for files")?;
        let mut matches =
            std::mem::take(&mut *shared.found.lock().unwrap_or_else(PoisonError::into_inner));
        matches.sort_unstable();
        let total = matches.len();
        matches.truncate(limits.matches);
        let cut_short_by = if late {
            Some(CutShort::Time)
        } else if shared.files.load(Ordering::Relaxed) > limits.files {
            Some(CutShort::Files)
        } else {
            (total > matches.len()).then_some(CutShort::Matches)
        };
        Ok(FindResult {
            matches,
            total,
            truncated: cut_short_by.is_some(),
            cut_short_by,
            elapsed_ms: shared.deadline.millis(),
        })
    }
}

fn finish(done: &SyncSender<()>) {
    // Nobody listens any more after the deadline.
    let _ = done.send(());
}

fn walk(shared: &Arc<Shared>, builder: &WalkBuilder, start: &std::path::Path, at: &RelPath) {
    builder.build_parallel().run(|| {
        let shared = Arc::clone(shared);
        Box::new(move |entry| {
            let Ok(entry) = entry else {
                return WalkState::Continue;
            };
            let seen = shared.files.fetch_add(1, Ordering::Relaxed);
            if seen > shared.most_files || shared.deadline.is_over() {
                return WalkState::Quit;
            }
            if entry.depth() > 0
                && shared
                    .wanted
                    .may_match(&entry.file_name().to_string_lossy())
                && let Some(path) = rel_path_of(&entry, start, at)
                && shared.wanted.matches(&path)
            {
                let kind = match entry.file_type() {
                    Some(kind) if kind.is_dir() => EntryKind::Folder,
                    Some(kind) if kind.is_symlink() => EntryKind::Link,
                    Some(kind) if kind.is_file() => EntryKind::File,
                    _ => EntryKind::Other,
                };
                let mut found = shared.found.lock().unwrap_or_else(PoisonError::into_inner);
                found.push(FoundPath { path, kind });
            }
            WalkState::Continue
        })
    });
}
