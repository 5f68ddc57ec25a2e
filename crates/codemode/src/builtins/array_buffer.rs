//! `ArrayBuffer` and `DataView`.

use crate::binary::{BufferData, Element, Window};
use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i};
use crate::value::{ObjId, Res, Value};
use crate::vm::{Args, Vm};

/// Longest buffer, in bytes.
pub(super) const LIMIT: usize = 1 << 30;

pub(super) fn install(b: &mut Builder) {
    let proto = i::ARRAY_BUFFER_PROTO;
    b.constructor(i::ARRAY_BUFFER, proto, "ArrayBuffer", 1, construct);
    b.species(i::ARRAY_BUFFER);
    b.methods(
        i::ARRAY_BUFFER,
        &[("isView", 1, |vm, a| {
            let id = a.get(vm, 0).as_obj();
            let kind = id.map(|id| vm.heap.kind(id));
            Ok(Value::Bool(matches!(
                kind,
                Some(Kind::Typed(_) | Kind::View(_))
            )))
        })],
    );
    b.methods(
        proto,
        &[
            ("slice", 2, slice),
            ("resize", 1, resize),
            ("transfer", 0, |vm, a| transfer(vm, a, true)),
            ("transferToFixedLength", 0, |vm, a| transfer(vm, a, false)),
        ],
    );
    b.getter(
        proto,
        "byteLength",
        |vm, a| about(vm, a, |data| data.bytes.len()),
        None,
    );
    b.getter(
        proto,
        "maxByteLength",
        |vm, a| {
            about(vm, a, |data| {
                if data.detached {
                    0
                } else {
                    data.max.unwrap_or(data.bytes.len())
                }
            })
        },
        None,
    );
    b.getter(
        proto,
        "resizable",
        |vm, a| {
            let id = this(vm, a)?;
            Ok(Value::Bool(
                vm.buffer(id).is_some_and(|data| data.max.is_some()),
            ))
        },
        None,
    );
    b.getter(
        proto,
        "detached",
        |vm, a| {
            let id = this(vm, a)?;
            Ok(Value::Bool(vm.buffer(id).is_some_and(|data| data.detached)))
        },
        None,
    );
    b.tag(proto, "ArrayBuffer");
    data_view(b);
}

fn this(vm: &mut Vm, args: Args) -> Res<ObjId> {
    match args.this.as_obj() {
        Some(id) if vm.buffer(id).is_some() => Ok(id),
        _ => Err(vm.type_error("Receiver is not an ArrayBuffer.")),
    }
}

fn about(vm: &mut Vm, args: Args, what: fn(&BufferData) -> usize) -> Res<Value> {
    let id = this(vm, args)?;
    Ok(Value::Num(vm.buffer(id).map_or(0, what) as f64))
}

/// `ToIndex`.
pub(super) fn to_index(vm: &mut Vm, value: Value) -> Res<usize> {
    let n = vm.to_integer(value)?;
    if !(0.0..=9_007_199_254_740_991.0).contains(&n) {
        return Err(vm.range_error("Invalid index or length"));
    }
    Ok(n as usize)
}

/// Makes a buffer of zeros.
pub(super) fn allocate(vm: &mut Vm, proto: ObjId, len: usize, max: Option<usize>) -> Res<ObjId> {
    if len > LIMIT || max.is_some_and(|max| max > LIMIT || max < len) {
        return Err(vm.range_error("Array buffer allocation failed"));
    }
    vm.reserve(len)?;
    vm.charge(len / 64)?;
    let data = BufferData {
        bytes: vec![0; len],
        max,
        detached: false,
    };
    Ok(vm.heap.alloc(Some(proto), Kind::Buffer(Box::new(data))))
}

fn construct(vm: &mut Vm, args: Args) -> Res<Value> {
    if !args.is_construct() {
        return Err(vm.type_error("Constructor ArrayBuffer requires 'new'."));
    }
    let (len, options) = (args.get(vm, 0), args.get(vm, 1));
    let len = to_index(vm, len)?;
    let max = if options.is_object() {
        let key = vm.intern("maxByteLength");
        match vm.get(options, key)? {
            Value::Undefined => None,
            max => Some(to_index(vm, max)?),
        }
    } else {
        None
    };
    let proto = vm.proto_of_new(args.new_target, i::ARRAY_BUFFER_PROTO)?;
    allocate(vm, proto, len, max).map(Value::Obj)
}

