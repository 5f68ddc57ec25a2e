//! The list of threads, kept in a small file so that a start reads no thread. It can always be rebuilt:
//! an entry counts only while the thread's files look as they did when it was made.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::append_log::{self, Glance};
use crate::disk::Disk;
use crate::layout::{FileKind, Layout};
use crate::saved_thread::{read_file, summarise};
use crate::{Thread, ThreadId, Timestamp};

const INDEX_VERSION: u64 = 1;

/// What a list shows of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSummary {
    /// Its id.
    pub id: ThreadId,
    /// Its title; may be empty.
    pub title: String,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// How many messages it has, tombstones included.
    pub messages: usize,
    /// Whether the person put it aside.
    pub archived: bool,
}

impl ThreadSummary {
    fn of(thread: &Thread) -> Self {
        Self {
            id: thread.id().clone(),
            title: thread.title().to_owned(),
            updated_at: thread.updated_at(),
            messages: thread.messages().len(),
            archived: thread.is_archived(),
        }
    }
}

/// What tells one state of a file from another without reading it: length, time of change in nanoseconds,
/// inode number (0 where there is none).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp(u64, u64, u64);

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        let changed = metadata
            .modified()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .and_then(|since| u64::try_from(since.as_nanos()).ok());
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let inode = 0;
        Self(metadata.len(), changed.unwrap_or(0), inode)
    }

    fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }
}

/// The files of one thread, as they look now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Stamps {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log: Option<Stamp>,
}

impl Stamps {
    fn now(layout: &Layout, id: &ThreadId) -> Self {
        Self {
            base: Stamp::at(&layout.base(id)),
            log: Stamp::at(&layout.log(id)),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    summary: ThreadSummary,
    /// `None` once the files are known to differ from what was seen last.
    stamps: Option<Stamps>,
}

/// The list of threads in memory.
#[derive(Debug, Default)]
pub(crate) struct Index {
    entries: HashMap<ThreadId, Entry>,
    changes: usize,
}

/// The threads folder, by its names alone.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    found: HashMap<ThreadId, Stamps>,
    /// What a crash left of files that were being written.
    pub(crate) leftovers: Vec<PathBuf>,
}

impl Survey {
    /// Looks at every name in the folder; a folder that isn't there is empty.
    pub(crate) fn take(folder: &Path) -> io::Result<Self> {
        let mut survey = Self::default();
        let names = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(survey),
            other => other?,
        };
        for name in names {
            let name = name?;
            let Some(kind) = Layout::kind_of(&name.file_name()) else {
                continue;
            };
            // Without following a link first: that costs one lookup, not two, for all the files that are none.
            let stamp = match name.metadata() {
                Ok(metadata) if metadata.is_symlink() => Stamp::at(&name.path()),
                Ok(metadata) if metadata.is_dir() => continue,
                Ok(metadata) => Some(Stamp::of(&metadata)),
                Err(_) => continue,
            };
            match kind {
                FileKind::Base(id) => survey.found.entry(id).or_default().base = stamp,
                FileKind::Log(id) => survey.found.entry(id).or_default().log = stamp,
                FileKind::Leftover => survey.leftovers.push(name.path()),
            }
        }
        Ok(survey)
    }
}

impl Index {
    /// The index as saved; empty when there is none or it can't be read.
    pub(crate) fn read(layout: &Layout) -> Self {
        #[derive(Deserialize)]
        struct Saved {
            version: u64,
            threads: Vec<Entry>,
        }
        let bytes = read_file(&layout.index()).ok().flatten();
        let entries = match bytes.map(|bytes| serde_json::from_slice::<Saved>(&bytes)) {
            Some(Ok(saved)) if saved.version == INDEX_VERSION => saved
                .threads
                .into_iter()
                .map(|entry| (entry.summary.id.clone(), entry))
                .collect(),
            Some(_) => {
                log::info!("the thread index is not readable and is rebuilt");
                HashMap::new()
            }
            None => HashMap::new(),
        };
        Self {
            entries,
            changes: 0,
        }
    }

