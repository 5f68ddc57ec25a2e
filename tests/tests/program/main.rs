//! `folkmoot` and `rehearse` as other programs and people at a shell use them.

mod ask;
mod attachments;
mod commands;
mod dialects;
mod faults;
mod hosts;
mod interruption;
mod keys;
mod kill;
mod settings;
mod threads;
