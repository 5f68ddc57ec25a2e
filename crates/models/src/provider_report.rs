//! Reads what went wrong out of the error shapes of OpenAI, Anthropic, Google, vLLM, FastAPI and the gateways between.

use serde_json::Value;

use crate::snippet::snippet;
use crate::wire::Text;

/// The most bytes of an error body that are kept.
pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024;

/// An error in the provider's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderReport {
    /// The provider's code, or its type where it gave no code.
    pub code: Option<String>,
    /// The provider's text, verbatim. Of an HTML page its title or its first words.
    pub message: String,
    /// The id to give to the provider's support, where the body named one.
    pub trace_id: Option<String>,
    /// The whole body, cut at 64 KiB.
    pub body: String,
}

impl ProviderReport {
    /// Reads an error body: JSON of any known shape, an HTML page, or plain text.
    pub fn of_text(body: &str) -> ProviderReport {
        let body = body.trim();
        if let Ok(value @ (Value::Object(_) | Value::Array(_))) =
            serde_json::from_str::<Value>(body)
        {
            let mut report = ProviderReport::of_value(&value);
            report.body = cut(body);
            return report;
        }
        let message = if looks_like_html(body) {
            html_words(body)
        } else {
            cut(body)
        };
        ProviderReport {
            code: None,
            message,
            trace_id: None,
            body: cut(body),
        }
    }

    /// Reads an error object, bare or wrapped in `error`.
    pub(crate) fn of_value(value: &Value) -> ProviderReport {
        let whole = value;
        // Google's endpoints wrap the object in a list.
        let value = value.get(0).unwrap_or(value);
        let inner = match value.get("error") {
            Some(inner) if is_filled(inner) => inner,
            _ => value,
        };
        let code = ["code", "status", "error_code", "type"]
            .iter()
            .filter_map(|name| inner.get(name))
            .find_map(word)
            .filter(|code| code != "error");
        ProviderReport {
            code,
            message: message_of(inner)
                .or_else(|| message_of(value))
                .unwrap_or_else(|| snippet(&whole.to_string())),
            trace_id: ["request_id", "trace_id", "requestId"]
                .iter()
                .find_map(|name| value.get(name).or_else(|| inner.get(name)).and_then(word)),
            body: cut(&whole.to_string()),
        }
    }

    /// Whether a payload is an error object and not a chunk that merely carries an empty `error` field.
    pub(crate) fn is_error(value: &Value) -> bool {
        if value.get("error").is_some_and(is_filled) {
            return true;
        }
        if value.get("choices").is_some() {
            return false;
        }
        let kind = |name: &str| value.get(name).and_then(Value::as_str) == Some("error");
        kind("type") || kind("object") || message_of(value).is_some()
    }
}

/// Whether a body is a web page: from a gateway, a login wall, or an address that is no API.
pub(crate) fn looks_like_html(body: &str) -> bool {
    let start: String = body
        .trim_start()
        .chars()
        .take(15)
        .collect::<String>()
        .to_ascii_lowercase();
    [
        "<!doctype",
        "<html",
        "<head",
        "<body",
        "<?xml",
        "<!--",
        "<center",
        "<title",
        "<h1",
    ]
    .iter()
    .any(|tag| start.starts_with(tag))
}

fn is_filled(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

fn message_of(error: &Value) -> Option<String> {
    if let Value::String(text) = error {
        return Some(text.clone()).filter(|text| !text.is_empty());
    }
    let text = [
        "message",
        "msg",
        "detail",
        "error_msg",
        "error_message",
        "error_description",
        "errors",
    ]
    .iter()
    .filter_map(|name| error.get(name))
    .find_map(words)?;
    // OpenRouter puts the upstream's own words beside a general one.
    match error.pointer("/metadata/raw").and_then(words) {
        Some(raw) if raw != text => Some(format!("{text}: {raw}")),
        _ => Some(text),
    }
}

/// A message that may be text, an object with a message, or a list of either.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(_) => message_of(value),
        Value::Array(items) => {
            let all: Vec<String> = items.iter().filter_map(words).collect();
            Some(all.join("; "))
        }
        _ => None,
    }
    .filter(|text| !text.is_empty())
}

