//! Reading a file: numbered lines of text, a window at a time.

use std::fs::File;
use std::io::{BufReader, Read};

use memchr::memchr;
use serde::{Deserialize, Serialize};

use crate::charset::{Charset, Nature, nature};
use crate::content_hash::ContentHasher;
use crate::ledger::ReadLedger;
use crate::overlay::Buffer;
use crate::root::{Follow, Found, not_a_file};
use crate::text_file::LineEnd;
use crate::workspace::{Access, Located, Workspace};
use crate::{ContentHash, TextFile, WorkspaceError};

/// Files up to this size are read and edited whole; larger ones are only read, in passing.
pub const TEXT_LIMIT: u64 = 10 * 1024 * 1024;
/// As many lines are returned unless fewer are asked for.
const MOST_LINES: u64 = 2_000;
/// As many bytes of text are returned.
const MOST_BYTES: usize = 256 * 1024;
/// A line is cut after as many characters.
const LONGEST_LINE: usize = 2_000;

/// Which part of which file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadRequest {
    /// The file.
    pub path: String,
    /// The first line, from 1; the first of the file unless given.
    #[serde(default)]
    pub offset: Option<u64>,
    /// How many lines; up to 2,000, and 256 KiB of text, in one call.
    #[serde(default)]
    pub limit: Option<u64>,
}

/// Part of a text file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReadFile {
    /// The file.
    pub path: String,
    /// The first and the last line of `text`, from 1; `[0, 0]` if there is none.
    pub lines: [u64; 2],
    /// Lines of the whole file.
    pub total_lines: u64,
    /// Bytes of the whole file.
    pub bytes: u64,
    /// The encoding.
    pub encoding: Charset,
    /// How lines end in the file; in `text` they end with a line feed.
    pub line_end: LineEnd,
    /// The lines.
    pub text: String,
    /// The hash of the whole file.
    pub hash: ContentHash,
    /// Whether lines that were asked for are left out, by a limit of this call.
    pub truncated: bool,
    /// How many lines were cut because they are longer than 2,000 characters.
    pub cut_lines: u64,
    /// Whether the text is that of an open buffer with unsaved changes.
    pub unsaved: bool,
}

impl ReadFile {
    /// The lines with their numbers, right-aligned, and a note on what is left out.
    pub fn numbered(&self) -> String {
        let mut out = numbered(&self.text, self.lines[0]);
        let [from, to] = self.lines;
        if self.total_lines == 0 {
            out.push_str("(empty)\n");
        } else if from > 1 || to < self.total_lines {
            out.push_str(&format!("(lines {from}-{to} of {})\n", self.total_lines));
        }
        if self.cut_lines > 0 {
            out.push_str(&format!(
                "({} lines were cut after {LONGEST_LINE} characters)\n",
                self.cut_lines
            ));
        }
        out
    }
}

/// Lines with their numbers, as tools show them.
pub(crate) fn numbered(text: &str, first: u64) -> String {
    (first..)
        .zip(text.lines())
        .map(|(number, line)| format!("{number:>4}| {line}\n"))
        .collect()
}

/// A text that may be edited, and where it lives.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) text: TextFile,
    pub(crate) buffer: Option<Buffer>,
}

impl Workspace {
    /// Reads lines of a file; the reader's ledger learns which version was seen.
    ///
    /// # Errors
    /// The path is refused, there is no such file, or it isn't text.
    pub fn read_file(
        &self,
        request: &ReadRequest,
        ledger: &ReadLedger,
    ) -> Result<ReadFile, WorkspaceError> {
        let located = self.locate_existing(&request.path, Access::Read, Follow::Whole)?;
        let shown = located.path.to_string();
        let window = Window::of(request)?;
        let size = self.size_of(&located)?;
        if size > TEXT_LIMIT && self.buffers().buffer(&located.real).is_none() {
            let file = located.place.open_file(&shown)?;
            let read = read_in_passing(file, size, &window, shown)?;
            ledger.note(&located.real, read.hash, None);
            return Ok(read);
        }
        let opened = self.open_text(&located)?;
        let text = &opened.text;
        let hash = text.hash();
        ledger.note(&located.real, hash, Some(text.view()));
        let mut taken = Taken::new(&window);
        for line in text.view().split_inclusive('\n') {
            taken.line(line);
        }
        let unsaved = opened.buffer.as_ref().is_some_and(|buffer| buffer.dirty);
        Ok(taken.finish(Whole {
            path: shown,
            bytes: text.raw().len() as u64,
            encoding: text.charset(),
            line_end: text.line_end(),
            hash,
            unsaved,
        }))
    }

