//! Properties: finding, reading, writing, defining, deleting and listing them.

use super::Vm;
use crate::compiled::FuncKind;
use crate::object::{self, FIXED_LENGTH, FROZEN_ELEMENTS, Kind, ODD_ELEMENTS, SEALED_ELEMENTS};
use crate::realm::{intrinsic, name};
use crate::shape::Attrs;
use crate::value::{Key, ObjId, Res, Value};

/// A property as its object holds it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own {
    pub(crate) value: Value,
    pub(crate) attrs: Attrs,
    /// Its slot, when it lives in one.
    pub(crate) slot: Option<u32>,
}

/// The function's `name`, `length` and `prototype` exist.
const PREPARED: u8 = 32;

impl Vm {
    /// The object itself or the prototype that a primitive's properties come from.
    pub(crate) fn proto_for(&self, value: Value) -> Option<ObjId> {
        match value {
            Value::Obj(id) => Some(id),
            Value::Str(_) => Some(intrinsic::STRING_PROTO),
            Value::Num(_) => Some(intrinsic::NUMBER_PROTO),
            Value::Bool(_) => Some(intrinsic::BOOLEAN_PROTO),
            Value::Sym(_) => Some(intrinsic::SYMBOL_PROTO),
            Value::Big(_) => Some(intrinsic::BIGINT_PROTO),
            Value::Lazy(_) => Some(intrinsic::FUNCTION_PROTO),
            Value::Undefined | Value::Null | Value::Hole | Value::Cell(_) => None,
        }
    }

    /// Reads a property of any value.
    pub(crate) fn get(&mut self, target: Value, key: Key) -> Res<Value> {
        let value = self.get_lazy(target, key)?;
        let value = self.settle(value);
        self.pin(value);
        Ok(value)
    }

    /// As `get`, but a built-in function may come back without an object of its own.
    pub(crate) fn get_lazy(&mut self, target: Value, key: Key) -> Res<Value> {
        let start = match target {
            Value::Obj(id) => id,
            Value::Str(id) => {
                if key == name::LENGTH {
                    return Ok(Value::Num(self.heap.str_len(id) as f64));
                }
                if let Some(index) = key.as_index() {
                    let unit = self.heap.units(id).get(index as usize);
                    return Ok(unit.map_or(Value::Undefined, |u| Value::Str(self.char_str(u))));
                }
                intrinsic::STRING_PROTO
            }
            Value::Lazy(number) => self.native_object(number),
            other => match self.proto_for(other) {
                Some(proto) => proto,
                None => return Err(self.nullish_read(target, key)),
            },
        };
        self.get_from(start, key, target)
    }

    fn nullish_read(&mut self, target: Value, key: Key) -> crate::value::Abrupt {
        let what = if matches!(target, Value::Null) {
            "null"
        } else {
            "undefined"
        };
        let key = self.key_text(key);
        self.type_error(&format!(
            "Cannot read properties of {what} (reading '{key}')."
        ))
    }

    /// Reads through the prototype chain, running a getter with `receiver`.
    pub(crate) fn get_from(&mut self, start: ObjId, key: Key, receiver: Value) -> Res<Value> {
        let mut at = start;
        loop {
            if let Kind::Tool(_) = self.heap.kind(at) {
                return self.tool_member(at, key);
            }
            if let Some(own) = self.get_own(at, key) {
                if own.attrs.accessor() {
                    return self.run_getter(own.value, receiver);
                }
                self.pin(own.value);
                return Ok(own.value);
            }
            if self.ends_lookup(at, key) {
                return Ok(Value::Undefined);
            }
            match self.heap.proto_of(at) {
                Some(proto) => at = proto,
                None => return Ok(Value::Undefined),
            }
        }
    }

    /// Whether a lookup ends at this object although it lacks the property: a typed array answers for every numeric key.
    pub(super) fn ends_lookup(&self, at: ObjId, key: Key) -> bool {
        matches!(self.heap.kind(at), Kind::Typed(_)) && self.numeric_key(key).is_some()
    }

    pub(crate) fn run_getter(&mut self, pair: Value, receiver: Value) -> Res<Value> {
        match self.accessor(pair).0 {
            Value::Undefined => Ok(Value::Undefined),
            getter => self.call(getter, receiver, &[]),
        }
    }

    /// Getter and setter of an accessor slot.
    pub(crate) fn accessor(&self, pair: Value) -> (Value, Value) {
        match pair.as_obj().map(|id| self.heap.kind(id)) {
            Some(Kind::Accessor(get, set)) => (*get, *set),
            _ => (Value::Undefined, Value::Undefined),
        }
    }

