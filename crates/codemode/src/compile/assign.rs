//! Assignment, update, and destructuring patterns.

use super::expression::{binary_op, strip};
use super::{Compiler, Enclosing};
use crate::compiled::Fault;
use crate::op::{Op, Reg};
use crate::text::Text;
use crate::value::Key;
use oxc_ast::ast::{
    self, AssignmentTarget, AssignmentTargetMaybeDefault, AssignmentTargetProperty, BindingPattern,
    Expression, PropertyKey, SimpleAssignmentTarget,
};
use oxc_span::GetSpan;
use oxc_syntax::operator::{AssignmentOperator, BinaryOperator, UpdateOperator};

/// A place to assign to whose parts are evaluated.
enum Slot<'a, 'b> {
    Name(&'b ast::IdentifierReference<'a>),
    Prop { obj: Reg, key: Key },
    Elem { obj: Reg, key: Reg },
    Super { key: Reg },
    Private { obj: Reg, name: Reg },
    Invalid,
}

impl<'a> Compiler<'a> {
    pub(super) fn assignment(&mut self, a: &'a ast::AssignmentExpression<'a>, dst: Reg) {
        if a.operator == AssignmentOperator::Assign {
            self.plain_assignment(a, dst);
            return;
        }
        let Some(simple) = a.left.as_simple_assignment_target() else {
            self.fault(Fault::BadTarget("assignment"));
            return;
        };
        let slot = self.slot(simple);
        if let Some(operator) = a.operator.to_logical_operator() {
            let held = self.temp();
            self.read_slot(&slot, held);
            let skip = self.emit(super::expression::short_circuit(operator, held));
            match &slot {
                Slot::Name(ident) => {
                    let name = self.key(ident.name.as_str());
                    self.named_expr_to(&a.right, held, name);
                }
                _ => self.expr_to(&a.right, held),
            }
            self.write_slot(&slot, held);
            self.jump_here(skip);
            self.emit(Op::Move { dst, src: held });
            return;
        }
        let operator = a
            .operator
            .to_binary_operator()
            .unwrap_or(BinaryOperator::Addition);
        if let Slot::Name(ident) = &slot
            && let Some(local) = self.local_register(ident)
            && !self.is_fixed(ident)
        {
            let left = self.temp();
            let quiet = matches!(
                strip(&a.right),
                Expression::Identifier(_)
                    | Expression::NumericLiteral(_)
                    | Expression::StringLiteral(_)
                    | Expression::StaticMemberExpression(_)
                    | Expression::BinaryExpression(_)
            );
            let from = if quiet && self.keeps_locals(&a.right) {
                local
            } else {
                self.emit(Op::Move {
                    dst: left,
                    src: local,
                });
                left
            };
            self.compound(operator, local, from, &a.right);
            if dst != local {
                self.emit(Op::Move { dst, src: local });
            }
            return;
        }
        let held = self.temp();
        self.read_slot(&slot, held);
        self.compound(operator, held, held, &a.right);
        self.write_slot(&slot, held);
        self.emit(Op::Move { dst, src: held });
    }

    fn keeps_locals(&self, e: &Expression<'a>) -> bool {
        match strip(e) {
            Expression::Identifier(_)
            | Expression::NumericLiteral(_)
            | Expression::StringLiteral(_) => true,
            Expression::StaticMemberExpression(m) => self.keeps_locals(&m.object),
            Expression::BinaryExpression(b) => {
                self.keeps_locals(&b.left) && self.keeps_locals(&b.right)
            }
            _ => false,
        }
    }

    fn compound(&mut self, operator: BinaryOperator, dst: Reg, a: Reg, right: &'a Expression<'a>) {
        if let Expression::NumericLiteral(n) = strip(right)
            && f64::from(n.value as i16) == n.value
            && n.value > 0.0
        {
            let int = n.value as i16;
            let op = match operator {
                BinaryOperator::Addition => Some(Op::AddInt { dst, a, int }),
                BinaryOperator::Subtraction => Some(Op::SubInt { dst, a, int }),
                BinaryOperator::Multiplication => Some(Op::MulInt { dst, a, int }),
                _ => None,
            };
            if let Some(op) = op {
                self.emit(op);
                return;
            }
        }
        let b = self.expr(right);
        self.emit(binary_op(operator, dst, a, b));
    }

