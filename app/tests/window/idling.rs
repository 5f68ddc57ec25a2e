//! A window in which nothing happens draws nothing.

use crate::table::{SHORT_ANSWERS, Table};
use crate::window::Window;

#[test]
fn an_open_thread_at_rest_asks_for_no_frame() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.say("@all hello");
    window.until_answered("Bob's answer.");
    // What was typed is saved and estimated a moment later; with that everything has been done.
    window.until_at_rest();
}
