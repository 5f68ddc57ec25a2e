//! Which constructor makes the objects that a method derives from another (ECMA-262 7.3.22 and 10.4.2.3).

use crate::atoms::SYM_SPECIES;
use crate::object::Kind;
use crate::realm::{intrinsic as i, name};
use crate::value::{ObjId, Res, Value};
use crate::vm::{ARRAY_LIMIT, Vm};

impl Vm {
    /// `SpeciesConstructor`.
    pub(crate) fn species_of(&mut self, id: ObjId, default: ObjId) -> Res<Value> {
        let constructor = self.get(Value::Obj(id), name::CONSTRUCTOR)?;
        if constructor.is_undefined() {
            return Ok(Value::Obj(default));
        }
        if !constructor.is_object() {
            return Err(self.type_error("The constructor property is not an object."));
        }
        let species = self.get(constructor, SYM_SPECIES)?;
        if species.is_nullish() {
            return Ok(Value::Obj(default));
        }
        if !self.is_constructor(species) {
            return Err(self.type_error("object[Symbol.species] is not a constructor."));
        }
        Ok(species)
    }

    /// Whether arrays derived from this one are plain: it is no subclass's, and nobody changed what `Array` says.
    fn derives_plain_arrays(&self, id: ObjId) -> bool {
        let own = |object, key| {
            let slot = self.heap.find_own(object, key)?;
            Some(self.heap.obj(object).slots[slot.index as usize])
        };
        let template = |object: ObjId, key| {
            let slot = self.heap.find_own(object, key)?;
            self.realm.objs[object.0 as usize]
                .slots
                .get(slot.index as usize)
                .copied()
        };
        let species = || match (own(i::ARRAY, SYM_SPECIES), template(i::ARRAY, SYM_SPECIES)) {
            (Some(Value::Obj(now)), Some(Value::Obj(then))) => now == then,
            _ => false,
        };
        self.heap.proto_of(id) == Some(i::ARRAY_PROTO)
            && self.heap.find_own(id, name::CONSTRUCTOR).is_none()
            && matches!(
                own(i::ARRAY_PROTO, name::CONSTRUCTOR),
                Some(Value::Obj(i::ARRAY))
            )
            && species()
    }

    /// The constructor to derive an array with; none for a plain array.
    pub(crate) fn array_species(&mut self, original: ObjId) -> Res<Option<Value>> {
        if !matches!(self.heap.kind(original), Kind::Array(_))
            || self.derives_plain_arrays(original)
        {
            return Ok(None);
        }
        let mut constructor = self.get(Value::Obj(original), name::CONSTRUCTOR)?;
        if constructor.is_object() {
            constructor = self.get(constructor, SYM_SPECIES)?;
            if let Value::Null = constructor {
                return Ok(None);
            }
        }
        if constructor.is_undefined() || constructor.as_obj() == Some(i::ARRAY) {
            return Ok(None);
        }
        if !self.is_constructor(constructor) {
            return Err(self.type_error("object.constructor[Symbol.species] is not a constructor."));
        }
        Ok(Some(constructor))
    }

    /// `ArraySpeciesCreate`, with holes for the elements to come.
    pub(crate) fn array_species_create(&mut self, original: ObjId, len: usize) -> Res<ObjId> {
        match self.array_species(original)? {
            None => self.new_holes(len),
            Some(constructor) => {
                let made = self.construct(constructor, &[Value::Num(len as f64)], constructor)?;
                self.require_object(made)
            }
        }
    }

    /// What a constructor made, which has to be an object.
    pub(crate) fn require_object(&mut self, value: Value) -> Res<ObjId> {
        match self.settle(value) {
            Value::Obj(id) => Ok(id),
            _ => Err(self.type_error("The constructor didn't make an object.")),
        }
    }

    fn new_holes(&mut self, len: usize) -> Res<ObjId> {
        if len > ARRAY_LIMIT {
            return Err(self.range_error("Invalid array length"));
        }
        self.reserve(len * size_of::<Value>())?;
        self.charge(len / 16)?;
        let items = vec![Value::Hole; len];
        Ok(self.heap.alloc(Some(i::ARRAY_PROTO), Kind::Array(items)))
    }

    /// Whether an object is a plain array whose elements can be read and written in place.
    pub(crate) fn is_dense(&self, id: ObjId) -> bool {
        matches!(self.heap.kind(id), Kind::Array(_))
            && self.heap.obj(id).flags & (crate::object::EXTENSIBLE | crate::object::ODD_ELEMENTS)
                == crate::object::EXTENSIBLE
    }

    /// `CreateDataPropertyOrThrow` of a position.
    pub(crate) fn create_element(&mut self, id: ObjId, at: usize, value: Value) -> Res<()> {
        if self.is_dense(id)
            && let Kind::Array(items) = self.heap.kind_mut(id)
            && let Some(slot) = items.get_mut(at)
        {
            *slot = value;
            return Ok(());
        }
        let key = super::array::position_key(self, at);
        self.create_data_or_throw(id, key, value)
    }
}
