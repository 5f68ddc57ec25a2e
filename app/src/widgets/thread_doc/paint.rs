//! Painting the rows of a message.

use std::{ops::Range, time::Duration};

use egui::text::{LayoutJob, TextFormat, TextWrapping};
use egui::{
    Align2, Color32, CornerRadius, CursorIcon, FontFamily, FontId, Id, Painter, Pos2, Rect, Role,
    Sense, Ui, WidgetInfo, pos2, vec2,
};

use super::{
    Content, ThreadAction,
    entry::Entry,
    layout::Column,
    message::{Continuation, MessageRole, MessageStatus},
    rows::{CODE_HEAD_HEIGHT, CODE_PADDING, HEADER_HEIGHT, Row, RowKey, USER_PADDING},
};
use transcript::find_in_text;

use crate::{
    theme::{Tokens, focus_ring, seat_color},
    widgets::{
        icons,
        markdown::{BlockKind, BlockLayout, Piece, Typography, display_rects, indent},
        size_label,
    },
};

/// Time shown for a message on its way only after this long.
const SHOW_ELAPSED_AFTER: Duration = Duration::from_secs(5);
/// Distance of the seat's line from the text.
const SEAT_LINE_DISTANCE: f32 = 14.0;

pub(super) fn header_height(continues: Continuation) -> f32 {
    match continues {
        Continuation::SameSpeaker => 0.0,
        _ => HEADER_HEIGHT,
    }
}

pub(super) fn error_height(
    typography: &Typography,
    layout: Option<&BlockLayout>,
    has_action: bool,
) -> f32 {
    let metrics = &typography.tokens.metrics;
    let text = layout.map_or(0.0, |layout| layout.size.y);
    let button = if has_action {
        metrics.size.hit_target_min + metrics.space.related
    } else {
        0.0
    };
    text + button + metrics.space.inside_card
}

/// What a screen reader calls the message.
pub(super) fn accessible_name(entry: &Entry) -> String {
    let view = &entry.view;
    let time = if view.time.is_empty() {
        String::new()
    } else {
        format!(", {}", view.time)
    };
    let state = match &view.status {
        MessageStatus::Complete => "",
        MessageStatus::Noted(note) => return format!("{}{time}, {note}", view.speaker),
        MessageStatus::Streaming { .. } => ", answering",
        MessageStatus::Stopped => ", stopped",
        MessageStatus::CutOff => ", cut off",
        MessageStatus::Failed(_) => ", failed",
    };
    format!("{}{time}{state}", view.speaker)
}

/// The person's messages lie on a raised band; a seat's have a line in its colour.
pub(super) fn message_background(
    ui: &Ui,
    tokens: &Tokens,
    entry: &Entry,
    rect: Rect,
    column: Column,
    color: Color32,
) {
    match entry.view.role {
        MessageRole::User => {
            let band = Rect::from_x_y_ranges(ui.clip_rect().x_range(), rect.y_range());
            ui.painter().rect_filled(band, 0.0, tokens.surface.raised);
        }
        MessageRole::Seat => {
            let left = rect.left() + column.left - SEAT_LINE_DISTANCE;
            let size = vec2(tokens.metrics.size.seat_line, rect.height());
            let line = Rect::from_min_size(pos2(left, rect.top()), size);
            ui.painter()
                .rect_filled(line, tokens.metrics.size.seat_line / 2.0, color);
        }
        MessageRole::System => {}
    }
}

/// Paints one row.
pub(super) struct RowPainter<'a> {
    pub content: &'a mut Content,
    pub typography: &'a Typography,
    pub column: Column,
    pub at: usize,
    pub row: Row,
    pub rect: Rect,
}

