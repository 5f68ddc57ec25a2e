//! Folkmoot: a person and several AI models at one table over the person's code.

use std::process::ExitCode;

fn main() -> ExitCode {
    folkmoot::cli::main()
}
