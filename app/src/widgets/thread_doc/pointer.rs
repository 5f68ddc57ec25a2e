//! The pointer in a thread: selecting text, following links.

use egui::{CursorIcon, PointerButton, Pos2, Rect, Response, Ui, Vec2, pos2};

use super::{
    Content, ThreadAction, ThreadDoc,
    layout::Column,
    rows::{CODE_PADDING, RowKey},
};
use crate::widgets::{
    markdown::{Bias, BlockLayout, Link, Piece, indent},
    selection::{DocPos, Selection, Unit, grapheme_floor, word_at},
};

/// How fast the list scrolls while a selection is dragged beyond it: points a second for each point beyond.
const AUTOSCROLL: f32 = 12.0;

/// A place in the text of a message.
struct Hit {
    message: usize,
    /// The source range of the grapheme, word or block at the place.
    start: usize,
    end: usize,
}

pub(super) fn handle(doc: &mut ThreadDoc, ui: &Ui, response: &Response, column: Column) {
    if response.clicked() || response.drag_started() {
        doc.content.is_reached_by_keys = false;
        if !response.has_focus() {
            response.request_focus();
        }
    } else if !response.has_focus() {
        doc.content.is_reached_by_keys = true;
    }
    select(doc, ui, response, column);
    links(doc, ui, response, column);
}

fn select(doc: &mut ThreadDoc, ui: &Ui, response: &Response, column: Column) {
    let Some(pointer) = ui.input(|input| input.pointer.interact_pos()) else {
        return;
    };
    let pressed = ui.input(|input| input.pointer.button_pressed(PointerButton::Primary));
    if pressed && response.contains_pointer() && response.is_pointer_button_down_on() {
        let shift = ui.input(|input| input.modifiers.shift);
        press(doc, ui, pointer, column, shift);
    } else if response.triple_clicked() || response.double_clicked() {
        let unit = if response.triple_clicked() {
            Unit::Block
        } else {
            Unit::Word
        };
        if let Some(hit) = doc.content.hit(ui, pointer, column, unit) {
            doc.content.selection = Some(Selection::new(unit, hit.start_pos(), hit.end_pos()));
            doc.list.leave_tail();
        }
    } else if response.dragged_by(PointerButton::Primary) {
        drag(doc, ui, pointer, column);
    }
}

fn press(doc: &mut ThreadDoc, ui: &Ui, pointer: Pos2, column: Column, shift: bool) {
    let unit = Unit::Grapheme;
    let Some(hit) = doc.content.hit(ui, pointer, column, unit) else {
        doc.content.selection = None;
        return;
    };
    match &mut doc.content.selection {
        Some(selection) if shift => selection.extend_to(hit.start_pos(), hit.end_pos()),
        selection => {
            *selection = Some(Selection::new(unit, hit.start_pos(), hit.end_pos()));
        }
    }
}

fn drag(doc: &mut ThreadDoc, ui: &Ui, pointer: Pos2, column: Column) {
    let Some(unit) = doc.content.selection.map(|selection| selection.unit) else {
        return;
    };
    let view = doc.content.view;
    let beyond = (pointer.y - view.bottom()).max(0.0) + (pointer.y - view.top()).min(0.0);
    if beyond != 0.0 {
        let seconds = ui.input(|input| input.stable_dt).min(0.1);
        doc.list.scroll_by(beyond * AUTOSCROLL * seconds);
        ui.ctx().request_repaint();
    }
    if let Some(hit) = doc.content.hit(ui, pointer, column, unit)
        && let Some(selection) = &mut doc.content.selection
    {
        selection.extend_to(hit.start_pos(), hit.end_pos());
        if !selection.is_empty() {
            doc.list.leave_tail();
        }
    }
}

fn links(doc: &mut ThreadDoc, ui: &Ui, response: &Response, column: Column) {
    let Some(pointer) = response.hover_pos() else {
        return;
    };
    let Some(place) = doc.content.row_at(pointer, true) else {
        return;
    };
    let over_text = doc.content.text_at(ui, place, column);
    let Some((layout, origin)) = over_text else {
        return;
    };
    let Some(piece) = piece_at(&layout, pointer - origin.to_vec2(), true) else {
        return;
    };
    let link = link_at(piece, pointer - origin.to_vec2() - piece.offset);
    match link {
        Some(link) => {
            ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
            let url = link.url.clone();
            response.clone().on_hover_text_at_pointer(&*url);
            if response.clicked() {
                doc.content.actions.push(ThreadAction::OpenLink(url));
            }
        }
        None => ui.ctx().set_cursor_icon(CursorIcon::Text),
    }
}

impl Hit {
    fn start_pos(&self) -> DocPos {
        DocPos {
            text: self.message,
            byte: self.start,
        }
    }

