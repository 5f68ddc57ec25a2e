//! `Uint8Array`, `TextEncoder` and `TextDecoder`.

use super::global::forgiving_base64;
use crate::atoms::SYM_ITERATOR;
use crate::object::{ArrayIter, IterWhat, Kind};
use crate::realm::{Builder, intrinsic as i};
use crate::text::Text;
use crate::value::{ObjId, Res, Value};
use crate::vm::{Args, ErrorType, Vm};
use base64::Engine;

/// Longest byte array.
const LIMIT: usize = 1 << 27;

pub(super) fn install(b: &mut Builder) {
    let proto = i::BYTES_PROTO;
    b.constructor(i::BYTES, proto, "Uint8Array", 3, construct);
    b.methods(
        i::BYTES,
        &[
            ("from", 1, |vm, a| {
                let (source, f) = (a.get(vm, 0), a.get(vm, 1));
                let mut bytes = from_values(vm, source)?;
                if !f.is_undefined() {
                    for (at, byte) in bytes.iter_mut().enumerate() {
                        let args = [Value::Num(f64::from(*byte)), Value::Num(at as f64)];
                        let value = vm.call(f, Value::Undefined, &args)?;
                        *byte = to_byte(vm, value)?;
                    }
                }
                make(vm, bytes)
            }),
            ("of", 0, |vm, a| {
                let mut bytes = Vec::new();
                for value in a.all(vm) {
                    bytes.push(to_byte(vm, value)?);
                }
                make(vm, bytes)
            }),
            ("fromBase64", 1, |vm, a| {
                let (text, options) = (a.get(vm, 0), a.get(vm, 1));
                let url = option(vm, options, "alphabet")?.as_deref() == Some("base64url");
                let text = vm.to_text(text)?;
                let clean: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
                match forgiving_base64(&clean, url) {
                    Some(bytes) => make(vm, bytes),
                    None => Err(vm.error(
                        ErrorType::Syntax,
                        "The string is not correctly encoded base 64.",
                    )),
                }
            }),
            ("fromHex", 1, |vm, a| {
                let text = a.get(vm, 0);
                let text = vm.to_text(text)?;
                let digit = |c: u8| (c as char).to_digit(16);
                let pairs = text.as_bytes().chunks(2);
                let bytes: Option<Vec<u8>> = pairs
                    .map(|p| match p {
                        [a, b] => Some((digit(*a)? * 16 + digit(*b)?) as u8),
                        _ => None,
                    })
                    .collect();
                match bytes {
                    Some(bytes) => make(vm, bytes),
                    None => Err(vm.error(
                        ErrorType::Syntax,
                        "The string is not an even number of hexadecimal digits.",
                    )),
                }
            }),
        ],
    );
    b.methods(
        proto,
        &[
            ("slice", 2, |vm, a| {
                range(vm, a).and_then(|bytes| make(vm, bytes))
            }),
            ("subarray", 2, |vm, a| {
                range(vm, a).and_then(|bytes| make(vm, bytes))
            }),
            ("set", 1, |vm, a| {
                let (source, offset) = (a.get(vm, 0), a.get(vm, 1));
                let offset = vm.to_integer(offset)?;
                let new = from_values(vm, source)?;
                let bytes = bytes_mut(vm, a)?;
                if offset < 0.0 || offset as usize + new.len() > bytes.len() {
                    return Err(vm.range_error("offset is out of bounds"));
                }
                bytes[offset as usize..offset as usize + new.len()].copy_from_slice(&new);
                Ok(Value::Undefined)
            }),
            ("fill", 1, |vm, a| {
                let (value, start, end) = (a.get(vm, 0), a.get(vm, 1), a.get(vm, 2));
                let value = to_byte(vm, value)?;
                let len = bytes_mut(vm, a)?.len();
                let start = vm.relative_index(start, len, 0)?;
                let end = vm.relative_index(end, len, len)?;
                if start < end {
                    bytes_mut(vm, a)?[start..end].fill(value);
                }
                Ok(a.this)
            }),
            ("reverse", 0, |vm, a| {
                bytes_mut(vm, a)?.reverse();
                Ok(a.this)
            }),
            ("sort", 1, |vm, a| {
                let f = a.get(vm, 0);
                if f.is_undefined() {
                    bytes_mut(vm, a)?.sort_unstable();
                    return Ok(a.this);
                }
                let items = values(vm, a)?;
                let sorted = super::array::merge_sort(vm, items, &mut |vm, x, y| {
                    let order = vm.call(f, Value::Undefined, &[x, y])?;
                    Ok(vm.to_number(order)? < 0.0)
                })?;
                let mut bytes = Vec::new();
                for value in sorted {
                    bytes.push(to_byte(vm, value)?);
                }
                *bytes_mut(vm, a)? = bytes;
                Ok(a.this)
            }),
            ("toBase64", 0, |vm, a| {
                let options = a.get(vm, 0);
                let url = option(vm, options, "alphabet")?.as_deref() == Some("base64url");
                let bytes = bytes_mut(vm, a)?.clone();
                let out = if url {
                    base64::engine::general_purpose::URL_SAFE.encode(bytes)
                } else {
                    base64::engine::general_purpose::STANDARD.encode(bytes)
                };
                vm.new_text(Text::new(&out))
            }),
            ("toHex", 0, |vm, a| {
                let text: String = bytes_mut(vm, a)?
                    .iter()
                    .map(|b| format!("{b:02x}"))
                    .collect();
                vm.new_text(Text::new(&text))
            }),
            ("toString", 0, |vm, a| via_array(vm, a, "join")),
            ("map", 1, |vm, a| {
                let mapped = via_array(vm, a, "map")?;
                let bytes = from_values(vm, mapped)?;
                make(vm, bytes)
            }),
            ("filter", 1, |vm, a| {
                let kept = via_array(vm, a, "filter")?;
                let bytes = from_values(vm, kept)?;
                make(vm, bytes)
            }),
        ],
    );
    macro_rules! borrowed {
        ($($name:literal $length:literal),* $(,)?) => {
            b.methods(proto, &[$(($name, $length, |vm, a| via_array(vm, a, $name))),*]);
        };
    }
    borrowed!(
        "at" 1, "indexOf" 1, "lastIndexOf" 1, "includes" 1, "join" 1, "forEach" 1, "find" 1, "findIndex" 1,
        "findLast" 1, "findLastIndex" 1, "some" 1, "every" 1, "reduce" 1, "reduceRight" 1,
    );
    b.methods(
        proto,
        &[
            ("keys", 0, |vm, a| iterator(vm, a, IterWhat::Keys)),
            ("entries", 0, |vm, a| iterator(vm, a, IterWhat::Entries)),
        ],
    );
    let all = b.method(proto, "values", 0, |vm, a| {
        iterator(vm, a, IterWhat::Values)
    });
    b.alias(proto, SYM_ITERATOR, all);
    for label in ["length", "byteLength"] {
        b.getter(
            proto,
            label,
            |vm, a| Ok(Value::Num(bytes_mut(vm, a)?.len() as f64)),
            None,
        );
    }
    b.tag(proto, "Uint8Array");
    coders(b);
}

