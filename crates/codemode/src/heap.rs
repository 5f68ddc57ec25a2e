//! The arenas of one run: objects, strings, captured variables and big integers, counted byte by byte.
//!
//! Handles are plain indices. Nothing is moved; a mark-and-sweep collection runs when the bytes allocated since the
//! last one pass a threshold, and an allocation beyond the limit is refused.

use crate::mark::Marker;
use crate::object::{EXTENSIBLE, Kind, Obj};
use crate::shape::{Attrs, Shape, ShapeId, Slot, Table};
use crate::text::{Text, Units};
use crate::value::{BigId, CellId, Key, ObjId, StrId, Value};
use num_bigint::BigInt;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Contents of a string: flat, or a concatenation not flattened yet.
#[derive(Clone, Debug)]
pub(crate) enum Repr {
    Free,
    Flat(Text),
    Rope {
        left: StrId,
        right: StrId,
        len: u32,
        wide: bool,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct StrCell {
    pub(crate) repr: Repr,
    /// The property key of this string, once it was asked for.
    pub(crate) key: Option<Key>,
}

/// A value held by Rust code, in four bytes: the arena in the upper bits, the handle in the lower ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pin(pub(crate) u32);

pub(crate) const PIN_STR: u32 = 1 << 31;
pub(crate) const PIN_BIG: u32 = 1 << 30;
/// Pins after which the machine looks whether they are still needed.
const MANY_PINS: usize = 1 << 16;

/// Shapes with more properties than this are kept as one object's own dictionary.
const SHARED_LIMIT: usize = 24;
/// A shape with more transitions than this gives its objects dictionaries.
const TRANSITION_LIMIT: usize = 48;
/// Bytes allocated before the first collection.
const FIRST_COLLECTION: usize = 8 << 20;

pub(crate) struct Heap {
    pub(crate) objs: Vec<Obj>,
    free_objs: Vec<u32>,
    pub(crate) strs: Vec<StrCell>,
    free_strs: Vec<u32>,
    pub(crate) cells: Vec<Value>,
    cell_marks: Vec<bool>,
    free_cells: Vec<u32>,
    pub(crate) bigs: Vec<BigInt>,
    pub(crate) shapes: Vec<Shape>,
    roots: FxHashMap<Option<ObjId>, ShapeId>,
    /// The root shape asked for last.
    last_root: (Option<ObjId>, ShapeId),
    /// Bytes that the program occupies now, garbage included.
    pub(crate) bytes: usize,
    /// Bytes of interned strings, which are never freed.
    pub(crate) interned: usize,
    /// Bytes at which the machine stops at its next safe point; zero calls it there at once.
    pub(crate) collect_at: usize,
    /// Bytes at which the next collection is due.
    pub(crate) threshold: usize,
    /// Every safe point collects.
    eager: bool,
    /// What Rust code may hold while program code runs: everything allocated, read or returned since the innermost run of
    /// the machine began. A collection treats it as reachable.
    pub(crate) pins: Vec<Pin>,
    /// Changes whenever an object that serves as a prototype changes its layout.
    pub(crate) epoch: u32,
}

impl Heap {
    pub(crate) fn new(objs: Vec<Obj>, shapes: Vec<Shape>) -> Heap {
        let bytes = objs
            .iter()
            .map(|o| size_of::<Obj>() + o.slots.len() * size_of::<Value>())
            .sum();
        Heap {
            objs,
            free_objs: Vec::new(),
            strs: Vec::new(),
            free_strs: Vec::new(),
            cells: Vec::new(),
            cell_marks: Vec::new(),
            free_cells: Vec::new(),
            bigs: Vec::new(),
            shapes,
            roots: FxHashMap::default(),
            // No object has this handle.
            last_root: (Some(ObjId(u32::MAX)), ShapeId(0)),
            bytes,
            interned: 0,
            collect_at: FIRST_COLLECTION,
            threshold: FIRST_COLLECTION,
            eager: false,
            pins: Vec::new(),
            epoch: 1,
        }
    }

    /// Makes every safe point a collection.
    pub(crate) fn collect_eagerly(&mut self) {
        self.eager = true;
        (self.threshold, self.collect_at) = (0, 0);
    }

    pub(crate) fn obj(&self, id: ObjId) -> &Obj {
        &self.objs[id.0 as usize]
    }

    pub(crate) fn obj_mut(&mut self, id: ObjId) -> &mut Obj {
        &mut self.objs[id.0 as usize]
    }

    pub(crate) fn kind(&self, id: ObjId) -> &Kind {
        &self.objs[id.0 as usize].kind
    }

    pub(crate) fn kind_mut(&mut self, id: ObjId) -> &mut Kind {
        &mut self.objs[id.0 as usize].kind
    }

    pub(crate) fn shape(&self, id: ShapeId) -> &Shape {
        &self.shapes[id.0 as usize]
    }

    pub(crate) fn shape_of(&self, id: ObjId) -> &Shape {
        &self.shapes[self.objs[id.0 as usize].shape.0 as usize]
    }

    pub(crate) fn proto_of(&self, id: ObjId) -> Option<ObjId> {
        self.shape_of(id).proto
    }

    /// The empty shape of objects with this prototype.
    pub(crate) fn root_shape(&mut self, proto: Option<ObjId>) -> ShapeId {
        if self.last_root.0 == proto {
            return self.last_root.1;
        }
        if let Some(&shape) = self.roots.get(&proto) {
            self.last_root = (proto, shape);
            return shape;
        }
        if let Some(id) = proto {
            self.obj_mut(id).flags |= crate::object::IS_PROTO;
        }
        let shape = self.push_shape(Shape {
            proto,
            table: Arc::default(),
            unique: false,
            next: Vec::new(),
        });
        self.roots.insert(proto, shape);
        shape
    }

    fn push_shape(&mut self, shape: Shape) -> ShapeId {
        self.shapes.push(shape);
        self.bytes += size_of::<Shape>();
        ShapeId(self.shapes.len() as u32 - 1)
    }

    pub(crate) fn alloc(&mut self, proto: Option<ObjId>, kind: Kind) -> ObjId {
        let shape = self.root_shape(proto);
        self.alloc_shaped(shape, kind)
    }

    pub(crate) fn alloc_shaped(&mut self, shape: ShapeId, kind: Kind) -> ObjId {
        self.bytes += size_of::<Obj>() + kind_bytes(&kind);
        let obj = Obj {
            shape,
            flags: EXTENSIBLE,
            slots: Vec::new(),
            kind,
        };
        let id = match self.free_objs.pop() {
            Some(free) => {
                self.objs[free as usize] = obj;
                ObjId(free)
            }
            None => {
                self.objs.push(obj);
                ObjId(self.objs.len() as u32 - 1)
            }
        };
        self.push_pin(Pin(id.0));
        id
    }

    pub(crate) fn cell(&mut self, value: Value) -> CellId {
        self.bytes += size_of::<Value>();
        if let Some(free) = self.free_cells.pop() {
            self.cells[free as usize] = value;
            return CellId(free);
        }
        self.cells.push(value);
        CellId(self.cells.len() as u32 - 1)
    }

    pub(crate) fn big(&mut self, value: BigInt) -> Value {
        self.bytes += 48 + value.bits() as usize / 8;
        self.bigs.push(value);
        let id = BigId(self.bigs.len() as u32 - 1);
        self.push_pin(Pin(id.0 | PIN_BIG));
        Value::Big(id)
    }

    pub(crate) fn big_value(&self, id: BigId) -> &BigInt {
        &self.bigs[id.0 as usize]
    }

    pub(crate) fn text(&mut self, text: Text) -> StrId {
        self.bytes += text.bytes();
        self.push_str(Repr::Flat(text), None)
    }

    pub(crate) fn push_str(&mut self, repr: Repr, key: Option<Key>) -> StrId {
        self.bytes += size_of::<StrCell>();
        let cell = StrCell { repr, key };
        let id = match self.free_strs.pop() {
            Some(free) => {
                self.strs[free as usize] = cell;
                StrId(free)
            }
            None => {
                self.strs.push(cell);
                StrId(self.strs.len() as u32 - 1)
            }
        };
        self.push_pin(Pin(id.0 | PIN_STR));
        id
    }

    /// Keeps a value from being collected until the pins are released.
    #[inline]
    pub(crate) fn pin(&mut self, value: Value) {
        match value {
            Value::Obj(id) => self.push_pin(Pin(id.0)),
            Value::Str(id) => self.push_pin(Pin(id.0 | PIN_STR)),
            Value::Big(id) => self.push_pin(Pin(id.0 | PIN_BIG)),
            _ => {}
        }
    }

    #[inline]
    fn push_pin(&mut self, pin: Pin) {
        self.pins.push(pin);
        if self.pins.len() & (MANY_PINS - 1) == 0 {
            // The machine comes to the next safe point as if memory were short, and drops the pins there.
            self.collect_at = 0;
        }
    }

    pub(crate) fn str_len(&self, id: StrId) -> usize {
        match &self.strs[id.0 as usize].repr {
            Repr::Free => 0,
            Repr::Flat(text) => text.len(),
            Repr::Rope { len, .. } => *len as usize,
        }
    }

    fn is_wide(&self, id: StrId) -> bool {
        match &self.strs[id.0 as usize].repr {
            Repr::Free | Repr::Flat(Text::Narrow(_)) => false,
            Repr::Flat(Text::Wide(_)) => true,
            Repr::Rope { wide, .. } => *wide,
        }
    }

    /// Joins two strings, lazily when the result is long.
    pub(crate) fn concat(&mut self, left: StrId, right: StrId) -> StrId {
        let (a, b) = (self.str_len(left), self.str_len(right));
        if a == 0 {
            return right;
        }
        if b == 0 {
            return left;
        }
        let wide = self.is_wide(left) || self.is_wide(right);
        if a + b > 32 {
            return self.push_str(
                Repr::Rope {
                    left,
                    right,
                    len: (a + b) as u32,
                    wide,
                },
                None,
            );
        }
        self.flatten(left);
        self.flatten(right);
        let text = match (self.flat(left), self.flat(right)) {
            (Units::Narrow(x), Units::Narrow(y)) => {
                let mut bytes = Vec::with_capacity(a + b);
                bytes.extend_from_slice(x);
                bytes.extend_from_slice(y);
                Text::Narrow(bytes.into())
            }
            (x, y) => {
                let mut units = Vec::with_capacity(a + b);
                x.push_to(&mut units);
                y.push_to(&mut units);
                Text::Wide(units.into())
            }
        };
        self.text(text)
    }

    /// Turns a rope into flat text; the loop keeps its own stack, so depth costs nothing of the host's.
    pub(crate) fn flatten(&mut self, id: StrId) {
        let Repr::Rope { len, wide, .. } = self.strs[id.0 as usize].repr else {
            return;
        };
        let mut todo = vec![id];
        let text = if wide {
            let mut out: Vec<u16> = Vec::with_capacity(len as usize);
            while let Some(at) = todo.pop() {
                match &self.strs[at.0 as usize].repr {
                    Repr::Free => {}
                    Repr::Flat(text) => text.units().push_to(&mut out),
                    Repr::Rope { left, right, .. } => {
                        todo.push(*right);
                        todo.push(*left);
                    }
                }
            }
            Text::Wide(out.into())
        } else {
            let mut out: Vec<u8> = Vec::with_capacity(len as usize);
            while let Some(at) = todo.pop() {
                match &self.strs[at.0 as usize].repr {
                    Repr::Flat(Text::Narrow(text)) => out.extend_from_slice(text),
                    Repr::Free | Repr::Flat(Text::Wide(_)) => {}
                    Repr::Rope { left, right, .. } => {
                        todo.push(*right);
                        todo.push(*left);
                    }
                }
            }
            Text::Narrow(out.into())
        };
        self.bytes += text.bytes();
        self.strs[id.0 as usize].repr = Repr::Flat(text);
    }

    /// The units of a string that is flat already.
    pub(crate) fn flat(&self, id: StrId) -> Units<'_> {
        match &self.strs[id.0 as usize].repr {
            Repr::Flat(text) => text.units(),
            Repr::Free | Repr::Rope { .. } => Units::Narrow(&[]),
        }
    }

    /// The units of a string.
    pub(crate) fn units(&mut self, id: StrId) -> Units<'_> {
        self.flatten(id);
        self.flat(id)
    }

