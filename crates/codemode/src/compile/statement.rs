//! Statements.

use super::{Compiler, Enclosing, Exit, Var};
use crate::op::{Op, Reg};
use crate::value::Key;
use oxc_ast::ast::{self, Expression, ForStatementInit, Statement, VariableDeclarationKind};
use oxc_span::GetSpan;
use oxc_syntax::scope::ScopeId;
use oxc_syntax::symbol::SymbolFlags;

const MODULES: &str = "modules aren't available; use the tools and built-ins in scope";

impl<'a> Compiler<'a> {
    pub(super) fn statement(&mut self, statement: &'a Statement<'a>) {
        self.labelled_statement(statement, Vec::new());
    }

    pub(super) fn statements(&mut self, list: &'a [Statement<'a>]) {
        for statement in list {
            self.statement(statement);
        }
    }

    fn labelled_statement(&mut self, statement: &'a Statement<'a>, labels: Vec<Key>) {
        let mark = self.mark();
        let old = self.at(statement.span());
        match statement {
            Statement::BlockStatement(block) => {
                self.with_labels(labels, |c| c.block(block.scope_id.get(), &block.body));
            }
            Statement::EmptyStatement(_) | Statement::DebuggerStatement(_) => {}
            Statement::ExpressionStatement(e) => self.effect(&e.expression),
            Statement::IfStatement(s) => self.with_labels(labels, |c| c.if_statement(s)),
            Statement::ForStatement(s) => self.for_statement(s, labels),
            Statement::WhileStatement(s) => self.while_statement(s, labels),
            Statement::DoWhileStatement(s) => self.do_while_statement(s, labels),
            Statement::ForOfStatement(s) => self.for_of_statement(s, labels),
            Statement::ForInStatement(s) => self.for_in_statement(s, labels),
            Statement::ReturnStatement(s) => self.return_statement(s),
            Statement::BreakStatement(s) => self.break_statement(s.label.as_ref()),
            Statement::ContinueStatement(s) => self.continue_statement(s.label.as_ref()),
            Statement::LabeledStatement(s) => {
                let mut labels = labels;
                labels.push(self.key(s.label.name.as_str()));
                self.labelled_statement(&s.body, labels);
            }
            Statement::SwitchStatement(s) => self.switch_statement(s, labels),
            Statement::ThrowStatement(s) => {
                let src = self.expr(&s.argument);
                self.at(s.span);
                self.emit(Op::Throw { src });
            }
            Statement::TryStatement(s) => self.with_labels(labels, |c| c.try_statement(s)),
            Statement::VariableDeclaration(d) => self.variable_declaration(d),
            Statement::FunctionDeclaration(f) => self.function_reached(f),
            Statement::ClassDeclaration(class) => self.class_declaration(class),
            Statement::TSTypeAliasDeclaration(_)
            | Statement::TSInterfaceDeclaration(_)
            | Statement::TSGlobalDeclaration(_) => {}
            Statement::WithStatement(_) => {
                self.unsupported("WithStatement", "name the object at each access");
            }
            Statement::TSEnumDeclaration(_) => {
                self.unsupported(
                    "TSEnumDeclaration",
                    "use an object literal instead of an enum",
                );
            }
            Statement::TSNamespaceDeclaration(_) | Statement::TSExternalModuleDeclaration(_) => {
                self.unsupported(
                    "TSModuleDeclaration",
                    "use an object literal instead of a namespace",
                );
            }
            Statement::TSImportEqualsDeclaration(_)
            | Statement::TSExportAssignment(_)
            | Statement::TSNamespaceExportDeclaration(_) => {
                self.unsupported("TSImportEqualsDeclaration", MODULES);
            }
            Statement::ImportDeclaration(_) => self.unsupported("ImportDeclaration", MODULES),
            Statement::ExportAllDeclaration(_) => self.unsupported("ExportAllDeclaration", MODULES),
            Statement::ExportDefaultDeclaration(_) => {
                self.unsupported("ExportDefaultDeclaration", MODULES);
            }
            Statement::ExportDeclaration(_)
            | Statement::ExportNamedDeclaration(_)
            | Statement::ExportFromDeclaration(_) => {
                self.unsupported("ExportNamedDeclaration", MODULES);
            }
        }
        self.span = old;
        self.release(mark);
    }

    /// Runs `body` inside a target for `break label`, when there are labels.
    fn with_labels(&mut self, labels: Vec<Key>, body: impl FnOnce(&mut Self)) {
        if labels.is_empty() {
            body(self);
            return;
        }
        self.push_breakable(labels, false, false);
        body(self);
        self.pop_breakable();
    }

    pub(super) fn push_breakable(&mut self, labels: Vec<Key>, is_loop: bool, plain_break: bool) {
        let entry = Enclosing::Breakable {
            labels,
            is_loop,
            plain_break,
            breaks: Vec::new(),
            continues: Vec::new(),
        };
        self.f().enclosing.push(entry);
    }

    /// Lands the `continue` jumps here.
    pub(super) fn land_continues(&mut self) {
        let list = match self.f().enclosing.last_mut() {
            Some(Enclosing::Breakable { continues, .. }) => std::mem::take(continues),
            _ => Vec::new(),
        };
        self.jumps_here(&list);
    }

    /// Ends the innermost breakable and lands its `break` jumps here.
    pub(super) fn pop_breakable(&mut self) {
        if let Some(Enclosing::Breakable { breaks, .. }) = self.f().enclosing.pop() {
            self.jumps_here(&breaks);
        }
    }

    pub(super) fn block(&mut self, scope: Option<ScopeId>, body: &'a [Statement<'a>]) {
        let mark = self.mark();
        self.enter_scope(scope, body, false);
        self.statements(body);
        self.leave_scope(scope);
        self.release(mark);
    }

    fn if_statement(&mut self, s: &'a ast::IfStatement<'a>) {
        let to_else = self.condition(&s.test, false);
        self.scoped_body(&s.consequent);
        match &s.alternate {
            Some(alternate) => {
                let end = self.emit(Op::Jump { to: 0 });
                self.jumps_here(&to_else);
                self.scoped_body(alternate);
                self.jump_here(end);
            }
            None => self.jumps_here(&to_else),
        }
    }

    /// A statement that may be a function declaration without a block around it.
    fn scoped_body(&mut self, body: &'a Statement<'a>) {
        if let Statement::FunctionDeclaration(function) = body {
            self.function_declaration(function);
        }
        self.statement(body);
    }

    fn while_statement(&mut self, s: &'a ast::WhileStatement<'a>, labels: Vec<Key>) {
        self.push_breakable(labels, true, true);
        let to_end = self.condition(&s.test, false);
        let start = self.here();
        self.statement(&s.body);
        self.land_continues();
        self.loop_condition(&s.test, start);
        self.jumps_here(&to_end);
        self.pop_breakable();
    }

    /// Evaluates a loop's condition at its end and jumps back to `start` while it holds.
    fn loop_condition(&mut self, test: &'a Expression<'a>, start: usize) {
        let back = self.condition(test, true);
        for at in back {
            self.patch(at, start);
        }
    }

    fn do_while_statement(&mut self, s: &'a ast::DoWhileStatement<'a>, labels: Vec<Key>) {
        self.push_breakable(labels, true, true);
        let start = self.here();
        self.statement(&s.body);
        self.land_continues();
        self.loop_condition(&s.test, start);
        self.pop_breakable();
    }

    fn for_statement(&mut self, s: &'a ast::ForStatement<'a>, labels: Vec<Key>) {
        let scope = s.scope_id.get();
        self.enter_scope(scope, &[], false);
        match &s.init {
            Some(ForStatementInit::VariableDeclaration(d)) => self.variable_declaration(d),
            Some(init) => {
                if let Some(e) = init.as_expression() {
                    self.effect(e);
                }
            }
            None => {}
        }
        let fresh = self.captured_registers(scope);
        self.push_breakable(labels, true, true);
        let to_end = match &s.test {
            Some(test) => self.condition(test, false),
            None => Vec::new(),
        };
        let start = self.here();
        self.statement(&s.body);
        self.land_continues();
        for reg in fresh {
            self.emit(Op::FreshCell { reg });
        }
        if let Some(update) = &s.update {
            self.effect(update);
        }
        match &s.test {
            Some(test) => self.loop_condition(test, start),
            None => self.jump_back(start),
        }
        self.jumps_here(&to_end);
        self.pop_breakable();
        self.leave_scope(scope);
    }

    fn captured_registers(&mut self, scope: Option<ScopeId>) -> Vec<Reg> {
        let Some(scope) = scope else {
            return Vec::new();
        };
        let scoping = self.scoping;
        let mut list = Vec::new();
        for &symbol in scoping.get_bindings(scope).values() {
            let lexical = scoping
                .symbol_flags(symbol)
                .contains(SymbolFlags::BlockScopedVariable);
            if lexical
                && self.captured[symbol.index()]
                && let Some(&reg) = self.f().locals.get(&Var::Symbol(symbol))
            {
                list.push(reg);
            }
        }
        list
    }

    fn switch_statement(&mut self, s: &'a ast::SwitchStatement<'a>, labels: Vec<Key>) {
        let value = self.temp();
        self.expr_to(&s.discriminant, value);
        let scope = s.scope_id.get();
        self.enter_scope(scope, &[], true);
        for case in &s.cases {
            for statement in &case.consequent {
                if let Statement::FunctionDeclaration(function) = statement {
                    self.function_declaration(function);
                }
            }
        }
        self.push_breakable(labels, false, true);
        let mut entries = Vec::new();
        for case in &s.cases {
            let Some(test) = &case.test else {
                entries.push(None);
                continue;
            };
            let mark = self.mark();
            let old = self.at(test.span());
            let b = self.expr(test);
            let dst = self.temp();
            self.emit(Op::Same { dst, a: value, b });
            entries.push(Some(self.emit(Op::JumpTrue { src: dst, to: 0 })));
            self.span = old;
            self.release(mark);
        }
        let default = self.emit(Op::Jump { to: 0 });
        let mut has_default = false;
        for (case, entry) in s.cases.iter().zip(entries) {
            match entry {
                Some(at) => self.jump_here(at),
                None => {
                    has_default = true;
                    self.jump_here(default);
                }
            }
            self.statements(&case.consequent);
        }
        if !has_default {
            self.jump_here(default);
        }
        self.pop_breakable();
        self.leave_scope(scope);
    }

    fn break_statement(&mut self, label: Option<&ast::LabelIdentifier<'a>>) {
        let label = label.map(|l| self.key(l.name.as_str()));
        let found = self.f().enclosing.iter().rposition(|e| match e {
            Enclosing::Breakable {
                labels,
                plain_break,
                ..
            } => label.map_or(*plain_break, |l| labels.contains(&l)),
            _ => false,
        });
        if let Some(at) = found {
            self.leave(Exit::Break(at));
        }
    }

    fn continue_statement(&mut self, label: Option<&ast::LabelIdentifier<'a>>) {
        let label = label.map(|l| self.key(l.name.as_str()));
        let found = self.f().enclosing.iter().rposition(|e| match e {
            Enclosing::Breakable {
                labels, is_loop, ..
            } => *is_loop && label.is_none_or(|l| labels.contains(&l)),
            _ => false,
        });
        if let Some(at) = found {
            self.leave(Exit::Continue(at));
        }
    }

    fn return_statement(&mut self, s: &'a ast::ReturnStatement<'a>) {
        let Some(argument) = &s.argument else {
            let src = self.temp();
            self.emit(Op::LoadUndefined { dst: src });
            self.return_value(src);
            return;
        };
        let src = self.expr(argument);
        self.return_value(src);
    }

    /// Leaves the function with the value of a register, through whatever encloses the code.
    pub(super) fn return_value(&mut self, src: Reg) {
        let f = self.f();
        let mut src = src;
        if f.is_async && f.is_generator {
            let dst = self.temp();
            self.emit(Op::Await { dst, src });
            src = dst;
        }
        if self
            .f()
            .enclosing
            .iter()
            .all(|e| matches!(e, Enclosing::Breakable { .. }))
        {
            self.emit(Op::Return { src });
            return;
        }
        // A local could change while the enclosing code is being left.
        let held = self.temp();
        self.emit(Op::Move { dst: held, src });
        self.leave_with(Exit::Return, Some(held));
    }

    pub(super) fn leave(&mut self, exit: Exit) {
        self.leave_with(exit, None);
    }

    /// Emits the way out of the enclosing constructs up to the exit's target.
    pub(super) fn leave_with(&mut self, exit: Exit, value: Option<Reg>) {
        let stop = match exit {
            Exit::Break(at) => at + 1,
            // The loop that goes on keeps its iterator open.
            Exit::Continue(at) => match self.f().enclosing.get(at + 1) {
                Some(Enclosing::Iterator { .. }) => at + 2,
                _ => at + 1,
            },
            Exit::Return => 0,
        };
        let mut at = self.f().enclosing.len();
        while at > stop {
            at -= 1;
            match &mut self.f().enclosing[at] {
                Enclosing::Breakable { .. } => {}
                Enclosing::Iterator { iter, is_async } => {
                    let (iter, is_async) = (*iter, *is_async);
                    self.close_iterator(iter, is_async);
                }
                Enclosing::Finally {
                    kind,
                    value: held,
                    exits,
                    ..
                } => {
                    let (kind, held) = (*kind, *held);
                    let code = match exits.iter().position(|e| *e == exit) {
                        Some(code) => code,
                        None => {
                            exits.push(exit);
                            exits.len() - 1
                        }
                    };
                    if let Some(src) = value {
                        self.emit(Op::Move { dst: held, src });
                    }
                    self.emit(Op::LoadInt {
                        dst: kind,
                        value: code as i32 + 2,
                    });
                    let jump = self.emit(Op::Jump { to: 0 });
                    if let Enclosing::Finally { entries, .. } = &mut self.f().enclosing[at] {
                        entries.push(jump);
                    }
                    return;
                }
            }
        }
        match exit {
            Exit::Return => {
                if let Some(src) = value {
                    self.emit(Op::Return { src });
                }
            }
            Exit::Break(target) => {
                let jump = self.emit(Op::Jump { to: 0 });
                if let Enclosing::Breakable { breaks, .. } = &mut self.f().enclosing[target] {
                    breaks.push(jump);
                }
            }
            Exit::Continue(target) => {
                let jump = self.emit(Op::Jump { to: 0 });
                if let Enclosing::Breakable { continues, .. } = &mut self.f().enclosing[target] {
                    continues.push(jump);
                }
            }
        }
    }

    pub(super) fn variable_declaration(&mut self, d: &'a ast::VariableDeclaration<'a>) {
        if d.declare {
            return;
        }
        if matches!(
            d.kind,
            VariableDeclarationKind::Using | VariableDeclarationKind::AwaitUsing
        ) {
            self.unsupported(
                "UsingDeclaration",
                "release the resource in a finally block",
            );
            return;
        }
        for declarator in &d.declarations {
            let mark = self.mark();
            let old = self.at(declarator.span);
            self.declarator(d.kind, declarator);
            self.span = old;
            self.release(mark);
        }
    }

    fn declarator(&mut self, kind: VariableDeclarationKind, d: &'a ast::VariableDeclarator<'a>) {
        let ast::BindingPattern::BindingIdentifier(ident) = &d.id else {
            if let Some(init) = &d.init {
                let src = self.temp();
                self.expr_to(init, src);
                self.bind_pattern(&d.id, src);
            }
            return;
        };
        let Some(symbol) = ident.symbol_id.get() else {
            return;
        };
        let Some(init) = &d.init else {
            if kind != VariableDeclarationKind::Var {
                let src = self.temp();
                self.emit(Op::LoadUndefined { dst: src });
                self.initialise(ident, src);
            }
            return;
        };
        let name = self.name_key(ident);
        let lexical = kind != VariableDeclarationKind::Var;
        if lexical && !self.switch_symbols.contains(&symbol) {
            self.initializing.push(symbol);
            let target = self.direct_register(ident);
            let dst = match target {
                Some(reg) => reg,
                None => self.temp(),
            };
            self.named_expr_to(init, dst, name);
            self.initializing.pop();
            self.initialise(ident, dst);
        } else {
            let src = self.temp();
            self.named_expr_to(init, src, name);
            self.initialise(ident, src);
        }
    }
}
