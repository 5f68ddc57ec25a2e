//! Frames that a window at rest asks for: ten seconds with a thread open.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use egui::ViewportId;
use egui_kittest::Harness;
use folkmoot::shell::{Shell, StartOptions};
use folkmoot::theme::fonts;
use host::{Host, HostOptions, Intent, SendMessage};

/// How long the window is watched.
const WATCHED: Duration = Duration::from_secs(10);
/// Far longer than anything before takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn repaint_delay(harness: &Harness<'_, Shell>) -> Duration {
    harness.output().viewport_output[&ViewportId::ROOT].repaint_delay
}

fn main() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let host = Host::start(HostOptions::new(home.path().to_owned())).expect("the host starts");
    let handle = host.handle();
    let options = StartOptions {
        fonts: fonts::definitions_for_tests(),
        ..StartOptions::new(home.path().to_owned())
    };
    let mut harness = Harness::builder()
        .with_size(egui::vec2(1280.0, 800.0))
        .with_max_steps(50)
        .build_eframe(|cc| Shell::new(&cc.egui_ctx, host, options));
    let (wake, woken) = channel();
    harness.ctx.set_request_repaint_callback(move |_| {
        // The bench may be over by now.
        let _over = wake.send(());
    });
    // A conversation with the demo table, so that there is something to show.
    let deadline = Instant::now() + PATIENCE;
    let mut is_asked = false;
    loop {
        harness.step();
        let model = harness.state().model();
        if let (false, true, Some(thread)) = (is_asked, model.seats.len() == 2, model.thread_id()) {
            let message = SendMessage::chat(thread.clone(), "@all hello");
            handle
                .send(Intent::Send(message))
                .expect("the host takes it");
            is_asked = true;
        }
        let is_answered = model
            .thread
            .as_ref()
            .is_some_and(|thread| thread.messages.len() == 3 && !thread.turn.is_generating);
        // What was said is saved, estimated and listed; with that everything has been done.
        if is_answered
            && woken.recv_timeout(Duration::from_secs(2)).is_err()
            && repaint_delay(&harness) > WATCHED
        {
            break;
        }
        while woken.try_recv().is_ok() {}
        assert!(
            Instant::now() < deadline,
            "no rest: {:?}",
            harness.ctx.repaint_causes()
        );
    }
    let until = Instant::now() + WATCHED;
    let mut frames = 0;
    while let Ok(()) = woken.recv_timeout(until.saturating_duration_since(Instant::now())) {
        harness.step();
        frames += 1;
    }
    let verdict = if frames == 0 { "ok" } else { "MISS" };
    println!(
        "bench frames of an idle window in 10 s: {frames} of an empty window's 0 (target <= 0) {verdict}"
    );
    if frames > 0 {
        std::process::exit(1);
    }
}
