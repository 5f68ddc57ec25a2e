//! Finding lines by a pattern: ripgrep's engine, in process and bounded.
//!
//! The pattern is data: nothing of it is ever an option. The engine has no backtracking, its programs are bounded in
//! size, it is fed in small pieces between which the deadline is asked for, and the call returns at the deadline even
//! if a piece takes longer.

use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use globset::{GlobBuilder, GlobMatcher};
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::WalkState;
use serde::{Deserialize, Serialize};

use crate::overlay::OpenBuffers;
use crate::search::{CutShort, Deadline, SearchLimits, StopToken, rel_path_of, walker};
use crate::workspace::Workspace;
use crate::{RelPath, WorkspaceError};

/// Bytes of a line that are returned, around the match.
const SHOWN_BYTES: usize = 240;
/// Memory of a compiled pattern.
const PATTERN_MEMORY: usize = 2 * 1024 * 1024;
/// Bytes that are searched between two looks at the clock.
const PIECE: usize = 64 * 1024;

/// What to look for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrepRequest {
    /// A regular expression; one that isn't valid is taken literally.
    pub pattern: String,
    /// The folder or file that is searched.
    #[serde(default)]
    pub subdir: Option<String>,
    /// Only files whose name, or path if it has a `/`, matches this glob.
    #[serde(default)]
    pub glob: Option<String>,
    /// Tell letters' cases apart; not unless asked.
    #[serde(default)]
    pub case_sensitive: bool,
    /// Take the pattern literally.
    #[serde(default)]
    pub literal: bool,
    /// Also what Git ignores.
    #[serde(default)]
    pub include_ignored: bool,
}

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct GrepMatch {
    /// The file.
    pub path: RelPath,
    /// The line, from 1.
    pub line: u64,
    /// Where in the line the match begins, in characters from 1.
    pub column: u64,
    /// The line, or the part of it around the match.
    pub text: String,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GrepResult {
    /// By path and line.
    pub matches: Vec<GrepMatch>,
    /// How many lines match, as far as was searched.
    pub total: usize,
    /// Whether there may be more.
    pub truncated: bool,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_short_by: Option<CutShort>,
    /// Whether the pattern was taken literally.
    pub literal: bool,
    /// Files that were searched.
    pub files: usize,
    /// Files that were passed over because they are too large.
    pub too_large: usize,
    /// How long it took.
    pub elapsed_ms: u64,
}

/// What the threads of a search share.
struct Shared {
    matcher: RegexMatcher,
    glob: Option<(GlobMatcher, bool)>,
    deadline: Deadline,
    limits: SearchLimits,
    buffers: Vec<(RelPath, String)>,
    files: AtomicUsize,
    too_large: AtomicUsize,
    total: AtomicUsize,
    found: Mutex<Vec<GrepMatch>>,
}

impl Workspace {
    /// Finds lines.
    ///
    /// # Errors
    /// The pattern is too large, the glob or the folder makes no sense or is refused, or the search was stopped.
    pub fn grep(
        self: &Arc<Self>,
        request: &GrepRequest,
        limits: &SearchLimits,
        stop: &StopToken,
    ) -> Result<GrepResult, WorkspaceError> {
        let deadline = Deadline::new(limits.time, stop);
        let (matcher, literal) = matcher_of(request)?;
        let shared = Arc::new(Shared {
            matcher,
            glob: glob_of(request)?,
            deadline: deadline.clone(),
            limits: *limits,
            buffers: open_texts(self.buffers()),
            files: AtomicUsize::new(0),
            too_large: AtomicUsize::new(0),
            total: AtomicUsize::new(0),
            found: Mutex::default(),
        });
        let scope = self.scope(request.subdir.as_deref())?;
        let secrets = Arc::new(self.secrets().clone());
        let (done, finished) = sync_channel(1);
        let (theirs, workspace) = (Arc::clone(&shared), Arc::clone(self));
        let include_ignored = request.include_ignored;
        std::thread::spawn(move || {
            for (start, at) in &scope.starts {
                let walk = walker(start, at, include_ignored, &secrets);
                search_below(&workspace, &theirs, &walk, start, at);
            }
            // Nobody listens any more after the deadline.
            let _ = done.send(());
        });
        let timed_out = matches!(
            finished.recv_timeout(deadline.left()),
            Err(RecvTimeoutError::Timeout)
        );
        let late = timed_out || deadline.left().is_zero();
        deadline.end();
        deadline.refuse_stopped("search in files")?;
        Ok(shared.result(late, literal))
    }
}

impl Shared {
    fn result(&self, late: bool, literal: bool) -> GrepResult {
        let mut matches =
            std::mem::take(&mut *self.found.lock().unwrap_or_else(PoisonError::into_inner));
        matches.sort_unstable();
        matches.truncate(self.limits.matches);
        let total = self.total.load(Ordering::Relaxed).max(matches.len());
        let files = self.files.load(Ordering::Relaxed);
        let cut_short_by = if late {
            Some(CutShort::Time)
        } else if total > matches.len() {
            Some(CutShort::Matches)
        } else {
            (files > self.limits.files).then_some(CutShort::Files)
        };
        GrepResult {
            matches,
            total,
            truncated: cut_short_by.is_some(),
            cut_short_by,
            literal,
            files: files.min(self.limits.files),
            too_large: self.too_large.load(Ordering::Relaxed),
            elapsed_ms: self.deadline.millis(),
        }
    }

    fn wants(&self, path: &RelPath) -> bool {
        match &self.glob {
            None => true,
            Some((glob, true)) => glob.is_match(path.as_str()),
            Some((glob, false)) => glob.is_match(path.name().unwrap_or_default()),
        }
    }

    /// Enough for any order in which files are met: a search that has ten times as many matches as it may return
    /// stops.
    fn is_full(&self) -> bool {
        self.total.load(Ordering::Relaxed) > self.limits.matches.saturating_mul(10)
    }
}

fn open_texts(buffers: &dyn OpenBuffers) -> Vec<(RelPath, String)> {
    let paths = buffers.open_paths().into_iter();
    paths
        .filter_map(|path| buffers.buffer(&path).map(|buffer| (path, buffer.text)))
        .collect()
}

fn matcher_of(request: &GrepRequest) -> Result<(RegexMatcher, bool), WorkspaceError> {
    let shown: String = request.pattern.chars().take(80).collect();
    if request.pattern.is_empty() || request.pattern.len() > 10_000 {
        let why = "give a pattern, of at most 10000 bytes";
        return Err(WorkspaceError::input(why, shown));
    }
    let build = |literal: bool| {
        RegexMatcherBuilder::new()
            .case_insensitive(!request.case_sensitive)
            .fixed_strings(literal)
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .size_limit(PATTERN_MEMORY)
            .dfa_size_limit(4 * PATTERN_MEMORY)
            .nest_limit(100)
            .build(&request.pattern)
    };
    if request.literal {
        let matcher =
            build(true).map_err(|error| WorkspaceError::input(error.to_string(), shown))?;
        return Ok((matcher, true));
    }
    match build(false) {
        Ok(matcher) => Ok((matcher, false)),
        // A pattern that is valid but explodes must not turn into a search for its own letters.
        Err(error) if error.to_string().contains("size limit") => {
            let why = "the pattern needs more memory than a search may use; make it simpler";
            Err(WorkspaceError::input(why, shown))
        }
        Err(_) => match build(true) {
            Ok(matcher) => Ok((matcher, true)),
            Err(error) => Err(WorkspaceError::input(error.to_string(), shown)),
        },
    }
}

fn glob_of(request: &GrepRequest) -> Result<Option<(GlobMatcher, bool)>, WorkspaceError> {
    let Some(glob) = request.glob.as_deref().filter(|glob| !glob.is_empty()) else {
        return Ok(None);
    };
    let built = GlobBuilder::new(glob).literal_separator(true).build();
    let built =
        built.map_err(|error| WorkspaceError::input(format!("not a glob, {error}"), glob))?;
    Ok(Some((built.compile_matcher(), glob.contains('/'))))
}

fn search_below(
    workspace: &Arc<Workspace>,
    shared: &Arc<Shared>,
    walk: &ignore::WalkBuilder,
    start: &Path,
    at: &RelPath,
) {
    walk.build_parallel().run(|| {
        let (workspace, shared) = (Arc::clone(workspace), Arc::clone(shared));
        let mut searcher = SearcherBuilder::new()
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .build();
        Box::new(move |entry| {
            if shared.deadline.is_over() || shared.is_full() {
                return WalkState::Quit;
            }
            let Ok(entry) = entry else {
                return WalkState::Continue;
            };
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                return WalkState::Continue;
            }
            let Some(path) = rel_path_of(&entry, start, at).filter(|path| shared.wants(path))
            else {
                return WalkState::Continue;
            };
            if shared.files.fetch_add(1, Ordering::Relaxed) >= shared.limits.files {
                return WalkState::Quit;
            }
            search_one(&workspace, &shared, &mut searcher, &path);
            WalkState::Continue
        })
    });
}

