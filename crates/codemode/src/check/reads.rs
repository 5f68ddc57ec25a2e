//! Reads of properties that a typed result doesn't have.
//!
//! A program may look for a property that isn't told (`r.next ?? r`, `if (r.error)`, `'x' in r`) or add one by itself;
//! the names of such properties are left alone everywhere, and so are bindings whose type it tests.

use super::flow::{Flow, key_name, parameters, strip};
use super::types::{Look, Ty};
use oxc_ast::AstKind;
use oxc_ast::ast::{
    AssignmentTarget, BindingPattern, CallExpression, Expression, ForStatementLeft,
};
use oxc_span::{GetSpan, Span};
use oxc_syntax::node::NodeId;
use oxc_syntax::operator::{BinaryOperator, UnaryOperator};
use oxc_syntax::symbol::SymbolId;
use rustc_hash::FxHashSet;

pub(super) fn on_every_object(name: &str) -> bool {
    matches!(
        name,
        "toString"
            | "toLocaleString"
            | "valueOf"
            | "hasOwnProperty"
            | "isPrototypeOf"
            | "propertyIsEnumerable"
            | "constructor"
            | "toJSON"
            | "__proto__"
    )
}

pub(super) fn array_members() -> &'static [&'static str] {
    &[
        "length",
        "map",
        "filter",
        "flatMap",
        "forEach",
        "find",
        "findIndex",
        "findLast",
        "findLastIndex",
        "some",
        "every",
        "includes",
        "indexOf",
        "lastIndexOf",
        "reduce",
        "reduceRight",
        "sort",
        "toSorted",
        "reverse",
        "toReversed",
        "at",
        "slice",
        "concat",
        "flat",
        "with",
        "join",
        "push",
        "pop",
        "shift",
        "unshift",
        "splice",
        "toSpliced",
        "fill",
        "copyWithin",
        "keys",
        "values",
        "entries",
    ]
}

/// Names that the program treats with care, or makes.
#[derive(Default)]
pub(super) struct Excused {
    names: FxHashSet<String>,
    /// Bindings that the program looks at before it uses them.
    looked_at: FxHashSet<SymbolId>,
    /// Any property may have been written: by a computed key, or by a built-in function that copies.
    all: bool,
}

impl Excused {
    /// What a program takes care of by itself. Bindings whose type it tests are noted in the flow.
    pub(super) fn collect(flow: &mut Flow<'_, '_, '_>) -> Excused {
        let mut excused = Excused::default();
        let semantic = flow.semantic;
        let nodes = semantic.nodes();
        let mut tested = Vec::new();
        for node in nodes.iter() {
            match node.kind() {
                AstKind::StaticMemberExpression(m) => {
                    let name = m.property.name.as_str();
                    if name == "prototype" || is_defended(flow, node.id()) {
                        excused.names.insert(name.to_owned());
                    }
                    excused.all |= name == "prototype";
                }
                AstKind::ComputedMemberExpression(m) => match strip(&m.expression) {
                    Expression::StringLiteral(s) if is_defended(flow, node.id()) => {
                        excused.names.insert(s.value.to_string());
                    }
                    Expression::StringLiteral(_) | Expression::NumericLiteral(_) => {}
                    _ => {
                        excused.all |= is_written(flow, node.id()) && !is_own(flow, &m.object);
                    }
                },
                AstKind::IdentifierReference(ident) if is_defended(flow, node.id()) => {
                    excused.looked_at.extend(flow.symbol(ident));
                }
                AstKind::BinaryExpression(b) => match b.operator {
                    BinaryOperator::In => {
                        match strip(&b.left) {
                            Expression::StringLiteral(s) => {
                                excused.names.insert(s.value.to_string());
                            }
                            _ => excused.all = true,
                        }
                        tested.push(&b.right);
                    }
                    BinaryOperator::Instanceof => tested.push(&b.left),
                    _ => {}
                },
                AstKind::UnaryExpression(u) if u.operator == UnaryOperator::Typeof => {
                    tested.push(&u.argument);
                }
                AstKind::CallExpression(call) => excused.call(flow, call, &mut tested),
                _ => {}
            }
        }
        for e in tested {
            flow.tested.extend(root(flow, e));
        }
        excused
    }

    fn call<'a>(
        &mut self,
        flow: &Flow<'a, '_, '_>,
        call: &'a CallExpression<'a>,
        tested: &mut Vec<&'a Expression<'a>>,
    ) {
        let Some((_, name)) = super::flow::method(call) else {
            return;
        };
        let argument = |at: usize| call.arguments.get(at).and_then(|a| a.as_expression());
        match name {
            "isArray" => tested.extend(argument(0)),
            "hasOwn" | "hasOwnProperty" => {
                let key = argument(usize::from(name == "hasOwn"));
                match key.map(strip) {
                    Some(Expression::StringLiteral(s)) => {
                        self.names.insert(s.value.to_string());
                    }
                    _ => self.all = true,
                }
            }
            "assign" | "defineProperty" | "defineProperties" | "setPrototypeOf" => {
                self.all |= argument(0).is_none_or(|target| !is_own(flow, target));
            }
            _ => {}
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.all || self.names.contains(name)
    }
}

