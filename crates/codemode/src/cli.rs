//! The command line: programs from files, or from requests a line.
//!
//! `run` and `lines` give programs `print`, which is `console.log`. The exit code is 0 when all is well, 1 when the program
//! failed or the check found something, 2 when the command line, a file or the output is at fault.

mod behave;

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::host::CancelFlag;
use crate::limits::Limits;
use crate::outcome::Outcome;
use crate::runtime::{Compiled, Runtime, compile_with_prelude};
use behave::{ScriptedHost, parse_tools};
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::process::ExitCode;

/// How the command line is used.
pub const USAGE: &str = "usage: codemode run FILE [--tools tools.json] [--limits limits.json] [--prelude FILE] [--check] [--json]
       codemode check FILE [--tools tools.json] [--prelude FILE] [--json]
       codemode catalog --tools tools.json [--compact]
       codemode lines

FILE is - for standard input. `lines` reads one JSON request a line, {code, tools?, namespaces?, limits?, prelude?,
check?}, and writes one result a line.
";

/// Longest request of `lines`, in bytes.
const LINE_LIMIT: usize = 256 << 20;

/// Why a command couldn't be carried out.
#[derive(Debug, thiserror::Error)]
enum CliError {
    #[error("{0}\n\n{USAGE}")]
    Usage(String),
    #[error("can't read ({source}): {path}")]
    Read {
        path: String,
        source: std::io::Error,
    },
    #[error("not UTF-8: {path}")]
    Encoding { path: String },
    #[error("not JSON ({source}): {path}")]
    Json {
        path: String,
        source: serde_json::Error,
    },
    #[error("{message}: {path}")]
    Content { path: String, message: String },
    #[error("can't write: {0}")]
    Write(#[from] std::io::Error),
    #[error("can't start: {0}")]
    Start(std::io::Error),
}

/// Runs a command line, without the program's own name in front.
pub fn main(
    args: &[String],
    stdin: &mut dyn BufRead,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> ExitCode {
    let mut streams = Streams {
        stdin,
        stdout,
        stderr,
    };
    let result = match args.split_first() {
        Some((command, rest)) => match command.as_str() {
            "run" => run(rest, &mut streams),
            "check" => check(rest, &mut streams),
            "catalog" => catalog(rest, &mut streams),
            "lines" => Arguments::read(rest, &[], &[], false).and_then(|_| lines(&mut streams)),
            "help" | "--help" | "-h" => help(&mut streams),
            other => Err(CliError::Usage(format!("unknown command: {other}"))),
        },
        None => Err(CliError::Usage("no command".to_owned())),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // There is nowhere left to tell a failure of this.
            let _ = writeln!(streams.stderr, "{error}");
            ExitCode::from(2)
        }
    }
}

struct Streams<'s> {
    stdin: &'s mut dyn BufRead,
    stdout: &'s mut dyn Write,
    stderr: &'s mut dyn Write,
}

/// The arguments of a command.
struct Arguments<'a> {
    file: Option<&'a str>,
    values: Vec<(&'a str, &'a str)>,
    flags: Vec<&'a str>,
}

