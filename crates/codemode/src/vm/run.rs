//! The instruction loop.

use super::operators::{Arith, number_arith, power, remainder};
use super::{Cache, NO_SHAPE, OWN, Vm};
use crate::number::to_int32;
use crate::object::{Closure, EXTENSIBLE, Kind};
use crate::op::{Capture, Func, FuncKind, Op};
use crate::realm::{intrinsic, name};
use crate::shape::Attrs;
use crate::value::{Abrupt, CellId, Key, ObjId, Res, Value};
use std::cmp::Ordering;
use std::sync::Arc;

/// What leaving a frame led to.
pub(super) enum Left {
    /// The frame that this loop was started for is gone.
    Done(Value),
    /// The caller goes on.
    Caller,
    Error(Abrupt),
}

impl Vm {
    /// Runs until only `stop` frames are left.
    pub(super) fn run(&mut self, stop: usize) -> Res<Value> {
        let program = Arc::clone(&self.program);
        loop {
            let Some(frame) = self.frames.last() else {
                return Ok(Value::Undefined);
            };
            let func = &program.funcs[frame.func as usize];
            let error = match self.run_frame(func, frame.pc as usize, frame.base as usize, stop) {
                Left::Done(value) => return Ok(value),
                Left::Caller => continue,
                Left::Error(error) => error,
            };
            match self.unwind(error, stop) {
                Left::Done(value) => return Ok(value),
                Left::Caller => {}
                Left::Error(error) => return Err(error),
            }
        }
    }

