//! The instructions that run less often than others: those that make classes and properties, take patterns apart and
//! pass on what inner iterators say.

use super::Vm;
use crate::object::Kind;
use crate::op::Op;
use crate::realm::name;
use crate::shape::Attrs;
use crate::value::{Res, Value};

impl Vm {
    /// Runs one of them in the innermost frame, whose registers start at `base`.
    pub(super) fn run_definition(&mut self, op: Op, base: usize) -> Res<()> {
        macro_rules! reg {
            ($r:expr) => {
                self.stack[base + $r as usize]
            };
        }
        match op {
            Op::LoadBig { dst, k } => {
                let value = self.program.bigs[k as usize].clone();
                reg!(dst) = self.new_big(value)?;
            }
            Op::LoadNewTarget { dst } => {
                reg!(dst) = self
                    .frames
                    .last()
                    .map_or(Value::Undefined, |f| f.new_target);
            }
            Op::LoadCallee { dst } => {
                reg!(dst) = self
                    .frames
                    .last()
                    .map_or(Value::Undefined, |f| Value::Obj(f.closure));
            }
            Op::BitNot { dst, src } => {
                let x = reg!(src);
                reg!(dst) = self.bit_not(x)?;
            }
            Op::TypeOf { dst, src } => {
                let x = reg!(src);
                reg!(dst) = self.type_of(x);
            }

            Op::DeleteElem { dst, obj, key } => {
                let (target, key) = (reg!(obj), reg!(key));
                if target.is_nullish() {
                    return Err(self.type_error("Cannot convert undefined or null to object."));
                }
                let key = self.to_key(key)?;
                reg!(dst) = Value::Bool(self.delete(target, key)?);
            }
            Op::GetSuper { dst, key } => {
                let key = reg!(key);
                reg!(dst) = self.get_super(key)?;
            }
            Op::SetSuper { key, src } => {
                let (key, value) = (reg!(key), reg!(src));
                self.set_super(key, value)?;
            }
            Op::DefPrivate { obj, name, src } => {
                let (target, name, value) = (reg!(obj), reg!(name), reg!(src));
                self.define_private(target, name, value, Attrs(Attrs::WRITABLE))?;
            }
            Op::DefPrivateMethod { obj, name, src } => {
                let (target, name, value) = (reg!(obj), reg!(name), reg!(src));
                self.define_private(target, name, value, Attrs(0))?;
            }
            Op::DefPrivateGetter { obj, name, src } => {
                let (target, name, value) = (reg!(obj), reg!(name), reg!(src));
                self.define_private_accessor(target, name, (Some(value), None))?;
            }
            Op::DefPrivateSetter { obj, name, src } => {
                let (target, name, value) = (reg!(obj), reg!(name), reg!(src));
                self.define_private_accessor(target, name, (None, Some(value)))?;
            }
            Op::HasPrivate { dst, obj, name } => {
                let (target, name) = (reg!(obj), reg!(name));
                let (Some(id), Value::Sym(key)) = (target.as_obj(), name) else {
                    return Err(self.type_error("Cannot use 'in' operator to search for a private field in a value that is no object."));
                };
                reg!(dst) = Value::Bool(self.heap.find_own(id, key).is_some());
            }
            Op::NewPrivateName { dst, name } => {
                let text = self.atoms.text(name).clone();
                reg!(dst) = Value::Sym(self.atoms.symbol(Some(text), true, false));
            }
            Op::ToKey { dst, src } => {
                let value = reg!(src);
                if !matches!(value, Value::Str(_) | Value::Sym(_) | Value::Num(_)) {
                    let key = self.to_key(value)?;
                    reg!(dst) = self.key_value(key);
                } else {
                    reg!(dst) = value;
                }
            }
            Op::RequireObject { src } => {
                let value = reg!(src);
                if value.is_nullish() {
                    let what = if matches!(value, Value::Null) {
                        "null"
                    } else {
                        "undefined"
                    };
                    let message = format!("Cannot destructure '{what}' as it is {what}.");
                    return Err(self.type_error(&message));
                }
            }

            Op::DefElem { obj, key, src } => {
                let (target, key, value) = (reg!(obj), reg!(key), reg!(src));
                let key = self.to_key(key)?;
                if let Some(id) = target.as_obj() {
                    self.define_field(id, key, value)?;
                }
            }
            Op::DefMethod { obj, key, src } => {
                let (target, key, value) = (reg!(obj), reg!(key), reg!(src));
                let key = self.to_key(key)?;
                if let Some(id) = target.as_obj() {
                    self.define_method(id, key, value)?;
                }
            }
            Op::DefGetter { obj, key, src } | Op::DefClassGetter { obj, key, src } => {
                let (target, key, value) = (reg!(obj), reg!(key), reg!(src));
                let key = self.to_key(key)?;
                let shown = matches!(op, Op::DefGetter { .. });
                if let Some(id) = target.as_obj() {
                    self.define_accessor(id, key, (Some(value), None), shown)?;
                }
            }
            Op::DefSetter { obj, key, src } | Op::DefClassSetter { obj, key, src } => {
                let (target, key, value) = (reg!(obj), reg!(key), reg!(src));
                let key = self.to_key(key)?;
                let shown = matches!(op, Op::DefSetter { .. });
                if let Some(id) = target.as_obj() {
                    self.define_accessor(id, key, (None, Some(value)), shown)?;
                }
            }
            Op::CopyProps { obj, src } => {
                let (target, source) = (reg!(obj), reg!(src));
                if let Some(id) = target.as_obj() {
                    self.copy_properties(id, source, &[])?;
                }
            }
            Op::RestProps { dst, src, count } => {
                let source = reg!(src);
                let mut excluded = Vec::with_capacity(count as usize);
                for at in 0..count {
                    let key = reg!(dst + 1 + at);
                    excluded.push(self.to_key(key)?);
                }
                let id = self.object();
                reg!(dst) = Value::Obj(id);
                self.copy_properties(id, source, &excluded)?;
            }
            Op::SetName { func, key, prefix } => {
                let (target, key) = (reg!(func), reg!(key));
                self.set_function_name(target, key, prefix)?;
            }
            Op::ArrayHole { arr } => {
                if let Some(id) = reg!(arr).as_obj()
                    && let Kind::Array(items) = self.heap.kind_mut(id)
                {
                    items.push(Value::Hole);
                    self.heap.bytes += size_of::<Value>();
                }
            }
            Op::NewRegExp { dst, k } => reg!(dst) = self.regexp_literal(k as usize),
            Op::SetHome { func, home } => {
                let home = reg!(home).as_obj();
                if let Some(id) = reg!(func).as_obj()
                    && let Kind::Closure(closure) = self.heap.kind_mut(id)
                {
                    closure.home = home;
                }
            }
            Op::NewClass { dst, func } => self.make_class(func, base, dst)?,
            Op::SetFields { class, func } => {
                let fields = reg!(func).as_obj();
                if let Some(id) = reg!(class).as_obj()
                    && let Kind::Closure(closure) = self.heap.kind_mut(id)
                {
                    closure.fields = fields;
                }
            }

            Op::RestArgs { dst, from } => {
                let args = self.frames.last().map_or(Value::Undefined, |f| f.args);
                let mut items = self.array_items(args);
                items.drain(..(from as usize).min(items.len()));
                self.heap.bytes += items.len() * size_of::<Value>();
                reg!(dst) = self.array(items);
            }
            Op::GetAsyncIterator { dst, src } => {
                let source = reg!(src);
                self.open_async_iterator(source, base + dst as usize)?;
            }
            Op::IterCallNext { iter, dst } => {
                let at = base + iter as usize;
                reg!(dst) = self.call_next(at)?;
            }
            Op::IterUnpack { iter, dst, src } => {
                let result = reg!(src);
                reg!(dst) = self.unpack_step(base + iter as usize, result)?;
            }
            Op::IterRest { iter, dst } => {
                reg!(dst) = self.iterator_rest(base + iter as usize)?;
            }
            Op::IterCallReturn { iter, dst } => {
                reg!(dst) = self.call_return(base + iter as usize)?;
            }
            Op::RequireIterResult { src } if !reg!(src).is_object() => {
                return Err(self.type_error("Iterator result is not an object."));
            }
            Op::ForInStart { dst, src } => {
                let source = reg!(src);
                let iter = self.names_of(source)?;
                reg!(dst) = iter;
                reg!(dst + 2) = Value::Bool(false);
            }
            Op::ForInStep { iter, dst } => {
                let state = reg!(iter);
                match self.next_name(state) {
                    Some(value) => reg!(dst) = value,
                    None => reg!(iter + 2) = Value::Bool(true),
                }
            }
            Op::DelegateCall { dst, iter, mode } => {
                let (at, state) = (base + iter as usize, base + mode as usize);
                reg!(dst) = self.delegate_call(at, state)?;
            }
            Op::DelegateDone { dst, src } => {
                let result = reg!(src);
                if !result.is_object() {
                    return Err(self.type_error("Iterator result is not an object."));
                }
                let done = self.get(result, name::DONE)?;
                reg!(dst) = Value::Bool(self.truthy(done));
            }
            _ => {}
        }
        Ok(())
    }
}
