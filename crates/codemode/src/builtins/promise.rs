//! `Promise`: its constructor, its methods, and promises of other constructors by their capabilities (ECMA-262 27.2).
//!
//! What combines promises is in `promise_combinators`. Promises that nobody changed take a short way on which no program
//! code runs.

use crate::object::{Kind, Reaction};
use crate::realm::{Builder, intrinsic as i, name};
use crate::value::{Abrupt, ObjId, Res, Value};
use crate::vm::{Args, Vm};

pub(super) fn install(b: &mut Builder) {
    let proto = i::PROMISE_PROTO;
    b.constructor(i::PROMISE, proto, "Promise", 1, construct);
    b.species(i::PROMISE);
    super::promise_combinators::install(b);
    b.methods(
        i::PROMISE,
        &[
            ("resolve", 1, |vm, a| {
                let value = a.get(vm, 0);
                let this = vm.settle(a.this);
                if !this.is_object() {
                    return Err(
                        vm.type_error("Promise.resolve called on a value that is no object.")
                    );
                }
                resolve_with(vm, this, value)
            }),
            ("reject", 1, |vm, a| {
                let value = a.get(vm, 0);
                let capability = Capability::new(vm, a.this)?;
                capability.reject(vm, value)?;
                Ok(capability.promise)
            }),
            ("withResolvers", 0, with_resolvers),
            ("try", 1, attempt),
        ],
    );
    b.methods(
        proto,
        &[
            ("then", 2, then),
            ("catch", 1, catch),
            ("finally", 1, finally),
        ],
    );
    b.tag(proto, "Promise");
    b.internal("resolve promise", 1, |vm, a| settle(vm, a, true));
    b.internal("reject promise", 1, |vm, a| settle(vm, a, false));
    b.internal("capability executor", 2, capability_executor);
    b.internal("capability reaction", 1, capability_reaction);
    b.internal("then finally", 1, then_finally);
    b.internal("constant", 0, |vm, a| {
        let value = vm.closure_data(a.callee, 0);
        if let Value::Bool(false) = vm.closure_data(a.callee, 1) {
            Err(Abrupt::Throw(value))
        } else {
            Ok(value)
        }
    });
}

/// A promise and what settles it; a promise of the run's own needs no functions for that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capability {
    pub(super) promise: Value,
    functions: Option<(Value, Value)>,
}

impl Capability {
    /// `NewPromiseCapability`.
    pub(super) fn new(vm: &mut Vm, constructor: Value) -> Res<Capability> {
        let constructor = vm.settle(constructor);
        if constructor.as_obj() == Some(i::PROMISE) {
            return Ok(Capability {
                promise: Value::Obj(vm.new_promise()),
                functions: None,
            });
        }
        if !vm.is_constructor(constructor) {
            return Err(vm.type_error("A promise needs a constructor to be made by."));
        }
        let held = vm.array(vec![Value::Undefined, Value::Undefined]);
        let executor = vm.native_closure("capability executor", vec![held]);
        let promise = vm.construct(constructor, &[executor], constructor)?;
        let functions = match vm.array_items(held)[..] {
            [resolve, reject] => (resolve, reject),
            _ => (Value::Undefined, Value::Undefined),
        };
        if !vm.is_callable(functions.0) || !vm.is_callable(functions.1) {
            return Err(vm.type_error("Promise resolve or reject function is not callable."));
        }
        Ok(Capability {
            promise,
            functions: Some(functions),
        })
    }

    pub(super) fn resolve(self, vm: &mut Vm, value: Value) -> Res<()> {
        match (self.functions, self.promise.as_obj()) {
            (Some((resolve, _)), _) => vm.call(resolve, Value::Undefined, &[value]).map(|_| ()),
            (None, Some(promise)) => vm.resolve(promise, value),
            (None, None) => Ok(()),
        }
    }

