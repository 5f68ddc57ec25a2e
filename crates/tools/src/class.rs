//! What a tool may do, and what a caller may have done.

use serde::{Deserialize, Serialize};

/// The permission class of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// It changes nothing.
    Read,
    /// It changes files of the open folder, in a way that can be taken back.
    Write,
    /// It runs programs.
    Command,
    /// It reaches other machines.
    Network,
}

impl Class {
    /// Whether calls of this class may run beside each other.
    pub fn is_read_only(self) -> bool {
        self == Self::Read
    }
}

/// What a caller is allowed: the lock beside the composer. Whoever calls on behalf of another has at most the other's.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Tools of the class [`Class::Read`].
    #[default]
    Read,
    /// All tools.
    Full,
}

impl Tier {
    /// Whether tools of a class may be called.
    pub fn allows(self, class: Class) -> bool {
        self == Self::Full || class == Class::Read
    }
}
