//! Serves a script to tests of other programs: `rehearse [SCRIPT | --demo] [--port N] [--lenient]`.

use rehearsal::{Options, Script, serve_until};
use std::process::ExitCode;

const USAGE: &str = "usage: rehearse [SCRIPT | --demo] [--port N] [--lenient]";

struct Arguments {
    script: Option<String>,
    port: u16,
    lenient: bool,
}

fn arguments(mut args: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut parsed = Arguments {
        script: None,
        port: 0,
        lenient: false,
    };
    let mut demo = false;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--demo" => demo = true,
            "--lenient" => parsed.lenient = true,
            "--port" => {
                let port = args.next().unwrap_or_default();
                parsed.port = port
                    .parse()
                    .map_err(|_| format!("--port needs a number from 0 to 65535, not {port:?}"))?;
            }
            flag if flag.starts_with('-') => return Err(format!("unknown option {flag}\n{USAGE}")),
            _ if parsed.script.is_none() => parsed.script = Some(arg),
            _ => return Err(format!("more than one script\n{USAGE}")),
        }
    }
    if demo && parsed.script.is_some() {
        return Err(format!("--demo is a script of its own\n{USAGE}"));
    }
    Ok(parsed)
}

async fn serve(arguments: Arguments) -> Result<(), String> {
    let (script, strict) = match &arguments.script {
        None => (Script::demo(), false),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| format!("can't read the script: {error}: {path}"))?;
            let script = Script::parse(&text).map_err(|error| format!("{error}: {path}"))?;
            (script, !arguments.lenient)
        }
    };
    let options = Options {
        port: arguments.port,
        strict,
        ..Options::default()
    };
    serve_until(
        script,
        options,
        tokio::signal::ctrl_c(),
        &mut std::io::stdout(),
    )
    .await
    .map_err(|error| format!("can't serve on port {}: {error}", arguments.port))
}

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match arguments(std::env::args().skip(1)) {
        Ok(arguments) => serve(arguments).await,
        Err(usage) => Err(usage),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("rehearse: {message}");
            ExitCode::FAILURE
        }
    }
}
