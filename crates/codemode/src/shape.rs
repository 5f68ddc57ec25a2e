//! Shapes (hidden classes): the property layout that objects made alike share, so that a place in the code can
//! remember a slot instead of looking a name up.

use crate::value::{Key, ObjId};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Index of a shape in the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ShapeId(pub(crate) u32);

/// Attributes of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Attrs(pub(crate) u8);

impl Attrs {
    pub(crate) const WRITABLE: u8 = 1;
    pub(crate) const ENUMERABLE: u8 = 2;
    pub(crate) const CONFIGURABLE: u8 = 4;
    /// The slot holds an accessor pair.
    pub(crate) const ACCESSOR: u8 = 8;
    pub(crate) const DATA: Attrs = Attrs(7);
    pub(crate) const HIDDEN: Attrs = Attrs(Self::WRITABLE | Self::CONFIGURABLE);

    pub(crate) fn writable(self) -> bool {
        self.0 & Self::WRITABLE != 0
    }
    pub(crate) fn enumerable(self) -> bool {
        self.0 & Self::ENUMERABLE != 0
    }
    pub(crate) fn configurable(self) -> bool {
        self.0 & Self::CONFIGURABLE != 0
    }
    pub(crate) fn accessor(self) -> bool {
        self.0 & Self::ACCESSOR != 0
    }
}

/// Where a property lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) index: u32,
    pub(crate) attrs: Attrs,
}

/// A property table in insertion order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) order: Vec<(Key, Attrs)>,
    map: FxHashMap<Key, u32>,
}

/// Tables up to this size are searched linearly.
const LINEAR: usize = 8;

impl Table {
    pub(crate) fn find(&self, key: Key) -> Option<Slot> {
        let index = if self.order.len() <= LINEAR {
            self.order.iter().position(|&(k, _)| k == key)? as u32
        } else {
            *self.map.get(&key)?
        };
        Some(Slot {
            index,
            attrs: self.order[index as usize].1,
        })
    }

    pub(crate) fn push(&mut self, key: Key, attrs: Attrs) {
        self.order.push((key, attrs));
        let len = self.order.len();
        if len == LINEAR + 1 {
            self.map = self
                .order
                .iter()
                .enumerate()
                .map(|(i, &(k, _))| (k, i as u32))
                .collect();
        } else if len > LINEAR {
            self.map.insert(key, len as u32 - 1);
        }
    }

    pub(crate) fn set_attrs(&mut self, index: u32, attrs: Attrs) {
        self.order[index as usize].1 = attrs;
    }

    /// Removes the property at `index`; those after it move down by one.
    pub(crate) fn remove(&mut self, index: u32) {
        self.order.remove(index as usize);
        self.map = if self.order.len() > LINEAR {
            self.order
                .iter()
                .enumerate()
                .map(|(i, &(k, _))| (k, i as u32))
                .collect()
        } else {
            FxHashMap::default()
        };
    }
}

/// One layout: its prototype and its properties. A unique shape belongs to one object and is changed in place.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) proto: Option<ObjId>,
    pub(crate) table: Arc<Table>,
    pub(crate) unique: bool,
    pub(crate) next: Vec<(Key, Attrs, ShapeId)>,
}
