//! Iteration: the iterator protocol for instructions and built-in functions, and `for-in`.
//!
//! An iteration's state is three neighbouring places on the stack: the iterator, its `next`, and whether it is done.
//! A plain array with nothing overridden is iterated by index: the second place then holds a number.

use super::Vm;
use crate::atoms::{SYM_ASYNC_ITERATOR, SYM_ITERATOR};
use crate::object::{CoKind, Kind, Resume};
use crate::realm::{intrinsic, name};
use crate::shape::Attrs;
use crate::value::{Abrupt, Key, ObjId, Res, Value};

impl Vm {
    fn is_pristine(&self, object: ObjId, key: Key, native: &str) -> bool {
        let Some(slot) = self.heap.find_own(object, key) else {
            return false;
        };
        let number = self.realm.internal.get(native).copied();
        match self.heap.obj(object).slots[slot.index as usize] {
            Value::Lazy(n) => Some(n) == number,
            Value::Obj(id) => matches!(self.heap.kind(id), Kind::Native(n) if Some(*n) == number),
            _ => false,
        }
    }

    /// Whether iterating the value means going through the array's elements.
    pub(crate) fn is_plain_array(&self, value: Value) -> bool {
        let Value::Obj(id) = value else { return false };
        matches!(self.heap.kind(id), Kind::Array(_))
            && self.heap.proto_of(id) == Some(intrinsic::ARRAY_PROTO)
            && self.heap.find_own(id, SYM_ITERATOR).is_none()
            && self.is_pristine(intrinsic::ARRAY_PROTO, SYM_ITERATOR, "array values")
            && self.is_pristine(intrinsic::ARRAY_ITERATOR_PROTO, name::NEXT, "next")
    }

    /// The elements of an array, holes looked up in the prototypes.
    pub(crate) fn dense_items(&mut self, array: Value) -> Res<Vec<Value>> {
        let mut items = self.array_items(array);
        for (at, item) in items.iter_mut().enumerate() {
            if let Value::Hole = item {
                *item = self.get(array, Key::index(at as u32))?;
            }
        }
        Ok(items)
    }

    /// The iterator and the `next` of an iteration.
    pub(crate) fn iteration_at(&self, at: usize) -> (Value, Value) {
        (self.stack[at], self.stack[at + 1])
    }

    fn not_iterable(&mut self, value: Value) -> Abrupt {
        let what = match value {
            Value::Undefined => "undefined".to_owned(),
            Value::Null => "null".to_owned(),
            Value::Obj(id) if matches!(self.heap.kind(id), Kind::Promise(_)) => {
                return self.invalid_data("A promise is not iterable; await it to get its value.");
            }
            other => self.type_name(other).to_owned(),
        };
        self.invalid_data(&format!("{what} is not iterable."))
    }

    /// Opens an iteration at a place of the stack.
    pub(crate) fn open_iterator(&mut self, source: Value, at: usize) -> Res<()> {
        self.stack[at + 2] = Value::Bool(false);
        if self.is_plain_array(source) {
            self.stack[at] = source;
            self.stack[at + 1] = Value::Num(0.0);
            return Ok(());
        }
        if source.is_nullish() {
            return Err(self.not_iterable(source));
        }
        let method = self.get_lazy(source, SYM_ITERATOR)?;
        if !self.is_callable(method) {
            return Err(self.not_iterable(source));
        }
        let iterator = self.call(method, source, &[])?;
        self.set_iterator(iterator, at)
    }

    fn set_iterator(&mut self, iterator: Value, at: usize) -> Res<()> {
        if !iterator.is_object() {
            return Err(self.type_error("Result of the Symbol.iterator method is not an object."));
        }
        self.stack[at] = iterator;
        self.stack[at + 2] = Value::Bool(false);
        let next = self.get_lazy(iterator, name::NEXT)?;
        // A number there means an array's position; as a `next` it is no function anyway.
        self.stack[at + 1] = match next {
            Value::Num(_) => Value::Null,
            next => next,
        };
        Ok(())
    }

    pub(crate) fn open_async_iterator(&mut self, source: Value, at: usize) -> Res<()> {
        if source.is_nullish() {
            return Err(self.not_iterable(source));
        }
        let method = self.get_lazy(source, SYM_ASYNC_ITERATOR)?;
        if !method.is_nullish() {
            if !self.is_callable(method) {
                return Err(self.not_iterable(source));
            }
            let iterator = self.call(method, source, &[])?;
            return self.set_iterator(iterator, at);
        }
        let method = self.get_lazy(source, SYM_ITERATOR)?;
        if !self.is_callable(method) {
            return Err(self.not_iterable(source));
        }
        let inner = self.call(method, source, &[])?;
        if !inner.is_object() {
            return Err(self.type_error("Result of the Symbol.iterator method is not an object."));
        }
        let next = self.get(inner, name::NEXT)?;
        let wrap = self.heap.alloc(
            Some(intrinsic::SYNC_WRAP_PROTO),
            Kind::WrapIter(inner, next),
        );
        self.set_iterator(Value::Obj(wrap), at)
    }

