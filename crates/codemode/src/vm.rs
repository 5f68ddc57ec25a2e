//! The machine: one run's heap, frames and queues.

mod access;
mod cache;
mod call;
mod classes;
mod convert;
mod coroutine;
mod define;
mod definitions;
mod errors;
mod frames;
mod integrity;
mod iterate;
mod operators;
mod parent;
mod promise;
mod run;
mod typed;
mod write;

pub(crate) use call::Args;
pub(crate) use convert::Hint;
pub(crate) use errors::ErrorType;

use crate::atoms::Atoms;
use crate::compiled::Program;
use crate::heap::Heap;
use crate::mark::Marker;
use crate::object::{Kind, Reaction};
use crate::realm::{Realm, intrinsic, name, realm};
use crate::state::HostState;
use crate::text::Text;
use crate::value::{Abrupt, Key, ObjId, Res, Stop, StrId, Value};
use std::collections::VecDeque;
use std::sync::Arc;

/// Longest string, in units.
pub(crate) const STRING_LIMIT: usize = 1 << 24;
/// Longest array.
pub(crate) const ARRAY_LIMIT: usize = 10_000_000;
/// Deepest calls.
pub(crate) const CALL_LIMIT: usize = 10_000;
/// Instructions between two looks at the clock.
const SLICE: i64 = 8_192;

/// One activation of a function.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    func: u32,
    pc: u32,
    base: u32,
    dst: u16,
    is_construct: bool,
    closure: ObjId,
    this: Value,
    new_target: Value,
    args: Value,
    coroutine: Option<ObjId>,
    /// The place of the caller's iteration that this generator was resumed for by an instruction.
    iteration: Option<u16>,
}

/// What a place in the code remembers about the last object it saw.
#[derive(Clone, Copy, Debug)]
struct Cache {
    shape: u32,
    /// The prototype that holds the property, or the object itself.
    holder: u32,
    slot: u32,
    epoch: u32,
}

/// Keys remembered by the hash of their text.
const RECENT: usize = 512;

const NO_SHAPE: u32 = u32::MAX;
const OWN: u32 = u32::MAX;

/// Work for the next turn.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Job {
    React {
        reaction: Reaction,
        value: Value,
        rejected: bool,
    },
    Adopt {
        promise: ObjId,
        thenable: ObjId,
        then: Value,
    },
}

pub(crate) struct Vm {
    pub(crate) heap: Heap,
    pub(crate) atoms: Atoms,
    pub(crate) realm: &'static Realm,
    pub(crate) program: Arc<Program>,
    pub(crate) host: HostState,
    stack: Vec<Value>,
    /// First free register of the stack.
    top: usize,
    frames: Vec<Frame>,
    caches: Vec<Cache>,
    pub(crate) jobs: VecDeque<Job>,
    key_strings: Vec<Option<StrId>>,
    char_strings: Vec<Option<StrId>>,
    templates: Vec<Option<ObjId>>,
    /// Objects of built-in functions that a program looked at.
    native_objects: rustc_hash::FxHashMap<u16, ObjId>,
    /// Numbers of the two `next` functions that iteration recognises.
    next_native: Option<u16>,
    generator_next: Option<u16>,
    /// Keys of strings seen lately, by hash.
    recent_keys: Vec<(u64, Key)>,
    /// The job that runs now.
    current_job: Option<Job>,
    /// Steps left until the next look at the clock, and how many were granted.
    fuel: i64,
    slice: i64,
    pub(crate) used_fuel: u64,
    native_depth: usize,
    /// Where the pins of the innermost run of the machine start.
    pin_base: usize,
    /// Source offset of the last `throw` and the value thrown.
    thrown_at: Option<(Value, u32)>,
    pub(crate) rejections: Vec<ObjId>,
    pub(crate) promise_serial: u32,
    /// Arrays being joined, so that a cycle ends.
    pub(crate) joining: Vec<ObjId>,
    /// Whether the last resumed generator finished.
    generator_done: bool,
    /// Whether what it yielded is an inner iterator's result object.
    generator_raw: bool,
}

