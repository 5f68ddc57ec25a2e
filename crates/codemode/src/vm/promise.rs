//! Promises and the queue of jobs.

use super::{Job, Vm};
use crate::object::{Kind, NativeClosure, PromiseData, PromiseState, Reaction};
use crate::realm::{intrinsic, name};
use crate::value::{Abrupt, ObjId, Res, Value};

impl Vm {
    pub(crate) fn new_promise(&mut self) -> ObjId {
        self.promise_serial += 1;
        let data = PromiseData {
            state: PromiseState::Pending,
            value: Value::Undefined,
            reactions: Vec::new(),
            handled: false,
            serial: self.promise_serial,
        };
        self.heap.alloc(
            Some(intrinsic::PROMISE_PROTO),
            Kind::Promise(Box::new(data)),
        )
    }

    pub(crate) fn promise(&self, id: ObjId) -> Option<&PromiseData> {
        match self.heap.kind(id) {
            Kind::Promise(data) => Some(data),
            _ => None,
        }
    }

    fn promise_mut(&mut self, id: ObjId) -> Option<&mut PromiseData> {
        match self.heap.kind_mut(id) {
            Kind::Promise(data) => Some(data),
            _ => None,
        }
    }

    pub(crate) fn is_promise(&self, value: Value) -> bool {
        value.as_obj().is_some_and(|id| self.promise(id).is_some())
    }

    /// The promise itself, or a new one resolved with the value.
    pub(crate) fn promise_resolve(&mut self, value: Value) -> Res<ObjId> {
        if let Some(id) = value.as_obj()
            && self.promise(id).is_some()
            && (self.is_plain_promise(value)
                || self.get(value, name::CONSTRUCTOR)?.as_obj() == Some(intrinsic::PROMISE))
        {
            return Ok(id);
        }
        let promise = self.new_promise();
        self.resolve(promise, value)?;
        Ok(promise)
    }

    /// Resolves a promise; a thenable is adopted in a later turn.
    pub(crate) fn resolve(&mut self, promise: ObjId, value: Value) -> Res<()> {
        let value = self.settle(value);
        let Some(id) = value.as_obj() else {
            self.fulfill(promise, value);
            return Ok(());
        };
        if id == promise {
            if let Abrupt::Throw(error) = self.type_error("Chaining cycle detected for promise.") {
                self.reject(promise, error);
            }
            return Ok(());
        }
        if matches!(self.heap.kind(id), Kind::Tool(_)) {
            self.fulfill(promise, value);
            return Ok(());
        }
        match self.get(value, name::THEN) {
            Ok(then) if self.is_callable(then) => {
                self.jobs.push_back(Job::Adopt {
                    promise,
                    thenable: id,
                    then,
                });
            }
            Ok(_) => self.fulfill(promise, value),
            Err(Abrupt::Throw(error)) => self.reject(promise, error),
            Err(stop) => return Err(stop),
        }
        Ok(())
    }

    fn fulfill(&mut self, promise: ObjId, value: Value) {
        self.settle_promise(promise, value, PromiseState::Fulfilled);
    }

    pub(crate) fn reject(&mut self, promise: ObjId, value: Value) {
        if self
            .promise(promise)
            .is_some_and(|p| p.state == PromiseState::Pending && !p.handled)
        {
            self.rejections.push(promise);
        }
        self.settle_promise(promise, value, PromiseState::Rejected);
    }

    fn settle_promise(&mut self, promise: ObjId, value: Value, state: PromiseState) {
        let Some(data) = self.promise_mut(promise) else {
            return;
        };
        if data.state != PromiseState::Pending {
            return;
        }
        data.state = state;
        data.value = value;
        let reactions = std::mem::take(&mut data.reactions);
        let rejected = state == PromiseState::Rejected;
        for reaction in reactions {
            self.jobs.push_back(Job::React {
                reaction,
                value,
                rejected,
            });
        }
    }

    /// Registers what happens when a promise settles.
    pub(crate) fn react(&mut self, promise: ObjId, reaction: Reaction) {
        let Some(data) = self.promise_mut(promise) else {
            return;
        };
        data.handled = true;
        match data.state {
            PromiseState::Pending => data.reactions.push(reaction),
            state => {
                let value = data.value;
                let rejected = state == PromiseState::Rejected;
                self.jobs.push_back(Job::React {
                    reaction,
                    value,
                    rejected,
                });
            }
        }
    }