    fn end_pos(&self) -> DocPos {
        DocPos {
            text: self.message,
            byte: self.end,
        }
    }
}

impl Content {
    /// The visible row with text at `pos`, or the nearest one unless it has to be `exact`.
    fn row_at(&self, pos: Pos2, exact: bool) -> Option<(usize, Rect)> {
        let distance =
            |rect: &Rect| (rect.top() - pos.y).max(0.0) + (pos.y - rect.bottom()).max(0.0);
        let has_text = |row: usize| {
            self.locate(row).is_some_and(|(at, within)| {
                let key = self.entries[at].rows.get(within).map(|row| row.key);
                matches!(key, Some(RowKey::Block(..) | RowKey::CodeBody(..)))
            })
        };
        self.rects
            .iter()
            .filter(|(row, rect)| has_text(*row) && (!exact || distance(rect) == 0.0))
            .min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)))
            .copied()
    }

    /// The layout of a visible row, and where it is painted.
    fn text_at(
        &mut self,
        ui: &Ui,
        (row, rect): (usize, Rect),
        column: Column,
    ) -> Option<(std::sync::Arc<BlockLayout>, Pos2)> {
        let (at, within) = self.locate(row)?;
        let row = *self.entries[at].rows.get(within)?;
        let layout = self.row_layout(ui.ctx(), at, row, column)?;
        let mut origin = pos2(rect.left() + column.left, rect.top());
        if let RowKey::CodeBody(block, _) = row.key {
            let entry = &self.entries[at];
            let place = entry.blocks().get(block as usize)?.place;
            let scroll = entry.codes.get(&block).map_or(0.0, |code| code.scroll);
            origin.x += indent(place) + CODE_PADDING - scroll;
        }
        Some((layout, origin))
    }

    fn hit(&mut self, ui: &Ui, pointer: Pos2, column: Column, unit: Unit) -> Option<Hit> {
        let (row, rect) = self.row_at(pointer, false)?;
        let (layout, origin) = self.text_at(ui, (row, rect), column)?;
        let piece = piece_at(&layout, pointer - origin.to_vec2(), false)?;
        let (message, within) = self.locate(row)?;
        let key = self.entries[message].rows.get(within)?.key;
        let local = pointer - origin.to_vec2() - piece.offset;
        let display = display_byte(piece, local.to_vec2());
        let text = piece.galley.text();
        let (start, end) = match unit {
            Unit::Grapheme => {
                let byte = grapheme_floor(text, display);
                let bias = if byte == text.len() {
                    Bias::Before
                } else {
                    Bias::After
                };
                let at = piece.map.to_source(byte, bias)?;
                (at, at)
            }
            Unit::Word => {
                let word = word_at(text, display);
                (
                    piece.map.to_source(word.start, Bias::After)?,
                    piece.map.to_source(word.end, Bias::Before)?,
                )
            }
            Unit::Block => {
                let block = key
                    .block()
                    .and_then(|at| self.entries[message].blocks().get(at))?;
                (block.range.start, block.range.end)
            }
        };
        Some(Hit {
            message,
            start: start.min(end),
            end: end.max(start),
        })
    }
}

/// The piece of source text at `pos`, or the nearest one unless it has to be `exact`.
fn piece_at(layout: &BlockLayout, pos: Pos2, exact: bool) -> Option<&Piece> {
    let rect = |piece: &Piece| Rect::from_min_size(piece.offset.to_pos2(), piece.galley.size());
    layout
        .pieces
        .iter()
        .filter(|piece| piece.map.display_len() > 0)
        .map(|piece| (piece, rect(piece).distance_sq_to_pos(pos)))
        .filter(|(_, distance)| !exact || *distance <= 0.0)
        .min_by(|(_, a), (_, b)| a.total_cmp(b))
        .map(|(piece, _)| piece)
}

fn display_byte(piece: &Piece, local: Vec2) -> usize {
    let cursor = piece.galley.cursor_from_pos(local);
    let text = piece.galley.text();
    text.char_indices()
        .nth(cursor.index.0)
        .map_or(text.len(), |(byte, _)| byte)
}

fn link_at(piece: &Piece, local: Pos2) -> Option<&Link> {
    let inside = Rect::from_min_size(Pos2::ZERO, piece.galley.size()).contains(local);
    let byte = display_byte(piece, local.to_vec2());
    let row_end = piece
        .galley
        .rows
        .iter()
        .find(|row| row.rect().y_range().contains(local.y))
        .is_some_and(|row| local.x > row.rect().right());
    piece
        .links
        .iter()
        .find(|link| inside && !row_end && link.display.start <= byte && byte <= link.display.end)
}
