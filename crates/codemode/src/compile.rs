//! From the syntax tree to register code, in one pass over the tree after the scopes are known.
//!
//! A binding lives in a register unless a closure captures it; then the register holds the cell that the closures
//! share. Syntax outside the language compiles to a fault that is raised only when control reaches it.

mod assign;
mod call;
mod class;
mod expression;
mod function;
mod iteration;
mod literal;
mod scope;
mod statement;
mod try_finally;

use crate::atoms::Names;
use crate::compiled::{Capture, Fault, Func, FuncKind, Handler, Program};
use crate::front::Main;
use crate::op::{Op, Reg};
use crate::text::{Text, push_code_point};
use crate::value::Key;
use oxc_ast::ast::{self, Statement};
use oxc_semantic::Scoping;
use oxc_syntax::scope::ScopeId;
use oxc_syntax::symbol::SymbolId;
use rustc_hash::{FxHashMap, FxHashSet};

/// Why a well-formed program couldn't be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CompileError {
    /// Errors that the standard wants told before anything runs, by offset.
    Early(Vec<(u32, String)>),
    /// A short jump doesn't reach; compiling again without short jumps helps.
    JumpTooFar,
    /// A function needs more registers, places or instructions than an instruction can name.
    TooLarge { span: u32 },
}

/// A variable as the compiler knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Var {
    Symbol(SymbolId),
    Private(u32),
    Arguments(ScopeId),
}

/// What encloses the code being compiled and has a say when control leaves it.
enum Enclosing {
    Breakable {
        labels: Vec<Key>,
        is_loop: bool,
        plain_break: bool,
        breaks: Vec<usize>,
        continues: Vec<usize>,
    },
    Iterator {
        iter: Reg,
        is_async: bool,
    },
    Finally {
        kind: Reg,
        value: Reg,
        exits: Vec<Exit>,
        entries: Vec<usize>,
    },
}

/// A way out through a `finally`; targets are positions in the enclosing list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exit {
    Break(usize),
    Continue(usize),
    Return,
}

/// The function being compiled.
struct FnState {
    code: Vec<Op>,
    spans: Vec<(u32, u32)>,
    callees: Vec<(u32, u32)>,
    handlers: Vec<Handler>,
    captures: Vec<(Var, Capture)>,
    locals: FxHashMap<Var, Reg>,
    sites: Vec<Key>,
    enclosing: Vec<Enclosing>,
    chain_exits: Vec<Vec<usize>>,
    top: u32,
    max: u32,
    scope: Option<ScopeId>,
    kind: FuncKind,
    is_async: bool,
    is_generator: bool,
    needs_args: bool,
    shares_this: bool,
}

pub(crate) struct Compiler<'a> {
    scoping: &'a Scoping,
    names: &'static Names,
    program: Program,
    fns: Vec<FnState>,
    captured: Vec<bool>,
    ready: Vec<bool>,
    initializing: Vec<SymbolId>,
    func_scopes: Vec<ScopeId>,
    args_scopes: FxHashMap<ScopeId, bool>,
    privates: Vec<FxHashMap<String, u32>>,
    private_count: u32,
    switch_symbols: FxHashSet<SymbolId>,
    /// Instructions that prepare a binding for reads before its declaration, until such a read is seen.
    holes: FxHashMap<SymbolId, usize>,
    short_jumps: bool,
    shift: u32,
    span: u32,
    error: Option<CompileError>,
    early: Vec<(u32, String)>,
    /// Classes being compiled whose name means the class itself inside, and the variable that holds it there.
    own_classes: Vec<(SymbolId, u32)>,
}

