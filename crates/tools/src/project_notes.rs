//! What a project says to models: `AGENTS.md`, shown to them as a block that the person sees too.

use serde::Serialize;
use workspace::{ReadLedger, ReadRequest, WorkspaceError};

use crate::Workbench;
use crate::text::plain;

/// The file, in the open folder itself.
const FILE: &str = "AGENTS.md";

/// A project's notes for models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProjectNotes {
    /// Where they are written.
    pub path: String,
    /// The text; control characters are spelled out.
    pub text: String,
    /// Whether there is more than was read.
    pub truncated: bool,
}

impl Workbench {
    /// The notes of the open folder; none if it isn't trusted or has none. Blocks.
    ///
    /// # Errors
    /// There are some, and they can't be read.
    pub fn project_notes(&self) -> Result<Option<ProjectNotes>, WorkspaceError> {
        if !self.is_trusted() {
            return Ok(None);
        }
        let request = ReadRequest {
            path: FILE.into(),
            ..ReadRequest::default()
        };
        match self.workspace.read_file(&request, &ReadLedger::default()) {
            Ok(read) => Ok(Some(ProjectNotes {
                truncated: read.truncated || read.cut_lines > 0,
                text: plain(&read.text),
                path: read.path,
            })),
            Err(WorkspaceError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
