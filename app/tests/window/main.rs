//! The window as a person uses it: a real window over a real host, which speaks HTTP to a scripted model server.

mod acting;
mod composing;
mod graph;
mod idling;
mod keyboard;
mod mentions;
mod palette;
mod pictures;
mod retrying;
mod sending;
mod settings;
mod starting;
mod stopping;
mod table;
mod threads;
mod window;
