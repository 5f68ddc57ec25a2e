//! Listing a folder; making, renaming and deleting files and folders.

use rustix::fs::AtFlags;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::ledger::ReadLedger;
use crate::replace_file::{TEMP_SUFFIX, rename_to_free_name, sync_folder};
use crate::root::{Follow, Found};
use crate::workspace::{Access, Workspace};
use crate::{RelPath, WorkspaceError};

/// As many entries of a folder are returned.
const MOST_ENTRIES: usize = 2_000;

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A device, a pipe or a socket.
    Other,
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
    /// Bytes of a file; 0 for anything else.
    pub size: u64,
}

/// What is in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// The folder.
    pub path: String,
    /// Folders first, then the rest, by name.
    pub entries: Vec<Entry>,
    /// How many there are, those that are cut off included.
    pub total: usize,
    /// Whether entries are cut off.
    pub truncated: bool,
    /// How many are left out because the secret policy covers them.
    pub hidden_secrets: usize,
}

/// A folder was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MadeFolder {
    /// The folder.
    pub path: String,
    /// False if it was there.
    pub created: bool,
}

/// Something got another name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Renamed {
    /// The old path.
    pub from: String,
    /// The new path.
    pub to: String,
}

/// Something is in the trash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deleted {
    /// What was deleted.
    pub path: String,
    /// What it was.
    pub kind: EntryKind,
    /// How many things went with it, itself included.
    pub entries: u64,
    /// Where it lies in the trash.
    pub trashed_at: String,
}

/// The two paths of a rename.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenameRequest {
    /// What is there.
    #[serde(alias = "oldPath")]
    pub old_path: String,
    /// A name that is free; folders above it are made.
    #[serde(alias = "newPath")]
    pub new_path: String,
}

impl Found {
    pub(crate) fn kind(&self) -> EntryKind {
        match self {
            Self::Folder => EntryKind::Folder,
            Self::File(_) => EntryKind::File,
            Self::Link => EntryKind::Link,
            Self::Missing | Self::Other => EntryKind::Other,
        }
    }
}

/// Names that no listing and no search shows.
pub(crate) fn is_never_shown(name: &str) -> bool {
    name == ".git" || name.ends_with(TEMP_SUFFIX)
}

