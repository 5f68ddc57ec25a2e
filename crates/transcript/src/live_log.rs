//! The log of one live thread on its way to the disk: what is buffered, what is written, what is durable.

use std::path::{Path, PathBuf};

use crate::append_log::{self, Change};
use crate::disk::Disk;
use crate::layout::Layout;
use crate::saved_thread::read_file;
use crate::thread::ThreadHeader;
use crate::{Message, StoreError, Thread, ThreadId, Timestamp};

/// Buffered and written records of one thread.
#[derive(Debug, Default)]
pub(crate) struct LiveLog {
    /// The header as last recorded; `None` if it isn't known to be on record.
    header: Option<ThreadHeader>,
    /// Whether there is no thread file, so that the log must hold the thread from its beginning.
    begins: bool,
    /// How many messages are on record.
    messages: u64,
    /// Records that are not written yet.
    pending: Vec<u8>,
    /// How many bytes of the log are durable and good; `None` until the log was looked at.
    durable_len: Option<u64>,
    /// Whether the log's name is known to be durable.
    name_is_durable: bool,
    /// Bytes cut from the log that must be kept elsewhere before the log is written to.
    cut_off: Option<(PathBuf, Vec<u8>)>,
}

impl LiveLog {
    /// For a thread that has no files.
    pub(crate) fn unheard_of() -> Self {
        Self {
            begins: true,
            ..Self::default()
        }
    }

    /// For a thread that has this many messages on disk and whose log was not looked at.
    pub(crate) fn unread(messages: usize) -> Self {
        Self {
            messages: messages as u64,
            ..Self::default()
        }
    }

    /// For a thread that was just read, whose log has `good_len` good bytes.
    pub(crate) fn loaded(thread: &Thread, good_len: usize) -> Self {
        Self {
            header: Some(thread.header()),
            durable_len: Some(good_len as u64),
            ..Self::unread(thread.messages().len())
        }
    }

    pub(crate) fn pending(&self) -> &[u8] {
        &self.pending
    }

    /// Whether anything is written or buffered that the thread file may lack.
    pub(crate) fn is_live(&self) -> bool {
        !self.pending.is_empty() || self.durable_len.is_none_or(|len| len > 0)
    }

    /// Learns that no more than `good_len` bytes of the log are good.
    pub(crate) fn trust_at_most(&mut self, good_len: usize) {
        let good_len = good_len as u64;
        self.durable_len = Some(self.durable_len.map_or(good_len, |len| len.min(good_len)));
    }

    /// Buffers the whole state of a message, and the header if it changed.
    pub(crate) fn put(&mut self, thread: &Thread, message: &Message) -> Result<(), StoreError> {
        if message.seq() > self.messages {
            return Err(self.gap(thread.id(), message.seq()));
        }
        self.put_header(thread)?;
        self.record(&Change::Put {
            updated_at: thread.updated_at(),
            message: &message.as_interrupted(),
        })?;
        self.messages = self.messages.max(message.seq() + 1);
        Ok(())
    }

    /// Buffers more text of a message that is on record.
    pub(crate) fn grow(
        &mut self,
        id: &ThreadId,
        seq: u64,
        at: usize,
        text: &str,
    ) -> Result<(), StoreError> {
        if seq >= self.messages {
            return Err(self.gap(id, seq));
        }
        self.record(&Change::Grow { seq, at, text })
    }

    /// Buffers the header if more than its time changed.
    pub(crate) fn put_header(&mut self, thread: &Thread) -> Result<(), StoreError> {
        let header = thread.header();
        let known = self.header.as_ref().is_some_and(|known| {
            let updated_at = known.updated_at;
            ThreadHeader {
                updated_at,
                ..header.clone()
            } == *known
        });
        if !known {
            self.record(&if self.begins {
                Change::Begin(&header)
            } else {
                Change::Header(&header)
            })?;
            self.begins = false;
            self.header = Some(header);
        }
        Ok(())
    }

    /// Buffers a whole thread, for when its file could not be written.
    pub(crate) fn put_all(&mut self, thread: &Thread) -> Result<(), StoreError> {
        self.pending.clear();
        self.header = None;
        self.begins = true;
        self.messages = 0;
        self.put_header(thread)?;
        thread
            .messages()
            .iter()
            .try_for_each(|message| self.put(thread, message))
    }

