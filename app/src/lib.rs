//! Folkmoot, the desktop program, as a library: the window's parts, usable by its tests and benches.

pub mod chat;
pub mod cli;
pub mod graph;
pub mod settings;
pub mod shell;
pub mod theme;
pub mod widgets;
