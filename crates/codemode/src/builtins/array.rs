//! `Array`. Methods work on array-likes too; those on true arrays take the short way through the elements.

use super::array_change::{copy_within, fill, pop, push, shift, splice, to_spliced, unshift};
use crate::atoms::{SYM_ITERATOR, SYM_SPREADABLE};
use crate::object::{ArrayIter, EXTENSIBLE, FROZEN_ELEMENTS, IterWhat, Kind};
use crate::realm::{Builder, intrinsic as i, name};
use crate::value::{Key, ObjId, Res, Value};
use crate::vm::{ARRAY_LIMIT, Args, STRING_LIMIT, Vm};

pub(super) fn install(b: &mut Builder) {
    let proto = i::ARRAY_PROTO;
    b.kind(proto, Kind::Array(Vec::new()));
    b.constructor(i::ARRAY, proto, "Array", 1, construct);
    b.methods(
        i::ARRAY,
        &[
            ("isArray", 1, |vm, a| {
                Ok(Value::Bool(vm.is_array(a.get(vm, 0))))
            }),
            ("of", 0, |vm, a| {
                let items = a.all(vm);
                Ok(vm.array(items))
            }),
            ("from", 1, from),
            ("fromAsync", 1, from_async),
        ],
    );
    b.methods(
        proto,
        &[
            ("map", 1, map),
            ("filter", 1, filter),
            ("flatMap", 1, flat_map),
            ("forEach", 1, |vm, a| {
                each(vm, a, |_, _, _| None).map(|_| Value::Undefined)
            }),
            ("find", 1, |vm, a| find(vm, a, false, true)),
            ("findIndex", 1, |vm, a| find(vm, a, false, false)),
            ("findLast", 1, |vm, a| find(vm, a, true, true)),
            ("findLastIndex", 1, |vm, a| find(vm, a, true, false)),
            ("some", 1, |vm, a| {
                let hit = each(vm, a, |vm, _, r| vm.truthy(r).then_some(Value::Bool(true)))?;
                Ok(hit.unwrap_or(Value::Bool(false)))
            }),
            ("every", 1, |vm, a| {
                let miss = each(vm, a, |vm, _, r| {
                    (!vm.truthy(r)).then_some(Value::Bool(false))
                })?;
                Ok(miss.unwrap_or(Value::Bool(true)))
            }),
            ("includes", 1, includes),
            ("indexOf", 1, |vm, a| index_of(vm, a, false)),
            ("lastIndexOf", 1, |vm, a| index_of(vm, a, true)),
            ("reduce", 1, |vm, a| reduce(vm, a, false)),
            ("reduceRight", 1, |vm, a| reduce(vm, a, true)),
            ("sort", 1, |vm, a| sort(vm, a, false)),
            ("toSorted", 1, |vm, a| sort(vm, a, true)),
            ("reverse", 0, reverse),
            ("toReversed", 0, |vm, a| {
                let id = vm.to_object(a.this)?;
                let mut items = snapshot(vm, id)?;
                items.reverse();
                new_array(vm, items)
            }),
            ("at", 1, at),
            ("slice", 2, slice),
            ("concat", 1, concat),
            ("flat", 0, flat),
            ("with", 2, with),
            ("join", 1, join),
            ("toLocaleString", 0, to_locale_string),
            ("toString", 0, |vm, a| {
                let method = vm.get(a.this, name::JOIN)?;
                if vm.is_callable(method) {
                    return vm.call(method, a.this, &[]);
                }
                Ok(vm.str("[object Object]"))
            }),
            ("push", 1, push),
            ("pop", 0, pop),
            ("shift", 0, shift),
            ("unshift", 1, unshift),
            ("splice", 2, splice),
            ("toSpliced", 2, to_spliced),
            ("fill", 1, fill),
            ("copyWithin", 2, copy_within),
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

fn from(vm: &mut Vm, args: Args) -> Res<Value> {
    let (source, mapper, this) = (args.get(vm, 0), args.get(vm, 1), args.get(vm, 2));
    if !mapper.is_undefined() && !vm.is_callable(mapper) {
        return Err(vm.type_error("Array.from mapper is not a function."));
    }
    if source.is_nullish() {
        return Err(vm.invalid_data("Array.from needs an iterable or an array-like."));
    }
    let out = vm.array(Vec::new());
    let iterable = !vm.get_lazy(source, SYM_ITERATOR)?.is_nullish();
    let mut index = 0usize;
    let mut add = |vm: &mut Vm, value: Value| {
        let value = match mapper {
            Value::Undefined => value,
            f => vm.call(f, this, &[value, Value::Num(index as f64)])?,
        };
        index += 1;
        vm.push(out, value).map(|()| true)
    };
    if iterable {
        vm.iterate(source, add)?;
        return Ok(out);
    }
    let id = vm.to_object(source)?;
    let len = vm.length_of(id)?;
    if len > ARRAY_LIMIT {
        return Err(vm.range_error("Invalid array length"));
    }
    for at in 0..len {
        let value = vm.get(Value::Obj(id), Key::index(at as u32))?;
        add(vm, value)?;
    }
    Ok(out)
}

/// `Array.fromAsync` of iterables whose values may be promises.
fn from_async(vm: &mut Vm, args: Args) -> Res<Value> {
    let list = match vm.get(args.this, name::UNDEFINED) {
        Ok(_) => from(vm, args),
        Err(error) => Err(error),
    };
    let promise = vm.new_promise();
    match list {
        Ok(list) => {
            let all = super::promise::all_of(vm, list)?;
            vm.resolve(promise, all)?;
        }
        Err(crate::value::Abrupt::Throw(error)) => vm.reject(promise, error),
        Err(stop) => return Err(stop),
    }
    Ok(Value::Obj(promise))
}

pub(super) fn new_array(vm: &mut Vm, items: Vec<Value>) -> Res<Value> {
    if items.len() > ARRAY_LIMIT {
        return Err(vm.range_error("Invalid array length"));
    }
    let bytes = items.len() * size_of::<Value>();
    vm.reserve(bytes)?;
    vm.charge(items.len() / 16)?;
    Ok(vm.array(items))
}

/// A key for a position, beyond 2^31 too.
pub(super) fn position_key(vm: &mut Vm, at: usize) -> Key {
    if at < 1 << 31 {
        Key::index(at as u32)
    } else {
        vm.intern(&at.to_string())
    }
}

/// Element `at`, when there is one.
fn present(vm: &mut Vm, id: ObjId, at: usize) -> Res<Option<Value>> {
    if let Kind::Array(items) = vm.heap.kind(id)
        && let Some(&value) = items.get(at)
        && !matches!(value, Value::Hole)
    {
        return Ok(Some(value));
    }
    if has_element(vm, id, at)? {
        element(vm, id, at).map(Some)
    } else {
        Ok(None)
    }
}

/// Element `at` with holes looked up in the prototypes.
fn element(vm: &mut Vm, id: ObjId, at: usize) -> Res<Value> {
    if let Kind::Array(items) = vm.heap.kind(id)
        && let Some(&value) = items.get(at)
        && !matches!(value, Value::Hole)
    {
        return Ok(value);
    }
    let key = position_key(vm, at);
    vm.get(Value::Obj(id), key)
}

fn has_element(vm: &mut Vm, id: ObjId, at: usize) -> Res<bool> {
    if let Kind::Array(items) = vm.heap.kind(id)
        && items.get(at).is_some_and(|v| !matches!(v, Value::Hole))
    {
        return Ok(true);
    }
    let key = position_key(vm, at);
    vm.has_property(id, key)
}

/// All elements, holes read as `undefined`.
pub(super) fn snapshot(vm: &mut Vm, id: ObjId) -> Res<Vec<Value>> {
    let len = vm.length_of(id)?;
    if len > ARRAY_LIMIT {
        return Err(vm.range_error("Invalid array length"));
    }
    vm.reserve(len * size_of::<Value>())?;
    vm.charge(len / 8)?;
    if let Kind::Array(items) = vm.heap.kind(id) {
        return Ok(items.iter().map(|v| v.or_undefined()).collect());
    }
    (0..len).map(|at| element(vm, id, at)).collect()
}

fn callback(vm: &mut Vm, args: Args) -> Res<Value> {
    let f = args.get(vm, 0);
    if !vm.is_callable(f) {
        let what = super::render(vm, f);
        return Err(vm.type_error(&format!("{what} is not a function.")));
    }
    vm.refuse_callback(f)?;
    Ok(f)
}

/// Calls the callback on each present element until `stop` gives an answer.
fn each(
    vm: &mut Vm,
    args: Args,
    stop: fn(&mut Vm, Value, Value) -> Option<Value>,
) -> Res<Option<Value>> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let f = callback(vm, args)?;
    let this = args.get(vm, 1);
    for at in 0..len {
        vm.charge(1)?;
        if let Some(value) = present(vm, id, at)? {
            let result = vm.call(f, this, &[value, Value::Num(at as f64), Value::Obj(id)])?;
            if let Some(answer) = stop(vm, value, result) {
                return Ok(Some(answer));
            }
        }
    }
    Ok(None)
}

fn map(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let f = callback(vm, args)?;
    let this = args.get(vm, 1);
    if len > ARRAY_LIMIT {
        return Err(vm.range_error("Invalid array length"));
    }
    let out = new_array(vm, vec![Value::Hole; len])?;
    for at in 0..len {
        vm.charge(1)?;
        if let Some(value) = present(vm, id, at)? {
            let result = vm.call(f, this, &[value, Value::Num(at as f64), Value::Obj(id)])?;
            if let Some(out) = out.as_obj()
                && let Kind::Array(items) = vm.heap.kind_mut(out)
            {
                items[at] = result;
            }
        }
    }
    Ok(out)
}

fn filter(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let f = callback(vm, args)?;
    let this = args.get(vm, 1);
    let out = vm.array(Vec::new());
    for at in 0..len {
        vm.charge(1)?;
        if let Some(value) = present(vm, id, at)? {
            let keep = vm.call(f, this, &[value, Value::Num(at as f64), Value::Obj(id)])?;
            if vm.truthy(keep) {
                vm.push(out, value)?;
            }
        }
    }
    Ok(out)
}

fn flat_map(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let f = callback(vm, args)?;
    let this = args.get(vm, 1);
    let out = vm.array(Vec::new());
    for at in 0..len {
        vm.charge(1)?;
        if let Some(value) = present(vm, id, at)? {
            let result = vm.call(f, this, &[value, Value::Num(at as f64), Value::Obj(id)])?;
            flatten_into(vm, out, result, 1)?;
        }
    }
    Ok(out)
}

fn flatten_into(vm: &mut Vm, out: Value, value: Value, depth: u32) -> Res<()> {
    if depth == 0 || !vm.is_array(value) {
        return vm.push(out, value);
    }
    let items = vm.array_items(value);
    for item in items {
        if !matches!(item, Value::Hole) {
            flatten_into(vm, out, item, depth - 1)?;
        }
    }
    Ok(())
}

fn flat(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let depth = args.get(vm, 0);
    let depth = if depth.is_undefined() {
        1.0
    } else {
        vm.to_integer(depth)?
    };
    let items = snapshot_with_holes(vm, id)?;
    let out = vm.array(Vec::new());
    for item in items {
        if !matches!(item, Value::Hole) {
            flatten_into(vm, out, item, depth.clamp(0.0, 200.0) as u32)?;
        }
    }
    Ok(out)
}

pub(super) fn snapshot_with_holes(vm: &mut Vm, id: ObjId) -> Res<Vec<Value>> {
    if let Kind::Array(items) = vm.heap.kind(id) {
        let items = items.clone();
        vm.charge(items.len() / 8)?;
        return Ok(items);
    }
    let len = vm.length_of(id)?;
    if len > ARRAY_LIMIT {
        return Err(vm.range_error("Invalid array length"));
    }
    (0..len)
        .map(|at| {
            if has_element(vm, id, at)? {
                element(vm, id, at)
            } else {
                Ok(Value::Hole)
            }
        })
        .collect()
}

fn find(vm: &mut Vm, args: Args, backwards: bool, want_value: bool) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let f = callback(vm, args)?;
    let this = args.get(vm, 1);
    for step in 0..len {
        vm.charge(1)?;
        let at = if backwards { len - 1 - step } else { step };
        let value = element(vm, id, at)?;
        let hit = vm.call(f, this, &[value, Value::Num(at as f64), Value::Obj(id)])?;
        if vm.truthy(hit) {
            return Ok(if want_value {
                value
            } else {
                Value::Num(at as f64)
            });
        }
    }
    Ok(if want_value {
        Value::Undefined
    } else {
        Value::Num(-1.0)
    })
}

fn includes(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let (wanted, from) = (args.get(vm, 0), args.get(vm, 1));
    let from = vm.relative_index(from, len, 0)?;
    for at in from..len {
        vm.charge(1)?;
        let value = element(vm, id, at)?;
        if vm.same_value_zero(value, wanted) {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn index_of(vm: &mut Vm, args: Args, backwards: bool) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let wanted = args.get(vm, 0);
    let from = args.get(vm, 1);
    let range: Box<dyn Iterator<Item = usize>> = if backwards {
        let end = if args.len() > 1 {
            let n = vm.to_integer(from)?;
            if n < 0.0 {
                (len as f64 + n + 1.0).max(0.0) as usize
            } else {
                (n as usize).saturating_add(1).min(len)
            }
        } else {
            len
        };
        Box::new((0..end).rev())
    } else {
        Box::new(vm.relative_index(from, len, 0)?..len)
    };
    for at in range {
        vm.charge(1)?;
        if has_element(vm, id, at)? {
            let value = element(vm, id, at)?;
            if vm.strict_equal(value, wanted) {
                return Ok(Value::Num(at as f64));
            }
        }
    }
    Ok(Value::Num(-1.0))
}

fn reduce(vm: &mut Vm, args: Args, backwards: bool) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let f = callback(vm, args)?;
    let mut total = (args.len() > 1).then(|| args.get(vm, 1));
    // The running total must survive collections: it is passed on the stack to each call, and held by it.
    for step in 0..len {
        vm.charge(1)?;
        let at = if backwards { len - 1 - step } else { step };
        if !has_element(vm, id, at)? {
            continue;
        }
        let value = element(vm, id, at)?;
        total = Some(match total {
            None => value,
            Some(total) => vm.call(
                f,
                Value::Undefined,
                &[total, value, Value::Num(at as f64), Value::Obj(id)],
            )?,
        });
    }
    match total {
        Some(total) => Ok(total),
        None => Err(vm.type_error("Reduce of empty array with no initial value.")),
    }
}

pub(super) fn check_writable(vm: &mut Vm, id: ObjId) -> Res<()> {
    if let Kind::Array(_) = vm.heap.kind(id)
        && vm.heap.obj(id).flags & FROZEN_ELEMENTS != 0
    {
        return Err(
            vm.type_error("Cannot assign to read only property '0' of object '[object Array]'.")
        );
    }
    Ok(())
}

pub(super) fn check_extensible(vm: &mut Vm, id: ObjId) -> Res<()> {
    check_writable(vm, id)?;
    if let Kind::Array(_) = vm.heap.kind(id)
        && vm.heap.obj(id).flags & EXTENSIBLE == 0
    {
        return Err(vm.type_error("Cannot add property, object is not extensible."));
    }
    Ok(())
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

fn sort(vm: &mut Vm, args: Args, copy: bool) -> Res<Value> {
    let f = args.get(vm, 0);
    if !f.is_undefined() && !vm.is_callable(f) {
        return Err(
            vm.type_error("The comparison function must be either a function or undefined.")
        );
    }
    let id = vm.to_object(args.this)?;
    if !copy {
        check_writable(vm, id)?;
    }
    let items = if copy {
        snapshot(vm, id)?
    } else {
        snapshot_with_holes(vm, id)?
    };
    let len = items.len();
    let holes = items.iter().filter(|v| matches!(v, Value::Hole)).count();
    let undefined = items
        .iter()
        .filter(|v| matches!(v, Value::Undefined))
        .count();
    let values: Vec<Value> = items
        .into_iter()
        .filter(|v| !matches!(v, Value::Hole | Value::Undefined))
        .collect();
    let sorted = if f.is_undefined() {
        sort_by_text(vm, values)?
    } else {
        merge_sort(vm, values, &mut |vm, a, b| {
            let order = vm.call(f, Value::Undefined, &[a, b])?;
            Ok(match order {
                Value::Num(n) => n < 0.0,
                other => vm.to_number(other)? < 0.0,
            })
        })?
    };
    let mut out = sorted;
    out.resize(out.len() + undefined, Value::Undefined);
    if copy {
        return new_array(vm, out);
    }
    if let Kind::Array(items) = vm.heap.kind_mut(id) {
        out.resize(len.max(out.len() + holes), Value::Hole);
        *items = out;
    } else {
        for (at, value) in out.iter().enumerate() {
            let key = position_key(vm, at);
            vm.put(Value::Obj(id), key, *value)?;
        }
    }
    Ok(Value::Obj(id))
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

fn reverse(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    check_writable(vm, id)?;
    if let Kind::Array(items) = vm.heap.kind_mut(id) {
        items.reverse();
        let len = items.len();
        vm.charge(len / 16)?;
        return Ok(Value::Obj(id));
    }
    let mut items = snapshot_with_holes(vm, id)?;
    items.reverse();
    write_back(vm, id, items)?;
    Ok(Value::Obj(id))
}

/// Writes elements into an array-like, deleting where there are holes.
pub(super) fn write_back(vm: &mut Vm, id: ObjId, items: Vec<Value>) -> Res<()> {
    for (at, value) in items.into_iter().enumerate() {
        let key = position_key(vm, at);
        if let Value::Hole = value {
            vm.delete(Value::Obj(id), key)?;
        } else {
            vm.put(Value::Obj(id), key, value)?;
        }
    }
    Ok(())
}

fn at(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)? as f64;
    let n = args.get(vm, 0);
    let n = vm.to_integer(n)?;
    let at = if n < 0.0 { len + n } else { n };
    if at < 0.0 || at >= len {
        return Ok(Value::Undefined);
    }
    element(vm, id, at as usize)
}

fn slice(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let (start, end) = (args.get(vm, 0), args.get(vm, 1));
    let start = vm.relative_index(start, len, 0)?;
    let end = vm.relative_index(end, len, len)?;
    if start >= end {
        return Ok(vm.array(Vec::new()));
    }
    vm.reserve((end - start) * size_of::<Value>())?;
    if let Kind::Array(items) = vm.heap.kind(id) {
        let part = items[start.min(items.len())..end.min(items.len())].to_vec();
        return new_array(vm, part);
    }
    let items = (start..end).map(|at| {
        if has_element(vm, id, at)? {
            element(vm, id, at)
        } else {
            Ok(Value::Hole)
        }
    });
    let items = items.collect::<Res<Vec<Value>>>()?;
    new_array(vm, items)
}

fn concat(vm: &mut Vm, args: Args) -> Res<Value> {
    let this = Value::Obj(vm.to_object(args.this)?);
    let mut out = Vec::new();
    for part in std::iter::once(this).chain(args.all(vm)) {
        let spread = match part {
            Value::Obj(id) => {
                let flag = if let Kind::Tool(_) = vm.heap.kind(id) {
                    Value::Bool(false)
                } else {
                    vm.get(part, SYM_SPREADABLE)?
                };
                if flag.is_undefined() {
                    vm.is_array(part)
                } else {
                    vm.truthy(flag)
                }
            }
            _ => false,
        };
        match part.as_obj() {
            Some(id) if spread => out.extend(snapshot_with_holes(vm, id)?),
            _ => out.push(part),
        }
        if out.len() > ARRAY_LIMIT {
            return Err(vm.range_error("Invalid array length"));
        }
    }
    new_array(vm, out)
}

fn with(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let mut items = snapshot(vm, id)?;
    let n = args.get(vm, 0);
    let n = vm.to_integer(n)?;
    let at = if n < 0.0 { items.len() as f64 + n } else { n };
    if at < 0.0 || at >= items.len() as f64 {
        return Err(vm.range_error("Invalid index : the position is outside of the array."));
    }
    items[at as usize] = args.get(vm, 1);
    new_array(vm, items)
}

fn join(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let separator = args.get(vm, 0);
    let separator = if separator.is_undefined() {
        vm.char_str(44)
    } else {
        vm.to_str(separator)?
    };
    if vm.joining.contains(&id) {
        return Ok(Value::Str(vm.key_str(name::EMPTY)));
    }
    vm.joining.push(id);
    let result = join_elements(vm, id, len, separator);
    vm.joining.pop();
    result
}

fn join_elements(vm: &mut Vm, id: ObjId, len: usize, separator: crate::value::StrId) -> Res<Value> {
    let separator = vm.heap.units(separator).to_text();
    if len > 1 && separator.len().saturating_mul(len - 1) > STRING_LIMIT {
        return Err(vm.range_error("Invalid string length"));
    }
    let mut narrow: Vec<u8> = Vec::new();
    let mut wide: Option<Vec<u16>> = None;
    for at in 0..len {
        vm.charge(1)?;
        let text = if at > 0 {
            Some(separator.clone())
        } else {
            None
        };
        if let Some(text) = text {
            append(&mut narrow, &mut wide, text.units());
        }
        let value = element(vm, id, at)?;
        if !value.is_nullish() {
            let piece = vm.to_str(value)?;
            append(&mut narrow, &mut wide, vm.heap.units(piece));
        }
        if narrow.len().max(wide.as_ref().map_or(0, Vec::len)) > STRING_LIMIT {
            return Err(vm.range_error("Invalid string length"));
        }
    }
    let text = match wide {
        Some(units) => crate::text::Text::from_units(units),
        None => crate::text::Text::Narrow(narrow.into()),
    };
    vm.new_text(text)
}

/// Appends units to text under construction, which is narrow as long as it can be.
pub(super) fn append(
    narrow: &mut Vec<u8>,
    wide: &mut Option<Vec<u16>>,
    units: crate::text::Units<'_>,
) {
    use crate::text::Units;
    match (wide.as_mut(), units) {
        (None, Units::Narrow(bytes)) => narrow.extend_from_slice(bytes),
        (Some(out), units) => units.push_to(out),
        (None, units @ Units::Wide(_)) => {
            let mut out: Vec<u16> = narrow.iter().map(|&b| u16::from(b)).collect();
            units.push_to(&mut out);
            *wide = Some(out);
        }
    }
}

fn to_locale_string(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let items = snapshot(vm, id)?;
    let mut out = String::new();
    let key = vm.intern("toLocaleString");
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        if !item.is_nullish() {
            let method = vm.get(item, key)?;
            let text = vm.call(method, item, &[])?;
            out.push_str(&vm.to_text(text)?);
        }
    }
    vm.new_text(crate::text::Text::new(&out))
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
    let len = if let Kind::Bytes(bytes) = vm.heap.kind(object) {
        bytes.len()
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
