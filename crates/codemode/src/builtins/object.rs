//! `Object` and its prototype.

use crate::atoms::SYM_TO_STRING_TAG;
use crate::object::{EXTENSIBLE, Kind};
use crate::realm::{Builder, intrinsic as i, name};
use crate::value::{Key, ObjId, Res, Value};
use crate::vm::{Args, Vm};

pub(super) fn install(b: &mut Builder) {
    let proto = i::OBJECT_PROTO;
    b.constructor(i::OBJECT, proto, "Object", 1, construct);
    b.methods(
        i::OBJECT,
        &[
            ("keys", 1, keys),
            ("values", 1, values),
            ("entries", 1, entries),
            ("hasOwn", 2, has_own),
            ("assign", 2, assign),
            ("fromEntries", 1, from_entries),
            ("is", 2, |vm, a| {
                let (x, y) = (a.get(vm, 0), a.get(vm, 1));
                Ok(Value::Bool(vm.same_value(x, y)))
            }),
            ("groupBy", 2, group_by),
            ("getPrototypeOf", 1, get_prototype_of),
            ("setPrototypeOf", 2, set_prototype_of),
            ("create", 2, create),
            ("freeze", 1, |vm, a| integrity(vm, a, true)),
            ("seal", 1, |vm, a| integrity(vm, a, false)),
            ("preventExtensions", 1, |vm, a| {
                let value = a.get(vm, 0);
                if let Some(id) = vm.settle(value).as_obj() {
                    vm.prevent_extensions(id);
                }
                Ok(value)
            }),
            ("isFrozen", 1, |vm, a| is_integral(vm, a, true)),
            ("isSealed", 1, |vm, a| is_integral(vm, a, false)),
            ("isExtensible", 1, |vm, a| {
                let value = a.get(vm, 0);
                let id = vm.settle(value).as_obj();
                Ok(Value::Bool(
                    id.is_some_and(|id| vm.heap.obj(id).flags & EXTENSIBLE != 0),
                ))
            }),
            ("getOwnPropertyNames", 1, |vm, a| own_names(vm, a, false)),
            ("getOwnPropertySymbols", 1, |vm, a| own_names(vm, a, true)),
            ("getOwnPropertyDescriptor", 2, get_own_property_descriptor),
            ("getOwnPropertyDescriptors", 1, get_own_property_descriptors),
            ("defineProperty", 3, define_property),
            ("defineProperties", 2, |vm, a| {
                let target = a.get(vm, 0);
                let Some(id) = vm.settle(target).as_obj() else {
                    return Err(vm.type_error("Object.defineProperties called on non-object."));
                };
                let props = a.get(vm, 1);
                define_all(vm, id, props)?;
                Ok(target)
            }),
        ],
    );
    b.methods(
        proto,
        &[
            ("toString", 0, to_string),
            ("toLocaleString", 0, |vm, a| {
                let method = vm.get(a.this, name::TO_STRING)?;
                vm.call(method, a.this, &[])
            }),
            ("valueOf", 0, |vm, a| Ok(Value::Obj(vm.to_object(a.this)?))),
            ("hasOwnProperty", 1, |vm, a| {
                let key = a.get(vm, 0);
                let key = vm.to_key(key)?;
                let id = vm.to_object(a.this)?;
                Ok(Value::Bool(vm.get_own(id, key).is_some()))
            }),
            ("isPrototypeOf", 1, |vm, a| {
                let value = a.get(vm, 0);
                if !value.is_object() {
                    return Ok(Value::Bool(false));
                }
                let own = Some(vm.to_object(a.this)?);
                let mut at = vm
                    .settle(value)
                    .as_obj()
                    .and_then(|id| vm.heap.proto_of(id));
                while let Some(id) = at {
                    if Some(id) == own {
                        return Ok(Value::Bool(true));
                    }
                    at = vm.heap.proto_of(id);
                }
                Ok(Value::Bool(false))
            }),
            ("propertyIsEnumerable", 1, |vm, a| {
                let key = a.get(vm, 0);
                let key = vm.to_key(key)?;
                let id = vm.to_object(a.this)?;
                Ok(Value::Bool(
                    vm.get_own(id, key)
                        .is_some_and(|own| own.attrs.enumerable()),
                ))
            }),
        ],
    );
}

fn construct(vm: &mut Vm, args: Args) -> Res<Value> {
    let value = args.get(vm, 0);
    if args.is_construct() && args.new_target.as_obj() != Some(i::OBJECT) {
        let proto = vm.proto_of_new(args.new_target, i::OBJECT_PROTO)?;
        return Ok(Value::Obj(vm.heap.alloc(Some(proto), Kind::Ordinary)));
    }
    if value.is_nullish() {
        return Ok(Value::Obj(vm.object()));
    }
    vm.to_object(value).map(Value::Obj)
}

