//! Running a program against a host, and what a run answers.

use crate::builtins::{describe_error, json, render};
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::front;
use crate::host::{Call, CancelFlag, Environment, HostState, Limits, Reply};
use crate::object::{Kind, PromiseState};
use crate::op::Program;
use crate::output;
use crate::realm::{name, realm};
use crate::tools::ToolSet;
use crate::value::{Abrupt, ObjId, Stop, Value};
use crate::vm::Vm;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Answers a program's tool calls.
pub trait ToolHost: Send + Sync {
    /// Starts a call. Dropping the future interrupts it.
    fn call(&self, call: Call) -> BoxFuture<'static, Reply>;
}

/// One admitted call, by its dotted path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Dotted path of the tool.
    pub name: String,
}

/// What a run gave. Serialises to the object with `ok`, `value` or `error`, and the optional parts when there are any.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The result, or why there is none.
    pub result: Result<serde_json::Value, Diagnostic>,
    /// Problems that didn't fail the run.
    pub warnings: Vec<Diagnostic>,
    /// Lines the program logged.
    pub logs: Vec<String>,
    /// Whether anything was cut to fit the output limit.
    pub truncated: bool,
    /// Admitted calls, in order.
    pub tool_calls: Vec<ToolCall>,
    /// What the check before the run found; then nothing was run.
    pub problems: Vec<Diagnostic>,
}

impl Outcome {
    /// The outcome of a program that didn't run.
    pub fn failed(error: Diagnostic) -> Outcome {
        Outcome {
            result: Err(error),
            warnings: Vec::new(),
            logs: Vec::new(),
            truncated: false,
            tool_calls: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// The outcome of a program with problems found before it ran: the error is the first and tells all of them.
    pub(crate) fn refused(problems: Vec<Diagnostic>) -> Outcome {
        let mut error = match problems.first() {
            Some(first) => first.clone(),
            None => Diagnostic::new(DiagnosticKind::ParseError, "not a program"),
        };
        if problems.len() > 1 {
            let lines: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
            error.message = format!(
                "{} problems, nothing was run:\n{}",
                problems.len(),
                lines.join("\n")
            );
            for more in problems.iter().flat_map(|p| &p.suggestions) {
                if !error.suggestions.contains(more) {
                    error.suggestions.push(more.clone());
                }
            }
        }
        Outcome {
            problems,
            ..Outcome::failed(error)
        }
    }

    /// The JSON form.
    pub fn to_json(&self) -> serde_json::Value {
        let mut map = serde_json::Map::new();
        map.insert("ok".to_owned(), self.result.is_ok().into());
        match &self.result {
            Ok(value) => map.insert("value".to_owned(), value.clone()),
            Err(error) => map.insert(
                "error".to_owned(),
                serde_json::to_value(error).unwrap_or_default(),
            ),
        };
        if !self.warnings.is_empty() {
            map.insert(
                "warnings".to_owned(),
                serde_json::to_value(&self.warnings).unwrap_or_default(),
            );
        }
        if !self.logs.is_empty() {
            map.insert(
                "logs".to_owned(),
                serde_json::to_value(&self.logs).unwrap_or_default(),
            );
        }
        if self.truncated {
            map.insert("truncated".to_owned(), true.into());
        }
        map.insert(
            "toolCalls".to_owned(),
            serde_json::to_value(&self.tool_calls).unwrap_or_default(),
        );
        if !self.problems.is_empty() {
            map.insert(
                "problems".to_owned(),
                serde_json::to_value(&self.problems).unwrap_or_default(),
            );
        }
        serde_json::Value::Object(map)
    }
}

/// The run was cancelled; there is no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the run was cancelled")
    }
}

impl std::error::Error for Interrupted {}

/// A program checked and compiled, ready to run any number of times.
#[derive(Clone, Debug)]
pub struct Compiled {
    program: Arc<Program>,
    prelude: Arc<str>,
}

impl Compiled {
    /// Every unknown name and tool, every written-out input that can't fit its schema, and every read of a property
    /// that a tool's result doesn't have, in the order of the source; fifty at most. Nothing is executed. What the text
    /// doesn't show for certain counts as right.
    pub fn check(&self, tools: &ToolSet) -> Vec<Diagnostic> {
        crate::check::check(&self.program, &self.prelude, tools, &[])
    }
}

/// Parses and compiles a program.
///
/// # Errors
/// All syntax errors found, in the order of the source.
pub fn compile(source: &str) -> Result<Compiled, Vec<Diagnostic>> {
    let program = front::build(source, &realm().names)?;
    Ok(Compiled {
        program: Arc::new(program),
        prelude: Arc::from(""),
    })
}

/// Compiles a program that runs after a prelude in the same scope. `print` is `console.log` in both. Places refer to
/// the program alone.
///
/// # Errors
/// All syntax errors found.
pub fn compile_with_prelude(prelude: &str, source: &str) -> Result<Compiled, Vec<Diagnostic>> {
    let program = front::build_with_prelude(prelude, source, &realm().names)?;
    Ok(Compiled {
        program: Arc::new(program),
        prelude: Arc::from(prelude),
    })
}

