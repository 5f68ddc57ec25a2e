//! Showing a thread: the rows of the list, what lies behind them, and what floats over them.

use std::{sync::Arc, time::Duration};

use egui::{
    Align2, Context, CornerRadius, EventFilter, FontId, Key, Modifiers, Rect, Role, Sense, Ui,
    WidgetInfo, pos2, vec2,
};

use super::{
    Content, ThreadAction, ThreadDoc,
    layout::Column,
    message::{MessageRole, MessageStatus},
    paint, pointer,
    rows::{
        CODE_HEAD_HEIGHT, END_HEIGHT, HEADER_HEIGHT, Row, RowKey, SUMMARY_HEIGHT, USER_PADDING,
    },
    toolbar,
};
use crate::{
    theme::{Tokens, focus_ring, fonts::Families, seat_color},
    widgets::{icons, markdown::Typography, virtual_list::Rows},
};

pub(super) fn show(doc: &mut ThreadDoc, ui: &mut Ui, tokens: &Arc<Tokens>) -> Vec<ThreadAction> {
    let ctx = ui.ctx().clone();
    let content = &mut doc.content;
    content.begin_frame(&ctx, tokens);
    let id = ui.scope_id().with("thread");
    content.list_id = id;
    let Some(typography) = content.typography.clone() else {
        return Vec::new();
    };
    let followed = doc.list.follows_tail();
    let mut rows = ThreadRows {
        content,
        ctx: ctx.clone(),
        typography,
        column: Column {
            left: 0.0,
            width: 0.0,
        },
    };
    rows.column = Column::inside(
        ui.available_width() - crate::widgets::virtual_list::SCROLLBAR_WIDTH,
        &rows.typography,
    );
    let column = rows.column;
    let epoch = rows.content.theme_epoch;
    let output = doc.list.show(ui, id, tokens, epoch, &mut rows);
    doc.content.view = output.view;
    // Rows that were split ahead of the view have moved the numbers of those in it.
    for (rect, placed) in doc.content.rects.iter_mut().zip(doc.list.placed()) {
        rect.0 = placed.row;
    }
    output
        .response
        .widget_info(|| WidgetInfo::labeled(Role::List, true, "Messages"));
    if output.response.has_focus() {
        let filter = EventFilter {
            vertical_arrows: true,
            escape: true,
            ..EventFilter::default()
        };
        ctx.memory_mut(|memory| memory.set_focus_lock_filter(id, filter));
    }
    toolbar::show(&mut doc.content, ui, tokens, column);
    pointer::handle(doc, ui, &output.response, column);
    handle_keys(doc, ui, output.response.has_focus());
    let content = &doc.content;
    if output.response.has_focus() && content.focused.is_none() && content.is_reached_by_keys {
        focus_ring(ui.painter(), content.view.shrink(2.0), tokens);
    }
    for at in std::mem::take(&mut doc.content.reshaped) {
        // What was opened opens below the line that was clicked, which stays where it is.
        doc.list.leave_tail();
        doc.reshape(at);
        ctx.request_repaint();
    }
    count_what_is_new(doc, followed);
    jump_chip(doc, ui, tokens);
    repaint_while_streaming(doc, &ctx);
    std::mem::take(&mut doc.content.actions)
}

fn count_what_is_new(doc: &mut ThreadDoc, followed: bool) {
    if doc.list.follows_tail() {
        doc.seen = None;
    } else if followed || doc.seen.is_none() {
        doc.seen = Some(doc.len());
    }
}

/// The elapsed time of a message on its way changes once a second.
fn repaint_while_streaming(doc: &ThreadDoc, ctx: &Context) {
    let entries = &doc.content.entries;
    if entries
        .iter()
        .rev()
        .take(16)
        .any(|entry| entry.is_streaming())
    {
        ctx.request_repaint_after(Duration::from_secs(1));
    }
}

fn handle_keys(doc: &mut ThreadDoc, ui: &Ui, has_focus: bool) {
    if !has_focus || doc.is_empty() {
        return;
    }
    let pressed = |modifiers, key| ui.input_mut(|input| input.consume_key(modifiers, key));
    let last = doc.len() - 1;
    let visible = doc.content.first_visible().unwrap_or(last);
    if pressed(Modifiers::NONE, Key::ArrowDown) {
        let next = doc.content.focused.map_or(visible, |at| (at + 1).min(last));
        focus_message(doc, next);
    }
    if pressed(Modifiers::NONE, Key::ArrowUp) {
        let next = doc.content.focused.map_or(last, |at| at.saturating_sub(1));
        focus_message(doc, next);
    }
    if pressed(Modifiers::NONE, Key::Enter)
        && let Some(at) = doc.content.focused
    {
        let id = toolbar::first_button(doc.content.list_id, doc.content.entries[at].uid);
        ui.memory_mut(|memory| memory.request_focus(id));
    }
    if pressed(Modifiers::NONE, Key::Escape) {
        doc.content.selection = None;
        doc.content.focused = None;
    }
    if pressed(Modifiers::COMMAND, Key::A) {
        doc.content.selection = Some(crate::widgets::selection::Selection::all(doc.len()));
        doc.list.leave_tail();
    }
    if ui.input(|input| input.events.contains(&egui::Event::Copy)) {
        copy(doc, ui);
    }
}

