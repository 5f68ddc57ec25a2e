//! `WeakRef` and `FinalizationRegistry`. A run keeps what they name until it ends, which the standard allows; so nothing is
//! ever finalised.

use super::collections::can_be_held_weakly;
use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i};
use crate::value::{ObjId, Res, Value};
use crate::vm::{Args, Vm};

pub(super) fn install(b: &mut Builder) {
    b.constructor(i::WEAK_REF, i::WEAK_REF_PROTO, "WeakRef", 1, construct_ref);
    b.methods(
        i::WEAK_REF_PROTO,
        &[("deref", 0, |vm, a| {
            match a.this.as_obj().map(|id| vm.heap.kind(id)) {
                Some(Kind::WeakRef(target)) => Ok(*target),
                _ => Err(vm.type_error("Receiver is not a WeakRef.")),
            }
        })],
    );
    b.tag(i::WEAK_REF_PROTO, "WeakRef");
    let proto = i::REGISTRY_PROTO;
    b.constructor(
        i::REGISTRY,
        proto,
        "FinalizationRegistry",
        1,
        construct_registry,
    );
    b.methods(
        proto,
        &[("register", 2, register), ("unregister", 1, unregister)],
    );
    b.tag(proto, "FinalizationRegistry");
}

fn construct_ref(vm: &mut Vm, args: Args) -> Res<Value> {
    if !args.is_construct() {
        return Err(vm.type_error("Constructor WeakRef requires 'new'."));
    }
    let target = args.get(vm, 0);
    let target = vm.settle(target);
    if !can_be_held_weakly(vm, target) {
        return Err(vm.type_error("WeakRef needs an object or a symbol of the program's own."));
    }
    let proto = vm.proto_of_new(args.new_target, i::WEAK_REF_PROTO)?;
    Ok(Value::Obj(
        vm.heap.alloc(Some(proto), Kind::WeakRef(target)),
    ))
}

fn construct_registry(vm: &mut Vm, args: Args) -> Res<Value> {
    if !args.is_construct() {
        return Err(vm.type_error("Constructor FinalizationRegistry requires 'new'."));
    }
    let cleanup = args.get(vm, 0);
    if !vm.is_callable(cleanup) {
        return Err(vm.type_error("FinalizationRegistry needs a function."));
    }
    let proto = vm.proto_of_new(args.new_target, i::REGISTRY_PROTO)?;
    Ok(Value::Obj(
        vm.heap.alloc(Some(proto), Kind::Registry(Vec::new())),
    ))
}

fn registry(vm: &mut Vm, args: Args) -> Res<ObjId> {
    match args.this.as_obj() {
        Some(id) if matches!(vm.heap.kind(id), Kind::Registry(_)) => Ok(id),
        _ => Err(vm.type_error("Receiver is not a FinalizationRegistry.")),
    }
}

fn register(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = registry(vm, args)?;
    let (target, held, token) = (args.get(vm, 0), args.get(vm, 1), args.get(vm, 2));
    if !can_be_held_weakly(vm, target) {
        return Err(vm.type_error("register needs an object or a symbol of the program's own."));
    }
    if vm.same_value(target, held) {
        return Err(vm.type_error("The target and the held value must not be the same."));
    }
    if !token.is_undefined() {
        if !can_be_held_weakly(vm, token) {
            return Err(vm.type_error("The token must be an object or a symbol."));
        }
        let token = vm.settle(token);
        if let Kind::Registry(tokens) = vm.heap.kind_mut(id) {
            tokens.push(token);
            vm.heap.bytes += size_of::<Value>();
        }
    }
    Ok(Value::Undefined)
}

fn unregister(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = registry(vm, args)?;
    let token = args.get(vm, 0);
    if !can_be_held_weakly(vm, token) {
        return Err(vm.type_error("The token must be an object or a symbol."));
    }
    let token = vm.settle(token);
    let tokens = match vm.heap.kind(id) {
        Kind::Registry(tokens) => tokens.clone(),
        _ => Vec::new(),
    };
    let kept: Vec<Value> = tokens
        .iter()
        .copied()
        .filter(|&known| !vm.same_value(known, token))
        .collect();
    let found = kept.len() < tokens.len();
    if let Kind::Registry(tokens) = vm.heap.kind_mut(id) {
        *tokens = kept;
    }
    Ok(Value::Bool(found))
}
