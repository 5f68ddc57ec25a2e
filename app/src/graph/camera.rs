//! Where the person looks at the graph: a place and a scale, and the way between two of them.

use egui::{Pos2, Rect, Vec2, pos2, vec2};

/// Farthest and nearest, in points a unit of the layout.
const SCALES: std::ops::RangeInclusive<f32> = 1e-4..=1e4;
/// How much of the view what is fitted into it takes.
const FIT: f32 = 0.92;

/// What of the layout is in the middle of the view, and how large it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// The middle, in units of the layout.
    pub center: Pos2,
    /// Points a unit of the layout.
    pub scale: f32,
}

impl Default for Camera {
    fn default() -> Self {
        Self {
            center: Pos2::ZERO,
            scale: 1.0,
        }
    }
}

impl Camera {
    /// The camera that shows all of `world` in a view of this size.
    pub fn fitting(world: Rect, view: Vec2) -> Self {
        let size = world.size().max(Vec2::splat(f32::MIN_POSITIVE));
        let scale = (view.x / size.x).min(view.y / size.y) * FIT;
        let scale = if scale.is_finite() { scale } else { 1.0 };
        Self {
            center: world.center(),
            scale: scale.clamp(*SCALES.start(), *SCALES.end()),
        }
    }

    /// Where a place of the layout is in the view `view`.
    pub fn to_screen(self, place: Pos2, view: Rect) -> Pos2 {
        view.center() + (place - self.center) * self.scale
    }

    /// Which place of the layout is at a point of the view.
    pub fn to_world(self, point: Pos2, view: Rect) -> Pos2 {
        self.center + (point - view.center()) / self.scale
    }

    /// What of the layout is visible.
    pub fn visible(self, view: Rect) -> Rect {
        Rect::from_center_size(self.center, view.size() / self.scale)
    }

    /// Moves what is looked at along with a pointer that moved by `points`.
    pub fn pan(&mut self, points: Vec2) {
        self.center -= points / self.scale;
    }

    /// Makes everything `factor` times as large; what is at `point` stays there.
    pub fn zoom_at(&mut self, point: Pos2, view: Rect, factor: f32) {
        if !factor.is_finite() || factor <= 0.0 {
            return;
        }
        let fixed = self.to_world(point, view);
        self.scale = (self.scale * factor).clamp(*SCALES.start(), *SCALES.end());
        self.center = fixed - (point - view.center()) / self.scale;
    }

    /// Keeps some of `world` in sight, so that nobody gets lost.
    pub fn keep_near(&mut self, world: Rect, view: Rect) {
        let reach = 0.5 * view.size() / self.scale;
        let near = world.expand2(reach * 0.8);
        self.center = pos2(
            self.center.x.clamp(near.left(), near.right()),
            self.center.y.clamp(near.top(), near.bottom()),
        );
    }

    /// The camera `t` of the way from here to `other`, 0 to 1: scales change by the same factor in the same time, and
    /// what both see runs straight.
    pub fn toward(self, other: Self, t: f32) -> Self {
        let t = t.clamp(0.0, 1.0);
        let scale = self.scale * (other.scale / self.scale).powf(t);
        // Weight by size: the place moves in the picture, not in the layout.
        let share = if (other.scale - self.scale).abs() < 1e-6 * self.scale {
            t
        } else {
            (1.0 / self.scale - 1.0 / scale) / (1.0 / self.scale - 1.0 / other.scale)
        };
        Self {
            center: self.center + (other.center - self.center) * share,
            scale,
        }
    }
}

/// A way to a new camera, at most a third of a second long.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    from: Camera,
    to: Camera,
    began: f64,
    secs: f64,
}

impl Flight {
    /// From one camera to another, from the time `now` on; `secs` 0 arrives at once.
    pub fn new(from: Camera, to: Camera, now: f64, secs: f64) -> Self {
        Self {
            from,
            to,
            began: now,
            secs: secs.clamp(0.0, 0.3),
        }
    }

