//! `for-of`, `for await`, `for-in`, and the closing of iterators.

use super::{Compiler, Enclosing};
use crate::compiled::Handler;
use crate::op::{Op, Reg};
use crate::value::Key;
use oxc_ast::ast::{self, ForStatementLeft, VariableDeclarationKind};
use oxc_span::GetSpan;

impl<'a> Compiler<'a> {
    pub(super) fn for_of_statement(&mut self, s: &'a ast::ForOfStatement<'a>, labels: Vec<Key>) {
        let iter = self.temps(3);
        let mark = self.mark();
        let scope = s.scope_id.get();
        self.enter_scope(scope, &[], false);
        let src = self.expr(&s.right);
        self.leave_scope(scope);
        let old = self.at(s.right.span());
        self.emit(if s.r#await {
            Op::GetAsyncIterator { dst: iter, src }
        } else {
            Op::GetIterator { dst: iter, src }
        });
        self.release(mark);
        self.push_breakable(labels, true, true);
        let start = self.here();
        let value = self.temp();
        if s.r#await {
            self.emit(Op::IterCallNext { iter, dst: value });
            self.emit(Op::Await {
                dst: value,
                src: value,
            });
            self.emit(Op::IterUnpack {
                iter,
                dst: value,
                src: value,
            });
        } else {
            self.emit(Op::IterStep { iter, dst: value });
        }
        let to_end = self.emit(Op::JumpTrue {
            src: iter + 2,
            to: 0,
        });
        self.span = old;
        self.f().enclosing.push(Enclosing::Iterator {
            iter,
            is_async: s.r#await,
        });
        let body = self.here();
        self.enter_scope(scope, &[], false);
        self.bind_left(&s.left, value);
        self.statement(&s.body);
        self.leave_scope(scope);
        let end = self.here();
        self.f().enclosing.pop();
        self.land_continues();
        self.jump_back(start);
        self.close_on_throw(body, end, iter, s.r#await);
        self.jump_here(to_end);
        self.pop_breakable();
    }

    /// The handler that closes the iterator of a range in which something was thrown.
    pub(super) fn close_on_throw(&mut self, start: usize, end: usize, iter: Reg, is_async: bool) {
        let mark = self.mark();
        let thrown = self.temp();
        self.protect(start, end, thrown);
        if is_async {
            let result = self.temp();
            let from = self.here();
            self.emit(Op::IterCallReturn { iter, dst: result });
            self.emit(Op::Await {
                dst: result,
                src: result,
            });
            let to = self.here();
            let ignored = self.temp();
            let skip = self.emit(Op::Jump { to: 0 });
            let target = self.here() as u32;
            let handler = Handler {
                start: from as u32,
                end: to as u32,
                target,
                reg: ignored,
            };
            self.f().handlers.push(handler);
            self.jump_here(skip);
        } else {
            self.emit(Op::IterCloseQuietly { iter });
        }
        self.rethrow(thrown);
        self.release(mark);
    }

    /// Closes an iterator when control leaves its loop in order; it is marked as done first, so that an error of the
    /// closing doesn't close it again.
    pub(super) fn close_iterator(&mut self, iter: Reg, is_async: bool) {
        if !is_async {
            self.emit(Op::IterClose { iter });
            return;
        }
        let mark = self.mark();
        let dst = self.temp();
        self.emit(Op::IterCallReturn { iter, dst });
        let none = self.temp();
        self.emit(Op::LoadUndefined { dst: none });
        let skip = self.emit(Op::JumpNullish { src: dst, to: 0 });
        self.emit(Op::Await { dst, src: dst });
        self.emit(Op::RequireIterResult { src: dst });
        self.jump_here(skip);
        self.release(mark);
    }

    fn bind_left(&mut self, left: &'a ForStatementLeft<'a>, value: Reg) {
        match left {
            ForStatementLeft::VariableDeclaration(d) => {
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
                if let Some(first) = d.declarations.first() {
                    self.bind_pattern(&first.id, value);
                }
            }
            other => {
                if let Some(target) = other.as_assignment_target() {
                    self.assign_target(target, value);
                }
            }
        }
    }

    pub(super) fn for_in_statement(&mut self, s: &'a ast::ForInStatement<'a>, labels: Vec<Key>) {
        let iter = self.temps(3);
        let mark = self.mark();
        let scope = s.scope_id.get();
        if let ForStatementLeft::VariableDeclaration(d) = &s.left {
            // Annex B: `for (var x = init in o)`.
            if let Some(first) = d.declarations.first()
                && let (ast::BindingPattern::BindingIdentifier(ident), Some(init)) =
                    (&first.id, &first.init)
            {
                let src = self.expr(init);
                self.initialise(ident, src);
            }
        }
        self.enter_scope(scope, &[], false);
        let src = self.expr(&s.right);
        self.leave_scope(scope);
        let old = self.at(s.right.span());
        self.emit(Op::ForInStart { dst: iter, src });
        self.span = old;
        self.release(mark);
        self.push_breakable(labels, true, true);
        let start = self.here();
        let value = self.temp();
        self.emit(Op::ForInStep { iter, dst: value });
        let to_end = self.emit(Op::JumpTrue {
            src: iter + 2,
            to: 0,
        });
        self.enter_scope(scope, &[], false);
        self.bind_left(&s.left, value);
        self.statement(&s.body);
        self.leave_scope(scope);
        self.land_continues();
        self.jump_back(start);
        self.jump_here(to_end);
        self.pop_breakable();
    }
}
