//! What can go wrong, in words a model or a person can act on.

use std::io;

use serde::Serialize;

use crate::nearest::NearestBlock;

/// The kind of a refusal or failure: stable names that other programs may match on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// An argument makes no sense.
    InvalidInput,
    /// The path leads, or would lead, out of the folder.
    OutsideWorkspace,
    /// The place may be read and never written.
    Protected,
    /// The secret policy covers the path.
    Secret,
    /// There is nothing of that name.
    NotFound,
    /// The text to replace is there more than once.
    Ambiguous,
    /// The file is no longer the one that was read.
    Stale,
    /// The text to replace isn't there.
    NoMatch,
    /// The file isn't text.
    Binary,
    /// The text can't be held in the file's encoding, or can't be read in it without loss.
    Encoding,
    /// A size limit is passed.
    TooLarge,
    /// The operating system refused.
    Io,
    /// The deadline passed.
    Timeout,
    /// The caller stopped it.
    Cancelled,
}

/// A refusal or failure. The workspace is as it was before the call.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// An argument makes no sense: what is wrong with it, and what it was.
    #[error("{why}: {input}")]
    InvalidInput {
        /// What is wrong.
        why: String,
        /// The argument.
        input: String,
    },
    /// The path leads out of the workspace.
    #[error("outside the workspace, {why}: {path}")]
    Outside {
        /// How it leads out.
        why: String,
        /// The path as given.
        path: String,
    },
    /// The place is never written.
    #[error("protected, {why}: {path}")]
    Protected {
        /// What protects it.
        why: String,
        /// The path as given.
        path: String,
    },
    /// The secret policy covers the path, or what it leads to.
    #[error("kept secret by the rule `{rule}`, which only the user can change: {path}")]
    Secret {
        /// The rule as written in the policy.
        rule: String,
        /// The path as given.
        path: String,
    },
    /// Nothing of that name; with names that are near.
    #[error("not found{}: {path}", did_you_mean(.nearest))]
    NotFound {
        /// The path as given.
        path: String,
        /// Paths in the same folder with a similar name, the most similar first.
        nearest: Vec<String>,
    },
    /// The text occurs more than once; with the lines on which it begins, counted from 1.
    #[error("the text to replace occurs {count} times, on lines {}; add lines around it until it is unique: {path}", lines_of(.lines, *.count))]
    Ambiguous {
        /// Where it begins, at most 20 places.
        lines: Vec<u64>,
        /// How often it occurs.
        count: usize,
        /// The path as given.
        path: String,
    },
    /// The text doesn't occur; with the block that is most like it.
    #[error("the text to replace does not occur{}: {path}", .nearest.as_ref().map_or(String::new(), |block| format!("; the nearest block is\n{block}")))]
    NoMatch {
        /// The most similar block of the file, if any is similar at all.
        nearest: Option<NearestBlock>,
        /// The path as given.
        path: String,
    },
    /// The file changed since it was read.
    #[error("{why}; read it again: {path}")]
    Stale {
        /// What changed.
        why: String,
        /// The path as given.
        path: String,
    },
    /// The file isn't text.
    #[error("not text but {what}, {bytes} bytes: {path}")]
    Binary {
        /// What the bytes look like.
        what: String,
        /// Size of the file.
        bytes: u64,
        /// The path as given.
        path: String,
    },
    /// The encoding of the file stands in the way.
    #[error("{why}: {path}")]
    Encoding {
        /// What can't be done.
        why: String,
        /// The path as given.
        path: String,
    },
    /// A size limit is passed.
    #[error("{bytes} bytes are more than the limit of {limit}: {path}")]
    TooLarge {
        /// Size found.
        bytes: u64,
        /// The limit.
        limit: u64,
        /// The path as given.
        path: String,
    },
    /// The deadline passed.
    #[error("stopped after {millis} ms: {what}")]
    Timeout {
        /// How long it ran.
        millis: u64,
        /// What was running.
        what: String,
    },
    /// The caller stopped it.
    #[error("cancelled: {what}")]
    Cancelled {
        /// What was running.
        what: String,
    },
    /// The operating system refused.
    #[error("cannot {action}: {source}: {path}")]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The path as given.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    format!(", did you mean {}?", nearest.join(" or "))
}

fn lines_of(lines: &[u64], count: usize) -> String {
    let told: Vec<String> = lines.iter().map(u64::to_string).collect();
    let more = if count > lines.len() { ", ..." } else { "" };
    told.join(", ") + more
}

impl WorkspaceError {
    /// The stable name of the kind.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::InvalidInput { .. } => ErrorKind::InvalidInput,
            Self::Outside { .. } => ErrorKind::OutsideWorkspace,
            Self::Protected { .. } => ErrorKind::Protected,
            Self::Secret { .. } => ErrorKind::Secret,
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::Ambiguous { .. } => ErrorKind::Ambiguous,
            Self::NoMatch { .. } => ErrorKind::NoMatch,
            Self::Stale { .. } => ErrorKind::Stale,
            Self::Binary { .. } => ErrorKind::Binary,
            Self::Encoding { .. } => ErrorKind::Encoding,
            Self::TooLarge { .. } => ErrorKind::TooLarge,
            Self::Timeout { .. } => ErrorKind::Timeout,
            Self::Cancelled { .. } => ErrorKind::Cancelled,
            Self::Io { .. } => ErrorKind::Io,
        }
    }

    pub(crate) fn input(why: impl Into<String>, input: impl Into<String>) -> Self {
        Self::InvalidInput {
            why: why.into(),
            input: input.into(),
        }
    }

    pub(crate) fn io(
        action: &'static str,
        path: impl Into<String>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    pub(crate) fn os(
        action: &'static str,
        path: impl Into<String>,
    ) -> impl FnOnce(rustix::io::Errno) -> Self {
        let told = Self::io(action, path);
        move |errno| told(errno.into())
    }
}
