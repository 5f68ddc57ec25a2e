//! The canvas: draws the scene, moves the camera, finds what is pointed at.

use std::sync::Arc;

use egui::{
    Align2, Color32, FontId, Key, Modifiers, Painter, Pos2, Rect, Sense, Stroke, StrokeKind, Ui,
    epaint::CubicBezierShape, vec2,
};
use host::GraphData;

use super::gpu::Draw;
use super::labels::{Places, shortened};
use super::scene::{Label, Subject};
use super::{GraphAction, GraphContext, GraphView, Mode};
use crate::theme::{Tokens, focus_ring, fonts::Families};

/// How much nearer a press of a key goes.
const KEY_ZOOM: f32 = 1.25;
/// Points that a press of a key moves.
const KEY_PAN: f32 = 60.0;
/// Texts lower than this can't be read and aren't drawn.
const LOWEST_TEXT: f32 = 11.0;
/// At most this many texts are drawn at once.
const MOST_LABELS: usize = 400;

/// A text of the scene that has its place.
pub(super) struct PlacedText {
    /// The text, laid out.
    pub(super) galley: Arc<egui::Galley>,
    /// What it stays inside of, in points of the window.
    pub(super) area: Rect,
    /// Where it is, in points of the window.
    pub(super) place: Rect,
    /// Its height, in points.
    pub(super) size: f32,
    /// Its colour.
    pub(super) color: Color32,
    /// Whether it is set stronger.
    pub(super) is_strong: bool,
}

impl GraphView {
    pub(super) fn canvas_ui(
        &mut self,
        ui: &mut Ui,
        context: &GraphContext<'_>,
        data: &Arc<GraphData>,
        actions: &mut Vec<GraphAction>,
    ) {
        if self.mode == Mode::Free {
            self.free.keep_up(ui.ctx(), data, context.layout_card);
        }
        let view = ui.available_rect_before_wrap();
        ui.advance_cursor_after_rect(view);
        let id = egui::Id::unique("graph canvas");
        let response = ui.interact(view, id, Sense::click_and_drag());
        let now = ui.input(|input| input.time);
        let pixels_per_point = ui.pixels_per_point();
        // How large the map is doesn't depend on what of it is shown.
        if self.mode != Mode::Map {
            self.refresh_scene(context, data, view, pixels_per_point);
        }
        self.fit_when_new(data, view);
        if response.has_focus() {
            let filter = egui::EventFilter {
                horizontal_arrows: true,
                vertical_arrows: true,
                escape: true,
                ..egui::EventFilter::default()
            };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
            actions.extend(self.keys(ui, context, data, view, now));
        }
        if response.dragged() {
            self.take_over();
            self.camera.pan(response.drag_delta());
        }
        self.wheel(ui, &response, view);
        if let Some(flight) = self.flight {
            let (camera, has_arrived) = flight.at(now);
            self.camera = camera;
            if has_arrived {
                self.flight = None;
            } else {
                ui.ctx().request_repaint();
            }
        }
        self.camera.keep_near(self.bounds(), view);
        // What is seen may show more, or less, from here.
        self.refresh_scene(context, data, view, pixels_per_point);

        let pointed = response
            .hover_pos()
            .map(|at| self.camera.to_world(at, view));
        let item = pointed.and_then(|at| self.scene.item_at(at)).cloned();
        self.hovered = item.as_ref().map(|item| item.subject);
        let subject = item.as_ref().map(|item| item.subject);
        actions.extend(self.clicks(ui, &response, data, now, view, subject));
        let painter = ui.painter_at(view);
        painter.rect_filled(view, 0.0, context.tokens.surface.base);
        self.paint_picture(&painter, context, view, pixels_per_point);
        self.paint_marked(&painter, context.tokens, data, view);
        self.paint_path(&painter, context.tokens, data, view);
        let texts = self.placed_labels(&painter, context.tokens, view);
        for text in &texts {
            let area = painter.with_clip_rect(text.area.intersect(view));
            area.galley(text.place.min, Arc::clone(&text.galley), text.color);
        }
        self.export(ui.ctx(), context.tokens, &texts, view, actions);
        if let Some(notice) = &self.scene.notice {
            let font = FontId::proportional(context.tokens.metrics.typ.ui);
            let color = context.tokens.text.secondary;
            painter.text(view.center(), Align2::CENTER_CENTER, notice, font, color);
        }
        if response.has_focus() {
            focus_ring(&painter, view.shrink(5.0), context.tokens);
        }
        let told = self.told(data);
        response.widget_info(|| {
            let mut info = egui::WidgetInfo::labeled(egui::Role::Image, true, "Code graph");
            info.current_text_value = Some(told.clone());
            info
        });
        if let Some(item) = item {
            response.on_hover_text_at_pointer(item.name);
        }
    }

