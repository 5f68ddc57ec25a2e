//! The methods of arrays that visit elements and leave the array as it is.

use super::array::{element, has_element, present};
use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i};
use crate::value::{ObjId, Res, Value};
use crate::vm::{Args, Vm};

pub(super) fn install(b: &mut Builder) {
    b.methods(i::ARRAY_PROTO, &[("map", 1, map), ("filter", 1, filter)]);
    visitors::<false>(b, i::ARRAY_PROTO);
}

/// The same methods for typed arrays.
pub(super) fn install_typed(b: &mut Builder) {
    visitors::<true>(b, i::TYPED_ARRAY_PROTO);
}

fn visitors<const TYPED: bool>(b: &mut Builder, proto: ObjId) {
    b.methods(
        proto,
        &[
            ("forEach", 1, |vm, a| {
                each::<TYPED>(vm, a, |_, _| None).map(|_| Value::Undefined)
            }),
            ("find", 1, |vm, a| find::<TYPED>(vm, a, false, true)),
            ("findIndex", 1, |vm, a| find::<TYPED>(vm, a, false, false)),
            ("findLast", 1, |vm, a| find::<TYPED>(vm, a, true, true)),
            ("findLastIndex", 1, |vm, a| {
                find::<TYPED>(vm, a, true, false)
            }),
            ("some", 1, |vm, a| {
                let hit = each::<TYPED>(vm, a, |vm, r| vm.truthy(r).then_some(Value::Bool(true)))?;
                Ok(hit.unwrap_or(Value::Bool(false)))
            }),
            ("every", 1, |vm, a| {
                let miss =
                    each::<TYPED>(vm, a, |vm, r| (!vm.truthy(r)).then_some(Value::Bool(false)))?;
                Ok(miss.unwrap_or(Value::Bool(true)))
            }),
            ("includes", 1, includes::<TYPED>),
            ("indexOf", 1, index_of::<TYPED>),
            ("lastIndexOf", 1, last_index_of::<TYPED>),
            ("reduce", 1, |vm, a| reduce::<TYPED>(vm, a, false)),
            ("reduceRight", 1, |vm, a| reduce::<TYPED>(vm, a, true)),
            ("at", 1, at::<TYPED>),
        ],
    );
}

/// The array or array-like that a method was called on, and its length; with `TYPED` it has to be a typed array.
pub(super) fn source<const TYPED: bool>(vm: &mut Vm, args: Args) -> Res<(ObjId, usize)> {
    if TYPED {
        return super::typed_array::validate(vm, args.this);
    }
    let id = vm.to_object(args.this)?;
    Ok((id, vm.length_of(id)?))
}

/// The object, its length and the callback that a method works with.
pub(super) fn visit<const TYPED: bool>(vm: &mut Vm, args: Args) -> Res<(ObjId, usize, Value)> {
    let (id, len) = source::<TYPED>(vm, args)?;
    let f = args.get(vm, 0);
    if !vm.is_callable(f) {
        let what = super::render(vm, f);
        return Err(vm.type_error(&format!("{what} is not a function.")));
    }
    vm.refuse_callback(f)?;
    Ok((id, len, f))
}

/// Element `at` where the method visits it; typed arrays have no holes, and what vanished reads as `undefined`.
fn visited<const TYPED: bool>(vm: &mut Vm, id: ObjId, at: usize) -> Res<Option<Value>> {
    if TYPED {
        return element(vm, id, at).map(Some);
    }
    present(vm, id, at)
}

/// Calls the callback on each present element until `stop` gives an answer.
fn each<const TYPED: bool>(
    vm: &mut Vm,
    args: Args,
    stop: fn(&mut Vm, Value) -> Option<Value>,
) -> Res<Option<Value>> {
    let (id, len, f) = visit::<TYPED>(vm, args)?;
    let this = args.get(vm, 1);
    let pins = vm.pin_mark();
    for at in 0..len {
        vm.charge(1)?;
        if let Some(value) = visited::<TYPED>(vm, id, at)? {
            let result = vm.call(f, this, &[value, Value::Num(at as f64), Value::Obj(id)])?;
            if let Some(answer) = stop(vm, result) {
                return Ok(Some(answer));
            }
        }
        vm.release_pins(pins);
    }
    Ok(None)
}

fn map(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len, f) = visit::<false>(vm, args)?;
    let this = args.get(vm, 1);
    let out = vm.array_species_create(id, len)?;
    let pins = vm.pin_mark();
    for at in 0..len {
        vm.charge(1)?;
        if let Some(value) = present(vm, id, at)? {
            let result = vm.call(f, this, &[value, Value::Num(at as f64), Value::Obj(id)])?;
            vm.create_element(out, at, result)?;
        }
        vm.release_pins(pins);
    }
    Ok(Value::Obj(out))
}