    /// Runs `body` with a fresh iteration over `source`; closes it when the body fails.
    pub(crate) fn iterate(
        &mut self,
        source: Value,
        mut body: impl FnMut(&mut Vm, Value) -> Res<bool>,
    ) -> Res<()> {
        let at = self.iteration_place()?;
        let result = self.iterate_at(source, at, &mut body);
        self.top = at;
        result
    }

    /// Room for an iteration's state, above everything in use.
    pub(crate) fn iteration_place(&mut self) -> Res<usize> {
        let at = self.top;
        self.ensure_stack(at + 8)?;
        self.stack[at..at + 4].fill(Value::Undefined);
        self.top = at + 4;
        Ok(at)
    }

    /// Gives back what `iteration_place` took.
    pub(crate) fn release_place(&mut self, at: usize) {
        self.top = at;
    }

    fn iterate_at(
        &mut self,
        source: Value,
        at: usize,
        body: &mut dyn FnMut(&mut Vm, Value) -> Res<bool>,
    ) -> Res<()> {
        // The slot after the state keeps the source alive.
        self.stack[at + 3] = source;
        self.open_iterator(source, at)?;
        self.step_through(at, body)
    }

    /// As `iterate`, through an iterator itself.
    pub(crate) fn iterate_iterator(
        &mut self,
        iterator: Value,
        mut body: impl FnMut(&mut Vm, Value) -> Res<bool>,
    ) -> Res<()> {
        let at = self.iteration_place()?;
        let result = match self.set_iterator(iterator, at) {
            Ok(()) => self.step_through(at, &mut body),
            Err(error) => Err(error),
        };
        self.top = at;
        result
    }

    fn step_through(
        &mut self,
        at: usize,
        body: &mut dyn FnMut(&mut Vm, Value) -> Res<bool>,
    ) -> Res<()> {
        let pins = self.pin_mark();
        loop {
            self.release_pins(pins);
            let value = self.iterator_step(at)?;
            if matches!(self.stack[at + 2], Value::Bool(true)) {
                return Ok(());
            }
            self.pin(value);
            self.charge(1)?;
            match body(self, value) {
                Ok(true) => {}
                Ok(false) => return self.close_iterator(at),
                Err(error) => {
                    if let (Err(stop @ Abrupt::Stop(_)), Abrupt::Throw(_)) =
                        (self.close_iterator(at), error)
                    {
                        return Err(stop);
                    }
                    return Err(error);
                }
            }
        }
    }

    /// The next value; sets the done flag at the end.
    pub(crate) fn iterator_step(&mut self, at: usize) -> Res<Value> {
        if matches!(self.stack[at + 2], Value::Bool(true)) {
            return Ok(Value::Undefined);
        }
        let (iterator, next) = (self.stack[at], self.stack[at + 1]);
        if let (Value::Obj(id), Value::Num(n)) = (iterator, next) {
            if let Kind::Array(items) = self.heap.kind(id)
                && let Some(&value) = items.get(n as usize)
            {
                self.stack[at + 1] = Value::Num(n + 1.0);
                return match value {
                    Value::Hole => self.get(iterator, Key::index(n as u32)),
                    value => Ok(value),
                };
            }
            self.stack[at + 2] = Value::Bool(true);
            return Ok(Value::Undefined);
        }
        self.stack[at + 2] = Value::Bool(true);
        if let (Value::Obj(id), Value::Lazy(number)) = (iterator, next) {
            let native = Some(number);
            if native == self.next_native {
                let value = self.builtin_step(id)?;
                self.stack[at + 2] = Value::Bool(value.is_none());
                return Ok(value.unwrap_or(Value::Undefined));
            }
            if native == self.generator_next
                && matches!(self.heap.kind(id), Kind::Coroutine(co) if co.kind == CoKind::Generator)
            {
                let (value, done) = self.generator_step(id, Resume::Next, Value::Undefined)?;
                self.stack[at + 2] = Value::Bool(done);
                return Ok(if done { Value::Undefined } else { value });
            }
        }
        let result = self.call(next, iterator, &[])?;
        self.unpack_step(at, result)
    }

