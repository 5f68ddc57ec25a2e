//! Edits of whole lines: found between two texts, narrowed to what really differs, and shown as a unified diff.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, DiffTag};

use crate::ViewEdit;
use crate::text_file::line_at;

/// After this long a difference need no longer be the shortest.
const DIFF_TIME: Duration = Duration::from_millis(500);
/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Bytes of a diff that are kept.
const LONGEST_DIFF: usize = 64 * 1024;

/// The edits of whole lines that make `new` of `old`, offsets counted from `base`.
///
/// Lines that are the same stay out of the edits, so that the bytes behind them stay as they are.
pub(crate) fn line_edits(old: &str, new: &str, base: usize) -> Vec<ViewEdit> {
    let (old_lines, new_lines) = (lines(old), lines(new));
    let ends = |lines: &[&str]| -> Vec<usize> {
        let sums = lines.iter().scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        });
        std::iter::once(0).chain(sums).collect()
    };
    let (old_at, new_at) = (ends(&old_lines), ends(&new_lines));
    let deadline = Some(Instant::now() + DIFF_TIME);
    let ops =
        similar::capture_diff_slices_deadline(Algorithm::Myers, &old_lines, &new_lines, deadline);
    ops.iter()
        .filter(|op| op.tag() != DiffTag::Equal)
        .map(|op: &DiffOp| {
            let (old_range, new_range) = (op.old_range(), op.new_range());
            ViewEdit {
                range: base + old_at[old_range.start]..base + old_at[old_range.end],
                text: new[new_at[new_range.start]..new_at[new_range.end]].to_owned(),
            }
        })
        .collect()
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The edit without what its old and new text have in common at both ends, in whole lines, and split where lines in
/// the middle are the same.
pub(crate) fn narrowed(view: &str, edit: &ViewEdit) -> Vec<ViewEdit> {
    let old = &view[edit.range.clone()];
    if !old.contains('\n') && !edit.text.contains('\n') {
        return vec![edit.clone()];
    }
    line_edits(old, &edit.text, edit.range.start)
}

/// The text after the edits.
pub(crate) fn apply_to_view(view: &str, edits: &[ViewEdit]) -> String {
    let grown: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut out = String::with_capacity(view.len() + grown);
    let mut from = 0;
    for edit in edits {
        out.push_str(&view[from..edit.range.start]);
        out.push_str(&edit.text);
        from = edit.range.end;
    }
    out.push_str(&view[from..]);
    out
}

/// One changed place, in whole lines.
struct Change {
    /// Bytes of the old view.
    old: Range<usize>,
    /// The lines that take their place.
    new: String,
}

/// Whole lines around edits that may lie within lines; edits in the same line become one change.
fn whole_lines(view: &str, edits: &[ViewEdit]) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    let mut group: Vec<ViewEdit> = Vec::new();
    let mut range: Option<Range<usize>> = None;
    let mut close = |range: Range<usize>, group: &mut Vec<ViewEdit>| {
        let shifted: Vec<ViewEdit> = group
            .drain(..)
            .map(|edit| ViewEdit {
                range: edit.range.start - range.start..edit.range.end - range.start,
                text: edit.text,
            })
            .collect();
        let new = apply_to_view(&view[range.clone()], &shifted);
        changes.push(Change { old: range, new });
    };
    for edit in edits {
        let start = view[..edit.range.start].rfind('\n').map_or(0, |at| at + 1);
        // An edit that ends with a whole line leaves the next line alone.
        let at_line_end = view[..edit.range.end].ends_with('\n')
            && edit.range.end > start
            && (edit.text.is_empty() || edit.text.ends_with('\n'));
        let inserts_lines =
            edit.range.is_empty() && edit.range.start == start && edit.text.ends_with('\n');
        let end = if at_line_end || inserts_lines {
            edit.range.end
        } else {
            let rest = &view[edit.range.end..];
            rest.find('\n')
                .map_or(view.len(), |at| edit.range.end + at + 1)
        };
        range = Some(match range.take() {
            Some(open) if start < open.end => open.start..end.max(open.end),
            Some(open) => {
                close(open, &mut group);
                start..end
            }
            None => start..end,
        });
        group.push(edit.clone());
    }
    if let Some(open) = range {
        close(open, &mut group);
    }
    changes
}

