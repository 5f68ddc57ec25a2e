//! Calling and constructing, from instructions and from built-in functions.

use super::{CALL_LIMIT, Frame, Vm};
use crate::compiled::FuncKind;
use crate::object::Kind;
use crate::realm::{intrinsic, name};
use crate::value::{ObjId, Res, Value};

/// Most registers that all frames together may use.
const STACK_LIMIT: usize = 8_000_000;
/// Host stack that must be free before program code runs inside a built-in function.
const RED_ZONE: usize = if cfg!(debug_assertions) {
    384 << 10
} else {
    96 << 10
};
const STACK_CHUNK: usize = 4 << 20;

/// What a built-in function is called with. Its arguments lie on the machine's stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args {
    pub(crate) this: Value,
    pub(crate) callee: Value,
    /// `undefined` in a plain call.
    pub(crate) new_target: Value,
    base: usize,
    len: usize,
}

impl Args {
    pub(crate) fn len(self) -> usize {
        self.len
    }

    pub(crate) fn get(self, vm: &Vm, index: usize) -> Value {
        if index < self.len {
            vm.stack[self.base + index]
        } else {
            Value::Undefined
        }
    }

    pub(crate) fn all(self, vm: &Vm) -> Vec<Value> {
        vm.stack[self.base..self.base + self.len].to_vec()
    }

    pub(crate) fn is_construct(self) -> bool {
        !self.new_target.is_undefined()
    }
}

impl Vm {
    /// Calls a function from a built-in one.
    pub(crate) fn call(&mut self, func: Value, this: Value, args: &[Value]) -> Res<Value> {
        self.native_depth += 1;
        let result = self.call_outer(func, this, args);
        self.native_depth -= 1;
        result
    }

    /// Calls a function when no built-in function waits for the result with values of its own.
    pub(crate) fn call_outer(&mut self, func: Value, this: Value, args: &[Value]) -> Res<Value> {
        let base = self.push_args(args)?;
        let result = self.invoke(func, this, base, args.len());
        self.top = base;
        result
    }

    fn push_args(&mut self, args: &[Value]) -> Res<usize> {
        let base = self.top;
        self.ensure_stack(base + args.len() + 8)?;
        self.stack[base..base + args.len()].copy_from_slice(args);
        self.top = base + args.len();
        Ok(base)
    }

    pub(super) fn ensure_stack(&mut self, need: usize) -> Res<()> {
        if need > STACK_LIMIT {
            return Err(self.range_error("Maximum call stack size exceeded."));
        }
        if self.stack.len() < need {
            self.stack
                .resize(need.next_power_of_two(), Value::Undefined);
        }
        Ok(())
    }

    /// Calls with arguments that lie on the stack, and runs to the end of the call.
    pub(super) fn invoke(
        &mut self,
        func: Value,
        this: Value,
        base: usize,
        argc: usize,
    ) -> Res<Value> {
        if let Value::Obj(id) = func
            && let Kind::Closure(_) = self.heap.kind(id)
        {
            let stop = self.frames.len();
            self.enter(id, this, (base, argc), Value::Undefined, 0)?;
            return self.run_nested(stop);
        }
        self.call_native(func, this, Value::Undefined, base, argc)
    }

    /// Runs a step of a recursion in Rust, on more host stack when little is left.
    pub(crate) fn deeper<T>(&mut self, step: impl FnOnce(&mut Vm) -> T) -> T {
        stacker::maybe_grow(RED_ZONE, STACK_CHUNK, || step(self))
    }

    pub(super) fn run_nested(&mut self, stop: usize) -> Res<Value> {
        stacker::maybe_grow(RED_ZONE, STACK_CHUNK, || self.run(stop))
    }

