//! Properties: finding, reading, writing, defining, deleting and listing them.

use super::{ARRAY_LIMIT, Vm};
use crate::object::{self, EXTENSIBLE, FIXED_LENGTH, FROZEN_ELEMENTS, Kind, SEALED_ELEMENTS};
use crate::op::FuncKind;
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
        Ok(self.settle(value))
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
                return Ok(own.value);
            }
            match self.heap.proto_of(at) {
                Some(proto) => at = proto,
                None => return Ok(Value::Undefined),
            }
        }
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
                    return match items.get(index as usize) {
                        None | Some(Value::Hole) => None,
                        Some(&value) => Some(Own {
                            value,
                            attrs: element_attrs(flags),
                            slot: None,
                        }),
                    };
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
            Kind::Bytes(bytes) => {
                if let Some(index) = key.as_index() {
                    return bytes
                        .get(index as usize)
                        .and_then(|&b| plain(Value::Num(f64::from(b))));
                }
            }
            Kind::RegExp(data) if key == name::LAST_INDEX => {
                return Some(Own {
                    value: data.last_index,
                    attrs: Attrs(Attrs::WRITABLE),
                    slot: None,
                });
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
            match self.heap.proto_of(at) {
                Some(proto) => at = proto,
                None => return Ok(false),
            }
        }
    }

    /// Assigns as strict code does: what can't be written throws.
    pub(crate) fn put(&mut self, target: Value, key: Key, value: Value) -> Res<()> {
        let id = match target {
            Value::Obj(id) => id,
            Value::Lazy(number) => self.native_object(number),
            Value::Undefined | Value::Null | Value::Hole | Value::Cell(_) => {
                let what = if matches!(target, Value::Null) {
                    "null"
                } else {
                    "undefined"
                };
                let key = self.key_text(key);
                return Err(self.type_error(&format!(
                    "Cannot set properties of {what} (setting '{key}')."
                )));
            }
            primitive => {
                let label = self.key_text(key);
                let what = self.type_name(primitive);
                return Err(
                    self.type_error(&format!("Cannot create property '{label}' on {what}."))
                );
            }
        };
        self.put_with(id, key, value, target)
    }

    /// Assigns to `receiver` a property looked up from `start`.
    pub(crate) fn put_with(
        &mut self,
        start: ObjId,
        key: Key,
        value: Value,
        receiver: Value,
    ) -> Res<()> {
        let mut at = start;
        loop {
            if let Kind::Tool(_) = self.heap.kind(at) {
                return Err(self.type_error("Cannot assign to a tool path."));
            }
            if let Some(own) = self.get_own(at, key) {
                if own.attrs.accessor() {
                    let setter = self.accessor(own.value).1;
                    if setter.is_undefined() {
                        let key = self.key_text(key);
                        let message = format!(
                            "Cannot set property {key} of #<Object> which has only a getter."
                        );
                        return Err(self.type_error(&message));
                    }
                    self.call(setter, receiver, &[value])?;
                    return Ok(());
                }
                if !own.attrs.writable() {
                    return Err(self.read_only(key, at));
                }
                if receiver.as_obj() == Some(at) {
                    return self.write_own(at, key, own, value);
                }
                break;
            }
            match self.heap.proto_of(at) {
                Some(proto) => at = proto,
                None => break,
            }
        }
        let Some(id) = receiver.as_obj() else {
            return Err(self.type_error("Cannot set a property of a primitive value."));
        };
        if let Some(own) = self.get_own(id, key) {
            if own.attrs.accessor() || !own.attrs.writable() {
                return Err(self.read_only(key, id));
            }
            return self.write_own(id, key, own, value);
        }
        self.add_own(id, key, value)
    }

    fn read_only(&mut self, key: Key, id: ObjId) -> crate::value::Abrupt {
        let key = self.key_text(key);
        let what = if matches!(self.heap.kind(id), Kind::Array(_)) {
            "[object Array]"
        } else {
            "#<Object>"
        };
        self.type_error(&format!(
            "Cannot assign to read only property '{key}' of object '{what}'."
        ))
    }

    fn write_own(&mut self, id: ObjId, key: Key, own: Own, value: Value) -> Res<()> {
        if let Some(slot) = own.slot {
            self.heap.obj_mut(id).slots[slot as usize] = value;
            return Ok(());
        }
        match self.heap.kind_mut(id) {
            Kind::Array(items) => match key.as_index() {
                Some(index) => items[index as usize] = value,
                None => return self.set_length(id, value),
            },
            Kind::Bytes(_) => {
                let byte = self.to_byte(value)?;
                if let (Kind::Bytes(bytes), Some(index)) = (self.heap.kind_mut(id), key.as_index())
                    && let Some(slot) = bytes.get_mut(index as usize)
                {
                    *slot = byte;
                }
            }
            Kind::RegExp(data) => data.last_index = value,
            _ => {}
        }
        Ok(())
    }

    fn to_byte(&mut self, value: Value) -> Res<u8> {
        Ok(crate::number::to_int32(self.to_number(value)?) as u8)
    }

    /// Adds an own property by assignment.
    fn add_own(&mut self, id: ObjId, key: Key, value: Value) -> Res<()> {
        if self.heap.obj(id).flags & EXTENSIBLE == 0 {
            let key = self.key_text(key);
            return Err(self.type_error(&format!(
                "Cannot add property {key}, object is not extensible."
            )));
        }
        if let Some(index) = key.as_index() {
            match self.heap.kind(id) {
                Kind::Array(_) => return self.put_element(id, index as usize, value),
                Kind::Bytes(_) => return Ok(()),
                _ => {}
            }
        }
        self.reserve(64)?;
        self.heap.add_prop(id, key, Attrs::DATA, value);
        Ok(())
    }

    /// Writes an array element that doesn't exist yet, extending the array.
    pub(crate) fn put_element(&mut self, id: ObjId, index: usize, value: Value) -> Res<()> {
        if index >= ARRAY_LIMIT {
            return Err(self.range_error("Invalid array length"));
        }
        let Kind::Array(items) = self.heap.kind(id) else {
            return Ok(());
        };
        let len = items.len();
        if index >= len {
            if self.heap.obj(id).flags & FIXED_LENGTH != 0 {
                return Err(self.read_only(name::LENGTH, id));
            }
            let more = index + 1 - len;
            if more > 64 {
                self.reserve(more * size_of::<Value>())?;
                self.charge(more / 16)?;
            }
            self.heap.bytes += more * size_of::<Value>();
        }
        if let Kind::Array(items) = self.heap.kind_mut(id) {
            if index > len {
                items.resize(index, Value::Hole);
            }
            if index >= len {
                items.push(value);
            } else {
                items[index] = value;
            }
        }
        Ok(())
    }

    pub(crate) fn set_length(&mut self, id: ObjId, value: Value) -> Res<()> {
        let number = self.to_number(value)?;
        if number < 0.0 || number.trunc() != number || number > f64::from(u32::MAX) {
            return Err(self.range_error("Invalid array length"));
        }
        let new = number as usize;
        if new > ARRAY_LIMIT {
            return Err(self.range_error("Invalid array length"));
        }
        let sealed = self.heap.obj(id).flags & SEALED_ELEMENTS != 0;
        let Kind::Array(items) = self.heap.kind(id) else {
            return Ok(());
        };
        let len = items.len();
        if new < len && sealed {
            return Err(self.type_error("Cannot delete property of a sealed array."));
        }
        if new > len {
            self.reserve((new - len) * size_of::<Value>())?;
            self.heap.bytes += (new - len) * size_of::<Value>();
        }
        if let Kind::Array(items) = self.heap.kind_mut(id) {
            items.resize(new, Value::Hole);
        }
        Ok(())
    }

    /// `CreateDataProperty`: an own, plain property whatever the prototypes say.
    pub(crate) fn define_field(&mut self, id: ObjId, key: Key, value: Value) -> Res<()> {
        match self.get_own(id, key) {
            None => self.add_own(id, key, value),
            Some(own) if own.attrs == Attrs::DATA => self.write_own(id, key, own, value),
            Some(own) if own.attrs.configurable() => self.define(id, key, Attrs::DATA, value),
            Some(_) => {
                let key = self.key_text(key);
                Err(self.type_error(&format!("Cannot redefine property: {key}")))
            }
        }
    }

    /// Defines or redefines an own property with these attributes, unchecked.
    pub(crate) fn define(&mut self, id: ObjId, key: Key, attrs: Attrs, value: Value) -> Res<()> {
        if let Kind::Array(_) = self.heap.kind(id)
            && let Some(index) = key.as_index()
        {
            if attrs == Attrs::DATA {
                let exists = self.get_own(id, key);
                return match exists {
                    Some(own) => self.write_own(id, key, own, value),
                    None => self.put_element(id, index as usize, value),
                };
            }
            return Err(self.type_error("Array elements can only be plain data properties."));
        }
        if matches!(key, name::NAME | name::LENGTH | name::PROTOTYPE)
            && self.heap.obj(id).is_callable()
        {
            self.prepare_function(id);
        }
        match self.heap.find_own(id, key) {
            Some(slot) => {
                if slot.attrs != attrs {
                    self.heap.set_attrs(id, slot.index, attrs);
                }
                self.heap.obj_mut(id).slots[slot.index as usize] = value;
            }
            None => {
                self.reserve(64)?;
                self.heap.add_prop(id, key, attrs, value);
            }
        }
        Ok(())
    }

    /// Adds a getter or a setter, keeping the other half of an existing pair.
    pub(crate) fn define_accessor(
        &mut self,
        id: ObjId,
        key: Key,
        half: (Option<Value>, Option<Value>),
        enumerable: bool,
    ) -> Res<()> {
        let old = match self.get_own(id, key) {
            Some(own) if own.attrs.accessor() => self.accessor(own.value),
            _ => (Value::Undefined, Value::Undefined),
        };
        let pair = Kind::Accessor(half.0.unwrap_or(old.0), half.1.unwrap_or(old.1));
        let pair = self.heap.alloc(None, pair);
        let shown = if enumerable { Attrs::ENUMERABLE } else { 0 };
        let attrs = Attrs(Attrs::CONFIGURABLE | Attrs::ACCESSOR | shown);
        self.define(id, key, attrs, Value::Obj(pair))
    }

    /// Deletes; a property that can't be deleted throws.
    pub(crate) fn delete(&mut self, target: Value, key: Key) -> Res<bool> {
        let Some(id) = self.settle(target).as_obj() else {
            if target.is_nullish() {
                return Err(self.type_error("Cannot convert undefined or null to object."));
            }
            return Ok(true);
        };
        if let Kind::Tool(_) = self.heap.kind(id) {
            return Err(self.type_error("Cannot delete a tool."));
        }
        let Some(own) = self.get_own(id, key) else {
            return Ok(true);
        };
        if !own.attrs.configurable() {
            let key = self.key_text(key);
            return Err(self.type_error(&format!("Cannot delete property '{key}' of #<Object>.")));
        }
        match own.slot {
            Some(slot) => self.heap.remove_prop(id, slot),
            None => {
                if let (Kind::Array(items), Some(index)) = (self.heap.kind_mut(id), key.as_index())
                {
                    items[index as usize] = Value::Hole;
                } else {
                    return Err(self.type_error("Cannot delete this property."));
                }
            }
        }
        Ok(true)
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
            Kind::Bytes(bytes) => keys.extend(count(bytes.len())),
            Kind::RegExp(_) => keys.push(name::LAST_INDEX),
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
            indices.append(&mut keys);
            keys = indices;
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

    pub(crate) fn prevent_extensions(&mut self, id: ObjId) {
        if self.heap.obj(id).flags & EXTENSIBLE != 0 {
            self.heap.make_unique(id);
            self.heap.obj_mut(id).flags &= !EXTENSIBLE;
        }
    }

    /// `freeze` or `seal`.
    pub(crate) fn set_integrity(&mut self, id: ObjId, frozen: bool) -> Res<()> {
        if frozen && matches!(self.heap.kind(id), Kind::Bytes(b) if !b.is_empty()) {
            return Err(self.type_error("Cannot freeze array buffer views with elements."));
        }
        if self.heap.obj(id).is_callable() {
            self.prepare_function(id);
        }
        self.prevent_extensions(id);
        let slots: Vec<Attrs> = self
            .heap
            .shape_of(id)
            .table
            .order
            .iter()
            .map(|(_, a)| *a)
            .collect();
        for (at, attrs) in slots.into_iter().enumerate() {
            let mut new = attrs.0 & !Attrs::CONFIGURABLE;
            if frozen && !attrs.accessor() {
                new &= !Attrs::WRITABLE;
            }
            if new != attrs.0 {
                self.heap.set_attrs(id, at as u32, Attrs(new));
            }
        }
        let flags = if frozen {
            FROZEN_ELEMENTS | SEALED_ELEMENTS | FIXED_LENGTH
        } else {
            SEALED_ELEMENTS
        };
        self.heap.obj_mut(id).flags |= flags;
        Ok(())
    }

    pub(crate) fn is_integral(&mut self, id: ObjId, frozen: bool) -> bool {
        if self.heap.obj(id).flags & EXTENSIBLE != 0 {
            return false;
        }
        let keys = self.own_keys(id);
        keys.into_iter().all(|key| {
            self.get_own(id, key).is_none_or(|own| {
                let fixed_array_length =
                    key == name::LENGTH && matches!(self.heap.kind(id), Kind::Array(_));
                let writable = own.attrs.writable() && !own.attrs.accessor();
                (!own.attrs.configurable() || fixed_array_length) && !(frozen && writable)
            })
        })
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

fn element_attrs(flags: u8) -> Attrs {
    let mut attrs = Attrs::DATA.0;
    if flags & object::FROZEN_ELEMENTS != 0 {
        attrs &= !Attrs::WRITABLE;
    }
    if flags & (SEALED_ELEMENTS | FROZEN_ELEMENTS) != 0 {
        attrs &= !Attrs::CONFIGURABLE;
    }
    Attrs(attrs)
}
