//! What a run knows of its host: the tools, the limits, the clock and the random source, and the calls in flight.

use crate::data::{Data, Extension, HostError, HostFunction};
use crate::events::{Event, EventSender, Progress, Settlement};
use crate::hooks::{Ended, Hooks};
use crate::host::{Call, CancelFlag, Environment, Output, Reply, ToolError};
use crate::limits::Limits;
use crate::record::{Step, Tape};
use crate::tools::ToolSet;
use crate::value::{Key, ObjId, Value};
use futures_util::future::BoxFuture;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A promise of the host on its way to settling.
pub(crate) type HostFuture = BoxFuture<'static, Result<Data, HostError>>;

/// What a run is made of besides its program.
pub(crate) struct Surroundings {
    pub(crate) limits: Limits,
    pub(crate) tools: Arc<ToolSet>,
    pub(crate) cancel: CancelFlag,
    pub(crate) environment: Environment,
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    pub(crate) events: Option<EventSender>,
    pub(crate) tape: Tape,
}

/// What the program started and the host has to do.
pub(crate) enum Outgoing {
    Call(Call),
    Future(u64, HostFuture),
}

/// A call whose promise is pending.
struct Pending {
    promise: ObjId,
    serial: u32,
    parent: Option<u32>,
    tool: usize,
    span: Option<u32>,
    started: Option<Instant>,
    /// Kept for the hooks.
    call: Option<Box<Call>>,
}

/// A call that was answered and whose promise is still to be settled.
pub(crate) struct Answered {
    pub(crate) promise: ObjId,
    pub(crate) tool: usize,
    pub(crate) span: Option<u32>,
    started: Option<Instant>,
    call: Option<Box<Call>>,
}

/// The run's side of the host.
pub(crate) struct HostState {
    pub(crate) limits: Limits,
    pub(crate) tools: Arc<ToolSet>,
    pub(crate) calls: Vec<String>,
    pub(crate) logs: Vec<String>,
    pub(crate) outbox: Vec<Outgoing>,
    /// Async functions that wait.
    pub(crate) waiting: usize,
    pending: FxHashMap<u64, Pending>,
    /// Promises that extensions gave, and the extension.
    promised: FxHashMap<u64, (ObjId, String)>,
    next_promised: u64,
    /// Promises of the program that extensions were given.
    given: FxHashMap<u64, oneshot::Sender<Result<Data, HostError>>>,
    next_given: u64,
    /// Functions that extensions gave, with the extension's name.
    pub(crate) functions: Vec<(String, HostFunction)>,
    /// Globals that the host adds.
    pub(crate) globals: FxHashMap<Key, Value>,
    cancel: CancelFlag,
    deadline: Option<Instant>,
    environment: Environment,
    random: u64,
    hooks: Option<Arc<dyn Hooks>>,
    events: Option<EventSender>,
    pub(crate) tape: RefCell<Tape>,
    /// A value that must outlive collections while the run waits.
    pub(crate) held: Vec<ObjId>,
}