impl<'a> Arguments<'a> {
    fn read(
        args: &'a [String],
        values: &[&str],
        flags: &[&str],
        takes_file: bool,
    ) -> Result<Arguments<'a>, CliError> {
        let mut read = Arguments {
            file: None,
            values: Vec::new(),
            flags: Vec::new(),
        };
        let mut rest = args.iter().map(String::as_str);
        while let Some(arg) = rest.next() {
            if values.contains(&arg) {
                let Some(value) = rest.next() else {
                    return Err(CliError::Usage(format!("{arg} needs a value")));
                };
                read.values.push((arg, value));
            } else if flags.contains(&arg) {
                read.flags.push(arg);
            } else if arg.starts_with('-') && arg != "-" {
                return Err(CliError::Usage(format!("unknown option: {arg}")));
            } else if takes_file && read.file.is_none() {
                read.file = Some(arg);
            } else {
                return Err(CliError::Usage(format!("unexpected argument: {arg}")));
            }
        }
        if takes_file && read.file.is_none() {
            return Err(CliError::Usage("no FILE".to_owned()));
        }
        Ok(read)
    }

    fn value(&self, name: &str) -> Option<&'a str> {
        let found = self.values.iter().rev().find(|(n, _)| *n == name);
        found.map(|(_, value)| *value)
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    fn source(&self, streams: &mut Streams<'_>) -> Result<String, CliError> {
        match self.file {
            Some("-") => {
                let mut bytes = Vec::new();
                streams
                    .stdin
                    .read_to_end(&mut bytes)
                    .map_err(|source| CliError::Read {
                        path: "standard input".to_owned(),
                        source,
                    })?;
                text(bytes, "standard input")
            }
            Some(path) => read(path),
            None => Err(CliError::Usage("no FILE".to_owned())),
        }
    }

    fn json(&self, name: &str) -> Result<Value, CliError> {
        match self.value(name) {
            Some(path) => read_json(path),
            None => Ok(Value::Null),
        }
    }

    /// The content of a file is at fault.
    fn blame(&self, name: &str) -> impl Fn(String) -> CliError {
        let path = self.value(name).unwrap_or_default().to_owned();
        move |message| CliError::Content {
            path: path.clone(),
            message,
        }
    }

    fn prelude(&self) -> Result<String, CliError> {
        self.value("--prelude").map_or(Ok(String::new()), read)
    }
}

fn text(bytes: Vec<u8>, path: &str) -> Result<String, CliError> {
    String::from_utf8(bytes).map_err(|_| CliError::Encoding {
        path: path.to_owned(),
    })
}

fn read(path: &str) -> Result<String, CliError> {
    let bytes = std::fs::read(path).map_err(|source| CliError::Read {
        path: path.to_owned(),
        source,
    })?;
    text(bytes, path)
}

fn read_json(path: &str) -> Result<Value, CliError> {
    serde_json::from_str(&read(path)?).map_err(|source| CliError::Json {
        path: path.to_owned(),
        source,
    })
}

fn help(streams: &mut Streams<'_>) -> Result<bool, CliError> {
    write!(streams.stdout, "{USAGE}")?;
    Ok(true)
}

fn executor() -> Result<tokio::runtime::Runtime, CliError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(CliError::Start)
}

fn run(args: &[String], streams: &mut Streams<'_>) -> Result<bool, CliError> {
    let values = ["--tools", "--limits", "--prelude"];
    let args = Arguments::read(args, &values, &["--json", "--check"], true)?;
    let source = args.source(streams)?;
    let prelude = args.prelude()?;
    let (tools, behaves) = parse_tools(&args.json("--tools")?).map_err(args.blame("--tools"))?;
    let limits = Limits::from_json(&args.json("--limits")?)
        .map_err(|error| args.blame("--limits")(error.to_string()))?;
    let runtime = Runtime::new(tools, limits).with_check(args.has("--check"));
    let outcome = executor()?.block_on(execute(
        &runtime,
        &prelude,
        &source,
        &ScriptedHost::new(behaves),
    ));
    if args.has("--json") {
        writeln!(streams.stdout, "{}", outcome.to_json())?;
        return Ok(outcome.result.is_ok());
    }
    for line in &outcome.logs {
        writeln!(streams.stdout, "{line}")?;
    }
    for warning in &outcome.warnings {
        writeln!(streams.stderr, "warning: {}", warning.message)?;
    }
    match &outcome.result {
        Ok(value) => {
            writeln!(streams.stdout, "{value:#}")?;
            Ok(true)
        }
        Err(error) => {
            tell(streams.stderr, error)?;
            Ok(false)
        }
    }
}

fn tell(out: &mut dyn Write, problem: &Diagnostic) -> Result<(), CliError> {
    writeln!(out, "{:?}: {}", problem.kind, problem.message)?;
    for suggestion in &problem.suggestions {
        writeln!(out, "  {suggestion}")?;
    }
    Ok(())
}

async fn execute(runtime: &Runtime, prelude: &str, source: &str, host: &ScriptedHost) -> Outcome {
    let compiled: Compiled = match compile_with_prelude(prelude, source) {
        Ok(compiled) => compiled,
        Err(problems) => return runtime.not_compiled(problems),
    };
    let cancel = CancelFlag::default();
    match runtime.run(&compiled, host, &cancel).await {
        Ok(outcome) => outcome,
        Err(interrupted) => refusal(&interrupted.to_string()),
    }
}