/// A unified diff of the edits, cut after 64 KiB; the cut is marked.
pub(crate) fn unified(path: &str, view: &str, edits: &[ViewEdit]) -> String {
    let changes = whole_lines(view, edits);
    let mut out = format!("--- a/{path}\n+++ b/{path}\n");
    let mut shift: i64 = 0;
    let mut at = 0;
    while at < changes.len() {
        let mut end = at + 1;
        while end < changes.len() && is_near(view, changes[end - 1].old.end, changes[end].old.start)
        {
            end += 1;
        }
        hunk(&mut out, view, &changes[at..end], &mut shift);
        if out.len() > LONGEST_DIFF {
            let cut = out.floor_char_boundary(LONGEST_DIFF);
            out.truncate(cut);
            out.push_str("\n(the rest of the diff is left out)\n");
            return out;
        }
        at = end;
    }
    out
}

fn is_near(view: &str, from: usize, to: usize) -> bool {
    to - from < 64 * 1024 && view[from..to].matches('\n').count() <= 2 * CONTEXT
}

fn hunk(out: &mut String, view: &str, changes: &[Change], shift: &mut i64) {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
        return;
    };
    let mut start = first.old.start;
    for _ in 0..CONTEXT {
        start = view[..start.saturating_sub(1)]
            .rfind('\n')
            .map_or(0, |at| at + 1);
        if start == 0 {
            break;
        }
    }
    let tail = view[last.old.end..].split_inclusive('\n').take(CONTEXT);
    let end = last.old.end + tail.map(str::len).sum::<usize>();
    let mut body = String::new();
    let (mut old_count, mut new_count) = (0i64, 0i64);
    let mut put = |mark: char, text: &str| {
        for line in text.split_inclusive('\n') {
            body.push(mark);
            body.push_str(line);
            if !line.ends_with('\n') {
                body.push_str("\n\\ No newline at end of file\n");
            }
            old_count += i64::from(mark != '+');
            new_count += i64::from(mark != '-');
        }
    };
    let mut from = start;
    for change in changes {
        put(' ', &view[from..change.old.start]);
        put('-', &view[change.old.clone()]);
        put('+', &change.new);
        from = change.old.end;
    }
    put(' ', &view[from..end]);
    let line = i64::try_from(line_at(view, start)).unwrap_or(i64::MAX);
    // A side without lines is named by the line before it.
    let old_line = line - i64::from(old_count == 0);
    let new_line = line + *shift - i64::from(new_count == 0);
    out.push_str(&format!(
        "@@ -{old_line},{old_count} +{new_line},{new_count} @@\n"
    ));
    out.push_str(&body);
    *shift += new_count - old_count;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_diff_shows_the_changed_lines_with_three_around_them() {
        let old: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let new = old
            .replace("line 5\n", "five\nfive and a half\n")
            .replace("line 19\n", "");
        let diff = unified("f", &old, &line_edits(&old, &new, 0));
        let expected = "--- a/f\n+++ b/f\n\
            @@ -2,7 +2,8 @@\n line 2\n line 3\n line 4\n-line 5\n+five\n+five and a half\n line 6\n line 7\n line 8\n\
            @@ -16,5 +17,4 @@\n line 16\n line 17\n line 18\n-line 19\n line 20\n";
        assert_eq!(diff, expected);
    }

    #[test]
    fn a_diff_of_a_new_file_and_of_a_missing_last_line_end_is_as_patch_wants_it() {
        assert_eq!(
            unified("f", "", &line_edits("", "a\n", 0)),
            "--- a/f\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n"
        );
        let edits = [ViewEdit {
            range: 1..1,
            text: "b".into(),
        }];
        assert_eq!(
            unified("f", "a", &edits),
            "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+ab\n\\ No newline at end of file\n"
        );
    }

    proptest! {
        #[test]
        fn edits_between_two_texts_make_the_one_of_the_other(
            old in "([ab]{0,2}\n){0,12}[ab]{0,2}",
            new in "([ab]{0,2}\n){0,12}[ab]{0,2}",
        ) {
            let edits = line_edits(&old, &new, 0);
            prop_assert_eq!(&apply_to_view(&old, &edits), &new);
            let changes = whole_lines(&old, &edits);
            let again: Vec<ViewEdit> = changes
                .into_iter()
                .map(|change| ViewEdit { range: change.old, text: change.new })
                .collect();
            prop_assert_eq!(apply_to_view(&old, &again), new);
        }
    }
}
