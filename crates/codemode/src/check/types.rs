//! What the check knows of a value: a shape told by a JSON Schema, or one that the program's own text shows.

use serde_json::{Map, Value};
use std::rc::Rc;

/// A schema and the document that its references point into.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schema<'s> {
    pub(super) root: &'s Value,
    pub(super) node: &'s Value,
}

/// What a value may be.
#[derive(Clone, Debug)]
pub(super) enum Ty<'s> {
    Unknown,
    /// The result of a tool without an output schema.
    Undefined,
    /// A path below `tools`.
    Tools(Vec<String>),
    Schema(Schema<'s>),
    List(Rc<Ty<'s>>),
    Tuple(Rc<[Ty<'s>]>),
    Promise(Rc<Ty<'s>>),
    /// A JSON kind.
    Kind(&'static str),
}

/// What reading a property finds.
pub(super) enum Look<'s> {
    Found(Ty<'s>),
    /// No such property; the names that there are.
    Missing(Vec<&'s str>),
    Unknown,
}

const REFERENCES: usize = 32;
const PARTS: usize = 200;
/// Most members of unions looked at; schemas may refer to themselves.
const EFFORT: usize = 300;

impl<'s> Schema<'s> {
    pub(super) fn new(root: &'s Value) -> Schema<'s> {
        Schema { root, node: root }
    }

    pub(super) fn at(self, node: &'s Value) -> Schema<'s> {
        Schema { node, ..self }
    }

    pub(super) fn rules(self) -> Option<&'s Map<String, Value>> {
        self.node.as_object()
    }

    pub(super) fn get(self, key: &str) -> Option<&'s Value> {
        self.rules()?.get(key)
    }

    /// The schema that a reference points to.
    pub(super) fn target(self) -> Option<Schema<'s>> {
        let pointer = self.get("$ref")?.as_str()?.strip_prefix('#')?;
        Some(self.at(self.root.pointer(pointer)?))
    }

    /// This schema and those that its value must fit too: references and `allOf`. None when one can't be known.
    fn parts(self) -> Option<Vec<Schema<'s>>> {
        let mut open = vec![self];
        let mut parts = Vec::new();
        while let Some(schema) = open.pop() {
            if parts.len() > PARTS || parts.len() + open.len() > PARTS + REFERENCES {
                return None;
            }
            schema.rules()?;
            if schema.get("$ref").is_some() {
                open.push(schema.target()?);
            }
            if let Some(all) = schema.get("allOf") {
                open.extend(all.as_array()?.iter().map(|part| schema.at(part)));
            }
            if ["not", "if", "patternProperties", "dependentSchemas"]
                .iter()
                .any(|key| schema.get(key).is_some())
            {
                return None;
            }
            parts.push(schema);
        }
        Some(parts)
    }

    /// The alternatives of a value: the members of unions, flattened, without `null`. None when one can't be known.
    fn alternatives(self) -> Option<Vec<Vec<Schema<'s>>>> {
        self.alternatives_within(&mut { EFFORT })
    }

    fn alternatives_within(self, effort: &mut usize) -> Option<Vec<Vec<Schema<'s>>>> {
        *effort = effort.checked_sub(1)?;
        let parts = self.parts()?;
        let union = parts
            .iter()
            .find_map(|part| Some((*part, part.get("anyOf").or_else(|| part.get("oneOf"))?)));
        let Some((owner, members)) = union else {
            return Some(vec![parts]);
        };
        let mut out = Vec::new();
        for member in members.as_array()? {
            if member.get("type").and_then(Value::as_str) == Some("null") {
                continue;
            }
            for mut alternative in owner.at(member).alternatives_within(effort)? {
                alternative.extend(parts.iter().copied());
                out.push(alternative);
            }
            if out.len() > PARTS {
                return None;
            }
        }
        Some(out)
    }

    /// The JSON kinds that a value of this schema may have. None when it may have any.
    pub(super) fn kinds(self) -> Option<Vec<&'static str>> {
        self.kinds_within(&mut { EFFORT })
    }

    fn kinds_within(self, effort: &mut usize) -> Option<Vec<&'static str>> {
        *effort = effort.checked_sub(1)?;
        let mut all = Vec::new();
        if self.get("nullable") == Some(&Value::Bool(true)) {
            all.push("null");
        }
        let parts = self.parts()?;
        if let Some(members) = parts.iter().find_map(|part| {
            let list = part.get("anyOf").or_else(|| part.get("oneOf"))?;
            Some(
                list.as_array()?
                    .iter()
                    .map(|m| part.at(m))
                    .collect::<Vec<_>>(),
            )
        }) {
            for member in members {
                all.extend(member.kinds_within(effort)?);
            }
            return Some(all);
        }
        for part in parts {
            let own = match part.get("type") {
                Some(Value::String(name)) => vec![kind_named(name)?],
                Some(Value::Array(names)) => names
                    .iter()
                    .map(|n| kind_named(n.as_str()?))
                    .collect::<Option<_>>()?,
                _ => match (part.get("enum"), part.get("const")) {
                    (Some(Value::Array(values)), _) => values.iter().map(kind_of).collect(),
                    (_, Some(value)) => vec![kind_of(value)],
                    _ => continue,
                },
            };
            all.extend(own);
            return Some(all);
        }
        None
    }
}

