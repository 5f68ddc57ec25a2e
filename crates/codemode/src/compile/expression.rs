//! Expressions. `expr` says where the value is, which may be a local's own register; `expr_to` puts it where asked.

use super::{Compiler, literal_text};
use crate::op::{Op, Reg};
use crate::text::Text;
use crate::value::Key;
use oxc_ast::ast::{self, ChainElement, Expression};
use oxc_span::GetSpan;
use oxc_syntax::operator::{BinaryOperator, LogicalOperator, UnaryOperator};

impl<'a> Compiler<'a> {
    pub(super) fn expr(&mut self, e: &'a Expression<'a>) -> Reg {
        let e = strip(e);
        if let Expression::Identifier(ident) = e
            && let Some(reg) = self.local_register(ident)
        {
            return reg;
        }
        let dst = self.temp();
        self.expr_to(e, dst);
        dst
    }

    /// Evaluates for effect only.
    pub(super) fn effect(&mut self, e: &'a Expression<'a>) {
        let mark = self.mark();
        match strip(e) {
            Expression::UpdateExpression(u) => self.update_effect(u),
            Expression::SequenceExpression(s) => s.expressions.iter().for_each(|e| self.effect(e)),
            other => {
                self.expr(other);
            }
        }
        self.release(mark);
    }

    /// An operand that must keep its value while `later` is evaluated.
    pub(super) fn operand(&mut self, e: &'a Expression<'a>, later: &Expression<'a>) -> Reg {
        let reg = self.expr(e);
        if matches!(strip(e), Expression::Identifier(_)) && !is_quiet(later) {
            let held = self.temp();
            if held != reg + 1 || self.f().top != u32::from(held) + 1 || reg != held {
                self.emit(Op::Move {
                    dst: held,
                    src: reg,
                });
            }
            return held;
        }
        reg
    }

    pub(super) fn named_expr_to(&mut self, e: &'a Expression<'a>, dst: Reg, name: Key) {
        match strip(e) {
            Expression::FunctionExpression(f) if f.id.is_none() => {
                self.function_expression(f, dst, Some(name));
            }
            Expression::ArrowFunctionExpression(f) => self.arrow(f, dst, Some(name)),
            Expression::ClassExpression(c) if c.id.is_none() => self.class(c, dst, Some(name)),
            other => self.expr_to(other, dst),
        }
    }

    pub(super) fn expr_to(&mut self, e: &'a Expression<'a>, dst: Reg) {
        let mark = self.mark();
        let old = self.at(e.span());
        self.expr_kind(e, dst);
        self.span = old;
        self.release(mark);
    }

