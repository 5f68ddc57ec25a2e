//! Reading and writing properties where they were found last time.

use super::{Cache, NO_SHAPE, OWN, Vm};
use crate::object::{EXTENSIBLE, FIXED_LENGTH, Kind, ODD_ELEMENTS};
use crate::realm::{intrinsic, name};
use crate::shape::{Attrs, ShapeId};
use crate::value::{CellId, Key, ObjId, Res, Value};

/// Marks a cache that was filled by a string.
const STRING_SHAPE: u32 = NO_SHAPE - 1;

impl Vm {
    pub(super) fn global(&mut self, name: Key) -> Option<Value> {
        if let Some(&value) = self.realm.globals.get(&name) {
            return Some(value);
        }
        if let Some(&value) = self.host.globals.get(&name) {
            return Some(value);
        }
        if self.program.print && self.atoms.text(name).units().is("print") {
            return self
                .realm
                .internal
                .get("print")
                .map(|&number| Value::Lazy(number));
        }
        None
    }

    pub(super) fn upvalue(&self, index: u16) -> CellId {
        if let Some(frame) = self.frames.last()
            && let Kind::Closure(closure) = self.heap.kind(frame.closure)
            && let Some(&cell) = closure.captures.get(index as usize)
        {
            return cell;
        }
        CellId(0)
    }

    /// A property found where it was last time.
    #[inline]
    pub(super) fn cached(&self, target: Value, at: usize) -> Option<Value> {
        let cache = &self.caches[at];
        match target {
            Value::Obj(id) => {
                let obj = self.heap.obj(id);
                if obj.shape.0 != cache.shape {
                    return None;
                }
                if cache.holder == OWN {
                    return obj.slots.get(cache.slot as usize).copied();
                }
                if cache.epoch == self.heap.epoch {
                    return self.heap.objs[cache.holder as usize]
                        .slots
                        .get(cache.slot as usize)
                        .copied();
                }
                None
            }
            Value::Str(_) if cache.shape == STRING_SHAPE && cache.epoch == self.heap.epoch => {
                self.heap.objs[cache.holder as usize]
                    .slots
                    .get(cache.slot as usize)
                    .copied()
            }
            _ => None,
        }
    }

    /// Reads a named property and remembers where it was, when that is a plain slot.
    pub(super) fn get_cached(&mut self, target: Value, key: Key, at: usize) -> Res<Value> {
        if let Value::Str(_) = target
            && key != name::LENGTH
            && let Some(slot) = self.heap.find_own(intrinsic::STRING_PROTO, key)
            && !slot.attrs.accessor()
        {
            let holder = intrinsic::STRING_PROTO.0;
            self.caches[at] = Cache {
                shape: STRING_SHAPE,
                holder,
                slot: slot.index,
                epoch: self.heap.epoch,
            };
            return Ok(self.heap.obj(intrinsic::STRING_PROTO).slots[slot.index as usize]);
        }
        let Value::Obj(start) = target else {
            return self.get_lazy(target, key);
        };
        let mut holder = start;
        loop {
            if let Kind::Tool(_) | Kind::Typed(_) = self.heap.kind(holder) {
                break;
            }
            if let Some(own) = self.get_own(holder, key) {
                if own.attrs.accessor() {
                    return self.run_getter(own.value, target);
                }
                if let Some(slot) = own.slot {
                    let shape = self.heap.obj(start).shape;
                    if holder == start {
                        self.caches[at] = Cache {
                            shape: shape.0,
                            holder: OWN,
                            slot,
                            epoch: 0,
                        };
                    } else if !self.heap.shape(shape).unique {
                        self.caches[at] = Cache {
                            shape: shape.0,
                            holder: holder.0,
                            slot,
                            epoch: self.heap.epoch,
                        };
                    }
                }
                return Ok(own.value);
            }
            match self.heap.proto_of(holder) {
                Some(proto) => holder = proto,
                None => return Ok(Value::Undefined),
            }
        }
        self.get_lazy(target, key)
    }

    /// Writes where the property was last time.
    #[inline]
    pub(super) fn put_fast(&mut self, target: Value, at: usize, value: Value) -> bool {
        let Value::Obj(id) = target else { return false };
        let cache = self.caches[at];
        let obj = self.heap.obj_mut(id);
        if obj.shape.0 != cache.shape {
            return false;
        }
        if cache.holder == OWN {
            if let Some(slot) = obj.slots.get_mut(cache.slot as usize) {
                *slot = value;
                return true;
            }
            return false;
        }
        cache.epoch == self.heap.epoch && self.add_fast(id, at, value)
    }

