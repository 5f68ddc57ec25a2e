//! Operators beyond the fast paths of the instruction loop.

use super::{Hint, STRING_LIMIT, Vm};
use crate::atoms::SYM_HAS_INSTANCE;
use crate::number::{self, to_int32};
use crate::object::Kind;
use crate::realm::name;
use crate::text::{Text, Units};
use crate::value::{Res, StrId, Value};
use num_bigint::{BigInt, Sign};
use num_traits::{Signed, ToPrimitive, Zero};
use std::cmp::Ordering;

/// Arithmetic operators that work on two numbers or two big integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arith {
    Sub,
    Mul,
    Div,
    Rem,
    Exp,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    UShr,
}

/// Bits of the largest big integer.
const BIG_LIMIT: u64 = 1 << 20;

impl Vm {
    pub(crate) fn add(&mut self, a: Value, b: Value) -> Res<Value> {
        let a = self.to_primitive(a, Hint::Default)?;
        let b = self.to_primitive(b, Hint::Default)?;
        if matches!(a, Value::Str(_)) || matches!(b, Value::Str(_)) {
            let left = self.to_str(a)?;
            let right = self.to_str(b)?;
            return self.concat(left, right).map(Value::Str);
        }
        let a = self.to_numeric(a)?;
        let b = self.to_numeric(b)?;
        match (a, b) {
            (Value::Num(x), Value::Num(y)) => Ok(Value::Num(x + y)),
            (Value::Big(x), Value::Big(y)) => {
                let sum = self.heap.big_value(x) + self.heap.big_value(y);
                self.new_big(sum)
            }
            _ => Err(self.mixed_types()),
        }
    }

    fn mixed_types(&mut self) -> crate::value::Abrupt {
        self.type_error("Cannot mix BigInt and other types, use explicit conversions.")
    }

    pub(crate) fn new_big(&mut self, value: BigInt) -> Res<Value> {
        let bits = value.bits();
        if bits > BIG_LIMIT {
            return Err(self.range_error("Maximum BigInt size exceeded"));
        }
        self.charge((bits / 64) as usize)?;
        Ok(self.heap.big(value))
    }

    pub(crate) fn concat(&mut self, left: StrId, right: StrId) -> Res<StrId> {
        if self.heap.str_len(left) + self.heap.str_len(right) > STRING_LIMIT {
            return Err(self.range_error("Invalid string length"));
        }
        Ok(self.heap.concat(left, right))
    }

    /// `text + number`, in one step when the result is short.
    pub(crate) fn concat_number(&mut self, left: StrId, n: f64) -> Res<StrId> {
        let int = n as u32;
        if f64::from(int) == n && !(int == 0 && n.is_sign_negative()) {
            let mut buffer = [0u8; 32];
            let mut at = buffer.len();
            let mut rest = int;
            loop {
                at -= 1;
                buffer[at] = b'0' + (rest % 10) as u8;
                rest /= 10;
                if rest == 0 {
                    break;
                }
            }
            if let Units::Narrow(bytes) = self.heap.flat(left)
                && !bytes.is_empty()
                && bytes.len() <= at
            {
                let start = at - bytes.len();
                buffer[start..at].copy_from_slice(bytes);
                let text = Text::Narrow(buffer[start..].into());
                return Ok(self.heap.text(text));
            }
            let right = self.heap.text(Text::Narrow(buffer[at..].into()));
            return self.concat(left, right);
        }
        let right = self.number_str(n);
        self.concat(left, right)
    }

    pub(crate) fn arith(&mut self, op: Arith, a: Value, b: Value) -> Res<Value> {
        let a = self.to_numeric(a)?;
        let b = self.to_numeric(b)?;
        match (a, b) {
            (Value::Num(x), Value::Num(y)) => Ok(Value::Num(number_arith(op, x, y))),
            (Value::Big(x), Value::Big(y)) => {
                let (x, y) = (
                    self.heap.big_value(x).clone(),
                    self.heap.big_value(y).clone(),
                );
                self.big_arith(op, &x, &y)
            }
            _ => Err(self.mixed_types()),
        }
    }

