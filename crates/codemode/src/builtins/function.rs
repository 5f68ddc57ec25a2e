//! `Function.prototype`, and the constructors that refuse to compile text.

use crate::atoms::SYM_HAS_INSTANCE;
use crate::object::{Bound, Kind};
use crate::realm::{Builder, intrinsic as i, name};
use crate::shape::Attrs;
use crate::value::{Key, Res, Value};
use crate::vm::{Args, Vm};

pub(super) fn install(b: &mut Builder) {
    let proto = i::FUNCTION_PROTO;
    b.constructor(i::FUNCTION, proto, "Function", 1, |vm, _| {
        Err(vm
            .type_error("Functions can't be made from text; write a function expression instead."))
    });
    let itself = b.native("", 0, |_, _| Ok(Value::Undefined));
    b.kind(proto, Kind::Native(itself));
    b.methods(
        proto,
        &[
            ("call", 1, call),
            ("apply", 2, apply),
            ("bind", 1, bind),
            ("toString", 0, to_string),
        ],
    );
    let has_instance = b.native("[Symbol.hasInstance]", 1, |vm, a| {
        let value = a.get(vm, 0);
        if !vm.is_callable(a.this) {
            return Ok(Value::Bool(false));
        }
        vm.ordinary_instance(value, a.this).map(Value::Bool)
    });
    b.define(proto, SYM_HAS_INSTANCE, Value::Lazy(has_instance), Attrs(0));
    let thrower = b.native("", 0, |vm, _| {
        Err(vm.type_error("'caller', 'callee' and 'arguments' may not be used in strict code."))
    });
    b.fixed_function(i::THROW_TYPE_ERROR, thrower);
    for key in ["caller", "arguments"] {
        let pair = b.accessor(i::THROW_TYPE_ERROR, i::THROW_TYPE_ERROR);
        let key = b.key(key);
        let attrs = Attrs(Attrs::CONFIGURABLE | Attrs::ACCESSOR);
        b.define(proto, key, Value::Obj(pair), attrs);
    }
    // The pair under `callee` of every `arguments`.
    let pair = b.accessor(i::THROW_TYPE_ERROR, i::THROW_TYPE_ERROR);
    b.callee(pair);
    let from_text: crate::realm::NativeFn = |vm, _| {
        Err(vm
            .type_error("Functions can't be made from text; write a function expression instead."))
    };
    for (constructor, object, tag, instances) in [
        (
            i::ASYNC_FUNCTION,
            i::ASYNC_FUNCTION_PROTO,
            "AsyncFunction",
            None,
        ),
        (
            i::GENERATOR_FUNCTION,
            i::GENERATOR_FUNCTION_PROTO,
            "GeneratorFunction",
            Some(i::GENERATOR_PROTO),
        ),
        (
            i::ASYNC_GENERATOR_FUNCTION,
            i::ASYNC_GENERATOR_FUNCTION_PROTO,
            "AsyncGeneratorFunction",
            Some(i::ASYNC_GENERATOR_PROTO),
        ),
    ] {
        b.proto(object, proto);
        b.proto(constructor, i::FUNCTION);
        b.function_constructor(constructor, object, tag, from_text);
        if let Some(instances) = instances {
            let attrs = Attrs(Attrs::CONFIGURABLE);
            b.define(object, name::PROTOTYPE, Value::Obj(instances), attrs);
            b.define(instances, name::CONSTRUCTOR, Value::Obj(object), attrs);
        }
        b.tag(object, tag);
    }
}

fn require(vm: &mut Vm, value: Value, method: &str) -> Res<()> {
    if vm.is_callable(value) {
        return Ok(());
    }
    Err(vm.type_error(&format!(
        "Function.prototype.{method} was called on a value that is no function."
    )))
}

fn call(vm: &mut Vm, args: Args) -> Res<Value> {
    require(vm, args.this, "call")?;
    let mut list = args.all(vm);
    let this = if list.is_empty() {
        Value::Undefined
    } else {
        list.remove(0)
    };
    vm.call(args.this, this, &list)
}

/// The elements of an array-like.
pub(super) fn list_from(vm: &mut Vm, value: Value) -> Res<Vec<Value>> {
    if value.is_nullish() {
        return Ok(Vec::new());
    }
    if vm.is_plain_array(value) {
        return vm.dense_items(value);
    }
    let Some(id) = vm.settle(value).as_obj() else {
        return Err(vm.type_error("CreateListFromArrayLike called on non-object."));
    };
    let len = vm.length_of(id)?;
    if len > 1_000_000 {
        return Err(vm.range_error("Too many arguments."));
    }
    (0..len)
        .map(|at| vm.get(value, Key::index(at as u32)))
        .collect()
}

fn apply(vm: &mut Vm, args: Args) -> Res<Value> {
    require(vm, args.this, "apply")?;
    let this = args.get(vm, 0);
    let list = args.get(vm, 1);
    let list = list_from(vm, list)?;
    vm.call(args.this, this, &list)
}

fn bind(vm: &mut Vm, args: Args) -> Res<Value> {
    require(vm, args.this, "bind")?;
    let mut list = args.all(vm);
    let this = if list.is_empty() {
        Value::Undefined
    } else {
        list.remove(0)
    };
    let target = vm.settle(args.this);
    let has_length = target
        .as_obj()
        .is_some_and(|id| vm.get_own(id, name::LENGTH).is_some());
    let length = if has_length {
        vm.get(target, name::LENGTH)?
    } else {
        Value::Undefined
    };
    let length = if let Value::Num(n) = length {
        let n = if n.is_nan() { 0.0 } else { n.trunc() };
        (n - list.len() as f64).max(0.0)
    } else {
        0.0
    };
    let label = vm.get(target, name::NAME)?;
    let label = if let Value::Str(id) = label {
        vm.utf8(id)
    } else {
        String::new()
    };
    let proto = target.as_obj().and_then(|id| vm.heap.proto_of(id));
    let id = vm.heap.alloc(
        proto,
        Kind::Bound(Box::new(Bound {
            target,
            this,
            args: list,
        })),
    );
    vm.define(
        id,
        name::LENGTH,
        Attrs(Attrs::CONFIGURABLE),
        Value::Num(length),
    )?;
    let label = vm.str(&format!("bound {label}"));
    vm.define(id, name::NAME, Attrs(Attrs::CONFIGURABLE), label)?;
    Ok(Value::Obj(id))
}

fn to_string(vm: &mut Vm, args: Args) -> Res<Value> {
    require(vm, args.this, "toString")?;
    let this = vm.settle(args.this);
    if let Some(id) = this.as_obj()
        && let Kind::Closure(closure) = vm.heap.kind(id)
    {
        let (start, end) = vm.program.funcs[closure.func as usize].source;
        let text = vm.program.source.get(start as usize..end as usize);
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            let text = crate::text::Text::new(text);
            return vm.new_text(text);
        }
    }
    let label = match this.as_obj().map(|id| vm.heap.kind(id)) {
        Some(Kind::Native(number)) => vm.key_text(vm.realm.natives[*number as usize].name),
        _ => String::new(),
    };
    let label = if label.starts_with('[') {
        String::new()
    } else {
        label
    };
    Ok(vm.str(&format!("function {label}() {{ [native code] }}")))
}
