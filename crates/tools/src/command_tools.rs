//! The tool that runs commands.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use commands::{CommandResult, CommandSpec, Decision, Judgement, Place, judge, pieces};
use serde::Deserialize;
use serde_json::{Value, json};
use workspace::RelPath;

use crate::arguments::{decode, object_schema};
use crate::command_bounds::{Bounds, Sandboxing, holds};
use crate::file_tools::encode;
use crate::session::Grant;
use crate::text::plain;
use crate::tool::{CallContext, Executor, Keeps, Need, Plan};
use crate::{Class, FaultKind, Tool, ToolFault, ToolOutput, Workbench};

pub(crate) fn tools() -> Vec<Tool> {
    vec![run_command()]
}

/// The schema of what a command gave.
pub(crate) fn result_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "command_id": {"type": "string"},
            "exit_code": {"type": ["integer", "null"]},
            "signal": {"type": "integer"},
            "timed_out": {"type": "boolean"},
            "stopped": {"type": "boolean"},
            "job_id": {"type": "string"},
            "stdout": {"type": "string"},
            "stderr": {"type": "string"},
            "summary": {"type": "object"},
            "dropped_bytes": {"type": "integer"},
            "sandbox": {
                "type": "object",
                "properties": {
                    "enforced": {"type": "array", "items": {"type": "string"}},
                    "missing": {"type": "array", "items": {"type": "object"}},
                },
                "required": ["enforced", "missing"],
            },
            "elapsed_ms": {"type": "integer"},
        },
        "required": ["command_id", "exit_code", "timed_out", "stdout", "stderr", "sandbox", "elapsed_ms"],
    })
}

fn run_command() -> Tool {
    Tool {
        name: "run_command".into(),
        aliases: vec!["execute_command".into(), "bash".into(), "shell".into()],
        parameter_aliases: &[("cmd", "command"), ("script", "command")],
        description: "Runs a shell command in the open folder. There is no input and no pager. What takes longer than ten \
                      seconds goes on as a job, whose output read_command_output shows. The person may be asked first."
            .into(),
        class: Class::Command,
        input: object_schema(
            &["command"],
            &json!({
                "command": {"type": "string", "minLength": 1, "description": "for the shell"},
                "time_limit_seconds": {
                    "type": "integer", "minimum": 1, "maximum": 86_400,
                    "description": "stop it after so long; without it a job goes on until it ends",
                },
                "network": {"type": "boolean", "description": "it needs the network; the person is asked"},
                "unsandboxed": {"type": "boolean", "description": "it must not run in a sandbox; the person is asked"},
            }),
        ),
        output: result_schema(),
        executor: Arc::new(RunCommand),
    }
}

#[derive(Debug, Deserialize)]
struct CommandRequest {
    command: String,
    #[serde(default)]
    time_limit_seconds: Option<u64>,
    #[serde(default)]
    network: bool,
    #[serde(default)]
    unsandboxed: bool,
}

struct RunCommand;

impl Executor for RunCommand {
    fn plan(&self, arguments: &Value, context: &CallContext) -> Result<Plan, ToolFault> {
        let request: CommandRequest = decode(arguments)?;
        let judgement = judged(&request.command, &context.workbench);
        if judgement.decision == Decision::Deny {
            let why = reasons(&judgement).join("; ");
            return Err(ToolFault::new(
                FaultKind::Denied,
                format!("a rule forbids it: {why}"),
            ));
        }
        let (bounds, need) = bounds_and_need(&request, &judgement, &context.workbench);
        Ok(Plan {
            keeps: Keeps::Tree,
            need,
            bounds,
        })
    }

