//! `Array.of`, `Array.from` and `Array.fromAsync`.

use super::array::{element, position_key};
use crate::atoms::{SYM_ASYNC_ITERATOR, SYM_ITERATOR};
use crate::object::{Kind, Reaction};
use crate::realm::{Builder, intrinsic as i, name};
use crate::value::{Abrupt, ObjId, Res, Value};
use crate::vm::{ARRAY_LIMIT, Args, Vm};

pub(super) fn install(b: &mut Builder) {
    b.methods(
        i::ARRAY,
        &[
            ("of", 0, of),
            ("from", 1, from),
            ("fromAsync", 1, from_async),
        ],
    );
    b.internal("from async", 1, from_async_goes_on);
}

/// The object that a static method fills: made by the constructor it was called on, if that is one.
fn receiver(vm: &mut Vm, this: Value, len: Option<usize>) -> Res<ObjId> {
    let this = vm.settle(this);
    if this.as_obj() == Some(i::ARRAY) || !vm.is_constructor(this) {
        if len.is_some_and(|len| len > ARRAY_LIMIT) {
            return Err(vm.range_error("Invalid array length"));
        }
        return Ok(vm.heap.alloc(Some(i::ARRAY_PROTO), Kind::Array(Vec::new())));
    }
    let list: Vec<Value> = len.map(|len| Value::Num(len as f64)).into_iter().collect();
    let made = vm.construct(this, &list, this)?;
    vm.require_object(made)
}

fn finish(vm: &mut Vm, out: ObjId, len: usize) -> Res<Value> {
    vm.put(Value::Obj(out), name::LENGTH, Value::Num(len as f64))?;
    Ok(Value::Obj(out))
}

fn of(vm: &mut Vm, args: Args) -> Res<Value> {
    let out = receiver(vm, args.this, Some(args.len()))?;
    for at in 0..args.len() {
        let value = args.get(vm, at);
        super::array_visit::append(vm, out, at, value)?;
    }
    finish(vm, out, args.len())
}

fn from(vm: &mut Vm, args: Args) -> Res<Value> {
    let (source, mapper, this) = (args.get(vm, 0), args.get(vm, 1), args.get(vm, 2));
    if !mapper.is_undefined() && !vm.is_callable(mapper) {
        return Err(vm.type_error("Array.from mapper is not a function."));
    }
    if source.is_nullish() {
        return Err(vm.invalid_data("Array.from needs an iterable or an array-like."));
    }
    let mapped = |vm: &mut Vm, value: Value, at: usize| match mapper {
        Value::Undefined => Ok(value),
        f => vm.call(f, this, &[value, Value::Num(at as f64)]),
    };
    if vm.get_method(source, SYM_ITERATOR)?.is_some() {
        let out = receiver(vm, args.this, None)?;
        let mut at = 0usize;
        vm.iterate(source, |vm, value| {
            let value = mapped(vm, value, at)?;
            super::array_visit::append(vm, out, at, value)?;
            at += 1;
            Ok(true)
        })?;
        return finish(vm, out, at);
    }
    let id = vm.to_object(source)?;
    let len = vm.length_of(id)?;
    let out = receiver(vm, args.this, Some(len))?;
    let pins = vm.pin_mark();
    for at in 0..len {
        vm.charge(1)?;
        let value = element(vm, id, at)?;
        let value = mapped(vm, value, at)?;
        super::array_visit::append(vm, out, at, value)?;
        vm.release_pins(pins);
    }
    finish(vm, out, len)
}

/// What `fromAsync` keeps between two turns, as the elements of an array.
mod part {
    pub(super) const OUT: usize = 0;
    /// The iterator, or the array-like.
    pub(super) const SOURCE: usize = 1;
    /// The iterator's `next`; a number, the length, for an array-like.
    pub(super) const NEXT: usize = 2;
    pub(super) const MAPPER: usize = 3;
    pub(super) const THIS: usize = 4;
    pub(super) const INDEX: usize = 5;
    pub(super) const PROMISE: usize = 6;
}

/// What `fromAsync` waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// A result object of the iterator, or an element of the array-like.
    Element,
    /// What the mapper gave.
    Mapped,
    /// What closing the iterator after an error gave.
    Closing,
}

