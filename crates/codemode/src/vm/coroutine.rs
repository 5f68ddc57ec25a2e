//! Parked frames: async functions, generators and async generators.

use super::run::Left;
use super::{Frame, Vm};
use crate::object::{CoKind, CoState, Coroutine, Kind, Reaction, Resume};
use crate::realm::{intrinsic, name};
use crate::value::{Abrupt, ObjId, Res, Value};
use std::collections::VecDeque;

/// A parked frame that is back on the stack.
struct Unparked {
    base: usize,
    /// Where a suspended `yield` finds how it is resumed.
    mode: Option<usize>,
}

/// Most async functions that wait at once.
const WAITING_LIMIT: usize = 10_000;

impl Vm {
    fn coroutine(&self, id: ObjId) -> Option<&Coroutine> {
        match self.heap.kind(id) {
            Kind::Coroutine(co) => Some(co),
            _ => None,
        }
    }

    fn coroutine_mut(&mut self, id: ObjId) -> Option<&mut Coroutine> {
        match self.heap.kind_mut(id) {
            Kind::Coroutine(co) => Some(co),
            _ => None,
        }
    }

    fn set_state(&mut self, id: ObjId, state: CoState) {
        if let Some(co) = self.coroutine_mut(id) {
            co.state = state;
        }
    }

    /// Makes the parked form of the innermost frame, or refreshes it.
    fn park(&mut self, kind: CoKind, dst: u16, at_yield: bool) -> ObjId {
        let Some(frame) = self.frames.last() else {
            return intrinsic::OBJECT_PROTO;
        };
        let frame = frame.clone();
        let regs = self.program.funcs[frame.func as usize].regs as usize;
        let base = frame.base as usize;
        let id = match frame.coroutine {
            Some(id) => id,
            None => {
                let co = Coroutine {
                    kind,
                    state: CoState::Start,
                    func: frame.func,
                    pc: 0,
                    closure: frame.closure,
                    this: frame.this,
                    args: frame.args,
                    regs: vec![Value::Undefined; regs],
                    dst: 0,
                    at_yield: false,
                    promise: None,
                    queue: VecDeque::new(),
                };
                self.heap.alloc(None, Kind::Coroutine(Box::new(co)))
            }
        };
        if let Kind::Coroutine(co) = self.heap.kind_mut(id) {
            co.regs.copy_from_slice(&self.stack[base..base + regs]);
            co.pc = frame.pc;
            co.this = frame.this;
            co.dst = dst;
            co.at_yield = at_yield;
        }
        id
    }

    pub(super) fn park_await(&mut self, value: Value, dst: u16, stop: usize) -> Res<Left> {
        let promise = self.promise_resolve(value)?;
        let first = self.frames.last().is_some_and(|f| f.coroutine.is_none());
        if first {
            let is_main = self.frames.last().is_some_and(|f| f.func == 0);
            if self.host.waiting >= WAITING_LIMIT && !is_main {
                return Err(self.range_error("Too many promises are pending at once."));
            }
            self.host.waiting += 1;
        }
        let id = self.park(CoKind::Async, dst, false);
        let mut answer = Value::Undefined;
        if first {
            let own = self.new_promise();
            answer = Value::Obj(own);
            if let Some(co) = self.coroutine_mut(id) {
                co.promise = Some(own);
            }
        }
        let running = self
            .coroutine(id)
            .is_some_and(|co| co.kind == CoKind::AsyncGenerator);
        self.set_state(
            id,
            if running {
                CoState::Running
            } else {
                CoState::Suspended
            },
        );
        self.react(promise, Reaction::Resume(id));
        let Some(frame) = self.pop_frame(stop) else {
            return Ok(Left::Done(answer));
        };
        Ok(self.deliver(&frame, answer, stop))
    }

    /// A generator function was called: its body waits for the first `next`.
    pub(super) fn park_start(&mut self, stop: usize) -> Res<Left> {
        let Some(frame) = self.frames.last() else {
            return Ok(Left::Done(Value::Undefined));
        };
        let (closure, is_async) = (
            frame.closure,
            self.program.funcs[frame.func as usize].is_async,
        );
        let (kind, default) = if is_async {
            (CoKind::AsyncGenerator, intrinsic::ASYNC_GENERATOR_PROTO)
        } else {
            (CoKind::Generator, intrinsic::GENERATOR_PROTO)
        };
        let proto = self
            .get(Value::Obj(closure), name::PROTOTYPE)?
            .as_obj()
            .unwrap_or(default);
        let id = self.park(kind, 0, false);
        self.heap.set_proto(id, Some(proto));
        let Some(frame) = self.pop_frame(stop) else {
            return Ok(Left::Done(Value::Obj(id)));
        };
        Ok(self.deliver(&frame, Value::Obj(id), stop))
    }

