//! The tools that run commands, and look after those that go on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use commands::{
    CommandResult, CommandSpec, Decision, JobSummary, Judgement, OutputPart, OutputRequest, Place,
    judge, pieces,
};
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

/// Between two looks at whether a wait was stopped.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Longest wait for a job, in seconds.
const LONGEST_WAIT: u64 = 120;

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        run_command(),
        read_command_output(),
        list_jobs(),
        kill_job(),
    ]
}

/// The schema of what a command gave.
fn result_schema() -> Value {
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

fn command_output(result: &CommandResult) -> Result<ToolOutput, ToolFault> {
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

fn read_command_output() -> Tool {
    Tool {
        name: "read_command_output".into(),
        aliases: Vec::new(),
        parameter_aliases: &[("cmd_id", "command_id"), ("id", "command_id"), ("job_id", "command_id")],
        description: "Shows output of a command, of one that goes on as well, by lines from the end or from the beginning."
            .into(),
        class: Class::Read,
        input: object_schema(
            &["command_id"],
            &json!({
                "command_id": {"type": "string", "description": "as the command's result names it"},
                "offset": {"type": "integer", "minimum": 0, "description": "lines to step over"},
                "limit": {"type": "integer", "minimum": 1, "description": "how many lines; 200 unless given"},
                "priority": {
                    "type": "string", "enum": ["top", "bottom"],
                    "description": "count from the beginning or, unless given, from the end",
                },
                "filter": {"type": "string", "description": "only lines that match this regular expression"},
                "wait_seconds": {
                    "type": "integer", "minimum": 0, "maximum": LONGEST_WAIT,
                    "description": "wait so long for a job to end",
                },
            }),
        ),
        output: json!({
            "type": "object",
            "properties": {
                "command_id": {"type": "string"},
                "running": {"type": "boolean"},
                "total_lines": {"type": "integer"},
                "lines": {"type": "array", "items": {"type": "integer"}},
                "text": {"type": "string"},
                "truncated": {"type": "boolean"},
            },
            "required": ["command_id", "running", "total_lines", "lines", "text", "truncated"],
        }),
        executor: Arc::new(ReadCommandOutput),
    }
}

#[derive(Debug, Deserialize)]
struct ReadOutput {
    command_id: String,
    #[serde(default)]
    offset: u64,
    #[serde(default)]
    limit: Option<u64>,
    #[serde(default)]
    priority: Priority,
    #[serde(default)]
    filter: Option<String>,
    #[serde(default)]
    wait_seconds: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Priority {
    Top,
    #[default]
    Bottom,
}

struct ReadCommandOutput;

impl Executor for ReadCommandOutput {
    fn run(
        &self,
        arguments: &Value,
        _: &Plan,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolFault> {
        let request: ReadOutput = decode(arguments)?;
        wait_for(&request, context);
        let runner = &context.workbench.runner;
        let running = jobs_named(&runner.list_jobs(), &request.command_id);
        let part = runner.outputs().read(
            &request.command_id,
            &OutputRequest {
                offset: request.offset,
                limit: request.limit,
                from_start: request.priority == Priority::Top,
                filter: request.filter.clone(),
            },
        )?;
        let mut data = encode(&part)?;
        data["command_id"] = request.command_id.clone().into();
        data["running"] = running.into();
        Ok(ToolOutput {
            text: part_text(&part, &request, running),
            truncated: part.truncated || part.lines[1] < part.total_lines || part.lines[0] > 1,
            data,
        })
    }
}

fn jobs_named(jobs: &[JobSummary], id: &str) -> bool {
    jobs.iter().any(|job| job.job_id == id && job.running)
}

/// Waits until a job is over, the time is, or the call is stopped.
fn wait_for(request: &ReadOutput, context: &CallContext) {
    let runner = &context.workbench.runner;
    let deadline = Instant::now() + Duration::from_secs(request.wait_seconds.min(LONGEST_WAIT));
    while Instant::now() < deadline && !context.stop.is_stopped() {
        if !jobs_named(&runner.list_jobs(), &request.command_id) {
            return;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn part_text(part: &OutputPart, request: &ReadOutput, running: bool) -> String {
    let [from, to] = part.lines;
    let state = if running { ", it still runs" } else { "" };
    let of = if request.filter.is_some() {
        "matching lines"
    } else {
        "lines"
    };
    let id = &request.command_id;
    let mut text = format!("[{id}] {of} {from}-{to} of {}{state}\n", part.total_lines);
    text.push_str(&plain(&part.text));
    if part.truncated {
        text.push_str("[truncated: too many bytes; ask for fewer lines]\n");
    } else if to < part.total_lines || from > 1 {
        text.push_str("[truncated: offset and limit show other lines]\n");
    }
    text
}

fn list_jobs() -> Tool {
    Tool {
        name: "list_jobs".into(),
        aliases: vec!["jobs".into()],
        parameter_aliases: &[],
        description: "Lists the commands that go on.".into(),
        class: Class::Read,
        input: object_schema(&[], &json!({})),
        output: json!({
            "type": "object",
            "properties": {
                "jobs": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "job_id": {"type": "string"},
                            "command": {"type": "string"},
                            "running": {"type": "boolean"},
                            "processes": {"type": "integer"},
                            "elapsed_ms": {"type": "integer"},
                        },
                        "required": ["job_id", "command", "running", "processes", "elapsed_ms"],
                    },
                },
            },
            "required": ["jobs"],
        }),
        executor: Arc::new(ListJobs),
    }
}

struct ListJobs;

impl Executor for ListJobs {
    fn run(&self, _: &Value, _: &Plan, context: &CallContext) -> Result<ToolOutput, ToolFault> {
        let jobs = context.workbench.runner.list_jobs();
        let mut text = String::new();
        for job in &jobs {
            let state = if job.running { "runs" } else { "is over" };
            let shown = commands::visible(job.command.as_bytes());
            text.push_str(&format!(
                "[{}] {state}, {} processes, {} ms: {shown}\n",
                job.job_id, job.processes, job.elapsed_ms
            ));
        }
        if jobs.is_empty() {
            text.push_str("(nothing goes on)\n");
        }
        Ok(ToolOutput {
            text,
            truncated: false,
            data: json!({"jobs": encode(&jobs)?}),
        })
    }
}

fn kill_job() -> Tool {
    Tool {
        name: "kill_job".into(),
        aliases: vec!["kill_command".into()],
        parameter_aliases: &[("command_id", "job_id"), ("id", "job_id")],
        description: "Stops a command that goes on, with everything it started.".into(),
        class: Class::Command,
        input: object_schema(
            &["job_id"],
            &json!({"job_id": {"type": "string", "description": "as list_jobs names it"}}),
        ),
        output: result_schema(),
        executor: Arc::new(KillJob),
    }
}

struct KillJob;

impl Executor for KillJob {
    fn run(
        &self,
        arguments: &Value,
        _: &Plan,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolFault> {
        let id = arguments["job_id"].as_str().unwrap_or_default();
        let result = context.workbench.runner.kill_job(id)?;
        command_output(&result)
    }
}
