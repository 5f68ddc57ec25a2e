//! Host functions as globals: values are copied both ways, promises are joined, errors keep what they say.

use super::{bytes, collections, describe_error, regexp, url};
use crate::data::{Data, Extension, HostError, HostFunction};
use crate::hooks::Ended;
use crate::host::ToolError;
use crate::object::{Kind, Reaction};
use crate::realm::{Builder, intrinsic as i, name};
use crate::shape::Attrs;
use crate::value::{Abrupt, Key, ObjId, Res, Value};
use crate::vm::{Args, ErrorType, Vm};
use num_bigint::BigInt;
use std::sync::Arc;

/// Deepest data that crosses.
const DEPTH: usize = 32;
/// Functions that extensions may hand out in one run.
const FUNCTION_LIMIT: usize = 100_000;

pub(super) fn install(b: &mut Builder) {
    b.internal("host function", 0, call);
    b.internal("given fulfilled", 1, |vm, a| given(vm, a, false));
    b.internal("given rejected", 1, |vm, a| given(vm, a, true));
}

impl Vm {
    /// Makes the extensions globals of the run.
    pub(crate) fn add_extensions(&mut self, extensions: &[Extension]) {
        self.host.add_extensions(extensions);
        for (at, extension) in extensions.iter().enumerate() {
            let function = self.native_closure("host function", vec![Value::Num(at as f64)]);
            let key = self.intern(&extension.name);
            if let Some(id) = function.as_obj() {
                let label = self.str(&extension.name);
                self.heap
                    .add_prop(id, name::NAME, Attrs(Attrs::CONFIGURABLE), label);
            }
            self.host.globals.insert(key, function);
        }
    }

    /// A promise of an extension settled.
    pub(crate) fn promise_settled(&mut self, id: u64, result: Result<Data, HostError>) -> Res<()> {
        let Some((promise, extension)) = self.host.take_promised(id, &result) else {
            return Ok(());
        };
        match self.finish_extension(&extension, result) {
            Ok(value) => self.resolve(promise, value),
            Err(Abrupt::Throw(error)) => {
                self.reject(promise, error);
                Ok(())
            }
            Err(stop) => Err(stop),
        }
    }

    /// Tells the hooks and brings the result in.
    fn finish_extension(&mut self, extension: &str, result: Result<Data, HostError>) -> Res<Value> {
        match result {
            Ok(data) => {
                self.host.after_extension(extension, Ended::Success(&data));
                into_value(self, data, extension, 0)
            }
            Err(error) => {
                self.host
                    .after_extension(extension, Ended::Failure(&error.message));
                Err(Abrupt::Throw(error_value(self, error, extension, 0)?))
            }
        }
    }
}

fn call(vm: &mut Vm, args: Args) -> Res<Value> {
    let at = match vm.closure_data(args.callee, 0) {
        Value::Num(at) => at as usize,
        _ => 0,
    };
    let Some((extension, function)) = vm.host.functions.get(at).cloned() else {
        return Ok(Value::Undefined);
    };
    if args.is_construct() {
        return Err(vm.type_error(&format!("{extension} is not a constructor.")));
    }
    let mut given = Vec::with_capacity(args.len());
    for index in 0..args.len() {
        let value = args.get(vm, index);
        given.push(from_value(vm, value, 0)?);
    }
    if let Err(ToolError { message }) = vm.host.before_extension(&extension, &given) {
        // The denial is part of the log, as the function's answer.
        let denied = vm
            .host
            .tape
            .borrow_mut()
            .returned(|| Err(HostError::new(message)));
        let error = denied.err().unwrap_or_else(|| HostError::new("denied"));
        return Err(Abrupt::Throw(error_value(vm, error, &extension, 0)?));
    }
    let result = vm.host.tape.borrow_mut().returned(|| function(given));
    match result {
        Ok(Data::Promise(future)) => {
            let promise = vm.new_promise();
            vm.host.promise(future, promise, &extension);
            Ok(Value::Obj(promise))
        }
        other => vm.finish_extension(&extension, other),
    }
}

