//! A change of several files that applies whole or not at all.

use std::collections::BTreeMap;

use crate::anchors::{AnchorEdit, anchor_edits};
use crate::blocks::block_edits;
use crate::edit::refuse_stale;
use crate::envelope::{Hunk, hunk_edits};
use crate::file_state::FileState;
use crate::history::History;
use crate::ledger::ReadLedger;
use crate::line_edits::{apply_to_view, line_edits, narrowed, unified};
use crate::overlay::Buffer;
use crate::root::{Follow, Found};
use crate::transaction::Change;
use crate::workspace::{Access, Located, Workspace};
use crate::write::{Written, around};
use crate::{ContentHash, RelPath, TextFile, ViewEdit, WorkspaceError};

/// Files and what becomes of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// In the order they were given; no file twice.
    pub files: Vec<FilePatch>,
}

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePatch {
    /// It comes.
    Add {
        /// Its path, which must be free.
        path: String,
        /// All of its text.
        content: String,
    },
    /// It goes. Its content stays in the history.
    Delete {
        /// Its path.
        path: String,
    },
    /// It changes by hunks, and may get another path.
    Update {
        /// Its path.
        path: String,
        /// The path it gets.
        move_to: Option<String>,
        /// The hunks.
        hunks: Vec<Hunk>,
    },
    /// It changes by texts that take the place of others.
    Replace {
        /// Its path.
        path: String,
        /// Old and new lines.
        blocks: Vec<(String, String)>,
    },
    /// It changes by anchored lines.
    Anchored {
        /// Its path.
        path: String,
        /// The edits.
        edits: Vec<AnchorEdit>,
    },
    /// It is written whole; it must have been read.
    Whole {
        /// Its path.
        path: String,
        /// All of its text.
        content: String,
    },
}

/// What was done to the files of a patch.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Patched {
    /// The files that were made or changed, under their new paths.
    pub written: Vec<Written>,
    /// The files that went.
    pub deleted: Vec<String>,
    /// Old and new path of the files that moved.
    pub moved: Vec<(String, String)>,
}

/// All that a patch will do, known before anything is done.
#[derive(Default)]
struct Plan {
    changes: Vec<Change>,
    in_buffers: Vec<InBuffer>,
    patched: Patched,
    /// What the reader has seen when it is done.
    seen: Vec<(RelPath, Option<(ContentHash, String)>)>,
}

struct InBuffer {
    path: RelPath,
    buffer: Buffer,
    edits: Vec<ViewEdit>,
    saved: bool,
}

impl Workspace {
    /// Applies a patch: everything is checked first, then all files change or none, also if the process dies.
    ///
    /// # Errors
    /// Any file's part is refused for the reasons a single edit is; two parts concern the same file; the disk refuses.
    pub fn apply_patch(
        &self,
        patch: &Patch,
        ledger: &ReadLedger,
        history: &History,
    ) -> Result<Patched, WorkspaceError> {
        let mut plan = Plan::default();
        let mut concerned: BTreeMap<RelPath, ()> = BTreeMap::new();
        for file in &patch.files {
            for path in self.plan_file(file, &mut plan, ledger, history)? {
                if concerned.insert(path.clone(), ()).is_some() {
                    let why = "two parts of the patch concern the same file";
                    return Err(WorkspaceError::input(why, path.to_string()));
                }
            }
        }
        history.transact(self, &plan.changes)?;
        for (done, edit) in plan.in_buffers.iter().enumerate() {
            if self
                .buffers()
                .apply(&edit.path, edit.buffer.revision, &edit.edits, edit.saved)
                || edit.saved
            {
                continue;
            }
            if done > 0 {
                log::warn!(
                    "{done} open files were changed before one refused: {}",
                    edit.path
                );
            }
            let back: Vec<Change> = plan.changes.iter().rev().map(Change::reversed).collect();
            history.transact(self, &back)?;
            return Err(WorkspaceError::Stale {
                why: "the user changed the open file at the same moment".into(),
                path: edit.path.to_string(),
            });
        }
        for (path, version) in plan.seen {
            match version {
                Some((hash, view)) => ledger.note(&path, hash, Some(&view)),
                None => ledger.forget(&path),
            }
        }
        Ok(plan.patched)
    }

