//! Deleting a thread so that it can be taken back.

use std::fs;
use std::io;
use std::path::Path;

use crate::layout::{FileKind, Layout, check_id};
use crate::store::ThreadStore;
use crate::{StoreError, ThreadId, Timestamp};

impl ThreadStore {
    /// Takes a thread, its log and its journal out of the list; [`ThreadStore::restore`] brings them back.
    ///
    /// # Errors
    /// When there is no such thread, the store is read-only, or the disk refuses.
    pub fn delete(&mut self, id: &ThreadId) -> Result<(), StoreError> {
        self.may_write()?;
        check_id(id)?;
        if let Some(live) = self.live.get_mut(id) {
            live.flush(&self.disk, &self.layout, id, self.opened_at)?;
        }
        let from = self.layout.threads();
        let moved = self.move_files(id, from, self.layout.deleted())?;
        // A deletion that the disk stopped half way is in the list still, and is finished by another one.
        if !moved && self.index.get(id).is_none() {
            return Err(StoreError::NotFound(id.clone()));
        }
        self.live.remove(id);
        self.index.forget(id);
        Ok(())
    }

    /// Brings a deleted thread back as it was.
    ///
    /// # Errors
    /// When no such thread was deleted, one of its name exists, the store is read-only, or the disk refuses.
    pub fn restore(&mut self, id: &ThreadId, now: Timestamp) -> Result<(), StoreError> {
        self.may_write()?;
        check_id(id)?;
        if self.layout.base(id).symlink_metadata().is_ok() {
            return Err(StoreError::Exists(id.clone()));
        }
        let from = self.layout.deleted();
        if !self.move_files(id, from, self.layout.threads())? {
            return Err(StoreError::NotFound(id.clone()));
        }
        self.live.remove(id);
        self.load(id, now).map(drop)
    }

    /// The threads that can be brought back.
    ///
    /// # Errors
    /// When the folder can't be listed.
    pub fn deleted(&self) -> Result<Vec<ThreadId>, StoreError> {
        let folder = self.layout.deleted();
        let failed = || StoreError::io("list", folder);
        let names = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(failed())?,
        };
        let mut ids = Vec::new();
        for name in names {
            match Layout::kind_of(&name.map_err(failed())?.file_name()) {
                Some(FileKind::Base(id) | FileKind::Log(id)) => ids.push(id),
                Some(FileKind::Leftover) | None => {}
            }
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Removes a deleted thread for good.
    ///
    /// # Errors
    /// When the store is read-only or the disk refuses.
    pub fn purge_deleted(&mut self, id: &ThreadId) -> Result<(), StoreError> {
        self.may_write()?;
        check_id(id)?;
        for name in file_names(id) {
            let path = self.layout.deleted().join(name);
            self.disk
                .remove(&path)
                .map_err(StoreError::io("remove", &path))?;
        }
        Ok(())
    }

    /// Whether the thread file lies among the deleted while something else of the thread may not.
    pub(crate) fn is_half_deleted(&self, id: &ThreadId) -> bool {
        let [base, ..] = file_names(id);
        let lies_in = |folder: &Path| folder.join(&base).symlink_metadata().is_ok();
        lies_in(self.layout.deleted()) && !lies_in(self.layout.threads())
    }

    /// Moves what a crash left behind of a deleted thread: its log, its journal.
    pub(crate) fn finish_deletion(&self, id: &ThreadId) {
        if self.may_write().is_ok()
            && let Err(error) = self.move_files(id, self.layout.threads(), self.layout.deleted())
        {
            log::warn!("a deletion is not finished: {error}");
        }
    }

    /// Moves the files of a thread between folders; tells whether there was a thread. The thread file decides
    /// where the thread is: it leaves first and comes back last.
    fn move_files(&self, id: &ThreadId, from: &Path, to: &Path) -> Result<bool, StoreError> {
        let mut names = file_names(id);
        if to == self.layout.threads() {
            names.reverse();
        }
        self.disk
            .create_folder(to)
            .map_err(StoreError::io("create", to))?;
        let mut moved = false;
        for name in names {
            let path = from.join(&name);
            if path.symlink_metadata().is_ok() {
                self.disk
                    .relocate(&path, &to.join(&name))
                    .map_err(StoreError::io("move", &path))?;
                moved |= !name.contains(".journal.");
            }
        }
        for folder in [to, from] {
            self.disk
                .sync_folder(folder)
                .map_err(StoreError::io("save", folder))?;
        }
        Ok(moved)
    }
}

/// The files that make up a thread, the deciding one first.
fn file_names(id: &ThreadId) -> [String; 4] {
    [
        format!("{id}.json"),
        format!("{id}.log"),
        format!("{id}.journal.jsonl"),
        format!("{id}.journal.bodies"),
    ]
}