impl HostState {
    pub(crate) fn new(around: Surroundings) -> HostState {
        let Surroundings {
            limits,
            tools,
            cancel,
            environment,
            hooks,
            events,
            tape,
        } = around;
        // A repeated run meets the end of its time where its log says so.
        let timeout = limits.timeout_ms.filter(|_| !tape.is_replay());
        let deadline = timeout.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
        HostState {
            limits,
            tools,
            calls: Vec::new(),
            logs: Vec::new(),
            outbox: Vec::new(),
            waiting: 0,
            pending: FxHashMap::default(),
            promised: FxHashMap::default(),
            next_promised: 0,
            given: FxHashMap::default(),
            next_given: 0,
            functions: Vec::new(),
            globals: FxHashMap::default(),
            cancel,
            deadline,
            random: environment.seed,
            environment,
            hooks,
            events,
            tape: RefCell::new(tape),
            held: Vec::new(),
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    pub(crate) fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Leaves a wait for tools out of the time limit.
    pub(crate) fn extend_deadline(&mut self, by: Duration) {
        self.deadline = self.deadline.and_then(|deadline| deadline.checked_add(by));
    }

    pub(crate) fn now_ms(&self) -> f64 {
        let read = || (self.environment.now_ms)().trunc();
        self.tape.borrow_mut().now(read)
    }

    /// The next number of a SplitMix64 sequence (Steele, Lea and Flood 2014).
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn random(&mut self) -> f64 {
        (self.next_random() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn random_byte(&mut self) -> u8 {
        (self.next_random() >> 56) as u8
    }

    fn tell(&self, event: impl FnOnce() -> Event) {
        if let Some(events) = &self.events {
            events.send(event());
        }
    }

    pub(crate) fn log(&mut self, line: String) {
        self.tell(|| Event::Log { line: line.clone() });
        self.logs.push(line);
    }

    /// Whether anybody looks at calls besides the tools themselves.
    pub(crate) fn is_watched(&self) -> bool {
        self.hooks.is_some() || self.events.is_some()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.pending.len() + self.promised.len()
    }

    /// Whether an admitted call may start: the record and the hooks are asked.
    pub(crate) fn admit(&mut self, call: &mut Call) -> Result<(), ToolError> {
        call.id = self.calls.len() as u64 - 1;
        call.progress = Progress {
            sender: self.events.clone(),
            index: call.id,
        };
        let tape = self.tape.get_mut();
        let denied = tape.call(&call.path, &call.input);
        let answer = match (denied, &self.hooks) {
            (Some(message), _) => Err(ToolError { message }),
            (None, Some(hooks)) => hooks.before_tool(call),
            (None, None) => Ok(()),
        };
        if let Err(error) = &answer {
            tape.deny(&error.message);
            self.tell(|| started(call, 0, None));
            self.settled(call.id, None, || Settlement::Denied(error.message.clone()));
        }
        answer
    }

    pub(crate) fn send(
        &mut self,
        call: Call,
        promise: ObjId,
        serial: u32,
        parent: Option<u32>,
        span: Option<u32>,
    ) {
        let pending = Pending {
            promise,
            serial,
            parent,
            tool: call.tool,
            span,
            started: None,
            call: self.hooks.is_some().then(|| Box::new(call.clone())),
        };
        self.pending.insert(call.id, pending);
        self.outbox.push(Outgoing::Call(call));
    }

    /// A call is handed to the host now.
    pub(crate) fn start(&mut self, call: &Call) {
        if self.events.is_none() {
            return;
        }
        if let Some(pending) = self.pending.get_mut(&call.id) {
            pending.started = Some(Instant::now());
            let (serial, parent) = (pending.serial, pending.parent);
            self.tell(|| started(call, serial, parent));
        }
    }

    fn settled(&self, index: u64, started: Option<Instant>, outcome: impl FnOnce() -> Settlement) {
        self.tell(|| Event::Settled {
            index,
            outcome: outcome(),
            duration_ms: started.map_or(0.0, |at| at.elapsed().as_secs_f64() * 1e3),
        });
    }

    pub(crate) fn answered(&mut self, id: u64, reply: &Reply) -> Option<Answered> {
        let call = self.take(id)?;
        self.tape.get_mut().step(|| match reply {
            Ok(Output::Json(value)) => Step::Answer(id, value.to_string()),
            Ok(Output::Text(text)) => Step::Answer(id, text.clone()),
            Err(error) => Step::Failure(id, error.message.clone()),
        });
        Some(call)
    }

    /// A call that nothing waits for any more was answered after the program's end.
    pub(crate) fn answered_late(&mut self, id: u64, reply: &Reply) {
        if let Some(call) = self.take(id) {
            self.ended(id, &call, reply.as_ref().map_err(|e| e.message.as_str()));
        }
    }

    fn take(&mut self, id: u64) -> Option<Answered> {
        let pending = self.pending.remove(&id)?;
        Some(Answered {
            promise: pending.promise,
            tool: pending.tool,
            span: pending.span,
            started: pending.started,
            call: pending.call,
        })
    }

    /// Tells hooks and reader how a call ended.
    pub(crate) fn ended(&self, id: u64, call: &Answered, result: Result<&Output, &str>) {
        self.settled(id, call.started, || match result {
            Ok(_) => Settlement::Succeeded,
            Err(text) => Settlement::Failed(text.to_owned()),
        });
        if let (Some(hooks), Some(call)) = (&self.hooks, &call.call) {
            hooks.after_tool(
                call,
                match result {
                    Ok(output) => Ended::Success(output),
                    Err(text) => Ended::Failure(text),
                },
            );
        }
    }

    /// Tells hooks and reader of a call that was answered at once.
    pub(crate) fn ended_at_once(&self, call: &Call, output: &Output) {
        self.tell(|| started(call, 0, None));
        self.settled(call.id, None, || Settlement::Succeeded);
        if let Some(hooks) = &self.hooks {
            hooks.after_tool(call, Ended::Success(output));
        }
    }

    pub(crate) fn before_extension(&self, name: &str, args: &[Data]) -> Result<(), ToolError> {
        match &self.hooks {
            Some(hooks) if !self.tape.borrow().is_replay() => hooks.before_extension(name, args),
            _ => Ok(()),
        }
    }

    pub(crate) fn after_extension(&self, name: &str, ended: Ended<'_, Data>) {
        if let Some(hooks) = &self.hooks {
            hooks.after_extension(name, ended);
        }
    }

    /// Takes a promise of the host on; its number comes back with what it settles to.
    pub(crate) fn promise(&mut self, future: HostFuture, promise: ObjId, extension: &str) {
        let id = self.next_promised;
        self.next_promised += 1;
        self.promised.insert(id, (promise, extension.to_owned()));
        self.outbox.push(Outgoing::Future(id, future));
    }

    pub(crate) fn take_promised(
        &mut self,
        id: u64,
        result: &Result<Data, HostError>,
    ) -> Option<(ObjId, String)> {
        let found = self.promised.remove(&id)?;
        let tape = self.tape.get_mut();
        tape.step(|| Step::Settled(id, crate::record::write_result(result)));
        Some(found)
    }

    /// Hands a promise of the program to the host: the number under which it settles, and the host's end.
    pub(crate) fn give(&mut self) -> (u64, HostFuture) {
        let (sender, receiver) = oneshot::channel();
        let id = self.next_given;
        self.next_given += 1;
        self.given.insert(id, sender);
        let future = Box::pin(async move {
            receiver
                .await
                .unwrap_or_else(|_| Err(HostError::new("the run ended before the promise settled")))
        });
        (id, future)
    }

    pub(crate) fn settle_given(&mut self, id: u64, result: Result<Data, HostError>) {
        if let Some(sender) = self.given.remove(&id) {
            // The extension may have dropped its end.
            let _ = sender.send(result);
        }
    }

    /// The extensions' functions, in the order of their globals.
    pub(crate) fn add_extensions(&mut self, extensions: &[Extension]) {
        let functions = extensions
            .iter()
            .map(|e| (e.name.clone(), Arc::clone(&e.function)));
        self.functions.extend(functions);
    }

    /// Objects that the host side holds on to.
    pub(crate) fn roots(&self) -> impl Iterator<Item = ObjId> + '_ {
        self.pending
            .values()
            .map(|pending| pending.promise)
            .chain(self.promised.values().map(|(promise, _)| *promise))
            .chain(self.globals.values().filter_map(|value| value.as_obj()))
            .chain(self.held.iter().copied())
    }
}

/// Calls that the end of the run cuts off are told, in the order they were made.
impl Drop for HostState {
    fn drop(&mut self) {
        let mut cut: Vec<(u64, Pending)> = self.pending.drain().collect();
        cut.sort_by_key(|(id, _)| *id);
        for (id, pending) in cut {
            if pending.started.is_some() {
                self.settled(id, pending.started, || Settlement::Interrupted);
            }
            if let (Some(hooks), Some(call)) = (&self.hooks, &pending.call) {
                hooks.after_tool(call, Ended::Interrupted);
            }
        }
        let mut cut: Vec<(u64, (ObjId, String))> = self.promised.drain().collect();
        cut.sort_by_key(|(id, _)| *id);
        for (_, (_, extension)) in cut {
            self.after_extension(&extension, Ended::Interrupted);
        }
        if let Some(events) = &self.events {
            events.close();
        }
    }
}

fn started(call: &Call, promise: u32, parent: Option<u32>) -> Event {
    Event::Started {
        index: call.id,
        name: call.path.clone(),
        input: call.input.clone(),
        promise,
        parent,
    }
}
