//! The list of models that an endpoint offers.

use serde_json::Value;

use crate::usage::whole_number;

/// A model that an endpoint offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// The id that requests name it by.
    pub id: String,
    /// Who offers it, as the endpoint says; empty where it doesn't. Two owners may offer the same id.
    pub owned_by: String,
    /// The context window in tokens, where the endpoint says.
    pub context_length: Option<u64>,
}

/// Reads a model list: OpenAI's `data`, Ollama's `models`, or a bare list. `None` for anything else.
pub(crate) fn parse(body: &Value) -> Option<Vec<ModelInfo>> {
    let list = ["data", "models"]
        .iter()
        .find_map(|name| body.get(name).and_then(Value::as_array))
        .or_else(|| body.as_array());
    match list {
        Some(list) => Some(list.iter().filter_map(model).collect()),
        None if body.get("data").is_some_and(Value::is_null) => Some(Vec::new()),
        None => None,
    }
}

fn model(item: &Value) -> Option<ModelInfo> {
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    let id = item
        .as_str()
        .or_else(|| text("id"))
        .or_else(|| text("model"))
        .or_else(|| text("name"))?;
    // OpenRouter, vLLM, LM Studio, Mistral, CLIProxyAPI's Anthropic form, llama.cpp.
    let windows = [
        "/context_length",
        "/context_window",
        "/max_model_len",
        "/max_context_length",
        "/max_input_tokens",
        "/inputTokenLimit",
        "/meta/n_ctx",
        "/meta/n_ctx_train",
    ];
    Some(ModelInfo {
        id: id.to_owned(),
        owned_by: text("owned_by").unwrap_or_default().to_owned(),
        context_length: windows
            .iter()
            .filter_map(|path| item.pointer(path).and_then(whole_number))
            .find(|window| *window > 0),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_of_every_kind_are_read() {
        let ids = |body: Value| {
            parse(&body).map(|list| list.into_iter().map(|model| model.id).collect::<Vec<_>>())
        };
        let some = |ids: &[&str]| Some(ids.iter().copied().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(
            ids(json!({"object": "list", "data": [{"id": "a"}, {"id": "b"}, {"no": 1}]})),
            some(&["a", "b"])
        );
        assert_eq!(
            ids(json!({"models": [{"name": "a:8b", "model": "a:8b"}]})),
            some(&["a:8b"])
        );
        assert_eq!(ids(json!(["a"])), some(&["a"]));
        assert_eq!(ids(json!({"data": null})), some(&[]));
        assert_eq!(ids(json!({"hello": "world"})), None);
    }

    #[test]
    fn the_window_and_owner_are_read_where_they_are_given() {
        let list = parse(&json!({"data": [
            {"id": "a", "owned_by": "anthropic", "context_length": 200000},
            {"id": "b", "max_model_len": 4096},
            {"id": "c", "meta": {"n_ctx_train": 8192}},
            {"id": "d", "context_length": 0},
        ]}))
        .expect("a list");
        let windows: Vec<_> = list.iter().map(|model| model.context_length).collect();
        assert_eq!(windows, [Some(200_000), Some(4096), Some(8192), None]);
        assert_eq!(list[0].owned_by, "anthropic");
    }
}