    /// What a screen reader hears of the picture.
    fn told(&self, data: &GraphData) -> String {
        let shown = format!("{}: {} marks", self.mode.title(), self.scene.items.len());
        let path = match self.path.len() {
            0 => String::new(),
            hops => format!(", a path of {hops} imports"),
        };
        match self.selection(data).last() {
            Some(node) => format!("{shown}, selected: {}{path}", data.graph.path(*node)),
            None => format!("{shown}{path}"),
        }
    }

    /// The person moves the camera: it is no longer where the program put it.
    fn take_over(&mut self) {
        self.flight = None;
        self.fitted_into = None;
    }

    fn wheel(&mut self, ui: &Ui, response: &egui::Response, view: Rect) {
        let Some(at) = response.hover_pos() else {
            return;
        };
        let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta(), input.zoom_delta()));
        let factor = pinch * (scroll.y / 240.0).exp2();
        if factor != 1.0 {
            self.take_over();
            self.camera.zoom_at(at, view, factor);
        }
        if scroll.x != 0.0 {
            self.take_over();
            self.camera.pan(vec2(scroll.x, 0.0));
        }
    }

    fn keys(
        &mut self,
        ui: &Ui,
        context: &GraphContext<'_>,
        data: &GraphData,
        view: Rect,
        now: f64,
    ) -> Option<GraphAction> {
        let mut action = None;
        let pressed = |key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        for (key, direction) in [
            (Key::ArrowLeft, vec2(-1.0, 0.0)),
            (Key::ArrowRight, vec2(1.0, 0.0)),
            (Key::ArrowUp, vec2(0.0, -1.0)),
            (Key::ArrowDown, vec2(0.0, 1.0)),
        ] {
            if pressed(key) {
                self.step_selection(data, view, direction);
            }
            if ui.input_mut(|input| input.consume_key(Modifiers::SHIFT, key)) {
                self.take_over();
                self.camera.pan(-direction * KEY_PAN);
            }
        }
        if pressed(Key::Plus) || pressed(Key::Equals) {
            self.take_over();
            self.camera.zoom_at(view.center(), view, KEY_ZOOM);
        }
        if pressed(Key::Minus) {
            self.take_over();
            self.camera.zoom_at(view.center(), view, 1.0 / KEY_ZOOM);
        }
        let secs = f64::from(context.tokens.metrics.motion.open_ms) / 400.0;
        if pressed(Key::Num0) {
            self.fly_to(self.bounds(), view, now, secs);
        }
        if pressed(Key::Enter)
            && let Some(node) = self.selection(data).last().copied()
        {
            action = self.open(data, Subject::Node(node), view, now, secs);
        }
        if pressed(Key::Escape) {
            if self.mode == Mode::Map {
                self.selected.clear();
                self.fly_to(self.bounds(), view, now, secs);
            } else {
                self.mode = Mode::Map;
            }
        }
        if pressed(Key::Slash) {
            self.wants_search_focus = true;
        }
        action
    }

    /// Selects the nearest mark in a direction from the selected one, or what is in the middle of the view.
    fn step_selection(&mut self, data: &GraphData, view: Rect, direction: egui::Vec2) {
        let selected = self.selection(data).last().copied();
        let here = selected.and_then(|node| self.scene.item_of(Subject::Node(node)));
        let from = here.map_or(self.camera.center, |item| item.area.center());
        let seen = self.camera.visible(view);
        let distance = |to: Pos2| {
            let way = to - from;
            let along = way.dot(direction);
            // Straight ahead counts more than near.
            (along > 1e-3).then(|| along + 3.0 * (way - direction * along).length())
        };
        let candidates = self.scene.items.iter().filter_map(|item| {
            let Subject::Node(node) = item.subject else {
                return None;
            };
            let is_other = Some(node) != selected && seen.intersects(item.area);
            let distance = distance(item.area.center()).filter(|_| is_other)?;
            Some((distance, node, item.area))
        });
        let nearest = candidates.min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, node, area)) = nearest {
            self.select(data, node, false);
            if !seen.contains(area.center()) {
                self.camera.center = area.center();
            }
        }
    }

    fn clicks(
        &mut self,
        ui: &Ui,
        response: &egui::Response,
        data: &GraphData,
        now: f64,
        view: Rect,
        subject: Option<Subject>,
    ) -> Option<GraphAction> {
        if response.clicked() {
            response.request_focus();
            let adds = ui.input(|input| input.modifiers.command || input.modifiers.shift);
            match subject {
                Some(Subject::Node(node)) => self.select(data, node, adds),
                _ if !adds => self.selected.clear(),
                _ => {}
            }
        }
        let opened = subject.filter(|_| response.double_clicked());
        opened.and_then(|subject| self.open(data, subject, view, now, 0.2))
    }

    /// Goes nearer to a directory, looks at a file alone, or opens the file that is looked at.
    fn open(
        &mut self,
        data: &GraphData,
        subject: Subject,
        view: Rect,
        now: f64,
        secs: f64,
    ) -> Option<GraphAction> {
        let Subject::Node(node) = subject else {
            return None;
        };
        let node = data.graph.file_of(node);
        let is_directory =
            data.graph.nodes[node as usize].node_type == codegraph::graph::NodeType::Dir;
        if is_directory {
            self.mode = Mode::Map;
            if let Some(area) = data.nested.box_of(node) {
                self.fly_to(super::map::rect(area), view, now, secs);
            }
        } else if self.mode == Mode::Focus && self.scene_key.focus == Some(node) {
            return Some(GraphAction::OpenFile(data.graph.path(node)));
        } else {
            self.select(data, node, false);
            self.mode = Mode::Focus;
        }
        None
    }

    fn paint_picture(
        &self,
        painter: &Painter,
        context: &GraphContext<'_>,
        view: Rect,
        pixels_per_point: f32,
    ) {
        let Some(format) = context.format else {
            self.paint_by_hand(painter, view);
            return;
        };
        let draw = Draw {
            picture: self.scene.picture.clone(),
            center: self.camera.center.into(),
            scale: self.camera.scale * pixels_per_point,
            size: (view.size() * pixels_per_point).into(),
            format,
        };
        painter.add(egui_wgpu::Callback::new_paint_callback(view, draw));
    }

    /// The same picture in egui's own shapes, for where the graphics card can't be used.
    fn paint_by_hand(&self, painter: &Painter, view: Rect) {
        let place = |at: [f32; 2]| self.camera.to_screen(Pos2::from(at), view);
        let color = |color: super::gpu::Rgba8| {
            let [r, g, b, a] = color.0;
            Color32::from_rgba_premultiplied(r, g, b, a)
        };
        for link in &self.scene.picture.links {
            let points = link.points.map(place);
            let stroke = Stroke::new(link.width, color(link.end_color));
            let curve =
                CubicBezierShape::from_points_stroke(points, false, Color32::TRANSPARENT, stroke);
            painter.add(curve);
        }
        for mark in &self.scene.picture.marks {
            let half = vec2(mark.half_size[0], mark.half_size[1]) * self.camera.scale;
            let area = Rect::from_center_size(place(mark.center), half * 2.0);
            if !area.intersects(view) {
                continue;
            }
            let corner = (mark.corner * self.camera.scale).min(half.min_elem());
            painter.rect(
                area,
                corner,
                color(mark.fill),
                Stroke::new(mark.outline, color(mark.stroke)),
                StrokeKind::Inside,
            );
        }
    }

    /// What is pointed at and what is selected, and their links.
    fn paint_marked(&self, painter: &Painter, tokens: &Tokens, data: &GraphData, view: Rect) {
        let selected = self.selection(data).into_iter().map(Subject::Node);
        let marked: Vec<(Subject, f32)> = selected
            .map(|subject| (subject, 2.0))
            .chain(self.hovered.map(|subject| (subject, 1.0)))
            .collect();
        for (subject, width) in marked {
            let Some(item) = self.scene.item_of(subject) else {
                continue;
            };
            if self.mode == Mode::Map
                && let Subject::Node(node) = subject
            {
                self.paint_links_of(painter, tokens, data, view, node, width);
            }
            let area = Rect::from_min_max(
                self.camera.to_screen(item.area.min, view),
                self.camera.to_screen(item.area.max, view),
            );
            let stroke = Stroke::new(width, tokens.accent);
            painter.rect_stroke(area.expand(1.0), 4.0, stroke, StrokeKind::Outside);
        }
    }

    fn paint_links_of(
        &self,
        painter: &Painter,
        tokens: &Tokens,
        data: &GraphData,
        view: Rect,
        node: u32,
        width: f32,
    ) {
        let cut = &self.scene_key.cut;
        for link in &cut.links {
            let (from, to) = (
                cut.marks[link.from as usize].node,
                cut.marks[link.to as usize].node,
            );
            let color = match (from == node, to == node) {
                (true, _) => tokens.accent,
                (_, true) => tokens.state.warn,
                _ => continue,
            };
            if let Some(points) = data.nested.curve(from, to) {
                let points = points.map(|at| self.camera.to_screen(at.into(), view));
                let stroke = Stroke::new(width, color);
                painter.add(CubicBezierShape::from_points_stroke(
                    points,
                    false,
                    Color32::TRANSPARENT,
                    stroke,
                ));
            }
        }
    }

    /// The path that was asked for, import by import. Where a file isn't shown, what it lies in stands for it.
    fn paint_path(&self, painter: &Painter, tokens: &Tokens, data: &GraphData, view: Rect) {
        let stroke = Stroke::new(3.0, tokens.state.ok);
        for (from, to) in &self.path {
            let ends = [from, to].map(|path| {
                let node = data.graph.node_at(path)?;
                self.shown_for(data, node)
            });
            let [Some(from), Some(to)] = ends else {
                continue;
            };
            for (_, area) in [from, to] {
                let area = Rect::from_min_max(
                    self.camera.to_screen(area.min, view),
                    self.camera.to_screen(area.max, view),
                );
                painter.rect_stroke(area.expand(1.0), 4.0, stroke, StrokeKind::Outside);
            }
            let curve = data
                .nested
                .curve(from.0, to.0)
                .filter(|_| self.mode == Mode::Map);
            match curve {
                Some(points) => {
                    let points = points.map(|at| self.camera.to_screen(at.into(), view));
                    let clear = Color32::TRANSPARENT;
                    let curve = CubicBezierShape::from_points_stroke(points, false, clear, stroke);
                    painter.add(curve);
                }
                None => {
                    let ends =
                        [from.1, to.1].map(|area| self.camera.to_screen(area.center(), view));
                    painter.line_segment(ends, stroke);
                }
            }
        }
    }

    /// The mark that stands for a node: its own, or that of the innermost directory above it that has one.
    fn shown_for(&self, data: &GraphData, node: u32) -> Option<(u32, Rect)> {
        let parent = |node: &u32| data.graph.nodes[*node as usize].parent;
        let mut up = std::iter::successors(Some(node), parent);
        up.find_map(|node| {
            let item = self.scene.item_of(Subject::Node(node))?;
            Some((node, item.area))
        })
    }

    /// The texts that there is room for, and where they go.
    fn placed_labels(&self, painter: &Painter, tokens: &Tokens, view: Rect) -> Vec<PlacedText> {
        let mut placed = Vec::new();
        let mut seen: Vec<(&Label, Rect)> = self
            .scene
            .labels
            .iter()
            .filter_map(|label| {
                let area = Rect::from_min_max(
                    self.camera.to_screen(label.area.min, view),
                    self.camera.to_screen(label.area.max, view),
                );
                let is_seen = area.intersects(view) && area.height() >= LOWEST_TEXT;
                is_seen.then_some((label, area))
            })
            .collect();
        seen.sort_by(|a, b| b.0.importance.total_cmp(&a.0.importance));
        let mut places = Places::default();
        let families = Families::default();
        for (label, area) in seen.into_iter().take(MOST_LABELS) {
            // A name that grows with its box is easier to tell apart from far.
            let size = (area.height() * 0.7).clamp(LOWEST_TEXT, tokens.metrics.typ.ui);
            let inset: f32 = if label.align == Align2::CENTER_CENTER {
                3.0
            } else {
                8.0
            };
            let inner = area.shrink2(vec2(inset.min(area.width() / 8.0), 0.0));
            let wide = |c: char| if c.is_ascii() { 0.56 } else { 1.0 };
            let width = |text: &str| text.chars().map(wide).sum::<f32>() * size;
            let Some(text) = shortened(&label.text, |text| width(text) <= inner.width()) else {
                continue;
            };
            let family = if label.is_strong {
                families.semibold.clone()
            } else {
                families.regular.clone()
            };
            let font = FontId::new(size, family);
            let galley = painter.layout_no_wrap(text, font, label.color);
            let place = label.align.align_size_within_rect(galley.size(), inner);
            if places.take(place) {
                placed.push(PlacedText {
                    galley,
                    area,
                    place,
                    size,
                    color: label.color,
                    is_strong: label.is_strong,
                });
            }
        }
        placed
    }
}