    fn expr_kind(&mut self, e: &'a Expression<'a>, dst: Reg) {
        match e {
            Expression::NumericLiteral(n) => self.load_num(dst, n.value),
            Expression::StringLiteral(s) => {
                self.load_str(dst, literal_text(s.value.as_str(), s.lone_surrogates));
            }
            Expression::BooleanLiteral(b) => {
                self.emit(Op::LoadBool {
                    dst,
                    value: b.value,
                });
            }
            Expression::NullLiteral(_) => {
                self.emit(Op::LoadNull { dst });
            }
            Expression::BigIntLiteral(b) => {
                let value = b.value.parse().unwrap_or_default();
                self.program.bigs.push(value);
                let k = self.program.bigs.len() as u32 - 1;
                self.emit(Op::LoadBig { dst, k });
            }
            Expression::RegExpLiteral(r) => {
                let raw = r.raw.as_ref().map_or("", |r| r.as_str());
                let flags = raw.rfind('/').map_or("", |at| &raw[at + 1..]);
                self.regexp_literal(r.regex.pattern.text.as_str(), flags, r.span, dst);
            }
            Expression::Identifier(ident) => self.read_identifier(ident, dst, false),
            Expression::ThisExpression(_) => {
                self.emit(Op::LoadThis { dst });
            }
            Expression::TemplateLiteral(t) => self.template(t, dst),
            Expression::TaggedTemplateExpression(t) => self.tagged_template(t, dst),
            Expression::ArrayExpression(a) => self.array(a, dst),
            Expression::ObjectExpression(o) => self.object(o, dst),
            Expression::FunctionExpression(f) => self.function_expression(f, dst, None),
            Expression::ArrowFunctionExpression(f) => self.arrow(f, dst, None),
            Expression::ClassExpression(c) => self.class(c, dst, None),
            Expression::UnaryExpression(u) => self.unary(u, dst),
            Expression::UpdateExpression(u) => self.update(u, dst),
            Expression::BinaryExpression(b) => self.binary(b, dst),
            Expression::LogicalExpression(l) => self.logical(l, dst),
            Expression::ConditionalExpression(c) => {
                let held = self.temp();
                let to_else = self.condition(&c.test, false);
                self.expr_to(&c.consequent, held);
                let end = self.emit(Op::Jump { to: 0 });
                self.jumps_here(&to_else);
                self.expr_to(&c.alternate, held);
                self.jump_here(end);
                self.emit(Op::Move { dst, src: held });
            }
            Expression::AssignmentExpression(a) => self.assignment(a, dst),
            Expression::SequenceExpression(s) => {
                if let Some((last, before)) = s.expressions.split_last() {
                    before.iter().for_each(|e| self.effect(e));
                    self.expr_to(last, dst);
                }
            }
            Expression::CallExpression(c) => self.call(c, dst),
            Expression::NewExpression(n) => self.new_expression(n, dst),
            Expression::ChainExpression(c) => self.chain(c, dst),
            Expression::StaticMemberExpression(_)
            | Expression::ComputedMemberExpression(_)
            | Expression::PrivateFieldExpression(_) => self.member(e, dst),
            Expression::AwaitExpression(a) => {
                let src = self.expr(&a.argument);
                self.emit(Op::Await { dst, src });
            }
            Expression::YieldExpression(y) => self.yield_expression(y, dst),
            Expression::NewTarget(_) => {
                self.emit(Op::LoadNewTarget { dst });
            }
            Expression::PrivateInExpression(p) => {
                let obj = self.expr(&p.right);
                let name = self.private_name(p.left.name.as_str());
                self.emit(Op::HasPrivate { dst, obj, name });
            }
            Expression::ParenthesizedExpression(_)
            | Expression::TSAsExpression(_)
            | Expression::TSSatisfiesExpression(_)
            | Expression::TSTypeAssertion(_)
            | Expression::TSNonNullExpression(_)
            | Expression::TSInstantiationExpression(_) => self.expr_to(strip(e), dst),
            Expression::ImportExpression(_) => {
                self.unsupported(
                    "ImportExpression",
                    "modules aren't available; use the tools and built-ins in scope",
                );
            }
            Expression::ImportMeta(_) => {
                self.unsupported("MetaProperty", "modules aren't available");
            }
            Expression::Super(_) => self.unsupported("Super", "use super inside a method"),
            Expression::JSXElement(_) | Expression::JSXFragment(_) => {
                self.unsupported("JSXElement", "build strings or plain objects instead");
            }
            Expression::V8IntrinsicExpression(_) => {
                self.unsupported("V8IntrinsicExpression", "remove it");
            }
        }
    }

    fn unary(&mut self, u: &'a ast::UnaryExpression<'a>, dst: Reg) {
        match u.operator {
            UnaryOperator::Typeof => {
                if let Expression::Identifier(ident) = strip(&u.argument) {
                    self.read_identifier(ident, dst, true);
                    self.emit(Op::TypeOf { dst, src: dst });
                } else {
                    let src = self.expr(&u.argument);
                    self.emit(Op::TypeOf { dst, src });
                }
            }
            UnaryOperator::Delete => self.delete(&u.argument, dst),
            UnaryOperator::Void => {
                self.effect(&u.argument);
                self.emit(Op::LoadUndefined { dst });
            }
            UnaryOperator::UnaryNegation => {
                if let Expression::NumericLiteral(n) = strip(&u.argument) {
                    self.load_num(dst, -n.value);
                    return;
                }
                let src = self.expr(&u.argument);
                self.emit(Op::Neg { dst, src });
            }
            UnaryOperator::UnaryPlus => {
                let src = self.expr(&u.argument);
                self.emit(Op::ToNumber { dst, src });
            }
            UnaryOperator::LogicalNot => {
                let src = self.expr(&u.argument);
                self.emit(Op::Not { dst, src });
            }
            UnaryOperator::BitwiseNot => {
                let src = self.expr(&u.argument);
                self.emit(Op::BitNot { dst, src });
            }
        }
    }

