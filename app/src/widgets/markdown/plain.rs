//! Markdown as plain text, for pasting where Markdown means nothing.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::blocks::OPTIONS;

/// The text of `source` without its markup: blocks apart by an empty line, list items with their markers, code as is.
pub fn plain_text(source: &str) -> String {
    let mut out = String::new();
    let mut lists: Vec<Option<u64>> = Vec::new();
    for event in Parser::new_ext(source, OPTIONS) {
        match event {
            Event::Text(text)
            | Event::Code(text)
            | Event::InlineHtml(text)
            | Event::Html(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => out.push_str(&text),
            Event::SoftBreak | Event::HardBreak => out.push('\n'),
            Event::Rule => out.push_str("---\n\n"),
            Event::TaskListMarker(done) => out.push_str(if done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(_) => {}
            Event::Start(Tag::List(first)) => {
                end_line(&mut out);
                lists.push(first);
            }
            Event::Start(Tag::Item) => {
                end_line(&mut out);
                let depth = lists.len().saturating_sub(1);
                out.push_str(&"  ".repeat(depth));
                match lists.last_mut() {
                    Some(Some(number)) => {
                        out.push_str(&format!("{number}. "));
                        *number += 1;
                    }
                    _ => out.push_str("- "),
                }
            }
            Event::Start(_) => {}
            Event::End(tag) => match tag {
                TagEnd::List(_) => {
                    lists.pop();
                    if lists.is_empty() {
                        end_block(&mut out);
                    }
                }
                TagEnd::Paragraph if !lists.is_empty() => end_line(&mut out),
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::CodeBlock
                | TagEnd::HtmlBlock
                | TagEnd::Table => end_block(&mut out),
                TagEnd::TableHead | TagEnd::TableRow => end_line(&mut out),
                TagEnd::TableCell => out.push('\t'),
                _ => {}
            },
        }
    }
    out.truncate(out.trim_end().len());
    out
}

fn end_line(out: &mut String) {
    out.truncate(out.trim_end_matches('\t').len());
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
}

fn end_block(out: &mut String) {
    end_line(out);
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_goes_and_structure_stays() {
        let source = "# Head\n\nsome **bold**\ntext\n\n- a\n- [x] b\n  1. c\n\n```rust\nfn f() {}\n```\n\n|a|b|\n|-|-|\n|1|2|\n";
        assert_eq!(
            plain_text(source),
            "Head\n\nsome bold\ntext\n\n- a\n- [x] b\n  1. c\n\nfn f() {}\n\na\tb\n1\t2"
        );
    }
}
