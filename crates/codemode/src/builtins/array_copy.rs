//! The methods of arrays that make another array, or text, of the elements.

use super::array::{element, new_array, present};
use super::array_visit::{append, source, visit};
use crate::atoms::SYM_SPREADABLE;
use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i, name};
use crate::text::{Text, Units};
use crate::value::{ObjId, Res, StrId, Value};
use crate::vm::{Args, STRING_LIMIT, Vm};

/// The largest length that an array-like can have.
const LENGTH_LIMIT: usize = (1 << 53) - 1;

pub(super) fn install(b: &mut Builder) {
    b.methods(
        i::ARRAY_PROTO,
        &[
            ("slice", 2, slice),
            ("concat", 1, concat),
            ("flat", 0, flat),
            ("flatMap", 1, flat_map),
            ("with", 2, with),
            ("toReversed", 0, |vm, a| {
                let id = vm.to_object(a.this)?;
                let len = vm.length_of(id)?;
                super::array::check_length(vm, len)?;
                let items = (0..len).rev().map(|at| element(vm, id, at));
                let items = items.collect::<Res<Vec<Value>>>()?;
                new_array(vm, items)
            }),
            ("join", 1, join::<false>),
            ("toLocaleString", 0, to_locale_string::<false>),
        ],
    );
    let to_string = b.method(i::ARRAY_PROTO, "toString", 0, to_string);
    b.alias(i::TYPED_ARRAY_PROTO, name::TO_STRING, to_string);
}

/// The same methods for typed arrays.
pub(super) fn install_typed(b: &mut Builder) {
    b.methods(
        i::TYPED_ARRAY_PROTO,
        &[
            ("join", 1, join::<true>),
            ("toLocaleString", 0, to_locale_string::<true>),
        ],
    );
}

fn to_string(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let method = vm.get(Value::Obj(id), name::JOIN)?;
    if vm.is_callable(method) {
        return vm.call(method, Value::Obj(id), &[]);
    }
    super::object::to_string_of(vm, Value::Obj(id))
}

fn slice(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let (start, end) = (args.get(vm, 0), args.get(vm, 1));
    let start = vm.relative_index(start, len, 0)?;
    let end = vm.relative_index(end, len, len)?.max(start);
    if vm.is_dense(id)
        && vm.array_species(id)?.is_none()
        && let Kind::Array(items) = vm.heap.kind(id)
        && end <= items.len()
        && !items[start..end].iter().any(|v| matches!(v, Value::Hole))
    {
        let part = items[start..end].to_vec();
        return new_array(vm, part);
    }
    let out = vm.array_species_create(id, end - start)?;
    for (to, at) in (start..end).enumerate() {
        vm.charge(1)?;
        if let Some(value) = present(vm, id, at)? {
            vm.create_element(out, to, value)?;
        }
    }
    set_length(vm, out, end - start)?;
    Ok(Value::Obj(out))
}

pub(super) fn set_length(vm: &mut Vm, id: ObjId, len: usize) -> Res<()> {
    vm.put(Value::Obj(id), name::LENGTH, Value::Num(len as f64))
}

/// `IsConcatSpreadable`.
fn is_spreadable(vm: &mut Vm, value: Value) -> Res<Option<ObjId>> {
    let Value::Obj(id) = value else {
        return Ok(None);
    };
    if let Kind::Tool(_) = vm.heap.kind(id) {
        return Ok(None);
    }
    let flag = vm.get(value, SYM_SPREADABLE)?;
    let spreadable = if flag.is_undefined() {
        vm.is_array(value)
    } else {
        vm.truthy(flag)
    };
    Ok(spreadable.then_some(id))
}

fn concat(vm: &mut Vm, args: Args) -> Res<Value> {
    let this = vm.to_object(args.this)?;
    let out = vm.array_species_create(this, 0)?;
    let mut n = 0;
    for part in std::iter::once(Value::Obj(this)).chain(args.all(vm)) {
        let Some(id) = is_spreadable(vm, part)? else {
            if n >= LENGTH_LIMIT {
                return Err(vm.type_error("The array would be too long."));
            }
            append(vm, out, n, part)?;
            n += 1;
            continue;
        };
        let len = vm.length_of(id)?;
        if n + len > LENGTH_LIMIT {
            return Err(vm.type_error("The array would be too long."));
        }
        if !concat_dense(vm, out, n, id)? {
            for at in 0..len {
                vm.charge(1)?;
                if let Some(value) = present(vm, id, at)? {
                    append(vm, out, n + at, value)?;
                }
            }
        }
        n += len;
    }
    set_length(vm, out, n)?;
    Ok(Value::Obj(out))
}

/// Appends a plain array's elements at once; false when they have to be looked at one by one.
fn concat_dense(vm: &mut Vm, out: ObjId, n: usize, id: ObjId) -> Res<bool> {
    if !vm.is_dense(id) || !vm.is_dense(out) {
        return Ok(false);
    }
    let (Kind::Array(items), Kind::Array(old)) = (vm.heap.kind(id), vm.heap.kind(out)) else {
        return Ok(false);
    };
    if old.len() != n || items.iter().any(|v| matches!(v, Value::Hole)) {
        return Ok(false);
    }
    super::array::check_length(
        vm,
        n + match vm.heap.kind(id) {
            Kind::Array(items) => items.len(),
            _ => 0,
        },
    )?;
    let items = vm.array_items(Value::Obj(id));
    let bytes = items.len() * size_of::<Value>();
    vm.reserve(bytes)?;
    vm.charge(items.len() / 16)?;
    vm.heap.bytes += bytes;
    if let Kind::Array(old) = vm.heap.kind_mut(out) {
        old.extend_from_slice(&items);
    }
    Ok(true)
}

