//! The dependency graph of a folder of code.
pub mod cache;
pub mod engine;
pub mod facts;
pub mod filter;
pub mod graph;
pub mod interner;
pub mod kg;
pub mod language;
mod link;
pub mod model;
pub mod resolve;
pub mod snapshot;
mod stdlib;
pub mod tree_text;
pub mod walk;
pub mod world;
