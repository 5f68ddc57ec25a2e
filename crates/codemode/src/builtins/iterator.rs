//! `Iterator`, its helpers, generators, and the `next` that all built-in iterators share.

use crate::atoms::{SYM_ASYNC_ITERATOR, SYM_ITERATOR};
use crate::object::{CoKind, HelperKind, IterHelper, Kind, Resume};
use crate::realm::{Builder, intrinsic as i, name};
use crate::value::{Abrupt, ObjId, Res, Value};
use crate::vm::{Args, Vm};

pub(super) fn install(b: &mut Builder) {
    let proto = i::ITERATOR_PROTO;
    b.constructor(i::ITERATOR, proto, "Iterator", 0, |vm, a| {
        if !a.is_construct() || a.new_target.as_obj() == Some(i::ITERATOR) {
            return Err(
                vm.type_error("Iterator is an abstract class; extend it or use Iterator.from.")
            );
        }
        let proto = vm.proto_of_new(a.new_target, i::ITERATOR_PROTO)?;
        Ok(Value::Obj(vm.heap.alloc(Some(proto), Kind::Ordinary)))
    });
    b.methods(i::ITERATOR, &[("from", 1, from)]);
    b.methods(
        proto,
        &[
            ("map", 1, |vm, a| helper(vm, a, HelperKind::Map)),
            ("filter", 1, |vm, a| helper(vm, a, HelperKind::Filter)),
            ("flatMap", 1, |vm, a| helper(vm, a, HelperKind::FlatMap)),
            ("take", 1, |vm, a| helper(vm, a, HelperKind::Take)),
            ("drop", 1, |vm, a| helper(vm, a, HelperKind::Drop)),
            ("reduce", 1, reduce),
            ("toArray", 0, |vm, a| {
                let out = vm.array(Vec::new());
                drive(vm, a.this, |vm, value, _| {
                    vm.push(out, value).map(|()| None)
                })?;
                Ok(out)
            }),
            ("forEach", 1, |vm, a| {
                let f = function(vm, a)?;
                drive(vm, a.this, |vm, value, n| {
                    vm.call(f, Value::Undefined, &[value, Value::Num(n)])?;
                    Ok(None)
                })
            }),
            ("some", 1, |vm, a| decide(vm, a, true)),
            ("every", 1, |vm, a| decide(vm, a, false)),
            ("find", 1, |vm, a| {
                let f = function(vm, a)?;
                drive(vm, a.this, |vm, value, n| {
                    let hit = vm.call(f, Value::Undefined, &[value, Value::Num(n)])?;
                    Ok(vm.truthy(hit).then_some(value))
                })
            }),
        ],
    );
    b.symbol_method(proto, SYM_ITERATOR, "[Symbol.iterator]", 0, |_, a| {
        Ok(a.this)
    });
    b.symbol_method(
        i::ASYNC_ITERATOR_PROTO,
        SYM_ASYNC_ITERATOR,
        "[Symbol.asyncIterator]",
        0,
        |_, a| Ok(a.this),
    );
    b.tag(proto, "Iterator");
    b.internal("next", 0, |vm, a| {
        let Some(id) = a.this.as_obj() else {
            return Err(vm.type_error("next called on a value that is no iterator."));
        };
        let value = vm.builtin_step(id)?;
        Ok(vm.iter_result(value.unwrap_or(Value::Undefined), value.is_none()))
    });
    let next = b.internal_number("next", "next");
    for (object, tag) in [
        (i::ARRAY_ITERATOR_PROTO, "Array Iterator"),
        (i::STRING_ITERATOR_PROTO, "String Iterator"),
        (i::TABLE_ITERATOR_PROTO, "Map Iterator"),
        (i::HELPER_PROTO, "Iterator Helper"),
        (i::WRAP_ITERATOR_PROTO, ""),
        (i::REGEXP_ITERATOR_PROTO, "RegExp String Iterator"),
    ] {
        b.proto(object, proto);
        b.alias(object, name::NEXT, next);
        if !tag.is_empty() {
            b.tag(object, tag);
        }
    }
    b.methods(i::HELPER_PROTO, &[("return", 0, helper_return)]);
    b.methods(i::WRAP_ITERATOR_PROTO, &[("return", 0, wrap_return)]);
    generators(b);
    sync_wrapper(b);
}

