//! `tools` and `search`: the program's way to the world.

use super::json::boundary_text;
use super::json_reader::{from_json, parse_utf8};
use crate::diagnostic::DiagnosticKind;
use crate::events::Progress;
use crate::host::{Call, Output, Reply};
use crate::object::{Kind, PromiseState, Reaction, ToolRef};
use crate::realm::{Builder, intrinsic as i, name};
use crate::search::Query;
use crate::value::{Abrupt, Key, ObjId, Res, Value};
use crate::vm::{Args, ErrorType, Vm};

/// Most tool calls in flight at once.
const IN_FLIGHT_LIMIT: usize = 10_000;
const CHANGED: &str =
    "The tool's signature may have changed; look it up with search({ query: ... }).";
const LOOK_UP: &str = "Use search({ query: ... }) to find the tools there are.";

pub(super) fn install(b: &mut Builder) {
    b.kind(i::TOOLS, Kind::Tool(Box::new(ToolRef { path: Vec::new() })));
    b.no_proto(i::TOOLS);
    b.global("tools", Value::Obj(i::TOOLS));
    b.global_function("search", 1, search);
    b.internal("arguments ready", 1, arguments_ready);
}

impl Vm {
    /// A member of a tool path: the path with one more segment.
    pub(crate) fn tool_member(&mut self, id: ObjId, key: Key) -> Res<Value> {
        let Kind::Tool(tool) = self.heap.kind(id) else {
            return Ok(Value::Undefined);
        };
        if key.is_symbol() {
            return Ok(Value::Undefined);
        }
        let mut path = tool.path.clone();
        let label = self.key_text(key);
        if path.is_empty() && label == "search" && !self.host.tools.has_child(&path, &label) {
            return Ok(self
                .realm
                .globals
                .get(&self.intern("search"))
                .copied()
                .unwrap_or(Value::Undefined));
        }
        path.extend(label.split('.').map(str::to_owned));
        self.reserve(128)?;
        Ok(Value::Obj(
            self.heap
                .alloc(None, Kind::Tool(Box::new(ToolRef { path }))),
        ))
    }

    /// The children of a namespace, for enumeration.
    pub(crate) fn tool_children(&mut self, id: ObjId) -> Res<Vec<Key>> {
        let Kind::Tool(tool) = self.heap.kind(id) else {
            return Ok(Vec::new());
        };
        let path = tool.path.clone();
        match self.host.tools.children(&path) {
            Some(names) => Ok(names.iter().map(|n| self.intern(n)).collect()),
            None => Err(self.unknown_tool(&path)),
        }
    }

    fn unknown_tool(&mut self, path: &[String]) -> Abrupt {
        let label = path.join(".");
        let mut message = format!("Unknown tool '{label}'.");
        let mut suggestions = Vec::new();
        if let Some(near) = self.host.tools.nearest(path) {
            message.push_str(&format!(" Did you mean {near}?"));
            suggestions.push(format!("Call {near} instead."));
        }
        suggestions.push(LOOK_UP.to_owned());
        self.diagnostic_error(
            ErrorType::Error,
            DiagnosticKind::UnknownTool,
            &message,
            suggestions,
        )
    }

    /// Functions that can't be handlers or callbacks: tool references, whose input is one object.
    pub(crate) fn refuse_callback(&mut self, value: Value) -> Res<()> {
        if let Value::Obj(id) = value
            && let Kind::Tool(_) = self.heap.kind(id)
        {
            return Err(self.invalid_data(
                "A tool can't be a callback; wrap it in an arrow function: (x) => tools.name(x).",
            ));
        }
        Ok(())
    }

    /// Calls the tool at a path; the promise of its result is returned.
    pub(crate) fn call_tool(&mut self, id: ObjId, args: Args) -> Res<Value> {
        let Kind::Tool(tool) = self.heap.kind(id) else {
            return Ok(Value::Undefined);
        };
        let path = tool.path.clone();
        if args.is_construct() {
            return Err(self.type_error("A tool is called without 'new'."));
        }
        let Some(index) = self.host.tools.find(&path) else {
            return Err(self.unknown_tool(&path));
        };
        if self.host.in_flight() >= IN_FLIGHT_LIMIT {
            return Err(self.range_error("Too many promises are pending at once."));
        }
        let promise = self.new_promise();
        if args.len() > 1 {
            let message = format!(
                "Tool '{}' takes one object with named fields, not {} arguments.",
                path.join("."),
                args.len()
            );
            let error = self.diagnostic_error(
                ErrorType::Type,
                DiagnosticKind::InvalidToolInput,
                &message,
                Vec::new(),
            );
            self.fail(promise, error)?;
            return Ok(Value::Obj(promise));
        }
        let input = if args.len() == 0 {
            Value::Obj(self.object())
        } else {
            args.get(self, 0)
        };
        let mut waiting = Vec::new();
        self.pending_in(input, &mut waiting, 0);
        if waiting.is_empty() {
            self.admit(index, input, promise)?;
        } else {
            let state = self.array(vec![
                Value::Num(waiting.len() as f64),
                Value::Num(index as f64),
                input,
                Value::Obj(promise),
            ]);
            for inner in waiting {
                let ready = self.native_closure("arguments ready", vec![state]);
                self.react(
                    inner,
                    Reaction::Then {
                        fulfilled: ready,
                        rejected: ready,
                        derived: None,
                    },
                );
            }
        }
        Ok(Value::Obj(promise))
    }

