//! The tools that read files and change what is in them.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use workspace::{
    Dialect, EditRequest, EntryKind, FilePatch, Listing, Patched, ReadFile, ReadRequest,
    WorkspaceError, WriteRequest, Written, parse_envelope,
};

use crate::arguments::{decode, object_schema};
use crate::text::plain;
use crate::tool::{CallContext, Executor, Keeps, Plan};
use crate::{Class, Tool, ToolFault, ToolOutput};

/// How other programs call a path.
pub(crate) const PATH_ALIASES: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("filepath", "path"),
    ("filename", "path"),
    ("file", "path"),
];

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        read_file(),
        list_files(),
        write_file(),
        edit_file(),
        apply_patch(),
    ]
}

pub(crate) fn path_parameter(what: &str) -> Value {
    json!({"type": "string", "description": format!("{what}, relative to the open folder")})
}

fn read_file() -> Tool {
    Tool {
        name: "read_file".into(),
        aliases: Vec::new(),
        parameter_aliases: PATH_ALIASES,
        description: "Reads a text file and numbers its lines. Read a file before you edit it."
            .into(),
        class: Class::Read,
        input: object_schema(
            &["path"],
            &json!({
                "path": path_parameter("the file"),
                "offset": {"type": "integer", "minimum": 1, "description": "the first line, from 1"},
                "limit": {"type": "integer", "minimum": 1, "description": "how many lines; 2000 at most"},
            }),
        ),
        output: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "lines": {"type": "array", "items": {"type": "integer"}, "description": "first and last line of text"},
                "total_lines": {"type": "integer"},
                "bytes": {"type": "integer"},
                "encoding": {"type": "string"},
                "line_end": {"type": "string"},
                "text": {"type": "string"},
                "hash": {"type": "string"},
                "truncated": {"type": "boolean"},
                "cut_lines": {"type": "integer"},
                "unsaved": {"type": "boolean"},
            },
            "required": ["path", "lines", "total_lines", "encoding", "line_end", "text", "hash"],
        }),
        executor: Arc::new(ReadFileTool),
    }
}

struct ReadFileTool;

impl Executor for ReadFileTool {
    fn run(
        &self,
        arguments: &Value,
        _: &Plan,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolFault> {
        let request: ReadRequest = decode(arguments)?;
        let read = context
            .workbench
            .workspace
            .read_file(&request, &context.seat.ledger);
        let read = read.map_err(|error| folder_hint(error, &request.path, context))?;
        Ok(ToolOutput {
            text: read_text(&read),
            truncated: read.truncated,
            data: encode(&read)?,
        })
    }
}

/// Tells that the path is of a folder, where it is.
fn folder_hint(error: WorkspaceError, path: &str, context: &CallContext) -> ToolFault {
    let is_folder = || context.workbench.workspace.list_files(path).is_ok();
    if matches!(error, WorkspaceError::InvalidInput { .. }) && is_folder() {
        return ToolFault::invalid_input(format!(
            "a folder; list_files shows what is in it: {path}"
        ));
    }
    error.into()
}

fn read_text(read: &ReadFile) -> String {
    let mut text = plain(&read.numbered());
    if read.truncated {
        let next = read.lines[1] + 1;
        text.push_str(&format!(
            "[truncated; read_file path={} offset={next} reads on]\n",
            json!(read.path)
        ));
    }
    text
}

fn list_files() -> Tool {
    Tool {
        name: "list_files".into(),
        aliases: vec!["list_dir".into(), "list_directory".into()],
        parameter_aliases: &[("dir", "path"), ("directory", "path"), ("folder", "path")],
        description: "Lists a folder: folders first, then files with their sizes.".into(),
        class: Class::Read,
        input: object_schema(
            &[],
            &json!({"path": path_parameter("the folder; the open folder itself unless given")}),
        ),
        output: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "entries": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "kind": {"type": "string", "enum": ["folder", "file", "link", "other"]},
                            "size": {"type": "integer"},
                        },
                        "required": ["name", "kind", "size"],
                    },
                },
                "total": {"type": "integer"},
                "truncated": {"type": "boolean"},
                "hidden_secrets": {"type": "integer"},
            },
            "required": ["path", "entries", "total", "truncated", "hidden_secrets"],
        }),
        executor: Arc::new(ListFiles),
    }
}

struct ListFiles;