    fn record(&mut self, change: &Change<'_>) -> Result<(), StoreError> {
        change
            .encode_into(&mut self.pending)
            .map_err(|error| StoreError::io("encode", Path::new("log"))(error.into()))
    }

    fn gap(&self, thread: &ThreadId, found: u64) -> StoreError {
        StoreError::Gap {
            thread: thread.clone(),
            expected: self.messages,
            found,
        }
    }

    /// Sets aside what lies behind the good part of the log. Written at once if `disk` lets us, else before the
    /// log is written to next.
    pub(crate) fn cut(
        &mut self,
        disk: &Disk,
        aside: PathBuf,
        bytes: Vec<u8>,
    ) -> Result<(), StoreError> {
        self.cut_off = Some((aside, bytes));
        self.keep_cut_off(disk)
    }

    fn keep_cut_off(&mut self, disk: &Disk) -> Result<(), StoreError> {
        if let Some((path, bytes)) = &self.cut_off {
            disk.replace(path, true, &mut |out| out.write_all(bytes))
                .map_err(StoreError::io("keep the damaged end of a log", path))?;
            self.cut_off = None;
        }
        Ok(())
    }

    /// Makes everything buffered durable. On an error all of it stays buffered: what may have been written of it
    /// is cut off before the next attempt.
    pub(crate) fn flush(
        &mut self,
        disk: &Disk,
        layout: &Layout,
        id: &ThreadId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let path = layout.log(id);
        let at = self.look(layout, id, now)?;
        self.keep_cut_off(disk)?;
        let failed = || StoreError::io("save", &path);
        let mut file = disk.open(&path).map_err(failed())?;
        if file.metadata().map_err(failed())?.len() < at {
            return Err(StoreError::LogShortened { path });
        }
        disk.append(&mut file, &path, at, &self.pending)
            .and_then(|()| disk.sync(&file, &path))
            .map_err(failed())?;
        if !self.name_is_durable {
            disk.sync_folder(layout.threads()).map_err(failed())?;
            self.name_is_durable = true;
        }
        self.durable_len = Some(at + self.pending.len() as u64);
        self.pending.clear();
        Ok(())
    }

    /// How much of the log is good, looking if need be.
    fn look(&mut self, layout: &Layout, id: &ThreadId, now: Timestamp) -> Result<u64, StoreError> {
        if let Some(len) = self.durable_len {
            return Ok(len);
        }
        let mut bytes = read_file(&layout.log(id))?.unwrap_or_default();
        let good = append_log::whole_len(&bytes);
        if is_damage(&bytes[good..]) {
            log::warn!("the log of thread {id} is damaged from byte {good} on");
            let aside = layout.aside(id, "torn", "", now);
            self.cut_off = Some((aside, bytes.split_off(good)));
        }
        self.durable_len = Some(good as u64);
        Ok(good as u64)
    }

    /// Before the thread file is written: the log must not be behind it, for a crash in between replays the log.
    pub(crate) fn prepare_fold(
        &mut self,
        disk: &Disk,
        layout: &Layout,
        id: &ThreadId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let has_log = self.look(layout, id, now)? > 0;
        self.keep_cut_off(disk)?;
        if has_log {
            match self.flush(disk, layout, id, now) {
                // The thread file is about to hold everything; there is nothing to be saved from this log.
                Err(StoreError::LogShortened { .. }) => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// After the thread file was written: the log goes.
    pub(crate) fn finish_fold(
        &mut self,
        disk: &Disk,
        layout: &Layout,
        thread: &Thread,
    ) -> Result<(), StoreError> {
        let path = layout.log(thread.id());
        if path.symlink_metadata().is_ok()
            && let Err(error) = disk.remove(&path)
        {
            log::warn!(
                "cannot remove a log, so it is emptied: {error}: {}",
                path.display()
            );
            disk.open(&path)
                .and_then(|file| disk.truncate(&file, &path, 0))
                .map_err(StoreError::io("empty", &path))?;
        }
        *self = Self::loaded(thread, 0);
        Ok(())
    }
}

/// Whether the end of a log is more than one record that a crash left unfinished.
pub(crate) fn is_damage(tail: &[u8]) -> bool {
    memchr::memchr(b'\n', tail).is_some()
}
