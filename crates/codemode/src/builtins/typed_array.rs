//! `%TypedArray%` and its eleven constructors (ECMA-262 23.2). Methods that only visit elements are those of arrays.

use super::array_buffer::{LIMIT, allocate, to_index};
use super::array_visit::{self, append};
use crate::atoms::{SYM_ITERATOR, SYM_TO_STRING_TAG};
use crate::binary::{Element, Window};
use crate::object::{ArrayIter, IterWhat, Kind};
use crate::realm::{Builder, intrinsic as i};
use crate::value::{Key, ObjId, Res, Value};
use crate::vm::{Args, Vm};

/// The constructors and prototypes, in the order of [`Element::ALL`].
const CONSTRUCTORS: [(ObjId, ObjId); 12] = [
    (i::INT8, i::INT8_PROTO),
    (i::BYTES, i::BYTES_PROTO),
    (i::UINT8_CLAMPED, i::UINT8_CLAMPED_PROTO),
    (i::INT16, i::INT16_PROTO),
    (i::UINT16, i::UINT16_PROTO),
    (i::INT32, i::INT32_PROTO),
    (i::UINT32, i::UINT32_PROTO),
    (i::BIG_INT64, i::BIG_INT64_PROTO),
    (i::BIG_UINT64, i::BIG_UINT64_PROTO),
    (i::FLOAT16, i::FLOAT16_PROTO),
    (i::FLOAT32, i::FLOAT32_PROTO),
    (i::FLOAT64, i::FLOAT64_PROTO),
];

fn constructor_of(element: Element) -> (ObjId, ObjId) {
    CONSTRUCTORS[element as usize]
}

