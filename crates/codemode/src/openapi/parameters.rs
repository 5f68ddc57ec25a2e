//! Parameters of an operation: which are supported, and how their values are written.

use super::document::Document;
use serde_json::{Map, Value, json};

/// Where a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
    Header,
}

impl Place {
    pub(super) fn name(self) -> &'static str {
        match self {
            Place::Path => "path",
            Place::Query => "query",
            Place::Header => "header",
        }
    }
}

/// How arrays and objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Simple,
    Form,
    DeepObject,
}

/// One parameter.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) place: Place,
    /// Name in the request.
    pub(super) name: String,
    /// Name in the input.
    pub(super) field: String,
    pub(super) required: bool,
    pub(super) schema: Value,
    pub(super) description: Option<String>,
    style: Style,
    explode: bool,
}

/// The parameters of an operation; the error says why there can be no tool.
pub(super) fn read<'d>(
    document: &Document<'d>,
    item: &'d Map<String, Value>,
    operation: &'d Value,
    path: &str,
) -> Result<Vec<Parameter>, String> {
    let mut merged: Vec<(String, String, &Value)> = Vec::new();
    for owner in [item.get("parameters"), operation.get("parameters")] {
        for value in owner.and_then(Value::as_array).into_iter().flatten() {
            let value = document
                .resolve(value)
                .ok_or("a parameter's reference leads nowhere")?;
            let text = |key: &str| value.get(key).and_then(Value::as_str);
            let (Some(place), Some(name)) = (text("in"), text("name")) else {
                return Err("a parameter has no name or no place".to_owned());
            };
            let (place, name) = (place.to_owned(), name.to_owned());
            match merged
                .iter_mut()
                .find(|(p, n, _)| *p == place && *n == name)
            {
                Some(known) => known.2 = value,
                None => merged.push((place, name, value)),
            }
        }
    }
    let mut parameters = Vec::new();
    for (place, name, value) in &merged {
        parameters.extend(one(place, name, value)?);
    }
    for template in templates(path) {
        let is_told = |p: &Parameter| p.place == Place::Path && p.name == template;
        if !parameters.iter().any(is_told) {
            return Err(format!("the path parameter '{template}' isn't described"));
        }
    }
    Ok(parameters)
}

/// Names in the braces of a path.
pub(super) fn templates(path: &str) -> Vec<&str> {
    path.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
        .collect()
}

fn one(place: &str, name: &str, value: &Value) -> Result<Option<Parameter>, String> {
    let place = match place {
        "path" => Place::Path,
        "query" => Place::Query,
        "header" => Place::Header,
        "cookie" => return Err(format!("the parameter '{name}' is a cookie")),
        other => return Err(format!("the parameter '{name}' is in '{other}'")),
    };
    let ignored = ["accept", "content-type", "authorization"];
    if place == Place::Header && ignored.contains(&name.to_lowercase().as_str()) {
        return Ok(None);
    }
    if value.get("content").is_some() {
        return Err(format!("the parameter '{name}' is written as content"));
    }
    if value.get("allowReserved") == Some(&Value::Bool(true)) {
        return Err(format!("the parameter '{name}' allows reserved characters"));
    }
    let explode = value.get("explode").and_then(Value::as_bool);
    let style = value.get("style").and_then(Value::as_str);
    let style = match (place, style) {
        (Place::Query, None | Some("form")) => Style::Form,
        (Place::Query, Some("deepObject")) if explode == Some(false) => {
            return Err(format!(
                "the parameter '{name}' is a deepObject without explode"
            ));
        }
        (Place::Query, Some("deepObject")) => Style::DeepObject,
        (Place::Path | Place::Header, None | Some("simple")) => Style::Simple,
        (_, Some(style)) => {
            return Err(format!("the parameter '{name}' has the style '{style}'"));
        }
    };
    let required = value.get("required") == Some(&Value::Bool(true));
    Ok(Some(Parameter {
        place,
        name: name.to_owned(),
        field: name.to_owned(),
        required: required || place == Place::Path,
        schema: value.get("schema").cloned().unwrap_or_else(|| json!({})),
        description: value
            .get("description")
            .and_then(Value::as_str)
            .map(str::to_owned),
        style,
        explode: explode.unwrap_or(style == Style::Form),
    }))
}