    fn fail(&mut self, promise: ObjId, error: Abrupt) -> Res<()> {
        match error {
            Abrupt::Throw(value) => {
                self.reject(promise, value);
                Ok(())
            }
            stop @ Abrupt::Stop(_) => Err(stop),
        }
    }

    /// Promises inside a value that didn't settle yet.
    pub(crate) fn pending_in(&mut self, value: Value, found: &mut Vec<ObjId>, depth: usize) {
        let Value::Obj(id) = value else { return };
        if depth > 33 || found.len() > IN_FLIGHT_LIMIT {
            return;
        }
        let children: Vec<Value> = match self.heap.kind(id) {
            Kind::Promise(data) => match data.state {
                PromiseState::Pending => {
                    found.push(id);
                    return;
                }
                PromiseState::Fulfilled => vec![data.value],
                PromiseState::Rejected => return,
            },
            Kind::Array(items) => items.iter().copied().filter(|v| v.is_object()).collect(),
            Kind::Set(table) => table
                .entries
                .iter()
                .flatten()
                .map(|(k, _)| *k)
                .filter(|v| v.is_object())
                .collect(),
            Kind::Ordinary | Kind::Error(_) => self
                .heap
                .obj(id)
                .slots
                .iter()
                .copied()
                .filter(|v| v.is_object())
                .collect(),
            _ => return,
        };
        for child in children {
            self.pending_in(child, found, depth + 1);
        }
    }

    /// Copies the input out, counts the call and hands it to the host.
    fn admit(&mut self, index: usize, input: Value, promise: ObjId) -> Res<()> {
        let path = self.host.tools.path(index);
        let json = match boundary_text(self, input) {
            Ok(text) => text.unwrap_or_else(|| "{}".to_owned()),
            Err(Abrupt::Throw(error)) => {
                let reason = super::describe_error(self, error).unwrap_or_default();
                let message = format!("Invalid input of tool '{path}': {reason}");
                let error = self.diagnostic_error(
                    ErrorType::Type,
                    DiagnosticKind::InvalidToolInput,
                    &message,
                    vec![CHANGED.to_owned()],
                );
                return self.fail(promise, error);
            }
            Err(stop) => return Err(stop),
        };
        let value: serde_json::Value =
            serde_json::from_str(&json).unwrap_or(serde_json::Value::Null);
        if let Err(problem) = self.host.tools.validate(index, &value) {
            let message = format!("Invalid input of tool '{path}': {problem}");
            let error = self.diagnostic_error(
                ErrorType::Type,
                DiagnosticKind::InvalidToolInput,
                &message,
                vec![CHANGED.to_owned()],
            );
            return self.fail(promise, error);
        }
        if let Err(error) = self.count_call(&path) {
            return self.fail(promise, error);
        }
        let mut call = Call {
            id: 0,
            tool: index,
            path,
            input: value,
            progress: Progress::default(),
        };
        if let Err(denied) = self.host.admit(&mut call) {
            let error = self.tool_failure(&denied.message);
            return self.fail(promise, error);
        }
        let (span, parent) = (self.here(), self.parent_promise());
        let serial = self.promise_number(promise);
        self.host.send(call, promise, serial, parent, span);
        Ok(())
    }

    fn tool_failure(&mut self, message: &str) -> Abrupt {
        self.diagnostic_error(
            ErrorType::Error,
            DiagnosticKind::ToolFailure,
            message,
            Vec::new(),
        )
    }

    /// Admits one more call, or says that the limit is reached.
    fn count_call(&mut self, path: &str) -> Res<()> {
        if self
            .host
            .limits
            .max_tool_calls
            .is_some_and(|limit| self.host.calls.len() as u64 >= limit)
        {
            let limit = self.host.limits.max_tool_calls.unwrap_or(0);
            let message = format!("The limit of {limit} tool calls was reached.");
            return Err(self.diagnostic_error(
                ErrorType::Error,
                DiagnosticKind::ToolCallLimitExceeded,
                &message,
                Vec::new(),
            ));
        }
        self.host.calls.push(path.to_owned());
        Ok(())
    }

