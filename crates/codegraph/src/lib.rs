//! The dependency graph of a folder of code: what its files export and import, read without an install, kept true to
//! the disk, and asked in one line.
//!
//! ```
//! use codegraph::model::{Model, PreparedFile};
//! use codegraph::query::{Context, ask};
//!
//! let mut model = Model::new("/home/u/app");
//! model.set(PreparedFile::new("a.ts", b"export const one = 1;", None));
//! model.set(PreparedFile::new("b.ts", b"import { one } from './a'; one;", None));
//! model.commit();
//! let answer = ask(&Context::new(model.graph()), "why b.ts a.ts")?;
//! assert_eq!(answer.to_string(), "b.ts → a.ts\n  line 1: one from ./a (relative)\n  uses one\n");
//! # Ok::<(), codegraph::query::QueryError>(())
//! ```
//!
//! The way from bytes to answers, each step without knowledge of the next:
//!
//! 1. [`facts`]: what one file says by itself, a pure function of its bytes.
//! 2. [`resolve`]: from a module as written to a file, against a [`world`] that writes down every question.
//! 3. [`model`]: facts and resolutions linked into a [`graph`], redone only where a change reaches.
//! 4. [`engine`] and [`live`]: a model over a folder on disk, walked, cached, snapshotted ([`kg`]) and watched.
//! 5. [`query`] and [`analysis`]: questions; [`layout`]: where to draw what.

pub mod analysis;
pub mod cache;
pub mod cli;
pub mod engine;
pub mod facts;
pub mod filter;
pub mod git_status;
pub mod graph;
pub mod interner;
pub mod kg;
pub mod language;
pub mod layered;
pub mod layout;
mod link;
pub mod live;
pub mod model;
pub mod nested;
pub mod query;
pub mod resolve;
pub mod snapshot;
mod stdlib;
pub mod tracking;
pub mod tree_text;
pub mod walk;
pub mod watch;
pub mod world;