fn too_deep(vm: &mut Vm) -> Abrupt {
    vm.range_error(&format!("Data is nested deeper than {DEPTH} levels."))
}

/// Copies a value out of the program.
fn from_value(vm: &mut Vm, value: Value, depth: usize) -> Res<Data> {
    vm.charge(1)?;
    let id = match value {
        Value::Undefined | Value::Hole | Value::Cell(_) => return Ok(Data::Undefined),
        Value::Null => return Ok(Data::Null),
        Value::Bool(b) => return Ok(Data::Bool(b)),
        Value::Num(n) => return Ok(Data::Number(n)),
        Value::Str(id) => return Ok(Data::String(vm.utf8(id))),
        Value::Big(id) => return Ok(Data::BigInt(vm.heap.big_value(id).to_string())),
        Value::Sym(_) => return Err(vm.invalid_data("A symbol can't be given to an extension.")),
        Value::Lazy(_) => return Err(function_refused(vm)),
        Value::Obj(id) => id,
    };
    if depth >= DEPTH {
        return Err(too_deep(vm));
    }
    match vm.heap.kind(id) {
        Kind::Boxed(inner) => {
            let inner = *inner;
            from_value(vm, inner, depth)
        }
        Kind::Array(items) => {
            let items = items.clone();
            list(vm, items, depth).map(Data::Array)
        }
        Kind::Date(ms) => Ok(Data::Date(*ms)),
        Kind::RegExp(data) => {
            let (source, flags) = (data.source, data.flags);
            Ok(Data::RegExp {
                source: vm.utf8(source),
                flags: vm.utf8(flags),
            })
        }
        Kind::Url(data) => Ok(Data::Url(data.url.clone())),
        Kind::Params(data) => Ok(Data::String(url::serialize(&data.list))),
        Kind::Headers(list) => Ok(Data::Headers(list.clone())),
        Kind::Typed(_) => Ok(Data::Bytes(vm.typed_bytes(id).unwrap_or_default().to_vec())),
        Kind::Buffer(data) => Ok(Data::Bytes(data.bytes.clone())),
        Kind::Map(table) => {
            let pairs: Vec<(Value, Value)> = table.entries.iter().flatten().copied().collect();
            let mut out = Vec::with_capacity(pairs.len());
            for (key, value) in pairs {
                out.push((
                    from_value(vm, key, depth + 1)?,
                    from_value(vm, value, depth + 1)?,
                ));
            }
            Ok(Data::Map(out))
        }
        Kind::Set(table) => {
            let members = table.entries.iter().flatten().map(|(k, _)| *k).collect();
            list(vm, members, depth).map(Data::Set)
        }
        Kind::Error(_) => Ok(Data::Error(Box::new(from_error(vm, id, depth)?))),
        Kind::Promise(_) => Ok(Data::Promise(from_promise(vm, id))),
        Kind::NativeClosure(_) => match host_function(vm, id) {
            Some(function) => Ok(Data::Function(function)),
            None => Err(function_refused(vm)),
        },
        _ if vm.heap.obj(id).is_callable() => Err(function_refused(vm)),
        _ => fields(vm, id, depth).map(Data::Object),
    }
}

fn function_refused(vm: &mut Vm) -> Abrupt {
    vm.invalid_data("A function of the program can't be given to an extension.")
}

fn list(vm: &mut Vm, items: Vec<Value>, depth: usize) -> Res<Vec<Data>> {
    items
        .into_iter()
        .map(|item| from_value(vm, item.or_undefined(), depth + 1))
        .collect()
}

fn fields(vm: &mut Vm, id: ObjId, depth: usize) -> Res<Vec<(String, Data)>> {
    let mut out = Vec::new();
    for key in vm.enumerable_keys(id) {
        if key == name::PROTO {
            continue;
        }
        let value = vm.get(Value::Obj(id), key)?;
        out.push((vm.key_text(key), from_value(vm, value, depth + 1)?));
    }
    Ok(out)
}

