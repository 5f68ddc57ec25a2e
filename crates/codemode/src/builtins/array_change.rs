//! The methods of arrays that add, remove and move elements.

use super::array::{
    check_length, delete_element, element, has_element, new_array, put_element, snapshot,
};
use super::array_copy::set_length;
use crate::object::{FIXED_LENGTH, Kind, SEALED_ELEMENTS};
use crate::realm::{Builder, intrinsic as i};
use crate::value::{ObjId, Res, Value};
use crate::vm::{ARRAY_LIMIT, Args, Vm};

/// The largest length that an array-like can have.
const LENGTH_LIMIT: usize = (1 << 53) - 1;

pub(super) fn install(b: &mut Builder) {
    b.methods(
        i::ARRAY_PROTO,
        &[
            ("push", 1, push),
            ("pop", 0, pop),
            ("shift", 0, shift),
            ("unshift", 1, unshift),
            ("splice", 2, splice),
            ("toSpliced", 2, to_spliced),
            ("fill", 1, fill),
            ("copyWithin", 2, copy_within),
            ("reverse", 0, reverse),
        ],
    );
}

/// The elements of a plain array without holes, whose length may change: they can be moved as a block, and no program
/// code can notice.
fn block(vm: &mut Vm, id: ObjId) -> Option<&mut Vec<Value>> {
    let fixed = vm.heap.obj(id).flags & (FIXED_LENGTH | SEALED_ELEMENTS) != 0;
    if fixed || !vm.is_dense(id) {
        return None;
    }
    match vm.heap.kind_mut(id) {
        Kind::Array(items) if !items.iter().any(|v| matches!(v, Value::Hole)) => Some(items),
        _ => None,
    }
}

/// Whether new elements at an array's end are plain: nothing it inherits has a say about positions.
fn grows_plainly(vm: &Vm, id: ObjId) -> bool {
    vm.is_dense(id) && vm.heap.obj(id).flags & FIXED_LENGTH == 0
}

fn push(vm: &mut Vm, args: Args) -> Res<Value> {
    if let Value::Obj(id) = args.this
        && grows_plainly(vm, id)
        && let Kind::Array(items) = vm.heap.kind(id)
    {
        let len = items.len() + args.len();
        if len > ARRAY_LIMIT {
            return Err(vm.range_error("Invalid array length"));
        }
        for at in 0..args.len() {
            let value = args.get(vm, at);
            if let Kind::Array(items) = vm.heap.kind_mut(id) {
                items.push(value);
            }
        }
        vm.heap.bytes += args.len() * size_of::<Value>();
        return Ok(Value::Num(len as f64));
    }
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    if len + args.len() > LENGTH_LIMIT {
        return Err(vm.type_error("The array would be too long."));
    }
    for at in 0..args.len() {
        let value = args.get(vm, at);
        put_element(vm, id, len + at, value)?;
    }
    let len = len + args.len();
    set_length(vm, id, len)?;
    Ok(Value::Num(len as f64))
}

fn pop(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    if grows_plainly(vm, id)
        && let Kind::Array(items) = vm.heap.kind_mut(id)
        && let Some(&last) = items.last()
        && !matches!(last, Value::Hole)
    {
        items.pop();
        return Ok(last);
    }
    let len = vm.length_of(id)?;
    if len == 0 {
        set_length(vm, id, 0)?;
        return Ok(Value::Undefined);
    }
    let value = element(vm, id, len - 1)?;
    delete_element(vm, id, len - 1)?;
    set_length(vm, id, len - 1)?;
    Ok(value)
}

/// Moves an element, or its absence, to another position.
fn move_element(vm: &mut Vm, id: ObjId, from: usize, to: usize) -> Res<()> {
    vm.charge(1)?;
    if has_element(vm, id, from)? {
        let pins = vm.pin_mark();
        let value = element(vm, id, from)?;
        put_element(vm, id, to, value)?;
        vm.release_pins(pins);
        return Ok(());
    }
    delete_element(vm, id, to)
}

fn shift(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    if let Some(items) = block(vm, id)
        && !items.is_empty()
    {
        let len = items.len();
        let value = items.remove(0);
        vm.charge(len / 64)?;
        return Ok(value);
    }
    let len = vm.length_of(id)?;
    if len == 0 {
        set_length(vm, id, 0)?;
        return Ok(Value::Undefined);
    }
    let first = element(vm, id, 0)?;
    for at in 1..len {
        move_element(vm, id, at, at - 1)?;
    }
    delete_element(vm, id, len - 1)?;
    set_length(vm, id, len - 1)?;
    Ok(first)
}

