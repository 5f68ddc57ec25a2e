//! References and schemas of a document.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const DEPTH: usize = 64;
const COMPONENTS: &str = "#/components/schemas/";

/// A document whose references can be followed.
pub(super) struct Document<'d> {
    pub(super) root: &'d Value,
}

/// Which properties a schema is read for: those that are sent, or those that are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Request,
    Response,
}

impl<'d> Document<'d> {
    pub(super) fn new(root: &'d Value) -> Document<'d> {
        Document { root }
    }

    /// What a reference leads to, or the value itself; nothing when the chain leads out of the document or around.
    pub(super) fn resolve(&self, value: &'d Value) -> Option<&'d Value> {
        let mut value = value;
        for _ in 0..DEPTH {
            match value.get("$ref") {
                None => return Some(value),
                Some(target) => value = self.root.pointer(target.as_str()?.strip_prefix('#')?)?,
            }
        }
        None
    }

    pub(super) fn schemas(&self, direction: Direction) -> Schemas<'_> {
        Schemas {
            document: self,
            direction,
            used: BTreeMap::new(),
        }
    }
}

/// Turns schemas of a document into JSON Schema whose shared parts stand under `$defs`.
pub(super) struct Schemas<'d> {
    document: &'d Document<'d>,
    direction: Direction,
    /// Shared schemas by their (still escaped) name; null while one is being converted.
    used: BTreeMap<String, Value>,
}

impl Schemas<'_> {
    pub(super) fn convert(&mut self, schema: &Value) -> Value {
        self.at(schema, 0)
    }

    /// Adds the shared schemas to the one that refers to them.
    pub(super) fn finish(self, mut schema: Value) -> Value {
        if !self.used.is_empty() {
            let shared: Map<String, Value> = self
                .used
                .into_iter()
                .map(|(name, schema)| (name.replace("~1", "/").replace("~0", "~"), schema))
                .collect();
            schema["$defs"] = Value::Object(shared);
        }
        schema
    }

    /// Whether a property isn't there in this direction.
    pub(super) fn is_hidden(&self, schema: &Value) -> bool {
        let flag = match self.direction {
            Direction::Request => "readOnly",
            Direction::Response => "writeOnly",
        };
        let is_set = |schema: &Value| schema.get(flag) == Some(&Value::Bool(true));
        if is_set(schema) {
            return true;
        }
        let mut schema = schema.clone();
        for _ in 0..DEPTH {
            let Some(target) = schema.get("$ref").and_then(Value::as_str) else {
                break;
            };
            let Some(found) = target
                .strip_prefix('#')
                .and_then(|pointer| self.document.root.pointer(pointer))
            else {
                break;
            };
            schema = found.clone();
        }
        is_set(&schema)
    }

    fn at(&mut self, schema: &Value, depth: usize) -> Value {
        let Value::Object(rules) = schema else {
            return schema.clone();
        };
        if depth > DEPTH {
            return json!({});
        }
        let mut out = Map::new();
        for (key, value) in rules {
            match key.as_str() {
                "$ref" => self.reference(value, depth, &mut out),
                "properties" | "patternProperties" | "$defs" | "dependentSchemas" => {
                    let converted = self.properties(value, depth);
                    out.insert(key.clone(), converted);
                }
                "items"
                | "not"
                | "additionalProperties"
                | "contains"
                | "propertyNames"
                | "if"
                | "then"
                | "else"
                | "unevaluatedProperties"
                | "unevaluatedItems" => {
                    out.insert(key.clone(), self.at(value, depth + 1));
                }
                "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                    let list = value.as_array().into_iter().flatten();
                    let list: Vec<Value> = list.map(|part| self.at(part, depth + 1)).collect();
                    out.insert(key.clone(), Value::Array(list));
                }
                "nullable" | "example" | "examples" | "xml" | "discriminator" | "externalDocs"
                | "readOnly" | "writeOnly" | "exclusiveMinimum" | "exclusiveMaximum" => {}
                _ => {
                    out.insert(key.clone(), value.clone());
                }
            }
        }
        self.required(rules, &mut out);
        bounds(rules, &mut out);
        if rules.get("nullable") == Some(&Value::Bool(true)) {
            return nullable(out);
        }
        Value::Object(out)
    }

    fn properties(&mut self, properties: &Value, depth: usize) -> Value {
        let mut out = Map::new();
        for (name, schema) in properties.as_object().into_iter().flatten() {
            if !self.is_hidden(schema) {
                out.insert(name.clone(), self.at(schema, depth + 1));
            }
        }
        Value::Object(out)
    }

    /// Properties that aren't there can't be required.
    fn required(&self, rules: &Map<String, Value>, out: &mut Map<String, Value>) {
        let Some(Value::Array(names)) = out.get_mut("required") else {
            return;
        };
        let properties = rules.get("properties");
        names.retain(|name| {
            let schema = name
                .as_str()
                .and_then(|name| properties.and_then(|p| p.get(name)));
            !schema.is_some_and(|schema| self.is_hidden(schema))
        });
        if names.is_empty() {
            out.remove("required");
        }
    }

    fn reference(&mut self, target: &Value, depth: usize, out: &mut Map<String, Value>) {
        let target = target.as_str().unwrap_or_default();
        if let Some(name) = target
            .strip_prefix(COMPONENTS)
            .filter(|name| !name.contains('/'))
        {
            if self.document.root.pointer(&target[1..]).is_none() {
                return;
            }
            out.insert("$ref".to_owned(), json!(format!("#/$defs/{name}")));
            if !self.used.contains_key(name) {
                self.used.insert(name.to_owned(), Value::Null);
                let found = self.document.root.pointer(&target[1..]).cloned();
                let converted = self.at(&found.unwrap_or_default(), 0);
                self.used.insert(name.to_owned(), converted);
            }
            return;
        }
        // A reference to some other place is put in place.
        let found = target
            .strip_prefix('#')
            .and_then(|pointer| self.document.root.pointer(pointer))
            .cloned();
        if let Some(Value::Object(inner)) = found.map(|found| self.at(&found, depth + 1)) {
            out.extend(inner);
        }
    }
}

/// Bounds of OpenAPI 3.0 are exclusive by a flag, those of JSON Schema by their name.
fn bounds(rules: &Map<String, Value>, out: &mut Map<String, Value>) {
    for (exclusive, plain) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        match rules.get(exclusive) {
            Some(Value::Bool(true)) => {
                if let Some(bound) = out.remove(plain) {
                    out.insert(exclusive.to_owned(), bound);
                }
            }
            Some(bound @ Value::Number(_)) => {
                out.insert(exclusive.to_owned(), bound.clone());
            }
            _ => {}
        }
    }
}

fn nullable(mut out: Map<String, Value>) -> Value {
    if let Some(Value::Array(values)) = out.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match out.get("type").cloned() {
        Some(Value::String(name)) => {
            let both = json!([name, "null"]);
            out.insert("type".to_owned(), both);
            Value::Object(out)
        }
        Some(_) => Value::Object(out),
        None if out.contains_key("enum") => Value::Object(out),
        None if out.is_empty() => json!({}),
        None => json!({ "anyOf": [out, { "type": "null" }] }),
    }
}
