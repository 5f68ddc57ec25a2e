//! TypeScript signatures of tools, rendered from JSON Schema.

use crate::tools::{Tool, expression};
use serde_json::{Map, Value};

const DEPTH_LIMIT: usize = 8;
const LINE: usize = 120;

/// `tools.path(input: INPUT): Promise<OUTPUT>`.
pub(crate) fn render(tool: &Tool, compact: bool) -> String {
    let name = expression(&tool.path);
    let output = tool
        .output
        .as_ref()
        .map_or_else(|| "void".to_owned(), |s| of(s, compact));
    let input = match &tool.input {
        Some(schema) if !is_empty_object(schema) => format!("input: {}", of(schema, compact)),
        _ => String::new(),
    };
    format!("{name}({input}): Promise<{output}>")
}

fn is_empty_object(schema: &Value) -> bool {
    let Value::Object(map) = schema else {
        return false;
    };
    let empty = |key: &str| {
        map.get(key)
            .and_then(Value::as_object)
            .is_none_or(Map::is_empty)
    };
    map.get("type").and_then(Value::as_str) == Some("object")
        && empty("properties")
        && !matches!(map.get("additionalProperties"), Some(Value::Object(_)))
        && !["anyOf", "oneOf", "allOf", "$ref", "enum", "const"]
            .iter()
            .any(|k| map.contains_key(*k))
}

fn of(schema: &Value, compact: bool) -> String {
    Renderer {
        root: schema,
        compact,
    }
    .render(schema, 0, 0, &mut Vec::new())
}

struct Renderer<'a> {
    root: &'a Value,
    compact: bool,
}

/// Keywords that say something about the value's type.
const TYPED: [&str; 8] = [
    "type",
    "properties",
    "items",
    "const",
    "enum",
    "anyOf",
    "oneOf",
    "allOf",
];

