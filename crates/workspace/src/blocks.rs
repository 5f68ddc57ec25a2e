//! Search and replace blocks: for each file, the lines that are there and those that take their place.

use crate::edit::occurrences;
use crate::nearest::nearest_block;
use crate::patch::{FilePatch, Patch};
use crate::text_file::line_at;
use crate::{ViewEdit, WorkspaceError};

fn malformed(why: &str, line: &str) -> WorkspaceError {
    WorkspaceError::input(format!("not search and replace blocks, {why}"), line)
}

/// Reads blocks of `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`, each under the path of its file.
///
/// # Errors
/// They aren't; the line is told.
pub fn parse_search_replace(text: &str) -> Result<Patch, WorkspaceError> {
    let text = text.replace("\r\n", "\n");
    let mut files: Vec<FilePatch> = Vec::new();
    let mut path: Option<String> = None;
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let bare = line.trim();
        if !bare.starts_with("<<<<<<< SEARCH") {
            if !bare.is_empty() && !bare.starts_with("```") {
                path = Some(bare.trim_end_matches(':').trim_matches('`').to_owned());
            }
            continue;
        }
        let Some(path) = path.clone() else {
            return Err(malformed(
                "the path of the file must stand on the line before the block",
                bare,
            ));
        };
        let mut take_until = |mark: &str| -> Result<String, WorkspaceError> {
            let mut taken = String::new();
            for line in lines.by_ref() {
                if line.trim_end() == mark {
                    return Ok(taken);
                }
                taken.push_str(line);
            }
            Err(malformed("the block is not ended", mark))
        };
        let old = take_until("=======")?;
        let new = take_until(">>>>>>> REPLACE")?;
        if old.is_empty() {
            files.push(FilePatch::Add { path, content: new });
            continue;
        }
        match files.last_mut() {
            Some(FilePatch::Replace { path: last, blocks }) if *last == path => {
                blocks.push((old, new));
            }
            _ => files.push(FilePatch::Replace {
                path,
                blocks: vec![(old, new)],
            }),
        }
    }
    if files.is_empty() {
        return Err(malformed("there is no block", ""));
    }
    Ok(Patch { files })
}

/// The edits of search and replace blocks. A block that is in the file but for its last line end is there too.
pub(crate) fn block_edits(
    view: &str,
    blocks: &[(String, String)],
    path: &str,
) -> Result<Vec<ViewEdit>, WorkspaceError> {
    let mut edits = Vec::new();
    for (old, new) in blocks {
        let (mut old, mut new) = (old.as_str(), new.as_str());
        // Blocks are made of whole lines.
        let at_line_start = |at: &usize| *at == 0 || view.as_bytes()[at - 1] == b'\n';
        let mut found = occurrences(view, old, true);
        found.retain(at_line_start);
        if found.is_empty() && !view.ends_with('\n') && view.ends_with(old.trim_end_matches('\n')) {
            old = old.strip_suffix('\n').unwrap_or(old);
            new = new.strip_suffix('\n').unwrap_or(new);
            found = occurrences(view, old, true);
            found.retain(at_line_start);
            found.retain(|at| at + old.len() == view.len());
        }
        match found[..] {
            [] => {
                return Err(WorkspaceError::NoMatch {
                    nearest: nearest_block(view, old),
                    path: path.into(),
                });
            }
            [only] => edits.push(ViewEdit {
                range: only..only + old.len(),
                text: new.to_owned(),
            }),
            _ => {
                return Err(WorkspaceError::Ambiguous {
                    lines: found.iter().take(20).map(|at| line_at(view, *at)).collect(),
                    count: found.len(),
                    path: path.into(),
                });
            }
        }
    }
    edits.sort_by_key(|edit| edit.range.start);
    if edits
        .windows(2)
        .any(|pair| pair[0].range.end > pair[1].range.start)
    {
        return Err(WorkspaceError::input(
            "two blocks of the patch overlap",
            path,
        ));
    }
    Ok(edits)
}