/// Tools and limits for any number of runs. Every run starts from the same clean state.
#[derive(Clone, Debug)]
pub struct Runtime {
    tools: Arc<ToolSet>,
    limits: Limits,
    environment: Option<Environment>,
    checks: bool,
}

impl Runtime {
    /// A runtime over a set of tools.
    pub fn new(tools: ToolSet, limits: Limits) -> Runtime {
        Runtime {
            tools: Arc::new(tools),
            limits,
            environment: None,
            checks: false,
        }
    }

    /// Checks every program before it runs ([`Compiled::check`]); one with problems isn't run, and its outcome tells all
    /// of them. Off unless asked for: a program that fails in a branch never taken is refused too.
    #[must_use]
    pub fn with_check(mut self, checks: bool) -> Runtime {
        self.checks = checks;
        self
    }

    /// Fixes the clock and the random source of the runs.
    #[must_use]
    pub fn with_environment(mut self, environment: Environment) -> Runtime {
        self.environment = Some(environment);
        self
    }

    /// The tools.
    pub fn tools(&self) -> &ToolSet {
        &self.tools
    }

    /// Compiles and runs a program. CPU work happens on the polling thread; a timeout needs a tokio runtime with time.
    ///
    /// # Errors
    /// When the run was cancelled.
    pub async fn execute(
        &self,
        source: &str,
        host: &dyn ToolHost,
        cancel: &CancelFlag,
    ) -> Result<Outcome, Interrupted> {
        match compile(source) {
            Ok(compiled) => self.run(&compiled, host, cancel).await,
            Err(problems) => Ok(self.not_compiled(problems)),
        }
    }

    /// The outcome of a source that isn't a program: its first problem, or all of them where programs are checked.
    pub fn not_compiled(&self, problems: Vec<Diagnostic>) -> Outcome {
        if self.checks {
            return Outcome::refused(problems);
        }
        let first = problems.into_iter().next();
        Outcome::failed(
            first.unwrap_or_else(|| Diagnostic::new(DiagnosticKind::ParseError, "not a program")),
        )
    }

    /// Runs a compiled program.
    ///
    /// # Errors
    /// When the run was cancelled.
    pub async fn run(
        &self,
        compiled: &Compiled,
        host: &dyn ToolHost,
        cancel: &CancelFlag,
    ) -> Result<Outcome, Interrupted> {
        if self.checks {
            let problems = compiled.check(&self.tools);
            if !problems.is_empty() {
                return Ok(Outcome::refused(problems));
            }
        }
        let environment = self.environment.clone().unwrap_or_default();
        let state = HostState::new(
            self.limits.clone(),
            Arc::clone(&self.tools),
            cancel.clone(),
            environment,
        );
        let mut run = Run {
            vm: Vm::new(Arc::clone(&compiled.program), state),
            value: None,
        };
        let ended = run.drive(host, cancel).await;
        run.finish(ended)
    }
}

struct Run {
    vm: Vm,
    /// The result, once it was copied out.
    value: Option<serde_json::Value>,
}

/// How a run ended.
#[derive(Clone, Copy)]
enum Ended {
    Value,
    Error(Value),
    Stopped(Stop),
    /// Nothing that could settle the awaited promise is left.
    Stuck,
}