    /// Plans one file, and returns the real paths it concerns.
    fn plan_file(
        &self,
        file: &FilePatch,
        plan: &mut Plan,
        ledger: &ReadLedger,
        history: &History,
    ) -> Result<Vec<RelPath>, WorkspaceError> {
        match file {
            FilePatch::Add { path, content } => self.plan_new(path, content, plan, history),
            FilePatch::Delete { path } => self.plan_deletion(path, plan, ledger, history),
            FilePatch::Update {
                path,
                move_to,
                hunks,
            } => {
                let with = |view: &str| hunk_edits(view, hunks, path);
                self.plan_edits(path, move_to.as_deref(), with, plan, ledger, history)
            }
            FilePatch::Replace { path, blocks } => {
                let with = |view: &str| Ok((block_edits(view, blocks, path)?, None));
                self.plan_edits(path, None, with, plan, ledger, history)
            }
            FilePatch::Anchored { path, edits } => {
                let with = |view: &str| Ok((anchor_edits(view, edits, path)?, None));
                self.plan_edits(path, None, with, plan, ledger, history)
            }
            FilePatch::Whole { path, content } => {
                let located = self.locate(path, Access::Write, Follow::Whole)?;
                if matches!(located.place.found, Found::Missing) {
                    return self.plan_new(path, content, plan, history);
                }
                let content = content.replace("\r\n", "\n");
                let with = |view: &str| Ok((line_edits(view, &content, 0), None));
                self.plan_edits(path, None, with, plan, ledger, history)
            }
        }
    }

    fn plan_new(
        &self,
        path: &str,
        content: &str,
        plan: &mut Plan,
        history: &History,
    ) -> Result<Vec<RelPath>, WorkspaceError> {
        let located = self.locate(path, Access::Write, Follow::Whole)?;
        let shown = located.path.to_string();
        if !matches!(located.place.found, Found::Missing) {
            return Err(WorkspaceError::input(
                "the file to add is there already",
                shown,
            ));
        }
        let hash = history.store.put(content.as_bytes())?;
        plan.changes.push(Change {
            path: located.real.clone(),
            before: FileState::Absent,
            after: FileState::File {
                hash,
                mode: 0o644,
                size: content.len() as u64,
            },
        });
        let view = TextFile::of_buffer(content);
        plan.patched.written.push(Written {
            diff: unified(&shown, "", &line_edits("", view.view(), 0)),
            path: shown,
            created: true,
            replacements: None,
            hash,
            around: String::new(),
            saved: true,
            fallback: None,
        });
        plan.seen
            .push((located.real.clone(), Some((hash, view.view().to_owned()))));
        Ok(vec![located.real])
    }

    fn plan_deletion(
        &self,
        path: &str,
        plan: &mut Plan,
        ledger: &ReadLedger,
        history: &History,
    ) -> Result<Vec<RelPath>, WorkspaceError> {
        let located = self.locate_existing(path, Access::Write, Follow::ButLast)?;
        let shown = located.path.to_string();
        let stale = |why: &str| WorkspaceError::Stale {
            why: why.into(),
            path: shown.clone(),
        };
        if self
            .buffers()
            .buffer(&located.real)
            .is_some_and(|buffer| buffer.dirty)
        {
            return Err(stale("it is open with unsaved changes of the user's"));
        }
        let before = history.keep(self, &located.real)?;
        match &before {
            FileState::File { hash, .. } => {
                let seen = ledger.seen(&located.real);
                if seen.is_none_or(|version| version.hash != *hash) {
                    return Err(stale("it is not the version that was read"));
                }
            }
            FileState::Link { .. } => {}
            _ => return Err(WorkspaceError::input("not a file", shown)),
        }
        plan.changes.push(Change {
            path: located.real.clone(),
            before,
            after: FileState::Absent,
        });
        plan.patched.deleted.push(shown);
        plan.seen.push((located.real.clone(), None));
        Ok(vec![located.real])
    }