    /// A tool answered: its promise settles.
    pub(crate) fn tool_replied(&mut self, id: u64, reply: Reply) -> Res<()> {
        let Some(call) = self.host.answered(id, &reply) else {
            return Ok(());
        };
        let path = self.host.tools.path(call.tool);
        let outcome = match reply {
            Ok(output) => match self.refused_output(call.tool, &output) {
                None => {
                    self.host.ended(id, &call, Ok(&output));
                    self.tool_output(call.tool, &path, output)
                }
                Some(problem) => {
                    self.host.ended(id, &call, Err(&problem));
                    Err(self.invalid_output(&path, &problem))
                }
            },
            Err(failure) => {
                self.host.ended(id, &call, Err(&failure.message));
                Err(self.tool_failure(&failure.message))
            }
        };
        match outcome {
            Ok(value) => self.resolve(call.promise, value),
            Err(Abrupt::Throw(value)) => {
                if let Some(id) = value.as_obj()
                    && let Kind::Error(data) = self.heap.kind_mut(id)
                {
                    data.span = call.span;
                }
                self.reject(call.promise, value);
                Ok(())
            }
            Err(stop) => Err(stop),
        }
    }

    /// Why an answer can't be handed to the program, as far as its size and its schema say.
    fn refused_output(&self, index: usize, output: &Output) -> Option<String> {
        if let Some(limit) = self.host.limits.max_call_output_bytes {
            let bytes = match output {
                Output::Json(value) => value.to_string().len(),
                Output::Text(text) => text.len(),
            };
            if bytes as u64 > limit {
                return Some(format!(
                    "{bytes} bytes exceed the limit of {limit} bytes for one call; ask for less"
                ));
            }
        }
        if !self.host.tools.validates_output(index) {
            return None;
        }
        match output {
            Output::Json(value) => self.host.tools.validate_output(index, value).err(),
            Output::Text(text) => match serde_json::from_str(text) {
                Ok(value) => self.host.tools.validate_output(index, &value).err(),
                Err(error) => Some(error.to_string()),
            },
        }
    }

    fn tool_output(&mut self, index: usize, path: &str, output: Output) -> Res<Value> {
        if !self.host.tools.has_output(index) {
            return Ok(Value::Undefined);
        }
        let result = match output {
            Output::Json(value) => from_json(self, &value),
            Output::Text(text) => parse_utf8(self, &text),
        };
        match result {
            Err(Abrupt::Throw(error)) => {
                let problem = super::describe_error(self, error)?;
                Err(self.invalid_output(path, &problem))
            }
            other => other,
        }
    }

    fn invalid_output(&mut self, path: &str, problem: &str) -> Abrupt {
        let message = format!("Invalid output of tool '{path}': {problem}");
        self.diagnostic_error(
            ErrorType::Error,
            DiagnosticKind::InvalidToolOutput,
            &message,
            Vec::new(),
        )
    }

    /// The error of a name that nothing declares; a tool's bare name gets a way to it.
    pub(crate) fn undefined_name(&mut self, key: Key) -> Abrupt {
        let label = self.key_text(key);
        let message = format!("{label} is not defined");
        let error = self.make_error(ErrorType::Reference, None, &message);
        if let Some(near) = self.host.tools.by_bare_name(&label)
            && let Kind::Error(data) = self.heap.kind_mut(error)
        {
            data.suggestions.push(format!("Call {near}(...) instead."));
        }
        Abrupt::Throw(Value::Obj(error))
    }

    /// Raises a fault prepared when compiling.
    pub(crate) fn fault(&mut self, k: usize) -> Abrupt {
        use crate::compiled::Fault;
        match self.program.faults[k].clone() {
            Fault::Unsupported { node, advice } => self.diagnostic_error(
                ErrorType::Syntax,
                DiagnosticKind::UnsupportedSyntax,
                &format!("{node} is not supported: {advice}."),
                vec![advice.to_owned()],
            ),
            Fault::ConstAssign(key) => {
                let label = self.key_text(key);
                self.type_error(&format!("Assignment to constant variable '{label}'."))
            }
            Fault::BadTarget(what) => self.error(
                ErrorType::Syntax,
                &format!("Invalid left-hand side in {what}"),
            ),
        }
    }
}

