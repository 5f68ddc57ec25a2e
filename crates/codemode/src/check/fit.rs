//! Written-out inputs against the schemas of the tools they go to.
//!
//! Only what is certain counts: a value that isn't spelt out fits everything, and an alternative that might fit makes
//! the whole fit.

use super::flow::{Flow, key_name, strip};
use super::types::{Schema, Ty, kind_named, kind_of};
use crate::tools::closest;
use oxc_ast::ast::{
    ArrayExpression, ArrayExpressionElement, Expression, ObjectExpression, ObjectPropertyKind,
    PropertyKind,
};
use oxc_span::{GetSpan, Span};
use oxc_syntax::operator::UnaryOperator;
use serde_json::Value;
use std::cell::Cell;

const DEPTH: usize = 32;
/// Most schemas one input is held against; schemas may refer to themselves.
const EFFORT: usize = 20_000;
/// Most problems of one input.
const MOST: usize = 50;

/// One thing wrong with an input.
pub(super) struct Misfit {
    pub(super) span: Span,
    pub(super) message: String,
}

/// What is known of an argument's value.
enum Shape<'a, 's> {
    Unknown,
    /// `undefined` or a function: left out when it crosses.
    Absent,
    Literal(Value),
    Object(&'a ObjectExpression<'a>),
    Array(&'a ArrayExpression<'a>),
    Kinds(Vec<&'static str>),
    Typed(Ty<'s>),
}

pub(super) struct Fit<'f, 'a, 's, 'c> {
    pub(super) flow: &'f Flow<'a, 's, 'c>,
    /// The tool, for messages.
    pub(super) label: String,
    left: Cell<usize>,
}

impl<'f, 'a, 's, 'c> Fit<'f, 'a, 's, 'c> {
    pub(super) fn new(flow: &'f Flow<'a, 's, 'c>, label: String) -> Fit<'f, 'a, 's, 'c> {
        Fit {
            flow,
            label,
            left: Cell::new(EFFORT),
        }
    }

    /// What is wrong with the argument of a call, or with there being none.
    pub(super) fn input(
        &self,
        argument: Option<&'a Expression<'a>>,
        span: Span,
        root: &Value,
    ) -> Vec<Misfit> {
        let schema = Schema::new(root);
        let shape = argument.map_or(Shape::Absent, |e| self.shape(e, 0));
        let shape = match shape {
            Shape::Absent => Shape::Literal(Value::Object(serde_json::Map::new())),
            other => other,
        };
        self.fit(&shape, schema, "", span, 0)
    }

    fn shape(&self, e: &'a Expression<'a>, depth: usize) -> Shape<'a, 's> {
        if depth > 8 {
            return Shape::Unknown;
        }
        match strip(e) {
            Expression::NullLiteral(_) => Shape::Literal(Value::Null),
            Expression::BooleanLiteral(b) => Shape::Literal(Value::Bool(b.value)),
            Expression::NumericLiteral(n) => Shape::Literal(number(n.value)),
            Expression::StringLiteral(s) if !s.lone_surrogates => {
                Shape::Literal(Value::String(s.value.to_string()))
            }
            Expression::StringLiteral(_) => Shape::Kinds(vec!["string"]),
            Expression::TemplateLiteral(t) => match (t.quasis.as_slice(), t.expressions.is_empty())
            {
                ([only], true) => match &only.value.cooked {
                    Some(text) => Shape::Literal(Value::String(text.to_string())),
                    None => Shape::Unknown,
                },
                _ => Shape::Kinds(vec!["string"]),
            },
            Expression::UnaryExpression(u) => match (u.operator, strip(&u.argument)) {
                (UnaryOperator::UnaryNegation, Expression::NumericLiteral(n)) => {
                    Shape::Literal(number(-n.value))
                }
                (UnaryOperator::Void, _) => Shape::Absent,
                _ => self.typed(e),
            },
            Expression::ObjectExpression(o) => Shape::Object(o),
            Expression::ArrayExpression(a) => Shape::Array(a),
            Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_) => {
                Shape::Absent
            }
            Expression::RegExpLiteral(_) => Shape::Kinds(vec!["object"]),
            Expression::Identifier(ident) => {
                let Some(symbol) = self.flow.symbol(ident) else {
                    return match &*ident.name {
                        "undefined" => Shape::Absent,
                        "NaN" | "Infinity" => Shape::Literal(Value::Null),
                        _ => Shape::Unknown,
                    };
                };
                let Some(init) = self.flow.declared_as(symbol) else {
                    return self.typed(e);
                };
                match self.shape(init, depth + 1) {
                    // An object that is used elsewhere too may have been changed since.
                    Shape::Object(_) | Shape::Array(_) if self.uses(symbol) > 1 => Shape::Unknown,
                    shape => shape,
                }
            }
            _ => self.typed(e),
        }
    }

    fn uses(&self, symbol: oxc_syntax::symbol::SymbolId) -> usize {
        let scoping = self.flow.semantic.scoping();
        scoping.get_resolved_references(symbol).count()
    }

    fn typed(&self, e: &'a Expression<'a>) -> Shape<'a, 's> {
        match self.flow.ty(e).awaited() {
            Ty::Unknown | Ty::Tools(_) | Ty::Undefined => Shape::Unknown,
            Ty::Kind(kind) => Shape::Kinds(vec![kind]),
            Ty::List(_) | Ty::Tuple(_) => Shape::Kinds(vec!["array"]),
            ty => Shape::Typed(ty),
        }
    }

    fn misfit(&self, at: &str, span: Span, rule: &str) -> Misfit {
        let at = if at.is_empty() { "the input" } else { at };
        Misfit {
            span,
            message: format!("Tool '{}': {at} {rule}.", self.label),
        }
    }

    fn fit(
        &self,
        shape: &Shape<'a, 's>,
        schema: Schema<'_>,
        at: &str,
        span: Span,
        depth: usize,
    ) -> Vec<Misfit> {
        let left = self.left.get();
        if depth > DEPTH || left == 0 || matches!(shape, Shape::Unknown | Shape::Absent) {
            return Vec::new();
        }
        self.left.set(left - 1);
        if *schema.node == Value::Bool(false) {
            return vec![self.misfit(at, span, "is not allowed")];
        }
        let mut problems = Vec::new();
        if let Some(target) = schema.target() {
            problems.extend(self.fit(shape, target, at, span, depth + 1));
        }
        if let Some(Value::Array(all)) = schema.get("allOf") {
            for part in all {
                problems.extend(self.fit(shape, schema.at(part), at, span, depth + 1));
            }
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(members)) = schema.get(key) {
                problems.extend(self.union(shape, schema, members, at, span, depth));
            }
        }
        if let Some(problem) = self.kind(shape, schema, at, span) {
            problems.push(problem);
            return problems;
        }
        match shape {
            Shape::Literal(Value::Object(map)) if map.is_empty() => {
                problems.extend(self.required(schema, at, span, &[]));
            }
            Shape::Literal(value) => problems.extend(self.literal(value, schema, at, span)),
            Shape::Object(object) => problems.extend(self.object(object, schema, at, depth)),
            Shape::Array(array) => problems.extend(self.array(array, schema, at, depth)),
            _ => {}
        }
        problems
    }