pub(super) fn install(b: &mut Builder) {
    let proto = i::TYPED_ARRAY_PROTO;
    b.hidden_constructor(i::TYPED_ARRAY, proto, "TypedArray", 0, |vm, _| {
        Err(vm.type_error("Abstract class TypedArray not directly constructable"))
    });
    b.species(i::TYPED_ARRAY);
    b.methods(i::TYPED_ARRAY, &[("from", 1, from), ("of", 0, of)]);
    macro_rules! constructors {
        ($($at:literal),*) => {
            $(constructor(b, $at, |vm, a| construct(vm, a, Element::ALL[$at]));)*
        };
    }
    constructors!(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    array_visit::install_typed(b);
    super::array_copy::install_typed(b);
    b.methods(
        proto,
        &[
            ("map", 1, map),
            ("filter", 1, filter),
            ("set", 1, set),
            ("slice", 2, slice),
            ("subarray", 2, subarray),
            ("fill", 1, fill),
            ("copyWithin", 2, copy_within),
            ("reverse", 0, reverse),
            ("sort", 1, sort),
            ("toSorted", 1, to_sorted),
            ("toReversed", 0, to_reversed),
            ("with", 2, with),
            ("keys", 0, |vm, a| iterator(vm, a, IterWhat::Keys)),
            ("entries", 0, |vm, a| iterator(vm, a, IterWhat::Entries)),
        ],
    );
    let values = b.method(proto, "values", 0, |vm, a| {
        iterator(vm, a, IterWhat::Values)
    });
    b.alias(proto, SYM_ITERATOR, values);
    b.getter(
        proto,
        "buffer",
        |vm, a| this(vm, a).map(|(_, window)| Value::Obj(window.buffer)),
        None,
    );
    b.getter(
        proto,
        "byteLength",
        |vm, a| {
            let (_, window) = this(vm, a)?;
            let len = vm.window_len(&window).unwrap_or(0);
            Ok(Value::Num((len * window.element.size()) as f64))
        },
        None,
    );
    b.getter(
        proto,
        "byteOffset",
        |vm, a| {
            let (_, window) = this(vm, a)?;
            let shown = vm.window_len(&window).is_some();
            Ok(Value::Num(if shown { window.offset as f64 } else { 0.0 }))
        },
        None,
    );
    b.getter(
        proto,
        "length",
        |vm, a| {
            let (_, window) = this(vm, a)?;
            Ok(Value::Num(vm.window_len(&window).unwrap_or(0) as f64))
        },
        None,
    );
    b.symbol_getter(
        proto,
        SYM_TO_STRING_TAG,
        "get [Symbol.toStringTag]",
        |vm, a| match a.this.as_obj().and_then(|id| vm.typed(id)) {
            Some(window) => Ok(vm.str(window.element.name())),
            None => Ok(Value::Undefined),
        },
    );
}

fn constructor(b: &mut Builder, at: usize, func: crate::realm::NativeFn) {
    let element = Element::ALL[at];
    let (object, proto) = constructor_of(element);
    b.constructor(object, proto, element.name(), 3, func);
    b.proto(object, i::TYPED_ARRAY);
    b.proto(proto, i::TYPED_ARRAY_PROTO);
    let size = Value::Num(element.size() as f64);
    b.constant(object, "BYTES_PER_ELEMENT", size);
    b.constant(proto, "BYTES_PER_ELEMENT", size);
}

fn this(vm: &mut Vm, args: Args) -> Res<(ObjId, Window)> {
    match args.this.as_obj().and_then(|id| Some((id, vm.typed(id)?))) {
        Some(found) => Ok(found),
        None => Err(vm.type_error("this is not a typed array.")),
    }
}

/// `ValidateTypedArray`: the array and its length.
pub(super) fn validate(vm: &mut Vm, value: Value) -> Res<(ObjId, usize)> {
    let Some((id, window)) = value.as_obj().and_then(|id| Some((id, vm.typed(id)?))) else {
        return Err(vm.type_error("this is not a typed array."));
    };
    match vm.window_len(&window) {
        Some(len) => Ok((id, len)),
        None => Err(vm.type_error("The typed array's buffer is detached or too short.")),
    }
}

fn element_of(vm: &Vm, id: ObjId) -> Element {
    vm.typed(id).map_or(Element::Uint8, |window| window.element)
}

fn item(vm: &mut Vm, id: ObjId, at: usize) -> Value {
    vm.typed_get(id, at).unwrap_or(Value::Undefined)
}

/// Makes a typed array over a new buffer.
fn make(vm: &mut Vm, element: Element, proto: ObjId, len: usize) -> Res<ObjId> {
    if len > LIMIT / element.size() {
        return Err(vm.range_error("Invalid typed array length"));
    }
    let buffer = allocate(vm, i::ARRAY_BUFFER_PROTO, len * element.size(), None)?;
    let window = Window {
        buffer,
        offset: 0,
        length: Some(len),
        element,
    };
    Ok(vm.heap.alloc(Some(proto), Kind::Typed(Box::new(window))))
}

/// A `Uint8Array` of these bytes.
pub(super) fn from_bytes(vm: &mut Vm, bytes: &[u8]) -> Res<Value> {
    let id = make(vm, Element::Uint8, i::BYTES_PROTO, bytes.len())?;
    if let Some(place) = vm.typed_bytes_mut(id) {
        place.copy_from_slice(bytes);
    }
    Ok(Value::Obj(id))
}

fn construct(vm: &mut Vm, args: Args, element: Element) -> Res<Value> {
    if !args.is_construct() {
        return Err(vm.type_error(&format!("Constructor {} requires 'new'.", element.name())));
    }
    let source = args.get(vm, 0);
    let default = constructor_of(element).1;
    let Some(id) = vm.settle(source).as_obj() else {
        let len = to_index(vm, source)?;
        let proto = vm.proto_of_new(args.new_target, default)?;
        return make(vm, element, proto, len).map(Value::Obj);
    };
    let proto = vm.proto_of_new(args.new_target, default)?;
    match vm.heap.kind(id) {
        Kind::Typed(_) => copy_of(vm, id, element, proto),
        Kind::Buffer(_) => over_buffer(vm, args, id, element, proto),
        _ => {
            let items = match vm.get_method(source, SYM_ITERATOR)? {
                Some(_) => vm.collect_values(source)?,
                None => super::function::list_from(vm, source)?,
            };
            items.iter().for_each(|&value| vm.pin(value));
            let out = make(vm, element, proto, items.len())?;
            for (at, value) in items.into_iter().enumerate() {
                vm.typed_put(out, Some(at), value)?;
            }
            Ok(Value::Obj(out))
        }
    }
}

fn copy_of(vm: &mut Vm, source: ObjId, element: Element, proto: ObjId) -> Res<Value> {
    let (_, len) = validate(vm, Value::Obj(source))?;
    let out = make(vm, element, proto, len)?;
    same_content(vm, element_of(vm, source), element)?;
    copy_elements(vm, source, out, 0..len, 0)?;
    Ok(Value::Obj(out))
}

fn same_content(vm: &mut Vm, from: Element, to: Element) -> Res<()> {
    if from.is_big() == to.is_big() {
        return Ok(());
    }
    Err(vm.type_error("Cannot mix BigInt and other types."))
}

/// Copies elements, converting them when the types differ.
fn copy_elements(
    vm: &mut Vm,
    from: ObjId,
    to: ObjId,
    range: std::ops::Range<usize>,
    start: usize,
) -> Res<()> {
    let (source, target) = (element_of(vm, from), element_of(vm, to));
    vm.charge(range.len() / 16)?;
    let size = source.size();
    let bytes = match vm.typed_bytes(from) {
        Some(bytes) => {
            let end = (range.end * size).min(bytes.len());
            bytes
                .get(range.start * size..end)
                .unwrap_or_default()
                .to_vec()
        }
        None => return Ok(()),
    };
    if source == target {
        if let Some(place) = vm.typed_bytes_mut(to)
            && let Some(place) = place.get_mut(start * size..)
        {
            let count = bytes.len().min(place.len());
            place[..count].copy_from_slice(&bytes[..count]);
        }
        return Ok(());
    }
    for (at, chunk) in bytes.chunks_exact(size).enumerate() {
        if let Some(raw) = source.read(chunk) {
            vm.typed_store(to, start + at, target, &raw);
        }
    }
    Ok(())
}

fn over_buffer(
    vm: &mut Vm,
    args: Args,
    buffer: ObjId,
    element: Element,
    proto: ObjId,
) -> Res<Value> {
    let (offset, length) = (args.get(vm, 1), args.get(vm, 2));
    let offset = to_index(vm, offset)?;
    let size = element.size();
    if !offset.is_multiple_of(size) {
        return Err(vm.range_error("start offset should be a multiple of the element's size"));
    }
    let length = match length {
        Value::Undefined => None,
        length => Some(to_index(vm, length)?),
    };
    let Some((len, resizable)) = vm
        .buffer(buffer)
        .filter(|data| !data.detached)
        .map(|data| (data.bytes.len(), data.max.is_some()))
    else {
        return Err(vm.type_error("The ArrayBuffer is detached."));
    };
    let follows = length.is_none() && resizable;
    let length = match length {
        Some(length) => Some(length),
        None if follows => None,
        None if !len.is_multiple_of(size) => {
            return Err(vm.range_error("byte length should be a multiple of the element's size"));
        }
        None => Some(len.saturating_sub(offset) / size),
    };
    let fits = length.is_none_or(|n| n.checked_mul(size).is_some_and(|n| offset + n <= len));
    if offset > len || !fits {
        return Err(vm.range_error("Invalid typed array length"));
    }
    let window = Window {
        buffer,
        offset,
        length,
        element,
    };
    Ok(Value::Obj(
        vm.heap.alloc(Some(proto), Kind::Typed(Box::new(window))),
    ))
}

/// `TypedArrayCreateFromConstructor`: with a length, the result has to be long enough.
fn create(vm: &mut Vm, constructor: Value, list: &[Value]) -> Res<ObjId> {
    let made = vm.construct(constructor, list, constructor)?;
    let (id, len) = validate(vm, made)?;
    if let [Value::Num(wanted)] = list
        && (len as f64) < *wanted
    {
        return Err(vm.type_error("The constructor made a typed array that is too short."));
    }
    Ok(id)
}

/// `TypedArraySpeciesCreate`.
fn species_create(vm: &mut Vm, original: ObjId, list: &[Value]) -> Res<ObjId> {
    let element = element_of(vm, original);
    let constructor = vm.species_of(original, constructor_of(element).0)?;
    let id = create(vm, constructor, list)?;
    same_content(vm, element, element_of(vm, id))?;
    Ok(id)
}

/// A new array of the same type.
fn same_type(vm: &mut Vm, original: ObjId, len: usize) -> Res<ObjId> {
    let element = element_of(vm, original);
    make(vm, element, constructor_of(element).1, len)
}

fn of(vm: &mut Vm, args: Args) -> Res<Value> {
    let constructor = vm.settle(args.this);
    if !vm.is_constructor(constructor) {
        return Err(vm.type_error("TypedArray.of needs a constructor."));
    }
    let out = create(vm, constructor, &[Value::Num(args.len() as f64)])?;
    for at in 0..args.len() {
        let value = args.get(vm, at);
        vm.put(Value::Obj(out), Key::index(at as u32), value)?;
    }
    Ok(Value::Obj(out))
}

fn from(vm: &mut Vm, args: Args) -> Res<Value> {
    let constructor = vm.settle(args.this);
    if !vm.is_constructor(constructor) {
        return Err(vm.type_error("TypedArray.from needs a constructor."));
    }
    let (source, f, this) = (args.get(vm, 0), args.get(vm, 1), args.get(vm, 2));
    if !f.is_undefined() && !vm.is_callable(f) {
        return Err(vm.type_error("TypedArray.from mapper is not a function."));
    }
    let (items, source, len) = match vm.get_method(source, SYM_ITERATOR)? {
        Some(_) => {
            let items = vm.collect_values(source)?;
            let len = items.len();
            (Some(items), None, len)
        }
        None => {
            let id = vm.to_object(source)?;
            let len = vm.length_of(id)?;
            (None, Some(id), len)
        }
    };
    if let Some(items) = &items {
        items.iter().for_each(|&value| vm.pin(value));
    }
    let out = create(vm, constructor, &[Value::Num(len as f64)])?;
    let pins = vm.pin_mark();
    for at in 0..len {
        vm.charge(1)?;
        let value = match (&items, source) {
            (Some(items), _) => items[at],
            (None, Some(id)) => super::array::element(vm, id, at)?,
            (None, None) => Value::Undefined,
        };
        let value = match f {
            Value::Undefined => value,
            f => vm.call(f, this, &[value, Value::Num(at as f64)])?,
        };
        vm.put(Value::Obj(out), Key::index(at as u32), value)?;
        vm.release_pins(pins);
    }
    Ok(Value::Obj(out))
}

fn map(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len, f) = array_visit::visit::<true>(vm, args)?;
    let this = args.get(vm, 1);
    let out = species_create(vm, id, &[Value::Num(len as f64)])?;
    let pins = vm.pin_mark();
    for at in 0..len {
        vm.charge(1)?;
        let value = item(vm, id, at);
        let result = vm.call(f, this, &[value, Value::Num(at as f64), Value::Obj(id)])?;
        vm.put(Value::Obj(out), Key::index(at as u32), result)?;
        vm.release_pins(pins);
    }
    Ok(Value::Obj(out))
}