    fn binary(&mut self, b: &'a ast::BinaryExpression<'a>, dst: Reg) {
        if let Some(int) = small_int(&b.right) {
            let a = self.expr(&b.left);
            let op = match b.operator {
                BinaryOperator::Addition => Some(Op::AddInt { dst, a, int }),
                BinaryOperator::Subtraction => Some(Op::SubInt { dst, a, int }),
                BinaryOperator::Multiplication => Some(Op::MulInt { dst, a, int }),
                BinaryOperator::Remainder if int > 0 => Some(Op::RemInt { dst, a, int }),
                BinaryOperator::BitwiseAnd => Some(Op::AndInt { dst, a, int }),
                BinaryOperator::BitwiseOR => Some(Op::OrInt { dst, a, int }),
                BinaryOperator::ShiftLeft => Some(Op::ShlInt { dst, a, int }),
                BinaryOperator::ShiftRight => Some(Op::ShrInt { dst, a, int }),
                _ => None,
            };
            match op {
                Some(op) => {
                    self.emit(op);
                }
                None => {
                    let b_reg = self.expr(&b.right);
                    self.emit(binary_op(b.operator, dst, a, b_reg));
                }
            }
            return;
        }
        let a = self.operand(&b.left, &b.right);
        let right = self.expr(&b.right);
        self.emit(binary_op(b.operator, dst, a, right));
    }

    fn logical(&mut self, l: &'a ast::LogicalExpression<'a>, dst: Reg) {
        let held = self.temp();
        self.expr_to(&l.left, held);
        let skip = self.emit(short_circuit(l.operator, held));
        self.expr_to(&l.right, held);
        self.jump_here(skip);
        self.emit(Op::Move { dst, src: held });
    }

    /// Emits a test and returns the jumps that are taken when its truth equals `when`.
    pub(super) fn condition(&mut self, e: &'a Expression<'a>, when: bool) -> Vec<usize> {
        let mark = self.mark();
        let old = self.at(e.span());
        let jumps = self.condition_kind(strip(e), when);
        self.span = old;
        self.release(mark);
        jumps
    }

    fn condition_kind(&mut self, e: &'a Expression<'a>, when: bool) -> Vec<usize> {
        match e {
            Expression::UnaryExpression(u) if u.operator == UnaryOperator::LogicalNot => {
                return self.condition(&u.argument, !when);
            }
            Expression::LogicalExpression(l) if l.operator != LogicalOperator::Coalesce => {
                let is_and = l.operator == LogicalOperator::And;
                // `a && b` jumps on false as soon as one is false; on true only when both are.
                if is_and != when {
                    let mut jumps = self.condition(&l.left, when);
                    jumps.extend(self.condition(&l.right, when));
                    return jumps;
                }
                let skip = self.condition(&l.left, !when);
                let jumps = self.condition(&l.right, when);
                self.jumps_here(&skip);
                return jumps;
            }
            Expression::BinaryExpression(b) if self.short_jumps => {
                if let Some(op) = compare_jump(b.operator, when) {
                    let a = self.operand(&b.left, &b.right);
                    let right = self.expr(&b.right);
                    return vec![self.emit(op(a, right))];
                }
            }
            _ => {}
        }
        let src = self.expr(e);
        vec![self.emit(if when {
            Op::JumpTrue { src, to: 0 }
        } else {
            Op::JumpFalse { src, to: 0 }
        })]
    }

