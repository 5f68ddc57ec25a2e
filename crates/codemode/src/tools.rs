//! The tools that a program may call, indexed once.

use crate::schema;
use crate::search::{self, Indexed};
use crate::signature;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// One tool as the host describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Dotted path below `tools`; segments may be any text without dots.
    pub path: String,
    /// What the tool does, for the model.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<serde_json::Value>,
    /// JSON Schema of the output; without one the program gets `undefined`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<serde_json::Value>,
    /// Check inputs and outputs against their schemas.
    #[serde(default)]
    pub validate: bool,
}

/// A tool path with an empty segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPath(pub String);

impl std::fmt::Display for BadPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "tool path has an empty segment: '{}'", self.0)
    }
}

impl std::error::Error for BadPath {}

/// What a model is told about a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Descriptor {
    /// Dotted path.
    pub path: String,
    /// What it does.
    pub description: String,
    /// TypeScript signature.
    pub signature: String,
}

/// A namespace that has at least one tool below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Namespace {
    /// Dotted prefix.
    pub path: String,
    /// What its tools have in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The tools of a runtime.
#[derive(Debug, Default)]
pub struct ToolSet {
    tools: Vec<Tool>,
    by_path: FxHashMap<String, usize>,
    children: FxHashMap<String, Vec<String>>,
    namespaces: BTreeMap<String, String>,
    indexed: OnceLock<Vec<Indexed>>,
}

impl ToolSet {
    /// Indexes tools; of two with the same path the last one counts. `namespaces` describes prefixes.
    ///
    /// # Errors
    /// When a path has an empty segment.
    pub fn new(tools: Vec<Tool>, namespaces: BTreeMap<String, String>) -> Result<ToolSet, BadPath> {
        let mut set = ToolSet {
            namespaces,
            ..ToolSet::default()
        };
        for tool in tools {
            if tool.path.split('.').any(str::is_empty) {
                return Err(BadPath(tool.path));
            }
            if let Some(&at) = set.by_path.get(&tool.path) {
                set.tools[at] = tool;
                continue;
            }
            set.by_path.insert(tool.path.clone(), set.tools.len());
            let mut parent = String::new();
            for segment in tool.path.split('.') {
                let names = set.children.entry(parent.clone()).or_default();
                if !names.iter().any(|n| n == segment) {
                    names.push(segment.to_owned());
                }
                if !parent.is_empty() {
                    parent.push('.');
                }
                parent.push_str(segment);
            }
            set.tools.push(tool);
        }
        Ok(set)
    }

    /// The tools in the order given.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Descriptors of all tools, with pretty signatures, or with one-line ones.
    pub fn catalog(&self, compact: bool) -> Vec<Descriptor> {
        let describe = |tool: &Tool| Descriptor {
            path: tool.path.clone(),
            description: tool.description.clone(),
            signature: signature::render(tool, compact),
        };
        self.tools.iter().map(describe).collect()
    }

    /// Namespaces with at least one tool below, by path.
    pub fn namespaces(&self) -> Vec<Namespace> {
        let mut paths: Vec<&String> = self.children.keys().filter(|p| !p.is_empty()).collect();
        paths.sort();
        paths
            .into_iter()
            .map(|path| Namespace {
                path: path.clone(),
                description: self.namespaces.get(path).cloned(),
            })
            .collect()
    }

    pub(crate) fn find(&self, path: &[String]) -> Option<usize> {
        self.by_path.get(&path.join(".")).copied()
    }

    pub(crate) fn path(&self, index: usize) -> String {
        self.tools[index].path.clone()
    }

    pub(crate) fn has_output(&self, index: usize) -> bool {
        self.tools[index].output.is_some()
    }

    /// Names below a path; nothing when the path is neither namespace nor tool.
    pub(crate) fn children(&self, path: &[String]) -> Option<Vec<String>> {
        let path = path.join(".");
        match self.children.get(&path) {
            Some(names) => Some(names.clone()),
            None if path.is_empty() || self.by_path.contains_key(&path) => Some(Vec::new()),
            None => None,
        }
    }

