//! `Map`, `Set`, `WeakMap`, `WeakSet`.

use crate::atoms::SYM_ITERATOR;
use crate::object::{IterWhat, Kind, Table, TableIter};
use crate::realm::{Builder, intrinsic as i, name};
use crate::value::{Key, ObjId, Res, Value};
use crate::vm::{Args, Vm};

pub(super) fn install(b: &mut Builder) {
    let map = i::MAP_PROTO;
    b.constructor(i::MAP, map, "Map", 0, |vm, a| construct(vm, a, Which::Map));
    b.methods(i::MAP, &[("groupBy", 2, group_by)]);
    b.methods(
        map,
        &[
            ("get", 1, get),
            ("set", 2, set),
            ("has", 1, has),
            ("delete", 1, delete),
            ("clear", 0, clear),
            ("forEach", 1, for_each),
            ("keys", 0, |vm, a| iterator(vm, a, IterWhat::Keys)),
            ("values", 0, |vm, a| iterator(vm, a, IterWhat::Values)),
            ("getOrInsert", 2, |vm, a| {
                let default = a.get(vm, 1);
                get_or_insert(vm, a, |_, _| Ok(default))
            }),
            ("getOrInsertComputed", 2, |vm, a| {
                let f = a.get(vm, 1);
                if !vm.is_callable(f) {
                    return Err(vm.type_error("getOrInsertComputed needs a function."));
                }
                get_or_insert(vm, a, |vm, key| vm.call(f, Value::Undefined, &[key]))
            }),
        ],
    );
    let entries = b.method(map, "entries", 0, |vm, a| {
        iterator(vm, a, IterWhat::Entries)
    });
    b.alias(map, SYM_ITERATOR, entries);
    b.getter(map, "size", size, None);
    b.tag(map, "Map");

    let set_proto = i::SET_PROTO;
    b.constructor(i::SET, set_proto, "Set", 0, |vm, a| {
        construct(vm, a, Which::Set)
    });
    b.methods(
        set_proto,
        &[
            ("add", 1, add),
            ("has", 1, has),
            ("delete", 1, delete),
            ("clear", 0, clear),
            ("forEach", 1, for_each),
            ("entries", 0, |vm, a| iterator(vm, a, IterWhat::Entries)),
            ("union", 1, |vm, a| combine(vm, a, Combine::Union)),
            ("intersection", 1, |vm, a| {
                combine(vm, a, Combine::Intersection)
            }),
            ("difference", 1, |vm, a| combine(vm, a, Combine::Difference)),
            ("symmetricDifference", 1, |vm, a| {
                combine(vm, a, Combine::Symmetric)
            }),
            ("isSubsetOf", 1, |vm, a| relate(vm, a, Relation::Subset)),
            ("isSupersetOf", 1, |vm, a| relate(vm, a, Relation::Superset)),
            ("isDisjointFrom", 1, |vm, a| {
                relate(vm, a, Relation::Disjoint)
            }),
        ],
    );
    let values = b.method(set_proto, "values", 0, |vm, a| {
        iterator(vm, a, IterWhat::Values)
    });
    b.alias(set_proto, name::KEYS, values);
    b.alias(set_proto, SYM_ITERATOR, values);
    b.getter(set_proto, "size", size, None);
    b.tag(set_proto, "Set");

    b.constructor(i::WEAK_MAP, i::WEAK_MAP_PROTO, "WeakMap", 0, |vm, a| {
        construct(vm, a, Which::WeakMap)
    });
    b.methods(
        i::WEAK_MAP_PROTO,
        &[
            ("get", 1, get),
            ("set", 2, set),
            ("has", 1, has),
            ("delete", 1, delete),
        ],
    );
    b.tag(i::WEAK_MAP_PROTO, "WeakMap");
    b.constructor(i::WEAK_SET, i::WEAK_SET_PROTO, "WeakSet", 0, |vm, a| {
        construct(vm, a, Which::WeakSet)
    });
    b.methods(
        i::WEAK_SET_PROTO,
        &[("add", 1, add), ("has", 1, has), ("delete", 1, delete)],
    );
    b.tag(i::WEAK_SET_PROTO, "WeakSet");
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Map,
    Set,
    WeakMap,
    WeakSet,
}

/// Bytes of one entry, roughly.
const ENTRY: usize = 96;

