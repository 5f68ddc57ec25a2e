//! Finding tools by words.

use crate::signature;
use crate::tools::{Tool, expression};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// What to look for.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) query: String,
    pub(crate) namespace: Option<String>,
    pub(crate) limit: usize,
    pub(crate) offset: usize,
    /// One-line signatures.
    pub(crate) compact: bool,
}

impl Query {
    /// The search's input, for those who look at calls.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "query": self.query,
            "namespace": self.namespace,
            "limit": self.limit,
            "offset": self.offset,
        })
    }
}

/// A tool that was found.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) path: String,
    pub(crate) description: String,
    pub(crate) signature: String,
}

pub(crate) struct Found {
    pub(crate) items: Vec<Item>,
    pub(crate) remaining: usize,
    pub(crate) next: Option<usize>,
}

impl Found {
    /// The search's answer, for those who look at calls.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let item = |i: &Item| serde_json::json!({ "path": i.path, "description": i.description, "signature": i.signature });
        serde_json::json!({
            "items": self.items.iter().map(item).collect::<Vec<_>>(),
            "remaining": self.remaining,
            "next": self.next.map(|offset| serde_json::json!({ "offset": offset })),
        })
    }
}

/// What a tool is searched by, in lower case.
#[derive(Debug)]
pub(crate) struct Indexed {
    path: String,
    words: Vec<String>,
    description: String,
    text: String,
    signature: OnceLock<String>,
}

impl Indexed {
    pub(crate) fn new(tool: &Tool, namespaces: &BTreeMap<String, String>) -> Indexed {
        let mut text = format!("{} {}", tool.path, tool.description);
        let mut prefix = String::new();
        for segment in tool.path.split('.') {
            if let Some(description) = namespaces.get(&prefix) {
                text.push(' ');
                text.push_str(description);
            }
            if !prefix.is_empty() {
                prefix.push('.');
            }
            prefix.push_str(segment);
        }
        if let Some(properties) = tool
            .input
            .as_ref()
            .and_then(|s| s.get("properties"))
            .and_then(|p| p.as_object())
        {
            for (name, schema) in properties {
                text.push(' ');
                text.push_str(name);
                if let Some(description) = schema.get("description").and_then(|d| d.as_str()) {
                    text.push(' ');
                    text.push_str(description);
                }
            }
        }
        Indexed {
            path: tool.path.to_lowercase(),
            words: tokens(&tool.path),
            description: tool.description.to_lowercase(),
            text: text.to_lowercase(),
            signature: OnceLock::new(),
        }
    }
}

/// Words of a text: camel case split, lower case, ASCII letters and digits only.
fn tokens(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last_lower = false;
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            if c.is_ascii_uppercase() && last_lower {
                words.push(String::new());
            }
            last_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
            if let Some(word) = words.last_mut() {
                word.push(c.to_ascii_lowercase());
            }
        } else {
            last_lower = false;
            words.push(String::new());
        }
    }
    words.retain(|w| !w.is_empty());
    words
}

/// A term with its singular forms.
fn forms(term: &str) -> Vec<&str> {
    let mut list = vec![term];
    if term.len() > 3
        && let Some(stem) = term.strip_suffix("es")
    {
        list.push(stem);
    }
    if term.len() > 2
        && let Some(stem) = term.strip_suffix('s')
    {
        list.push(stem);
    }
    list
}

fn score(tool: &Indexed, terms: &[Vec<&str>]) -> u32 {
    let mut total = 0;
    for forms in terms {
        let any = |test: &dyn Fn(&str) -> bool| forms.iter().any(|f| test(f));
        let ends = |f: &str| {
            tool.path == f
                || (tool.path.ends_with(f) && tool.path[..tool.path.len() - f.len()].ends_with('.'))
        };
        total += 20 * u32::from(any(&ends));
        total += 12 * u32::from(any(&|f| tool.words.iter().any(|w| w == f)));
        total += 8 * u32::from(any(&|f| tool.path.contains(f)));
        total += 4 * u32::from(any(&|f| tool.description.contains(f)));
        total += 2 * u32::from(any(&|f| tool.text.contains(f)));
    }
    total
}

/// Searches; scores are added per term and ties broken by path.
pub(crate) fn run(
    tools: &[Tool],
    indexed: &[Indexed],
    children: &FxHashMap<String, Vec<String>>,
    query: &Query,
) -> Found {
    let wanted = query.query.trim();
    let namespace = query.namespace.as_deref().map(str::trim).map(|n| {
        if children
            .get("")
            .is_some_and(|names| names.iter().any(|n| n == "tools"))
        {
            n
        } else if n == "tools" {
            ""
        } else {
            n.strip_prefix("tools.").unwrap_or(n)
        }
    });
    let inside = |tool: &Tool| match namespace {
        None | Some("") => true,
        Some(n) => {
            tool.path == n
                || tool
                    .path
                    .strip_prefix(n)
                    .is_some_and(|rest| rest.starts_with('.'))
        }
    };
    let exact = tools.iter().position(|t| {
        inside(t)
            && (t.path == wanted
                || wanted.strip_prefix("tools.") == Some(&t.path)
                || expression(&t.path) == wanted)
    });
    let mut hits: Vec<(u32, usize)> = Vec::new();
    match exact {
        Some(at) if !wanted.is_empty() => hits.push((1, at)),
        _ => {
            let words = tokens(wanted);
            let terms: Vec<Vec<&str>> = words.iter().map(|w| forms(w)).collect();
            for (at, tool) in tools.iter().enumerate() {
                if inside(tool) {
                    let points = score(&indexed[at], &terms);
                    if points > 0 || wanted.is_empty() {
                        hits.push((points, at));
                    }
                }
            }
            hits.sort_by(|a, b| {
                b.0.cmp(&a.0).then_with(|| {
                    tools[a.1]
                        .path
                        .encode_utf16()
                        .cmp(tools[b.1].path.encode_utf16())
                })
            });
        }
    }
    let total = hits.len();
    let end = query.offset.saturating_add(query.limit).min(total);
    let items = hits
        .get(query.offset.min(total)..end)
        .unwrap_or_default()
        .iter()
        .map(|&(_, at)| Item {
            path: expression(&tools[at].path),
            description: tools[at].description.clone(),
            signature: if query.compact {
                signature::render(&tools[at], true)
            } else {
                indexed[at]
                    .signature
                    .get_or_init(|| signature::render(&tools[at], false))
                    .clone()
            },
        })
        .collect();
    let remaining = total - end.max(query.offset.min(total));
    Found {
        items,
        remaining,
        next: (remaining > 0).then_some(end),
    }
}