    pub(super) fn park_yield(&mut self, value: Value, dst: u16, raw: bool) -> Res<Left> {
        let value = self.settle(value);
        let Some(frame) = self.frames.last() else {
            return Ok(Left::Done(value));
        };
        let (iteration, to) = (frame.iteration, frame.dst);
        let Some(id) = frame.coroutine else {
            return Ok(Left::Done(value));
        };
        self.park(CoKind::Generator, dst, true);
        self.set_state(id, CoState::Suspended);
        self.frames.pop();
        self.generator_done = false;
        self.generator_raw = raw;
        if let Some(iter) = iteration {
            return self.yield_in_place(iter, to, value);
        }
        self.pin(value);
        self.pin(Value::Obj(id));
        let is_async = self
            .coroutine(id)
            .is_some_and(|co| co.kind == CoKind::AsyncGenerator);
        if is_async {
            self.settle_request(id, Ok(value), false)?;
            return Ok(Left::Done(Value::Undefined));
        }
        Ok(Left::Done(value))
    }

    /// The frame of an async function or generator ended.
    pub(super) fn finish_coroutine(
        &mut self,
        frame: &Frame,
        outcome: Result<Value, Value>,
    ) -> Res<Value> {
        let func = &self.program.funcs[frame.func as usize];
        let (is_async, is_generator) = (func.is_async, func.is_generator);
        // The frame is gone, and resolving a promise may run program code.
        let (Ok(value) | Err(value)) = outcome;
        self.pin(value);
        if let Some(id) = frame.coroutine {
            self.pin(Value::Obj(id));
        }
        if is_generator {
            let Some(id) = frame.coroutine else {
                return outcome.map_err(Abrupt::Throw);
            };
            self.set_state(id, CoState::Done);
            if is_async {
                self.settle_request(id, outcome, true)?;
                return Ok(Value::Undefined);
            }
            self.generator_done = true;
            self.generator_raw = false;
            return outcome.map_err(Abrupt::Throw);
        }
        debug_assert!(is_async);
        let (promise, answer) = match frame.coroutine {
            Some(id) => {
                self.set_state(id, CoState::Done);
                self.host.waiting = self.host.waiting.saturating_sub(1);
                (
                    self.coroutine(id).and_then(|co| co.promise),
                    Value::Undefined,
                )
            }
            None => {
                let promise = self.new_promise();
                (Some(promise), Value::Obj(promise))
            }
        };
        if let Some(promise) = promise {
            match outcome {
                Ok(value) => self.resolve(promise, value)?,
                Err(error) => self.reject(promise, error),
            }
        }
        Ok(answer)
    }

    /// Puts a parked frame back on the stack. Tells where its registers start, and whether it ran before.
    fn unpark(&mut self, id: ObjId, value: Value) -> Res<Unparked> {
        if self.frames.len() + self.native_depth >= super::CALL_LIMIT {
            return Err(self.range_error("Maximum call stack size exceeded."));
        }
        let base = self.top;
        let regs = self.coroutine(id).map_or(0, |co| co.regs.len());
        self.ensure_stack(base + regs)?;
        let Kind::Coroutine(co) = self.heap.kind_mut(id) else {
            return Err(self.type_error("Nothing waits here."));
        };
        let started = co.state != CoState::Start;
        co.state = CoState::Running;
        let (dst, at_yield, closure) = (co.dst as usize, co.at_yield, co.closure);
        let mut frame = Frame {
            func: co.func,
            pc: co.pc,
            base: base as u32,
            dst: 0,
            is_construct: false,
            closure,
            this: co.this,
            new_target: Value::Undefined,
            args: co.args,
            coroutine: Some(id),
            iteration: None,
        };
        self.stack[base..base + regs].copy_from_slice(&co.regs);
        if let Kind::Closure(arrow) = self.heap.kind(closure) {
            frame.new_target = arrow.new_target;
        }
        self.top = base + regs;
        self.frames.push(frame);
        let at = base + dst;
        if started {
            self.stack[at] = value;
        }
        Ok(Unparked {
            base,
            mode: (started && at_yield).then_some(at + 1),
        })
    }

