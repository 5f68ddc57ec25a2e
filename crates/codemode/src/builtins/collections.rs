//! `Map`, `Set`, `WeakMap`, `WeakSet`.

use crate::atoms::SYM_ITERATOR;
use crate::object::{IterWhat, Kind, Table, TableIter};
use crate::realm::{Builder, intrinsic as i, name};
use crate::value::{Key, ObjId, Res, Value};
use crate::vm::{Args, Vm};

pub(super) fn install(b: &mut Builder) {
    let map = i::MAP_PROTO;
    b.constructor(i::MAP, map, "Map", 0, |vm, a| construct(vm, a, Which::Map));
    b.species(i::MAP);
    b.methods(i::MAP, &[("groupBy", 2, group_by)]);
    b.methods(
        map,
        &[
            ("get", 1, |vm, a| get(vm, a, Which::Map)),
            ("set", 2, |vm, a| set(vm, a, Which::Map)),
            ("has", 1, |vm, a| has(vm, a, Which::Map)),
            ("delete", 1, |vm, a| delete(vm, a, Which::Map)),
            ("clear", 0, |vm, a| clear(vm, a, Which::Map)),
            ("forEach", 1, |vm, a| for_each(vm, a, Which::Map)),
            ("keys", 0, |vm, a| {
                iterator(vm, a, Which::Map, IterWhat::Keys)
            }),
            ("values", 0, |vm, a| {
                iterator(vm, a, Which::Map, IterWhat::Values)
            }),
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
        iterator(vm, a, Which::Map, IterWhat::Entries)
    });
    b.alias(map, SYM_ITERATOR, entries);
    b.getter(map, "size", |vm, a| size(vm, a, Which::Map), None);
    b.tag(map, "Map");

    let set_proto = i::SET_PROTO;
    b.constructor(i::SET, set_proto, "Set", 0, |vm, a| {
        construct(vm, a, Which::Set)
    });
    b.species(i::SET);
    super::set_algebra::install(b);
    b.methods(
        set_proto,
        &[
            ("add", 1, |vm, a| add(vm, a, Which::Set)),
            ("has", 1, |vm, a| has(vm, a, Which::Set)),
            ("delete", 1, |vm, a| delete(vm, a, Which::Set)),
            ("clear", 0, |vm, a| clear(vm, a, Which::Set)),
            ("forEach", 1, |vm, a| for_each(vm, a, Which::Set)),
            ("entries", 0, |vm, a| {
                iterator(vm, a, Which::Set, IterWhat::Entries)
            }),
        ],
    );
    let values = b.method(set_proto, "values", 0, |vm, a| {
        iterator(vm, a, Which::Set, IterWhat::Values)
    });
    b.alias(set_proto, name::KEYS, values);
    b.alias(set_proto, SYM_ITERATOR, values);
    b.getter(set_proto, "size", |vm, a| size(vm, a, Which::Set), None);
    b.tag(set_proto, "Set");

    b.constructor(i::WEAK_MAP, i::WEAK_MAP_PROTO, "WeakMap", 0, |vm, a| {
        construct(vm, a, Which::WeakMap)
    });
    b.methods(
        i::WEAK_MAP_PROTO,
        &[
            ("get", 1, |vm, a| get(vm, a, Which::WeakMap)),
            ("set", 2, |vm, a| set(vm, a, Which::WeakMap)),
            ("has", 1, |vm, a| has(vm, a, Which::WeakMap)),
            ("delete", 1, |vm, a| delete(vm, a, Which::WeakMap)),
        ],
    );
    b.tag(i::WEAK_MAP_PROTO, "WeakMap");
    b.constructor(i::WEAK_SET, i::WEAK_SET_PROTO, "WeakSet", 0, |vm, a| {
        construct(vm, a, Which::WeakSet)
    });
    b.methods(
        i::WEAK_SET_PROTO,
        &[
            ("add", 1, |vm, a| add(vm, a, Which::WeakSet)),
            ("has", 1, |vm, a| has(vm, a, Which::WeakSet)),
            ("delete", 1, |vm, a| delete(vm, a, Which::WeakSet)),
        ],
    );
    b.tag(i::WEAK_SET_PROTO, "WeakSet");
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
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

/// The collection that a method of its kind was called on.
pub(super) fn receiver(vm: &mut Vm, args: Args, which: Which) -> Res<ObjId> {
    if let Some(id) = args.this.as_obj() {
        let fits = match vm.heap.kind(id) {
            Kind::Map(_) => which == Which::Map,
            Kind::Set(_) => which == Which::Set,
            Kind::WeakMap(_) => which == Which::WeakMap,
            Kind::WeakSet(_) => which == Which::WeakSet,
            _ => false,
        };
        if fits {
            return Ok(id);
        }
    }
    Err(vm.type_error("Method called on an incompatible receiver."))
}

pub(super) fn entries(vm: &mut Vm, id: ObjId) -> Option<&mut Table> {
    match vm.heap.kind_mut(id) {
        Kind::Map(t) | Kind::Set(t) | Kind::WeakMap(t) | Kind::WeakSet(t) => Some(t),
        _ => None,
    }
}

/// `CanBeHeldWeakly`.
pub(super) fn can_be_held_weakly(vm: &Vm, value: Value) -> bool {
    match value {
        // A symbol that everyone can ask for never goes away.
        Value::Sym(symbol) => !vm.atoms.is_registered(symbol),
        value => value.is_object(),
    }
}

fn check_weak(vm: &mut Vm, id: ObjId, key: Value) -> Res<()> {
    let weak = matches!(vm.heap.kind(id), Kind::WeakMap(_) | Kind::WeakSet(_));
    let holds = can_be_held_weakly(vm, key);
    if weak && !holds {
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

/// Adds a member of a set.
pub(super) fn add_value(vm: &mut Vm, id: ObjId, value: Value) -> Res<()> {
    let value = normal(vm.settle(value));
    insert(vm, id, value, value)
}

fn get(vm: &mut Vm, args: Args, which: Which) -> Res<Value> {
    let id = receiver(vm, args, which)?;
    let key = args.get(vm, 0);
    let key = vm.table_key(key);
    Ok(entries(vm, id)
        .and_then(|t| t.get(&key))
        .unwrap_or(Value::Undefined))
}

fn set(vm: &mut Vm, args: Args, which: Which) -> Res<Value> {
    let id = receiver(vm, args, which)?;
    let (key, value) = (args.get(vm, 0), args.get(vm, 1));
    check_weak(vm, id, key)?;
    insert(vm, id, key, value)?;
    Ok(args.this)
}

fn add(vm: &mut Vm, args: Args, which: Which) -> Res<Value> {
    let id = receiver(vm, args, which)?;
    let key = args.get(vm, 0);
    check_weak(vm, id, key)?;
    add_value(vm, id, key)?;
    Ok(args.this)
}

fn has(vm: &mut Vm, args: Args, which: Which) -> Res<Value> {
    let id = receiver(vm, args, which)?;
    let key = args.get(vm, 0);
    let key = vm.table_key(key);
    Ok(Value::Bool(
        entries(vm, id).is_some_and(|t| t.get(&key).is_some()),
    ))
}

fn delete(vm: &mut Vm, args: Args, which: Which) -> Res<Value> {
    let id = receiver(vm, args, which)?;
    let key = args.get(vm, 0);
    let key = vm.table_key(key);
    Ok(Value::Bool(entries(vm, id).is_some_and(|t| t.delete(&key))))
}

fn clear(vm: &mut Vm, args: Args, which: Which) -> Res<Value> {
    let id = receiver(vm, args, which)?;
    if let Some(t) = entries(vm, id) {
        t.clear();
    }
    Ok(Value::Undefined)
}

fn size(vm: &mut Vm, args: Args, which: Which) -> Res<Value> {
    let id = receiver(vm, args, which)?;
    Ok(Value::Num(entries(vm, id).map_or(0, |t| t.live) as f64))
}

fn get_or_insert(
    vm: &mut Vm,
    args: Args,
    make: impl FnOnce(&mut Vm, Value) -> Res<Value>,
) -> Res<Value> {
    let id = receiver(vm, args, Which::Map)?;
    let key = normal(args.get(vm, 0));
    let hashed = vm.table_key(key);
    if let Some(found) = entries(vm, id).and_then(|t| t.get(&hashed)) {
        return Ok(found);
    }
    let value = make(vm, key)?;
    insert(vm, id, key, value)?;
    // What the function inserted meanwhile is overwritten.
    if let Some(t) = entries(vm, id) {
        t.set(hashed, key, value);
    }
    Ok(value)
}

/// The next live entry at or after a position.
pub(super) fn next_entry(vm: &mut Vm, id: ObjId, from: usize) -> Option<(usize, Value, Value)> {
    let t = entries(vm, id)?;
    t.entries
        .iter()
        .enumerate()
        .skip(from)
        .find_map(|(at, e)| e.map(|(k, v)| (at, k, v)))
}

fn for_each(vm: &mut Vm, args: Args, which: Which) -> Res<Value> {
    let id = receiver(vm, args, which)?;
    let (f, this) = (args.get(vm, 0), args.get(vm, 1));
    if !vm.is_callable(f) {
        return Err(vm.type_error("forEach needs a function."));
    }
    let mut at = 0;
    let pins = vm.pin_mark();
    while let Some((found, key, value)) = next_entry(vm, id, at) {
        vm.charge(1)?;
        vm.call(f, this, &[value, key, Value::Obj(id)])?;
        vm.release_pins(pins);
        at = found + 1;
    }
    Ok(Value::Undefined)
}

fn iterator(vm: &mut Vm, args: Args, which: Which, what: IterWhat) -> Res<Value> {
    let target = receiver(vm, args, which)?;
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