impl<'a> Renderer<'a> {
    fn render(
        &self,
        schema: &'a Value,
        depth: usize,
        indent: usize,
        seen: &mut Vec<&'a str>,
    ) -> String {
        let Value::Object(map) = schema else {
            return "unknown".to_owned();
        };
        if depth > DEPTH_LIMIT {
            return "unknown".to_owned();
        }
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            return self.reference(map, target, depth, indent, seen);
        }
        if let Some(value) = map.get("const") {
            return value.to_string();
        }
        if let Some(Value::Array(values)) = map.get("enum") {
            let list: Vec<String> = values.iter().map(Value::to_string).collect();
            return if list.is_empty() {
                "never".to_owned()
            } else {
                list.join(" | ")
            };
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(members)) = map.get(key) {
                return self.union(map, key, members, depth, indent, seen);
            }
        }
        if let Some(Value::Array(members)) = map.get("allOf") {
            return self.intersection(map, members, depth, indent, seen);
        }
        match map.get("type") {
            Some(Value::Array(names)) => {
                let list: Vec<String> = names
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|name| self.typed(map, name, depth, indent, seen))
                    .collect();
                unique(list).join(" | ")
            }
            Some(Value::String(name)) => self.typed(map, name, depth, indent, seen),
            _ if map.contains_key("properties") => self.typed(map, "object", depth, indent, seen),
            _ if map.contains_key("items") => self.typed(map, "array", depth, indent, seen),
            _ => "unknown".to_owned(),
        }
    }

    fn siblings(&self, map: &'a Map<String, Value>, without: &str) -> Option<Value> {
        let rest: Map<String, Value> = map
            .iter()
            .filter(|(k, _)| k.as_str() != without)
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        rest.keys()
            .any(|k| TYPED.contains(&k.as_str()))
            .then_some(Value::Object(rest))
    }

    /// The type that the keywords beside a combining one give.
    fn beside(
        &self,
        map: &'a Map<String, Value>,
        without: &str,
        depth: usize,
        indent: usize,
    ) -> Option<String> {
        let rest = self.siblings(map, without)?;
        let text = Renderer {
            root: self.root,
            compact: self.compact,
        }
        .render_owned(&rest, depth, indent);
        (text != "unknown").then_some(text)
    }

    /// Renders a schema that isn't part of the root.
    fn render_owned(&self, schema: &Value, depth: usize, indent: usize) -> String {
        let inner = Renderer {
            root: schema,
            compact: self.compact,
        };
        inner.render(schema, depth, indent, &mut Vec::new())
    }

    fn reference(
        &self,
        map: &'a Map<String, Value>,
        target: &'a str,
        depth: usize,
        indent: usize,
        seen: &mut Vec<&'a str>,
    ) -> String {
        let known = target.starts_with("#/$defs/") || target.starts_with("#/definitions/");
        let found = known.then(|| self.root.pointer(&target[1..])).flatten();
        let (Some(found), false) = (found, seen.contains(&target)) else {
            return "unknown".to_owned();
        };
        seen.push(target);
        let text = self.render(found, depth + 1, indent, seen);
        seen.pop();
        match self.beside(map, "$ref", depth, indent) {
            Some(more) => format!("{} & {}", wrap(&text), wrap(&more)),
            None => text,
        }
    }

    fn union(
        &self,
        map: &'a Map<String, Value>,
        key: &str,
        members: &'a [Value],
        depth: usize,
        indent: usize,
        seen: &mut Vec<&'a str>,
    ) -> String {
        let sentinel = |v: &Value| {
            let text = v
                .get("const")
                .or_else(|| v.get("enum").and_then(|e| e.get(0)))
                .and_then(Value::as_str);
            matches!(text, Some("NaN" | "Infinity" | "-Infinity"))
        };
        let is_number = |v: &Value| {
            matches!(
                v.get("type").and_then(Value::as_str),
                Some("number" | "integer")
            )
        };
        if members.iter().any(is_number) && members.iter().all(|m| is_number(m) || sentinel(m)) {
            return "number".to_owned();
        }
        let bare = |v: &Value, name: &str| {
            v.as_object().is_some_and(|m| m.len() == 1) && v["type"] == name
        };
        if let [a, b] = members
            && ((bare(a, "object") && bare(b, "array")) || (bare(a, "array") && bare(b, "object")))
        {
            return "{}".to_owned();
        }
        let list: Vec<String> = members
            .iter()
            .map(|m| self.render(m, depth + 1, indent, seen))
            .collect();
        if list.iter().any(|t| t == "unknown") || list.is_empty() {
            return "unknown".to_owned();
        }
        let text = unique(list).join(" | ");
        match self.beside(map, key, depth, indent) {
            Some(more) => format!("{} & {}", wrap(&text), wrap(&more)),
            None => text,
        }
    }

    fn intersection(
        &self,
        map: &'a Map<String, Value>,
        members: &'a [Value],
        depth: usize,
        indent: usize,
        seen: &mut Vec<&'a str>,
    ) -> String {
        let mut list = Vec::new();
        for member in members {
            let text = self.render(member, depth + 1, indent, seen);
            if text == "unknown" {
                if member.get("$ref").is_some() {
                    return text;
                }
                continue;
            }
            list.push(text);
        }
        list.extend(self.beside(map, "allOf", depth, indent));
        let list = unique(list);
        match list.len() {
            0 => "unknown".to_owned(),
            1 => list.into_iter().next().unwrap_or_default(),
            _ => list.iter().map(|t| wrap(t)).collect::<Vec<_>>().join(" & "),
        }
    }

    fn typed(
        &self,
        map: &'a Map<String, Value>,
        name: &str,
        depth: usize,
        indent: usize,
        seen: &mut Vec<&'a str>,
    ) -> String {
        match name {
            "integer" | "number" => "number".to_owned(),
            "string" | "boolean" | "null" => name.to_owned(),
            "array" => {
                let items = map.get("items").map_or_else(
                    || "unknown".to_owned(),
                    |s| self.render(s, depth + 1, indent, seen),
                );
                format!("Array<{items}>")
            }
            "object" => self.object(map, depth, indent, seen),
            _ => "unknown".to_owned(),
        }
    }

    fn object(
        &self,
        map: &'a Map<String, Value>,
        depth: usize,
        indent: usize,
        seen: &mut Vec<&'a str>,
    ) -> String {
        let required: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .map(|r| r.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let pad = "  ".repeat(indent + 1);
        let mut fields = Vec::new();
        for (name, schema) in map
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let mark = if required.contains(&name.as_str()) {
                ""
            } else {
                "?"
            };
            let text = self.render(schema, depth + 1, indent + 1, seen);
            let comment = if self.compact {
                String::new()
            } else {
                comment(schema, &pad)
            };
            fields.push((comment, format!("{}{mark}: {text}", key(name))));
        }
        if let Some(schema @ Value::Object(_)) = map.get("additionalProperties") {
            let text = self.render(schema, depth + 1, indent + 1, seen);
            fields.push((String::new(), format!("[key: string]: {text}")));
        }
        if fields.is_empty() {
            return "{}".to_owned();
        }
        if self.compact {
            let list: Vec<String> = fields.into_iter().map(|(_, f)| f).collect();
            return format!("{{ {} }}", list.join("; "));
        }
        let body: String = fields
            .into_iter()
            .map(|(comment, field)| format!("{comment}{pad}{field},\n"))
            .collect();
        format!("{{\n{body}{}}}", "  ".repeat(indent))
    }
}

