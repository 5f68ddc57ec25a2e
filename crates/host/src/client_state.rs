//! What the program remembers between runs besides threads and settings: drafts, the last thread, seat
//! overrides, the layout of the window. Losing it costs comfort, never content.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use transcript::{ContextBlock, SeatId, ThreadId, Timestamp};

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

    /// Reads it, for whoever may write it; a missing file is the empty state. One that can't be read is moved aside,
    /// whatever the reason, so that no later write takes its place; the text says where it is kept.
    pub fn load(home: &Path) -> (Self, Option<String>) {
        let path = Self::path(home);
        Self::peek(home).map_or_else(
            |error| {
                let kept = put_aside(&path).unwrap_or(path);
                let what = format!(
                    "drafts and window layout could not be read and start afresh: {error}; the old file is kept ({})",
                    kept.display()
                );
                (Self::default(), Some(what))
            },
            |state| (state, None),
        )
    }

    /// Reads it and touches nothing; a missing file is the empty state.
    ///
    /// # Errors
    /// When it is no regular file, no state, or the disk refuses.
    pub fn peek(home: &Path) -> std::io::Result<Self> {
        match read_regular_file(&Self::path(home), u64::MAX) {
            Ok(text) => Ok(serde_json::from_str(&text)?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
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

/// Gives a file a name that tells when it was found wanting, and takes nobody else's place.
fn put_aside(path: &Path) -> std::io::Result<PathBuf> {
    let mut stamp = Timestamp::now().to_string();
    stamp.retain(|c| c.is_ascii_alphanumeric());
    let name = |nth: u32| match nth {
        1 => path.with_extension(format!("corrupt-{stamp}.json")),
        _ => path.with_extension(format!("corrupt-{stamp}-{nth}.json")),
    };
    let mut nth = 1;
    while name(nth).symlink_metadata().is_ok() {
        nth += 1;
    }
    std::fs::rename(path, name(nth))?;
    Ok(name(nth))
}

/// Largest file of settings that is read, in bytes.
const LARGEST_SETTINGS: u64 = 4 << 20;

/// Reads a file that a person writes. Pipes, devices and huge files are refused: reading them might never end.
///
/// # Errors
/// When it is no regular file, larger than 4 MiB, not UTF-8, or the disk refuses.
pub(crate) fn read_small_file(path: &Path) -> std::io::Result<String> {
    read_regular_file(path, LARGEST_SETTINGS)
}

fn read_regular_file(path: &Path, largest: u64) -> std::io::Result<String> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    if metadata.len() > largest {
        let most = largest >> 20;
        return Err(std::io::Error::other(format!(
            "it is larger than {most} MiB"
        )));
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
    fn a_state_that_cannot_be_read_is_kept_aside_each_time_and_a_look_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let path = ClientState::path(home.path());
        let not_utf8: &[u8] = &[0xff, 0xfe];
        for broken in [b"{ not json", not_utf8] {
            write_atomically(&path, broken).unwrap();
            assert!(ClientState::peek(home.path()).is_err());
            assert_eq!(std::fs::read(&path).unwrap(), broken);
            let (state, problem) = ClientState::load(home.path());
            assert_eq!(state, ClientState::default());
            assert!(!path.exists());
            let problem = problem.unwrap();
            let kept = problem.rsplit_once('(').unwrap().1.trim_end_matches(')');
            assert_eq!(std::fs::read(kept).unwrap(), broken);
        }
    }

    #[test]
    fn drafts_of_any_size_are_read_again() {
        let home = tempfile::tempdir().unwrap();
        let mut state = ClientState::default();
        state.drafts.insert("t".into(), "long ".repeat(1 << 20));
        state.save(home.path()).unwrap();
        assert_eq!(ClientState::load(home.path()), (state, None));
    }
}