    pub(crate) fn find_own(&self, id: ObjId, key: Key) -> Option<Slot> {
        self.shape_of(id).table.find(key)
    }

    fn note_layout_change(&mut self, id: ObjId) {
        if self.obj(id).flags & crate::object::IS_PROTO != 0 {
            self.epoch += 1;
        }
    }

    /// Adds a plain property the way that another object of the same layout got it; false when none did.
    pub(crate) fn add_as_before(&mut self, id: ObjId, key: Key, value: Value) -> bool {
        let shape = self.shape_of(id);
        let next = shape
            .next
            .iter()
            .find(|(k, a, _)| *k == key && *a == Attrs::DATA);
        let Some(&(_, _, next)) = next else {
            return false;
        };
        let obj = self.obj_mut(id);
        if obj.flags & crate::object::IS_PROTO != 0 {
            return false;
        }
        obj.shape = next;
        obj.slots.push(value);
        self.bytes += size_of::<Value>();
        true
    }

    /// Adds a property that the object doesn't have.
    pub(crate) fn add_prop(&mut self, id: ObjId, key: Key, attrs: Attrs, value: Value) {
        self.note_layout_change(id);
        self.bytes += size_of::<Value>();
        let from = self.obj(id).shape;
        let shape = self.shape(from);
        let to = if shape.unique {
            self.bytes += 16;
            Arc::make_mut(&mut self.shapes[from.0 as usize].table).push(key, attrs);
            from
        } else if let Some(&(_, _, next)) =
            shape.next.iter().find(|(k, a, _)| *k == key && *a == attrs)
        {
            next
        } else if shape.table.order.len() >= SHARED_LIMIT || shape.next.len() >= TRANSITION_LIMIT {
            let own = self.make_unique(id);
            Arc::make_mut(&mut self.shapes[own.0 as usize].table).push(key, attrs);
            own
        } else {
            let (proto, mut table) = (shape.proto, Table::clone(&shape.table));
            table.push(key, attrs);
            self.bytes += table.order.len() * 24;
            let next = self.push_shape(Shape {
                proto,
                table: Arc::new(table),
                unique: false,
                next: Vec::new(),
            });
            self.shapes[from.0 as usize].next.push((key, attrs, next));
            next
        };
        let obj = self.obj_mut(id);
        obj.shape = to;
        obj.slots.push(value);
    }