fn flat(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let depth = args.get(vm, 0);
    let depth = if depth.is_undefined() {
        1.0
    } else {
        vm.to_integer(depth)?
    };
    let out = vm.array_species_create(id, 0)?;
    let mut n = 0;
    for at in 0..len {
        vm.charge(1)?;
        if let Some(value) = present(vm, id, at)? {
            // Deeper than this no array can be made that doesn't contain itself.
            flatten_into(vm, out, &mut n, value, depth.clamp(0.0, 10_000.0) as u32)?;
        }
    }
    Ok(Value::Obj(out))
}

fn flat_map(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len, f) = visit::<false>(vm, args)?;
    let this = args.get(vm, 1);
    let out = vm.array_species_create(id, 0)?;
    let mut n = 0;
    let pins = vm.pin_mark();
    for at in 0..len {
        vm.charge(1)?;
        if let Some(value) = present(vm, id, at)? {
            let result = vm.call(f, this, &[value, Value::Num(at as f64), Value::Obj(id)])?;
            flatten_into(vm, out, &mut n, result, 1)?;
        }
        vm.release_pins(pins);
    }
    Ok(Value::Obj(out))
}

fn flatten_into(vm: &mut Vm, out: ObjId, n: &mut usize, value: Value, depth: u32) -> Res<()> {
    let Some(id) = value.as_obj().filter(|_| depth > 0 && vm.is_array(value)) else {
        append(vm, out, *n, value)?;
        *n += 1;
        return Ok(());
    };
    let len = vm.length_of(id)?;
    for at in 0..len {
        vm.charge(1)?;
        if let Some(item) = present(vm, id, at)? {
            if vm.is_array(item) {
                vm.deeper(|vm| flatten_into(vm, out, n, item, depth - 1))?;
            } else {
                append(vm, out, *n, item)?;
                *n += 1;
            }
        }
    }
    Ok(())
}

fn with(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = vm.to_object(args.this)?;
    let len = vm.length_of(id)?;
    let n = args.get(vm, 0);
    let n = vm.to_integer(n)?;
    let at = if n < 0.0 { len as f64 + n } else { n };
    if at < 0.0 || at >= len as f64 {
        return Err(vm.range_error("Invalid index : the position is outside of the array."));
    }
    let new = args.get(vm, 1);
    super::array::check_length(vm, len)?;
    let mut items = Vec::with_capacity(len);
    for place in 0..len {
        items.push(if place == at as usize {
            new
        } else {
            element(vm, id, place)?
        });
    }
    new_array(vm, items)
}

fn join<const TYPED: bool>(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len) = source::<TYPED>(vm, args)?;
    let separator = args.get(vm, 0);
    let separator = if separator.is_undefined() {
        vm.char_str(44)
    } else {
        vm.to_str(separator)?
    };
    join_with(vm, id, len, separator, |vm, value| vm.to_str(value))
}

fn to_locale_string<const TYPED: bool>(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len) = source::<TYPED>(vm, args)?;
    let comma = vm.char_str(44);
    join_with(vm, id, len, comma, |vm, value| {
        let key = vm.intern("toLocaleString");
        let method = vm.get(value, key)?;
        let text = vm.call(method, value, &[])?;
        vm.to_str(text)
    })
}

/// Joins elements as `text` tells them; an array inside itself counts as empty.
fn join_with(
    vm: &mut Vm,
    id: ObjId,
    len: usize,
    separator: StrId,
    text: fn(&mut Vm, Value) -> Res<StrId>,
) -> Res<Value> {
    if vm.joining.contains(&id) {
        return Ok(Value::Str(vm.key_str(name::EMPTY)));
    }
    vm.joining.push(id);
    let result = join_elements(vm, id, len, separator, text);
    vm.joining.pop();
    result
}

fn join_elements(
    vm: &mut Vm,
    id: ObjId,
    len: usize,
    separator: StrId,
    text: fn(&mut Vm, Value) -> Res<StrId>,
) -> Res<Value> {
    let separator = vm.heap.units(separator).to_text();
    if len > 1 && separator.len().saturating_mul(len - 1) > STRING_LIMIT {
        return Err(vm.range_error("Invalid string length"));
    }
    let mut out = Joined::default();
    let pins = vm.pin_mark();
    for at in 0..len {
        vm.charge(1)?;
        if at > 0 {
            out.push(separator.units());
        }
        let value = element(vm, id, at)?;
        if !value.is_nullish() {
            let piece = text(vm, value)?;
            out.push(vm.heap.units(piece));
        }
        vm.release_pins(pins);
        if out.len() > STRING_LIMIT {
            return Err(vm.range_error("Invalid string length"));
        }
    }
    vm.new_text(out.into_text())
}

/// Text under construction, which is narrow as long as it can be.
#[derive(Debug, Default)]
struct Joined {
    narrow: Vec<u8>,
    wide: Option<Vec<u16>>,
}

impl Joined {
    fn push(&mut self, units: Units<'_>) {
        match (self.wide.as_mut(), units) {
            (None, Units::Narrow(bytes)) => self.narrow.extend_from_slice(bytes),
            (Some(out), units) => units.push_to(out),
            (None, units @ Units::Wide(_)) => {
                let mut out: Vec<u16> = self.narrow.iter().map(|&b| u16::from(b)).collect();
                units.push_to(&mut out);
                self.wide = Some(out);
            }
        }
    }

    fn len(&self) -> usize {
        self.wide.as_ref().map_or(self.narrow.len(), Vec::len)
    }

    fn into_text(self) -> Text {
        match self.wide {
            Some(units) => Text::from_units(units),
            None => Text::Narrow(self.narrow.into()),
        }
    }
}
