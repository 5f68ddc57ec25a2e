//! What a model is shown of an output: its beginning, its end, the lines that tell of errors, and how to read the rest.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use crate::output_store::lines_of;

/// Lines from the beginning.
const HEAD: usize = 15;
/// Lines from the end.
const TAIL: usize = 30;
/// Lines that tell of errors, from between.
const ERRORS: usize = 15;
/// Characters of a line.
const LONGEST_LINE: usize = 300;

/// A short account of an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Distilled {
    /// The lines, with marks where others are left out.
    pub text: String,
    /// Lines of the whole output.
    pub total_lines: u64,
    /// How many of them are shown.
    pub shown_lines: u64,
}

/// Words that tell of a failure, as words of their own or at the end of an exception's name; not counts of none.
static FAILURE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"(?i)(\b(errors?|failed|failures?|fatal|panicked|traceback|undefined|denied|segfault|abort(ed)?|cannot|can't|not found|no such file|unresolved|timed out|exit(ed)? (code|status) [1-9]\d*)\b|(?-i:\w+(Error|Exception))\b|^E\s)";
    Regex::new(words).ok()
});
static COUNT_OF_NONE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\b(0|no) (errors?|failed|failures?)\b").ok());

fn tells_of_failure(line: &str) -> bool {
    let is = |pattern: &Option<Regex>, text: &str| {
        pattern
            .as_ref()
            .is_some_and(|pattern| pattern.is_match(text))
    };
    if !is(&FAILURE, line) {
        return false;
    }
    let without = COUNT_OF_NONE
        .as_ref()
        .map(|pattern| pattern.replace_all(line, ""));
    without.is_none_or(|rest| is(&FAILURE, &rest))
}

/// Distils the output in a file; `how_to_read_more` names the command for the mark.
///
/// # Errors
/// The file can't be read.
pub(crate) fn distil(path: &Path, id: &str) -> io::Result<Distilled> {
    let mut head: Vec<(u64, String)> = Vec::new();
    let mut tail: VecDeque<(u64, String)> = VecDeque::new();
    let mut failures: Vec<(u64, String)> = Vec::new();
    let total_lines = lines_of(path, |number, line| {
        let shown: String = line.chars().take(LONGEST_LINE).collect();
        let shown = if shown.len() < line.len() {
            shown + "…"
        } else {
            shown
        };
        if head.len() < HEAD {
            head.push((number, shown));
            return;
        }
        tail.push_back((number, shown));
        if tail.len() > TAIL
            && let Some((number, line)) = tail.pop_front()
            && tells_of_failure(&line)
        {
            failures.push((number, line));
            // The first tell what went wrong first, the last what was left in the end.
            if failures.len() > ERRORS {
                failures.remove(ERRORS / 2);
            }
        }
    })?;
    let mut text = String::new();
    let (mut last, mut shown_lines) = (0, 0);
    for (number, line) in head.into_iter().chain(failures).chain(tail) {
        mark_gap(&mut text, last, number, id);
        text.push_str(&line);
        text.push('\n');
        last = number;
        shown_lines += 1;
    }
    Ok(Distilled {
        text,
        total_lines,
        shown_lines,
    })
}

fn mark_gap(text: &mut String, last: u64, number: u64, id: &str) {
    let missing = number - last - 1;
    if missing > 0 {
        text.push_str(&format!(
            "[{missing} lines left out; read_command_output command_id={id} priority=top offset={last} limit={missing}]\n"
        ));
    }
}

/// A line as a terminal would leave it: what a carriage return overwrote is gone, colours and other escapes too, and
/// control characters are spelled out.
pub(crate) fn plain_line(bytes: &[u8]) -> String {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    let last = text
        .rsplit('\r')
        .find(|part| !part.trim().is_empty())
        .unwrap_or_default();
    let mut out = String::with_capacity(last.len());
    let mut rest = last.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '\x1b' => skip_escape(&mut rest),
            '\x08' => {
                out.pop();
            }
            '\t' => out.push('\t'),
            odd if odd.is_control() => out.extend(odd.escape_default()),
            plain => out.push(plain),
        }
    }
    out
}

/// ECMA-48: `ESC [` up to a letter, `ESC ]` up to BEL or `ESC \`, else one more character.
fn skip_escape(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.next() {
        Some('[') => {
            while rest
                .next()
                .is_some_and(|next| !('\x40'..='\x7e').contains(&next))
            {}
        }
        Some(']' | 'P' | '_' | '^') => {
            while let Some(next) = rest.next() {
                if next == '\x07' {
                    return;
                }
                if next == '\x1b' {
                    rest.next();
                    return;
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_what_a_terminal_would_leave() {
        assert_eq!(plain_line(b"\x1b[31merror\x1b[0m: x\r\n"), "error: x");
        assert_eq!(plain_line(b"10%\r50%\r100%"), "100%");
        assert_eq!(
            plain_line(b"\x1b]0;title\x07text\x1b]8;;u\x1b\\link"),
            "textlink"
        );
        assert_eq!(plain_line(b"ab\x08c\x00\xff"), "ac\\u{0}\u{fffd}");
    }

    #[test]
    fn a_count_of_no_errors_tells_of_no_failure() {
        for (line, tells) in [
            ("error[E0308]: mismatched types", true),
            ("test result: FAILED. 1 passed; 1 failed", true),
            ("0 errors, 0 failures", false),
            ("12 passed, 0 failed", false),
            ("no errors, but 2 failed", true),
            ("ValueError: x", true),
            ("mirrored terror", false),
            ("thread 'main' panicked at", true),
        ] {
            assert_eq!(tells_of_failure(line), tells, "{line}");
        }
    }

    #[test]
    fn the_beginning_the_end_and_the_failures_between_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let lines: Vec<String> = (1..=1000)
            .map(|n| {
                if n % 100 == 50 {
                    format!("error: {n}")
                } else {
                    format!("line {n}")
                }
            })
            .collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        let distilled = distil(&path, "c1").unwrap();
        assert_eq!((distilled.total_lines, distilled.shown_lines), (1000, 55));
        for wanted in ["line 1\n", "error: 50\n", "error: 950\n", "line 1000\n"] {
            assert!(distilled.text.contains(wanted), "{wanted}");
        }
        assert!(distilled.text.contains(
            "[34 lines left out; read_command_output command_id=c1 priority=top offset=15 limit=34]"
        ));
    }
}
