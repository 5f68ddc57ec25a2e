//! What the program remembers between runs besides threads and settings: drafts, the last thread, seat
//! overrides, the layout of the window. Losing it costs comfort, never content.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use transcript::{ContextBlock, SeatId, ThreadId};

/// A person's choice for a seat that comes from the live model list. Never written into the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatOverride {
    /// Another model of the same family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Reasoning effort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
}

/// A message that waits for a turn's end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WaitingMessage {
    /// What it says.
    pub text: String,
    /// What it brings along.
    pub context_blocks: Vec<ContextBlock>,
}

/// The content of `store/state.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClientState {
    /// The thread that was open last.
    pub current_thread: Option<ThreadId>,
    /// Unsent text by thread.
    pub drafts: BTreeMap<String, String>,
    /// Attachments of unsent text by thread.
    pub draft_blocks: BTreeMap<String, Vec<ContextBlock>>,
    /// Messages that waited for a turn's end when the program ended, by thread.
    pub queued: BTreeMap<String, Vec<WaitingMessage>>,
    /// The "speaking to" choice by thread.
    pub default_targets: BTreeMap<String, SeatId>,
    /// Overrides by seat.
    pub seat_overrides: BTreeMap<String, SeatOverride>,
    /// Whether the notice about providers' terms was dismissed.
    pub terms_notice_dismissed: bool,
    /// Folders whose project settings count.
    pub trusted_folders: Vec<PathBuf>,
    /// The window's own state, opaque here.
    pub window: serde_json::Value,
    /// Fields of other versions, kept as they are.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl ClientState {
    /// Turns messages that waited when the program ended into drafts, so that none is lost or sent unasked.
    pub fn queued_into_drafts(&mut self) {
        for (thread, waiting) in std::mem::take(&mut self.queued) {
            let draft = WaitingMessage {
                text: self.drafts.remove(&thread).unwrap_or_default(),
                context_blocks: self.draft_blocks.remove(&thread).unwrap_or_default(),
            };
            let (mut texts, mut blocks) = (Vec::new(), Vec::new());
            for message in waiting.into_iter().chain([draft]) {
                texts.extend(Some(message.text).filter(|text| !text.is_empty()));
                blocks.extend(message.context_blocks);
            }
            self.drafts.insert(thread.clone(), texts.join("\n\n"));
            if !blocks.is_empty() {
                self.draft_blocks.insert(thread, blocks);
            }
        }
    }

    /// Where it lies under the data folder.
    pub fn path(home: &Path) -> PathBuf {
        home.join("store").join("state.json")
    }

    /// Reads it; a missing file is the empty state. A broken one is moved aside and named in the error,
    /// together with the empty state to go on with.
    pub fn load(home: &Path) -> (Self, Option<String>) {
        let path = Self::path(home);
        let text = match read_small_file(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return (Self::default(), None);
            }
            Err(error) => {
                let what = format!(
                    "drafts and window layout could not be read: {error} ({})",
                    path.display()
                );
                return (Self::default(), Some(what));
            }
        };
        match serde_json::from_str(&text) {
            Ok(state) => (state, None),
            Err(error) => {
                let aside = path.with_extension("corrupt.json");
                let kept = std::fs::rename(&path, &aside).map_or(path, |()| aside);
                let what = format!(
                    "drafts and window layout were unreadable and start afresh: {error}; the old file is kept ({})",
                    kept.display()
                );
                (Self::default(), Some(what))
            }
        }
    }

    /// Writes it atomically.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn save(&self, home: &Path) -> std::io::Result<()> {
        let bytes = serde_json::to_vec_pretty(self)?;
        write_atomically(&Self::path(home), &bytes)
    }
}

/// Largest file that is read whole without being asked for, in bytes.
const SMALL_FILE_BYTES: u64 = 4 << 20;

/// Reads a text file of the program's own. Pipes, devices and huge files are refused: reading them might never
/// end.
///
/// # Errors
/// When it is no regular file, larger than 4 MiB, not UTF-8, or the disk refuses.
pub(crate) fn read_small_file(path: &Path) -> std::io::Result<String> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    if metadata.len() > SMALL_FILE_BYTES {
        return Err(std::io::Error::other("it is larger than 4 MiB"));
    }
    std::fs::read_to_string(path)
}

/// Replaces a file by way of a temporary one beside it, so that a reader or a crash sees the old content or
/// the new. A symbolic link stays one; the mode of an existing file is kept, a new file is the owner's alone.
///
/// # Errors
/// When the disk refuses; the old file is intact then.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target
        .parent()
        .ok_or_else(|| std::io::Error::other("path has no folder"))?;
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    if let Ok(old) = std::fs::metadata(&target) {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|e| e.error)?;
    #[cfg(unix)]
    std::fs::File::open(folder)?.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_survives_a_round_trip_with_fields_of_other_versions() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(
            ClientState::load(home.path()),
            (ClientState::default(), None)
        );
        let mut state = ClientState {
            terms_notice_dismissed: true,
            ..ClientState::default()
        };
        state.drafts.insert("t".into(), "half a thought".into());
        state
            .extra
            .insert("later".into(), serde_json::json!({"x": 1}));
        state.save(home.path()).unwrap();
        assert_eq!(ClientState::load(home.path()), (state, None));
    }

    #[test]
    fn messages_that_waited_come_back_before_the_draft() {
        let mut state = ClientState::default();
        let block = |path: &str| ContextBlock {
            kind: transcript::BlockKind::File,
            path: path.to_owned(),
            range: None,
            content: path.to_uppercase(),
            extra: serde_json::Map::new(),
        };
        let waiting = |text: &str, path| WaitingMessage {
            text: text.to_owned(),
            context_blocks: vec![block(path)],
        };
        let queued = vec![waiting("one", "a"), waiting("two", "b")];
        state.queued.insert("t".into(), queued);
        state.drafts.insert("t".into(), "three".into());
        state.draft_blocks.insert("t".into(), vec![block("c")]);
        state.queued_into_drafts();
        assert_eq!(state.drafts["t"], "one\n\ntwo\n\nthree");
        assert_eq!(state.draft_blocks["t"], ["a", "b", "c"].map(block));
        assert!(state.queued.is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_device_or_a_huge_file_is_not_read() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x");
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert!(read_small_file(&path).is_err());
        let huge = home.path().join("huge");
        std::fs::File::create(&huge)
            .unwrap()
            .set_len(5 << 20)
            .unwrap();
        assert!(
            read_small_file(&huge)
                .unwrap_err()
                .to_string()
                .contains("4 MiB")
        );
    }

    #[test]
    fn a_broken_state_is_kept_aside_and_named() {
        let home = tempfile::tempdir().unwrap();
        let path = ClientState::path(home.path());
        write_atomically(&path, b"{ not json").unwrap();
        let (state, problem) = ClientState::load(home.path());
        assert_eq!(state, ClientState::default());
        assert!(problem.unwrap().contains("state.corrupt.json"));
        assert_eq!(
            std::fs::read(path.with_extension("corrupt.json")).unwrap(),
            b"{ not json"
        );
    }
}