    /// Puts a parked frame back on the stack and runs it until it parks or ends.
    fn resume(&mut self, id: ObjId, how: Resume, value: Value) -> Res<Value> {
        let stop = self.frames.len();
        let unparked = self.unpark(id, value)?;
        let result = if let Some(mode) = unparked.mode {
            self.stack[mode] = Value::Num(match how {
                Resume::Next => 0.0,
                Resume::Throw => 1.0,
                Resume::Return => 2.0,
            });
            self.run_nested(stop)
        } else if how == Resume::Throw {
            match self.unwind(Abrupt::Throw(value), stop) {
                Left::Done(value) => Ok(value),
                Left::Caller => self.run_nested(stop),
                Left::Error(error) => Err(error),
            }
        } else {
            self.run_nested(stop)
        };
        self.top = unparked.base;
        result
    }

    /// Resumes the generator under an iteration of the running frame, when the iteration goes through a generator as such;
    /// the machine then goes on in the generator's frame. `at` is the iteration's place on the stack, `iter` and `dst` are
    /// the frame's registers for it and for the value.
    pub(super) fn resume_in_place(&mut self, at: usize, iter: u16, dst: u16) -> Res<bool> {
        let (Value::Obj(id), Value::Lazy(number)) = (self.stack[at], self.stack[at + 1]) else {
            return Ok(false);
        };
        if Some(number) != self.generator_next || matches!(self.stack[at + 2], Value::Bool(true)) {
            return Ok(false);
        }
        let waits = self.coroutine(id).is_some_and(|co| {
            co.kind == CoKind::Generator && matches!(co.state, CoState::Start | CoState::Suspended)
        });
        if !waits {
            return Ok(false);
        }
        // Until it yields: when it throws, the iteration is over.
        self.stack[at + 2] = Value::Bool(true);
        let unparked = self.unpark(id, Value::Undefined)?;
        if let Some(mode) = unparked.mode {
            self.stack[mode] = Value::Num(0.0);
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.dst = dst;
            frame.iteration = Some(iter);
        }
        Ok(true)
    }

    /// A generator resumed in place yielded.
    pub(super) fn yield_in_place(&mut self, iter: u16, dst: u16, value: Value) -> Res<Left> {
        let Some(caller) = self.frames.last() else {
            return Ok(Left::Done(value));
        };
        let base = caller.base as usize;
        self.top = base + self.program.funcs[caller.func as usize].regs as usize;
        let mut value = value;
        if std::mem::replace(&mut self.generator_raw, false) {
            let done = self.get(value, name::DONE)?;
            if self.truthy(done) {
                self.stack[base + dst as usize] = Value::Undefined;
                return Ok(Left::Caller);
            }
            value = self.get(value, name::VALUE)?;
        }
        self.stack[base + dst as usize] = value;
        self.stack[base + iter as usize + 2] = Value::Bool(false);
        Ok(Left::Caller)
    }

    /// A promise that a parked frame waited for settled.
    pub(super) fn resume_awaiting(&mut self, id: ObjId, value: Value, rejected: bool) -> Res<()> {
        let how = if rejected {
            Resume::Throw
        } else {
            Resume::Next
        };
        self.resume(id, how, value)?;
        if self
            .coroutine(id)
            .is_some_and(|co| co.kind == CoKind::AsyncGenerator)
        {
            self.drain_requests(id)?;
        }
        Ok(())
    }

    /// Resumes a generator; gives the value and whether it is done.
    pub(crate) fn generator_step(
        &mut self,
        id: ObjId,
        how: Resume,
        value: Value,
    ) -> Res<(Value, bool)> {
        let (value, done, raw) = self.generator_resume(id, how, value)?;
        if raw {
            let done = self.get(value, name::DONE)?;
            if self.truthy(done) {
                return Ok((Value::Undefined, true));
            }
            return Ok((self.get(value, name::VALUE)?, false));
        }
        Ok((value, done))
    }

