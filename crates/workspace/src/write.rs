//! Writing a file whole, and carrying out the edits of every dialect.

use serde::{Deserialize, Serialize};

use crate::ledger::{LONGEST_TEXT, ReadLedger};
use crate::line_edits::{apply_to_view, line_edits, unified};
use crate::read::{Opened, TEXT_LIMIT, numbered};
use crate::replace_file::{ModeRule, replace_file};
use crate::root::{Follow, Found};
use crate::text_file::{count_lines, line_at};
use crate::workspace::{Access, Located, Workspace};
use crate::{ContentHash, TextFile, ViewEdit, WorkspaceError};

/// Lines shown around an edit after it.
const SHOWN_AROUND: u64 = 3;
/// Lines shown after an edit at most.
const SHOWN_LINES: usize = 40;

/// A file to be written whole.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteRequest {
    /// The file; folders above it are made.
    pub path: String,
    /// All of its text.
    pub content: String,
}

/// What a write did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Written {
    /// The file.
    pub path: String,
    /// Whether it wasn't there before.
    pub created: bool,
    /// How many places were replaced; none for a whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacements: Option<usize>,
    /// The hash of the file as it is now.
    pub hash: ContentHash,
    /// A unified diff.
    pub diff: String,
    /// The lines around the first change, numbered.
    pub around: String,
    /// False if the file is open with unsaved changes: then the edit is in the buffer and the disk is as before.
    pub saved: bool,
    /// How the text to replace was found, if not exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<&'static str>,
}

impl Workspace {
    /// Writes a file whole. An existing file keeps its encoding, mark, mode, links and the line ends of all lines
    /// that stay; it must have been read before, in the version that is there now.
    ///
    /// # Errors
    /// The path is refused, is a folder, the file changed since it was read or was never read, is not text, or its
    /// encoding can't hold the content.
    pub fn write_file(
        &self,
        request: &WriteRequest,
        ledger: &ReadLedger,
    ) -> Result<Written, WorkspaceError> {
        let located = self.locate(&request.path, Access::Write, Follow::Whole)?;
        let shown = located.path.to_string();
        let size = request.content.len() as u64;
        if size > TEXT_LIMIT {
            return Err(WorkspaceError::TooLarge {
                bytes: size,
                limit: TEXT_LIMIT,
                path: shown,
            });
        }
        if matches!(located.place.found, Found::Missing) {
            return self.create_file(located, &request.content, ledger);
        }
        let opened = self.open_text(&located)?;
        let seen = ledger.seen(&located.real);
        if seen.is_none_or(|version| version.hash != opened.text.hash()) {
            return Err(WorkspaceError::Stale {
                why: "the file exists, and it is not the version that was read".into(),
                path: shown,
            });
        }
        let content = request.content.replace("\r\n", "\n");
        let edits = line_edits(opened.text.view(), &content, 0);
        self.commit(&located, opened, &edits, None, ledger)
    }

    fn create_file(
        &self,
        located: Located<'_>,
        content: &str,
        ledger: &ReadLedger,
    ) -> Result<Written, WorkspaceError> {
        let shown = located.path.to_string();
        let place = located.place.make_folders()?;
        replace_file(
            &self.disk,
            &place,
            content.as_bytes(),
            ModeRule::Keep,
            &shown,
        )?;
        let hash = ContentHash::of(content.as_bytes());
        let view = TextFile::of_buffer(content);
        ledger.note(&located.real, hash, Some(view.view()));
        Ok(Written {
            diff: unified(&shown, "", &line_edits("", view.view(), 0)),
            path: shown,
            created: true,
            replacements: None,
            hash,
            around: String::new(),
            saved: true,
            fallback: None,
        })
    }

    /// Carries out edits in a text that was opened: in its buffer alone if that is dirty, else on the disk.
    pub(crate) fn commit(
        &self,
        located: &Located<'_>,
        opened: Opened,
        edits: &[ViewEdit],
        replacements: Option<usize>,
        ledger: &ReadLedger,
    ) -> Result<Written, WorkspaceError> {
        let shown = located.path.to_string();
        let Opened { text, buffer } = opened;
        let bytes = text.edited(edits, &shown)?;
        if bytes == text.raw() {
            let why = "the edit changes nothing";
            return Err(WorkspaceError::input(why, shown));
        }
        let dirty = buffer.as_ref().is_some_and(|buffer| buffer.dirty);
        let (hash, ()) = hash_beside(&bytes, || {
            if dirty {
                return Ok(());
            }
            replace_file(&self.disk, &located.place, &bytes, ModeRule::Keep, &shown)
        })?;
        if let Some(buffer) = &buffer {
            let applied = self
                .buffers()
                .apply(&located.real, buffer.revision, edits, !dirty);
            if !applied && dirty {
                return Err(WorkspaceError::Stale {
                    why: "the user changed the open file at the same moment".into(),
                    path: shown,
                });
            }
        }
        // Of a long text only the hash is remembered.
        let short = bytes.len() <= LONGEST_TEXT;
        let view = short.then(|| apply_to_view(text.view(), edits));
        ledger.note(&located.real, hash, view.as_deref());
        Ok(Written {
            diff: unified(&shown, text.view(), edits),
            around: around(text.view(), edits),
            path: shown,
            created: false,
            replacements,
            hash,
            saved: !dirty,
            fallback: None,
        })
    }
}

/// The hash of the bytes, made while something else is done: for a large file that takes about as long.
pub(crate) fn hash_beside<T>(
    bytes: &[u8],
    what: impl FnOnce() -> Result<T, WorkspaceError>,
) -> Result<(ContentHash, T), WorkspaceError> {
    if bytes.len() < LONGEST_TEXT {
        let done = what()?;
        return Ok((ContentHash::of(bytes), done));
    }
    std::thread::scope(|scope| {
        let hash = scope.spawn(|| ContentHash::of(bytes));
        let done = what()?;
        Ok((hash.join().unwrap_or_else(|_| ContentHash::of(bytes)), done))
    })
}

/// The lines around the first edit, as they are after it; `view` is the text before.
pub(crate) fn around(view: &str, edits: &[ViewEdit]) -> String {
    let Some(first) = edits.first() else {
        return String::new();
    };
    let mut start = view[..first.range.start].rfind('\n').map_or(0, |at| at + 1);
    for _ in 0..SHOWN_AROUND {
        let above = &view[..start.saturating_sub(1)];
        start = above.rfind('\n').map_or(0, |at| at + 1);
    }
    let height = count_lines(&first.text).max(1) + 2 * SHOWN_AROUND;
    let count = usize::try_from(height)
        .unwrap_or(SHOWN_LINES)
        .min(SHOWN_LINES);
    let end = view[first.range.end..]
        .match_indices('\n')
        .nth(count)
        .map_or(view.len(), |(at, _)| first.range.end + at + 1);
    let near: Vec<ViewEdit> = edits
        .iter()
        .take_while(|edit| edit.range.end <= end)
        .map(|edit| ViewEdit {
            range: edit.range.start - start..edit.range.end - start,
            text: edit.text.clone(),
        })
        .collect();
    let after = apply_to_view(&view[start..end], &near);
    let text: String = after.split_inclusive('\n').take(count).collect();
    numbered(&text, line_at(view, start))
}