    /// The problems of the alternative that comes nearest, when none fits.
    fn union(
        &self,
        shape: &Shape<'a, 's>,
        schema: Schema<'_>,
        members: &[Value],
        at: &str,
        span: Span,
        depth: usize,
    ) -> Vec<Misfit> {
        let mut best: Option<Vec<Misfit>> = None;
        let mut every_kind = Vec::new();
        for member in members {
            let member = schema.at(member);
            let problems = self.fit(shape, member, at, span, depth + 1);
            if problems.is_empty() {
                return Vec::new();
            }
            let is_kind = self.kind(shape, member, at, span).is_some();
            every_kind.push(is_kind);
            let is_better = best.as_ref().is_none_or(|b| problems.len() < b.len());
            if !is_kind && (is_better || every_kind.iter().filter(|k| !**k).count() == 1) {
                best = Some(problems);
            }
        }
        match best {
            Some(best) => best,
            None if members.is_empty() => Vec::new(),
            None => {
                let names: Vec<String> = members.iter().map(describe).collect();
                vec![self.misfit(at, span, &format!("must be {}", names.join(" or ")))]
            }
        }
    }

    /// Whether the value's kind is none that the schema allows.
    fn kind(
        &self,
        shape: &Shape<'a, 's>,
        schema: Schema<'_>,
        at: &str,
        span: Span,
    ) -> Option<Misfit> {
        let allowed: Vec<&str> = match schema.get("type")? {
            Value::String(name) => vec![name],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            _ => return None,
        };
        let own = match shape {
            Shape::Literal(value) => vec![kind_of(value)],
            Shape::Object(object) if is_plain(object) => vec!["object"],
            Shape::Array(_) => vec!["array"],
            Shape::Kinds(kinds) => kinds.clone(),
            Shape::Typed(Ty::Schema(schema)) => schema.kinds()?,
            _ => return None,
        };
        let nullable = schema.get("nullable") == Some(&Value::Bool(true));
        let takes = |kind: &str| {
            allowed
                .iter()
                .any(|name| kind_named(name).is_none_or(|k| k == kind))
                || (nullable && kind == "null")
        };
        if own.is_empty() || own.iter().any(|kind| takes(kind)) {
            let whole = allowed.contains(&"number") || !allowed.contains(&"integer");
            return match shape {
                Shape::Literal(Value::Number(n))
                    if !whole && n.as_f64().is_some_and(|n| n.trunc() != n) =>
                {
                    Some(self.misfit(at, span, &format!("must be an integer, got {n}")))
                }
                _ => None,
            };
        }
        let rule = format!("must be {}, got {}", allowed.join(" or "), own.join(" or "));
        Some(self.misfit(at, span, &rule))
    }