/// Compiles the statements of a program's body. `scope` is the scope of the function that wraps them and `shift` the
/// number of bytes before the submitted source.
pub(crate) fn compile<'a>(
    main: Main<'a>,
    scope: Option<ScopeId>,
    scoping: &'a Scoping,
    names: &'static Names,
    shift: u32,
    short_jumps: bool,
) -> Result<Program, CompileError> {
    let mut compiler = Compiler {
        scoping,
        names,
        program: Program::default(),
        fns: Vec::new(),
        captured: Vec::new(),
        ready: vec![false; scoping.symbols_len()],
        initializing: Vec::new(),
        func_scopes: Vec::new(),
        args_scopes: FxHashMap::default(),
        privates: Vec::new(),
        private_count: 0,
        switch_symbols: FxHashSet::default(),
        holes: FxHashMap::default(),
        short_jumps,
        shift,
        span: 0,
        error: None,
        early: Vec::new(),
        own_classes: Vec::new(),
    };
    compiler.analyse();
    compiler.main(main, scope);
    if !compiler.early.is_empty() {
        return Err(CompileError::Early(compiler.early));
    }
    match compiler.error {
        Some(error) => Err(error),
        None => Ok(compiler.program),
    }
}

impl<'a> Compiler<'a> {
    fn main(&mut self, main: Main<'a>, scope: Option<ScopeId>) {
        self.program.funcs.push(placeholder());
        self.fns
            .push(FnState::new(FuncKind::Arrow, true, false, scope));
        match main {
            Main::Value(e) => {
                self.enter_scope(scope, &[], false);
                let src = self.expr(e);
                self.emit(Op::Return { src });
            }
            Main::Statements { directives, list } => {
                self.enter_scope(scope, list, false);
                self.main_statements(directives, list);
            }
        }
        self.emit(Op::ReturnUndefined);
        self.leave_scope(scope);
        let name = self.key("");
        let func = self.finish_fn(name, (0, 0), (0, 0));
        self.program.funcs[0] = func;
    }

