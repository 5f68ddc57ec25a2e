//! Times that other work on the machine doesn't count in.

use std::time::Instant;

/// Nanoseconds that this thread has run, where the system says: other work on the machine doesn't count.
fn thread_nanoseconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// How long a run takes, in milliseconds of the thread.
pub(crate) fn milliseconds(run: impl FnOnce()) -> f64 {
    let (started, before) = (Instant::now(), thread_nanoseconds());
    run();
    match before.zip(thread_nanoseconds()) {
        Some((before, after)) => (after - before) / 1e6,
        None => started.elapsed().as_secs_f64() * 1e3,
    }
}

/// The best of some runs, in milliseconds.
pub(crate) fn best(runs: u32, mut run: impl FnMut()) -> f64 {
    (0..runs)
        .map(|_| milliseconds(&mut run))
        .fold(f64::MAX, f64::min)
}

/// How a figure stands to its target.
pub(crate) fn verdict(is_met: bool) -> &'static str {
    if is_met { "ok" } else { "MISS" }
}

/// Prints how long ours takes of a reference.
pub(crate) fn ratio(name: &str, ours: f64, reference_name: &str, reference: f64, target: f64) {
    let ratio = ours / reference;
    let verdict = verdict(ratio <= target);
    println!(
        "bench {name}: {ratio:.2}x of {reference_name} ({ours:.2} ms, {reference:.2} ms) (target <= {target}x) {verdict}"
    );
}