fn from_async(vm: &mut Vm, args: Args) -> Res<Value> {
    let promise = vm.new_promise();
    match from_async_starts(vm, args, promise) {
        Ok(()) => {}
        Err(Abrupt::Throw(error)) => vm.reject(promise, error),
        Err(stop) => return Err(stop),
    }
    Ok(Value::Obj(promise))
}

fn from_async_starts(vm: &mut Vm, args: Args, promise: ObjId) -> Res<()> {
    let (source, mapper, this) = (args.get(vm, 0), args.get(vm, 1), args.get(vm, 2));
    if !mapper.is_undefined() && !vm.is_callable(mapper) {
        return Err(vm.type_error("Array.fromAsync mapper is not a function."));
    }
    if source.is_nullish() {
        return Err(vm.invalid_data("Array.fromAsync needs an iterable or an array-like."));
    }
    let is_iterable = vm.get_method(source, SYM_ASYNC_ITERATOR)?.is_some()
        || vm.get_method(source, SYM_ITERATOR)?.is_some();
    let (out, source, next) = if is_iterable {
        let out = receiver(vm, args.this, None)?;
        let place = vm.iteration_place()?;
        let opened = vm.open_async_iterator(source, place);
        let (iterator, next) = vm.iteration_at(place);
        vm.release_place(place);
        opened?;
        (out, iterator, next)
    } else {
        let id = vm.to_object(source)?;
        let len = vm.length_of(id)?;
        let out = receiver(vm, args.this, Some(len))?;
        (out, Value::Obj(id), Value::Num(len as f64))
    };
    let parts = vec![
        Value::Obj(out),
        source,
        next,
        mapper,
        this,
        Value::Num(0.0),
        Value::Obj(promise),
    ];
    let state = vm.array(parts);
    ask(vm, state)
}

fn state_part(vm: &Vm, state: Value, at: usize) -> Value {
    match state.as_obj().map(|id| vm.heap.kind(id)) {
        Some(Kind::Array(items)) => items[at],
        _ => Value::Undefined,
    }
}

/// Waits for a value; then the work goes on.
fn wait(vm: &mut Vm, state: Value, value: Value, waiting: Waiting, error: Value) -> Res<()> {
    let promise = vm.promise_resolve(value)?;
    let code = Value::Num(f64::from(waiting as u8));
    let data = |fine| vec![state, code, Value::Bool(fine), error];
    let fulfilled = vm.native_closure("from async", data(true));
    let rejected = vm.native_closure("from async", data(false));
    let reaction = Reaction::Then {
        fulfilled,
        rejected,
        derived: None,
    };
    vm.react(promise, reaction);
    Ok(())
}

/// Asks the source for the next element.
fn ask(vm: &mut Vm, state: Value) -> Res<()> {
    let (source, next) = (
        state_part(vm, state, part::SOURCE),
        state_part(vm, state, part::NEXT),
    );
    let Value::Num(len) = next else {
        let result = vm.call(next, source, &[])?;
        return wait(vm, state, result, Waiting::Element, Value::Undefined);
    };
    let (Value::Num(at), Some(id)) = (state_part(vm, state, part::INDEX), source.as_obj()) else {
        return Ok(());
    };
    if at >= len {
        return complete(vm, state);
    }
    let value = element(vm, id, at as usize)?;
    wait(vm, state, value, Waiting::Element, Value::Undefined)
}

fn complete(vm: &mut Vm, state: Value) -> Res<()> {
    let (out, at) = (
        state_part(vm, state, part::OUT),
        state_part(vm, state, part::INDEX),
    );
    vm.put(out, name::LENGTH, at)?;
    match state_part(vm, state, part::PROMISE).as_obj() {
        Some(promise) => vm.resolve(promise, out),
        None => Ok(()),
    }
}