    /// As `generator_step`; the last part says that the value is an inner iterator's own result object.
    pub(crate) fn generator_resume(
        &mut self,
        id: ObjId,
        how: Resume,
        value: Value,
    ) -> Res<(Value, bool, bool)> {
        let state = match self.coroutine(id) {
            Some(co) if co.kind == CoKind::Generator => co.state,
            _ => {
                return Err(
                    self.type_error("next method called on an object that is no generator.")
                );
            }
        };
        match state {
            CoState::Running => return Err(self.type_error("Generator is already running.")),
            CoState::Start if how != Resume::Next => self.set_state(id, CoState::Done),
            _ => {}
        }
        if matches!(self.coroutine(id).map(|co| co.state), Some(CoState::Done)) {
            return match how {
                Resume::Next => Ok((Value::Undefined, true, false)),
                Resume::Return => Ok((value, true, false)),
                Resume::Throw => Err(Abrupt::Throw(value)),
            };
        }
        self.native_depth += 1;
        let result = self.resume(id, how, value);
        self.native_depth -= 1;
        match result {
            Ok(value) => Ok((value, self.generator_done, self.generator_raw)),
            Err(error) => {
                self.set_state(id, CoState::Done);
                Err(error)
            }
        }
    }

    /// `next`, `throw` or `return` of an async generator.
    pub(crate) fn enqueue_request(&mut self, id: ObjId, how: Resume, value: Value) -> Res<Value> {
        let promise = self.new_promise();
        match self.coroutine_mut(id) {
            Some(co) if co.kind == CoKind::AsyncGenerator => {
                co.queue.push_back((how, value, promise));
            }
            _ => {
                let Abrupt::Throw(error) =
                    self.type_error("next method called on an object that is no generator.")
                else {
                    return Ok(Value::Undefined);
                };
                self.reject(promise, error);
                return Ok(Value::Obj(promise));
            }
        }
        self.drain_requests(id)?;
        Ok(Value::Obj(promise))
    }

    /// Serves the waiting requests until the generator runs, waits or has none left.
    pub(crate) fn drain_requests(&mut self, id: ObjId) -> Res<()> {
        loop {
            let Some(co) = self.coroutine_mut(id) else {
                return Ok(());
            };
            let Some(&(how, value, _)) = co.queue.front() else {
                return Ok(());
            };
            match co.state {
                CoState::Running => return Ok(()),
                CoState::Start if how != Resume::Next => co.state = CoState::Done,
                CoState::Start | CoState::Suspended => {
                    self.native_depth += 1;
                    let result = self.resume(id, how, value);
                    self.native_depth -= 1;
                    result?;
                }
                CoState::Done => match how {
                    Resume::Next => self.settle_request(id, Ok(Value::Undefined), true)?,
                    Resume::Throw => self.settle_request(id, Err(value), true)?,
                    Resume::Return => {
                        co.state = CoState::Running;
                        return self.await_return(id, value);
                    }
                },
            }
        }
    }

    /// A finished async generator waits for the value given to `return`.
    fn await_return(&mut self, id: ObjId, value: Value) -> Res<()> {
        let promise = match self.promise_resolve(value) {
            Ok(promise) => promise,
            Err(Abrupt::Throw(error)) => {
                self.set_state(id, CoState::Done);
                self.settle_request(id, Err(error), true)?;
                return self.drain_requests(id);
            }
            Err(stop) => return Err(stop),
        };
        let fulfilled = self.native_closure(
            "generator returned",
            vec![Value::Obj(id), Value::Bool(true)],
        );
        let rejected = self.native_closure(
            "generator returned",
            vec![Value::Obj(id), Value::Bool(false)],
        );
        self.react(
            promise,
            Reaction::Then {
                fulfilled,
                rejected,
                derived: None,
            },
        );
        Ok(())
    }

    pub(crate) fn generator_returned(
        &mut self,
        id: ObjId,
        outcome: Result<Value, Value>,
    ) -> Res<()> {
        self.set_state(id, CoState::Done);
        self.settle_request(id, outcome, true)?;
        self.drain_requests(id)
    }

    /// Answers the first waiting request.
    fn settle_request(&mut self, id: ObjId, outcome: Result<Value, Value>, done: bool) -> Res<()> {
        let Some((_, _, promise)) = self.coroutine_mut(id).and_then(|co| co.queue.pop_front())
        else {
            return Ok(());
        };
        match outcome {
            Ok(value) => {
                let result = self.iter_result(value, done);
                self.resolve(promise, result)
            }
            Err(error) => {
                self.reject(promise, error);
                Ok(())
            }
        }
    }
}