    /// Calls anything that isn't compiled from the program.
    pub(super) fn call_native(
        &mut self,
        func: Value,
        this: Value,
        new_target: Value,
        base: usize,
        argc: usize,
    ) -> Res<Value> {
        let number = match func {
            Value::Lazy(number) => number,
            Value::Obj(id) => match self.heap.kind(id) {
                Kind::Native(number) => *number,
                Kind::NativeClosure(closure) => closure.native,
                Kind::Bound(_) => return self.call_bound(id, this, new_target, base, argc),
                Kind::Tool(_) => {
                    let args = Args {
                        this,
                        callee: func,
                        new_target,
                        base,
                        len: argc,
                    };
                    return self.call_tool(id, args);
                }
                _ => return Err(self.not_a_function("value")),
            },
            other => {
                let what = self.type_name(other);
                return Err(self.not_a_function(what));
            }
        };
        if self.native_depth + self.frames.len() >= CALL_LIMIT {
            return Err(self.range_error("Maximum call stack size exceeded."));
        }
        let args = Args {
            this,
            callee: func,
            new_target,
            base,
            len: argc,
        };
        let native = self.realm.natives[number as usize].func;
        if stacker::remaining_stack().is_some_and(|left| left < RED_ZONE) {
            return stacker::grow(STACK_CHUNK, || native(self, args));
        }
        native(self, args)
    }

    fn call_bound(
        &mut self,
        id: ObjId,
        this: Value,
        new_target: Value,
        base: usize,
        argc: usize,
    ) -> Res<Value> {
        let Kind::Bound(bound) = self.heap.kind(id) else {
            return Ok(this);
        };
        let (target, bound_this) = (bound.target, bound.this);
        let mut args = bound.args.clone();
        args.extend_from_slice(&self.stack[base..base + argc]);
        if new_target.is_undefined() {
            return self.call(target, bound_this, &args);
        }
        let new_target = if new_target.as_obj() == Some(id) {
            target
        } else {
            new_target
        };
        self.construct(target, &args, new_target)
    }

    /// Pushes a frame for a compiled function whose arguments lie at `args`.
    pub(super) fn enter(
        &mut self,
        id: ObjId,
        this: Value,
        (base, argc): (usize, usize),
        new_target: Value,
        dst: u16,
    ) -> Res<()> {
        if self.frames.len() + self.native_depth >= CALL_LIMIT {
            return Err(self.range_error("Maximum call stack size exceeded."));
        }
        let Kind::Closure(closure) = self.heap.kind(id) else {
            return Err(self.not_a_function("value"));
        };
        let number = closure.func;
        let func = &self.program.funcs[number as usize];
        let (mut this, mut new_target) = (this, new_target);
        match func.kind {
            FuncKind::Arrow => {
                this = closure.this;
                new_target = closure.new_target;
            }
            FuncKind::ClassConstructor | FuncKind::DerivedConstructor
                if new_target.is_undefined() =>
            {
                let name = self.key_text(func_name(self, number));
                let message = format!("Class constructor {name} cannot be invoked without 'new'.");
                return Err(self.type_error(&message));
            }
            _ => {}
        }
        if func.shares_this && matches!(this, Value::Hole) {
            this = Value::Cell(self.heap.cell(Value::Hole));
        }
        let (params, regs, needs_args) =
            (func.params as usize, func.regs as usize, func.needs_args);
        let is_construct = !new_target.is_undefined() && func.kind != FuncKind::Arrow;
        if self.stack.len() < base + regs {
            self.ensure_stack(base + regs)?;
        }
        let args = if needs_args {
            let items = self.stack[base..base + argc].to_vec();
            self.heap.bytes += items.len() * size_of::<Value>();
            self.array(items)
        } else {
            Value::Undefined
        };
        if argc < params {
            self.stack[base + argc..base + params].fill(Value::Undefined);
        }
        self.frames.push(Frame {
            func: number,
            pc: 0,
            base: base as u32,
            dst,
            is_construct,
            closure: id,
            this,
            new_target,
            args,
            coroutine: None,
            iteration: None,
        });
        self.top = base + regs;
        Ok(())
    }

