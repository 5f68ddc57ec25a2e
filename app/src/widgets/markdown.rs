//! Markdown as threads show it: split into blocks that become rows, laid out one block at a time.
//!
//! CommonMark with GitHub's tables, strikethrough and task lists. HTML is never interpreted, only shown; formulas
//! between dollar signs stay text.

mod blocks;
mod doc;
mod inline;
mod layout;
mod plain;
mod table;
#[cfg(test)]
mod tests;
mod text_map;

pub use blocks::{Block, BlockKind, Definitions, Marker, Place, Split, split_blocks};
pub use doc::MarkdownDoc;
pub use inline::{InlineStyle, Typography};
pub use layout::{
    BlockContext, BlockLayout, Fill, Link, Piece, display_rects, gap_before, indent, layout_block,
    layout_text,
};
pub use plain::plain_text;
pub use table::{TABLE_ROWS_PER_PART, table_parts};
pub use text_map::{Bias, TextMap};