fn generators(b: &mut Builder) {
    b.proto(i::GENERATOR_PROTO, i::ITERATOR_PROTO);
    b.internal("generator next", 1, |vm, a| resume(vm, a, Resume::Next));
    let next = b.internal_number("generator next", "next");
    b.alias(i::GENERATOR_PROTO, name::NEXT, next);
    b.methods(
        i::GENERATOR_PROTO,
        &[
            ("return", 1, |vm, a| resume(vm, a, Resume::Return)),
            ("throw", 1, |vm, a| resume(vm, a, Resume::Throw)),
        ],
    );
    b.tag(i::GENERATOR_PROTO, "Generator");
    b.proto(i::ASYNC_GENERATOR_PROTO, i::ASYNC_ITERATOR_PROTO);
    b.methods(
        i::ASYNC_GENERATOR_PROTO,
        &[
            ("next", 1, |vm, a| enqueue(vm, a, Resume::Next)),
            ("return", 1, |vm, a| enqueue(vm, a, Resume::Return)),
            ("throw", 1, |vm, a| enqueue(vm, a, Resume::Throw)),
        ],
    );
    b.tag(i::ASYNC_GENERATOR_PROTO, "AsyncGenerator");
    b.internal("generator returned", 1, |vm, a| {
        let value = a.get(vm, 0);
        let fine = matches!(vm.closure_data(a.callee, 1), Value::Bool(true));
        if let Some(id) = vm.closure_data(a.callee, 0).as_obj() {
            vm.generator_returned(id, if fine { Ok(value) } else { Err(value) })?;
        }
        Ok(Value::Undefined)
    });
}

fn resume(vm: &mut Vm, args: Args, how: Resume) -> Res<Value> {
    let value = args.get(vm, 0);
    match args.this {
        Value::Obj(id) if matches!(vm.heap.kind(id), Kind::Coroutine(co) if co.kind == CoKind::Generator) =>
        {
            let (value, done, raw) = vm.generator_resume(id, how, value)?;
            Ok(if raw {
                value
            } else {
                vm.iter_result(value, done)
            })
        }
        _ => Err(vm.type_error("next method called on an object that is no generator.")),
    }
}

fn enqueue(vm: &mut Vm, args: Args, how: Resume) -> Res<Value> {
    let value = args.get(vm, 0);
    let id = args.this.as_obj().unwrap_or(i::OBJECT_PROTO);
    vm.enqueue_request(id, how, value)
}

/// The asynchronous face of a synchronous iterator.
fn sync_wrapper(b: &mut Builder) {
    b.proto(i::SYNC_WRAP_PROTO, i::ASYNC_ITERATOR_PROTO);
    b.methods(
        i::SYNC_WRAP_PROTO,
        &[
            ("next", 1, |vm, a| sync_step(vm, a, Resume::Next)),
            ("return", 1, |vm, a| sync_step(vm, a, Resume::Return)),
            ("throw", 1, |vm, a| sync_step(vm, a, Resume::Throw)),
        ],
    );
    b.internal("wrap result", 1, |vm, a| {
        let value = a.get(vm, 0);
        let done = matches!(vm.closure_data(a.callee, 0), Value::Bool(true));
        Ok(vm.iter_result(value, done))
    });
    b.internal("close and throw", 1, |vm, a| {
        let error = a.get(vm, 0);
        let iterator = vm.closure_data(a.callee, 0);
        if let Ok(Some(method)) = vm.get_method(iterator, name::RETURN) {
            match vm.call(method, iterator, &[]) {
                Err(stop @ Abrupt::Stop(_)) => return Err(stop),
                Ok(_) | Err(Abrupt::Throw(_)) => {}
            }
        }
        Err(Abrupt::Throw(error))
    });
}

fn sync_step(vm: &mut Vm, args: Args, how: Resume) -> Res<Value> {
    let promise = vm.new_promise();
    match sync_result(vm, args, how) {
        Ok(value) => vm.resolve(promise, value)?,
        Err(Abrupt::Throw(error)) => vm.reject(promise, error),
        Err(stop) => return Err(stop),
    }
    Ok(Value::Obj(promise))
}

