//! Leaving frames: returning, unwinding, and what is remembered of a throw.

use super::Vm;
use super::run::Left;
use crate::compiled::FuncKind;
use crate::object::Kind;
use crate::value::{Abrupt, Value};

impl Vm {
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
        if !is_async && !is_generator && !frame.is_construct {
            return self.leave_plainly(value, frame.dst, stop);
        }
        if frame.is_construct && !value.is_object() {
            let this = match frame.this {
                Value::Cell(cell) => self.heap.cells[cell.0 as usize],
                this => this,
            };
            // These errors are raised when the function has returned: its own handlers don't see them.
            if func.kind == FuncKind::DerivedConstructor && !value.is_undefined() {
                let message = "Derived constructors may only return object or undefined.";
                let error = self.type_error(message);
                self.pop_frame(stop);
                return Left::Error(error);
            }
            if matches!(this, Value::Hole) {
                let error = self.error(
                    super::ErrorType::Reference,
                    "Must call super constructor in derived class before accessing 'this' or returning from derived constructor.",
                );
                self.pop_frame(stop);
                return Left::Error(error);
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

    /// The end of an ordinary call.
    fn leave_plainly(&mut self, value: Value, dst: u16, stop: usize) -> Left {
        let left = self.frames.len() - 1;
        self.frames.truncate(left);
        if left <= stop {
            return Left::Done(value);
        }
        let caller = &self.frames[left - 1];
        let base = caller.base as usize;
        self.top = base + self.program.funcs[caller.func as usize].regs as usize;
        self.stack[base + dst as usize] = value;
        Left::Caller
    }

    /// Hands a value to whoever waits for the frame that ended.
    pub(super) fn deliver(&mut self, frame: &super::Frame, value: Value, stop: usize) -> Left {
        if self.frames.len() <= stop {
            return Left::Done(value);
        }
        if let Some(caller) = self.frames.last() {
            let at = caller.base as usize + frame.dst as usize;
            // A generator that an iteration resumed is done; what it returned is nobody's.
            self.stack[at] = match frame.iteration {
                Some(_) => Value::Undefined,
                None => value,
            };
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
