//! Member access, calls, `new`, and object literals.

use super::Compiler;
use super::assign::static_name;
use super::expression::strip;
use crate::op::{Op, Reg};
use crate::text::Text;
use crate::value::Key;
use oxc_ast::ast::{
    self, Argument, Expression, MemberExpression, ObjectPropertyKind, PropertyKind,
};
use oxc_span::GetSpan;

impl<'a> Compiler<'a> {
    pub(super) fn get_prop(&mut self, dst: Reg, obj: Reg, key: Key) {
        if let Some(index) = key.as_index() {
            let mark = self.mark();
            let key = self.temp();
            self.emit(Op::LoadInt {
                dst: key,
                value: index as i32,
            });
            self.emit(Op::GetElem { dst, obj, key });
            self.release(mark);
            return;
        }
        let is_length = key == self.key("length");
        let site = self.site(key);
        self.emit(if is_length {
            Op::GetLength { dst, obj, site }
        } else {
            Op::GetProp { dst, obj, site }
        });
    }

    pub(super) fn member(&mut self, e: &'a Expression<'a>, dst: Reg) {
        if let Some(member) = e.as_member_expression() {
            self.member_expression(member, dst);
        }
    }

    pub(super) fn member_expression(&mut self, member: &'a MemberExpression<'a>, dst: Reg) {
        let mark = self.mark();
        match member {
            MemberExpression::StaticMemberExpression(m) => {
                if let Expression::Super(_) = m.object {
                    let key = self.temp();
                    self.load_str(key, Text::new(m.property.name.as_str()));
                    self.emit(Op::GetSuper { dst, key });
                } else {
                    let obj = self.expr(&m.object);
                    if m.optional {
                        self.optional_exit(obj);
                    }
                    let key = self.prop_key(Text::new(m.property.name.as_str()));
                    self.get_prop(dst, obj, key);
                }
            }
            MemberExpression::ComputedMemberExpression(m) => {
                if let Expression::Super(_) = m.object {
                    let key = self.expr(&m.expression);
                    self.emit(Op::GetSuper { dst, key });
                } else {
                    let obj = self.operand(&m.object, &m.expression);
                    if m.optional {
                        self.optional_exit(obj);
                    }
                    if let Expression::StringLiteral(s) = strip(&m.expression) {
                        let key =
                            self.prop_key(super::literal_text(s.value.as_str(), s.lone_surrogates));
                        self.get_prop(dst, obj, key);
                    } else {
                        let key = self.expr(&m.expression);
                        self.emit(Op::GetElem { dst, obj, key });
                    }
                }
            }
            MemberExpression::PrivateFieldExpression(m) => {
                let obj = self.expr(&m.object);
                if m.optional {
                    self.optional_exit(obj);
                }
                let name = self.private_name(m.field.name.as_str());
                self.emit(Op::GetPrivate { dst, obj, name });
            }
        }
        self.release(mark);
    }

    /// Puts the function to call at `start` and its `this` at `start + 1`.
    pub(super) fn callee(&mut self, e: &'a Expression<'a>, start: Reg) {
        let mark = self.mark();
        match strip(e) {
            Expression::ChainExpression(c) => {
                // `(a?.b)()` keeps the receiver.
                self.f().chain_exits.push(Vec::new());
                match &c.expression {
                    ast::ChainElement::CallExpression(call) => {
                        self.call(call, start);
                        self.emit(Op::LoadUndefined { dst: start + 1 });
                    }
                    other => match other.as_member_expression() {
                        Some(member) => self.method(member, start),
                        None => {
                            self.emit(Op::LoadUndefined { dst: start });
                        }
                    },
                }
                self.end_chain(start);
            }
            other => match other.as_member_expression() {
                Some(member) => self.method(member, start),
                None => {
                    self.expr_to(other, start);
                    self.emit(Op::LoadUndefined { dst: start + 1 });
                }
            },
        }
        self.release(mark);
    }