    pub(crate) fn has_child(&self, path: &[String], name: &str) -> bool {
        self.children
            .get(&path.join("."))
            .is_some_and(|names| names.iter().any(|n| n == name))
    }

    pub(crate) fn validate(&self, index: usize, input: &serde_json::Value) -> Result<(), String> {
        match &self.tools[index] {
            Tool {
                validate: true,
                input: Some(schema),
                ..
            } => schema::validate(schema, input),
            _ => Ok(()),
        }
    }

    pub(crate) fn validates_output(&self, index: usize) -> bool {
        self.tools[index].validate && self.tools[index].output.is_some()
    }

    pub(crate) fn validate_output(
        &self,
        index: usize,
        output: &serde_json::Value,
    ) -> Result<(), String> {
        match &self.tools[index] {
            Tool {
                validate: true,
                output: Some(schema),
                ..
            } => schema::validate(schema, output),
            _ => Ok(()),
        }
    }

    fn indexed(&self) -> &[Indexed] {
        self.indexed.get_or_init(|| {
            self.tools
                .iter()
                .map(|t| Indexed::new(t, &self.namespaces))
                .collect()
        })
    }

    pub(crate) fn search(&self, query: &search::Query) -> search::Found {
        search::run(&self.tools, self.indexed(), &self.children, query)
    }

    /// The callable expression of the tool most like an unknown path.
    pub(crate) fn nearest(&self, path: &[String]) -> Option<String> {
        let first = path.first()?;
        let namespace = self.children.contains_key(first).then(|| first.clone());
        let query = search::Query {
            query: path.join("."),
            namespace: namespace.clone(),
            limit: 1,
            offset: 0,
            compact: false,
        };
        if let Some(best) = self.search(&query).items.into_iter().next() {
            return Some(best.path);
        }
        let wanted = path.join(".");
        self.tools
            .iter()
            .filter(|t| {
                namespace
                    .as_ref()
                    .is_none_or(|n| t.path.starts_with(n.as_str()))
            })
            .map(|t| (distance(&t.path, &wanted), t))
            .filter(|(d, t)| *d * 3 <= t.path.len().max(3))
            .min_by_key(|(d, _)| *d)
            .map(|(_, t)| expression(&t.path))
    }

    /// The callable expression of a tool whose last segment is this name.
    pub(crate) fn by_bare_name(&self, name: &str) -> Option<String> {
        let matches = |t: &&Tool| t.path == name || t.path.rsplit('.').next() == Some(name);
        self.tools.iter().find(matches).map(|t| expression(&t.path))
    }
}

/// The name most like a mistyped one, when any is near.
pub(crate) fn closest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|name| (distance(name, wanted), name))
        .filter(|(d, name)| *d * 3 <= name.len().max(wanted.len()).max(3))
        .min_by_key(|(d, _)| *d)
        .map(|(_, name)| name)
}

/// Edit distance of two short texts in which swapping neighbours is one step (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(200).collect();
    let b: Vec<char> = b.chars().take(200).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut cost = (row[j] + usize::from(x != y))
                .min(row[j + 1] + 1)
                .min(next[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                cost = cost.min(before[j - 1] + 1);
            }
            next.push(cost);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

/// The expression that calls a path: `tools.a.b`, with brackets where a segment is no identifier.
pub fn expression(path: &str) -> String {
    let mut out = "tools".to_owned();
    for segment in path.split('.') {
        let identifier = segment.chars().enumerate().all(|(at, c)| {
            c == '_' || c == '$' || c.is_ascii_alphabetic() || (at > 0 && c.is_ascii_digit())
        });
        if identifier && !segment.is_empty() {
            out.push('.');
            out.push_str(segment);
        } else {
            out.push('[');
            out.push_str(&serde_json::Value::from(segment).to_string());
            out.push(']');
        }
    }
    out
}
