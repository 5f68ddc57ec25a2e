//! What `Uint8Array` has beyond other typed arrays, `TextEncoder` and `TextDecoder`.

use super::global::forgiving_base64;
use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i};
use crate::text::Text;
use crate::value::{ObjId, Res, Value};
use crate::vm::{Args, ErrorType, Vm};
use base64::Engine;

pub(super) fn install(b: &mut Builder) {
    b.methods(
        i::BYTES,
        &[("fromBase64", 1, from_base64), ("fromHex", 1, from_hex)],
    );
    b.methods(
        i::BYTES_PROTO,
        &[("toBase64", 0, to_base64), ("toHex", 0, to_hex)],
    );
    coders(b);
}

fn from_base64(vm: &mut Vm, args: Args) -> Res<Value> {
    let (text, options) = (args.get(vm, 0), args.get(vm, 1));
    let url = option(vm, options, "alphabet")?.as_deref() == Some("base64url");
    let text = vm.to_text(text)?;
    let clean: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    match forgiving_base64(&clean, url) {
        Some(bytes) => make(vm, &bytes),
        None => Err(vm.error(
            ErrorType::Syntax,
            "The string is not correctly encoded base 64.",
        )),
    }
}

fn from_hex(vm: &mut Vm, args: Args) -> Res<Value> {
    let text = args.get(vm, 0);
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
        Some(bytes) => make(vm, &bytes),
        None => Err(vm.error(
            ErrorType::Syntax,
            "The string is not an even number of hexadecimal digits.",
        )),
    }
}

/// The bytes of the `Uint8Array` that a method was called on.
fn this(vm: &mut Vm, args: Args) -> Res<Vec<u8>> {
    let bytes = args
        .this
        .as_obj()
        .and_then(|id| vm.uint8_bytes(id))
        .map(<[u8]>::to_vec);
    match bytes {
        Some(bytes) => Ok(bytes),
        None => Err(vm.type_error("this is not a Uint8Array.")),
    }
}

fn to_base64(vm: &mut Vm, args: Args) -> Res<Value> {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    let bytes = this(vm, args)?;
    let options = args.get(vm, 0);
    let url = option(vm, options, "alphabet")?.as_deref() == Some("base64url");
    let text = if url {
        URL_SAFE.encode(bytes)
    } else {
        STANDARD.encode(bytes)
    };
    vm.new_text(Text::new(&text))
}

fn to_hex(vm: &mut Vm, args: Args) -> Res<Value> {
    let text: String = this(vm, args)?.iter().map(|b| format!("{b:02x}")).collect();
    vm.new_text(Text::new(&text))
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

/// A `Uint8Array` of these bytes.
pub(super) fn make(vm: &mut Vm, bytes: &[u8]) -> Res<Value> {
    vm.charge(bytes.len() / 64)?;
    super::typed_array::from_bytes(vm, bytes)
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
            make(vm, text.as_bytes())
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
        value => match value.as_obj().and_then(|id| shown_bytes(vm, id)) {
            Some(bytes) => bytes,
            None => return Err(vm.type_error("TextDecoder.decode needs a Uint8Array.")),
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

/// The bytes of a buffer or of a view of one.
fn shown_bytes(vm: &Vm, id: ObjId) -> Option<Vec<u8>> {
    match vm.heap.kind(id) {
        Kind::Buffer(data) => Some(data.bytes.clone()),
        _ => vm.typed_bytes(id).map(<[u8]>::to_vec),
    }
}
