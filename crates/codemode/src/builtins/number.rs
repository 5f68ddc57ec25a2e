//! `Number`, `Boolean`, and the functions that read numbers.

use crate::number;
use crate::object::Kind;
use crate::realm::{Builder, intrinsic as i};
use crate::value::{Res, Value};
use crate::vm::{Args, Vm};

pub(super) fn install(b: &mut Builder) {
    let proto = i::NUMBER_PROTO;
    b.kind(proto, Kind::Boxed(Value::Num(0.0)));
    b.constructor(i::NUMBER, proto, "Number", 1, construct);
    for (name, value) in [
        ("MAX_SAFE_INTEGER", 9_007_199_254_740_991.0),
        ("MIN_SAFE_INTEGER", -9_007_199_254_740_991.0),
        ("MAX_VALUE", f64::MAX),
        ("MIN_VALUE", 5e-324),
        ("EPSILON", f64::EPSILON),
        ("POSITIVE_INFINITY", f64::INFINITY),
        ("NEGATIVE_INFINITY", f64::NEG_INFINITY),
        ("NaN", f64::NAN),
    ] {
        b.constant(i::NUMBER, name, Value::Num(value));
    }
    b.methods(
        i::NUMBER,
        &[
            ("isInteger", 1, |vm, a| {
                test(vm, a, |n| n.trunc() == n && n.is_finite())
            }),
            ("isFinite", 1, |vm, a| test(vm, a, f64::is_finite)),
            ("isNaN", 1, |vm, a| test(vm, a, f64::is_nan)),
            ("isSafeInteger", 1, |vm, a| {
                test(vm, a, |n| {
                    n.trunc() == n && n.abs() <= 9_007_199_254_740_991.0
                })
            }),
        ],
    );
    for (name, length, func) in [
        ("parseInt", 2, parse_int as crate::realm::NativeFn),
        ("parseFloat", 1, parse_float),
    ] {
        let number = b.method(i::NUMBER, name, length, func);
        b.global(name, Value::Lazy(number));
    }
    b.global_function("isNaN", 1, |vm, a| {
        let v = a.get(vm, 0);
        Ok(Value::Bool(vm.to_number(v)?.is_nan()))
    });
    b.global_function("isFinite", 1, |vm, a| {
        let v = a.get(vm, 0);
        Ok(Value::Bool(vm.to_number(v)?.is_finite()))
    });
    b.methods(
        proto,
        &[
            ("toFixed", 1, to_fixed),
            ("toPrecision", 1, to_precision),
            ("toExponential", 1, to_exponential),
            ("toString", 1, to_string),
            ("valueOf", 0, |vm, a| this(vm, a).map(Value::Num)),
            ("toLocaleString", 0, to_locale_string),
        ],
    );
    b.kind(i::BOOLEAN_PROTO, Kind::Boxed(Value::Bool(false)));
    b.constructor(i::BOOLEAN, i::BOOLEAN_PROTO, "Boolean", 1, |vm, a| {
        let value = Value::Bool(vm.truthy(a.get(vm, 0)));
        if !a.is_construct() {
            return Ok(value);
        }
        let proto = vm.proto_of_new(a.new_target, i::BOOLEAN_PROTO)?;
        Ok(Value::Obj(vm.heap.alloc(Some(proto), Kind::Boxed(value))))
    });
    b.methods(
        i::BOOLEAN_PROTO,
        &[
            ("toString", 0, |vm, a| {
                let value = this_boolean(vm, a)?;
                Ok(vm.str(if value { "true" } else { "false" }))
            }),
            ("valueOf", 0, |vm, a| this_boolean(vm, a).map(Value::Bool)),
        ],
    );
}

fn construct(vm: &mut Vm, args: Args) -> Res<Value> {
    let value = args.get(vm, 0);
    let number = if args.len() == 0 {
        Value::Num(0.0)
    } else {
        match vm.to_numeric(value)? {
            Value::Big(id) => Value::Num(vm.big_to_f64(id)),
            other => other,
        }
    };
    if !args.is_construct() {
        return Ok(number);
    }
    let proto = vm.proto_of_new(args.new_target, i::NUMBER_PROTO)?;
    Ok(Value::Obj(vm.heap.alloc(Some(proto), Kind::Boxed(number))))
}

