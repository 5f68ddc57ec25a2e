//! A call as the run journal keeps it.

use models::ToolCall;
use serde_json::{Value, json};

use crate::driver::Called;
use crate::tool_loop::CallKey;

/// A record of a call: what goes on its line of the journal, and what lies beside under the name of a field.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRecord {
    /// The line's data.
    pub data: Value,
    /// The long parts: `arguments`, `result` as the model was told, `data` as programs get it, `diff`.
    pub bodies: Vec<(&'static str, Vec<u8>)>,
}

impl CallRecord {
    /// A call that begins, so that a crash leaves a trace of what was going on.
    pub fn started(key: CallKey, call: &ToolCall) -> Self {
        Self {
            data: head(key, call, "started"),
            bodies: vec![("arguments", call.arguments.clone().into_bytes())],
        }
    }

    /// A call that is over.
    pub fn ended(key: CallKey, call: &ToolCall, called: &Called) -> Self {
        let mut data = head(key, call, status(called));
        let mut bodies = vec![
            ("arguments", call.arguments.clone().into_bytes()),
            ("result", called.result.text.clone().into_bytes()),
        ];
        if let Some(report) = &called.report {
            data["tool"] = report.tool.clone().into();
            data["class"] = json!(report.class);
            data["approval"] = json!(report.approval);
            data["askedMs"] = report.asked_ms.into();
            data["ranMs"] = report.ran_ms.into();
            match &report.result {
                Ok(output) => {
                    data["truncated"] = output.truncated.into();
                    bodies.push(("data", output.data.to_string().into_bytes()));
                    let diff = diffs(&output.data);
                    if !diff.is_empty() {
                        bodies.push(("diff", diff.into_bytes()));
                    }
                }
                Err(fault) => data["fault"] = fault.kind.name().into(),
            }
        }
        Self { data, bodies }
    }

    /// The bodies as the journal takes them.
    pub fn bodies(&self) -> Vec<(&str, &[u8])> {
        let bodies = self.bodies.iter();
        bodies
            .map(|(name, bytes)| (*name, bytes.as_slice()))
            .collect()
    }
}

fn head(key: CallKey, call: &ToolCall, status: &str) -> Value {
    json!({
        "round": key.round,
        "place": key.at,
        "callId": call.id,
        "name": call.name,
        "status": status,
    })
}

/// One of `done`, `denied` and `failed`: what a card shows.
fn status(called: &Called) -> &'static str {
    match called.report.as_ref().map(|report| &report.result) {
        Some(Ok(_)) => "done",
        Some(Err(fault)) if fault.kind == tools::FaultKind::Denied => "denied",
        _ => "failed",
    }
}

/// The diffs in a result: its own, and those of several files.
fn diffs(data: &Value) -> String {
    let own = data["diff"].as_str();
    let several = data["written"].as_array().into_iter().flatten();
    let all = own
        .into_iter()
        .chain(several.filter_map(|file| file["diff"].as_str()));
    all.collect()
}
