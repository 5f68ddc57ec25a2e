//! The code graph as a program of its own; `folkmoot graph` has the same commands.

use std::process::ExitCode;

use clap::Parser;

/// Builds, asks and watches the dependency graph of a folder.
#[derive(Parser)]
#[command(name = "codegraph", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: codegraph::cli::Command,
}

fn main() -> ExitCode {
    codegraph::cli::run(Arguments::parse().command, "codegraph")
}