    fn is_fixed(&self, ident: &ast::IdentifierReference<'a>) -> bool {
        use oxc_syntax::symbol::SymbolFlags;
        ident
            .reference_id
            .get()
            .and_then(|id| self.scoping.get_reference(id).symbol_id())
            .is_some_and(|s| {
                self.scoping
                    .symbol_flags(s)
                    .intersects(SymbolFlags::ConstVariable | SymbolFlags::FunctionExpression)
            })
    }

    fn plain_assignment(&mut self, a: &'a ast::AssignmentExpression<'a>, dst: Reg) {
        if let AssignmentTarget::AssignmentTargetIdentifier(ident) = &a.left {
            let name = self.key(ident.name.as_str());
            if let Some(local) = self.local_register(ident)
                && !self.is_fixed(ident)
            {
                if writes_last(strip(&a.right)) {
                    self.expr_to(&a.right, local);
                } else {
                    let held = self.temp();
                    self.named_expr_to(&a.right, held, name);
                    self.emit(Op::Move {
                        dst: local,
                        src: held,
                    });
                }
                if dst != local {
                    self.emit(Op::Move { dst, src: local });
                }
                return;
            }
            let held = self.temp();
            self.named_expr_to(&a.right, held, name);
            self.write_identifier(ident, held);
            self.emit(Op::Move { dst, src: held });
            return;
        }
        if let Some(simple) = a.left.as_simple_assignment_target() {
            let slot = self.slot(simple);
            let held = self.temp();
            self.expr_to(&a.right, held);
            self.write_slot(&slot, held);
            self.emit(Op::Move { dst, src: held });
            return;
        }
        let held = self.temp();
        self.expr_to(&a.right, held);
        self.assign_target(&a.left, held);
        self.emit(Op::Move { dst, src: held });
    }

    fn slot<'b>(&mut self, target: &'b SimpleAssignmentTarget<'a>) -> Slot<'a, 'b>
    where
        'b: 'a,
    {
        match target {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(ident) => Slot::Name(ident),
            SimpleAssignmentTarget::StaticMemberExpression(m) => {
                if let Expression::Super(_) = m.object {
                    let key = self.temp();
                    self.load_str(key, Text::new(m.property.name.as_str()));
                    return Slot::Super { key };
                }
                let obj = self.held(&m.object);
                let key = self.prop_key(Text::new(m.property.name.as_str()));
                Slot::Prop { obj, key }
            }
            SimpleAssignmentTarget::ComputedMemberExpression(m) => {
                if let Expression::Super(_) = m.object {
                    let key = self.held(&m.expression);
                    return Slot::Super { key };
                }
                let obj = self.held(&m.object);
                let key = self.held(&m.expression);
                Slot::Elem { obj, key }
            }
            SimpleAssignmentTarget::PrivateFieldExpression(m) => {
                let obj = self.held(&m.object);
                let name = self.private_name(m.field.name.as_str());
                Slot::Private { obj, name }
            }
            SimpleAssignmentTarget::TSAsExpression(t) => self.slot_of(&t.expression),
            SimpleAssignmentTarget::TSSatisfiesExpression(t) => self.slot_of(&t.expression),
            SimpleAssignmentTarget::TSNonNullExpression(t) => self.slot_of(&t.expression),
            SimpleAssignmentTarget::TSTypeAssertion(t) => self.slot_of(&t.expression),
        }
    }

    /// The place that an expression under type syntax names.
    fn slot_of<'b>(&mut self, e: &'b Expression<'a>) -> Slot<'a, 'b>
    where
        'b: 'a,
    {
        match strip(e) {
            Expression::Identifier(ident) => Slot::Name(ident),
            Expression::StaticMemberExpression(m) => {
                let obj = self.held(&m.object);
                let key = self.prop_key(Text::new(m.property.name.as_str()));
                Slot::Prop { obj, key }
            }
            Expression::ComputedMemberExpression(m) => {
                let obj = self.held(&m.object);
                let key = self.held(&m.expression);
                Slot::Elem { obj, key }
            }
            _ => {
                self.fault(Fault::BadTarget("assignment"));
                Slot::Invalid
            }
        }
    }

    /// A value that stays what it is while more code runs. Plain locals are copied.
    fn held(&mut self, e: &'a Expression<'a>) -> Reg {
        let reg = self.temp();
        if let Expression::Identifier(ident) = strip(e)
            && let Some(local) = self.local_register(ident)
            && self.is_fixed(ident)
        {
            return local;
        }
        self.expr_to(e, reg);
        reg
    }