fn copy(doc: &mut ThreadDoc, ui: &Ui) {
    let text = doc.selected_text();
    if !text.is_empty() {
        ui.ctx().copy_text(text);
        doc.content.actions.push(ThreadAction::CopiedSelection);
    } else if let Some(at) = doc.content.focused {
        let entry = &doc.content.entries[at];
        ui.ctx().copy_text(entry.source().to_owned());
        let action = ThreadAction::CopiedMarkdown(entry.view.id.clone());
        doc.content.actions.push(action);
    }
}

fn focus_message(doc: &mut ThreadDoc, at: usize) {
    doc.content.focused = Some(at);
    let rows = doc.content.rows_of(at);
    let view = doc.content.view;
    let top = doc.content.rects.iter().find(|(row, _)| *row == rows.start);
    let visible = top
        .is_some_and(|(_, rect)| rect.top() >= view.top() - 1.0 && rect.bottom() <= view.bottom());
    if !visible {
        doc.list.jump_to(rows.start, false);
    }
}

fn jump_chip(doc: &mut ThreadDoc, ui: &mut Ui, tokens: &Tokens) {
    if doc.list.follows_tail() || doc.is_empty() {
        return;
    }
    let new = doc.new_below();
    let label = match new {
        0 => "Jump to latest".to_owned(),
        1 => "1 new message".to_owned(),
        _ => format!("{new} new messages"),
    };
    let families = Families::default();
    let text = ui.painter().layout_no_wrap(
        label.clone(),
        FontId::new(tokens.metrics.typ.secondary, families.medium),
        tokens.text.primary,
    );
    let space = &tokens.metrics.space;
    let icon = tokens.metrics.size.icon;
    let size = vec2(
        text.size().x + icon + 2.0 * space.inside_card + space.inside_chip,
        tokens.metrics.size.hit_target_min,
    );
    let view = doc.content.view;
    let center = pos2(
        view.center().x,
        view.bottom() - space.inside_card - size.y / 2.0,
    );
    let rect = Rect::from_center_size(center.round(), size);
    let response = ui.interact(rect, doc.content.list_id.with("latest"), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
    let fill = if response.hovered() {
        tokens.border.subtle
    } else {
        tokens.surface.overlay
    };
    let radius = CornerRadius::same((size.y / 2.0) as u8);
    let painter = ui.painter();
    let shadow = egui::Shadow {
        offset: [0, 2],
        blur: 8,
        spread: 0,
        color: tokens.surface.shadow,
    };
    painter.add(shadow.as_shape(rect, radius));
    let border = egui::Stroke::new(1.0 / ui.pixels_per_point(), tokens.border.strong);
    painter.rect(rect, radius, fill, border, egui::StrokeKind::Inside);
    let icon_rect = Rect::from_min_size(
        pos2(
            rect.left() + space.inside_card,
            rect.center().y - icon / 2.0,
        ),
        vec2(icon, icon),
    );
    icons::paint_icon(ui, icon_rect, icons::ARROW_DOWN, icon - 2.0, tokens.accent);
    let at = Align2::LEFT_CENTER.anchor_size(
        pos2(icon_rect.right() + space.inside_chip, rect.center().y),
        text.size(),
    );
    ui.painter().galley(at.min, text, tokens.text.primary);
    if response.has_focus() {
        focus_ring(ui.painter(), rect, tokens);
    }
    if response.clicked() {
        doc.follow_tail();
    }
}

impl Content {
    fn begin_frame(&mut self, ctx: &Context, tokens: &Arc<Tokens>) {
        self.highlighter.poll();
        let same = self.typography.as_ref().is_some_and(|typography| {
            (Arc::ptr_eq(&typography.tokens, tokens) || *typography.tokens == **tokens)
                && typography.pixels_per_point == ctx.pixels_per_point()
        });
        if !same {
            self.theme_epoch += 1;
            self.typography = Some(Arc::new(Typography::new(tokens.clone(), ctx)));
        }
        self.cache.begin_frame(ctx);
    }

    fn first_visible(&self) -> Option<usize> {
        let (row, _) = self.rects.first()?;
        self.locate(*row).map(|(at, _)| at)
    }

    /// The message's rectangle as far as it is visible, without the space above it.
    pub(super) fn message_rect(&self, at: usize) -> Option<Rect> {
        let rows = self.rows_of(at);
        let mut visible = self.rects.iter().filter(|(row, _)| rows.contains(row));
        let (first, mut rect) = *visible.next()?;
        if let Some((_, last)) = visible.next_back() {
            rect.max = last.max;
        }
        if first == rows.start {
            rect.min.y += self.entries[at].rows.first().map_or(0.0, |row| row.gap);
        }
        Some(rect)
    }

    /// The messages of which something is visible.
    pub(super) fn visible_messages(&self) -> std::ops::Range<usize> {
        let message = |row: Option<&(usize, Rect)>| row.and_then(|(row, _)| self.locate(*row));
        match message(self.rects.first()) {
            Some((first, _)) => {
                let last = message(self.rects.last()).map_or(self.entries.len(), |last| last.0 + 1);
                first..last
            }
            None => 0..0,
        }
    }
}

struct ThreadRows<'a> {
    content: &'a mut Content,
    ctx: Context,
    typography: Arc<Typography>,
    column: Column,
}