    /// The object of a built-in function; every use of the function sees the same one.
    pub(crate) fn native_object(&mut self, number: u16) -> ObjId {
        if let Some(&found) = self.native_objects.get(&number) {
            return found;
        }
        let id = match self.realm.natives[number as usize].object {
            Some(id) => id,
            None => self
                .heap
                .alloc(Some(intrinsic::FUNCTION_PROTO), Kind::Native(number)),
        };
        self.native_objects.insert(number, id);
        id
    }

    /// Gives a lazy built-in function its object.
    pub(crate) fn settle(&mut self, value: Value) -> Value {
        match value {
            Value::Lazy(number) => Value::Obj(self.native_object(number)),
            other => other,
        }
    }

    /// An own property, exotic ones included.
    pub(crate) fn get_own(&mut self, id: ObjId, key: Key) -> Option<Own> {
        let plain = |value| {
            Some(Own {
                value,
                attrs: Attrs::DATA,
                slot: None,
            })
        };
        match &self.heap.obj(id).kind {
            Kind::Ordinary => {}
            Kind::Array(items) => {
                let flags = self.heap.obj(id).flags;
                if let Some(index) = key.as_index() {
                    match items.get(index as usize) {
                        None | Some(Value::Hole) if flags & ODD_ELEMENTS == 0 => return None,
                        None | Some(Value::Hole) => {}
                        Some(&value) => {
                            return Some(Own {
                                value,
                                attrs: element_attrs(flags),
                                slot: None,
                            });
                        }
                    }
                }
                if key == name::LENGTH {
                    let writable = flags & (FIXED_LENGTH | FROZEN_ELEMENTS) == 0;
                    let attrs = Attrs(if writable { Attrs::WRITABLE } else { 0 });
                    return Some(Own {
                        value: Value::Num(items.len() as f64),
                        attrs,
                        slot: None,
                    });
                }
            }
            Kind::Boxed(Value::Str(text)) => {
                let text = *text;
                if key == name::LENGTH {
                    let value = Value::Num(self.heap.str_len(text) as f64);
                    return Some(Own {
                        value,
                        attrs: Attrs(0),
                        slot: None,
                    });
                }
                if let Some(index) = key.as_index()
                    && let Some(unit) = self.heap.units(text).get(index as usize)
                {
                    let value = Value::Str(self.char_str(unit));
                    return Some(Own {
                        value,
                        attrs: Attrs(Attrs::ENUMERABLE),
                        slot: None,
                    });
                }
            }
            Kind::Typed(_) => {
                if let Some(index) = self.numeric_key(key) {
                    return self.typed_get(id, index?).and_then(plain);
                }
            }
            Kind::Closure(_) | Kind::Native(_) | Kind::NativeClosure(_) | Kind::Bound(_)
                if matches!(key, name::NAME | name::LENGTH | name::PROTOTYPE) =>
            {
                self.prepare_function(id);
            }
            _ => {}
        }
        let slot = self.heap.find_own(id, key)?;
        let value = self.heap.obj(id).slots[slot.index as usize];
        Some(Own {
            value,
            attrs: slot.attrs,
            slot: Some(slot.index),
        })
    }

    /// Gives a function its own `name`, `length` and `prototype` the first time anyone may notice.
    pub(crate) fn prepare_function(&mut self, id: ObjId) {
        if self.heap.obj(id).flags & PREPARED != 0 {
            return;
        }
        self.heap.obj_mut(id).flags |= PREPARED;
        let (length, label, kind) = match self.heap.kind(id) {
            Kind::Closure(closure) => {
                let func = &self.program.funcs[closure.func as usize];
                (
                    func.length,
                    func.name,
                    Some((func.kind, func.is_generator, func.is_async)),
                )
            }
            Kind::Native(number) => {
                let native = &self.realm.natives[*number as usize];
                (u16::from(native.length), native.name, None)
            }
            Kind::NativeClosure(closure) => (
                u16::from(self.realm.natives[closure.native as usize].length),
                name::EMPTY,
                None,
            ),
            _ => return,
        };
        let text = Value::Str(self.key_str(label));
        self.default_prop(
            id,
            name::LENGTH,
            Attrs(Attrs::CONFIGURABLE),
            Value::Num(f64::from(length)),
        );
        self.default_prop(id, name::NAME, Attrs(Attrs::CONFIGURABLE), text);
        match kind {
            Some((FuncKind::Normal, false, false)) => {
                let object = self.object();
                self.heap
                    .add_prop(object, name::CONSTRUCTOR, Attrs::HIDDEN, Value::Obj(id));
                self.default_prop(
                    id,
                    name::PROTOTYPE,
                    Attrs(Attrs::WRITABLE),
                    Value::Obj(object),
                );
            }
            Some((_, true, is_async)) => {
                let proto = if is_async {
                    intrinsic::ASYNC_GENERATOR_PROTO
                } else {
                    intrinsic::GENERATOR_PROTO
                };
                let object = self.heap.alloc(Some(proto), Kind::Ordinary);
                self.default_prop(
                    id,
                    name::PROTOTYPE,
                    Attrs(Attrs::WRITABLE),
                    Value::Obj(object),
                );
            }
            _ => {}
        }
    }