impl Executor for ListFiles {
    fn run(
        &self,
        arguments: &Value,
        _: &Plan,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolFault> {
        let path = arguments["path"].as_str().unwrap_or(".");
        let listing = context.workbench.workspace.list_files(path)?;
        Ok(ToolOutput {
            text: listing_text(&listing),
            truncated: listing.truncated,
            data: encode(&listing)?,
        })
    }
}

fn listing_text(listing: &Listing) -> String {
    let mut text = String::new();
    for entry in &listing.entries {
        let name = plain(&entry.name);
        let line = match entry.kind {
            EntryKind::Folder => format!("[DIR] {name}/\n"),
            EntryKind::File => format!("[FILE] {name} ({} bytes)\n", entry.size),
            EntryKind::Link => format!("[LINK] {name}\n"),
            EntryKind::Other => format!("[OTHER] {name}\n"),
        };
        text.push_str(&line);
    }
    if listing.entries.is_empty() {
        text.push_str("(empty)\n");
    }
    if listing.hidden_secrets > 0 {
        let count = listing.hidden_secrets;
        text.push_str(&format!("({count} hidden by the secret policy)\n"));
    }
    if listing.truncated {
        text.push_str(&format!(
            "[truncated: {} of {} entries; search_files finds the rest by name]\n",
            listing.entries.len(),
            listing.total
        ));
    }
    text
}

/// The schema of what a write gives.
fn written_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "created": {"type": "boolean"},
            "replacements": {"type": "integer"},
            "hash": {"type": "string"},
            "diff": {"type": "string"},
            "around": {"type": "string"},
            "saved": {"type": "boolean"},
            "fallback": {"type": "string"},
        },
        "required": ["path", "created", "hash", "diff"],
    })
}

fn written_output(written: &Written, told: &str) -> Result<ToolOutput, ToolFault> {
    let mut text = format!("{told}: {}\n{}", written.path, plain(&written.around));
    if !written.saved {
        text.push_str(
            "(the file is open with unsaved changes: this is in the editor, not on the disk)\n",
        );
    }
    if let Some(fallback) = written.fallback {
        text.push_str(&format!("(found by likeness, {fallback}: check it)\n"));
    }
    Ok(ToolOutput {
        text,
        truncated: false,
        data: encode(written)?,
    })
}

/// A plan that keeps what is at the paths in these arguments.
pub(crate) fn keeping(arguments: &Value, names: &[&str]) -> Plan {
    let paths = names.iter().filter_map(|name| arguments[name].as_str());
    Plan {
        keeps: Keeps::Paths(paths.map(str::to_owned).collect()),
        ..Plan::default()
    }
}

fn write_file() -> Tool {
    Tool {
        name: "write_file".into(),
        aliases: vec!["create_file".into()],
        parameter_aliases: &[
            ("file_path", "path"),
            ("filename", "path"),
            ("contents", "content"),
            ("text", "content"),
        ],
        description: "Writes a whole text file, and the folders above it. A file that exists must have been read before; \
                      for small changes use edit_file."
            .into(),
        class: Class::Write,
        input: object_schema(
            &["path", "content"],
            &json!({
                "path": path_parameter("the file"),
                "content": {"type": "string", "description": "all of its text"},
            }),
        ),
        output: written_schema(),
        executor: Arc::new(WriteFile),
    }
}

struct WriteFile;

impl Executor for WriteFile {
    fn plan(&self, arguments: &Value, _: &CallContext) -> Result<Plan, ToolFault> {
        Ok(keeping(arguments, &["path"]))
    }

    fn run(
        &self,
        arguments: &Value,
        _: &Plan,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolFault> {
        let request: WriteRequest = decode(arguments)?;
        let bench = &context.workbench;
        let written = bench.workspace.write_file(&request, &context.seat.ledger);
        bench.edits.count(Dialect::Whole, &written, false);
        let written = written?;
        let told = if written.created { "Created" } else { "Wrote" };
        written_output(&written, told)
    }
}

fn edit_file() -> Tool {
    Tool {
        name: "edit_file".into(),
        aliases: vec!["str_replace".into()],
        parameter_aliases: &[
            ("file_path", "path"),
            ("old_text", "old_string"),
            ("old_str", "old_string"),
            ("new_text", "new_string"),
            ("new_str", "new_string"),
        ],
        description: "Replaces a text in a file by another, literally. The old text must be in the file exactly, with its \
                      indentation, and once, unless all of them are to be replaced."
            .into(),
        class: Class::Write,
        input: object_schema(
            &["path", "old_string", "new_string"],
            &json!({
                "path": path_parameter("the file"),
                "old_string": {"type": "string", "description": "the text as it is, without line numbers"},
                "new_string": {"type": "string", "description": "what takes its place"},
                "replace_all": {"type": "boolean", "description": "replace it wherever it occurs"},
            }),
        ),
        output: written_schema(),
        executor: Arc::new(EditFile),
    }
}

struct EditFile;

impl Executor for EditFile {
    fn plan(&self, arguments: &Value, _: &CallContext) -> Result<Plan, ToolFault> {
        Ok(keeping(arguments, &["path"]))
    }

