//! The commits of a folder: which files changed together, and how often each did.

use std::collections::BTreeMap;
use std::path::Path;

use gix::ObjectId;
use gix::bstr::BString;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;
use rustc_hash::FxHashMap;
use thiserror::Error;

/// Memory for objects that neighbouring commits share, in bytes.
const OBJECT_CACHE: usize = 32 * 1024 * 1024;

/// History that can't be read.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The repository is there and can't be read.
    #[error("the history cannot be read: {0}")]
    Read(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The folder is no repository, or has no commit.
    #[error("no history: {0}")]
    None(String),
}

impl HistoryError {
    fn read(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Read(error.into())
    }
}

/// The files of recent commits, newest first; paths relative to the folder, with `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// One list of files a commit.
    pub commits: Vec<Vec<String>>,
}

impl History {
    /// Reads up to `limit` commits of the repository around a folder, by the time they were made. Merges and commits
    /// that touch nothing in the folder are left out. No program is run and no hook of the repository either.
    ///
    /// # Errors
    /// Where the folder has no history, or it is damaged.
    pub fn read(root: &Path, limit: usize) -> Result<Self, HistoryError> {
        let mut repository =
            gix::discover(root).map_err(|error| HistoryError::None(error.to_string()))?;
        repository.object_cache_size_if_unset(OBJECT_CACHE);
        let folder = folder_in(&repository, root)?;
        let head = repository
            .head_id()
            .map_err(|error| HistoryError::None(error.to_string()))?;
        let walk = repository
            .rev_walk([head.detach()])
            .sorting(Sorting::ByCommitTime(CommitTimeOrder::NewestFirst))
            .all()
            .map_err(HistoryError::read)?;
        let mut commits = Vec::new();
        for commit in walk {
            let commit = commit.map_err(HistoryError::read)?;
            let parents: Vec<ObjectId> = commit.parent_ids.iter().copied().collect();
            if parents.len() > 1 {
                continue;
            }
            let now = tree_of(&repository, commit.id, &folder)?;
            // The oldest commits of a shallow clone name parents that aren't there: what they changed is unknown.
            let before = match parents.first() {
                Some(parent) if !repository.has_object(parent) => continue,
                Some(parent) => tree_of(&repository, *parent, &folder)?,
                None => None,
            };
            let mut files = Vec::new();
            compare(&repository, before, now, "", &mut files)?;
            if !files.is_empty() {
                files.sort_unstable();
                commits.push(files);
            }
            if commits.len() == limit {
                break;
            }
        }
        Ok(Self { commits })
    }

    /// How many commits touched each file.
    #[must_use]
    pub fn churn(&self) -> FxHashMap<&str, u32> {
        let mut churn = FxHashMap::default();
        for path in self.commits.iter().flatten() {
            *churn.entry(path.as_str()).or_default() += 1;
        }
        churn
    }

    /// How many commits ago each file was touched last.
    #[must_use]
    pub fn last_changes(&self) -> FxHashMap<&str, u32> {
        let mut last = FxHashMap::default();
        for (ago, files) in (0..).zip(&self.commits) {
            for path in files {
                last.entry(path.as_str()).or_insert(ago);
            }
        }
        last
    }
}

/// Where a folder lies in the tree of its repository.
fn folder_in(
    repository: &gix::Repository,
    root: &Path,
) -> Result<std::path::PathBuf, HistoryError> {
    let top = repository
        .workdir()
        .ok_or_else(|| HistoryError::None("the repository has no files".to_owned()))?;
    let (top, root) = (
        top.canonicalize().map_err(HistoryError::read)?,
        root.canonicalize().map_err(HistoryError::read)?,
    );
    Ok(root
        .strip_prefix(&top)
        .map(Path::to_owned)
        .unwrap_or_default())
}

/// The tree of a folder in a commit; `None` where the folder isn't there yet.
fn tree_of(
    repository: &gix::Repository,
    commit: ObjectId,
    folder: &Path,
) -> Result<Option<ObjectId>, HistoryError> {
    let commit = repository.find_commit(commit).map_err(HistoryError::read)?;
    let tree = commit.tree().map_err(HistoryError::read)?;
    if folder.as_os_str().is_empty() {
        return Ok(Some(tree.id));
    }
    let entry = tree
        .lookup_entry_by_path(folder)
        .map_err(HistoryError::read)?;
    Ok(entry
        .filter(|entry| entry.mode().is_tree())
        .map(|entry| entry.object_id()))
}

/// The entries of a tree by name: whether each is a directory, and its object.
fn entries(
    repository: &gix::Repository,
    tree: Option<ObjectId>,
) -> Result<BTreeMap<BString, (bool, ObjectId)>, HistoryError> {
    let mut found = BTreeMap::new();
    let Some(tree) = tree else {
        return Ok(found);
    };
    let tree = repository.find_tree(tree).map_err(HistoryError::read)?;
    for entry in tree.iter() {
        let entry = entry.map_err(HistoryError::read)?;
        let mode = entry.mode();
        if mode.is_tree() || mode.is_blob() {
            found.insert(
                entry.filename().to_owned(),
                (mode.is_tree(), entry.object_id()),
            );
        }
    }
    Ok(found)
}

/// The files that differ between two trees; equal subtrees are passed over unread.
fn compare(
    repository: &gix::Repository,
    before: Option<ObjectId>,
    now: Option<ObjectId>,
    directory: &str,
    files: &mut Vec<String>,
) -> Result<(), HistoryError> {
    if before == now {
        return Ok(());
    }
    let (mut old, new) = (entries(repository, before)?, entries(repository, now)?);
    let mut pairs = Vec::with_capacity(new.len());
    for (name, entry) in new {
        let before = old.remove(&name);
        pairs.push((name, before, Some(entry)));
    }
    pairs.extend(
        old.into_iter()
            .map(|(name, entry)| (name, Some(entry), None)),
    );
    for (name, before, now) in pairs {
        if before == now {
            continue;
        }
        let path = format!("{directory}{name}");
        let is_file = |entry: Option<(bool, ObjectId)>| entry.is_some_and(|(is_tree, _)| !is_tree);
        if is_file(before) || is_file(now) {
            files.push(path.clone());
        }
        let tree = |entry: Option<(bool, ObjectId)>| {
            entry
                .filter(|(is_tree, _)| *is_tree)
                .map(|(_, object)| object)
        };
        compare(
            repository,
            tree(before),
            tree(now),
            &format!("{path}/"),
            files,
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn churn_and_age_count_commits() {
        let history = History {
            commits: vec![
                vec!["a.ts".to_owned(), "b/c d.ts".to_owned()],
                vec!["a.ts".to_owned()],
            ],
        };
        let last = history.last_changes();
        assert_eq!((last["a.ts"], last["b/c d.ts"], last.len()), (0, 0, 2));
        assert_eq!(history.churn()["a.ts"], 2);
    }

    #[test]
    fn a_folder_without_a_repository_has_no_history() {
        let directory = tempfile::tempdir().unwrap();
        let error = History::read(directory.path(), 10).unwrap_err();
        assert!(matches!(error, HistoryError::None(_)), "{error}");
    }
}