impl Vm {
    pub(crate) fn new(program: Arc<Program>, host: HostState) -> Vm {
        let granted = slice(host.limits.fuel, 0);
        let realm = realm();
        let mut heap = Heap::new(realm.objs.clone(), realm.shapes.clone());
        heap.threshold = heap.threshold.min(host.limits.heap_bytes);
        heap.collect_at = heap.threshold;
        let atoms = Atoms::new(&realm.names, Arc::clone(&program));
        let mut vm = Vm {
            heap,
            atoms,
            realm,
            caches: vec![
                Cache {
                    shape: NO_SHAPE,
                    holder: OWN,
                    slot: 0,
                    epoch: 0
                };
                program.sites as usize
            ],
            templates: vec![None; program.templates.len()],
            program,
            host,
            stack: vec![Value::Undefined; 256],
            top: 0,
            frames: Vec::new(),
            jobs: VecDeque::new(),
            key_strings: Vec::new(),
            char_strings: Vec::new(),
            native_objects: rustc_hash::FxHashMap::default(),
            next_native: realm.internal.get("next").copied(),
            generator_next: realm.internal.get("generator next").copied(),
            recent_keys: Vec::new(),
            current_job: None,
            fuel: granted,
            slice: granted,
            used_fuel: 0,
            native_depth: 0,
            pin_base: 0,
            thrown_at: None,
            rejections: Vec::new(),
            promise_serial: 0,
            joining: Vec::new(),
            generator_done: false,
            generator_raw: false,
        };
        for &(object, slot, key) in &realm.texts {
            let text = Value::Str(vm.key_str(key));
            vm.heap.obj_mut(object).slots[slot] = text;
        }
        vm
    }

    /// Starts the program; the promise of its result is returned.
    pub(crate) fn start(&mut self) -> Res<Value> {
        let proto = Some(intrinsic::ASYNC_FUNCTION_PROTO);
        let closure = self.heap.alloc(
            proto,
            Kind::Closure(Box::new(crate::object::Closure {
                func: 0,
                captures: Box::new([]),
                this: Value::Undefined,
                new_target: Value::Undefined,
                home: None,
                fields: None,
                constructor: None,
            })),
        );
        self.call_outer(Value::Obj(closure), Value::Undefined, &[])
    }

    /// Counts work done outside instructions.
    pub(crate) fn charge(&mut self, units: usize) -> Res<()> {
        self.fuel -= units as i64;
        if self.fuel < 0 { self.tick() } else { Ok(()) }
    }

    /// Looks at the clock, the cancel flag and the fuel limit.
    #[cold]
    fn tick(&mut self) -> Res<()> {
        self.used_fuel += (self.slice - self.fuel) as u64;
        self.slice = slice(self.host.limits.fuel, self.used_fuel);
        self.fuel = self.slice;
        if self.host.is_cancelled() {
            return Err(Abrupt::Stop(Stop::Cancelled));
        }
        if self
            .host
            .limits
            .fuel
            .is_some_and(|limit| self.used_fuel > limit)
        {
            return Err(Abrupt::Stop(Stop::Fuel));
        }
        if self.host.is_late() {
            return Err(Abrupt::Stop(Stop::Timeout));
        }
        Ok(())
    }