    fn run(
        &self,
        arguments: &Value,
        _: &Plan,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolFault> {
        let request: EditRequest = decode(arguments)?;
        let bench = &context.workbench;
        let written = bench.workspace.edit_file(&request, &context.seat.ledger);
        let by_likeness = written
            .as_ref()
            .is_ok_and(|written| written.fallback.is_some());
        bench.edits.count(Dialect::Replace, &written, by_likeness);
        let written = written?;
        let told = match written.replacements {
            Some(count) if count > 1 => format!("Replaced {count} places"),
            _ => "Replaced 1 place".to_owned(),
        };
        written_output(&written, &told)
    }
}

fn apply_patch() -> Tool {
    Tool {
        name: "apply_patch".into(),
        aliases: Vec::new(),
        parameter_aliases: &[("input", "patch"), ("diff", "patch")],
        description: "Changes several files at once, all or none. The patch begins with `*** Begin Patch`, ends with \
                      `*** End Patch`, and has a section for each file: `*** Add File: PATH` with lines that begin with \
                      `+`; `*** Delete File: PATH`; `*** Update File: PATH`, perhaps `*** Move to: PATH`, with hunks \
                      after `@@` whose lines begin with a blank, `-` or `+`."
            .into(),
        class: Class::Write,
        input: object_schema(
            &["patch"],
            &json!({"patch": {"type": "string", "description": "the patch"}}),
        ),
        output: json!({
            "type": "object",
            "properties": {
                "written": {"type": "array", "items": written_schema()},
                "deleted": {"type": "array", "items": {"type": "string"}},
                "moved": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
            },
            "required": ["written", "deleted", "moved"],
        }),
        executor: Arc::new(ApplyPatch),
    }
}

struct ApplyPatch;

impl Executor for ApplyPatch {
    fn plan(&self, arguments: &Value, _: &CallContext) -> Result<Plan, ToolFault> {
        let patch = parse_envelope(arguments["patch"].as_str().unwrap_or_default())?;
        let mut paths = Vec::new();
        for file in patch.files {
            match file {
                FilePatch::Add { path, .. }
                | FilePatch::Delete { path }
                | FilePatch::Replace { path, .. }
                | FilePatch::Anchored { path, .. }
                | FilePatch::Whole { path, .. } => paths.push(path),
                FilePatch::Update { path, move_to, .. } => {
                    paths.push(path);
                    paths.extend(move_to);
                }
            }
        }
        Ok(Plan {
            keeps: Keeps::Paths(paths),
            ..Plan::default()
        })
    }

    fn run(
        &self,
        arguments: &Value,
        _: &Plan,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolFault> {
        let patch = parse_envelope(arguments["patch"].as_str().unwrap_or_default())?;
        let bench = &context.workbench;
        let ledger = &context.seat.ledger;
        let patched = bench.workspace.apply_patch(&patch, ledger, &bench.history);
        let by_likeness = patched
            .as_ref()
            .is_ok_and(|patched| patched.written.iter().any(|file| file.fallback.is_some()));
        bench.edits.count(Dialect::Envelope, &patched, by_likeness);
        let patched = patched?;
        Ok(ToolOutput {
            text: patched_text(&patched),
            truncated: false,
            data: encode(&patched)?,
        })
    }
}

fn patched_text(patched: &Patched) -> String {
    let mut text = String::new();
    for written in &patched.written {
        let told = if written.created { "Added" } else { "Updated" };
        text.push_str(&format!(
            "{told}: {}\n{}",
            written.path,
            plain(&written.around)
        ));
    }
    for (from, to) in &patched.moved {
        text.push_str(&format!("Moved: {from} to {to}\n"));
    }
    for path in &patched.deleted {
        text.push_str(&format!("Deleted: {path}\n"));
    }
    text
}

/// A result as data.
pub(crate) fn encode(data: &impl Serialize) -> Result<Value, ToolFault> {
    serde_json::to_value(data).map_err(|error| std::io::Error::other(error).into())
}
