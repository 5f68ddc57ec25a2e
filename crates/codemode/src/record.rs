//! The log of a run: everything that came from outside, in the order in which the program met it, so that the run can be
//! repeated to the bit without its host.
//!
//! A program is deterministic but for the clock, the random seed, the replies to its calls and the order in which they
//! come. The log holds these and nothing else. Replies enter only while the program waits, so their order is enough.

use crate::data::{Data, HostError};
use futures_util::future::FutureExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a run met. Serialises to JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunLog {
    /// The program.
    pub source: String,
    /// What ran before it in the same scope, when it was compiled with a prelude.
    pub prelude: Option<String>,
    /// Start of the random sequence.
    pub seed: u64,
    /// Times read from the clock, in order: the bits of the milliseconds and how often in a row they were read.
    pub clock: Vec<(u64, u64)>,
    /// Admitted calls, in order.
    pub calls: Vec<LoggedCall>,
    /// What calls of extensions gave at once, in order.
    pub returns: Vec<Value>,
    /// What came in while the program waited, in order.
    pub steps: Vec<Step>,
    /// Whether the run was ended by its time limit while it computed, which no log can repeat.
    pub cut_off: bool,
}

/// One call of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoggedCall {
    /// Dotted path.
    pub name: String,
    /// The input as JSON text.
    pub input: String,
    /// Why it was denied, when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<String>,
}

/// One thing that came in while the program waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// A tool answered with this JSON text.
    Answer(u64, String),
    /// A tool failed with this message.
    Failure(u64, String),
    /// A promise of an extension settled.
    Settled(u64, Value),
    /// The time was up.
    Timeout,
}

/// A log that doesn't belong to the program, the tools or the limits it was replayed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError(pub String);

impl std::fmt::Display for ReplayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ReplayError {}

/// Whether a run is recorded or repeated.
#[derive(Debug, Default)]
pub(crate) enum Tape {
    #[default]
    Off,
    Record(Box<RunLog>),
    Replay(Box<Player>),
}

/// A log and how far it was played.
#[derive(Debug)]
pub(crate) struct Player {
    log: RunLog,
    clock: usize,
    /// Reads left of the current time.
    reads: u64,
    calls: usize,
    returns: usize,
    steps: usize,
    /// How the run differs from its log.
    pub(crate) diverged: Option<String>,
}

impl Player {
    pub(crate) fn new(log: RunLog) -> Player {
        let reads = log.clock.first().map_or(0, |&(_, count)| count);
        Player {
            log,
            clock: 0,
            reads,
            calls: 0,
            returns: 0,
            steps: 0,
            diverged: None,
        }
    }

    fn diverge(&mut self, what: String) {
        self.diverged.get_or_insert(what);
    }

    pub(crate) fn next_step(&mut self) -> Option<Step> {
        let step = self.log.steps.get(self.steps).cloned();
        self.steps += 1;
        step
    }

    /// What of the log the run didn't meet.
    pub(crate) fn unplayed(&self) -> Option<String> {
        let left = |name: &str, at: usize, count: usize| {
            (at < count).then(|| format!("the run ended before {name} {at} of its log"))
        };
        left("call", self.calls, self.log.calls.len())
            .or_else(|| left("reply", self.steps, self.log.steps.len()))
            .or_else(|| left("extension call", self.returns, self.log.returns.len()))
    }
}

impl Tape {
    pub(crate) fn now(&mut self, read: impl FnOnce() -> f64) -> f64 {
        match self {
            Tape::Off => read(),
            Tape::Record(log) => {
                let now = read();
                match log.clock.last_mut() {
                    Some((bits, count)) if *bits == now.to_bits() => *count += 1,
                    _ => log.clock.push((now.to_bits(), 1)),
                }
                now
            }
            Tape::Replay(player) => {
                while player.reads == 0 && player.clock < player.log.clock.len() {
                    player.clock += 1;
                    player.reads = player.log.clock.get(player.clock).map_or(0, |&(_, n)| n);
                }
                match player.log.clock.get(player.clock) {
                    Some(&(bits, _)) => {
                        player.reads -= 1;
                        f64::from_bits(bits)
                    }
                    None => {
                        player
                            .diverge("the run reads the clock more often than its log".to_owned());
                        0.0
                    }
                }
            }
        }
    }

    /// Notes an admitted call; a replayed one that was denied says why.
    pub(crate) fn call(&mut self, name: &str, input: &Value) -> Option<String> {
        match self {
            Tape::Off => None,
            Tape::Record(log) => {
                log.calls.push(LoggedCall {
                    name: name.to_owned(),
                    input: input.to_string(),
                    denied: None,
                });
                None
            }
            Tape::Replay(player) => {
                let at = player.calls;
                player.calls += 1;
                match player.log.calls.get(at) {
                    Some(call) if call.name == name && same_text(&call.input, input) => {
                        call.denied.clone()
                    }
                    Some(call) => {
                        let was = &call.name;
                        let text = format!(
                            "call {at} of the log was {was}, the run calls {name}, or with another input"
                        );
                        player.diverge(text);
                        None
                    }
                    None => {
                        player.diverge(format!("the log has no call {at}, the run calls {name}"));
                        None
                    }
                }
            }
        }
    }

    pub(crate) fn deny(&mut self, reason: &str) {
        if let Tape::Record(log) = self
            && let Some(call) = log.calls.last_mut()
        {
            call.denied = Some(reason.to_owned());
        }
    }

    pub(crate) fn step(&mut self, step: impl FnOnce() -> Step) {
        if let Tape::Record(log) = self {
            log.steps.push(step());
        }
    }

    pub(crate) fn is_replay(&self) -> bool {
        matches!(self, Tape::Replay(_))
    }