    fn method(&mut self, member: &'a MemberExpression<'a>, start: Reg) {
        match member {
            MemberExpression::StaticMemberExpression(m) => {
                if let Expression::Super(_) = m.object {
                    self.member_expression(member, start);
                    self.emit(Op::LoadThis { dst: start + 1 });
                    return;
                }
                let obj = self.expr(&m.object);
                if m.optional {
                    self.optional_exit(obj);
                }
                let key = self.prop_key(Text::new(m.property.name.as_str()));
                let site = self.site(key);
                self.emit(Op::GetMethod {
                    dst: start,
                    obj,
                    site,
                });
            }
            MemberExpression::ComputedMemberExpression(m) => {
                if let Expression::Super(_) = m.object {
                    self.member_expression(member, start);
                    self.emit(Op::LoadThis { dst: start + 1 });
                    return;
                }
                let obj = self.operand(&m.object, &m.expression);
                if m.optional {
                    self.optional_exit(obj);
                }
                let key = self.expr(&m.expression);
                self.emit(Op::GetElemMethod {
                    dst: start,
                    obj,
                    key,
                });
            }
            MemberExpression::PrivateFieldExpression(m) => {
                let obj = self.temp();
                self.expr_to(&m.object, obj);
                if m.optional {
                    self.optional_exit(obj);
                }
                let name = self.private_name(m.field.name.as_str());
                self.emit(Op::GetPrivate {
                    dst: start,
                    obj,
                    name,
                });
                self.emit(Op::Move {
                    dst: start + 1,
                    src: obj,
                });
            }
        }
    }

    pub(super) fn call(&mut self, c: &'a ast::CallExpression<'a>, dst: Reg) {
        let mark = self.mark();
        let old = self.at(c.callee.span());
        if let Expression::Super(_) = c.callee {
            self.super_call(&c.arguments, dst);
        } else {
            let plain = c
                .arguments
                .iter()
                .all(|a| !matches!(a, Argument::SpreadElement(_)));
            let start = self.temps(if plain {
                2 + c.arguments.len() as u32
            } else {
                3
            });
            self.callee(&c.callee, start);
            if c.optional {
                self.optional_exit(start);
            }
            if plain {
                self.plain_arguments(&c.arguments, start + 2);
                self.at(c.callee.span());
                let at = self.emit(Op::Call {
                    dst,
                    start,
                    argc: c.arguments.len() as u16,
                });
                self.name_callee(at, c.callee.span());
            } else {
                self.spread_arguments(&c.arguments, start + 2);
                self.at(c.callee.span());
                let at = self.emit(Op::CallSpread { dst, start });
                self.name_callee(at, c.callee.span());
            }
        }
        self.span = old;
        self.release(mark);
    }

    /// Remembers the source text of a callee for the message that it isn't a function.
    fn name_callee(&mut self, at: usize, span: oxc_span::Span) {
        let end = span.end.saturating_sub(self.shift);
        self.f().callees.push((at as u32, end));
    }

