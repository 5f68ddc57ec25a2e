//! The thread store: every thread of a data folder, on disk.
//!
//! A thread is one JSON file plus, while it is live, an append log beside it. Saving a message appends to the
//! log, so it costs the same in a short thread and in a long one; [`ThreadStore::fold`] writes the file anew
//! and removes the log. What [`ThreadStore::commit`] returned for survives a power cut.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use crate::disk::Disk;
use crate::index::{Index, Survey, ThreadSummary};
use crate::layout::{Layout, check_id};
use crate::live_log::LiveLog;
use crate::thread_lines::write_thread;
use crate::{Access, Message, Notice, StoreError, Thread, ThreadId, Timestamp};

/// After so many changes a commit also writes the index. Until then a crash costs a re-reading of what changed.
const INDEX_EVERY: usize = 256;

/// All threads of one data folder. One process at a time may write; the others read.
///
/// Everything here blocks. Errors leave memory and disk as they were; what was buffered stays buffered.
#[derive(Debug)]
pub struct ThreadStore {
    pub(crate) layout: Layout,
    pub(crate) disk: Disk,
    pub(crate) access: Access,
    pub(crate) index: Index,
    pub(crate) live: HashMap<ThreadId, LiveLog>,
    /// When the store was opened; names what is put aside where the caller gives no time.
    pub(crate) opened_at: Timestamp,
    /// Held for as long as the store lives.
    lock: Option<File>,
}

impl ThreadStore {
    /// Opens the data folder, making it if need be. Another process that has it open, or a disk that can't be
    /// written, makes the store read-only; a damaged thread is put aside. Both are told as notices.
    ///
    /// # Errors
    /// When the threads folder can't be listed.
    pub fn open(home: &Path, now: Timestamp) -> Result<(Self, Vec<Notice>), StoreError> {
        Self::open_with(home, now, Disk::default())
    }

    /// As [`ThreadStore::open`], with a disk that a test may let fail.
    #[doc(hidden)]
    pub fn open_with(
        home: &Path,
        now: Timestamp,
        disk: Disk,
    ) -> Result<(Self, Vec<Notice>), StoreError> {
        let layout = Layout::new(home);
        let mut notices = Vec::new();
        let (access, lock) = match take_lock(&disk, &layout) {
            Ok(lock) => (Access::ReadWrite, Some(lock)),
            Err(refused) => {
                let (notice, reason) = refused.explain(&layout);
                notices.push(notice);
                (Access::ReadOnly { reason }, None)
            }
        };
        let mut store = Self {
            index: Index::read(&layout),
            layout,
            disk,
            access,
            live: HashMap::new(),
            opened_at: now,
            lock,
        };
        notices.extend(store.refresh(now)?);
        Ok((store, notices))
    }

    /// Whether this store may write.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// All threads, the last used first. Reads memory only.
    pub fn list(&self) -> Vec<ThreadSummary> {
        self.index.sorted()
    }

    /// What the list shows of one thread.
    pub fn summary(&self, id: &ThreadId) -> Option<&ThreadSummary> {
        self.index.get(id)
    }

    /// Looks at the folder again: a read-only store learns what the other process did, and files that were
    /// brought in by hand appear. Reads only what changed.
    ///
    /// # Errors
    /// When the threads folder can't be listed.
    pub fn refresh(&mut self, now: Timestamp) -> Result<Vec<Notice>, StoreError> {
        let survey = Survey::take(self.layout.threads())
            .map_err(StoreError::io("list", self.layout.threads()))?;
        if self.may_write().is_ok() {
            for leftover in &survey.leftovers {
                if let Err(error) = self.disk.remove(leftover) {
                    log::warn!("cannot remove: {error}: {}", leftover.display());
                }
            }
        }
        let unsaved: Vec<ThreadId> = self.unsaved().cloned().collect();
        let mut before = Index::default();
        unsaved.iter().for_each(|id| before.keep(id, &self.index));
        let unclear = self.index.reconcile(&survey, &self.layout);
        unsaved.iter().for_each(|id| self.index.keep(id, &before));
        let mut notices = Vec::new();
        for id in unclear.iter().filter(|id| !unsaved.contains(id)) {
            match self.load(id, now) {
                Ok((_, told)) => notices.extend(told),
                Err(StoreError::NotFound(_)) => {}
                Err(error) => notices.push(error.to_notice()),
            }
        }
        Ok(notices)
    }

