//! `Array`, and the elements of arrays and array-likes. Methods work on array-likes too; those on plain arrays take the
//! short way through the elements.

use crate::atoms::{SYM_ITERATOR, SYM_UNSCOPABLES};
use crate::object::{ArrayIter, IterWhat, Kind};
use crate::realm::{Builder, intrinsic as i, name};
use crate::shape::Attrs;
use crate::value::{Key, ObjId, Res, Value};
use crate::vm::{ARRAY_LIMIT, Args, Vm};

pub(super) fn install(b: &mut Builder) {
    let proto = i::ARRAY_PROTO;
    b.kind(proto, Kind::Array(Vec::new()));
    b.constructor(i::ARRAY, proto, "Array", 1, construct);
    b.species(i::ARRAY);
    b.methods(
        i::ARRAY,
        &[("isArray", 1, |vm, a| {
            Ok(Value::Bool(vm.is_array(a.get(vm, 0))))
        })],
    );
    super::array_from::install(b);
    super::array_visit::install(b);
    super::array_sort::install(b);
    super::array_copy::install(b);
    super::array_change::install(b);
    b.methods(
        proto,
        &[
            ("keys", 0, |vm, a| iterator(vm, a.this, IterWhat::Keys)),
            ("entries", 0, |vm, a| {
                iterator(vm, a.this, IterWhat::Entries)
            }),
        ],
    );
    b.internal("array values", 0, |vm, a| {
        iterator(vm, a.this, IterWhat::Values)
    });
    let values = b.internal_number("array values", "values");
    b.alias(proto, name::VALUES, values);
    b.alias(proto, SYM_ITERATOR, values);
    unscopables(b);
}

/// The names that `with` would leave out, as the standard lists them.
fn unscopables(b: &mut Builder) {
    let list = b.plain_object(None);
    for name in [
        "at",
        "copyWithin",
        "entries",
        "fill",
        "find",
        "findIndex",
        "findLast",
        "findLastIndex",
        "flat",
        "flatMap",
        "includes",
        "keys",
        "toReversed",
        "toSorted",
        "toSpliced",
        "values",
    ] {
        let key = b.key(name);
        b.define(list, key, Value::Bool(true), Attrs::DATA);
    }
    let attrs = Attrs(Attrs::CONFIGURABLE);
    b.define(i::ARRAY_PROTO, SYM_UNSCOPABLES, Value::Obj(list), attrs);
}

fn construct(vm: &mut Vm, args: Args) -> Res<Value> {
    let proto = vm.proto_of_new(args.new_target, i::ARRAY_PROTO)?;
    if args.len() == 1
        && let Value::Num(n) = args.get(vm, 0)
    {
        if n < 0.0 || n.trunc() != n || n > ARRAY_LIMIT as f64 {
            return Err(vm.range_error("Invalid array length"));
        }
        vm.reserve(n as usize * size_of::<Value>())?;
        let kind = Kind::Array(vec![Value::Hole; n as usize]);
        return Ok(Value::Obj(vm.heap.alloc(Some(proto), kind)));
    }
    let items = args.all(vm);
    Ok(Value::Obj(vm.heap.alloc(Some(proto), Kind::Array(items))))
}

pub(super) fn check_length(vm: &mut Vm, len: usize) -> Res<()> {
    if len > ARRAY_LIMIT {
        return Err(vm.range_error("Invalid array length"));
    }
    vm.reserve(len * size_of::<Value>())
}

pub(super) fn new_array(vm: &mut Vm, items: Vec<Value>) -> Res<Value> {
    check_length(vm, items.len())?;
    vm.charge(items.len() / 16)?;
    Ok(vm.array(items))
}

/// A key for a position, beyond 2^31 too.
pub(super) fn position_key(vm: &mut Vm, at: usize) -> Key {
    if at < 1 << 31 {
        Key::index(at as u32)
    } else {
        vm.intern(&crate::number::to_string(at as f64))
    }
}

/// Element `at`, when there is one.
pub(super) fn present(vm: &mut Vm, id: ObjId, at: usize) -> Res<Option<Value>> {
    if let Kind::Array(items) = vm.heap.kind(id)
        && let Some(&value) = items.get(at)
        && !matches!(value, Value::Hole)
    {
        vm.pin(value);
        return Ok(Some(value));
    }
    if has_element(vm, id, at)? {
        element(vm, id, at).map(Some)
    } else {
        Ok(None)
    }
}

/// Element `at` with holes looked up in the prototypes.
pub(super) fn element(vm: &mut Vm, id: ObjId, at: usize) -> Res<Value> {
    if let Kind::Array(items) = vm.heap.kind(id)
        && let Some(&value) = items.get(at)
        && !matches!(value, Value::Hole)
    {
        vm.pin(value);
        return Ok(value);
    }
    let key = position_key(vm, at);
    vm.get(Value::Obj(id), key)
}

pub(super) fn has_element(vm: &mut Vm, id: ObjId, at: usize) -> Res<bool> {
    if let Kind::Array(items) = vm.heap.kind(id)
        && items.get(at).is_some_and(|v| !matches!(v, Value::Hole))
    {
        return Ok(true);
    }
    let key = position_key(vm, at);
    vm.has_property(id, key)
}

pub(super) fn put_element(vm: &mut Vm, id: ObjId, at: usize, value: Value) -> Res<()> {
    let key = position_key(vm, at);
    vm.put(Value::Obj(id), key, value)
}

pub(super) fn delete_element(vm: &mut Vm, id: ObjId, at: usize) -> Res<()> {
    let key = position_key(vm, at);
    vm.delete(Value::Obj(id), key).map(|_| ())
}

/// All elements, holes looked up in the prototypes.
pub(super) fn snapshot(vm: &mut Vm, id: ObjId) -> Res<Vec<Value>> {
    let len = vm.length_of(id)?;
    check_length(vm, len)?;
    vm.charge(len / 8)?;
    (0..len).map(|at| element(vm, id, at)).collect()
}

fn iterator(vm: &mut Vm, target: Value, what: IterWhat) -> Res<Value> {
    let target = Value::Obj(vm.to_object(target)?);
    let iter = ArrayIter {
        target,
        index: 0,
        what,
        done: false,
    };
    Ok(Value::Obj(vm.heap.alloc(
        Some(i::ARRAY_ITERATOR_PROTO),
        Kind::ArrayIter(Box::new(iter)),
    )))
}

/// The next value of an array iterator.
pub(super) fn step(vm: &mut Vm, id: ObjId) -> Res<Option<Value>> {
    let Kind::ArrayIter(iter) = vm.heap.kind_mut(id) else {
        return Ok(None);
    };
    if iter.done {
        return Ok(None);
    }
    let (target, index, what) = (iter.target, iter.index, iter.what);
    iter.index += 1;
    let Some(object) = target.as_obj() else {
        return Ok(None);
    };
    let len = if let Kind::Typed(_) = vm.heap.kind(object) {
        super::typed_array::validate(vm, target)?.1
    } else {
        vm.length_of(object)?
    };
    if index >= len {
        if let Kind::ArrayIter(iter) = vm.heap.kind_mut(id) {
            iter.done = true;
        }
        return Ok(None);
    }
    Ok(Some(match what {
        IterWhat::Keys => Value::Num(index as f64),
        IterWhat::Values => element(vm, object, index)?,
        IterWhat::Entries => {
            let value = element(vm, object, index)?;
            vm.array(vec![Value::Num(index as f64), value])
        }
    }))
}
