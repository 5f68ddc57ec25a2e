//! The conversation: the thread's header, its messages, the composer, and the list of threads.

pub mod composer;
mod empty_state;
pub mod find;
mod header;
mod message_view;
pub mod thread_panel;
pub mod view;

use egui::Color32;
use host::{SeatView, ThreadSnapshot};
use transcript::{Role, SeatId, Status};

use crate::theme::Tokens;

/// The colour of the seat at a place of the table.
pub fn color_of(seats: &[SeatView], place: usize, tokens: &Tokens) -> Color32 {
    seats.get(place).map_or(tokens.text.secondary, |view| {
        composer::seat_color_at(view, place, tokens)
    })
}

/// The colour of a speaker, also of one who has left the table.
pub fn speaker_color(seats: &[SeatView], speaker: &SeatId, tokens: &Tokens) -> Color32 {
    let place = seats.iter().position(|view| view.seat.id == *speaker);
    place.map_or(tokens.text.secondary, |place| {
        color_of(seats, place, tokens)
    })
}

/// A number of bytes as people read it.
pub fn size_label(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// The thread as Markdown, speakers by name.
pub fn thread_as_markdown(thread: &ThreadSnapshot, seats: &[SeatView]) -> String {
    let mut text = format!("# {}\n", thread.title);
    for message in thread
        .messages
        .iter()
        .filter(|m| m.status() != Status::Deleted)
    {
        let seat = seats.iter().find(|view| view.seat.id == *message.speaker());
        let speaker = match (message.role(), seat) {
            (Role::User, _) => "You",
            (Role::System, _) => "Note",
            (Role::Assistant, Some(view)) => &view.seat.display_name,
            (Role::Assistant, None) => message.speaker().as_str(),
        };
        text.push_str(&format!("\n**{speaker}**\n\n"));
        for block in message.context_blocks() {
            text.push_str(&conversation::render_context_block(block));
            text.push('\n');
        }
        text.push_str(message.content());
        text.push_str(match message.status() {
            Status::Cancelled => "\n\n(stopped)\n",
            _ => "\n",
        });
        if let Some(error) = message.error() {
            text.push_str(&format!("\n> {error}\n"));
        }
    }
    text
}
