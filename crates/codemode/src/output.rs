//! Fitting a run's answer into its output limit.

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::limits::{Limits, Truncation};
use crate::outcome::Outcome;
use serde_json::Value;

/// Cuts result, logs and warnings down to the limit.
pub(crate) fn fit(mut outcome: Outcome, limits: &Limits) -> Outcome {
    let Some(limit) = limits.max_output_bytes else {
        return outcome;
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut left = limit;
    if let Ok(value) = &outcome.result {
        let text = value.to_string();
        if text.len() > limit {
            outcome.truncated = true;
            left = 0;
            outcome.result = Ok(match limits.truncation {
                Truncation::Text => cut_text(&text, limit),
                Truncation::Structured => cut_value(value, limit),
            });
        } else {
            left = limit - text.len();
        }
    }
    let total = outcome.logs.len();
    let mut kept = 0;
    for line in &outcome.logs {
        let cost = line.len() + 1;
        if cost > left {
            break;
        }
        left -= cost;
        kept += 1;
    }
    if kept < total {
        outcome.truncated = true;
        outcome.logs.truncate(kept);
        outcome
            .logs
            .push(format!("[logs truncated: showing {kept} of {total} lines]"));
    }
    fit_warnings(&mut outcome, limit);
    outcome
}

fn fit_warnings(outcome: &mut Outcome, limit: usize) {
    let mut left = limit;
    let mut kept = 0;
    for warning in &outcome.warnings {
        let cost = serde_json::to_string(warning).map_or(0, |t| t.len()) + 1;
        if cost > left {
            break;
        }
        left -= cost;
        kept += 1;
    }
    let omitted = outcome.warnings.len() - kept;
    if omitted > 0 {
        outcome.truncated = true;
        outcome.warnings.truncate(kept);
        let message = format!("{omitted} more warnings were omitted to fit the output limit.");
        outcome
            .warnings
            .push(Diagnostic::new(DiagnosticKind::Truncated, message));
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn cut_text(text: &str, limit: usize) -> Value {
    let start = &text[..floor_boundary(text, limit)];
    Value::String(format!(
        "{start} [result truncated: {} bytes exceeds the {limit}-byte output limit; return a smaller value]",
        text.len()
    ))
}

/// Shortens arrays, objects and strings inside a value; what was left out is said where it was.
fn cut_value(value: &Value, budget: usize) -> Value {
    let size = value.to_string().len();
    if size <= budget {
        return value.clone();
    }
    match value {
        Value::String(text) => {
            let kept = &text[..floor_boundary(text, budget.saturating_sub(40))];
            let more = text.chars().count() - kept.chars().count();
            Value::String(format!("{kept}[… {more} more characters]"))
        }
        Value::Array(items) => {
            let mut out = Vec::new();
            let mut left = budget.saturating_sub(32);
            for item in items {
                let cost = item.to_string().len() + 1;
                if cost <= left {
                    left -= cost;
                    out.push(item.clone());
                    continue;
                }
                if left > 64 && (item.is_array() || item.is_object() || item.is_string()) {
                    out.push(cut_value(item, left));
                }
                break;
            }
            let more = items.len() - out.len();
            if more > 0 {
                out.push(Value::String(format!("[… {more} more items]")));
            }
            Value::Array(out)
        }
        Value::Object(map) => {
            let mut out = serde_json::Map::new();
            let mut left = budget.saturating_sub(32);
            // Every field gets its share, so that a long first field doesn't hide the rest.
            let mut waiting = map.len();
            for (key, item) in map {
                let share = (left / waiting.max(1)).max(48);
                let cost = item.to_string().len();
                let head = key.len() + 4;
                waiting -= 1;
                if head + 8 > left {
                    break;
                }
                let item = if cost + head <= share.max(16) {
                    item.clone()
                } else {
                    cut_value(item, share.saturating_sub(head))
                };
                left = left.saturating_sub(head + item.to_string().len());
                out.insert(key.clone(), item);
            }
            let more = map.len() - out.len();
            if more > 0 {
                out.insert("…".to_owned(), Value::String(format!("{more} more fields")));
            }
            Value::Object(out)
        }
        other => other.clone(),
    }
}
