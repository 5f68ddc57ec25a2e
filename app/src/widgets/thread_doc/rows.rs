//! The rows a message is shown as.

/// Height of the free space below the last message, in points.
pub(super) const END_HEIGHT: f32 = 28.0;
/// Height of the line with the speaker's name.
pub(super) const HEADER_HEIGHT: f32 = 24.0;
/// Space inside the person's messages, above and below.
pub(super) const USER_PADDING: f32 = 10.0;
/// Height of a line that opens something: reasoning, a context block.
pub(super) const SUMMARY_HEIGHT: f32 = 28.0;
/// Height of the line above a code block, with its language and buttons.
pub(super) const CODE_HEAD_HEIGHT: f32 = 32.0;
/// Height of what closes a code block.
pub(super) const CODE_FOOT_HEIGHT: f32 = 10.0;
/// Height of what closes a code block that has more lines, or can show fewer.
pub(super) const CODE_MORE_HEIGHT: f32 = 34.0;
/// Space at the left and right of code.
pub(super) const CODE_PADDING: f32 = 12.0;
/// Code of more lines is shown collapsed.
pub(super) const COLLAPSE_OVER_LINES: usize = 40;
/// How many lines collapsed code shows.
pub(super) const COLLAPSED_LINES: usize = 20;

/// Which part of a message a row is. Numbers are those of blocks, parts of tables, chunks of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RowKey {
    /// The whole message, not split yet.
    Unsplit,
    /// The speaker's line.
    Header,
    /// The line that opens a context block.
    Context(u32),
    /// A chunk of an open context block.
    ContextBody(u32, u32),
    /// The line that opens the reasoning.
    Reasoning,
    /// A block of the open reasoning.
    ReasoningBlock(u32),
    /// A block, or a part of a table.
    Block(u32, u32),
    /// The line above a code block.
    CodeHead(u32),
    /// A chunk of a code block.
    CodeBody(u32, u32),
    /// What closes a code block.
    CodeFoot(u32),
    /// What became of the message, or that it is on its way.
    Status,
    /// What went wrong.
    Error,
    /// The space inside at the end of the person's message.
    Bottom,
}

impl RowKey {
    /// The block of the message's text that the row shows.
    pub(super) fn block(self) -> Option<usize> {
        match self {
            Self::Block(block, _)
            | Self::CodeHead(block)
            | Self::CodeBody(block, _)
            | Self::CodeFoot(block) => Some(block as usize),
            _ => None,
        }
    }
}

/// A row, with the space above it that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    pub key: RowKey,
    pub gap: f32,
}