fn word(value: &Value) -> Option<String> {
    serde_json::from_value::<OwnedText>(value.clone())
        .ok()
        .map(|text| text.0)
        .filter(|text| !text.is_empty())
}

#[derive(serde::Deserialize)]
#[serde(transparent)]
struct OwnedText(#[serde(deserialize_with = "owned_text")] String);

fn owned_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    <Text<'de> as serde::Deserialize>::deserialize(deserializer).map(|text| text.text.into_owned())
}

fn html_words(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|at| {
        let start = at + lower[at..].find('>')? + 1;
        let end = start + lower[start..].find("</title")?;
        page.get(start..end)
            .map(str::trim)
            .filter(|title| !title.is_empty())
    });
    title.map_or_else(|| snippet(&without_tags(page)), snippet)
}

fn without_tags(page: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for character in page.chars() {
        match character {
            '<' => inside = true,
            '>' if inside => {
                inside = false;
                text.push(' ');
            }
            _ if inside => {}
            _ => text.push(character),
        }
    }
    text
}

fn cut(body: &str) -> String {
    body[..body.floor_char_boundary(MAX_BODY_BYTES)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn expect(body: &str, code: Option<&str>, message: &str) {
        let report = ProviderReport::of_text(body);
        assert_eq!(report.code.as_deref(), code, "{body}");
        assert_eq!(report.message, message, "{body}");
        assert_eq!(report.body, body);
    }

    #[test]
    fn the_known_shapes_give_code_and_message() {
        expect(
            r#"{"error":{"message":"m","type":"t","code":"c"}}"#,
            Some("c"),
            "m",
        );
        expect(
            r#"{"error":{"message":"m","type":"t","code":null}}"#,
            Some("t"),
            "m",
        );
        expect(r#"{"error":{"message":"m","code":429}}"#, Some("429"), "m");
        expect(r#"{"error":"Missing API key"}"#, None, "Missing API key");
        expect(
            r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
            Some("overloaded_error"),
            "m",
        );
        expect(
            r#"{"object":"error","message":"m","code":40001}"#,
            Some("40001"),
            "m",
        );
        expect(
            r#"{"detail":[{"msg":"field required"},{"msg":"b"}]}"#,
            None,
            "field required; b",
        );
        expect(
            r#"[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]"#,
            Some("400"),
            "m",
        );
        expect(
            r#"{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"upstream died"}}}"#,
            Some("502"),
            "Provider returned error: upstream died",
        );
        expect("upstream connect error", None, "upstream connect error");
    }

    #[test]
    fn an_html_page_gives_its_title_or_its_words() {
        expect(
            "<html><head><TITLE>502 Bad Gateway</TITLE></head></html>",
            None,
            "502 Bad Gateway",
        );
        expect(
            "<!DOCTYPE html><body><h1>Sorry</h1> try later</body>",
            None,
            "Sorry try later",
        );
    }

    #[test]
    fn the_request_id_is_the_trace_id() {
        let report = ProviderReport::of_text(
            r#"{"type":"error","error":{"message":"m"},"request_id":"req_1"}"#,
        );
        assert_eq!(report.trace_id.as_deref(), Some("req_1"));
    }

    #[test]
    fn a_chunk_with_an_empty_error_field_is_no_error() {
        for chunk in [
            r#"{"choices":[],"error":null}"#,
            r#"{"choices":[],"error":{}}"#,
            r#"{"choices":[],"message":"m"}"#,
            "{}",
        ] {
            let value: Value = serde_json::from_str(chunk).expect("valid");
            assert!(!ProviderReport::is_error(&value), "{chunk}");
        }
    }
}
