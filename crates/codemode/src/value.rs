//! Values: sixteen bytes, copied freely; what is larger lives in the run's arenas and is named by a handle.

/// Handle of a string in the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StrId(pub(crate) u32);
/// Handle of an object in the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjId(pub(crate) u32);
/// Handle of a captured variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CellId(pub(crate) u32);
/// Handle of a big integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BigId(pub(crate) u32);

/// One value of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Undefined,
    Null,
    Bool(bool),
    Num(f64),
    Str(StrId),
    Sym(Key),
    Big(BigId),
    Obj(ObjId),
    /// A missing array element, or a binding before its declaration ran.
    Hole,
    /// A built-in function that no program has looked at as an object yet.
    Lazy(u16),
    /// A captured variable; only ever in registers.
    Cell(CellId),
}

impl Value {
    pub(crate) fn is_undefined(self) -> bool {
        matches!(self, Value::Undefined)
    }

    pub(crate) fn is_nullish(self) -> bool {
        matches!(self, Value::Undefined | Value::Null)
    }

    pub(crate) fn is_object(self) -> bool {
        matches!(self, Value::Obj(_) | Value::Lazy(_))
    }

    pub(crate) fn as_obj(self) -> Option<ObjId> {
        match self {
            Value::Obj(id) => Some(id),
            _ => None,
        }
    }

    /// Holes read as `undefined`.
    pub(crate) fn or_undefined(self) -> Value {
        match self {
            Value::Hole => Value::Undefined,
            other => other,
        }
    }
}

/// A property key: an array index below 2^31, an interned string or a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key(pub(crate) u32);

const INDEX: u32 = 1 << 31;
const SYMBOL: u32 = 1 << 30;

impl Key {
    pub(crate) const fn index(index: u32) -> Key {
        Key(index | INDEX)
    }

    pub(crate) const fn symbol(number: u32) -> Key {
        Key(number | SYMBOL)
    }

    pub(crate) fn as_index(self) -> Option<u32> {
        (self.0 & INDEX != 0).then_some(self.0 & !INDEX)
    }

    pub(crate) fn as_symbol(self) -> Option<u32> {
        (self.0 & INDEX == 0 && self.0 & SYMBOL != 0).then_some(self.0 & !SYMBOL)
    }

    pub(crate) fn is_symbol(self) -> bool {
        self.as_symbol().is_some()
    }
}

/// Why a computation didn't produce a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Abrupt {
    /// A value was thrown; the program may catch it.
    Throw(Value),
    /// The run ends; no program code runs any more.
    Stop(Stop),
}

/// Why a run was ended from outside the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Timeout,
    Cancelled,
    Fuel,
}

pub(crate) type Res<T> = Result<T, Abrupt>;
