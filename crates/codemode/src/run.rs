//! One run: jobs until nothing is left to do, calls out, replies in, and what it all came to.

use crate::builtins::{describe_error, json, render};
use crate::data::{Data, HostError};
use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::host::{Call, CancelFlag, Output, Reply, ToolError};
use crate::object::{Kind, PromiseState};
use crate::outcome::{Outcome, ToolCall};
use crate::output;
use crate::realm::name;
use crate::record::{Step, Tape};
use crate::state::{HostState, Outgoing};
use crate::value::{Abrupt, ObjId, Stop, Value};
use crate::vm::Vm;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::VecDeque;
use std::time::Instant;

/// Answers a program's tool calls.
pub trait ToolHost: Send + Sync {
    /// Starts a call. Dropping the future interrupts it.
    fn call(&self, call: Call) -> BoxFuture<'static, Reply>;
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

/// One run of a program.
pub(crate) struct Run {
    vm: Vm,
    /// The result, once it was copied out.
    value: Option<serde_json::Value>,
}

/// What the host works on, and the calls that wait for their turn.
struct Flight {
    arriving: FuturesUnordered<BoxFuture<'static, Arrival>>,
    queue: VecDeque<Call>,
    running: usize,
    /// Most calls at a time.
    most: usize,
}

impl Flight {
    /// Hands to the host what the program started, as far as there is room.
    fn launch(&mut self, state: &mut HostState, host: &dyn ToolHost) {
        for outgoing in std::mem::take(&mut state.outbox) {
            match outgoing {
                Outgoing::Call(call) => self.queue.push_back(call),
                Outgoing::Future(id, future) => {
                    let arrival = async move { Arrival::Settled(id, future.await) };
                    self.arriving.push(Box::pin(arrival));
                }
            }
        }
        while self.running < self.most
            && let Some(call) = self.queue.pop_front()
        {
            self.running += 1;
            state.start(&call);
            let (id, reply) = (call.id, host.call(call));
            let arrival = async move { Arrival::Reply(id, reply.await) };
            self.arriving.push(Box::pin(arrival));
        }
    }
}

/// What came in from outside.
enum Arrival {
    Reply(u64, Reply),
    Settled(u64, Result<Data, HostError>),
}

/// How a run ended.
#[derive(Clone, Copy)]
pub(crate) enum Ended {
    Value,
    Error(Value),
    Stopped(Stop),
    /// Nothing that could settle the awaited promise is left.
    Stuck,
}

impl Run {
    pub(crate) fn new(vm: Vm) -> Run {
        Run { vm, value: None }
    }

    /// Runs the program against its host.
    pub(crate) async fn drive(&mut self, host: &dyn ToolHost, cancel: &CancelFlag) -> Ended {
        let main = match self.begin() {
            Ok(main) => main,
            Err(ended) => return ended,
        };
        let most = self
            .vm
            .host
            .limits
            .max_concurrent_calls
            .unwrap_or(usize::MAX)
            .max(1);
        let excludes_tools = self.vm.host.limits.exclude_tool_time;
        let mut flight = Flight {
            arriving: FuturesUnordered::new(),
            queue: VecDeque::new(),
            running: 0,
            most,
        };
        loop {
            let ended = self.advance(main);
            flight.launch(&mut self.vm.host, host);
            if let Some(ended) = ended {
                // Calls start when they are made, also those that nobody awaits.
                while let Some(Some(arrival)) = flight.arriving.next().now_or_never() {
                    if let Arrival::Reply(id, reply) = arrival {
                        flight.running -= 1;
                        self.vm.host.answered_late(id, &reply);
                        flight.launch(&mut self.vm.host, host);
                    }
                }
                return ended;
            }
            let waits_for_tools = !flight.arriving.is_empty();
            let deadline = self.vm.host.deadline();
            if !waits_for_tools && deadline.is_none() {
                return Ended::Stuck;
            }
            let late = async {
                match deadline {
                    Some(deadline) if !(excludes_tools && waits_for_tools) => {
                        tokio::time::sleep_until(deadline.into()).await;
                    }
                    _ => std::future::pending().await,
                }
            };
            let next = async {
                match flight.arriving.next().await {
                    Some(arrival) => arrival,
                    None => std::future::pending().await,
                }
            };
            let since = Instant::now();
            let arrival = tokio::select! {
                biased;
                () = cancel.cancelled() => return Ended::Stopped(Stop::Cancelled),
                arrival = next => arrival,
                () = late => {
                    self.vm.host.tape.get_mut().step(|| Step::Timeout);
                    return Ended::Stopped(Stop::Timeout);
                }
            };
            if excludes_tools {
                self.vm.host.extend_deadline(since.elapsed());
            }
            if let Arrival::Reply(..) = arrival {
                flight.running -= 1;
            }
            if let Err(error) = self.arrived(arrival) {
                return self.stopped(error);
            }
        }
    }