fn arguments_ready(vm: &mut Vm, args: Args) -> Res<Value> {
    let state = vm.closure_data(args.callee, 0);
    let Some(Kind::Array(items)) = state.as_obj().map(|id| vm.heap.kind_mut(id)) else {
        return Ok(Value::Undefined);
    };
    let [
        Value::Num(left),
        Value::Num(index),
        input,
        Value::Obj(promise),
    ] = items[..]
    else {
        return Ok(Value::Undefined);
    };
    items[0] = Value::Num(left - 1.0);
    if left <= 1.0 {
        let mut waiting = Vec::new();
        vm.pending_in(input, &mut waiting, 0);
        if waiting.is_empty() {
            vm.admit(index as usize, input, promise)?;
        } else if let Some(id) = state.as_obj() {
            if let Kind::Array(items) = vm.heap.kind_mut(id) {
                items[0] = Value::Num(waiting.len() as f64);
            }
            for inner in waiting {
                let ready = vm.native_closure("arguments ready", vec![state]);
                vm.react(
                    inner,
                    Reaction::Then {
                        fulfilled: ready,
                        rejected: ready,
                        derived: None,
                    },
                );
            }
        }
    }
    Ok(Value::Undefined)
}

fn bad_search(vm: &mut Vm, message: &str) -> Abrupt {
    vm.diagnostic_error(
        ErrorType::Type,
        DiagnosticKind::InvalidToolInput,
        message,
        Vec::new(),
    )
}

fn search_field(vm: &mut Vm, options: Value, key: Key) -> Res<Value> {
    if options.is_object() {
        vm.get(options, key)
    } else {
        Ok(Value::Undefined)
    }
}

fn search(vm: &mut Vm, args: Args) -> Res<Value> {
    if args.len() > 1 {
        return Err(bad_search(
            vm,
            "search takes one object: { query, namespace, limit, offset }.",
        ));
    }
    let mut options = args.get(vm, 0);
    if let Value::Str(_) = options {
        // A bare string is the query.
        let id = vm.object();
        vm.define_field(id, name::QUERY, options)?;
        options = Value::Obj(id);
    }
    if !options.is_undefined() && !options.is_object() {
        return Err(bad_search(
            vm,
            "search takes one object: { query, namespace, limit, offset }.",
        ));
    }
    let mut query = Query {
        query: String::new(),
        namespace: None,
        limit: 10,
        offset: 0,
        compact: false,
    };
    for key in [name::QUERY, name::NAMESPACE] {
        match search_field(vm, options, key)? {
            Value::Undefined => {}
            Value::Str(id) if key == name::QUERY => query.query = vm.utf8(id),
            Value::Str(id) => query.namespace = Some(vm.utf8(id)),
            _ => {
                return Err(bad_search(
                    vm,
                    "search: query and namespace must be strings.",
                ));
            }
        }
    }
    let compact = vm.intern("compact");
    query.compact = match search_field(vm, options, compact)? {
        Value::Undefined => false,
        Value::Bool(compact) => compact,
        _ => return Err(bad_search(vm, "search: compact must be true or false.")),
    };
    for key in [name::LIMIT, name::OFFSET] {
        let least = f64::from(u8::from(key == name::LIMIT));
        match search_field(vm, options, key)? {
            Value::Undefined => {}
            Value::Num(n) if n.trunc() == n && n >= least && n < 9e15 => {
                if key == name::LIMIT {
                    query.limit = n as usize;
                } else {
                    query.offset = n as usize;
                }
            }
            _ => {
                let message =
                    "search: limit must be a positive integer and offset a non-negative integer.";
                return Err(bad_search(vm, message));
            }
        }
    }
    vm.count_call("search")?;
    let mut call = Call {
        id: 0,
        tool: usize::MAX,
        path: "search".to_owned(),
        input: query.to_json(),
        progress: Progress::default(),
    };
    if let Err(denied) = vm.host.admit(&mut call) {
        return Err(vm.tool_failure(&denied.message));
    }
    let found = vm.host.tools.search(&query);
    if vm.host.is_watched() {
        let output = Output::Json(found.to_json());
        vm.host.ended_at_once(&call, &output);
    }
    let mut items = Vec::with_capacity(found.items.len());
    for item in &found.items {
        let entry = vm.object();
        for (key, text) in [
            (name::PATH, &item.path),
            (name::DESCRIPTION, &item.description),
            (name::SIGNATURE, &item.signature),
        ] {
            let value = vm.str(text);
            vm.define_field(entry, key, value)?;
        }
        items.push(Value::Obj(entry));
    }
    let items = vm.array(items);
    let out = vm.object();
    vm.define_field(out, name::ITEMS, items)?;
    vm.define_field(out, name::REMAINING, Value::Num(found.remaining as f64))?;
    let next = match found.next {
        Some(offset) => {
            let next = vm.object();
            vm.define_field(next, name::OFFSET, Value::Num(offset as f64))?;
            Value::Obj(next)
        }
        None => Value::Null,
    };
    vm.define_field(out, name::NEXT, next)?;
    Ok(Value::Obj(out))
}