    /// What an extension gave at once: made by `make`, or taken from the log.
    pub(crate) fn returned(
        &mut self,
        make: impl FnOnce() -> Result<Data, HostError>,
    ) -> Result<Data, HostError> {
        match self {
            Tape::Off => make(),
            Tape::Record(log) => {
                let made = make();
                log.returns.push(write_result(&made));
                made
            }
            Tape::Replay(player) => {
                let at = player.returns;
                player.returns += 1;
                match player.log.returns.get(at) {
                    Some(value) => read_result(value),
                    None => {
                        player.diverge(format!("the log has no extension call {at}"));
                        Err(HostError::new("not in the log"))
                    }
                }
            }
        }
    }
}

/// Whether a JSON text is how this value is written.
fn same_text(text: &str, value: &Value) -> bool {
    let written = value.to_string();
    text == written
}

pub(crate) fn write_result(result: &Result<Data, HostError>) -> Value {
    match result {
        Ok(data) => json!({ "ok": write(data) }),
        Err(error) => json!({ "error": write_error(error) }),
    }
}

pub(crate) fn read_result(value: &Value) -> Result<Data, HostError> {
    match (value.get("ok"), value.get("error")) {
        (Some(data), _) => Ok(read(data)),
        (_, Some(error)) => Err(read_error(error)),
        _ => Err(HostError::new("not in the log")),
    }
}

fn write_error(error: &HostError) -> Value {
    json!({
        "name": error.name,
        "message": error.message,
        "cause": error.cause.as_deref().map(write),
        "fields": write_fields(&error.fields),
    })
}

fn write_fields(fields: &[(String, Data)]) -> Value {
    fields.iter().map(|(k, v)| json!([k, write(v)])).collect()
}

/// JSON of data: what JSON has no form for becomes an object of one key.
fn write(data: &Data) -> Value {
    let list = |items: &[Data]| items.iter().map(write).collect::<Value>();
    match data {
        Data::Undefined => json!({ "undefined": true }),
        Data::Null => Value::Null,
        Data::Bool(b) => json!(b),
        // The bits, because a number's text doesn't always read back the same.
        Data::Number(n) => json!({ "number": n.to_bits() }),
        Data::String(s) => json!(s),
        Data::BigInt(n) => json!({ "bigint": n }),
        Data::Array(items) => list(items),
        Data::Object(fields) => json!({ "object": write_fields(fields) }),
        Data::Date(ms) => json!({ "date": ms.to_bits() }),
        Data::RegExp { source, flags } => json!({ "regexp": [source, flags] }),
        Data::Url(url) => json!({ "url": url.as_str() }),
        Data::Headers(list) => json!({ "headers": list }),
        Data::Map(entries) => {
            let entries: Value = entries
                .iter()
                .map(|(k, v)| json!([write(k), write(v)]))
                .collect();
            json!({ "map": entries })
        }
        Data::Set(members) => json!({ "set": list(members) }),
        Data::Bytes(bytes) => json!({ "bytes": bytes }),
        Data::Error(error) => json!({ "error": write_error(error) }),
        Data::Function(_) => json!({ "function": true }),
        Data::Promise(_) => json!({ "promise": true }),
    }
}

fn read_error(value: &Value) -> HostError {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    HostError {
        name: text("name"),
        message: text("message"),
        cause: Some(&value["cause"])
            .filter(|c| !c.is_null())
            .map(|c| Box::new(read(c))),
        fields: read_fields(&value["fields"]),
    }
}

fn read_fields(value: &Value) -> Vec<(String, Data)> {
    let pairs = value.as_array().into_iter().flatten();
    pairs
        .map(|pair| {
            (
                pair[0].as_str().unwrap_or_default().to_owned(),
                read(&pair[1]),
            )
        })
        .collect()
}

fn read_list(value: &Value) -> Vec<Data> {
    value.as_array().into_iter().flatten().map(read).collect()
}

fn read(value: &Value) -> Data {
    let Some((key, inner)) = value.as_object().and_then(|map| map.iter().next()) else {
        return match value {
            Value::Bool(b) => Data::Bool(*b),
            Value::String(s) => Data::String(s.clone()),
            Value::Array(_) => Data::Array(read_list(value)),
            _ => Data::Null,
        };
    };
    let bits = || f64::from_bits(inner.as_u64().unwrap_or(0));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match key.as_str() {
        "number" => Data::Number(bits()),
        "bigint" => Data::BigInt(text(inner)),
        "object" => Data::Object(read_fields(inner)),
        "date" => Data::Date(bits()),
        "regexp" => Data::RegExp {
            source: text(&inner[0]),
            flags: text(&inner[1]),
        },
        "url" => url::Url::parse(&text(inner)).map_or(Data::Undefined, Data::Url),
        "headers" => Data::Headers(
            inner
                .as_array()
                .into_iter()
                .flatten()
                .map(|pair| (text(&pair[0]), text(&pair[1])))
                .collect(),
        ),
        "map" => Data::Map(
            inner
                .as_array()
                .into_iter()
                .flatten()
                .map(|pair| (read(&pair[0]), read(&pair[1])))
                .collect(),
        ),
        "set" => Data::Set(read_list(inner)),
        "bytes" => Data::Bytes(
            inner
                .as_array()
                .into_iter()
                .flatten()
                .map(|b| b.as_u64().unwrap_or(0) as u8)
                .collect(),
        ),
        "error" => Data::Error(Box::new(read_error(inner))),
        "function" => Data::Function(std::sync::Arc::new(|_| {
            Err(HostError::new("not in the log"))
        })),
        "promise" => Data::Promise(std::future::pending().boxed()),
        _ => Data::Undefined,
    }
}