    /// Refuses an allocation that would pass the heap limit.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Res<()> {
        if self.heap.bytes + bytes > self.host.limits.heap_bytes {
            return Err(self.range_error(
                "Out of memory: the program holds more data than its heap limit allows.",
            ));
        }
        Ok(())
    }

    /// A safe point: no Rust code of the innermost run holds a value, so its pins go, and garbage is collected when due.
    #[cold]
    fn collect_if_due(&mut self) -> Res<()> {
        self.heap.pins.truncate(self.pin_base);
        let limit = self.host.limits.heap_bytes;
        if self.heap.bytes > self.heap.threshold {
            self.collect();
            self.heap.threshold = self.heap.threshold.min(limit.max(self.heap.bytes));
        }
        self.heap.collect_at = self.heap.threshold;
        if self.heap.bytes > limit {
            // Leave room for the handler of the error itself.
            self.heap.threshold = self.heap.bytes + (1 << 16);
            self.heap.collect_at = self.heap.threshold;
            return Err(self.range_error(
                "Out of memory: the program holds more data than its heap limit allows.",
            ));
        }
        Ok(())
    }

    /// Keeps a value that Rust code holds from being collected while program code runs.
    #[inline]
    pub(crate) fn pin(&mut self, value: Value) {
        self.heap.pin(value);
    }

    /// The pins so far; a loop that calls back releases those of each round.
    pub(crate) fn pin_mark(&self) -> usize {
        self.heap.pins.len()
    }

    /// Drops the pins since a mark: what they held is reachable another way or no longer needed.
    pub(crate) fn release_pins(&mut self, mark: usize) {
        self.heap.pins.truncate(mark);
    }

    /// Whether a built-in object is as every run finds it.
    pub(crate) fn is_untouched(&self, id: ObjId) -> bool {
        let (now, then) = (
            &self.heap.obj(id).slots,
            &self.realm.objs[id.0 as usize].slots,
        );
        now.len() == then.len()
            && now
                .iter()
                .zip(then)
                .all(|(&now, &then)| is_template(now, then))
    }

    fn collect(&mut self) {
        let mut marks = Marker::new(&self.heap);
        (0..self.realm.objs.len()).for_each(|at| marks.obj(ObjId(at as u32)));
        self.stack[..self.top].iter().for_each(|&v| marks.value(v));
        for frame in &self.frames {
            marks.obj(frame.closure);
            marks.value(frame.this);
            marks.value(frame.new_target);
            marks.value(frame.args);
            frame.coroutine.into_iter().for_each(|c| marks.obj(c));
        }
        self.native_objects.values().for_each(|&o| marks.obj(o));
        for job in self.jobs.iter().chain(&self.current_job) {
            match *job {
                Job::React {
                    reaction, value, ..
                } => {
                    marks.reaction(reaction);
                    marks.value(value);
                }
                Job::Adopt {
                    promise,
                    thenable,
                    then,
                } => {
                    marks.obj(promise);
                    marks.obj(thenable);
                    marks.value(then);
                }
            }
        }
        let strings = self.key_strings.iter().chain(&self.char_strings).flatten();
        strings.for_each(|&s| marks.value(Value::Str(s)));
        self.templates.iter().flatten().for_each(|&t| marks.obj(t));
        self.heap.pins.iter().for_each(|&pin| marks.pin(pin));
        self.rejections.iter().for_each(|&p| marks.obj(p));
        self.host.roots().for_each(|p| marks.obj(p));
        if let Some((value, _)) = self.thrown_at {
            marks.value(value);
        }
        marks.trace(&self.heap);
        self.heap.sweep(&marks);
    }

    /// The string of an interned key; the same handle every time.
    pub(crate) fn key_str(&mut self, key: Key) -> StrId {
        if let Some(index) = key.as_index() {
            return self.text(Text::new(&index.to_string()));
        }
        let at = key.0 as usize;
        if let Some(Some(found)) = self.key_strings.get(at) {
            return *found;
        }
        if at >= self.key_strings.len() {
            self.key_strings.resize(at + 1, None);
        }
        let text = self.atoms.text(key).clone();
        let own =
            crate::atoms::index_of(text.units()).map_or(Some(key), |index| Some(Key::index(index)));
        self.heap.bytes += text.bytes();
        let id = self.heap.push_str(crate::heap::Repr::Flat(text), own);
        self.key_strings[at] = Some(id);
        id
    }

    pub(crate) fn key_value(&mut self, key: Key) -> Value {
        if key.is_symbol() {
            Value::Sym(key)
        } else {
            Value::Str(self.key_str(key))
        }
    }

    pub(crate) fn text(&mut self, text: Text) -> StrId {
        if let Text::Narrow(bytes) = &text
            && bytes.len() == 1
        {
            return self.char_str(u16::from(bytes[0]));
        }
        self.heap.text(text)
    }

    pub(crate) fn str(&mut self, text: &str) -> Value {
        Value::Str(self.text(Text::new(text)))
    }

    /// The string of one unit.
    pub(crate) fn char_str(&mut self, unit: u16) -> StrId {
        let at = unit as usize;
        if at > 255 {
            return self.heap.text(Text::Wide(Box::new([unit])));
        }
        if self.char_strings.is_empty() {
            self.char_strings = vec![None; 256];
        }
        if let Some(found) = self.char_strings[at] {
            return found;
        }
        let id = self.heap.text(Text::Narrow(Box::new([unit as u8])));
        self.char_strings[at] = Some(id);
        id
    }

    /// Text from units, refused beyond the longest string.
    pub(crate) fn new_text(&mut self, text: Text) -> Res<Value> {
        if text.len() > STRING_LIMIT {
            return Err(self.range_error("Invalid string length"));
        }
        self.reserve(text.bytes())?;
        Ok(Value::Str(self.text(text)))
    }

    pub(crate) fn utf8(&mut self, id: StrId) -> String {
        self.heap.units(id).to_utf8()
    }

    /// The key that a string names.
    pub(crate) fn str_key(&mut self, id: StrId) -> Key {
        if let Some(key) = self.heap.strs[id.0 as usize].key {
            return key;
        }
        self.heap.flatten(id);
        let key = match crate::atoms::index_of(self.heap.flat(id)) {
            Some(index) => Key::index(index),
            None => self.intern_units(id),
        };
        self.heap.strs[id.0 as usize].key = Some(key);
        key
    }

    /// Interns a flat string that is no index, trying the keys seen lately first.
    fn intern_units(&mut self, id: StrId) -> Key {
        let units = self.heap.flat(id);
        let hash = units.hash();
        if self.recent_keys.is_empty() {
            self.recent_keys = vec![(0, name::EMPTY); RECENT];
        }
        let slot = (hash as usize) % RECENT;
        let (known, key) = self.recent_keys[slot];
        if known == hash && self.atoms.text(key).units().same(units) {
            return key;
        }
        let text = units.to_text();
        let (key, bytes) = self.atoms.intern(&text);
        self.heap.bytes += bytes;
        self.heap.interned += bytes;
        self.recent_keys[slot] = (hash, key);
        key
    }

    /// The key of a text that the host names.
    pub(crate) fn intern(&mut self, text: &str) -> Key {
        let text = Text::new(text);
        if let Some(index) = crate::atoms::index_of(text.units()) {
            return Key::index(index);
        }
        let (key, bytes) = self.atoms.intern(&text);
        self.heap.bytes += bytes;
        self.heap.interned += bytes;
        key
    }

    /// Text of a key for messages.
    pub(crate) fn key_text(&mut self, key: Key) -> String {
        if let Some(symbol) = key.as_symbol() {
            let description = self
                .atoms
                .describe(symbol)
                .map(|d| d.units().to_utf8())
                .unwrap_or_default();
            return if self.atoms.is_private(key) {
                description
            } else {
                format!("Symbol({description})")
            };
        }
        let id = self.key_str(key);
        self.utf8(id)
    }

    pub(crate) fn object(&mut self) -> ObjId {
        self.heap
            .alloc(Some(intrinsic::OBJECT_PROTO), Kind::Ordinary)
    }

    pub(crate) fn array(&mut self, items: Vec<Value>) -> Value {
        Value::Obj(
            self.heap
                .alloc(Some(intrinsic::ARRAY_PROTO), Kind::Array(items)),
        )
    }
}