fn test(vm: &mut Vm, args: Args, check: fn(f64) -> bool) -> Res<Value> {
    Ok(Value::Bool(
        matches!(args.get(vm, 0), Value::Num(n) if check(n)),
    ))
}

fn this(vm: &mut Vm, args: Args) -> Res<f64> {
    match args.this {
        Value::Num(n) => Ok(n),
        Value::Obj(id) if let Kind::Boxed(Value::Num(n)) = vm.heap.kind(id) => Ok(*n),
        _ => Err(vm.type_error("Number.prototype.valueOf requires that 'this' be a Number.")),
    }
}

fn this_boolean(vm: &mut Vm, args: Args) -> Res<bool> {
    match args.this {
        Value::Bool(b) => Ok(b),
        Value::Obj(id) if let Kind::Boxed(Value::Bool(b)) = vm.heap.kind(id) => Ok(*b),
        _ => Err(vm.type_error("Boolean.prototype.valueOf requires that 'this' be a Boolean.")),
    }
}

fn parse_int(vm: &mut Vm, args: Args) -> Res<Value> {
    let (text, radix) = (args.get(vm, 0), args.get(vm, 1));
    let text = vm.to_str(text)?;
    let radix = number::to_int32(vm.to_number(radix)?);
    Ok(Value::Num(number::parse_int(vm.heap.units(text), radix)))
}

fn parse_float(vm: &mut Vm, args: Args) -> Res<Value> {
    let text = args.get(vm, 0);
    let text = vm.to_str(text)?;
    let units = vm.heap.units(text).trim(true, false);
    Ok(Value::Num(
        number::parse_prefix(units).map_or(f64::NAN, |(n, _)| n),
    ))
}

fn digits(vm: &mut Vm, args: Args, low: f64, high: f64) -> Res<usize> {
    let value = args.get(vm, 0);
    let n = vm.to_integer(value)?;
    if n < low || n > high {
        return Err(vm.range_error("toString() radix or digits argument is out of range."));
    }
    Ok(n as usize)
}

fn to_fixed(vm: &mut Vm, args: Args) -> Res<Value> {
    let n = this(vm, args)?;
    let places = digits(vm, args, 0.0, 100.0)?;
    if !n.is_finite() || n.abs() >= 1e21 {
        return Ok(vm.str(&number::to_string(n)));
    }
    let text = if n == 0.0 {
        format!("{:.places$}", 0.0)
    } else {
        round_decimal(n, places)
    };
    Ok(vm.str(&text))
}

/// Decimal digits of the exact value, halves rounded away from zero as the standard asks.
fn round_decimal(n: f64, places: usize) -> String {
    let exact = format!("{:.1100}", n.abs());
    let Some(dot) = exact.find('.') else {
        return exact;
    };
    let cut = dot + 1 + places;
    let mut out: Vec<u8> = exact.as_bytes()[..cut].to_vec();
    if exact.as_bytes()[cut] >= b'5' {
        let mut at = out.len();
        loop {
            if at == 0 {
                out.insert(0, b'1');
                break;
            }
            at -= 1;
            match out[at] {
                b'.' => {}
                b'9' => out[at] = b'0',
                _ => {
                    out[at] += 1;
                    break;
                }
            }
        }
    }
    if places == 0 {
        out.pop();
    }
    let text = String::from_utf8_lossy(&out).into_owned();
    if n < 0.0 { format!("-{text}") } else { text }
}

/// Significant digits and decimal exponent of a positive number.
fn scientific(n: f64, count: usize) -> (String, i32) {
    // More digits than asked, so that a half is seen as one.
    let exact = format!("{n:.1090e}");
    let (mantissa, exponent) = exact.split_once('e').unwrap_or((&exact, "0"));
    let mut exponent: i32 = exponent.parse().unwrap_or(0);
    let all: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    let mut out = all[..count].to_vec();
    if all.get(count).is_some_and(|&d| d >= b'5') {
        let mut at = count;
        loop {
            if at == 0 {
                out.insert(0, b'1');
                out.pop();
                exponent += 1;
                break;
            }
            at -= 1;
            if out[at] == b'9' {
                out[at] = b'0';
            } else {
                out[at] += 1;
                break;
            }
        }
    }
    (String::from_utf8_lossy(&out).into_owned(), exponent)
}

