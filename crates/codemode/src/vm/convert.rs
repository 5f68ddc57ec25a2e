//! Conversions between types (ECMA-262 chapter 7.1).

use super::{ErrorType, Vm};
use crate::atoms::SYM_TO_PRIMITIVE;
use crate::number;
use crate::object::{Kind, TableKey};
use crate::realm::{intrinsic, name};
use crate::text::Text;
use crate::value::{Key, ObjId, Res, StrId, Value};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// What a conversion to a primitive would rather have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    Default,
    Number,
    String,
}

impl Vm {
    pub(crate) fn truthy(&self, value: Value) -> bool {
        match value {
            Value::Bool(b) => b,
            Value::Undefined | Value::Null | Value::Hole => false,
            Value::Num(n) => n != 0.0 && !n.is_nan(),
            Value::Str(id) => self.heap.str_len(id) != 0,
            Value::Big(id) => *self.heap.big_value(id) != BigInt::ZERO,
            Value::Sym(_) | Value::Obj(_) | Value::Lazy(_) | Value::Cell(_) => true,
        }
    }

    pub(crate) fn type_name(&self, value: Value) -> &'static str {
        match value {
            Value::Undefined | Value::Hole | Value::Cell(_) => "undefined",
            Value::Null => "object",
            Value::Bool(_) => "boolean",
            Value::Num(_) => "number",
            Value::Str(_) => "string",
            Value::Sym(_) => "symbol",
            Value::Big(_) => "bigint",
            Value::Lazy(_) => "function",
            Value::Obj(id) => match self.heap.kind(id) {
                Kind::Tool(tool) if tool.path.is_empty() => "object",
                _ if self.heap.obj(id).is_callable() => "function",
                _ => "object",
            },
        }
    }

    /// Values that no operator may turn into text or a number by accident.
    pub(crate) fn refuse_opaque(&mut self, value: Value) -> Res<()> {
        let Value::Obj(id) = value else { return Ok(()) };
        let message = match self.heap.kind(id) {
            Kind::Promise(_) => "A promise was used as a value; await it to get its value.",
            Kind::Tool(_) => "A tool was used as a value; call it with (...) and await the result.",
            _ => return Ok(()),
        };
        Err(self.invalid_data(message))
    }

    pub(crate) fn to_primitive(&mut self, value: Value, hint: Hint) -> Res<Value> {
        if !value.is_object() {
            return Ok(value);
        }
        let value = self.settle(value);
        self.refuse_opaque(value)?;
        if let Some(method) = self.get_method(value, SYM_TO_PRIMITIVE)? {
            let hint = match hint {
                Hint::Default => name::DEFAULT,
                Hint::Number => name::NUMBER,
                Hint::String => name::STRING,
            };
            let hint = self.key_value(hint);
            let result = self.call(method, value, &[hint])?;
            if !result.is_object() {
                return Ok(result);
            }
            return Err(self.type_error("Cannot convert object to primitive value."));
        }
        self.ordinary_to_primitive(value, hint)
    }

    /// `OrdinaryToPrimitive`.
    pub(crate) fn ordinary_to_primitive(&mut self, value: Value, hint: Hint) -> Res<Value> {
        let order = if hint == Hint::String {
            [name::TO_STRING, name::VALUE_OF]
        } else {
            [name::VALUE_OF, name::TO_STRING]
        };
        for key in order {
            let method = self.get_lazy(value, key)?;
            if self.is_callable(method) {
                let result = self.call(method, value, &[])?;
                if !result.is_object() {
                    return Ok(result);
                }
            }
        }
        Err(self.type_error("Cannot convert object to primitive value."))
    }

    pub(crate) fn to_number(&mut self, value: Value) -> Res<f64> {
        Ok(match value {
            Value::Num(n) => n,
            Value::Undefined | Value::Hole | Value::Cell(_) => f64::NAN,
            Value::Null => 0.0,
            Value::Bool(b) => f64::from(u8::from(b)),
            Value::Str(id) => number::from_text(self.heap.units(id)),
            Value::Sym(_) => {
                return Err(self.type_error("Cannot convert a Symbol value to a number."));
            }
            Value::Big(_) => {
                return Err(self.type_error("Cannot convert a BigInt value to a number."));
            }
            Value::Obj(_) | Value::Lazy(_) => {
                let primitive = self.to_primitive(value, Hint::Number)?;
                return self.to_number(primitive);
            }
        })
    }

    /// A number or a big integer.
    pub(crate) fn to_numeric(&mut self, value: Value) -> Res<Value> {
        match value {
            Value::Num(_) | Value::Big(_) => Ok(value),
            _ => {
                let primitive = self.to_primitive(value, Hint::Number)?;
                match primitive {
                    Value::Big(_) => Ok(primitive),
                    other => self.to_number(other).map(Value::Num),
                }
            }
        }
    }

    /// `ToIntegerOrInfinity`.
    pub(crate) fn to_integer(&mut self, value: Value) -> Res<f64> {
        let n = self.to_number(value)?;
        Ok(if n.is_nan() { 0.0 } else { n.trunc() + 0.0 })
    }

    /// A position counted from the start or, when negative, from the end, within `0..=len`.
    pub(crate) fn relative_index(
        &mut self,
        value: Value,
        len: usize,
        default: usize,
    ) -> Res<usize> {
        if value.is_undefined() {
            return Ok(default);
        }
        let n = self.to_integer(value)?;
        let len = len as f64;
        Ok(if n < 0.0 {
            (len + n).max(0.0)
        } else {
            n.min(len)
        } as usize)
    }

    pub(crate) fn to_length(&mut self, value: Value) -> Res<usize> {
        let n = self.to_integer(value)?;
        Ok(n.clamp(0.0, 9_007_199_254_740_991.0) as usize)
    }

    pub(crate) fn length_of(&mut self, id: ObjId) -> Res<usize> {
        if let Kind::Array(items) = self.heap.kind(id) {
            return Ok(items.len());
        }
        let length = self.get(Value::Obj(id), name::LENGTH)?;
        self.to_length(length)
    }

    pub(crate) fn to_str(&mut self, value: Value) -> Res<StrId> {
        Ok(match value {
            Value::Str(id) => id,
            Value::Num(n) => return Ok(self.number_str(n)),
            Value::Undefined | Value::Hole | Value::Cell(_) => self.key_str(name::UNDEFINED),
            Value::Null => self.text(Text::new("null")),
            Value::Bool(b) => self.text(Text::new(if b { "true" } else { "false" })),
            Value::Big(id) => {
                let bits = self.heap.big_value(id).bits();
                self.charge(bits as usize)?;
                let text = self.heap.big_value(id).to_string();
                self.text(Text::new(&text))
            }
            Value::Sym(_) => {
                return Err(self.type_error("Cannot convert a Symbol value to a string."));
            }
            Value::Obj(_) | Value::Lazy(_) => {
                let primitive = self.to_primitive(value, Hint::String)?;
                return self.to_str(primitive);
            }
        })
    }

    pub(crate) fn number_str(&mut self, n: f64) -> StrId {
        if (0.0..10.0).contains(&n) && n.trunc() == n {
            return self.char_str(48 + n as u16);
        }
        let text = number::to_string(n);
        self.heap.text(Text::Narrow(text.into_bytes().into()))
    }

    pub(crate) fn to_text(&mut self, value: Value) -> Res<String> {
        let id = self.to_str(value)?;
        Ok(self.utf8(id))
    }

    pub(crate) fn to_key(&mut self, value: Value) -> Res<Key> {
        Ok(match value {
            Value::Str(id) => self.str_key(id),
            Value::Sym(key) => key,
            Value::Num(n) if n >= 0.0 && f64::from(n as u32) == n && n < 2_147_483_648.0 => {
                Key::index(n as u32)
            }
            Value::Obj(_) | Value::Lazy(_) => {
                let primitive = self.to_primitive(value, Hint::String)?;
                return self.to_key(primitive);
            }
            other => {
                let id = self.to_str(other)?;
                self.str_key(id)
            }
        })
    }

    /// `ToObject`.
    pub(crate) fn to_object(&mut self, value: Value) -> Res<ObjId> {
        let proto = match value {
            Value::Obj(id) => return Ok(id),
            Value::Lazy(number) => return Ok(self.native_object(number)),
            Value::Undefined | Value::Null | Value::Hole | Value::Cell(_) => {
                return Err(self.type_error("Cannot convert undefined or null to object."));
            }
            Value::Str(_) => intrinsic::STRING_PROTO,
            Value::Num(_) => intrinsic::NUMBER_PROTO,
            Value::Bool(_) => intrinsic::BOOLEAN_PROTO,
            Value::Sym(_) => intrinsic::SYMBOL_PROTO,
            Value::Big(_) => intrinsic::BIGINT_PROTO,
        };
        Ok(self.heap.alloc(Some(proto), Kind::Boxed(value)))
    }

    pub(crate) fn to_big(&mut self, value: Value) -> Res<BigInt> {
        let primitive = self.to_primitive(value, Hint::Number)?;
        match primitive {
            Value::Big(id) => Ok(self.heap.big_value(id).clone()),
            Value::Bool(b) => Ok(BigInt::from(u8::from(b))),
            Value::Str(id) => {
                let text = self.utf8(id);
                match parse_big(&text) {
                    Some(value) => Ok(value),
                    None => Err(self.error(
                        ErrorType::Syntax,
                        &format!("Cannot convert {text} to a BigInt"),
                    )),
                }
            }
            Value::Num(n) => Err(self.type_error(&format!(
                "Cannot convert {} to a BigInt",
                number::to_string(n)
            ))),
            other => {
                let what = self.type_name(other);
                Err(self.type_error(&format!("Cannot convert {what} to a BigInt")))
            }
        }
    }

    /// The key of a value in a `Map` or `Set`.
    pub(crate) fn table_key(&mut self, value: Value) -> TableKey {
        match value {
            Value::Undefined | Value::Hole | Value::Cell(_) => TableKey::Undefined,
            Value::Null => TableKey::Null,
            Value::Bool(b) => TableKey::Bool(b),
            Value::Num(n) => {
                let n = if n == 0.0 {
                    0.0
                } else if n.is_nan() {
                    f64::NAN
                } else {
                    n
                };
                TableKey::Num(n.to_bits())
            }
            Value::Str(id) => TableKey::Text(self.heap.units(id).to_text()),
            Value::Big(id) => TableKey::Big(self.heap.big_value(id).clone()),
            Value::Sym(key) => TableKey::Sym(key),
            Value::Obj(id) => TableKey::Obj(id),
            Value::Lazy(number) => TableKey::Obj(self.native_object(number)),
        }
    }

    /// `f64` nearest to a big integer.
    pub(crate) fn big_to_f64(&self, id: crate::value::BigId) -> f64 {
        self.heap.big_value(id).to_f64().unwrap_or(f64::NAN)
    }
}

/// `StringToBigInt`.
pub(crate) fn parse_big(text: &str) -> Option<BigInt> {
    let text = text.trim();
    if text.is_empty() {
        return Some(BigInt::ZERO);
    }
    let (radix, digits) = match text.get(..2) {
        Some("0x" | "0X") => (16, &text[2..]),
        Some("0o" | "0O") => (8, &text[2..]),
        Some("0b" | "0B") => (2, &text[2..]),
        _ => (10, text),
    };
    if radix != 10 && digits.starts_with(['-', '+'])
        || digits.contains('_')
        || digits.len() > 400_000
    {
        return None;
    }
    BigInt::parse_bytes(digits.as_bytes(), radix)
}
