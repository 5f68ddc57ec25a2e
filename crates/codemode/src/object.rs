//! Objects and what sets one kind of object apart from another.

use crate::binary::{BufferData, Window};
use crate::regex::Regex;
use crate::shape::ShapeId;
use crate::value::{CellId, Key, ObjId, StrId, Value};
use std::collections::VecDeque;
use std::sync::Arc;

pub(crate) const EXTENSIBLE: u8 = 1;
/// Some other object has this one as its prototype.
pub(crate) const IS_PROTO: u8 = 2;
/// An array whose elements can't be written, or can't be removed.
pub(crate) const FROZEN_ELEMENTS: u8 = 4;
pub(crate) const SEALED_ELEMENTS: u8 = 8;
/// An array whose `length` was made read-only.
pub(crate) const FIXED_LENGTH: u8 = 16;
/// An array some of whose elements are no plain data properties: they live in slots, and their places hold holes.
pub(crate) const ODD_ELEMENTS: u8 = 64;

/// One object: a shape, its slots, and its kind's own data.
#[derive(Clone, Debug)]
pub(crate) struct Obj {
    pub(crate) shape: ShapeId,
    pub(crate) flags: u8,
    pub(crate) slots: Vec<Value>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A cell of the arena that holds no object.
    Free,
    Ordinary,
    Array(Vec<Value>),
    Arguments,
    Closure(Box<Closure>),
    Native(u16),
    NativeClosure(Box<NativeClosure>),
    Bound(Box<Bound>),
    /// Getter and setter of one property; lives in a slot, never seen by programs.
    Accessor(Value, Value),
    Error(Box<ErrorData>),
    /// A primitive in object form.
    Boxed(Value),
    Date(f64),
    RegExp(Box<RegExpData>),
    Map(Box<Table>),
    Set(Box<Table>),
    WeakMap(Box<Table>),
    WeakSet(Box<Table>),
    WeakRef(Value),
    /// Tokens of a `FinalizationRegistry`.
    Registry(Vec<Value>),
    Promise(Box<PromiseData>),
    Coroutine(Box<Coroutine>),
    ArrayIter(Box<ArrayIter>),
    TableIter(Box<TableIter>),
    StringIter(StrId, usize),
    MatchIter(Box<MatchIter>),
    IterHelper(Box<IterHelper>),
    /// Adapter of `Iterator.from`, or of a synchronous iterator used in `for await`.
    WrapIter(Value, Value),
    /// `ArrayBuffer`.
    Buffer(Box<BufferData>),
    /// A typed array.
    Typed(Box<Window>),
    /// `DataView`.
    View(Box<Window>),
    Url(Box<UrlData>),
    Params(Box<ParamsData>),
    Headers(Vec<(String, String)>),
    TextEncoder,
    TextDecoder {
        fatal: bool,
        ignore_bom: bool,
    },
    Tool(Box<ToolRef>),
    /// Names still to visit by a `for-in`.
    NameIter(Box<(Vec<Key>, usize, Value)>),
}

#[derive(Clone, Debug)]
pub(crate) struct Closure {
    pub(crate) func: u32,
    pub(crate) captures: Box<[CellId]>,
    pub(crate) this: Value,
    pub(crate) new_target: Value,
    pub(crate) home: Option<ObjId>,
    /// Initialiser of a class's instance fields.
    pub(crate) fields: Option<ObjId>,
    /// The derived constructor around an arrow function, which may call `super()` for it.
    pub(crate) constructor: Option<ObjId>,
}

#[derive(Clone, Debug)]
pub(crate) struct NativeClosure {
    pub(crate) native: u16,
    pub(crate) data: Vec<Value>,
}

#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) target: Value,
    pub(crate) this: Value,
    pub(crate) args: Vec<Value>,
}

