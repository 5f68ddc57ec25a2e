//! `BigInt`.

use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i};
use crate::value::{BigId, Res, Value};
use crate::vm::{Args, Hint, Vm};
use num_bigint::BigInt;
use num_traits::FromPrimitive;

pub(super) fn install(b: &mut Builder) {
    let proto = i::BIGINT_PROTO;
    b.constructor(i::BIGINT, proto, "BigInt", 1, |vm, a| {
        if a.is_construct() {
            return Err(vm.type_error("BigInt is not a constructor."));
        }
        let value = a.get(vm, 0);
        let value = vm.to_primitive(value, Hint::Number)?;
        if let Value::Num(n) = value {
            let whole = if n.trunc() == n {
                BigInt::from_f64(n)
            } else {
                None
            };
            return match whole {
                Some(big) => vm.new_big(big),
                None => Err(vm.range_error(&format!(
                    "The number {} cannot be converted to a BigInt because it is not an integer",
                    crate::number::to_string(n)
                ))),
            };
        }
        let big = vm.to_big(value)?;
        vm.new_big(big)
    });
    b.methods(
        i::BIGINT,
        &[
            ("asIntN", 2, |vm, a| wrap(vm, a, true)),
            ("asUintN", 2, |vm, a| wrap(vm, a, false)),
        ],
    );
    b.methods(
        proto,
        &[
            ("toString", 0, |vm, a| {
                let id = this(vm, a)?;
                let radix = a.get(vm, 0);
                let radix = if radix.is_undefined() {
                    10.0
                } else {
                    vm.to_integer(radix)?
                };
                if !(2.0..=36.0).contains(&radix) {
                    return Err(vm.range_error("toString() radix must be between 2 and 36"));
                }
                vm.charge(vm.heap.big_value(id).bits() as usize)?;
                let text = vm.heap.big_value(id).to_str_radix(radix as u32);
                Ok(vm.str(&text))
            }),
            ("toLocaleString", 0, |vm, a| {
                let id = this(vm, a)?;
                let text = vm.heap.big_value(id).to_string();
                let (sign, digits) = match text.strip_prefix('-') {
                    Some(rest) => ("-", rest),
                    None => ("", text.as_str()),
                };
                let mut out = sign.to_owned();
                for (at, c) in digits.chars().enumerate() {
                    if at > 0 && (digits.len() - at).is_multiple_of(3) {
                        out.push(',');
                    }
                    out.push(c);
                }
                Ok(vm.str(&out))
            }),
            ("valueOf", 0, |vm, a| this(vm, a).map(Value::Big)),
        ],
    );
    b.tag(proto, "BigInt");
}

fn this(vm: &mut Vm, args: Args) -> Res<BigId> {
    match args.this {
        Value::Big(id) => Ok(id),
        Value::Obj(id) if let Kind::Boxed(Value::Big(big)) = vm.heap.kind(id) => Ok(*big),
        _ => Err(vm.type_error("BigInt.prototype.valueOf requires that 'this' be a BigInt.")),
    }
}

fn wrap(vm: &mut Vm, args: Args, signed: bool) -> Res<Value> {
    let (bits, value) = (args.get(vm, 0), args.get(vm, 1));
    let bits = vm.to_integer(bits)?;
    if !(0.0..=9_007_199_254_740_991.0).contains(&bits) {
        return Err(vm.range_error("Invalid value: not (convertible to) a safe integer"));
    }
    let value = vm.to_big(value)?;
    if bits > value.bits() as f64 + 1.0 && (signed || value.sign() != num_bigint::Sign::Minus) {
        return vm.new_big(value);
    }
    if bits > f64::from(1 << 20) {
        return Err(vm.range_error("Maximum BigInt size exceeded"));
    }
    let modulus = BigInt::from(1) << bits as u64;
    let mut rest = &value % &modulus;
    if rest.sign() == num_bigint::Sign::Minus {
        rest += &modulus;
    }
    if signed && bits > 0.0 && rest.bit(bits as u64 - 1) {
        rest -= &modulus;
    }
    vm.new_big(rest)
}