    /// Repeats a run from its log.
    pub(crate) fn play(&mut self) -> Ended {
        let main = match self.begin() {
            Ok(main) => main,
            Err(ended) => return ended,
        };
        loop {
            if let Some(ended) = self.advance(main) {
                return ended;
            }
            // Nobody answers but the log.
            self.vm.host.outbox.clear();
            let step = match self.vm.host.tape.get_mut() {
                Tape::Replay(player) => player.next_step(),
                Tape::Off | Tape::Record(_) => None,
            };
            let arrival = match step {
                Some(Step::Answer(id, text)) => Arrival::Reply(id, Ok(Output::Text(text))),
                Some(Step::Failure(id, message)) => Arrival::Reply(id, Err(ToolError { message })),
                Some(Step::Settled(id, value)) => {
                    Arrival::Settled(id, crate::record::read_result(&value))
                }
                Some(Step::Timeout) => return Ended::Stopped(Stop::Timeout),
                None => return Ended::Stuck,
            };
            if let Err(error) = self.arrived(arrival) {
                return self.stopped(error);
            }
        }
    }

    fn arrived(&mut self, arrival: Arrival) -> Result<(), Abrupt> {
        match arrival {
            Arrival::Reply(id, reply) => self.vm.tool_replied(id, reply),
            Arrival::Settled(id, result) => self.vm.promise_settled(id, result),
        }
    }

    /// Runs the program's first turn; its promise is kept.
    fn begin(&mut self) -> Result<ObjId, Ended> {
        match self.vm.start() {
            Ok(Value::Obj(main)) => {
                self.vm.host.held.push(main);
                Ok(main)
            }
            Ok(_) => Err(Ended::Stuck),
            Err(error) => Err(self.stopped(error)),
        }
    }

    /// Runs until the program is through or waits for something from outside.
    fn advance(&mut self, main: ObjId) -> Option<Ended> {
        loop {
            if let Err(error) = self.vm.run_jobs(main) {
                return Some(self.stopped(error));
            }
            match self.progress(main) {
                Ok(Some(ended)) => return Some(ended),
                Ok(None) if self.vm.jobs.is_empty() => return None,
                // The program is through, but its result holds promises that aren't.
                Ok(None) => {
                    if let Err(error) = self.vm.run_next_job() {
                        return Some(self.stopped(error));
                    }
                }
                Err(error) => return Some(self.stopped(error)),
            }
        }
    }

    fn stopped(&mut self, error: Abrupt) -> Ended {
        match error {
            Abrupt::Throw(value) => Ended::Error(value),
            Abrupt::Stop(stop) => {
                if let (Stop::Timeout, Tape::Record(log)) = (stop, self.vm.host.tape.get_mut()) {
                    log.cut_off = true;
                }
                Ended::Stopped(stop)
            }
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

    /// The outcome, and the tape as it is now.
    pub(crate) fn finish(mut self, ended: Ended) -> Result<(Outcome, Tape), Interrupted> {
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
        let host = &mut self.vm.host;
        let tool_calls = std::mem::take(&mut host.calls)
            .into_iter()
            .map(|name| ToolCall { name })
            .collect();
        let outcome = Outcome {
            result,
            warnings,
            logs: std::mem::take(&mut host.logs),
            truncated: false,
            tool_calls,
            problems: Vec::new(),
        };
        let tape = host.tape.take();
        Ok((output::fit(outcome, &host.limits), tape))
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
