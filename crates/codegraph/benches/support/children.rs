//! Times of programs that a bench runs.

/// Milliseconds of user time of children that have ended, in ticks of 10 ms.
pub(crate) fn children_milliseconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = text
        .rsplit(')')
        .next()
        .and_then(|rest| rest.split(' ').nth(14))
        .and_then(|ticks| ticks.parse().ok());
    ticks.unwrap_or(f64::NAN) * 10.0
}
