//! The marking half of a collection: what the program can still reach.

use crate::heap::{Heap, PIN_BIG, PIN_STR, Pin, Repr};
use crate::object::{Kind, Obj};
use crate::value::{BigId, ObjId, StrId, Value};

/// The marking half of a collection.
pub(crate) struct Marker {
    pub(crate) objs: Vec<bool>,
    pub(crate) strs: Vec<bool>,
    pub(crate) cells: Vec<bool>,
    pub(crate) bigs: Vec<bool>,
    todo: Vec<Value>,
}

impl Marker {
    pub(crate) fn new(heap: &Heap) -> Marker {
        Marker {
            objs: vec![false; heap.objs.len()],
            strs: vec![false; heap.strs.len()],
            cells: vec![false; heap.cells.len()],
            bigs: vec![false; heap.bigs.len()],
            todo: Vec::new(),
        }
    }

    pub(crate) fn value(&mut self, value: Value) {
        match value {
            Value::Obj(_) | Value::Str(_) | Value::Cell(_) => self.todo.push(value),
            Value::Big(id) => {
                if let Some(mark) = self.bigs.get_mut(id.0 as usize) {
                    *mark = true;
                }
            }
            _ => {}
        }
    }

    pub(crate) fn obj(&mut self, id: ObjId) {
        self.todo.push(Value::Obj(id));
    }

    pub(crate) fn pin(&mut self, Pin(pin): Pin) {
        let handle = pin & !(PIN_STR | PIN_BIG);
        self.value(match pin {
            _ if pin & PIN_STR != 0 => Value::Str(StrId(handle)),
            _ if pin & PIN_BIG != 0 => Value::Big(BigId(handle)),
            _ => Value::Obj(ObjId(handle)),
        });
    }

    /// Follows everything reachable from what was marked so far.
    pub(crate) fn trace(&mut self, heap: &Heap) {
        while let Some(value) = self.todo.pop() {
            match value {
                Value::Str(id) => {
                    let Some(mark) = self.strs.get_mut(id.0 as usize) else {
                        continue;
                    };
                    if !std::mem::replace(mark, true)
                        && let Repr::Rope { left, right, .. } = heap.strs[id.0 as usize].repr
                    {
                        self.todo.push(Value::Str(left));
                        self.todo.push(Value::Str(right));
                    }
                }
                Value::Cell(id) => {
                    let Some(mark) = self.cells.get_mut(id.0 as usize) else {
                        continue;
                    };
                    if !std::mem::replace(mark, true) {
                        self.value(heap.cells[id.0 as usize]);
                    }
                }
                Value::Obj(id) => {
                    let Some(mark) = self.objs.get_mut(id.0 as usize) else {
                        continue;
                    };
                    if !std::mem::replace(mark, true) {
                        self.children(heap, heap.obj(id));
                    }
                }
                _ => {}
            }
        }
    }

    fn children(&mut self, heap: &Heap, obj: &Obj) {
        if matches!(obj.kind, Kind::Free) {
            return;
        }
        if let Some(proto) = heap.shape(obj.shape).proto {
            self.obj(proto);
        }
        obj.slots.iter().for_each(|&v| self.value(v));
        match &obj.kind {
            Kind::Array(items) => items.iter().for_each(|&v| self.value(v)),
            Kind::Closure(c) => {
                c.captures
                    .iter()
                    .for_each(|&cell| self.value(Value::Cell(cell)));
                self.value(c.this);
                self.value(c.new_target);
                let objects = c.home.into_iter().chain(c.fields).chain(c.constructor);
                objects.for_each(|o| self.obj(o));
            }
            Kind::NativeClosure(c) => c.data.iter().for_each(|&v| self.value(v)),
            Kind::Bound(b) => {
                self.value(b.target);
                self.value(b.this);
                b.args.iter().for_each(|&v| self.value(v));
            }
            Kind::Accessor(a, b) | Kind::WrapIter(a, b) => {
                self.value(*a);
                self.value(*b);
            }
            Kind::Boxed(v) | Kind::WeakRef(v) => self.value(*v),
            Kind::Registry(tokens) => tokens.iter().for_each(|&v| self.value(v)),
            Kind::RegExp(r) => {
                self.value(Value::Str(r.source));
                self.value(Value::Str(r.flags));
            }
            Kind::Map(t) | Kind::Set(t) | Kind::WeakMap(t) | Kind::WeakSet(t) => {
                for (k, v) in t.entries.iter().flatten() {
                    self.value(*k);
                    self.value(*v);
                }
            }
            Kind::Promise(p) => {
                self.value(p.value);
                for reaction in &p.reactions {
                    self.reaction(*reaction);
                }
            }
            Kind::Coroutine(c) => {
                c.regs.iter().for_each(|&v| self.value(v));
                self.obj(c.closure);
                self.value(c.this);
                self.value(c.args);
                c.promise.into_iter().for_each(|o| self.obj(o));
                for (_, v, p) in &c.queue {
                    self.value(*v);
                    self.obj(*p);
                }
            }
            Kind::ArrayIter(i) => self.value(i.target),
            Kind::TableIter(i) => self.obj(i.target),
            Kind::MatchIter(m) => {
                self.obj(m.matcher);
                self.value(Value::Str(m.text));
            }
            Kind::StringIter(s, _) => self.value(Value::Str(*s)),
            Kind::IterHelper(h) => {
                self.value(h.source);
                self.value(h.next);
                self.value(h.func);
                if let Some((a, b)) = h.inner {
                    self.value(a);
                    self.value(b);
                }
            }
            Kind::Typed(window) | Kind::View(window) => self.obj(window.buffer),
            Kind::Url(u) => u.params.into_iter().for_each(|o| self.obj(o)),
            Kind::Params(p) => p.owner.into_iter().for_each(|o| self.obj(o)),
            Kind::NameIter(n) => self.value(n.2),
            _ => {}
        }
    }

    pub(crate) fn reaction(&mut self, reaction: crate::object::Reaction) {
        match reaction {
            crate::object::Reaction::Then {
                fulfilled,
                rejected,
                derived,
            } => {
                self.value(fulfilled);
                self.value(rejected);
                derived.into_iter().for_each(|o| self.obj(o));
            }
            crate::object::Reaction::Resume(co) => self.obj(co),
        }
    }
}