    /// Forgets the index and reads every thread again.
    ///
    /// # Errors
    /// When the threads folder can't be listed.
    pub fn rebuild_index(&mut self, now: Timestamp) -> Result<Vec<Notice>, StoreError> {
        let mut fresh = Index::default();
        for id in self.unsaved() {
            fresh.keep(id, &self.index);
        }
        self.index = fresh;
        let notices = self.refresh(now)?;
        self.save_index();
        Ok(notices)
    }

    /// Saves a new thread; durable on return. On an error the thread is buffered as a whole, so that the next
    /// [`ThreadStore::commit`] saves it; it may also be created again.
    ///
    /// # Errors
    /// When a thread of this id exists, the store is read-only, or the disk refuses.
    pub fn create(&mut self, thread: &Thread) -> Result<(), StoreError> {
        let id = thread.id();
        self.may_write()?;
        check_id(id)?;
        let waits = self
            .live
            .get(id)
            .is_some_and(|live| !live.pending().is_empty());
        if !waits && self.layout.base(id).symlink_metadata().is_ok() {
            return Err(StoreError::Exists(id.clone()));
        }
        self.index.note(thread);
        let created = self.fold(thread);
        if created.is_err() {
            let live = self.live.entry(id.clone()).or_default();
            live.put_all(thread)?;
        }
        created
    }

    /// Buffers the state of a message: the next one of its thread, or one that is on record already. A message
    /// that still streams is saved as if it ended now. Title, participants and archive flag go along if they
    /// changed. Call [`ThreadStore::commit`] to make it durable.
    ///
    /// # Errors
    /// When the store is read-only, or messages before this one were never put.
    pub fn put(&mut self, thread: &Thread, message: &Message) -> Result<(), StoreError> {
        self.live_log(thread.id())?.put(thread, message)?;
        self.index.note(thread);
        Ok(())
    }

    /// Buffers more text of a message that streams: `text` begins where its content had `at` bytes.
    ///
    /// # Errors
    /// When the store is read-only, or the message was never put.
    pub fn grow(
        &mut self,
        thread: &ThreadId,
        seq: u64,
        at: usize,
        text: &str,
    ) -> Result<(), StoreError> {
        self.live_log(thread)?.grow(thread, seq, at, text)
    }

    /// Buffers title, participants and archive flag if they changed.
    ///
    /// # Errors
    /// When the store is read-only.
    pub fn put_header(&mut self, thread: &Thread) -> Result<(), StoreError> {
        self.live_log(thread.id())?.put_header(thread)?;
        self.index.note(thread);
        Ok(())
    }

