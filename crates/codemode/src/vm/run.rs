//! The instruction loop.

use super::Vm;
use super::operators::{Arith, number_arith, power, remainder};
use crate::compiled::Func;
use crate::number::to_int32;
use crate::object::{EXTENSIBLE, Kind};
use crate::op::Op;
use crate::value::{Abrupt, Res, Value};
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
    /// Runs until only `stop` frames are left. What the caller has pinned stays pinned meanwhile.
    pub(super) fn run(&mut self, stop: usize) -> Res<Value> {
        let base = self.heap.pins.len();
        let outer = std::mem::replace(&mut self.pin_base, base);
        let result = self.run_frames(stop);
        self.heap.pins.truncate(base);
        self.pin_base = outer;
        match result {
            Ok(value) | Err(Abrupt::Throw(value)) => self.pin(value),
            Err(Abrupt::Stop(_)) => {}
        }
        result
    }

    fn run_frames(&mut self, stop: usize) -> Res<Value> {
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
                Op::LoadUndefined { dst } => reg!(dst) = Value::Undefined,
                Op::LoadNull { dst } => reg!(dst) = Value::Null,
                Op::LoadBool { dst, value } => reg!(dst) = Value::Bool(value),
                Op::LoadHole { dst } => reg!(dst) = Value::Hole,
                Op::LoadThis { dst } => {
                    let this = self.frames.last().map_or(Value::Undefined, |f| f.this);
                    reg!(dst) = match this {
                        Value::Hole | Value::Cell(_) => attempt!(self.bound_this()),
                        this => this,
                    };
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
                        (Value::Str(x), Value::Num(n)) => {
                            Value::Str(attempt!(self.concat_number(x, n)))
                        }
                        _ => attempt!(self.add(x, y)),
                    };
                }
                Op::Sub { dst, a, b } => arith!(dst, a, b, Arith::Sub, |x, y| x - y),
                Op::Mul { dst, a, b } => arith!(dst, a, b, Arith::Mul, |x, y| x * y),
                Op::Div { dst, a, b } => arith!(dst, a, b, Arith::Div, |x, y| x / y),
                Op::Rem { dst, a, b } => arith!(dst, a, b, Arith::Rem, remainder),
                Op::Exp { dst, a, b } => arith!(dst, a, b, Arith::Exp, power),
                Op::BitAnd { dst, a, b } => {
                    arith!(dst, a, b, Arith::And, |x, y| number_arith(Arith::And, x, y));
                }
                Op::BitOr { dst, a, b } => {
                    arith!(dst, a, b, Arith::Or, |x, y| number_arith(Arith::Or, x, y));
                }
                Op::BitXor { dst, a, b } => {
                    arith!(dst, a, b, Arith::Xor, |x, y| number_arith(Arith::Xor, x, y));
                }
                Op::Shl { dst, a, b } => {
                    arith!(dst, a, b, Arith::Shl, |x, y| number_arith(Arith::Shl, x, y));
                }
                Op::Shr { dst, a, b } => {
                    arith!(dst, a, b, Arith::Shr, |x, y| number_arith(Arith::Shr, x, y));
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
                    arith_int!(dst, a, int, Arith::Sub, |x, i| x - f64::from(i));
                }
                Op::MulInt { dst, a, int } => {
                    arith_int!(dst, a, int, Arith::Mul, |x, i| x * f64::from(i));
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
                    arith_int!(dst, a, int, Arith::And, |x, i| f64::from(to_int32(x) & i));
                }
                Op::OrInt { dst, a, int } => {
                    arith_int!(dst, a, int, Arith::Or, |x, i| f64::from(to_int32(x) | i));
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
                Op::GetPrivate { dst, obj, name } => {
                    let (target, name) = (reg!(obj), reg!(name));
                    reg!(dst) = attempt!(self.get_private(target, name));
                }
                Op::SetPrivate { obj, name, src } => {
                    let (target, name, value) = (reg!(obj), reg!(name), reg!(src));
                    attempt!(self.set_private(target, name, value));
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
                Op::ArraySpread { arr, src } => {
                    let (target, source) = (reg!(arr), reg!(src));
                    attempt!(self.spread_into(target, source));
                }
                Op::Concat { dst, start, count } => {
                    let first = base + start as usize;
                    reg!(dst) = attempt!(self.concat_pieces(first, count as usize));
                }
                Op::TemplateObject { dst, k } => reg!(dst) = self.template_object(k as usize),
                Op::Closure { dst, func } => reg!(dst) = self.make_closure(func, base),
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
                Op::IterStep { iter, dst } => {
                    let at = base + iter as usize;
                    if let (Value::Obj(id), Value::Num(n)) = (self.stack[at], self.stack[at + 1])
                        && let Kind::Array(items) = self.heap.kind(id)
                        && let Some(&value) = items.get(n as usize)
                        && !matches!(value, Value::Hole)
                        && !matches!(self.stack[at + 2], Value::Bool(true))
                    {
                        self.stack[at + 1] = Value::Num(n + 1.0);
                        reg!(dst) = value;
                        continue;
                    }
                    if attempt!(self.resume_in_place(at, iter, dst)) {
                        return Left::Caller;
                    }
                    reg!(dst) = attempt!(self.iterator_step(at));
                }
                Op::IterClose { iter } => attempt!(self.close_iterator(base + iter as usize)),
                Op::IterCloseQuietly { iter } => {
                    sync!();
                    if let Err(stop @ Abrupt::Stop(_)) = self.close_iterator(base + iter as usize) {
                        return Left::Error(stop);
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
                        Ok(left) => left,
                        Err(error) => Left::Error(error),
                    };
                }
                Op::YieldRaw { dst, src } => {
                    let value = reg!(src);
                    sync!();
                    return match self.park_yield(value, dst, true) {
                        Ok(left) => left,
                        Err(error) => Left::Error(error),
                    };
                }
                other => attempt!(self.run_definition(other, base)),
            }
        }
    }
}