fn search_one(workspace: &Workspace, shared: &Shared, searcher: &mut Searcher, path: &RelPath) {
    let mut found = Lines {
        shared,
        path,
        matches: Vec::new(),
    };
    let searched = match shared.buffers.iter().find(|(open, _)| open == path) {
        Some((_, text)) => searcher.search_reader(&shared.matcher, text.as_bytes(), &mut found),
        None => {
            let Ok(Some((_, root, inside))) = workspace.split(path) else {
                return;
            };
            let Ok(file) = root.open_plain(&inside) else {
                return;
            };
            if !file
                .metadata()
                .is_ok_and(|about| about.len() <= shared.limits.file_bytes)
            {
                shared.too_large.fetch_add(1, Ordering::Relaxed);
                return;
            }
            let reader = InPieces {
                file,
                deadline: &shared.deadline,
            };
            searcher.search_reader(&shared.matcher, reader, &mut found)
        }
    };
    if let Err(error) = searched {
        log::debug!("search ended early: {error}: {path}");
    }
    if !found.matches.is_empty() {
        let mut all = shared.found.lock().unwrap_or_else(PoisonError::into_inner);
        all.append(&mut found.matches);
    }
}

/// A file that is read in small pieces, and ends with an error when the time is over.
struct InPieces<'a> {
    file: std::fs::File,
    deadline: &'a Deadline,
}

