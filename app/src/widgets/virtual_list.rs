//! A scrolled list whose cost follows what is visible, and whose picture never moves by itself.
//!
//! The scroll position is either a row and an offset inside it, or *following the tail*. Rows are painted from there,
//! so what happens above changes only the scrollbar and what happens below changes nothing. The tail is left and found
//! again only by the person's own act: scrolling up leaves it, scrolling to the exact end or asking for it follows it.

mod position;
mod row_heights;
mod scrollbar;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use egui::{Color32, Id, Key, Modifiers, Rect, Response, Sense, Ui, UiBuilder, pos2, vec2};

pub use position::{PlacedRow, Position};
pub use row_heights::{PIXEL, Px64, RowHeight, RowHeights};
use scrollbar::ScrollbarDrag;
pub use scrollbar::WIDTH as SCROLLBAR_WIDTH;

use crate::theme::Tokens;

/// How long one frame may spend on measuring rows that are about to come into view.
const PREFETCH_BUDGET: Duration = Duration::from_millis(1);
/// How long the row that was jumped to stays marked.
const MARK_SECS: f64 = 1.6;

/// What a list shows. Row numbers are those of the list's own heights.
pub trait Rows {
    /// Heights, in points, of the rows that `row` really stands for, when it stands for several.
    ///
    /// Lets rows be prepared only when they come near the view. After `Some`, the row is gone and the new ones count.
    fn expand(&mut self, row: usize) -> Option<Vec<f32>> {
        let _ = row;
        None
    }

    /// Lays out `row` and says how high it is, in points. Called for each visible row in each frame, so cache.
    fn measure(&mut self, row: usize) -> f32;

    /// Called once a frame before any row is shown; `rects` are those of all visible rows, in points.
    fn begin(&mut self, ui: &mut Ui, rects: &[(usize, Rect)]) {
        let _ = (ui, rects);
    }

    /// Paints `row` into `rect`, which has the measured height; parts may lie outside of the clip rectangle.
    fn show(&mut self, ui: &mut Ui, row: usize, rect: Rect);
}

/// What the heights of a list depend on besides its rows. When it changes, all heights become estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LayoutKey {
    width: f32,
    pixels_per_point: f32,
    content_epoch: u64,
}

/// The state of a list between frames. Tell it of every change of the rows, then [`VirtualList::show`] it.
#[derive(Clone, Debug, Default)]
pub struct VirtualList {
    heights: RowHeights,
    position: Position,
    placed: Vec<PlacedRow>,
    layout_key: Option<LayoutKey>,
    epoch: u32,
    /// Height of the view in the last frame.
    view: Px64,
    /// Where inside the anchor row the view began, kept while the row's height changes with the layout.
    anchor_fraction: Option<f64>,
    /// The person scrolled down in this frame, so arriving at the end means to follow it.
    scrolled_down: bool,
    len_when_left: Option<usize>,
    mark: Option<Mark>,
    scrollbar_drag: Option<ScrollbarDrag>,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    row: usize,
    /// When the mark goes; unset until the first frame that shows it.
    until: Option<f64>,
}

/// What [`VirtualList::show`] tells its caller.
pub struct ListOutput {
    /// The list's one region of interaction, below anything that rows add.
    pub response: Response,
    /// Where rows are painted: the whole without the scrollbar.
    pub view: Rect,
}

impl VirtualList {
    /// A list of rows with these estimated heights in points, following the tail.
    pub fn from_estimates(heights: impl IntoIterator<Item = f32>) -> Self {
        Self {
            heights: RowHeights::from_estimates(
                heights.into_iter().map(|height| to_pixels_up(height, 1.0)),
            ),
            ..Self::default()
        }
    }

    /// How many rows the list has.
    pub fn len(&self) -> usize {
        self.heights.len()
    }

    /// Whether the list has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows that were visible in the last frame.
    pub fn placed(&self) -> &[PlacedRow] {
        &self.placed
    }

