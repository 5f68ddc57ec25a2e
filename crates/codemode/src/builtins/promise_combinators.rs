//! `Promise.all`, `allSettled`, `any` and `race`.

use super::promise::{Capability, plain, resolve_with};
use crate::object::{Kind, Reaction};
use crate::realm::{Builder, intrinsic as i, name};
use crate::value::{Abrupt, Res, Value};
use crate::vm::{Args, ErrorType, Vm};

pub(super) fn install(b: &mut Builder) {
    b.methods(
        i::PROMISE,
        &[
            ("all", 1, |vm, a| combinator(vm, a, Combinator::All)),
            ("allSettled", 1, |vm, a| {
                combinator(vm, a, Combinator::AllSettled)
            }),
            ("any", 1, |vm, a| combinator(vm, a, Combinator::Any)),
            ("race", 1, |vm, a| combinator(vm, a, Combinator::Race)),
        ],
    );
    b.internal("member settled", 1, member_settled);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Combinator {
    All,
    AllSettled,
    Any,
    Race,
}

/// What the members of a combination share, as the elements of an array.
mod part {
    /// Members not settled yet, and one for the iteration itself.
    pub(super) const LEFT: usize = 0;
    pub(super) const RESULTS: usize = 1;
    pub(super) const RESOLVE: usize = 2;
    pub(super) const REJECT: usize = 3;
}

fn combinator(vm: &mut Vm, args: Args, which: Combinator) -> Res<Value> {
    let source = args.get(vm, 0);
    let constructor = vm.settle(args.this);
    if !constructor.is_object() {
        return Err(vm.type_error("A promise combinator needs a constructor to be called on."));
    }
    let capability = Capability::new(vm, constructor)?;
    match combine(vm, source, constructor, capability, which) {
        Ok(()) => {}
        Err(Abrupt::Throw(error)) => capability.reject(vm, error)?,
        Err(stop) => return Err(stop),
    }
    Ok(capability.promise)
}

fn combine(
    vm: &mut Vm,
    source: Value,
    constructor: Value,
    capability: Capability,
    which: Combinator,
) -> Res<()> {
    let resolver = vm.get(constructor, name::RESOLVE)?;
    if !vm.is_callable(resolver) {
        return Err(vm.type_error("Promise resolve or reject function is not callable."));
    }
    let own = constructor.as_obj() == Some(i::PROMISE);
    let short = own && vm.is_untouched(i::PROMISE);
    let results = vm.array(Vec::new());
    let (resolve, reject) = capability.functions(vm);
    let state = vm.array(vec![Value::Num(1.0), results, resolve, reject]);
    let mut count = 0;
    vm.iterate(source, |vm, value| {
        if let Some(id) = results.as_obj()
            && which != Combinator::Race
            && let Kind::Array(items) = vm.heap.kind_mut(id)
        {
            items.push(Value::Undefined);
            vm.heap.bytes += size_of::<Value>();
        }
        let member = if short {
            resolve_with(vm, constructor, value)?
        } else {
            vm.call(resolver, constructor, &[value])?
        };
        change_left(vm, state, 1.0);
        watch(vm, state, member, count, which)?;
        count += 1;
        Ok(true)
    })?;
    if which == Combinator::Race {
        if count == 0 && own {
            return Err(vm.invalid_data(
                "Promise.race needs at least one member; an empty race never settles.",
            ));
        }
        return Ok(());
    }
    if change_left(vm, state, -1.0) == 0.0 {
        return finish(vm, state, which);
    }
    Ok(())
}

/// Waits for a member.
fn watch(vm: &mut Vm, state: Value, member: Value, at: usize, which: Combinator) -> Res<()> {
    let code = match which {
        Combinator::All => 0.0,
        Combinator::AllSettled => 1.0,
        Combinator::Any => 2.0,
        Combinator::Race => 3.0,
    };
    // Only the first call of a member's functions counts; `allSettled` has one flag for both.
    let used = vm.array(vec![Value::Bool(false)]);
    let data = |fine| {
        vec![
            state,
            Value::Num(at as f64),
            Value::Num(code),
            Value::Bool(fine),
            used,
        ]
    };
    let mut function = |settles: bool, fine: bool, plainly: usize| {
        if settles {
            vm.native_closure("member settled", data(fine))
        } else {
            state_part(vm, state, plainly)
        }
    };
    let fulfilled = function(
        matches!(which, Combinator::All | Combinator::AllSettled),
        true,
        part::RESOLVE,
    );
    let rejected = function(
        matches!(which, Combinator::Any | Combinator::AllSettled),
        false,
        part::REJECT,
    );
    if let Some(promise) = plain(vm, member) {
        vm.react(
            promise,
            Reaction::Then {
                fulfilled,
                rejected,
                derived: None,
            },
        );
        return Ok(());
    }
    let then = vm.get(member, name::THEN)?;
    vm.call(then, member, &[fulfilled, rejected])?;
    Ok(())
}

fn state_part(vm: &Vm, state: Value, index: usize) -> Value {
    match state.as_obj().map(|id| vm.heap.kind(id)) {
        Some(Kind::Array(items)) => items[index],
        _ => Value::Undefined,
    }
}

/// Changes the number of members waited for, and tells it.
fn change_left(vm: &mut Vm, state: Value, by: f64) -> f64 {
    if let Some(id) = state.as_obj()
        && let Kind::Array(items) = vm.heap.kind_mut(id)
        && let Value::Num(n) = &mut items[part::LEFT]
    {
        *n += by;
        return *n;
    }
    0.0
}

fn finish(vm: &mut Vm, state: Value, which: Combinator) -> Res<()> {
    let results = state_part(vm, state, part::RESULTS);
    if which == Combinator::Any {
        let error = vm.make_error(ErrorType::Aggregate, None, "All promises were rejected");
        vm.heap
            .add_prop(error, name::ERRORS, crate::shape::Attrs::HIDDEN, results);
        let reject = state_part(vm, state, part::REJECT);
        return vm
            .call(reject, Value::Undefined, &[Value::Obj(error)])
            .map(|_| ());
    }
    let resolve = state_part(vm, state, part::RESOLVE);
    vm.call(resolve, Value::Undefined, &[results]).map(|_| ())
}

fn member_settled(vm: &mut Vm, args: Args) -> Res<Value> {
    let value = args.get(vm, 0);
    let data = |vm: &Vm, at| vm.closure_data(args.callee, at);
    let (state, used) = (data(vm, 0), data(vm, 4));
    if let Some(id) = used.as_obj()
        && let Kind::Array(items) = vm.heap.kind_mut(id)
        && let Value::Bool(true) = std::mem::replace(&mut items[0], Value::Bool(true))
    {
        return Ok(Value::Undefined);
    }
    let fine = matches!(data(vm, 3), Value::Bool(true));
    let which = match data(vm, 2) {
        Value::Num(0.0) => Combinator::All,
        Value::Num(1.0) => Combinator::AllSettled,
        Value::Num(2.0) => Combinator::Any,
        _ => Combinator::Race,
    };
    let entry = if which == Combinator::AllSettled {
        outcome(vm, value, fine)?
    } else {
        value
    };
    let at = match data(vm, 1) {
        Value::Num(n) => n as usize,
        _ => 0,
    };
    if let Some(results) = state_part(vm, state, part::RESULTS).as_obj()
        && let Kind::Array(items) = vm.heap.kind_mut(results)
        && let Some(place) = items.get_mut(at)
    {
        *place = entry;
    }
    if change_left(vm, state, -1.0) == 0.0 {
        finish(vm, state, which)?;
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