    fn big_arith(&mut self, op: Arith, x: &BigInt, y: &BigInt) -> Res<Value> {
        self.charge(((x.bits() + y.bits()) / 32) as usize)?;
        let value = match op {
            Arith::Sub => x - y,
            Arith::Mul => {
                self.charge((x.bits() / 64 * (y.bits() / 64)) as usize)?;
                x * y
            }
            Arith::Div | Arith::Rem if y.is_zero() => {
                return Err(self.range_error("Division by zero"));
            }
            Arith::Div => x / y,
            Arith::Rem => x % y,
            Arith::And => x & y,
            Arith::Or => x | y,
            Arith::Xor => x ^ y,
            Arith::Exp => {
                if y.sign() == Sign::Minus {
                    return Err(self.range_error("Exponent must be non-negative"));
                }
                if x.bits() <= 1 {
                    let odd = y.bit(0);
                    return self.new_big(match x.sign() {
                        _ if y.is_zero() => BigInt::from(1),
                        Sign::Minus if !odd => BigInt::from(1),
                        _ => x.clone(),
                    });
                }
                match y
                    .to_u32()
                    .filter(|&p| (x.bits() - 1) * u64::from(p) <= BIG_LIMIT)
                {
                    Some(power) => x.pow(power),
                    None => return Err(self.range_error("Maximum BigInt size exceeded")),
                }
            }
            Arith::Shl => return self.big_shift(x, y),
            Arith::Shr => return self.big_shift(x, &-y),
            Arith::UShr => {
                return Err(
                    self.type_error("BigInts have no unsigned right shift, use >> instead.")
                );
            }
        };
        self.new_big(value)
    }

    fn big_shift(&mut self, x: &BigInt, by: &BigInt) -> Res<Value> {
        let value = match by.to_i64() {
            Some(left) if left >= 0 => {
                if left as u64 + x.bits() > BIG_LIMIT && !x.is_zero() {
                    return Err(self.range_error("Maximum BigInt size exceeded"));
                }
                if x.is_zero() {
                    BigInt::ZERO
                } else {
                    x << left as u64
                }
            }
            Some(right) => x >> right.unsigned_abs(),
            None if by.is_negative() => BigInt::from(if x.is_negative() { -1 } else { 0 }),
            None => return Err(self.range_error("Maximum BigInt size exceeded")),
        };
        self.new_big(value)
    }

    pub(crate) fn negate(&mut self, value: Value) -> Res<Value> {
        match self.to_numeric(value)? {
            Value::Big(id) => {
                let value = -self.heap.big_value(id);
                self.new_big(value)
            }
            Value::Num(n) => Ok(Value::Num(-n)),
            other => Ok(other),
        }
    }

    pub(crate) fn bit_not(&mut self, value: Value) -> Res<Value> {
        match self.to_numeric(value)? {
            Value::Big(id) => {
                let value = -self.heap.big_value(id) - 1;
                self.new_big(value)
            }
            Value::Num(n) => Ok(Value::Num(f64::from(!to_int32(n)))),
            other => Ok(other),
        }
    }

    /// Adds one or takes one away.
    pub(crate) fn step(&mut self, value: Value, by: i32) -> Res<Value> {
        match self.to_numeric(value)? {
            Value::Big(id) => {
                let value = self.heap.big_value(id) + by;
                self.new_big(value)
            }
            Value::Num(n) => Ok(Value::Num(n + f64::from(by))),
            other => Ok(other),
        }
    }

    /// `IsStrictlyEqual`.
    pub(crate) fn strict_equal(&mut self, a: Value, b: Value) -> bool {
        match (a, b) {
            (Value::Num(x), Value::Num(y)) => x == y,
            (Value::Str(x), Value::Str(y)) => self.same_text(x, y),
            (Value::Big(x), Value::Big(y)) => self.heap.big_value(x) == self.heap.big_value(y),
            _ => self.same_identity(a, b),
        }
    }

    fn same_identity(&mut self, a: Value, b: Value) -> bool {
        match (a, b) {
            (Value::Undefined | Value::Hole, Value::Undefined | Value::Hole)
            | (Value::Null, Value::Null) => true,
            (Value::Bool(x), Value::Bool(y)) => x == y,
            (Value::Sym(x), Value::Sym(y)) => x == y,
            (Value::Obj(x), Value::Obj(y)) => x == y,
            (Value::Lazy(x), Value::Lazy(y)) => x == y,
            (Value::Lazy(x), Value::Obj(y)) | (Value::Obj(y), Value::Lazy(x)) => {
                self.native_object(x) == y
            }
            _ => false,
        }
    }

