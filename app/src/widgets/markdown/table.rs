//! Tables: columns as wide as their text where there is room, wrapped where there isn't.

use std::ops::Range;

use egui::{Align, Rect, Vec2, pos2, vec2};
use pulldown_cmark::Alignment;

use super::{
    inline::InlineStyle,
    layout::{BlockContext, BlockLayout, Fill, pixel},
};

/// A table of more rows is shown in parts, each a row of the thread.
pub const TABLE_ROWS_PER_PART: usize = 24;

/// Tables of more rows have their columns' widths estimated instead of measured.
const MEASURED_ROWS: usize = 48;

const PADDING: Vec2 = vec2(10.0, 5.0);
const MIN_COLUMN: f32 = 48.0;

type Cells = [Range<usize>];

/// How many parts a table of `rows` rows is shown in.
pub fn table_parts(rows: usize) -> usize {
    rows.div_ceil(TABLE_ROWS_PER_PART).max(1)
}

pub(super) fn layout_table(
    cx: &BlockContext<'_>,
    alignments: &[Alignment],
    head: &Cells,
    rows: &[Box<Cells>],
    part: usize,
    at: Vec2,
    width: f32,
) -> BlockLayout {
    let columns = alignments.len().max(1);
    let widths = column_widths(&wanted_widths(cx, head, rows, columns), width);
    let mut layout = BlockLayout {
        size: vec2(at.x + widths.iter().sum::<f32>(), at.y),
        ..BlockLayout::default()
    };
    let shown = rows
        .iter()
        .skip(part * TABLE_ROWS_PER_PART)
        .take(TABLE_ROWS_PER_PART);
    if part == 0 {
        add_row(cx, &mut layout, head, alignments, &widths, at.x, true);
    }
    for row in shown {
        add_row(cx, &mut layout, row, alignments, &widths, at.x, false);
    }
    layout
}

fn cell_style(cx: &BlockContext<'_>, is_head: bool) -> InlineStyle {
    InlineStyle {
        strong: is_head,
        secondary: cx.secondary,
        ..InlineStyle::default()
    }
}

fn add_row(
    cx: &BlockContext<'_>,
    layout: &mut BlockLayout,
    cells: &Cells,
    alignments: &[Alignment],
    widths: &[f32],
    left: f32,
    is_head: bool,
) {
    let top = layout.size.y;
    let mut x = left;
    let mut height = cx.typography.prose_line;
    for (column, &width) in widths.iter().enumerate() {
        if let Some(cell) = cells.get(column).filter(|cell| cell.start < cell.end) {
            let inner = (width - 2.0 * PADDING.x).max(1.0);
            let text = cx.inline(std::slice::from_ref(cell), cell_style(cx, is_head));
            let (mut piece, fills) = cx.piece(text, Vec2::ZERO, inner.ceil());
            let slack = inner - piece.galley.size().x;
            let shift = match alignment(alignments, column) {
                Align::Min => 0.0,
                Align::Center => slack / 2.0,
                Align::Max => slack,
            };
            piece.offset = vec2(x + PADDING.x + shift.max(0.0), top + PADDING.y);
            height = height.max(piece.galley.size().y);
            layout.fills.extend(fills.into_iter().map(|fill| Fill {
                rect: fill.rect.translate(piece.offset),
                ..fill
            }));
            layout.pieces.push(piece);
        }
        x += width;
    }
    let bottom = top + height + 2.0 * PADDING.y;
    let tokens = &cx.typography.tokens;
    layout.fills.push(Fill {
        rect: Rect::from_min_max(pos2(left, bottom - pixel(cx.ctx)), pos2(x, bottom)),
        color: if is_head {
            tokens.border.strong
        } else {
            tokens.border.subtle
        },
        radius: 0.0,
    });
    layout.size.y = bottom;
}

fn alignment(alignments: &[Alignment], column: usize) -> Align {
    match alignments.get(column) {
        Some(Alignment::Right) => Align::Max,
        Some(Alignment::Center) => Align::Center,
        _ => Align::Min,
    }
}

/// The width each column would like to have.
fn wanted_widths(
    cx: &BlockContext<'_>,
    head: &Cells,
    rows: &[Box<Cells>],
    columns: usize,
) -> Vec<f32> {
    let measure = rows.len() <= MEASURED_ROWS;
    let mut wanted = vec![MIN_COLUMN; columns];
    let all = std::iter::once((head, true)).chain(rows.iter().map(|row| (&**row, false)));
    for (cells, is_head) in all {
        for (column, cell) in cells.iter().enumerate().take(columns) {
            let text = if measure || is_head {
                let text = cx.inline(std::slice::from_ref(cell), cell_style(cx, is_head));
                cx.galley(text.job, f32::INFINITY).size().x
            } else {
                cell.len() as f32 * cx.typography.average_char * 1.1
            };
            wanted[column] = wanted[column].max(text.ceil() + 2.0 * PADDING.x);
        }
    }
    wanted
}

/// Shares `width` out: columns that are content with an equal share get what they want, the others share the rest.
fn column_widths(wanted: &[f32], width: f32) -> Vec<f32> {
    if wanted.iter().sum::<f32>() <= width {
        return wanted.to_vec();
    }
    let mut widths = vec![0.0; wanted.len()];
    let mut open: Vec<usize> = (0..wanted.len()).collect();
    let mut left = width;
    loop {
        let share = (left / open.len().max(1) as f32).max(MIN_COLUMN);
        let (content, greedy): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|&&column| wanted[column] <= share);
        if content.is_empty() || greedy.is_empty() {
            for &column in &open {
                widths[column] = share.min(wanted[column]).floor();
            }
            return widths;
        }
        for &column in &content {
            widths[column] = wanted[column];
            left -= wanted[column];
        }
        open = greedy;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_fit_get_what_they_want() {
        assert_eq!(column_widths(&[50.0, 100.0], 200.0), [50.0, 100.0]);
    }

    #[test]
    fn greedy_columns_share_what_modest_ones_leave() {
        assert_eq!(
            column_widths(&[60.0, 900.0, 500.0], 400.0),
            [60.0, 170.0, 170.0]
        );
    }

    #[test]
    fn long_tables_come_in_parts() {
        assert_eq!([0, 1, 24, 25, 100].map(table_parts), [1, 1, 1, 2, 5]);
    }
}