    /// Where the list is scrolled to.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether the end of the list stays in view as rows are added.
    pub fn follows_tail(&self) -> bool {
        self.position == Position::FollowTail
    }

    /// How many rows were added at the end since the person left it.
    pub fn new_below(&self) -> usize {
        self.len_when_left
            .map_or(0, |len| self.len().saturating_sub(len))
    }

    /// Adds rows at the end, with estimated heights in points.
    pub fn extend(&mut self, heights: impl IntoIterator<Item = f32>) {
        let scale = self.pixels_per_point();
        self.heights.extend(
            heights
                .into_iter()
                .map(|height| to_pixels_up(height, scale)),
        );
    }

    /// Replaces rows by rows with estimated heights in points, without moving the rest of the picture.
    pub fn splice(
        &mut self,
        range: std::ops::Range<usize>,
        heights: impl IntoIterator<Item = f32>,
    ) {
        let scale = self.pixels_per_point();
        let new: Vec<RowHeight> = heights
            .into_iter()
            .map(|height| RowHeight::estimated(to_pixels_up(height, scale)))
            .collect();
        self.replace_rows(range, &new);
    }

    /// The row's content changed: its height counts as an estimate until it is measured again.
    pub fn invalidate(&mut self, row: usize) {
        if let Some(height) = self.heights.get(row) {
            self.heights
                .set(row, RowHeight::estimated(i64::from(height.height)));
        }
    }

    fn pixels_per_point(&self) -> f32 {
        self.layout_key.map_or(1.0, |key| key.pixels_per_point)
    }

    fn points(&self, length: Px64) -> f32 {
        length as f32 / PIXEL as f32 / self.pixels_per_point()
    }

    /// Shows the list in all of the space that `ui` has left. `content_epoch` stands for everything besides width and
    /// scale that changes the height of all rows: the theme, the fonts.
    pub fn show(
        &mut self,
        ui: &mut Ui,
        id: Id,
        tokens: &Tokens,
        content_epoch: u64,
        rows: &mut impl Rows,
    ) -> ListOutput {
        let outer = ui.available_rect_before_wrap();
        ui.advance_cursor_after_rect(outer);
        let pixels_per_point = ui.pixels_per_point();
        let snap = |length: f32| (length * pixels_per_point).round() / pixels_per_point;
        let outer = Rect::from_min_max(
            pos2(snap(outer.left()), snap(outer.top())),
            pos2(snap(outer.right()), snap(outer.bottom())),
        );
        let view = Rect::from_min_max(
            outer.min,
            pos2(outer.right() - scrollbar::WIDTH, outer.bottom()),
        );
        let response = ui.interact(view, id, Sense::click_and_drag());

        self.view = to_pixels_up(view.height(), pixels_per_point);
        self.set_layout(LayoutKey {
            width: view.width(),
            pixels_per_point,
            content_epoch,
        });
        self.take_input(ui, outer, &response);
        let bar = Rect::from_min_max(pos2(view.right(), outer.top()), outer.max);
        self.drag_scrollbar(ui, bar, id.with("scrollbar"));
        self.place(rows);

        let mut inner = ui.new_child(UiBuilder::new().max_rect(view).id_salt(id.with("rows")));
        // Rows may paint bands that go on below the scrollbar.
        inner.set_clip_rect(outer.intersect(ui.clip_rect()));
        self.show_rows(&mut inner, view, tokens, rows);
        self.prefetch(rows);
        self.paint_scrollbar(ui, bar, tokens);
        ListOutput { response, view }
    }

    fn set_layout(&mut self, key: LayoutKey) {
        let old = self.layout_key.replace(key).unwrap_or(LayoutKey {
            pixels_per_point: 1.0,
            content_epoch: u64::MAX,
            ..key
        });
        if old == key {
            return;
        }
        self.epoch += 1;
        let zoom = f64::from(key.pixels_per_point / old.pixels_per_point);
        let reflow = f64::from(old.width / key.width.max(1.0)).clamp(0.25, 4.0);
        if let Position::Anchor { row, offset } = self.position {
            let height = self.heights.get(row).map_or(0, |height| height.height);
            self.anchor_fraction = (height > 0).then(|| offset as f64 / f64::from(height));
        }
        self.heights.scale(zoom * reflow);
    }

