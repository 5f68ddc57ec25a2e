//! Checking data against JSON Schema: the keywords that tool schemas use.

use serde_json::Value;
use std::cell::Cell;

const DEPTH_LIMIT: usize = 64;
/// Schemas held against each part of a value, on average, and for the value itself: one that refers to itself from a
/// union would never end.
const EFFORT: usize = 200;
const EFFORT_AT_ALL: usize = 100_000;

/// The document that references point into, and how much may still be looked at.
struct Root<'s> {
    schema: &'s Value,
    left: Cell<usize>,
}

/// Checks a value against a JSON Schema: the keywords that tool schemas use.
///
/// # Errors
/// The first rule that is broken, with its place: `input` for the value itself, `input.name` for a field.
pub fn validate(schema: &Value, value: &Value) -> Result<(), String> {
    let root = Root {
        schema,
        left: Cell::new(EFFORT_AT_ALL + EFFORT * parts(value)),
    };
    check(&root, schema, value, "input", 0)
}

/// Values inside a value, itself included.
fn parts(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(parts).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(parts).sum::<usize>(),
        _ => 1,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "integer" => value.as_f64().is_some_and(|n| n.trunc() == n),
        other => kind(value) == other,
    }
}

fn check(
    root: &Root<'_>,
    schema: &Value,
    value: &Value,
    at: &str,
    depth: usize,
) -> Result<(), String> {
    if depth > DEPTH_LIMIT {
        return Ok(());
    }
    let Some(left) = root.left.get().checked_sub(1) else {
        return Err(format!("{at} can't be checked: its schema has no end"));
    };
    root.left.set(left);
    let Value::Object(rules) = schema else {
        return if *schema == Value::Bool(false) {
            Err(format!("{at} is not allowed"))
        } else {
            Ok(())
        };
    };
    if let Some(target) = rules.get("$ref").and_then(Value::as_str)
        && let Some(found) = target
            .strip_prefix('#')
            .and_then(|pointer| root.schema.pointer(pointer))
    {
        check(root, found, value, at, depth + 1)?;
    }
    match rules.get("type") {
        Some(Value::String(name)) if !is_type(name, value) => {
            return Err(format!("{at} must be {name}, got {}", kind(value)));
        }
        Some(Value::Array(names))
            if !names
                .iter()
                .any(|n| n.as_str().is_some_and(|n| is_type(n, value))) =>
        {
            return Err(format!("{at} has the wrong type: {}", kind(value)));
        }
        _ => {}
    }
    if rules.get("const").is_some_and(|c| c != value) {
        return Err(format!("{at} must be {}", rules["const"]));
    }
    if let Some(Value::Array(allowed)) = rules.get("enum")
        && !allowed.contains(value)
    {
        let list: Vec<String> = allowed.iter().map(Value::to_string).collect();
        return Err(format!("{at} must be one of {}", list.join(", ")));
    }
    combine(root, rules, value, at, depth)?;
    match value {
        Value::Number(n) => number(rules, n.as_f64().unwrap_or(f64::NAN), at),
        Value::String(s) => text(rules, s, at),
        Value::Array(items) => array(root, rules, items, at, depth),
        Value::Object(map) => object(root, rules, map, at, depth),
        Value::Null | Value::Bool(_) => Ok(()),
    }
}

pub(crate) type Rules = serde_json::Map<String, Value>;

/// The rules for a number or a text that aren't about its type; the error names the rule.
pub(crate) fn scalar(rules: &Rules, value: &Value) -> Result<(), String> {
    match value {
        Value::Number(n) => number(rules, n.as_f64().unwrap_or(f64::NAN), ""),
        Value::String(s) => text(rules, s, ""),
        _ => Ok(()),
    }
}

fn combine(
    root: &Root<'_>,
    rules: &Rules,
    value: &Value,
    at: &str,
    depth: usize,
) -> Result<(), String> {
    if let Some(Value::Array(all)) = rules.get("allOf") {
        for part in all {
            check(root, part, value, at, depth + 1)?;
        }
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(any)) = rules.get(key) {
            let mut first = None;
            let passed = any
                .iter()
                .filter(|part| match check(root, part, value, at, depth + 1) {
                    Ok(()) => true,
                    Err(problem) => {
                        first.get_or_insert(problem);
                        false
                    }
                })
                .count();
            if passed == 0 {
                return Err(first.unwrap_or_else(|| format!("{at} matches no alternative")));
            }
            if key == "oneOf" && passed > 1 {
                return Err(format!("{at} matches more than one alternative"));
            }
        }
    }
    if rules
        .get("not")
        .is_some_and(|part| check(root, part, value, at, depth + 1).is_ok())
    {
        return Err(format!("{at} matches what it must not"));
    }
    Ok(())
}

