//! `try`, `catch` and `finally`.
//!
//! A `finally` block is compiled once. Every way into it leaves a number in a register: 0 for falling in, 1 for a
//! thrown value, 2 and up for the jumps and returns that pass through it, which continue behind the block.

use super::{Compiler, Enclosing};
use crate::compiled::Handler;
use crate::op::{Op, Reg};
use oxc_ast::ast;

impl<'a> Compiler<'a> {
    pub(super) fn try_statement(&mut self, s: &'a ast::TryStatement<'a>) {
        match &s.finalizer {
            Some(finalizer) => self.try_finally(s, finalizer),
            None => self.try_catch(s),
        }
    }

    fn try_catch(&mut self, s: &'a ast::TryStatement<'a>) {
        let Some(handler) = &s.handler else {
            self.block(s.block.scope_id.get(), &s.block.body);
            return;
        };
        let reg = self.temp();
        let start = self.here();
        self.block(s.block.scope_id.get(), &s.block.body);
        let end = self.here();
        let skip = self.emit(Op::Jump { to: 0 });
        self.protect(start, end, reg);
        self.catch_clause(handler, reg);
        self.jump_here(skip);
    }

    /// Registers the handler that starts here for a range that ended.
    pub(super) fn protect(&mut self, start: usize, end: usize, reg: Reg) {
        let target = self.here() as u32;
        if start < end {
            let handler = Handler {
                start: start as u32,
                end: end as u32,
                target,
                reg,
            };
            self.f().handlers.push(handler);
        }
    }

    fn catch_clause(&mut self, handler: &'a ast::CatchClause<'a>, reg: Reg) {
        let mark = self.mark();
        let scope = handler.scope_id.get();
        self.enter_scope(scope, &[], false);
        let inner = handler.body.scope_id.get();
        self.enter_scope(inner, &handler.body.body, false);
        if let Some(param) = &handler.param {
            self.bind_pattern(&param.pattern, reg);
        }
        self.statements(&handler.body.body);
        self.leave_scope(inner);
        self.leave_scope(scope);
        self.release(mark);
    }

    fn try_finally(
        &mut self,
        s: &'a ast::TryStatement<'a>,
        finalizer: &'a ast::BlockStatement<'a>,
    ) {
        let kind = self.temp();
        let value = self.temp();
        self.f().enclosing.push(Enclosing::Finally {
            kind,
            value,
            exits: Vec::new(),
            entries: Vec::new(),
        });
        let start = self.here();
        self.try_catch(s);
        self.emit(Op::LoadInt {
            dst: kind,
            value: 0,
        });
        let end = self.here();
        let fall = self.emit(Op::Jump { to: 0 });
        self.protect(start, end, value);
        self.emit(Op::LoadInt {
            dst: kind,
            value: 1,
        });
        let Some(Enclosing::Finally { exits, entries, .. }) = self.f().enclosing.pop() else {
            return;
        };
        self.jump_here(fall);
        self.jumps_here(&entries);
        self.block(finalizer.scope_id.get(), &finalizer.body);

        let mark = self.mark();
        let code = self.temp();
        let test = self.temp();
        self.emit(Op::LoadInt {
            dst: code,
            value: 1,
        });
        self.emit(Op::Same {
            dst: test,
            a: kind,
            b: code,
        });
        let skip = self.emit(Op::JumpFalse { src: test, to: 0 });
        self.rethrow(value);
        self.jump_here(skip);
        for (at, exit) in exits.into_iter().enumerate() {
            self.emit(Op::LoadInt {
                dst: code,
                value: at as i32 + 2,
            });
            self.emit(Op::Same {
                dst: test,
                a: kind,
                b: code,
            });
            let skip = self.emit(Op::JumpFalse { src: test, to: 0 });
            self.leave_with(exit, Some(value));
            self.jump_here(skip);
        }
        self.release(mark);
    }

    /// Throws a caught value on without claiming its place.
    pub(super) fn rethrow(&mut self, src: Reg) {
        self.emit(Op::Rethrow { src });
    }
}