    pub(crate) fn is_constructor(&self, value: Value) -> bool {
        match value {
            Value::Lazy(number) => self.realm.natives[number as usize].constructor,
            Value::Obj(id) => match self.heap.kind(id) {
                Kind::Native(number) => self.realm.natives[*number as usize].constructor,
                Kind::Closure(closure) => {
                    let func = &self.program.funcs[closure.func as usize];
                    !func.is_async
                        && !func.is_generator
                        && !matches!(func.kind, FuncKind::Arrow | FuncKind::Method)
                }
                Kind::Bound(bound) => self.is_constructor(bound.target),
                _ => false,
            },
            _ => false,
        }
    }

    /// `new` from a built-in function.
    pub(crate) fn construct(
        &mut self,
        func: Value,
        args: &[Value],
        new_target: Value,
    ) -> Res<Value> {
        self.native_depth += 1;
        let result = match self.push_args(args) {
            Ok(base) => {
                let result = self.construct_at(func, base, args.len(), new_target);
                self.top = base;
                result
            }
            Err(error) => Err(error),
        };
        self.native_depth -= 1;
        result
    }

    /// `new` with arguments on the stack, to the end of the construction.
    pub(super) fn construct_at(
        &mut self,
        func: Value,
        base: usize,
        argc: usize,
        new_target: Value,
    ) -> Res<Value> {
        if !self.is_constructor(func) {
            return Err(self.not_a_constructor());
        }
        if let Value::Obj(id) = func
            && let Kind::Closure(_) = self.heap.kind(id)
        {
            let stop = self.frames.len();
            let this = self.this_for_new(id, new_target)?;
            self.enter(id, this, (base, argc), new_target, 0)?;
            return self.run_nested(stop);
        }
        self.call_native(func, Value::Undefined, new_target, base, argc)
    }

    pub(super) fn not_a_constructor(&mut self) -> crate::value::Abrupt {
        let message = match self.callee_text() {
            Some(text) => format!("{text} is not a constructor."),
            None => "value is not a constructor.".to_owned(),
        };
        self.type_error(&message)
    }

    /// The object under construction; a hole for derived classes, whose `super()` makes it.
    pub(super) fn this_for_new(&mut self, id: ObjId, new_target: Value) -> Res<Value> {
        let Kind::Closure(closure) = self.heap.kind(id) else {
            return Ok(Value::Hole);
        };
        let kind = self.program.funcs[closure.func as usize].kind;
        if kind == FuncKind::DerivedConstructor {
            return Ok(Value::Hole);
        }
        let proto = self.proto_of_new(new_target, intrinsic::OBJECT_PROTO)?;
        let this = Value::Obj(self.heap.alloc(Some(proto), Kind::Ordinary));
        self.run_fields(id, this)?;
        Ok(this)
    }

    /// Runs the field initialisers of a class on a new object.
    pub(super) fn run_fields(&mut self, class: ObjId, this: Value) -> Res<()> {
        let Kind::Closure(closure) = self.heap.kind(class) else {
            return Ok(());
        };
        if let Some(fields) = closure.fields {
            self.native_depth += 1;
            let base = self.top;
            self.ensure_stack(base + 8)?;
            // The object must survive a collection while its fields are computed.
            self.stack[base] = this;
            self.top = base + 1;
            let result = self.call_outer(Value::Obj(fields), this, &[]);
            self.top = base;
            self.native_depth -= 1;
            result?;
        }
        Ok(())
    }

    /// The prototype that `new_target` asks for.
    pub(crate) fn proto_of_new(&mut self, new_target: Value, default: ObjId) -> Res<ObjId> {
        if new_target.is_undefined() {
            return Ok(default);
        }
        Ok(self
            .get(new_target, name::PROTOTYPE)?
            .as_obj()
            .unwrap_or(default))
    }
}

fn func_name(vm: &Vm, number: u32) -> crate::value::Key {
    vm.program.funcs[number as usize].name
}