fn option(vm: &mut Vm, options: Value, key: &str) -> Res<Option<String>> {
    if !options.is_object() {
        return Ok(None);
    }
    let key = vm.intern(key);
    let value = vm.get(options, key)?;
    if value.is_undefined() {
        Ok(None)
    } else {
        vm.to_text(value).map(Some)
    }
}

fn to_byte(vm: &mut Vm, value: Value) -> Res<u8> {
    Ok(crate::number::to_int32(vm.to_number(value)?) as u8)
}

pub(super) fn make(vm: &mut Vm, bytes: Vec<u8>) -> Res<Value> {
    if bytes.len() > LIMIT {
        return Err(vm.range_error("Invalid typed array length"));
    }
    vm.reserve(bytes.len())?;
    vm.charge(bytes.len() / 64)?;
    Ok(Value::Obj(
        vm.heap.alloc(Some(i::BYTES_PROTO), Kind::Bytes(bytes)),
    ))
}

fn from_values(vm: &mut Vm, source: Value) -> Res<Vec<u8>> {
    if let Some(id) = source.as_obj()
        && let Kind::Bytes(bytes) = vm.heap.kind(id)
    {
        return Ok(bytes.clone());
    }
    let items = if vm.get(source, SYM_ITERATOR)?.is_nullish() {
        super::function::list_from(vm, source)?
    } else {
        vm.collect_values(source)?
    };
    let mut bytes = Vec::with_capacity(items.len());
    for item in items {
        bytes.push(to_byte(vm, item)?);
    }
    Ok(bytes)
}

fn construct(vm: &mut Vm, args: Args) -> Res<Value> {
    if !args.is_construct() {
        return Err(vm.type_error("Constructor Uint8Array requires 'new'."));
    }
    let source = args.get(vm, 0);
    let bytes = match source {
        Value::Obj(_) => from_values(vm, source)?,
        other => {
            let n = vm.to_integer(other)?;
            if n < 0.0 || n > LIMIT as f64 {
                return Err(vm.range_error("Invalid typed array length"));
            }
            vm.reserve(n as usize)?;
            vec![0; n as usize]
        }
    };
    make(vm, bytes)
}

fn id_of(vm: &mut Vm, args: Args) -> Res<ObjId> {
    match args.this.as_obj() {
        Some(id) if matches!(vm.heap.kind(id), Kind::Bytes(_)) => Ok(id),
        _ => Err(vm.type_error("this is not a typed array.")),
    }
}

fn bytes_mut(vm: &mut Vm, args: Args) -> Res<&mut Vec<u8>> {
    let id = id_of(vm, args)?;
    match vm.heap.kind_mut(id) {
        Kind::Bytes(bytes) => Ok(bytes),
        _ => Err(crate::value::Abrupt::Stop(crate::value::Stop::Cancelled)),
    }
}