fn keys(vm: &mut Vm, args: Args) -> Res<Value> {
    let target = args.get(vm, 0);
    let id = vm.to_object(target)?;
    let keys = if let Kind::Tool(_) = vm.heap.kind(id) {
        vm.tool_children(id)?
    } else {
        vm.enumerable_keys(id)
    };
    vm.charge(keys.len())?;
    let items = keys
        .into_iter()
        .map(|k| Value::Str(vm.key_str(k)))
        .collect();
    Ok(vm.array(items))
}

fn values(vm: &mut Vm, args: Args) -> Res<Value> {
    let target = args.get(vm, 0);
    let id = vm.to_object(target)?;
    let out = vm.array(Vec::new());
    for key in vm.enumerable_keys(id) {
        let value = vm.get(Value::Obj(id), key)?;
        vm.push(out, value)?;
    }
    Ok(out)
}

fn entries(vm: &mut Vm, args: Args) -> Res<Value> {
    let target = args.get(vm, 0);
    let id = vm.to_object(target)?;
    let out = vm.array(Vec::new());
    for key in vm.enumerable_keys(id) {
        let value = vm.get(Value::Obj(id), key)?;
        let label = Value::Str(vm.key_str(key));
        let pair = vm.array(vec![label, value]);
        vm.push(out, pair)?;
    }
    Ok(out)
}

fn has_own(vm: &mut Vm, args: Args) -> Res<Value> {
    let target = args.get(vm, 0);
    let id = vm.to_object(target)?;
    let key = args.get(vm, 1);
    let key = vm.to_key(key)?;
    Ok(Value::Bool(vm.get_own(id, key).is_some()))
}

fn assign(vm: &mut Vm, args: Args) -> Res<Value> {
    let target = args.get(vm, 0);
    let id = vm.to_object(target)?;
    for at in 1..args.len() {
        let source = args.get(vm, at);
        if source.is_nullish() {
            continue;
        }
        let source = vm.to_object(source)?;
        for key in vm.own_keys(source) {
            if vm
                .get_own(source, key)
                .is_some_and(|own| own.attrs.enumerable())
            {
                let value = vm.get(Value::Obj(source), key)?;
                vm.put(Value::Obj(id), key, value)?;
            }
        }
    }
    Ok(Value::Obj(id))
}

fn from_entries(vm: &mut Vm, args: Args) -> Res<Value> {
    let source = args.get(vm, 0);
    let id = vm.object();
    vm.iterate(source, |vm, entry| {
        if !entry.is_object() {
            return Err(vm.type_error("Iterator value is not an entry object."));
        }
        let key = vm.get(entry, Key::index(0))?;
        let value = vm.get(entry, Key::index(1))?;
        let key = vm.to_key(key)?;
        vm.define_field(id, key, value)?;
        Ok(true)
    })?;
    Ok(Value::Obj(id))
}

fn group_by(vm: &mut Vm, args: Args) -> Res<Value> {
    let (source, callback) = (args.get(vm, 0), args.get(vm, 1));
    if !vm.is_callable(callback) {
        return Err(vm.type_error("Object.groupBy callback is not a function."));
    }
    let id = vm.heap.alloc(None, Kind::Ordinary);
    let mut index = 0.0;
    vm.iterate(source, |vm, value| {
        let key = vm.call(callback, Value::Undefined, &[value, Value::Num(index)])?;
        index += 1.0;
        let key = vm.to_key(key)?;
        match vm.get_own(id, key) {
            Some(own) => vm.push(own.value, value)?,
            None => {
                let group = vm.array(vec![value]);
                vm.define_field(id, key, group)?;
            }
        }
        Ok(true)
    })?;
    Ok(Value::Obj(id))
}

fn get_prototype_of(vm: &mut Vm, args: Args) -> Res<Value> {
    let target = args.get(vm, 0);
    let start = vm.settle(target);
    let proto = match start {
        Value::Obj(id) => vm.heap.proto_of(id),
        other => {
            vm.to_object(other)?;
            vm.proto_for(other)
        }
    };
    Ok(proto.map_or(Value::Null, Value::Obj))
}

fn set_prototype_of(vm: &mut Vm, args: Args) -> Res<Value> {
    let (target, proto) = (args.get(vm, 0), args.get(vm, 1));
    if target.is_nullish() {
        return Err(vm.type_error("Object.setPrototypeOf called on null or undefined."));
    }
    let proto = match vm.settle(proto) {
        Value::Null => None,
        Value::Obj(id) => Some(id),
        _ => return Err(vm.type_error("Object prototype may only be an Object or null.")),
    };
    let Some(id) = vm.settle(target).as_obj() else {
        return Ok(target);
    };
    if !set_prototype(vm, id, proto) {
        return Err(vm.type_error("This object's prototype can't be changed."));
    }
    Ok(target)
}

/// `[[SetPrototypeOf]]`: whether the prototype could be changed.
pub(super) fn set_prototype(vm: &mut Vm, id: ObjId, proto: Option<ObjId>) -> bool {
    if vm.heap.proto_of(id) == proto {
        return true;
    }
    if id == i::OBJECT_PROTO || vm.heap.obj(id).flags & EXTENSIBLE == 0 {
        return false;
    }
    let mut at = proto;
    while let Some(p) = at {
        if p == id {
            return false;
        }
        at = vm.heap.proto_of(p);
    }
    vm.heap.set_proto(id, proto);
    true
}

