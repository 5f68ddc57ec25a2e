//! What was at a path: enough to put it back.

use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::object_store::ObjectStore;
use crate::read::read_limited;
use crate::replace_file::{ModeRule, replace_file};
use crate::root::{Follow, Found, Place};
use crate::workspace::Workspace;
use crate::{ContentHash, RelPath, WorkspaceError};

/// Contents larger than this are not kept.
pub(crate) const KEPT_LIMIT: u64 = 64 * 1024 * 1024;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FileState {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// Of its bytes.
        hash: ContentHash,
        /// Permission bits.
        mode: u32,
        /// Bytes.
        size: u64,
    },
    /// A symbolic link.
    Link {
        /// Where it leads, as written.
        target: String,
    },
    /// A folder, without what is in it.
    Folder {
        /// Permission bits.
        mode: u32,
    },
    /// Something that is not kept: too large, or neither file, folder nor link.
    NotKept {
        /// Why.
        why: String,
    },
}

impl Workspace {
    /// Walks to a path that must not lead through links: those that are recorded are real paths.
    pub(crate) fn real_place(&self, path: &RelPath) -> Result<Option<Place>, WorkspaceError> {
        let Some((_, root, inside)) = self.split(path)? else {
            return Ok(None);
        };
        let place = root.walk(&inside, Follow::ButLast)?;
        if place.real != inside {
            return Err(WorkspaceError::Stale {
                why: "a folder of this path is a link now".into(),
                path: path.to_string(),
            });
        }
        Ok(Some(place))
    }

    /// What is at the path now, its bytes put into the store.
    pub(crate) fn keep_state(
        &self,
        path: &RelPath,
        store: &ObjectStore,
    ) -> Result<FileState, WorkspaceError> {
        self.state(path, |bytes| store.put(bytes))
    }

    /// What is at the path now.
    pub(crate) fn look_at_state(&self, path: &RelPath) -> Result<FileState, WorkspaceError> {
        self.state(path, |bytes| Ok(ContentHash::of(bytes)))
    }

    fn state(
        &self,
        path: &RelPath,
        hash_of: impl Fn(&[u8]) -> Result<ContentHash, WorkspaceError>,
    ) -> Result<FileState, WorkspaceError> {
        let place = match self.real_place(path) {
            Ok(Some(place)) => place,
            Ok(None) => return Ok(FileState::Absent),
            // Where a folder of the path is a file or a link now, there is nothing at the path.
            Err(WorkspaceError::InvalidInput { .. } | WorkspaceError::Stale { .. }) => {
                return Ok(FileState::Absent);
            }
            Err(other) => return Err(other),
        };
        let shown = path.to_string();
        let not_kept = |why: &str| Ok(FileState::NotKept { why: why.into() });
        match place.found {
            Found::Missing => Ok(FileState::Absent),
            Found::Other => not_kept("neither a file, a folder nor a link"),
            Found::Folder => {
                let stat = rustix::fs::statat(&place.dir, &place.name, AtFlags::SYMLINK_NOFOLLOW);
                let stat = stat.map_err(WorkspaceError::os("look at", shown))?;
                Ok(FileState::Folder {
                    mode: stat.st_mode & 0o7777,
                })
            }
            Found::Link => {
                let target = rustix::fs::readlinkat(&place.dir, &place.name, Vec::new());
                let target = target.map_err(WorkspaceError::os("read the link", shown))?;
                match target.into_string() {
                    Ok(target) => Ok(FileState::Link { target }),
                    Err(_) => not_kept("a link to a name that is not UTF-8"),
                }
            }
            Found::File(_) => {
                let file = place.open_file(&shown)?;
                let about = file
                    .metadata()
                    .map_err(WorkspaceError::io("look at", shown.clone()))?;
                if about.len() > KEPT_LIMIT {
                    return not_kept("larger than 64 MiB");
                }
                let bytes = read_limited(file, KEPT_LIMIT, &shown)?;
                Ok(FileState::File {
                    hash: hash_of(&bytes)?,
                    mode: about.mode() & 0o7777,
                    size: bytes.len() as u64,
                })
            }
        }
    }

    /// Makes the path be as the state says. A folder that must go goes only if it is empty.
    pub(crate) fn set_state(
        &self,
        path: &RelPath,
        state: &FileState,
        store: &ObjectStore,
    ) -> Result<(), WorkspaceError> {
        let shown = path.to_string();
        let Some(place) = self.real_place(path)? else {
            return Ok(());
        };
        if matches!(state, FileState::Absent) {
            return self.remove(&place, &shown);
        }
        let mut place = place.make_folders()?;
        match state {
            FileState::File { hash, mode, .. } => {
                let bytes = store.get(hash)?;
                if !matches!(place.found, Found::File(_) | Found::Missing) {
                    self.remove(&place, &shown)?;
                    place.found = Found::Missing;
                }
                replace_file(&self.disk, &place, &bytes, ModeRule::Exactly(*mode), &shown)
            }
            FileState::Link { target } => self.put_link(&place, target, &shown),
            FileState::Folder { mode } => {
                if !matches!(place.found, Found::Folder) {
                    self.remove(&place, &shown)?;
                    place.make_last_folder(&shown)?;
                }
                let mode = Mode::from_raw_mode(*mode);
                let dir = place.open_folder(&shown)?;
                rustix::fs::fchmod(&dir, mode).map_err(WorkspaceError::os("set the mode of", shown))
            }
            FileState::Absent | FileState::NotKept { .. } => Ok(()),
        }
    }

    fn remove(&self, place: &Place, shown: &str) -> Result<(), WorkspaceError> {
        let flags = match place.found {
            Found::Missing => return Ok(()),
            Found::Folder => AtFlags::REMOVEDIR,
            _ => AtFlags::empty(),
        };
        self.disk
            .before("remove")
            .map_err(WorkspaceError::io("remove", shown))?;
        match rustix::fs::unlinkat(&place.dir, &place.name, flags) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(errno) => Err(WorkspaceError::os("remove", shown)(errno)),
        }
    }

    /// Removes what a write that was cut off left beside a path.
    pub(crate) fn sweep_beside(&self, path: &RelPath) {
        let Ok(Some(place)) = self.real_place(path) else {
            return;
        };
        let Ok(entries) = rustix::fs::Dir::read_from(&place.dir) else {
            return;
        };
        for entry in entries.flatten() {
            if let Ok(name) = entry.file_name().to_str()
                && name.ends_with(crate::replace_file::TEMP_SUFFIX)
            {
                crate::replace_file::remove_temp(&place.dir, name);
            }
        }
    }

    fn put_link(&self, place: &Place, target: &str, shown: &str) -> Result<(), WorkspaceError> {
        let temp = crate::replace_file::temp_name();
        let put = || -> io::Result<()> {
            self.disk.before("make link")?;
            rustix::fs::symlinkat(target, &place.dir, &temp)?;
            if matches!(place.found, Found::Folder) {
                rustix::fs::unlinkat(&place.dir, &place.name, AtFlags::REMOVEDIR)?;
            }
            rustix::fs::renameat(&place.dir, &temp, &place.dir, &place.name)?;
            Ok(())
        };
        let done = put();
        if done.is_err() {
            crate::replace_file::remove_temp(&place.dir, &temp);
        }
        done.map_err(WorkspaceError::io("make the link", shown))
    }
}
