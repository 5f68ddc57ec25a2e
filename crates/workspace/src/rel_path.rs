//! A path inside a root, as it is given: checked by its letters alone, before the disk is asked.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize};

use crate::WorkspaceError;

/// Longest path that is looked at, in bytes.
const LONGEST: usize = 4096;

/// A relative path of plain names joined by `/`; empty for the root itself. No `.`, no `..`, no NUL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct RelPath(String);

impl RelPath {
    /// The root itself.
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// Reads a path as a model gives it. `.` and doubled slashes are dropped; anything absolute and any `..` is
    /// refused, also where it would come back: with links about, `a/../b` need not be `b`.
    ///
    /// # Errors
    /// The path is absolute, holds `..` or a NUL, or is longer than 4096 bytes.
    pub fn parse(given: &str) -> Result<Self, WorkspaceError> {
        if given.contains('\0') || given.len() > LONGEST {
            let shown: String = given.chars().take(80).collect();
            let why = "not a path: it is too long or holds a NUL character";
            return Err(WorkspaceError::input(why, shown.escape_debug().to_string()));
        }
        let outside = |why: &str| WorkspaceError::Outside {
            why: why.into(),
            path: given.into(),
        };
        if Path::new(given).is_absolute() || given.starts_with(['/', '~']) || has_drive(given) {
            return Err(outside(
                "paths are relative to the workspace, without a leading `/`, `~` or drive",
            ));
        }
        let mut names = Vec::new();
        for name in given.split(std::path::is_separator) {
            match name {
                "" | "." => {}
                ".." => return Err(outside("`..` is not allowed")),
                name => names.push(name),
            }
        }
        Ok(Self(names.join("/")))
    }

    /// A path of names that are known to be plain.
    pub(crate) fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(names.into_iter().collect::<Vec<_>>().join("/"))
    }

    /// The text of the path, joined by `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names it is made of, the outermost first.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// Whether this is the root itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The last name; none for the root.
    pub fn name(&self) -> Option<&str> {
        self.names().next_back()
    }

    /// The path above; none for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let end = self.0.rfind('/').unwrap_or(0);
        Some(Self(self.0[..end].to_owned()))
    }

    /// Whether the other path is inside this one.
    pub(crate) fn is_above(&self, other: &Self) -> bool {
        let rest = other.0.strip_prefix(&self.0);
        rest.is_some_and(|rest| rest.starts_with('/'))
    }

    /// The path of something inside, given by plain names joined by `/`.
    pub(crate) fn below(&self, names: &str) -> Self {
        match (self.is_root(), names.is_empty()) {
            (true, _) => Self(names.to_owned()),
            (false, true) => self.clone(),
            (false, false) => Self(format!("{}/{names}", self.0)),
        }
    }

    /// The path of something directly inside.
    pub(crate) fn join(&self, name: &str) -> Self {
        if self.is_root() {
            return Self(name.to_owned());
        }
        Self(format!("{}/{name}", self.0))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// `C:` and the like, which Windows takes for a place of its own.
fn has_drive(given: &str) -> bool {
    cfg!(windows) && given.as_bytes().get(1) == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn dots_and_doubled_slashes_are_dropped() {
        for (given, kept) in [
            ("", ""),
            (".", ""),
            ("./a//b/./c/", "a/b/c"),
            ("a..b/...", "a..b/..."),
        ] {
            assert_eq!(RelPath::parse(given).unwrap().as_str(), kept, "{given}");
        }
    }

    #[test]
    fn whatever_may_lead_out_is_refused_by_its_letters() {
        for given in ["/etc/passwd", "..", "a/../b", "a/..", "~/x", "~root"] {
            let error = RelPath::parse(given).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutsideWorkspace, "{given}");
        }
        for given in ["a\0b", &"x/".repeat(3000)] {
            let error = RelPath::parse(given).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{given}");
        }
    }
}
