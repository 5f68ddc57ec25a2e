//! Several changes that happen whole or not at all, also if the process is killed in the middle.
//!
//! Before the first change a record says what every path held and is to hold; when all are made it is removed. A
//! record that is still there at the next start belongs to a change that was cut off, and is undone.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::file_state::FileState;
use crate::history::History;
use crate::object_store::write_record;
use crate::root::Found;
use crate::workspace::Workspace;
use crate::{RelPath, WorkspaceError};

/// One path of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) path: RelPath,
    pub(crate) before: FileState,
    pub(crate) after: FileState,
}

impl Change {
    /// What takes this change back.
    pub(crate) fn reversed(&self) -> Self {
        Self {
            path: self.path.clone(),
            before: self.after.clone(),
            after: self.before.clone(),
        }
    }
}

/// The changes, with those that make the folders they need.
fn with_folders(workspace: &Workspace, changes: &[Change]) -> Result<Vec<Change>, WorkspaceError> {
    let mut all: Vec<Change> = Vec::new();
    for change in changes {
        let makes = change.before == FileState::Absent && change.after != FileState::Absent;
        let mut missing = Vec::new();
        let mut above = change.path.parent().filter(|_| makes);
        while let Some(folder) = above.filter(|folder| !folder.is_root()) {
            if all.iter().any(|other| other.path == folder)
                || workspace.look_at_state(&folder)? != FileState::Absent
            {
                break;
            }
            above = folder.parent();
            missing.push(Change {
                path: folder,
                before: FileState::Absent,
                after: FileState::Folder { mode: 0o755 },
            });
        }
        all.extend(missing.into_iter().rev());
        all.push(change.clone());
    }
    Ok(all)
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    changes: Vec<Recorded>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Recorded {
    #[serde(flatten)]
    change: Change,
    /// A file with several names is written in place, and may be torn.
    in_place: bool,
}

/// What became of changes that were cut off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recovery {
    /// How many transactions were undone.
    pub undone: usize,
    /// Paths that hold neither what was before nor what was to come, and are left alone.
    pub conflicts: Vec<RelPath>,
}

impl History {
    /// Makes all changes or none. What the states name must be in the store.
    pub(crate) fn transact(
        &self,
        workspace: &Workspace,
        changes: &[Change],
    ) -> Result<(), WorkspaceError> {
        let changes = &with_folders(workspace, changes)?[..];
        if changes.is_empty() {
            return Ok(());
        }
        for change in changes {
            refuse_if_changed(workspace, change)?;
        }
        self.store.sync()?;
        let record = self.write_down(workspace, changes)?;
        for (done, change) in changes.iter().enumerate() {
            if let Err(error) = self.make(workspace, change) {
                return Err(self.roll_back(workspace, &changes[..=done], &record, error));
            }
        }
        self.forget(&record)
            .map_err(|error| self.roll_back(workspace, changes, &record, error))
    }

    fn make(&self, workspace: &Workspace, change: &Change) -> Result<(), WorkspaceError> {
        // Made already, through another name of the same file.
        if workspace.look_at_state(&change.path)? == change.after {
            return Ok(());
        }
        refuse_if_changed(workspace, change)?;
        workspace.set_state(&change.path, &change.after, &self.store)
    }

    fn write_down(
        &self,
        workspace: &Workspace,
        changes: &[Change],
    ) -> Result<PathBuf, WorkspaceError> {
        let recorded = changes.iter().map(|change| {
            let place = workspace.real_place(&change.path).ok().flatten();
            let in_place = place
                .is_some_and(|place| matches!(place.found, Found::File(stat) if stat.st_nlink > 1));
            Recorded {
                change: change.clone(),
                in_place,
            }
        });
        let record = Record {
            changes: recorded.collect(),
        };
        let path = self
            .transactions()
            .join(format!("{}.json", uuid::Uuid::now_v7()));
        let shown = path.display().to_string();
        let bytes = serde_json::to_vec(&record)
            .map_err(|error| WorkspaceError::io("write", shown.clone())(error.into()))?;
        write_record(&self.disk, &path, &bytes).map_err(WorkspaceError::io("write", shown))?;
        Ok(path)
    }

    fn forget(&self, record: &Path) -> Result<(), WorkspaceError> {
        let shown = record.display().to_string();
        self.disk
            .before("remove record")
            .map_err(WorkspaceError::io("remove", shown.clone()))?;
        fs::remove_file(record).map_err(WorkspaceError::io("remove", shown))
    }

    /// Undoes what was made; the record stays if that fails too, so that the next start tries again.
    fn roll_back(
        &self,
        workspace: &Workspace,
        made: &[Change],
        record: &Path,
        cause: WorkspaceError,
    ) -> WorkspaceError {
        for change in made.iter().rev() {
            let now = workspace.look_at_state(&change.path);
            if now.is_ok_and(|now| now != change.after) {
                continue;
            }
            if let Err(error) = workspace.set_state(&change.path, &change.before, &self.store) {
                log::error!("cannot undo a change, it is tried again at the next start: {error}");
                return cause;
            }
        }
        if let Err(error) = self.forget(record) {
            log::error!("{error}");
        }
        cause
    }

    /// Undoes what was cut off when the process ended. To be called before anything else at a start.
    ///
    /// # Errors
    /// The records can't be read, or a path can't be put back; then the record stays.
    pub fn recover(&self, workspace: &Workspace) -> Result<Recovery, WorkspaceError> {
        let folder = self.transactions();
        let shown = folder.display().to_string();
        let mut recovery = Recovery::default();
        let entries = fs::read_dir(&folder).map_err(WorkspaceError::io("list", shown))?;
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let shown = path.display().to_string();
            let bytes = fs::read(&path).map_err(WorkspaceError::io("read", shown.clone()))?;
            let record: Record = serde_json::from_slice(&bytes)
                .map_err(|error| WorkspaceError::io("read", shown)(error.into()))?;
            for Recorded { change, .. } in &record.changes {
                workspace.sweep_beside(&change.path);
            }
            for Recorded { change, in_place } in record.changes.iter().rev() {
                let now = workspace.look_at_state(&change.path)?;
                if now == change.before {
                    continue;
                }
                // Making a file takes more than one step where its mode changes too.
                if now == change.after || *in_place || same_content(&now, &change.after) {
                    workspace.set_state(&change.path, &change.before, &self.store)?;
                } else {
                    recovery.conflicts.push(change.path.clone());
                }
            }
            self.forget(&path)?;
            recovery.undone += 1;
        }
        Ok(recovery)
    }
}

fn same_content(one: &FileState, other: &FileState) -> bool {
    match (one, other) {
        (FileState::File { hash: one, .. }, FileState::File { hash: other, .. }) => one == other,
        (FileState::Folder { .. }, FileState::Folder { .. }) => true,
        _ => false,
    }
}

fn refuse_if_changed(workspace: &Workspace, change: &Change) -> Result<(), WorkspaceError> {
    if workspace.look_at_state(&change.path)? == change.before {
        return Ok(());
    }
    Err(WorkspaceError::Stale {
        why: "the file changed at the same moment".into(),
        path: change.path.to_string(),
    })
}
