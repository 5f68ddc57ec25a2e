//! Developer commands: set up, run, test, bench, check.

mod bench;
mod cargo;
mod check;
mod policy;
mod run;
mod software_vulkan;
mod system;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  run [-- ARGS]    build the program for release and start it with ARGS
  test [ARGS]      the whole suite on a software renderer; ARGS go to cargo nextest (or cargo test)
  bench [FILTER]   every bench whose package or name contains FILTER, then a summary; fails on a miss
  check            formatting, lints, licences, sources, duplicate packages

run and test look for what they need from the system first, and install it where they may (Debian and Ubuntu).
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let outcome = match command.as_str() {
        "run" => run::run(&rest),
        "test" => test::test(&rest),
        "bench" => bench::bench(&rest),
        "check" => check::check(),
        "" | "help" | "-h" | "--help" => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        unknown => {
            eprint!("unknown command `{unknown}`\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::FAILURE
    })
}