impl RowPainter<'_> {
    fn entry(&self) -> &Entry {
        &self.content.entries[self.at]
    }

    fn tokens(&self) -> &Tokens {
        &self.typography.tokens
    }

    fn left(&self) -> f32 {
        self.rect.left() + self.column.left
    }

    fn is_user(&self) -> bool {
        self.entry().view.role == MessageRole::User
    }

    fn row_id(&self, salt: &'static str) -> Id {
        let key = (self.entry().uid, self.row.key, salt);
        self.content.list_id.with(key)
    }

    pub(super) fn paint(&mut self, ui: &mut Ui, layout: Option<&BlockLayout>) {
        match self.row.key {
            RowKey::Header => self.header(ui),
            RowKey::Block(block, _) => {
                let origin = pos2(self.left(), self.rect.top());
                self.text(layout, origin, ui.painter());
                self.caret(ui, layout, origin, block as usize);
            }
            RowKey::ReasoningBlock(_) => {
                let origin = pos2(self.left(), self.rect.top());
                if let Some(layout) = layout {
                    layout.paint_fills(ui.painter(), origin);
                    layout.paint_text(ui.painter(), origin);
                }
            }
            RowKey::CodeHead(block) => self.code_head(ui, block),
            RowKey::CodeBody(block, _) => self.code_body(ui, block, layout),
            RowKey::CodeFoot(block) => self.code_foot(ui, block),
            RowKey::Context(context) => self.context_line(ui, context),
            RowKey::ContextBody(..) => self.context_body(ui, layout),
            RowKey::Reasoning => self.reasoning_line(ui),
            RowKey::Status => self.status(ui),
            RowKey::Error => self.error(ui, layout),
            RowKey::Unsplit | RowKey::Bottom => {}
        }
    }

    fn small(&self, ui: &Ui, at: Pos2, anchor: Align2, text: &str, color: Color32) -> Rect {
        let size = self.tokens().metrics.typ.secondary;
        let font = FontId::new(size, FontFamily::Proportional);
        paint_text(ui.painter(), at, anchor, text, font, color)
    }

    fn header(&self, ui: &Ui) {
        if self.content.continues(self.at) == Continuation::SameSpeaker {
            return;
        }
        let view = &self.entry().view;
        let tokens = self.tokens();
        let padding = if self.is_user() { USER_PADDING } else { 0.0 };
        let middle = self.rect.top() + self.row.gap + padding + 9.0;
        let name_font = FontId::new(
            tokens.metrics.typ.ui,
            self.typography.families.semibold.clone(),
        );
        let color = match view.role {
            MessageRole::User => tokens.text.primary,
            _ => seat_color(view.color, tokens),
        };
        let at = pos2(self.left(), middle);
        let name = paint_text(
            ui.painter(),
            at,
            Align2::LEFT_CENTER,
            &view.speaker,
            name_font,
            color,
        );
        let mut parts: Vec<String> = Vec::new();
        parts.extend(view.model.as_ref().map(ToString::to_string));
        if !view.time.is_empty() {
            parts.push(view.time.to_string());
        }
        parts.extend(waited(&view.status));
        let at = pos2(name.right() + tokens.metrics.space.related, middle + 0.5);
        self.small(
            ui,
            at,
            Align2::LEFT_CENTER,
            &parts.join("  ·  "),
            tokens.text.secondary,
        );
    }

    /// Paints a layout with what is selected in it.
    fn text(&self, layout: Option<&BlockLayout>, origin: Pos2, painter: &Painter) {
        let Some(layout) = layout else { return };
        layout.paint_fills(painter, origin);
        let len = self.entry().source().len();
        let selected = self
            .content
            .selection
            .as_ref()
            .and_then(|selection| selection.range_in(self.at, len));
        if let Some(selected) = selected {
            for piece in &layout.pieces {
                for rect in selection_rects(piece, &selected) {
                    let rect = rect.translate((origin + piece.offset).to_vec2());
                    painter.rect_filled(rect, 0.0, self.tokens().text.selection);
                }
            }
        }
        if !self.content.marked.is_empty() {
            for piece in layout
                .pieces
                .iter()
                .filter(|piece| piece.map.display_len() > 0)
            {
                let matches = find_in_text(piece.galley.text(), &self.content.marked);
                for rect in matches
                    .iter()
                    .flat_map(|found| display_rects(&piece.galley, found))
                {
                    let rect = rect.translate((origin + piece.offset).to_vec2());
                    painter.rect_filled(rect, 2.0, self.tokens().text.r#match);
                }
            }
        }
        layout.paint_text(painter, origin);
    }

    /// The block at the end of a text that is being written.
    fn caret(&self, ui: &Ui, layout: Option<&BlockLayout>, origin: Pos2, block: usize) {
        let entry = self.entry();
        if !entry.is_streaming() || block + 1 != entry.blocks().len() {
            return;
        }
        let piece = layout.and_then(|layout| {
            layout
                .pieces
                .iter()
                .rfind(|piece| piece.map.display_len() > 0)
        });
        if let Some(piece) = piece {
            let end = piece.galley.pos_from_cursor(piece.galley.end());
            let at = origin + piece.offset + end.right_center().to_vec2();
            self.paint_caret(ui, at);
        }
    }

    fn paint_caret(&self, ui: &Ui, left_center: Pos2) {
        let color = seat_color(self.entry().view.color, self.tokens());
        let size = vec2(7.0, self.tokens().metrics.typ.ui + 1.0);
        let rect = Align2::LEFT_CENTER.anchor_size(left_center + vec2(2.0, 0.0), size);
        ui.painter().rect_filled(rect, 1.0, color);
    }

    fn code_frame(&self, block: u32) -> Rect {
        let place = self
            .entry()
            .blocks()
            .get(block as usize)
            .map(|block| block.place);
        let indent = place.map_or(0.0, indent);
        Rect::from_min_max(
            pos2(self.left() + indent, self.rect.top() + self.row.gap),
            pos2(self.left() + self.column.width, self.rect.bottom()),
        )
    }

    fn code_fill(&self) -> Color32 {
        if self.is_user() {
            self.typography.code_fill_raised
        } else {
            self.typography.code_fill
        }
    }

    fn code_head(&mut self, ui: &mut Ui, block: u32) {
        let frame = self.code_frame(block);
        let radius = self.tokens().metrics.radius.card as u8;
        let corners = CornerRadius {
            nw: radius,
            ne: radius,
            sw: 0,
            se: 0,
        };
        ui.painter().rect_filled(frame, corners, self.code_fill());
        let language = match self
            .entry()
            .blocks()
            .get(block as usize)
            .map(|block| &block.kind)
        {
            Some(BlockKind::Code { language, .. }) => language.clone(),
            _ => Box::default(),
        };
        let at = pos2(
            frame.left() + CODE_PADDING,
            frame.top() + CODE_HEAD_HEIGHT / 2.0,
        );
        let color = self.tokens().text.secondary;
        self.small(ui, at, Align2::LEFT_CENTER, &language, color);

        let side = self.tokens().metrics.size.hit_target_min;
        let top = frame.top() + (CODE_HEAD_HEIGHT - side) / 2.0;
        let slot = |n: f32| {
            let left = frame.right() - 2.0 - n * side;
            Rect::from_min_size(pos2(left, top), vec2(side, side))
        };
        let tokens = self.typography.tokens.clone();
        let copy_id = self.row_id("copy");
        let copy = icons::icon_button_at(ui, &tokens, icons::COPY, "Copy code", slot(1.0), copy_id);
        if copy.clicked() {
            ui.ctx().copy_text(self.code_text(block));
            let id = self.entry().view.id.clone();
            self.content.actions.push(ThreadAction::CopiedCode(id));
        }
        let wraps = self.entry().codes.get(&block).is_some_and(|code| code.wrap);
        let label = if wraps {
            "Don't wrap lines"
        } else {
            "Wrap lines"
        };
        let wrap_id = self.row_id("wrap");
        if icons::icon_button_at(ui, &tokens, icons::WRAP, label, slot(2.0), wrap_id).clicked() {
            let entry = &mut self.content.entries[self.at];
            if let Some(code) = entry.codes.get_mut(&block) {
                code.wrap = !code.wrap;
                code.scroll = 0.0;
                code.widest = 0.0;
            }
            self.content.reshaped.insert(self.at);
        }
    }

    fn code_text(&self, block: u32) -> String {
        let entry = self.entry();
        match entry.blocks().get(block as usize).map(|block| &block.kind) {
            Some(BlockKind::Code { parts, .. }) => parts
                .iter()
                .map(|part| &entry.source()[part.clone()])
                .collect(),
            _ => String::new(),
        }
    }

    fn code_body(&mut self, ui: &mut Ui, block: u32, layout: Option<&BlockLayout>) {
        let frame = self.code_frame(block);
        ui.painter().rect_filled(frame, 0.0, self.code_fill());
        let Some(layout) = layout else { return };
        let inner = frame.shrink2(vec2(CODE_PADDING, 0.0));
        let scrolled = if ui.rect_contains_pointer(frame) {
            ui.input(|input| input.smooth_scroll_delta.x)
        } else {
            0.0
        };
        let mut scroll = 0.0;
        if let Some(code) = self.content.entries[self.at].codes.get_mut(&block) {
            code.widest = code.widest.max(layout.size.x);
            let most = (code.widest - inner.width()).max(0.0);
            code.scroll = (code.scroll - scrolled).clamp(0.0, most);
            scroll = code.scroll;
            if scrolled != 0.0 && most > 0.0 {
                ui.input_mut(|input| input.smooth_scroll_delta.x = 0.0);
            }
        }
        let clip = Rect::from_x_y_ranges(inner.x_range().expand(2.0), frame.y_range());
        let painter = ui.painter().with_clip_rect(clip.intersect(ui.clip_rect()));
        let origin = pos2((inner.left() - scroll).round(), frame.top());
        self.text(Some(layout), origin, &painter);
        let last_chunk = self.is_last_chunk();
        if last_chunk {
            self.caret(ui, Some(layout), origin, block as usize);
        }
    }

    fn is_last_chunk(&self) -> bool {
        let RowKey::CodeBody(block, chunk) = self.row.key else {
            return false;
        };
        self.entry().code_chunk(block, chunk).end == self.entry().shown_lines(block)
    }

    fn code_foot(&mut self, ui: &mut Ui, block: u32) {
        let frame = self.code_frame(block);
        let tokens = self.typography.tokens.clone();
        let radius = tokens.metrics.radius.card as u8;
        let corners = CornerRadius {
            nw: 0,
            ne: 0,
            sw: radius,
            se: radius,
        };
        ui.painter().rect_filled(frame, corners, self.code_fill());
        self.code_scroll_mark(ui, block, frame);
        let Some(code) = self.entry().codes.get(&block) else {
            return;
        };
        if self.entry().code_foot_height(block) < tokens.metrics.size.hit_target_min {
            return;
        }
        let (icon, label) = if self.entry().is_collapsed(block) {
            let label = format!("Show all {} lines", code.lines.len());
            (icons::CARET_DOWN, label)
        } else {
            (icons::CARET_UP, "Show fewer lines".to_owned())
        };
        let line = Rect::from_min_size(
            frame.min + vec2(4.0, 3.0),
            vec2(
                220.0_f32.min(frame.width() - 8.0),
                tokens.metrics.size.hit_target_min,
            ),
        );
        if self.summary_button(ui, line, icon, &label, "more") {
            let collapsed = self.entry().is_collapsed(block);
            if let Some(code) = self.content.entries[self.at].codes.get_mut(&block) {
                code.expanded = Some(collapsed);
            }
            self.content.reshaped.insert(self.at);
        }
    }

    /// Where the visible part of wide code is.
    fn code_scroll_mark(&self, ui: &Ui, block: u32, frame: Rect) {
        let Some(code) = self.entry().codes.get(&block) else {
            return;
        };
        let inner = frame.width() - 2.0 * CODE_PADDING;
        if code.wrap || code.widest <= inner + 1.0 {
            return;
        }
        let size = (inner * inner / code.widest).max(24.0);
        let left = (inner - size) * code.scroll / (code.widest - inner);
        let bar = Rect::from_min_size(
            pos2(frame.left() + CODE_PADDING + left, frame.bottom() - 6.0),
            vec2(size, 3.0),
        );
        ui.painter()
            .rect_filled(bar, 1.5, self.tokens().border.strong);
    }

    /// A line with an icon that opens or closes something; true when it was clicked.
    fn summary_button(
        &self,
        ui: &Ui,
        rect: Rect,
        icon: char,
        label: &str,
        salt: &'static str,
    ) -> bool {
        let tokens = self.tokens();
        let response = ui.interact(rect, self.row_id(salt), Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, label));
        let color = if response.hovered() || response.has_focus() {
            tokens.text.primary
        } else {
            tokens.text.secondary
        };
        let size = tokens.metrics.size.icon;
        let icon_rect =
            Rect::from_center_size(pos2(rect.left() + 8.0, rect.center().y), vec2(size, size));
        icons::paint_icon(ui, icon_rect, icon, size - 4.0, color);
        let at = pos2(rect.left() + 20.0, rect.center().y);
        self.small(ui, at, Align2::LEFT_CENTER, label, color);
        if response.has_focus() {
            focus_ring(ui.painter(), rect.shrink(4.0), tokens);
        }
        response.on_hover_cursor(CursorIcon::PointingHand).clicked()
    }

    fn summary_rect(&self) -> Rect {
        Rect::from_min_max(
            pos2(self.left() - 2.0, self.rect.top() + self.row.gap),
            pos2(self.left() + self.column.width, self.rect.bottom()),
        )
    }

    fn context_line(&mut self, ui: &mut Ui, context: u32) {
        let at = context as usize;
        let Some(view) = self.entry().view.context.get(at) else {
            return;
        };
        let label = format!("{}  ·  {}", view.title, size_label(view.text.len()));
        let open = self.entry().context_open[at];
        let icon = if open {
            icons::CARET_DOWN
        } else {
            icons::CARET_RIGHT
        };
        if self.summary_button(ui, self.summary_rect(), icon, &label, "context") {
            self.content.entries[self.at].context_open[at] = !open;
            self.content.reshaped.insert(self.at);
        }
    }

    fn context_body(&self, ui: &Ui, layout: Option<&BlockLayout>) {
        let frame = Rect::from_min_max(
            pos2(self.left(), self.rect.top()),
            pos2(self.left() + self.column.width, self.rect.bottom()),
        );
        ui.painter().rect_filled(frame, 0.0, self.code_fill());
        if let Some(layout) = layout {
            layout.paint_text(ui.painter(), frame.min + vec2(CODE_PADDING, 0.0));
        }
    }

    fn reasoning_line(&mut self, ui: &mut Ui) {
        let entry = self.entry();
        let size = size_label(entry.reasoning.source().len());
        let name = if entry.is_streaming() && entry.blocks().is_empty() {
            "Thinking"
        } else {
            "Reasoning"
        };
        let label = format!("{name}  ·  {size}");
        let open = entry.reasoning_open;
        let icon = if open {
            icons::CARET_DOWN
        } else {
            icons::CARET_RIGHT
        };
        if self.summary_button(ui, self.summary_rect(), icon, &label, "reasoning") {
            self.content.entries[self.at].reasoning_open = !open;
            self.content.reshaped.insert(self.at);
        }
    }

    fn status(&self, ui: &Ui) {
        let middle = self.rect.center().y + self.row.gap / 2.0;
        let at = pos2(self.left(), middle);
        let (text, color) = match &self.entry().view.status {
            MessageStatus::Streaming { .. } => {
                self.paint_caret(ui, pos2(self.left() - 2.0, middle));
                return self.elapsed(ui, at);
            }
            MessageStatus::Stopped => ("(stopped)", self.tokens().text.secondary),
            MessageStatus::CutOff => ("(cut off)", self.tokens().text.secondary),
            MessageStatus::Noted(note) => (&**note, self.tokens().state.warn),
            _ => return,
        };
        self.note(ui, at, text, color);
    }

    /// One line of small text; what has no room in the column gives way to an ellipsis.
    fn note(&self, ui: &Ui, at: Pos2, text: &str, color: Color32) {
        let font = FontId::new(
            self.tokens().metrics.typ.secondary,
            FontFamily::Proportional,
        );
        let mut job = LayoutJob::single_section(text.to_owned(), TextFormat::simple(font, color));
        job.wrap = TextWrapping::truncate_at_width(self.column.width);
        let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
        let top = at.y - galley.size().y / 2.0;
        ui.painter().galley(pos2(at.x, top), galley, color);
    }

    /// How long a reply has been awaited, where no line with the speaker's name says so.
    fn elapsed(&self, ui: &Ui, at: Pos2) {
        if self.content.continues(self.at) != Continuation::SameSpeaker {
            return;
        }
        if let Some(text) = waited(&self.entry().view.status) {
            let at = at + vec2(self.tokens().metrics.space.between_blocks, 0.0);
            self.note(ui, at, &text, self.tokens().text.secondary);
        }
    }

    fn error(&mut self, ui: &mut Ui, layout: Option<&BlockLayout>) {
        let tokens = self.typography.tokens.clone();
        let space = &tokens.metrics.space;
        let card = Rect::from_min_max(
            pos2(self.left(), self.rect.top() + self.row.gap),
            pos2(self.left() + self.column.width, self.rect.bottom()),
        );
        let radius = tokens.metrics.radius.card;
        ui.painter().rect_filled(card, radius, tokens.diff.removed);
        let icon = tokens.metrics.size.icon;
        let icon_rect = Rect::from_min_size(
            card.min + vec2(space.inside_card, space.inside_card + 1.0),
            vec2(icon, icon),
        );
        icons::paint_icon(ui, icon_rect, icons::ERROR, icon, tokens.state.error);
        let Some(layout) = layout else { return };
        layout.paint_text(ui.painter(), pos2(self.left(), self.rect.top()));
        let MessageStatus::Failed(error) = &self.entry().view.status else {
            return;
        };
        let Some(action) = error.action.clone() else {
            return;
        };
        let top = self.rect.top() + layout.size.y + space.related;
        let at = pos2(icon_rect.right() + space.related, top);
        if text_button(ui, &tokens, self.row_id("resolve"), at, &action) {
            let id = self.entry().view.id.clone();
            self.content.actions.push(ThreadAction::ResolveError(id));
        }
    }
}

