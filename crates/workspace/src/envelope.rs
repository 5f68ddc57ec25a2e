//! The envelope patch: `*** Begin Patch` with files to add, delete, update and move, in hunks without line numbers.
//!
//! A hunk is found by its lines, which must be in the file in exactly one place; `@@` lines narrow the search to the
//! block they head. Context lines keep the file's own bytes.

use crate::nearest::nearest_block;
use crate::patch::{FilePatch, Patch};
use crate::{ViewEdit, WorkspaceError};

/// A hunk of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// What heads the block in which the hunk is, the outermost first.
    pub headers: Vec<String>,
    /// Its lines, in order.
    pub lines: Vec<HunkLine>,
    /// Whether it must be at the end of the file.
    pub at_end: bool,
}

/// A line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HunkLine {
    /// There, and stays.
    Context(String),
    /// There, and goes.
    Remove(String),
    /// Comes.
    Add(String),
}

fn malformed(why: &str, line: &str) -> WorkspaceError {
    WorkspaceError::input(format!("not a patch, {why}"), line)
}

/// Reads an envelope patch.
///
/// # Errors
/// It isn't one; the line is told.
pub fn parse_envelope(text: &str) -> Result<Patch, WorkspaceError> {
    let text = text.replace("\r\n", "\n");
    let mut lines = text.trim_matches('\n').lines().peekable();
    if lines.next().map(str::trim_end) != Some("*** Begin Patch") {
        return Err(malformed(
            "it must begin with `*** Begin Patch`",
            text.lines().next().unwrap_or(""),
        ));
    }
    let mut files = Vec::new();
    let mut ended = false;
    while let Some(line) = lines.next() {
        let line = line.trim_end();
        if line == "*** End Patch" {
            ended = true;
            break;
        }
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            let mut content = String::new();
            while let Some(added) = lines.peek().and_then(|next| next.strip_prefix('+')) {
                content.push_str(added);
                content.push('\n');
                lines.next();
            }
            files.push(FilePatch::Add {
                path: path.trim().into(),
                content,
            });
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            files.push(FilePatch::Delete {
                path: path.trim().into(),
            });
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            let moved = lines
                .peek()
                .and_then(|next| next.strip_prefix("*** Move to: "));
            let move_to = moved.map(|to| to.trim().to_owned());
            if move_to.is_some() {
                lines.next();
            }
            let mut body = Vec::new();
            while let Some(next) = lines.peek() {
                if next.starts_with("*** ") && next.trim_end() != "*** End of File" {
                    break;
                }
                body.push(*next);
                lines.next();
            }
            let hunks = hunks_of(&body)?;
            if hunks.is_empty() && move_to.is_none() {
                return Err(malformed("an update without a hunk", line));
            }
            files.push(FilePatch::Update {
                path: path.trim().into(),
                move_to,
                hunks,
            });
        } else {
            return Err(malformed(
                "this line is none of the ones that begin a file",
                line,
            ));
        }
    }
    if !ended || lines.any(|line| !line.trim().is_empty()) {
        return Err(malformed("it must end with `*** End Patch`, once", ""));
    }
    if files.is_empty() {
        return Err(malformed("it has no file", ""));
    }
    Ok(Patch { files })
}

fn hunks_of(lines: &[&str]) -> Result<Vec<Hunk>, WorkspaceError> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut open = false;
    for line in lines {
        if line.trim_end() == "*** End of File" {
            let Some(hunk) = hunks.last_mut().filter(|hunk| !hunk.lines.is_empty()) else {
                return Err(malformed("the end of the file belongs after a hunk", line));
            };
            hunk.at_end = true;
            open = false;
            continue;
        }
        if let Some(header) = line.strip_prefix("@@") {
            // Headers right after one another head the same hunk.
            let nested = hunks.last().is_some_and(|hunk| hunk.lines.is_empty());
            if !nested {
                hunks.push(Hunk::default());
            }
            open = true;
            let header = header.trim().trim_end_matches("@@").trim();
            // A unified diff's line numbers say nothing reliable.
            let is_numbers = header.starts_with('-') && header.contains('+');
            if !header.is_empty()
                && !is_numbers
                && let Some(hunk) = hunks.last_mut()
            {
                hunk.headers.push(header.to_owned());
            }
            continue;
        }
        if !open {
            hunks.push(Hunk::default());
            open = true;
        }
        let parsed = match line.chars().next() {
            None => HunkLine::Context(String::new()),
            Some(' ') => HunkLine::Context(line[1..].to_owned()),
            Some('-') => HunkLine::Remove(line[1..].to_owned()),
            Some('+') => HunkLine::Add(line[1..].to_owned()),
            Some(_) => {
                return Err(malformed(
                    "lines of a hunk begin with ` `, `+` or `-`",
                    line,
                ));
            }
        };
        if let Some(hunk) = hunks.last_mut() {
            hunk.lines.push(parsed);
        }
    }
    hunks.retain(|hunk| !hunk.lines.is_empty());
    for hunk in &hunks {
        if hunk
            .lines
            .iter()
            .all(|line| matches!(line, HunkLine::Context(_)))
        {
            return Err(malformed("a hunk that changes nothing", ""));
        }
    }
    Ok(hunks)
}

/// Where lines of a view begin, and the lines without their ends.
struct Lines<'a> {
    text: Vec<&'a str>,
    starts: Vec<usize>,
    len: usize,
}

impl<'a> Lines<'a> {
    fn of(view: &'a str) -> Self {
        let mut starts = Vec::new();
        let mut at = 0;
        let text = view
            .split_inclusive('\n')
            .map(|line| {
                starts.push(at);
                at += line.len();
                line.strip_suffix('\n').unwrap_or(line)
            })
            .collect();
        Self {
            text,
            starts,
            len: view.len(),
        }
    }