fn filter(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len, f) = array_visit::visit::<true>(vm, args)?;
    let this = args.get(vm, 1);
    let kept = vm.array(Vec::new());
    let Some(list) = kept.as_obj() else {
        return Ok(kept);
    };
    let pins = vm.pin_mark();
    let mut count = 0;
    for at in 0..len {
        vm.charge(1)?;
        let value = item(vm, id, at);
        let keep = vm.call(f, this, &[value, Value::Num(at as f64), Value::Obj(id)])?;
        if vm.truthy(keep) {
            append(vm, list, count, value)?;
            count += 1;
        }
        vm.release_pins(pins);
    }
    let out = species_create(vm, id, &[Value::Num(count as f64)])?;
    for (at, value) in vm.array_items(kept).into_iter().enumerate() {
        vm.put(Value::Obj(out), Key::index(at as u32), value)?;
    }
    Ok(Value::Obj(out))
}

fn set(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, _) = this(vm, args)?;
    let (source, offset) = (args.get(vm, 0), args.get(vm, 1));
    let offset = vm.to_integer(offset)?;
    if offset < 0.0 {
        return Err(vm.range_error("offset is out of bounds"));
    }
    let (_, len) = validate(vm, args.this)?;
    if let Some(from) = source.as_obj().filter(|&from| vm.typed(from).is_some()) {
        let (_, count) = validate(vm, source)?;
        same_content(vm, element_of(vm, from), element_of(vm, id))?;
        if offset + count as f64 > len as f64 {
            return Err(vm.range_error("offset is out of bounds"));
        }
        copy_elements(vm, from, id, 0..count, offset as usize)?;
        return Ok(Value::Undefined);
    }
    let from = vm.to_object(source)?;
    let count = vm.length_of(from)?;
    if offset + count as f64 > len as f64 {
        return Err(vm.range_error("offset is out of bounds"));
    }
    for at in 0..count {
        vm.charge(1)?;
        let value = super::array::element(vm, from, at)?;
        vm.typed_put(id, Some(offset as usize + at), value)?;
    }
    Ok(Value::Undefined)
}