    fn read_slot(&mut self, slot: &Slot<'a, '_>, dst: Reg) {
        match *slot {
            Slot::Name(ident) => self.read_identifier(ident, dst, false),
            Slot::Prop { obj, key } => self.get_prop(dst, obj, key),
            Slot::Elem { obj, key } => {
                self.emit(Op::GetElem { dst, obj, key });
            }
            Slot::Super { key } => {
                self.emit(Op::GetSuper { dst, key });
            }
            Slot::Private { obj, name } => {
                self.emit(Op::GetPrivate { dst, obj, name });
            }
            Slot::Invalid => {}
        }
    }

    fn write_slot(&mut self, slot: &Slot<'a, '_>, src: Reg) {
        match *slot {
            Slot::Name(ident) => self.write_identifier(ident, src),
            Slot::Prop { obj, key } => {
                if let Some(index) = key.as_index() {
                    let key = self.temp();
                    self.emit(Op::LoadInt {
                        dst: key,
                        value: index as i32,
                    });
                    self.emit(Op::SetElem { obj, key, src });
                    return;
                }
                let site = self.site(key);
                self.emit(Op::SetProp { obj, site, src });
            }
            Slot::Elem { obj, key } => {
                self.emit(Op::SetElem { obj, key, src });
            }
            Slot::Super { key } => {
                self.emit(Op::SetSuper { key, src });
            }
            Slot::Private { obj, name } => {
                self.emit(Op::SetPrivate { obj, name, src });
            }
            Slot::Invalid => {}
        }
    }

    /// `++` and `--` whose value nobody reads.
    pub(super) fn update_effect(&mut self, u: &'a ast::UpdateExpression<'a>) {
        let old = self.at(u.span);
        if let SimpleAssignmentTarget::AssignmentTargetIdentifier(ident) = &u.argument
            && let Some(reg) = self.local_register(ident)
            && !self.is_fixed(ident)
        {
            self.emit(step(u.operator, reg, reg));
        } else {
            let slot = self.slot(&u.argument);
            let held = self.temp();
            self.read_slot(&slot, held);
            self.emit(step(u.operator, held, held));
            self.write_slot(&slot, held);
        }
        self.span = old;
    }

    pub(super) fn update(&mut self, u: &'a ast::UpdateExpression<'a>, dst: Reg) {
        let slot = self.slot(&u.argument);
        let old = self.temp();
        let new = self.temp();
        self.read_slot(&slot, old);
        if !u.prefix {
            self.emit(Op::ToNumeric { dst: old, src: old });
        }
        self.emit(step(u.operator, new, old));
        self.write_slot(&slot, new);
        self.emit(Op::Move {
            dst,
            src: if u.prefix { new } else { old },
        });
    }

    /// Assigns the value of a register to any target.
    pub(super) fn assign_target(&mut self, target: &'a AssignmentTarget<'a>, src: Reg) {
        let mark = self.mark();
        match target {
            AssignmentTarget::ArrayAssignmentTarget(a) => {
                let iter = self.open_pattern(src);
                let start = self.here();
                for element in &a.elements {
                    self.assign_element(element.as_ref(), iter);
                }
                if let Some(rest) = &a.rest {
                    let mark = self.mark();
                    let slot = self.early_slot(&rest.target);
                    let value = self.temp();
                    self.emit(Op::IterRest { iter, dst: value });
                    self.finish_target(&rest.target, slot.as_ref(), value);
                    self.release(mark);
                }
                self.close_pattern(start, iter);
            }
            AssignmentTarget::ObjectAssignmentTarget(o) => self.assign_object(o, src),
            other => {
                if let Some(simple) = other.as_simple_assignment_target() {
                    let slot = self.slot(simple);
                    self.write_slot(&slot, src);
                }
            }
        }
        self.release(mark);
    }

    /// Evaluates the parts of a target that come before its value is fetched.
    fn early_slot(&mut self, target: &'a AssignmentTarget<'a>) -> Option<Slot<'a, 'a>> {
        let simple = target.as_simple_assignment_target()?;
        Some(self.slot(simple))
    }

    fn finish_target(
        &mut self,
        target: &'a AssignmentTarget<'a>,
        slot: Option<&Slot<'a, 'a>>,
        value: Reg,
    ) {
        match slot {
            Some(slot) => self.write_slot(slot, value),
            None => self.assign_target(target, value),
        }
    }