fn construct(vm: &mut Vm, args: Args, which: Which) -> Res<Value> {
    if !args.is_construct() {
        return Err(vm.type_error("Constructor requires 'new'."));
    }
    let (proto, kind) = match which {
        Which::Map => (i::MAP_PROTO, Kind::Map(Box::default())),
        Which::Set => (i::SET_PROTO, Kind::Set(Box::default())),
        Which::WeakMap => (i::WEAK_MAP_PROTO, Kind::WeakMap(Box::default())),
        Which::WeakSet => (i::WEAK_SET_PROTO, Kind::WeakSet(Box::default())),
    };
    let proto = vm.proto_of_new(args.new_target, proto)?;
    let id = vm.heap.alloc(Some(proto), kind);
    let source = args.get(vm, 0);
    if source.is_nullish() {
        return Ok(Value::Obj(id));
    }
    let is_map = matches!(which, Which::Map | Which::WeakMap);
    let adder = vm.get(Value::Obj(id), if is_map { name::SET } else { name::ADD })?;
    if !vm.is_callable(adder) {
        return Err(vm.type_error("The add or set method is not callable."));
    }
    let held = vm.iteration_place()?;
    let result = vm.iterate(source, |vm, item| {
        if is_map {
            if !item.is_object() {
                return Err(vm.type_error("Iterator value is not an entry object."));
            }
            let key = vm.get(item, Key::index(0))?;
            let value = vm.get(item, Key::index(1))?;
            vm.call(adder, Value::Obj(id), &[key, value])?;
        } else {
            vm.call(adder, Value::Obj(id), &[item])?;
        }
        Ok(true)
    });
    vm.release_place(held);
    result?;
    Ok(Value::Obj(id))
}

fn table(vm: &mut Vm, args: Args) -> Res<ObjId> {
    if let Some(id) = args.this.as_obj()
        && let Kind::Map(_) | Kind::Set(_) | Kind::WeakMap(_) | Kind::WeakSet(_) = vm.heap.kind(id)
    {
        return Ok(id);
    }
    Err(vm.type_error("Method called on an incompatible receiver."))
}

fn entries(vm: &mut Vm, id: ObjId) -> Option<&mut Table> {
    match vm.heap.kind_mut(id) {
        Kind::Map(t) | Kind::Set(t) | Kind::WeakMap(t) | Kind::WeakSet(t) => Some(t),
        _ => None,
    }
}

fn check_weak(vm: &mut Vm, id: ObjId, key: Value) -> Res<()> {
    let weak = matches!(vm.heap.kind(id), Kind::WeakMap(_) | Kind::WeakSet(_));
    if weak && !key.is_object() && !matches!(key, Value::Sym(_)) {
        return Err(vm.type_error("Invalid value used as a key in a weak collection."));
    }
    Ok(())
}

fn normal(key: Value) -> Value {
    match key {
        // Adding zero turns minus zero into zero.
        Value::Num(n) => Value::Num(n + 0.0),
        other => other,
    }
}

pub(super) fn insert(vm: &mut Vm, id: ObjId, key: Value, value: Value) -> Res<()> {
    let hashed = vm.table_key(key);
    let key = normal(vm.settle(key));
    if entries(vm, id).is_some_and(|t| t.set(hashed, key, value)) {
        vm.heap.bytes += ENTRY;
        if vm.heap.bytes > vm.host.limits.heap_bytes {
            vm.reserve(ENTRY)?;
        }
    }
    Ok(())
}

fn get(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = table(vm, args)?;
    let key = args.get(vm, 0);
    let key = vm.table_key(key);
    Ok(entries(vm, id)
        .and_then(|t| t.get(&key))
        .unwrap_or(Value::Undefined))
}

fn set(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = table(vm, args)?;
    let (key, value) = (args.get(vm, 0), args.get(vm, 1));
    check_weak(vm, id, key)?;
    insert(vm, id, key, value)?;
    Ok(args.this)
}

fn add(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = table(vm, args)?;
    let key = args.get(vm, 0);
    check_weak(vm, id, key)?;
    insert(vm, id, key, key)?;
    Ok(args.this)
}

fn has(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = table(vm, args)?;
    let key = args.get(vm, 0);
    let key = vm.table_key(key);
    Ok(Value::Bool(
        entries(vm, id).is_some_and(|t| t.get(&key).is_some()),
    ))
}

fn delete(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = table(vm, args)?;
    let key = args.get(vm, 0);
    let key = vm.table_key(key);
    Ok(Value::Bool(entries(vm, id).is_some_and(|t| t.delete(&key))))
}

