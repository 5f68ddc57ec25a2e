//! The methods of `Set` that take another set (ECMA-262 24.2.4), which may be anything with `size`, `has` and `keys`.

use super::collections::{Which, add_value, entries, next_entry, receiver};
use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i, name};
use crate::value::{ObjId, Res, Value};
use crate::vm::{Args, Vm};

pub(super) fn install(b: &mut Builder) {
    b.methods(
        i::SET_PROTO,
        &[
            ("union", 1, union),
            ("intersection", 1, intersection),
            ("difference", 1, difference),
            ("symmetricDifference", 1, symmetric_difference),
            ("isSubsetOf", 1, is_subset_of),
            ("isSupersetOf", 1, is_superset_of),
            ("isDisjointFrom", 1, is_disjoint_from),
        ],
    );
}

/// A set record: the other set's size, `has` and `keys`.
#[derive(Clone, Copy)]
struct Other {
    object: Value,
    size: f64,
    has: Value,
    keys: Value,
}

/// `GetSetRecord`.
fn other(vm: &mut Vm, args: Args) -> Res<Other> {
    let object = args.get(vm, 0);
    if !object.is_object() {
        return Err(vm.type_error("The argument must be a set or set-like object."));
    }
    let size = vm.get(object, name::SIZE)?;
    let size = vm.to_number(size)?;
    if size.is_nan() {
        return Err(vm.type_error("The 'size' property must be a number."));
    }
    let size = size.trunc();
    if size < 0.0 {
        return Err(vm.range_error("The 'size' property must not be negative."));
    }
    let has = vm.get(object, name::HAS)?;
    if !vm.is_callable(has) {
        return Err(vm.type_error("The 'has' property must be a function."));
    }
    let keys = vm.get(object, name::KEYS)?;
    if !vm.is_callable(keys) {
        return Err(vm.type_error("The 'keys' property must be a function."));
    }
    Ok(Other {
        object,
        size,
        has,
        keys,
    })
}

impl Other {
    fn has(self, vm: &mut Vm, value: Value) -> Res<bool> {
        let result = vm.call(self.has, self.object, &[value])?;
        Ok(vm.truthy(result))
    }

    /// Goes through the other set's keys until `body` has enough.
    fn each_key(self, vm: &mut Vm, body: impl FnMut(&mut Vm, Value) -> Res<bool>) -> Res<()> {
        let iterator = vm.call(self.keys, self.object, &[])?;
        vm.iterate_iterator(iterator, body)
    }
}

/// Goes through a set's own members, those added meanwhile too, until `body` has enough.
fn each_member(
    vm: &mut Vm,
    id: ObjId,
    mut body: impl FnMut(&mut Vm, Value) -> Res<bool>,
) -> Res<()> {
    let mut at = 0;
    let pins = vm.pin_mark();
    while let Some((found, key, _)) = next_entry(vm, id, at) {
        vm.charge(1)?;
        vm.pin(key);
        if !body(vm, key)? {
            break;
        }
        vm.release_pins(pins);
        at = found + 1;
    }
    Ok(())
}

fn has(vm: &mut Vm, id: ObjId, value: Value) -> bool {
    let key = vm.table_key(value);
    entries(vm, id).is_some_and(|t| t.get(&key).is_some())
}

fn remove(vm: &mut Vm, id: ObjId, value: Value) {
    let key = vm.table_key(value);
    if let Some(t) = entries(vm, id) {
        t.delete(&key);
    }
}

fn size(vm: &mut Vm, id: ObjId) -> f64 {
    entries(vm, id).map_or(0, |t| t.live) as f64
}

fn new_set(vm: &mut Vm) -> ObjId {
    vm.heap.alloc(Some(i::SET_PROTO), Kind::Set(Box::default()))
}

fn copy(vm: &mut Vm, id: ObjId) -> Res<ObjId> {
    let out = new_set(vm);
    each_member(vm, id, |vm, value| add_value(vm, out, value).map(|()| true))?;
    Ok(out)
}

fn operands(vm: &mut Vm, args: Args) -> Res<(ObjId, Other)> {
    let id = receiver(vm, args, Which::Set)?;
    Ok((id, other(vm, args)?))
}

fn union(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, other) = operands(vm, args)?;
    let iterator = vm.call(other.keys, other.object, &[])?;
    let out = copy(vm, id)?;
    vm.iterate_iterator(iterator, |vm, value| {
        add_value(vm, out, value).map(|()| true)
    })?;
    Ok(Value::Obj(out))
}

fn intersection(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, other) = operands(vm, args)?;
    let out = new_set(vm);
    if size(vm, id) <= other.size {
        each_member(vm, id, |vm, value| {
            if other.has(vm, value)? {
                add_value(vm, out, value)?;
            }
            Ok(true)
        })?;
    } else {
        other.each_key(vm, |vm, value| {
            if has(vm, id, value) {
                add_value(vm, out, value)?;
            }
            Ok(true)
        })?;
    }
    Ok(Value::Obj(out))
}

fn difference(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, other) = operands(vm, args)?;
    let out = copy(vm, id)?;
    if size(vm, id) <= other.size {
        each_member(vm, id, |vm, value| {
            if other.has(vm, value)? {
                remove(vm, out, value);
            }
            Ok(true)
        })?;
    } else {
        other.each_key(vm, |vm, value| {
            remove(vm, out, value);
            Ok(true)
        })?;
    }
    Ok(Value::Obj(out))
}

fn symmetric_difference(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, other) = operands(vm, args)?;
    let iterator = vm.call(other.keys, other.object, &[])?;
    let out = copy(vm, id)?;
    vm.iterate_iterator(iterator, |vm, value| {
        if has(vm, id, value) {
            remove(vm, out, value);
        } else {
            add_value(vm, out, value)?;
        }
        Ok(true)
    })?;
    Ok(Value::Obj(out))
}

fn is_subset_of(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, other) = operands(vm, args)?;
    let mut answer = size(vm, id) <= other.size;
    if answer {
        each_member(vm, id, |vm, value| {
            answer = other.has(vm, value)?;
            Ok(answer)
        })?;
    }
    Ok(Value::Bool(answer))
}

fn is_superset_of(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, other) = operands(vm, args)?;
    let mut answer = size(vm, id) >= other.size;
    if answer {
        other.each_key(vm, |vm, value| {
            answer = has(vm, id, value);
            Ok(answer)
        })?;
    }
    Ok(Value::Bool(answer))
}

fn is_disjoint_from(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, other) = operands(vm, args)?;
    let mut answer = true;
    if size(vm, id) <= other.size {
        each_member(vm, id, |vm, value| {
            answer = !other.has(vm, value)?;
            Ok(answer)
        })?;
    } else {
        other.each_key(vm, |vm, value| {
            answer = !has(vm, id, value);
            Ok(answer)
        })?;
    }
    Ok(Value::Bool(answer))
}