    fn chain(&mut self, c: &'a ast::ChainExpression<'a>, dst: Reg) {
        let held = self.temp();
        self.f().chain_exits.push(Vec::new());
        match &c.expression {
            ChainElement::CallExpression(call) => self.call(call, held),
            ChainElement::TSNonNullExpression(e) => self.expr_to(&e.expression, held),
            other => {
                if let Some(member) = other.as_member_expression() {
                    self.member_expression(member, held);
                }
            }
        }
        self.end_chain(held);
        self.emit(Op::Move { dst, src: held });
    }

    /// Lands the exits of an optional chain with `undefined` in `held`.
    pub(super) fn end_chain(&mut self, held: Reg) {
        let exits = self.f().chain_exits.pop().unwrap_or_default();
        if exits.is_empty() {
            return;
        }
        let done = self.emit(Op::Jump { to: 0 });
        self.jumps_here(&exits);
        self.emit(Op::LoadUndefined { dst: held });
        self.jump_here(done);
    }

    pub(super) fn optional_exit(&mut self, src: Reg) {
        let jump = self.emit(Op::JumpNullish { src, to: 0 });
        if let Some(exits) = self.f().chain_exits.last_mut() {
            exits.push(jump);
        }
    }

    fn delete(&mut self, argument: &'a Expression<'a>, dst: Reg) {
        match strip(argument) {
            Expression::StaticMemberExpression(m) => {
                let obj = self.expr(&m.object);
                self.delete_static(obj, m.property.name.as_str(), dst);
            }
            Expression::ComputedMemberExpression(m) => {
                let obj = self.operand(&m.object, &m.expression);
                let key = self.expr(&m.expression);
                self.emit(Op::DeleteElem { dst, obj, key });
            }
            Expression::ChainExpression(c) => {
                self.f().chain_exits.push(Vec::new());
                match &c.expression {
                    ChainElement::StaticMemberExpression(m) => {
                        let obj = self.expr(&m.object);
                        if m.optional {
                            self.optional_exit(obj);
                        }
                        self.delete_static(obj, m.property.name.as_str(), dst);
                    }
                    ChainElement::ComputedMemberExpression(m) => {
                        let obj = self.expr(&m.object);
                        if m.optional {
                            self.optional_exit(obj);
                        }
                        let key = self.expr(&m.expression);
                        self.emit(Op::DeleteElem { dst, obj, key });
                    }
                    _ => {
                        self.emit(Op::LoadBool { dst, value: true });
                    }
                }
                let exits = self.f().chain_exits.pop().unwrap_or_default();
                let done = self.emit(Op::Jump { to: 0 });
                self.jumps_here(&exits);
                self.emit(Op::LoadBool { dst, value: true });
                self.jump_here(done);
            }
            other => {
                self.effect(other);
                self.emit(Op::LoadBool { dst, value: true });
            }
        }
    }

    fn delete_static(&mut self, obj: Reg, name: &str, dst: Reg) {
        let key = self.temp();
        self.load_str(key, Text::new(name));
        self.emit(Op::DeleteElem { dst, obj, key });
    }

    fn yield_expression(&mut self, y: &'a ast::YieldExpression<'a>, dst: Reg) {
        let pair = self.temps(2);
        match &y.argument {
            Some(e) => self.expr_to(e, pair),
            None => {
                self.emit(Op::LoadUndefined { dst: pair });
            }
        }
        let is_async = self.f().is_async;
        if y.delegate {
            self.delegate(pair, is_async);
        } else {
            if is_async {
                self.emit(Op::Await {
                    dst: pair,
                    src: pair,
                });
            }
            self.emit(Op::Yield {
                dst: pair,
                src: pair,
            });
            self.resume_check(pair);
        }
        self.emit(Op::Move { dst, src: pair });
    }

    /// Acts on how a `yield` was resumed: `pair` holds the value and, beside it, 0 next, 1 throw, 2 return.
    fn resume_check(&mut self, pair: Reg) {
        let mark = self.mark();
        let code = self.temp();
        let test = self.temp();
        let go_on = self.emit(Op::JumpFalse {
            src: pair + 1,
            to: 0,
        });
        self.emit(Op::LoadInt {
            dst: code,
            value: 1,
        });
        self.emit(Op::Same {
            dst: test,
            a: pair + 1,
            b: code,
        });
        let not_throw = self.emit(Op::JumpFalse { src: test, to: 0 });
        self.rethrow(pair);
        self.jump_here(not_throw);
        self.return_value(pair);
        self.jump_here(go_on);
        self.release(mark);
    }

