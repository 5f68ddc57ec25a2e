//! Closures, classes, `super` and private members.

use super::Vm;
use crate::compiled::{Capture, FuncKind};
use crate::object::{Closure, Kind};
use crate::realm::{intrinsic, name};
use crate::shape::Attrs;
use crate::value::{Abrupt, Key, ObjId, Res, Value};
use std::sync::Arc;

impl Vm {
    /// The elements of an array the compiler made.
    pub(crate) fn array_items(&self, value: Value) -> Vec<Value> {
        match value.as_obj().map(|id| self.heap.kind(id)) {
            Some(Kind::Array(items)) => items.clone(),
            _ => Vec::new(),
        }
    }

    pub(super) fn make_closure(&mut self, number: u32, base: usize) -> Value {
        let program = Arc::clone(&self.program);
        let func = &program.funcs[number as usize];
        let captures = func
            .captures
            .iter()
            .map(|capture| match *capture {
                Capture::Upvalue(index) => self.upvalue(index),
                Capture::Register(reg) => match self.stack[base + reg as usize] {
                    Value::Cell(cell) => cell,
                    other => {
                        let cell = self.heap.cell(other);
                        self.stack[base + reg as usize] = Value::Cell(cell);
                        cell
                    }
                },
            })
            .collect();
        let mut closure = Closure {
            func: number,
            captures,
            this: Value::Undefined,
            new_target: Value::Undefined,
            home: None,
            fields: None,
            constructor: None,
        };
        if func.kind == FuncKind::Arrow
            && let Some(frame) = self.frames.last()
        {
            (closure.this, closure.new_target) = (frame.this, frame.new_target);
            if let Kind::Closure(outer) = self.heap.kind(frame.closure) {
                let kind = program.funcs[frame.func as usize].kind;
                closure.home = outer.home;
                closure.constructor = match kind {
                    FuncKind::DerivedConstructor => Some(frame.closure),
                    _ => outer.constructor,
                };
            }
        }
        let proto = match (func.is_async, func.is_generator) {
            (false, false) => intrinsic::FUNCTION_PROTO,
            (true, false) => intrinsic::ASYNC_FUNCTION_PROTO,
            (false, true) => intrinsic::GENERATOR_FUNCTION_PROTO,
            (true, true) => intrinsic::ASYNC_GENERATOR_FUNCTION_PROTO,
        };
        Value::Obj(
            self.heap
                .alloc(Some(proto), Kind::Closure(Box::new(closure))),
        )
    }

    /// Makes the constructor and prototype of a class in two registers.
    pub(super) fn make_class(&mut self, number: u32, base: usize, dst: u16) -> Res<()> {
        let at = base + dst as usize;
        let heritage = self.settle(self.stack[at + 2]);
        let (parent, proto_parent) = match heritage {
            Value::Hole => (intrinsic::FUNCTION_PROTO, Some(intrinsic::OBJECT_PROTO)),
            Value::Null => (intrinsic::FUNCTION_PROTO, None),
            value if self.is_constructor(value) => {
                let proto = match self.get(value, name::PROTOTYPE)? {
                    Value::Obj(id) => Some(id),
                    Value::Null => None,
                    _ => {
                        return Err(self.type_error(
                            "Class extends value does not have valid prototype property.",
                        ));
                    }
                };
                (value.as_obj().unwrap_or(intrinsic::FUNCTION_PROTO), proto)
            }
            _ => return Err(self.type_error("Class extends value is not a constructor or null.")),
        };
        let class = self.make_closure(number, base);
        let Some(id) = class.as_obj() else {
            return Ok(());
        };
        self.heap.set_proto(id, Some(parent));
        let proto = self.heap.alloc(proto_parent, Kind::Ordinary);
        self.prepare_function(id);
        self.heap
            .add_prop(id, name::PROTOTYPE, Attrs(0), Value::Obj(proto));
        self.heap
            .add_prop(proto, name::CONSTRUCTOR, Attrs::HIDDEN, class);
        if let Kind::Closure(closure) = self.heap.kind_mut(id) {
            closure.home = Some(proto);
        }
        self.stack[at] = class;
        self.stack[at + 1] = Value::Obj(proto);
        Ok(())
    }