fn range(vm: &mut Vm, args: Args, len: usize) -> Res<(usize, usize)> {
    let (start, end) = (args.get(vm, 0), args.get(vm, 1));
    let start = vm.relative_index(start, len, 0)?;
    let end = vm.relative_index(end, len, len)?;
    Ok((start, end.max(start)))
}

fn slice(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len) = validate(vm, args.this)?;
    let (start, end) = range(vm, args, len)?;
    let out = species_create(vm, id, &[Value::Num((end - start) as f64)])?;
    if start < end {
        let (_, now) = validate(vm, args.this)?;
        let end = end.min(now);
        if start < end {
            if element_of(vm, id) == element_of(vm, out) {
                copy_in_order(vm, id, out, start..end)?;
            } else {
                for at in start..end {
                    let value = item(vm, id, at);
                    vm.put(Value::Obj(out), Key::index((at - start) as u32), value)?;
                }
            }
        }
    }
    Ok(Value::Obj(out))
}

/// Copies bytes from the first to the last, as the standard does when both arrays show the same buffer.
fn copy_in_order(vm: &mut Vm, from: ObjId, to: ObjId, range: std::ops::Range<usize>) -> Res<()> {
    let (Some(source), Some(target)) = (vm.typed(from), vm.typed(to)) else {
        return Ok(());
    };
    if source.buffer != target.buffer {
        return copy_elements(vm, from, to, range, 0);
    }
    let size = source.element.size();
    vm.charge(range.len())?;
    if let Some(data) = vm.buffer_mut(source.buffer) {
        for at in 0..range.len() * size {
            let (a, b) = (source.offset + range.start * size + at, target.offset + at);
            if a < data.bytes.len() && b < data.bytes.len() {
                data.bytes[b] = data.bytes[a];
            }
        }
    }
    Ok(())
}