fn sync_result(vm: &mut Vm, args: Args, how: Resume) -> Res<Value> {
    let list = args.all(vm);
    let value = args.get(vm, 0);
    let (inner, next) = match args.this.as_obj().map(|id| vm.heap.kind(id)) {
        Some(Kind::WrapIter(inner, next)) => (*inner, *next),
        _ => return Err(vm.type_error("next called on a value that is no iterator.")),
    };
    let result = match how {
        Resume::Next => vm.call(next, inner, &list)?,
        Resume::Return => match vm.get_method(inner, name::RETURN)? {
            Some(method) => vm.call(method, inner, &list)?,
            None => return Ok(vm.iter_result(value, true)),
        },
        Resume::Throw => match vm.get_method(inner, name::THROW)? {
            Some(method) => vm.call(method, inner, &[value])?,
            None => {
                if let Some(method) = vm.get_method(inner, name::RETURN)? {
                    vm.call(method, inner, &[])?;
                }
                return Err(vm.type_error("The iterator does not provide a 'throw' method."));
            }
        },
    };
    if !result.is_object() {
        return Err(vm.type_error("Iterator result is not an object."));
    }
    let done = vm.get(result, name::DONE)?;
    let done = vm.truthy(done);
    let value = vm.get(result, name::VALUE)?;
    let promise = match vm.promise_resolve(value) {
        Err(error @ Abrupt::Throw(_)) if !done && how != Resume::Return => {
            if let Err(stop @ Abrupt::Stop(_)) = vm.close_source(inner) {
                return Err(stop);
            }
            return Err(error);
        }
        promise => promise?,
    };
    let wrap = vm.native_closure("wrap result", vec![Value::Bool(done)]);
    let close = if done || how == Resume::Return {
        Value::Undefined
    } else {
        vm.native_closure("close and throw", vec![inner])
    };
    Ok(Value::Obj(vm.then(promise, wrap, close)))
}

fn function(vm: &mut Vm, args: Args) -> Res<Value> {
    let f = args.get(vm, 0);
    if vm.is_callable(f) {
        vm.refuse_callback(f)?;
        return Ok(f);
    }
    let what = super::render(vm, f);
    Err(vm.type_error(&format!("{what} is not a function.")))
}

/// Goes through an iterator object until `body` answers.
fn drive(
    vm: &mut Vm,
    iterator: Value,
    mut body: impl FnMut(&mut Vm, Value, f64) -> Res<Option<Value>>,
) -> Res<Value> {
    if !iterator.is_object() {
        return Err(vm.type_error("Iterator helper called on a value that is no object."));
    }
    let mut answer = Value::Undefined;
    let mut n = 0.0;
    vm.iterate_iterator(iterator, |vm, value| {
        let found = body(vm, value, n)?;
        n += 1.0;
        if let Some(found) = found {
            answer = found;
            return Ok(false);
        }
        Ok(true)
    })?;
    Ok(answer)
}

fn decide(vm: &mut Vm, args: Args, wanted: bool) -> Res<Value> {
    let f = function(vm, args)?;
    let answer = drive(vm, args.this, |vm, value, n| {
        let result = vm.call(f, Value::Undefined, &[value, Value::Num(n)])?;
        Ok((vm.truthy(result) == wanted).then_some(Value::Bool(wanted)))
    })?;
    Ok(if answer.is_undefined() {
        Value::Bool(!wanted)
    } else {
        answer
    })
}

fn reduce(vm: &mut Vm, args: Args) -> Res<Value> {
    let f = function(vm, args)?;
    // The total lies in an array, so that it is reachable while the iterator runs program code.
    let first = if args.len() > 1 {
        args.get(vm, 1)
    } else {
        Value::Hole
    };
    let held = vm.array(vec![first]);
    drive(vm, args.this, |vm, value, n| {
        let total = match vm.array_items(held)[0] {
            Value::Hole => value,
            total => vm.call(f, Value::Undefined, &[total, value, Value::Num(n)])?,
        };
        if let Some(id) = held.as_obj()
            && let Kind::Array(items) = vm.heap.kind_mut(id)
        {
            items[0] = total;
        }
        Ok(None)
    })?;
    match vm.array_items(held)[0] {
        Value::Hole => Err(vm.type_error("Reduce of an empty iterator with no initial value.")),
        total => Ok(total),
    }
}

