//! Folkmoot, the desktop program, as a library: the window's parts, usable by its tests and benches.

pub mod theme;
pub mod widgets;