fn subarray(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, window) = this(vm, args)?;
    let len = vm.window_len(&window).unwrap_or(0);
    let (start, end) = (args.get(vm, 0), args.get(vm, 1));
    let follows = window.length.is_none() && end.is_undefined();
    let start = vm.relative_index(start, len, 0)?;
    let end = vm.relative_index(end, len, len)?.max(start);
    let offset = window.offset + start * window.element.size();
    let mut list = vec![Value::Obj(window.buffer), Value::Num(offset as f64)];
    if !follows {
        list.push(Value::Num((end - start) as f64));
    }
    species_create(vm, id, &list).map(Value::Obj)
}

fn fill(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len) = validate(vm, args.this)?;
    let (value, start, end) = (args.get(vm, 0), args.get(vm, 1), args.get(vm, 2));
    let element = element_of(vm, id);
    let raw = vm.to_raw(element, value)?;
    let start = vm.relative_index(start, len, 0)?;
    let end = vm.relative_index(end, len, len)?;
    let (_, now) = validate(vm, args.this)?;
    vm.charge(len / 16)?;
    for at in start..end.min(now) {
        vm.typed_store(id, at, element, &raw);
    }
    Ok(args.this)
}

fn copy_within(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len) = validate(vm, args.this)?;
    let (to, from, end) = (args.get(vm, 0), args.get(vm, 1), args.get(vm, 2));
    let to = vm.relative_index(to, len, 0)?;
    let from = vm.relative_index(from, len, 0)?;
    let end = vm.relative_index(end, len, len)?;
    let count = end.saturating_sub(from).min(len - to);
    if count > 0 {
        let (_, now) = validate(vm, args.this)?;
        let size = element_of(vm, id).size();
        let end = (from + count).min(now);
        let count = end.saturating_sub(from).min(now.saturating_sub(to));
        if let Some(bytes) = vm.typed_bytes_mut(id) {
            bytes.copy_within(from * size..(from + count) * size, to * size);
        }
    }
    Ok(args.this)
}

