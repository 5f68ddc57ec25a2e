//! What an operation sends and what it answers.

use super::document::{Direction, Document};
use serde_json::{Map, Value, json};

/// The body of a request.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// One field of the input is the body.
    Whole {
        media: String,
        field: String,
        schema: Value,
        required: bool,
    },
    /// Fields of the input are the body's.
    Fields {
        media: String,
        fields: Vec<BodyField>,
    },
}

/// A field of a body that was put among the input's.
#[derive(Clone, Debug)]
pub(super) struct BodyField {
    /// Name in the body.
    pub(super) name: String,
    /// Name in the input.
    pub(super) field: String,
    pub(super) required: bool,
    pub(super) schema: Value,
}

/// A media type without its parameters, in lower case.
fn essence(media: &str) -> String {
    let essence = media.split(';').next().unwrap_or_default();
    essence.trim().to_lowercase()
}

pub(super) fn is_json(media: &str) -> bool {
    let essence = essence(media);
    essence == "application/json" || essence.ends_with("+json")
}

fn is_text(media: &str) -> bool {
    let essence = essence(media);
    essence.starts_with("text/")
        || matches!(essence.as_str(), "application/xml" | "application/yaml")
        || essence.ends_with("+xml")
}

/// The body of an operation; the error says why there can be no tool.
pub(super) fn read<'d>(
    document: &Document<'d>,
    operation: &'d Value,
) -> Result<Option<Body>, String> {
    let Some(body) = operation.get("requestBody") else {
        return Ok(None);
    };
    let body = document
        .resolve(body)
        .ok_or("the request body's reference leads nowhere")?;
    let content = body.get("content").and_then(Value::as_object);
    let Some((media, description)) = content.and_then(|c| c.iter().find(|(m, _)| is_json(m)))
    else {
        return Err("its request body has no JSON form".to_owned());
    };
    let required = body.get("required") == Some(&Value::Bool(true));
    let schema = description.get("schema");
    if required
        && let Some(schema) = schema
        && let Some(fields) = flat(document, schema)
    {
        return Ok(Some(Body::Fields {
            media: media.clone(),
            fields,
        }));
    }
    Ok(Some(Body::Whole {
        media: media.clone(),
        field: "body".to_owned(),
        schema: schema.cloned().unwrap_or_else(|| json!({})),
        required,
    }))
}

/// The fields of a closed object without alternatives.
fn flat<'d>(document: &Document<'d>, schema: &'d Value) -> Option<Vec<BodyField>> {
    let rules = document.resolve(schema)?.as_object()?;
    let is_plain = rules.get("type").and_then(Value::as_str) == Some("object")
        && rules.get("additionalProperties") == Some(&Value::Bool(false))
        && rules.get("nullable") != Some(&Value::Bool(true))
        && !["allOf", "anyOf", "oneOf", "not", "patternProperties", "if"]
            .iter()
            .any(|key| rules.contains_key(*key));
    let properties = rules.get("properties")?.as_object()?;
    if !is_plain || properties.is_empty() {
        return None;
    }
    let required: Vec<&str> = rules
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let field = |(name, schema): (&String, &Value)| BodyField {
        name: name.clone(),
        field: name.clone(),
        required: required.contains(&name.as_str()),
        schema: schema.clone(),
    };
    Some(properties.iter().map(field).collect())
}

impl Body {
    /// The media type and the bytes of an input's body, when it has one.
    pub(super) fn write(&self, input: &Map<String, Value>) -> Option<(String, Vec<u8>)> {
        match self {
            Body::Whole { media, field, .. } => {
                let value = input.get(field)?;
                Some((media.clone(), value.to_string().into_bytes()))
            }
            Body::Fields { media, fields } => {
                let mut map = Map::new();
                for field in fields {
                    if let Some(value) = input.get(&field.field) {
                        map.insert(field.name.clone(), value.clone());
                    }
                }
                Some((media.clone(), Value::Object(map).to_string().into_bytes()))
            }
        }
    }
}

/// What an operation may answer.
pub(super) struct Outcomes {
    list: Vec<Value>,
}

impl Outcomes {
    /// The successful answers; the error says why there can be no tool.
    pub(super) fn read<'d>(
        document: &Document<'d>,
        operation: &'d Value,
    ) -> Result<Outcomes, String> {
        let mut list = Vec::new();
        let responses = operation.get("responses").and_then(Value::as_object);
        for (status, response) in responses.into_iter().flatten() {
            let is_success = status.len() == 3
                && status.starts_with('2')
                && status[1..].chars().all(|c| c.is_ascii_digit() || c == 'X');
            if !is_success {
                continue;
            }
            let response = document
                .resolve(response)
                .ok_or("a response's reference leads nowhere")?;
            let content = response.get("content").and_then(Value::as_object);
            list.push(answer(content)?);
        }
        list.dedup();
        Ok(Outcomes { list })
    }

    pub(super) fn schema(&self, document: &Document<'_>) -> Value {
        let mut schemas = document.schemas(Direction::Response);
        let mut list: Vec<Value> = Vec::new();
        for schema in &self.list {
            let converted = schemas.convert(schema);
            if !list.contains(&converted) {
                list.push(converted);
            }
        }
        let schema = match list.len() {
            0 => json!({}),
            1 => list.remove(0),
            _ => json!({ "anyOf": list }),
        };
        schemas.finish(schema)
    }
}

fn answer(content: Option<&Map<String, Value>>) -> Result<Value, String> {
    let Some(content) = content.filter(|c| !c.is_empty()) else {
        return Ok(json!({ "type": "null" }));
    };
    if let Some(media) = content.keys().find(|m| essence(m) == "text/event-stream") {
        return Err(format!("it answers with a stream of events ({media})"));
    }
    if let Some((_, description)) = content.iter().find(|(m, _)| is_json(m)) {
        return Ok(description
            .get("schema")
            .cloned()
            .unwrap_or_else(|| json!({})));
    }
    match content.keys().find(|m| !is_text(m)) {
        Some(media) => Err(format!("it answers with {media}")),
        None => Ok(json!({ "type": "string" })),
    }
}