    fn assign_element(&mut self, element: Option<&'a AssignmentTargetMaybeDefault<'a>>, iter: Reg) {
        let mark = self.mark();
        match element {
            None => {
                let value = self.temp();
                self.emit(Op::IterStep { iter, dst: value });
            }
            Some(AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(d)) => {
                let slot = self.early_slot(&d.binding);
                let value = self.temp();
                self.emit(Op::IterStep { iter, dst: value });
                self.default_value(value, &d.init, name_of(&d.binding));
                self.finish_target(&d.binding, slot.as_ref(), value);
            }
            Some(other) => {
                if let Some(target) = other.as_assignment_target() {
                    let slot = self.early_slot(target);
                    let value = self.temp();
                    self.emit(Op::IterStep { iter, dst: value });
                    self.finish_target(target, slot.as_ref(), value);
                }
            }
        }
        self.release(mark);
    }

    fn assign_object(&mut self, o: &'a ast::ObjectAssignmentTarget<'a>, src: Reg) {
        self.emit(Op::RequireObject { src });
        let keep = o.rest.is_some();
        let block = if keep {
            self.temps(1 + o.properties.len() as u32)
        } else {
            0
        };
        for (at, property) in o.properties.iter().enumerate() {
            let mark = self.mark();
            let key_reg = keep.then(|| block + 1 + at as Reg);
            match property {
                AssignmentTargetProperty::AssignmentTargetPropertyIdentifier(p) => {
                    let value = self.temp();
                    let key = self.prop_key(Text::new(p.binding.name.as_str()));
                    if let Some(reg) = key_reg {
                        self.load_str(reg, Text::new(p.binding.name.as_str()));
                    }
                    self.get_prop(value, src, key);
                    if let Some(init) = &p.init {
                        self.default_value(value, init, Some(p.binding.name.as_str()));
                    }
                    self.write_identifier(&p.binding, value);
                }
                AssignmentTargetProperty::AssignmentTargetPropertyProperty(p) => {
                    let fixed = self.pattern_key(&p.name, p.computed, key_reg);
                    let (target, init) = match &p.binding {
                        AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(d) => {
                            (Some(&d.binding), Some(&d.init))
                        }
                        other => (other.as_assignment_target(), None),
                    };
                    let Some(target) = target else { continue };
                    let slot = self.early_slot(target);
                    let value = self.temp();
                    self.pattern_get(value, src, fixed);
                    if let Some(init) = init {
                        self.default_value(value, init, name_of(target));
                    }
                    self.finish_target(target, slot.as_ref(), value);
                }
            }
            self.release(mark);
        }
        if let Some(rest) = &o.rest {
            let slot = self.early_slot(&rest.target);
            self.emit(Op::RestProps {
                dst: block,
                src,
                count: o.properties.len() as u16,
            });
            self.finish_target(&rest.target, slot.as_ref(), block);
        }
    }

    /// Evaluates a pattern's key; a known name stays a name.
    fn pattern_key(
        &mut self,
        name: &'a PropertyKey<'a>,
        computed: bool,
        keep: Option<Reg>,
    ) -> Result<Key, Reg> {
        if let Some(text) = static_name(name, computed) {
            if let Some(reg) = keep {
                self.load_str(reg, text.clone());
            }
            return Ok(self.prop_key(text));
        }
        let reg = match keep {
            Some(reg) => reg,
            None => self.temp(),
        };
        if let Some(e) = name.as_expression() {
            self.expr_to(e, reg);
        }
        self.emit(Op::ToKey { dst: reg, src: reg });
        Err(reg)
    }

    fn pattern_get(&mut self, dst: Reg, obj: Reg, key: Result<Key, Reg>) {
        match key {
            Ok(key) => self.get_prop(dst, obj, key),
            Err(key) => {
                self.emit(Op::GetElem { dst, obj, key });
            }
        }
    }

    pub(super) fn default_value(
        &mut self,
        value: Reg,
        init: &'a Expression<'a>,
        name: Option<&str>,
    ) {
        let skip = self.emit(Op::JumpNotUndefined { src: value, to: 0 });
        match name {
            Some(name) => {
                let name = self.key(name);
                self.named_expr_to(init, value, name);
            }
            None => self.expr_to(init, value),
        }
        self.jump_here(skip);
    }

    fn open_pattern(&mut self, src: Reg) -> Reg {
        let iter = self.temps(3);
        self.emit(Op::GetIterator { dst: iter, src });
        self.f().enclosing.push(Enclosing::Iterator {
            iter,
            is_async: false,
        });
        iter
    }

