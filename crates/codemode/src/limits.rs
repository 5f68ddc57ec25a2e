//! What a run may use.

use serde_json::Value;

/// Limits of a run. What isn't limited runs freely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall time in milliseconds; at least 1.
    pub timeout_ms: Option<u64>,
    /// Leaves the time in which the program only waits for calls out of `timeout_ms`. The host then bounds its tools.
    pub exclude_tool_time: bool,
    /// Tool calls admitted.
    pub max_tool_calls: Option<u64>,
    /// Tool calls that run at a time, at least 1; others wait their turn in the order they were made.
    pub max_concurrent_calls: Option<usize>,
    /// Bytes of JSON that one tool may answer; a longer answer rejects the call.
    pub max_call_output_bytes: Option<u64>,
    /// Bytes of result and logs kept, in UTF-8.
    pub max_output_bytes: Option<u64>,
    /// Bytes that the program's data may occupy.
    pub heap_bytes: usize,
    /// Steps of work: roughly one a loop round, call or kilobyte handled.
    pub fuel: Option<u64>,
    /// How an oversized result is cut.
    pub truncation: Truncation,
}

/// How an oversized result is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Truncation {
    /// Arrays, objects and strings are shortened inside the value, which stays JSON.
    #[default]
    Structured,
    /// The result becomes the start of its JSON text and a marker.
    Text,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            timeout_ms: None,
            exclude_tool_time: false,
            max_tool_calls: None,
            max_concurrent_calls: None,
            max_call_output_bytes: None,
            max_output_bytes: None,
            heap_bytes: 512 << 20,
            fuel: None,
            truncation: Truncation::default(),
        }
    }
}

/// A limit that can't be; the text names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLimit(pub String);

impl std::fmt::Display for BadLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadLimit {}

/// Largest integer that every JSON reader keeps.
const LARGEST: f64 = 9_007_199_254_740_991.0;
const NAMES: [&str; 9] = [
    "timeoutMs",
    "excludeToolTime",
    "maxToolCalls",
    "maxConcurrentCalls",
    "maxCallOutputBytes",
    "maxOutputBytes",
    "heapBytes",
    "fuel",
    "truncation",
];

impl Limits {
    /// Reads limits from a JSON object whose names are the fields' in camel case; `null` and nothing at all limit
    /// nothing.
    ///
    /// # Errors
    /// When a number is no integer or out of its range, a word is unknown, or a name is none of a limit.
    pub fn from_json(json: &Value) -> Result<Limits, BadLimit> {
        let map = match json {
            Value::Null => return Ok(Limits::default()),
            Value::Object(map) => map,
            other => return Err(BadLimit(format!("limits must be an object, got {other}"))),
        };
        if let Some(name) = map.keys().find(|name| !NAMES.contains(&name.as_str())) {
            let near = crate::tools::closest(name, NAMES.into_iter());
            let hint = near.map(|n| format!("; did you mean {n}?"));
            let message = format!("unknown limit: {name}{}", hint.unwrap_or_default());
            return Err(BadLimit(message));
        }
        let number = |key: &str, least: u64| -> Result<Option<u64>, BadLimit> {
            match map.get(key) {
                None | Some(Value::Null) => Ok(None),
                Some(value) => match value.as_f64() {
                    Some(n) if n.trunc() == n && n >= least as f64 && n <= LARGEST => {
                        Ok(Some(n as u64))
                    }
                    _ => Err(BadLimit(format!(
                        "RangeError: {key} must be an integer of at least {least}"
                    ))),
                },
            }
        };
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let default = Limits::default();
        Ok(Limits {
            timeout_ms: number("timeoutMs", 1)?,
            exclude_tool_time: match map.get("excludeToolTime") {
                None | Some(Value::Null) => false,
                Some(Value::Bool(exclude)) => *exclude,
                Some(_) => {
                    return Err(BadLimit("excludeToolTime must be true or false".to_owned()));
                }
            },
            max_tool_calls: number("maxToolCalls", 0)?,
            max_concurrent_calls: number("maxConcurrentCalls", 1)?.map(size),
            max_call_output_bytes: number("maxCallOutputBytes", 0)?,
            max_output_bytes: number("maxOutputBytes", 0)?,
            heap_bytes: number("heapBytes", 1)?.map_or(default.heap_bytes, size),
            fuel: number("fuel", 1)?,
            truncation: match map.get("truncation") {
                None | Some(Value::Null) => default.truncation,
                Some(Value::String(s)) if s == "structured" => Truncation::Structured,
                Some(Value::String(s)) if s == "text" => Truncation::Text,
                Some(other) => return Err(BadLimit(format!("unknown truncation: {other}"))),
            },
        })
    }
}