    pub(super) fn reject(self, vm: &mut Vm, error: Value) -> Res<()> {
        match (self.functions, self.promise.as_obj()) {
            (Some((_, reject)), _) => vm.call(reject, Value::Undefined, &[error]).map(|_| ()),
            (None, Some(promise)) => {
                vm.reject(promise, error);
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }

    /// Settles by an outcome: the value resolves, an error rejects.
    pub(super) fn settle(self, vm: &mut Vm, outcome: Res<Value>) -> Res<()> {
        match outcome {
            Ok(value) => self.resolve(vm, value),
            Err(Abrupt::Throw(error)) => self.reject(vm, error),
            Err(stop) => Err(stop),
        }
    }

    /// The functions that settle it, made when it has none.
    pub(super) fn functions(self, vm: &mut Vm) -> (Value, Value) {
        match (self.functions, self.promise.as_obj()) {
            (Some(functions), _) => functions,
            (None, Some(promise)) => vm.resolving_functions(promise),
            (None, None) => (Value::Undefined, Value::Undefined),
        }
    }
}

fn capability_executor(vm: &mut Vm, args: Args) -> Res<Value> {
    let held = vm.closure_data(args.callee, 0);
    let new = [args.get(vm, 0), args.get(vm, 1)];
    let taken = vm.array_items(held).iter().any(|f| !f.is_undefined());
    if taken {
        return Err(vm.type_error("The promise executor was called already."));
    }
    if let Some(id) = held.as_obj()
        && let Kind::Array(items) = vm.heap.kind_mut(id)
    {
        items.copy_from_slice(&new);
    }
    Ok(Value::Undefined)
}

/// `PromiseResolve`: the promise itself when the constructor made it, else a new one resolved with the value.
pub(super) fn resolve_with(vm: &mut Vm, constructor: Value, value: Value) -> Res<Value> {
    if vm.is_promise(value) {
        let made_by = if vm.is_plain_promise(value) {
            Value::Obj(i::PROMISE)
        } else {
            vm.get(value, name::CONSTRUCTOR)?
        };
        if vm.same_value(made_by, constructor) {
            return Ok(value);
        }
    }
    let capability = Capability::new(vm, constructor)?;
    capability.resolve(vm, value)?;
    Ok(capability.promise)
}

impl Vm {
    /// Whether a promise has nothing of its own and nothing that it inherits was changed.
    pub(crate) fn is_plain_promise(&self, value: Value) -> bool {
        let Value::Obj(id) = value else {
            return false;
        };
        matches!(self.heap.kind(id), Kind::Promise(_))
            && self.heap.shape_of(id).table.order.is_empty()
            && self.heap.proto_of(id) == Some(i::PROMISE_PROTO)
            && self.is_untouched(i::PROMISE_PROTO)
            && self.is_untouched(i::PROMISE)
    }
}

fn with_resolvers(vm: &mut Vm, args: Args) -> Res<Value> {
    let capability = Capability::new(vm, args.this)?;
    let (resolve, reject) = capability.functions(vm);
    let out = vm.object();
    vm.define_field(out, name::PROMISE, capability.promise)?;
    vm.define_field(out, name::RESOLVE, resolve)?;
    vm.define_field(out, name::REJECT, reject)?;
    Ok(Value::Obj(out))
}

/// `Promise.try`.
fn attempt(vm: &mut Vm, args: Args) -> Res<Value> {
    if !args.this.is_object() {
        return Err(vm.type_error("Promise.try called on a value that is no object."));
    }
    let list = args.all(vm);
    let (f, rest) = match list.split_first() {
        Some((&f, rest)) => (f, rest),
        None => (Value::Undefined, &[][..]),
    };
    let capability = Capability::new(vm, args.this)?;
    let outcome = vm.call(f, Value::Undefined, rest);
    capability.settle(vm, outcome)?;
    Ok(capability.promise)
}

fn handler(vm: &mut Vm, args: Args, index: usize) -> Res<Value> {
    let value = args.get(vm, index);
    vm.refuse_callback(value)?;
    Ok(value)
}

fn then(vm: &mut Vm, args: Args) -> Res<Value> {
    let Some(promise) = args.this.as_obj().filter(|_| vm.is_promise(args.this)) else {
        return Err(vm.type_error("Method called on a value that is no promise."));
    };
    let (ok, err) = (handler(vm, args, 0)?, handler(vm, args, 1)?);
    if vm.is_plain_promise(args.this) {
        return Ok(Value::Obj(vm.then(promise, ok, err)));
    }
    let constructor = vm.species_of(promise, i::PROMISE)?;
    let capability = Capability::new(vm, constructor)?;
    let Some((resolve, reject)) = capability.functions else {
        let derived = capability.promise.as_obj();
        vm.react(
            promise,
            Reaction::Then {
                fulfilled: ok,
                rejected: err,
                derived,
            },
        );
        return Ok(capability.promise);
    };
    let mut reaction = |handler, fine| {
        vm.native_closure(
            "capability reaction",
            vec![handler, resolve, reject, Value::Bool(fine)],
        )
    };
    let (fulfilled, rejected) = (reaction(ok, true), reaction(err, false));
    vm.react(
        promise,
        Reaction::Then {
            fulfilled,
            rejected,
            derived: None,
        },
    );
    Ok(capability.promise)
}

/// A promise settled whose derived promise belongs to another constructor.
fn capability_reaction(vm: &mut Vm, args: Args) -> Res<Value> {
    let value = args.get(vm, 0);
    let data = |vm: &Vm, at| vm.closure_data(args.callee, at);
    let (handler, resolve, reject) = (data(vm, 0), data(vm, 1), data(vm, 2));
    let outcome = if vm.is_callable(handler) {
        vm.call(handler, Value::Undefined, &[value])
    } else if let Value::Bool(true) = data(vm, 3) {
        Ok(value)
    } else {
        Err(Abrupt::Throw(value))
    };
    match outcome {
        Ok(value) => vm.call(resolve, Value::Undefined, &[value]),
        Err(Abrupt::Throw(error)) => vm.call(reject, Value::Undefined, &[error]),
        Err(stop) => Err(stop),
    }
}

/// Calls the receiver's own `then`.
pub(super) fn invoke_then(vm: &mut Vm, this: Value, ok: Value, err: Value) -> Res<Value> {
    if vm.is_plain_promise(this)
        && let Some(promise) = this.as_obj()
    {
        return Ok(Value::Obj(vm.then(promise, ok, err)));
    }
    let method = vm.get(this, name::THEN)?;
    vm.call(method, this, &[ok, err])
}

fn catch(vm: &mut Vm, args: Args) -> Res<Value> {
    let err = handler(vm, args, 0)?;
    invoke_then(vm, args.this, Value::Undefined, err)
}

fn finally(vm: &mut Vm, args: Args) -> Res<Value> {
    let Some(id) = vm.settle(args.this).as_obj() else {
        return Err(vm.type_error("Promise.prototype.finally called on a value that is no object."));
    };
    let f = handler(vm, args, 0)?;
    let constructor = if vm.is_plain_promise(args.this) {
        Value::Obj(i::PROMISE)
    } else {
        vm.species_of(id, i::PROMISE)?
    };
    if !vm.is_callable(f) {
        return invoke_then(vm, args.this, f, f);
    }
    let ok = vm.native_closure("then finally", vec![f, Value::Bool(true), constructor]);
    let err = vm.native_closure("then finally", vec![f, Value::Bool(false), constructor]);
    invoke_then(vm, args.this, ok, err)
}

fn then_finally(vm: &mut Vm, args: Args) -> Res<Value> {
    let value = args.get(vm, 0);
    let data = |vm: &Vm, at| vm.closure_data(args.callee, at);
    let (f, fine, constructor) = (data(vm, 0), data(vm, 1), data(vm, 2));
    let result = vm.call(f, Value::Undefined, &[])?;
    let promise = resolve_with(vm, constructor, result)?;
    let next = vm.native_closure("constant", vec![value, fine]);
    let method = vm.get(promise, name::THEN)?;
    vm.call(method, promise, &[next])
}

fn construct(vm: &mut Vm, args: Args) -> Res<Value> {
    if !args.is_construct() {
        return Err(vm.type_error("Promise constructor cannot be invoked without 'new'."));
    }
    let executor = args.get(vm, 0);
    if !vm.is_callable(executor) {
        return Err(vm.type_error("Promise resolver is not a function."));
    }
    let proto = vm.proto_of_new(args.new_target, i::PROMISE_PROTO)?;
    let promise = vm.new_promise();
    if proto != i::PROMISE_PROTO {
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

/// The promise of an object of the run's own constructor.
pub(super) fn plain(vm: &Vm, value: Value) -> Option<ObjId> {
    value.as_obj().filter(|_| vm.is_plain_promise(value))
}