    fn size_of(&self, located: &Located<'_>) -> Result<u64, WorkspaceError> {
        match located.place.found {
            Found::File(stat) => Ok(u64::try_from(stat.st_size).unwrap_or(0)),
            Found::Folder => {
                let why = "a folder; list it instead";
                Err(WorkspaceError::input(why, located.path.to_string()))
            }
            _ => Err(not_a_file(located.path.as_str())),
        }
    }

    /// The whole text of a file of at most [`TEXT_LIMIT`], from its buffer if it is open.
    pub(crate) fn open_text(&self, located: &Located<'_>) -> Result<Opened, WorkspaceError> {
        let shown = located.path.as_str();
        let buffer = self.buffers().buffer(&located.real);
        if let Some(buffer) = buffer.as_ref().filter(|buffer| buffer.dirty) {
            let text = TextFile::of_buffer(&buffer.text);
            let buffer = Some(buffer.clone());
            return Ok(Opened { text, buffer });
        }
        self.size_of(located)?;
        let file = located.place.open_file(shown)?;
        let text = TextFile::read(read_limited(file, TEXT_LIMIT, shown)?, shown)?;
        if let Some(buffer) = &buffer
            && TextFile::of_buffer(&buffer.text).view() != text.view()
        {
            return Err(WorkspaceError::Stale {
                why: "the file changed on the disk, and the editor that has it open shows the old text"
                    .into(),
                path: shown.into(),
            });
        }
        Ok(Opened { text, buffer })
    }
}

/// Reads all of a file that must not be larger than the limit, whatever its size was a moment ago.
pub(crate) fn read_limited(file: File, limit: u64, shown: &str) -> Result<Vec<u8>, WorkspaceError> {
    let size = file.metadata().map_or(0, |about| about.len());
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(limit)).unwrap_or(0) + 1);
    let mut limited = file.take(limit + 1);
    limited
        .read_to_end(&mut bytes)
        .map_err(WorkspaceError::io("read", shown))?;
    if bytes.len() as u64 > limit {
        return Err(WorkspaceError::TooLarge {
            bytes: size.max(bytes.len() as u64),
            limit,
            path: shown.into(),
        });
    }
    Ok(bytes)
}

/// The lines that are asked for, from 1, `to` included.
struct Window {
    from: u64,
    to: u64,
    /// Whether the call's own limit, not the caller's, set the end.
    capped: bool,
}

impl Window {
    fn of(request: &ReadRequest) -> Result<Self, WorkspaceError> {
        let from = request.offset.unwrap_or(1);
        if from == 0 || request.limit == Some(0) {
            let why = "lines are counted from 1, and at least one must be asked for";
            return Err(WorkspaceError::input(why, request.path.clone()));
        }
        let count = request.limit.unwrap_or(u64::MAX).min(MOST_LINES);
        Ok(Self {
            from,
            to: from.saturating_add(count - 1),
            capped: request.limit.is_none_or(|limit| limit > MOST_LINES),
        })
    }
}

struct Taken<'a> {
    window: &'a Window,
    text: String,
    seen: u64,
    last: u64,
    cut_lines: u64,
    full: bool,
}

struct Whole {
    path: String,
    bytes: u64,
    encoding: Charset,
    line_end: LineEnd,
    hash: ContentHash,
    unsaved: bool,
}

impl<'a> Taken<'a> {
    fn new(window: &'a Window) -> Self {
        Self {
            window,
            text: String::new(),
            seen: 0,
            last: 0,
            cut_lines: 0,
            full: false,
        }
    }

    fn wants_next(&self) -> bool {
        let next = self.seen + 1;
        !self.full && next >= self.window.from && next <= self.window.to
    }

