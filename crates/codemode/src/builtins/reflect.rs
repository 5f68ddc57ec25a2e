//! `Reflect`: the internal methods of objects as functions.

use super::function::list_from;
use super::object::{property_key, set_prototype};
use crate::object::{EXTENSIBLE, Kind};
use crate::realm::{Builder, intrinsic as i};
use crate::value::{ObjId, Res, Value};
use crate::vm::{Args, Vm};

pub(super) fn install(b: &mut Builder) {
    b.global("Reflect", Value::Obj(i::REFLECT));
    b.methods(
        i::REFLECT,
        &[
            ("apply", 3, apply),
            ("construct", 2, construct),
            ("defineProperty", 3, |vm, a| {
                let id = target(vm, a)?;
                let key = property_key(vm, a, 1)?;
                let descriptor = a.get(vm, 2);
                let descriptor = vm.to_descriptor(descriptor)?;
                vm.define_own(id, key, &descriptor).map(Value::Bool)
            }),
            ("deleteProperty", 2, |vm, a| {
                let id = target(vm, a)?;
                let key = property_key(vm, a, 1)?;
                vm.delete_own(id, key).map(Value::Bool)
            }),
            ("get", 2, |vm, a| {
                let id = target(vm, a)?;
                let key = property_key(vm, a, 1)?;
                let receiver = receiver(vm, a, 2, id);
                let value = vm.get_from(id, key, receiver)?;
                Ok(vm.settle(value))
            }),
            ("getOwnPropertyDescriptor", 2, |vm, a| {
                let id = target(vm, a)?;
                let key = property_key(vm, a, 1)?;
                vm.describe_own(id, key)
            }),
            ("getPrototypeOf", 1, |vm, a| {
                let id = target(vm, a)?;
                Ok(vm.heap.proto_of(id).map_or(Value::Null, Value::Obj))
            }),
            ("has", 2, |vm, a| {
                let id = target(vm, a)?;
                let key = property_key(vm, a, 1)?;
                vm.has_property(id, key).map(Value::Bool)
            }),
            ("isExtensible", 1, |vm, a| {
                let id = target(vm, a)?;
                Ok(Value::Bool(vm.heap.obj(id).flags & EXTENSIBLE != 0))
            }),
            ("ownKeys", 1, |vm, a| {
                let id = target(vm, a)?;
                let keys = vm.own_keys(id);
                vm.charge(keys.len())?;
                let keys = keys.into_iter().map(|key| vm.key_value(key)).collect();
                Ok(vm.array(keys))
            }),
            ("preventExtensions", 1, |vm, a| {
                let id = target(vm, a)?;
                vm.prevent_extensions(id);
                Ok(Value::Bool(true))
            }),
            ("set", 3, |vm, a| {
                let id = target(vm, a)?;
                let key = property_key(vm, a, 1)?;
                let (value, receiver) = (a.get(vm, 2), receiver(vm, a, 3, id));
                let refusal = vm.try_put(id, key, value, receiver)?;
                Ok(Value::Bool(refusal.is_none()))
            }),
            ("setPrototypeOf", 2, |vm, a| {
                let id = target(vm, a)?;
                let proto = a.get(vm, 1);
                let proto = match vm.settle(proto) {
                    Value::Null => None,
                    Value::Obj(proto) => Some(proto),
                    _ => {
                        return Err(
                            vm.type_error("Object prototype may only be an Object or null.")
                        );
                    }
                };
                Ok(Value::Bool(set_prototype(vm, id, proto)))
            }),
        ],
    );
    b.tag(i::REFLECT, "Reflect");
}

fn target(vm: &mut Vm, args: Args) -> Res<ObjId> {
    let value = args.get(vm, 0);
    match vm.settle(value) {
        Value::Obj(id) if !matches!(vm.heap.kind(id), Kind::Tool(_)) => Ok(id),
        _ => Err(vm.type_error("Reflect needs an object to work on.")),
    }
}

/// The receiver of a read or write: the argument when there is one, else the target.
fn receiver(vm: &mut Vm, args: Args, index: usize, target: ObjId) -> Value {
    if args.len() <= index {
        return Value::Obj(target);
    }
    let value = args.get(vm, index);
    vm.settle(value)
}

fn apply(vm: &mut Vm, args: Args) -> Res<Value> {
    let (function, this, list) = (args.get(vm, 0), args.get(vm, 1), args.get(vm, 2));
    if !vm.is_callable(function) {
        return Err(vm.type_error("Reflect.apply needs a function."));
    }
    if !list.is_object() {
        return Err(vm.type_error("CreateListFromArrayLike called on non-object."));
    }
    let list = list_from(vm, list)?;
    vm.call(function, this, &list)
}

fn construct(vm: &mut Vm, args: Args) -> Res<Value> {
    let function = args.get(vm, 0);
    let function = vm.settle(function);
    let new_target = if args.len() > 2 {
        let value = args.get(vm, 2);
        vm.settle(value)
    } else {
        function
    };
    if !vm.is_constructor(function) || !vm.is_constructor(new_target) {
        return Err(vm.type_error("Reflect.construct needs constructors."));
    }
    let list = args.get(vm, 1);
    if !list.is_object() {
        return Err(vm.type_error("CreateListFromArrayLike called on non-object."));
    }
    let list = list_from(vm, list)?;
    vm.construct(function, &list, new_target)
}
