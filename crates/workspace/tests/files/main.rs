//! Reading, writing, listing and moving files, and everything that is refused.

mod bench;
mod gate;
mod work;
