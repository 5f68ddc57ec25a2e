//! Loading a thread: the thread file, its log, and what to do when either is damaged.

use std::path::{Path, PathBuf};

use crate::append_log::replay;
use crate::layout::check_id;
use crate::live_log::{LiveLog, is_damage};
use crate::saved_thread::{read_end, read_file, read_thread};
use crate::store::ThreadStore;
use crate::{Notice, StoreError, Thread, ThreadEnd, ThreadId, Timestamp};

impl ThreadStore {
    /// How a thread ends, in a time that doesn't grow with its length: something to show while [`Self::load`] reads
    /// the whole. `None` for a short thread, for one whose log waits to be folded, and wherever only the whole can
    /// tell.
    pub fn load_end(&self, id: &ThreadId) -> Option<ThreadEnd> {
        check_id(id).ok()?;
        let is_pending = self
            .live
            .get(id)
            .is_some_and(|live| !live.pending().is_empty());
        let log_len = std::fs::metadata(self.layout.log(id)).map(|log| log.len());
        if is_pending || log_len.is_ok_and(|len| len > 0) {
            return None;
        }
        read_end(&self.layout.base(id)).ok()?
    }

    /// Reads a thread and what its log adds. A torn end of the log is cut, a damaged one kept beside it; a damaged
    /// thread file is renamed, and if the log holds the thread from its beginning, the thread is had from there.
    /// A read-only store repairs nothing.
    ///
    /// # Errors
    /// When there is no such thread, it is damaged, of another format version, too large, or can't be read.
    pub fn load(
        &mut self,
        id: &ThreadId,
        now: Timestamp,
    ) -> Result<(Thread, Vec<Notice>), StoreError> {
        check_id(id)?;
        // The log first: should another process fold in between, the file read later holds all of it.
        let log = read_file(&self.layout.log(id))?;
        let (base, damage) = match read_thread(&self.layout.base(id)) {
            Ok(thread) => (thread, None),
            Err(StoreError::Corrupt { reason, .. }) => (None, Some(reason)),
            Err(other) => return Err(other),
        };
        let waiting = self.live.get(id).map_or(&[][..], LiveLog::pending);
        let has_base = base.is_some() || damage.is_some();
        if !has_base && log.is_none() && waiting.is_empty() {
            self.index.forget(id);
            return Err(StoreError::NotFound(id.clone()));
        }
        if !has_base && waiting.is_empty() && self.is_half_deleted(id) {
            self.finish_deletion(id);
            self.index.forget(id);
            return Err(StoreError::NotFound(id.clone()));
        }
        let mut notices = Vec::new();
        let base = base.map(|thread| self.under_its_name(thread, id, &mut notices));
        let log = log.unwrap_or_default();
        let replayed = replay(base, id, &log);
        let good_len = replayed.good_len;
        let Some(thread) = replay(replayed.thread, id, waiting).thread else {
            return Err(self.put_aside(id, damage, &log, now));
        };
        if let Some(reason) = damage {
            notices.push(self.recovered_from_log(id, &reason, now));
        }
        if self.may_write().is_ok() {
            let fresh = LiveLog::loaded(&thread, good_len);
            match self.live.get_mut(id) {
                Some(live) if !live.pending().is_empty() => live.trust_at_most(good_len),
                Some(live) => *live = fresh,
                None => drop(self.live.insert(id.clone(), fresh)),
            }
        }
        if good_len < log.len() {
            notices.extend(self.cut_log(id, log, good_len, now));
        }
        self.index.read_thread(&thread);
        Ok((thread, notices))
    }

    /// A thread goes by the name of its file: a copy made by hand is a thread of its own.
    fn under_its_name(
        &self,
        mut thread: Thread,
        id: &ThreadId,
        notices: &mut Vec<Notice>,
    ) -> Thread {
        if thread.id() != id {
            let text = format!(
                "This file was written for the thread {}. It is opened as {id}, a thread of its own.",
                thread.id()
            );
            notices.push(Notice::warning(text, &self.layout.base(id)));
            let mut header = thread.header();
            header.id = id.clone();
            thread.set_header(header);
        }
        thread
    }