fn filter(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len, f) = visit::<false>(vm, args)?;
    let this = args.get(vm, 1);
    let out = vm.array_species_create(id, 0)?;
    let pins = vm.pin_mark();
    let mut count = 0;
    for at in 0..len {
        vm.charge(1)?;
        if let Some(value) = present(vm, id, at)? {
            let keep = vm.call(f, this, &[value, Value::Num(at as f64), Value::Obj(id)])?;
            if vm.truthy(keep) {
                append(vm, out, count, value)?;
                count += 1;
            }
        }
        vm.release_pins(pins);
    }
    Ok(Value::Obj(out))
}

/// Adds element `at`, the first that isn't there yet.
pub(super) fn append(vm: &mut Vm, out: ObjId, at: usize, value: Value) -> Res<()> {
    let next = match vm.heap.kind(out) {
        Kind::Array(items) => items.len(),
        _ => usize::MAX,
    };
    if next == at && vm.is_dense(out) {
        return vm.push(Value::Obj(out), value);
    }
    vm.create_element(out, at, value)
}

fn find<const TYPED: bool>(
    vm: &mut Vm,
    args: Args,
    backwards: bool,
    want_value: bool,
) -> Res<Value> {
    let (id, len, f) = visit::<TYPED>(vm, args)?;
    let this = args.get(vm, 1);
    let pins = vm.pin_mark();
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
        vm.release_pins(pins);
    }
    Ok(if want_value {
        Value::Undefined
    } else {
        Value::Num(-1.0)
    })
}

fn includes<const TYPED: bool>(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len) = source::<TYPED>(vm, args)?;
    if len == 0 {
        return Ok(Value::Bool(false));
    }
    let (wanted, from) = (args.get(vm, 0), args.get(vm, 1));
    let from = vm.relative_index(from, len, 0)?;
    let pins = vm.pin_mark();
    for at in from..len {
        vm.charge(1)?;
        let value = element(vm, id, at)?;
        vm.release_pins(pins);
        if vm.same_value_zero(value, wanted) {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn index_of<const TYPED: bool>(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len) = source::<TYPED>(vm, args)?;
    if len == 0 {
        return Ok(Value::Num(-1.0));
    }
    let from = args.get(vm, 1);
    let from = vm.relative_index(from, len, 0)?;
    first_equal(vm, id, args.get(vm, 0), from..len)
}

fn last_index_of<const TYPED: bool>(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len) = source::<TYPED>(vm, args)?;
    if len == 0 {
        return Ok(Value::Num(-1.0));
    }
    let from = args.get(vm, 1);
    let end = match args.len() {
        0 | 1 => len,
        _ => {
            let n = vm.to_integer(from)?;
            let last = if n < 0.0 { len as f64 + n } else { n };
            (last + 1.0).clamp(0.0, len as f64) as usize
        }
    };
    first_equal(vm, id, args.get(vm, 0), (0..end).rev())
}

fn first_equal(
    vm: &mut Vm,
    id: ObjId,
    wanted: Value,
    places: impl Iterator<Item = usize>,
) -> Res<Value> {
    let pins = vm.pin_mark();
    for at in places {
        vm.charge(1)?;
        if let Some(value) = present(vm, id, at)?
            && vm.strict_equal(value, wanted)
        {
            return Ok(Value::Num(at as f64));
        }
        vm.release_pins(pins);
    }
    Ok(Value::Num(-1.0))
}

fn reduce<const TYPED: bool>(vm: &mut Vm, args: Args, backwards: bool) -> Res<Value> {
    let (id, len, f) = visit::<TYPED>(vm, args)?;
    let mut total = (args.len() > 1).then(|| args.get(vm, 1));
    let pins = vm.pin_mark();
    for step in 0..len {
        vm.charge(1)?;
        let at = if backwards { len - 1 - step } else { step };
        if !TYPED && !has_element(vm, id, at)? {
            continue;
        }
        let value = element(vm, id, at)?;
        let next = match total {
            None => value,
            Some(total) => vm.call(
                f,
                Value::Undefined,
                &[total, value, Value::Num(at as f64), Value::Obj(id)],
            )?,
        };
        total = Some(next);
        vm.release_pins(pins);
        vm.pin(next);
    }
    match total {
        Some(total) => Ok(total),
        None => Err(vm.type_error("Reduce of empty array with no initial value.")),
    }
}

fn at<const TYPED: bool>(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len) = source::<TYPED>(vm, args)?;
    let len = len as f64;
    let n = args.get(vm, 0);
    let n = vm.to_integer(n)?;
    let at = if n < 0.0 { len + n } else { n };
    if at < 0.0 || at >= len {
        return Ok(Value::Undefined);
    }
    element(vm, id, at as usize)
}
