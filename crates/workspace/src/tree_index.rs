//! The tree as it was last seen: what a command changed is found by comparing, and every file's content is kept
//! before the command may change it.
//!
//! Git's own files, and what Git ignores, are left out: they are many, and made by programs. Files whose metadata
//! is as it was are not read again, unless they changed so shortly before they were looked at that a later change may
//! carry the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ignore::{WalkBuilder, WalkState};
use rustix::fs::{AtFlags, Stat};

use crate::file_state::{FileState, KEPT_LIMIT};
use crate::folders::is_never_shown;
use crate::history::History;
use crate::search::rel_path_of;
use crate::workspace::Workspace;
use crate::{RelPath, WorkspaceError};

/// A change this close to the look at it may be followed by another with the same time.
const CLOSE: Duration = Duration::from_millis(50);

/// What tells that a file is as it was.
type Version = (u64, u64, i64, i64, u64, i64, u64, u32);

#[derive(Clone, Debug)]
struct Indexed {
    version: Version,
    /// Too young to be trusted by its metadata.
    young: bool,
    state: FileState,
}

/// The tree as it was last seen.
#[derive(Debug, Default)]
pub(crate) struct TreeIndex {
    entries: BTreeMap<RelPath, Indexed>,
    /// Whether the whole tree has been looked at.
    complete: bool,
}

/// Where to look for what changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Suspects {
    /// Anywhere.
    All,
    /// These paths and what is below them; somebody watched.
    Paths(BTreeSet<RelPath>),
}

/// A path that is not as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) path: RelPath,
    pub(crate) before: FileState,
    pub(crate) after: FileState,
}

#[allow(clippy::unnecessary_cast)] // The fields differ from system to system.
fn version_of(stat: &Stat) -> Version {
    (
        stat.st_dev as u64,
        stat.st_ino as u64,
        stat.st_size as i64,
        stat.st_mtime as i64,
        stat.st_mtime_nsec as u64,
        stat.st_ctime as i64,
        stat.st_ctime_nsec as u64,
        stat.st_mode as u32,
    )
}

fn walk_of(start: &std::path::Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(start);
    builder
        .standard_filters(false)
        .parents(true)
        .ignore(false)
        .git_ignore(true)
        .git_exclude(true)
        .require_git(false)
        .filter_entry(|entry| {
            entry.depth() == 0
                || entry
                    .file_name()
                    .to_str()
                    .is_some_and(|name| !is_never_shown(name))
        });
    builder
}

impl History {
    /// Looks at the tree, keeps what is new in it, and tells what is not as it was at the last look.
    pub(crate) fn survey(
        &self,
        workspace: &Workspace,
        suspects: &Suspects,
    ) -> Result<Vec<Difference>, WorkspaceError> {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let began = SystemTime::now();
        let paths = match suspects {
            Suspects::Paths(paths) if index.complete && !touches_rules(paths) => {
                index.suspected(workspace, paths)?
            }
            _ => {
                let mut found = all_paths(workspace)?;
                found.extend(index.entries.keys().cloned());
                found
            }
        };
        let mut differences = Vec::new();
        let first = !index.complete;
        for path in paths {
            if let Some(difference) = index.look(self, workspace, &path, began)? {
                differences.push(difference);
            }
        }
        index.complete = true;
        // The first look finds everything new; nothing of that is a change.
        Ok(if first { Vec::new() } else { differences })
    }

    /// Tells the index that a path was changed by us, so that it is no command's doing.
    pub(crate) fn note_own_change(
        &self,
        workspace: &Workspace,
        path: &RelPath,
    ) -> Result<(), WorkspaceError> {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if index.complete {
            index.look(self, workspace, path, SystemTime::now())?;
        }
        Ok(())
    }
}

fn touches_rules(paths: &BTreeSet<RelPath>) -> bool {
    paths.iter().any(|path| path.name() == Some(".gitignore"))
}

fn all_paths(workspace: &Workspace) -> Result<BTreeSet<RelPath>, WorkspaceError> {
    let found = Mutex::new(BTreeSet::new());
    for (at, root) in workspace.roots() {
        let failed = Mutex::new(None);
        walk_of(root.real()).build_parallel().run(|| {
            let (found, failed, at) = (&found, &failed, &at);
            let mut own = Gathered {
                into: found,
                paths: Vec::new(),
            };
            Box::new(move |entry| {
                match entry {
                    Ok(entry) if entry.depth() > 0 => {
                        own.paths.extend(rel_path_of(&entry, root.real(), at));
                    }
                    Ok(_) => {}
                    // A folder that can't be read would look as if all in it were gone.
                    Err(error) => {
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        return WalkState::Quit;
                    }
                }
                WalkState::Continue
            })
        });
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = failed
            && error
                .io_error()
                .is_none_or(|error| error.kind() != std::io::ErrorKind::NotFound)
        {
            let told = std::io::Error::other(error.to_string());
            return Err(WorkspaceError::io("look at the tree", at.to_string())(told));
        }
    }
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// What one thread of a walk found, handed over when it ends.
struct Gathered<'a> {
    into: &'a Mutex<BTreeSet<RelPath>>,
    paths: Vec<RelPath>,
}