fn helper(vm: &mut Vm, args: Args, kind: HelperKind) -> Res<Value> {
    if !args.this.is_object() {
        return Err(vm.type_error("Iterator helper called on a value that is no object."));
    }
    let (func, remaining) = match kind {
        HelperKind::Take | HelperKind::Drop => {
            let n = args.get(vm, 0);
            let n = vm.to_number(n)?;
            if n.is_nan() || n.trunc() < 0.0 {
                return Err(
                    vm.range_error(&format!("{} must be positive", crate::number::to_string(n)))
                );
            }
            (Value::Undefined, n.trunc())
        }
        _ => (function(vm, args)?, 0.0),
    };
    let next = vm.get_lazy(args.this, name::NEXT)?;
    let data = IterHelper {
        kind,
        source: args.this,
        next,
        func,
        count: 0.0,
        remaining,
        inner: None,
        done: false,
        running: false,
    };
    Ok(Value::Obj(vm.heap.alloc(
        Some(i::HELPER_PROTO),
        Kind::IterHelper(Box::new(data)),
    )))
}

fn helper_return(vm: &mut Vm, args: Args) -> Res<Value> {
    let Some(id) = args.this.as_obj() else {
        return Ok(Value::Undefined);
    };
    let Kind::IterHelper(data) = vm.heap.kind_mut(id) else {
        return Err(vm.type_error("return called on a value that is no iterator helper."));
    };
    let (source, inner, was_done) = (data.source, data.inner, data.done);
    data.done = true;
    if !was_done {
        for iterator in inner.map(|(i, _)| i).into_iter().chain([source]) {
            if let Some(method) = vm.get_method(iterator, name::RETURN)? {
                vm.call(method, iterator, &[])?;
            }
        }
    }
    Ok(vm.iter_result(Value::Undefined, true))
}

fn wrap_return(vm: &mut Vm, args: Args) -> Res<Value> {
    let inner = match args.this.as_obj().map(|id| vm.heap.kind(id)) {
        Some(Kind::WrapIter(inner, _)) => *inner,
        _ => return Err(vm.type_error("return called on a value that is no iterator.")),
    };
    match vm.get_method(inner, name::RETURN)? {
        Some(method) => vm.call(method, inner, &[]),
        None => Ok(vm.iter_result(Value::Undefined, true)),
    }
}

fn from(vm: &mut Vm, args: Args) -> Res<Value> {
    let source = args.get(vm, 0);
    if !source.is_object() && !matches!(source, Value::Str(_)) {
        return Err(vm.type_error("Iterator.from needs an object."));
    }
    let method = vm.get_method(source, SYM_ITERATOR)?;
    let inner = match method {
        Some(method) => vm.call(method, source, &[])?,
        None => source,
    };
    if !inner.is_object() {
        return Err(vm.type_error("Iterator.from needs an iterator."));
    }
    let mut at = vm.settle(inner).as_obj();
    while let Some(id) = at {
        at = vm.heap.proto_of(id);
        if at == Some(i::ITERATOR_PROTO) {
            return Ok(inner);
        }
    }
    let next = vm.get(inner, name::NEXT)?;
    Ok(Value::Obj(vm.heap.alloc(
        Some(i::WRAP_ITERATOR_PROTO),
        Kind::WrapIter(inner, next),
    )))
}

impl Vm {
    /// One step of any built-in iterator.
    pub(crate) fn builtin_step(&mut self, id: ObjId) -> Res<Option<Value>> {
        match self.heap.kind_mut(id) {
            Kind::ArrayIter(_) => super::array::step(self, id),
            Kind::TableIter(_) => super::collections::step(self, id),
            Kind::StringIter(text, at) => {
                let (text, start) = (*text, *at);
                if start >= self.heap.str_len(text) {
                    return Ok(None);
                }
                let (_, len) = self.heap.units(text).code_point(start);
                if let Kind::StringIter(_, at) = self.heap.kind_mut(id) {
                    *at += len;
                }
                super::string::part(self, text, start, start + len).map(Some)
            }
            Kind::MatchIter(_) => super::regexp_methods::next_match(self, id),
            Kind::IterHelper(_) => self.helper_step(id),
            Kind::WrapIter(inner, next) => {
                let (inner, next) = (*inner, *next);
                self.protocol_step(inner, next)
            }
            _ => Err(self.type_error("next called on a value that is no iterator.")),
        }
    }