impl Workspace {
    /// Lists a folder.
    ///
    /// # Errors
    /// The path is refused, or is no folder.
    pub fn list_files(&self, path: &str) -> Result<Listing, WorkspaceError> {
        let parsed = RelPath::parse(path)?;
        if self.split(&parsed)?.is_none() {
            return Ok(self.list_roots());
        }
        let located = self.locate_existing(path, Access::Read, Follow::Whole)?;
        let shown = located.path.to_string();
        if !matches!(located.place.found, Found::Folder) {
            return Err(WorkspaceError::input("not a folder", shown));
        }
        let dir = located.place.open_folder(&shown)?;
        let entries =
            rustix::fs::Dir::read_from(&dir).map_err(WorkspaceError::os("list", shown.clone()))?;
        let (mut listed, mut hidden_secrets) = (Vec::new(), 0);
        for entry in entries {
            let entry = entry.map_err(WorkspaceError::os("list", shown.clone()))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "." || name == ".." || is_never_shown(&name) {
                continue;
            }
            if self.secrets().rule_for(&located.real.join(&name)).is_some() {
                hidden_secrets += 1;
                continue;
            }
            let stat = rustix::fs::statat(&dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            let (kind, size) = stat.map_or((EntryKind::Other, 0), entry_kind);
            listed.push(Entry { name, kind, size });
        }
        listed.sort_by(|one, other| {
            let order = |entry: &Entry| entry.kind != EntryKind::Folder;
            order(one)
                .cmp(&order(other))
                .then_with(|| one.name.cmp(&other.name))
        });
        let total = listed.len();
        listed.truncate(MOST_ENTRIES);
        Ok(Listing {
            path: shown,
            truncated: total > listed.len(),
            entries: listed,
            total,
            hidden_secrets,
        })
    }

    fn list_roots(&self) -> Listing {
        let entries: Vec<Entry> = self
            .roots()
            .map(|(name, _)| Entry {
                name: name.to_string(),
                kind: EntryKind::Folder,
                size: 0,
            })
            .collect();
        Listing {
            path: ".".into(),
            total: entries.len(),
            entries,
            truncated: false,
            hidden_secrets: 0,
        }
    }

    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// The path is refused, or something else has the name.
    pub fn create_directory(&self, path: &str) -> Result<MadeFolder, WorkspaceError> {
        let located = self.locate(path, Access::Write, Follow::Whole)?;
        let shown = located.path.to_string();
        match located.place.found {
            Found::Folder => Ok(MadeFolder {
                path: shown,
                created: false,
            }),
            Found::Missing => {
                let place = located.place.make_folders()?;
                place.make_last_folder(&shown)?;
                sync_folder(&self.disk, &place.dir)
                    .map_err(WorkspaceError::io("sync", shown.clone()))?;
                Ok(MadeFolder {
                    path: shown,
                    created: true,
                })
            }
            _ => Err(WorkspaceError::input("something else has this name", shown)),
        }
    }

    /// Gives a file, a link or a folder another path.
    ///
    /// # Errors
    /// A path is refused, there is nothing at the old one or something at the new one, the folder would move into
    /// itself, or it holds what is protected.
    pub fn rename_file(
        &self,
        request: &RenameRequest,
        ledger: &ReadLedger,
    ) -> Result<Renamed, WorkspaceError> {
        let from = self.locate_existing(&request.old_path, Access::Write, Follow::ButLast)?;
        let to = self.locate(&request.new_path, Access::Write, Follow::ButLast)?;
        if from.real.is_root() || from.place.name == "." {
            return Err(WorkspaceError::input(
                "the workspace itself stays",
                request.old_path.clone(),
            ));
        }
        if !matches!(to.place.found, Found::Missing) {
            let why = "something has the new name already";
            return Err(WorkspaceError::input(why, to.path.to_string()));
        }
        if to.real.as_str().starts_with(&format!("{}/", from.real)) {
            let why = "a folder can't move into itself";
            return Err(WorkspaceError::input(why, to.path.to_string()));
        }
        self.refuse_dirty(&from.real)?;
        self.refuse_holding_protected(&from)?;
        let (shown_from, shown_to) = (from.path.to_string(), to.path.to_string());
        let place = to.place.make_folders()?;
        rename_to_free_name(&from.place.dir, &from.place.name, &place.dir, &place.name)
            .map_err(WorkspaceError::os("rename", shown_from.clone()))?;
        for dir in [&from.place.dir, &place.dir] {
            sync_folder(&self.disk, dir).map_err(WorkspaceError::io("sync", shown_to.clone()))?;
        }
        if let Some(version) = ledger.seen(&from.real) {
            ledger.note(&to.real, version.hash, version.text.as_deref());
        }
        ledger.forget(&from.real);
        Ok(Renamed {
            from: shown_from,
            to: shown_to,
        })
    }

    /// Moves a file, a link or a folder with all that is in it to the trash.
    ///
    /// # Errors
    /// The path is refused, there is nothing, it holds what is protected or secret or has unsaved changes, or there
    /// is no trash.
    pub fn delete_file(&self, path: &str, ledger: &ReadLedger) -> Result<Deleted, WorkspaceError> {
        let located = self.locate_existing(path, Access::Write, Follow::ButLast)?;
        let shown = located.path.to_string();
        if located.real.is_root() || located.place.name == "." {
            return Err(WorkspaceError::input("the workspace itself stays", shown));
        }
        self.refuse_dirty(&located.real)?;
        let entries = self.refuse_holding_protected(&located)?;
        let original = located.root.real().join(located.place.real.as_str());
        let trashed = self
            .trash
            .take(&located.place.dir, &located.place.name, &original);
        let trashed = trashed.map_err(WorkspaceError::io("move to the trash", shown.clone()))?;
        sync_folder(&self.disk, &located.place.dir)
            .map_err(WorkspaceError::io("sync", shown.clone()))?;
        ledger.forget(&located.real);
        Ok(Deleted {
            path: shown,
            kind: located.place.found.kind(),
            entries,
            trashed_at: trashed.at.display().to_string(),
        })
    }

    /// Whether deleting this would take more with it than one thing, so that it should be asked about.
    ///
    /// # Errors
    /// The path is refused, or there is nothing.
    pub fn is_filled_folder(&self, path: &str) -> Result<bool, WorkspaceError> {
        let located = self.locate_existing(path, Access::Read, Follow::ButLast)?;
        if !matches!(located.place.found, Found::Folder) {
            return Ok(false);
        }
        let dir = located.place.open_folder(path)?;
        let mut entries =
            rustix::fs::Dir::read_from(&dir).map_err(WorkspaceError::os("list", path))?;
        Ok(entries.any(|entry| {
            entry.is_ok_and(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."))
        }))
    }

    fn refuse_dirty(&self, real: &RelPath) -> Result<(), WorkspaceError> {
        let inside = format!("{real}/");
        for open in self.buffers().open_paths() {
            let concerned = open == *real || open.as_str().starts_with(&inside);
            if concerned
                && self
                    .buffers()
                    .buffer(&open)
                    .is_some_and(|buffer| buffer.dirty)
            {
                return Err(WorkspaceError::Stale {
                    why: "it is open with unsaved changes of the user's".into(),
                    path: open.to_string(),
                });
            }
        }
        Ok(())
    }

    /// Counts what is in a folder, and refuses if any of it may not be touched.
    fn refuse_holding_protected(
        &self,
        located: &crate::workspace::Located<'_>,
    ) -> Result<u64, WorkspaceError> {
        if !matches!(located.place.found, Found::Folder) {
            return Ok(1);
        }
        let mut count = 1;
        let mut todo = vec![(
            located.place.open_folder(located.path.as_str())?,
            located.real.clone(),
        )];
        while let Some((dir, at)) = todo.pop() {
            let shown = at.to_string();
            let entries = rustix::fs::Dir::read_from(&dir)
                .map_err(WorkspaceError::os("list", shown.clone()))?;
            for entry in entries {
                let entry = entry.map_err(WorkspaceError::os("list", shown.clone()))?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if name == "." || name == ".." {
                    continue;
                }
                count += 1;
                let path = at.join(&name);
                if name.eq_ignore_ascii_case(".git") {
                    return Err(WorkspaceError::Protected {
                        why: "it holds a Git repository".into(),
                        path: path.to_string(),
                    });
                }
                if let Some(rule) = self.secrets().rule_for(&path) {
                    return Err(WorkspaceError::Secret {
                        rule: rule.into(),
                        path: path.to_string(),
                    });
                }
                match crate::root::open_folder_at(&dir, entry.file_name()) {
                    Ok(below) => todo.push((below, path)),
                    Err(Errno::NOTDIR | Errno::LOOP) => {}
                    Err(errno) => return Err(WorkspaceError::os("list", path.to_string())(errno)),
                }
            }
        }
        Ok(count)
    }
}

fn entry_kind(stat: rustix::fs::Stat) -> (EntryKind, u64) {
    let found = crate::root::kind_of(stat);
    let size = match found {
        Found::File(stat) => u64::try_from(stat.st_size).unwrap_or(0),
        _ => 0,
    };
    (found.kind(), size)
}