impl ThreadRows<'_> {
    fn row(&self, row: usize) -> Option<(usize, Row)> {
        let (at, within) = self.content.locate(row)?;
        Some((at, *self.content.entries[at].rows.get(within)?))
    }
}

impl Rows for ThreadRows<'_> {
    fn expand(&mut self, row: usize) -> Option<Vec<f32>> {
        let (at, _) = self.content.locate(row)?;
        self.content.split_entry(at)
    }

    fn measure(&mut self, row: usize) -> f32 {
        let Some((at, row)) = self.row(row) else {
            return END_HEIGHT;
        };
        let entry = &self.content.entries[at];
        let is_user = entry.view.role == MessageRole::User;
        match row.key {
            RowKey::Header => {
                let continues = self.content.continues(at);
                let padding = if is_user { USER_PADDING } else { 0.0 };
                row.gap + padding + paint::header_height(continues)
            }
            RowKey::Context(_) | RowKey::Reasoning => row.gap + SUMMARY_HEIGHT,
            RowKey::CodeHead(_) => row.gap + CODE_HEAD_HEIGHT,
            RowKey::CodeFoot(block) => entry.code_foot_height(block),
            RowKey::Status => row.gap + self.typography.prose_line,
            RowKey::Bottom => USER_PADDING,
            RowKey::Unsplit => HEADER_HEIGHT,
            RowKey::Error => {
                let layout = self.content.row_layout(&self.ctx, at, row, self.column);
                let has_action = matches!(
                    &self.content.entries[at].view.status,
                    MessageStatus::Failed(error) if error.action.is_some()
                );
                paint::error_height(&self.typography, layout.as_deref(), has_action)
            }
            _ => {
                let layout = self.content.row_layout(&self.ctx, at, row, self.column);
                layout.map_or(0.0, |layout| layout.size.y)
            }
        }
    }

    fn begin(&mut self, ui: &mut Ui, rects: &[(usize, Rect)]) {
        self.content.rects = rects.to_vec();
        let pointer = ui.ctx().pointer_latest_pos();
        let over = pointer.filter(|pos| {
            ui.rect_contains_pointer(ui.clip_rect()) && ui.clip_rect().contains(*pos)
        });
        self.content.hovered = None;
        for at in self.content.visible_messages() {
            let Some(rect) = self.content.message_rect(at) else {
                continue;
            };
            if over.is_some_and(|pos| rect.y_range().contains(pos.y)) {
                self.content.hovered = Some(at);
            }
            let entry = &self.content.entries[at];
            let color = seat_color(entry.view.color, &self.typography.tokens);
            paint::message_background(ui, &self.typography.tokens, entry, rect, self.column, color);
            let id = self.content.list_id.with(("message", entry.uid));
            let node = ui.interact(rect, id, Sense::empty());
            let name = paint::accessible_name(entry);
            node.widget_info(|| WidgetInfo::labeled(Role::ListItem, true, &name));
            let (position, count) = (at + 1, self.content.entries.len());
            let error = match &entry.view.status {
                MessageStatus::Failed(error) => Some(&*error.text),
                _ => None,
            };
            let text = entry.source();
            let value = &text[..text.floor_char_boundary(text.len().min(2000))];
            ui.ctx().accesskit_node_builder(id, |node| {
                node.set_position_in_set(position);
                node.set_size_of_set(count);
                node.set_value(value);
                if let Some(error) = error {
                    node.set_description(error);
                }
                if entry.is_streaming() {
                    node.set_live(egui::accesskit::Live::Polite);
                }
            });
            if self.content.focused == Some(at)
                && ui.memory(|memory| memory.has_focus(self.content.list_id))
            {
                let ring =
                    Rect::from_x_y_ranges(ui.max_rect().x_range(), rect.y_range()).shrink(5.0);
                focus_ring(ui.painter(), ring, &self.typography.tokens);
            }
        }
    }

    fn show(&mut self, ui: &mut Ui, row: usize, rect: Rect) {
        let Some((at, row)) = self.row(row) else {
            return;
        };
        let layout = self.content.row_layout(&self.ctx, at, row, self.column);
        let mut painter = paint::RowPainter {
            content: self.content,
            typography: &self.typography,
            column: self.column,
            at,
            row,
            rect,
        };
        painter.paint(ui, layout.as_deref());
    }
}