    fn plain_arguments(&mut self, arguments: &'a [Argument<'a>], start: Reg) {
        for (at, argument) in arguments.iter().enumerate() {
            if let Some(e) = argument.as_expression() {
                self.expr_to(e, start + at as Reg);
            }
        }
    }

    fn spread_arguments(&mut self, arguments: &'a [Argument<'a>], arr: Reg) {
        self.emit(Op::NewArray {
            dst: arr,
            capacity: arguments.len() as u32,
        });
        for argument in arguments {
            let mark = self.mark();
            match argument {
                Argument::SpreadElement(s) => {
                    let src = self.expr(&s.argument);
                    self.at(s.argument.span());
                    self.emit(Op::ArraySpread { arr, src });
                }
                other => {
                    if let Some(e) = other.as_expression() {
                        let src = self.expr(e);
                        self.emit(Op::ArrayPush { arr, src });
                    }
                }
            }
            self.release(mark);
        }
    }

    fn super_call(&mut self, arguments: &'a [Argument<'a>], dst: Reg) {
        if arguments
            .iter()
            .all(|a| !matches!(a, Argument::SpreadElement(_)))
        {
            let start = self.temps(2 + arguments.len() as u32);
            self.plain_arguments(arguments, start + 2);
            self.emit(Op::SuperCall {
                dst,
                start,
                argc: arguments.len() as u16,
            });
        } else {
            let start = self.temps(3);
            self.spread_arguments(arguments, start + 2);
            self.emit(Op::SuperSpread { dst, start });
        }
    }

    pub(super) fn new_expression(&mut self, n: &'a ast::NewExpression<'a>, dst: Reg) {
        let mark = self.mark();
        let old = self.at(n.span);
        let plain = n
            .arguments
            .iter()
            .all(|a| !matches!(a, Argument::SpreadElement(_)));
        let start = self.temps(if plain {
            2 + n.arguments.len() as u32
        } else {
            3
        });
        self.expr_to(&n.callee, start);
        self.emit(Op::LoadUndefined { dst: start + 1 });
        if plain {
            self.plain_arguments(&n.arguments, start + 2);
            self.at(n.span);
            let at = self.emit(Op::New {
                dst,
                start,
                argc: n.arguments.len() as u16,
            });
            self.name_callee(at, n.callee.span());
        } else {
            self.spread_arguments(&n.arguments, start + 2);
            self.at(n.span);
            self.emit(Op::NewSpread { dst, start });
        }
        self.span = old;
        self.release(mark);
    }

    pub(super) fn object(&mut self, o: &'a ast::ObjectExpression<'a>, dst: Reg) {
        let obj = self.temp();
        self.emit(Op::NewObject { dst: obj });
        for property in &o.properties {
            let mark = self.mark();
            match property {
                ObjectPropertyKind::SpreadProperty(s) => {
                    let src = self.expr(&s.argument);
                    self.emit(Op::CopyProps { obj, src });
                }
                ObjectPropertyKind::ObjectProperty(p) => self.object_property(p, obj),
            }
            self.release(mark);
        }
        self.emit(Op::Move { dst, src: obj });
    }

    fn object_property(&mut self, p: &'a ast::ObjectProperty<'a>, obj: Reg) {
        let fixed = static_name(&p.key, p.computed);
        let is_function = matches!(
            strip(&p.value),
            Expression::FunctionExpression(_)
                | Expression::ArrowFunctionExpression(_)
                | Expression::ClassExpression(_)
        );
        if p.kind == PropertyKind::Init
            && !p.method
            && let Some(text) = &fixed
            && crate::atoms::index_of(text.units()).is_none()
        {
            let name = self.atom(text.clone());
            let src = if is_function {
                let src = self.temp();
                self.named_expr_to(&p.value, src, name);
                src
            } else {
                self.expr(&p.value)
            };
            let site = self.site(name);
            self.emit(Op::DefField { obj, site, src });
            return;
        }
        let key = self.temp();
        self.property_key(&p.key, fixed, key);
        let src = self.temp();
        match (p.kind, strip(&p.value)) {
            (PropertyKind::Init, Expression::FunctionExpression(f)) if p.method => {
                self.method_function(f, src, p.span);
                self.emit(Op::SetHome {
                    func: src,
                    home: obj,
                });
                self.emit(Op::SetName {
                    func: src,
                    key,
                    prefix: 0,
                });
                self.emit(Op::DefElem { obj, key, src });
            }
            (PropertyKind::Get, Expression::FunctionExpression(f)) => {
                self.method_function(f, src, p.span);
                self.emit(Op::SetHome {
                    func: src,
                    home: obj,
                });
                self.emit(Op::SetName {
                    func: src,
                    key,
                    prefix: 1,
                });
                self.emit(Op::DefGetter { obj, key, src });
            }
            (PropertyKind::Set, Expression::FunctionExpression(f)) => {
                self.method_function(f, src, p.span);
                self.emit(Op::SetHome {
                    func: src,
                    home: obj,
                });
                self.emit(Op::SetName {
                    func: src,
                    key,
                    prefix: 2,
                });
                self.emit(Op::DefSetter { obj, key, src });
            }
            _ => {
                self.expr_to(&p.value, src);
                if is_function {
                    self.emit(Op::SetName {
                        func: src,
                        key,
                        prefix: 3,
                    });
                }
                self.emit(Op::DefElem { obj, key, src });
            }
        }
    }

    /// Evaluates a property's name into a register, as a property key.
    pub(super) fn property_key(
        &mut self,
        key: &'a ast::PropertyKey<'a>,
        fixed: Option<Text>,
        dst: Reg,
    ) {
        match fixed {
            Some(text) => self.load_str(dst, text),
            None => {
                if let Some(e) = key.as_expression() {
                    self.expr_to(e, dst);
                }
                self.emit(Op::ToKey { dst, src: dst });
            }
        }
    }
}
