//! Which texts of a scene are drawn at a zoom, and where: important ones first, none over another.

use std::collections::HashMap;

use egui::{Rect, Vec2};

/// Side of a cell of the grid that taken places are kept in, in points.
const CELL: f32 = 64.0;
/// Room around a text, in points.
const MARGIN: Vec2 = Vec2::new(4.0, 1.0);

/// Places that are taken.
#[derive(Default)]
pub(super) struct Places {
    cells: HashMap<(i32, i32), Vec<Rect>>,
}

impl Places {
    /// Takes a place if it is free; says whether it was.
    pub(super) fn take(&mut self, place: Rect) -> bool {
        if !place.is_finite() {
            return false;
        }
        let place = place.expand2(MARGIN);
        let cells = cells_of(place);
        let is_free = cells
            .clone()
            .filter_map(|cell| self.cells.get(&cell))
            .flatten()
            .all(|taken| !taken.intersects(place));
        if is_free {
            for cell in cells {
                self.cells.entry(cell).or_default().push(place);
            }
        }
        is_free
    }
}

fn cells_of(place: Rect) -> impl Iterator<Item = (i32, i32)> + Clone {
    let cell = |at: f32| (at / CELL).floor() as i32;
    let columns = cell(place.left())..=cell(place.right());
    let rows = cell(place.top())..=cell(place.bottom());
    columns.flat_map(move |column| rows.clone().map(move |row| (column, row)))
}

/// As much of a name as `fits` says there is room for: the end of a path tells more than its beginning.
pub(super) fn shortened(name: &str, fits: impl Fn(&str) -> bool) -> Option<String> {
    if fits(name) {
        return Some(name.to_owned());
    }
    let starts: Vec<usize> = name.char_indices().map(|(at, _)| at).collect();
    // The longest end that fits, by bisection: a shorter end is never wider.
    let (mut low, mut high) = (1, starts.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if fits(&format!("…{}", &name[starts[middle]..])) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    let keeps = starts.len().saturating_sub(low);
    (keeps >= 6).then(|| format!("…{}", &name[starts[low]..]))
}

#[cfg(test)]
mod tests {
    use egui::{pos2, vec2};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_end_of_a_name_is_kept() {
        let at_most = |chars: usize| move |text: &str| text.chars().count() <= chars;
        assert_eq!(
            shortened("main.rs", at_most(10)).as_deref(),
            Some("main.rs")
        );
        assert_eq!(
            shortened("src/very/long/main.rs", at_most(8)).as_deref(),
            Some("…main.rs")
        );
        assert_eq!(shortened("src/main.rs", at_most(3)), None);
        assert_eq!(shortened("", at_most(0)).as_deref(), Some(""));
        assert_eq!(shortened("日本語のファイル", at_most(5)), None);
        assert_eq!(
            shortened("日本語のファイルの名", at_most(8)).as_deref(),
            Some("…のファイルの名")
        );
    }

    proptest! {
        #[test]
        fn no_two_taken_places_overlap_and_a_free_one_is_never_refused(
            places in prop::collection::vec((-500f32..500.0, -500f32..500.0, 1f32..200.0, 1f32..30.0), 1..80),
        ) {
            let mut taken: Vec<Rect> = Vec::new();
            let mut grid = Places::default();
            for (x, y, width, height) in places {
                let place = Rect::from_min_size(pos2(x, y), vec2(width, height));
                let wide = place.expand2(MARGIN);
                let is_free = taken.iter().all(|other| !other.intersects(wide));
                prop_assert_eq!(grid.take(place), is_free);
                if is_free {
                    taken.push(wide);
                }
            }
        }
    }
}
