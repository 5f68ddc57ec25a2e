//! A folder of the user's, open to models: containment, secrets, reading, searching, editing, taking back.
//!
//! Every path passes one gate ([`Workspace`]): it is checked by its letters, walked from a handle on the folder
//! without leaving it, and held against the policy for secrets and, for writes, the protected places. What the
//! functions return is data; showing it is another's work.
//!
//! ```
//! use workspace::{EditRequest, ReadLedger, ReadRequest, Workspace};
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("a.txt"), "one\r\ntwo\r\n")?;
//! let workspace = Workspace::open(&[folder.path()])?;
//! let ledger = ReadLedger::default();
//!
//! let read = workspace.read_file(&ReadRequest { path: "a.txt".into(), ..Default::default() }, &ledger)?;
//! assert_eq!(read.numbered(), "   1| one\n   2| two\n");
//!
//! let edit = EditRequest {
//!     path: "a.txt".into(),
//!     old_string: "two".into(),
//!     new_string: "2\n3".into(),
//!     ..Default::default()
//! };
//! workspace.edit_file(&edit, &ledger)?;
//! assert_eq!(std::fs::read(folder.path().join("a.txt"))?, b"one\r\n2\r\n3\r\n");
//! assert!(workspace.read_file(&ReadRequest { path: "../x".into(), ..Default::default() }, &ledger).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything here blocks. Only Unix is supported so far.

mod anchors;
mod blocks;
mod charset;
mod checkpoints;
mod content_hash;
mod dialect;
mod disk;
mod edit;
mod envelope;
mod error;
mod file_state;
mod find;
mod folders;
mod grep;
mod history;
mod ledger;
mod line_edits;
mod nearest;
mod object_store;
mod overlay;
mod patch;
mod read;
mod rel_path;
mod replace_file;
mod restore;
mod root;
mod search;
mod secret_paths;
mod secret_policy;
mod text_file;
mod transaction;
mod trash;
mod tree_index;
mod tree_watch;
mod workspace;
mod write;

pub use anchors::{AnchorEdit, anchored};
pub use blocks::parse_search_replace;
pub use charset::Charset;
pub use checkpoints::{Checkpoint, CheckpointHead, CheckpointKind, CheckpointSummary, TouchedFile};
pub use content_hash::{ContentHash, NotAHash};
pub use dialect::{Dialect, DialectCount, EditCounters, SMALL_FILE_LINES};
#[doc(hidden)]
pub use disk::Disk;
pub use edit::EditRequest;
pub use envelope::{Hunk, HunkLine, parse_envelope};
pub use error::{ErrorKind, WorkspaceError};
pub use file_state::FileState;
pub use find::{FindRequest, FindResult, FoundPath};
pub use folders::{Deleted, Entry, EntryKind, Listing, MadeFolder, RenameRequest, Renamed};
pub use grep::{GrepMatch, GrepRequest, GrepResult};
pub use history::History;
pub use ledger::ReadLedger;
pub use nearest::{LinePair, NearestBlock};
pub use overlay::{Buffer, BufferTable, NoBuffers, OpenBuffers};
pub use patch::{FilePatch, Patch, Patched};
pub use read::{ReadFile, ReadRequest, TEXT_LIMIT};
pub use rel_path::RelPath;
pub use restore::{PlannedRestore, RestorePlan, Restored};
pub use search::{CutShort, SearchLimits, StopToken};
pub use secret_policy::SecretPolicy;
pub use text_file::{LineEnd, TextFile, ViewEdit};
pub use transaction::Recovery;
pub use trash::{Trash, Trashed};
pub use tree_index::Suspects;
pub use tree_watch::TreeWatch;
pub use workspace::Workspace;
pub use write::{WriteRequest, Written};
