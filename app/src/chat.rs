//! The conversation: the thread's header, its messages, the composer, and the list of threads.

pub mod composer;
mod empty_state;
pub mod find;
mod header;
mod message_view;
pub mod thread_panel;
pub mod view;

use egui::{Color32, Ui};
use host::SeatView;
use transcript::SeatId;

use crate::theme::Tokens;

/// The colour of the seat at a place of the table.
pub fn color_of(seats: &[SeatView], place: usize, tokens: &Tokens) -> Color32 {
    seats.get(place).map_or(tokens.text.secondary, |view| {
        composer::seat_color_at(view, place, tokens)
    })
}

/// The choice of who answers messages without a mention; `wait` tells for how many seconds a seat should not be asked.
/// Returns what the person chose: a seat, or whoever was addressed last.
fn targets_menu_ui(
    ui: &mut Ui,
    seats: &[SeatView],
    chosen: Option<&SeatId>,
    wait: impl Fn(&SeatId) -> Option<u64>,
) -> Option<Option<SeatId>> {
    let mut choice = None;
    let last = ui.selectable_label(chosen.is_none(), "Whoever was addressed last");
    if last.clicked() {
        choice = Some(None);
    }
    for seat in seats.iter().map(|view| &view.seat).filter(|s| s.enabled) {
        let wait = wait(&seat.id).map_or_else(String::new, |secs| format!(" (wait {secs} s)"));
        let text = format!("{}{wait}", seat.display_name);
        if ui
            .selectable_label(chosen == Some(&seat.id), text)
            .clicked()
        {
            choice = Some(Some(seat.id.clone()));
        }
    }
    choice
}
