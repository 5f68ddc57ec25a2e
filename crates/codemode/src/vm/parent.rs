//! Which promise the running code works for.

use super::{Job, Vm};
use crate::object::{Kind, Reaction};
use crate::value::ObjId;

impl Vm {
    /// Number of a promise, in the order of their making.
    pub(crate) fn promise_number(&self, id: ObjId) -> u32 {
        self.promise(id).map_or(0, |data| data.serial)
    }

    /// Number of the promise of the innermost asynchronous function that waited before, or of the handler that runs; none
    /// in a program's first turn.
    pub(crate) fn parent_promise(&self) -> Option<u32> {
        let of_coroutine = |id: ObjId| match self.heap.kind(id) {
            Kind::Coroutine(co) => co.promise,
            _ => None,
        };
        let frame = self
            .frames
            .iter()
            .rev()
            .find_map(|frame| frame.coroutine.and_then(of_coroutine));
        let promise = frame.or_else(|| match self.current_job? {
            Job::React {
                reaction: Reaction::Then { derived, .. },
                ..
            } => derived,
            Job::React {
                reaction: Reaction::Resume(id),
                ..
            } => of_coroutine(id),
            Job::Adopt { promise, .. } => Some(promise),
        });
        promise.map(|id| self.promise_number(id))
    }
}
