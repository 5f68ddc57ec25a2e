//! One block laid out: galleys, what is drawn around them, and where their letters come from.

use std::{ops::Range, sync::Arc};

use egui::{
    Color32, Context, FontId, Galley, Painter, Pos2, Rect, Vec2, pos2,
    text::{LayoutJob, TextFormat},
    vec2,
};

use super::{
    blocks::{Block, BlockKind, Definitions, Marker, Place},
    inline::{InlineStyle, InlineText, Typography, inline_text},
    table,
    text_map::TextMap,
};
use crate::{theme::SpaceMetrics, widgets::icons};

const QUOTE_INDENT: f32 = 16.0;
const LIST_INDENT: f32 = 22.0;
/// How wide a line break is shown where it is selected.
const LINE_BREAK_WIDTH: f32 = 5.0;

/// A link inside a piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Bytes of the displayed text.
    pub display: Range<usize>,
    /// Where it leads.
    pub url: Arc<str>,
}

/// A galley with its place in the block.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The text.
    pub galley: Arc<Galley>,
    /// Where it lies, from the block's top left.
    pub offset: Vec2,
    /// Where its letters come from; empty for what is no part of the source.
    pub map: TextMap,
    /// Its links.
    pub links: Vec<Link>,
}

/// A filled rectangle of a block: a quote's line, a rule, a background.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    /// Where, from the block's top left.
    pub rect: Rect,
    /// Its colour.
    pub color: Color32,
    /// Radius of its corners.
    pub radius: f32,
}

/// A block ready to be painted again and again.
#[derive(Clone, Debug, Default)]
pub struct BlockLayout {
    /// What the block occupies.
    pub size: Vec2,
    /// Its texts.
    pub pieces: Vec<Piece>,
    /// What is painted beneath them.
    pub fills: Vec<Fill>,
}

impl BlockLayout {
    /// Paints what lies beneath the text.
    pub fn paint_fills(&self, painter: &Painter, origin: Pos2) {
        for fill in &self.fills {
            painter.rect_filled(
                fill.rect.translate(origin.to_vec2()),
                fill.radius,
                fill.color,
            );
        }
    }

    /// Paints the text.
    pub fn paint_text(&self, painter: &Painter, origin: Pos2) {
        for piece in &self.pieces {
            painter.galley(
                origin + piece.offset,
                piece.galley.clone(),
                Color32::PLACEHOLDER,
            );
        }
    }

    /// About how much memory the layout takes, in bytes.
    pub fn bytes(&self) -> usize {
        let galley = |piece: &Piece| {
            let galley = &piece.galley;
            let glyphs: usize = galley.rows.iter().map(|row| row.glyphs.len()).sum();
            galley.num_vertices * 20
                + galley.num_indices * 4
                + glyphs * 72
                + galley.rows.len() * 200
                + galley.job.text.len()
                + galley.job.sections.len() * 160
        };
        200 + self.pieces.iter().map(galley).sum::<usize>()
    }
}

/// The space above `block`, in points, where `before` is what comes before it in the same message.
pub fn gap_before(space: &SpaceMetrics, before: Option<&Block>, block: &Block) -> f32 {
    let Some(before) = before else { return 0.0 };
    match (&before.kind, &block.kind) {
        (
            _,
            BlockKind::Paragraph {
                continued: true, ..
            },
        ) => 0.0,
        (BlockKind::Heading { .. }, _) => space.related,
        (_, BlockKind::Heading { .. }) => space.between_blocks + space.inside_chip,
        _ if block.place.tight && before.place.lists > 0 => space.inside_chip,
        _ if block.place.lists > 0 => space.related,
        _ if block.place.quotes > 0 && before.place.quotes > 0 => space.related,
        _ => space.between_blocks - space.inside_chip,
    }
}

/// What a block's layout depends on besides the block.
pub struct BlockContext<'a> {
    /// Where galleys come from.
    pub ctx: &'a Context,
    /// The text all ranges point into.
    pub source: &'a str,
    /// Targets of reference links.
    pub definitions: &'a Definitions,
    /// How text looks.
    pub typography: &'a Typography,
    /// The width there is, in points.
    pub width: f32,
    /// The whole text is less important than others.
    pub secondary: bool,
}

