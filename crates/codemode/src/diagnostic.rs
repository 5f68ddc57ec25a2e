//! What a failed or imperfect run reports: a kind, a message, a place and a way forward.

use serde::{Deserialize, Serialize};

/// The kinds of diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiagnosticKind {
    /// The source is blank or isn't a program.
    ParseError,
    /// Control reached syntax outside the language.
    UnsupportedSyntax,
    /// The program named a tool that doesn't exist.
    UnknownTool,
    /// A tool's input is no data or doesn't fit its schema.
    InvalidToolInput,
    /// A tool answered something that is no data.
    InvalidToolOutput,
    /// A value was used where only other kinds of data may be.
    InvalidDataValue,
    /// More tool calls than the limit allows.
    ToolCallLimitExceeded,
    /// The run took longer than its limit.
    TimeoutExceeded,
    /// A tool refused or failed.
    ToolFailure,
    /// The program threw, or an operation of the language failed.
    ExecutionFailure,
    /// Warnings were left out to keep the output small.
    Truncated,
}

/// A place in the submitted source; both numbers start at 1, columns count UTF-16 units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Line, from 1.
    pub line: u32,
    /// Column in UTF-16 units, from 1.
    pub column: u32,
}

/// One problem, as the host and the model see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// What went wrong.
    pub kind: DiagnosticKind,
    /// The text for the reader; ends with the place when there is one.
    pub message: String,
    /// Where in the submitted source.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub location: Option<Location>,
    /// What to try instead.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub suggestions: Vec<String>,
}

impl Diagnostic {
    /// A diagnostic without a place.
    pub fn new(kind: DiagnosticKind, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            kind,
            message: message.into(),
            location: None,
            suggestions: Vec::new(),
        }
    }

    /// A diagnostic at a byte offset of the source.
    pub(crate) fn located(
        kind: DiagnosticKind,
        message: &str,
        source: &str,
        offset: u32,
    ) -> Diagnostic {
        let location = locate(source, offset);
        let message = format!(
            "{message} (line {}, col {})",
            location.line, location.column
        );
        Diagnostic {
            kind,
            message,
            location: Some(location),
            suggestions: Vec::new(),
        }
    }
}

/// Line and column of a byte offset.
pub(crate) fn locate(source: &str, offset: u32) -> Location {
    let mut offset = (offset as usize).min(source.len());
    while !source.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &source[..offset];
    let mut line = 1;
    let mut start = 0;
    let mut chars = before.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = match c {
            '\r' if chars.peek().is_some_and(|&(_, next)| next == '\n') => continue,
            '\n' | '\r' => at + 1,
            '\u{2028}' | '\u{2029}' => at + 3,
            _ => continue,
        };
        line += 1;
        start = end;
    }
    let column = before[start..].encode_utf16().count() as u32 + 1;
    Location { line, column }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_utf16_units_and_every_line_end_counts() {
        let source = "a\r\nb\u{2028}\u{1F600}x\ny";
        let at = |needle: char| locate(source, source.find(needle).unwrap_or(0) as u32);
        assert_eq!(at('b'), Location { line: 2, column: 1 });
        assert_eq!(at('x'), Location { line: 3, column: 3 });
        assert_eq!(at('y'), Location { line: 4, column: 1 });
    }
}