    /// Gives the object a shape of its own under a new id, so that nothing remembered about the old one applies.
    pub(crate) fn make_unique(&mut self, id: ObjId) -> ShapeId {
        let old = self.obj(id).shape.0 as usize;
        let shape = &mut self.shapes[old];
        let table = if shape.unique {
            std::mem::take(&mut shape.table)
        } else {
            Arc::clone(&shape.table)
        };
        let own = Shape {
            proto: shape.proto,
            table,
            unique: true,
            next: Vec::new(),
        };
        self.bytes += own.table.order.len() * 24;
        let own = self.push_shape(own);
        self.obj_mut(id).shape = own;
        own
    }

    pub(crate) fn set_attrs(&mut self, id: ObjId, index: u32, attrs: Attrs) {
        self.note_layout_change(id);
        let own = self.make_unique(id);
        Arc::make_mut(&mut self.shapes[own.0 as usize].table).set_attrs(index, attrs);
    }

    pub(crate) fn remove_prop(&mut self, id: ObjId, index: u32) {
        self.note_layout_change(id);
        let own = self.make_unique(id);
        Arc::make_mut(&mut self.shapes[own.0 as usize].table).remove(index);
        self.obj_mut(id).slots.remove(index as usize);
    }

    pub(crate) fn set_proto(&mut self, id: ObjId, proto: Option<ObjId>) {
        if let Some(p) = proto {
            self.obj_mut(p).flags |= crate::object::IS_PROTO;
        }
        self.note_layout_change(id);
        if self.shape_of(id).table.order.is_empty() {
            self.obj_mut(id).shape = self.root_shape(proto);
            return;
        }
        let own = self.make_unique(id);
        self.shapes[own.0 as usize].proto = proto;
    }

