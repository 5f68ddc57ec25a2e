//! A window in which nothing happens draws nothing.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use crate::table::{SHORT_ANSWERS, Table};
use crate::window::Window;

#[test]
fn an_open_thread_at_rest_asks_for_no_frame() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.say("@all hello");
    window.until_answered("Bob's answer.");
    // What was typed is saved and estimated a moment later; with that everything has been done.
    let rest = Duration::from_secs(2);
    let deadline = Instant::now() + crate::table::PATIENCE;
    loop {
        window.settle();
        while window.woken.try_recv().is_ok() {}
        let viewport = &window.harness.output().viewport_output[&egui::ViewportId::ROOT];
        let asked = viewport.repaint_delay;
        // Nothing is asked for by the last frame, and nobody wakes the window for as long.
        if asked > rest && window.woken.recv_timeout(rest) == Err(RecvTimeoutError::Timeout) {
            assert_eq!(
                asked,
                Duration::MAX,
                "{:?}",
                window.harness.ctx.repaint_causes()
            );
            break;
        }
        assert!(
            Instant::now() < deadline,
            "no rest: asked again after {asked:?} because of {:?}",
            window.harness.ctx.repaint_causes()
        );
    }
}
