//! The command line: `folkmoot [FOLDER]` opens the window, subcommands work without one.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

mod ask;
mod key;
mod logging;
mod models;
mod rehearse;
mod thread;

/// Every addressed seat completed.
const EXIT_OK: u8 = 0;
/// A seat failed, or something could not be done.
const EXIT_FAILED: u8 = 1;
/// The command line or the settings are wrong.
const EXIT_USAGE: u8 = 2;
/// Stopped by Ctrl+C.
const EXIT_INTERRUPTED: u8 = 130;

/// Longest message or key that is read from standard input.
const MAX_STDIN_BYTES: u64 = 64 << 20;

const AFTER_HELP: &str = "\
Examples:
  folkmoot ~/src/larch                 open the window on a folder
  folkmoot ask 'What is a monad?'      ask the first seat
  folkmoot ask --to claude,gpt - < q   two seats answer in turn, question from a file
  folkmoot ask --to all --json Hello   one JSON object a line, for programs
  folkmoot thread list                 what was talked about

Data lies in ~/.folkmoot, or where FOLKMOOT_HOME points. Deleting that folder removes everything.";

/// A person and several AI models at one table over the person's code.
#[derive(Parser)]
#[command(name = "folkmoot", version, after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
#[command(disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Subcommands>,
    /// Folder to work on; without one, the window opens as it was left.
    folder: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Subcommands {
    /// Send one message and stream the answers to standard output.
    ///
    /// The exit code is 0 when every addressed seat completed, 1 when one failed, 2 for a usage or settings
    /// error, 130 after Ctrl+C (what had arrived is kept).
    Ask(AskArgs),
    /// List, show, export, fork or delete threads.
    #[command(subcommand)]
    Thread(ThreadCommand),
    /// List the endpoints, how they are, and the models they offer.
    Models {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Store or remove the key of an endpoint. The key is read from standard input, never from an argument.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Serve a script as an OpenAI-compatible model; prints its address.
    Rehearse {
        /// Script file (TOML); without one, the demo table is served.
        script: Option<PathBuf>,
        /// Port on 127.0.0.1; 0 takes a free one.
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
    /// Run, check or serve programs of code mode: `code run FILE`, `code check FILE`, `code catalog`, `code lines`.
    #[command(disable_help_flag = true)]
    Code {
        /// What to do; without anything, how it is used.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Build, ask, watch or export the code graph of a folder.
    #[command(subcommand)]
    Graph(codegraph::cli::Command),
    /// Print shell completions.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page in roff.
    Man {
        /// The command it is about; without it, the program.
        command: Vec<String>,
    },
}

/// Arguments of `folkmoot ask`.
#[derive(Args)]
pub struct AskArgs {
    /// Who shall answer: seats separated by commas, or `all`.
    #[arg(long, value_delimiter = ',', value_name = "SEATS")]
    to: Vec<String>,
    /// Go on in this thread, named by its id or the beginning of it; without it a new one begins.
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Attach a file as context; may be given several times. `PATH:10-42` attaches lines.
    #[arg(long, value_name = "PATH")]
    file: Vec<String>,
    /// Plan, draft, criticise and synthesise: several requests for one better answer.
    #[arg(long)]
    bonfire: bool,
    /// Folder to work on.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
    /// Note that the terms of service of subscription providers were read; needed once.
    #[arg(long)]
    accept_terms_notice: bool,
    /// The message; `-` reads it from standard input.
    #[arg(required = true)]
    text: Vec<String>,
}

#[derive(Subcommand)]
enum ThreadCommand {
    /// List threads, last used first.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Include archived threads.
        #[arg(long)]
        all: bool,
    },
    /// Print a thread.
    Show {
        /// Its id, or the beginning of it.
        id: String,
        /// Print the thread file's JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write a thread to standard output.
    Export {
        /// Its id, or the beginning of it.
        id: String,
        /// In which format.
        #[arg(long, value_enum, default_value_t = ExportFormat::Markdown)]
        format: ExportFormat,
    },
    /// Copy a thread up to a message into a new one; prints the new id.
    Fork {
        /// Its id, or the beginning of it.
        id: String,
        /// Number of the last message to share (`seq`); without it, all are shared.
        #[arg(long)]
        at: Option<u64>,
    },
    /// Move a thread to the bin of the data folder.
    Delete {
        /// Its id, or the beginning of it.
        id: String,
    },
    /// Remove a thread's run journal: its requests, reasoning and usage. The thread itself stays.
    PurgeJournal {
        /// Its id, or the beginning of it.
        id: String,
    },
    /// Bring a deleted thread back; without an id, list those that can come back.
    Restore {
        /// Its id.
        id: Option<String>,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum ExportFormat {
    /// The thread file's own format.
    Json,
    /// For people.
    Markdown,
}

#[derive(Subcommand)]
enum KeyCommand {
    /// Store a key for an endpoint of the settings.
    Set {
        /// The endpoint's id.
        endpoint: String,
    },
    /// Forget an endpoint's key.
    Remove {
        /// The endpoint's id.
        endpoint: String,
    },
    /// List which endpoints have a key. Keys are never printed.
    List,
}

/// Why a subcommand ends without success.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            code: EXIT_USAGE,
            message: message.into(),
        }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self {
            code: EXIT_FAILED,
            message: message.into(),
        }
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::failed(error.to_string())
    }
}

/// Runs the program as the arguments say.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    logging::install();
    let done = match cli.command {
        None => crate::shell::run(cli.folder).map(|()| EXIT_OK),
        Some(Subcommands::Ask(args)) => ask::run(&args),
        Some(Subcommands::Thread(command)) => thread::run(&command),
        Some(Subcommands::Models { json }) => models::run(json),
        Some(Subcommands::Key(command)) => key::run(&command),
        Some(Subcommands::Rehearse { script, port }) => rehearse::run(script.as_deref(), port),
        Some(Subcommands::Code { args }) => {
            let (mut input, mut out) = (std::io::stdin().lock(), std::io::stdout().lock());
            return codemode::cli::main(&args, &mut input, &mut out, &mut std::io::stderr());
        }
        Some(Subcommands::Graph(command)) => {
            return codegraph::cli::run(command, "folkmoot graph");
        }
        Some(Subcommands::Completions { shell }) => completions(shell),
        Some(Subcommands::Man { command }) => man(&command),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            // A closed standard error leaves nowhere to complain to.
            let message = printable(&failure.message);
            let _closed = writeln!(std::io::stderr(), "folkmoot: {message}");
            ExitCode::from(failure.code)
        }
    }
}

