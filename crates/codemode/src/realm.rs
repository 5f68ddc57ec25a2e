//! The built-in objects, described once a process and copied into every run.
//!
//! A built-in function costs nothing until a program looks at it as an object: its slot holds the function's number.

use crate::atoms::Names;
use crate::object::{EXTENSIBLE, IS_PROTO, Kind, Obj};
use crate::shape::{Attrs, Shape, ShapeId, Table};
use crate::value::{Key, ObjId, Value};
use crate::vm::{Args, Vm};
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};

/// A built-in function.
pub(crate) type NativeFn = fn(&mut Vm, Args) -> crate::value::Res<Value>;

pub(crate) struct Native {
    pub(crate) name: Key,
    pub(crate) length: u8,
    pub(crate) func: NativeFn,
    /// May be called with `new`.
    pub(crate) constructor: bool,
    /// The intrinsic found under `prototype`, for constructors.
    pub(crate) object: Option<ObjId>,
}

/// Everything that runs start with.
pub(crate) struct Realm {
    pub(crate) names: Names,
    pub(crate) natives: Vec<Native>,
    pub(crate) objs: Vec<Obj>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) globals: FxHashMap<Key, Value>,
    /// Natives that other natives make closures of, by name.
    pub(crate) internal: FxHashMap<&'static str, u16>,
    /// Accessors of `arguments.callee`.
    pub(crate) callee: ObjId,
    /// Slots that hold strings.
    pub(crate) texts: Vec<(ObjId, usize, Key)>,
}

macro_rules! names {
    ($($constant:ident = $text:literal),* $(,)?) => {
        /// Names that the interpreter itself uses.
        pub(crate) mod name {
            use crate::value::Key;
            names!(@number 0, $($constant)*);
            pub(super) const ALL: &[&str] = &[$($text),*];
        }
    };
    (@number $n:expr, $first:ident $($rest:ident)*) => {
        pub(crate) const $first: Key = Key($n);
        names!(@number $n + 1, $($rest)*);
    };
    (@number $n:expr,) => {};
}

names! {
    EMPTY = "", LENGTH = "length", NAME = "name", PROTOTYPE = "prototype", CONSTRUCTOR = "constructor",
    MESSAGE = "message", VALUE = "value", DONE = "done", NEXT = "next", RETURN = "return", THROW = "throw",
    THEN = "then", TO_STRING = "toString", VALUE_OF = "valueOf", TO_JSON = "toJSON", CAUSE = "cause",
    ERRORS = "errors", INDEX = "index", INPUT = "input", GROUPS = "groups", INDICES = "indices", RAW = "raw",
    GET = "get", SET = "set", ENUMERABLE = "enumerable", CONFIGURABLE = "configurable", WRITABLE = "writable",
    LAST_INDEX = "lastIndex", PROTO = "__proto__", STATUS = "status", REASON = "reason",
    PROMISE = "promise", RESOLVE = "resolve", REJECT = "reject", HAS = "has", KEYS = "keys", SIZE = "size",
    ITEMS = "items", REMAINING = "remaining", OFFSET = "offset", PATH = "path", DESCRIPTION = "description",
    SIGNATURE = "signature", QUERY = "query", NAMESPACE = "namespace", LIMIT = "limit", UNDEFINED = "undefined",
    DEFAULT = "default", STRING = "string", NUMBER = "number",
    CALLEE = "callee", FLAGS = "flags", JOIN = "join", ADD = "add", VALUES = "values",
}

macro_rules! intrinsics {
    ($($constant:ident),* $(,)?) => {
        /// Built-in objects by their fixed handles.
        pub(crate) mod intrinsic {
            use crate::value::ObjId;
            intrinsics!(@number 0u32, $($constant)*);
            pub(super) const COUNT: u32 = [$(stringify!($constant)),*].len() as u32;
        }
    };
    (@number $n:expr, $first:ident $($rest:ident)*) => {
        pub(crate) const $first: ObjId = ObjId($n);
        intrinsics!(@number $n + 1, $($rest)*);
    };
    (@number $n:expr,) => {};
}