fn from_error(vm: &mut Vm, id: ObjId, depth: usize) -> Res<HostError> {
    let text = |vm: &mut Vm, key: Key| match vm.get(Value::Obj(id), key) {
        Ok(Value::Str(text)) => vm.utf8(text),
        _ => String::new(),
    };
    let cause = match vm.get_own(id, name::CAUSE) {
        Some(_) => {
            let cause = vm.get(Value::Obj(id), name::CAUSE)?;
            Some(Box::new(from_value(vm, cause, depth + 1)?))
        }
        None => None,
    };
    Ok(HostError {
        name: text(vm, name::NAME),
        message: text(vm, name::MESSAGE),
        cause,
        fields: fields(vm, id, depth)?,
    })
}

/// What a program threw, as an error.
fn from_reason(vm: &mut Vm, reason: Value) -> HostError {
    if let Some(id) = reason.as_obj()
        && let Kind::Error(_) = vm.heap.kind(id)
        && let Ok(error) = from_error(vm, id, 0)
    {
        return error;
    }
    HostError::new(describe_error(vm, reason).unwrap_or_default())
}

/// The host's end of a promise of the program.
fn from_promise(vm: &mut Vm, id: ObjId) -> crate::state::HostFuture {
    let (number, future) = vm.host.give();
    let number = Value::Num(number as f64);
    let fulfilled = vm.native_closure("given fulfilled", vec![number]);
    let rejected = vm.native_closure("given rejected", vec![number]);
    vm.react(
        id,
        Reaction::Then {
            fulfilled,
            rejected,
            derived: None,
        },
    );
    future
}

/// A promise that an extension was given settled.
fn given(vm: &mut Vm, args: Args, is_rejected: bool) -> Res<Value> {
    let Value::Num(number) = vm.closure_data(args.callee, 0) else {
        return Ok(Value::Undefined);
    };
    let value = args.get(vm, 0);
    let result = if is_rejected {
        Err(from_reason(vm, value))
    } else {
        match from_value(vm, value, 0) {
            Ok(data) => Ok(data),
            Err(Abrupt::Throw(error)) => Err(from_reason(vm, error)),
            Err(stop) => return Err(stop),
        }
    };
    vm.host.settle_given(number as u64, result);
    Ok(Value::Undefined)
}

fn host_function(vm: &Vm, id: ObjId) -> Option<HostFunction> {
    let Kind::NativeClosure(closure) = vm.heap.kind(id) else {
        return None;
    };
    let is_host = vm.realm.internal.get("host function") == Some(&closure.native);
    match closure.data.first() {
        Some(Value::Num(at)) if is_host => {
            let (_, function) = vm.host.functions.get(*at as usize)?;
            Some(Arc::clone(function))
        }
        _ => None,
    }
}

