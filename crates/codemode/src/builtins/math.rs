//! `Math`.

use crate::number::to_int32;
use crate::realm::{Builder, intrinsic as i};
use crate::value::{Res, Value};
use crate::vm::{Args, Vm};

pub(super) fn install(b: &mut Builder) {
    let math = i::MATH;
    b.global("Math", Value::Obj(math));
    for (name, value) in [
        ("PI", std::f64::consts::PI),
        ("E", std::f64::consts::E),
        ("LN2", std::f64::consts::LN_2),
        ("LN10", std::f64::consts::LN_10),
        ("LOG2E", std::f64::consts::LOG2_E),
        ("LOG10E", std::f64::consts::LOG10_E),
        ("SQRT2", std::f64::consts::SQRT_2),
        ("SQRT1_2", std::f64::consts::FRAC_1_SQRT_2),
    ] {
        b.constant(math, name, Value::Num(value));
    }
    macro_rules! unary {
        ($($name:literal => $f:expr),* $(,)?) => {
            b.methods(math, &[$(($name, 1, |vm: &mut Vm, a: Args| {
                let x = match a.get(vm, 0) {
                    Value::Num(n) => n,
                    other => vm.to_number(other)?,
                };
                let f: fn(f64) -> f64 = $f;
                Ok(Value::Num(f(x)))
            })),*]);
        };
    }
    unary! {
        "abs" => f64::abs, "acos" => f64::acos, "acosh" => f64::acosh, "asin" => f64::asin,
        "asinh" => |x| if x == 0.0 || x.is_infinite() { x } else { x.asinh() },
        "atan" => f64::atan, "atanh" => f64::atanh, "floor" => f64::floor, "ceil" => f64::ceil,
        "round" => round, "trunc" => f64::trunc,
        "sign" => |x| if x == 0.0 || x.is_nan() { x } else { x.signum() },
        "sqrt" => f64::sqrt, "cbrt" => f64::cbrt, "cos" => f64::cos, "cosh" => f64::cosh, "sin" => f64::sin,
        "sinh" => f64::sinh, "tan" => f64::tan, "tanh" => f64::tanh, "log" => f64::ln, "log2" => f64::log2,
        "log10" => f64::log10, "log1p" => f64::ln_1p, "exp" => f64::exp, "expm1" => f64::exp_m1,
        "fround" => |x| f64::from(x as f32), "f16round" => f16_round,
        "clz32" => |x| f64::from((to_int32(x) as u32).leading_zeros()),
    }
    b.methods(
        math,
        &[
            ("random", 0, |vm, _| Ok(Value::Num(vm.host.random()))),
            ("max", 2, |vm, a| {
                extreme(vm, a, f64::NEG_INFINITY, |x, y| {
                    x > y || (x == 0.0 && y == 0.0 && y.is_sign_negative())
                })
            }),
            ("min", 2, |vm, a| {
                extreme(vm, a, f64::INFINITY, |x, y| {
                    x < y || (x == 0.0 && y == 0.0 && x.is_sign_negative())
                })
            }),
            ("atan2", 2, |vm, a| binary(vm, a, f64::atan2)),
            ("pow", 2, |vm, a| {
                binary(vm, a, |x, y| {
                    if y.is_nan() || (y.is_infinite() && x.abs() == 1.0) {
                        f64::NAN
                    } else {
                        x.powf(y)
                    }
                })
            }),
            ("imul", 2, |vm, a| {
                binary(vm, a, |x, y| {
                    f64::from(to_int32(x).wrapping_mul(to_int32(y)))
                })
            }),
            ("hypot", 2, hypot),
            ("sumPrecise", 1, sum_precise),
        ],
    );
    b.tag(math, "Math");
}

fn round(x: f64) -> f64 {
    if !x.is_finite() || x.abs() >= 4_503_599_627_370_496.0 {
        return x;
    }
    let floor = x.floor();
    let rounded = if x - floor >= 0.5 { floor + 1.0 } else { floor };
    if rounded == 0.0 && (x < 0.0 || x.is_sign_negative()) {
        -0.0
    } else {
        rounded
    }
}

/// Nearest half-precision number, ties to even.
fn f16_round(x: f64) -> f64 {
    crate::binary::half_to_f64(crate::binary::f64_to_half(x))
}

fn binary(vm: &mut Vm, args: Args, f: fn(f64, f64) -> f64) -> Res<Value> {
    let (x, y) = (args.get(vm, 0), args.get(vm, 1));
    let x = vm.to_number(x)?;
    let y = vm.to_number(y)?;
    Ok(Value::Num(f(x, y)))
}

fn extreme(vm: &mut Vm, args: Args, start: f64, better: fn(f64, f64) -> bool) -> Res<Value> {
    let mut best = start;
    let mut nan = false;
    for at in 0..args.len() {
        let x = args.get(vm, at);
        let x = vm.to_number(x)?;
        nan |= x.is_nan();
        if better(x, best) {
            best = x;
        }
    }
    Ok(Value::Num(if nan { f64::NAN } else { best }))
}

fn hypot(vm: &mut Vm, args: Args) -> Res<Value> {
    let mut list = Vec::with_capacity(args.len());
    for value in args.all(vm) {
        list.push(vm.to_number(value)?);
    }
    if list.iter().any(|x| x.is_infinite()) {
        return Ok(Value::Num(f64::INFINITY));
    }
    let largest = list.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    if list.iter().any(|x| x.is_nan()) || largest == 0.0 {
        return Ok(Value::Num(
            if largest == 0.0 && !list.iter().any(|x| x.is_nan()) {
                0.0
            } else {
                f64::NAN
            },
        ));
    }
    let sum: f64 = list.iter().map(|x| (x / largest) * (x / largest)).sum();
    Ok(Value::Num(sum.sqrt() * largest))
}

/// The exact sum, rounded once: partial sums that don't overlap (Shewchuk 1997).
fn sum_precise(vm: &mut Vm, args: Args) -> Res<Value> {
    let source = args.get(vm, 0);
    let mut partials: Vec<f64> = Vec::new();
    let (mut plus, mut minus, mut nan, mut negative_zero) = (false, false, false, true);
    vm.iterate(source, |vm, value| {
        let Value::Num(n) = value else {
            return Err(vm.type_error("Math.sumPrecise needs numbers."));
        };
        nan |= n.is_nan();
        plus |= n == f64::INFINITY;
        minus |= n == f64::NEG_INFINITY;
        negative_zero &= n == 0.0 && n.is_sign_negative();
        if n.is_finite() {
            let mut x = n;
            let mut kept = 0;
            for at in 0..partials.len() {
                let y = partials[at];
                let (big, small) = if x.abs() >= y.abs() { (x, y) } else { (y, x) };
                let sum = big + small;
                let error = small - (sum - big);
                if error != 0.0 {
                    partials[kept] = error;
                    kept += 1;
                }
                x = sum;
            }
            partials.truncate(kept);
            partials.push(x);
        }
        Ok(true)
    })?;
    let total = partials.iter().rev().fold(0.0, |sum, x| sum + x);
    Ok(Value::Num(match (nan || (plus && minus), plus, minus) {
        (true, ..) => f64::NAN,
        (_, true, _) => f64::INFINITY,
        (_, _, true) => f64::NEG_INFINITY,
        _ if negative_zero => -0.0,
        _ => total,
    }))
}