fn unique(list: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for item in list {
        if !out.contains(&item) {
            out.push(item);
        }
    }
    out
}

fn wrap(text: &str) -> String {
    let mut depth = 0i32;
    let top_level_union = text.chars().any(|c| {
        match c {
            '{' | '<' | '(' => depth += 1,
            '}' | '>' | ')' => depth -= 1,
            _ => {}
        }
        c == '|' && depth == 0
    });
    if top_level_union {
        format!("({text})")
    } else {
        text.to_owned()
    }
}

fn key(name: &str) -> String {
    let mut chars = name.chars();
    let first = chars
        .next()
        .is_some_and(|c| c == '_' || c == '$' || c.is_ascii_alphabetic());
    if first && chars.all(|c| c == '_' || c == '$' || c.is_ascii_alphanumeric()) {
        name.to_owned()
    } else {
        Value::from(name).to_string()
    }
}

const TAGS: [&str; 14] = [
    "default",
    "format",
    "integer",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
];

/// `@tag value` for each constraint of a schema.
fn tags(schema: &Value) -> Vec<String> {
    let mut list = Vec::new();
    if schema.get("deprecated") == Some(&Value::Bool(true)) {
        list.push("@deprecated".to_owned());
    }
    for tag in TAGS {
        if tag == "integer" {
            if schema.get("type").and_then(Value::as_str) == Some("integer") {
                list.push("@integer".to_owned());
            }
            continue;
        }
        match schema.get(tag) {
            Some(Value::Bool(true)) if tag == "uniqueItems" => list.push("@uniqueItems".to_owned()),
            Some(Value::Bool(false)) if tag == "uniqueItems" => {}
            Some(Value::String(text)) if tag != "default" => list.push(format!("@{tag} {text}")),
            Some(value) => list.push(format!("@{tag} {value}")),
            None => {}
        }
    }
    list
}

/// The JSDoc comment above a field.
fn comment(schema: &Value, pad: &str) -> String {
    let description = schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or("")
        .trim();
    let mut lines: Vec<String> = description
        .lines()
        .map(|l| l.trim_end().to_owned())
        .collect();
    let mut notes = tags(schema);
    let child = |key: &str, label: &str| -> Option<String> {
        let inner = schema.get(key)?;
        let text = inner
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or("")
            .trim()
            .replace('\n', " ");
        let tags = tags(inner);
        if text.is_empty() && tags.is_empty() {
            return None;
        }
        let mut parts = Vec::new();
        if !text.is_empty() {
            parts.push(text);
        }
        parts.extend(tags);
        Some(format!("{label} {}", parts.join(" ")))
    };
    let has_fields = schema.get("properties").is_some();
    notes.extend(child("items", "Each item:"));
    let value = if has_fields {
        "Each additional value:"
    } else {
        "Each value:"
    };
    notes.extend(child("additionalProperties", value));
    if lines.is_empty() && notes.is_empty() {
        return String::new();
    }
    let mut single = lines.join(" ");
    if !single.is_empty() && !notes.is_empty() && !single.ends_with(['.', '!', '?']) {
        single.push('.');
    }
    if lines.len() <= 1 {
        let mut parts: Vec<&str> = Vec::new();
        if !single.is_empty() {
            parts.push(&single);
        }
        parts.extend(notes.iter().map(String::as_str));
        let text = parts.join(" ").replace("*/", "* /");
        if pad.len() + text.chars().count() + 7 <= LINE {
            return format!("{pad}/** {text} */\n");
        }
    }
    lines.append(&mut notes);
    let body: String = lines
        .iter()
        .map(|l| format!("{pad} * {}\n", l.replace("*/", "* /")))
        .collect();
    format!("{pad}/**\n{body}{pad} */\n")
}