impl Read for InPieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.deadline.is_over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let length = buffer.len().min(PIECE);
        self.file.read(&mut buffer[..length])
    }
}

/// Collects the lines of one file.
struct Lines<'a> {
    shared: &'a Shared,
    path: &'a RelPath,
    matches: Vec<GrepMatch>,
}

impl Sink for &mut Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, line: &SinkMatch<'_>) -> io::Result<bool> {
        self.shared.total.fetch_add(1, Ordering::Relaxed);
        if self.matches.len() < self.shared.limits.matches {
            let bytes = line.bytes();
            let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
            let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
            let at = self
                .shared
                .matcher
                .find(bytes)
                .ok()
                .flatten()
                .map_or(0, |found| found.start());
            let column = String::from_utf8_lossy(&bytes[..at]).chars().count() as u64 + 1;
            self.matches.push(GrepMatch {
                path: self.path.clone(),
                line: line.line_number().unwrap_or(0),
                column,
                text: shown_part(bytes, at),
            });
        }
        Ok(!self.shared.deadline.is_over() && !self.shared.is_full())
    }
}

/// The line, or what is around the match if it is long.
fn shown_part(line: &[u8], at: usize) -> String {
    if line.len() <= SHOWN_BYTES {
        return String::from_utf8_lossy(line).into_owned();
    }
    let from = at
        .saturating_sub(SHOWN_BYTES / 3)
        .min(line.len() - SHOWN_BYTES);
    let part = &line[from..from + SHOWN_BYTES];
    let part = String::from_utf8_lossy(part);
    let part = part.trim_matches(char::REPLACEMENT_CHARACTER);
    let (before, after) = (from > 0, from + SHOWN_BYTES < line.len());
    format!(
        "{}{part}{}",
        if before { "…" } else { "" },
        if after { "…" } else { "" }
    )
}
