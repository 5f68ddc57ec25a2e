//! The tools that search.

use std::sync::Arc;

use serde_json::{Value, json};
use workspace::{
    CutShort, EntryKind, FindRequest, FindResult, GrepRequest, GrepResult, SearchLimits,
};

use crate::arguments::{decode, object_schema};
use crate::file_tools::encode;
use crate::text::plain;
use crate::tool::{CallContext, Executor, Plan};
use crate::{Class, Tool, ToolFault, ToolOutput};

/// How other programs call what is searched for, and where.
const ALIASES: &[(&str, &str)] = &[
    ("query", "pattern"),
    ("regex", "pattern"),
    ("name", "pattern"),
    ("path", "subdir"),
    ("dir", "subdir"),
    ("directory", "subdir"),
    ("include", "glob"),
];

pub(crate) fn tools() -> Vec<Tool> {
    vec![search_files(), grep()]
}

fn subdir() -> Value {
    json!({"type": "string", "description": "search below this folder alone"})
}

fn include_ignored() -> Value {
    json!({"type": "boolean", "description": "search also what Git ignores"})
}

/// The schema of what a search gives.
fn found_schema(of_match: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": {
            "matches": {
                "type": "array",
                "items": {"type": "object", "properties": of_match, "required": required},
            },
            "total": {"type": "integer"},
            "truncated": {"type": "boolean"},
            "cut_short_by": {"type": "string", "enum": ["matches", "files", "time"]},
            "literal": {"type": "boolean"},
            "files": {"type": "integer"},
            "too_large": {"type": "integer"},
            "elapsed_ms": {"type": "integer"},
        },
        "required": ["matches", "total", "truncated", "elapsed_ms"],
    })
}

fn search_files() -> Tool {
    Tool {
        name: "search_files".into(),
        aliases: vec!["find_files".into(), "glob".into()],
        parameter_aliases: ALIASES,
        description: "Finds files and folders by a part of their name, or by a glob.".into(),
        class: Class::Read,
        input: object_schema(
            &["pattern"],
            &json!({
                "pattern": {
                    "type": "string",
                    "description": "part of a name in either case, or a glob; with `/` it is held against the path",
                },
                "subdir": subdir(),
                "include_ignored": include_ignored(),
            }),
        ),
        output: found_schema(
            &json!({"path": {"type": "string"}, "kind": {"type": "string"}}),
            &["path", "kind"],
        ),
        executor: Arc::new(SearchFiles),
    }
}

struct SearchFiles;

impl Executor for SearchFiles {
    fn run(
        &self,
        arguments: &Value,
        _: &Plan,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolFault> {
        let request: FindRequest = decode(arguments)?;
        let workspace = &context.workbench.workspace;
        let found = workspace.search_files(&request, &SearchLimits::default(), &context.stop)?;
        Ok(ToolOutput {
            text: found_text(&found),
            truncated: found.truncated,
            data: encode(&found)?,
        })
    }
}

fn found_text(found: &FindResult) -> String {
    let mut text = String::new();
    for path in &found.matches {
        let mark = if path.kind == EntryKind::Folder {
            "/"
        } else {
            ""
        };
        text.push_str(&format!("{}{mark}\n", plain(path.path.as_str())));
    }
    if found.matches.is_empty() {
        text.push_str("(nothing has this name)\n");
    }
    let how = "a longer pattern or a subdir finds less";
    text.push_str(&cut_mark(
        found.matches.len(),
        found.total,
        found.cut_short_by,
        how,
    ));
    text
}

/// The mark of a search that returned less than there is.
fn cut_mark(shown: usize, total: usize, by: Option<CutShort>, how: &str) -> String {
    let why = match by {
        None if shown == total => return String::new(),
        None | Some(CutShort::Matches) => "the bound on matches",
        Some(CutShort::Files) => "the bound on files",
        Some(CutShort::Time) => "the deadline",
    };
    format!("[truncated by {why}: {shown} of {total} found so far; {how}]\n")
}

fn grep() -> Tool {
    Tool {
        name: "grep".into(),
        aliases: vec!["search_text".into(), "grep_search".into()],
        parameter_aliases: ALIASES,
        description: "Finds lines by a regular expression, in either case unless asked. What isn't a valid expression is \
                      taken literally."
            .into(),
        class: Class::Read,
        input: object_schema(
            &["pattern"],
            &json!({
                "pattern": {"type": "string", "description": "a regular expression"},
                "subdir": subdir(),
                "glob": {"type": "string", "description": "only in files whose name or path matches: *.rs"},
                "case_sensitive": {"type": "boolean"},
                "literal": {"type": "boolean", "description": "take the pattern literally"},
                "include_ignored": include_ignored(),
            }),
        ),
        output: found_schema(
            &json!({
                "path": {"type": "string"},
                "line": {"type": "integer"},
                "column": {"type": "integer"},
                "text": {"type": "string"},
            }),
            &["path", "line", "column", "text"],
        ),
        executor: Arc::new(Grep),
    }
}

struct Grep;

impl Executor for Grep {
    fn run(
        &self,
        arguments: &Value,
        _: &Plan,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolFault> {
        let request: GrepRequest = decode(arguments)?;
        let workspace = &context.workbench.workspace;
        let found = workspace.grep(&request, &SearchLimits::default(), &context.stop)?;
        Ok(ToolOutput {
            text: lines_text(&found, request.literal),
            truncated: found.truncated,
            data: encode(&found)?,
        })
    }
}

fn lines_text(found: &GrepResult, asked_literal: bool) -> String {
    let mut text = String::new();
    for line in &found.matches {
        let (path, line, shown) = (line.path.as_str(), line.line, plain(line.text.trim_end()));
        text.push_str(&format!("{}:{line}: {shown}\n", plain(path)));
    }
    if found.matches.is_empty() {
        text.push_str(&format!("(no line matches, in {} files)\n", found.files));
    }
    if found.literal && !asked_literal {
        text.push_str("(not a valid expression: the pattern was taken literally)\n");
    }
    if found.too_large > 0 {
        let count = found.too_large;
        text.push_str(&format!(
            "({count} files were passed over, as they are too large)\n"
        ));
    }
    let how = "a narrower pattern, a subdir or a glob finds less";
    text.push_str(&cut_mark(
        found.matches.len(),
        found.total,
        found.cut_short_by,
        how,
    ));
    text
}
