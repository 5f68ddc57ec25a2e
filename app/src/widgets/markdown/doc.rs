//! A Markdown text that grows at its end, as a reply does while it streams.

use super::blocks::{Block, BlockKind, Definitions, Fence, Root, Split, split_blocks, split_from};
use crate::widgets::shared_text::SharedText;

/// A text that is shared until it grows.
#[derive(Clone, Debug)]
enum Text {
    Shared(SharedText),
    Growing(String),
}

impl Default for Text {
    fn default() -> Self {
        Self::Growing(String::new())
    }
}

impl Text {
    fn push(&mut self, text: &str) {
        if let Self::Shared(shared) = self {
            *self = Self::Growing(shared.to_string());
        }
        if let Self::Growing(growing) = self {
            growing.push_str(text);
        }
    }

    fn as_str(&self) -> &str {
        match self {
            Self::Shared(text) => text,
            Self::Growing(text) => text,
        }
    }
}

/// A text and its blocks. Appending parses again only what can still change: usually the last block.
#[derive(Clone, Debug, Default)]
pub struct MarkdownDoc {
    text: Text,
    split: Split,
    definitions_revision: u32,
}

impl MarkdownDoc {
    /// Splits a whole text.
    pub fn new(text: impl Into<SharedText>) -> Self {
        let text = text.into();
        Self {
            split: split_blocks(&text),
            text: Text::Shared(text),
            definitions_revision: 0,
        }
    }

    /// The text.
    pub fn source(&self) -> &str {
        self.text.as_str()
    }

    /// The blocks in order.
    pub fn blocks(&self) -> &[Block] {
        &self.split.blocks
    }

    /// The targets of reference links.
    pub fn definitions(&self) -> &Definitions {
        &self.split.definitions
    }

    /// Changes whenever a definition was added, as blocks before it may then show links they didn't.
    pub fn definitions_revision(&self) -> u32 {
        self.definitions_revision
    }

    /// Appends text; returns the index of the first block that may have changed.
    pub fn push(&mut self, text: &str) -> usize {
        let old_len = self.source().len();
        self.text.push(text);
        if let Some(changed) = self.grow_open_fence(old_len) {
            return changed;
        }
        let restart = self.restart_root(old_len);
        let (start, first_block) = restart.map_or((0, 0), |at| {
            (self.split.roots[at].start, self.split.roots[at].first_block)
        });
        self.split.blocks.truncate(first_block);
        self.split.roots.truncate(restart.unwrap_or(0));
        let tail = split_from(self.source(), start);
        self.split.blocks.extend(tail.blocks);
        self.split
            .roots
            .extend(tail.roots.into_iter().map(|root| Root {
                first_block: root.first_block + first_block,
                ..root
            }));
        let known = self.split.definitions.len();
        for (label, target) in tail.definitions {
            self.split.definitions.entry(label).or_insert(target);
        }
        if self.split.definitions.len() != known {
            self.definitions_revision += 1;
        }
        first_block
    }

    /// The last top-level block whose start no further text can change.
    fn restart_root(&self, old_len: usize) -> Option<usize> {
        let roots = &self.split.roots;
        (1..roots.len()).rev().find(|&at| {
            let start = roots[at].start;
            let line_is_complete = self.source()[start..old_len].contains('\n');
            let before = self.source()[..start].trim_end_matches([' ', '\t']);
            let line_before = before.strip_suffix('\n').unwrap_or(before);
            let line_before = line_before.rsplit('\n').next().unwrap_or_default();
            line_is_complete && (line_before.trim().is_empty() || self.follows_closed(at))
        })
    }

    /// Whether a root comes right after one that no text can continue. A definition of a link between the two is
    /// no root and may go on as a paragraph.
    fn follows_closed(&self, at: usize) -> bool {
        let (before, root) = (self.split.roots[at - 1], self.split.roots[at]);
        let last_block = root.first_block.checked_sub(1);
        let end = last_block.map_or(root.start, |block| self.split.blocks[block].range.end);
        let between = &self.source()[end.min(root.start)..root.start];
        before.closed && between.trim().is_empty()
    }

    /// The common case of a long open code block: as long as no closing fence arrives it just grows.
    fn grow_open_fence(&mut self, old_len: usize) -> Option<usize> {
        let source = self.text.as_str();
        let root = self.split.roots.last().filter(|root| !root.closed)?;
        let at = root.first_block;
        if at + 1 != self.split.blocks.len() {
            return None;
        }
        let block = self.split.blocks.last_mut()?;
        let BlockKind::Code { parts, .. } = &mut block.kind else {
            return None;
        };
        let first_line = source[block.range.start..old_len].lines().next()?;
        let fence = Fence::opened_by(first_line)?;
        let [part] = &mut parts[..] else {
            return None;
        };
        let unindented = block.range.start == root.start;
        let code_ends_text = part.end == old_len && part.start < part.end;
        let last_line = source[..old_len].rfind('\n').map_or(0, |end| end + 1);
        let added = &source[last_line.max(part.start)..];
        // The parser drops a last line that is only white space so far.
        let open_line = added.rsplit('\n').next().unwrap_or_default();
        let blank = !open_line.is_empty() && open_line.trim().is_empty();
        let plain = unindented && code_ends_text && !blank && !added.contains('\r');
        if !plain || added.split('\n').any(|line| fence.is_closed_by(line)) {
            return None;
        }
        part.end = source.len();
        block.range.end = source.trim_end().len().max(block.range.start);
        Some(at)
    }
}