    pub(crate) fn same_text(&mut self, a: StrId, b: StrId) -> bool {
        if a == b {
            return true;
        }
        if self.heap.str_len(a) != self.heap.str_len(b) {
            return false;
        }
        self.heap.flatten(a);
        self.heap.flatten(b);
        self.heap.flat(a).same(self.heap.flat(b))
    }

    /// `SameValueZero`.
    pub(crate) fn same_value_zero(&mut self, a: Value, b: Value) -> bool {
        matches!((a, b), (Value::Num(x), Value::Num(y)) if x.is_nan() && y.is_nan())
            || self.strict_equal(a, b)
    }

    /// `SameValue`.
    pub(crate) fn same_value(&mut self, a: Value, b: Value) -> bool {
        match (a, b) {
            (Value::Num(x), Value::Num(y)) => {
                (x.is_nan() && y.is_nan())
                    || (x == y && x.is_sign_negative() == y.is_sign_negative())
            }
            _ => self.strict_equal(a, b),
        }
    }

    /// `IsLooselyEqual`.
    pub(crate) fn loose_equal(&mut self, a: Value, b: Value) -> Res<bool> {
        Ok(match (a, b) {
            (Value::Undefined | Value::Null, Value::Undefined | Value::Null) => true,
            (Value::Undefined | Value::Null, _) | (_, Value::Undefined | Value::Null) => false,
            (Value::Num(_), Value::Str(_)) | (Value::Str(_), Value::Num(_)) => {
                self.to_number(a)? == self.to_number(b)?
            }
            (Value::Big(x), Value::Str(s)) | (Value::Str(s), Value::Big(x)) => {
                let text = self.utf8(s);
                super::convert::parse_big(&text).is_some_and(|y| *self.heap.big_value(x) == y)
            }
            (Value::Big(x), Value::Num(n)) | (Value::Num(n), Value::Big(x)) => {
                compare_big(self.heap.big_value(x), n) == Some(Ordering::Equal)
            }
            (Value::Bool(x), _) => self.loose_equal(Value::Num(f64::from(u8::from(x))), b)?,
            (_, Value::Bool(y)) => self.loose_equal(a, Value::Num(f64::from(u8::from(y))))?,
            (
                Value::Obj(_) | Value::Lazy(_),
                Value::Num(_) | Value::Str(_) | Value::Big(_) | Value::Sym(_),
            ) => {
                let a = self.to_primitive(a, Hint::Default)?;
                self.loose_equal(a, b)?
            }
            (
                Value::Num(_) | Value::Str(_) | Value::Big(_) | Value::Sym(_),
                Value::Obj(_) | Value::Lazy(_),
            ) => {
                let b = self.to_primitive(b, Hint::Default)?;
                self.loose_equal(a, b)?
            }
            _ => self.strict_equal(a, b),
        })
    }

    /// How two values compare by `<`; nothing when one isn't a number.
    pub(crate) fn compare(&mut self, a: Value, b: Value) -> Res<Option<Ordering>> {
        let a = self.to_primitive(a, Hint::Number)?;
        let b = self.to_primitive(b, Hint::Number)?;
        if let (Value::Str(x), Value::Str(y)) = (a, b) {
            self.heap.flatten(x);
            self.heap.flatten(y);
            return Ok(Some(self.heap.flat(x).compare(self.heap.flat(y))));
        }
        if let (Value::Big(x), Value::Str(s)) = (a, b) {
            let text = self.utf8(s);
            return Ok(super::convert::parse_big(&text).map(|y| self.heap.big_value(x).cmp(&y)));
        }
        if let (Value::Str(s), Value::Big(y)) = (a, b) {
            let text = self.utf8(s);
            return Ok(super::convert::parse_big(&text).map(|x| x.cmp(self.heap.big_value(y))));
        }
        let a = self.to_numeric(a)?;
        let b = self.to_numeric(b)?;
        Ok(match (a, b) {
            (Value::Num(x), Value::Num(y)) => x.partial_cmp(&y),
            (Value::Big(x), Value::Big(y)) => {
                Some(self.heap.big_value(x).cmp(self.heap.big_value(y)))
            }
            (Value::Big(x), Value::Num(y)) => compare_big(self.heap.big_value(x), y),
            (Value::Num(x), Value::Big(y)) => {
                compare_big(self.heap.big_value(y), x).map(Ordering::reverse)
            }
            _ => None,
        })
    }

