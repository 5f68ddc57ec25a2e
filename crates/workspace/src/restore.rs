//! Restoring a checkpoint: what would change is known before anything does, and the restore can be taken back.
//!
//! Only paths that tools and commands touched since the checkpoint are concerned; nothing is ever cleaned up. A path
//! that the person has changed since is left as it is, unless it is asked for by name.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::checkpoints::{CheckpointKind, CheckpointSummary};
use crate::file_state::FileState;
use crate::history::History;
use crate::line_edits::{line_edits, unified};
use crate::transaction::Change;
use crate::workspace::Workspace;
use crate::{RelPath, TextFile, WorkspaceError};

/// Texts up to this size are compared line by line in a preview.
const COMPARED: u64 = 1024 * 1024;

/// What would happen to a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedRestore {
    /// The path.
    pub path: RelPath,
    /// What is there now.
    pub now: FileState,
    /// What will be.
    pub then: FileState,
    /// Whether it is not as the last tool or command left it: the person changed it, and it is left alone.
    pub changed_since: bool,
}

/// What a restore would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RestorePlan {
    /// The checkpoint.
    pub to: String,
    /// The paths that are not as they were then.
    pub files: Vec<PlannedRestore>,
    /// Paths whose content was not kept.
    pub not_kept: Vec<RelPath>,
}

/// What a restore did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The checkpoint that takes the restore back.
    pub undo: String,
    /// The paths that were put back.
    pub restored: Vec<RelPath>,
    /// The paths that were left because the person changed them.
    pub left: Vec<RelPath>,
}

impl History {
    /// What restoring a checkpoint would do.
    ///
    /// # Errors
    /// There is no such checkpoint, or a path can't be looked at.
    pub fn preview(&self, workspace: &Workspace, id: &str) -> Result<RestorePlan, WorkspaceError> {
        let all = self.checkpoints()?;
        let Some(from) = all.iter().position(|summary| summary.head.id == id) else {
            let nearest = all
                .iter()
                .rev()
                .take(3)
                .map(|summary| summary.head.id.clone())
                .collect();
            return Err(WorkspaceError::NotFound {
                path: id.into(),
                nearest,
            });
        };
        let mut plan = RestorePlan {
            to: id.into(),
            files: Vec::new(),
            not_kept: Vec::new(),
        };
        for (path, (then, left)) in states_since(&all[from..]) {
            let now = workspace.look_at_state(&path)?;
            if now == then {
                continue;
            }
            if matches!(then, FileState::NotKept { .. }) {
                plan.not_kept.push(path);
                continue;
            }
            let dirty = workspace
                .buffers()
                .buffer(&path)
                .is_some_and(|buffer| buffer.dirty);
            let changed_since = dirty || !left.contains(&now);
            plan.files.push(PlannedRestore {
                path,
                now,
                then,
                changed_since,
            });
        }
        Ok(plan)
    }

    /// A unified diff of what a restore would do to a path; none if it isn't text.
    ///
    /// # Errors
    /// What was kept can't be read.
    pub fn preview_diff(
        &self,
        workspace: &Workspace,
        planned: &PlannedRestore,
    ) -> Result<Option<String>, WorkspaceError> {
        let text_of = |state: &FileState| -> Result<Option<String>, WorkspaceError> {
            match state {
                FileState::Absent => Ok(Some(String::new())),
                FileState::File { hash, size, .. } if *size <= COMPARED => {
                    let bytes = self.store.get(hash)?;
                    let text = TextFile::read(bytes, planned.path.as_str());
                    Ok(text.ok().map(|text| text.view().to_owned()))
                }
                _ => Ok(None),
            }
        };
        self.keep(workspace, &planned.path)?;
        let (Some(now), Some(then)) = (text_of(&planned.now)?, text_of(&planned.then)?) else {
            return Ok(None);
        };
        Ok(Some(unified(
            planned.path.as_str(),
            &now,
            &line_edits(&now, &then, 0),
        )))
    }

    /// Puts back what a plan says, whole or not at all. Paths that the person changed are put back only if `also`
    /// names them.
    ///
    /// # Errors
    /// A path changed since the plan was made, or the disk refuses; then nothing is done.
    pub fn restore(
        &self,
        workspace: &Workspace,
        plan: &RestorePlan,
        also: &BTreeSet<RelPath>,
        at_millis: u64,
    ) -> Result<Restored, WorkspaceError> {
        let (wanted, left): (Vec<_>, Vec<_>) = plan
            .files
            .iter()
            .partition(|file| !file.changed_since || also.contains(&file.path));
        let mut changes = Vec::new();
        for file in wanted {
            let before = self.keep(workspace, &file.path)?;
            if before != file.now {
                return Err(WorkspaceError::Stale {
                    why: "it changed while the restore was being looked at".into(),
                    path: file.path.to_string(),
                });
            }
            changes.push(Change {
                path: file.path.clone(),
                before,
                after: file.then.clone(),
            });
        }
        sort_for_restoring(&mut changes);
        let undo = format!("restore-{}", uuid::Uuid::now_v7().simple());
        let mut checkpoint = self.checkpoint_of(&undo, at_millis, CheckpointKind::Restore)?;
        for change in &changes {
            checkpoint.record_before(change.path.clone(), change.before.clone())?;
            checkpoint.record_after(&change.path, change.after.clone())?;
        }
        self.transact(workspace, &changes)?;
        for change in &changes {
            self.note_own_change(workspace, &change.path)?;
        }
        Ok(Restored {
            undo,
            restored: changes.into_iter().map(|change| change.path).collect(),
            left: left.into_iter().map(|file| file.path.clone()).collect(),
        })
    }
}

/// For each path: what was there at the first of the checkpoints, and what tools and commands may have left there.
///
/// A restore is recorded before it is made, so that it can be taken back whatever happens; where it was cut off, what
/// was there before it is there still.
fn states_since(
    checkpoints: &[CheckpointSummary],
) -> BTreeMap<RelPath, (FileState, Vec<FileState>)> {
    let mut states: BTreeMap<RelPath, (FileState, Vec<FileState>)> = BTreeMap::new();
    for checkpoint in checkpoints {
        for file in &checkpoint.files {
            let entry = states.entry(file.path.clone());
            let (_, left) = entry.or_insert_with(|| (file.before.clone(), Vec::new()));
            if checkpoint.head.kind == CheckpointKind::Message && file.after.is_some() {
                left.clear();
            }
            left.extend(file.after.clone());
        }
    }
    states
}

/// What goes goes from the inside out, what comes comes from the outside in.
fn sort_for_restoring(changes: &mut [Change]) {
    changes.sort_by(|one, other| {
        let goes = |change: &Change| change.after == FileState::Absent;
        match (goes(one), goes(other)) {
            (true, true) => other.path.cmp(&one.path),
            (false, false) => one.path.cmp(&other.path),
            (one, other) => other.cmp(&one),
        }
    });
}
