//! The tools that look after commands: their output, and those that go on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use commands::{JobSummary, OutputPart, OutputRequest};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::{decode, object_schema};
use crate::command_tools::{command_output, result_schema};
use crate::file_tools::encode;
use crate::text::plain;
use crate::tool::{CallContext, Executor, Plan};
use crate::{Class, Tool, ToolFault, ToolOutput};

/// Between two looks at whether a wait was stopped.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Longest wait for a job, in seconds.
const LONGEST_WAIT: u64 = 120;

pub(crate) fn tools() -> Vec<Tool> {
    vec![read_command_output(), list_jobs(), kill_job()]
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
