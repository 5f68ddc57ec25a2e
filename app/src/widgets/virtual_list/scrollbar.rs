//! The list's own scrollbar: painted, draggable, and steady while it is dragged.

use egui::{Id, Rect, Sense, Ui, pos2};

use super::{Px64, VirtualList};
use crate::theme::Tokens;

/// Width of the strip at the right that belongs to the scrollbar, in points.
pub const WIDTH: f32 = 12.0;
const HANDLE_WIDTH: f32 = 6.0;
const HANDLE_MIN: f32 = 28.0;

/// A drag of the handle. The list's total height is frozen in it: heights that become known meanwhile would make the
/// handle run away from the pointer.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScrollbarDrag {
    /// Where the pointer holds the handle, in points below the handle's top.
    grab: f32,
    /// The total height when the drag began.
    total: Px64,
    /// How far the handle is along its way, from 0 to 1.
    fraction: f32,
}

impl VirtualList {
    /// Top and height of the handle inside a bar of `height`, or `None` when everything fits.
    fn handle(&self, height: f32) -> Option<(f32, f32)> {
        let total = self
            .scrollbar_drag
            .map_or_else(|| self.heights.total(), |drag| drag.total);
        if total <= self.view {
            return None;
        }
        let size = (height * self.view as f32 / total as f32)
            .max(HANDLE_MIN)
            .min(height);
        let fraction = self
            .scrollbar_drag
            .map_or_else(|| self.scrolled_fraction(), |drag| drag.fraction);
        Some(((height - size) * fraction, size))
    }

    fn scrolled_fraction(&self) -> f32 {
        if self.follows_tail() {
            return 1.0;
        }
        let first = self.placed.first();
        let top = first.map_or(0, |first| self.heights.top_of(first.row) - first.top);
        let range = (self.heights.total() - self.view).max(1);
        (top as f32 / range as f32).clamp(0.0, 1.0)
    }

    pub(super) fn drag_scrollbar(&mut self, ui: &Ui, bar: Rect, id: Id) {
        // Keys scroll the list itself, so Tab passes the bar by.
        let response = ui.interact(bar, id, Sense::CLICK | Sense::DRAG);
        let Some(pointer) = response.interact_pointer_pos() else {
            self.scrollbar_drag = None;
            return;
        };
        let Some((top, size)) = self.handle(bar.height()) else {
            return;
        };
        let drag = self.scrollbar_drag.get_or_insert_with(|| {
            let inside = pointer.y - bar.top() - top;
            ScrollbarDrag {
                // A press beside the handle brings the handle's middle under the pointer.
                grab: if (0.0..=size).contains(&inside) {
                    inside
                } else {
                    size / 2.0
                },
                total: self.heights.total(),
                fraction: 0.0,
            }
        });
        let way = (bar.height() - size).max(1.0);
        drag.fraction = ((pointer.y - bar.top() - drag.grab) / way).clamp(0.0, 1.0);
        let (fraction, range) = (drag.fraction, drag.total - self.view);
        if fraction >= 1.0 {
            self.follow_tail();
        } else {
            let (row, offset) = self
                .heights
                .find((f64::from(fraction) * range as f64) as Px64);
            self.move_to(row, offset);
        }
    }

    pub(super) fn paint_scrollbar(&self, ui: &Ui, bar: Rect, tokens: &Tokens) {
        let Some((top, size)) = self.handle(bar.height()) else {
            return;
        };
        let hovered = self.scrollbar_drag.is_some() || ui.rect_contains_pointer(bar);
        let (width, color) = if hovered {
            (HANDLE_WIDTH + 2.0, tokens.text.disabled)
        } else {
            (HANDLE_WIDTH, tokens.border.strong)
        };
        let right = bar.right() - 2.0;
        let handle = Rect::from_min_max(
            pos2(right - width, bar.top() + top + 2.0),
            pos2(right, bar.top() + top + size - 2.0),
        );
        ui.painter().rect_filled(handle, width / 2.0, color);
    }
}
