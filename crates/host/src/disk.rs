//! The thread store, the run journal and the client state, as the core uses them: without write access
//! everything lives in memory only, as the person has been told, and what blocks says so to the runtime.

use std::path::{Path, PathBuf};

use tokio::task::block_in_place;
use transcript::{
    Access, Journal, JournalRecord, Message, MessageId, Notice, StoreError, Thread, ThreadEnd,
    ThreadId, ThreadStore, ThreadSummary, Timestamp,
};

use crate::client_state::ClientState;

/// Everything that lasts.
pub(crate) struct Disk {
    store: ThreadStore,
    journal: Journal,
    home: PathBuf,
    /// Why nothing is saved, if nothing is.
    pub(crate) read_only: Option<String>,
}

impl Disk {
    /// Opens the store under `home`.
    pub(crate) fn open(home: &Path) -> Result<(Self, Vec<Notice>), StoreError> {
        let (store, notices) = ThreadStore::open(home, Timestamp::now())?;
        let read_only = match store.access() {
            Access::ReadWrite => None,
            Access::ReadOnly { reason } => Some(reason.clone()),
        };
        let journal = Journal::open(home, store.access());
        Ok((
            Self {
                store,
                journal,
                home: home.to_owned(),
                read_only,
            },
            notices,
        ))
    }

    /// Makes a thread durable; after an error the next commit tries again.
    pub(crate) fn create(&mut self, thread: &Thread) -> Result<(), StoreError> {
        if self.read_only.is_some() {
            return Ok(());
        }
        block_in_place(|| self.store.create(thread))
    }

    /// Remembers a message as it is now; [`Self::commit`] makes it durable.
    pub(crate) fn put(&mut self, thread: &Thread, message: &Message) {
        if self.read_only.is_none() {
            report("remembering a message", self.store.put(thread, message));
        }
    }

    /// Remembers title, participants and archive flag.
    pub(crate) fn put_header(&mut self, thread: &Thread) {
        if self.read_only.is_none() {
            report("remembering a title", self.store.put_header(thread));
        }
    }

    /// Remembers more text of a reply that is being received.
    pub(crate) fn grow(&mut self, thread: &ThreadId, seq: u64, at: usize, text: &str) {
        if self.read_only.is_none() {
            report(
                "remembering a partial reply",
                self.store.grow(thread, seq, at, text),
            );
        }
    }

    /// Makes everything remembered durable.
    pub(crate) fn commit(&mut self) -> Result<(), StoreError> {
        if self.read_only.is_some() || !self.store.has_unsaved() {
            return Ok(());
        }
        block_in_place(|| self.store.commit())
    }

    /// Reads a thread.
    pub(crate) fn load(&mut self, id: &ThreadId) -> Result<(Thread, Vec<Notice>), StoreError> {
        block_in_place(|| self.store.load(id, Timestamp::now()))
    }

    /// How a long thread ends, before the rest is read.
    pub(crate) fn load_end(&self, id: &ThreadId) -> Option<ThreadEnd> {
        block_in_place(|| self.store.load_end(id))
    }

    /// Folds the append log of a thread into its file.
    pub(crate) fn fold(&mut self, thread: &Thread) {
        if self.read_only.is_none() && self.store.needs_fold(thread.id()) {
            report(
                "folding a thread",
                block_in_place(|| self.store.fold(thread)),
            );
        }
    }

    /// Moves a thread to the store's bin.
    pub(crate) fn delete(&mut self, id: &ThreadId) -> Result<(), StoreError> {
        block_in_place(|| self.store.delete(id))
    }

    /// Brings a thread back from the store's bin.
    pub(crate) fn restore(&mut self, id: &ThreadId) -> Result<(), StoreError> {
        block_in_place(|| self.store.restore(id, Timestamp::now()))
    }

    /// All threads, last used first.
    pub(crate) fn list(&self) -> Vec<ThreadSummary> {
        self.store.list()
    }

    /// Adds a line to a thread's journal.
    pub(crate) fn journal(&mut self, thread: &ThreadId, record: &JournalRecord) {
        if self.read_only.is_none() {
            report(
                "writing the run journal",
                block_in_place(|| self.journal.append(thread, record)),
            );
        }
    }

    /// What the journal has about a reply; nothing where it can't be read.
    pub(crate) fn journal_of(&self, thread: &ThreadId, message: &MessageId) -> Vec<JournalRecord> {
        block_in_place(|| self.journal.of_message(thread, message)).unwrap_or_else(|error| {
            log::warn!("reading the run journal: {error}");
            Vec::new()
        })
    }

    /// Writes drafts and window layout.
    pub(crate) fn save_state(&self, state: &ClientState) -> std::io::Result<()> {
        if self.read_only.is_some() {
            return Ok(());
        }
        block_in_place(|| state.save(&self.home))
    }

    /// Saves everything and lets go of the data folder.
    pub(crate) fn close(self) -> Result<(), StoreError> {
        if self.read_only.is_some() {
            return Ok(());
        }
        block_in_place(|| self.store.close())
    }
}

/// Errors here are of the disk; the next commit meets the same disk and reports them to the person.
fn report<E: std::fmt::Display>(doing: &str, result: Result<(), E>) {
    if let Err(error) = result {
        log::warn!("{doing}: {error}");
    }
}
