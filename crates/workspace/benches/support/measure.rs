//! Timing, and telling what came of it.

/// The shortest of some runs, in seconds.
pub(crate) fn best_of(runs: usize, mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let started = std::time::Instant::now();
        run();
        best = best.min(started.elapsed().as_secs_f64());
    }
    best
}

/// Prints a ratio against a reference and a target.
pub(crate) fn report(name: &str, ours: f64, reference: f64, of: &str, target: f64) {
    let ratio = ours / reference;
    let verdict = if ratio <= target { "ok" } else { "missed" };
    println!(
        "bench {name}: {ratio:.2}x of {of} (target <= {target}x) {verdict} ({:.1} ms against {:.1} ms)",
        ours * 1e3,
        reference * 1e3
    );
}
