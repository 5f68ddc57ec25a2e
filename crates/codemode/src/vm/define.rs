//! Property descriptors and what defining by them may change (ECMA-262 6.2.6, 10.1.6, 10.4.2).

use super::Vm;
use crate::object::{EXTENSIBLE, FIXED_LENGTH, Kind, ODD_ELEMENTS};
use crate::realm::name;
use crate::shape::Attrs;
use crate::value::{Key, ObjId, Res, Value};

/// A property descriptor; a part that isn't given is left as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Descriptor {
    pub(crate) value: Option<Value>,
    pub(crate) writable: Option<bool>,
    pub(crate) get: Option<Value>,
    pub(crate) set: Option<Value>,
    pub(crate) enumerable: Option<bool>,
    pub(crate) configurable: Option<bool>,
}

impl Descriptor {
    /// A plain property as assignment makes it.
    pub(crate) fn data(value: Value) -> Descriptor {
        Descriptor {
            value: Some(value),
            writable: Some(true),
            enumerable: Some(true),
            configurable: Some(true),
            ..Descriptor::default()
        }
    }

    fn is_accessor(&self) -> bool {
        self.get.is_some() || self.set.is_some()
    }

    fn is_data(&self) -> bool {
        self.value.is_some() || self.writable.is_some()
    }
}

impl Vm {
    /// `ToPropertyDescriptor`.
    pub(crate) fn to_descriptor(&mut self, value: Value) -> Res<Descriptor> {
        let Some(id) = self.settle(value).as_obj() else {
            return Err(self.type_error("Property description must be an object."));
        };
        let enumerable = self.descriptor_part(id, name::ENUMERABLE)?;
        let configurable = self.descriptor_part(id, name::CONFIGURABLE)?;
        let value = self.descriptor_part(id, name::VALUE)?;
        let writable = self.descriptor_part(id, name::WRITABLE)?;
        let get = self.descriptor_part(id, name::GET)?;
        self.require_accessor(get)?;
        let set = self.descriptor_part(id, name::SET)?;
        self.require_accessor(set)?;
        let descriptor = Descriptor {
            value,
            writable: writable.map(|v| self.truthy(v)),
            get,
            set,
            enumerable: enumerable.map(|v| self.truthy(v)),
            configurable: configurable.map(|v| self.truthy(v)),
        };
        if descriptor.is_accessor() && descriptor.is_data() {
            return Err(self.type_error("Invalid property descriptor. Cannot both specify accessors and a value or writable attribute."));
        }
        Ok(descriptor)
    }

    fn descriptor_part(&mut self, id: ObjId, key: Key) -> Res<Option<Value>> {
        if self.has_property(id, key)? {
            self.get(Value::Obj(id), key).map(Some)
        } else {
            Ok(None)
        }
    }

    fn require_accessor(&mut self, half: Option<Value>) -> Res<()> {
        match half {
            Some(value) if !value.is_undefined() && !self.is_callable(value) => {
                Err(self.type_error("Getter or setter must be a function."))
            }
            _ => Ok(()),
        }
    }

    /// The descriptor object of an own property, `undefined` without one.
    pub(crate) fn describe_own(&mut self, id: ObjId, key: Key) -> Res<Value> {
        let Some(own) = self.get_own(id, key) else {
            return Ok(Value::Undefined);
        };
        let out = self.object();
        if own.attrs.accessor() {
            let (get, set) = self.accessor(own.value);
            let (get, set) = (self.settle(get), self.settle(set));
            self.define_field(out, name::GET, get)?;
            self.define_field(out, name::SET, set)?;
        } else {
            let value = self.settle(own.value);
            self.define_field(out, name::VALUE, value)?;
            self.define_field(out, name::WRITABLE, Value::Bool(own.attrs.writable()))?;
        }
        self.define_field(out, name::ENUMERABLE, Value::Bool(own.attrs.enumerable()))?;
        self.define_field(
            out,
            name::CONFIGURABLE,
            Value::Bool(own.attrs.configurable()),
        )?;
        Ok(Value::Obj(out))
    }

