//! What git says of a folder, as `git status --porcelain` would: read from the repository, without running a program
//! and without writing anything, the index included.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use gix::diff::index::Change;
use gix::status::UntrackedFiles;
use gix::status::index_worktree;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How changes of a folder are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrackingMode {
    /// From its git repository.
    Git,
    /// From the file watcher, with what was there at the last look.
    Watcher,
    /// The graph is being built.
    Loading,
    /// There is no folder.
    None,
}

impl TrackingMode {
    /// The mode that suits a folder.
    #[must_use]
    pub fn of(root: &Path) -> Self {
        if !root.is_dir() {
            Self::None
        } else if gix::discover(root).is_ok_and(|repository| repository.workdir().is_some()) {
            Self::Git
        } else {
            Self::Watcher
        }
    }
}

/// A status that can't be read.
#[derive(Debug, Error)]
pub enum GitStatusError {
    /// The folder is in no repository with files.
    #[error("not in a git repository: {}", .0.display())]
    NoRepository(std::path::PathBuf),
    /// The repository is there and can't be read.
    #[error("the status cannot be read: {0}")]
    Read(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl GitStatusError {
    fn read(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Read(error.into())
    }
}

/// A file that differs from the last commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStatus {
    /// The path below the repository's top directory, with `/`.
    pub path: String,
    /// The first letter: the index against the last commit. One of ` ADMTU?`.
    pub index: char,
    /// The second letter: the file against the index. One of ` DMTUA?`.
    pub worktree: char,
}

impl fmt::Display for FileStatus {
    /// A line of `git status --porcelain`, without quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} {}", self.index, self.worktree, self.path)
    }
}

/// The files of a folder's repository that differ from its last commit, by path. Renames are two lines, and files in
/// new directories are listed one by one.
///
/// # Errors
/// Where the folder is in no repository, or it is damaged.
pub fn git_status(root: &Path) -> Result<Vec<FileStatus>, GitStatusError> {
    let repository =
        gix::discover(root).map_err(|_| GitStatusError::NoRepository(root.to_owned()))?;
    if repository.workdir().is_none() {
        return Err(GitStatusError::NoRepository(root.to_owned()));
    }
    let items = repository
        .status(gix::progress::Discard)
        .map_err(GitStatusError::read)?
        .untracked_files(UntrackedFiles::Files)
        .index_worktree_rewrites(None)
        .tree_index_track_renames(gix::status::tree_index::TrackRenames::Disabled)
        .into_iter(None)
        .map_err(GitStatusError::read)?;
    let mut letters: BTreeMap<String, (char, char)> = BTreeMap::new();
    for item in items {
        let item = item.map_err(GitStatusError::read)?;
        let path = item.location().to_string();
        let known = letters.entry(path).or_insert((' ', ' '));
        match item {
            gix::status::Item::TreeIndex(change) => known.0 = letter_of_index(&change),
            gix::status::Item::IndexWorktree(item) => match letters_of_worktree(&item) {
                Some(('?', '?')) => *known = ('?', '?'),
                Some((index, worktree)) => {
                    if index != ' ' {
                        known.0 = index;
                    }
                    known.1 = worktree;
                }
                None => {}
            },
        }
    }
    Ok(letters
        .into_iter()
        .filter(|(_, letters)| *letters != (' ', ' '))
        .map(|(path, (index, worktree))| FileStatus {
            path,
            index,
            worktree,
        })
        .collect())
}

fn letter_of_index(change: &Change) -> char {
    match change {
        Change::Addition { .. } => 'A',
        Change::Deletion { .. } => 'D',
        Change::Modification {
            previous_entry_mode,
            entry_mode,
            ..
        } => {
            let is_file = |mode: &gix::index::entry::Mode| {
                *mode == gix::index::entry::Mode::FILE
                    || *mode == gix::index::entry::Mode::FILE_EXECUTABLE
            };
            if is_file(previous_entry_mode) == is_file(entry_mode) {
                'M'
            } else {
                'T'
            }
        }
        Change::Rewrite { .. } => 'R',
    }
}

fn letters_of_worktree(item: &index_worktree::Item) -> Option<(char, char)> {
    use gix::status::index_worktree::iter::Summary;
    Some(match item.summary()? {
        Summary::Removed => (' ', 'D'),
        Summary::Added => ('?', '?'),
        Summary::Modified => (' ', 'M'),
        Summary::TypeChange => (' ', 'T'),
        Summary::IntentToAdd => (' ', 'A'),
        Summary::Conflict => ('U', 'U'),
        Summary::Renamed | Summary::Copied => (' ', 'R'),
    })
}