    fn show_rows(&mut self, ui: &mut Ui, view: Rect, tokens: &Tokens, rows: &mut impl Rows) {
        let rects: Vec<(usize, Rect)> = self
            .placed
            .iter()
            .map(|placed| {
                let top = view.top() + self.points(floor_pixel(placed.top));
                let size = vec2(view.width(), self.points(placed.height));
                (
                    placed.row,
                    Rect::from_min_size(pos2(view.left(), top), size),
                )
            })
            .collect();
        rows.begin(ui, &rects);
        for &(row, rect) in &rects {
            if let Some(color) = self.mark_color(ui, row, tokens) {
                ui.painter()
                    .rect_filled(rect, tokens.metrics.radius.control, color);
            }
            rows.show(ui, row, rect);
        }
    }

    fn mark_color(&mut self, ui: &Ui, row: usize, tokens: &Tokens) -> Option<Color32> {
        let mark = self.mark.as_mut().filter(|mark| mark.row == row)?;
        let now = ui.input(|input| input.time);
        let until = *mark.until.get_or_insert(now + MARK_SECS);
        if now >= until {
            self.mark = None;
            return None;
        }
        ui.ctx()
            .request_repaint_after(Duration::from_secs_f64(until - now));
        Some(tokens.text.r#match)
    }

    /// Measures rows that are not visible yet but near, for as long as the budget allows.
    fn prefetch(&mut self, rows: &mut impl Rows) {
        let start = Instant::now();
        let (Some(&first), Some(&last)) = (self.placed.first(), self.placed.last()) else {
            return;
        };
        let mut below = last.row + 1;
        let mut ahead = 0;
        while ahead < self.view && below < self.len() && start.elapsed() < PREFETCH_BUDGET {
            ahead += self.measure_new(rows, below);
            below += 1;
        }
        let mut distance_from_end = self.len() - first.row;
        let mut behind = 0;
        while behind < self.view
            && distance_from_end < self.len()
            && start.elapsed() < PREFETCH_BUDGET
        {
            let len = self.len();
            let row = len - distance_from_end - 1;
            self.expand(rows, row);
            // The rows that came out of an expansion end where the one row did.
            let last_of_expanded = row + (self.len() - len);
            behind += self.measure_new(rows, last_of_expanded);
            distance_from_end += 1;
        }
    }

    fn measure_new(&mut self, rows: &mut impl Rows, row: usize) -> Px64 {
        self.expand(rows, row);
        match self.heights.get(row) {
            Some(known) if known.epoch == self.epoch => i64::from(known.height),
            _ => self.measure(rows, row),
        }
    }

    fn take_input(&mut self, ui: &Ui, outer: Rect, response: &Response) {
        if ui.rect_contains_pointer(outer) {
            let wheel = ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta.y));
            if wheel != 0.0 {
                self.scroll_by(-wheel);
            }
        }
        if response.has_focus() {
            let pressed = |key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
            let page = self.points(self.view) * 0.9;
            if pressed(Key::PageDown) {
                self.scroll_by(page);
            }
            if pressed(Key::PageUp) {
                self.scroll_by(-page);
            }
            if pressed(Key::Home) {
                self.scroll_to_start();
            }
            if pressed(Key::End) {
                self.follow_tail();
            }
        }
    }
}

/// Whole pixels that hold `points`, in 1/64 px.
fn to_pixels_up(points: f32, pixels_per_point: f32) -> Px64 {
    // The least part of a pixel is forgiven, so that 12.000001 is no thirteenth pixel.
    let pixels = f64::from(points) * f64::from(pixels_per_point) - 1.0 / 128.0;
    pixels.ceil().max(0.0) as Px64 * PIXEL
}

fn floor_pixel(offset: Px64) -> Px64 {
    offset.div_euclid(PIXEL) * PIXEL
}
