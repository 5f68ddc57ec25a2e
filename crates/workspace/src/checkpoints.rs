//! Checkpoints: for each message of the person, what the files were before models touched them.
//!
//! A checkpoint is a file of JSON lines that is only appended to: first who and when, then for each path what was
//! there before and, after each change, what is there now. Contents lie in the object store. A line that was cut off
//! by a crash is dropped before the next is written.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::file_state::FileState;
use crate::history::History;
use crate::root::Follow;
use crate::tree_index::Suspects;
use crate::workspace::{Access, Workspace};
use crate::{ContentHash, RelPath, WorkspaceError};

/// Why a checkpoint was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointKind {
    /// A message of the person was sent.
    Message,
    /// A checkpoint was restored; restoring this one takes that back.
    Restore,
}

/// What a checkpoint is, without its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointHead {
    /// Its name: that of the message.
    pub id: String,
    /// Its place in the order of all checkpoints of the workspace.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at_millis: u64,
    /// Why.
    pub kind: CheckpointKind,
}

/// What happened to a path since a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedFile {
    /// The path.
    pub path: RelPath,
    /// What was there at the checkpoint.
    pub before: FileState,
    /// What was there after the last change by a tool or a command; none if it isn't known.
    pub after: Option<FileState>,
}

/// A checkpoint with its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckpointSummary {
    /// What it is.
    #[serde(flatten)]
    pub head: CheckpointHead,
    /// The paths, in order.
    pub files: Vec<TouchedFile>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
enum Line {
    Head(CheckpointHead),
    Before { path: RelPath, state: FileState },
    After { path: RelPath, state: FileState },
}

/// A checkpoint that is being recorded.
#[derive(Debug)]
pub struct Checkpoint<'a> {
    history: &'a History,
    path: PathBuf,
    head: CheckpointHead,
    files: BTreeMap<RelPath, TouchedFile>,
}

fn is_name(id: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !id.is_empty() && id.len() <= 128 && id.bytes().all(fine)
}

impl History {
    /// Begins the checkpoint of a message, or goes on with it.
    ///
    /// # Errors
    /// The id isn't of letters, digits, `-` and `_`, or the disk refuses.
    pub fn checkpoint(&self, id: &str, at_millis: u64) -> Result<Checkpoint<'_>, WorkspaceError> {
        self.checkpoint_of(id, at_millis, CheckpointKind::Message)
    }

    pub(crate) fn checkpoint_of(
        &self,
        id: &str,
        at_millis: u64,
        kind: CheckpointKind,
    ) -> Result<Checkpoint<'_>, WorkspaceError> {
        if !is_name(id) {
            return Err(WorkspaceError::input("not a name for a checkpoint", id));
        }
        let all = self.checkpoint_files()?;
        if let Some((_, path)) = all
            .iter()
            .find(|(name, _)| name.split_once('-').is_some_and(|(_, of)| of == id))
        {
            let summary = read(path)?;
            return Ok(Checkpoint {
                history: self,
                path: path.clone(),
                head: summary.head,
                files: summary
                    .files
                    .into_iter()
                    .map(|file| (file.path.clone(), file))
                    .collect(),
            });
        }
        let last = all
            .last()
            .and_then(|(name, _)| name.split_once('-')?.0.parse::<u64>().ok());
        let seq = last.unwrap_or(0) + 1;
        let head = CheckpointHead {
            id: id.into(),
            seq,
            at_millis,
            kind,
        };
        let checkpoint = Checkpoint {
            history: self,
            path: self
                .checkpoints_folder()
                .join(format!("{seq:010}-{id}.jsonl")),
            head: head.clone(),
            files: BTreeMap::new(),
        };
        checkpoint.append(&[Line::Head(head)])?;
        Ok(checkpoint)
    }

    /// All checkpoints, the oldest first. One that can't be read is left out and told in the log.
    ///
    /// # Errors
    /// The folder can't be listed.
    pub fn checkpoints(&self) -> Result<Vec<CheckpointSummary>, WorkspaceError> {
        let mut summaries = Vec::new();
        for (_, path) in self.checkpoint_files()? {
            match read(&path) {
                Ok(summary) => summaries.push(summary),
                Err(error) => log::warn!("a checkpoint is left out: {error}"),
            }
        }
        Ok(summaries)
    }

    fn checkpoint_files(&self) -> Result<Vec<(String, PathBuf)>, WorkspaceError> {
        let folder = self.checkpoints_folder();
        let shown = folder.display().to_string();
        let entries = fs::read_dir(&folder).map_err(WorkspaceError::io("list", shown))?;
        let mut files: Vec<(String, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                Some((name.strip_suffix(".jsonl")?.to_owned(), entry.path()))
            })
            .collect();
        files.sort();
        Ok(files)
    }

    /// Forgets all but the last `count` checkpoints, and the contents that only they named.
    ///
    /// # Errors
    /// The disk refuses; what was forgotten by then is.
    pub fn prune(&self, count: usize) -> Result<usize, WorkspaceError> {
        let all = self.checkpoint_files()?;
        let old = all.len().saturating_sub(count);
        for (_, path) in &all[..old] {
            let shown = path.display().to_string();
            fs::remove_file(path).map_err(WorkspaceError::io("remove", shown))?;
        }
        let mut wanted: HashSet<ContentHash> = HashSet::new();
        for summary in self.checkpoints()? {
            let states = summary
                .files
                .into_iter()
                .flat_map(|file| [Some(file.before), file.after]);
            wanted.extend(states.flatten().filter_map(|state| match state {
                FileState::File { hash, .. } => Some(hash),
                _ => None,
            }));
        }
        self.forget_index();
        let shown = self.folder.display().to_string();
        self.store
            .keep_only(&wanted)
            .map_err(WorkspaceError::io("clean up", shown))?;
        Ok(old)
    }
}