    pub(super) fn arguments_object(&mut self) -> Value {
        let args = self.frames.last().map_or(Value::Undefined, |f| f.args);
        let items = self.array_items(args);
        let id = self
            .heap
            .alloc(Some(intrinsic::OBJECT_PROTO), Kind::Arguments);
        self.heap.add_prop(
            id,
            name::LENGTH,
            Attrs::HIDDEN,
            Value::Num(items.len() as f64),
        );
        for (at, item) in items.into_iter().enumerate() {
            self.heap
                .add_prop(id, Key::index(at as u32), Attrs::DATA, item);
        }
        if let Some(slot) = self.heap.find_own(intrinsic::ARRAY_PROTO, name::VALUES) {
            let values = self.heap.obj(intrinsic::ARRAY_PROTO).slots[slot.index as usize];
            self.heap
                .add_prop(id, crate::atoms::SYM_ITERATOR, Attrs::HIDDEN, values);
        }
        let callee = Value::Obj(self.realm.callee);
        self.heap
            .add_prop(id, name::CALLEE, Attrs(Attrs::ACCESSOR), callee);
        Value::Obj(id)
    }

    pub(super) fn concat_pieces(&mut self, first: usize, count: usize) -> Res<Value> {
        if count == 0 {
            return Ok(Value::Str(self.key_str(name::EMPTY)));
        }
        let value = self.stack[first];
        let mut out = self.to_str(value)?;
        for at in first + 1..first + count {
            let value = self.stack[at];
            let piece = self.to_str(value)?;
            out = self.concat(out, piece)?;
        }
        Ok(Value::Str(out))
    }

    pub(super) fn set_function_name(&mut self, func: Value, key: Value, prefix: u8) -> Res<()> {
        let Some(id) = func.as_obj() else {
            return Ok(());
        };
        let key = self.to_key(key)?;
        if prefix == 3
            && let Kind::Closure(closure) = self.heap.kind(id)
            && self.program.funcs[closure.func as usize].name != name::EMPTY
        {
            return Ok(());
        }
        let mut text = match key.as_symbol() {
            Some(symbol) if self.atoms.is_private(key) => self
                .atoms
                .describe(symbol)
                .map(|d| d.units().to_utf8())
                .unwrap_or_default(),
            Some(symbol) => self
                .atoms
                .describe(symbol)
                .map(|d| format!("[{}]", d.units().to_utf8()))
                .unwrap_or_default(),
            None => self.key_text(key),
        };
        match prefix {
            1 => text.insert_str(0, "get "),
            2 => text.insert_str(0, "set "),
            _ => {}
        }
        self.prepare_function(id);
        let value = self.str(&text);
        self.define(id, name::NAME, Attrs(Attrs::CONFIGURABLE), value)
    }

    pub(super) fn home(&self) -> Option<ObjId> {
        let frame = self.frames.last()?;
        match self.heap.kind(frame.closure) {
            Kind::Closure(closure) => closure.home,
            _ => None,
        }
    }

    pub(super) fn get_super(&mut self, key: Value) -> Res<Value> {
        let this = self.bound_this()?;
        let key = self.to_key(key)?;
        match self.home().and_then(|home| self.heap.proto_of(home)) {
            Some(proto) => {
                let value = self.get_from(proto, key, this)?;
                Ok(self.settle(value))
            }
            None => Err(self.type_error("Cannot read properties of null through super.")),
        }
    }

    pub(super) fn set_super(&mut self, key: Value, value: Value) -> Res<()> {
        let this = self.bound_this()?;
        let key = self.to_key(key)?;
        match self.home().and_then(|home| self.heap.proto_of(home)) {
            Some(proto) => self.put_with(proto, key, value, this),
            None => Err(self.type_error("Cannot set properties of null through super.")),
        }
    }

    /// `this` of the running function: a `ReferenceError` before `super()` made it.
    pub(super) fn bound_this(&mut self) -> Res<Value> {
        let this = self.frames.last().map_or(Value::Undefined, |f| f.this);
        let this = match this {
            Value::Cell(cell) => self.heap.cells[cell.0 as usize],
            this => this,
        };
        if let Value::Hole = this {
            return Err(self.error(
                super::ErrorType::Reference,
                "Must call super constructor in derived class before accessing 'this' or returning from derived constructor.",
            ));
        }
        Ok(this)
    }

