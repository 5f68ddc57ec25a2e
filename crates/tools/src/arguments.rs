//! Arguments of a call, held against the schema of its tool; what is wrong is told so that a model can put it right.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::ToolFault;
use crate::nearest_name::nearest;

/// A schema for an object that has these properties and no others.
pub(crate) fn object_schema(required: &[&str], properties: &Value) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The arguments as an object, from the JSON text a model wrote.
///
/// # Errors
/// The text is no JSON object. Nothing is guessed: the place of the error is told.
pub fn parse_arguments(text: &str) -> Result<Value, ToolFault> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(other) => Err(ToolFault::invalid_input(format!(
            "the arguments must be a JSON object, and are {}",
            kind_of(&other)
        ))),
        Err(error) if error.is_eof() => Err(ToolFault::invalid_input(format!(
            "the arguments are cut off after {} bytes; send them again, in smaller parts if they are long",
            text.len()
        ))),
        Err(error) => Err(ToolFault::invalid_input(format!(
            "the arguments are not valid JSON: {error}"
        ))),
    }
}

/// Puts other spellings of parameters right and drops optional ones that are `null`.
pub(crate) fn normalise(schema: &Value, aliases: &[(&str, &str)], arguments: Value) -> Value {
    let Value::Object(given) = arguments else {
        return arguments;
    };
    let known = schema["properties"].as_object();
    let mut normal = Map::new();
    for (name, value) in given {
        let is_known = known.is_some_and(|known| known.contains_key(&name));
        if value.is_null() && is_known && !is_required(schema, &name) {
            continue;
        }
        let meant = aliases
            .iter()
            .find(|(alias, _)| !is_known && *alias == name);
        normal.insert(meant.map_or(name, |(_, meant)| (*meant).to_owned()), value);
    }
    Value::Object(normal)
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema["required"].as_array();
    required.is_some_and(|names| names.iter().any(|required| required == name))
}

/// Holds arguments against a schema.
///
/// # Errors
/// They don't fit: everything that is wrong at the top is told at once, with the parameters there are.
pub(crate) fn check(tool: &str, schema: &Value, arguments: &Value) -> Result<(), ToolFault> {
    let Some(given) = arguments.as_object() else {
        let why = format!("they must be an object, and are {}", kind_of(arguments));
        return Err(misfit(tool, schema, &[why]));
    };
    let mut wrong = Vec::new();
    let properties = schema["properties"].as_object();
    for name in schema["required"].as_array().into_iter().flatten() {
        if let Some(name) = name.as_str()
            && !given.contains_key(name)
        {
            wrong.push(format!("`{name}` is missing"));
        }
    }
    for (name, value) in given {
        match properties.and_then(|properties| properties.get(name)) {
            Some(property) => {
                if let Err(why) = codemode::validate(property, value) {
                    let place = why.strip_prefix("input").unwrap_or(&why);
                    wrong.push(format!("`{name}`{place}"));
                }
            }
            None if schema["additionalProperties"] == false => {
                wrong.push(unknown_parameter(name, properties));
            }
            None => {}
        }
    }
    // What the parts alone don't show: alternatives, counts.
    if wrong.is_empty() {
        wrong.extend(codemode::validate(schema, arguments).err());
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(misfit(tool, schema, &wrong))
}

fn unknown_parameter(name: &str, properties: Option<&Map<String, Value>>) -> String {
    let names = properties.into_iter().flat_map(Map::keys);
    let near = nearest(name, names.map(String::as_str));
    let shown: String = name.chars().take(60).collect();
    match near.first() {
        Some(near) => format!("`{shown}` is no parameter, did you mean `{near}`?"),
        None => format!("`{shown}` is no parameter"),
    }
}

fn misfit(tool: &str, schema: &Value, wrong: &[String]) -> ToolFault {
    ToolFault::invalid_input(format!(
        "{tool} was not run, its arguments don't fit: {}. It takes {}",
        wrong.join("; "),
        outline(schema)
    ))
}

/// The parameters on one line: `{path: string, offset?: integer}`.
fn outline(schema: &Value) -> String {
    let parameter = |(name, rules): (&String, &Value)| {
        let mark = if is_required(schema, name) { "" } else { "?" };
        let kind = match (&rules["enum"], &rules["type"]) {
            (Value::Array(allowed), _) => {
                let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
                allowed.join(" | ")
            }
            (_, Value::String(kind)) => kind.clone(),
            _ => "any".to_owned(),
        };
        format!("{name}{mark}: {kind}")
    };
    let properties = schema["properties"].as_object();
    let parameters: Vec<String> = properties.into_iter().flatten().map(parameter).collect();
    format!("{{{}}}", parameters.join(", "))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Arguments that were held against the schema, as the tool's own type.
///
/// # Errors
/// The type is narrower than the schema: an integer out of range.
pub(crate) fn decode<T: DeserializeOwned>(arguments: &Value) -> Result<T, ToolFault> {
    T::deserialize(arguments).map_err(|error| ToolFault::invalid_input(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FaultKind;

    fn schema() -> Value {
        let properties = json!({
            "path": {"type": "string"},
            "offset": {"type": "integer", "minimum": 1},
            "priority": {"type": "string", "enum": ["top", "bottom"]},
        });
        object_schema(&["path"], &properties)
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once_with_the_parameters() {
        let arguments = json!({"pth": "a", "offset": "3", "priority": "middle"});
        let fault = check("read_file", &schema(), &arguments).unwrap_err();
        assert_eq!(fault.kind, FaultKind::INVALID_INPUT);
        for part in [
            "`path` is missing",
            "`pth` is no parameter, did you mean `path`?",
            "`offset` must be integer, got string",
            "`priority` must be one of \"top\", \"bottom\"",
            "{path: string, offset?: integer, priority?: \"top\" | \"bottom\"}",
        ] {
            assert!(fault.message.contains(part), "{part} in {}", fault.message);
        }
        assert_eq!(
            check("read_file", &schema(), &json!({"path": "a", "offset": 3})),
            Ok(())
        );
        assert!(check("read_file", &schema(), &json!({"path": "a", "offset": 0})).is_err());
        assert!(check("read_file", &schema(), &json!([1])).is_err());
    }

    #[test]
    fn text_that_is_no_object_is_refused_and_never_replaced_by_an_empty_one() {
        assert_eq!(parse_arguments(" "), Ok(json!({})));
        assert_eq!(parse_arguments("{\"a\":1}"), Ok(json!({"a": 1})));
        for (text, told) in [
            ("{\"path\": \"a", "cut off after 11 bytes"),
            (
                "{path: 1}",
                "not valid JSON: key must be a string at line 1",
            ),
            ("[1]", "are an array"),
            ("{\"a\":1}{\"b\":2}", "trailing characters"),
            ("null", "are null"),
        ] {
            let fault = parse_arguments(text).unwrap_err();
            assert!(fault.message.contains(told), "{text}: {}", fault.message);
        }
    }

    #[test]
    fn other_spellings_and_nulls_are_put_right_and_a_known_name_wins() {
        let aliases = [("file_path", "path"), ("offset", "path")];
        let given = json!({"file_path": "a", "offset": null, "x": null});
        let normal = normalise(&schema(), &aliases, given);
        assert_eq!(normal, json!({"path": "a", "x": null}));
        let required = normalise(&schema(), &aliases, json!({"path": null}));
        assert!(check("read_file", &schema(), &required).is_err());
    }
}
