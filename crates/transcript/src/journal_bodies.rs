//! What is too long for a line of the run journal: arguments, results and diffs, in one append-only file beside it,
//! found by place and checked by digest.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::disk::Disk;

/// Names a body: a line of the journal holds this in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyRef {
    /// SHA-256 of the bytes, in hex.
    pub digest: String,
    /// How many bytes.
    pub bytes: u64,
    /// Where they begin in the file.
    pub at: u64,
}

/// The bodies of one thread's journal, as far as this process wrote them.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    /// Where the file ends; what lies behind is the rest of a write that failed.
    end: Option<u64>,
    /// Those that need not be written again.
    known: HashMap<String, BodyRef>,
}

impl Bodies {
    /// Writes a body, unless it is there. One that the disk refuses half way is written over by the next.
    pub(crate) fn put(&mut self, disk: &Disk, path: &Path, bytes: &[u8]) -> io::Result<BodyRef> {
        let digest = digest_of(bytes);
        if let Some(known) = self.known.get(&digest) {
            return Ok(known.clone());
        }
        let mut file = disk.open(path)?;
        let end = match self.end {
            Some(end) => end,
            None => file.metadata()?.len(),
        };
        // The head is for people who look into the file; programs go by the places in the journal.
        let head = format!("\n{digest} {}\n", bytes.len());
        let at = end + head.len() as u64;
        self.end = Some(end);
        disk.append(&mut file, path, end, &[head.as_bytes(), bytes].concat())?;
        let body = BodyRef {
            digest,
            bytes: bytes.len() as u64,
            at,
        };
        self.end = Some(at + body.bytes);
        self.known.insert(body.digest.clone(), body.clone());
        Ok(body)
    }
}

/// Reads a body; none if the file doesn't hold it (any more): a crash may have cost the end.
pub(crate) fn read(path: &Path, body: &BodyRef) -> io::Result<Option<Vec<u8>>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let fits = body
        .at
        .checked_add(body.bytes)
        .is_some_and(|end| file.metadata().is_ok_and(|metadata| end <= metadata.len()));
    if !fits {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(body.at))?;
    let mut bytes = Vec::new();
    file.take(body.bytes).read_to_end(&mut bytes)?;
    Ok((digest_of(&bytes) == body.digest).then_some(bytes))
}

fn digest_of(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut digest = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let told = write!(digest, "{byte:02x}");
        debug_assert!(told.is_ok(), "writing to a string doesn't fail");
    }
    digest
}
