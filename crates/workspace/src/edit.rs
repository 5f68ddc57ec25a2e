//! Replacing a text that must be there exactly once.

use memchr::memmem;
use serde::Deserialize;

use crate::ledger::{ReadLedger, Version};
use crate::line_edits::narrowed;
use crate::nearest::nearest_block;
use crate::read::Opened;
use crate::root::Follow;
use crate::text_file::line_at;
use crate::workspace::{Access, Located, Workspace};
use crate::write::{Written, hash_beside};
use crate::{ContentHash, ViewEdit, WorkspaceError};

/// Lines of an ambiguous text that are told.
const MOST_PLACES: usize = 20;

/// A replacement.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditRequest {
    /// The file.
    pub path: String,
    /// The text as it is in the file, exactly; line ends are written as line feeds.
    pub old_string: String,
    /// What takes its place, literally.
    pub new_string: String,
    /// Replace it wherever it occurs.
    #[serde(default)]
    pub replace_all: bool,
}

impl Workspace {
    /// Replaces a text in a file.
    ///
    /// # Errors
    /// The path is refused, the text doesn't occur, occurs more than once without `replace_all`, or changes nothing;
    /// the file changed since it was read, where the edit is; its encoding can't hold the new text.
    pub fn edit_file(
        &self,
        request: &EditRequest,
        ledger: &ReadLedger,
    ) -> Result<Written, WorkspaceError> {
        let located = self.locate_existing(&request.path, Access::Write, Follow::Whole)?;
        let opened = self.open_text(&located)?;
        let view = opened.text.view();
        let (hash, edits) = hash_beside(opened.text.raw(), || replacement_edits(view, request))?;
        refuse_stale(&located, &opened, hash, &edits, ledger)?;
        let count = edits.len();
        let narrow: Vec<ViewEdit> = edits.iter().flat_map(|edit| narrowed(view, edit)).collect();
        self.commit(&located, opened, &narrow, Some(count), ledger)
    }
}

/// Where the text is, as edits of the view; one unless all are wanted.
pub(crate) fn replacement_edits(
    view: &str,
    request: &EditRequest,
) -> Result<Vec<ViewEdit>, WorkspaceError> {
    let path = || request.path.clone();
    let old = request.old_string.replace("\r\n", "\n");
    let new = request.new_string.replace("\r\n", "\n");
    if old.is_empty() {
        let why = "the text to replace is empty; to make a new file, write it whole";
        return Err(WorkspaceError::input(why, path()));
    }
    if old == new {
        let why = "the old and the new text are the same";
        return Err(WorkspaceError::input(why, path()));
    }
    let starts = occurrences(view, &old, !request.replace_all);
    match starts.len() {
        0 => Err(WorkspaceError::NoMatch {
            nearest: nearest_block(view, &old),
            path: path(),
        }),
        count if count > 1 && !request.replace_all => Err(WorkspaceError::Ambiguous {
            lines: starts
                .iter()
                .take(MOST_PLACES)
                .map(|at| line_at(view, *at))
                .collect(),
            count,
            path: path(),
        }),
        _ => Ok(starts
            .into_iter()
            .map(|start| ViewEdit {
                range: start..start + old.len(),
                text: new.clone(),
            })
            .collect()),
    }
}

/// Where the text begins. Places that overlap count when it must be unique: `aa` is twice in `aaa`.
pub(crate) fn occurrences(view: &str, text: &str, overlapping: bool) -> Vec<usize> {
    if !overlapping {
        return memmem::find_iter(view.as_bytes(), text.as_bytes()).collect();
    }
    let finder = memmem::Finder::new(text.as_bytes());
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = finder.find(&view.as_bytes()[from..]) {
        found.push(from + at);
        from += at + 1;
        if found.len() > 10_000 {
            break;
        }
    }
    found
}

/// An edit against an older version of the file goes through only if what it replaces, and the lines beside it, are
/// as they were when the file was read.
pub(crate) fn refuse_stale(
    located: &Located<'_>,
    opened: &Opened,
    now_hash: ContentHash,
    edits: &[ViewEdit],
    ledger: &ReadLedger,
) -> Result<(), WorkspaceError> {
    let stale = |why: &str| {
        Err(WorkspaceError::Stale {
            why: why.into(),
            path: located.path.to_string(),
        })
    };
    let Some(Version { hash, text }) = ledger.seen(&located.real) else {
        return stale("the file was not read before");
    };
    if hash == now_hash {
        return Ok(());
    }
    let Some(seen) = text else {
        return stale("the file changed since it was read");
    };
    let now = opened.text.view();
    let untouched = edits.iter().all(|edit| {
        let block = with_neighbours(now, edit);
        occurrences(&seen, block, true).len() == 1 && occurrences(now, block, true).len() == 1
    });
    if untouched {
        return Ok(());
    }
    stale("the file changed, since it was read, where the edit is")
}

/// The replaced text, and the whole lines before and after it.
fn with_neighbours<'a>(view: &'a str, edit: &ViewEdit) -> &'a str {
    let line_start = |at: usize| view[..at].rfind('\n').map_or(0, |at| at + 1);
    let own = line_start(edit.range.start);
    let start = if own == 0 { 0 } else { line_start(own - 1) };
    let line_end = |at: usize| {
        view[at..]
            .find('\n')
            .map_or(view.len(), |found| at + found + 1)
    };
    let end = line_end(line_end(edit.range.end));
    &view[start..end]
}