    /// `yield*`: passes everything through to the inner iterator until it is done.
    fn delegate(&mut self, pair: Reg, is_async: bool) {
        let iter = self.temps(3);
        let state = self.temps(3);
        let result = self.temp();
        let done = self.temp();
        self.emit(if is_async {
            Op::GetAsyncIterator {
                dst: iter,
                src: pair,
            }
        } else {
            Op::GetIterator {
                dst: iter,
                src: pair,
            }
        });
        self.emit(Op::LoadUndefined { dst: state });
        self.emit(Op::LoadInt {
            dst: state + 1,
            value: 0,
        });
        let start = self.here();
        self.emit(Op::DelegateCall {
            dst: result,
            iter,
            mode: state,
        });
        let ended = self.emit(Op::JumpTrue {
            src: state + 2,
            to: 0,
        });
        if is_async {
            self.emit(Op::Await {
                dst: result,
                src: result,
            });
        }
        self.emit(Op::DelegateDone {
            dst: done,
            src: result,
        });
        let to_done = self.emit(Op::JumpTrue { src: done, to: 0 });
        if is_async {
            let value = self.key("value");
            let site = self.site(value);
            self.emit(Op::GetProp {
                dst: result,
                obj: result,
                site,
            });
            self.emit(Op::Yield {
                dst: state,
                src: result,
            });
        } else {
            self.emit(Op::YieldRaw {
                dst: state,
                src: result,
            });
        }
        self.jump_back(start);
        self.jump_here(to_done);
        let value = self.key("value");
        let site = self.site(value);
        self.emit(Op::GetProp {
            dst: pair,
            obj: result,
            site,
        });
        let code = self.temp();
        let test = self.temp();
        self.emit(Op::LoadInt {
            dst: code,
            value: 2,
        });
        self.emit(Op::Same {
            dst: test,
            a: state + 1,
            b: code,
        });
        let finished = self.emit(Op::JumpFalse { src: test, to: 0 });
        self.return_value(pair);
        self.jump_here(ended);
        self.return_value(state);
        self.jump_here(finished);
    }
}

/// The expression without parentheses and erasable type syntax.
pub(super) fn strip<'b, 'a>(e: &'b Expression<'a>) -> &'b Expression<'a> {
    let mut e = e;
    loop {
        e = match e {
            Expression::ParenthesizedExpression(p) => &p.expression,
            Expression::TSAsExpression(t) => &t.expression,
            Expression::TSSatisfiesExpression(t) => &t.expression,
            Expression::TSTypeAssertion(t) => &t.expression,
            Expression::TSNonNullExpression(t) => &t.expression,
            Expression::TSInstantiationExpression(t) => &t.expression,
            _ => return e,
        };
    }
}

fn small_int(e: &Expression<'_>) -> Option<i16> {
    match strip(e) {
        Expression::NumericLiteral(n) => {
            let int = n.value as i16;
            (f64::from(int) == n.value && !(n.value == 0.0 && n.value.is_sign_negative()))
                .then_some(int)
        }
        _ => None,
    }
}

/// Whether evaluating the expression can't assign to a local variable.
fn is_quiet(e: &Expression<'_>) -> bool {
    match strip(e) {
        Expression::Identifier(_)
        | Expression::NumericLiteral(_)
        | Expression::StringLiteral(_)
        | Expression::BooleanLiteral(_)
        | Expression::NullLiteral(_)
        | Expression::BigIntLiteral(_)
        | Expression::RegExpLiteral(_)
        | Expression::ThisExpression(_)
        | Expression::FunctionExpression(_)
        | Expression::ArrowFunctionExpression(_) => true,
        Expression::StaticMemberExpression(m) => is_quiet(&m.object),
        Expression::ComputedMemberExpression(m) => is_quiet(&m.object) && is_quiet(&m.expression),
        Expression::BinaryExpression(b) => is_quiet(&b.right) && is_quiet(&b.left),
        Expression::UnaryExpression(u) => is_quiet(&u.argument),
        Expression::CallExpression(c) => {
            is_quiet(&c.callee)
                && c.arguments
                    .iter()
                    .all(|a| a.as_expression().is_some_and(is_quiet))
        }
        _ => false,
    }
}