    pub(super) fn call_next(&mut self, at: usize) -> Res<Value> {
        let (iterator, next) = (self.stack[at], self.stack[at + 1]);
        self.stack[at + 2] = Value::Bool(true);
        self.call(next, iterator, &[])
    }

    pub(super) fn unpack_step(&mut self, at: usize, result: Value) -> Res<Value> {
        self.stack[at + 2] = Value::Bool(true);
        if !result.is_object() {
            return Err(self.type_error("Iterator result is not an object."));
        }
        let done = self.get(result, name::DONE)?;
        if self.truthy(done) {
            return Ok(Value::Undefined);
        }
        let value = self.get(result, name::VALUE)?;
        self.stack[at + 2] = Value::Bool(false);
        Ok(value)
    }

    pub(super) fn iterator_rest(&mut self, at: usize) -> Res<Value> {
        let array = self.array(Vec::new());
        // Keep the array reachable while the iterator runs program code.
        let held = self.top;
        self.ensure_stack(held + 1)?;
        self.stack[held] = array;
        self.top = held + 1;
        let result = self.drain_into(array, at);
        self.top = held;
        result.map(|()| array)
    }

    fn drain_into(&mut self, array: Value, at: usize) -> Res<()> {
        loop {
            let value = self.iterator_step(at)?;
            if matches!(self.stack[at + 2], Value::Bool(true)) {
                return Ok(());
            }
            self.push(array, value)?;
        }
    }

    /// Appends to an array.
    pub(crate) fn push(&mut self, array: Value, value: Value) -> Res<()> {
        let Value::Obj(id) = array else { return Ok(()) };
        if let Kind::Array(items) = self.heap.kind_mut(id) {
            if items.len() >= super::ARRAY_LIMIT {
                return Err(self.range_error("Invalid array length"));
            }
            items.push(value);
            self.heap.bytes += size_of::<Value>();
        }
        if self.heap.bytes > self.host.limits.heap_bytes {
            self.reserve(1)?;
        }
        self.charge(1)
    }

    pub(super) fn spread_into(&mut self, target: Value, source: Value) -> Res<()> {
        if self.is_plain_array(source) {
            let items = self.dense_items(source)?;
            self.reserve(items.len() * size_of::<Value>())?;
            self.charge(items.len() / 8)?;
            self.heap.bytes += items.len() * size_of::<Value>();
            if let Some(id) = target.as_obj()
                && let Kind::Array(out) = self.heap.kind_mut(id)
            {
                out.extend(items);
                if out.len() > super::ARRAY_LIMIT {
                    return Err(self.range_error("Invalid array length"));
                }
            }
            return Ok(());
        }
        self.iterate(source, |vm, value| vm.push(target, value).map(|()| true))
    }

    /// All values of an iterable.
    pub(crate) fn collect_values(&mut self, source: Value) -> Res<Vec<Value>> {
        let array = self.array(Vec::new());
        let held = self.top;
        self.ensure_stack(held + 1)?;
        self.stack[held] = array;
        self.top = held + 1;
        let result = self.spread_into(array, source);
        self.top = held;
        result.map(|()| self.array_items(array))
    }

    pub(crate) fn close_iterator(&mut self, at: usize) -> Res<()> {
        if matches!(self.stack[at + 2], Value::Bool(true)) {
            return Ok(());
        }
        self.stack[at + 2] = Value::Bool(true);
        if let Value::Num(_) = self.stack[at + 1] {
            return Ok(());
        }
        let iterator = self.stack[at];
        let Some(method) = self.get_method(iterator, name::RETURN)? else {
            return Ok(());
        };
        let result = self.call(method, iterator, &[])?;
        if !result.is_object() {
            return Err(self.type_error("Iterator result is not an object."));
        }
        Ok(())
    }

    pub(super) fn call_return(&mut self, at: usize) -> Res<Value> {
        if matches!(self.stack[at + 2], Value::Bool(true)) {
            return Ok(Value::Undefined);
        }
        self.stack[at + 2] = Value::Bool(true);
        let iterator = self.stack[at];
        match self.get_method(iterator, name::RETURN)? {
            Some(method) => self.call(method, iterator, &[]),
            None => Ok(Value::Undefined),
        }
    }