    /// Runs one frame until it calls, returns, parks or fails.
    #[allow(clippy::too_many_lines, clippy::cognitive_complexity)]
    fn run_frame(&mut self, func: &Func, pc: usize, base: usize, stop: usize) -> Left {
        let code = &func.code[..];
        let mut pc = pc;
        macro_rules! reg {
            ($r:expr) => {
                self.stack[base + $r as usize]
            };
        }
        macro_rules! sync {
            () => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.pc = pc as u32;
                }
            };
        }
        macro_rules! attempt {
            ($e:expr) => {{
                sync!();
                match $e {
                    Ok(value) => value,
                    Err(error) => return Left::Error(error),
                }
            }};
        }
        macro_rules! safe_point {
            () => {
                self.fuel -= 1;
                if self.fuel < 0 {
                    attempt!(self.tick());
                }
                if self.heap.bytes > self.heap.collect_at {
                    attempt!(self.collect_if_due());
                }
            };
        }
        macro_rules! jump {
            ($to:expr) => {{
                let to = $to as isize;
                pc = (pc as isize + to) as usize;
                if to < 0 {
                    safe_point!();
                }
            }};
        }
        macro_rules! arith {
            ($dst:expr, $a:expr, $b:expr, $op:expr, $fast:expr) => {{
                let (x, y) = (reg!($a), reg!($b));
                reg!($dst) = match (x, y) {
                    (Value::Num(x), Value::Num(y)) => {
                        let fast: fn(f64, f64) -> f64 = $fast;
                        Value::Num(fast(x, y))
                    }
                    _ => attempt!(self.arith($op, x, y)),
                };
            }};
        }
        macro_rules! arith_int {
            ($dst:expr, $a:expr, $int:expr, $op:expr, $fast:expr) => {{
                let x = reg!($a);
                reg!($dst) = match x {
                    Value::Num(x) => {
                        let fast: fn(f64, i32) -> f64 = $fast;
                        Value::Num(fast(x, i32::from($int)))
                    }
                    _ => attempt!(self.arith($op, x, Value::Num(f64::from($int)))),
                };
            }};
        }
        macro_rules! order {
            ($a:expr, $b:expr, $op:tt, $test:expr) => {{
                let (x, y) = (reg!($a), reg!($b));
                match (x, y) {
                    (Value::Num(x), Value::Num(y)) => x $op y,
                    _ => {
                        let test: fn(Ordering) -> bool = $test;
                        attempt!(self.compare(x, y)).is_some_and(test)
                    }
                }
            }};
        }
        macro_rules! same {
            ($a:expr, $b:expr) => {{
                let (x, y) = (reg!($a), reg!($b));
                match (x, y) {
                    (Value::Num(x), Value::Num(y)) => x == y,
                    _ => self.strict_equal(x, y),
                }
            }};
        }
        loop {
            let op = code[pc];
            pc += 1;
            match op {
                Op::Nop => {}
                Op::LoadNum { dst, k } => reg!(dst) = Value::Num(self.program.nums[k as usize]),
                Op::LoadInt { dst, value } => reg!(dst) = Value::Num(f64::from(value)),
                Op::LoadStr { dst, key } => reg!(dst) = Value::Str(self.key_str(key)),
                Op::LoadBig { dst, k } => {
                    let value = self.program.bigs[k as usize].clone();
                    reg!(dst) = attempt!(self.new_big(value));
                }
                Op::LoadUndefined { dst } => reg!(dst) = Value::Undefined,
                Op::LoadNull { dst } => reg!(dst) = Value::Null,
                Op::LoadBool { dst, value } => reg!(dst) = Value::Bool(value),
                Op::LoadHole { dst } => reg!(dst) = Value::Hole,
                Op::LoadThis { dst } => {
                    let this = self.frames.last().map_or(Value::Undefined, |f| f.this);
                    if matches!(this, Value::Hole) {
                        sync!();
                        return Left::Error(self.error(
                            super::ErrorType::Reference,
                            "Must call super constructor in derived class before accessing 'this' or returning from derived constructor.",
                        ));
                    }
                    reg!(dst) = this;
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
                Op::Move { dst, src } => reg!(dst) = reg!(src),
                Op::NewCell { dst } => reg!(dst) = Value::Cell(self.heap.cell(Value::Hole)),
                Op::WrapCell { reg } => {
                    let value = reg!(reg);
                    reg!(reg) = Value::Cell(self.heap.cell(value));
                }
                Op::FreshCell { reg } => {
                    if let Value::Cell(cell) = reg!(reg) {
                        let value = self.heap.cells[cell.0 as usize];
                        reg!(reg) = Value::Cell(self.heap.cell(value));
                    }
                }
                Op::GetCell { dst, cell } => {
                    if let Value::Cell(cell) = reg!(cell) {
                        reg!(dst) = self.heap.cells[cell.0 as usize];
                    }
                }
                Op::SetCell { cell, src } => {
                    if let Value::Cell(cell) = reg!(cell) {
                        self.heap.cells[cell.0 as usize] = reg!(src);
                    }
                }
                Op::GetUp { dst, index } => {
                    let cell = self.upvalue(index);
                    reg!(dst) = self.heap.cells[cell.0 as usize];
                }
                Op::SetUp { index, src } => {
                    let cell = self.upvalue(index);
                    self.heap.cells[cell.0 as usize] = reg!(src);
                }
                Op::CheckHole { src, name } => {
                    if matches!(reg!(src), Value::Hole) {
                        let name = self.key_text(name);
                        sync!();
                        let message = format!("Cannot access '{name}' before initialization");
                        return Left::Error(self.error(super::ErrorType::Reference, &message));
                    }
                }
                Op::GetGlobal { dst, name } => {
                    reg!(dst) = match self.global(name) {
                        Some(value) => value,
                        None => {
                            sync!();
                            return Left::Error(self.undefined_name(name));
                        }
                    };
                }
                Op::GetGlobalOrUndefined { dst, name } => {
                    reg!(dst) = self.global(name).unwrap_or(Value::Undefined);
                }

                Op::Add { dst, a, b } => {
                    let (x, y) = (reg!(a), reg!(b));
                    reg!(dst) = match (x, y) {
                        (Value::Num(x), Value::Num(y)) => Value::Num(x + y),
                        (Value::Str(x), Value::Str(y)) => Value::Str(attempt!(self.concat(x, y))),
                        _ => attempt!(self.add(x, y)),
                    };
                }
                Op::Sub { dst, a, b } => arith!(dst, a, b, Arith::Sub, |x, y| x - y),
                Op::Mul { dst, a, b } => arith!(dst, a, b, Arith::Mul, |x, y| x * y),
                Op::Div { dst, a, b } => arith!(dst, a, b, Arith::Div, |x, y| x / y),
                Op::Rem { dst, a, b } => arith!(dst, a, b, Arith::Rem, remainder),
                Op::Exp { dst, a, b } => arith!(dst, a, b, Arith::Exp, power),
                Op::BitAnd { dst, a, b } => {
                    arith!(dst, a, b, Arith::And, |x, y| number_arith(Arith::And, x, y))
                }
                Op::BitOr { dst, a, b } => {
                    arith!(dst, a, b, Arith::Or, |x, y| number_arith(Arith::Or, x, y))
                }
                Op::BitXor { dst, a, b } => {
                    arith!(dst, a, b, Arith::Xor, |x, y| number_arith(Arith::Xor, x, y))
                }
                Op::Shl { dst, a, b } => {
                    arith!(dst, a, b, Arith::Shl, |x, y| number_arith(Arith::Shl, x, y))
                }
                Op::Shr { dst, a, b } => {
                    arith!(dst, a, b, Arith::Shr, |x, y| number_arith(Arith::Shr, x, y))
                }
                Op::UShr { dst, a, b } => arith!(dst, a, b, Arith::UShr, |x, y| number_arith(
                    Arith::UShr,
                    x,
                    y
                )),
                Op::AddInt { dst, a, int } => {
                    let x = reg!(a);
                    reg!(dst) = match x {
                        Value::Num(x) => Value::Num(x + f64::from(int)),
                        _ => attempt!(self.add(x, Value::Num(f64::from(int)))),
                    };
                }
                Op::SubInt { dst, a, int } => {
                    arith_int!(dst, a, int, Arith::Sub, |x, i| x - f64::from(i))
                }
                Op::MulInt { dst, a, int } => {
                    arith_int!(dst, a, int, Arith::Mul, |x, i| x * f64::from(i))
                }
                Op::RemInt { dst, a, int } => arith_int!(dst, a, int, Arith::Rem, |x, i| {
                    let n = x as i32;
                    // Minus zero and everything that is no small positive integer take the slow way.
                    if n > 0 && f64::from(n) == x {
                        f64::from(n % i)
                    } else {
                        x % f64::from(i)
                    }
                }),
                Op::AndInt { dst, a, int } => {
                    arith_int!(dst, a, int, Arith::And, |x, i| f64::from(to_int32(x) & i))
                }
                Op::OrInt { dst, a, int } => {
                    arith_int!(dst, a, int, Arith::Or, |x, i| f64::from(to_int32(x) | i))
                }
                Op::ShlInt { dst, a, int } => {
                    arith_int!(dst, a, int, Arith::Shl, |x, i| f64::from(
                        to_int32(x).wrapping_shl(i as u32 & 31)
                    ));
                }
                Op::ShrInt { dst, a, int } => {
                    arith_int!(dst, a, int, Arith::Shr, |x, i| f64::from(
                        to_int32(x) >> (i as u32 & 31)
                    ));
                }
                Op::Lt { dst, a, b } => reg!(dst) = Value::Bool(order!(a, b, <, Ordering::is_lt)),
                Op::Le { dst, a, b } => reg!(dst) = Value::Bool(order!(a, b, <=, Ordering::is_le)),
                Op::Gt { dst, a, b } => reg!(dst) = Value::Bool(order!(a, b, >, Ordering::is_gt)),
                Op::Ge { dst, a, b } => reg!(dst) = Value::Bool(order!(a, b, >=, Ordering::is_ge)),
                Op::Eq { dst, a, b } => {
                    let (x, y) = (reg!(a), reg!(b));
                    reg!(dst) = Value::Bool(attempt!(self.loose_equal(x, y)));
                }
                Op::Ne { dst, a, b } => {
                    let (x, y) = (reg!(a), reg!(b));
                    reg!(dst) = Value::Bool(!attempt!(self.loose_equal(x, y)));
                }
                Op::Same { dst, a, b } => reg!(dst) = Value::Bool(same!(a, b)),
                Op::NotSame { dst, a, b } => reg!(dst) = Value::Bool(!same!(a, b)),
                Op::In { dst, a, b } => {
                    let (x, y) = (reg!(a), reg!(b));
                    reg!(dst) = Value::Bool(attempt!(self.has(x, y)));
                }
                Op::InstanceOf { dst, a, b } => {
                    let (x, y) = (reg!(a), reg!(b));
                    reg!(dst) = Value::Bool(attempt!(self.instance_of(x, y)));
                }
                Op::Neg { dst, src } => {
                    let x = reg!(src);
                    reg!(dst) = match x {
                        Value::Num(x) => Value::Num(-x),
                        _ => attempt!(self.negate(x)),
                    };
                }
                Op::ToNumber { dst, src } => {
                    let x = reg!(src);
                    reg!(dst) = Value::Num(attempt!(self.to_number(x)));
                }
                Op::ToNumeric { dst, src } => {
                    let x = reg!(src);
                    reg!(dst) = match x {
                        Value::Num(_) => x,
                        _ => attempt!(self.to_numeric(x)),
                    };
                }
                Op::Inc { dst, src } => {
                    let x = reg!(src);
                    reg!(dst) = match x {
                        Value::Num(x) => Value::Num(x + 1.0),
                        _ => attempt!(self.step(x, 1)),
                    };
                }
                Op::Dec { dst, src } => {
                    let x = reg!(src);
                    reg!(dst) = match x {
                        Value::Num(x) => Value::Num(x - 1.0),
                        _ => attempt!(self.step(x, -1)),
                    };
                }
                Op::Not { dst, src } => reg!(dst) = Value::Bool(!self.truthy(reg!(src))),
                Op::BitNot { dst, src } => {
                    let x = reg!(src);
                    reg!(dst) = attempt!(self.bit_not(x));
                }
                Op::TypeOf { dst, src } => {
                    let x = reg!(src);
                    reg!(dst) = self.type_of(x);
                }

                Op::Jump { to } => jump!(to),
                Op::JumpTrue { src, to } => {
                    if self.truthy(reg!(src)) {
                        jump!(to);
                    }
                }
                Op::JumpFalse { src, to } => {
                    if !self.truthy(reg!(src)) {
                        jump!(to);
                    }
                }
                Op::JumpNullish { src, to } => {
                    if reg!(src).is_nullish() {
                        jump!(to);
                    }
                }
                Op::JumpNotNullish { src, to } => {
                    if !reg!(src).is_nullish() {
                        jump!(to);
                    }
                }
                Op::JumpNotUndefined { src, to } => {
                    if !reg!(src).is_undefined() {
                        jump!(to);
                    }
                }
                Op::JumpLt { a, b, to } => {
                    if order!(a, b, <, Ordering::is_lt) {
                        jump!(to);
                    }
                }
                Op::JumpLe { a, b, to } => {
                    if order!(a, b, <=, Ordering::is_le) {
                        jump!(to);
                    }
                }
                Op::JumpGt { a, b, to } => {
                    if order!(a, b, >, Ordering::is_gt) {
                        jump!(to);
                    }
                }
                Op::JumpGe { a, b, to } => {
                    if order!(a, b, >=, Ordering::is_ge) {
                        jump!(to);
                    }
                }
                Op::JumpSame { a, b, to } => {
                    if same!(a, b) {
                        jump!(to);
                    }
                }
                Op::JumpNotLt { a, b, to } => {
                    if !order!(a, b, <, Ordering::is_lt) {
                        jump!(to);
                    }
                }
                Op::JumpNotLe { a, b, to } => {
                    if !order!(a, b, <=, Ordering::is_le) {
                        jump!(to);
                    }
                }
                Op::JumpNotGt { a, b, to } => {
                    if !order!(a, b, >, Ordering::is_gt) {
                        jump!(to);
                    }
                }
                Op::JumpNotGe { a, b, to } => {
                    if !order!(a, b, >=, Ordering::is_ge) {
                        jump!(to);
                    }
                }
                Op::JumpNotSame { a, b, to } => {
                    if !same!(a, b) {
                        jump!(to);
                    }
                }

                Op::GetProp { dst, obj, site } => {
                    let target = reg!(obj);
                    let at = (func.site_base + u32::from(site)) as usize;
                    reg!(dst) = match self.cached(target, at) {
                        Some(value) => self.settle(value),
                        None => {
                            let value =
                                attempt!(self.get_cached(target, func.sites[site as usize], at));
                            self.settle(value)
                        }
                    };
                }
                Op::GetLength { dst, obj, site } => {
                    let target = reg!(obj);
                    reg!(dst) = match target {
                        Value::Str(id) => Value::Num(self.heap.str_len(id) as f64),
                        Value::Obj(id) if let Kind::Array(items) = self.heap.kind(id) => {
                            Value::Num(items.len() as f64)
                        }
                        _ => attempt!(self.get(target, func.sites[site as usize])),
                    };
                }
                Op::SetProp { obj, site, src } => {
                    let (target, value) = (reg!(obj), reg!(src));
                    let at = (func.site_base + u32::from(site)) as usize;
                    if !self.put_fast(target, at, value) {
                        attempt!(self.put_cached(target, func.sites[site as usize], at, value));
                    }
                }
                Op::GetElem { dst, obj, key } => {
                    let (target, key) = (reg!(obj), reg!(key));
                    if let (Value::Obj(id), Value::Num(n)) = (target, key)
                        && let Kind::Array(items) = self.heap.kind(id)
                        && let Some(&value) = items.get(n as usize)
                        && n as usize as f64 == n
                        && !matches!(value, Value::Hole)
                    {
                        reg!(dst) = value;
                        continue;
                    }
                    reg!(dst) = attempt!(self.get_elem(target, key));
                }
                Op::SetElem { obj, key, src } => {
                    let (target, key, value) = (reg!(obj), reg!(key), reg!(src));
                    if let (Value::Obj(id), Value::Num(n)) = (target, key)
                        && self.heap.obj(id).flags & EXTENSIBLE != 0
                        && let Kind::Array(items) = self.heap.kind_mut(id)
                        && let Some(slot) = items.get_mut(n as usize)
                        && n as usize as f64 == n
                        && !matches!(slot, Value::Hole)
                    {
                        *slot = value;
                        continue;
                    }
                    attempt!(self.put_elem(target, key, value));
                }
                Op::GetMethod { dst, obj, site } => {
                    let target = reg!(obj);
                    let at = (func.site_base + u32::from(site)) as usize;
                    let method = match self.cached(target, at) {
                        Some(value) => value,
                        None => attempt!(self.get_cached(target, func.sites[site as usize], at)),
                    };
                    reg!(dst) = method;
                    reg!(dst + 1) = target;
                }
                Op::GetElemMethod { dst, obj, key } => {
                    let (target, key) = (reg!(obj), reg!(key));
                    reg!(dst) = attempt!(self.get_elem(target, key));
                    reg!(dst + 1) = target;
                }
                Op::DeleteElem { dst, obj, key } => {
                    let (target, key) = (reg!(obj), reg!(key));
                    sync!();
                    if target.is_nullish() {
                        return Left::Error(
                            self.type_error("Cannot convert undefined or null to object."),
                        );
                    }
                    let key = attempt!(self.to_key(key));
                    reg!(dst) = Value::Bool(attempt!(self.delete(target, key)));
                }
                Op::GetSuper { dst, key } => {
                    let key = reg!(key);
                    reg!(dst) = attempt!(self.get_super(key));
                }
                Op::SetSuper { key, src } => {
                    let (key, value) = (reg!(key), reg!(src));
                    attempt!(self.set_super(key, value));
                }
                Op::GetPrivate { dst, obj, name } => {
                    let (target, name) = (reg!(obj), reg!(name));
                    reg!(dst) = attempt!(self.get_private(target, name));
                }
                Op::SetPrivate { obj, name, src } => {
                    let (target, name, value) = (reg!(obj), reg!(name), reg!(src));
                    attempt!(self.set_private(target, name, value));
                }
                Op::DefPrivate { obj, name, src } => {
                    let (target, name, value) = (reg!(obj), reg!(name), reg!(src));
                    attempt!(self.define_private(target, name, value, Attrs(Attrs::WRITABLE)));
                }
                Op::DefPrivateMethod { obj, name, src } => {
                    let (target, name, value) = (reg!(obj), reg!(name), reg!(src));
                    attempt!(self.define_private(target, name, value, Attrs(0)));
                }
                Op::DefPrivateGetter { obj, name, src } => {
                    let (target, name, value) = (reg!(obj), reg!(name), reg!(src));
                    attempt!(self.define_private_accessor(target, name, (Some(value), None)));
                }
                Op::DefPrivateSetter { obj, name, src } => {
                    let (target, name, value) = (reg!(obj), reg!(name), reg!(src));
                    attempt!(self.define_private_accessor(target, name, (None, Some(value))));
                }
                Op::HasPrivate { dst, obj, name } => {
                    let (target, name) = (reg!(obj), reg!(name));
                    sync!();
                    let (Some(id), Value::Sym(key)) = (target.as_obj(), name) else {
                        return Left::Error(self.type_error("Cannot use 'in' operator to search for a private field in a value that is no object."));
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
                        let key = attempt!(self.to_key(value));
                        reg!(dst) = self.key_value(key);
                    } else {
                        reg!(dst) = value;
                    }
                }
                Op::RequireObject { src } => {
                    let value = reg!(src);
                    if value.is_nullish() {
                        sync!();
                        let what = if matches!(value, Value::Null) {
                            "null"
                        } else {
                            "undefined"
                        };
                        let message = format!("Cannot destructure '{what}' as it is {what}.");
                        return Left::Error(self.type_error(&message));
                    }
                }

                Op::NewObject { dst } => reg!(dst) = Value::Obj(self.object()),
                Op::DefField { obj, site, src } => {
                    let (target, value) = (reg!(obj), reg!(src));
                    let at = (func.site_base + u32::from(site)) as usize;
                    if let Some(id) = target.as_obj()
                        && !self.add_fast(id, at, value)
                    {
                        attempt!(self.define_cached(id, func.sites[site as usize], at, value));
                    }
                }
                Op::DefElem { obj, key, src } => {
                    let (target, key, value) = (reg!(obj), reg!(key), reg!(src));
                    let key = attempt!(self.to_key(key));
                    if let Some(id) = target.as_obj() {
                        attempt!(self.define_field(id, key, value));
                    }
                }
                Op::DefMethod { obj, key, src } => {
                    let (target, key, value) = (reg!(obj), reg!(key), reg!(src));
                    let key = attempt!(self.to_key(key));
                    if let Some(id) = target.as_obj() {
                        attempt!(self.define(id, key, Attrs::HIDDEN, value));
                    }
                }
                Op::DefGetter { obj, key, src } | Op::DefClassGetter { obj, key, src } => {
                    let (target, key, value) = (reg!(obj), reg!(key), reg!(src));
                    let key = attempt!(self.to_key(key));
                    let shown = matches!(op, Op::DefGetter { .. });
                    if let Some(id) = target.as_obj() {
                        attempt!(self.define_accessor(id, key, (Some(value), None), shown));
                    }
                }
                Op::DefSetter { obj, key, src } | Op::DefClassSetter { obj, key, src } => {
                    let (target, key, value) = (reg!(obj), reg!(key), reg!(src));
                    let key = attempt!(self.to_key(key));
                    let shown = matches!(op, Op::DefSetter { .. });
                    if let Some(id) = target.as_obj() {
                        attempt!(self.define_accessor(id, key, (None, Some(value)), shown));
                    }
                }
                Op::CopyProps { obj, src } => {
                    let (target, source) = (reg!(obj), reg!(src));
                    if let Some(id) = target.as_obj() {
                        attempt!(self.copy_properties(id, source, &[]));
                    }
                }
                Op::RestProps { dst, src, count } => {
                    let source = reg!(src);
                    sync!();
                    let mut excluded = Vec::with_capacity(count as usize);
                    for at in 0..count {
                        let key = reg!(dst + 1 + at);
                        excluded.push(attempt!(self.to_key(key)));
                    }
                    let id = self.object();
                    reg!(dst) = Value::Obj(id);
                    attempt!(self.copy_properties(id, source, &excluded));
                }
                Op::SetName { func, key, prefix } => {
                    let (target, key) = (reg!(func), reg!(key));
                    attempt!(self.set_function_name(target, key, prefix));
                }
                Op::NewArray { dst, capacity } => {
                    let items = Vec::with_capacity((capacity as usize).min(1 << 16));
                    reg!(dst) = self.array(items);
                }
                Op::ArrayPush { arr, src } => {
                    let value = reg!(src);
                    if let Some(id) = reg!(arr).as_obj()
                        && let Kind::Array(items) = self.heap.kind_mut(id)
                    {
                        items.push(value);
                        self.heap.bytes += size_of::<Value>();
                    }
                }
                Op::ArrayHole { arr } => {
                    if let Some(id) = reg!(arr).as_obj()
                        && let Kind::Array(items) = self.heap.kind_mut(id)
                    {
                        items.push(Value::Hole);
                        self.heap.bytes += size_of::<Value>();
                    }
                }
                Op::ArraySpread { arr, src } => {
                    let (target, source) = (reg!(arr), reg!(src));
                    attempt!(self.spread_into(target, source));
                }
                Op::Concat { dst, start, count } => {
                    let first = base + start as usize;
                    reg!(dst) = attempt!(self.concat_pieces(first, count as usize));
                }
                Op::NewRegExp { dst, k } => reg!(dst) = attempt!(self.regexp_literal(k as usize)),
                Op::TemplateObject { dst, k } => reg!(dst) = self.template_object(k as usize),
                Op::Closure { dst, func } => reg!(dst) = self.make_closure(func, base),
                Op::SetHome { func, home } => {
                    let home = reg!(home).as_obj();
                    if let Some(id) = reg!(func).as_obj()
                        && let Kind::Closure(closure) = self.heap.kind_mut(id)
                    {
                        closure.home = home;
                    }
                }
                Op::NewClass { dst, func } => attempt!(self.make_class(func, base, dst)),
                Op::SetFields { class, func } => {
                    let fields = reg!(func).as_obj();
                    if let Some(id) = reg!(class).as_obj()
                        && let Kind::Closure(closure) = self.heap.kind_mut(id)
                    {
                        closure.fields = fields;
                    }
                }

                Op::Call { dst, start, argc } => {
                    safe_point!();
                    let callee = reg!(start);
                    let this = reg!(start + 1);
                    let args = base + start as usize + 2;
                    sync!();
                    if let Value::Obj(id) = callee
                        && let Kind::Closure(_) = self.heap.kind(id)
                    {
                        return match self.enter(
                            id,
                            this,
                            (args, argc as usize),
                            Value::Undefined,
                            dst,
                        ) {
                            Ok(()) => Left::Caller,
                            Err(error) => Left::Error(error),
                        };
                    }
                    reg!(dst) =
                        match self.call_native(callee, this, Value::Undefined, args, argc as usize)
                        {
                            Ok(value) => value,
                            Err(error) => return Left::Error(error),
                        };
                }
                Op::CallSpread { dst, start } => {
                    safe_point!();
                    let callee = reg!(start);
                    let this = reg!(start + 1);
                    let args = self.array_items(reg!(start + 2));
                    reg!(dst) = attempt!(self.call_outer(callee, this, &args));
                }
                Op::New { dst, start, argc } => {
                    safe_point!();
                    let callee = self.settle(reg!(start));
                    let args = base + start as usize + 2;
                    sync!();
                    if let Value::Obj(id) = callee
                        && let Kind::Closure(_) = self.heap.kind(id)
                        && self.is_constructor(callee)
                    {
                        let this = attempt!(self.this_for_new(id, callee));
                        return match self.enter(id, this, (args, argc as usize), callee, dst) {
                            Ok(()) => Left::Caller,
                            Err(error) => Left::Error(error),
                        };
                    }
                    reg!(dst) = attempt!(self.construct_at(callee, args, argc as usize, callee));
                }
                Op::NewSpread { dst, start } => {
                    safe_point!();
                    let callee = self.settle(reg!(start));
                    let args = self.array_items(reg!(start + 2));
                    reg!(dst) = attempt!(self.construct(callee, &args, callee));
                }
                Op::SuperCall { dst, start, argc } => {
                    safe_point!();
                    let first = base + start as usize + 2;
                    let args = self.stack[first..first + argc as usize].to_vec();
                    reg!(dst) = attempt!(self.super_call(&args));
                }
                Op::SuperSpread { dst, start } => {
                    safe_point!();
                    let args = self.array_items(reg!(start + 2));
                    reg!(dst) = attempt!(self.super_call(&args));
                }
                Op::RestArgs { dst, from } => {
                    let args = self.frames.last().map_or(Value::Undefined, |f| f.args);
                    let mut items = self.array_items(args);
                    items.drain(..(from as usize).min(items.len()));
                    self.heap.bytes += items.len() * size_of::<Value>();
                    reg!(dst) = self.array(items);
                }
                Op::Arguments { dst } => reg!(dst) = self.arguments_object(),
                Op::Return { src } => {
                    let value = reg!(src);
                    sync!();
                    return self.leave(value, stop);
                }
                Op::ReturnUndefined => {
                    sync!();
                    return self.leave(Value::Undefined, stop);
                }
                Op::Throw { src } => {
                    let value = reg!(src);
                    sync!();
                    let value = self.settle(value);
                    self.note_throw(value);
                    return Left::Error(Abrupt::Throw(value));
                }
                Op::Rethrow { src } => {
                    let value = reg!(src);
                    sync!();
                    return Left::Error(Abrupt::Throw(value));
                }
                Op::Fault { k } => {
                    sync!();
                    return Left::Error(self.fault(k as usize));
                }

                Op::GetIterator { dst, src } => {
                    let source = reg!(src);
                    attempt!(self.open_iterator(source, base + dst as usize));
                }
                Op::GetAsyncIterator { dst, src } => {
                    let source = reg!(src);
                    attempt!(self.open_async_iterator(source, base + dst as usize));
                }
                Op::IterStep { iter, dst } => {
                    let at = base + iter as usize;
                    if let (Value::Obj(id), Value::Num(n)) = (self.stack[at], self.stack[at + 1])
                        && let Kind::Array(items) = self.heap.kind(id)
                        && let Some(&value) = items.get(n as usize)
                        && !matches!(self.stack[at + 2], Value::Bool(true))
                    {
                        self.stack[at + 1] = Value::Num(n + 1.0);
                        reg!(dst) = value.or_undefined();
                        continue;
                    }
                    reg!(dst) = attempt!(self.iterator_step(at));
                }
                Op::IterCallNext { iter, dst } => {
                    let at = base + iter as usize;
                    reg!(dst) = attempt!(self.call_next(at));
                }
                Op::IterUnpack { iter, dst, src } => {
                    let result = reg!(src);
                    reg!(dst) = attempt!(self.unpack_step(base + iter as usize, result));
                }
                Op::IterRest { iter, dst } => {
                    reg!(dst) = attempt!(self.iterator_rest(base + iter as usize))
                }
                Op::IterClose { iter } => attempt!(self.close_iterator(base + iter as usize)),
                Op::IterCloseQuietly { iter } => {
                    sync!();
                    if let Err(stop @ Abrupt::Stop(_)) = self.close_iterator(base + iter as usize) {
                        return Left::Error(stop);
                    }
                }
                Op::IterCallReturn { iter, dst } => {
                    reg!(dst) = attempt!(self.call_return(base + iter as usize));
                }
                Op::RequireIterResult { src } => {
                    if !reg!(src).is_object() {
                        sync!();
                        return Left::Error(self.type_error("Iterator result is not an object."));
                    }
                }
                Op::ForInStart { dst, src } => {
                    let source = reg!(src);
                    let iter = attempt!(self.names_of(source));
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
                Op::Await { dst, src } => {
                    let value = reg!(src);
                    sync!();
                    return match self.park_await(value, dst, stop) {
                        Ok(left) => left,
                        Err(error) => Left::Error(error),
                    };
                }
                Op::InitialYield => {
                    sync!();
                    return match self.park_start(stop) {
                        Ok(left) => left,
                        Err(error) => Left::Error(error),
                    };
                }
                Op::Yield { dst, src } => {
                    let value = reg!(src);
                    sync!();
                    return match self.park_yield(value, dst, false) {
                        Ok(value) => Left::Done(value),
                        Err(error) => Left::Error(error),
                    };
                }
                Op::YieldRaw { dst, src } => {
                    let value = reg!(src);
                    sync!();
                    return match self.park_yield(value, dst, true) {
                        Ok(value) => Left::Done(value),
                        Err(error) => Left::Error(error),
                    };
                }
                Op::DelegateCall { dst, iter, mode } => {
                    let (at, state) = (base + iter as usize, base + mode as usize);
                    reg!(dst) = attempt!(self.delegate_call(at, state));
                }
                Op::DelegateDone { dst, src } => {
                    let result = reg!(src);
                    sync!();
                    if !result.is_object() {
                        return Left::Error(self.type_error("Iterator result is not an object."));
                    }
                    let done = attempt!(self.get(result, name::DONE));
                    reg!(dst) = Value::Bool(self.truthy(done));
                }
            }
        }
    }

    fn global(&mut self, name: Key) -> Option<Value> {
        if let Some(&value) = self.realm.globals.get(&name) {
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

    fn upvalue(&self, index: u16) -> CellId {
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
    fn cached(&self, target: Value, at: usize) -> Option<Value> {
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
    fn get_cached(&mut self, target: Value, key: Key, at: usize) -> Res<Value> {
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
            if let Kind::Tool(_) = self.heap.kind(holder) {
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
    fn put_fast(&mut self, target: Value, at: usize, value: Value) -> bool {
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
    fn add_fast(&mut self, id: ObjId, at: usize, value: Value) -> bool {
        let cache = self.caches[at];
        let obj = self.heap.obj_mut(id);
        if obj.shape.0 != cache.shape || cache.holder == OWN {
            return false;
        }
        obj.shape = crate::shape::ShapeId(cache.holder);
        obj.slots.push(value);
        self.heap.bytes += size_of::<Value>();
        true
    }

    fn put_cached(&mut self, target: Value, key: Key, at: usize, value: Value) -> Res<()> {
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

    fn define_cached(&mut self, id: ObjId, key: Key, at: usize, value: Value) -> Res<()> {
        let before = self.heap.obj(id).shape;
        self.define_field(id, key, value)?;
        self.remember_write(id, key, before, false, at);
        Ok(())
    }

    fn remember_write(
        &mut self,
        id: ObjId,
        key: Key,
        before: crate::shape::ShapeId,
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

    fn get_elem(&mut self, target: Value, key: Value) -> Res<Value> {
        if let (Value::Str(id), Value::Num(n)) = (target, key) {
            let units = self.heap.units(id);
            if n >= 0.0
                && n.trunc() == n
                && let Some(unit) = units.get(n as usize)
            {
                return Ok(Value::Str(self.char_str(unit)));
            }
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

    fn put_elem(&mut self, target: Value, key: Value, value: Value) -> Res<()> {
        if let (Value::Obj(id), Value::Num(n)) = (target, key)
            && let Kind::Array(items) = self.heap.kind(id)
            && items.len() as f64 == n
            && self.heap.obj(id).flags & EXTENSIBLE != 0
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

    /// The elements of an array the compiler made.
    pub(crate) fn array_items(&self, value: Value) -> Vec<Value> {
        match value.as_obj().map(|id| self.heap.kind(id)) {
            Some(Kind::Array(items)) => items.clone(),
            _ => Vec::new(),
        }
    }

    fn make_closure(&mut self, number: u32, base: usize) -> Value {
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
        let (this, new_target, home) = match (func.kind, self.frames.last()) {
            (FuncKind::Arrow, Some(frame)) => {
                let home = match self.heap.kind(frame.closure) {
                    Kind::Closure(closure) => closure.home,
                    _ => None,
                };
                (frame.this, frame.new_target, home)
            }
            _ => (Value::Undefined, Value::Undefined, None),
        };
        let proto = match (func.is_async, func.is_generator) {
            (false, false) => intrinsic::FUNCTION_PROTO,
            (true, false) => intrinsic::ASYNC_FUNCTION_PROTO,
            (false, true) => intrinsic::GENERATOR_FUNCTION_PROTO,
            (true, true) => intrinsic::ASYNC_GENERATOR_FUNCTION_PROTO,
        };
        let closure = Closure {
            func: number,
            captures,
            this,
            new_target,
            home,
            fields: None,
        };
        Value::Obj(
            self.heap
                .alloc(Some(proto), Kind::Closure(Box::new(closure))),
        )
    }

    /// Makes the constructor and prototype of a class in two registers.
    fn make_class(&mut self, number: u32, base: usize, dst: u16) -> Res<()> {
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

    fn arguments_object(&mut self) -> Value {
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
        Value::Obj(id)
    }

    fn concat_pieces(&mut self, first: usize, count: usize) -> Res<Value> {
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

    fn set_function_name(&mut self, func: Value, key: Value, prefix: u8) -> Res<()> {
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

    fn home(&self) -> Option<ObjId> {
        let frame = self.frames.last()?;
        match self.heap.kind(frame.closure) {
            Kind::Closure(closure) => closure.home,
            _ => None,
        }
    }

    fn get_super(&mut self, key: Value) -> Res<Value> {
        let key = self.to_key(key)?;
        let this = self.frames.last().map_or(Value::Undefined, |f| f.this);
        match self.home().and_then(|home| self.heap.proto_of(home)) {
            Some(proto) => {
                let value = self.get_from(proto, key, this)?;
                Ok(self.settle(value))
            }
            None => Ok(Value::Undefined),
        }
    }

    fn set_super(&mut self, key: Value, value: Value) -> Res<()> {
        let key = self.to_key(key)?;
        let this = self.frames.last().map_or(Value::Undefined, |f| f.this);
        match self.home().and_then(|home| self.heap.proto_of(home)) {
            Some(proto) => self.put_with(proto, key, value, this),
            None => self.put(this, key, value),
        }
    }

    fn super_call(&mut self, args: &[Value]) -> Res<Value> {
        let Some(frame) = self.frames.last() else {
            return Ok(Value::Undefined);
        };
        let (closure, new_target, this) = (frame.closure, frame.new_target, frame.this);
        let parent = self
            .heap
            .proto_of(closure)
            .map_or(Value::Undefined, Value::Obj);
        if !self.is_constructor(parent) {
            return Err(self.type_error("Super constructor is not a constructor."));
        }
        let result = self.construct(parent, args, new_target)?;
        if !matches!(this, Value::Hole)
            || !matches!(self.frames.last().map(|f| f.this), Some(Value::Hole))
        {
            return Err(self.error(
                super::ErrorType::Reference,
                "Super constructor may only be called once.",
            ));
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.this = result;
        }
        self.run_fields(closure, result)?;
        Ok(result)
    }

    fn private_key(&mut self, target: Value, name: Value) -> Res<(ObjId, Key)> {
        match (self.settle(target), name) {
            (Value::Obj(id), Value::Sym(key)) => Ok((id, key)),
            _ => {
                Err(self.type_error("Cannot access a private member of a value that is no object."))
            }
        }
    }

    fn missing_private(&mut self, key: Key, what: &str) -> Abrupt {
        let name = self.key_text(key);
        self.type_error(&format!(
            "Cannot {what} private member {name} of an object whose class did not declare it."
        ))
    }

    fn get_private(&mut self, target: Value, name: Value) -> Res<Value> {
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

    fn set_private(&mut self, target: Value, name: Value, value: Value) -> Res<()> {
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

    fn define_private(
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

    fn define_private_accessor(
        &mut self,
        target: Value,
        name: Value,
        half: (Option<Value>, Option<Value>),
    ) -> Res<()> {
        let (id, key) = self.private_key(target, name)?;
        self.define_accessor(id, key, half, false)
    }

    pub(super) fn note_throw(&mut self, value: Value) {
        let span = self.here();
        if let Some(span) = span {
            self.thrown_at = Some((value, span));
        }
        if let Some(id) = value.as_obj()
            && let Kind::Error(data) = self.heap.kind_mut(id)
            && !data.raised
        {
            data.raised = true;
            data.span = span;
        }
    }

    /// Where a thrown value that is no error was thrown.
    pub(crate) fn throw_site(&mut self, value: Value) -> Option<u32> {
        let (thrown, span) = self.thrown_at?;
        self.same_value(thrown, value).then_some(span)
    }

    /// Ends the innermost frame with a value.
    pub(super) fn leave(&mut self, value: Value, stop: usize) -> Left {
        let value = self.settle(value);
        let Some(frame) = self.frames.last() else {
            return Left::Done(value);
        };
        let func = &self.program.funcs[frame.func as usize];
        let (is_async, is_generator) = (func.is_async, func.is_generator);
        let mut value = value;
        if frame.is_construct && !value.is_object() {
            let this = frame.this;
            if matches!(
                func.kind,
                FuncKind::ClassConstructor | FuncKind::DerivedConstructor
            ) && func.kind == FuncKind::DerivedConstructor
                && !value.is_undefined()
            {
                return Left::Error(
                    self.type_error("Derived constructors may only return object or undefined."),
                );
            }
            if matches!(this, Value::Hole) {
                return Left::Error(self.error(
                    super::ErrorType::Reference,
                    "Must call super constructor in derived class before accessing 'this' or returning from derived constructor.",
                ));
            }
            value = this;
        }
        let Some(frame) = self.pop_frame(stop) else {
            return Left::Done(value);
        };
        if is_async || is_generator {
            value = match self.finish_coroutine(&frame, Ok(value)) {
                Ok(value) => value,
                Err(error) => return self.unwind(error, stop),
            };
        }
        self.deliver(&frame, value, stop)
    }

    /// Hands a value to whoever waits for the frame that ended.
    pub(super) fn deliver(&mut self, frame: &super::Frame, value: Value, stop: usize) -> Left {
        if self.frames.len() <= stop {
            return Left::Done(value);
        }
        if let Some(caller) = self.frames.last() {
            let at = caller.base as usize + frame.dst as usize;
            self.stack[at] = value;
        }
        Left::Caller
    }

    pub(super) fn pop_frame(&mut self, stop: usize) -> Option<super::Frame> {
        let frame = self.frames.pop()?;
        if self.frames.len() > stop
            && let Some(caller) = self.frames.last()
        {
            self.top =
                caller.base as usize + self.program.funcs[caller.func as usize].regs as usize;
        }
        Some(frame)
    }

    /// Finds the handler of something thrown, ending the frames that have none.
    pub(super) fn unwind(&mut self, error: Abrupt, stop: usize) -> Left {
        let Abrupt::Throw(value) = error else {
            self.frames.truncate(stop);
            return Left::Error(error);
        };
        while self.frames.len() > stop {
            let Some(frame) = self.frames.last_mut() else {
                break;
            };
            let func = &self.program.funcs[frame.func as usize];
            let pc = frame.pc.saturating_sub(1);
            if let Some(handler) = func.handlers.iter().find(|h| h.start <= pc && pc < h.end) {
                frame.pc = handler.target;
                let base = frame.base as usize;
                self.top = base + func.regs as usize;
                self.stack[base + handler.reg as usize] = value;
                return Left::Caller;
            }
            let is_coroutine = func.is_async || func.is_generator;
            let Some(frame) = self.pop_frame(stop) else {
                break;
            };
            if is_coroutine && let Ok(value) = self.finish_coroutine(&frame, Err(value)) {
                return self.deliver(&frame, value, stop);
            }
        }
        Left::Error(error)
    }
}

/// Marks a cache that was filled by a string.
const STRING_SHAPE: u32 = NO_SHAPE - 1;
