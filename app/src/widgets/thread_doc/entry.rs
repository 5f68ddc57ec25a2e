//! One message of a thread: its text, split when needed, and the rows that show it.

use std::{collections::HashMap, ops::Range, sync::Arc};

use super::{
    message::{Continuation, MessageRole, MessageStatus, MessageView},
    rows::{
        CODE_FOOT_HEIGHT, CODE_HEAD_HEIGHT, CODE_MORE_HEIGHT, COLLAPSE_OVER_LINES, COLLAPSED_LINES,
        HEADER_HEIGHT, Row, RowKey, SUMMARY_HEIGHT, USER_PADDING,
    },
};
use crate::theme::Metrics;
use crate::widgets::{
    code_text::{LINES_PER_CHUNK, code_chunks, code_lines},
    markdown::{Block, BlockKind, MarkdownDoc, TABLE_ROWS_PER_PART, gap_before, table_parts},
    shared_text::SharedText,
};

/// Line height and characters a line that estimates of heights go by.
const LINE: f32 = 19.0;
const CHARS: f32 = 80.0;
const CODE_LINE: f32 = 18.0;
/// How many bytes of a text an estimate of its height looks at.
const ESTIMATE_SAMPLE: usize = 512;

enum Text {
    Raw(SharedText),
    Split(Box<MarkdownDoc>),
}

/// A code block's lines and how the person wants to see them.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    pub lines: Vec<Range<usize>>,
    pub wrap: bool,
    /// Open or collapsed by the person's choice.
    pub expanded: Option<bool>,
    /// How far the code is scrolled to the right, in points.
    pub scroll: f32,
    /// Width of the widest line seen so far.
    pub widest: f32,
}

pub(super) struct Entry {
    pub view: MessageView,
    pub uid: u32,
    metrics: Arc<Metrics>,
    text: Text,
    /// Text that arrived and waits for the next frame.
    pub pending: String,
    pub rows: Vec<Row>,
    pub codes: HashMap<u32, Code>,
    pub reasoning: MarkdownDoc,
    pub reasoning_open: bool,
    pub context_open: Vec<bool>,
    pub context_lines: HashMap<u32, Vec<Range<usize>>>,
    /// The message was seen being written: nothing of it collapses by itself.
    streamed: bool,
}

impl Entry {
    pub(super) fn new(view: MessageView, uid: u32, metrics: Arc<Metrics>) -> Self {
        Self {
            text: Text::Raw(view.content.clone()),
            uid,
            metrics,
            pending: String::new(),
            rows: vec![Row {
                key: RowKey::Unsplit,
                gap: 0.0,
            }],
            codes: HashMap::new(),
            reasoning: MarkdownDoc::default(),
            reasoning_open: false,
            context_open: vec![false; view.context.len()],
            context_lines: HashMap::new(),
            streamed: matches!(view.status, MessageStatus::Streaming { .. }),
            view: MessageView {
                content: SharedText::default(),
                ..view
            },
        }
    }

    pub(super) fn source(&self) -> &str {
        match &self.text {
            Text::Raw(text) => text,
            Text::Split(doc) => doc.source(),
        }
    }

    pub(super) fn is_split(&self) -> bool {
        matches!(self.text, Text::Split(_))
    }

    pub(super) fn split(&mut self) {
        if let Text::Raw(text) = &self.text {
            self.text = Text::Split(Box::new(MarkdownDoc::new(text.clone())));
            let reasoning = std::mem::take(&mut self.view.reasoning);
            if !reasoning.is_empty() {
                self.reasoning = MarkdownDoc::new(reasoning);
            }
        }
    }

    pub(super) fn doc(&self) -> Option<&MarkdownDoc> {
        match &self.text {
            Text::Raw(_) => None,
            Text::Split(doc) => Some(doc),
        }
    }

    pub(super) fn blocks(&self) -> &[Block] {
        self.doc().map_or(&[], MarkdownDoc::blocks)
    }

    /// Appends text; the first block that may have changed.
    pub(super) fn push_content(&mut self, text: &str) -> usize {
        self.streamed = true;
        match &mut self.text {
            Text::Raw(raw) => {
                self.text = Text::Raw(format!("{}{text}", &**raw).into());
                0
            }
            Text::Split(doc) => doc.push(text),
        }
    }

    pub(super) fn push_reasoning(&mut self, text: &str) {
        if self.is_split() {
            self.reasoning.push(text);
        } else {
            self.view.reasoning = format!("{}{text}", &*self.view.reasoning).into();
        }
    }

    pub(super) fn set_reasoning(&mut self, text: &str) {
        self.reasoning = MarkdownDoc::default();
        self.view.reasoning = SharedText::default();
        self.push_reasoning(text);
    }

    pub(super) fn has_reasoning(&self) -> bool {
        !self.view.reasoning.is_empty() || !self.reasoning.source().is_empty()
    }

    pub(super) fn is_streaming(&self) -> bool {
        matches!(self.view.status, MessageStatus::Streaming { .. })
    }