impl BlockContext<'_> {
    pub(super) fn inline(&self, lines: &[Range<usize>], style: InlineStyle) -> InlineText {
        inline_text(self.source, lines, self.definitions, self.typography, style)
    }

    pub(super) fn galley(&self, mut job: LayoutJob, width: f32) -> Arc<Galley> {
        job.wrap.max_width = width;
        self.ctx.fonts_mut(|fonts| fonts.layout_job(job))
    }

    /// Lays out inline text, and what lies behind its code spans.
    pub(super) fn piece(&self, text: InlineText, offset: Vec2, width: f32) -> (Piece, Vec<Fill>) {
        let galley = self.galley(text.job, width);
        let mut fills = code_fills(self.typography, &galley, &text.code, offset);
        for (display, _) in &text.links {
            fills.extend(underline(self, &galley, display, offset));
        }
        let piece = Piece {
            galley,
            offset,
            map: text.map,
            links: text
                .links
                .into_iter()
                .map(|(display, url)| Link { display, url })
                .collect(),
        };
        (piece, fills)
    }

    fn label(&self, text: String, format: TextFormat) -> Arc<Galley> {
        self.galley(LayoutJob::simple_format(text, format), f32::INFINITY)
    }
}

/// Lays out a block that is no code. `part` chooses which rows of a long table. `gap` is the space above that the
/// lines of the first `joined_quotes` quotes run through.
pub fn layout_block(
    cx: &BlockContext<'_>,
    block: &Block,
    part: usize,
    gap: f32,
    joined_quotes: u8,
) -> BlockLayout {
    let place = block.place;
    let indent = indent(place);
    let width = (cx.width - indent).max(40.0);
    let prose = width.min(cx.typography.prose_width());
    let style = InlineStyle {
        secondary: cx.secondary || place.quotes > 0,
        ..InlineStyle::default()
    };
    let at = vec2(indent, gap);
    let whole = std::slice::from_ref(&block.range);
    let mut layout = match &block.kind {
        BlockKind::Paragraph { lines, .. } => {
            let lines = lines.as_deref().unwrap_or(whole);
            text_block(cx, cx.inline(lines, style), at, prose)
        }
        BlockKind::Heading { level, lines } => {
            let lines = lines.as_deref().unwrap_or(whole);
            let heading = InlineStyle {
                heading: *level,
                ..style
            };
            text_block(cx, cx.inline(lines, heading), at, prose)
        }
        BlockKind::Html { lines } => text_block(cx, literal(cx, lines, style), at, prose),
        BlockKind::Table {
            alignments,
            head,
            rows,
        } => table::layout_table(cx, alignments, head, rows, part, at, width),
        BlockKind::Rule => rule(cx, at, prose),
        BlockKind::Code { .. } => BlockLayout::default(),
    };
    add_marker(cx, &mut layout, place, gap);
    add_quotes(cx, &mut layout, place.quotes, gap, joined_quotes);
    layout
}

/// How far a block's text stands to the right.
pub fn indent(place: Place) -> f32 {
    // Deeper nesting than this leaves no room for text.
    f32::from(place.quotes.min(6)) * QUOTE_INDENT + f32::from(place.lists.min(8)) * LIST_INDENT
}

fn text_block(cx: &BlockContext<'_>, text: InlineText, at: Vec2, width: f32) -> BlockLayout {
    // What lies behind code at a line's end reaches beyond its letters.
    let overhang = if text.code.is_empty() {
        0.0
    } else {
        CODE_OVERHANG
    };
    let (piece, fills) = cx.piece(text, at, width - overhang);
    let height = piece.galley.size().y.max(cx.typography.prose_line);
    BlockLayout {
        size: vec2(at.x + width, at.y + height),
        pieces: vec![piece],
        fills,
    }
}

/// How much wider the background of code is than its letters, in points.
const CODE_OVERHANG: f32 = 5.0;

fn code_fills(
    typography: &Typography,
    galley: &Galley,
    spans: &[Range<usize>],
    offset: Vec2,
) -> Vec<Fill> {
    let height = typography.tokens.metrics.typ.code + 4.0;
    let fill = |rect: Rect| Fill {
        rect: Rect::from_center_size(rect.center(), vec2(rect.width() + CODE_OVERHANG, height))
            .translate(offset),
        color: typography.code_fill_raised,
        radius: typography.tokens.metrics.radius.control,
    };
    spans
        .iter()
        .flat_map(|span| display_rects(galley, span))
        .map(fill)
        .collect()
}