    /// `[[DefineOwnProperty]]`: whether the definition was allowed and done.
    pub(crate) fn define_own(&mut self, id: ObjId, key: Key, d: &Descriptor) -> Res<bool> {
        match self.heap.kind(id) {
            Kind::Array(items) => {
                if key == name::LENGTH {
                    return self.define_length(id, d);
                }
                let fixed = self.heap.obj(id).flags & FIXED_LENGTH != 0;
                if fixed && key.as_index().is_some_and(|at| at as usize >= items.len()) {
                    return Ok(false);
                }
            }
            Kind::Typed(_) if self.numeric_key(key).is_some() => {
                return self.define_typed(id, key, d);
            }
            Kind::Tool(_) => {
                return Err(self.type_error("Cannot define a property of a tool path."));
            }
            _ => {}
        }
        let Some(attrs) = self.allowed_attrs(id, key, d) else {
            return Ok(false);
        };
        let old = self.get_own(id, key);
        if attrs.accessor() {
            let pair = match old {
                Some(own) if own.attrs.accessor() => self.accessor(own.value),
                _ => (Value::Undefined, Value::Undefined),
            };
            let pair = Kind::Accessor(d.get.unwrap_or(pair.0), d.set.unwrap_or(pair.1));
            let pair = self.heap.alloc(None, pair);
            self.define(id, key, attrs, Value::Obj(pair))?;
            return Ok(true);
        }
        let kept = old.filter(|own| !own.attrs.accessor());
        let value = d.value.or(kept.map(|own| own.value));
        if let Some(own) = kept
            && own.slot.is_none()
            && own.attrs == attrs
            && !own.attrs.writable()
        {
            // A unit of a string object or an element of a frozen array: the same as before, or it wouldn't be allowed.
            return Ok(true);
        }
        self.define(id, key, attrs, value.unwrap_or(Value::Undefined))?;
        Ok(true)
    }

    /// `CreateDataProperty`: whether the property could be made.
    pub(crate) fn create_data(&mut self, id: ObjId, key: Key, value: Value) -> Res<bool> {
        if let Kind::Ordinary | Kind::Array(_) = self.heap.kind(id)
            && self.heap.obj(id).flags & (EXTENSIBLE | FIXED_LENGTH) == EXTENSIBLE
            && self
                .get_own(id, key)
                .is_none_or(|own| own.attrs == Attrs::DATA)
        {
            return self.define_field(id, key, value).map(|()| true);
        }
        self.define_own(id, key, &Descriptor::data(value))
    }

    /// `CreateDataPropertyOrThrow`.
    pub(crate) fn create_data_or_throw(&mut self, id: ObjId, key: Key, value: Value) -> Res<()> {
        if self.create_data(id, key, value)? {
            return Ok(());
        }
        Err(self.not_definable(id, key))
    }

    /// As `define_own`, but a refusal throws.
    pub(crate) fn define_or_throw(&mut self, id: ObjId, key: Key, d: &Descriptor) -> Res<()> {
        if self.define_own(id, key, d)? {
            return Ok(());
        }
        Err(self.not_definable(id, key))
    }

    fn not_definable(&mut self, id: ObjId, key: Key) -> crate::value::Abrupt {
        let missing = self.get_own(id, key).is_none();
        let label = self.key_text(key);
        let message = if missing && self.heap.obj(id).flags & EXTENSIBLE == 0 {
            format!("Cannot define property {label}, object is not extensible.")
        } else {
            format!("Cannot redefine property: {label}")
        };
        self.type_error(&message)
    }

    /// The attributes that the property has after the definition; none when the definition isn't allowed.
    fn allowed_attrs(&mut self, id: ObjId, key: Key, d: &Descriptor) -> Option<Attrs> {
        let Some(own) = self.get_own(id, key) else {
            if self.heap.obj(id).flags & EXTENSIBLE == 0 {
                return None;
            }
            return Some(merged(d, None));
        };
        let attrs = own.attrs;
        if !attrs.configurable() {
            let fixed = d.configurable == Some(true)
                || d.enumerable
                    .is_some_and(|shown| shown != attrs.enumerable())
                || (d.is_accessor() && !attrs.accessor())
                || (d.is_data() && attrs.accessor());
            if fixed {
                return None;
            }
            if attrs.accessor() {
                let pair = self.accessor(own.value);
                let mut changes =
                    |new: Option<Value>, old| new.is_some_and(|v| !self.same_value(v, old));
                if changes(d.get, pair.0) || changes(d.set, pair.1) {
                    return None;
                }
            } else if !attrs.writable()
                && (d.writable == Some(true)
                    || d.value.is_some_and(|v| !self.same_value(v, own.value)))
            {
                return None;
            }
        }
        Some(merged(d, Some(attrs)))
    }

    fn define_typed(&mut self, id: ObjId, key: Key, d: &Descriptor) -> Res<bool> {
        let plain = d.configurable != Some(false)
            && d.enumerable != Some(false)
            && d.writable != Some(false)
            && !d.is_accessor();
        if !plain || self.get_own(id, key).is_none() {
            return Ok(false);
        }
        if let Some(value) = d.value {
            self.put(Value::Obj(id), key, value)?;
        }
        Ok(true)
    }

