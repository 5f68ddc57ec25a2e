//! Threads at rest: messages, their invariants, the thread store and the run journal.
//!
//! A [`Thread`] is the one canonical record of a conversation. Prompts are assembled from it and from
//! nothing else, so its invariants are held by construction: fields are private, and the only ways to
//! change a thread are the methods of [`Thread`].
//!
//! 1. `seq` starts at 0 and grows by one, without gaps.
//! 2. Every assistant message is spoken by a seat that the thread knows.
//! 3. A message that is still streaming never reaches the disk.
//! 4. Nothing is rewritten silently: a deletion leaves a tombstone, an edit is a fork.
//!
//! ```
//! use transcript::{NewMessage, Status, Thread, ThreadId, Timestamp};
//!
//! let now = Timestamp::UNIX_EPOCH;
//! let mut thread = Thread::new(ThreadId::from("t1"), now);
//! thread.append(NewMessage::user("Hello, table"), "m1".into(), now)?;
//! assert_eq!(thread.messages()[0].seq(), 0);
//! assert_eq!(thread.messages()[0].status(), Status::Complete);
//! # Ok::<(), transcript::ThreadError>(())
//! ```
//!
//! A [`ThreadStore`] keeps the threads of a data folder on disk: [`ThreadStore::put`] buffers a message,
//! [`ThreadStore::commit`] makes it durable at a cost that doesn't depend on the length of the thread, and
//! [`ThreadStore::fold`] tidies up when there is time. A [`Journal`] keeps what happened during turns and never
//! feeds a prompt. Nothing here knows a clock: who calls says what time it is.

mod append_log;
mod disk;
mod export;
mod id;
mod index;
mod journal;
mod journal_bodies;
mod layout;
mod live_log;
mod message;
mod notice;
mod saved_thread;
mod search;
mod store;
mod store_load;
mod thread;
mod thread_file;
mod thread_lines;
mod timestamp;
mod trash;

#[doc(hidden)]
pub use disk::{Disk, Step};
pub use export::{export_json, export_markdown};
pub use id::{MessageId, SeatId, ThreadId};
pub use index::ThreadSummary;
pub use journal::{Journal, JournalKind, JournalReader, JournalRecord};
pub use journal_bodies::BodyRef;
pub use message::{
    BlockKind, ContextBlock, FailureKind, Message, NewMessage, Role, Route, Settlement, Status,
    Usage,
};
pub use notice::{Access, Notice, NoticeSeverity, StoreError};
pub use search::find_in_text;
pub use store::ThreadStore;
pub use thread::{ForkOrigin, Thread, ThreadError, ThreadFormatError, title_from};
pub use thread_lines::ThreadEnd;
pub use timestamp::Timestamp;