/// The line under a link, close to its letters whatever the height of the line of text is.
fn underline<'a>(
    cx: &'a BlockContext<'_>,
    galley: &Galley,
    display: &Range<usize>,
    offset: Vec2,
) -> impl Iterator<Item = Fill> + 'a {
    let (pixel, color) = (pixel(cx.ctx), cx.typography.tokens.accent);
    let below_middle = cx.typography.tokens.metrics.typ.ui * 0.5;
    display_rects(galley, display)
        .into_iter()
        .map(move |rect| Fill {
            rect: Rect::from_min_size(
                pos2(rect.left(), rect.center().y + below_middle) + offset,
                vec2(rect.width(), pixel),
            ),
            color,
            radius: 0.0,
        })
}

/// The rectangles of displayed bytes, one for each row they are on.
pub fn display_rects(galley: &Galley, display: &Range<usize>) -> Vec<Rect> {
    let text = galley.text();
    let chars_before = |byte: usize| text[..text.floor_char_boundary(byte)].chars().count();
    let (start, end) = (chars_before(display.start), chars_before(display.end));
    let mut rects = Vec::new();
    let mut first = 0;
    for row in &galley.rows {
        let count = row.char_count_excluding_newline().0;
        let with_break = row.char_count_including_newline().0;
        if start < first + with_break && end > first {
            let from = row.x_offset(start.saturating_sub(first).into());
            // Where the last character ends, not where the next one begins: there may be room between them.
            let last = (end - first).min(count).checked_sub(1);
            let last = last.and_then(|last| row.glyphs.get(last));
            let mut to = last.map_or(from, |glyph| glyph.max_x());
            if end > first + count && row.ends_with_newline {
                // The line break is part of it.
                to += LINE_BREAK_WIDTH;
            }
            let x = row.pos.x;
            rects.push(Rect::from_min_max(
                pos2(x + from, row.min_y()),
                pos2(x + to, row.max_y()),
            ));
        }
        first += with_break;
    }
    rects
}

fn literal(cx: &BlockContext<'_>, lines: &[Range<usize>], style: InlineStyle) -> InlineText {
    let format = cx.typography.format(InlineStyle {
        code: true,
        literal: true,
        secondary: true,
        ..style
    });
    let mut out = InlineText::default();
    for line in lines {
        let text = &cx.source[line.clone()];
        out.map.push(text.len(), line.clone());
        out.job.append(text, 0.0, format.clone());
    }
    let trailing = out.job.text.len() - out.job.text.trim_end().len();
    trim_job(&mut out.job, trailing);
    out
}

fn trim_job(job: &mut LayoutJob, trailing: usize) {
    let len = job.text.len() - trailing;
    job.text.truncate(len);
    for section in &mut job.sections {
        section.byte_range.end = section.byte_range.end.min(len.into());
        section.byte_range.start = section.byte_range.start.min(len.into());
    }
}

fn rule(cx: &BlockContext<'_>, at: Vec2, width: f32) -> BlockLayout {
    let line = pixel(cx.ctx);
    let top = at + vec2(0.0, 4.0);
    BlockLayout {
        size: vec2(at.x + width, top.y + 5.0),
        pieces: Vec::new(),
        fills: vec![Fill {
            rect: Rect::from_min_size(top.to_pos2(), vec2(width, line)),
            color: cx.typography.tokens.border.strong,
            radius: 0.0,
        }],
    }
}

/// One physical pixel in points.
pub(super) fn pixel(ctx: &Context) -> f32 {
    1.0 / ctx.pixels_per_point()
}