    /// `then` with a derived promise.
    pub(crate) fn then(&mut self, promise: ObjId, fulfilled: Value, rejected: Value) -> ObjId {
        let derived = self.new_promise();
        self.react(
            promise,
            Reaction::Then {
                fulfilled,
                rejected,
                derived: Some(derived),
            },
        );
        derived
    }

    /// A function of the host's own that carries data.
    pub(crate) fn native_closure(&mut self, internal: &str, data: Vec<Value>) -> Value {
        let native = self.realm.internal.get(internal).copied().unwrap_or(0);
        let kind = Kind::NativeClosure(Box::new(NativeClosure { native, data }));
        Value::Obj(self.heap.alloc(Some(intrinsic::FUNCTION_PROTO), kind))
    }

    /// The data of the native closure that is being called.
    pub(crate) fn closure_data(&self, callee: Value, index: usize) -> Value {
        match callee.as_obj().map(|id| self.heap.kind(id)) {
            Some(Kind::NativeClosure(closure)) => {
                closure.data.get(index).copied().unwrap_or(Value::Undefined)
            }
            _ => Value::Undefined,
        }
    }

    /// The functions that resolve and reject a promise; the first call of either counts.
    pub(crate) fn resolving_functions(&mut self, promise: ObjId) -> (Value, Value) {
        let used = self.array(vec![Value::Bool(false)]);
        let resolve = self.native_closure("resolve promise", vec![Value::Obj(promise), used]);
        let reject = self.native_closure("reject promise", vec![Value::Obj(promise), used]);
        (resolve, reject)
    }

    /// Runs jobs until none is left, or until a promise settled.
    pub(crate) fn run_jobs(&mut self, until: ObjId) -> Res<()> {
        while self
            .promise(until)
            .is_some_and(|p| p.state == PromiseState::Pending)
        {
            self.run_next_job()?;
            if self.jobs.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Runs the job that waits longest.
    pub(crate) fn run_next_job(&mut self) -> Res<()> {
        if let Some(job) = self.jobs.pop_front() {
            self.current_job = Some(job);
            // Between jobs no Rust code holds a value.
            self.heap.pins.clear();
            self.charge(1)?;
            if self.heap.bytes > self.heap.collect_at {
                self.collect_if_due_quietly()?;
            }
            self.run_job(job)?;
            self.current_job = None;
        }
        Ok(())
    }

    /// Collects between jobs; running out of memory there surfaces at the program's next allocation.
    fn collect_if_due_quietly(&mut self) -> Res<()> {
        match self.collect_if_due() {
            Err(stop @ Abrupt::Stop(_)) => Err(stop),
            _ => Ok(()),
        }
    }

    fn run_job(&mut self, job: Job) -> Res<()> {
        match job {
            Job::React {
                reaction: Reaction::Resume(id),
                value,
                rejected,
            } => self.resume_awaiting(id, value, rejected),
            Job::React {
                reaction:
                    Reaction::Then {
                        fulfilled,
                        rejected: on_error,
                        derived,
                    },
                value,
                rejected,
            } => {
                let handler = if rejected { on_error } else { fulfilled };
                let outcome = if self.is_callable(handler) {
                    self.call_outer(handler, Value::Undefined, &[value])
                } else if rejected {
                    Err(Abrupt::Throw(value))
                } else {
                    Ok(value)
                };
                match (outcome, derived) {
                    (Err(stop @ Abrupt::Stop(_)), _) => Err(stop),
                    (_, None) => Ok(()),
                    (Ok(value), Some(promise)) => self.resolve(promise, value),
                    (Err(Abrupt::Throw(error)), Some(promise)) => {
                        self.reject(promise, error);
                        Ok(())
                    }
                }
            }
            Job::Adopt {
                promise,
                thenable,
                then,
            } => {
                let (resolve, reject) = self.resolving_functions(promise);
                match self.call_outer(then, Value::Obj(thenable), &[resolve, reject]) {
                    Err(Abrupt::Throw(error)) => {
                        self.call_outer(reject, Value::Undefined, &[error])?;
                        Ok(())
                    }
                    Err(stop) => Err(stop),
                    Ok(_) => Ok(()),
                }
            }
        }
    }

    /// Rejections that nobody looked at, in the order their promises were made.
    pub(crate) fn unhandled_rejections(&mut self) -> Vec<Value> {
        let mut list: Vec<(u32, Value)> = Vec::new();
        for id in std::mem::take(&mut self.rejections) {
            if let Some(data) = self.promise(id)
                && !data.handled
            {
                list.push((data.serial, data.value));
            }
        }
        list.sort_by_key(|(serial, _)| *serial);
        list.into_iter().map(|(_, value)| value).collect()
    }
}
