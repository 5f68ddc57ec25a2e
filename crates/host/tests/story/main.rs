//! The host driven as its clients drive it, against a scripted model server over real HTTP.

mod conversation;
mod endpoints;
mod lasting;
mod switching;
mod table;
