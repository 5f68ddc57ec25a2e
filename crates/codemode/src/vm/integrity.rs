//! Objects that can't be extended, sealed ones and frozen ones (ECMA-262 7.3.15).

use super::Vm;
use crate::object::{EXTENSIBLE, FIXED_LENGTH, FROZEN_ELEMENTS, Kind, SEALED_ELEMENTS};
use crate::realm::name;
use crate::shape::Attrs;
use crate::value::{ObjId, Res};

impl Vm {
    pub(crate) fn prevent_extensions(&mut self, id: ObjId) {
        if self.heap.obj(id).flags & EXTENSIBLE != 0 {
            self.heap.make_unique(id);
            self.heap.obj_mut(id).flags &= !EXTENSIBLE;
        }
    }

    /// `freeze` or `seal`.
    pub(crate) fn set_integrity(&mut self, id: ObjId, frozen: bool) -> Res<()> {
        if frozen && self.typed_bytes(id).is_some_and(|bytes| !bytes.is_empty()) {
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
}