fn reverse(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, _) = validate(vm, args.this)?;
    let size = element_of(vm, id).size();
    if let Some(bytes) = vm.typed_bytes_mut(id) {
        bytes.reverse();
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    Ok(args.this)
}

/// The elements in order: numbers by value, minus zero before zero, what is no number last.
fn sorted(vm: &mut Vm, id: ObjId, len: usize, f: Value) -> Res<Vec<Value>> {
    let items: Vec<Value> = (0..len).map(|at| item(vm, id, at)).collect();
    vm.reserve(len * size_of::<Value>())?;
    vm.charge(len)?;
    items.iter().for_each(|&value| vm.pin(value));
    if !f.is_undefined() {
        return super::array_sort::merge_sort(vm, items, &mut |vm, a, b| {
            let order = vm.call(f, Value::Undefined, &[a, b])?;
            Ok(vm.to_number(order)? < 0.0)
        });
    }
    let mut items = items;
    let heap = &vm.heap;
    items.sort_by(|a, b| match (a, b) {
        (Value::Num(a), Value::Num(b)) => {
            // `total_cmp` puts a negative NaN first.
            let key = |n: f64| if n.is_nan() { f64::NAN.abs() } else { n };
            key(*a).total_cmp(&key(*b))
        }
        (Value::Big(a), Value::Big(b)) => heap.big_value(*a).cmp(heap.big_value(*b)),
        _ => std::cmp::Ordering::Equal,
    });
    Ok(items)
}

fn comparison(vm: &mut Vm, args: Args) -> Res<Value> {
    let f = args.get(vm, 0);
    if !f.is_undefined() && !vm.is_callable(f) {
        return Err(
            vm.type_error("The comparison function must be either a function or undefined.")
        );
    }
    Ok(f)
}

fn sort(vm: &mut Vm, args: Args) -> Res<Value> {
    let f = comparison(vm, args)?;
    let (id, len) = validate(vm, args.this)?;
    for (at, value) in sorted(vm, id, len, f)?.into_iter().enumerate() {
        vm.typed_put(id, Some(at), value)?;
    }
    Ok(args.this)
}

fn to_sorted(vm: &mut Vm, args: Args) -> Res<Value> {
    let f = comparison(vm, args)?;
    let (id, len) = validate(vm, args.this)?;
    let out = same_type(vm, id, len)?;
    for (at, value) in sorted(vm, id, len, f)?.into_iter().enumerate() {
        vm.typed_put(out, Some(at), value)?;
    }
    Ok(Value::Obj(out))
}

fn to_reversed(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len) = validate(vm, args.this)?;
    let out = same_type(vm, id, len)?;
    for at in 0..len {
        let value = item(vm, id, len - 1 - at);
        vm.typed_put(out, Some(at), value)?;
    }
    Ok(Value::Obj(out))
}

fn with(vm: &mut Vm, args: Args) -> Res<Value> {
    let (id, len) = validate(vm, args.this)?;
    let (n, value) = (args.get(vm, 0), args.get(vm, 1));
    let n = vm.to_integer(n)?;
    let at = if n < 0.0 { len as f64 + n } else { n };
    let element = element_of(vm, id);
    let raw = vm.to_raw(element, value)?;
    let now = vm
        .typed(id)
        .and_then(|window| vm.window_len(&window))
        .unwrap_or(0);
    if at < 0.0 || at >= now as f64 {
        return Err(vm.range_error("Invalid typed array index"));
    }
    let out = same_type(vm, id, len)?;
    for place in 0..len {
        if place == at as usize {
            vm.typed_store(out, place, element, &raw);
        } else {
            let value = item(vm, id, place);
            vm.typed_put(out, Some(place), value)?;
        }
    }
    Ok(Value::Obj(out))
}

fn iterator(vm: &mut Vm, args: Args, what: IterWhat) -> Res<Value> {
    let (id, _) = validate(vm, args.this)?;
    let iter = ArrayIter {
        target: Value::Obj(id),
        index: 0,
        what,
        done: false,
    };
    let kind = Kind::ArrayIter(Box::new(iter));
    Ok(Value::Obj(
        vm.heap.alloc(Some(i::ARRAY_ITERATOR_PROTO), kind),
    ))
}