    fn line(&mut self, line: &str) {
        if !self.wants_next() {
            self.seen += 1;
            return;
        }
        let cut = line
            .char_indices()
            .nth(LONGEST_LINE)
            .filter(|(at, _)| line[*at..] != *"\n");
        let kept = cut.map_or(line, |(at, _)| &line[..at]);
        if self.text.len() + kept.len() > MOST_BYTES && !self.text.is_empty() {
            self.full = true;
        } else {
            self.text.push_str(kept);
            if cut.is_some() {
                self.cut_lines += 1;
                self.text
                    .push_str(if line.ends_with('\n') { "…\n" } else { "…" });
            }
            self.last = self.seen + 1;
        }
        self.seen += 1;
    }

    fn finish(self, whole: Whole) -> ReadFile {
        let some = self.last > 0;
        let truncated = self.full || (self.window.capped && self.seen > self.window.to);
        ReadFile {
            path: whole.path,
            lines: if some {
                [self.window.from, self.last]
            } else {
                [0, 0]
            },
            total_lines: self.seen,
            bytes: whole.bytes,
            encoding: whole.encoding,
            line_end: whole.line_end,
            text: self.text,
            hash: whole.hash,
            truncated,
            cut_lines: self.cut_lines,
            unsaved: whole.unsaved,
        }
    }
}

/// Reads a large file piece by piece and keeps the lines that are asked for. It must be UTF-8 and without NUL.
fn read_in_passing(
    file: File,
    size: u64,
    window: &Window,
    shown: String,
) -> Result<ReadFile, WorkspaceError> {
    let mut reader = BufReader::with_capacity(256 * 1024, file);
    let mut hasher = ContentHasher::default();
    let mut taken = Taken::new(window);
    let mut line = Vec::new();
    let (mut feeds, mut crlf, mut bom) = (0u64, 0u64, false);
    let mut piece = vec![0; 256 * 1024];
    let mut first = true;
    loop {
        let length = reader
            .read(&mut piece)
            .map_err(WorkspaceError::io("read", shown.clone()))?;
        if length == 0 {
            break;
        }
        let mut rest = &piece[..length];
        hasher.update(rest);
        let what = match nature(&rest[..rest.len().min(8 * 1024)]) {
            Nature::Binary(what) if first => Some(what),
            Nature::Text(Charset::Utf16 { .. }) if first => Some("UTF-16 text too large to decode"),
            _ => memchr(0, rest).map(|_| "binary data"),
        };
        if let Some(what) = what {
            let (what, path) = (what.to_owned(), shown);
            return Err(WorkspaceError::Binary {
                what,
                bytes: size,
                path,
            });
        }
        if first && rest.starts_with(b"\xef\xbb\xbf") {
            bom = true;
            rest = &rest[3..];
        }
        first = false;
        while let Some(at) = memchr(b'\n', rest) {
            feeds += 1;
            push_capped(&mut line, &rest[..at]);
            if line.last() == Some(&b'\r') {
                crlf += 1;
                line.pop();
            }
            end_line(&mut taken, &mut line, true);
            rest = &rest[at + 1..];
        }
        push_capped(&mut line, rest);
    }
    if !line.is_empty() {
        end_line(&mut taken, &mut line, false);
    }
    let line_end = match crlf {
        0 => LineEnd::Lf,
        all if all == feeds => LineEnd::CrLf,
        _ => LineEnd::Mixed,
    };
    Ok(taken.finish(Whole {
        path: shown,
        bytes: size,
        encoding: Charset::Utf8 { bom },
        line_end,
        hash: hasher.finish(),
        unsaved: false,
    }))
}

/// Keeps the beginning of a line, enough to tell that it is too long, and its last byte.
fn push_capped(line: &mut Vec<u8>, more: &[u8]) {
    let room = (LONGEST_LINE * 4 + 8).saturating_sub(line.len());
    if more.len() <= room {
        line.extend_from_slice(more);
    } else {
        line.extend_from_slice(&more[..room]);
        if let (Some(last), Some(end)) = (line.last_mut(), more.last()) {
            *last = *end;
        }
    }
}

fn end_line(taken: &mut Taken<'_>, line: &mut Vec<u8>, ended: bool) {
    if taken.wants_next() {
        let mut text = String::from_utf8_lossy(line).into_owned();
        if ended {
            text.push('\n');
        }
        taken.line(&text);
    } else {
        taken.line("");
    }
    line.clear();
}
