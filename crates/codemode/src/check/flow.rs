//! Where values come from: the bindings of a program and the shape of each expression, as far as the text shows it.

use super::types::{Look, Schema, Ty};
use crate::tools::ToolSet;
use oxc_ast::AstKind;
use oxc_ast::ast::{
    Argument, ArrayExpressionElement, ArrowFunctionBody, BindingPattern, CallExpression,
    ChainElement, Expression, ForStatementLeft, FormalParameters, IdentifierReference, PropertyKey,
    Statement,
};
use oxc_semantic::Semantic;
use oxc_syntax::operator::{BinaryOperator, LogicalOperator, UnaryOperator};
use oxc_syntax::symbol::SymbolId;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::LazyLock;

/// Deepest expression looked into.
const DEPTH: usize = 64;
/// Expressions looked at for each node of the program; beyond that nothing more is known.
const EFFORT: usize = 50;
const TUPLE_LIMIT: usize = 256;

pub(super) static SEARCH_INPUT: LazyLock<Value> = LazyLock::new(|| {
    json!({ "type": "object", "additionalProperties": false, "properties": {
        "query": { "type": "string" }, "namespace": { "type": "string" },
        "limit": { "type": "integer", "minimum": 1 }, "offset": { "type": "integer", "minimum": 0 },
        "compact": { "type": "boolean" } } })
});
static SEARCH_OUTPUT: LazyLock<Value> = LazyLock::new(|| {
    json!({ "type": "object", "properties": {
        "items": { "type": "array", "items": { "type": "object", "properties": {
            "path": { "type": "string" }, "description": { "type": "string" }, "signature": { "type": "string" } } } },
        "remaining": { "type": "integer" },
        "next": { "type": ["object", "null"], "properties": { "offset": { "type": "integer" } } } } })
});

/// What a binding takes its value from.
#[derive(Clone, Copy)]
pub(super) enum From<'a> {
    Value(&'a Expression<'a>),
    /// Each element in turn.
    Each {
        list: &'a Expression<'a>,
        awaited: bool,
    },
    /// A parameter of a function written as an argument of a call.
    Parameter {
        call: &'a CallExpression<'a>,
        argument: usize,
        index: usize,
    },
}

#[derive(Clone)]
enum Step {
    Property(String),
    Element(usize),
    Unknown,
}

struct Binding<'a> {
    from: From<'a>,
    steps: Vec<Step>,
}

/// The program's bindings and what they hold.
pub(super) struct Flow<'a, 's, 'c> {
    pub(super) semantic: &'c Semantic<'a>,
    pub(super) tools: &'s ToolSet,
    bindings: FxHashMap<SymbolId, Binding<'a>>,
    known: RefCell<FxHashMap<SymbolId, Ty<'s>>>,
    /// Bindings that the program tests by itself, so that what it then does with them is its own affair.
    pub(super) tested: FxHashSet<SymbolId>,
    left: Cell<usize>,
}