fn range(vm: &mut Vm, args: Args) -> Res<Vec<u8>> {
    let len = bytes_mut(vm, args)?.len();
    let (start, end) = (args.get(vm, 0), args.get(vm, 1));
    let start = vm.relative_index(start, len, 0)?;
    let end = vm.relative_index(end, len, len)?.max(start);
    Ok(bytes_mut(vm, args)?[start..end].to_vec())
}

fn values(vm: &mut Vm, args: Args) -> Res<Vec<Value>> {
    let items: Vec<Value> = bytes_mut(vm, args)?
        .iter()
        .map(|&b| Value::Num(f64::from(b)))
        .collect();
    vm.reserve(items.len() * size_of::<Value>())?;
    vm.charge(items.len() / 8)?;
    Ok(items)
}

/// Runs the array method of the same name on the values.
fn via_array(vm: &mut Vm, args: Args, method: &str) -> Res<Value> {
    let items = values(vm, args)?;
    let array = vm.array(items);
    let key = vm.intern(method);
    let method = vm.get(Value::Obj(i::ARRAY_PROTO), key)?;
    let list = args.all(vm);
    vm.call(method, array, &list)
}

fn iterator(vm: &mut Vm, args: Args, what: IterWhat) -> Res<Value> {
    let target = Value::Obj(id_of(vm, args)?);
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

fn coders(b: &mut Builder) {
    b.constructor(i::ENCODER, i::ENCODER_PROTO, "TextEncoder", 0, |vm, _| {
        Ok(Value::Obj(
            vm.heap.alloc(Some(i::ENCODER_PROTO), Kind::TextEncoder),
        ))
    });
    b.methods(
        i::ENCODER_PROTO,
        &[("encode", 0, |vm, a| {
            let text = a.get(vm, 0);
            let text = if text.is_undefined() {
                String::new()
            } else {
                vm.to_text(text)?
            };
            make(vm, text.into_bytes())
        })],
    );
    b.getter(
        i::ENCODER_PROTO,
        "encoding",
        |vm, _| Ok(vm.str("utf-8")),
        None,
    );
    b.constructor(i::DECODER, i::DECODER_PROTO, "TextDecoder", 0, |vm, a| {
        let (label, options) = (a.get(vm, 0), a.get(vm, 1));
        if !label.is_undefined() {
            let label = vm.to_text(label)?.trim().to_ascii_lowercase();
            if !matches!(label.as_str(), "utf-8" | "utf8" | "unicode-1-1-utf-8") {
                return Err(vm.range_error("Only the encoding utf-8 is supported."));
            }
        }
        let mut flags = [false, false];
        if options.is_object() {
            for (at, key) in ["fatal", "ignoreBOM"].into_iter().enumerate() {
                let key = vm.intern(key);
                let value = vm.get(options, key)?;
                flags[at] = vm.truthy(value);
            }
        }
        let kind = Kind::TextDecoder {
            fatal: flags[0],
            ignore_bom: flags[1],
        };
        Ok(Value::Obj(vm.heap.alloc(Some(i::DECODER_PROTO), kind)))
    });
    b.methods(i::DECODER_PROTO, &[("decode", 0, decode)]);
    b.getter(
        i::DECODER_PROTO,
        "encoding",
        |vm, _| Ok(vm.str("utf-8")),
        None,
    );
    b.getter(
        i::DECODER_PROTO,
        "fatal",
        |vm, a| {
            Ok(Value::Bool(matches!(
                a.this.as_obj().map(|id| vm.heap.kind(id)),
                Some(Kind::TextDecoder { fatal: true, .. })
            )))
        },
        None,
    );
    b.getter(
        i::DECODER_PROTO,
        "ignoreBOM",
        |vm, a| {
            let kind = a.this.as_obj().map(|id| vm.heap.kind(id));
            Ok(Value::Bool(matches!(
                kind,
                Some(Kind::TextDecoder {
                    ignore_bom: true,
                    ..
                })
            )))
        },
        None,
    );
}

fn decode(vm: &mut Vm, args: Args) -> Res<Value> {
    let (fatal, ignore_bom) = match args.this.as_obj().map(|id| vm.heap.kind(id)) {
        Some(Kind::TextDecoder { fatal, ignore_bom }) => (*fatal, *ignore_bom),
        _ => return Err(vm.type_error("this is not a TextDecoder.")),
    };
    let bytes = match args.get(vm, 0) {
        Value::Undefined => Vec::new(),
        value => match value.as_obj().map(|id| vm.heap.kind(id)) {
            Some(Kind::Bytes(bytes)) => bytes.clone(),
            _ => return Err(vm.type_error("TextDecoder.decode needs a Uint8Array.")),
        },
    };
    vm.charge(bytes.len() / 16)?;
    if fatal && std::str::from_utf8(&bytes).is_err() {
        return Err(vm.type_error("The encoded data was not valid for encoding utf-8"));
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = if ignore_bom {
        &text
    } else {
        text.strip_prefix('\u{FEFF}').unwrap_or(&text)
    };
    vm.new_text(Text::new(text))
}
