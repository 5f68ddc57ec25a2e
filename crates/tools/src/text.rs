//! Results as texts for models.

use std::fmt::Write;

use crate::{FaultKind, ToolFault, ToolOutput};
use workspace::ErrorKind;

/// Bytes of a result's text that are passed on; what tools say of themselves stays below this.
pub(crate) const LONGEST_TEXT: usize = 512 * 1024;
/// Bytes of a result's data that are passed on.
const LARGEST_DATA: usize = 16 * 1024 * 1024;

/// A text in which control characters other than tabs and line ends are spelled out, and so are characters that
/// change the direction of writing: what is in a file is data, and nothing of it moves a cursor.
pub(crate) fn plain(text: &str) -> String {
    let odd = |c: char| {
        (c.is_control() && c != '\t' && c != '\n')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(odd) {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        if odd(c) {
            plain.extend(c.escape_unicode());
        } else {
            plain.push(c);
        }
    }
    plain
}

/// A result of bounded size: a longer text is cut with a mark; data beyond any measure are refused.
///
/// # Errors
/// The data are too large.
pub(crate) fn bounded(mut output: ToolOutput) -> Result<ToolOutput, ToolFault> {
    let bytes = size_of(&output.data);
    if bytes > LARGEST_DATA {
        let message = format!(
            "the result has {bytes} bytes, more than the limit of {LARGEST_DATA}; ask for less"
        );
        return Err(ToolFault::new(FaultKind::Of(ErrorKind::TooLarge), message));
    }
    if output.text.len() > LONGEST_TEXT {
        let whole = output.text.len();
        output
            .text
            .truncate(output.text.floor_char_boundary(LONGEST_TEXT));
        let left = whole - output.text.len();
        let told = write!(
            output.text,
            "\n[{left} of {whole} bytes left out; ask for less]\n"
        );
        debug_assert!(told.is_ok(), "writing to a string doesn't fail");
        output.truncated = true;
    }
    Ok(output)
}

/// Bytes of the JSON text, roughly, without making it.
fn size_of(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| 1 + size_of(item)).sum::<usize>(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| name.len() + 4 + size_of(value);
            2 + fields.iter().map(field).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_a_cursor_is_spelled_out() {
        assert_eq!(plain("a\tb\n"), "a\tb\n");
        assert_eq!(plain("\u{1b}[2J\u{202e}x"), "\\u{1b}[2J\\u{202e}x");
    }

    #[test]
    fn a_text_beyond_any_measure_is_cut_with_a_mark_and_such_data_are_refused() {
        let output = |bytes: usize| ToolOutput {
            text: "ä".repeat(bytes / 2),
            data: serde_json::json!({"t": "x".repeat(bytes)}),
            truncated: false,
        };
        let cut = bounded(output(LONGEST_TEXT + 2)).unwrap();
        assert!(
            cut.truncated
                && cut
                    .text
                    .ends_with("[2 of 524290 bytes left out; ask for less]\n")
        );
        let fault = bounded(output(100_000_000)).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Of(ErrorKind::TooLarge));
        assert_eq!(bounded(output(10)), Ok(output(10)));
    }
}