/// The binding at the start of a chain of members, and of the expressions that only pass it on.
fn root<'a>(flow: &Flow<'a, '_, '_>, e: &'a Expression<'a>) -> Option<SymbolId> {
    let mut e = strip(e);
    loop {
        e = match e {
            Expression::Identifier(ident) => return flow.symbol(ident),
            Expression::ChainExpression(chain) => match chain.expression.as_member_expression() {
                Some(member) => strip(member.object()),
                None => return None,
            },
            Expression::AwaitExpression(a) => strip(&a.argument),
            other => strip(other.as_member_expression()?.object()),
        };
    }
}

/// Whether an object is one that the program made by itself, so that no result can be behind it.
fn is_own<'a>(flow: &Flow<'a, '_, '_>, e: &'a Expression<'a>) -> bool {
    let mut e = strip(e);
    for _ in 0..8 {
        e = match e {
            Expression::ObjectExpression(_)
            | Expression::ArrayExpression(_)
            | Expression::NewExpression(_)
            | Expression::ThisExpression(_) => return true,
            Expression::CallExpression(call) => {
                return super::flow::method(call).is_some_and(|(_, name)| {
                    matches!(
                        name,
                        "fromEntries" | "create" | "groupBy" | "from" | "parse"
                    )
                });
            }
            Expression::Identifier(ident) => {
                match flow.symbol(ident).and_then(|s| flow.declared_as(s)) {
                    Some(init) => strip(init),
                    None => return false,
                }
            }
            _ => return false,
        };
    }
    false
}

fn is_written(flow: &Flow<'_, '_, '_>, id: NodeId) -> bool {
    let span = flow.semantic.nodes().kind(id).span();
    match flow.semantic.nodes().parent_kind(id) {
        AstKind::AssignmentExpression(a) => a.left.span() == span,
        AstKind::UpdateExpression(_)
        | AstKind::ArrayAssignmentTarget(_)
        | AstKind::ObjectAssignmentTarget(_)
        | AstKind::AssignmentTargetWithDefault(_)
        | AstKind::AssignmentTargetRest(_)
        | AstKind::AssignmentTargetPropertyProperty(_) => true,
        AstKind::ForOfStatement(f) => f.left.span() == span,
        AstKind::ForInStatement(f) => f.left.span() == span,
        _ => false,
    }
}

/// Whether the program is ready for a member not to be there, or makes it.
fn is_defended(flow: &Flow<'_, '_, '_>, id: NodeId) -> bool {
    let nodes = flow.semantic.nodes();
    let mut id = id;
    if is_written(flow, id) {
        return true;
    }
    for _ in 0..32 {
        let span = nodes.kind(id).span();
        let parent = nodes.parent_id(id);
        match nodes.kind(parent) {
            AstKind::ParenthesizedExpression(_)
            | AstKind::ChainExpression(_)
            | AstKind::TSNonNullExpression(_)
            | AstKind::TSAsExpression(_)
            | AstKind::AwaitExpression(_) => {}
            AstKind::LogicalExpression(l) if l.left.span() == span => return true,
            AstKind::LogicalExpression(_) => {}
            AstKind::ConditionalExpression(c) => return c.test.span() == span,
            AstKind::IfStatement(_)
            | AstKind::WhileStatement(_)
            | AstKind::DoWhileStatement(_)
            | AstKind::ForStatement(_)
            | AstKind::SwitchStatement(_) => return true,
            AstKind::UnaryExpression(u) => {
                return matches!(
                    u.operator,
                    UnaryOperator::LogicalNot
                        | UnaryOperator::Typeof
                        | UnaryOperator::Void
                        | UnaryOperator::Delete
                );
            }
            AstKind::BinaryExpression(b) => {
                return b.operator.is_equality()
                    || matches!(b.operator, BinaryOperator::In | BinaryOperator::Instanceof);
            }
            AstKind::StaticMemberExpression(m) => return m.optional,
            AstKind::ComputedMemberExpression(m) => return m.optional && m.object.span() == span,
            AstKind::CallExpression(c) if c.callee.span() == span => return c.optional,
            AstKind::CallExpression(c) => {
                return matches!(strip(&c.callee), Expression::Identifier(i) if i.name == "Boolean")
                    || super::flow::method(c).is_some_and(|(_, name)| name == "isArray");
            }
            _ => return false,
        }
        id = parent;
    }
    false
}

/// A read of something that isn't there.
pub(super) struct BadRead<'s> {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) ty: Ty<'s>,
    pub(super) names: Vec<&'s str>,
}

