//! The `.kg` v3 file: a code graph as lines of text.
//!
//! ```text
//! n<id>|<type>|<parentId>||<name>|<kind>
//! e<id>|<fromId>|<toId>|<TYPE>
//! i<fromId>|<module>|<classification>|<targetFileId>|<names>|<unused>|<flags>|<line>|<rule>[|whole]
//! ```
//!
//! Every line reads with `split('|')`; the last four fields of an import line are additions that a reader of six
//! fields never sees. Names are escaped so that they hold no `|` and no line break; see [`escape`](self::escape_name).

mod escape;
mod read;
mod stable_ids;
mod write;

pub use escape::{byte_stand_in, escape_name, unescape};
pub use read::{KgError, read};
pub use stable_ids::StableIds;
pub use write::{write, write_canonical};

/// The first line of a file up to the path.
const TITLE: &str = "# Knowledge Graph v3 — ";

/// The five lines of the header that explain the format.
const FORMAT: &str = "\
# Format: n<id>|<type>|<parentId>||<name>|<kind>
#         e<id>|<fromId>|<toId>|<type>
#         i<fromId>|<module>|<classification>|<targetFileId>|<names>|<unused>
#   type: dir|file|symbol  classification: local|stdlib|third-party
#   names: imported:local pairs (comma-joined)  unused: local names (comma-joined)
";
