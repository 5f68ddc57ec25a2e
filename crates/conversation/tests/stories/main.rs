//! Turns at the table, from the outside.

mod bonfire_turn;
mod estimate;
mod prompt;
mod record;
mod router;
mod stage;
mod turn;
mod turn_model;
