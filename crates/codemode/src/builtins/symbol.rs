//! `Symbol`.

use crate::atoms::WELL_KNOWN;
use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i};
use crate::shape::Attrs;
use crate::value::{Key, Res, Value};
use crate::vm::{Args, Vm};

pub(super) fn install(b: &mut Builder) {
    let proto = i::SYMBOL_PROTO;
    b.constructor(i::SYMBOL, proto, "Symbol", 0, |vm, a| {
        if a.is_construct() {
            return Err(vm.type_error("Symbol is not a constructor."));
        }
        let description = a.get(vm, 0);
        let description = if description.is_undefined() {
            None
        } else {
            let id = vm.to_str(description)?;
            Some(vm.heap.units(id).to_text())
        };
        vm.reserve(64)?;
        vm.heap.interned += 64;
        Ok(Value::Sym(vm.atoms.symbol(description, false, false)))
    });
    for (number, name) in WELL_KNOWN.iter().enumerate() {
        b.constant(i::SYMBOL, name, Value::Sym(Key::symbol(number as u32)));
    }
    b.methods(
        i::SYMBOL,
        &[
            ("for", 1, |vm, a| {
                let text = a.get(vm, 0);
                let id = vm.to_str(text)?;
                let text = vm.heap.units(id).to_text();
                if let Some(found) = vm.atoms.registered(text.units()) {
                    return Ok(Value::Sym(found));
                }
                Ok(Value::Sym(vm.atoms.symbol(Some(text), false, true)))
            }),
            ("keyFor", 1, |vm, a| {
                let Value::Sym(key) = a.get(vm, 0) else {
                    return Err(vm.type_error("Symbol.keyFor needs a symbol."));
                };
                let text = key.as_symbol().and_then(|n| vm.atoms.describe(n));
                match text {
                    Some(text) if vm.atoms.registered(text.units()) == Some(key) => {
                        vm.new_text(text)
                    }
                    _ => Ok(Value::Undefined),
                }
            }),
        ],
    );
    b.methods(
        proto,
        &[
            ("toString", 0, |vm, a| {
                let key = this(vm, a)?;
                let text = vm.key_text(key);
                Ok(vm.str(&text))
            }),
            ("valueOf", 0, |vm, a| this(vm, a).map(Value::Sym)),
        ],
    );
    b.getter(
        proto,
        "description",
        |vm, a| {
            let key = this(vm, a)?;
            match key.as_symbol().and_then(|n| vm.atoms.describe(n)) {
                Some(text) => vm.new_text(text),
                None => Ok(Value::Undefined),
            }
        },
        None,
    );
    let to_primitive = b.native("[Symbol.toPrimitive]", 1, |vm, a| {
        this(vm, a).map(Value::Sym)
    });
    b.define(
        proto,
        crate::atoms::SYM_TO_PRIMITIVE,
        Value::Lazy(to_primitive),
        Attrs(Attrs::CONFIGURABLE),
    );
    b.tag(proto, "Symbol");
}

fn this(vm: &mut Vm, args: Args) -> Res<Key> {
    match args.this {
        Value::Sym(key) => Ok(key),
        Value::Obj(id) if let Kind::Boxed(Value::Sym(key)) = vm.heap.kind(id) => Ok(*key),
        _ => Err(vm.type_error("Receiver is not a symbol.")),
    }
}
