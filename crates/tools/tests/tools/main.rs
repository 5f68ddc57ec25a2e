//! The tools as their callers see them, over folders on a real disk.

mod approvals;
mod bench;
mod commands;
mod every_door;
mod taking_back;
mod walls;