    /// Adds a property by the transition of last time.
    #[inline]
    pub(super) fn add_fast(&mut self, id: ObjId, at: usize, value: Value) -> bool {
        let cache = self.caches[at];
        let obj = self.heap.obj_mut(id);
        // A prototype that changes its layout must be noticed by those who remember what they found behind it.
        let is_proto = obj.flags & crate::object::IS_PROTO != 0;
        if obj.shape.0 != cache.shape || cache.holder == OWN || is_proto {
            return false;
        }
        obj.shape = ShapeId(cache.holder);
        obj.slots.push(value);
        self.heap.bytes += size_of::<Value>();
        true
    }

    pub(super) fn put_cached(
        &mut self,
        target: Value,
        key: Key,
        at: usize,
        value: Value,
    ) -> Res<()> {
        let Value::Obj(id) = target else {
            return self.put(target, key, value);
        };
        let before = self.heap.obj(id).shape;
        let known = self.heap.find_own(id, key);
        self.put(target, key, value)?;
        self.remember_write(
            id,
            key,
            before,
            known.is_some_and(|s| s.attrs == Attrs::DATA),
            at,
        );
        Ok(())
    }

    pub(super) fn define_cached(
        &mut self,
        id: ObjId,
        key: Key,
        at: usize,
        value: Value,
    ) -> Res<()> {
        let before = self.heap.obj(id).shape;
        self.define_field(id, key, value)?;
        self.remember_write(id, key, before, false, at);
        Ok(())
    }

    pub(super) fn remember_write(
        &mut self,
        id: ObjId,
        key: Key,
        before: ShapeId,
        existed: bool,
        at: usize,
    ) {
        let obj = self.heap.obj(id);
        let after = obj.shape;
        let flags = obj.flags;
        let Some(slot) = self.heap.find_own(id, key) else {
            return;
        };
        if slot.attrs != Attrs::DATA || key.as_index().is_some() {
            return;
        }
        if after == before {
            if existed {
                self.caches[at] = Cache {
                    shape: before.0,
                    holder: OWN,
                    slot: slot.index,
                    epoch: 0,
                };
            }
            return;
        }
        let unique = self.heap.shape(before).unique || self.heap.shape(after).unique;
        if !unique && !existed && flags & crate::object::IS_PROTO == 0 {
            self.caches[at] = Cache {
                shape: before.0,
                holder: after.0,
                slot: slot.index,
                epoch: self.heap.epoch,
            };
        }
    }

    pub(super) fn get_elem(&mut self, target: Value, key: Value) -> Res<Value> {
        if let (Value::Str(id), Value::Num(n)) = (target, key) {
            let units = self.heap.units(id);
            if n >= 0.0
                && n.trunc() == n
                && let Some(unit) = units.get(n as usize)
            {
                return Ok(Value::Str(self.char_str(unit)));
            }
        }
        if let (Value::Obj(id), Value::Num(n)) = (target, key)
            && let Kind::Typed(_) = self.heap.kind(id)
            && n >= 0.0
            && n.trunc() == n
        {
            return Ok(self.typed_get(id, n as usize).unwrap_or(Value::Undefined));
        }
        if target.is_nullish() {
            let key = if key.is_object() {
                name::VALUE
            } else {
                self.to_key(key)?
            };
            return self.get(target, key);
        }
        let key = self.to_key(key)?;
        self.get(target, key)
    }

    pub(super) fn put_elem(&mut self, target: Value, key: Value, value: Value) -> Res<()> {
        if let (Value::Obj(id), Value::Num(n)) = (target, key)
            && let Kind::Array(items) = self.heap.kind(id)
            && items.len() as f64 == n
            && self.heap.obj(id).flags & (EXTENSIBLE | FIXED_LENGTH | ODD_ELEMENTS) == EXTENSIBLE
            && items.len() < super::ARRAY_LIMIT
        {
            if let Kind::Array(items) = self.heap.kind_mut(id) {
                items.push(value);
                self.heap.bytes += size_of::<Value>();
            }
            return Ok(());
        }
        let key = self.to_key(key)?;
        self.put(target, key, value)
    }
}
