//! What the program tells about itself on standard error, for people who look for a fault.

use std::io::Write;

use log::{LevelFilter, Log, Metadata, Record};

/// Names the least important messages to show: `error`, `warn` (the default), `info` or `debug`.
const LEVEL_VARIABLE: &str = "FOLKMOOT_LOG";

struct StandardError;

impl Log for StandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let level = record.level().as_str().to_lowercase();
            // A closed standard error leaves nowhere to complain to.
            let _closed = writeln!(
                std::io::stderr(),
                "folkmoot: {level}: {} ({})",
                record.args(),
                record.target()
            );
        }
    }

    fn flush(&self) {}
}

/// Sends log messages to standard error from now on.
pub(super) fn install() {
    let wanted = std::env::var(LEVEL_VARIABLE).ok();
    let level = wanted.and_then(|level| level.parse().ok());
    if log::set_logger(&StandardError).is_ok() {
        log::set_max_level(level.unwrap_or(LevelFilter::Error));
    }
}