    /// The statements of the program; a last one that is an expression gives the result.
    fn main_statements(&mut self, directives: &'a [ast::Directive<'a>], list: &'a [Statement<'a>]) {
        if let (Some(last), true) = (directives.last(), list.is_empty()) {
            let src = self.temp();
            self.load_str(
                src,
                literal_text(
                    last.expression.value.as_str(),
                    last.expression.lone_surrogates,
                ),
            );
            self.emit(Op::Return { src });
        }
        let Some((last, before)) = list.split_last() else {
            return;
        };
        self.statements(before);
        if let Statement::ExpressionStatement(expression) = last {
            let src = self.expr(&expression.expression);
            self.emit(Op::Return { src });
        } else {
            self.statement(last);
        }
    }

    fn f(&mut self) -> &mut FnState {
        let last = self.fns.len() - 1;
        &mut self.fns[last]
    }

    fn emit(&mut self, op: Op) -> usize {
        let span = self.span;
        let f = self.f();
        let at = f.code.len() as u32;
        if f.spans.last().is_none_or(|&(_, s)| s != span) {
            f.spans.push((at, span));
        }
        f.code.push(op);
        at as usize
    }

    /// Where a piece of the tree stands in the submitted source; empty when it is the prelude's.
    fn place_in_source(&self, span: oxc_span::Span) -> (u32, u32) {
        let at = |offset: u32| offset.checked_sub(self.shift);
        match (at(span.start), at(span.end)) {
            (Some(start), Some(end)) => (start, end),
            _ => (0, 0),
        }
    }

    /// Sets the place that instructions emitted from now on are blamed on, and returns the former one.
    fn at(&mut self, span: oxc_span::Span) -> u32 {
        std::mem::replace(&mut self.span, span.start.saturating_sub(self.shift))
    }

    fn temp(&mut self) -> Reg {
        self.temps(1)
    }

    /// Allocates `count` neighbouring registers.
    fn temps(&mut self, count: u32) -> Reg {
        let span = self.span;
        let f = self.f();
        let reg = f.top;
        f.top += count;
        f.max = f.max.max(f.top);
        if f.top > 60_000 {
            f.top = reg;
            self.error.get_or_insert(CompileError::TooLarge { span });
        }
        reg as Reg
    }

    fn mark(&mut self) -> u32 {
        self.f().top
    }

    fn release(&mut self, mark: u32) {
        self.f().top = mark;
    }

    fn site(&mut self, key: Key) -> u16 {
        let span = self.span;
        let f = self.f();
        f.sites.push(key);
        let site = f.sites.len() - 1;
        if site > 65_000 {
            self.error.get_or_insert(CompileError::TooLarge { span });
        }
        site as u16
    }

    fn fault(&mut self, fault: Fault) {
        self.program.faults.push(fault);
        let k = self.program.faults.len() as u32 - 1;
        self.emit(Op::Fault { k });
    }

    fn unsupported(&mut self, node: &'static str, advice: &'static str) {
        self.fault(Fault::Unsupported { node, advice });
    }

    /// Interns text as a string constant: never an index key.
    fn atom(&mut self, text: Text) -> Key {
        if let Some(&id) = self
            .names
            .map
            .get(&text)
            .or_else(|| self.program.atom_map.get(&text))
        {
            return Key(id);
        }
        let id = (self.names.texts.len() + self.program.atoms.len()) as u32;
        self.program.atoms.push(text.clone());
        self.program.atom_map.insert(text, id);
        Key(id)
    }

    fn key(&mut self, name: &str) -> Key {
        self.atom(Text::new(name))
    }

    /// The property key that a text names.
    fn prop_key(&mut self, text: Text) -> Key {
        match crate::atoms::index_of(text.units()) {
            Some(index) => Key::index(index),
            None => self.atom(text),
        }
    }

    fn jump_here(&mut self, at: usize) {
        let here = self.f().code.len();
        self.patch(at, here);
    }

    fn jumps_here(&mut self, list: &[usize]) {
        for &at in list {
            self.jump_here(at);
        }
    }

    /// Points the jump at `at` to `target`.
    fn patch(&mut self, at: usize, target: usize) {
        let offset = target as i64 - (at as i64 + 1);
        let fits = i16::try_from(offset).is_ok();
        if !set_offset(&mut self.f().code[at], offset as i32) && !fits {
            self.error.get_or_insert(CompileError::JumpTooFar);
        }
    }

    fn here(&mut self) -> usize {
        self.f().code.len()
    }

    fn jump_back(&mut self, target: usize) {
        let at = self.emit(Op::Jump { to: 0 });
        self.patch(at, target);
    }

    fn load_num(&mut self, dst: Reg, value: f64) {
        let int = value as i32;
        if f64::from(int) == value && !(value == 0.0 && value.is_sign_negative()) {
            self.emit(Op::LoadInt { dst, value: int });
            return;
        }
        self.program.nums.push(value);
        let k = self.program.nums.len() as u32 - 1;
        self.emit(Op::LoadNum { dst, k });
    }

    fn load_str(&mut self, dst: Reg, text: Text) {
        let key = self.atom(text);
        self.emit(Op::LoadStr { dst, key });
    }

    /// Closes the function being compiled.
    fn finish_fn(&mut self, name: Key, (params, length): (u16, u16), source: (u32, u32)) -> Func {
        let Some(f) = self.fns.pop() else {
            return placeholder();
        };
        let site_base = self.program.sites;
        self.program.sites += f.sites.len() as u32;
        let mut func = Func {
            name,
            kind: f.kind,
            is_async: f.is_async,
            is_generator: f.is_generator,
            needs_args: f.needs_args,
            shares_this: f.shares_this,
            params,
            length,
            regs: f.max.max(u32::from(params)) as u16 + 4,
            source,
            code: f.code,
            spans: f.spans,
            callees: f.callees,
            handlers: f.handlers,
            captures: f.captures.into_iter().map(|(_, c)| c).collect(),
            sites: f.sites,
            site_base,
        };
        compact(&mut func);
        func
    }
}

impl FnState {
    fn new(kind: FuncKind, is_async: bool, is_generator: bool, scope: Option<ScopeId>) -> FnState {
        FnState {
            code: Vec::new(),
            spans: Vec::new(),
            callees: Vec::new(),
            handlers: Vec::new(),
            captures: Vec::new(),
            locals: FxHashMap::default(),
            sites: Vec::new(),
            enclosing: Vec::new(),
            chain_exits: Vec::new(),
            top: 0,
            max: 0,
            scope,
            kind,
            is_async,
            is_generator,
            needs_args: false,
            shares_this: false,
        }
    }
}