fn attached(vm: &mut Vm, id: ObjId) -> Res<usize> {
    match vm.buffer(id) {
        Some(data) if !data.detached => Ok(data.bytes.len()),
        _ => Err(vm.type_error("The ArrayBuffer is detached.")),
    }
}

fn slice(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = this(vm, args)?;
    let len = attached(vm, id)?;
    let (start, end) = (args.get(vm, 0), args.get(vm, 1));
    let start = vm.relative_index(start, len, 0)?;
    let end = vm.relative_index(end, len, len)?;
    let count = end.saturating_sub(start);
    let constructor = vm.species_of(id, i::ARRAY_BUFFER)?;
    let made = vm.construct(constructor, &[Value::Num(count as f64)], constructor)?;
    let new = vm.require_object(made)?;
    let Some(room) = vm.buffer(new).map(|data| data.bytes.len()) else {
        return Err(vm.type_error("The constructor didn't make an ArrayBuffer."));
    };
    attached(vm, new)?;
    if new == id || room < count {
        return Err(vm.type_error("The constructor made an unfit ArrayBuffer."));
    }
    let now = attached(vm, id)?;
    let end = (start + count).min(now);
    if start < end {
        let bytes = vm
            .buffer(id)
            .map(|data| data.bytes[start..end].to_vec())
            .unwrap_or_default();
        if let Some(data) = vm.buffer_mut(new) {
            data.bytes[..bytes.len()].copy_from_slice(&bytes);
        }
    }
    Ok(Value::Obj(new))
}

fn resize(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = this(vm, args)?;
    let Some(max) = vm.buffer(id).and_then(|data| data.max) else {
        return Err(vm.type_error("The ArrayBuffer can't be resized."));
    };
    let new = args.get(vm, 0);
    let new = to_index(vm, new)?;
    let old = attached(vm, id)?;
    if new > max {
        return Err(vm.range_error("The new length is larger than the buffer's maximum."));
    }
    let more = new.saturating_sub(old);
    vm.reserve(more)?;
    vm.heap.bytes += more;
    if let Some(data) = vm.buffer_mut(id) {
        data.bytes.resize(new, 0);
    }
    Ok(Value::Undefined)
}

fn transfer(vm: &mut Vm, args: Args, keeps_max: bool) -> Res<Value> {
    let id = this(vm, args)?;
    let new = args.get(vm, 0);
    let new = if new.is_undefined() {
        vm.buffer(id).map_or(0, |data| data.bytes.len())
    } else {
        to_index(vm, new)?
    };
    attached(vm, id)?;
    let max = vm
        .buffer(id)
        .and_then(|data| data.max)
        .filter(|_| keeps_max);
    let target = allocate(vm, i::ARRAY_BUFFER_PROTO, new, max)?;
    let bytes = match vm.buffer_mut(id) {
        Some(data) => {
            data.detached = true;
            std::mem::take(&mut data.bytes)
        }
        None => Vec::new(),
    };
    if let Some(data) = vm.buffer_mut(target) {
        let count = bytes.len().min(new);
        data.bytes[..count].copy_from_slice(&bytes[..count]);
    }
    Ok(Value::Obj(target))
}

fn data_view(b: &mut Builder) {
    let proto = i::DATA_VIEW_PROTO;
    b.constructor(i::DATA_VIEW, proto, "DataView", 1, construct_view);
    b.getter(
        proto,
        "buffer",
        |vm, a| view(vm, a).map(|window| Value::Obj(window.buffer)),
        None,
    );
    b.getter(
        proto,
        "byteLength",
        |vm, a| {
            let window = view(vm, a)?;
            view_len(vm, &window).map(|len| Value::Num(len as f64))
        },
        None,
    );
    b.getter(
        proto,
        "byteOffset",
        |vm, a| {
            let window = view(vm, a)?;
            view_len(vm, &window)?;
            Ok(Value::Num(window.offset as f64))
        },
        None,
    );
    macro_rules! accessors {
        ($($element:ident $get:literal $set:literal),* $(,)?) => {
            b.methods(proto, &[$(
                ($get, 1, |vm, a| read(vm, a, Element::$element)),
                ($set, 2, |vm, a| write(vm, a, Element::$element)),
            )*]);
        };
    }
    accessors!(
        Int8 "getInt8" "setInt8", Uint8 "getUint8" "setUint8", Int16 "getInt16" "setInt16",
        Uint16 "getUint16" "setUint16", Int32 "getInt32" "setInt32", Uint32 "getUint32" "setUint32",
        Float16 "getFloat16" "setFloat16", Float32 "getFloat32" "setFloat32",
        Float64 "getFloat64" "setFloat64", BigInt64 "getBigInt64" "setBigInt64",
        BigUint64 "getBigUint64" "setBigUint64",
    );
    b.tag(proto, "DataView");
}