fn unshift(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let new = args.all(vm);
    if let Some(items) = block(vm, id) {
        let len = items.len() + new.len();
        check_length(vm, len)?;
        vm.charge(len / 64)?;
        vm.heap.bytes += new.len() * size_of::<Value>();
        if let Kind::Array(items) = vm.heap.kind_mut(id) {
            items.splice(0..0, new);
        }
        return Ok(Value::Num(len as f64));
    }
    let len = vm.length_of(id)?;
    let count = new.len();
    if count > 0 {
        if len + count > LENGTH_LIMIT {
            return Err(vm.type_error("The array would be too long."));
        }
        for at in (0..len).rev() {
            move_element(vm, id, at, at + count)?;
        }
        for (at, value) in new.into_iter().enumerate() {
            put_element(vm, id, at, value)?;
        }
    }
    set_length(vm, id, len + count)?;
    Ok(Value::Num((len + count) as f64))
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

fn splice(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let (start, end) = splice_range(vm, args, len)?;
    let new: Vec<Value> = args.all(vm).into_iter().skip(2).collect();
    if len + new.len() - (end - start) > LENGTH_LIMIT {
        return Err(vm.type_error("The array would be too long."));
    }
    let plain = vm.array_species(id)?.is_none();
    let added = new.len() * size_of::<Value>();
    vm.reserve(added)?;
    if plain
        && let Some(items) = block(vm, id)
        && items.len() == len
    {
        if len + new.len() - (end - start) > ARRAY_LIMIT {
            return Err(vm.range_error("Invalid array length"));
        }
        let removed: Vec<Value> = items.splice(start..end, new).collect();
        vm.heap.bytes += added;
        vm.charge(len / 64)?;
        return new_array(vm, removed);
    }
    let out = vm.array_species_create(id, end - start)?;
    for at in start..end {
        vm.charge(1)?;
        if has_element(vm, id, at)? {
            let value = element(vm, id, at)?;
            vm.create_element(out, at - start, value)?;
        }
    }
    set_length(vm, out, end - start)?;
    close_or_open_gap(vm, id, len, (start, end), new.len())?;
    let new_len = len - (end - start) + new.len();
    for (at, value) in new.into_iter().enumerate() {
        put_element(vm, id, start + at, value)?;
    }
    set_length(vm, id, new_len)?;
    Ok(Value::Obj(out))
}

/// Moves what follows a range so that `count` elements fit in its place.
fn close_or_open_gap(
    vm: &mut Vm,
    id: ObjId,
    len: usize,
    (start, end): (usize, usize),
    count: usize,
) -> Res<()> {
    let removed = end - start;
    if count < removed {
        for at in end..len {
            move_element(vm, id, at, at - removed + count)?;
        }
        for at in (len - removed + count..len).rev() {
            vm.charge(1)?;
            delete_element(vm, id, at)?;
        }
    } else if count > removed {
        for at in (end..len).rev() {
            move_element(vm, id, at, at - removed + count)?;
        }
    }
    Ok(())
}

fn to_spliced(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let (start, end) = splice_range(vm, args, len)?;
    let new: Vec<Value> = args.all(vm).into_iter().skip(2).collect();
    let count = len - (end - start) + new.len();
    if count > LENGTH_LIMIT {
        return Err(vm.type_error("The array would be too long."));
    }
    check_length(vm, count)?;
    if let Kind::Array(items) = vm.heap.kind(id)
        && items.len() == len
        && vm.is_dense(id)
    {
        let mut items = snapshot(vm, id)?;
        items.splice(start..end, new);
        return new_array(vm, items);
    }
    let mut items = Vec::with_capacity(count);
    for at in 0..start {
        items.push(element(vm, id, at)?);
    }
    items.extend(new);
    for at in end..len {
        items.push(element(vm, id, at)?);
    }
    new_array(vm, items)
}

fn fill(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let (value, start, end) = (args.get(vm, 0), args.get(vm, 1), args.get(vm, 2));
    let start = vm.relative_index(start, len, 0)?;
    let end = vm.relative_index(end, len, len)?;
    if vm.is_dense(id)
        && let Kind::Array(items) = vm.heap.kind_mut(id)
        && end <= items.len()
    {
        if start < end {
            items[start..end].fill(value);
        }
        vm.charge(len / 16)?;
        return Ok(Value::Obj(id));
    }
    for at in start..end {
        vm.charge(1)?;
        put_element(vm, id, at, value)?;
    }
    Ok(Value::Obj(id))
}

fn copy_within(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let (to, from, end) = (args.get(vm, 0), args.get(vm, 1), args.get(vm, 2));
    let to = vm.relative_index(to, len, 0)?;
    let from = vm.relative_index(from, len, 0)?;
    let end = vm.relative_index(end, len, len)?;
    let count = end.saturating_sub(from).min(len - to);
    if let Some(items) = block(vm, id)
        && items.len() == len
    {
        items.copy_within(from..from + count, to);
        vm.charge(count / 16)?;
        return Ok(Value::Obj(id));
    }
    let backwards = from < to && to < from + count;
    for step in 0..count {
        let at = if backwards { count - 1 - step } else { step };
        move_element(vm, id, from + at, to + at)?;
    }
    Ok(Value::Obj(id))
}

fn reverse(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    if let Some(items) = block(vm, id) {
        items.reverse();
        let len = items.len();
        vm.charge(len / 16)?;
        return Ok(Value::Obj(id));
    }
    let len = vm.length_of(id)?;
    for low in 0..len / 2 {
        vm.charge(1)?;
        let high = len - 1 - low;
        let lower = has_element(vm, id, low)?;
        let first = if lower {
            element(vm, id, low)?
        } else {
            Value::Undefined
        };
        let upper = has_element(vm, id, high)?;
        let last = if upper {
            element(vm, id, high)?
        } else {
            Value::Undefined
        };
        if upper {
            put_element(vm, id, low, last)?;
        } else if lower {
            delete_element(vm, id, low)?;
        }
        if lower {
            put_element(vm, id, high, first)?;
        } else if upper {
            delete_element(vm, id, high)?;
        }
    }
    Ok(Value::Obj(id))
}
