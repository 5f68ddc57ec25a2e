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
    b.symbol_method(proto, SYM_HAS_INSTANCE, "[Symbol.hasInstance]", |vm, a| {
        let value = a.get(vm, 0);
        if !vm.is_callable(a.this) {
            return Ok(Value::Bool(false));
        }
        vm.ordinary_instance(value, a.this).map(Value::Bool)
    });
    for (object, tag) in [
        (i::ASYNC_FUNCTION_PROTO, "AsyncFunction"),
        (i::GENERATOR_FUNCTION_PROTO, "GeneratorFunction"),
        (i::ASYNC_GENERATOR_FUNCTION_PROTO, "AsyncGeneratorFunction"),
    ] {
        b.proto(object, proto);
        b.tag(object, tag);
    }
    b.define(
        i::GENERATOR_FUNCTION_PROTO,
        name::PROTOTYPE,
        Value::Obj(i::GENERATOR_PROTO),
        Attrs(Attrs::CONFIGURABLE),
    );
    b.define(
        i::ASYNC_GENERATOR_FUNCTION_PROTO,
        name::PROTOTYPE,
        Value::Obj(i::ASYNC_GENERATOR_PROTO),
        Attrs(Attrs::CONFIGURABLE),
    );
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
        return Ok(vm
            .array_items(value)
            .into_iter()
            .map(Value::or_undefined)
            .collect());
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
    let length = vm.get(target, name::LENGTH)?;
    let length = if let Value::Num(n) = length {
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
    let label = vm.get(args.this, name::NAME)?;
    let label = if let Value::Str(id) = label {
        vm.utf8(id)
    } else {
        String::new()
    };
    Ok(vm.str(&format!("function {label}() {{ [code] }}")))
}
