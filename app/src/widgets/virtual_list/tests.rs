use egui::{Context, Event, MouseWheelUnit, RawInput, TouchPhase, pos2, vec2};
use proptest::prelude::*;

use super::*;
use crate::theme::ThemeName;

const VIEW: f32 = 400.0;

/// Rows of known true heights, with estimates that may be wrong.
struct FakeRows {
    heights: Vec<f32>,
    shown: Vec<(usize, Rect)>,
}

impl Rows for FakeRows {
    fn measure(&mut self, row: usize) -> f32 {
        self.heights[row]
    }

    fn show(&mut self, _ui: &mut Ui, row: usize, rect: Rect) {
        self.shown.push((row, rect));
    }
}

struct Bench {
    ctx: Context,
    tokens: Tokens,
    list: VirtualList,
    rows: FakeRows,
    width: f32,
    time: f64,
}

impl Bench {
    fn new(heights: &[f32], estimate: f32) -> Self {
        Self {
            ctx: Context::default(),
            tokens: Tokens::builtin(ThemeName::Dark),
            list: VirtualList::from_estimates(heights.iter().map(|_| estimate)),
            rows: FakeRows {
                heights: heights.to_vec(),
                shown: Vec::new(),
            },
            width: 300.0,
            time: 0.0,
        }
    }

    fn frame_with(&mut self, events: Vec<Event>) -> Vec<(usize, f32)> {
        self.time += 1.0;
        self.rows.shown.clear();
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(
                pos2(0.0, 0.0),
                vec2(self.width + scrollbar::WIDTH, VIEW),
            )),
            time: Some(self.time),
            events,
            ..RawInput::default()
        };
        let (list, rows, tokens) = (&mut self.list, &mut self.rows, &self.tokens);
        let output = self.ctx.run_ui(input, |ui| {
            rows.shown.clear();
            list.show(ui, Id::unique("list"), tokens, 0, rows);
        });
        output.drop_without_applying_deltas();
        self.picture()
    }

    fn frame(&mut self) -> Vec<(usize, f32)> {
        self.frame_with(Vec::new())
    }

    /// Wheel events of 7 points or less are applied at once, without smoothing.
    fn wheel(&mut self, points: f32) -> Vec<(usize, f32)> {
        let steps = (points.abs() / 7.0).ceil().max(1.0);
        let mut events = vec![Event::PointerMoved(pos2(10.0, 10.0))];
        for _ in 0..steps as usize {
            events.push(Event::MouseWheel {
                unit: MouseWheelUnit::Point,
                delta: vec2(0.0, -points / steps),
                phase: TouchPhase::Move,
                source: egui::MouseWheelSource::Unknown,
                modifiers: Modifiers::NONE,
            });
        }
        self.frame_with(events)
    }

    fn picture(&self) -> Vec<(usize, f32)> {
        self.rows
            .shown
            .iter()
            .map(|(row, rect)| (*row, rect.top()))
            .collect()
    }

    fn end_gap(&self) -> f32 {
        VIEW - self
            .rows
            .shown
            .last()
            .map_or(0.0, |(_, rect)| rect.bottom())
    }

    fn insert(&mut self, at: usize, heights: &[f32]) {
        self.rows.heights.splice(at..at, heights.iter().copied());
        self.list.splice(at..at, heights.iter().map(|_| 11.0));
    }
}

fn ups(picture: &[(usize, f32)], by: usize) -> Vec<(usize, f32)> {
    picture.iter().map(|&(row, top)| (row + by, top)).collect()
}

#[test]
fn a_fresh_list_shows_its_end() {
    let mut bench = Bench::new(&[50.0; 100], 20.0);
    let picture = bench.frame();
    assert_eq!(picture.last(), Some(&(99, VIEW - 50.0)));
    assert!(bench.list.follows_tail());
}

#[test]
fn few_rows_stay_at_the_top_and_are_still_followed() {
    let mut bench = Bench::new(&[50.0, 60.0], 20.0);
    assert_eq!(bench.frame(), [(0, 0.0), (1, 50.0)]);
    assert_eq!(bench.wheel(-70.0), [(0, 0.0), (1, 50.0)]);
    assert!(bench.list.follows_tail());
}

#[test]
fn rows_that_grow_at_the_tail_leave_no_gap() {
    let mut bench = Bench::new(&[50.0; 100], 20.0);
    bench.frame();
    for step in 0..50_usize {
        let last = bench.rows.heights.len() - 1;
        bench.rows.heights[last] += 17.0;
        bench.list.invalidate(last);
        if step % 7 == 0 {
            bench.insert(last + 1, &[33.0]);
        }
        bench.frame();
        assert_eq!(bench.end_gap(), 0.0);
    }
}

