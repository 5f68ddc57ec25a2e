//! `codemode run|check|catalog|lines`: programs from files or from requests on standard input.

mod behave;

use behave::{ScriptedHost, parse_tools};
use codemode::{CancelFlag, Diagnostic, DiagnosticKind, Limits, Outcome, Runtime, compile};
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::process::ExitCode;

const USAGE: &str = "usage: codemode run FILE [--tools tools.json] [--limits limits.json] [--json]
       codemode check FILE [--tools tools.json]
       codemode catalog --tools tools.json [--compact]
       codemode lines";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("can't start: {error}")),
    };
    let result = match args.first().map(String::as_str) {
        Some("run") => runtime.block_on(run(&args[1..])),
        Some("check") => check(&args[1..]),
        Some("catalog") => catalog(&args[1..]),
        Some("lines") => runtime.block_on(lines()),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => fail(&message),
    }
}

fn fail(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(2)
}

/// The value after a flag.
fn option<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    let at = args.iter().position(|a| a == name)?;
    args.get(at + 1).map(String::as_str)
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{error}: {path}"))
}

fn read_json(path: &str) -> Result<Value, String> {
    serde_json::from_str(&read(path)?).map_err(|error| format!("{error}: {path}"))
}

fn file_argument(args: &[String]) -> Result<&str, String> {
    args.first()
        .filter(|a| !a.starts_with("--"))
        .map(String::as_str)
        .ok_or_else(|| USAGE.to_owned())
}

async fn run(args: &[String]) -> Result<bool, String> {
    let source = read(file_argument(args)?)?;
    let tools = option(args, "--tools")
        .map(read_json)
        .transpose()?
        .unwrap_or(Value::Null);
    let limits = option(args, "--limits")
        .map(read_json)
        .transpose()?
        .unwrap_or(Value::Null);
    let request = json!({ "code": source, "tools": tools, "limits": limits });
    let outcome = answer(&request).await;
    if args.iter().any(|a| a == "--json") {
        println!("{outcome}");
        return Ok(outcome["ok"] == true);
    }
    for line in outcome["logs"].as_array().into_iter().flatten() {
        println!("{}", line.as_str().unwrap_or_default());
    }
    for warning in outcome["warnings"].as_array().into_iter().flatten() {
        eprintln!(
            "warning: {}",
            warning["message"].as_str().unwrap_or_default()
        );
    }
    if outcome["ok"] == true {
        println!("{:#}", outcome["value"]);
        return Ok(true);
    }
    let error = &outcome["error"];
    eprintln!(
        "{}: {}",
        error["kind"].as_str().unwrap_or_default(),
        error["message"].as_str().unwrap_or_default()
    );
    for suggestion in error["suggestions"].as_array().into_iter().flatten() {
        eprintln!("  {}", suggestion.as_str().unwrap_or_default());
    }
    Ok(false)
}

fn check(args: &[String]) -> Result<bool, String> {
    let source = read(file_argument(args)?)?;
    let tools = option(args, "--tools")
        .map(read_json)
        .transpose()?
        .unwrap_or(Value::Null);
    let (set, _) = parse_tools(&tools)?;
    let problems = match compile(&source) {
        Ok(compiled) => compiled.check(&set),
        Err(problems) => problems,
    };
    for problem in &problems {
        println!("{:?}: {}", problem.kind, problem.message);
        for suggestion in &problem.suggestions {
            println!("  {suggestion}");
        }
    }
    Ok(problems.is_empty())
}

fn catalog(args: &[String]) -> Result<bool, String> {
    let tools = read_json(option(args, "--tools").ok_or(USAGE)?)?;
    let (set, _) = parse_tools(&tools)?;
    let compact = args.iter().any(|a| a == "--compact");
    println!(
        "{:#}",
        json!({ "tools": set.catalog(compact), "namespaces": set.namespaces() })
    );
    Ok(true)
}

/// One JSON request a line in, one result a line out.
async fn lines() -> Result<bool, String> {
    let stdin = std::io::stdin();
    let mut stdout = std::io::stdout();
    for line in stdin.lock().lines() {
        let line = line.map_err(|error| format!("can't read standard input: {error}"))?;
        if line.trim().is_empty() {
            continue;
        }
        let outcome = match serde_json::from_str::<Value>(&line) {
            Ok(request) => answer(&request).await,
            Err(error) => refusal(&format!("the request is not JSON: {error}")),
        };
        writeln!(stdout, "{outcome}")
            .and_then(|()| stdout.flush())
            .map_err(|error| format!("can't write: {error}"))?;
    }
    Ok(true)
}

/// The result of a request that can't be served.
fn refusal(message: &str) -> Value {
    let error = Diagnostic::new(DiagnosticKind::InvalidDataValue, message);
    Outcome::failed(error).to_json()
}

async fn answer(request: &Value) -> Value {
    match serve(request).await {
        Ok(outcome) => outcome.to_json(),
        Err(message) => refusal(&message),
    }
}

async fn serve(request: &Value) -> Result<Outcome, String> {
    let code = request
        .get("code")
        .and_then(Value::as_str)
        .ok_or("the request has no code")?;
    let (tools, behaves) = parse_tools(request.get("tools").unwrap_or(&Value::Null))?;
    let limits = Limits::from_json(request.get("limits").unwrap_or(&Value::Null))
        .map_err(|error| error.to_string())?;
    let checks = request.get("check") == Some(&Value::Bool(true));
    let runtime = Runtime::new(tools, limits).with_check(checks);
    let host = ScriptedHost::new(behaves);
    let compiled = match request.get("prelude").and_then(Value::as_str) {
        Some(prelude) => codemode::compile_with_prelude(prelude, code),
        None => codemode::compile_with_prelude("", code),
    };
    match compiled {
        Ok(compiled) => runtime
            .run(&compiled, &host, &CancelFlag::default())
            .await
            .map_err(|interrupted| interrupted.to_string()),
        Err(problems) => Ok(runtime.not_compiled(problems)),
    }
}
