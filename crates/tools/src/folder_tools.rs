//! The tools that make, move and delete files and folders.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use workspace::RenameRequest;

use crate::arguments::{decode, object_schema};
use crate::file_tools::{PATH_ALIASES, encode, keeping, path_parameter};
use crate::session::Grant;
use crate::tool::{CallContext, Executor, Need, Plan};
use crate::{Class, Tool, ToolFault, ToolOutput};

pub(crate) fn tools() -> Vec<Tool> {
    vec![create_directory(), rename_file(), delete_file()]
}

fn create_directory() -> Tool {
    Tool {
        name: "create_directory".into(),
        aliases: vec!["make_directory".into(), "create_dir".into(), "mkdir".into()],
        parameter_aliases: &[("dir", "path"), ("directory", "path"), ("folder", "path")],
        description: "Makes a folder, and those above it.".into(),
        class: Class::Write,
        input: object_schema(&["path"], &json!({"path": path_parameter("the folder")})),
        output: json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "created": {"type": "boolean"}},
            "required": ["path", "created"],
        }),
        executor: Arc::new(CreateDirectory),
    }
}

struct CreateDirectory;

impl Executor for CreateDirectory {
    fn plan(&self, arguments: &Value, _: &CallContext) -> Result<Plan, ToolFault> {
        Ok(keeping(arguments, &["path"]))
    }

    fn run(
        &self,
        arguments: &Value,
        _: &Plan,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolFault> {
        let path: OnePath = decode(arguments)?;
        let made = context.workbench.workspace.create_directory(&path.path)?;
        let told = if made.created { "Made" } else { "Was there" };
        said(format!("{told}: {}/\n", made.path), &made)
    }
}

fn rename_file() -> Tool {
    Tool {
        name: "rename_file".into(),
        aliases: vec!["move_file".into()],
        parameter_aliases: &[
            ("old_path", "oldPath"),
            ("new_path", "newPath"),
            ("source", "oldPath"),
            ("destination", "newPath"),
        ],
        description:
            "Moves a file or a folder to a path that is free; the folders above it are made.".into(),
        class: Class::Write,
        input: object_schema(
            &["oldPath", "newPath"],
            &json!({"oldPath": path_parameter("what is there"), "newPath": path_parameter("where it goes")}),
        ),
        output: json!({
            "type": "object",
            "properties": {"from": {"type": "string"}, "to": {"type": "string"}},
            "required": ["from", "to"],
        }),
        executor: Arc::new(RenameFile),
    }
}

struct RenameFile;

impl Executor for RenameFile {
    fn plan(&self, arguments: &Value, _: &CallContext) -> Result<Plan, ToolFault> {
        Ok(keeping(arguments, &["oldPath", "newPath"]))
    }

    fn run(
        &self,
        arguments: &Value,
        _: &Plan,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolFault> {
        let request: RenameRequest = decode(arguments)?;
        let ledger = &context.seat.ledger;
        let renamed = context.workbench.workspace.rename_file(&request, ledger)?;
        said(
            format!("Moved: {} to {}\n", renamed.from, renamed.to),
            &renamed,
        )
    }
}

fn delete_file() -> Tool {
    Tool {
        name: "delete_file".into(),
        aliases: vec!["remove_file".into()],
        parameter_aliases: PATH_ALIASES,
        description: "Moves a file, or a folder with all that is in it, to the trash.".into(),
        class: Class::Write,
        input: object_schema(&["path"], &json!({"path": path_parameter("what goes")})),
        output: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "kind": {"type": "string"},
                "entries": {"type": "integer"},
                "trashed_at": {"type": "string"},
            },
            "required": ["path", "kind", "entries", "trashed_at"],
        }),
        executor: Arc::new(DeleteFile),
    }
}

struct DeleteFile;

impl Executor for DeleteFile {
    fn plan(&self, arguments: &Value, context: &CallContext) -> Result<Plan, ToolFault> {
        let path: OnePath = decode(arguments)?;
        let mut plan = keeping(arguments, &["path"]);
        if context.workbench.workspace.is_filled_folder(&path.path)? {
            plan.need = Some(Need {
                heading: "Move a folder with all that is in it to the trash".into(),
                exact: commands::pieces(path.path.as_bytes()),
                reasons: vec!["the folder is not empty".into()],
                grant: Some(Grant::FolderDeletes),
            });
        }
        Ok(plan)
    }

    fn run(
        &self,
        arguments: &Value,
        _: &Plan,
        context: &CallContext,
    ) -> Result<ToolOutput, ToolFault> {
        let path: OnePath = decode(arguments)?;
        let ledger = &context.seat.ledger;
        let deleted = context
            .workbench
            .workspace
            .delete_file(&path.path, ledger)?;
        let text = format!(
            "Moved to the trash, {} in all: {}\n",
            deleted.entries, deleted.path
        );
        said(text, &deleted)
    }
}

#[derive(Deserialize)]
struct OnePath {
    path: String,
}

fn said(text: String, data: &impl Serialize) -> Result<ToolOutput, ToolFault> {
    Ok(ToolOutput {
        text,
        truncated: false,
        data: encode(data)?,
    })
}