#[test]
fn wheel_up_leaves_the_tail_and_then_nothing_moves() {
    let mut bench = Bench::new(&[50.0; 100], 20.0);
    bench.frame();
    let picture = bench.wheel(-21.0);
    assert!(!bench.list.follows_tail());
    assert_eq!(picture.last().map(|last| last.0), Some(99));
    for added in 1..=20 {
        bench.insert(100, &[80.0]);
        let last = bench.rows.heights.len() - 1;
        bench.rows.heights[last] += 40.0;
        bench.list.invalidate(last);
        assert_eq!(bench.frame()[..picture.len()], picture);
        assert_eq!(bench.list.new_below(), added);
    }
}

#[test]
fn scrolling_to_the_exact_end_follows_it_again_and_nearly_does_not() {
    let mut bench = Bench::new(&[50.0; 100], 50.0);
    bench.frame();
    bench.wheel(-70.0);
    bench.wheel(63.0);
    assert!(
        !bench.list.follows_tail(),
        "7 points from the end is no arrival"
    );
    bench.wheel(7.0);
    assert!(bench.list.follows_tail());
    assert_eq!(bench.end_gap(), 0.0);
    assert_eq!(bench.list.new_below(), 0);
}

#[test]
fn content_that_shrinks_fills_the_view_without_following() {
    let mut bench = Bench::new(&[50.0; 20], 50.0);
    bench.frame();
    bench.wheel(-70.0);
    bench.rows.heights.truncate(10);
    bench.list.splice(10..20, []);
    bench.frame();
    assert_eq!(bench.end_gap(), 0.0);
    assert!(!bench.list.follows_tail());
}

#[test]
fn home_end_and_page_keys_move_a_focused_list() {
    let mut bench = Bench::new(&[50.0; 100], 20.0);
    bench.frame();
    bench
        .ctx
        .memory_mut(|memory| memory.request_focus(Id::unique("list")));
    let press = |key| Event::Key {
        key,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers: Modifiers::NONE,
    };
    assert_eq!(bench.frame_with(vec![press(Key::Home)])[0], (0, 0.0));
    let after_page = bench.frame_with(vec![press(Key::PageDown)]);
    assert_eq!(after_page[0], (7, -10.0));
    assert_eq!(bench.frame_with(vec![press(Key::PageUp)])[0], (0, 0.0));
    bench.frame_with(vec![press(Key::End)]);
    assert!(bench.list.follows_tail());
}

#[test]
fn a_jump_shows_the_row_whatever_was_estimated() {
    let mut bench = Bench::new(&[70.0; 1000], 5.0);
    bench.frame();
    for row in [500, 3, 0, 998, 999] {
        bench.list.jump_to(row, true);
        let picture = bench.frame();
        assert!(picture.iter().any(|&(shown, _)| shown == row), "{row}");
    }
}

/// Rows that are lazily replaced by several.
struct LazyRows {
    /// Heights of the rows each entry stands for, and whether it has been replaced yet.
    groups: Vec<(Vec<f32>, bool)>,
    shown: Vec<((usize, usize), f32)>,
}

impl LazyRows {
    fn locate(&self, mut row: usize) -> (usize, usize) {
        for (group, (heights, open)) in self.groups.iter().enumerate() {
            let rows = if *open { heights.len() } else { 1 };
            if row < rows {
                return (group, row);
            }
            row -= rows;
        }
        (self.groups.len(), 0)
    }
}

impl Rows for LazyRows {
    fn expand(&mut self, row: usize) -> Option<Vec<f32>> {
        let (group, _) = self.locate(row);
        let (heights, open) = &mut self.groups[group];
        let first = !std::mem::replace(open, true);
        first.then(|| heights.iter().map(|_| 13.0).collect())
    }

    fn measure(&mut self, row: usize) -> f32 {
        let (group, within) = self.locate(row);
        self.groups[group].0[within]
    }

    fn show(&mut self, _ui: &mut Ui, row: usize, rect: Rect) {
        let place = self.locate(row);
        self.shown.push((place, rect.top()));
    }
}