/// For how long a reply has been on its way, once that is long.
fn waited(status: &MessageStatus) -> Option<String> {
    let MessageStatus::Streaming { since } = status else {
        return None;
    };
    let elapsed = since.elapsed();
    (elapsed >= SHOW_ELAPSED_AFTER).then(|| format!("{} s", elapsed.as_secs()))
}

fn paint_text(
    painter: &Painter,
    at: Pos2,
    anchor: Align2,
    text: &str,
    font: FontId,
    color: Color32,
) -> Rect {
    if text.is_empty() {
        return Rect::from_min_size(at, vec2(0.0, 0.0));
    }
    painter.text(at, anchor, text, font, color)
}

/// A button with a border and a word; true when it was clicked.
fn text_button(ui: &Ui, tokens: &Tokens, id: Id, at: Pos2, label: &str) -> bool {
    let families = crate::theme::fonts::Families::default();
    let font = FontId::new(tokens.metrics.typ.ui, families.medium);
    let galley = ui
        .painter()
        .layout_no_wrap(label.to_owned(), font, tokens.text.primary);
    let size = vec2(
        galley.size().x + 2.0 * tokens.metrics.space.inside_card,
        tokens.metrics.size.hit_target_min,
    );
    let rect = Rect::from_min_size(at, size);
    let response = ui.interact(rect, id, Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, label));
    let fill = if response.hovered() {
        tokens.surface.overlay
    } else {
        tokens.surface.base
    };
    let border = egui::Stroke::new(1.0 / ui.pixels_per_point(), tokens.border.strong);
    let radius = tokens.metrics.radius.control;
    ui.painter()
        .rect(rect, radius, fill, border, egui::StrokeKind::Inside);
    let text_at = Align2::CENTER_CENTER.anchor_size(rect.center(), galley.size());
    ui.painter()
        .galley(text_at.min.round(), galley, tokens.text.primary);
    if response.has_focus() {
        focus_ring(ui.painter(), rect, tokens);
    }
    response.on_hover_cursor(CursorIcon::PointingHand).clicked()
}

/// The rectangles, relative to the piece, behind the part of it that comes from `selected`.
fn selection_rects(piece: &Piece, selected: &Range<usize>) -> Vec<Rect> {
    if piece.map.display_len() == 0 {
        return Vec::new();
    }
    let display = piece.map.to_display(selected.start)..piece.map.to_display(selected.end);
    if display.start >= display.end {
        return Vec::new();
    }
    display_rects(&piece.galley, &display)
}
