//! `Promise`.

use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i, name};
use crate::value::{Abrupt, ObjId, Res, Value};
use crate::vm::{Args, ErrorType, Vm};

pub(super) fn install(b: &mut Builder) {
    let proto = i::PROMISE_PROTO;
    b.constructor(i::PROMISE, proto, "Promise", 1, construct);
    b.methods(
        i::PROMISE,
        &[
            ("all", 1, |vm, a| combinator(vm, a, Combinator::All)),
            ("allSettled", 1, |vm, a| {
                combinator(vm, a, Combinator::AllSettled)
            }),
            ("any", 1, |vm, a| combinator(vm, a, Combinator::Any)),
            ("race", 1, |vm, a| combinator(vm, a, Combinator::Race)),
            ("resolve", 1, |vm, a| {
                let value = a.get(vm, 0);
                vm.promise_resolve(value).map(Value::Obj)
            }),
            ("reject", 1, |vm, a| {
                let value = a.get(vm, 0);
                let promise = vm.new_promise();
                vm.reject(promise, value);
                Ok(Value::Obj(promise))
            }),
            ("withResolvers", 0, |vm, _| {
                let promise = vm.new_promise();
                let (resolve, reject) = vm.resolving_functions(promise);
                let out = vm.object();
                vm.define_field(out, name::PROMISE, Value::Obj(promise))?;
                vm.define_field(out, name::RESOLVE, resolve)?;
                vm.define_field(out, name::REJECT, reject)?;
                Ok(Value::Obj(out))
            }),
            ("try", 1, |vm, a| {
                let mut list = a.all(vm);
                let f = if list.is_empty() {
                    Value::Undefined
                } else {
                    list.remove(0)
                };
                let promise = vm.new_promise();
                match vm.call(f, Value::Undefined, &list) {
                    Ok(value) => vm.resolve(promise, value)?,
                    Err(Abrupt::Throw(error)) => vm.reject(promise, error),
                    Err(stop) => return Err(stop),
                }
                Ok(Value::Obj(promise))
            }),
        ],
    );
    b.methods(
        proto,
        &[
            ("then", 2, |vm, a| {
                let promise = this(vm, a)?;
                let (ok, err) = (handler(vm, a, 0)?, handler(vm, a, 1)?);
                Ok(Value::Obj(vm.then(promise, ok, err)))
            }),
            ("catch", 1, |vm, a| {
                let promise = this(vm, a)?;
                let err = handler(vm, a, 0)?;
                Ok(Value::Obj(vm.then(promise, Value::Undefined, err)))
            }),
            ("finally", 1, |vm, a| {
                let promise = this(vm, a)?;
                let f = handler(vm, a, 0)?;
                if !vm.is_callable(f) {
                    return Ok(Value::Obj(vm.then(promise, f, f)));
                }
                let ok = vm.native_closure("finally", vec![f, Value::Bool(true)]);
                let err = vm.native_closure("finally", vec![f, Value::Bool(false)]);
                Ok(Value::Obj(vm.then(promise, ok, err)))
            }),
        ],
    );
    b.tag(proto, "Promise");
    b.internal("resolve promise", 1, |vm, a| settle(vm, a, true));
    b.internal("reject promise", 1, |vm, a| settle(vm, a, false));
    b.internal("finally", 1, |vm, a| {
        let value = a.get(vm, 0);
        let (f, fine) = (vm.closure_data(a.callee, 0), vm.closure_data(a.callee, 1));
        let result = vm.call(f, Value::Undefined, &[])?;
        let promise = vm.promise_resolve(result)?;
        let next = vm.native_closure("constant", vec![value, fine]);
        Ok(Value::Obj(vm.then(promise, next, Value::Undefined)))
    });
    b.internal("constant", 0, |vm, a| {
        let value = vm.closure_data(a.callee, 0);
        if let Value::Bool(false) = vm.closure_data(a.callee, 1) {
            Err(Abrupt::Throw(value))
        } else {
            Ok(value)
        }
    });
    b.internal("itself", 0, |vm, a| Ok(vm.closure_data(a.callee, 0)));
    b.internal("member settled", 1, member_settled);
}

fn this(vm: &mut Vm, args: Args) -> Res<ObjId> {
    match args.this.as_obj() {
        Some(id) if matches!(vm.heap.kind(id), Kind::Promise(_)) => Ok(id),
        _ => Err(vm.type_error("Method called on a value that is no promise.")),
    }
}

fn handler(vm: &mut Vm, args: Args, index: usize) -> Res<Value> {
    let value = args.get(vm, index);
    vm.refuse_callback(value)?;
    Ok(value)
}

fn construct(vm: &mut Vm, args: Args) -> Res<Value> {
    if !args.is_construct() {
        return Err(vm.type_error("Promise constructor cannot be invoked without 'new'."));
    }
    let executor = args.get(vm, 0);
    if !vm.is_callable(executor) {
        return Err(vm.type_error("Promise resolver is not a function."));
    }
    let promise = vm.new_promise();
    if args.new_target.as_obj() != Some(i::PROMISE) {
        let proto = vm.proto_of_new(args.new_target, i::PROMISE_PROTO)?;
        vm.heap.set_proto(promise, Some(proto));
    }
    let (resolve, reject) = vm.resolving_functions(promise);
    match vm.call(executor, Value::Undefined, &[resolve, reject]) {
        Ok(_) => {}
        Err(Abrupt::Throw(error)) => {
            vm.call(reject, Value::Undefined, &[error])?;
        }
        Err(stop) => return Err(stop),
    }
    Ok(Value::Obj(promise))
}