    fn recovered_from_log(&self, id: &ThreadId, reason: &str, now: Timestamp) -> Notice {
        let base = self.layout.base(id);
        let kept = self.rename_aside(&base, id, "corrupt", ".json", now);
        let place = kept.as_ref().unwrap_or(&base);
        let text = format!(
            "A thread file was damaged ({reason}). The thread was recovered from its log; \
             {} keeps the damaged bytes.",
            place.display()
        );
        Notice::warning(text, place)
    }

    /// Renames what holds no thread, so that the name is free and the bytes are kept.
    fn put_aside(
        &mut self,
        id: &ThreadId,
        damage: Option<String>,
        log: &[u8],
        now: Timestamp,
    ) -> StoreError {
        self.index.forget(id);
        let (base_path, log_path) = (self.layout.base(id), self.layout.log(id));
        if damage.is_none() && !is_damage(log) {
            // A new thread whose first record was cut off before anyone was told that it is saved.
            if self.may_write().is_ok()
                && let Err(error) = self.disk.remove(&log_path)
            {
                log::warn!("cannot remove: {error}: {}", log_path.display());
            }
            return StoreError::NotFound(id.clone());
        }
        self.live.remove(id);
        let log_kept = if log.is_empty() {
            None
        } else {
            self.rename_aside(&log_path, id, "corrupt", ".log", now)
        };
        match damage {
            Some(reason) => StoreError::Corrupt {
                renamed_to: self.rename_aside(&base_path, id, "corrupt", ".json", now),
                path: base_path,
                reason,
            },
            None => StoreError::Corrupt {
                path: log_path,
                reason: "the thread file that this log belongs to is missing".to_owned(),
                renamed_to: log_kept,
            },
        }
    }

    fn rename_aside(
        &self,
        from: &Path,
        id: &ThreadId,
        label: &str,
        extension: &str,
        now: Timestamp,
    ) -> Option<PathBuf> {
        self.may_write().ok()?;
        let to = self.layout.aside(id, label, extension, now);
        match self.disk.rename(from, &to) {
            Ok(()) => Some(to),
            Err(error) => {
                log::error!("cannot rename: {error}: {}", from.display());
                None
            }
        }
    }

    /// Cuts the log behind its last whole record. More than one unfinished record is kept under another name.
    fn cut_log(
        &mut self,
        id: &ThreadId,
        mut log: Vec<u8>,
        good_len: usize,
        now: Timestamp,
    ) -> Option<Notice> {
        let path = self.layout.log(id);
        let tail = log.split_off(good_len);
        let damaged = is_damage(&tail);
        if self.may_write().is_err() {
            // While another process writes, an unfinished record is what one expects to see.
            return damaged.then(|| {
                let text = "The log of a thread is damaged; what follows the damage is not shown.";
                Notice::error(text, &path)
            });
        }
        if !damaged {
            let text = format!(
                "The last save of a thread was interrupted; {} bytes of an unfinished record were dropped. \
                 Everything before them is there.",
                tail.len()
            );
            self.truncate_log(&path, good_len);
            return Some(Notice::warning(text, &path));
        }
        let aside = self.layout.aside(id, "torn", "", now);
        let text = format!(
            "The log of a thread was damaged. Everything before the damage is there; the {} bytes from it on \
             are kept in {}.",
            tail.len(),
            aside.display()
        );
        let live = self.live.entry(id.clone()).or_default();
        match live.cut(&self.disk, aside.clone(), tail) {
            Ok(()) => self.truncate_log(&path, good_len),
            Err(error) => log::warn!("tried again before the next save: {error}"),
        }
        Some(Notice::error(text, &aside))
    }

    /// Cuts now rather than before the next save, so that the damage is told once.
    fn truncate_log(&self, path: &Path, len: usize) {
        let cut = self.disk.open(path).and_then(|file| {
            self.disk.truncate(&file, path, len as u64)?;
            self.disk.sync(&file, path)
        });
        if let Err(error) = cut {
            log::warn!("cut before the next save: {error}: {}", path.display());
        }
    }
}
