//! Laid out rows of a thread, from the cache or made now.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use egui::Context;

use super::{
    Content,
    entry::Entry,
    message::MessageStatus,
    rows::{CODE_PADDING, Row, RowKey},
};
use crate::widgets::{
    code_text::{LINES_PER_CHUNK, code_lines, layout_code},
    highlight::{Highlighter, LineSpans},
    layout_cache::Stamp,
    markdown::{
        BlockContext, BlockKind, BlockLayout, Definitions, InlineStyle, Typography, indent,
        layout_block, layout_text,
    },
};

/// Where a message's text stands in the view, in points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Column {
    pub left: f32,
    pub width: f32,
}

/// Space that is kept free beside the column when the view is narrow.
const MARGIN: f32 = 28.0;
/// Code gets this many characters when the view has room for them.
const CODE_CHARS: f32 = 88.0;

impl Column {
    /// The column inside a view `width` points wide: as wide as prose or code may be, in the middle.
    pub(super) fn inside(width: f32, typography: &Typography) -> Self {
        let code = CODE_CHARS * typography.code_char + 2.0 * CODE_PADDING;
        let wanted = typography.prose_width().max(code);
        let column = wanted.min(width - 2.0 * MARGIN).max(80.0).floor();
        Self {
            left: ((width - column) / 2.0)
                .max(MARGIN.min(width / 8.0))
                .floor(),
            width: column,
        }
    }
}

impl Content {
    /// The layout of a row that has text, or `None` for rows that are painted directly.
    pub(super) fn row_layout(
        &mut self,
        ctx: &Context,
        at: usize,
        row: Row,
        column: Column,
    ) -> Option<Arc<BlockLayout>> {
        let typography = self.typography.clone()?;
        let entry = self.entries.get(at)?;
        let mut hasher = DefaultHasher::new();
        row.gap.to_bits().hash(&mut hasher);
        let spans = code_spans(&mut self.highlighter, entry, row.key);
        hash_content(entry, row.key, spans, &mut hasher)?;
        let stamp = Stamp {
            revision: hasher.finish(),
            width: column.width,
            pixels_per_point: ctx.pixels_per_point(),
            theme_epoch: self.theme_epoch,
        };
        let key = (entry.uid, row.key);
        let layout = self.cache.get_or_make(key, stamp, || {
            let maker = RowMaker {
                ctx,
                entry,
                typography: &typography,
                width: column.width,
            };
            maker.make(row, spans)
        });
        Some(layout)
    }
}

/// The colours known of the lines a row shows.
fn code_spans<'h>(highlighter: &'h mut Highlighter, entry: &Entry, key: RowKey) -> &'h [LineSpans] {
    let RowKey::CodeBody(block, chunk) = key else {
        return &[];
    };
    let (Some(code), Some(BlockKind::Code { language, .. })) = (
        entry.codes.get(&block),
        entry.blocks().get(block as usize).map(|block| &block.kind),
    ) else {
        return &[];
    };
    let source = entry.source();
    let shown = entry.code_chunk(block, chunk);
    // The line that is still being written has no colours yet.
    let grows = entry.is_streaming() && block as usize + 1 == entry.blocks().len();
    let complete = code.lines.len() - usize::from(grows && !code.lines.is_empty());
    let key = u64::from(entry.uid) << 32 | u64::from(block);
    let known = highlighter.lines(key, language, shown.end, complete, |line| {
        &source[code.lines[line].clone()]
    });
    known.get(shown.start..).unwrap_or_default()
}

/// Hashes what a row's content depends on. A message's text only ever grows, so where a block stands says what it is.
fn hash_content(
    entry: &Entry,
    key: RowKey,
    spans: &[LineSpans],
    hasher: &mut DefaultHasher,
) -> Option<()> {
    match key {
        RowKey::Block(block, _) => {
            let block = entry.blocks().get(block as usize)?;
            block.range.hash(hasher);
            std::mem::discriminant(&block.kind).hash(hasher);
            entry.doc()?.definitions_revision().hash(hasher);
            match &block.kind {
                BlockKind::Heading { level, .. } => level.hash(hasher),
                BlockKind::Table { rows, .. } => rows.len().hash(hasher),
                _ => {}
            }
        }
        RowKey::ReasoningBlock(block) => {
            entry
                .reasoning
                .blocks()
                .get(block as usize)?
                .range
                .hash(hasher);
        }
        RowKey::CodeBody(block, chunk) => {
            let code = entry.codes.get(&block)?;
            let lines = entry.code_chunk(block, chunk);
            lines.hash(hasher);
            code.lines.get(lines)?.last().hash(hasher);
            code.wrap.hash(hasher);
            spans.len().hash(hasher);
        }
        RowKey::ContextBody(..) => {}
        RowKey::Error => match &entry.view.status {
            MessageStatus::Failed(error) => error.text.hash(hasher),
            _ => return None,
        },
        _ => return None,
    }
    Some(())
}

