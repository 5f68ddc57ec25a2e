//! The parts of the window that F6 goes through: each panel by the place it has in this frame.

use egui::{Context, Id, Rect};

/// Controls whose middles are so near in height, in points, are in one row.
const ROW: f32 = 16.0;

/// A part of the window that can have the keyboard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Where it is.
    pub area: Rect,
    /// What of it gets the focus; the first control inside it where none is named.
    pub first: Option<Id>,
}

impl Part {
    /// A part whose first control gets the focus.
    pub fn panel(area: Rect) -> Self {
        Self { area, first: None }
    }

    /// A part in which `first` gets the focus.
    pub fn with_first(area: Rect, first: Id) -> Self {
        Self {
            area,
            first: Some(first),
        }
    }

    /// What gets the focus, judged by the last frame; `None` where there is nothing to focus.
    fn target(&self, ctx: &Context) -> Option<Id> {
        let shown = |id: &Id| ctx.read_response(*id).is_some();
        self.first.filter(shown).or_else(|| {
            ctx.viewport(|viewport| {
                let background = egui::LayerId::background();
                let widgets = viewport.prev_pass.widgets.get_layer(background);
                let inside = widgets.filter(|widget| {
                    let is_control = widget.sense.is_focusable() && widget.enabled;
                    is_control && self.area.contains(widget.rect.center())
                });
                // Rows may be laid out from either side.
                let first = inside.min_by_key(|widget| {
                    let row = (widget.rect.center().y / ROW) as i32;
                    (row, widget.rect.left() as i32)
                });
                first.map(|widget| widget.id)
            })
        })
    }
}

/// Moves the focus from the part that has it to the next one, or the one before, that can have it.
pub fn focus_next(ctx: &Context, parts: &[Part], forward: bool) {
    let focused = ctx.memory(|memory| memory.focused());
    let here = focused.and_then(|focused| {
        let named = parts.iter().position(|part| part.first == Some(focused));
        let at = ctx.read_response(focused)?.rect.center();
        named.or_else(|| parts.iter().position(|part| part.area.contains(at)))
    });
    let count = parts.len();
    let step = if forward { 1 } else { count.saturating_sub(1) };
    let mut at = here.unwrap_or(if forward { count.saturating_sub(1) } else { 0 });
    for _ in 0..count {
        at = (at + step) % count;
        if let Some(target) = parts[at].target(ctx) {
            ctx.memory_mut(|memory| memory.request_focus(target));
            return;
        }
    }
}
