//! Functions: parameters, the hoisted part of the body, and the closures made of them.

use super::{Compiler, FnState, Var};
use crate::compiled::FuncKind;
use crate::op::{Op, Reg};
use crate::value::Key;
use oxc_ast::ast::{
    self, ArrowFunctionBody, BindingPattern, Expression, FormalParameters, Statement,
};
use oxc_syntax::scope::ScopeId;
use oxc_syntax::symbol::{SymbolFlags, SymbolId};

/// What a function runs.
#[derive(Clone, Copy)]
pub(super) enum Body<'a> {
    Statements(&'a [Statement<'a>]),
    Value(&'a Expression<'a>),
}

/// A function about to be compiled.
pub(super) struct Parts<'a> {
    pub(super) params: &'a FormalParameters<'a>,
    pub(super) body: Body<'a>,
    pub(super) scope: Option<ScopeId>,
    pub(super) kind: FuncKind,
    pub(super) is_async: bool,
    pub(super) is_generator: bool,
    pub(super) name: Key,
    pub(super) own_name: Option<SymbolId>,
    /// Where its text stands, which `toString` gives.
    pub(super) span: oxc_span::Span,
}

impl<'a> Compiler<'a> {
    /// Compiles a function of the program and returns its number.
    pub(super) fn compile_function(&mut self, parts: &Parts<'a>) -> u32 {
        let old = self.span;
        if parts.kind == FuncKind::Arrow {
            let owner = self
                .fns
                .iter_mut()
                .rev()
                .find(|f| f.kind != FuncKind::Arrow);
            if let Some(owner) = owner {
                owner.shares_this = owner.kind == FuncKind::DerivedConstructor;
            }
        }
        let index = self.reserve_function();
        self.fns.push(FnState::new(
            parts.kind,
            parts.is_async,
            parts.is_generator,
            parts.scope,
        ));
        self.prologue(parts);
        match parts.body {
            Body::Statements(list) => {
                self.hoist(list);
                self.statements(list);
                self.emit(Op::ReturnUndefined);
            }
            Body::Value(e) => {
                let src = self.expr(e);
                self.emit(Op::Return { src });
            }
        }
        self.leave_scope(parts.scope);
        let items = &parts.params.items;
        let length = items
            .iter()
            .position(|p| {
                p.initializer.is_some() || matches!(p.pattern, BindingPattern::AssignmentPattern(_))
            })
            .unwrap_or(items.len());
        let source = self.place_in_source(parts.span);
        let func = self.finish_fn(parts.name, (items.len() as u16, length as u16), source);
        self.program.funcs[index as usize] = func;
        self.span = old;
        index
    }

    pub(super) fn reserve_function(&mut self) -> u32 {
        self.program.funcs.push(super::placeholder());
        self.program.funcs.len() as u32 - 1
    }

