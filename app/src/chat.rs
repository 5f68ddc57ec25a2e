//! The conversation: the thread's header, its messages, the composer, and the list of threads.

pub mod composer;
mod empty_state;
pub mod find;
mod header;
mod message_view;
pub mod thread_panel;
pub mod view;

use egui::Color32;
use host::SeatView;

use crate::theme::Tokens;

/// The colour of the seat at a place of the table.
pub fn color_of(seats: &[SeatView], place: usize, tokens: &Tokens) -> Color32 {
    seats.get(place).map_or(tokens.text.secondary, |view| {
        composer::seat_color_at(view, place, tokens)
    })
}