intrinsics! {
    OBJECT_PROTO, FUNCTION_PROTO, ARRAY_PROTO, STRING_PROTO, NUMBER_PROTO, BOOLEAN_PROTO, SYMBOL_PROTO, BIGINT_PROTO,
    ERROR_PROTO, TYPE_ERROR_PROTO, RANGE_ERROR_PROTO, SYNTAX_ERROR_PROTO, REFERENCE_ERROR_PROTO, EVAL_ERROR_PROTO,
    URI_ERROR_PROTO, AGGREGATE_ERROR_PROTO, DATE_PROTO, REGEXP_PROTO, MAP_PROTO, SET_PROTO, WEAK_MAP_PROTO,
    WEAK_SET_PROTO, PROMISE_PROTO, ITERATOR_PROTO, ASYNC_ITERATOR_PROTO, ARRAY_ITERATOR_PROTO, STRING_ITERATOR_PROTO,
    TABLE_ITERATOR_PROTO, HELPER_PROTO, WRAP_ITERATOR_PROTO, REGEXP_ITERATOR_PROTO, GENERATOR_PROTO,
    ASYNC_GENERATOR_PROTO, GENERATOR_FUNCTION_PROTO, ASYNC_GENERATOR_FUNCTION_PROTO, ASYNC_FUNCTION_PROTO,
    BYTES_PROTO, TYPED_ARRAY_PROTO, INT8_PROTO, UINT8_CLAMPED_PROTO, INT16_PROTO, UINT16_PROTO, INT32_PROTO, UINT32_PROTO,
    BIG_INT64_PROTO, BIG_UINT64_PROTO, FLOAT16_PROTO, FLOAT32_PROTO, FLOAT64_PROTO, ARRAY_BUFFER_PROTO, DATA_VIEW_PROTO,
    URL_PROTO, PARAMS_PROTO, HEADERS_PROTO, ENCODER_PROTO, DECODER_PROTO, SYNC_WRAP_PROTO,
    OBJECT, FUNCTION, ARRAY, STRING, NUMBER, BOOLEAN, SYMBOL, BIGINT, ERROR, TYPE_ERROR, RANGE_ERROR, SYNTAX_ERROR,
    REFERENCE_ERROR, EVAL_ERROR, URI_ERROR, AGGREGATE_ERROR, DATE, REGEXP, MAP, SET, WEAK_MAP, WEAK_SET, PROMISE,
    ITERATOR, BYTES, TYPED_ARRAY, INT8, UINT8_CLAMPED, INT16, UINT16, INT32, UINT32, BIG_INT64, BIG_UINT64, FLOAT16,
    FLOAT32, FLOAT64, ARRAY_BUFFER, DATA_VIEW, URL, PARAMS, HEADERS, ENCODER, DECODER, WEAK_REF, WEAK_REF_PROTO, REGISTRY, REGISTRY_PROTO, ASYNC_FUNCTION, GENERATOR_FUNCTION, ASYNC_GENERATOR_FUNCTION, MATH, JSON, REFLECT, THROW_TYPE_ERROR, CONSOLE, CRYPTO, TOOLS,
}

static REALM: OnceLock<Realm> = OnceLock::new();

/// The realm of this process.
pub(crate) fn realm() -> &'static Realm {
    REALM.get_or_init(|| {
        let mut builder = Builder::new();
        crate::builtins::install(&mut builder);
        builder.realm
    })
}

/// Describes the built-ins.
pub(crate) struct Builder {
    realm: Realm,
}

impl Builder {
    fn new() -> Builder {
        let mut names = Names::default();
        for text in name::ALL {
            names.intern(text);
        }
        let mut realm = Realm {
            names,
            natives: Vec::new(),
            objs: Vec::new(),
            shapes: Vec::new(),
            globals: FxHashMap::default(),
            internal: FxHashMap::default(),
            callee: intrinsic::OBJECT_PROTO,
            texts: Vec::new(),
        };
        for at in 0..intrinsic::COUNT {
            let proto = (at != intrinsic::OBJECT_PROTO.0).then_some(intrinsic::OBJECT_PROTO);
            realm.shapes.push(Shape {
                proto,
                table: Arc::default(),
                unique: true,
                next: Vec::new(),
            });
            realm.objs.push(Obj {
                shape: ShapeId(at),
                flags: EXTENSIBLE | IS_PROTO,
                slots: Vec::new(),
                kind: Kind::Ordinary,
            });
        }
        Builder { realm }
    }

    pub(crate) fn key(&mut self, name: &str) -> Key {
        self.realm.names.intern(name)
    }

    pub(crate) fn native(&mut self, name: &str, length: u8, func: NativeFn) -> u16 {
        let name = self.key(name);
        self.realm.natives.push(Native {
            name,
            length,
            func,
            constructor: false,
            object: None,
        });
        self.realm.natives.len() as u16 - 1
    }

