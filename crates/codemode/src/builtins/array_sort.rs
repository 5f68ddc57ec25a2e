//! Sorting: stable, by text or by a comparison of the program's.

use super::array::{delete_element, element, has_element, new_array, put_element, snapshot};
use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i};
use crate::value::{ObjId, Res, Value};
use crate::vm::{ARRAY_LIMIT, Args, Vm};

pub(super) fn install(b: &mut Builder) {
    b.methods(
        i::ARRAY_PROTO,
        &[("sort", 1, sort), ("toSorted", 1, to_sorted)],
    );
}

/// A stable merge sort whose comparisons may fail.
pub(super) fn merge_sort(
    vm: &mut Vm,
    items: Vec<Value>,
    less: &mut dyn FnMut(&mut Vm, Value, Value) -> Res<bool>,
) -> Res<Vec<Value>> {
    let len = items.len();
    let mut from = items;
    // Runs of eight by insertion first.
    for start in (0..len).step_by(8) {
        let end = (start + 8).min(len);
        for at in start + 1..end {
            let value = from[at];
            let mut hole = at;
            while hole > start && less(vm, value, from[hole - 1])? {
                from[hole] = from[hole - 1];
                hole -= 1;
            }
            from[hole] = value;
        }
    }
    let mut to = from.clone();
    let mut width = 8;
    while width < len {
        let mut start = 0;
        while start < len {
            let middle = (start + width).min(len);
            let end = (start + 2 * width).min(len);
            let (mut left, mut right) = (start, middle);
            for slot in &mut to[start..end] {
                let take_right =
                    left >= middle || (right < end && less(vm, from[right], from[left])?);
                *slot = if take_right { from[right] } else { from[left] };
                if take_right { right += 1 } else { left += 1 }
            }
            start = end;
        }
        std::mem::swap(&mut from, &mut to);
        width *= 2;
    }
    Ok(from)
}

/// The comparison that a method was given.
fn comparison(vm: &mut Vm, args: Args) -> Res<Value> {
    let f = args.get(vm, 0);
    if !f.is_undefined() && !vm.is_callable(f) {
        return Err(
            vm.type_error("The comparison function must be either a function or undefined.")
        );
    }
    Ok(f)
}

/// Sorts values; `undefined` comes last.
pub(super) fn sorted(vm: &mut Vm, items: Vec<Value>, f: Value) -> Res<Vec<Value>> {
    let count = items.len();
    let values: Vec<Value> = items.into_iter().filter(|v| !v.is_undefined()).collect();
    // The comparison may take them out of the array meanwhile.
    values.iter().for_each(|&value| vm.pin(value));
    let mut out = if f.is_undefined() {
        sort_by_text(vm, values)?
    } else {
        let pins = vm.pin_mark();
        merge_sort(vm, values, &mut |vm, a, b| {
            let order = vm.call(f, Value::Undefined, &[a, b])?;
            let less = match order {
                Value::Num(n) => n < 0.0,
                other => vm.to_number(other)? < 0.0,
            };
            vm.release_pins(pins);
            Ok(less)
        })?
    };
    out.resize(count, Value::Undefined);
    Ok(out)
}

fn sort(vm: &mut Vm, args: Args) -> Res<Value> {
    let f = comparison(vm, args)?;
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let items = present_elements(vm, id, len)?;
    let count = items.len();
    let out = sorted(vm, items, f)?;
    if vm.is_dense(id)
        && let Kind::Array(items) = vm.heap.kind_mut(id)
        && items.len() == len
    {
        items[..count].copy_from_slice(&out);
        items[count..].fill(Value::Hole);
        return Ok(Value::Obj(id));
    }
    for (at, value) in out.into_iter().enumerate() {
        put_element(vm, id, at, value)?;
    }
    for at in count..len {
        vm.charge(1)?;
        if has_element(vm, id, at)? {
            delete_element(vm, id, at)?;
        }
    }
    Ok(Value::Obj(id))
}

fn present_elements(vm: &mut Vm, id: ObjId, len: usize) -> Res<Vec<Value>> {
    let mut items = Vec::new();
    for at in 0..len {
        vm.charge(1)?;
        if has_element(vm, id, at)? {
            items.push(element(vm, id, at)?);
            if items.len() > ARRAY_LIMIT {
                return Err(vm.range_error("Invalid array length"));
            }
        }
    }
    vm.reserve(items.len() * size_of::<Value>())?;
    Ok(items)
}

fn to_sorted(vm: &mut Vm, args: Args) -> Res<Value> {
    let f = comparison(vm, args)?;
    let id = vm.to_object(args.this)?;
    let items = snapshot(vm, id)?;
    let out = sorted(vm, items, f)?;
    new_array(vm, out)
}

fn sort_by_text(vm: &mut Vm, values: Vec<Value>) -> Res<Vec<Value>> {
    let mut keyed = Vec::with_capacity(values.len());
    for value in values {
        let text = vm.to_str(value)?;
        vm.heap.flatten(text);
        keyed.push((text, value));
    }
    vm.charge(keyed.len() * 8)?;
    let heap = &vm.heap;
    keyed.sort_by(|(a, _), (b, _)| heap.flat(*a).compare(heap.flat(*b)));
    Ok(keyed.into_iter().map(|(_, v)| v).collect())
}
