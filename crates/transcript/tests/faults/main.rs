//! Threads survive whatever happens to the process or the disk, at any step of any change.

#[cfg(unix)]
mod killed;
mod refused;
mod script;
