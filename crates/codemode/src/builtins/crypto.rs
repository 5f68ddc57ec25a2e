//! `crypto`: random identifiers and bytes, from the random source of the run.

use crate::binary::Element;
use crate::realm::{Builder, intrinsic as i};
use crate::value::Value;

pub(super) fn install(b: &mut Builder) {
    b.global("crypto", Value::Obj(i::CRYPTO));
    b.methods(
        i::CRYPTO,
        &[
            ("randomUUID", 0, |vm, _| {
                let mut bytes: Vec<u8> = (0..16).map(|_| vm.host.random_byte()).collect();
                bytes[6] = bytes[6] & 0x0F | 0x40;
                bytes[8] = bytes[8] & 0x3F | 0x80;
                let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
                let text = format!(
                    "{}-{}-{}-{}-{}",
                    &hex[..8],
                    &hex[8..12],
                    &hex[12..16],
                    &hex[16..20],
                    &hex[20..]
                );
                Ok(vm.str(&text))
            }),
            ("getRandomValues", 1, |vm, a| {
                let target = a.get(vm, 0);
                let Some(id) = target.as_obj() else {
                    return Err(vm.type_error("crypto.getRandomValues needs a Uint8Array."));
                };
                let whole = vm.typed(id).is_some_and(|window| {
                    let element = window.element;
                    !matches!(
                        element,
                        Element::Float16 | Element::Float32 | Element::Float64
                    )
                });
                let Some(len) = vm.typed_bytes(id).filter(|_| whole).map(<[u8]>::len) else {
                    return Err(vm.type_error("crypto.getRandomValues needs an array of integers."));
                };
                if len > 65_536 {
                    return Err(
                        vm.range_error("crypto.getRandomValues gives at most 65536 bytes at once.")
                    );
                }
                let new: Vec<u8> = (0..len).map(|_| vm.host.random_byte()).collect();
                if let Some(bytes) = vm.typed_bytes_mut(id) {
                    bytes.copy_from_slice(&new);
                }
                Ok(target)
            }),
        ],
    );
}
