//! Reading thread files: whole, or just enough of one for a list.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::thread::FORMAT_VERSION;
use crate::thread_lines::{read_by_line, read_end_by_line};
use crate::{StoreError, Thread, ThreadEnd, ThreadId, ThreadSummary, Timestamp};

/// Largest file that is read as a thread or a log, so that a stray file can't take all memory.
const MAX_FILE_BYTES: u64 = 2 << 30;

/// The bytes of a file; `None` where there is none.
pub(crate) fn read_file(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let failed = || StoreError::io("read", path);
    let Some(file) = open_file(path)? else {
        return Ok(None);
    };
    let len = file.metadata().map_err(failed())?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
    file.take(MAX_FILE_BYTES)
        .read_to_end(&mut bytes)
        .map_err(failed())?;
    Ok(Some(bytes))
}

/// Opens a file for reading if it is one, and not too large; `None` where there is none.
fn open_file(path: &Path) -> Result<Option<File>, StoreError> {
    let metadata = match fs::metadata(path) {
        // A link to nowhere is not the same as no file: something was meant to be there.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            return Ok(None);
        }
        other => other.map_err(StoreError::io("read", path))?,
    };
    // Anything else (a pipe, say) could block for ever.
    if !metadata.is_file() {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        return Err(StoreError::io("read", path)(error));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(StoreError::TooLarge {
            bytes: metadata.len(),
            path: path.to_owned(),
        });
    }
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).map_err(StoreError::io("read", path)),
    }
}

/// The thread in a thread file; `None` where there is no file.
///
/// # Errors
/// Those of [`parse_thread`], and when the file is too large or can't be read.
pub(crate) fn read_thread(path: &Path) -> Result<Option<Thread>, StoreError> {
    let Some(file) = open_file(path)? else {
        return Ok(None);
    };
    if let Some(thread) = read_by_line(file).map_err(StoreError::io("read", path))? {
        return Ok(Some(thread));
    }
    // Another layout, or damage: reading it at once tells which.
    read_file(path)?
        .map(|bytes| parse_thread(&bytes, path))
        .transpose()
}

/// How a long thread file ends; `None` where only reading all of it can tell.
///
/// # Errors
/// When the file is too large or can't be read.
pub(crate) fn read_end(path: &Path) -> Result<Option<ThreadEnd>, StoreError> {
    let Some(file) = open_file(path)? else {
        return Ok(None);
    };
    read_end_by_line(file).map_err(StoreError::io("read", path))
}

/// The thread in the bytes of a thread file.
///
/// # Errors
/// [`StoreError::Version`] for a whole file of another format version, else [`StoreError::Corrupt`].
pub(crate) fn parse_thread(bytes: &[u8], path: &Path) -> Result<Thread, StoreError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u64,
    }
    let text = std::str::from_utf8(without_mark(bytes)).map_err(|error| error.to_string());
    let reason = match text.map(serde_json::from_str) {
        Ok(Ok(thread)) => return Ok(thread),
        Ok(Err(error)) => error.to_string(),
        Err(reason) => reason,
    };
    match serde_json::from_slice(without_mark(bytes)) {
        Ok(Versioned { version }) if version != FORMAT_VERSION => Err(StoreError::Version {
            version,
            path: path.to_owned(),
        }),
        _ => Err(StoreError::Corrupt {
            path: path.to_owned(),
            reason,
            renamed_to: None,
        }),
    }
}

/// What a list shows of a thread file; `None` if it takes a full reading to tell.
pub(crate) fn summarise(id: &ThreadId, bytes: &[u8]) -> Option<ThreadSummary> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Outline {
        version: u64,
        title: Option<String>,
        created_at: Timestamp,
        updated_at: Option<Timestamp>,
        archived: Option<bool>,
        messages: Vec<IgnoredAny>,
    }
    let outline: Outline = serde_json::from_slice(without_mark(bytes)).ok()?;
    (outline.version == FORMAT_VERSION).then(|| ThreadSummary {
        id: id.clone(),
        title: outline.title.unwrap_or_default(),
        updated_at: outline.updated_at.unwrap_or(outline.created_at),
        messages: outline.messages.len(),
        archived: outline.archived.unwrap_or_default(),
    })
}

/// Some editors put a byte order mark before the JSON.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}