fn from_async_goes_on(vm: &mut Vm, args: Args) -> Res<Value> {
    let value = args.get(vm, 0);
    let state = vm.closure_data(args.callee, 0);
    let fine = matches!(vm.closure_data(args.callee, 2), Value::Bool(true));
    let error = vm.closure_data(args.callee, 3);
    let waiting = match vm.closure_data(args.callee, 1) {
        Value::Num(0.0) => Waiting::Element,
        Value::Num(1.0) => Waiting::Mapped,
        _ => Waiting::Closing,
    };
    let from_iterator = !matches!(state_part(vm, state, part::NEXT), Value::Num(_));
    let outcome = match (waiting, fine) {
        (Waiting::Closing, _) => return fail(vm, state, error),
        // A source that fails is not closed.
        (Waiting::Element, false) => return fail(vm, state, value),
        (Waiting::Mapped, false) => Err(Abrupt::Throw(value)),
        (Waiting::Mapped, true) => store(vm, state, value),
        (Waiting::Element, true) if from_iterator => match unpack(vm, value) {
            Ok(None) => match complete(vm, state) {
                Ok(()) => return Ok(Value::Undefined),
                Err(Abrupt::Throw(error)) => return fail(vm, state, error),
                Err(stop) => return Err(stop),
            },
            Ok(Some(value)) => take(vm, state, value),
            Err(Abrupt::Throw(error)) => return fail(vm, state, error),
            Err(stop) => return Err(stop),
        },
        (Waiting::Element, true) => take(vm, state, value),
    };
    let error = match outcome {
        Ok(false) => return Ok(Value::Undefined),
        Ok(true) => match ask(vm, state) {
            Ok(()) => return Ok(Value::Undefined),
            Err(Abrupt::Throw(error)) => return fail(vm, state, error),
            Err(stop) => return Err(stop),
        },
        Err(Abrupt::Throw(error)) => error,
        Err(stop) => return Err(stop),
    };
    if from_iterator && close(vm, state, error)? {
        return Ok(Value::Undefined);
    }
    fail(vm, state, error)
}

/// The value of an iterator's result; none at its end.
fn unpack(vm: &mut Vm, result: Value) -> Res<Option<Value>> {
    if !result.is_object() {
        return Err(vm.type_error("Iterator result is not an object."));
    }
    let done = vm.get(result, name::DONE)?;
    if vm.truthy(done) {
        return Ok(None);
    }
    vm.get(result, name::VALUE).map(Some)
}

/// Takes an element over; true when the next one can be asked for at once.
fn take(vm: &mut Vm, state: Value, value: Value) -> Res<bool> {
    let (mapper, this) = (
        state_part(vm, state, part::MAPPER),
        state_part(vm, state, part::THIS),
    );
    if mapper.is_undefined() {
        return store(vm, state, value);
    }
    let at = state_part(vm, state, part::INDEX);
    let mapped = vm.call(mapper, this, &[value, at])?;
    wait(vm, state, mapped, Waiting::Mapped, Value::Undefined)?;
    Ok(false)
}

fn store(vm: &mut Vm, state: Value, value: Value) -> Res<bool> {
    let Value::Num(at) = state_part(vm, state, part::INDEX) else {
        return Ok(false);
    };
    if let Some(out) = state_part(vm, state, part::OUT).as_obj() {
        let key = position_key(vm, at as usize);
        vm.create_data_or_throw(out, key, value)?;
    }
    if let Some(id) = state.as_obj()
        && let Kind::Array(items) = vm.heap.kind_mut(id)
    {
        items[part::INDEX] = Value::Num(at + 1.0);
    }
    Ok(true)
}

/// Closes the iterator after an error; true when that has to be waited for.
fn close(vm: &mut Vm, state: Value, error: Value) -> Res<bool> {
    let iterator = state_part(vm, state, part::SOURCE);
    let closed = match vm.get_method(iterator, name::RETURN) {
        Ok(Some(method)) => vm.call(method, iterator, &[]),
        Ok(None) => return Ok(false),
        Err(error) => Err(error),
    };
    match closed {
        Ok(result) => match wait(vm, state, result, Waiting::Closing, error) {
            Ok(()) => Ok(true),
            Err(Abrupt::Throw(_)) => Ok(false),
            Err(stop) => Err(stop),
        },
        Err(Abrupt::Throw(_)) => Ok(false),
        Err(stop) => Err(stop),
    }
}

fn fail(vm: &mut Vm, state: Value, error: Value) -> Res<Value> {
    if let Some(promise) = state_part(vm, state, part::PROMISE).as_obj() {
        vm.reject(promise, error);
    }
    Ok(Value::Undefined)
}
