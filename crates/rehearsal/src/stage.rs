//! What the connections of one server share, and the decision which answer a request gets.

use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};

use crate::delivery::{Delivery, delivery, json_actions};
use crate::gates::Gates;
use crate::http::Request;
use crate::recording::Recording;
use crate::script::Script;
use crate::selection::{Chosen, Selection};
use crate::server::Options;
use crate::table_view::TableView;
use crate::template::Meaning;

#[derive(Debug)]
pub(crate) struct Stage {
    script: Script,
    options: Options,
    selection: Mutex<Selection>,
    pub(crate) recording: Recording,
    pub(crate) gates: Gates,
}

/// An answer, and the number its request was recorded under; control requests aren't recorded.
#[derive(Debug)]
pub(crate) struct Cue {
    pub(crate) delivery: Delivery,
    pub(crate) seq: Option<usize>,
}

impl Stage {
    pub(crate) fn new(script: Script, options: Options) -> Stage {
        Stage {
            selection: Mutex::new(Selection::new(&script)),
            script,
            options,
            recording: Recording::default(),
            gates: Gates::default(),
        }
    }

    /// Records the request and decides the answer.
    pub(crate) async fn answer(&self, request: &Request) -> Cue {
        let (path, query) = request
            .target
            .split_once('?')
            .unwrap_or((&request.target, ""));
        if let Some(control) = path.strip_prefix("/_rehearsal/") {
            return Cue {
                delivery: self.control(request, control, query).await,
                seq: None,
            };
        }
        let is_chat = request.method == "POST" && path == "/v1/chat/completions";
        let body: Option<Value> = serde_json::from_slice(&request.body).ok();
        let seq = self
            .recording
            .add(request, body.clone().unwrap_or_default(), is_chat);
        let delivery = match (request.method.as_str(), path, body) {
            (_, _, Some(body)) if is_chat => self.answer_chat(&body, seq),
            _ if is_chat => {
                let text = format!("request {seq} is a chat request whose body isn't JSON");
                self.recording.add_mismatch(text.clone());
                error(400, "invalid_request_error", &text)
            }
            ("GET", "/v1/models", _) => self.answer_models(seq),
            (method, path, _) => error(
                404,
                "not_found",
                &format!("there is no {method} {path} in a rehearsal"),
            ),
        };
        Cue {
            delivery,
            seq: Some(seq),
        }
    }

    fn answer_chat(&self, body: &Value, seq: usize) -> Delivery {
        let view = TableView::of(body);
        let Options { facts, strict, .. } = &self.options;
        let mut selection = self
            .selection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match selection.choose_for_chat(&self.script, &view, facts, *strict) {
            Chosen::Step(step) => {
                self.recording
                    .update(seq, |request| request.step = Some(step.label.clone()));
                delivery(&step.answer, Meaning { view: &view, facts }, seq)
            }
            Chosen::Mismatch(text) => {
                log::warn!("rehearsal: {text}");
                self.recording.add_mismatch(text.clone());
                error(500, "rehearsal_mismatch", &text)
            }
        }
    }

    fn answer_models(&self, seq: usize) -> Delivery {
        let mut selection = self
            .selection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match selection.choose_for_models(&self.script) {
            Some(step) => {
                self.recording
                    .update(seq, |request| request.step = Some(step.label.clone()));
                let meaning = Meaning {
                    view: &TableView::default(),
                    facts: &self.options.facts,
                };
                delivery(&step.answer, meaning, seq)
            }
            None => json_actions(200, &self.model_list()),
        }
    }

    fn model_list(&self) -> Value {
        let rows: Vec<Value> = self
            .script
            .models()
            .iter()
            .map(|model| {
                let mut row = json!({
                    "id": model.id,
                    "object": "model",
                    "created": 0,
                    "owned_by": model.owned_by,
                });
                if let Some(tokens) = model.context_length {
                    row["context_length"] = tokens.into();
                }
                row
            })
            .collect();
        json!({ "object": "list", "data": rows })
    }

    /// The door for tests that run the server as a child process. A web page that had its name resolved to this
    /// machine would come with that name as the host, so only addresses of this machine are let in.
    async fn control(&self, request: &Request, path: &str, query: &str) -> Delivery {
        if !request.header("host").is_some_and(is_loopback) {
            return error(
                403,
                "forbidden",
                "this door opens to loopback addresses only",
            );
        }
        match (request.method.as_str(), path.split_once('/')) {
            ("GET", None) if path == "requests" => {
                let chats = query.strip_prefix("chats=").and_then(|n| n.parse().ok());
                if let Some(nth) = chats.filter(|nth| *nth > 0) {
                    self.recording.wait_for_chat(nth, |_| true).await;
                }
                json_actions(200, &json!(self.recording.requests()))
            }
            ("GET", None) if path == "mismatches" => {
                json_actions(200, &json!(self.recording.mismatches()))
            }
            ("POST", Some(("gate", name))) => {
                self.gates.open(name);
                json_actions(200, &json!({ "open": name }))
            }
            _ => error(404, "not_found", "there is no such control"),
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

/// An error in the shape that OpenAI-compatible servers use.
pub(crate) fn error(status: u16, kind: &str, message: &str) -> Delivery {
    json_actions(
        status,
        &json!({ "error": { "message": message, "type": kind, "code": kind } }),
    )
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost:8080",
            "[::1]:1",
            "[::1]",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:80",
            "127.0.0.1.evil.example",
            "",
            "[::2]",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