/// What the diagnostics want to know about an error beyond its properties.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErrorData {
    pub(crate) kind: Option<crate::diagnostic::DiagnosticKind>,
    pub(crate) span: Option<u32>,
    pub(crate) suggestions: Vec<String>,
    /// The text before any location is appended.
    pub(crate) raised: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct RegExpData {
    pub(crate) regex: Arc<Regex>,
    pub(crate) source: StrId,
    pub(crate) flags: StrId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromiseState {
    Pending,
    Fulfilled,
    Rejected,
}

#[derive(Clone, Debug)]
pub(crate) struct PromiseData {
    pub(crate) state: PromiseState,
    pub(crate) value: Value,
    pub(crate) reactions: Vec<Reaction>,
    pub(crate) handled: bool,
    pub(crate) serial: u32,
}

/// What happens when a promise settles.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reaction {
    Then {
        fulfilled: Value,
        rejected: Value,
        derived: Option<ObjId>,
    },
    Resume(ObjId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoState {
    Start,
    Suspended,
    Running,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoKind {
    Async,
    Generator,
    AsyncGenerator,
}

/// How a parked frame is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    Next,
    Throw,
    Return,
}

/// A parked frame: an async function or a generator between two runs.
#[derive(Clone, Debug)]
pub(crate) struct Coroutine {
    pub(crate) kind: CoKind,
    pub(crate) state: CoState,
    pub(crate) func: u32,
    pub(crate) pc: u32,
    pub(crate) closure: ObjId,
    pub(crate) this: Value,
    pub(crate) args: Value,
    pub(crate) regs: Vec<Value>,
    /// Where the value sent in goes.
    pub(crate) dst: u16,
    /// The suspension is a `yield`, so the way of resuming is written beside the value.
    pub(crate) at_yield: bool,
    pub(crate) promise: Option<ObjId>,
    pub(crate) queue: VecDeque<(Resume, Value, ObjId)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IterWhat {
    Keys,
    Values,
    Entries,
}

#[derive(Clone, Debug)]
pub(crate) struct ArrayIter {
    pub(crate) target: Value,
    pub(crate) index: usize,
    pub(crate) what: IterWhat,
    pub(crate) done: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct TableIter {
    pub(crate) target: ObjId,
    pub(crate) index: usize,
    pub(crate) what: IterWhat,
    pub(crate) done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HelperKind {
    Map,
    Filter,
    Take,
    Drop,
    FlatMap,
}

#[derive(Clone, Debug)]
pub(crate) struct IterHelper {
    pub(crate) kind: HelperKind,
    pub(crate) source: Value,
    pub(crate) next: Value,
    pub(crate) func: Value,
    pub(crate) count: f64,
    pub(crate) remaining: f64,
    pub(crate) inner: Option<(Value, Value)>,
    pub(crate) done: bool,
    pub(crate) running: bool,
}

/// An iterator of `RegExp.prototype[Symbol.matchAll]`.
#[derive(Clone, Debug)]
pub(crate) struct MatchIter {
    pub(crate) matcher: ObjId,
    pub(crate) text: StrId,
    pub(crate) global: bool,
    pub(crate) by_code_point: bool,
    pub(crate) done: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct UrlData {
    pub(crate) url: url::Url,
    pub(crate) params: Option<ObjId>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ParamsData {
    pub(crate) list: Vec<(String, String)>,
    pub(crate) owner: Option<ObjId>,
}

/// A path below `tools`.
#[derive(Clone, Debug)]
pub(crate) struct ToolRef {
    pub(crate) path: Vec<String>,
}

/// A hash table in insertion order whose iterators survive changes: removed entries leave a tombstone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Option<(Value, Value)>>,
    pub(crate) index: rustc_hash::FxHashMap<TableKey, u32>,
    pub(crate) live: usize,
}

/// A key by SameValueZero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TableKey {
    Undefined,
    Null,
    Bool(bool),
    Num(u64),
    Text(crate::text::Text),
    Big(num_bigint::BigInt),
    Sym(Key),
    Obj(ObjId),
}

impl Table {
    pub(crate) fn get(&self, key: &TableKey) -> Option<Value> {
        let at = *self.index.get(key)?;
        self.entries[at as usize].map(|(_, v)| v)
    }

    /// Inserts or overwrites; true when the key is new.
    pub(crate) fn set(&mut self, key: TableKey, shown: Value, value: Value) -> bool {
        match self.index.get(&key) {
            Some(&at) => {
                if let Some(entry) = &mut self.entries[at as usize] {
                    entry.1 = value;
                }
                false
            }
            None => {
                self.index.insert(key, self.entries.len() as u32);
                self.entries.push(Some((shown, value)));
                self.live += 1;
                true
            }
        }
    }

    pub(crate) fn delete(&mut self, key: &TableKey) -> bool {
        match self.index.remove(key) {
            Some(at) => {
                self.entries[at as usize] = None;
                self.live -= 1;
                true
            }
            None => false,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.index.clear();
        self.entries.iter_mut().for_each(|e| *e = None);
        self.live = 0;
    }
}

impl Obj {
    pub(crate) fn is_callable(&self) -> bool {
        matches!(
            self.kind,
            Kind::Closure(_)
                | Kind::Native(_)
                | Kind::NativeClosure(_)
                | Kind::Bound(_)
                | Kind::Tool(_)
        )
    }
}