impl Run {
    async fn drive(&mut self, host: &dyn ToolHost, cancel: &CancelFlag) -> Ended {
        let main = match self.vm.start() {
            Ok(Value::Obj(main)) => main,
            Ok(_) => return Ended::Stuck,
            Err(Abrupt::Throw(error)) => return Ended::Error(error),
            Err(Abrupt::Stop(stop)) => return Ended::Stopped(stop),
        };
        self.vm.host.held.push(main);
        let mut calls = FuturesUnordered::new();
        loop {
            if let Err(error) = self.vm.run_jobs(main) {
                return self.stopped(error);
            }
            for call in std::mem::take(&mut self.vm.host.outbox) {
                let id = call.id;
                let future = host.call(call);
                calls.push(async move { (id, future.await) });
            }
            match self.progress(main) {
                Ok(Some(ended)) => return ended,
                Ok(None) if !self.vm.jobs.is_empty() => {
                    // The program is through, but its result holds promises that aren't.
                    if let Err(error) = self.vm.run_next_job() {
                        return self.stopped(error);
                    }
                }
                Ok(None) => {}
                Err(error) => return self.stopped(error),
            }
            if !self.vm.host.outbox.is_empty() || !self.vm.jobs.is_empty() {
                continue;
            }
            let deadline = self.vm.host.deadline();
            if calls.is_empty() && deadline.is_none() {
                return Ended::Stuck;
            }
            let late = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                    None => std::future::pending().await,
                }
            };
            let reply = async {
                match calls.next().await {
                    Some(reply) => reply,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Ended::Stopped(Stop::Cancelled),
                (id, reply) = reply => {
                    if let Err(error) = self.vm.tool_replied(id, reply) {
                        return self.stopped(error);
                    }
                }
                () = late => return Ended::Stopped(Stop::Timeout),
            }
        }
    }

    fn stopped(&self, error: Abrupt) -> Ended {
        match error {
            Abrupt::Throw(value) => Ended::Error(value),
            Abrupt::Stop(stop) => Ended::Stopped(stop),
        }
    }

    /// Whether the program is through: its result is copied out when nothing in it is pending.
    fn progress(&mut self, main: ObjId) -> Result<Option<Ended>, Abrupt> {
        let Some((state, value)) = self.vm.promise(main).map(|p| (p.state, p.value)) else {
            return Ok(None);
        };
        match state {
            PromiseState::Pending => Ok(None),
            PromiseState::Rejected => Ok(Some(Ended::Error(value))),
            PromiseState::Fulfilled => {
                let mut waiting = Vec::new();
                self.vm.pending_in(value, &mut waiting, 0);
                if !waiting.is_empty() {
                    return Ok(None);
                }
                let text = json::boundary_text(&mut self.vm, value)?;
                let text = text.unwrap_or_else(|| "null".to_owned());
                self.value = Some(serde_json::from_str(&text).unwrap_or(serde_json::Value::Null));
                Ok(Some(Ended::Value))
            }
        }
    }

    fn finish(mut self, ended: Ended) -> Result<Outcome, Interrupted> {
        let mut warnings = Vec::new();
        let result = match ended {
            Ended::Value => {
                for reason in self.vm.unhandled_rejections() {
                    let mut warning = diagnose(&mut self.vm, reason);
                    warning.message = format!(
                        "Unhandled rejection from an un-awaited promise: {}",
                        warning.message
                    );
                    warnings.push(warning);
                }
                Ok(self.value.take().unwrap_or_default())
            }
            Ended::Error(value) => Err(diagnose(&mut self.vm, value)),
            Ended::Stopped(Stop::Cancelled) => return Err(Interrupted),
            Ended::Stopped(Stop::Timeout) => {
                let ms = self.vm.host.limits.timeout_ms.unwrap_or(0);
                let message = format!("Execution timed out after {ms}ms.");
                Err(Diagnostic::new(DiagnosticKind::TimeoutExceeded, message))
            }
            Ended::Stopped(Stop::Fuel) => {
                let fuel = self.vm.host.limits.fuel.unwrap_or(0);
                let message = format!("Execution stopped after {fuel} steps.");
                Err(Diagnostic::new(DiagnosticKind::TimeoutExceeded, message))
            }
            Ended::Stuck => Err(Diagnostic::new(
                DiagnosticKind::ExecutionFailure,
                "The program waits for a promise that nothing can settle.",
            )),
        };
        let host = self.vm.host;
        let tool_calls = host
            .calls
            .into_iter()
            .map(|name| ToolCall { name })
            .collect();
        let outcome = Outcome {
            result,
            warnings,
            logs: host.logs,
            truncated: false,
            tool_calls,
            problems: Vec::new(),
        };
        Ok(output::fit(outcome, &host.limits))
    }
}

/// The diagnostic of an uncaught value.
fn diagnose(vm: &mut Vm, value: Value) -> Diagnostic {
    let Some(id) = value
        .as_obj()
        .filter(|&id| matches!(vm.heap.kind(id), Kind::Error(_)))
    else {
        let text = match value {
            Value::Str(id) => vm.utf8(id),
            Value::Obj(id) if opaque(vm, id) => "a non-data value".to_owned(),
            Value::Lazy(_) => "a non-data value".to_owned(),
            other => render(vm, other),
        };
        let span = vm.throw_site(value);
        return place(
            vm,
            DiagnosticKind::ExecutionFailure,
            &format!("Uncaught: {text}"),
            span,
            Vec::new(),
        );
    };
    let (kind, span, suggestions) = match vm.heap.kind(id) {
        Kind::Error(data) => (data.kind, data.span, data.suggestions.clone()),
        _ => (None, None, Vec::new()),
    };
    let message = match kind {
        Some(_) => crate::builtins::plain_text(vm, id, name::MESSAGE),
        None => describe_error(vm, value).ok(),
    };
    let message = message.unwrap_or_else(|| render(vm, value));
    place(
        vm,
        kind.unwrap_or(DiagnosticKind::ExecutionFailure),
        &message,
        span,
        suggestions,
    )
}

fn opaque(vm: &Vm, id: ObjId) -> bool {
    !matches!(
        vm.heap.kind(id),
        Kind::Ordinary | Kind::Array(_) | Kind::Boxed(_) | Kind::Date(_) | Kind::Arguments
    )
}

fn place(
    vm: &Vm,
    kind: DiagnosticKind,
    message: &str,
    span: Option<u32>,
    suggestions: Vec<String>,
) -> Diagnostic {
    let diagnostic = match span {
        Some(span) => Diagnostic::located(kind, message, &vm.program.source, span),
        None => Diagnostic::new(kind, message),
    };
    Diagnostic {
        suggestions,
        ..diagnostic
    }
}