    /// Makes everything buffered durable, of all threads. What can't be saved stays buffered and is tried again
    /// by the next commit; the other threads are saved nevertheless.
    ///
    /// # Errors
    /// The first refusal of the disk.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        let mut outcome = Ok(());
        for (id, live) in &mut self.live {
            if live.pending().is_empty() {
                continue;
            }
            match live.flush(&self.disk, &self.layout, id, self.opened_at) {
                Ok(()) => self.index.touch(id),
                Err(error) if outcome.is_ok() => outcome = Err(error),
                Err(error) => log::error!("cannot save thread {id}: {error}"),
            }
        }
        if self.index.changes() >= INDEX_EVERY {
            self.save_index();
        }
        outcome
    }

    /// Whether something is buffered that [`ThreadStore::commit`] has yet to save.
    pub fn has_unsaved(&self) -> bool {
        self.unsaved().next().is_some()
    }

    /// Whether the thread has a log, so that a [`ThreadStore::fold`] on idle is worth its cost.
    pub fn needs_fold(&self, id: &ThreadId) -> bool {
        self.live.get(id).is_some_and(LiveLog::is_live)
    }

    /// Writes the thread file anew and removes the log; durable on return. A message that still streams is
    /// written as if it ended now, and may grow on.
    ///
    /// # Errors
    /// When the store is read-only or the disk refuses; file, log and buffer then still hold everything.
    pub fn fold(&mut self, thread: &Thread) -> Result<(), StoreError> {
        let id = thread.id();
        let (disk, layout, now) = (self.disk.clone(), self.layout.clone(), self.opened_at);
        let live = self.live_log(id)?;
        live.prepare_fold(&disk, &layout, id, now)?;
        let path = layout.base(id);
        disk.replace(&path, true, &mut |out| write_thread(thread, out))
            .map_err(StoreError::io("save", &path))?;
        live.finish_fold(&disk, &layout, thread)?;
        self.index.note(thread);
        Ok(())
    }

    /// Saves everything and lets go of the data folder. Dropping does the same but can't tell of an error.
    ///
    /// # Errors
    /// When something buffered can't be saved.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.commit()
    }

    pub(crate) fn may_write(&self) -> Result<(), StoreError> {
        match &self.access {
            Access::ReadWrite => Ok(()),
            Access::ReadOnly { reason } => Err(StoreError::ReadOnly {
                reason: reason.clone(),
            }),
        }
    }

    fn live_log(&mut self, id: &ThreadId) -> Result<&mut LiveLog, StoreError> {
        self.may_write()?;
        check_id(id)?;
        let known = self.index.get(id);
        Ok(self.live.entry(id.clone()).or_insert_with(|| {
            known.map_or_else(LiveLog::unheard_of, |summary| {
                LiveLog::unread(summary.messages)
            })
        }))
    }

    fn unsaved(&self) -> impl Iterator<Item = &ThreadId> {
        let waiting = |live: &LiveLog| !live.pending().is_empty();
        self.live
            .iter()
            .filter(move |(_, live)| waiting(live))
            .map(|(id, _)| id)
    }

    fn save_index(&mut self) {
        if self.may_write().is_err() || self.index.changes() == 0 {
            return;
        }
        let live = &self.live;
        let unsaved = |id: &ThreadId| live.get(id).is_some_and(|live| !live.pending().is_empty());
        if let Err(error) = self.index.write(&self.disk, &self.layout, unsaved) {
            log::warn!("cannot write the thread index, the next start reads more: {error}");
        }
    }
}

impl Drop for ThreadStore {
    fn drop(&mut self) {
        if let Err(error) = self.commit() {
            log::error!("threads were not saved: {error}");
        }
        self.save_index();
        // Closing the file is not enough while a child process that is being started still has a copy of it.
        if let Some(Err(error)) = self.lock.as_ref().map(File::unlock) {
            log::warn!("cannot unlock the data folder: {error}");
        }
    }
}

/// Why the lock was not had.
enum LockRefused {
    ByProcess,
    ByDisk(io::Error),
}

impl LockRefused {
    fn explain(self, layout: &Layout) -> (Notice, String) {
        match self {
            Self::ByProcess => (
                Notice::warning(
                    "Another Folkmoot has this data folder open, so nothing you do here is saved. \
                     Close the other one and start again to write.",
                    layout.home(),
                ),
                "another Folkmoot has the data folder open".to_owned(),
            ),
            Self::ByDisk(error) => (
                Notice::error(
                    format!(
                        "The data folder can't be written ({error}), so nothing you do here is saved. \
                         Make it writable and start again.",
                    ),
                    layout.home(),
                ),
                format!("the data folder can't be written ({error})"),
            ),
        }
    }
}

/// Makes the folders and takes the lock that says who may write. The operating system lets go of it when the
/// process ends, however it ends.
fn take_lock(disk: &Disk, layout: &Layout) -> Result<File, LockRefused> {
    let lock = disk
        .create_folder(layout.home())
        .and_then(|()| disk.create_folder(layout.threads()))
        .and_then(|()| disk.open(&layout.lock()))
        .map_err(LockRefused::ByDisk)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(LockRefused::ByProcess),
        Err(TryLockError::Error(error)) => Err(LockRefused::ByDisk(error)),
    }
}