    fn default_prop(&mut self, id: ObjId, key: Key, attrs: Attrs, value: Value) {
        if self.heap.find_own(id, key).is_none() {
            self.heap.add_prop(id, key, attrs, value);
        }
    }

    pub(crate) fn has_property(&mut self, id: ObjId, key: Key) -> Res<bool> {
        let mut at = id;
        loop {
            if self.get_own(at, key).is_some() {
                return Ok(true);
            }
            if self.ends_lookup(at, key) {
                return Ok(false);
            }
            match self.heap.proto_of(at) {
                Some(proto) => at = proto,
                None => return Ok(false),
            }
        }
    }

    /// Own keys in the standard's order: indices, names, symbols. Private names are left out.
    pub(crate) fn own_keys(&mut self, id: ObjId) -> Vec<Key> {
        if self.heap.obj(id).is_callable() && !matches!(self.heap.kind(id), Kind::Tool(_)) {
            self.prepare_function(id);
        }
        let mut keys: Vec<Key> = Vec::new();
        let count = |n: usize| (0..n as u32).map(Key::index);
        match self.heap.kind(id) {
            Kind::Array(items) => {
                let live = items
                    .iter()
                    .enumerate()
                    .filter(|(_, v)| !matches!(v, Value::Hole));
                keys.extend(live.map(|(i, _)| Key::index(i as u32)));
                keys.push(name::LENGTH);
            }
            Kind::Boxed(Value::Str(text)) => {
                keys.extend(count(self.heap.str_len(*text)));
                keys.push(name::LENGTH);
            }
            Kind::Typed(window) => keys.extend(count(self.window_len(window).unwrap_or(0))),
            _ => {}
        }
        let table = &self.heap.shape_of(id).table;
        let mut indices: Vec<Key> = table
            .order
            .iter()
            .map(|(k, _)| *k)
            .filter(|k| k.as_index().is_some())
            .collect();
        indices.sort_unstable();
        if !indices.is_empty() {
            let names = keys.iter().position(|k| k.as_index().is_none());
            let names = keys.split_off(names.unwrap_or(keys.len()));
            keys.append(&mut indices);
            keys.sort_unstable();
            keys.extend(names);
        }
        let names = table.order.iter().map(|(k, _)| *k);
        keys.extend(
            names
                .clone()
                .filter(|k| k.as_index().is_none() && !k.is_symbol()),
        );
        keys.extend(names.filter(|&k| k.is_symbol() && !self.atoms.is_private(k)));
        keys
    }

    /// Own enumerable string keys.
    pub(crate) fn enumerable_keys(&mut self, id: ObjId) -> Vec<Key> {
        let keys = self.own_keys(id);
        keys.into_iter()
            .filter(|&k| {
                !k.is_symbol()
                    && self
                        .get_own(id, k)
                        .is_some_and(|own| own.attrs.enumerable())
            })
            .collect()
    }

    /// Looks a method up; `None` when it is `undefined` or `null`.
    pub(crate) fn get_method(&mut self, target: Value, key: Key) -> Res<Option<Value>> {
        let method = self.get_lazy(target, key)?;
        if method.is_nullish() {
            return Ok(None);
        }
        if !self.is_callable(method) {
            let name = self.key_text(key);
            return Err(self.type_error(&format!("{name} is not a function.")));
        }
        Ok(Some(method))
    }

    pub(crate) fn is_callable(&self, value: Value) -> bool {
        match value {
            Value::Lazy(_) => true,
            Value::Obj(id) => self.heap.obj(id).is_callable(),
            _ => false,
        }
    }

    pub(crate) fn is_array(&self, value: Value) -> bool {
        matches!(
            value.as_obj().map(|id| self.heap.kind(id)),
            Some(Kind::Array(_))
        )
    }
}

pub(super) fn element_attrs(flags: u8) -> Attrs {
    let mut attrs = Attrs::DATA.0;
    if flags & object::FROZEN_ELEMENTS != 0 {
        attrs &= !Attrs::WRITABLE;
    }
    if flags & (SEALED_ELEMENTS | FROZEN_ELEMENTS) != 0 {
        attrs &= !Attrs::CONFIGURABLE;
    }
    Attrs(attrs)
}