struct RowMaker<'a> {
    ctx: &'a Context,
    entry: &'a Entry,
    typography: &'a Typography,
    width: f32,
}

impl RowMaker<'_> {
    fn make(&self, row: Row, spans: &[LineSpans]) -> BlockLayout {
        match row.key {
            RowKey::Block(block, part) => self.block(row, block as usize, part as usize),
            RowKey::ReasoningBlock(block) => self.reasoning(row, block as usize),
            RowKey::CodeBody(block, chunk) => self.code(block, chunk, spans),
            RowKey::ContextBody(context, chunk) => self.context(context, chunk),
            RowKey::Error => self.error(row),
            _ => BlockLayout::default(),
        }
    }

    fn block(&self, row: Row, at: usize, part: usize) -> BlockLayout {
        let (Some(doc), Some(block)) = (self.entry.doc(), self.entry.blocks().get(at)) else {
            return BlockLayout::default();
        };
        let before = at.checked_sub(1).map(|before| &doc.blocks()[before]);
        let joined = before.map_or(0, |before| before.place.quotes.min(block.place.quotes));
        let cx = self.block_context(doc.source(), doc.definitions(), false);
        layout_block(&cx, block, part, row.gap, joined)
    }

    fn block_context<'b>(
        &'b self,
        source: &'b str,
        definitions: &'b Definitions,
        secondary: bool,
    ) -> BlockContext<'b> {
        BlockContext {
            ctx: self.ctx,
            source,
            definitions,
            typography: self.typography,
            width: self.width,
            secondary,
        }
    }

    fn reasoning(&self, row: Row, at: usize) -> BlockLayout {
        let doc = &self.entry.reasoning;
        let Some(block) = doc.blocks().get(at) else {
            return BlockLayout::default();
        };
        if let BlockKind::Code { .. } = block.kind {
            let lines = code_lines(doc.source(), std::slice::from_ref(&block.range));
            let at = egui::vec2(0.0, row.gap);
            let wrap = Some(self.width);
            return layout_code(
                self.ctx,
                doc.source(),
                &lines,
                &[],
                self.typography,
                wrap,
                at,
            );
        }
        let cx = self.block_context(doc.source(), doc.definitions(), true);
        layout_block(&cx, block, 0, row.gap, 0)
    }

    fn code(&self, block: u32, chunk: u32, spans: &[LineSpans]) -> BlockLayout {
        let Some(code) = self.entry.codes.get(&block) else {
            return BlockLayout::default();
        };
        let inner = self.code_width(block);
        let lines = &code.lines[self.entry.code_chunk(block, chunk)];
        layout_code(
            self.ctx,
            self.entry.source(),
            lines,
            spans,
            self.typography,
            code.wrap.then_some(inner),
            egui::Vec2::ZERO,
        )
    }

    fn code_width(&self, block: u32) -> f32 {
        let place = self
            .entry
            .blocks()
            .get(block as usize)
            .map(|block| block.place);
        let indent = place.map_or(0.0, indent);
        (self.width - indent - 2.0 * CODE_PADDING).max(40.0)
    }

    fn context(&self, context: u32, chunk: u32) -> BlockLayout {
        let (Some(view), Some(lines)) = (
            self.entry.view.context.get(context as usize),
            self.entry.context_lines.get(&context),
        ) else {
            return BlockLayout::default();
        };
        let chunk = lines
            .chunks(LINES_PER_CHUNK)
            .nth(chunk as usize)
            .unwrap_or_default();
        let wrap = Some(self.width - 2.0 * CODE_PADDING);
        layout_code(
            self.ctx,
            &view.text,
            chunk,
            &[],
            self.typography,
            wrap,
            egui::Vec2::ZERO,
        )
    }

    fn error(&self, row: Row) -> BlockLayout {
        let MessageStatus::Failed(error) = &self.entry.view.status else {
            return BlockLayout::default();
        };
        let space = &self.typography.tokens.metrics.space;
        let icon = self.typography.tokens.metrics.size.icon + space.related;
        let offset = egui::vec2(space.inside_card + icon, row.gap + space.inside_card);
        let width = self.width - offset.x - space.inside_card;
        layout_text(
            self.ctx,
            self.typography,
            &error.text,
            InlineStyle::default(),
            offset,
            width,
        )
    }
}