fn number(rules: &Rules, n: f64, at: &str) -> Result<(), String> {
    let bound = |key: &str| rules.get(key).and_then(Value::as_f64);
    if let Some(least) = bound("minimum").filter(|&b| n < b) {
        return Err(format!("{at} must be at least {least}"));
    }
    if let Some(most) = bound("maximum").filter(|&b| n > b) {
        return Err(format!("{at} must be at most {most}"));
    }
    if let Some(least) = bound("exclusiveMinimum").filter(|&b| n <= b) {
        return Err(format!("{at} must be more than {least}"));
    }
    if let Some(most) = bound("exclusiveMaximum").filter(|&b| n >= b) {
        return Err(format!("{at} must be less than {most}"));
    }
    if let Some(step) = bound("multipleOf").filter(|&s| s > 0.0 && (n / s).fract() != 0.0) {
        return Err(format!("{at} must be a multiple of {step}"));
    }
    Ok(())
}

fn text(rules: &Rules, s: &str, at: &str) -> Result<(), String> {
    let count = s.chars().count() as u64;
    let bound = |key: &str| rules.get(key).and_then(Value::as_u64);
    if let Some(least) = bound("minLength").filter(|&b| count < b) {
        return Err(format!("{at} must have at least {least} characters"));
    }
    if let Some(most) = bound("maxLength").filter(|&b| count > b) {
        return Err(format!("{at} must have at most {most} characters"));
    }
    if let Some(pattern) = rules.get("pattern").and_then(Value::as_str) {
        let flags = crate::regex::Flags {
            unicode: true,
            ..crate::regex::Flags::default()
        };
        let source = crate::text::Text::new(pattern);
        let subject = crate::text::Text::new(s);
        if let Ok(regex) = crate::regex::Regex::new(source.units(), flags) {
            let mut slices = 0;
            let found = regex.exec(subject.units(), 0, false, &mut |_| {
                slices += 1;
                slices < 1_000
            });
            if matches!(found, Ok(None)) {
                return Err(format!("{at} must match the pattern {pattern}"));
            }
        }
    }
    Ok(())
}

fn array(
    root: &Root<'_>,
    rules: &Rules,
    items: &[Value],
    at: &str,
    depth: usize,
) -> Result<(), String> {
    let bound = |key: &str| rules.get(key).and_then(Value::as_u64);
    let count = items.len() as u64;
    if let Some(least) = bound("minItems").filter(|&b| count < b) {
        return Err(format!("{at} must have at least {least} items"));
    }
    if let Some(most) = bound("maxItems").filter(|&b| count > b) {
        return Err(format!("{at} must have at most {most} items"));
    }
    if rules.get("uniqueItems") == Some(&Value::Bool(true))
        && items
            .iter()
            .enumerate()
            .any(|(i, x)| items[..i].contains(x))
    {
        return Err(format!("{at} must not repeat items"));
    }
    let fixed = rules
        .get("prefixItems")
        .and_then(Value::as_array)
        .map_or(&[][..], |list| &list[..]);
    for (index, item) in items.iter().enumerate() {
        if let Some(schema) = fixed.get(index).or_else(|| rules.get("items")) {
            check(root, schema, item, &format!("{at}[{index}]"), depth + 1)?;
        }
    }
    Ok(())
}

fn object(
    root: &Root<'_>,
    rules: &Rules,
    map: &Rules,
    at: &str,
    depth: usize,
) -> Result<(), String> {
    if let Some(Value::Array(required)) = rules.get("required") {
        for name in required.iter().filter_map(Value::as_str) {
            if !map.contains_key(name) {
                return Err(format!("{at}.{name} is required"));
            }
        }
    }
    let properties = rules.get("properties").and_then(Value::as_object);
    for (name, value) in map {
        let place = format!("{at}.{name}");
        match properties.and_then(|p| p.get(name)) {
            Some(schema) => check(root, schema, value, &place, depth + 1)?,
            None => match rules.get("additionalProperties") {
                Some(Value::Bool(false)) => return Err(format!("{place} is not a known field")),
                Some(schema @ Value::Object(_)) => check(root, schema, value, &place, depth + 1)?,
                _ => {}
            },
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_that_refers_to_itself_from_a_union_ends() {
        let schema = json!({ "anyOf": [{ "$ref": "#" }, { "$ref": "#" }, { "$ref": "#" }] });
        assert_eq!(validate(&schema, &json!(1)), Ok(()));
        let schema = json!({ "allOf": [{ "$ref": "#" }, { "$ref": "#" }], "type": "number" });
        let problem = validate(&schema, &json!(1)).unwrap_err();
        assert!(problem.contains("has no end"), "{problem}");
    }
}
