//! What the store has to tell the person: notices, access, errors.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::ThreadId;

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeSeverity {
    /// Something was repaired; nothing that was saved is missing.
    Warning,
    /// Something is missing, or can't be saved.
    Error,
}

/// Something the person should read: what happened, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How much it matters.
    pub severity: NoticeSeverity,
    /// What happened, where, and what to do; whole sentences.
    pub text: String,
    /// The file or folder it is about.
    pub path: Option<PathBuf>,
}

impl Notice {
    pub(crate) fn warning(text: impl Into<String>, path: &Path) -> Self {
        Self {
            severity: NoticeSeverity::Warning,
            text: text.into(),
            path: Some(path.to_owned()),
        }
    }

    pub(crate) fn error(text: impl Into<String>, path: &Path) -> Self {
        Self {
            severity: NoticeSeverity::Error,
            ..Self::warning(text, path)
        }
    }
}

/// Whether a store may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// This process holds the data folder's lock.
    ReadWrite,
    /// Nothing is written, not even repairs.
    ReadOnly {
        /// Why, as part of a sentence.
        reason: String,
    },
}

/// Why the store could not do what was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The store was opened without the right to write.
    #[error("threads are read-only: {reason}")]
    ReadOnly {
        /// Why, as in [`Access::ReadOnly`].
        reason: String,
    },
    /// The id can't be the name of a file.
    #[error("not a usable thread id: {0:?}")]
    BadId(ThreadId),
    /// Neither a thread file nor a log of this name exists.
    #[error("no such thread: {0}")]
    NotFound(ThreadId),
    /// A thread file of this name exists.
    #[error("thread already exists: {0}")]
    Exists(ThreadId),
    /// The thread file holds no thread. What it holds was kept under another name.
    #[error("thread file is damaged ({reason}): {path}", path = renamed_to.as_ref().unwrap_or(path).display())]
    Corrupt {
        /// Where the file lay.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// Where it lies now; `None` when it could not be moved, or the store is read-only.
        renamed_to: Option<PathBuf>,
    },
    /// The thread file was written by another version of the format. It stays where it is.
    #[error("thread format version {version} is not known to this version of the program: {path}", path = path.display())]
    Version {
        /// The version the file names.
        version: u64,
        /// The file.
        path: PathBuf,
    },
    /// The file is larger than a thread may be. It stays where it is.
    #[error("file of {bytes} bytes is too large to open: {path}", path = path.display())]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The file.
        path: PathBuf,
    },
    /// A message was put or grown before the messages that come before it.
    #[error("message number {found} can't be saved where {expected} is the next: {thread}")]
    Gap {
        /// The thread.
        thread: ThreadId,
        /// The number that would be next.
        expected: u64,
        /// The number given.
        found: u64,
    },
    /// The log is shorter than what was written to it, so another program changed it. Folding the thread
    /// puts it right.
    #[error("log was shortened by another program: {path}", path = path.display())]
    LogShortened {
        /// The log.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot {action}: {source}: {path}", path = path.display())]
    Io {
        /// What was tried, as a verb phrase.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    /// The file it is about, where there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Corrupt {
                path, renamed_to, ..
            } => Some(renamed_to.as_ref().unwrap_or(path)),
            Self::Version { path, .. }
            | Self::TooLarge { path, .. }
            | Self::LogShortened { path }
            | Self::Io { path, .. } => Some(path),
            Self::ReadOnly { .. }
            | Self::BadId(_)
            | Self::NotFound(_)
            | Self::Exists(_)
            | Self::Gap { .. } => None,
        }
    }

    /// The error as something to show: its own text, and what to do about it where that is known.
    pub fn to_notice(&self) -> Notice {
        let advice = match self {
            Self::Corrupt { .. } => Some(
                "Its bytes are kept; repair the file and give it back its name to open the thread again.",
            ),
            Self::Version { .. } => Some("Open it with a newer version of Folkmoot."),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => Some(
                "The disk is full: free some space. Until then the thread lives in memory only.",
            ),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                Some("The disk is read-only. Until that changes the thread lives in memory only.")
            }
            Self::Io { .. } => Some("What was not saved is kept in memory and tried again."),
            _ => None,
        };
        let text = self.to_string();
        Notice {
            severity: NoticeSeverity::Error,
            text: match advice {
                Some(advice) => format!("{}. {advice}", sentence(&text)),
                None => format!("{}.", sentence(&text)),
            },
            path: self.path().map(Path::to_owned),
        }
    }
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_as_a_sentence_with_its_place_and_what_to_do() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let error = StoreError::io("write", Path::new("/home/a/t.log"))(full);
        assert!(error.to_string().ends_with(": /home/a/t.log"));
        let notice = error.to_notice();
        assert!(notice.text.starts_with("Cannot write: "));
        assert!(notice.text.contains("free some space"));
        assert_eq!(notice.path.as_deref(), Some(Path::new("/home/a/t.log")));
    }
}