fn completions(shell: clap_complete::Shell) -> Result<u8, Failure> {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "folkmoot", &mut bytes);
    print(&bytes)
}

/// The page of the program, or of one of its commands: `folkmoot man thread export`.
fn man(names: &[String]) -> Result<u8, Failure> {
    let mut command = Cli::command();
    command.build();
    for name in names {
        let found = command.find_subcommand(name).cloned();
        command = found.ok_or_else(|| {
            Failure::usage(format!("there is no command {name} to write a page about"))
        })?;
    }
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command).render(&mut bytes)?;
    print(&bytes)
}

/// Writes to standard output; a reader that has gone away (`| head`) is no failure.
fn print(bytes: &[u8]) -> Result<u8, Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(EXIT_OK),
    }
}

/// Text without what could drive or disguise a terminal: control characters and changes of direction.
fn printable(text: &str) -> String {
    let is_safe = |c: &char| {
        let changes_direction = matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        );
        matches!(c, '\n' | '\t') || !(c.is_control() || changes_direction)
    };
    text.chars().filter(is_safe).collect()
}

/// Text from standard input, valid UTF-8, at most 64 MiB.
fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let mut input = std::io::stdin().lock().take(MAX_STDIN_BYTES + 1);
    input.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_STDIN_BYTES {
        return Err(Failure::usage("standard input is longer than 64 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| Failure::usage("standard input is not text in UTF-8"))
}

/// The data folder.
pub(crate) fn home() -> Result<PathBuf, Failure> {
    host::data_home().ok_or_else(|| {
        Failure::usage("there is no home folder; set FOLKMOOT_HOME to where data shall lie")
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}