    /// Passes a resumption of `yield*` to the inner iterator.
    pub(super) fn delegate_call(&mut self, at: usize, state: usize) -> Res<Value> {
        let (received, mode) = (self.stack[state], self.stack[state + 1]);
        self.stack[state + 2] = Value::Bool(false);
        let iterator = self.stack[at];
        if let Value::Num(_) = self.stack[at + 1] {
            // The plain array under this iteration: give it a real iterator.
            let method = self.get_lazy(iterator, SYM_ITERATOR)?;
            let iterator = self.call(method, iterator, &[])?;
            self.set_iterator(iterator, at)?;
        }
        let iterator = self.stack[at];
        match mode {
            Value::Num(1.0) => match self.get_method(iterator, name::THROW)? {
                Some(method) => self.call(method, iterator, &[received]),
                None => {
                    self.close_iterator(at)?;
                    Err(self.type_error("The iterator does not provide a 'throw' method."))
                }
            },
            Value::Num(2.0) => match self.get_method(iterator, name::RETURN)? {
                Some(method) => self.call(method, iterator, &[received]),
                None => {
                    self.stack[state + 2] = Value::Bool(true);
                    Ok(received)
                }
            },
            _ => {
                let next = self.stack[at + 1];
                self.call(next, iterator, &[received])
            }
        }
    }

    /// `{ value, done }`.
    pub(crate) fn iter_result(&mut self, value: Value, done: bool) -> Value {
        let id = self.object();
        self.heap.add_prop(id, name::VALUE, Attrs::DATA, value);
        self.heap
            .add_prop(id, name::DONE, Attrs::DATA, Value::Bool(done));
        Value::Obj(id)
    }

    /// The names that a `for-in` visits.
    pub(super) fn names_of(&mut self, source: Value) -> Res<Value> {
        let mut keys = Vec::new();
        if !source.is_nullish() {
            let id = self.to_object(source)?;
            if let Kind::Tool(_) = self.heap.kind(id) {
                keys = self.tool_children(id)?;
            } else {
                let mut seen = rustc_hash::FxHashSet::default();
                let mut at = Some(id);
                while let Some(object) = at {
                    for key in self.own_keys(object) {
                        if key.is_symbol() || !seen.insert(key) {
                            continue;
                        }
                        if self
                            .get_own(object, key)
                            .is_some_and(|own| own.attrs.enumerable())
                        {
                            keys.push(key);
                        }
                    }
                    at = self.heap.proto_of(object);
                }
            }
        }
        let iter = Kind::NameIter(Box::new((keys, 0, source)));
        Ok(Value::Obj(self.heap.alloc(None, iter)))
    }

    pub(super) fn next_name(&mut self, state: Value) -> Option<Value> {
        let id = state.as_obj()?;
        loop {
            let Kind::NameIter(iter) = self.heap.kind_mut(id) else {
                return None;
            };
            let (key, source) = (*iter.0.get(iter.1)?, iter.2);
            iter.1 += 1;
            let gone = match source {
                Value::Obj(object) if !matches!(self.heap.kind(object), Kind::Tool(_)) => {
                    !self.has_property(object, key).unwrap_or(true)
                }
                _ => false,
            };
            if !gone {
                return Some(self.key_value(key));
            }
        }
    }

    /// Copies own enumerable properties, as spreading an object does.
    pub(crate) fn copy_properties(
        &mut self,
        target: ObjId,
        source: Value,
        excluded: &[Key],
    ) -> Res<()> {
        if source.is_nullish() {
            return Ok(());
        }
        let id = self.to_object(source)?;
        if let Kind::Tool(_) = self.heap.kind(id) {
            return Err(self.invalid_data(
                "A tool path can't be copied; call a tool with (...) and await the result.",
            ));
        }
        let keys = self.own_keys(id);
        self.charge(keys.len())?;
        for key in keys {
            if excluded.contains(&key) {
                continue;
            }
            if let Some(own) = self.get_own(id, key)
                && own.attrs.enumerable()
            {
                let value = self.get_from(id, key, Value::Obj(id))?;
                let value = self.settle(value);
                self.define_field(target, key, value)?;
            }
        }
        Ok(())
    }

    /// The strings of a tagged template, the same object at every evaluation of the place.
    pub(super) fn template_object(&mut self, k: usize) -> Value {
        if let Some(found) = self.templates[k] {
            return Value::Obj(found);
        }
        let program = std::sync::Arc::clone(&self.program);
        let site = &program.templates[k];
        let cooked = site
            .cooked
            .iter()
            .map(|c| c.map_or(Value::Undefined, |key| Value::Str(self.key_str(key))))
            .collect();
        let raw = site
            .raw
            .iter()
            .map(|&key| Value::Str(self.key_str(key)))
            .collect();
        let array = self.array(cooked);
        let raw = self.array(raw);
        if let Some(id) = array.as_obj() {
            self.heap.add_prop(id, name::RAW, Attrs(0), raw);
            self.templates[k] = Some(id);
        }
        array
    }
}