    /// `ArraySetLength`.
    fn define_length(&mut self, id: ObjId, d: &Descriptor) -> Res<bool> {
        let new = match d.value {
            Some(value) => Some(self.to_array_length(value)?),
            None => None,
        };
        if d.configurable == Some(true) || d.enumerable == Some(true) || d.is_accessor() {
            return Ok(false);
        }
        let Kind::Array(items) = self.heap.kind(id) else {
            return Ok(false);
        };
        let len = items.len();
        if self.heap.obj(id).flags & FIXED_LENGTH != 0
            && (d.writable == Some(true) || new.is_some_and(|new| new != len))
        {
            return Ok(false);
        }
        let whole = match new {
            Some(new) => self.resize_array(id, new)?,
            None => true,
        };
        if d.writable == Some(false) {
            self.heap.obj_mut(id).flags |= FIXED_LENGTH;
        }
        Ok(whole)
    }

    /// An array's length from a value: a `RangeError` when it is no length.
    pub(crate) fn to_array_length(&mut self, value: Value) -> Res<usize> {
        if let Value::Num(_) = value {
            return self.checked_length(value, value);
        }
        // The standard converts twice, which programs can notice.
        let first = self.to_number(value)?;
        let second = self.to_number(value)?;
        self.checked_length(Value::Num(first), Value::Num(second))
    }

    fn checked_length(&mut self, first: Value, second: Value) -> Res<usize> {
        match (first, second) {
            (Value::Num(a), Value::Num(b))
                if b >= 0.0
                    && b.trunc() == b
                    && b <= super::ARRAY_LIMIT as f64
                    && f64::from(crate::number::to_int32(a) as u32) == b =>
            {
                Ok(b as usize)
            }
            _ => Err(self.range_error("Invalid array length")),
        }
    }

    /// Makes an array longer or shorter; false when an element that can't be deleted stopped it.
    pub(crate) fn resize_array(&mut self, id: ObjId, new: usize) -> Res<bool> {
        let Kind::Array(items) = self.heap.kind(id) else {
            return Ok(true);
        };
        let len = items.len();
        let mut new = new;
        let mut whole = true;
        if new < len {
            if self.heap.obj(id).flags & crate::object::SEALED_ELEMENTS != 0
                && let Some(last) = items.iter().rposition(|v| !matches!(v, Value::Hole))
                && last >= new
            {
                (new, whole) = (last + 1, false);
            }
            if self.heap.obj(id).flags & ODD_ELEMENTS != 0 {
                let odd = self.drop_odd_elements(id, new);
                (new, whole) = (odd, whole && odd == new);
            }
        } else {
            self.reserve((new - len) * size_of::<Value>())?;
            self.heap.bytes += (new - len) * size_of::<Value>();
        }
        if let Kind::Array(items) = self.heap.kind_mut(id) {
            items.resize(new, Value::Hole);
        }
        Ok(whole)
    }

    /// Deletes the elements from `new` on that live as properties, last first, down to one that can't be deleted; tells the
    /// length that is left.
    fn drop_odd_elements(&mut self, id: ObjId, new: usize) -> usize {
        let order = &self.heap.shape_of(id).table.order;
        let mut found: Vec<(u32, Attrs)> = order
            .iter()
            .filter_map(|&(key, attrs)| Some((key.as_index()?, attrs)))
            .filter(|&(at, _)| at as usize >= new)
            .collect();
        found.sort_unstable_by_key(|&(at, _)| std::cmp::Reverse(at));
        for (at, attrs) in found {
            if !attrs.configurable() {
                return at as usize + 1;
            }
            if let Some(slot) = self.heap.find_own(id, Key::index(at)) {
                self.heap.remove_prop(id, slot.index);
            }
        }
        new
    }
}

/// What the descriptor says, completed from the property's old attributes or, without any, from the defaults.
fn merged(d: &Descriptor, old: Option<Attrs>) -> Attrs {
    let pick = |new: Option<bool>, old: Option<bool>, bit: u8| {
        if new.or(old).unwrap_or(false) { bit } else { 0 }
    };
    let shown = pick(d.enumerable, old.map(Attrs::enumerable), Attrs::ENUMERABLE);
    let open = pick(
        d.configurable,
        old.map(Attrs::configurable),
        Attrs::CONFIGURABLE,
    );
    let was_accessor = old.is_some_and(Attrs::accessor);
    if d.is_accessor() || (was_accessor && !d.is_data()) {
        return Attrs(shown | open | Attrs::ACCESSOR);
    }
    let old = old.filter(|_| !was_accessor);
    let write = pick(d.writable, old.map(Attrs::writable), Attrs::WRITABLE);
    Attrs(shown | open | write)
}
