//! The methods of arrays that add, remove and move elements.

use super::array::{
    check_extensible, check_writable, new_array, position_key, snapshot, snapshot_with_holes,
    write_back,
};
use crate::object::{EXTENSIBLE, Kind};
use crate::realm::name;
use crate::value::{ObjId, Res, Value};
use crate::vm::{ARRAY_LIMIT, Args, Vm};

pub(super) fn push(vm: &mut Vm, args: Args) -> Res<Value> {
    if let Value::Obj(id) = args.this
        && let Kind::Array(_) = vm.heap.kind(id)
    {
        if vm.heap.obj(id).flags & EXTENSIBLE == 0 {
            check_extensible(vm, id)?;
        }
        let mut len = 0;
        for at in 0..args.len() {
            let value = args.get(vm, at);
            if let Kind::Array(items) = vm.heap.kind_mut(id) {
                items.push(value);
                len = items.len();
            }
            vm.heap.bytes += size_of::<Value>();
        }
        if args.len() == 0 {
            len = vm.length_of(id)?;
        }
        if len > ARRAY_LIMIT {
            if let Kind::Array(items) = vm.heap.kind_mut(id) {
                items.truncate(ARRAY_LIMIT);
            }
            return Err(vm.range_error("Invalid array length"));
        }
        return Ok(Value::Num(len as f64));
    }
    let id = vm.to_object(args.this)?;
    let mut len = vm.length_of(id)?;
    for value in args.all(vm) {
        let key = position_key(vm, len);
        vm.put(Value::Obj(id), key, value)?;
        len += 1;
    }
    vm.put(Value::Obj(id), name::LENGTH, Value::Num(len as f64))?;
    Ok(Value::Num(len as f64))
}

pub(super) fn pop(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    check_shrinkable(vm, id)?;
    if let Kind::Array(items) = vm.heap.kind_mut(id) {
        return Ok(items.pop().unwrap_or(Value::Undefined).or_undefined());
    }
    let len = vm.length_of(id)?;
    if len == 0 {
        vm.put(Value::Obj(id), name::LENGTH, Value::Num(0.0))?;
        return Ok(Value::Undefined);
    }
    let key = position_key(vm, len - 1);
    let value = vm.get(Value::Obj(id), key)?;
    vm.delete(Value::Obj(id), key)?;
    vm.put(Value::Obj(id), name::LENGTH, Value::Num((len - 1) as f64))?;
    Ok(value)
}

fn check_shrinkable(vm: &mut Vm, id: ObjId) -> Res<()> {
    check_writable(vm, id)?;
    if let Kind::Array(_) = vm.heap.kind(id)
        && vm.heap.obj(id).flags & (crate::object::SEALED_ELEMENTS | crate::object::FIXED_LENGTH)
            != 0
    {
        return Err(vm.type_error("Cannot delete property of a sealed array."));
    }
    Ok(())
}

pub(super) fn shift(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    check_shrinkable(vm, id)?;
    if let Kind::Array(items) = vm.heap.kind_mut(id) {
        if items.is_empty() {
            return Ok(Value::Undefined);
        }
        let len = items.len();
        let value = items.remove(0).or_undefined();
        vm.charge(len / 64)?;
        return Ok(value);
    }
    let mut items = snapshot_with_holes(vm, id)?;
    let value = if items.is_empty() {
        Value::Undefined
    } else {
        items.remove(0).or_undefined()
    };
    let len = items.len();
    write_back(vm, id, items)?;
    let key = position_key(vm, len);
    vm.delete(Value::Obj(id), key)?;
    vm.put(Value::Obj(id), name::LENGTH, Value::Num(len as f64))?;
    Ok(value)
}