    pub(super) fn hoist(&mut self, list: &'a [Statement<'a>]) {
        self.hoist_functions(list);
    }

    fn prologue(&mut self, parts: &Parts<'a>) {
        let items = &parts.params.items;
        self.temps(items.len() as u32);
        // With expressions among them, parameters come into being one after the other.
        let in_order = has_expressions(parts.params);
        for (at, item) in items.iter().enumerate() {
            if !in_order
                && let BindingPattern::BindingIdentifier(ident) = &item.pattern
                && let Some(symbol) = ident.symbol_id.get()
            {
                self.f().locals.insert(Var::Symbol(symbol), at as Reg);
                self.ready[symbol.index()] = true;
            }
        }
        let captured: Vec<Reg> = {
            let locals: Vec<(Var, Reg)> = self.f().locals.iter().map(|(v, r)| (*v, *r)).collect();
            locals
                .into_iter()
                .filter(|(v, _)| self.is_captured(*v))
                .map(|(_, r)| r)
                .collect()
        };
        for reg in captured {
            self.emit(Op::WrapCell { reg });
        }
        self.arguments_and_name(parts);
        if in_order {
            self.declare_parameters(parts.params);
        }
        if let Some(scope) = parts.scope {
            let scoping = self.scoping;
            for &symbol in scoping.get_bindings(scope).values() {
                self.declare(symbol, false);
            }
        }
        self.bind_parameters(parts, in_order);
        if parts.is_generator {
            self.emit(Op::InitialYield);
        }
    }

    fn arguments_and_name(&mut self, parts: &Parts<'a>) {
        if let Some(scope) = parts.scope
            && parts.kind != FuncKind::Arrow
            && let Some(&captured) = self.args_scopes.get(&scope)
        {
            let reg = self.temp();
            self.f().needs_args = true;
            self.emit(Op::Arguments { dst: reg });
            if captured {
                self.emit(Op::WrapCell { reg });
            }
            self.f().locals.insert(Var::Arguments(scope), reg);
        }
        let Some(symbol) = parts.own_name else { return };
        if self.f().locals.contains_key(&Var::Symbol(symbol)) {
            return;
        }
        // The name may have been taken over by a variable of the body.
        let flags = self.scoping.symbol_flags(symbol);
        let reg = self.temp();
        self.emit(Op::LoadCallee { dst: reg });
        if self.captured[symbol.index()] {
            self.emit(Op::WrapCell { reg });
        }
        self.f().locals.insert(Var::Symbol(symbol), reg);
        self.ready[symbol.index()] = true;
        debug_assert!(flags.intersects(SymbolFlags::Function));
    }

    /// Gives parameters their registers, empty until each is bound.
    fn declare_parameters(&mut self, params: &'a FormalParameters<'a>) {
        let rest = params.rest.iter().map(|rest| &rest.rest.argument);
        let patterns = params.items.iter().map(|item| &item.pattern).chain(rest);
        for ident in patterns.flat_map(|pattern| pattern.get_binding_identifiers()) {
            if let Some(symbol) = ident.symbol_id.get() {
                self.declare_empty(symbol);
            }
        }
    }

    fn bind_parameters(&mut self, parts: &Parts<'a>, in_order: bool) {
        for (at, item) in parts.params.items.iter().enumerate() {
            let reg = at as Reg;
            let mark = self.mark();
            let old = self.at(item.span);
            if item.accessibility.is_some() || item.readonly || item.r#override {
                self.unsupported(
                    "TSParameterProperty",
                    "declare the field and assign it in the constructor",
                );
            }
            match (&item.pattern, &item.initializer) {
                (BindingPattern::BindingIdentifier(ident), None) => {
                    if in_order {
                        self.initialise(ident, reg);
                    }
                }
                (BindingPattern::BindingIdentifier(ident), Some(init)) if in_order => {
                    self.parameter_default(reg, init, Some(ident.name.as_str()));
                    self.initialise(ident, reg);
                }
                (pattern, init) => {
                    if let Some(init) = init {
                        self.parameter_default(reg, init, super::assign::binding_name(pattern));
                    }
                    self.bind_pattern(pattern, reg);
                }
            }
            self.span = old;
            self.release(mark);
        }
        if let Some(rest) = &parts.params.rest {
            let mark = self.mark();
            let src = self.temp();
            self.f().needs_args = true;
            self.emit(Op::RestArgs {
                dst: src,
                from: parts.params.items.len() as u16,
            });
            self.bind_pattern(&rest.rest.argument, src);
            self.release(mark);
        }
    }

    fn parameter_default(&mut self, value: Reg, init: &'a Expression<'a>, name: Option<&str>) {
        self.default_value(value, init, name);
    }

    fn closure(&mut self, parts: &Parts<'a>, dst: Reg) {
        let func = self.compile_function(parts);
        self.emit(Op::Closure { dst, func });
    }

    /// A hoisted declaration: makes the function and gives it to its name.
    pub(super) fn function_declaration(&mut self, f: &'a ast::Function<'a>) {
        let (Some(id), Some(body)) = (&f.id, &f.body) else {
            return;
        };
        let mark = self.mark();
        let name = self.key(id.name.as_str());
        let dst = self.temp();
        let parts = Parts {
            params: &f.params,
            body: Body::Statements(&body.statements),
            scope: f.scope_id.get(),
            kind: FuncKind::Normal,
            is_async: f.r#async,
            is_generator: f.generator,
            name,
            own_name: None,
            span: f.span,
        };
        self.closure(&parts, dst);
        self.initialise(id, dst);
        self.release(mark);
    }

    /// Control passes a declaration: it was hoisted already.
    pub(super) fn function_reached(&mut self, _f: &'a ast::Function<'a>) {}

    pub(super) fn function_expression(
        &mut self,
        f: &'a ast::Function<'a>,
        dst: Reg,
        name: Option<Key>,
    ) {
        let name = match (&f.id, name) {
            (Some(id), _) => self.key(id.name.as_str()),
            (None, Some(name)) => name,
            (None, None) => self.key(""),
        };
        let own_name = f.id.as_ref().and_then(|id| id.symbol_id.get());
        self.function_value(f, dst, FuncKind::Normal, (name, own_name), f.span);
    }

    /// A method or accessor; its name is set at run time.
    pub(super) fn method_function(
        &mut self,
        f: &'a ast::Function<'a>,
        dst: Reg,
        span: oxc_span::Span,
    ) {
        let name = self.key("");
        self.function_value(f, dst, FuncKind::Method, (name, None), span);
    }

    fn function_value(
        &mut self,
        f: &'a ast::Function<'a>,
        dst: Reg,
        kind: FuncKind,
        (name, own_name): (Key, Option<SymbolId>),
        span: oxc_span::Span,
    ) {
        let parts = Parts {
            params: &f.params,
            body: Body::Statements(f.body.as_ref().map_or(&[], |b| &b.statements)),
            scope: f.scope_id.get(),
            kind,
            is_async: f.r#async,
            is_generator: f.generator,
            name,
            own_name,
            span,
        };
        self.closure(&parts, dst);
    }

    pub(super) fn arrow(
        &mut self,
        f: &'a ast::ArrowFunctionExpression<'a>,
        dst: Reg,
        name: Option<Key>,
    ) {
        let name = match name {
            Some(name) => name,
            None => self.key(""),
        };
        let body = match &f.body {
            ArrowFunctionBody::FunctionBody(body) => Body::Statements(&body.statements),
            other => match other.as_expression() {
                Some(e) => Body::Value(e),
                None => Body::Statements(&[]),
            },
        };
        let parts = Parts {
            params: &f.params,
            body,
            scope: f.scope_id.get(),
            kind: FuncKind::Arrow,
            is_async: f.r#async,
            is_generator: false,
            name,
            own_name: None,
            span: f.span,
        };
        self.closure(&parts, dst);
    }
}

/// Whether evaluating the parameters evaluates expressions.
fn has_expressions(params: &FormalParameters<'_>) -> bool {
    let plain =
        |pattern: &BindingPattern<'_>| matches!(pattern, BindingPattern::BindingIdentifier(_));
    let items = params.items.iter();
    items
        .clone()
        .any(|item| item.initializer.is_some() || !plain(&item.pattern))
        || params
            .rest
            .as_ref()
            .is_some_and(|rest| !plain(&rest.rest.argument))
}