#[test]
fn rows_that_are_prepared_ahead_do_not_move_those_in_view() {
    let groups = (0..60).map(|n| (vec![20.0 + n as f32; 1 + n % 9], false));
    let mut rows = LazyRows {
        groups: groups.collect(),
        shown: Vec::new(),
    };
    let ctx = Context::default();
    let tokens = Tokens::builtin(ThemeName::Dark);
    let mut list = VirtualList::from_estimates([90.0; 60]);
    let mut frame = |list: &mut VirtualList| {
        rows.shown.clear();
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(pos2(0.0, 0.0), vec2(300.0, VIEW))),
            ..RawInput::default()
        };
        ctx.run_ui(input, |ui| {
            rows.shown.clear();
            list.show(ui, Id::unique("list"), &tokens, 0, &mut rows);
        })
        .drop_without_applying_deltas();
        rows.shown.clone()
    };
    frame(&mut list);
    for row in [30, 5, 200] {
        list.jump_to(row.min(list.len() - 1), false);
        let picture = frame(&mut list);
        for _ in 0..20 {
            assert_eq!(frame(&mut list), picture);
        }
    }
}

#[test]
fn another_width_keeps_the_row_at_the_top() {
    let mut bench = Bench::new(&[50.0; 100], 50.0);
    bench.frame();
    bench.list.jump_to(40, false);
    let first = bench.frame()[0].0;
    bench.width = 150.0;
    bench.rows.heights.fill(100.0);
    assert_eq!(bench.frame()[0].0, first);
    bench.width = 300.0;
    bench.rows.heights.fill(50.0);
    assert_eq!(bench.frame()[0].0, first);
}

#[test]
fn dragging_the_scrollbar_goes_from_end_to_start_and_back() {
    let mut bench = Bench::new(&[50.0; 1000], 20.0);
    bench.frame();
    let x = bench.width + scrollbar::WIDTH / 2.0;
    let button = |y, pressed| Event::PointerButton {
        pos: pos2(x, y),
        button: egui::PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    };
    bench.frame_with(vec![Event::PointerMoved(pos2(x, 390.0))]);
    bench.frame_with(vec![button(390.0, true)]);
    bench.frame_with(vec![Event::PointerMoved(pos2(x, -50.0))]);
    assert_eq!(bench.frame()[0], (0, 0.0));
    bench.frame_with(vec![Event::PointerMoved(pos2(x, 500.0))]);
    bench.frame();
    assert!(bench.list.follows_tail());
    bench.frame_with(vec![button(500.0, false)]);
    bench.frame();
    assert!(bench.list.scrollbar_drag.is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn nothing_above_or_below_moves_an_anchored_picture(
        heights in prop::collection::vec(1_u16..300, 30..120),
        start in 0.0..1.0_f64,
        scroll in -300.0..300.0_f32,
        edits in prop::collection::vec((any::<bool>(), prop::collection::vec(1_u16..200, 1..5)), 1..10),
    ) {
        let heights: Vec<f32> = heights.into_iter().map(f32::from).collect();
        let mut bench = Bench::new(&heights, 31.0);
        bench.frame();
        bench.list.jump_to((start * heights.len() as f64) as usize, false);
        bench.frame();
        bench.wheel(scroll);
        // A gesture that ends at the end follows it, and then the picture moves as it should.
        bench.list.leave_tail();
        let mut expected = bench.frame();
        for (above, inserted) in edits {
            let inserted: Vec<f32> = inserted.into_iter().map(f32::from).collect();
            if above {
                bench.insert(0, &inserted);
                expected = ups(&expected, inserted.len());
                bench.rows.heights[0] += 9.0;
                bench.list.invalidate(0);
                // Row 0 may be the visible one when the list was at its start.
                prop_assume!(expected[0].0 > 0);
            } else {
                bench.insert(bench.rows.heights.len(), &inserted);
            }
            let picture = bench.frame();
            prop_assert_eq!(&picture[..expected.len()], &expected[..]);
        }
    }

    #[test]
    fn the_view_is_always_full_and_rows_never_overlap(
        heights in prop::collection::vec(1_u16..300, 1..80),
        scrolls in prop::collection::vec(-3000.0..3000.0_f32, 1..12),
    ) {
        let heights: Vec<f32> = heights.into_iter().map(f32::from).collect();
        let mut bench = Bench::new(&heights, 17.0);
        bench.frame();
        for scroll in scrolls {
            bench.list.scroll_by(scroll);
            let picture = bench.frame();
            prop_assert!(picture[0].1 <= 0.0);
            for pair in picture.windows(2) {
                prop_assert_eq!(pair[0].0 + 1, pair[1].0);
                prop_assert_eq!(pair[0].1 + heights[pair[0].0], pair[1].1);
            }
            let fits = heights.iter().sum::<f32>() <= VIEW;
            prop_assert!(fits || bench.end_gap() <= 0.0);
        }
    }
}