    pub(crate) fn has(&mut self, key: Value, target: Value) -> Res<bool> {
        let target = self.settle(target);
        let Some(id) = target.as_obj() else {
            return Err(self.type_error(
                "Cannot use 'in' operator to search for a key in a value that is no object.",
            ));
        };
        let key = self.to_key(key)?;
        if let Kind::Tool(tool) = self.heap.kind(id) {
            let path = tool.path.clone();
            let name = self.key_text(key);
            return Ok(self.host.tools.has_child(&path, &name));
        }
        self.has_property(id, key)
    }

    pub(crate) fn instance_of(&mut self, value: Value, class: Value) -> Res<bool> {
        if !class.is_object() {
            return Err(self.type_error("Right-hand side of 'instanceof' is not callable."));
        }
        let class = self.settle(class);
        if let Some(method) = self.get_method(class, SYM_HAS_INSTANCE)? {
            let result = self.call(method, class, &[value])?;
            return Ok(self.truthy(result));
        }
        if !self.is_callable(class) {
            return Err(self.type_error("Right-hand side of 'instanceof' is not callable."));
        }
        self.ordinary_instance(value, class)
    }

    pub(crate) fn ordinary_instance(&mut self, value: Value, class: Value) -> Res<bool> {
        let Some(class_id) = class.as_obj() else {
            return Ok(false);
        };
        if let Kind::Bound(bound) = self.heap.kind(class_id) {
            let target = bound.target;
            return self.instance_of(value, target);
        }
        let Some(mut at) = self.settle(value).as_obj() else {
            return Ok(false);
        };
        let Some(proto) = self.get(class, name::PROTOTYPE)?.as_obj() else {
            return Err(self.type_error("Function has non-object prototype in instanceof check."));
        };
        while let Some(next) = self.heap.proto_of(at) {
            if next == proto {
                return Ok(true);
            }
            at = next;
        }
        Ok(false)
    }

    pub(crate) fn type_of(&mut self, value: Value) -> Value {
        let name = self.type_name(value);
        let key = self.intern(name);
        self.key_value(key)
    }
}

/// Compares a big integer with a number exactly.
fn compare_big(big: &BigInt, n: f64) -> Option<Ordering> {
    if n.is_nan() {
        return None;
    }
    if n.is_infinite() {
        return Some(if n > 0.0 {
            Ordering::Less
        } else {
            Ordering::Greater
        });
    }
    let whole = num_traits::FromPrimitive::from_f64(n.floor()).unwrap_or(BigInt::ZERO);
    Some(match big.cmp(&whole) {
        Ordering::Equal if n.floor() < n => Ordering::Less,
        other => other,
    })
}

pub(crate) fn number_arith(op: Arith, x: f64, y: f64) -> f64 {
    match op {
        Arith::Sub => x - y,
        Arith::Mul => x * y,
        Arith::Div => x / y,
        Arith::Rem => remainder(x, y),
        Arith::Exp => power(x, y),
        Arith::And => f64::from(to_int32(x) & to_int32(y)),
        Arith::Or => f64::from(to_int32(x) | to_int32(y)),
        Arith::Xor => f64::from(to_int32(x) ^ to_int32(y)),
        Arith::Shl => f64::from(to_int32(x).wrapping_shl(to_int32(y) as u32 & 31)),
        Arith::Shr => f64::from(to_int32(x) >> (to_int32(y) as u32 & 31)),
        Arith::UShr => f64::from((number::to_int32(x) as u32) >> (to_int32(y) as u32 & 31)),
    }
}

/// `%`, quickly when both are small integers.
pub(crate) fn remainder(x: f64, y: f64) -> f64 {
    let (a, b) = (x as i32, y as i32);
    if b > 0
        && a >= 0
        && f64::from(a) == x
        && f64::from(b) == y
        && !(a == 0 && x.is_sign_negative())
    {
        return f64::from(a % b);
    }
    x % y
}

/// `**`: unlike IEEE 754, 1 raised to infinity or NaN is NaN.
pub(crate) fn power(x: f64, y: f64) -> f64 {
    if y.is_nan() || (y.is_infinite() && x.abs() == 1.0) {
        f64::NAN
    } else {
        x.powf(y)
    }
}
