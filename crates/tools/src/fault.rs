//! Why a call gave no result, in words a model or a person can act on.

use std::fmt;
use std::io;

use serde::{Serialize, Serializer};
use workspace::{ErrorKind, WorkspaceError};

/// The kind of a refusal or failure: stable names that other programs may match on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// No tool has this name.
    UnknownTool,
    /// The caller's tier, the folder's trust or a setting rules it out.
    NotAllowed,
    /// The person, or a rule of theirs, said no.
    Denied,
    /// What working with files gives, [`ErrorKind::InvalidInput`] also for arguments that don't fit the schema.
    Of(ErrorKind),
}

impl FaultKind {
    /// The arguments are to be put right by the caller.
    pub const INVALID_INPUT: Self = Self::Of(ErrorKind::InvalidInput);
    /// The caller stopped it.
    pub const CANCELLED: Self = Self::Of(ErrorKind::Cancelled);

    /// The name, in snake case.
    pub fn name(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::NotAllowed => "not_allowed",
            Self::Denied => "denied",
            Self::Of(kind) => match kind {
                ErrorKind::InvalidInput => "invalid_input",
                ErrorKind::OutsideWorkspace => "outside_workspace",
                ErrorKind::Protected => "protected",
                ErrorKind::Secret => "secret",
                ErrorKind::NotFound => "not_found",
                ErrorKind::Ambiguous => "ambiguous",
                ErrorKind::Stale => "stale",
                ErrorKind::NoMatch => "no_match",
                ErrorKind::Binary => "binary",
                ErrorKind::Encoding => "encoding",
                ErrorKind::TooLarge => "too_large",
                ErrorKind::Io => "io",
                ErrorKind::Timeout => "timeout",
                ErrorKind::Cancelled => "cancelled",
            },
        }
    }

    /// Whether the caller made a mistake in how it called, which it can put right.
    pub fn is_bad_call(self) -> bool {
        matches!(self, Self::UnknownTool | Self::INVALID_INPUT)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for FaultKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A refusal or failure of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct ToolFault {
    /// What kind.
    pub kind: FaultKind,
    /// What happened and what to do about it.
    pub message: String,
}

impl ToolFault {
    /// A fault.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// The arguments are to be put right.
    pub fn invalid_input(message: impl Into<String>) -> Self {
        Self::new(FaultKind::INVALID_INPUT, message)
    }

    /// The caller stopped it.
    pub fn cancelled() -> Self {
        Self::new(FaultKind::CANCELLED, "stopped by the person")
    }

    /// As a model is told.
    pub fn text(&self) -> String {
        format!("Error ({}): {}", self.kind, self.message)
    }
}

impl From<WorkspaceError> for ToolFault {
    fn from(error: WorkspaceError) -> Self {
        Self::new(FaultKind::Of(error.kind()), error.to_string())
    }
}

impl From<io::Error> for ToolFault {
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::InvalidInput => ErrorKind::InvalidInput,
            io::ErrorKind::TimedOut => ErrorKind::Timeout,
            _ => ErrorKind::Io,
        };
        Self::new(FaultKind::Of(kind), error.to_string())
    }
}