    /// A guess at the whole message's height from its length and how often its beginning breaks lines, so that opening
    /// a thread doesn't have to read it.
    pub(super) fn unsplit_estimate(&self) -> f32 {
        let text = self.source();
        let sample = &text.as_bytes()[..text.len().min(ESTIMATE_SAMPLE)];
        let breaks = memchr::memchr_iter(b'\n', sample).count() as f32;
        let breaks = breaks * text.len() as f32 / sample.len().max(1) as f32;
        let lines = (text.len() as f32 / CHARS + breaks * 0.6).max(1.0);
        let extra = self.view.context.len() as f32 * SUMMARY_HEIGHT;
        HEADER_HEIGHT + self.metrics.space.between_speakers + extra + lines * LINE
    }

    /// A guess at one row's height.
    pub(super) fn estimate(&self, row: &Row) -> f32 {
        let height = match row.key {
            RowKey::Unsplit => self.unsplit_estimate(),
            RowKey::Header => HEADER_HEIGHT,
            RowKey::Context(_) | RowKey::Reasoning => SUMMARY_HEIGHT,
            RowKey::ContextBody(..) => CODE_LINE * LINES_PER_CHUNK as f32 / 2.0,
            RowKey::ReasoningBlock(block) => {
                estimate_block(self.reasoning.blocks().get(block as usize), 0)
            }
            RowKey::Block(block, part) => {
                estimate_block(self.blocks().get(block as usize), part as usize)
            }
            RowKey::CodeHead(_) => CODE_HEAD_HEIGHT,
            RowKey::CodeBody(block, chunk) => {
                CODE_LINE * self.code_chunk(block, chunk).len() as f32
            }
            RowKey::CodeFoot(block) => self.code_foot_height(block),
            RowKey::Status => LINE,
            RowKey::Error => 2.0 * LINE + 24.0,
            RowKey::Bottom => USER_PADDING,
        };
        row.gap + height
    }

    /// How many lines of a code block are shown.
    pub(super) fn shown_lines(&self, block: u32) -> usize {
        let lines = self.codes.get(&block).map_or(0, |code| code.lines.len());
        if self.is_collapsed(block) {
            lines.min(COLLAPSED_LINES)
        } else {
            lines
        }
    }

    pub(super) fn is_collapsed(&self, block: u32) -> bool {
        self.codes.get(&block).is_some_and(|code| {
            code.lines.len() > COLLAPSE_OVER_LINES && !code.expanded.unwrap_or(self.streamed)
        })
    }

    /// Opens the collapsed code that hides byte `byte` of the source, if any does.
    pub(super) fn uncover(&mut self, byte: usize) -> bool {
        let hides = |(block, code): (&u32, &Code)| {
            let shown = self.shown_lines(*block);
            let hidden = code.lines.get(shown..).unwrap_or_default();
            let (first, last) = (hidden.first()?, hidden.last()?);
            (first.start..=last.end).contains(&byte).then_some(*block)
        };
        let Some(block) = self.codes.iter().find_map(hides) else {
            return false;
        };
        if let Some(code) = self.codes.get_mut(&block) {
            code.expanded = Some(true);
        }
        true
    }

    /// The line numbers of one chunk of a code block.
    pub(super) fn code_chunk(&self, block: u32, chunk: u32) -> Range<usize> {
        let shown = self.shown_lines(block);
        let start = (chunk as usize * LINES_PER_CHUNK).min(shown);
        start..(start + LINES_PER_CHUNK).min(shown)
    }

    pub(super) fn code_foot_height(&self, block: u32) -> f32 {
        let lines = self.codes.get(&block).map_or(0, |code| code.lines.len());
        let was_chosen = self
            .codes
            .get(&block)
            .is_some_and(|code| code.expanded.is_some());
        if lines > COLLAPSE_OVER_LINES && (was_chosen || self.is_collapsed(block)) {
            CODE_MORE_HEIGHT
        } else {
            CODE_FOOT_HEIGHT
        }
    }

    /// How many rows come before those that show block `block` and what follows it.
    pub(super) fn rows_before_block(&self, block: usize) -> usize {
        let comes_before = |row: &Row| match row.key {
            RowKey::Status | RowKey::Error | RowKey::Bottom => false,
            key => key.block().is_none_or(|other| other < block),
        };
        // The rows that change are at the end, and few.
        self.rows
            .iter()
            .rposition(comes_before)
            .map_or(0, |at| at + 1)
    }

    /// The row, counted inside the message, that shows byte `byte` of the source.
    pub(super) fn row_at_byte(&self, byte: usize) -> usize {
        let shows = |row: &Row| {
            let block = row.key.block().and_then(|block| self.blocks().get(block));
            let Some(block) = block.filter(|block| block.range.end >= byte) else {
                return false;
            };
            match row.key {
                RowKey::CodeBody(code, chunk) => {
                    let lines = self.codes.get(&code).map_or(&[][..], |code| &code.lines);
                    let chunk = self.code_chunk(code, chunk);
                    lines
                        .get(chunk)
                        .and_then(<[_]>::last)
                        .is_some_and(|line| line.end >= byte)
                }
                RowKey::CodeHead(_) => false,
                RowKey::Block(_, part) => {
                    let BlockKind::Table { rows, .. } = &block.kind else {
                        return true;
                    };
                    let part = rows.chunks(TABLE_ROWS_PER_PART).nth(part as usize);
                    let last = part.and_then(<[_]>::last).and_then(|row| row.last());
                    last.is_none_or(|cell| cell.end >= byte)
                }
                _ => true,
            }
        };
        self.rows.iter().position(shows).unwrap_or(0)
    }