impl Checkpoint<'_> {
    /// What it is.
    pub fn head(&self) -> &CheckpointHead {
        &self.head
    }

    /// Keeps what is at a path before a tool changes it. Nothing may be changed unless this succeeded.
    ///
    /// # Errors
    /// The path is refused, or its content can't be kept.
    pub fn before(&mut self, workspace: &Workspace, path: &str) -> Result<(), WorkspaceError> {
        for real in real_paths(workspace, path)? {
            if self.files.contains_key(&real) {
                continue;
            }
            let state = self.history.keep(workspace, &real)?;
            if let FileState::NotKept { why } = &state {
                let why = format!("it can't be kept for taking back, {why}");
                return Err(WorkspaceError::input(why, real.to_string()));
            }
            self.record_before(real, state)?;
        }
        Ok(())
    }

    /// Records what is at a path after a tool changed it.
    ///
    /// # Errors
    /// The path is refused, or its content can't be kept.
    pub fn after(&mut self, workspace: &Workspace, path: &str) -> Result<(), WorkspaceError> {
        let mut changed = real_paths(workspace, path)?;
        // Folders that were made for it, and what went with it.
        let related: Vec<RelPath> = self
            .files
            .keys()
            .filter(|known| {
                changed
                    .iter()
                    .any(|path| path.is_above(known) || known.is_above(path))
            })
            .cloned()
            .collect();
        changed.extend(related);
        for real in changed {
            let state = self.history.keep(workspace, &real)?;
            if self
                .files
                .get(&real)
                .is_some_and(|file| file.after.as_ref() == Some(&state))
            {
                continue;
            }
            self.history.note_own_change(workspace, &real)?;
            self.record_after(&real, state)?;
        }
        Ok(())
    }

    /// Keeps the whole tree before a command runs. What was changed since the last look by others than tools and
    /// commands is not recorded: it is the person's.
    ///
    /// # Errors
    /// The tree can't be looked at, or kept.
    pub fn before_command(
        &self,
        workspace: &Workspace,
        suspects: &Suspects,
    ) -> Result<(), WorkspaceError> {
        self.history.survey(workspace, suspects).map(drop)
    }

    /// Records what a command changed, and returns how many paths that is.
    ///
    /// # Errors
    /// The tree can't be looked at, or kept.
    pub fn after_command(
        &mut self,
        workspace: &Workspace,
        suspects: &Suspects,
    ) -> Result<usize, WorkspaceError> {
        let differences = self.history.survey(workspace, suspects)?;
        let count = differences.len();
        for difference in differences {
            if !self.files.contains_key(&difference.path) {
                self.record_before(difference.path.clone(), difference.before)?;
            }
            self.record_after(&difference.path, difference.after)?;
        }
        Ok(count)
    }

    pub(crate) fn record_before(
        &mut self,
        path: RelPath,
        state: FileState,
    ) -> Result<(), WorkspaceError> {
        self.append(&[Line::Before {
            path: path.clone(),
            state: state.clone(),
        }])?;
        let file = TouchedFile {
            path: path.clone(),
            before: state,
            after: None,
        };
        self.files.insert(path, file);
        Ok(())
    }

    pub(crate) fn record_after(
        &mut self,
        path: &RelPath,
        state: FileState,
    ) -> Result<(), WorkspaceError> {
        self.append(&[Line::After {
            path: path.clone(),
            state: state.clone(),
        }])?;
        if let Some(file) = self.files.get_mut(path) {
            file.after = Some(state);
        }
        Ok(())
    }

    fn append(&self, lines: &[Line]) -> Result<(), WorkspaceError> {
        let append = || -> io::Result<()> {
            self.history.disk.before("append to checkpoint")?;
            let mut options = OpenOptions::new();
            let options = options
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600);
            let mut file = options.open(&self.path)?;
            let end = end_of_whole_lines(&mut file)?;
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
            let mut bytes = Vec::new();
            for line in lines {
                serde_json::to_writer(&mut bytes, line)?;
                bytes.push(b'\n');
            }
            let (first, rest) = bytes.split_at(bytes.len() / 2);
            file.write_all(first)?;
            self.history.disk.before("append the rest to checkpoint")?;
            file.write_all(rest)
        };
        append().map_err(WorkspaceError::io("write", self.path.display().to_string()))
    }
}