pub(super) fn unshift(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let new = args.all(vm);
    if !new.is_empty() {
        check_extensible(vm, id)?;
    }
    vm.reserve(new.len() * size_of::<Value>())?;
    if let Kind::Array(items) = vm.heap.kind_mut(id) {
        let added = new.len();
        items.splice(0..0, new);
        let len = items.len();
        vm.heap.bytes += added * size_of::<Value>();
        vm.charge(len / 64)?;
        if len > ARRAY_LIMIT {
            return Err(vm.range_error("Invalid array length"));
        }
        return Ok(Value::Num(len as f64));
    }
    let mut items = snapshot_with_holes(vm, id)?;
    items.splice(0..0, new);
    let len = items.len();
    write_back(vm, id, items)?;
    vm.put(Value::Obj(id), name::LENGTH, Value::Num(len as f64))?;
    Ok(Value::Num(len as f64))
}

fn splice_range(vm: &mut Vm, args: Args, len: usize) -> Res<(usize, usize)> {
    let start = args.get(vm, 0);
    let start = vm.relative_index(start, len, 0)?;
    let count = match args.len() {
        0 => 0,
        1 => len - start,
        _ => {
            let n = args.get(vm, 1);
            (vm.to_integer(n)?.max(0.0) as usize).min(len - start)
        }
    };
    Ok((start, start + count))
}

pub(super) fn splice(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    check_writable(vm, id)?;
    let (start, end) = splice_range(vm, args, len)?;
    let new: Vec<Value> = args.all(vm).into_iter().skip(2).collect();
    if new.len() > end - start {
        check_extensible(vm, id)?;
    } else if new.len() < end - start {
        check_shrinkable(vm, id)?;
    }
    let added = new.len() * size_of::<Value>();
    vm.reserve(added)?;
    if let Kind::Array(items) = vm.heap.kind_mut(id) {
        let removed: Vec<Value> = items
            .splice(start.min(items.len())..end.min(items.len()), new)
            .collect();
        let len = items.len();
        vm.heap.bytes += added;
        vm.charge(len / 64)?;
        if len > ARRAY_LIMIT {
            return Err(vm.range_error("Invalid array length"));
        }
        return new_array(vm, removed);
    }
    let mut items = snapshot_with_holes(vm, id)?;
    let removed: Vec<Value> = items.splice(start..end, new).collect();
    let new_len = items.len();
    write_back(vm, id, items)?;
    for at in new_len..len {
        let key = position_key(vm, at);
        vm.delete(Value::Obj(id), key)?;
    }
    vm.put(Value::Obj(id), name::LENGTH, Value::Num(new_len as f64))?;
    new_array(vm, removed)
}

pub(super) fn to_spliced(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let mut items = snapshot(vm, id)?;
    let (start, end) = splice_range(vm, args, items.len())?;
    let new: Vec<Value> = args.all(vm).into_iter().skip(2).collect();
    items.splice(start..end, new);
    new_array(vm, items)
}

pub(super) fn fill(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    check_writable(vm, id)?;
    let (value, start, end) = (args.get(vm, 0), args.get(vm, 1), args.get(vm, 2));
    let start = vm.relative_index(start, len, 0)?;
    let end = vm.relative_index(end, len, len)?;
    vm.charge(len / 16)?;
    if let Kind::Array(items) = vm.heap.kind_mut(id) {
        let end = end.min(items.len());
        if start < end {
            items[start..end].fill(value);
        }
        return Ok(Value::Obj(id));
    }
    for at in start..end {
        let key = position_key(vm, at);
        vm.put(Value::Obj(id), key, value)?;
    }
    Ok(Value::Obj(id))
}

pub(super) fn copy_within(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    check_writable(vm, id)?;
    let mut items = snapshot_with_holes(vm, id)?;
    let len = items.len();
    let (to, from, end) = (args.get(vm, 0), args.get(vm, 1), args.get(vm, 2));
    let to = vm.relative_index(to, len, 0)?;
    let from = vm.relative_index(from, len, 0)?;
    let end = vm.relative_index(end, len, len)?;
    let count = end.saturating_sub(from).min(len - to);
    items.copy_within(from..from + count, to);
    if let Kind::Array(out) = vm.heap.kind_mut(id) {
        *out = items;
    } else {
        write_back(vm, id, items)?;
    }
    Ok(Value::Obj(id))
}