fn settle(vm: &mut Vm, args: Args, fine: bool) -> Res<Value> {
    let value = args.get(vm, 0);
    let (promise, used) = (
        vm.closure_data(args.callee, 0),
        vm.closure_data(args.callee, 1),
    );
    if let Some(flag) = used.as_obj()
        && let Kind::Array(items) = vm.heap.kind_mut(flag)
    {
        if matches!(items[0], Value::Bool(true)) {
            return Ok(Value::Undefined);
        }
        items[0] = Value::Bool(true);
    }
    if let Some(promise) = promise.as_obj() {
        if fine {
            vm.resolve(promise, value)?;
        } else {
            vm.reject(promise, value);
        }
    }
    Ok(Value::Undefined)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Combinator {
    All,
    AllSettled,
    Any,
    Race,
}

fn combinator(vm: &mut Vm, args: Args, which: Combinator) -> Res<Value> {
    let source = args.get(vm, 0);
    let promise = vm.new_promise();
    match combine(vm, source, promise, which) {
        Ok(()) => {}
        Err(Abrupt::Throw(error)) => vm.reject(promise, error),
        Err(stop) => return Err(stop),
    }
    Ok(Value::Obj(promise))
}

/// `Promise.all` of an array.
pub(super) fn all_of(vm: &mut Vm, list: Value) -> Res<Value> {
    let promise = vm.new_promise();
    combine(vm, list, promise, Combinator::All)?;
    Ok(Value::Obj(promise))
}

fn combine(vm: &mut Vm, source: Value, promise: ObjId, which: Combinator) -> Res<()> {
    let values = vm.collect_values(source)?;
    let count = values.len();
    if which == Combinator::Race && count == 0 {
        return Err(
            vm.invalid_data("Promise.race needs at least one member; an empty race never settles.")
        );
    }
    let results = vm.array(vec![Value::Undefined; count]);
    let state = vm.array(vec![Value::Num(count as f64), results, Value::Obj(promise)]);
    let mut members = Vec::with_capacity(count);
    for value in values {
        members.push(vm.promise_resolve(value)?);
    }
    if count == 0 {
        return finish(vm, state, which);
    }
    for (at, member) in members.into_iter().enumerate() {
        let code = match which {
            Combinator::All => 0.0,
            Combinator::AllSettled => 1.0,
            Combinator::Any => 2.0,
            Combinator::Race => 3.0,
        };
        let data = |fine| {
            vec![
                state,
                Value::Num(at as f64),
                Value::Num(code),
                Value::Bool(fine),
            ]
        };
        let fulfilled = vm.native_closure("member settled", data(true));
        let rejected = vm.native_closure("member settled", data(false));
        vm.react(
            member,
            crate::object::Reaction::Then {
                fulfilled,
                rejected,
                derived: None,
            },
        );
    }
    Ok(())
}

fn state_item(vm: &Vm, state: Value, index: usize) -> Value {
    match state.as_obj().map(|id| vm.heap.kind(id)) {
        Some(Kind::Array(items)) => items[index],
        _ => Value::Undefined,
    }
}

fn finish(vm: &mut Vm, state: Value, which: Combinator) -> Res<()> {
    let results = state_item(vm, state, 1);
    let Some(promise) = state_item(vm, state, 2).as_obj() else {
        return Ok(());
    };
    if which == Combinator::Any {
        let error = vm.make_error(ErrorType::Aggregate, None, "All promises were rejected");
        vm.heap
            .add_prop(error, name::ERRORS, crate::shape::Attrs::HIDDEN, results);
        vm.reject(promise, Value::Obj(error));
        return Ok(());
    }
    vm.resolve(promise, results)
}

fn member_settled(vm: &mut Vm, args: Args) -> Res<Value> {
    let value = args.get(vm, 0);
    let data = |vm: &Vm, at| vm.closure_data(args.callee, at);
    let state = data(vm, 0);
    let fine = matches!(data(vm, 3), Value::Bool(true));
    let which = match data(vm, 2) {
        Value::Num(0.0) => Combinator::All,
        Value::Num(1.0) => Combinator::AllSettled,
        Value::Num(2.0) => Combinator::Any,
        _ => Combinator::Race,
    };
    let Some(promise) = state_item(vm, state, 2).as_obj() else {
        return Ok(Value::Undefined);
    };
    match (which, fine) {
        (Combinator::All, false) | (Combinator::Race, false) => vm.reject(promise, value),
        (Combinator::Any, true) | (Combinator::Race, true) => vm.resolve(promise, value)?,
        _ => {
            let entry = if which == Combinator::AllSettled {
                outcome(vm, value, fine)?
            } else {
                value
            };
            let at = if let Value::Num(n) = data(vm, 1) {
                n as usize
            } else {
                0
            };
            if let Some(results) = state_item(vm, state, 1).as_obj()
                && let Kind::Array(items) = vm.heap.kind_mut(results)
            {
                items[at] = entry;
            }
            let mut left = 1.0;
            if let Some(id) = state.as_obj()
                && let Kind::Array(items) = vm.heap.kind_mut(id)
                && let Value::Num(n) = &mut items[0]
            {
                *n -= 1.0;
                left = *n;
            }
            if left == 0.0 {
                finish(vm, state, which)?;
            }
        }
    }
    Ok(Value::Undefined)
}

fn outcome(vm: &mut Vm, value: Value, fine: bool) -> Res<Value> {
    let out = vm.object();
    let status = vm.str(if fine { "fulfilled" } else { "rejected" });
    vm.define_field(out, name::STATUS, status)?;
    vm.define_field(out, if fine { name::VALUE } else { name::REASON }, value)?;
    Ok(Value::Obj(out))
}
