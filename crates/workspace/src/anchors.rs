//! Edits by line anchors: the view shows a short hash beside each line number, and edits name lines by both, so that
//! an edit against lines that have changed, or moved, is refused without retyping them.

use serde::{Deserialize, Serialize};

use crate::text_file::count_lines;
use crate::{ContentHash, ViewEdit, WorkspaceError};

/// Hex digits of a line's hash that are shown.
const DIGITS: usize = 4;

/// An edit of whole lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum AnchorEdit {
    /// Lines go and others come.
    Replace {
        /// The first line that goes, as `12:a3f0`.
        from: String,
        /// The last line that goes.
        to: String,
        /// The lines that come; empty to only remove.
        text: String,
    },
    /// Lines come after a line.
    InsertAfter {
        /// The line, as `12:a3f0`.
        line: String,
        /// The lines that come.
        text: String,
    },
}

fn hash_of(line: &str) -> String {
    let mut digits = ContentHash::of(line.as_bytes()).to_string();
    digits.truncate(DIGITS);
    digits
}

/// Lines with their anchors, numbered from `first`.
pub fn anchored(text: &str, first: u64) -> String {
    (first..)
        .zip(text.lines())
        .map(|(number, line)| format!("{number}:{}| {line}\n", hash_of(line)))
        .collect()
}

/// Where each line begins, and its text.
struct Anchored<'a> {
    view: &'a str,
    path: &'a str,
    lines: Vec<(usize, &'a str)>,
}

impl<'a> Anchored<'a> {
    fn of(view: &'a str, path: &'a str) -> Self {
        let mut at = 0;
        let lines = view.split_inclusive('\n').map(|line| {
            let start = at;
            at += line.len();
            (start, line)
        });
        let lines = lines.collect();
        Self { view, path, lines }
    }

    /// The index of the line that an anchor names.
    fn find(&self, anchor: &str) -> Result<usize, WorkspaceError> {
        let parsed = anchor.trim().split_once(':').and_then(|(number, hash)| {
            let number: usize = number.trim().parse().ok()?;
            (hash.len() == DIGITS && number > 0).then_some((number - 1, hash))
        });
        let Some((index, hash)) = parsed else {
            let why = "an anchor is a line number and its four digits, as in 12:a3f0";
            return Err(WorkspaceError::input(why, anchor));
        };
        let line = self
            .lines
            .get(index)
            .map(|(_, line)| line.strip_suffix('\n').unwrap_or(line));
        if line.is_none_or(|line| !hash_of(line).eq_ignore_ascii_case(hash)) {
            let count = count_lines(self.view);
            return Err(WorkspaceError::Stale {
                why: format!("line {anchor} is not as it was shown (the file has {count} lines)"),
                path: self.path.into(),
            });
        }
        Ok(index)
    }

    fn end_of(&self, index: usize) -> usize {
        self.lines
            .get(index + 1)
            .map_or(self.view.len(), |(start, _)| *start)
    }
}

/// The edits in the view, in order of place.
pub(crate) fn anchor_edits(
    view: &str,
    edits: &[AnchorEdit],
    path: &str,
) -> Result<Vec<ViewEdit>, WorkspaceError> {
    let lines = Anchored::of(view, path);
    let mut found = Vec::new();
    for edit in edits {
        let (range, text) = match edit {
            AnchorEdit::Replace { from, to, text } => {
                let (from, to) = (lines.find(from)?, lines.find(to)?);
                if to < from {
                    return Err(WorkspaceError::input(
                        "the last line is before the first",
                        path,
                    ));
                }
                (lines.lines[from].0..lines.end_of(to), text)
            }
            AnchorEdit::InsertAfter { line, text } => {
                let at = lines.end_of(lines.find(line)?);
                (at..at, text)
            }
        };
        let mut text = text.replace("\r\n", "\n");
        let ended = view[..range.end].ends_with('\n');
        if !text.is_empty() && ended && !text.ends_with('\n') {
            text.push('\n');
        }
        if !ended {
            // The last line of a file without a line end at its end keeps it so.
            let bare = text.strip_suffix('\n').unwrap_or(&text);
            text = if range.is_empty() {
                format!("\n{bare}")
            } else {
                bare.to_owned()
            };
        }
        found.push(ViewEdit { range, text });
    }
    found.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let clash = found
        .windows(2)
        .any(|pair| pair[0].range.end > pair[1].range.start || pair[0].range == pair[1].range);
    if clash {
        return Err(WorkspaceError::input(
            "two edits touch the same lines",
            path,
        ));
    }
    Ok(found)
}