    /// Frees everything that `mark` didn't reach; the caller marked the roots with [`Marker`].
    pub(crate) fn sweep(&mut self, marks: &Marker) {
        let mut bytes = self.shapes.len() * size_of::<Shape>();
        for (at, obj) in self.objs.iter_mut().enumerate() {
            if marks.objs[at] {
                bytes += obj_bytes(obj);
                if self.shapes[obj.shape.0 as usize].unique {
                    bytes += self.shapes[obj.shape.0 as usize].table.order.len() * 24;
                }
            } else if !matches!(obj.kind, Kind::Free) {
                if self.shapes[obj.shape.0 as usize].unique {
                    self.shapes[obj.shape.0 as usize].table = Arc::default();
                }
                obj.kind = Kind::Free;
                obj.slots = Vec::new();
                self.free_objs.push(at as u32);
            }
        }
        self.last_root = (Some(ObjId(u32::MAX)), ShapeId(0));
        self.roots
            .retain(|proto, _| proto.is_none_or(|p| marks.objs[p.0 as usize]));
        for (at, cell) in self.strs.iter_mut().enumerate() {
            if marks.strs[at] {
                let held = if let Repr::Flat(text) = &cell.repr {
                    text.bytes()
                } else {
                    0
                };
                bytes += size_of::<StrCell>() + held;
            } else if !matches!(cell.repr, Repr::Free) {
                cell.repr = Repr::Free;
                cell.key = None;
                self.free_strs.push(at as u32);
            }
        }
        for at in 0..self.cells.len() {
            let free = self.cell_marks.get(at).copied().unwrap_or(false);
            if marks.cells[at] {
                bytes += size_of::<Value>();
            } else if !free {
                self.free_cells.push(at as u32);
            }
        }
        self.cell_marks = vec![false; self.cells.len()];
        for &free in &self.free_cells {
            self.cell_marks[free as usize] = true;
        }
        if let Some(last) = (0..self.bigs.len()).rev().find(|&at| marks.bigs[at]) {
            self.bigs.truncate(last + 1);
        } else {
            self.bigs.clear();
        }
        bytes += self
            .bigs
            .iter()
            .map(|b| 48 + b.bits() as usize / 8)
            .sum::<usize>();
        self.bytes = bytes + self.interned;
        self.threshold = if self.eager {
            self.bytes
        } else {
            (self.bytes * 2).max(FIRST_COLLECTION)
        };
    }
}

fn kind_bytes(kind: &Kind) -> usize {
    match kind {
        Kind::Array(items) => items.capacity() * size_of::<Value>(),
        Kind::Buffer(data) => 48 + data.bytes.capacity(),
        Kind::Typed(_) | Kind::View(_) => 48,
        Kind::Closure(c) => 64 + c.captures.len() * 4,
        Kind::Promise(_) => 80,
        Kind::Coroutine(c) => 160 + c.regs.len() * size_of::<Value>(),
        Kind::Map(t) | Kind::Set(t) => 96 + t.entries.len() * 80,
        Kind::Error(_) | Kind::RegExp(_) | Kind::NativeClosure(_) | Kind::Bound(_) => 96,
        _ => 0,
    }
}

fn obj_bytes(obj: &Obj) -> usize {
    size_of::<Obj>() + kind_bytes(&obj.kind) + obj.slots.len() * size_of::<Value>()
}