    fn literal(&self, value: &Value, schema: Schema<'_>, at: &str, span: Span) -> Vec<Misfit> {
        if schema.get("nullable") == Some(&Value::Bool(true)) && value.is_null() {
            return Vec::new();
        }
        let allowed: Vec<&Value> = match (schema.get("enum"), schema.get("const")) {
            (Some(Value::Array(values)), _) => values.iter().collect(),
            (_, Some(only)) => vec![only],
            _ => Vec::new(),
        };
        if !allowed.is_empty() && !allowed.iter().any(|a| is_same(a, value)) {
            let list: Vec<String> = allowed.iter().take(20).map(|v| v.to_string()).collect();
            let near = value
                .as_str()
                .and_then(|text| closest(text, allowed.iter().filter_map(|a| a.as_str())));
            let hint = near.map(|n| format!(". Did you mean \"{n}\"?"));
            let rule = format!("must be {}, got {value}", list.join(" or "));
            let mut problem = self.misfit(at, span, &rule);
            if let Some(hint) = hint {
                problem.message.pop();
                problem.message.push_str(&hint);
            }
            return vec![problem];
        }
        match schema.rules() {
            Some(rules) => match crate::schema::scalar(rules, value) {
                Ok(()) => Vec::new(),
                Err(rule) => vec![self.misfit(at, span, rule.trim_start())],
            },
            None => Vec::new(),
        }
    }

    fn required(
        &self,
        schema: Schema<'_>,
        at: &str,
        span: Span,
        present: &[String],
    ) -> Vec<Misfit> {
        let names = schema.get("required").and_then(Value::as_array);
        names
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(|name| !present.iter().any(|p| p == name))
            .map(|name| Misfit {
                span,
                message: format!(
                    "Tool '{}' needs the field '{}'.",
                    self.label,
                    place(at, name)
                ),
            })
            .collect()
    }

    fn object(
        &self,
        object: &'a ObjectExpression<'a>,
        schema: Schema<'_>,
        at: &str,
        depth: usize,
    ) -> Vec<Misfit> {
        let mut problems = Vec::new();
        let Some(fields) = fields(object) else {
            return problems;
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        let names: Vec<&str> = properties
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .collect();
        let mut present = Vec::new();
        for field in &fields.list {
            if problems.len() >= MOST {
                return problems;
            }
            let shape = field.value.map_or(Shape::Unknown, |e| self.shape(e, 0));
            let place = place(at, &field.name);
            if matches!(shape, Shape::Absent) {
                continue;
            }
            present.push(field.name.clone());
            match properties.and_then(|p| p.get(&field.name)) {
                Some(inner) => {
                    let span = field.value.map_or(field.span, GetSpan::span);
                    problems.extend(self.fit(&shape, schema.at(inner), &place, span, depth + 1));
                }
                None => {
                    let near = closest(&field.name, names.iter().copied());
                    if let Some(more @ Value::Object(_)) = schema.get("additionalProperties") {
                        let more = schema.at(more);
                        problems.extend(self.fit(&shape, more, &place, field.span, depth + 1));
                    }
                    if is_unknown(schema, near, &fields) {
                        let hint = near.map(|n| format!(" Did you mean '{n}'?"));
                        let message = format!(
                            "Tool '{}' has no field '{place}'.{}",
                            self.label,
                            hint.unwrap_or_default()
                        );
                        let span = field.span;
                        problems.push(Misfit { span, message });
                    }
                }
            }
        }
        if fields.is_complete {
            problems.extend(self.required(schema, at, object.span, &present));
        }
        problems
    }

    fn array(
        &self,
        array: &'a ArrayExpression<'a>,
        schema: Schema<'_>,
        at: &str,
        depth: usize,
    ) -> Vec<Misfit> {
        let mut problems = Vec::new();
        let fixed = schema.get("prefixItems").and_then(Value::as_array);
        let mut is_complete = true;
        for (index, element) in array.elements.iter().enumerate() {
            if problems.len() >= MOST {
                return problems;
            }
            let Some(e) = element.as_expression() else {
                is_complete &= matches!(element, ArrayExpressionElement::Elision(_));
                continue;
            };
            let inner = fixed
                .filter(|_| is_complete)
                .and_then(|list| list.get(index))
                .or_else(|| schema.get("items").filter(|_| fixed.is_none()));
            let shape = match self.shape(e, 0) {
                Shape::Absent => Shape::Literal(Value::Null),
                shape => shape,
            };
            if let Some(inner) = inner {
                let place = format!("{at}[{index}]");
                problems.extend(self.fit(&shape, schema.at(inner), &place, e.span(), depth + 1));
            }
        }
        let count = array.elements.len() as u64;
        let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
        if let Some(most) = bound("maxItems").filter(|&most| is_complete && count > most) {
            let rule = format!("must have at most {most} items");
            problems.push(self.misfit(at, array.span, &rule));
        }
        if let Some(least) = bound("minItems").filter(|&least| is_complete && count < least) {
            let rule = format!("must have at least {least} items");
            problems.push(self.misfit(at, array.span, &rule));
        }
        problems
    }
}

struct Field<'a> {
    name: String,
    span: Span,
    /// None for a getter's value.
    value: Option<&'a Expression<'a>>,
}

