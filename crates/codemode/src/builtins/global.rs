//! Global constants and the functions that encode text.

use crate::object::{Kind, PromiseState};
use crate::realm::Builder;
use crate::text::{Text, Units, push_code_point};
use crate::value::{Res, Value};
use crate::vm::{Args, ErrorType, Vm};
use base64::Engine;

pub(super) fn install(b: &mut Builder) {
    b.global("undefined", Value::Undefined);
    b.global("NaN", Value::Num(f64::NAN));
    b.global("Infinity", Value::Num(f64::INFINITY));
    b.global_function("encodeURIComponent", 1, |vm, a| encode(vm, a, "-_.!~*'()"));
    b.global_function("encodeURI", 1, |vm, a| {
        encode(vm, a, "-_.!~*'();/?:@&=+$,#")
    });
    b.global_function("decodeURIComponent", 1, |vm, a| decode(vm, a, ""));
    b.global_function("decodeURI", 1, |vm, a| decode(vm, a, ";/?:@&=+$,#"));
    b.global_function("btoa", 1, |vm, a| {
        let text = a.get(vm, 0);
        let id = vm.to_str(text)?;
        let Units::Narrow(bytes) = vm.heap.units(id) else {
            return Err(vm.error(
                ErrorType::Error,
                "The string to be encoded contains characters outside of the Latin1 range.",
            ));
        };
        let out = base64::engine::general_purpose::STANDARD.encode(bytes);
        vm.new_text(Text::new(&out))
    });
    b.global_function("atob", 1, |vm, a| {
        let text = a.get(vm, 0);
        let text = vm.to_text(text)?;
        let clean: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        match forgiving_base64(&clean, false) {
            Some(bytes) => vm.new_text(Text::Narrow(bytes.into())),
            None => Err(vm.error(
                ErrorType::Error,
                "The string to be decoded is not correctly encoded.",
            )),
        }
    });
    b.global_function("structuredClone", 1, |vm, a| {
        let value = a.get(vm, 0);
        let mut seen = rustc_hash::FxHashMap::default();
        clone(vm, value, &mut seen, 0)
    });
}

/// Base 64 as the WHATWG's forgiving decoder takes it, of either alphabet.
pub(super) fn forgiving_base64(text: &str, url_safe: bool) -> Option<Vec<u8>> {
    use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
    let alphabet = if url_safe {
        &base64::alphabet::URL_SAFE
    } else {
        &base64::alphabet::STANDARD
    };
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let trimmed = if text.len().is_multiple_of(4) {
        text.strip_suffix("==")
            .or_else(|| text.strip_suffix('='))
            .unwrap_or(text)
    } else {
        text
    };
    GeneralPurpose::new(alphabet, config).decode(trimmed).ok()
}

