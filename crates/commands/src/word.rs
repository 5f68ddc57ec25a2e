//! What a shell command consists of once it is taken apart.

use serde::Serialize;

/// A word after quotes are taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Word {
    /// Its text; what the shell would expand stands in it as written.
    pub text: String,
    /// Whether the shell puts something else in its place, or in part of it: a variable, a command's output, braces.
    pub dynamic: bool,
    /// Whether it names files by a pattern.
    pub glob: bool,
    /// Whether any of it was quoted; then it is no reserved word.
    pub quoted: bool,
}

impl Word {
    /// A word that is just its text.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// The text, if the shell takes it as it is.
    pub fn fixed(&self) -> Option<&str> {
        (!self.dynamic && !self.glob).then_some(self.text.as_str())
    }
}

/// Where a command reads from or writes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Redirect {
    /// The operator without the number before it, as `>>`.
    pub operator: String,
    /// The file, the number of another stream, or the text of a here-string.
    pub target: Word,
    /// The text of a here-document.
    pub body: Option<String>,
}

/// A command without any structure of the shell's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SimpleCommand {
    /// Variables set for it, or for the rest if there is no program.
    pub assignments: Vec<(String, Word)>,
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Its redirections.
    pub redirects: Vec<Redirect>,
    /// Whether another command's output is its input.
    pub fed_by_pipe: bool,
}

/// The command isn't understood; it must never be let through without being asked about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not understood: {what}, at character {at}")]
pub struct NotUnderstood {
    /// What stands in the way.
    pub what: String,
    /// Where, counted from 0.
    pub at: usize,
}