    fn start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.len)
    }
}

/// How the lines of a hunk were recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Likeness {
    Exact,
    /// But for white space at the ends of lines.
    TrailingSpace,
}

impl Likeness {
    fn same(self, one: &str, other: &str) -> bool {
        match self {
            Self::Exact => one == other,
            Self::TrailingSpace => one.trim_end() == other.trim_end(),
        }
    }
}

/// The edits of all hunks in order of place, and how they were found if not exactly.
pub(crate) fn hunk_edits(
    view: &str,
    hunks: &[Hunk],
    path: &str,
) -> Result<(Vec<ViewEdit>, Option<&'static str>), WorkspaceError> {
    let lines = Lines::of(view);
    let mut edits = Vec::new();
    let mut fallback = None;
    for hunk in hunks {
        let (at, likeness) = place_of(&lines, hunk, view, path)?;
        if likeness == Likeness::TrailingSpace {
            fallback = Some("trailing_space");
        }
        edits.push(edit_at(&lines, hunk, at, view));
    }
    edits.sort_by_key(|edit| edit.range.start);
    let overlap = edits.windows(2).any(|pair| {
        pair[0].range.end > pair[1].range.start || pair[0].range.start == pair[1].range.start
    });
    if overlap {
        return Err(WorkspaceError::input(
            "two hunks of the patch overlap",
            path,
        ));
    }
    Ok((edits, fallback))
}

fn old_lines(hunk: &Hunk) -> Vec<&str> {
    let there = hunk.lines.iter().filter_map(|line| match line {
        HunkLine::Context(text) | HunkLine::Remove(text) => Some(text.as_str()),
        HunkLine::Add(_) => None,
    });
    there.collect()
}

/// The line at which the hunk's old lines begin.
fn place_of(
    lines: &Lines<'_>,
    hunk: &Hunk,
    view: &str,
    path: &str,
) -> Result<(usize, Likeness), WorkspaceError> {
    let old = old_lines(hunk);
    if old.iter().all(|line| line.trim().is_empty()) {
        if old.is_empty() && (hunk.at_end || lines.text.is_empty()) && hunk.headers.is_empty() {
            return Ok((lines.text.len(), Likeness::Exact));
        }
        let why = "a hunk that only adds needs lines of the file around it";
        return Err(WorkspaceError::input(why, path));
    }
    let (from, to) = block_of(lines, &hunk.headers, path)?;
    for likeness in [Likeness::Exact, Likeness::TrailingSpace] {
        let found: Vec<usize> = (from..to.saturating_sub(old.len() - 1))
            .filter(|at| {
                let fits_end = !hunk.at_end || at + old.len() == lines.text.len();
                fits_end
                    && old
                        .iter()
                        .zip(&lines.text[*at..])
                        .all(|(old, line)| likeness.same(old, line))
            })
            .collect();
        match found[..] {
            [] => {}
            [only] => return Ok((only, likeness)),
            _ => {
                return Err(WorkspaceError::Ambiguous {
                    lines: found.iter().take(20).map(|at| *at as u64 + 1).collect(),
                    count: found.len(),
                    path: path.into(),
                });
            }
        }
    }
    Err(WorkspaceError::NoMatch {
        nearest: nearest_block(view, &old.join("\n")),
        path: path.into(),
    })
}

/// The lines of the block that the headers lead to: from the line after the last header to where the block ends, which
/// is at the first line that is indented no deeper than the header.
fn block_of(
    lines: &Lines<'_>,
    headers: &[String],
    path: &str,
) -> Result<(usize, usize), WorkspaceError> {
    let (mut from, mut to) = (0, lines.text.len());
    for header in headers {
        let named: Vec<usize> = (from..to)
            .filter(|at| lines.text[*at].trim() == header.trim())
            .collect();
        let at = match named[..] {
            [only] => only,
            [] => {
                return Err(WorkspaceError::NoMatch {
                    nearest: nearest_block(&lines.text.join("\n"), header),
                    path: path.into(),
                });
            }
            _ => {
                return Err(WorkspaceError::Ambiguous {
                    lines: named.iter().take(20).map(|at| *at as u64 + 1).collect(),
                    count: named.len(),
                    path: path.into(),
                });
            }
        };
        let indent = |line: &str| line.len() - line.trim_start().len();
        let depth = indent(lines.text[at]);
        let closes = |line: &str| line.trim_start().starts_with(['}', ')', ']', '{']);
        let end = (at + 1..to).find(|next| {
            let line = lines.text[*next];
            !line.trim().is_empty() && indent(line) <= depth && !closes(line)
        });
        // The header itself may be the first line of the hunk.
        from = at;
        to = end.unwrap_or(to);
    }
    Ok((from, to))
}

fn edit_at(lines: &Lines<'_>, hunk: &Hunk, at: usize, view: &str) -> ViewEdit {
    let mut new: Vec<&str> = Vec::new();
    let mut line = at;
    for part in &hunk.lines {
        match part {
            HunkLine::Context(_) => {
                new.push(lines.text[line]);
                line += 1;
            }
            HunkLine::Remove(_) => line += 1,
            HunkLine::Add(text) => new.push(text),
        }
    }
    let (start, end) = (lines.start(at), lines.start(line));
    let ended = view[..end].ends_with('\n');
    let mut text = new.join("\n");
    if start == end && start > 0 && !view.ends_with('\n') && start == view.len() {
        // Added at the end of a file whose last line isn't ended.
        text.insert(0, '\n');
    } else if (ended || start == end) && !new.is_empty() {
        text.push('\n');
    }
    ViewEdit {
        range: start..end,
        text,
    }
}