fn construct_view(vm: &mut Vm, args: Args) -> Res<Value> {
    if !args.is_construct() {
        return Err(vm.type_error("Constructor DataView requires 'new'."));
    }
    let (buffer, offset, length) = (args.get(vm, 0), args.get(vm, 1), args.get(vm, 2));
    let Some(buffer) = buffer.as_obj().filter(|&id| vm.buffer(id).is_some()) else {
        return Err(vm.type_error("DataView needs an ArrayBuffer."));
    };
    let offset = to_index(vm, offset)?;
    let len = attached(vm, buffer)?;
    if offset > len {
        return Err(vm.range_error("Start offset is outside the bounds of the buffer."));
    }
    let resizable = vm.buffer(buffer).is_some_and(|data| data.max.is_some());
    let length = match length {
        Value::Undefined if resizable => None,
        Value::Undefined => Some(len - offset),
        length => Some(to_index(vm, length)?),
    };
    let fits = |len: usize| offset <= len && length.is_none_or(|n| offset + n <= len);
    if !fits(len) {
        return Err(vm.range_error("Invalid DataView length"));
    }
    let proto = vm.proto_of_new(args.new_target, i::DATA_VIEW_PROTO)?;
    let len = attached(vm, buffer)?;
    if !fits(len) {
        return Err(vm.range_error("Invalid DataView length"));
    }
    let window = Window {
        buffer,
        offset,
        length,
        element: Element::Uint8,
    };
    Ok(Value::Obj(
        vm.heap.alloc(Some(proto), Kind::View(Box::new(window))),
    ))
}

fn view(vm: &mut Vm, args: Args) -> Res<Window> {
    match args.this.as_obj().map(|id| vm.heap.kind(id)) {
        Some(Kind::View(window)) => Ok(**window),
        _ => Err(vm.type_error("Receiver is not a DataView.")),
    }
}

fn view_len(vm: &mut Vm, window: &Window) -> Res<usize> {
    match vm.window_len(window) {
        Some(len) => Ok(len),
        None => Err(vm.type_error("The DataView's buffer is detached or too short.")),
    }
}

fn place(vm: &mut Vm, window: &Window, at: usize, element: Element) -> Res<std::ops::Range<usize>> {
    let len = view_len(vm, window)?;
    let size = element.size();
    if at.checked_add(size).is_none_or(|end| end > len) {
        return Err(vm.range_error("Offset is outside the bounds of the DataView."));
    }
    Ok(window.offset + at..window.offset + at + size)
}

fn read(vm: &mut Vm, args: Args, element: Element) -> Res<Value> {
    let window = view(vm, args)?;
    let (at, little) = (args.get(vm, 0), args.get(vm, 1));
    let at = to_index(vm, at)?;
    let little = vm.truthy(little);
    let range = place(vm, &window, at, element)?;
    let mut bytes = match vm.buffer(window.buffer) {
        Some(data) => data.bytes[range].to_vec(),
        None => Vec::new(),
    };
    if !little {
        bytes.reverse();
    }
    Ok(match element.read(&bytes) {
        Some(crate::binary::Raw::Num(n)) => Value::Num(n),
        Some(crate::binary::Raw::Big(big)) => vm.heap.big(big),
        None => Value::Undefined,
    })
}

fn write(vm: &mut Vm, args: Args, element: Element) -> Res<Value> {
    let window = view(vm, args)?;
    let (at, value, little) = (args.get(vm, 0), args.get(vm, 1), args.get(vm, 2));
    let at = to_index(vm, at)?;
    let raw = vm.to_raw(element, value)?;
    let little = vm.truthy(little);
    let range = place(vm, &window, at, element)?;
    let mut bytes = element.write(&raw)[..element.size()].to_vec();
    if !little {
        bytes.reverse();
    }
    if let Some(data) = vm.buffer_mut(window.buffer) {
        data.bytes[range].copy_from_slice(&bytes);
    }
    Ok(Value::Undefined)
}