    /// All rows of the split message.
    pub(super) fn all_rows(&mut self, follows: Continuation) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut row = |key, gap| rows.push(Row { key, gap });
        let space = &self.metrics.space;
        let above = match follows {
            Continuation::First => space.inside_card,
            Continuation::SameSpeaker => space.related,
            Continuation::OtherSpeaker => space.between_speakers,
        };
        row(RowKey::Header, above);
        for (at, &open) in self.context_open.iter().enumerate() {
            let at = at as u32;
            row(RowKey::Context(at), 0.0);
            if open {
                let text = &self.view.context[at as usize].text;
                let lines = self
                    .context_lines
                    .entry(at)
                    .or_insert_with(|| code_lines(text, std::slice::from_ref(&(0..text.len()))));
                for chunk in 0..code_chunks(lines.len()) {
                    row(RowKey::ContextBody(at, chunk as u32), 0.0);
                }
            }
        }
        if self.has_reasoning() {
            row(RowKey::Reasoning, 0.0);
            if self.reasoning_open {
                for block in 0..self.reasoning.blocks().len() {
                    let gap = if block == 0 { 0.0 } else { space.related };
                    row(RowKey::ReasoningBlock(block as u32), gap);
                }
            }
        }
        rows.extend(self.tail_rows(0));
        rows
    }

    /// The rows of block `from` and of everything after it.
    pub(super) fn tail_rows(&mut self, from: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        let Text::Split(doc) = &self.text else {
            return rows;
        };
        let has_summary = self.has_reasoning() || !self.context_open.is_empty();
        for (at, block) in doc.blocks().iter().enumerate().skip(from) {
            let before = at.checked_sub(1).map(|before| &doc.blocks()[before]);
            let gap = match before {
                None if has_summary => self.metrics.space.inside_chip,
                _ => gap_before(&self.metrics.space, before, block),
            };
            let at = at as u32;
            let mut row = |key, gap| rows.push(Row { key, gap });
            match &block.kind {
                BlockKind::Code { parts, .. } => {
                    let code = self.codes.entry(at).or_default();
                    code.lines = code_lines(doc.source(), parts);
                    row(RowKey::CodeHead(at), gap);
                }
                BlockKind::Table { rows: body, .. } => {
                    for part in 0..table_parts(body.len()) {
                        let gap = if part == 0 { gap } else { 0.0 };
                        row(RowKey::Block(at, part as u32), gap);
                    }
                }
                _ => row(RowKey::Block(at, 0), gap),
            }
        }
        let mut rows = self.with_code_bodies(rows);
        let mut row = |key, gap| rows.push(Row { key, gap });
        let space = &self.metrics.space;
        let is_empty = doc_is_empty(&self.text);
        match &self.view.status {
            MessageStatus::Complete => {}
            MessageStatus::Streaming { .. } if is_empty => row(RowKey::Status, 0.0),
            MessageStatus::Streaming { .. } => {}
            MessageStatus::Noted(_) | MessageStatus::Stopped | MessageStatus::CutOff => {
                row(
                    RowKey::Status,
                    if is_empty { 0.0 } else { space.inside_chip },
                );
            }
            MessageStatus::Failed(_) => row(
                RowKey::Error,
                if is_empty {
                    space.inside_chip
                } else {
                    space.inside_card
                },
            ),
        }
        if self.view.role == MessageRole::User {
            row(RowKey::Bottom, 0.0);
        }
        rows
    }

    fn with_code_bodies(&self, rows: Vec<Row>) -> Vec<Row> {
        let mut all = Vec::with_capacity(rows.len());
        for row in rows {
            all.push(row);
            if let RowKey::CodeHead(block) = row.key {
                for chunk in 0..code_chunks(self.shown_lines(block)) {
                    all.push(Row {
                        key: RowKey::CodeBody(block, chunk as u32),
                        gap: 0.0,
                    });
                }
                all.push(Row {
                    key: RowKey::CodeFoot(block),
                    gap: 0.0,
                });
            }
        }
        all
    }
}

fn doc_is_empty(text: &Text) -> bool {
    match text {
        Text::Raw(text) => text.is_empty(),
        Text::Split(doc) => doc.blocks().is_empty(),
    }
}

fn estimate_block(block: Option<&Block>, part: usize) -> f32 {
    let Some(block) = block else { return LINE };
    match &block.kind {
        BlockKind::Rule => 9.0,
        BlockKind::Table { rows, .. } => {
            let rest = rows.len().saturating_sub(part * TABLE_ROWS_PER_PART);
            (rest.min(TABLE_ROWS_PER_PART) + 1) as f32 * (LINE + 10.0)
        }
        _ => (block.range.len() as f32 / CHARS).ceil().max(1.0) * LINE,
    }
}