pub(super) fn short_circuit(operator: LogicalOperator, src: Reg) -> Op {
    match operator {
        LogicalOperator::Or => Op::JumpTrue { src, to: 0 },
        LogicalOperator::And => Op::JumpFalse { src, to: 0 },
        LogicalOperator::Coalesce => Op::JumpNotNullish { src, to: 0 },
    }
}

type JumpMaker = fn(Reg, Reg) -> Op;

fn compare_jump(operator: BinaryOperator, when: bool) -> Option<JumpMaker> {
    Some(match (operator, when) {
        (BinaryOperator::LessThan, true) => |a, b| Op::JumpLt { a, b, to: 0 },
        (BinaryOperator::LessThan, false) => |a, b| Op::JumpNotLt { a, b, to: 0 },
        (BinaryOperator::LessEqualThan, true) => |a, b| Op::JumpLe { a, b, to: 0 },
        (BinaryOperator::LessEqualThan, false) => |a, b| Op::JumpNotLe { a, b, to: 0 },
        (BinaryOperator::GreaterThan, true) => |a, b| Op::JumpGt { a, b, to: 0 },
        (BinaryOperator::GreaterThan, false) => |a, b| Op::JumpNotGt { a, b, to: 0 },
        (BinaryOperator::GreaterEqualThan, true) => |a, b| Op::JumpGe { a, b, to: 0 },
        (BinaryOperator::GreaterEqualThan, false) => |a, b| Op::JumpNotGe { a, b, to: 0 },
        (BinaryOperator::StrictEquality, true) | (BinaryOperator::StrictInequality, false) => {
            |a, b| Op::JumpSame { a, b, to: 0 }
        }
        (BinaryOperator::StrictEquality, false) | (BinaryOperator::StrictInequality, true) => {
            |a, b| Op::JumpNotSame { a, b, to: 0 }
        }
        _ => return None,
    })
}

pub(super) fn binary_op(operator: BinaryOperator, dst: Reg, a: Reg, b: Reg) -> Op {
    match operator {
        BinaryOperator::Equality => Op::Eq { dst, a, b },
        BinaryOperator::Inequality => Op::Ne { dst, a, b },
        BinaryOperator::StrictEquality => Op::Same { dst, a, b },
        BinaryOperator::StrictInequality => Op::NotSame { dst, a, b },
        BinaryOperator::LessThan => Op::Lt { dst, a, b },
        BinaryOperator::LessEqualThan => Op::Le { dst, a, b },
        BinaryOperator::GreaterThan => Op::Gt { dst, a, b },
        BinaryOperator::GreaterEqualThan => Op::Ge { dst, a, b },
        BinaryOperator::Addition => Op::Add { dst, a, b },
        BinaryOperator::Subtraction => Op::Sub { dst, a, b },
        BinaryOperator::Multiplication => Op::Mul { dst, a, b },
        BinaryOperator::Division => Op::Div { dst, a, b },
        BinaryOperator::Remainder => Op::Rem { dst, a, b },
        BinaryOperator::Exponential => Op::Exp { dst, a, b },
        BinaryOperator::ShiftLeft => Op::Shl { dst, a, b },
        BinaryOperator::ShiftRight => Op::Shr { dst, a, b },
        BinaryOperator::ShiftRightZeroFill => Op::UShr { dst, a, b },
        BinaryOperator::BitwiseOR => Op::BitOr { dst, a, b },
        BinaryOperator::BitwiseXOR => Op::BitXor { dst, a, b },
        BinaryOperator::BitwiseAnd => Op::BitAnd { dst, a, b },
        BinaryOperator::In => Op::In { dst, a, b },
        BinaryOperator::Instanceof => Op::InstanceOf { dst, a, b },
    }
}