    /// Writes the index. It need not survive a power cut, so nothing is synced. `unsaved` tells which threads
    /// are ahead of their files.
    pub(crate) fn write(
        &mut self,
        disk: &Disk,
        layout: &Layout,
        unsaved: impl Fn(&ThreadId) -> bool,
    ) -> io::Result<()> {
        #[derive(Serialize)]
        struct Saved<'a> {
            version: u64,
            threads: Vec<&'a Entry>,
        }
        for (id, entry) in &mut self.entries {
            if unsaved(id) {
                entry.stamps = None;
            } else if entry.stamps.is_none() {
                entry.stamps = Some(Stamps::now(layout, id));
            }
        }
        let saved = Saved {
            version: INDEX_VERSION,
            threads: self.entries.values().collect(),
        };
        disk.replace(&layout.index(), false, &mut |out| {
            serde_json::to_writer(out, &saved).map_err(io::Error::from)
        })?;
        self.changes = 0;
        Ok(())
    }

    /// Brings the index in line with the folder and reads what changed. Returns the threads that a quick
    /// look couldn't summarise.
    pub(crate) fn reconcile(&mut self, survey: &Survey, layout: &Layout) -> Vec<ThreadId> {
        let before = self.entries.len();
        self.entries.retain(|id, _| survey.found.contains_key(id));
        self.changes += before - self.entries.len();
        let mut unclear = Vec::new();
        for (id, stamps) in &survey.found {
            let known = self.entries.get(id);
            if known.is_some_and(|entry| entry.stamps == Some(*stamps)) {
                continue;
            }
            self.changes += 1;
            if let Some(summary) = summarise_files(id, *stamps, known, layout) {
                let entry = Entry {
                    summary,
                    stamps: Some(*stamps),
                };
                self.entries.insert(id.clone(), entry);
            } else {
                self.entries.remove(id);
                unclear.push(id.clone());
            }
        }
        unclear
    }

    /// Takes over what the index says of one thread from an older one.
    pub(crate) fn keep(&mut self, id: &ThreadId, from: &Self) {
        if let Some(entry) = from.entries.get(id) {
            self.entries.insert(id.clone(), entry.clone());
        }
    }

    /// Notes the state of a thread that is about to be saved.
    pub(crate) fn note(&mut self, thread: &Thread) {
        let entry = Entry {
            summary: ThreadSummary::of(thread),
            stamps: None,
        };
        self.entries.insert(thread.id().clone(), entry);
        self.changes += 1;
    }

    /// Notes a thread as read from its files.
    pub(crate) fn read_thread(&mut self, thread: &Thread) {
        let summary = ThreadSummary::of(thread);
        match self.entries.get(thread.id()) {
            Some(known) if known.summary == summary => {}
            _ => self.note(thread),
        }
    }

    /// Notes that the files of a thread changed.
    pub(crate) fn touch(&mut self, id: &ThreadId) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.stamps = None;
            self.changes += 1;
        }
    }

    pub(crate) fn forget(&mut self, id: &ThreadId) {
        self.changes += usize::from(self.entries.remove(id).is_some());
    }

    pub(crate) fn get(&self, id: &ThreadId) -> Option<&ThreadSummary> {
        self.entries.get(id).map(|entry| &entry.summary)
    }

    /// How many changes the saved index doesn't know of.
    pub(crate) fn changes(&self) -> usize {
        self.changes
    }

    /// All threads, the last used first.
    pub(crate) fn sorted(&self) -> Vec<ThreadSummary> {
        let mut sorted: Vec<&ThreadSummary> = self.entries.values().map(|e| &e.summary).collect();
        sorted.sort_unstable_by(|a, b| (b.updated_at, &b.id).cmp(&(a.updated_at, &a.id)));
        sorted.into_iter().cloned().collect()
    }
}

/// A summary from the files, reading as little as possible: a log is replayed over what is known of the thread
/// file. `None` if it takes a full reading.
fn summarise_files(
    id: &ThreadId,
    stamps: Stamps,
    known: Option<&Entry>,
    layout: &Layout,
) -> Option<ThreadSummary> {
    let usable = known.filter(|entry| {
        entry.stamps.is_some_and(|seen| {
            seen.base.is_some()
                && seen.base == stamps.base
                && (seen.log.is_none() || stamps.log.is_some())
        })
    });
    let mut summary = match (usable, stamps.base) {
        (Some(entry), _) => Some(entry.summary.clone()),
        (None, Some(_)) => Some(summarise(id, &read_file(&layout.base(id)).ok()??)?),
        (None, None) => None,
    };
    if stamps.log.is_some() {
        let bytes = read_file(&layout.log(id)).ok()?.unwrap_or_default();
        for glance in append_log::glances(&bytes) {
            match (glance, &mut summary) {
                (Glance::Begin(header), known) | (Glance::Header(header), known @ Some(_)) => {
                    *known = Some(ThreadSummary {
                        id: id.clone(),
                        title: header.title,
                        updated_at: header.updated_at,
                        messages: known.as_ref().map_or(0, |summary| summary.messages),
                        archived: header.archived,
                    });
                }
                (
                    Glance::Put {
                        updated_at,
                        message,
                    },
                    Some(summary),
                ) => {
                    // A place beyond the next is no place: the replay will stop there too.
                    if message.seq > summary.messages as u64 {
                        break;
                    }
                    summary.updated_at = updated_at;
                    summary.messages += usize::from(message.seq == summary.messages as u64);
                }
                (Glance::Grow(_), Some(_)) => {}
                (_, None) => return None,
            }
        }
    }
    summary
}
