//! Watching the tree, so that after a command only what may have changed is looked at.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::history::History;
use crate::object_store::make_private;
use crate::tree_index::Suspects;
use crate::workspace::Workspace;
use crate::{RelPath, WorkspaceError};

/// More paths than this are not worth telling apart.
const MOST_SUSPECTS: usize = 5_000;
/// How long the watcher may lag behind before it is no longer trusted.
const PATIENCE: Duration = Duration::from_secs(2);

/// A watch over the folders of a workspace.
///
/// To know that everything before a moment has been told, a file is made at that moment in a folder that is watched
/// along; when its event has come, so have all before it.
#[derive(Debug)]
pub struct TreeWatch {
    /// Ends the watch when it is dropped.
    _watcher: RecommendedWatcher,
    told: Arc<Told>,
    cookies: PathBuf,
    count: u64,
}

#[derive(Debug, Default)]
struct Told {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    suspects: BTreeSet<RelPath>,
    lost: bool,
    cookie: Option<PathBuf>,
}

impl TreeWatch {
    /// Begins to watch.
    ///
    /// # Errors
    /// The system can't watch as many folders, or none at all; then everything must be looked at each time.
    pub fn start(workspace: &Workspace, history: &History) -> Result<Self, WorkspaceError> {
        let cookies = history.folder.join("cookies");
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |error: notify::Error| {
                WorkspaceError::io("watch", path)(std::io::Error::other(error))
            }
        };
        make_private(&cookies)
            .map_err(WorkspaceError::io("make", cookies.display().to_string()))?;
        let cookies = std::fs::canonicalize(&cookies)
            .map_err(WorkspaceError::io("open", cookies.display().to_string()))?;
        let roots: Vec<(RelPath, PathBuf)> = workspace
            .roots()
            .map(|(at, root)| (at, root.real().to_owned()))
            .collect();
        let told = Arc::new(Told::default());
        let (theirs, their_roots, their_cookies) =
            (Arc::clone(&told), roots.clone(), cookies.clone());
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            theirs.take(event, &their_roots, &their_cookies);
        })
        .map_err(failed(&cookies))?;
        watcher
            .watch(&cookies, RecursiveMode::NonRecursive)
            .map_err(failed(&cookies))?;
        for (_, root) in &roots {
            watcher
                .watch(root, RecursiveMode::Recursive)
                .map_err(failed(root))?;
        }
        Ok(Self {
            _watcher: watcher,
            told,
            cookies,
            count: 0,
        })
    }

    /// What may have changed since the last call.
    pub fn suspects(&mut self) -> Suspects {
        self.count += 1;
        let cookie = self.cookies.join(self.count.to_string());
        if std::fs::write(&cookie, "").is_err() {
            return Suspects::All;
        }
        let deadline = Instant::now() + PATIENCE;
        let mut state = self
            .told
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        while state.cookie.as_ref() != Some(&cookie) && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            let waited = self.told.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let arrived = state.cookie.as_ref() == Some(&cookie);
        let lost = std::mem::take(&mut state.lost);
        let suspects = std::mem::take(&mut state.suspects);
        drop(state);
        if let Err(error) = std::fs::remove_file(&cookie) {
            log::debug!("cannot remove: {error}: {}", cookie.display());
        }
        if arrived && !lost {
            Suspects::Paths(suspects)
        } else {
            Suspects::All
        }
    }
}

impl Told {
    fn take(&self, event: notify::Result<Event>, roots: &[(RelPath, PathBuf)], cookies: &Path) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(event) = event else {
            state.lost = true;
            return;
        };
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        state.lost |= event.need_rescan();
        for path in event.paths {
            if path.starts_with(cookies) {
                if matches!(event.kind, EventKind::Create(_)) {
                    state.cookie = Some(path);
                    self.changed.notify_all();
                }
                continue;
            }
            let inside = roots
                .iter()
                .find_map(|(at, root)| Some((at, path.strip_prefix(root).ok()?)));
            let Some((at, Some(below))) = inside.map(|(at, below)| (at, below.to_str())) else {
                state.lost = true;
                continue;
            };
            let names: Vec<&str> = below.split('/').filter(|name| !name.is_empty()).collect();
            if names.contains(&".git") {
                continue;
            }
            let path = names
                .into_iter()
                .fold(at.clone(), |path, name| path.join(name));
            state.suspects.insert(path);
        }
        if state.suspects.len() > MOST_SUSPECTS {
            state.suspects.clear();
            state.lost = true;
        }
    }
}