fn placeholder() -> Func {
    Func {
        name: Key(0),
        kind: FuncKind::Normal,
        is_async: false,
        is_generator: false,
        needs_args: false,
        shares_this: false,
        params: 0,
        length: 0,
        regs: 0,
        source: (0, 0),
        code: Vec::new(),
        spans: Vec::new(),
        callees: Vec::new(),
        handlers: Vec::new(),
        captures: Vec::new(),
        sites: Vec::new(),
        site_base: 0,
    }
}

/// Writes a jump's offset; false when the instruction has room for a short one only.
fn set_offset(op: &mut Op, offset: i32) -> bool {
    match op {
        Op::Jump { to }
        | Op::JumpTrue { to, .. }
        | Op::JumpFalse { to, .. }
        | Op::JumpNullish { to, .. }
        | Op::JumpNotNullish { to, .. }
        | Op::JumpNotUndefined { to, .. } => {
            *to = offset;
            true
        }
        Op::JumpLt { to, .. }
        | Op::JumpLe { to, .. }
        | Op::JumpGt { to, .. }
        | Op::JumpGe { to, .. }
        | Op::JumpSame { to, .. }
        | Op::JumpNotLt { to, .. }
        | Op::JumpNotLe { to, .. }
        | Op::JumpNotGt { to, .. }
        | Op::JumpNotGe { to, .. }
        | Op::JumpNotSame { to, .. } => {
            *to = offset as i16;
            false
        }
        _ => true,
    }
}

fn offset_of(op: &Op) -> Option<i32> {
    match *op {
        Op::Jump { to }
        | Op::JumpTrue { to, .. }
        | Op::JumpFalse { to, .. }
        | Op::JumpNullish { to, .. }
        | Op::JumpNotNullish { to, .. }
        | Op::JumpNotUndefined { to, .. } => Some(to),
        Op::JumpLt { to, .. }
        | Op::JumpLe { to, .. }
        | Op::JumpGt { to, .. }
        | Op::JumpGe { to, .. }
        | Op::JumpSame { to, .. }
        | Op::JumpNotLt { to, .. }
        | Op::JumpNotLe { to, .. }
        | Op::JumpNotGt { to, .. }
        | Op::JumpNotGe { to, .. }
        | Op::JumpNotSame { to, .. } => Some(i32::from(to)),
        _ => None,
    }
}

/// Drops the instructions that turned out to be needless and moves jumps, ranges and places along.
fn compact(func: &mut Func) {
    if !func.code.iter().any(|op| matches!(op, Op::Nop)) {
        return;
    }
    let mut moved = Vec::with_capacity(func.code.len() + 1);
    let mut next = 0u32;
    for op in &func.code {
        moved.push(next);
        next += u32::from(!matches!(op, Op::Nop));
    }
    moved.push(next);
    let old = std::mem::take(&mut func.code);
    for (at, mut op) in old.into_iter().enumerate() {
        if matches!(op, Op::Nop) {
            continue;
        }
        if let Some(offset) = offset_of(&op) {
            let target = (at as i64 + 1 + i64::from(offset)) as usize;
            set_offset(&mut op, moved[target] as i32 - (moved[at] as i32 + 1));
        }
        func.code.push(op);
    }
    for handler in &mut func.handlers {
        handler.start = moved[handler.start as usize];
        handler.end = moved[handler.end as usize];
        handler.target = moved[handler.target as usize];
    }
    for span in func.spans.iter_mut().chain(&mut func.callees) {
        span.0 = moved[span.0 as usize];
    }
}

/// Text of a literal in which oxc escapes lone surrogates as U+FFFD and four hexadecimal digits.
fn literal_text(value: &str, lone_surrogates: bool) -> Text {
    if !lone_surrogates {
        return Text::new(value);
    }
    let mut units = Vec::new();
    let mut rest = value;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c == '\u{FFFD}'
            && let Some(code) = rest.get(..4).and_then(|h| u16::from_str_radix(h, 16).ok())
        {
            units.push(code);
            rest = &rest[4..];
        } else {
            push_code_point(&mut units, c as u32);
        }
    }
    Text::from_units(units)
}