    /// A native that only other natives hand out.
    pub(crate) fn internal(&mut self, name: &'static str, length: u8, func: NativeFn) {
        let number = self.native("", length, func);
        self.realm.internal.insert(name, number);
    }

    /// The number of an internal native, which programs see under `name`.
    pub(crate) fn internal_number(&mut self, internal: &'static str, name: &str) -> u16 {
        let number = self.realm.internal.get(internal).copied().unwrap_or(0);
        let name = self.key(name);
        self.realm.natives[number as usize].name = name;
        number
    }

    pub(crate) fn proto(&mut self, object: ObjId, proto: ObjId) {
        self.realm.shapes[object.0 as usize].proto = Some(proto);
    }

    pub(crate) fn no_proto(&mut self, object: ObjId) {
        self.realm.shapes[object.0 as usize].proto = None;
    }

    /// A string property: the name's text, which each run turns into a string of its own.
    pub(crate) fn text(&mut self, object: ObjId, key: &str, text: &str) {
        let key = self.key(key);
        let text = self.key(text);
        let slot = self.realm.objs[object.0 as usize].slots.len();
        self.define(object, key, Value::Undefined, Attrs::HIDDEN);
        self.realm.texts.push((object, slot, text));
    }

    pub(crate) fn kind(&mut self, object: ObjId, kind: Kind) {
        self.realm.objs[object.0 as usize].kind = kind;
    }

    pub(crate) fn define(&mut self, object: ObjId, key: Key, value: Value, attrs: Attrs) {
        let table: &mut Table = Arc::make_mut(&mut self.realm.shapes[object.0 as usize].table);
        table.push(key, attrs);
        self.realm.objs[object.0 as usize].slots.push(value);
    }

    pub(crate) fn constant(&mut self, object: ObjId, name: &str, value: Value) {
        let key = self.key(name);
        self.define(object, key, value, Attrs(0));
    }

    pub(crate) fn method(&mut self, object: ObjId, name: &str, length: u8, func: NativeFn) -> u16 {
        let key = self.key(name);
        let number = self.native(name, length, func);
        self.define(object, key, Value::Lazy(number), Attrs::HIDDEN);
        number
    }

    pub(crate) fn methods(&mut self, object: ObjId, list: &[(&str, u8, NativeFn)]) {
        for &(name, length, func) in list {
            self.method(object, name, length, func);
        }
    }

    pub(crate) fn symbol_method(
        &mut self,
        object: ObjId,
        symbol: Key,
        name: &str,
        length: u8,
        func: NativeFn,
    ) {
        let number = self.native(name, length, func);
        self.define(object, symbol, Value::Lazy(number), Attrs::HIDDEN);
    }

    pub(crate) fn alias(&mut self, object: ObjId, key: Key, number: u16) {
        self.define(object, key, Value::Lazy(number), Attrs::HIDDEN);
    }

    pub(crate) fn getter(
        &mut self,
        object: ObjId,
        name: &str,
        get: NativeFn,
        set: Option<NativeFn>,
    ) {
        let key = self.key(name);
        let getter = Value::Lazy(self.native(&format!("get {name}"), 0, get));
        let setter = match set {
            Some(set) => Value::Lazy(self.native(&format!("set {name}"), 1, set)),
            None => Value::Undefined,
        };
        let pair = self.object(Kind::Accessor(getter, setter), None);
        self.define(
            object,
            key,
            Value::Obj(pair),
            Attrs(Attrs::CONFIGURABLE | Attrs::ACCESSOR),
        );
    }

    /// The getter of `Symbol.species`, which answers the constructor it is asked of.
    pub(crate) fn species(&mut self, constructor: ObjId) {
        let symbol = crate::atoms::SYM_SPECIES;
        self.symbol_getter(constructor, symbol, "get [Symbol.species]", |vm, args| {
            Ok(vm.settle(args.this))
        });
    }

    pub(crate) fn symbol_getter(&mut self, object: ObjId, symbol: Key, name: &str, get: NativeFn) {
        let number = self.native(name, 0, get);
        let pair = Kind::Accessor(Value::Lazy(number), Value::Undefined);
        let pair = self.object(pair, None);
        let attrs = Attrs(Attrs::CONFIGURABLE | Attrs::ACCESSOR);
        self.define(object, symbol, Value::Obj(pair), attrs);
    }