/// Brings a value into the program.
fn into_value(vm: &mut Vm, data: Data, extension: &str, depth: usize) -> Res<Value> {
    let is_deep = matches!(
        data,
        Data::Array(_) | Data::Object(_) | Data::Map(_) | Data::Set(_) | Data::Error(_)
    );
    if is_deep && depth >= DEPTH {
        return Err(too_deep(vm));
    }
    vm.reserve(64)?;
    let next = depth + 1;
    Ok(match data {
        Data::Undefined => Value::Undefined,
        Data::Null => Value::Null,
        Data::Bool(b) => Value::Bool(b),
        Data::Number(n) => Value::Num(n),
        Data::String(text) => {
            vm.reserve(text.len())?;
            vm.new_text(crate::text::Text::new(&text))?
        }
        Data::BigInt(digits) => match digits.parse::<BigInt>() {
            Ok(n) => vm.new_big(n)?,
            Err(_) => return Err(vm.invalid_data("An extension gave a malformed BigInt.")),
        },
        Data::Array(items) => {
            let items = values(vm, items, extension, next)?;
            vm.array(items)
        }
        Data::Object(fields) => {
            let id = vm.object();
            add_fields(vm, id, fields, extension, next)?;
            Value::Obj(id)
        }
        Data::Date(ms) => Value::Obj(vm.heap.alloc(Some(i::DATE_PROTO), Kind::Date(ms))),
        Data::RegExp { source, flags } => {
            let (Value::Str(source), Value::Str(flags)) = (vm.str(&source), vm.str(&flags)) else {
                return Ok(Value::Undefined);
            };
            Value::Obj(regexp::make(vm, source, flags)?)
        }
        Data::Url(url) => url::make(vm, url)?,
        Data::Headers(list) => {
            Value::Obj(vm.heap.alloc(Some(i::HEADERS_PROTO), Kind::Headers(list)))
        }
        Data::Map(entries) => {
            let kind = Kind::Map(Box::default());
            let id = vm.heap.alloc(Some(i::MAP_PROTO), kind);
            for (key, value) in entries {
                let key = into_value(vm, key, extension, next)?;
                let value = into_value(vm, value, extension, next)?;
                collections::insert(vm, id, key, value)?;
            }
            Value::Obj(id)
        }
        Data::Set(members) => {
            let kind = Kind::Set(Box::default());
            let id = vm.heap.alloc(Some(i::SET_PROTO), kind);
            for member in members {
                let member = into_value(vm, member, extension, next)?;
                collections::insert(vm, id, member, member)?;
            }
            Value::Obj(id)
        }
        Data::Bytes(content) => bytes::make(vm, &content)?,
        Data::Error(error) => error_value(vm, *error, extension, next)?,
        Data::Function(function) => {
            if vm.host.functions.len() >= FUNCTION_LIMIT {
                return Err(vm.range_error("Extensions gave too many functions."));
            }
            let at = vm.host.functions.len() as f64;
            vm.host.functions.push((extension.to_owned(), function));
            vm.native_closure("host function", vec![Value::Num(at)])
        }
        Data::Promise(future) => {
            let promise = vm.new_promise();
            vm.host.promise(future, promise, extension);
            Value::Obj(promise)
        }
    })
}

fn values(vm: &mut Vm, items: Vec<Data>, extension: &str, depth: usize) -> Res<Vec<Value>> {
    items
        .into_iter()
        .map(|item| into_value(vm, item, extension, depth))
        .collect()
}

fn add_fields(
    vm: &mut Vm,
    id: ObjId,
    fields: Vec<(String, Data)>,
    extension: &str,
    depth: usize,
) -> Res<()> {
    for (field, data) in fields {
        let key = vm.intern(&field);
        if key != name::PROTO {
            let value = into_value(vm, data, extension, depth)?;
            vm.define_field(id, key, value)?;
        }
    }
    Ok(())
}

fn error_value(vm: &mut Vm, error: HostError, extension: &str, depth: usize) -> Res<Value> {
    if depth > DEPTH {
        return Err(too_deep(vm));
    }
    let known = [
        ("TypeError", ErrorType::Type),
        ("RangeError", ErrorType::Range),
        ("SyntaxError", ErrorType::Syntax),
        ("ReferenceError", ErrorType::Reference),
        ("EvalError", ErrorType::Eval),
        ("URIError", ErrorType::Uri),
    ];
    let which = known.iter().find(|(name, _)| *name == error.name);
    let id = vm.make_error(
        which.map_or(ErrorType::Error, |(_, which)| *which),
        None,
        &error.message,
    );
    if which.is_none() && error.name != "Error" {
        let label = vm.str(&error.name);
        vm.heap.add_prop(id, name::NAME, Attrs::HIDDEN, label);
    }
    if let Some(cause) = error.cause {
        let cause = into_value(vm, *cause, extension, depth + 1)?;
        vm.heap.add_prop(id, name::CAUSE, Attrs::HIDDEN, cause);
    }
    add_fields(vm, id, error.fields, extension, depth + 1)?;
    Ok(Value::Obj(id))
}