/// Whether a slot holds what the template of its object does; texts are made anew for each run.
fn is_template(now: Value, then: Value) -> bool {
    match (now, then) {
        (Value::Obj(a), Value::Obj(b)) => a == b,
        (Value::Lazy(a), Value::Lazy(b)) => a == b,
        (Value::Num(a), Value::Num(b)) => a.to_bits() == b.to_bits(),
        (Value::Sym(a), Value::Sym(b)) => a == b,
        (Value::Str(_) | Value::Undefined, Value::Undefined) => true,
        _ => false,
    }
}

/// Steps until the next look at the clock: never more than the fuel that is left, so that its limit is exact.
fn slice(limit: Option<u64>, used: u64) -> i64 {
    limit.map_or(SLICE, |limit| {
        limit.saturating_sub(used).min(SLICE as u64) as i64
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{CancelFlag, Environment};
    use crate::limits::Limits;
    use crate::record::Tape;
    use crate::state::Surroundings;
    use crate::tools::ToolSet;

    #[test]
    fn an_idle_run_holds_at_most_64_kilobytes() {
        let program = crate::front::build("1", &realm().names).unwrap();
        let tools = Arc::new(ToolSet::default());
        let host = HostState::new(Surroundings {
            limits: Limits::default(),
            tools,
            cancel: CancelFlag::default(),
            environment: Environment::default(),
            hooks: None,
            events: None,
            tape: Tape::Off,
        });
        let vm = Vm::new(Arc::new(program), host);
        let shapes = vm.heap.shapes.len() * size_of::<crate::shape::Shape>();
        let stack = vm.stack.len() * size_of::<Value>();
        let held = vm.heap.bytes + shapes + stack + size_of::<Vm>();
        assert!(held <= 64 << 10, "{held} bytes");
    }
}