    /// A function nobody can change.
    pub(crate) fn fixed_function(&mut self, object: ObjId, number: u16) {
        self.kind(object, Kind::Native(number));
        self.proto(object, intrinsic::FUNCTION_PROTO);
        self.realm.natives[number as usize].object = Some(object);
        self.define(object, name::LENGTH, Value::Num(0.0), Attrs(0));
        let slot = self.realm.objs[object.0 as usize].slots.len();
        self.define(object, name::NAME, Value::Undefined, Attrs(0));
        self.realm.texts.push((object, slot, name::EMPTY));
        self.realm.objs[object.0 as usize].flags &= !EXTENSIBLE;
    }

    pub(crate) fn accessor(&mut self, get: ObjId, set: ObjId) -> ObjId {
        self.object(Kind::Accessor(Value::Obj(get), Value::Obj(set)), None)
    }

    pub(crate) fn callee(&mut self, pair: ObjId) {
        self.realm.callee = pair;
    }

    /// An object of the realm without a handle of its own.
    pub(crate) fn plain_object(&mut self, proto: Option<ObjId>) -> ObjId {
        self.object(Kind::Ordinary, proto)
    }

    fn object(&mut self, kind: Kind, proto: Option<ObjId>) -> ObjId {
        let at = self.realm.objs.len() as u32;
        let shape = ShapeId(self.realm.shapes.len() as u32);
        self.realm.shapes.push(Shape {
            proto,
            table: Arc::default(),
            unique: true,
            next: Vec::new(),
        });
        self.realm.objs.push(Obj {
            shape,
            flags: EXTENSIBLE,
            slots: Vec::new(),
            kind,
        });
        ObjId(at)
    }

    /// The text of `Symbol.toStringTag`.
    pub(crate) fn tag(&mut self, object: ObjId, text: &str) {
        let text = self.key(text);
        let slot = self.realm.objs[object.0 as usize].slots.len();
        let attrs = Attrs(Attrs::CONFIGURABLE);
        self.define(
            object,
            crate::atoms::SYM_TO_STRING_TAG,
            Value::Undefined,
            attrs,
        );
        self.realm.texts.push((object, slot, text));
    }

    /// Makes `object` the constructor `name` of the objects that inherit from `prototype`, and a global.
    pub(crate) fn constructor(
        &mut self,
        object: ObjId,
        prototype: ObjId,
        name: &str,
        length: u8,
        func: NativeFn,
    ) {
        self.hidden_constructor(object, prototype, name, length, func);
        self.global(name, Value::Obj(object));
    }

    /// A constructor of functions, which isn't a global; its prototype's `constructor` can't be written.
    pub(crate) fn function_constructor(
        &mut self,
        object: ObjId,
        prototype: ObjId,
        name: &str,
        func: NativeFn,
    ) {
        let number = self.native(name, 1, func);
        let native = &mut self.realm.natives[number as usize];
        native.constructor = true;
        native.object = Some(object);
        self.kind(object, Kind::Native(number));
        self.define(object, name::PROTOTYPE, Value::Obj(prototype), Attrs(0));
        let attrs = Attrs(Attrs::CONFIGURABLE);
        self.define(prototype, name::CONSTRUCTOR, Value::Obj(object), attrs);
    }

    /// As `constructor`, for one that isn't a global.
    pub(crate) fn hidden_constructor(
        &mut self,
        object: ObjId,
        prototype: ObjId,
        name: &str,
        length: u8,
        func: NativeFn,
    ) {
        let number = self.native(name, length, func);
        let native = &mut self.realm.natives[number as usize];
        native.constructor = true;
        native.object = Some(object);
        self.kind(object, Kind::Native(number));
        if self.realm.shapes[object.0 as usize].proto == Some(intrinsic::OBJECT_PROTO) {
            self.proto(object, intrinsic::FUNCTION_PROTO);
        }
        self.define(object, name::PROTOTYPE, Value::Obj(prototype), Attrs(0));
        self.define(
            prototype,
            name::CONSTRUCTOR,
            Value::Obj(object),
            Attrs::HIDDEN,
        );
    }

    pub(crate) fn global(&mut self, name: &str, value: Value) {
        let key = self.key(name);
        self.realm.globals.insert(key, value);
    }

    pub(crate) fn global_function(&mut self, name: &str, length: u8, func: NativeFn) {
        let number = self.native(name, length, func);
        self.global(name, Value::Lazy(number));
    }
}