/// The JSON kind of a type's name; `integer` is a number.
pub(super) fn kind_named(name: &str) -> Option<&'static str> {
    ["null", "boolean", "number", "string", "array", "object"]
        .into_iter()
        .find(|kind| *kind == name)
        .or((name == "integer").then_some("number"))
}

pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

impl<'s> Ty<'s> {
    pub(super) fn of(root: &'s Value) -> Ty<'s> {
        Ty::Schema(Schema::new(root))
    }

    /// What awaiting the value gives.
    pub(super) fn awaited(&self) -> Ty<'s> {
        match self {
            Ty::Promise(inner) => inner.awaited(),
            other => other.clone(),
        }
    }

    /// The elements of an array.
    pub(super) fn element(&self) -> Ty<'s> {
        match self {
            Ty::List(inner) => (**inner).clone(),
            Ty::Schema(schema) => schema.only(&["array"], |parts| {
                let items = parts.iter().find_map(|part| {
                    (part.get("prefixItems").is_none())
                        .then(|| part.get("items").map(|items| Ty::Schema(part.at(items))))
                        .flatten()
                });
                items.unwrap_or(Ty::Unknown)
            }),
            _ => Ty::Unknown,
        }
    }

    pub(super) fn is_list(&self) -> bool {
        match self {
            Ty::List(_) | Ty::Tuple(_) => true,
            Ty::Schema(schema) => schema.kinds().is_some_and(|kinds| {
                kinds.contains(&"array") && kinds.iter().all(|k| matches!(*k, "array" | "null"))
            }),
            _ => false,
        }
    }

    /// Reads a property that isn't a tool's.
    pub(super) fn look(&self, name: &str) -> Look<'s> {
        match self {
            Ty::Undefined => Look::Missing(Vec::new()),
            Ty::Promise(_) => missing_unless(name, &["then", "catch", "finally"]),
            Ty::List(_) | Ty::Tuple(_) => list_member(name),
            Ty::Schema(schema) => schema.look(name),
            Ty::Unknown | Ty::Tools(_) | Ty::Kind(_) => Look::Unknown,
        }
    }
}

fn missing_unless<'s>(name: &str, known: &[&'static str]) -> Look<'s> {
    if known.contains(&name) || super::reads::on_every_object(name) {
        Look::Unknown
    } else {
        Look::Missing(known.to_vec())
    }
}

fn list_member<'s>(name: &str) -> Look<'s> {
    if name == "length" {
        return Look::Found(Ty::Kind("number"));
    }
    if name.bytes().all(|b| b.is_ascii_digit()) {
        return Look::Unknown;
    }
    let known = super::reads::array_members();
    if known.contains(&name) || super::reads::on_every_object(name) {
        Look::Unknown
    } else {
        Look::Missing(known.to_vec())
    }
}

impl<'s> Schema<'s> {
    /// Something of the one alternative whose kinds are only these.
    fn only(self, kinds: &[&str], f: impl Fn(&[Schema<'s>]) -> Ty<'s>) -> Ty<'s> {
        let is_one = self
            .kinds()
            .is_some_and(|own| own.iter().all(|k| kinds.contains(k) || *k == "null"));
        match (is_one, self.alternatives().as_deref()) {
            (true, Some([one])) => f(one),
            _ => Ty::Unknown,
        }
    }

    fn look(self, name: &str) -> Look<'s> {
        let Some(kinds) = self.kinds() else {
            return Look::Unknown;
        };
        if kinds.iter().all(|k| matches!(*k, "array" | "null")) {
            return list_member(name);
        }
        if kinds.iter().any(|k| !matches!(*k, "object" | "null"))
            || super::reads::on_every_object(name)
        {
            return Look::Unknown;
        }
        let Some(alternatives) = self.alternatives() else {
            return Look::Unknown;
        };
        let mut found = Vec::new();
        let mut names = Vec::new();
        for parts in &alternatives {
            let mut declares = false;
            for part in parts {
                if let Some(properties) = part.get("properties").and_then(Value::as_object) {
                    declares |= !properties.is_empty();
                    names.extend(properties.keys().map(String::as_str));
                    found.extend(
                        properties
                            .get(name)
                            .map(|schema| Ty::Schema(part.at(schema))),
                    );
                }
                for key in ["additionalProperties", "unevaluatedProperties"] {
                    if part
                        .get(key)
                        .is_some_and(|more| *more != Value::Bool(false))
                    {
                        return Look::Unknown;
                    }
                }
            }
            let closed = parts
                .iter()
                .any(|part| part.get("additionalProperties") == Some(&Value::Bool(false)));
            if !declares && !closed {
                return Look::Unknown;
            }
        }
        match found.len() {
            0 => Look::Missing(names),
            1 => found.pop().map_or(Look::Unknown, Look::Found),
            _ => Look::Found(Ty::Unknown),
        }
    }
}
