//! Whole turns: a scripted model server in a process of its own, real HTTP, files and commands in a folder on a disk.

mod server;
mod table;
mod turns;
