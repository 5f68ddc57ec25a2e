//! The scroll position of a list, and how the visible rows follow from it.

use std::{collections::VecDeque, ops::Range};

use super::{Mark, PIXEL, Px64, RowHeight, Rows, VirtualList, to_pixels_up};

/// How near to the end scrolling down has to come to follow the tail. There is no magnet beyond it.
const TAIL_REACH: Px64 = 2 * PIXEL;

/// Scrolling further than this many views looks up the target instead of measuring all rows on the way.
const FAR_VIEWS: Px64 = 6;

/// Where a list is scrolled to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Position {
    /// The end of the last row is at the end of the view, whatever is added.
    #[default]
    FollowTail,
    /// The view begins `offset` below the top of `row`, in 1/64 px.
    Anchor {
        /// The row at the top of the view.
        row: usize,
        /// How much of the row is above the view.
        offset: Px64,
    },
}

/// A row that is visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedRow {
    /// Which row.
    pub row: usize,
    /// Its top, relative to the top of the view, in 1/64 px.
    pub top: Px64,
    /// Its height, in 1/64 px.
    pub height: Px64,
}

impl VirtualList {
    /// Follows the tail from now on.
    pub fn follow_tail(&mut self) {
        self.position = Position::FollowTail;
        self.len_when_left = None;
        self.anchor_fraction = None;
    }

    /// Leaves the tail without moving the picture. Does nothing when it isn't followed.
    pub fn leave_tail(&mut self) {
        if self.follows_tail() {
            let (row, offset) = self
                .placed
                .first()
                .map_or((0, 0), |first| (first.row, -first.top));
            self.move_to(row, offset);
        }
    }

    /// Shows the first row from its top.
    pub fn scroll_to_start(&mut self) {
        self.move_to(0, 0);
    }

    /// Shows `row` a quarter of the view below the view's top, and marks it for a moment when `mark` is set.
    pub fn jump_to(&mut self, row: usize, mark: bool) {
        self.move_to(row.min(self.len().saturating_sub(1)), -self.view / 4);
        self.mark = mark.then_some(Mark { row, until: None });
    }

    /// Scrolls by `points`, towards the end when positive, by the person's own act.
    pub fn scroll_by(&mut self, points: f32) {
        let delta = (f64::from(points) * f64::from(self.pixels_per_point()) * PIXEL as f64) as Px64;
        if self.follows_tail() {
            let at_start = self
                .placed
                .first()
                .is_none_or(|first| first.row == 0 && first.top >= 0);
            if delta >= 0 || at_start {
                return;
            }
            self.leave_tail();
        }
        self.scrolled_down |= delta > 0;
        let Position::Anchor { row, offset } = self.position else {
            return;
        };
        if delta.abs() > FAR_VIEWS * self.view.max(PIXEL) {
            let target = self.heights.top_of(row) + offset + delta;
            let (row, offset) = self.heights.find(target);
            self.move_to(row, offset);
        } else {
            self.move_to(row, offset + delta);
        }
    }

    pub(super) fn move_to(&mut self, row: usize, offset: Px64) {
        if self.follows_tail() {
            self.len_when_left = Some(self.len());
        }
        self.position = Position::Anchor { row, offset };
        self.anchor_fraction = None;
    }

    /// Replaces rows, and moves what points at rows along.
    pub(super) fn replace_rows(&mut self, range: Range<usize>, new: &[RowHeight]) {
        let removed = range.len();
        match self.position {
            Position::Anchor { row, offset } if range.contains(&row) => {
                self.position = self.anchor_among(row, offset, &range, new);
                self.anchor_fraction = None;
            }
            Position::Anchor { row, offset } if row >= range.end => {
                let row = row - removed + new.len();
                self.position = Position::Anchor { row, offset };
            }
            _ => {}
        }
        let shift = |row: &mut usize| {
            if *row >= range.end {
                *row = *row - removed + new.len();
            } else {
                *row = (*row).min(range.start);
            }
        };
        if let Some(mark) = &mut self.mark {
            shift(&mut mark.row);
        }
        for placed in &mut self.placed {
            shift(&mut placed.row);
        }
        if let Some(len) = &mut self.len_when_left
            && range.start < *len
        {
            *len = (*len).max(range.end) - removed + new.len();
        }
        self.heights.splice(range, new.iter().copied());
    }

    /// Where an anchor inside replaced rows goes: the same fraction of the way through the rows that replace them.
    fn anchor_among(
        &self,
        row: usize,
        offset: Px64,
        range: &Range<usize>,
        new: &[RowHeight],
    ) -> Position {
        let start = self.heights.top_of(range.start);
        let old_height = self.heights.top_of(range.end) - start;
        let new_height: i64 = new.iter().map(|row| i64::from(row.height)).sum();
        let mut rest = self.heights.top_of(row) - start + offset;
        if old_height > 0 && (0..=old_height).contains(&rest) {
            rest = (rest as f64 * new_height as f64 / old_height as f64) as Px64;
        }
        let mut at = range.start;
        for height in new.iter().take(new.len().saturating_sub(1)) {
            if rest < i64::from(height.height) {
                break;
            }
            rest -= i64::from(height.height);
            at += 1;
        }
        Position::Anchor {
            row: at,
            offset: rest,
        }
    }

