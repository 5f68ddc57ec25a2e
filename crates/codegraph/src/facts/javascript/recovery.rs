//! What a JavaScript file that doesn't parse still says: while somebody types, one statement is broken and the rest isn't.

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;

/// Words that a statement at the beginning of a line starts with.
const STARTS: [&str; 17] = [
    "@",
    "abstract ",
    "async ",
    "class ",
    "const ",
    "declare ",
    "enum ",
    "export ",
    "function",
    "import ",
    "interface ",
    "let ",
    "module.",
    "namespace ",
    "type ",
    "var ",
    "exports.",
];

/// The text with every top-level statement that doesn't parse by itself blanked, so that lines and offsets stay true.
pub(super) fn without_broken_statements(text: &str, source_type: SourceType) -> String {
    let mut kept = String::with_capacity(text.len());
    for statement in statements(text) {
        let good = good_end(statement, source_type);
        kept.push_str(&statement[..good]);
        let blank = |byte| if byte == b'\n' { '\n' } else { ' ' };
        kept.extend(statement[good..].bytes().map(blank));
    }
    kept
}

/// Where the part of a statement that parses ends: all of it, or up to one of its first blank lines, or nothing.
fn good_end(statement: &str, source_type: SourceType) -> usize {
    const TRIES: usize = 4;
    if parses(statement, source_type) {
        return statement.len();
    }
    let blank_lines = statement.match_indices("\n\n").take(TRIES);
    let mut ends: Vec<usize> = blank_lines.map(|(at, _)| at + 1).collect();
    ends.reverse();
    ends.into_iter()
        .find(|end| parses(&statement[..*end], source_type))
        .unwrap_or(0)
}

fn parses(text: &str, source_type: SourceType) -> bool {
    let allocator = Allocator::default();
    !Parser::new(&allocator, text, source_type).parse().panicked
}

/// A text cut before every line that begins a statement.
fn statements(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if at > start && STARTS.iter().any(|word| line.starts_with(word)) {
            parts.push(&text[start..at]);
            start = at;
        }
        at += line.len();
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_broken_statement_is_blanked() {
        let text = "import a from 'a';\nfunction f( {\n  x\n}\nexport const b = a;\n";
        let kept = without_broken_statements(text, SourceType::ts());
        let blank = format!("{}\n   \n \n", " ".repeat(13));
        assert_eq!(kept, text.replace("function f( {\n  x\n}\n", &blank));
    }
}
