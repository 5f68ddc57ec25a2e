//! Bindings: which are captured, where they live, and when reading them needs a check.

use super::{Compiler, Var};
use crate::compiled::{Capture, Fault};
use crate::op::{Op, Reg};
use crate::value::Key;
use oxc_ast::ast::{BindingIdentifier, IdentifierReference, Statement};
use oxc_semantic::Scoping;
use oxc_syntax::scope::{ScopeFlags, ScopeId};
use oxc_syntax::symbol::{SymbolFlags, SymbolId};

/// Where a variable is found from the code being compiled.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Register(Reg),
    Cell(Reg),
    Upvalue(u16),
}

/// What a reference refers to.
pub(super) enum Target {
    Variable {
        symbol: Option<SymbolId>,
        var: Var,
        checked: bool,
    },
    Doomed,
    Global,
}

fn is_function_scope(flags: ScopeFlags) -> bool {
    flags.intersects(ScopeFlags::Function | ScopeFlags::ClassStaticBlock | ScopeFlags::Top)
}

impl<'a> Compiler<'a> {
    /// Finds out which bindings closures capture and which functions use `arguments`.
    pub(super) fn analyse(&mut self) {
        let scoping: &Scoping = self.scoping;
        let mut class_scope = vec![false; scoping.scopes_len()];
        for scope in scoping.scope_descendants_from_root() {
            let flags = scoping.scope_flags(scope);
            let parent = scoping.scope_parent_id(scope);
            let home = match parent {
                Some(parent) if !is_function_scope(flags) => self.func_scopes[parent.index()],
                _ => scope,
            };
            self.func_scopes.push(home);
            class_scope[scope.index()] =
                flags.contains(ScopeFlags::StrictMode) && !is_function_scope(flags);
        }
        self.captured = vec![false; scoping.symbols_len()];
        for symbol in scoping.symbol_ids() {
            let own = scoping.symbol_scope_id(symbol);
            let home = self.func_scopes[own.index()];
            let captured = scoping.get_resolved_references(symbol).any(|reference| {
                let from = reference.scope_id();
                self.func_scopes[from.index()] != home || crosses(scoping, &class_scope, from, own)
            });
            self.captured[symbol.index()] = captured;
        }
        let Some(ids) = scoping
            .root_unresolved_references()
            .iter()
            .find(|(name, _)| name.as_str() == "arguments")
        else {
            return;
        };
        for &id in ids.1 {
            let mut scope = scoping.get_reference(id).scope_id();
            let mut through_arrow = false;
            loop {
                let flags = scoping.scope_flags(scope);
                if flags.contains(ScopeFlags::Function) && !flags.contains(ScopeFlags::Arrow) {
                    let entry = self.args_scopes.entry(scope).or_insert(false);
                    *entry |= through_arrow;
                    break;
                }
                through_arrow |= flags.contains(ScopeFlags::Arrow) || class_scope[scope.index()];
                let Some(parent) = scoping.scope_parent_id(scope) else {
                    break;
                };
                scope = parent;
            }
        }
    }

    pub(super) fn is_captured(&self, var: Var) -> bool {
        match var {
            Var::Symbol(symbol) => self.captured[symbol.index()],
            Var::Private(_) => true,
            Var::Arguments(scope) => self.args_scopes.get(&scope).copied().unwrap_or(false),
        }
    }