    pub(super) fn super_call(&mut self, args: &[Value]) -> Res<Value> {
        let Some(frame) = self.frames.last() else {
            return Ok(Value::Undefined);
        };
        let (closure, new_target) = (frame.closure, frame.new_target);
        let constructor = match self.heap.kind(closure) {
            Kind::Closure(arrow) => arrow.constructor.unwrap_or(closure),
            _ => closure,
        };
        let parent = self.heap.proto_of(constructor);
        let parent = parent.map_or(Value::Undefined, Value::Obj);
        if !self.is_constructor(parent) {
            return Err(self.type_error("Super constructor is not a constructor."));
        }
        let result = self.construct(parent, args, new_target)?;
        let this = match self.frames.last_mut().map(|frame| &mut frame.this) {
            Some(Value::Cell(cell)) => Some(&mut self.heap.cells[cell.0 as usize]),
            other => other,
        };
        let unbound = this.filter(|this| matches!(this, Value::Hole));
        if let Some(this) = unbound {
            *this = result;
        } else {
            return Err(self.error(
                super::ErrorType::Reference,
                "Super constructor may only be called once.",
            ));
        }
        self.run_fields(constructor, result)?;
        Ok(result)
    }

    pub(super) fn private_key(&mut self, target: Value, name: Value) -> Res<(ObjId, Key)> {
        match (self.settle(target), name) {
            (Value::Obj(id), Value::Sym(key)) => Ok((id, key)),
            _ => {
                Err(self.type_error("Cannot access a private member of a value that is no object."))
            }
        }
    }

    pub(super) fn missing_private(&mut self, key: Key, what: &str) -> Abrupt {
        let name = self.key_text(key);
        self.type_error(&format!(
            "Cannot {what} private member {name} of an object whose class did not declare it."
        ))
    }

    pub(super) fn get_private(&mut self, target: Value, name: Value) -> Res<Value> {
        let (id, key) = self.private_key(target, name)?;
        let Some(slot) = self.heap.find_own(id, key) else {
            return Err(self.missing_private(key, "read"));
        };
        let value = self.heap.obj(id).slots[slot.index as usize];
        if slot.attrs.accessor() {
            if self.accessor(value).0.is_undefined() {
                let name = self.key_text(key);
                return Err(self.type_error(&format!("'{name}' was defined without a getter.")));
            }
            return self.run_getter(value, target);
        }
        Ok(value)
    }

    pub(super) fn set_private(&mut self, target: Value, name: Value, value: Value) -> Res<()> {
        let (id, key) = self.private_key(target, name)?;
        let Some(slot) = self.heap.find_own(id, key) else {
            return Err(self.missing_private(key, "write"));
        };
        if slot.attrs.accessor() {
            let pair = self.heap.obj(id).slots[slot.index as usize];
            let setter = self.accessor(pair).1;
            if setter.is_undefined() {
                let name = self.key_text(key);
                return Err(self.type_error(&format!("'{name}' was defined without a setter.")));
            }
            self.call(setter, target, &[value])?;
            return Ok(());
        }
        if !slot.attrs.writable() {
            let name = self.key_text(key);
            return Err(self.type_error(&format!("Private method '{name}' is not writable.")));
        }
        self.heap.obj_mut(id).slots[slot.index as usize] = value;
        Ok(())
    }

    pub(super) fn define_private(
        &mut self,
        target: Value,
        name: Value,
        value: Value,
        attrs: Attrs,
    ) -> Res<()> {
        let (id, key) = self.private_key(target, name)?;
        if self.heap.find_own(id, key).is_some() {
            return Err(self.type_error(
                "Cannot initialize the same private elements twice on the same object.",
            ));
        }
        self.heap.add_prop(id, key, attrs, value);
        Ok(())
    }

    pub(super) fn define_private_accessor(
        &mut self,
        target: Value,
        name: Value,
        half: (Option<Value>, Option<Value>),
    ) -> Res<()> {
        let (id, key) = self.private_key(target, name)?;
        let taken = match self.heap.find_own(id, key) {
            Some(slot) if slot.attrs.accessor() => {
                let (get, set) = self.accessor(self.heap.obj(id).slots[slot.index as usize]);
                let both = |old: Value, new: Option<Value>| !old.is_undefined() && new.is_some();
                both(get, half.0) || both(set, half.1)
            }
            slot => slot.is_some(),
        };
        if taken {
            return Err(self.type_error(
                "Cannot initialize the same private elements twice on the same object.",
            ));
        }
        self.define_accessor(id, key, half, false)
    }
}
