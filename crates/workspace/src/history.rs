//! Where taking back is made possible: kept contents, changes under way, checkpoints.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::disk::Disk;
use crate::file_state::FileState;
use crate::object_store::{ObjectStore, make_private};
use crate::tree_index::TreeIndex;
use crate::{RelPath, Workspace, WorkspaceError};

/// The history of one workspace, in a folder of the program's data. One process at a time may use it.
#[derive(Debug)]
pub struct History {
    pub(crate) folder: PathBuf,
    pub(crate) store: ObjectStore,
    pub(crate) disk: Disk,
    pub(crate) index: Mutex<TreeIndex>,
}

impl History {
    /// Opens the folder, making it if need be.
    ///
    /// # Errors
    /// The folder can't be made.
    pub fn open(folder: &Path) -> Result<Self, WorkspaceError> {
        Self::open_with(folder, Disk::default())
    }

    /// As [`History::open`], with a disk that a test may let fail.
    #[doc(hidden)]
    pub fn open_with(folder: &Path, disk: Disk) -> Result<Self, WorkspaceError> {
        let history = Self {
            folder: folder.to_owned(),
            store: ObjectStore::open(&folder.join("objects"), disk.clone())?,
            disk,
            index: Mutex::default(),
        };
        for below in [history.transactions(), history.checkpoints_folder()] {
            let shown = below.display().to_string();
            make_private(&below).map_err(WorkspaceError::io("make", shown))?;
        }
        Ok(history)
    }

    /// What is at the path now, its content kept.
    pub(crate) fn keep(
        &self,
        workspace: &Workspace,
        path: &RelPath,
    ) -> Result<FileState, WorkspaceError> {
        workspace.keep_state(path, &self.store)
    }

    /// Forgets how the tree was last seen; the next look keeps everything anew.
    pub(crate) fn forget_index(&self) {
        *self.index.lock().unwrap_or_else(PoisonError::into_inner) = TreeIndex::default();
    }

    /// Makes what was kept so far survive a power cut; a crash of the program alone never loses it.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn sync(&self) -> Result<(), WorkspaceError> {
        self.store.sync()
    }

    pub(crate) fn transactions(&self) -> PathBuf {
        self.folder.join("transactions")
    }

    pub(crate) fn checkpoints_folder(&self) -> PathBuf {
        self.folder.join("checkpoints")
    }
}