    fn close_pattern(&mut self, start: usize, iter: Reg) {
        let end = self.here();
        self.f().enclosing.pop();
        self.emit(Op::IterClose { iter });
        let skip = self.emit(Op::Jump { to: 0 });
        self.close_on_throw(start, end, iter, false);
        self.jump_here(skip);
    }

    /// Binds the names of a declaration's pattern to parts of the register's value.
    pub(super) fn bind_pattern(&mut self, pattern: &'a BindingPattern<'a>, src: Reg) {
        let mark = self.mark();
        let old = self.at(pattern.span());
        match pattern {
            BindingPattern::BindingIdentifier(ident) => self.initialise(ident, src),
            BindingPattern::AssignmentPattern(p) => {
                let value = self.temp();
                self.emit(Op::Move { dst: value, src });
                self.default_value(value, &p.right, binding_name(&p.left));
                self.bind_pattern(&p.left, value);
            }
            BindingPattern::ArrayPattern(a) => {
                let iter = self.open_pattern(src);
                let start = self.here();
                for element in &a.elements {
                    let mark = self.mark();
                    let value = self.temp();
                    self.emit(Op::IterStep { iter, dst: value });
                    if let Some(element) = element {
                        self.bind_pattern(element, value);
                    }
                    self.release(mark);
                }
                if let Some(rest) = &a.rest {
                    let value = self.temp();
                    self.emit(Op::IterRest { iter, dst: value });
                    self.bind_pattern(&rest.argument, value);
                }
                self.close_pattern(start, iter);
            }
            BindingPattern::ObjectPattern(o) => {
                self.emit(Op::RequireObject { src });
                let keep = o.rest.is_some();
                let block = if keep {
                    self.temps(1 + o.properties.len() as u32)
                } else {
                    0
                };
                for (at, property) in o.properties.iter().enumerate() {
                    let mark = self.mark();
                    let key = self.pattern_key(
                        &property.key,
                        property.computed,
                        keep.then(|| block + 1 + at as Reg),
                    );
                    let value = self.temp();
                    self.pattern_get(value, src, key);
                    self.bind_pattern(&property.value, value);
                    self.release(mark);
                }
                if let Some(rest) = &o.rest {
                    self.emit(Op::RestProps {
                        dst: block,
                        src,
                        count: o.properties.len() as u16,
                    });
                    self.bind_pattern(&rest.argument, block);
                }
            }
        }
        self.span = old;
        self.release(mark);
    }
}

fn step(operator: UpdateOperator, dst: Reg, src: Reg) -> Op {
    match operator {
        UpdateOperator::Increment => Op::Inc { dst, src },
        UpdateOperator::Decrement => Op::Dec { dst, src },
    }
}

/// Whether compiling the expression writes its register with the last instruction only.
fn writes_last(e: &Expression<'_>) -> bool {
    matches!(
        e,
        Expression::NumericLiteral(_)
            | Expression::StringLiteral(_)
            | Expression::BooleanLiteral(_)
            | Expression::NullLiteral(_)
            | Expression::Identifier(_)
            | Expression::BinaryExpression(_)
            | Expression::CallExpression(_)
            | Expression::StaticMemberExpression(_)
            | Expression::ComputedMemberExpression(_)
            | Expression::AwaitExpression(_)
    )
}

fn name_of<'b>(target: &'b AssignmentTarget<'_>) -> Option<&'b str> {
    match target {
        AssignmentTarget::AssignmentTargetIdentifier(ident) => Some(ident.name.as_str()),
        _ => None,
    }
}

pub(super) fn binding_name<'b>(pattern: &'b BindingPattern<'_>) -> Option<&'b str> {
    match pattern {
        BindingPattern::BindingIdentifier(ident) => Some(ident.name.as_str()),
        _ => None,
    }
}

/// The text of a key that is known when compiling.
pub(super) fn static_name(name: &PropertyKey<'_>, computed: bool) -> Option<Text> {
    match name {
        PropertyKey::StaticIdentifier(ident) => Some(Text::new(ident.name.as_str())),
        PropertyKey::StringLiteral(s) if !computed || !s.lone_surrogates => {
            Some(super::literal_text(s.value.as_str(), s.lone_surrogates))
        }
        PropertyKey::NumericLiteral(n) => Some(Text::new(&crate::number::to_string(n.value))),
        PropertyKey::BigIntLiteral(b) => Some(Text::new(b.value.as_str())),
        _ => None,
    }
}
