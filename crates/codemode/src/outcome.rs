//! What a run answers.

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use serde::{Deserialize, Serialize};

/// One admitted call, by its dotted path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Dotted path of the tool.
    pub name: String,
}

/// What a run gave. Serialises to the object with `ok`, `value` or `error`, and the optional parts when there are any.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The result, or why there is none.
    pub result: Result<serde_json::Value, Diagnostic>,
    /// Problems that didn't fail the run.
    pub warnings: Vec<Diagnostic>,
    /// Lines the program logged.
    pub logs: Vec<String>,
    /// Whether anything was cut to fit the output limit.
    pub truncated: bool,
    /// Admitted calls, in order.
    pub tool_calls: Vec<ToolCall>,
    /// What the check before the run found; then nothing was run.
    pub problems: Vec<Diagnostic>,
}

impl Outcome {
    /// The outcome of a program that didn't run.
    pub fn failed(error: Diagnostic) -> Outcome {
        Outcome {
            result: Err(error),
            warnings: Vec::new(),
            logs: Vec::new(),
            truncated: false,
            tool_calls: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// The outcome of a program with problems found before it ran: the error is the first and tells all of them.
    pub(crate) fn refused(problems: Vec<Diagnostic>) -> Outcome {
        let mut error = match problems.first() {
            Some(first) => first.clone(),
            None => Diagnostic::new(DiagnosticKind::ParseError, "not a program"),
        };
        if problems.len() > 1 {
            let lines: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
            error.message = format!(
                "{} problems, nothing was run:\n{}",
                problems.len(),
                lines.join("\n")
            );
            for more in problems.iter().flat_map(|p| &p.suggestions) {
                if !error.suggestions.contains(more) {
                    error.suggestions.push(more.clone());
                }
            }
        }
        Outcome {
            problems,
            ..Outcome::failed(error)
        }
    }

    /// The JSON form.
    pub fn to_json(&self) -> serde_json::Value {
        let mut map = serde_json::Map::new();
        map.insert("ok".to_owned(), self.result.is_ok().into());
        match &self.result {
            Ok(value) => map.insert("value".to_owned(), value.clone()),
            Err(error) => map.insert(
                "error".to_owned(),
                serde_json::to_value(error).unwrap_or_default(),
            ),
        };
        if !self.warnings.is_empty() {
            map.insert(
                "warnings".to_owned(),
                serde_json::to_value(&self.warnings).unwrap_or_default(),
            );
        }
        if !self.logs.is_empty() {
            map.insert(
                "logs".to_owned(),
                serde_json::to_value(&self.logs).unwrap_or_default(),
            );
        }
        if self.truncated {
            map.insert("truncated".to_owned(), true.into());
        }
        map.insert(
            "toolCalls".to_owned(),
            serde_json::to_value(&self.tool_calls).unwrap_or_default(),
        );
        if !self.problems.is_empty() {
            map.insert(
                "problems".to_owned(),
                serde_json::to_value(&self.problems).unwrap_or_default(),
            );
        }
        serde_json::Value::Object(map)
    }
}
