//! Where the files of a data folder lie.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::{StoreError, ThreadId, Timestamp};

/// What a file in the threads folder is, by its name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Base(ThreadId),
    Log(ThreadId),
    /// What a crash left of a file that was being written.
    Leftover,
}

/// The paths below one data folder.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    home: PathBuf,
    threads: PathBuf,
    deleted: PathBuf,
}

impl Layout {
    pub(crate) fn new(home: &Path) -> Self {
        let threads = home.join("threads");
        Self {
            home: home.to_owned(),
            deleted: threads.join(".deleted"),
            threads,
        }
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn threads(&self) -> &Path {
        &self.threads
    }

    pub(crate) fn deleted(&self) -> &Path {
        &self.deleted
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.home.join("lock")
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.threads.join("index.json")
    }

    pub(crate) fn base(&self, id: &ThreadId) -> PathBuf {
        self.threads.join(format!("{id}.json"))
    }

    pub(crate) fn log(&self, id: &ThreadId) -> PathBuf {
        self.threads.join(format!("{id}.log"))
    }

    pub(crate) fn journal(&self, id: &ThreadId) -> PathBuf {
        self.threads.join(format!("{id}.journal.jsonl"))
    }

    pub(crate) fn journal_bodies(&self, id: &ThreadId) -> PathBuf {
        self.threads.join(format!("{id}.journal.bodies"))
    }

    /// A name that is free for something that is put aside: `<id>.<label>-<time>[.<extension>]`.
    pub(crate) fn aside(
        &self,
        id: &ThreadId,
        label: &str,
        extension: &str,
        now: Timestamp,
    ) -> PathBuf {
        let mut stamp = now.to_string();
        stamp.retain(|c| c.is_ascii_alphanumeric());
        let name = |nth: u32| match nth {
            1 => format!("{id}.{label}-{stamp}{extension}"),
            _ => format!("{id}.{label}-{stamp}-{nth}{extension}"),
        };
        let mut nth = 1;
        loop {
            let path = self.threads.join(name(nth));
            if path.symlink_metadata().is_err() {
                return path;
            }
            nth += 1;
        }
    }

    pub(crate) fn kind_of(name: &OsStr) -> Option<FileKind> {
        let name = name.to_str()?;
        if name.starts_with('.') {
            return name.ends_with(".tmp").then_some(FileKind::Leftover);
        }
        let (stem, kind): (_, fn(ThreadId) -> FileKind) = match name.strip_suffix(".json") {
            Some(stem) => (stem, FileKind::Base),
            None => (name.strip_suffix(".log")?, FileKind::Log),
        };
        let id = ThreadId::from(stem);
        check_id(&id).ok().map(|()| kind(id))
    }
}

/// Whether files may be named after the id. `index` is taken.
pub(crate) fn check_id(id: &ThreadId) -> Result<(), StoreError> {
    if id.is_file_safe() && id.as_str() != "index" {
        Ok(())
    } else {
        Err(StoreError::BadId(id.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_thread_files_and_logs_are_recognised() {
        let kind = |name: &str| Layout::kind_of(OsStr::new(name));
        assert_eq!(kind("a-1.json"), Some(FileKind::Base("a-1".into())));
        assert_eq!(kind("a-1.log"), Some(FileKind::Log("a-1".into())));
        assert_eq!(kind(".a-1.json.tmp"), Some(FileKind::Leftover));
        for other in [
            "index.json",
            "a.corrupt-20260101T000000000Z.json",
            "a.journal.jsonl",
            "a.journal.bodies",
            "a copy.json",
            "a",
            ".json",
            "é.json",
        ] {
            assert_eq!(kind(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_put_aside_never_takes_a_name_in_use() {
        let home = tempfile::tempdir().unwrap();
        let layout = Layout::new(home.path());
        std::fs::create_dir_all(layout.threads()).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let first = layout.aside(&"a".into(), "corrupt", ".json", now);
        assert!(first.ends_with("threads/a.corrupt-19700101T000000000Z.json"));
        std::fs::write(&first, "").unwrap();
        let second = layout.aside(&"a".into(), "corrupt", ".json", now);
        assert!(second.ends_with("threads/a.corrupt-19700101T000000000Z-2.json"));
    }
}