    fn plan_edits(
        &self,
        path: &str,
        move_to: Option<&str>,
        with: impl FnOnce(&str) -> Result<(Vec<ViewEdit>, Option<&'static str>), WorkspaceError>,
        plan: &mut Plan,
        ledger: &ReadLedger,
        history: &History,
    ) -> Result<Vec<RelPath>, WorkspaceError> {
        let located = self.locate_existing(path, Access::Write, Follow::Whole)?;
        let shown = located.path.to_string();
        let opened = self.open_text(&located)?;
        let view = opened.text.view();
        let (edits, fallback) = with(view)?;
        refuse_stale(&located, &opened, opened.text.hash(), &edits, ledger)?;
        let count = edits.len();
        let edits: Vec<ViewEdit> = edits.iter().flat_map(|edit| narrowed(view, edit)).collect();
        let bytes = opened.text.edited(&edits, &shown)?;
        if bytes == opened.text.raw() && move_to.is_none() {
            return Err(WorkspaceError::input("the edit changes nothing", shown));
        }
        let dirty = opened.buffer.as_ref().is_some_and(|buffer| buffer.dirty);
        let target = match move_to {
            Some(to) => self.free_target(to, dirty)?,
            None => located.real.clone(),
        };
        let hash = if dirty {
            ContentHash::of(&bytes)
        } else {
            history.store.put(&bytes)?
        };
        if !dirty {
            plan.file_change(
                &located,
                &target,
                hash,
                bytes.len() as u64,
                history.keep(self, &located.real)?,
            )?;
        }
        let after = apply_to_view(view, &edits);
        let target_shown = move_to.map_or(shown.clone(), |_| target.to_string());
        plan.patched.written.push(Written {
            diff: unified(&target_shown, view, &edits),
            around: around(view, &edits),
            path: target_shown.clone(),
            created: false,
            replacements: Some(count),
            hash,
            saved: !dirty,
            fallback,
        });
        let mut concerned = vec![located.real.clone()];
        if move_to.is_some() {
            plan.patched.moved.push((shown, target_shown));
            plan.seen.push((located.real.clone(), None));
            concerned.push(target.clone());
        }
        plan.seen.push((target, Some((hash, after))));
        if let Some(buffer) = opened.buffer {
            plan.in_buffers.push(InBuffer {
                path: located.real,
                buffer,
                edits,
                saved: !dirty,
            });
        }
        Ok(concerned)
    }

    fn free_target(&self, to: &str, dirty: bool) -> Result<RelPath, WorkspaceError> {
        let target = self.locate(to, Access::Write, Follow::ButLast)?;
        if !matches!(target.place.found, Found::Missing) {
            let why = "something has the new name already";
            return Err(WorkspaceError::input(why, to));
        }
        if dirty {
            return Err(WorkspaceError::Stale {
                why: "a file that is open with unsaved changes can't move".into(),
                path: to.into(),
            });
        }
        Ok(target.real)
    }
}

impl Plan {
    /// Records that a file gets other bytes, and maybe another path.
    fn file_change(
        &mut self,
        located: &Located<'_>,
        target: &RelPath,
        hash: ContentHash,
        size: u64,
        before: FileState,
    ) -> Result<(), WorkspaceError> {
        let FileState::File { mode, .. } = before else {
            return Err(WorkspaceError::input(
                "not a file that can be kept",
                located.path.to_string(),
            ));
        };
        if mode & 0o222 == 0 {
            return Err(WorkspaceError::Protected {
                why: "the file is read-only".into(),
                path: located.path.to_string(),
            });
        }
        let after = FileState::File { hash, mode, size };
        if *target == located.real {
            self.changes.push(Change {
                path: target.clone(),
                before,
                after,
            });
            return Ok(());
        }
        self.changes.push(Change {
            path: target.clone(),
            before: FileState::Absent,
            after,
        });
        self.changes.push(Change {
            path: located.real.clone(),
            before,
            after: FileState::Absent,
        });
        Ok(())
    }
}