pub(super) fn strip<'b, 'a>(mut e: &'b Expression<'a>) -> &'b Expression<'a> {
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

pub(super) fn key_name(key: &PropertyKey<'_>, computed: bool) -> Option<String> {
    match key {
        PropertyKey::StaticIdentifier(ident) => Some(ident.name.to_string()),
        PropertyKey::StringLiteral(s) if !s.lone_surrogates => Some(s.value.to_string()),
        PropertyKey::NumericLiteral(n) if !computed => Some(crate::number::to_string(n.value)),
        _ => None,
    }
}

impl<'a, 's, 'c> Flow<'a, 's, 'c> {
    pub(super) fn new(semantic: &'c Semantic<'a>, tools: &'s ToolSet) -> Flow<'a, 's, 'c> {
        let mut flow = Flow {
            semantic,
            tools,
            bindings: FxHashMap::default(),
            known: RefCell::default(),
            tested: FxHashSet::default(),
            left: Cell::new(semantic.nodes().len() * EFFORT),
        };
        for node in semantic.nodes().iter() {
            match node.kind() {
                AstKind::VariableDeclarator(d) => {
                    if let Some(init) = &d.init {
                        flow.bind(&d.id, From::Value(init), &mut Vec::new());
                    }
                }
                AstKind::ForOfStatement(f) => {
                    if let ForStatementLeft::VariableDeclaration(d) = &f.left
                        && let Some(first) = d.declarations.first()
                    {
                        let from = From::Each {
                            list: &f.right,
                            awaited: f.r#await,
                        };
                        flow.bind(&first.id, from, &mut Vec::new());
                    }
                }
                AstKind::CallExpression(call) => flow.bind_callbacks(call),
                _ => {}
            }
        }
        flow
    }

    fn bind_callbacks(&mut self, call: &'a CallExpression<'a>) {
        for (argument, value) in call.arguments.iter().enumerate() {
            let Some(params) = value.as_expression().and_then(parameters) else {
                continue;
            };
            for (index, param) in params.items.iter().enumerate() {
                if param.initializer.is_none() {
                    let from = From::Parameter {
                        call,
                        argument,
                        index,
                    };
                    self.bind(&param.pattern, from, &mut Vec::new());
                }
            }
        }
    }

    fn bind(&mut self, pattern: &'a BindingPattern<'a>, from: From<'a>, steps: &mut Vec<Step>) {
        if steps.len() > DEPTH {
            return;
        }
        match pattern {
            BindingPattern::BindingIdentifier(ident) => {
                if let Some(symbol) = ident.symbol_id.get()
                    && !self.semantic.scoping().symbol_is_mutated(symbol)
                    && self
                        .semantic
                        .scoping()
                        .symbol_redeclarations(symbol)
                        .is_empty()
                {
                    let steps = steps.clone();
                    self.bindings.insert(symbol, Binding { from, steps });
                }
            }
            BindingPattern::ObjectPattern(object) => {
                for property in &object.properties {
                    steps.push(match key_name(&property.key, property.computed) {
                        Some(name) => Step::Property(name),
                        None => Step::Unknown,
                    });
                    self.bind(&property.value, from, steps);
                    steps.pop();
                }
            }
            BindingPattern::ArrayPattern(array) => {
                for (index, element) in array.elements.iter().enumerate() {
                    if let Some(element) = element {
                        steps.push(Step::Element(index));
                        self.bind(element, from, steps);
                        steps.pop();
                    }
                }
            }
            BindingPattern::AssignmentPattern(default) => self.bind(&default.left, from, steps),
        }
    }

    /// The binding that a name refers to.
    pub(super) fn symbol(&self, ident: &IdentifierReference<'_>) -> Option<SymbolId> {
        let id = ident.reference_id.get()?;
        self.semantic.scoping().get_reference(id).symbol_id()
    }

    fn is_global(&self, e: &Expression<'_>, name: &str) -> bool {
        matches!(strip(e), Expression::Identifier(i) if i.name == name && self.symbol(i).is_none())
    }

    /// The expression that a binding was declared with, when it holds it whole.
    pub(super) fn declared_as(&self, symbol: SymbolId) -> Option<&'a Expression<'a>> {
        match self.bindings.get(&symbol)? {
            Binding {
                from: From::Value(init),
                steps,
            } if steps.is_empty() => Some(init),
            _ => None,
        }
    }

    fn ty_of_symbol(&self, symbol: SymbolId, depth: usize) -> Ty<'s> {
        if self.tested.contains(&symbol) {
            return Ty::Unknown;
        }
        if let Some(known) = self.known.borrow().get(&symbol) {
            return known.clone();
        }
        // A binding that depends on itself is unknown.
        self.known.borrow_mut().insert(symbol, Ty::Unknown);
        let Some(binding) = self.bindings.get(&symbol) else {
            return Ty::Unknown;
        };
        let mut ty = self.ty_from(binding.from, depth);
        for step in &binding.steps {
            ty = match step {
                Step::Property(name) => self.member(&ty, name),
                Step::Element(index) => self.element(&ty, *index),
                Step::Unknown => Ty::Unknown,
            };
        }
        self.known.borrow_mut().insert(symbol, ty.clone());
        ty
    }

    pub(super) fn ty_from(&self, from: From<'a>, depth: usize) -> Ty<'s> {
        match from {
            From::Value(init) => self.ty_at(init, depth + 1),
            From::Each { list, awaited } => {
                let element = self.ty_at(list, depth + 1).element();
                if awaited { element.awaited() } else { element }
            }
            From::Parameter {
                call,
                argument,
                index,
            } => self.parameter(call, argument, index, depth + 1),
        }
    }

    /// What a call hands to a function written as its argument.
    fn parameter(
        &self,
        call: &'a CallExpression<'a>,
        argument: usize,
        index: usize,
        depth: usize,
    ) -> Ty<'s> {
        let Some((object, name)) = method(call) else {
            return Ty::Unknown;
        };
        let receiver = self.ty_at(object, depth);
        if let Ty::Promise(inner) = &receiver {
            return match (name, argument, index) {
                ("then", 0, 0) => inner.awaited(),
                _ => Ty::Unknown,
            };
        }
        if !receiver.is_list() || argument != 0 {
            return Ty::Unknown;
        }
        match (name, index) {
            (
                "map" | "filter" | "forEach" | "find" | "findLast" | "findIndex" | "findLastIndex"
                | "some" | "every" | "flatMap",
                0,
            )
            | ("reduce" | "reduceRight", 1)
            | ("sort" | "toSorted", 0 | 1) => receiver.element(),
            _ => Ty::Unknown,
        }
    }

    /// The type of a member, as far as it is known.
    pub(super) fn member(&self, ty: &Ty<'s>, name: &str) -> Ty<'s> {
        match ty {
            Ty::Tools(path) => {
                let mut path = path.clone();
                path.extend(name.split('.').map(str::to_owned));
                Ty::Tools(path)
            }
            other => match other.look(name) {
                Look::Found(ty) => ty,
                Look::Missing(_) | Look::Unknown => Ty::Unknown,
            },
        }
    }

    fn element(&self, ty: &Ty<'s>, index: usize) -> Ty<'s> {
        match ty {
            Ty::Tuple(items) => items.get(index).cloned().unwrap_or(Ty::Unknown),
            other => other.element(),
        }
    }

    pub(super) fn ty(&self, e: &'a Expression<'a>) -> Ty<'s> {
        self.ty_at(e, 0)
    }

    fn ty_at(&self, e: &'a Expression<'a>, depth: usize) -> Ty<'s> {
        let left = self.left.get();
        if depth > DEPTH || left == 0 {
            return Ty::Unknown;
        }
        self.left.set(left - 1);
        match strip(e) {
            Expression::Identifier(ident) => match self.symbol(ident) {
                Some(symbol) => self.ty_of_symbol(symbol, depth),
                None if ident.name == "tools" => Ty::Tools(Vec::new()),
                None if ident.name == "search" => Ty::Tools(vec!["search".to_owned()]),
                None => Ty::Unknown,
            },
            Expression::StaticMemberExpression(m) => {
                let object = self.ty_at(&m.object, depth + 1);
                self.member(&object, m.property.name.as_str())
            }
            Expression::ComputedMemberExpression(m) => {
                let object = self.ty_at(&m.object, depth + 1);
                match strip(&m.expression) {
                    Expression::StringLiteral(s) => self.member(&object, s.value.as_str()),
                    Expression::NumericLiteral(n) => self.element(&object, n.value as usize),
                    _ => object.element(),
                }
            }
            Expression::ChainExpression(chain) => self.chain(&chain.expression, depth),
            Expression::AwaitExpression(a) => self.ty_at(&a.argument, depth + 1).awaited(),
            Expression::CallExpression(call) => self.call(call, depth + 1),
            Expression::LogicalExpression(l) if l.operator != LogicalOperator::And => {
                match strip(&l.right) {
                    Expression::ArrayExpression(a) if a.elements.is_empty() => {
                        self.ty_at(&l.left, depth + 1)
                    }
                    Expression::NullLiteral(_) => self.ty_at(&l.left, depth + 1),
                    _ => Ty::Unknown,
                }
            }
            Expression::ArrayExpression(array) => self.array(&array.elements, depth + 1),
            Expression::StringLiteral(_) | Expression::TemplateLiteral(_) => Ty::Kind("string"),
            Expression::NumericLiteral(_) => Ty::Kind("number"),
            Expression::BooleanLiteral(_) => Ty::Kind("boolean"),
            Expression::UnaryExpression(u) => match u.operator {
                UnaryOperator::LogicalNot | UnaryOperator::Delete => Ty::Kind("boolean"),
                UnaryOperator::Typeof => Ty::Kind("string"),
                UnaryOperator::UnaryPlus => Ty::Kind("number"),
                _ => Ty::Unknown,
            },
            Expression::BinaryExpression(b) => self.binary(b.operator, &b.left, &b.right, depth),
            _ => Ty::Unknown,
        }
    }

    fn binary(
        &self,
        operator: BinaryOperator,
        left: &'a Expression<'a>,
        right: &'a Expression<'a>,
        depth: usize,
    ) -> Ty<'s> {
        if operator.is_equality()
            || operator.is_compare()
            || matches!(operator, BinaryOperator::In | BinaryOperator::Instanceof)
        {
            return Ty::Kind("boolean");
        }
        if operator == BinaryOperator::Addition {
            let is_text = |e| matches!(self.ty_at(e, depth + 1), Ty::Kind("string"));
            if is_text(left) || is_text(right) {
                return Ty::Kind("string");
            }
        }
        Ty::Unknown
    }

    fn chain(&self, element: &'a ChainElement<'a>, depth: usize) -> Ty<'s> {
        match element {
            ChainElement::CallExpression(call) => self.call(call, depth + 1),
            ChainElement::StaticMemberExpression(m) => {
                let object = self.ty_at(&m.object, depth + 1);
                self.member(&object, m.property.name.as_str())
            }
            ChainElement::ComputedMemberExpression(m) => {
                let object = self.ty_at(&m.object, depth + 1);
                match strip(&m.expression) {
                    Expression::StringLiteral(s) => self.member(&object, s.value.as_str()),
                    _ => object.element(),
                }
            }
            _ => Ty::Unknown,
        }
    }

    fn array(&self, elements: &'a [ArrayExpressionElement<'a>], depth: usize) -> Ty<'s> {
        if let [ArrayExpressionElement::SpreadElement(spread)] = elements {
            let inner = self.ty_at(&spread.argument, depth);
            return match inner {
                Ty::Tuple(_) => inner,
                _ if inner.is_list() => Ty::List(Rc::new(inner.element())),
                _ => Ty::Unknown,
            };
        }
        if elements.len() > TUPLE_LIMIT {
            return Ty::Unknown;
        }
        let items: Option<Vec<Ty<'s>>> = elements
            .iter()
            .map(|e| Some(self.ty_at(e.as_expression()?, depth)))
            .collect();
        items.map_or(Ty::Unknown, |items| Ty::Tuple(items.into()))
    }

    fn call(&self, call: &'a CallExpression<'a>, depth: usize) -> Ty<'s> {
        if let Ty::Tools(path) = self.ty_at(&call.callee, depth) {
            return match self.tools.find(&path) {
                Some(index) => {
                    let output = &self.tools.tools()[index].output;
                    Ty::Promise(Rc::new(output.as_ref().map_or(Ty::Undefined, Ty::of)))
                }
                None if path == ["search"] => Ty::Schema(Schema::new(&SEARCH_OUTPUT)),
                None => Ty::Unknown,
            };
        }
        let first = call.arguments.first().and_then(Argument::as_expression);
        if let Expression::Identifier(ident) = strip(&call.callee) {
            return match self.symbol(ident) {
                Some(symbol) => match self.declared_as(symbol) {
                    Some(function) => self.returned(function, depth),
                    None => Ty::Unknown,
                },
                None if ident.name == "structuredClone" => {
                    first.map_or(Ty::Unknown, |e| self.ty_at(e, depth))
                }
                None if ident.name == "String" => Ty::Kind("string"),
                None if ident.name == "Boolean" => Ty::Kind("boolean"),
                None if matches!(&*ident.name, "Number" | "parseInt" | "parseFloat") => {
                    Ty::Kind("number")
                }
                None => Ty::Unknown,
            };
        }
        let Some((object, name)) = method(call) else {
            return Ty::Unknown;
        };
        if self.is_global(object, "Promise") {
            return self.promise_static(name, first, depth);
        }
        if self.is_global(object, "JSON") && name == "stringify" {
            // Without a value it gives undefined.
            return Ty::Unknown;
        }
        let receiver = self.ty_at(object, depth);
        if let Ty::Promise(_) = &receiver {
            return match (name, first) {
                ("then", Some(f)) if call.arguments.len() == 1 => {
                    Ty::Promise(Rc::new(self.returned(f, depth).awaited()))
                }
                ("finally", _) => receiver,
                _ => Ty::Unknown,
            };
        }
        if receiver.is_list() {
            return self.list_method(&receiver, name, call, depth);
        }
        Ty::Unknown
    }

    fn promise_static(
        &self,
        name: &str,
        first: Option<&'a Expression<'a>>,
        depth: usize,
    ) -> Ty<'s> {
        let Some(first) = first else {
            return Ty::Unknown;
        };
        let given = self.ty_at(first, depth);
        match (name, &given) {
            ("all", Ty::Tuple(items)) => {
                let items: Vec<Ty<'s>> = items.iter().map(Ty::awaited).collect();
                Ty::Promise(Rc::new(Ty::Tuple(items.into())))
            }
            ("all", list) if list.is_list() => {
                Ty::Promise(Rc::new(Ty::List(Rc::new(list.element().awaited()))))
            }
            ("resolve", _) => Ty::Promise(Rc::new(given.awaited())),
            _ => Ty::Unknown,
        }
    }

    fn list_method(
        &self,
        receiver: &Ty<'s>,
        name: &str,
        call: &'a CallExpression<'a>,
        depth: usize,
    ) -> Ty<'s> {
        let first = call.arguments.first().and_then(Argument::as_expression);
        match name {
            "map" => match first {
                Some(f) => Ty::List(Rc::new(self.returned(f, depth))),
                None => Ty::Unknown,
            },
            "filter" | "slice" | "sort" | "toSorted" | "reverse" | "toReversed" => match receiver {
                Ty::Tuple(_) => Ty::Unknown,
                _ => Ty::List(Rc::new(receiver.element())),
            },
            "find" | "findLast" | "at" | "pop" | "shift" => receiver.element(),
            "join" => Ty::Kind("string"),
            "includes" | "some" | "every" => Ty::Kind("boolean"),
            _ => Ty::Unknown,
        }
    }

    /// What calling a written-out function gives, when it is one expression.
    fn returned(&self, function: &'a Expression<'a>, depth: usize) -> Ty<'s> {
        let Expression::ArrowFunctionExpression(arrow) = strip(function) else {
            return Ty::Unknown;
        };
        let value = match &arrow.body {
            ArrowFunctionBody::FunctionBody(body) => match body.statements.as_slice() {
                [Statement::ReturnStatement(r)] => r.argument.as_ref(),
                _ => None,
            },
            other => other.as_expression(),
        };
        let Some(value) = value else {
            return Ty::Unknown;
        };
        let ty = self.ty_at(value, depth + 1);
        if arrow.r#async {
            Ty::Promise(Rc::new(ty.awaited()))
        } else {
            ty
        }
    }
}

/// The receiver and the name of a method call.
pub(super) fn method<'a>(call: &'a CallExpression<'a>) -> Option<(&'a Expression<'a>, &'a str)> {
    match strip(&call.callee) {
        Expression::StaticMemberExpression(m) => Some((&m.object, m.property.name.as_str())),
        _ => None,
    }
}

pub(super) fn parameters<'a>(function: &'a Expression<'a>) -> Option<&'a FormalParameters<'a>> {
    match strip(function) {
        Expression::ArrowFunctionExpression(arrow) => Some(&arrow.params),
        Expression::FunctionExpression(function) => Some(&function.params),
        _ => None,
    }
}
