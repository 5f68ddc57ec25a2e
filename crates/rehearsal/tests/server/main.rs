//! The server seen from outside: every option and every fault, byte by byte.

mod child_process;
mod client;
mod demo_table;
mod faults;
mod protocol;
mod replies;
mod spelling;
mod steps;