/// All reads of properties that their object's type doesn't have.
pub(super) fn bad_reads<'a, 's>(flow: &Flow<'a, 's, '_>, excused: &Excused) -> Vec<BadRead<'s>> {
    let mut found = Vec::new();
    let semantic = flow.semantic;
    for node in semantic.nodes().iter() {
        let (object, name, span) = match node.kind() {
            AstKind::StaticMemberExpression(m) => {
                (&m.object, m.property.name.to_string(), m.property.span)
            }
            AstKind::ComputedMemberExpression(m) => match strip(&m.expression) {
                Expression::StringLiteral(s) => (&m.object, s.value.to_string(), s.span),
                _ => continue,
            },
            AstKind::VariableDeclarator(d) => {
                if let Some(init) = &d.init {
                    pattern(flow, excused, &d.id, &flow.ty(init), &mut found, 0);
                }
                continue;
            }
            AstKind::ForOfStatement(f) => {
                if let ForStatementLeft::VariableDeclaration(d) = &f.left
                    && let Some(first) = d.declarations.first()
                {
                    let from = super::flow::From::Each {
                        list: &f.right,
                        awaited: f.r#await,
                    };
                    let ty = flow.ty_from(from, 0);
                    pattern(flow, excused, &first.id, &ty, &mut found, 0);
                }
                continue;
            }
            AstKind::AssignmentExpression(a) => {
                assigned(flow, excused, &a.left, &a.right, &mut found);
                continue;
            }
            AstKind::CallExpression(call) => {
                callbacks(flow, excused, call, &mut found);
                continue;
            }
            _ => continue,
        };
        let ty = flow.ty(object);
        let is_ready = || root(flow, object).is_some_and(|s| excused.looked_at.contains(&s));
        if is_written(flow, node.id()) || (matches!(ty, Ty::Undefined) && is_ready()) {
            continue;
        }
        look(excused, &ty, name, span, &mut found);
    }
    found
}

fn look<'s>(
    excused: &Excused,
    ty: &Ty<'s>,
    name: String,
    span: Span,
    found: &mut Vec<BadRead<'s>>,
) {
    if excused.has(&name) {
        return;
    }
    if let Look::Missing(names) = ty.look(&name) {
        found.push(BadRead {
            name,
            span,
            ty: ty.clone(),
            names,
        });
    }
}

fn callbacks<'a, 's>(
    flow: &Flow<'a, 's, '_>,
    excused: &Excused,
    call: &'a CallExpression<'a>,
    found: &mut Vec<BadRead<'s>>,
) {
    for (argument, value) in call.arguments.iter().enumerate() {
        let Some(params) = value.as_expression().and_then(parameters) else {
            continue;
        };
        for (index, param) in params.items.iter().enumerate() {
            if matches!(param.pattern, BindingPattern::BindingIdentifier(_))
                || param.initializer.is_some()
            {
                continue;
            }
            let from = super::flow::From::Parameter {
                call,
                argument,
                index,
            };
            let ty = flow.ty_from(from, 0);
            pattern(flow, excused, &param.pattern, &ty, found, 0);
        }
    }
}

/// Destructuring without a declaration: the names of the outermost object only.
fn assigned<'a, 's>(
    flow: &Flow<'a, 's, '_>,
    excused: &Excused,
    target: &'a AssignmentTarget<'a>,
    value: &'a Expression<'a>,
    found: &mut Vec<BadRead<'s>>,
) {
    use oxc_ast::ast::AssignmentTargetProperty as Property;
    let AssignmentTarget::ObjectAssignmentTarget(object) = target else {
        return;
    };
    let ty = flow.ty(value);
    for property in &object.properties {
        let (name, span) = match property {
            Property::AssignmentTargetPropertyIdentifier(p) if p.init.is_none() => {
                (p.binding.name.to_string(), p.binding.span)
            }
            Property::AssignmentTargetPropertyProperty(p) => match key_name(&p.name, p.computed) {
                Some(name) => (name, p.name.span()),
                None => continue,
            },
            Property::AssignmentTargetPropertyIdentifier(_) => continue,
        };
        look(excused, &ty, name, span, found);
    }
}

fn pattern<'a, 's>(
    flow: &Flow<'a, 's, '_>,
    excused: &Excused,
    target: &'a BindingPattern<'a>,
    ty: &Ty<'s>,
    found: &mut Vec<BadRead<'s>>,
    depth: usize,
) {
    if depth > 32 || matches!(ty, Ty::Unknown) {
        return;
    }
    match target {
        BindingPattern::ObjectPattern(object) => {
            for property in &object.properties {
                let Some(name) = key_name(&property.key, property.computed) else {
                    continue;
                };
                let inner = flow.member(ty, &name);
                let is_defaulted = matches!(property.value, BindingPattern::AssignmentPattern(_));
                if !is_defaulted && !matches!(ty, Ty::Tools(_)) {
                    look(excused, ty, name, property.key.span(), found);
                }
                pattern(flow, excused, &property.value, &inner, found, depth + 1);
            }
        }
        BindingPattern::ArrayPattern(array) => {
            for (index, element) in array.elements.iter().enumerate() {
                if let Some(element) = element {
                    let inner = match ty {
                        Ty::Tuple(items) => items.get(index).cloned().unwrap_or(Ty::Unknown),
                        other => other.element(),
                    };
                    pattern(flow, excused, element, &inner, found, depth + 1);
                }
            }
        }
        BindingPattern::AssignmentPattern(default) => {
            pattern(flow, excused, &default.left, ty, found, depth + 1);
        }
        BindingPattern::BindingIdentifier(_) => {}
    }
}