fn add_marker(cx: &BlockContext<'_>, layout: &mut BlockLayout, place: Place, gap: f32) {
    let Some(marker) = place.marker else { return };
    let typography = cx.typography;
    let tokens = &typography.tokens;
    let base = typography.format(InlineStyle {
        secondary: true,
        ..InlineStyle::default()
    });
    let (text, format) = match marker {
        Marker::Bullet => ("•".to_owned(), base),
        Marker::Number(number) => {
            let font_id = FontId::new(base.font_id.size, typography.families.tabular.clone());
            (format!("{number}."), TextFormat { font_id, ..base })
        }
        Marker::Task(done) => {
            let font_id = FontId::new(tokens.metrics.size.icon, typography.families.icons.clone());
            let (icon, color) = if done {
                (icons::CHECK_SQUARE, tokens.state.ok)
            } else {
                (icons::SQUARE, tokens.text.secondary)
            };
            let format = TextFormat {
                font_id,
                color,
                ..base
            };
            (icon.to_string(), format)
        }
    };
    let galley = cx.label(text, format);
    let right = indent(place) - 7.0;
    layout.pieces.push(Piece {
        offset: vec2(right - galley.size().x, gap),
        galley,
        map: TextMap::default(),
        links: Vec::new(),
    });
}

fn add_quotes(cx: &BlockContext<'_>, layout: &mut BlockLayout, quotes: u8, gap: f32, joined: u8) {
    for quote in 0..quotes.min(6) {
        let top = if quote < joined { 0.0 } else { gap };
        let left = f32::from(quote) * QUOTE_INDENT;
        layout.fills.push(Fill {
            rect: Rect::from_min_max(pos2(left, top), pos2(left + 2.0, layout.size.y)),
            color: cx.typography.tokens.border.strong,
            radius: 0.0,
        });
    }
}

/// Lays out `text` as it is, without Markdown, at `offset` and at most `width` points wide.
pub fn layout_text(
    ctx: &Context,
    typography: &Typography,
    text: &str,
    style: InlineStyle,
    offset: Vec2,
    width: f32,
) -> BlockLayout {
    let mut job = LayoutJob::single_section(text.to_owned(), typography.format(style));
    job.wrap.max_width = width;
    let galley = ctx.fonts_mut(|fonts| fonts.layout_job(job));
    BlockLayout {
        size: offset + galley.size(),
        pieces: vec![Piece {
            galley,
            offset,
            map: TextMap::default(),
            links: Vec::new(),
        }],
        fills: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::theme::{ThemeName, Tokens, fonts};
    use crate::widgets::markdown::{Typography, split_blocks};

    #[test]
    fn no_text_is_wider_than_its_box() {
        let ctx = Context::default();
        ctx.set_fonts(fonts::definitions_for_tests());
        let texts = [
            format!("<div>{}</div>", "x".repeat(3_000)),
            format!("<a href=\"{}\">go</a>", "q=1&".repeat(900)),
            format!("a <b>{}</b> c", "x".repeat(3_000)),
            format!("https://example.org/{}", "path/".repeat(600)),
            format!("# {}", "W".repeat(900)),
            format!("- {}", "i".repeat(4_000)),
            format!("> `{}`", "code".repeat(700)),
            format!("| a | b |\n|---|---|\n| {} | x |", "m".repeat(900)),
            "世".repeat(1_500),
            "👩‍👩‍👧".repeat(400),
            format!("e{}", "\u{301}".repeat(3_000)),
            "e\u{301}\u{323}".repeat(1_500),
            "\u{200b}".repeat(2_000),
            format!("{}\u{202e}{}", "شلام ".repeat(300), "abc".repeat(300)),
            "\u{a0}x".repeat(1_500),
        ];
        let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
            let tokens = Arc::new(Tokens::builtin(ThemeName::Dark));
            let typography = Typography::new(tokens, ui.ctx());
            for text in &texts {
                let split = split_blocks(text);
                for block in &split.blocks {
                    let cx = BlockContext {
                        ctx: ui.ctx(),
                        source: text,
                        definitions: &split.definitions,
                        typography: &typography,
                        width: 400.0,
                        secondary: false,
                    };
                    let layout = layout_block(&cx, block, 0, 0.0, 0);
                    let right = |piece: &Piece| piece.offset.x + piece.galley.mesh_bounds.right();
                    let widest = layout.pieces.iter().map(right).fold(0.0, f32::max);
                    let start: String = text.chars().take(20).collect();
                    assert!(widest <= 401.0, "{widest} points: {start}");
                }
            }
        });
        output.textures_delta.clear();
    }
}
