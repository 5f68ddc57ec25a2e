//! Developer commands: set up, run, test, bench.

fn main() {}
