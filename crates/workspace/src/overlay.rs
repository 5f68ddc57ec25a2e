//! Files that are open in an editor: where one is open, its buffer is the truth.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::{RelPath, TextFile, ViewEdit};

/// A buffer as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The whole text, with the line ends that saving would write.
    pub text: String,
    /// Whether it holds changes of the user's that aren't saved.
    pub dirty: bool,
    /// Grows with every change.
    pub revision: u64,
}

/// The buffers of whatever editor there is.
pub trait OpenBuffers: Send + Sync {
    /// The buffer of a file; none if it isn't open.
    fn buffer(&self, path: &RelPath) -> Option<Buffer>;

    /// All open files, for search.
    fn open_paths(&self) -> Vec<RelPath>;

    /// Makes the edits as one step of undo, if the buffer still has the revision; false if it hasn't.
    ///
    /// The edits are in order, don't overlap, and count bytes of the text with `\n` line ends. `saved` says that
    /// the same bytes were written to the disk.
    fn apply(&self, path: &RelPath, revision: u64, edits: &[ViewEdit], saved: bool) -> bool;
}

/// No editor: no file is open.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoBuffers;

impl OpenBuffers for NoBuffers {
    fn buffer(&self, _: &RelPath) -> Option<Buffer> {
        None
    }

    fn open_paths(&self) -> Vec<RelPath> {
        Vec::new()
    }

    fn apply(&self, _: &RelPath, _: u64, _: &[ViewEdit], _: bool) -> bool {
        false
    }
}

/// Buffers in a table: for programs without a window, and for tests.
#[derive(Debug, Default)]
pub struct BufferTable(Mutex<HashMap<RelPath, Buffer>>);

impl BufferTable {
    /// Opens a file, or changes what is in its buffer.
    pub fn set(&self, path: RelPath, text: &str, dirty: bool) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let revision = table.get(&path).map_or(0, |buffer| buffer.revision + 1);
        let text = text.to_owned();
        table.insert(
            path,
            Buffer {
                text,
                dirty,
                revision,
            },
        );
    }
}

impl OpenBuffers for BufferTable {
    fn buffer(&self, path: &RelPath) -> Option<Buffer> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.get(path).cloned()
    }

    fn open_paths(&self) -> Vec<RelPath> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.keys().cloned().collect()
    }

    fn apply(&self, path: &RelPath, revision: u64, edits: &[ViewEdit], saved: bool) -> bool {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(buffer) = table
            .get_mut(path)
            .filter(|buffer| buffer.revision == revision)
        else {
            return false;
        };
        let edited = TextFile::of_buffer(&buffer.text).edited(edits, path.as_str());
        let Some(text) = edited.ok().and_then(|bytes| String::from_utf8(bytes).ok()) else {
            return false;
        };
        buffer.text = text;
        buffer.revision += 1;
        buffer.dirty = !saved;
        true
    }
}