/// Where the last whole line ends: what is behind it was cut off by a crash.
fn end_of_whole_lines(file: &mut File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let mut end = length;
    let mut byte = [0];
    while end > 0 {
        file.seek(SeekFrom::Start(end - 1))?;
        io::Read::read_exact(file, &mut byte)?;
        if byte == *b"\n" {
            break;
        }
        end -= 1;
    }
    Ok(end)
}

fn read(path: &Path) -> Result<CheckpointSummary, WorkspaceError> {
    let shown = path.display().to_string();
    let text = fs::read_to_string(path).map_err(WorkspaceError::io("read", shown.clone()))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut head = None;
    let mut files: BTreeMap<RelPath, TouchedFile> = BTreeMap::new();
    for line in whole.lines() {
        let parsed = serde_json::from_str(line)
            .map_err(|error| WorkspaceError::io("read", shown.clone())(error.into()))?;
        match parsed {
            Line::Head(found) => head = Some(found),
            Line::Before { path, state } => {
                let file = TouchedFile {
                    path: path.clone(),
                    before: state,
                    after: None,
                };
                files.entry(path).or_insert(file);
            }
            Line::After { path, state } => {
                if let Some(file) = files.get_mut(&path) {
                    file.after = Some(state);
                }
            }
        }
    }
    let Some(head) = head else {
        let empty = io::Error::new(io::ErrorKind::InvalidData, "it has no beginning");
        return Err(WorkspaceError::io("read", shown)(empty));
    };
    Ok(CheckpointSummary {
        head,
        files: files.into_values().collect(),
    })
}

/// The real path of a thing, those of the folders that are missing above it, and those of all that is in it.
fn real_paths(workspace: &Workspace, path: &str) -> Result<Vec<RelPath>, WorkspaceError> {
    let mut paths = Vec::new();
    for follow in [Follow::Whole, Follow::ButLast] {
        let located = workspace.locate(path, Access::Write, follow)?;
        let missing_above = located.place.below.len();
        let mut above = located.real.clone();
        for _ in 0..missing_above {
            above = above.parent().unwrap_or_default();
            paths.push(above.clone());
        }
        let shown = located.path.to_string();
        if matches!(located.place.found, crate::root::Found::Folder) {
            let folder = located.place.open_folder(&shown)?;
            below(&folder, &located.real, &mut paths)?;
        }
        paths.push(located.real);
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

fn below(
    folder: &std::os::fd::OwnedFd,
    at: &RelPath,
    paths: &mut Vec<RelPath>,
) -> Result<(), WorkspaceError> {
    let shown = at.to_string();
    let entries = rustix::fs::Dir::read_from(folder).map_err(WorkspaceError::os("list", shown))?;
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().to_str() else {
            continue;
        };
        if name == "." || name == ".." || name == ".git" {
            continue;
        }
        let path = at.join(name);
        if let Ok(inner) = crate::root::open_folder_at(folder, entry.file_name()) {
            below(&inner, &path, paths)?;
        }
        paths.push(path);
    }
    Ok(())
}