    /// One step of an iterator by its protocol.
    fn protocol_step(&mut self, iterator: Value, next: Value) -> Res<Option<Value>> {
        let result = self.call(next, iterator, &[])?;
        if !result.is_object() {
            return Err(self.type_error("Iterator result is not an object."));
        }
        let done = self.get(result, name::DONE)?;
        if self.truthy(done) {
            return Ok(None);
        }
        self.get(result, name::VALUE).map(Some)
    }

    fn helper_mut(&mut self, id: ObjId) -> Option<&mut IterHelper> {
        match self.heap.kind_mut(id) {
            Kind::IterHelper(data) => Some(data),
            _ => None,
        }
    }

    fn helper_step(&mut self, id: ObjId) -> Res<Option<Value>> {
        let Some(data) = self.helper_mut(id) else {
            return Ok(None);
        };
        if data.running {
            return Err(self.type_error("Generator is already running."));
        }
        if data.done {
            return Ok(None);
        }
        data.running = true;
        let result = self.helper_advance(id);
        if let Some(data) = self.helper_mut(id) {
            data.running = false;
            if !matches!(result, Ok(Some(_))) {
                data.done = true;
            }
        }
        result
    }

    /// The iterator of a `flatMap` callback's result, and its `next`; an object that isn't iterable is an iterator itself.
    fn open_inner(&mut self, result: Value) -> Res<(Value, Value)> {
        if !result.is_object() {
            return Err(self.type_error("flatMap needs an iterable from its callback."));
        }
        let inner = match self.get_method(result, SYM_ITERATOR)? {
            Some(method) => self.call(method, result, &[])?,
            None => result,
        };
        if !inner.is_object() {
            return Err(self.type_error("Result of the Symbol.iterator method is not an object."));
        }
        let next = self.get(inner, name::NEXT)?;
        Ok((inner, next))
    }

    fn close_source(&mut self, source: Value) -> Res<()> {
        if let Some(method) = self.get_method(source, name::RETURN)? {
            self.call(method, source, &[])?;
        }
        Ok(())
    }

    fn helper_advance(&mut self, id: ObjId) -> Res<Option<Value>> {
        loop {
            let Some(data) = self.helper_mut(id) else {
                return Ok(None);
            };
            let (kind, source, next, func) = (data.kind, data.source, data.next, data.func);
            if let Some((inner, inner_next)) = data.inner {
                match self.protocol_step(inner, inner_next) {
                    Ok(Some(value)) => return Ok(Some(value)),
                    Ok(None) => {
                        if let Some(data) = self.helper_mut(id) {
                            data.inner = None;
                        }
                        continue;
                    }
                    Err(error) => {
                        let _ = self.close_source(source);
                        return Err(error);
                    }
                }
            }
            if kind == HelperKind::Take && data.remaining <= 0.0 {
                self.close_source(source)?;
                return Ok(None);
            }
            let skip = kind == HelperKind::Drop && data.remaining > 0.0;
            if matches!(kind, HelperKind::Take | HelperKind::Drop) && data.remaining > 0.0 {
                data.remaining -= 1.0;
            }
            let n = data.count;
            data.count += 1.0;
            self.charge(1)?;
            let Some(value) = self.protocol_step(source, next)? else {
                return Ok(None);
            };
            if skip {
                continue;
            }
            let outcome = match kind {
                HelperKind::Take | HelperKind::Drop => return Ok(Some(value)),
                _ => self.call(func, Value::Undefined, &[value, Value::Num(n)]),
            };
            let result = match outcome {
                Ok(result) => result,
                Err(error @ Abrupt::Throw(_)) => {
                    if let Err(stop @ Abrupt::Stop(_)) = self.close_source(source) {
                        return Err(stop);
                    }
                    return Err(error);
                }
                Err(stop) => return Err(stop),
            };
            match kind {
                HelperKind::Map => return Ok(Some(result)),
                HelperKind::Filter if self.truthy(result) => return Ok(Some(value)),
                HelperKind::FlatMap => match self.open_inner(result) {
                    Ok(inner) => {
                        if let Some(data) = self.helper_mut(id) {
                            data.inner = Some(inner);
                        }
                    }
                    Err(error @ Abrupt::Throw(_)) => {
                        if let Err(stop @ Abrupt::Stop(_)) = self.close_source(source) {
                            return Err(stop);
                        }
                        return Err(error);
                    }
                    Err(stop) => return Err(stop),
                },
                _ => {}
            }
        }
    }
}