    /// Gives every binding of a scope its register and hoists its functions. Registers are released by the caller.
    pub(super) fn enter_scope(
        &mut self,
        scope: Option<ScopeId>,
        body: &'a [Statement<'a>],
        in_switch: bool,
    ) {
        let Some(scope) = scope else { return };
        let scoping = self.scoping;
        for &symbol in scoping.get_bindings(scope).values() {
            self.declare(symbol, in_switch);
        }
        self.hoist_functions(body);
    }

    /// Allocates a binding that isn't allocated yet.
    pub(super) fn declare(&mut self, symbol: SymbolId, in_switch: bool) {
        let flags = self.scoping.symbol_flags(symbol);
        let value = SymbolFlags::Variable
            | SymbolFlags::Class
            | SymbolFlags::Function
            | SymbolFlags::CatchVariable;
        if !flags.intersects(value) || self.f().locals.contains_key(&Var::Symbol(symbol)) {
            return;
        }
        if in_switch {
            self.switch_symbols.insert(symbol);
        }
        let reg = self.temp();
        self.f().locals.insert(Var::Symbol(symbol), reg);
        let lexical = flags.intersects(SymbolFlags::BlockScopedVariable | SymbolFlags::Class)
            && !flags.intersects(SymbolFlags::FunctionScopedVariable | SymbolFlags::Function);
        self.ready[symbol.index()] = !lexical;
        if self.captured[symbol.index()] {
            self.emit(Op::NewCell { dst: reg });
            if !lexical {
                let mark = self.mark();
                let src = self.temp();
                self.emit(Op::LoadUndefined { dst: src });
                self.emit(Op::SetCell { cell: reg, src });
                self.release(mark);
            }
        } else if lexical {
            let at = self.emit(Op::LoadHole { dst: reg });
            self.holes.insert(symbol, at);
        } else {
            self.emit(Op::LoadUndefined { dst: reg });
        }
    }

    /// Allocates a binding that is read too early until it is initialised.
    pub(super) fn declare_empty(&mut self, symbol: SymbolId) {
        let reg = self.temp();
        self.f().locals.insert(Var::Symbol(symbol), reg);
        self.ready[symbol.index()] = false;
        if self.captured[symbol.index()] {
            self.emit(Op::NewCell { dst: reg });
        } else {
            let at = self.emit(Op::LoadHole { dst: reg });
            self.holes.insert(symbol, at);
        }
    }

    /// Forgets the bindings of a scope that ended, and drops the preparation of those whose early reads can't happen.
    pub(super) fn leave_scope(&mut self, scope: Option<ScopeId>) {
        let Some(scope) = scope else { return };
        let scoping = self.scoping;
        for &symbol in scoping.get_bindings(scope).values() {
            self.f().locals.remove(&Var::Symbol(symbol));
            if let Some(at) = self.holes.remove(&symbol) {
                self.f().code[at] = Op::Nop;
            }
        }
    }

    pub(super) fn hoist_functions(&mut self, body: &'a [Statement<'a>]) {
        for statement in body {
            let mut inner = statement;
            while let Statement::LabeledStatement(labelled) = inner {
                inner = &labelled.body;
            }
            if let Statement::FunctionDeclaration(function) = inner
                && function.body.is_some()
                && !function.declare
            {
                self.function_declaration(function);
            }
        }
    }

    pub(super) fn place(&mut self, var: Var) -> Option<Place> {
        let level = self.fns.len() - 1;
        if let Some(&reg) = self.fns[level].locals.get(&var) {
            return Some(if self.is_captured(var) {
                Place::Cell(reg)
            } else {
                Place::Register(reg)
            });
        }
        self.upvalue(level, var).map(Place::Upvalue)
    }

    fn upvalue(&mut self, level: usize, var: Var) -> Option<u16> {
        if let Some(at) = self.fns[level].captures.iter().position(|(v, _)| *v == var) {
            return Some(at as u16);
        }
        let outer = level.checked_sub(1)?;
        let capture = match self.fns[outer].locals.get(&var) {
            Some(&reg) => Capture::Register(reg),
            None => Capture::Upvalue(self.upvalue(outer, var)?),
        };
        self.fns[level].captures.push((var, capture));
        Some(self.fns[level].captures.len() as u16 - 1)
    }

    pub(super) fn target(&mut self, ident: &IdentifierReference<'a>) -> Target {
        let symbol = ident
            .reference_id
            .get()
            .and_then(|id| self.scoping.get_reference(id).symbol_id())
            .filter(|&s| self.has_value(s));
        let own_class = symbol.and_then(|s| self.own_classes.iter().rev().find(|(c, _)| *c == s));
        if let Some(&(_, var)) = own_class {
            return Target::Variable {
                symbol,
                var: Var::Private(var),
                checked: true,
            };
        }
        if let Some(symbol) = symbol {
            let local = self.f().locals.contains_key(&Var::Symbol(symbol));
            if local && self.initializing.contains(&symbol) {
                return Target::Doomed;
            }
            let checked = !self.ready[symbol.index()] || self.switch_symbols.contains(&symbol);
            if checked {
                self.holes.remove(&symbol);
            }
            return Target::Variable {
                symbol: Some(symbol),
                var: Var::Symbol(symbol),
                checked,
            };
        }
        if ident.name == "arguments"
            && let Some(scope) = self.arguments_scope()
        {
            return Target::Variable {
                symbol: None,
                var: Var::Arguments(scope),
                checked: false,
            };
        }
        Target::Global
    }

    fn has_value(&self, symbol: SymbolId) -> bool {
        let flags = self.scoping.symbol_flags(symbol);
        flags.intersects(
            SymbolFlags::Variable
                | SymbolFlags::Class
                | SymbolFlags::Function
                | SymbolFlags::CatchVariable,
        ) && !flags.contains(SymbolFlags::Ambient)
    }

    fn arguments_scope(&self) -> Option<ScopeId> {
        for f in self.fns.iter().rev() {
            if let Some(scope) = f.scope
                && f.locals.contains_key(&Var::Arguments(scope))
            {
                return Some(scope);
            }
        }
        None
    }

    /// The register of a plain local that can be read where it is.
    pub(super) fn local_register(&mut self, ident: &IdentifierReference<'a>) -> Option<Reg> {
        match self.target(ident) {
            Target::Variable {
                var,
                checked: false,
                ..
            } => match self.place(var)? {
                Place::Register(reg) => Some(reg),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn read_identifier(
        &mut self,
        ident: &IdentifierReference<'a>,
        dst: Reg,
        in_typeof: bool,
    ) {
        let old = self.at(ident.span);
        let name = self.key(ident.name.as_str());
        match self.target(ident) {
            Target::Doomed => {
                self.emit(Op::LoadHole { dst });
                self.emit(Op::CheckHole { src: dst, name });
            }
            Target::Variable { var, checked, .. } => {
                self.read_var(var, dst);
                if checked {
                    self.emit(Op::CheckHole { src: dst, name });
                }
            }
            Target::Global if in_typeof => {
                self.emit(Op::GetGlobalOrUndefined { dst, name });
            }
            Target::Global => {
                self.program
                    .free_names
                    .push((ident.name.to_string(), self.span));
                self.emit(Op::GetGlobal { dst, name });
            }
        }
        self.span = old;
    }

    pub(super) fn read_var(&mut self, var: Var, dst: Reg) {
        match self.place(var) {
            Some(Place::Register(src)) if src != dst => {
                self.emit(Op::Move { dst, src });
            }
            Some(Place::Cell(cell)) => {
                self.emit(Op::GetCell { dst, cell });
            }
            Some(Place::Upvalue(index)) => {
                self.emit(Op::GetUp { dst, index });
            }
            Some(Place::Register(_)) | None => {}
        }
    }

    fn write_var(&mut self, var: Var, src: Reg) {
        match self.place(var) {
            Some(Place::Register(dst)) if src != dst => {
                self.emit(Op::Move { dst, src });
            }
            Some(Place::Cell(cell)) => {
                self.emit(Op::SetCell { cell, src });
            }
            Some(Place::Upvalue(index)) => {
                self.emit(Op::SetUp { index, src });
            }
            Some(Place::Register(_)) | None => {}
        }
    }

    /// Assigns to a name: constants, undeclared names and bindings not initialised yet throw.
    pub(super) fn write_identifier(&mut self, ident: &IdentifierReference<'a>, src: Reg) {
        let old = self.at(ident.span);
        let name = self.key(ident.name.as_str());
        match self.target(ident) {
            Target::Doomed => {
                let mark = self.mark();
                let dst = self.temp();
                self.emit(Op::LoadHole { dst });
                self.emit(Op::CheckHole { src: dst, name });
                self.release(mark);
            }
            Target::Global => {
                let mark = self.mark();
                let dst = self.temp();
                self.program
                    .free_names
                    .push((ident.name.to_string(), self.span));
                self.emit(Op::GetGlobal { dst, name });
                self.fault(Fault::ConstAssign(name));
                self.release(mark);
            }
            Target::Variable {
                symbol,
                var,
                checked,
            } => {
                if checked {
                    let mark = self.mark();
                    let dst = self.temp();
                    self.read_var(var, dst);
                    self.emit(Op::CheckHole { src: dst, name });
                    self.release(mark);
                }
                let own_class =
                    symbol.is_some_and(|s| self.own_classes.iter().any(|(c, _)| *c == s));
                let fixed = own_class
                    || symbol.is_some_and(|s| {
                        self.scoping.symbol_flags(s).intersects(
                            SymbolFlags::ConstVariable | SymbolFlags::FunctionExpression,
                        )
                    });
                if fixed {
                    self.fault(Fault::ConstAssign(name));
                } else {
                    self.write_var(var, src);
                }
            }
        }
        self.span = old;
    }

    /// Gives a declared binding its first value.
    pub(super) fn initialise(&mut self, ident: &BindingIdentifier<'a>, src: Reg) {
        let Some(symbol) = ident.symbol_id.get() else {
            return;
        };
        self.initialise_symbol(symbol, src);
    }

    pub(super) fn initialise_symbol(&mut self, symbol: SymbolId, src: Reg) {
        self.write_var(Var::Symbol(symbol), src);
        self.ready[symbol.index()] = true;
    }

    /// The register in which a declaration may build its value directly.
    pub(super) fn direct_register(&mut self, ident: &BindingIdentifier<'a>) -> Option<Reg> {
        let symbol = ident.symbol_id.get()?;
        match self.place(Var::Symbol(symbol))? {
            Place::Register(reg) => Some(reg),
            _ => None,
        }
    }

    pub(super) fn name_key(&mut self, ident: &BindingIdentifier<'a>) -> Key {
        self.key(ident.name.as_str())
    }
}

/// Whether the way from scope `from` up to scope `own` passes a class body, whose initialisers are functions.
fn crosses(scoping: &Scoping, class_scope: &[bool], from: ScopeId, own: ScopeId) -> bool {
    let mut scope = from;
    while scope != own {
        if class_scope[scope.index()] {
            return true;
        }
        let Some(parent) = scoping.scope_parent_id(scope) else {
            return false;
        };
        scope = parent;
    }
    false
}