fn exponent_form(digits: &str, exponent: i32) -> String {
    let (head, tail) = digits.split_at(1);
    let dot = if tail.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{head}{dot}{tail}e{sign}{}", exponent.abs())
}

fn to_exponential(vm: &mut Vm, args: Args) -> Res<Value> {
    let n = this(vm, args)?;
    let free = args.get(vm, 0).is_undefined();
    let places = digits(vm, args, f64::NEG_INFINITY, f64::INFINITY)?;
    if !n.is_finite() {
        return Ok(vm.str(&number::to_string(n)));
    }
    if places > 100 {
        return Err(vm.range_error("toExponential() argument must be between 0 and 100"));
    }
    let (digits, exponent) = if n == 0.0 {
        ("0".repeat(if free { 1 } else { places + 1 }), 0)
    } else if free {
        let shortest = format!("{:e}", n.abs());
        let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
        (mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
    } else {
        scientific(n.abs(), places + 1)
    };
    let text = exponent_form(&digits, exponent);
    Ok(vm.str(&if n < 0.0 { format!("-{text}") } else { text }))
}

fn to_precision(vm: &mut Vm, args: Args) -> Res<Value> {
    let n = this(vm, args)?;
    if args.get(vm, 0).is_undefined() || !n.is_finite() {
        return Ok(vm.str(&number::to_string(n)));
    }
    let count = digits(vm, args, 1.0, 100.0)?;
    let (digits, exponent) = if n == 0.0 {
        ("0".repeat(count), 0)
    } else {
        scientific(n.abs(), count)
    };
    let text = if exponent < -6 || exponent >= count as i32 {
        exponent_form(&digits, exponent)
    } else if exponent < 0 {
        format!("0.{}{digits}", "0".repeat((-exponent - 1) as usize))
    } else if exponent as usize + 1 == count {
        digits
    } else {
        let (head, tail) = digits.split_at(exponent as usize + 1);
        format!("{head}.{tail}")
    };
    Ok(vm.str(&if n < 0.0 { format!("-{text}") } else { text }))
}

fn to_string(vm: &mut Vm, args: Args) -> Res<Value> {
    let n = this(vm, args)?;
    let radix = args.get(vm, 0);
    let radix = if radix.is_undefined() {
        10.0
    } else {
        vm.to_integer(radix)?
    };
    if !(2.0..=36.0).contains(&radix) {
        return Err(vm.range_error("toString() radix must be between 2 and 36"));
    }
    if radix == 10.0 {
        return Ok(Value::Str(vm.number_str(n)));
    }
    Ok(vm.str(&number::to_radix(n, radix as u32)))
}

/// en-US: groups of three, at most three decimals unless options say otherwise.
fn to_locale_string(vm: &mut Vm, args: Args) -> Res<Value> {
    let n = this(vm, args)?;
    let options = args.get(vm, 1);
    let (mut least, mut most) = (0usize, 3usize);
    if options.is_object() {
        for (name, slot) in [("minimumFractionDigits", 0), ("maximumFractionDigits", 1)] {
            let key = vm.intern(name);
            let value = vm.get(options, key)?;
            if !value.is_undefined() {
                let value = vm.to_integer(value)?;
                if !(0.0..=100.0).contains(&value) {
                    return Err(vm.range_error(&format!("{name} value is out of range.")));
                }
                if slot == 0 {
                    least = value as usize;
                    most = most.max(least);
                } else {
                    most = (value as usize).max(least);
                }
            }
        }
    }
    Ok(vm.str(&group(n, least, most)))
}

pub(super) fn group(n: f64, least: usize, most: usize) -> String {
    if n.is_nan() {
        return "NaN".to_owned();
    }
    if n.is_infinite() {
        return if n > 0.0 { "\u{221e}" } else { "-\u{221e}" }.to_owned();
    }
    let fixed = round_decimal(n.abs(), most);
    let (whole, fraction) = fixed.split_once('.').unwrap_or((&fixed, ""));
    let mut fraction = fraction.to_owned();
    while fraction.len() > least && fraction.ends_with('0') {
        fraction.pop();
    }
    let mut out = String::new();
    for (at, c) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(&fraction);
    }
    if n.is_sign_negative() {
        format!("-{out}")
    } else {
        out
    }
}