fn clear(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = table(vm, args)?;
    if let Some(t) = entries(vm, id) {
        t.clear();
    }
    Ok(Value::Undefined)
}

fn size(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = table(vm, args)?;
    Ok(Value::Num(entries(vm, id).map_or(0, |t| t.live) as f64))
}

fn get_or_insert(
    vm: &mut Vm,
    args: Args,
    make: impl FnOnce(&mut Vm, Value) -> Res<Value>,
) -> Res<Value> {
    let id = table(vm, args)?;
    let key = normal(args.get(vm, 0));
    let hashed = vm.table_key(key);
    if let Some(found) = entries(vm, id).and_then(|t| t.get(&hashed)) {
        return Ok(found);
    }
    let value = make(vm, key)?;
    insert(vm, id, key, value)?;
    Ok(value)
}

/// The next live entry at or after a position.
fn next_entry(vm: &mut Vm, id: ObjId, from: usize) -> Option<(usize, Value, Value)> {
    let t = entries(vm, id)?;
    t.entries
        .iter()
        .enumerate()
        .skip(from)
        .find_map(|(at, e)| e.map(|(k, v)| (at, k, v)))
}

fn for_each(vm: &mut Vm, args: Args) -> Res<Value> {
    let id = table(vm, args)?;
    let (f, this) = (args.get(vm, 0), args.get(vm, 1));
    if !vm.is_callable(f) {
        return Err(vm.type_error("forEach needs a function."));
    }
    let mut at = 0;
    while let Some((found, key, value)) = next_entry(vm, id, at) {
        vm.charge(1)?;
        vm.call(f, this, &[value, key, Value::Obj(id)])?;
        at = found + 1;
    }
    Ok(Value::Undefined)
}

fn iterator(vm: &mut Vm, args: Args, what: IterWhat) -> Res<Value> {
    let target = table(vm, args)?;
    let iter = TableIter {
        target,
        index: 0,
        what,
        done: false,
    };
    Ok(Value::Obj(vm.heap.alloc(
        Some(i::TABLE_ITERATOR_PROTO),
        Kind::TableIter(Box::new(iter)),
    )))
}

pub(super) fn step(vm: &mut Vm, id: ObjId) -> Res<Option<Value>> {
    let Kind::TableIter(iter) = vm.heap.kind_mut(id) else {
        return Ok(None);
    };
    if iter.done {
        return Ok(None);
    }
    let (target, index, what) = (iter.target, iter.index, iter.what);
    let found = next_entry(vm, target, index);
    if let Kind::TableIter(iter) = vm.heap.kind_mut(id) {
        match found {
            Some((at, ..)) => iter.index = at + 1,
            None => iter.done = true,
        }
    }
    Ok(found.map(|(_, key, value)| match what {
        IterWhat::Keys => key,
        IterWhat::Values => value,
        IterWhat::Entries => vm.array(vec![key, value]),
    }))
}