    /// Where it is at the time `now`, and whether it has arrived.
    pub fn at(&self, now: f64) -> (Camera, bool) {
        let t = if self.secs > 0.0 {
            ((now - self.began) / self.secs).clamp(0.0, 1.0)
        } else {
            1.0
        };
        if t >= 1.0 {
            return (self.to, true);
        }
        // Ease out.
        let eased = 1.0 - (1.0 - t).powi(3);
        (self.from.toward(self.to, eased as f32), false)
    }
}

/// The middle of a rectangle and half of its size.
pub fn center_and_half(rect: Rect) -> ([f32; 2], [f32; 2]) {
    let half: Vec2 = vec2(rect.width(), rect.height()) / 2.0;
    (rect.center().into(), half.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VIEW: Rect = Rect {
        min: pos2(100.0, 50.0),
        max: pos2(900.0, 650.0),
    };

    #[test]
    fn what_is_fitted_is_all_visible_and_in_the_middle() {
        let world = Rect::from_min_size(pos2(-3.0, 7.0), vec2(40.0, 5.0));
        let camera = Camera::fitting(world, VIEW.size());
        assert!(camera.visible(VIEW).contains_rect(world));
        assert!((camera.to_screen(world.center(), VIEW) - VIEW.center()).length() < 1e-3);
        // Nothing at all is no reason to divide by zero.
        let empty = Camera::fitting(Rect::from_center_size(Pos2::ZERO, Vec2::ZERO), VIEW.size());
        assert!(empty.scale.is_finite());
    }

    #[test]
    fn a_flight_ends_where_it_was_sent_and_no_later_than_said() {
        let (from, to) = (
            Camera::default(),
            Camera {
                center: pos2(500.0, -20.0),
                scale: 30.0,
            },
        );
        let flight = Flight::new(from, to, 10.0, 9.0);
        assert_eq!(flight.at(10.0).0, from);
        assert!(!flight.at(10.2).1);
        assert_eq!(flight.at(10.31), (to, true));
        assert_eq!(Flight::new(from, to, 10.0, 0.0).at(10.0), (to, true));
    }

    proptest! {
        #[test]
        fn zooming_leaves_the_place_under_the_pointer_where_it_is(
            center in (-1e3f32..1e3, -1e3f32..1e3), scale in 0.01f32..100.0,
            point in (100f32..900.0, 50f32..650.0), factor in 0.2f32..5.0,
        ) {
            let mut camera = Camera { center: center.into(), scale };
            let point = Pos2::from(point);
            let before = camera.to_world(point, VIEW);
            camera.zoom_at(point, VIEW, factor);
            let moved = camera.to_screen(before, VIEW) - point;
            prop_assert!(moved.length() < 0.5, "{moved:?}");
        }

        #[test]
        fn a_point_of_the_view_and_its_place_lead_to_each_other(
            center in (-1e3f32..1e3, -1e3f32..1e3), scale in 0.01f32..100.0,
            point in (100f32..900.0, 50f32..650.0),
        ) {
            let camera = Camera { center: center.into(), scale };
            let point = Pos2::from(point);
            let back = camera.to_screen(camera.to_world(point, VIEW), VIEW);
            prop_assert!((back - point).length() < 0.5);
        }

        #[test]
        fn on_the_way_every_scale_lies_between_the_two(
            a in 0.01f32..100.0, b in 0.01f32..100.0, t in 0f32..1.0,
        ) {
            let (from, to) = (Camera { center: pos2(0.0, 0.0), scale: a }, Camera { center: pos2(9.0, 9.0), scale: b });
            let between = from.toward(to, t);
            prop_assert!(between.scale >= a.min(b) * 0.999 && between.scale <= a.max(b) * 1.001);
            prop_assert!((-1e-3..=9.001).contains(&between.center.x));
        }
    }
}