/// A parameter's value as the request has it.
pub(super) enum Written {
    /// Text of a path segment or a header field.
    Text(String),
    /// Names and values of a query, already encoded.
    Pairs(Vec<(String, String)>),
}

impl Parameter {
    /// Writes a value; the error says what can't be written.
    pub(super) fn write(&self, value: &Value) -> Result<Written, String> {
        let encode: fn(&str) -> String = if self.place == Place::Header {
            str::to_owned
        } else {
            encoded
        };
        match (self.place, self.style) {
            (Place::Query, Style::DeepObject) => {
                let Value::Object(map) = value else {
                    return Err(format!("'{}' must be an object", self.field));
                };
                let mut pairs = Vec::new();
                for (key, value) in map.iter().filter(|(_, v)| !v.is_null()) {
                    let key = format!("{}[{}]", encoded(&self.name), encoded(key));
                    pairs.push((key, encoded(&self.scalar(value)?)));
                }
                Ok(Written::Pairs(pairs))
            }
            (Place::Query, _) => self.query(value),
            _ => {
                let text = match value {
                    Value::Array(items) => self.join(items.iter(), encode)?,
                    Value::Object(map) => {
                        let mut parts = Vec::new();
                        for (key, value) in map {
                            let value = encode(&self.scalar(value)?);
                            let mark = if self.explode { '=' } else { ',' };
                            parts.push(format!("{}{mark}{value}", encode(key)));
                        }
                        parts.join(",")
                    }
                    scalar => encode(&self.scalar(scalar)?),
                };
                self.checked(text)
            }
        }
    }

    fn checked(&self, text: String) -> Result<Written, String> {
        let field = &self.field;
        match self.place {
            Place::Path if matches!(text.as_str(), "" | "." | "..") => {
                Err(format!("'{field}' can't be empty, '.' or '..' in a path"))
            }
            Place::Header if text.chars().any(|c| c.is_control()) || !text.is_ascii() => {
                Err(format!("'{field}' can't be written in a header field"))
            }
            _ => Ok(Written::Text(text)),
        }
    }

    fn query(&self, value: &Value) -> Result<Written, String> {
        let name = encoded(&self.name);
        let pairs = match value {
            Value::Array(items) if self.explode => items
                .iter()
                .map(|item| Ok((name.clone(), encoded(&self.scalar(item)?))))
                .collect::<Result<_, String>>()?,
            Value::Array(items) => vec![(name, self.join(items.iter(), encoded)?)],
            Value::Object(map) if self.explode => map
                .iter()
                .filter(|(_, v)| !v.is_null())
                .map(|(key, v)| Ok((encoded(key), encoded(&self.scalar(v)?))))
                .collect::<Result<_, String>>()?,
            Value::Object(map) => {
                let mut parts = Vec::new();
                for (key, value) in map {
                    parts.push(encoded(key));
                    parts.push(encoded(&self.scalar(value)?));
                }
                vec![(name, parts.join(","))]
            }
            scalar => vec![(name, encoded(&self.scalar(scalar)?))],
        };
        Ok(Written::Pairs(pairs))
    }

    fn join<'v>(
        &self,
        items: impl Iterator<Item = &'v Value>,
        encode: fn(&str) -> String,
    ) -> Result<String, String> {
        let parts: Vec<String> = items
            .map(|item| Ok(encode(&self.scalar(item)?)))
            .collect::<Result<_, String>>()?;
        Ok(parts.join(","))
    }

    fn scalar(&self, value: &Value) -> Result<String, String> {
        match value {
            Value::String(text) => Ok(text.clone()),
            Value::Bool(b) => Ok(b.to_string()),
            Value::Number(n) => Ok(n
                .as_f64()
                .filter(|_| !n.is_i64() && !n.is_u64())
                .map_or_else(|| n.to_string(), crate::number::to_string)),
            Value::Null => Ok("null".to_owned()),
            Value::Array(_) | Value::Object(_) => Err(format!(
                "'{}' is nested too deep for a parameter",
                self.field
            )),
        }
    }
}

/// Percent-encodes everything but the unreserved characters of RFC 3986.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
