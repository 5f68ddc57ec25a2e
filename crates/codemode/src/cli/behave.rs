//! Tools described in JSON, with what they do.

use crate::host::{Call, Output, Reply, ToolError};
use crate::run::ToolHost;
use crate::tools::{Tool, ToolSet};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// What a scripted tool does with its input.
#[derive(Clone, Debug)]
pub(super) enum Behave {
    Return(Value),
    Echo,
    Field(String),
    Object(Vec<(String, Behave)>),
    Fail(String),
    Never,
    Delay(u64, Box<Behave>),
    GateAwait(String),
    GateOpen(String),
}

fn parse_behave(json: &Value) -> Result<Behave, String> {
    let text = |value: &Value| {
        value
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| format!("expected text: {value}"))
    };
    let Some(map) = json.as_object() else {
        return Err(format!("unknown behave: {json}"));
    };
    if let Some(value) = map.get("return") {
        return Ok(Behave::Return(value.clone()));
    }
    if map.get("echo") == Some(&Value::Bool(true)) {
        return Ok(Behave::Echo);
    }
    if let Some(name) = map.get("field") {
        return Ok(Behave::Field(text(name)?));
    }
    if let Some(Value::Object(fields)) = map.get("object") {
        let fields = fields
            .iter()
            .map(|(k, v)| Ok((k.clone(), parse_behave(v)?)));
        return Ok(Behave::Object(fields.collect::<Result<_, String>>()?));
    }
    if let Some(message) = map.get("fail") {
        return Ok(Behave::Fail(text(message)?));
    }
    if map.get("never") == Some(&Value::Bool(true)) {
        return Ok(Behave::Never);
    }
    if let Some(ms) = map.get("delayMs").and_then(Value::as_u64) {
        let then = map
            .get("then")
            .map_or(Ok(Behave::Return(Value::Null)), parse_behave)?;
        return Ok(Behave::Delay(ms, Box::new(then)));
    }
    if let Some(name) = map.get("gateAwait") {
        return Ok(Behave::GateAwait(text(name)?));
    }
    if let Some(name) = map.get("gateOpen") {
        return Ok(Behave::GateOpen(text(name)?));
    }
    Err(format!("unknown behave: {json}"))
}

fn walk(
    json: &Value,
    prefix: &str,
    tools: &mut Vec<(Tool, Behave)>,
    namespaces: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    match json {
        Value::Null => Ok(()),
        Value::Array(list) => list
            .iter()
            .try_for_each(|item| tool(item, prefix, tools, namespaces)),
        Value::Object(map) if map.contains_key("path") => tool(json, prefix, tools, namespaces),
        Value::Object(map) => {
            // Nested records: a key is a segment, a dot in it splits.
            for (key, item) in map {
                let path = if prefix.is_empty() {
                    key.clone()
                } else {
                    format!("{prefix}.{key}")
                };
                if item.get("behave").is_some() {
                    let mut flat = item.clone();
                    flat["path"] = Value::String(path);
                    tool(&flat, "", tools, namespaces)?;
                } else {
                    walk(item, &path, tools, namespaces)?;
                }
            }
            Ok(())
        }
        other => Err(format!("tools must be a list or a record: {other}")),
    }
}

fn tool(
    json: &Value,
    prefix: &str,
    tools: &mut Vec<(Tool, Behave)>,
    namespaces: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    if let Some(map) = json.get("namespaces").and_then(Value::as_object) {
        for (path, description) in map {
            namespaces.insert(
                path.clone(),
                description.as_str().unwrap_or_default().to_owned(),
            );
        }
    }
    let mut described: Tool =
        serde_json::from_value(json.clone()).map_err(|error| format!("bad tool: {error}"))?;
    if !prefix.is_empty() {
        described.path = format!("{prefix}.{}", described.path);
    }
    let behave = json
        .get("behave")
        .map_or(Ok(Behave::Return(Value::Null)), parse_behave)?;
    tools.retain(|(t, _)| t.path != described.path);
    tools.push((described, behave));
    Ok(())
}

/// Tools and what they do, from their JSON.
pub(super) fn parse_tools(json: &Value) -> Result<(ToolSet, Vec<Behave>), String> {
    let (mut tools, mut namespaces) = (Vec::new(), BTreeMap::new());
    let list = match json.get("tools") {
        Some(list) if json.get("path").is_none() => {
            for (path, description) in json
                .get("namespaces")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                namespaces.insert(
                    path.clone(),
                    description.as_str().unwrap_or_default().to_owned(),
                );
            }
            list
        }
        _ => json,
    };
    walk(list, "", &mut tools, &mut namespaces)?;
    let (tools, behaves): (Vec<Tool>, Vec<Behave>) = tools.into_iter().unzip();
    let set = ToolSet::new(tools, namespaces).map_err(|error| error.to_string())?;
    Ok((set, behaves))
}

type Gates = Arc<Mutex<HashMap<String, watch::Sender<bool>>>>;

/// Answers calls by the tools' descriptions.
pub(super) struct ScriptedHost {
    behaves: Vec<Behave>,
    gates: Gates,
}

impl ScriptedHost {
    pub(super) fn new(behaves: Vec<Behave>) -> ScriptedHost {
        ScriptedHost {
            behaves,
            gates: Gates::default(),
        }
    }
}

fn gate(gates: &Gates, name: &str) -> watch::Sender<bool> {
    let mut map = gates.lock().unwrap_or_else(PoisonError::into_inner);
    map.entry(name.to_owned())
        .or_insert_with(|| watch::channel(false).0)
        .clone()
}

fn perform(
    behave: Behave,
    input: Value,
    gates: Gates,
) -> BoxFuture<'static, Result<Value, ToolError>> {
    async move {
        match behave {
            Behave::Return(value) => Ok(value),
            Behave::Echo => Ok(input),
            Behave::Field(name) => Ok(input.get(&name).cloned().unwrap_or(Value::Null)),
            Behave::Object(fields) => {
                let mut map = serde_json::Map::new();
                for (name, inner) in fields {
                    map.insert(
                        name,
                        perform(inner, input.clone(), Arc::clone(&gates)).await?,
                    );
                }
                Ok(Value::Object(map))
            }
            Behave::Fail(message) => Err(ToolError { message }),
            Behave::Never => std::future::pending().await,
            Behave::Delay(ms, then) => {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                perform(*then, input, gates).await
            }
            Behave::GateAwait(name) => {
                let mut open = gate(&gates, &name).subscribe();
                // The sender lives in the map, so waiting can't fail.
                let _ = open.wait_for(|open| *open).await;
                Ok(Value::Null)
            }
            Behave::GateOpen(name) => {
                gate(&gates, &name).send_replace(true);
                Ok(Value::Null)
            }
        }
    }
    .boxed()
}

impl ToolHost for ScriptedHost {
    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let behave = self.behaves[call.tool].clone();
        let gates = Arc::clone(&self.gates);
        async move { perform(behave, call.input, gates).await.map(Output::Json) }.boxed()
    }
}
