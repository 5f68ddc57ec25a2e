//! What can be worked out from a graph as a whole: importance, cycles, communities, what to look at next.

pub mod communities;
pub mod cycles;
pub mod file_graph;
pub mod history;
pub mod layers;
pub mod page_rank;
pub mod predict;

pub use file_graph::FileGraph;
