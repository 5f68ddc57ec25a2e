//! How an attachment looks in a prompt.

use transcript::ContextBlock;

/// A header `path:first-last`, then the text between fences longer than any run of backticks inside, so that
/// nothing in it can end the block early.
pub fn render_context_block(block: &ContextBlock) -> String {
    let path: String = block
        .path
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let lines = match block.range {
        Some([first, last]) if first == last => format!(":{first}"),
        Some([first, last]) => format!(":{first}-{last}"),
        None => String::new(),
    };
    let fence = "`".repeat(longest_backtick_run(&block.content).max(2) + 1);
    let content = &block.content;
    let last_line_end = if content.is_empty() || content.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{path}{lines}\n{fence}\n{content}{last_line_end}{fence}")
}

fn longest_backtick_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use transcript::BlockKind;

    fn block(path: &str, range: Option<[u32; 2]>, content: &str) -> String {
        render_context_block(&ContextBlock {
            kind: BlockKind::Selection,
            path: path.into(),
            range,
            content: content.into(),
            extra: Default::default(),
        })
    }

    #[test]
    fn a_selection_names_its_lines_and_a_file_does_not() {
        assert_eq!(
            block("src/foo.ts", Some([10, 42]), "let x;"),
            "src/foo.ts:10-42\n```\nlet x;\n```"
        );
        assert_eq!(block("a", Some([7, 7]), "x\n"), "a:7\n```\nx\n```");
        assert_eq!(block("a\nb", None, ""), "a b\n```\n```");
    }

    #[test]
    fn no_content_can_close_its_own_fence() {
        assert_eq!(
            block("a.md", None, "```rs\n````\n"),
            "a.md\n`````\n```rs\n````\n`````"
        );
    }
}