    /// Lets `row` be replaced by what it stands for, until it stands for itself.
    pub(super) fn expand(&mut self, rows: &mut impl Rows, row: usize) {
        let scale = self.pixels_per_point();
        while let Some(heights) = rows.expand(row) {
            let new: Vec<RowHeight> = heights
                .into_iter()
                .map(|height| RowHeight::estimated(to_pixels_up(height, scale)))
                .collect();
            self.replace_rows(row..row + 1, &new);
        }
    }

    pub(super) fn measure(&mut self, rows: &mut impl Rows, row: usize) -> Px64 {
        let height = to_pixels_up(rows.measure(row), self.pixels_per_point());
        self.heights
            .set(row, RowHeight::measured(height, self.epoch));
        height
    }

    /// Measures the rows that are visible from the current position and notes where they lie.
    pub(super) fn place(&mut self, rows: &mut impl Rows) {
        self.settle_anchor(rows);
        // Rows as (row, height), the first at `top` below the view's top.
        let mut run: VecDeque<(usize, Px64)> = VecDeque::new();
        let (mut first, mut top) = match self.position {
            Position::FollowTail => (self.len(), self.view),
            Position::Anchor { row, offset } => {
                let bottom = self.place_down(rows, row, -offset, &mut run);
                self.follow_reached_tail(bottom, run.back().map(|last| last.0));
                let gap = self.view - bottom;
                // At the end of the list the view is filled from above instead.
                let shift = if self.follows_tail() { gap } else { gap.max(0) };
                (row, shift - offset)
            }
        };
        while top > 0 && first > 0 {
            let len = self.len();
            self.expand(rows, first - 1);
            let grown = self.len() - len;
            for (row, _) in &mut run {
                *row += grown;
            }
            first += grown;
            first -= 1;
            let height = self.measure(rows, first);
            run.push_front((first, height));
            top -= height;
        }
        // Everything fits, or the start is reached: it stays at the top.
        top = top.min(0);
        self.note_placed(&run, top);
        self.scrolled_down = false;
    }

    fn anchor_row(&self) -> Option<usize> {
        match self.position {
            Position::Anchor { row, .. } => Some(row),
            Position::FollowTail => None,
        }
    }

    /// Makes the anchor the row that really lies at the top of the view, measuring the rows the offset passes.
    fn settle_anchor(&mut self, rows: &mut impl Rows) {
        let Position::Anchor { row, .. } = self.position else {
            return;
        };
        if self.is_empty() || row >= self.len() {
            let row = self.len().saturating_sub(1);
            let offset = if self.is_empty() { 0 } else { self.view };
            self.position = Position::Anchor { row, offset };
            if self.is_empty() {
                return;
            }
        }
        if let Some(row) = self.anchor_row() {
            self.expand(rows, row);
        }
        if let (Some(fraction), Position::Anchor { row, .. }) =
            (self.anchor_fraction.take(), self.position)
        {
            let height = self.measure(rows, row);
            let offset = (fraction * height as f64).round() as Px64;
            self.position = Position::Anchor { row, offset };
        }
        while let Position::Anchor { row, offset } = self.position {
            if offset < 0 && row > 0 {
                self.expand(rows, row - 1);
                let Some(row) = self.anchor_row() else { return };
                let height = self.measure(rows, row - 1);
                self.position = Position::Anchor {
                    row: row - 1,
                    offset: offset + height,
                };
            } else if offset < 0 {
                self.position = Position::Anchor { row, offset: 0 };
            } else {
                self.expand(rows, row);
                let Some(row) = self.anchor_row() else { return };
                let height = self.measure(rows, row);
                if offset < height || row + 1 >= self.len() {
                    return;
                }
                self.position = Position::Anchor {
                    row: row + 1,
                    offset: offset - height,
                };
            }
        }
    }

    /// Measures rows from `row` down until the view is full; returns where they end.
    fn place_down(
        &mut self,
        rows: &mut impl Rows,
        mut row: usize,
        top: Px64,
        run: &mut VecDeque<(usize, Px64)>,
    ) -> Px64 {
        let mut bottom = top;
        while bottom < self.view && row < self.len() {
            self.expand(rows, row);
            let height = self.measure(rows, row);
            run.push_back((row, height));
            bottom += height;
            row += 1;
        }
        bottom
    }

    fn follow_reached_tail(&mut self, bottom: Px64, last: Option<usize>) {
        let at_last_row = last.is_none_or(|last| last + 1 == self.len());
        if self.scrolled_down && at_last_row && bottom <= self.view + TAIL_REACH {
            self.follow_tail();
        }
    }

    fn note_placed(&mut self, run: &VecDeque<(usize, Px64)>, top: Px64) {
        self.placed.clear();
        let mut at = top;
        for &(row, height) in run {
            if at + height > 0 && at < self.view {
                self.placed.push(PlacedRow {
                    row,
                    top: at,
                    height,
                });
            }
            at += height;
        }
        if let (Position::Anchor { .. }, Some(first)) = (self.position, self.placed.first()) {
            self.position = Position::Anchor {
                row: first.row,
                offset: -first.top,
            };
        }
    }
}