struct Fields<'a> {
    list: Vec<Field<'a>>,
    /// Whether these are all: nothing spread, no computed name.
    is_complete: bool,
}

/// The fields of an object literal, the last of two with one name; None when `toJSON` decides what crosses.
fn fields<'a>(object: &'a ObjectExpression<'a>) -> Option<Fields<'a>> {
    let mut fields = Fields {
        list: Vec::new(),
        is_complete: true,
    };
    let mut seen = rustc_hash::FxHashSet::default();
    for property in &object.properties {
        let ObjectPropertyKind::ObjectProperty(p) = property else {
            fields.is_complete = false;
            // What is spread may replace what stands before it.
            fields.list.clear();
            continue;
        };
        match key_name(&p.key, p.computed) {
            Some(name) if name == "toJSON" => return None,
            Some(name) if name == "__proto__" => {}
            Some(name) => {
                if !seen.insert(name.clone()) {
                    fields.list.retain(|f| f.name != name);
                }
                fields.list.push(Field {
                    name,
                    span: p.key.span(),
                    value: (p.kind == PropertyKind::Init).then_some(&p.value),
                });
            }
            None => {
                fields.is_complete = false;
                fields.list.clear();
            }
        }
    }
    Some(fields)
}

fn is_plain(object: &ObjectExpression<'_>) -> bool {
    fields(object).is_some_and(|f| f.is_complete || !object.properties.is_empty())
        && object.properties.iter().all(|p| match p {
            ObjectPropertyKind::ObjectProperty(p) => key_name(&p.key, p.computed).is_some(),
            ObjectPropertyKind::SpreadProperty(_) => true,
        })
}

/// Whether a field that isn't declared is a mistake: always in a closed object, and in an open one when it looks like a
/// declared field that is missing.
fn is_unknown(schema: Schema<'_>, near: Option<&str>, fields: &Fields<'_>) -> bool {
    if ["patternProperties", "$ref", "allOf", "anyOf", "oneOf", "if"]
        .iter()
        .any(|key| schema.get(key).is_some())
        && schema.get("additionalProperties") != Some(&Value::Bool(false))
    {
        return false;
    }
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => schema.get("patternProperties").is_none(),
        None => {
            near.is_some_and(|n| fields.is_complete && !fields.list.iter().any(|f| f.name == n))
        }
        Some(_) => false,
    }
}

fn place(at: &str, name: &str) -> String {
    if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    }
}

fn describe(schema: &Value) -> String {
    match (schema.get("type"), schema.get("const")) {
        (Some(Value::String(name)), _) => name.clone(),
        (_, Some(value)) => value.to_string(),
        _ => match schema.get("enum").and_then(Value::as_array) {
            Some(values) => values
                .iter()
                .map(Value::to_string)
                .collect::<Vec<_>>()
                .join(" or "),
            None => "another shape".to_owned(),
        },
    }
}

fn number(n: f64) -> Value {
    if n.trunc() == n && n.abs() < 9e15 {
        Value::from(n as i64)
    } else {
        Value::from(n)
    }
}

fn is_same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}