fn encode(vm: &mut Vm, args: Args, unescaped: &str) -> Res<Value> {
    let text = args.get(vm, 0);
    let id = vm.to_str(text)?;
    vm.charge(vm.heap.str_len(id) / 8)?;
    let mut out = String::new();
    let units = vm.heap.units(id).to_vec();
    for piece in char::decode_utf16(units) {
        let Ok(c) = piece else {
            return Err(vm.error(ErrorType::Uri, "URI malformed"));
        };
        if c.is_ascii_alphanumeric() || unescaped.contains(c) {
            out.push(c);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    vm.new_text(Text::new(&out))
}

fn hex_at(units: Units<'_>, at: usize) -> Option<u8> {
    let digit = |i: usize| char::from_u32(u32::from(units.get(i)?))?.to_digit(16);
    if units.get(at) != Some(0x25) {
        return None;
    }
    Some((digit(at + 1)? * 16 + digit(at + 2)?) as u8)
}

fn decode(vm: &mut Vm, args: Args, reserved: &str) -> Res<Value> {
    let text = args.get(vm, 0);
    let id = vm.to_str(text)?;
    vm.charge(vm.heap.str_len(id) / 8)?;
    let units = vm.heap.units(id);
    let decoded = decode_units(units, reserved);
    match decoded {
        Some(out) => vm.new_text(Text::from_units(out)),
        None => Err(vm.error(ErrorType::Uri, "URI malformed")),
    }
}

fn decode_units(units: Units<'_>, reserved: &str) -> Option<Vec<u16>> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < units.len() {
        let unit = units.at(at);
        if unit != 0x25 {
            out.push(unit);
            at += 1;
            continue;
        }
        let first = hex_at(units, at)?;
        let count = match first {
            0..=0x7F => 1,
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => return None,
        };
        let mut bytes = vec![first];
        for more in 1..count {
            bytes.push(hex_at(units, at + 3 * more)?);
        }
        let c = std::str::from_utf8(&bytes).ok()?.chars().next()?;
        if reserved.contains(c) {
            units.slice(at, at + 3 * count).push_to(&mut out);
        } else {
            push_code_point(&mut out, c as u32);
        }
        at += 3 * count;
    }
    Some(out)
}

type Seen = rustc_hash::FxHashMap<crate::value::ObjId, Value>;

/// The structured clone algorithm for the kinds of data there are.
fn clone(vm: &mut Vm, value: Value, seen: &mut Seen, depth: usize) -> Res<Value> {
    let Value::Obj(id) = value else {
        if matches!(value, Value::Sym(_) | Value::Lazy(_)) {
            return Err(vm.type_error("The value could not be cloned."));
        }
        return Ok(value);
    };
    if let Some(done) = seen.get(&id) {
        return Ok(*done);
    }
    if depth > 2_000 {
        return Err(vm.range_error("Maximum call stack size exceeded."));
    }
    vm.charge(1)?;
    vm.reserve(96)?;
    let proto = vm.heap.proto_of(id);
    let kind = vm.heap.kind(id).clone();
    let new = match kind {
        Kind::Array(items) => {
            let out = vm.array(Vec::new());
            seen.insert(id, out);
            for item in items {
                let item =
                    stacker::maybe_grow(128 << 10, 4 << 20, || clone(vm, item, seen, depth + 1))?;
                vm.push(out, item)?;
            }
            return Ok(out);
        }
        Kind::Map(table) => {
            let copy = vm.heap.alloc(proto, Kind::Map(Box::default()));
            seen.insert(id, Value::Obj(copy));
            for (key, value) in table.entries.into_iter().flatten() {
                let key = clone(vm, key, seen, depth + 1)?;
                let value = clone(vm, value, seen, depth + 1)?;
                let hashed = vm.table_key(key);
                if let Kind::Map(out) = vm.heap.kind_mut(copy) {
                    out.set(hashed, key, value);
                }
            }
            return Ok(Value::Obj(copy));
        }
        Kind::Set(table) => {
            let copy = vm.heap.alloc(proto, Kind::Set(Box::default()));
            seen.insert(id, Value::Obj(copy));
            for (key, _) in table.entries.into_iter().flatten() {
                let key = clone(vm, key, seen, depth + 1)?;
                let hashed = vm.table_key(key);
                if let Kind::Set(out) = vm.heap.kind_mut(copy) {
                    out.set(hashed, key, key);
                }
            }
            return Ok(Value::Obj(copy));
        }
        Kind::Error(data) => {
            let copy = vm.heap.alloc(proto, Kind::Error(data));
            for key in [
                crate::realm::name::MESSAGE,
                crate::realm::name::CAUSE,
                crate::realm::name::NAME,
            ] {
                if let Some(own) = vm.get_own(id, key) {
                    vm.define(copy, key, crate::shape::Attrs::HIDDEN, own.value)?;
                }
            }
            Value::Obj(copy)
        }
        Kind::Promise(data) => {
            let _ = PromiseState::Pending == data.state;
            return Err(vm.type_error("A promise could not be cloned; await it first."));
        }
        Kind::Typed(mut window) => {
            let buffer = clone(vm, Value::Obj(window.buffer), seen, depth + 1)?;
            if let Some(buffer) = buffer.as_obj() {
                window.buffer = buffer;
            }
            Value::Obj(vm.heap.alloc(proto, Kind::Typed(window)))
        }
        kind @ Kind::RegExp(_) => {
            let copy = vm.heap.alloc(proto, kind);
            let attrs = crate::shape::Attrs(crate::shape::Attrs::WRITABLE);
            let key = crate::realm::name::LAST_INDEX;
            vm.heap.add_prop(copy, key, attrs, Value::Num(0.0));
            Value::Obj(copy)
        }
        kind @ (Kind::Date(_) | Kind::Buffer(_) | Kind::Boxed(_) | Kind::Headers(_)) => {
            Value::Obj(vm.heap.alloc(proto, kind))
        }
        Kind::Ordinary | Kind::Arguments => {
            let copy = vm.object();
            seen.insert(id, Value::Obj(copy));
            for key in vm.enumerable_keys(id) {
                let value = vm.get(Value::Obj(id), key)?;
                let value =
                    stacker::maybe_grow(128 << 10, 4 << 20, || clone(vm, value, seen, depth + 1))?;
                vm.define_field(copy, key, value)?;
            }
            return Ok(Value::Obj(copy));
        }
        _ => return Err(vm.type_error("The value could not be cloned.")),
    };
    seen.insert(id, new);
    Ok(new)
}