/// An argument as a property key.
pub(super) fn property_key(vm: &mut Vm, args: Args, index: usize) -> Res<Key> {
    let key = args.get(vm, index);
    vm.to_key(key)
}

fn create(vm: &mut Vm, args: Args) -> Res<Value> {
    let proto = args.get(vm, 0);
    let proto = match vm.settle(proto) {
        Value::Null => None,
        Value::Obj(id) => Some(id),
        _ => return Err(vm.type_error("Object prototype may only be an Object or null.")),
    };
    let id = vm.heap.alloc(proto, Kind::Ordinary);
    let props = args.get(vm, 1);
    if !props.is_undefined() {
        define_all(vm, id, props)?;
    }
    Ok(Value::Obj(id))
}

fn define_all(vm: &mut Vm, id: ObjId, props: Value) -> Res<()> {
    let source = vm.to_object(props)?;
    let mut descriptors = Vec::new();
    for key in vm.own_keys(source) {
        let shown = vm
            .get_own(source, key)
            .is_some_and(|own| own.attrs.enumerable());
        if shown {
            let descriptor = vm.get(Value::Obj(source), key)?;
            descriptors.push((key, vm.to_descriptor(descriptor)?));
        }
    }
    for (key, descriptor) in descriptors {
        vm.define_or_throw(id, key, &descriptor)?;
    }
    Ok(())
}

fn integrity(vm: &mut Vm, args: Args, frozen: bool) -> Res<Value> {
    let value = args.get(vm, 0);
    if let Some(id) = vm.settle(value).as_obj() {
        vm.set_integrity(id, frozen)?;
    }
    Ok(value)
}

fn is_integral(vm: &mut Vm, args: Args, frozen: bool) -> Res<Value> {
    let value = args.get(vm, 0);
    let id = vm.settle(value).as_obj();
    Ok(Value::Bool(id.is_none_or(|id| vm.is_integral(id, frozen))))
}

fn own_names(vm: &mut Vm, args: Args, symbols: bool) -> Res<Value> {
    let target = args.get(vm, 0);
    let id = vm.to_object(target)?;
    let keys = vm.own_keys(id);
    let items = keys
        .into_iter()
        .filter(|k| k.is_symbol() == symbols)
        .map(|k| vm.key_value(k))
        .collect();
    Ok(vm.array(items))
}

fn get_own_property_descriptor(vm: &mut Vm, args: Args) -> Res<Value> {
    let target = args.get(vm, 0);
    let id = vm.to_object(target)?;
    let key = args.get(vm, 1);
    let key = vm.to_key(key)?;
    vm.describe_own(id, key)
}

fn get_own_property_descriptors(vm: &mut Vm, args: Args) -> Res<Value> {
    let target = args.get(vm, 0);
    let id = vm.to_object(target)?;
    let out = vm.object();
    for key in vm.own_keys(id) {
        let descriptor = vm.describe_own(id, key)?;
        vm.define_field(out, key, descriptor)?;
    }
    Ok(Value::Obj(out))
}

fn define_property(vm: &mut Vm, args: Args) -> Res<Value> {
    let target = args.get(vm, 0);
    let Some(id) = vm.settle(target).as_obj() else {
        return Err(vm.type_error("Object.defineProperty called on non-object."));
    };
    let key = property_key(vm, args, 1)?;
    let descriptor = args.get(vm, 2);
    let descriptor = vm.to_descriptor(descriptor)?;
    vm.define_or_throw(id, key, &descriptor)?;
    Ok(target)
}

fn to_string(vm: &mut Vm, args: Args) -> Res<Value> {
    to_string_of(vm, args.this)
}

/// `Object.prototype.toString` of a value.
pub(super) fn to_string_of(vm: &mut Vm, value: Value) -> Res<Value> {
    let this = vm.settle(value);
    let default = match this {
        Value::Undefined => return Ok(vm.str("[object Undefined]")),
        Value::Null => return Ok(vm.str("[object Null]")),
        Value::Bool(_) => "Boolean",
        Value::Num(_) => "Number",
        Value::Str(_) => "String",
        Value::Obj(id) => match vm.heap.kind(id) {
            Kind::Array(_) => "Array",
            Kind::Error(_) => "Error",
            Kind::Date(_) => "Date",
            Kind::RegExp(_) => "RegExp",
            Kind::Arguments => "Arguments",
            Kind::Boxed(Value::Str(_)) => "String",
            Kind::Boxed(Value::Num(_)) => "Number",
            Kind::Boxed(Value::Bool(_)) => "Boolean",
            _ if vm.heap.obj(id).is_callable() => "Function",
            _ => "Object",
        },
        _ => "Object",
    };
    let tag = vm.get(this, SYM_TO_STRING_TAG)?;
    let tag = match tag {
        Value::Str(id) => vm.utf8(id),
        _ => default.to_owned(),
    };
    Ok(vm.str(&format!("[object {tag}]")))
}
