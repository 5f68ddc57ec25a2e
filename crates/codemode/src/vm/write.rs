//! Properties: writing, defining and deleting them.

use super::access::{Own, element_attrs};
use super::{ARRAY_LIMIT, Vm};
use crate::object::{EXTENSIBLE, FIXED_LENGTH, Kind, ODD_ELEMENTS};
use crate::realm::name;
use crate::shape::Attrs;
use crate::value::{Key, ObjId, Res, Value};

/// Why an assignment was refused.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refusal {
    GetterOnly,
    ReadOnly(ObjId),
    NotExtensible,
    Primitive,
}

impl Vm {
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

    /// Assigns to `receiver` a property looked up from `start`; a refusal throws.
    pub(crate) fn put_with(
        &mut self,
        start: ObjId,
        key: Key,
        value: Value,
        receiver: Value,
    ) -> Res<()> {
        match self.try_put(start, key, value, receiver)? {
            None => Ok(()),
            Some(refusal) => Err(self.refused_write(refusal, key)),
        }
    }

    /// `OrdinarySet`: tells why it refused, when it did.
    pub(crate) fn try_put(
        &mut self,
        start: ObjId,
        key: Key,
        value: Value,
        receiver: Value,
    ) -> Res<Option<Refusal>> {
        let mut at = start;
        loop {
            if let Kind::Tool(_) = self.heap.kind(at) {
                return Err(self.type_error("Cannot assign to a tool path."));
            }
            if let Kind::Typed(_) = self.heap.kind(at)
                && let Some(index) = self.numeric_key(key)
            {
                if receiver.as_obj() == Some(at) {
                    self.typed_put(at, index, value)?;
                    return Ok(None);
                }
                if self.get_own(at, key).is_none() {
                    return Ok(None);
                }
            }
            if let Some(own) = self.get_own(at, key) {
                if own.attrs.accessor() {
                    let setter = self.accessor(own.value).1;
                    if setter.is_undefined() {
                        return Ok(Some(Refusal::GetterOnly));
                    }
                    self.call(setter, receiver, &[value])?;
                    return Ok(None);
                }
                if !own.attrs.writable() {
                    return Ok(Some(Refusal::ReadOnly(at)));
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
            return Ok(Some(Refusal::Primitive));
        };
        if let Some(own) = self.get_own(id, key) {
            if own.attrs.accessor() || !own.attrs.writable() {
                return Ok(Some(Refusal::ReadOnly(id)));
            }
            return self.write_own(id, key, own, value);
        }
        self.add_own(id, key, value)
    }

    fn refused_write(&mut self, refusal: Refusal, key: Key) -> crate::value::Abrupt {
        let label = self.key_text(key);
        match refusal {
            Refusal::GetterOnly => self.type_error(&format!(
                "Cannot set property {label} of #<Object> which has only a getter."
            )),
            Refusal::ReadOnly(id) => self.read_only(key, id),
            Refusal::NotExtensible => self.type_error(&format!(
                "Cannot add property {label}, object is not extensible."
            )),
            Refusal::Primitive => self.type_error("Cannot set a property of a primitive value."),
        }
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

    fn write_own(&mut self, id: ObjId, key: Key, own: Own, value: Value) -> Res<Option<Refusal>> {
        if let Some(slot) = own.slot {
            self.heap.obj_mut(id).slots[slot as usize] = value;
            return Ok(None);
        }
        match self.heap.kind_mut(id) {
            Kind::Array(items) => match key.as_index() {
                Some(index) => items[index as usize] = value,
                None => {
                    let new = self.to_array_length(value)?;
                    let fixed = self.heap.obj(id).flags & FIXED_LENGTH != 0;
                    if fixed || !self.resize_array(id, new)? {
                        return Ok(Some(Refusal::ReadOnly(id)));
                    }
                }
            },
            Kind::Typed(_) => {
                let index = self.numeric_key(key).flatten();
                self.typed_put(id, index, value)?;
            }
            _ => {}
        }
        Ok(None)
    }

    /// Adds an own property by assignment.
    fn add_own(&mut self, id: ObjId, key: Key, value: Value) -> Res<Option<Refusal>> {
        if let Kind::Typed(_) = self.heap.kind(id)
            && self.numeric_key(key).is_some()
        {
            return Ok(Some(Refusal::ReadOnly(id)));
        }
        if self.heap.obj(id).flags & EXTENSIBLE == 0 {
            return Ok(Some(Refusal::NotExtensible));
        }
        if let Some(index) = key.as_index()
            && let Kind::Array(items) = self.heap.kind(id)
        {
            let fixed = self.heap.obj(id).flags & FIXED_LENGTH != 0;
            if fixed && index as usize >= items.len() {
                return Ok(Some(Refusal::ReadOnly(id)));
            }
            return self.put_element(id, index as usize, value).map(|()| None);
        }
        self.reserve(64)?;
        self.heap.add_prop(id, key, Attrs::DATA, value);
        Ok(None)
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

    /// `CreateDataProperty`: an own, plain property whatever the prototypes say.
    pub(crate) fn define_field(&mut self, id: ObjId, key: Key, value: Value) -> Res<()> {
        match self.get_own(id, key) {
            None => match self.add_own(id, key, value)? {
                None => Ok(()),
                Some(refusal) => Err(self.refused_write(refusal, key)),
            },
            Some(own) if own.attrs == Attrs::DATA => {
                self.write_own(id, key, own, value).map(|_| ())
            }
            Some(own) if own.attrs.configurable() => self.define(id, key, Attrs::DATA, value),
            Some(_) => {
                let key = self.key_text(key);
                Err(self.type_error(&format!("Cannot redefine property: {key}")))
            }
        }
    }

    /// Defines or redefines an own property with these attributes, unchecked.
    pub(crate) fn define(&mut self, id: ObjId, key: Key, attrs: Attrs, value: Value) -> Res<()> {
        if let Kind::Array(items) = self.heap.kind(id)
            && let Some(index) = key.as_index()
            && self.heap.find_own(id, key).is_none()
        {
            let missing = items
                .get(index as usize)
                .is_none_or(|v| matches!(v, Value::Hole));
            if attrs == Attrs::DATA || (!missing && attrs == element_attrs(self.heap.obj(id).flags))
            {
                return self.put_element(id, index as usize, value);
            }
            self.put_element(id, index as usize, Value::Hole)?;
            self.heap.obj_mut(id).flags |= ODD_ELEMENTS;
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

    /// A method of a class.
    pub(crate) fn define_method(&mut self, id: ObjId, key: Key, value: Value) -> Res<()> {
        if self
            .get_own(id, key)
            .is_some_and(|own| !own.attrs.configurable())
        {
            let key = self.key_text(key);
            return Err(self.type_error(&format!("Cannot redefine property: {key}")));
        }
        self.define(id, key, Attrs::HIDDEN, value)
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
            Some(own) if !own.attrs.configurable() && !self.atoms.is_private(key) => {
                let key = self.key_text(key);
                return Err(self.type_error(&format!("Cannot redefine property: {key}")));
            }
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
        if self.delete_own(id, key)? {
            return Ok(true);
        }
        let key = self.key_text(key);
        Err(self.type_error(&format!("Cannot delete property '{key}' of #<Object>.")))
    }

    /// `[[Delete]]`: whether the property is gone.
    pub(crate) fn delete_own(&mut self, id: ObjId, key: Key) -> Res<bool> {
        let Some(own) = self.get_own(id, key) else {
            return Ok(true);
        };
        if !own.attrs.configurable() || self.ends_lookup(id, key) {
            return Ok(false);
        }
        match own.slot {
            Some(slot) => self.heap.remove_prop(id, slot),
            None => {
                if let (Kind::Array(items), Some(index)) = (self.heap.kind_mut(id), key.as_index())
                {
                    items[index as usize] = Value::Hole;
                } else {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
