//! The output of commands, kept whole on the disk, and read back a window at a time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use regex::RegexBuilder;
use serde::{Deserialize, Serialize};

use crate::distil::plain_line;

/// More output of one command than this is counted and dropped.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of lines that one reading returns.
const MOST_READ: usize = 64 * 1024;
/// Memory of a filter's program.
const FILTER_MEMORY: usize = 1024 * 1024;

/// A folder of outputs, for the owner only.
#[derive(Clone, Debug)]
pub struct OutputStore {
    folder: PathBuf,
}

/// A stream of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// What it says.
    Out,
    /// What it complains about.
    Err,
}

/// The output of a command while it is written: both streams in the order in which they came.
#[derive(Debug)]
pub(crate) struct OutputLog {
    path: PathBuf,
    state: Mutex<Log>,
}

#[derive(Debug)]
struct Log {
    file: File,
    /// The lengths of what came in one piece from one stream.
    pieces: Vec<(Stream, u64)>,
    written: u64,
    dropped: u64,
    failed: Option<String>,
}

/// Which part of an output.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputRequest {
    /// Lines to step over, from the beginning, or from the end unless `from_start`.
    #[serde(default)]
    pub offset: u64,
    /// How many lines; 200 unless given.
    #[serde(default)]
    pub limit: Option<u64>,
    /// Count from the beginning.
    #[serde(default)]
    pub from_start: bool,
    /// Only lines that match this regular expression, in either case.
    #[serde(default)]
    pub filter: Option<String>,
}

/// Part of an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutputPart {
    /// Lines of the whole output, or of those that match the filter.
    pub total_lines: u64,
    /// The first and last line of the text, from 1; `[0, 0]` if there is none.
    pub lines: [u64; 2],
    /// The lines.
    pub text: String,
    /// Whether lines that were asked for are left out, because they are too many bytes.
    pub truncated: bool,
}

impl OutputStore {
    /// Opens the folder, making it if need be.
    ///
    /// # Errors
    /// The folder can't be made.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    pub(crate) fn create(&self, id: &str) -> io::Result<OutputLog> {
        let path = self.folder.join(format!("{id}.log"));
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        Ok(OutputLog {
            path,
            state: Mutex::new(Log {
                file,
                pieces: Vec::new(),
                written: 0,
                dropped: 0,
                failed: None,
            }),
        })
    }

    /// Reads lines of the output of a command, also while it runs.
    ///
    /// # Errors
    /// There is no such command, the filter is no regular expression or too large a one, or the disk refuses.
    pub fn read(&self, id: &str, request: &OutputRequest) -> io::Result<OutputPart> {
        let plain = !id.is_empty()
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !plain {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "no command has this name",
            ));
        }
        let path = self.folder.join(format!("{id}.log"));
        let filter = request.filter.as_deref().map(|filter| {
            let built = RegexBuilder::new(filter)
                .case_insensitive(true)
                .size_limit(FILTER_MEMORY)
                .build();
            built.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))
        });
        let filter = filter.transpose()?;
        let wanted = |line: &str| filter.as_ref().is_none_or(|filter| filter.is_match(line));
        let mut total_lines = 0;
        each_line(&path, |line| total_lines += u64::from(wanted(line)))?;
        let limit = request.limit.unwrap_or(200);
        let from = if request.from_start {
            request.offset
        } else {
            total_lines.saturating_sub(request.offset.saturating_add(limit))
        };
        let to = if request.from_start {
            from.saturating_add(limit)
        } else {
            total_lines.saturating_sub(request.offset)
        };
        let (mut text, mut at, mut last, mut full) = (String::new(), 0, 0, false);
        each_line(&path, |line| {
            if !wanted(line) {
                return;
            }
            at += 1;
            if at <= from || at > to || full {
                return;
            }
            if text.len() + line.len() > MOST_READ && !text.is_empty() {
                full = true;
                return;
            }
            text.push_str(line);
            text.push('\n');
            last = at;
        })?;
        Ok(OutputPart {
            total_lines,
            lines: if last == 0 { [0, 0] } else { [from + 1, last] },
            text,
            truncated: full,
        })
    }

    /// Removes all but the last `count` outputs.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn prune(&self, count: usize) -> io::Result<usize> {
        let mut logs: Vec<(std::time::SystemTime, PathBuf)> = fs::read_dir(&self.folder)?
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        logs.sort();
        let old = logs.len().saturating_sub(count);
        for (_, path) in &logs[..old] {
            fs::remove_file(path)?;
        }
        Ok(old)
    }
}

/// Hands over each line as it would be seen. A line of no end is taken in pieces.
fn each_line(path: &Path, mut take: impl FnMut(&str)) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(256 * 1024, File::open(path)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = Read::by_ref(&mut reader)
            .take(MOST_READ as u64)
            .read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(());
        }
        take(&plain_line(&line));
    }
}

impl OutputLog {
    pub(crate) fn append(&self, stream: Stream, bytes: &[u8]) {
        let mut log = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST_BYTES.saturating_sub(log.written);
        let kept = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        if log.failed.is_none()
            && let Err(error) = log.file.write_all(&bytes[..kept])
        {
            log.failed = Some(error.to_string());
        }
        if log.failed.is_some() {
            log.dropped += bytes.len() as u64;
            return;
        }
        log.written += kept as u64;
        log.dropped += (bytes.len() - kept) as u64;
        match log.pieces.last_mut() {
            Some((last, length)) if *last == stream => *length += kept as u64,
            _ => log.pieces.push((stream, kept as u64)),
        }
    }

    /// The bytes of one stream, up to a number from its beginning and a number from its end; and how many there are.
    pub(crate) fn ends(&self, stream: Stream, most: u64) -> io::Result<(Vec<u8>, Vec<u8>, u64)> {
        let pieces = self
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pieces
            .clone();
        let total: u64 = pieces
            .iter()
            .filter(|(of, _)| *of == stream)
            .map(|(_, length)| length)
            .sum();
        let tail_from = total.saturating_sub(most).max(most.min(total));
        let mut file = BufReader::new(File::open(&self.path)?);
        let (mut head, mut tail, mut at) = (Vec::new(), Vec::new(), 0);
        for (of, length) in pieces {
            if of != stream {
                file.seek_relative(i64::try_from(length).unwrap_or(i64::MAX))?;
                continue;
            }
            let in_head = most.saturating_sub(at).min(length);
            Read::by_ref(&mut file)
                .take(in_head)
                .read_to_end(&mut head)?;
            let rest = length - in_head;
            let before_tail = tail_from.saturating_sub(at + in_head).min(rest);
            file.seek_relative(i64::try_from(before_tail).unwrap_or(i64::MAX))?;
            Read::by_ref(&mut file)
                .take(rest - before_tail)
                .read_to_end(&mut tail)?;
            at += length;
        }
        Ok((head, tail, total))
    }

    /// Bytes that were dropped, and why.
    pub(crate) fn lost(&self) -> (u64, Option<String>) {
        let log = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (log.dropped, log.failed.clone())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// All lines of an output that are worth a second look, with their numbers; the first and the last of them.
pub(crate) fn lines_of(path: &Path, mut take: impl FnMut(u64, &str)) -> io::Result<u64> {
    let mut number = 0;
    each_line(path, |line| {
        number += 1;
        take(number, line);
    })?;
    Ok(number)
}