fn group_by(vm: &mut Vm, args: Args) -> Res<Value> {
    let (source, f) = (args.get(vm, 0), args.get(vm, 1));
    if !vm.is_callable(f) {
        return Err(vm.type_error("Map.groupBy callback is not a function."));
    }
    let id = vm.heap.alloc(Some(i::MAP_PROTO), Kind::Map(Box::default()));
    let mut n = 0.0;
    vm.iterate(source, |vm, value| {
        let key = vm.call(f, Value::Undefined, &[value, Value::Num(n)])?;
        n += 1.0;
        let hashed = vm.table_key(key);
        match entries(vm, id).and_then(|t| t.get(&hashed)) {
            Some(group) => vm.push(group, value)?,
            None => {
                let group = vm.array(vec![value]);
                insert(vm, id, key, group)?;
            }
        }
        Ok(true)
    })?;
    Ok(Value::Obj(id))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Combine {
    Union,
    Intersection,
    Difference,
    Symmetric,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Subset,
    Superset,
    Disjoint,
}

/// A set-like argument: its size, `has` and `keys`.
struct SetLike {
    object: Value,
    size: f64,
    has: Value,
    keys: Value,
}

fn set_like(vm: &mut Vm, args: Args) -> Res<SetLike> {
    let object = args.get(vm, 0);
    if !object.is_object() {
        return Err(vm.type_error("The argument must be a set or set-like object."));
    }
    let size = vm.get(object, name::SIZE)?;
    let size = vm.to_number(size)?;
    if size.is_nan() {
        return Err(vm.type_error("The 'size' property must be a number."));
    }
    if size < 0.0 {
        return Err(vm.range_error("The 'size' property must not be negative."));
    }
    let has = vm.get(object, name::HAS)?;
    let keys = vm.get(object, name::KEYS)?;
    if !vm.is_callable(has) || !vm.is_callable(keys) {
        return Err(vm.type_error("The 'has' and 'keys' properties must be functions."));
    }
    Ok(SetLike {
        object,
        size: size.trunc(),
        has,
        keys,
    })
}

fn other_has(vm: &mut Vm, other: &SetLike, value: Value) -> Res<bool> {
    let result = vm.call(other.has, other.object, &[value])?;
    Ok(vm.truthy(result))
}

fn other_keys(vm: &mut Vm, other: &SetLike) -> Res<Vec<Value>> {
    let iterator = vm.call(other.keys, other.object, &[])?;
    let wrapper = vm.object();
    let itself = vm.native_closure("itself", vec![iterator]);
    vm.define_field(wrapper, SYM_ITERATOR, itself)?;
    vm.collect_values(Value::Obj(wrapper))
}

fn members(vm: &mut Vm, id: ObjId) -> Vec<Value> {
    entries(vm, id)
        .map(|t| t.entries.iter().flatten().map(|(k, _)| *k).collect())
        .unwrap_or_default()
}

fn own_has(vm: &mut Vm, id: ObjId, value: Value) -> bool {
    let key = vm.table_key(value);
    entries(vm, id).is_some_and(|t| t.get(&key).is_some())
}

fn set_receiver(vm: &mut Vm, args: Args) -> Res<ObjId> {
    let id = table(vm, args)?;
    if let Kind::Set(_) = vm.heap.kind(id) {
        return Ok(id);
    }
    Err(vm.type_error("Method called on an incompatible receiver."))
}

fn combine(vm: &mut Vm, args: Args, how: Combine) -> Res<Value> {
    let id = set_receiver(vm, args)?;
    let other = set_like(vm, args)?;
    let own = members(vm, id);
    let out = vm.heap.alloc(Some(i::SET_PROTO), Kind::Set(Box::default()));
    vm.charge(own.len())?;
    match how {
        Combine::Union => {
            let more = other_keys(vm, &other)?;
            for value in own.into_iter().chain(more) {
                insert(vm, out, value, value)?;
            }
        }
        Combine::Intersection if own.len() as f64 <= other.size => {
            for value in own {
                if other_has(vm, &other, value)? {
                    insert(vm, out, value, value)?;
                }
            }
        }
        Combine::Intersection => {
            for value in other_keys(vm, &other)? {
                if own_has(vm, id, value) {
                    insert(vm, out, value, value)?;
                }
            }
        }
        Combine::Difference => {
            for value in own {
                if !other_has(vm, &other, value)? {
                    insert(vm, out, value, value)?;
                }
            }
        }
        Combine::Symmetric => {
            for &value in &own {
                insert(vm, out, value, value)?;
            }
            for value in other_keys(vm, &other)? {
                let key = vm.table_key(value);
                if own_has(vm, id, value) {
                    if let Some(t) = entries(vm, out) {
                        t.delete(&key);
                    }
                } else {
                    insert(vm, out, value, value)?;
                }
            }
        }
    }
    Ok(Value::Obj(out))
}

fn relate(vm: &mut Vm, args: Args, relation: Relation) -> Res<Value> {
    let id = set_receiver(vm, args)?;
    let other = set_like(vm, args)?;
    let own = members(vm, id);
    vm.charge(own.len())?;
    let answer = match relation {
        Relation::Subset if own.len() as f64 > other.size => false,
        Relation::Subset => {
            let mut all = true;
            for value in own {
                if !other_has(vm, &other, value)? {
                    all = false;
                    break;
                }
            }
            all
        }
        Relation::Superset if (own.len() as f64) < other.size => false,
        Relation::Superset => {
            let keys = other_keys(vm, &other)?;
            keys.into_iter().all(|value| own_has(vm, id, value))
        }
        Relation::Disjoint => {
            let mut none = true;
            for value in own {
                if other_has(vm, &other, value)? {
                    none = false;
                    break;
                }
            }
            none
        }
    };
    Ok(Value::Bool(answer))
}