    fn run(
        &self,
        arguments: &Value,
        plan: &Plan,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolFault> {
        let request: CommandRequest = decode(arguments)?;
        let bench = &context.workbench;
        let settings = bench.settings();
        let mut spec = CommandSpec::new(request.command, bench.command_folder());
        spec.environment = settings.environment.clone();
        spec.hand_back_after = settings.hand_back_after;
        spec.time_limit = request.time_limit_seconds.map(Duration::from_secs);
        spec.sandbox = bench.sandbox_policy(&plan.bounds);
        let result = bench.runner.run(&spec, &context.stop.flag())?;
        if result.job_id.is_some() {
            bench.jobs_ran.store(true, Ordering::Release);
        }
        command_output(&result)
    }
}

fn judged(command: &str, bench: &Workbench) -> Judgement {
    let settings = bench.settings();
    let is_secret = |path: &str| {
        let parsed = RelPath::parse(path);
        parsed.is_ok_and(|path| bench.workspace.secrets().rule_for(&path).is_some())
    };
    let folder = bench.command_folder();
    let place = Place {
        workspace: &folder,
        is_secret: &is_secret,
    };
    judge(command, &settings.rules, &place)
}

fn reasons(judgement: &Judgement) -> Vec<String> {
    let reasons = judgement.reasons();
    reasons
        .map(|part| {
            format!(
                "{}: {}",
                commands::visible(part.command.as_bytes()),
                part.why
            )
        })
        .collect()
}

/// Within which bounds a command runs, and what the person is asked.
///
/// Nothing runs in silence: either the person says yes, or they chose before that a sandbox which holds whole takes
/// the place of the question, and no rule of theirs asks for one.
fn bounds_and_need(
    request: &CommandRequest,
    judgement: &Judgement,
    bench: &Workbench,
) -> (Bounds, Option<Need>) {
    let sandboxing = bench.settings().sandboxing;
    let mut told = reasons(judgement);
    if judgement.decision == Decision::Allow {
        told.clear();
    }
    let wants_out = request.unsandboxed || request.network;
    let bounds = if sandboxing == Sandboxing::Off || request.unsandboxed {
        Bounds::None
    } else if let Err(lacking) = holds(bench.enforcement()) {
        told.push(format!("the sandbox can't be made whole here: {lacking}"));
        Bounds::None
    } else {
        Bounds::Sandbox {
            network: request.network,
        }
    };
    let sandboxed = matches!(bounds, Bounds::Sandbox { network: false });
    if sandboxing == Sandboxing::Auto && sandboxed && !judgement.asks_by_rule() {
        return (bounds, None);
    }
    let leaves = sandboxing != Sandboxing::Off && wants_out;
    if leaves && request.unsandboxed {
        told.push("it asks to run without the sandbox".into());
    } else if leaves {
        told.push("it asks for the network".into());
    }
    let need = Need {
        heading: format!("Run a command in {}", bench.command_folder().display()),
        exact: pieces(request.command.as_bytes()),
        reasons: told,
        // What leaves the sandbox is asked about each time.
        grant: (!leaves).then_some(Grant::Commands),
    };
    (bounds, Some(need))
}

pub(crate) fn command_output(result: &CommandResult) -> Result<ToolOutput, ToolFault> {
    let mut data = encode(result)?;
    if let Value::Object(fields) = &mut data {
        for name in ["signal", "job_id"] {
            if fields.get(name) == Some(&Value::Null) {
                fields.shift_remove(name);
            }
        }
    }
    Ok(ToolOutput {
        text: command_text(result),
        truncated: result.summary.shown_lines < result.summary.total_lines,
        data,
    })
}

fn command_text(result: &CommandResult) -> String {
    let id = &result.command_id;
    let ended = match (&result.job_id, result.exit_code, result.signal) {
        (Some(job), None, None) => format!(
            "goes on as a job; read_command_output command_id={job} shows more, with wait_seconds it waits, kill_job \
             job_id={job} stops it"
        ),
        (Some(job), code, _) => format!(
            "exit code {}, and what it started goes on; kill_job job_id={job} stops that",
            code.unwrap_or(-1)
        ),
        (None, Some(code), _) => format!("exit code {code}"),
        (None, None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None, None) => "ended".to_owned(),
    };
    let why = match (result.timed_out, result.stopped) {
        (true, _) => ", its time was over",
        (_, true) => ", it was stopped",
        _ => "",
    };
    let mut text = format!(
        "[{id}] {ended}{why}, after {} ms, {}\n",
        result.elapsed_ms,
        result.sandbox.label()
    );
    text.push_str(&plain(&result.summary.text));
    if result.summary.total_lines == 0 {
        text.push_str("(no output)\n");
    }
    if result.dropped_bytes > 0 {
        let bytes = result.dropped_bytes;
        text.push_str(&format!(
            "({bytes} bytes of output were more than is kept)\n"
        ));
    }
    text
}