impl Drop for Gathered<'_> {
    fn drop(&mut self) {
        let mut all = self.into.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(self.paths.drain(..));
    }
}

impl TreeIndex {
    /// The suspects that belong to the tree: known ones and what is below them, and new ones that Git doesn't ignore.
    fn suspected(
        &self,
        workspace: &Workspace,
        suspects: &BTreeSet<RelPath>,
    ) -> Result<BTreeSet<RelPath>, WorkspaceError> {
        let mut found = BTreeSet::new();
        let mut parents = BTreeSet::new();
        for suspect in suspects {
            if self.entries.contains_key(suspect) {
                found.insert(suspect.clone());
                let from = self.entries.range(suspect.clone()..).map(|(path, _)| path);
                let inside = from.take_while(|path| path.as_str().starts_with(suspect.as_str()));
                found.extend(inside.filter(|path| suspect.is_above(path)).cloned());
            }
            // The nearest folder that is known to be no one's to ignore.
            let mut above = suspect.parent();
            while let Some(folder) = above.clone().filter(|folder| !folder.is_root()) {
                if self.entries.contains_key(&folder) {
                    break;
                }
                above = folder.parent();
            }
            let known = self.entries.get(suspect).map(|entry| &entry.state);
            if !matches!(known, Some(FileState::File { .. } | FileState::Link { .. })) {
                parents.extend(above);
            }
        }
        for parent in parents {
            self.new_below(workspace, &parent, &mut found)?;
        }
        Ok(found)
    }

    /// What is new in a known folder, and everything below what is new.
    fn new_below(
        &self,
        workspace: &Workspace,
        folder: &RelPath,
        found: &mut BTreeSet<RelPath>,
    ) -> Result<(), WorkspaceError> {
        let Some((at, root, inside)) = workspace.split(folder)? else {
            return Ok(());
        };
        let start = root.real().join(inside.as_str());
        let start_at = inside.names().fold(at, |path, name| path.join(name));
        for entry in walk_of(&start).max_depth(Some(1)).build().flatten() {
            let Some(path) = rel_path_of(&entry, &start, &start_at) else {
                continue;
            };
            if entry.depth() == 0 || self.entries.contains_key(&path) {
                continue;
            }
            found.insert(path);
            if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                let below = walk_of(entry.path()).build().flatten();
                found.extend(below.filter_map(|entry| rel_path_of(&entry, &start, &start_at)));
            }
        }
        Ok(())
    }

    /// Looks at one path, and tells if it isn't as it was.
    fn look(
        &mut self,
        history: &History,
        workspace: &Workspace,
        path: &RelPath,
        began: SystemTime,
    ) -> Result<Option<Difference>, WorkspaceError> {
        let known = self.entries.get(path);
        let stat = stat_of(workspace, path)?;
        let version = stat.as_ref().map(version_of);
        if let (Some(known), Some(version)) = (known, version)
            && known.version == version
            && !known.young
        {
            return Ok(None);
        }
        let before = known.map_or(FileState::Absent, |known| known.state.clone());
        let after = match &stat {
            None => FileState::Absent,
            Some(stat) if u64::try_from(stat.st_size).unwrap_or(0) > KEPT_LIMIT => {
                FileState::NotKept {
                    why: "larger than 64 MiB".into(),
                }
            }
            Some(_) => history.keep(workspace, path)?,
        };
        match (&after, version, &stat) {
            (FileState::Absent, ..) => {
                self.entries.remove(path);
            }
            (_, Some(version), Some(stat)) => {
                let young = is_young(stat, began);
                let state = after.clone();
                self.entries.insert(
                    path.clone(),
                    Indexed {
                        version,
                        young,
                        state,
                    },
                );
            }
            _ => {}
        }
        Ok((before != after).then(|| Difference {
            path: path.clone(),
            before,
            after,
        }))
    }
}

fn is_young(stat: &Stat, began: SystemTime) -> bool {
    let secs = u64::try_from(stat.st_mtime).unwrap_or(0);
    #[allow(clippy::unnecessary_cast)] // The field differs from system to system.
    let nanos = stat.st_mtime_nsec as u64;
    let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(secs) + Duration::from_nanos(nanos);
    modified + CLOSE > began
}

fn stat_of(workspace: &Workspace, path: &RelPath) -> Result<Option<Stat>, WorkspaceError> {
    let Some((_, root, inside)) = workspace.split(path)? else {
        return Ok(None);
    };
    // Metadata alone; whoever reads the file walks to it.
    Ok(rustix::fs::statat(root.dir(), inside.as_str(), AtFlags::SYMLINK_NOFOLLOW).ok())
}