fn check(args: &[String], streams: &mut Streams<'_>) -> Result<bool, CliError> {
    let args = Arguments::read(args, &["--tools", "--prelude"], &["--json"], true)?;
    let source = args.source(streams)?;
    let prelude = args.prelude()?;
    let (tools, _) = parse_tools(&args.json("--tools")?).map_err(args.blame("--tools"))?;
    let problems = match compile_with_prelude(&prelude, &source) {
        Ok(compiled) => compiled.check(&tools),
        Err(problems) => problems,
    };
    if args.has("--json") {
        writeln!(streams.stdout, "{}", json!(problems))?;
    } else {
        for problem in &problems {
            tell(streams.stdout, problem)?;
        }
    }
    Ok(problems.is_empty())
}

fn catalog(args: &[String], streams: &mut Streams<'_>) -> Result<bool, CliError> {
    let args = Arguments::read(args, &["--tools"], &["--compact"], false)?;
    if args.value("--tools").is_none() {
        return Err(CliError::Usage("catalog needs --tools".to_owned()));
    }
    let (tools, _) = parse_tools(&args.json("--tools")?).map_err(args.blame("--tools"))?;
    let catalog = json!({
        "tools": tools.catalog(args.has("--compact")),
        "namespaces": tools.namespaces(),
    });
    writeln!(streams.stdout, "{catalog:#}")?;
    Ok(true)
}

/// One JSON request a line in, one result a line out.
fn lines(streams: &mut Streams<'_>) -> Result<bool, CliError> {
    let executor = executor()?;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = read_line(streams.stdin, &mut line).map_err(|source| CliError::Read {
            path: "standard input".to_owned(),
            source,
        })?;
        if read == 0 {
            return Ok(true);
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let outcome = if read > LINE_LIMIT {
            refusal(&format!("the request is longer than {LINE_LIMIT} bytes"))
        } else {
            match serde_json::from_slice::<Value>(&line) {
                Ok(request) => executor
                    .block_on(serve(&request))
                    .unwrap_or_else(|message| refusal(&message)),
                Err(error) => refusal(&format!("the request is not JSON: {error}")),
            }
        };
        writeln!(streams.stdout, "{}", outcome.to_json())?;
        streams.stdout.flush()?;
    }
}

/// Reads up to the end of a line and keeps no more of it than may be; the number of bytes it had.
fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> std::io::Result<usize> {
    let mut total = 0;
    loop {
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = bytes.iter().position(|&b| b == b'\n');
        let count = end.map_or(bytes.len(), |at| at + 1);
        if line.len() + count <= LINE_LIMIT {
            line.extend_from_slice(&bytes[..count]);
        } else {
            line.clear();
            line.push(b'x');
        }
        total += count;
        input.consume(count);
        if end.is_some() || count == 0 {
            return Ok(total);
        }
    }
}

/// The result of a request that can't be served.
fn refusal(message: &str) -> Outcome {
    Outcome::failed(Diagnostic::new(DiagnosticKind::InvalidDataValue, message))
}

async fn serve(request: &Value) -> Result<Outcome, String> {
    let code = request
        .get("code")
        .and_then(Value::as_str)
        .ok_or("the request has no code")?;
    let part = |key: &str| request.get(key).unwrap_or(&Value::Null);
    let (tools, behaves) = match part("namespaces") {
        Value::Null => parse_tools(part("tools"))?,
        namespaces => parse_tools(&json!({ "tools": part("tools"), "namespaces": namespaces }))?,
    };
    let limits = Limits::from_json(part("limits")).map_err(|error| error.to_string())?;
    let prelude = match part("prelude") {
        Value::Null => "",
        Value::String(prelude) => prelude,
        _ => return Err("prelude must be text".to_owned()),
    };
    let checks = match part("check") {
        Value::Null => false,
        Value::Bool(checks) => *checks,
        _ => return Err("check must be true or false".to_owned()),
    };
    let runtime = Runtime::new(tools, limits).with_check(checks);
    Ok(execute(&runtime, prelude, code, &ScriptedHost::new(behaves)).await)
}
