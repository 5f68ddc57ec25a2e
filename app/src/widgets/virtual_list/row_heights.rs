//! The heights of a list's rows: which row lies at an offset, and at which offset a row lies.

use std::ops::Range;

use crate::widgets::fenwick::Fenwick;

/// A length in 1/64 of a physical pixel. Row heights are whole pixels, offsets may be fractions.
pub type Px64 = i64;

/// One physical pixel.
pub const PIXEL: Px64 = 64;

/// The height of one row, and whether it is known or guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowHeight {
    /// Height in 1/64 px.
    pub height: i32,
    /// The layout in which the row was measured, or [`RowHeight::ESTIMATED`].
    pub epoch: u32,
}

impl RowHeight {
    /// The epoch of heights that were never measured.
    pub const ESTIMATED: u32 = 0;

    /// A guess.
    pub fn estimated(height: Px64) -> Self {
        Self {
            height: clamp(height),
            epoch: Self::ESTIMATED,
        }
    }

    /// What was measured in the layout `epoch`.
    pub fn measured(height: Px64, epoch: u32) -> Self {
        Self {
            height: clamp(height),
            epoch,
        }
    }
}

fn clamp(height: Px64) -> i32 {
    i32::try_from(height.max(0)).unwrap_or(i32::MAX)
}

/// Rows a chunk is filled with at first; twice as many make it split.
const CHUNK: usize = 128;

/// Heights of rows that can be looked up, changed, inserted and removed without touching all the others.
///
/// Rows lie in chunks; Fenwick trees over the chunks' heights and lengths answer for whole chunks, so that a lookup
/// costs O(log n) and an insertion O(chunk + n / chunk).
#[derive(Clone, Debug, Default)]
pub struct RowHeights {
    chunks: Vec<Vec<RowHeight>>,
    sums: Fenwick,
    counts: Fenwick,
}

impl RowHeights {
    /// Rows with these estimated heights, in O(n).
    pub fn from_estimates(heights: impl IntoIterator<Item = Px64>) -> Self {
        let rows: Vec<RowHeight> = heights.into_iter().map(RowHeight::estimated).collect();
        let mut list = Self {
            chunks: rows.chunks(CHUNK).map(<[_]>::to_vec).collect(),
            ..Self::default()
        };
        list.rebuild_trees();
        list
    }

    fn rebuild_trees(&mut self) {
        self.sums = self.chunks.iter().map(|chunk| chunk_sum(chunk)).collect();
        self.counts = self.chunks.iter().map(|chunk| chunk.len() as i64).collect();
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.counts.total() as usize
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The height of all rows together.
    pub fn total(&self) -> Px64 {
        self.sums.total()
    }

    fn locate(&self, row: usize) -> (usize, usize) {
        let (chunk, within) = self.counts.find(row as i64);
        (chunk, within as usize)
    }

    /// The height of `row`, if there is such a row.
    pub fn get(&self, row: usize) -> Option<RowHeight> {
        let (chunk, within) = self.locate(row);
        self.chunks.get(chunk)?.get(within).copied()
    }

    /// Changes the height of `row`; does nothing beyond the end.
    pub fn set(&mut self, row: usize, height: RowHeight) {
        let (chunk, within) = self.locate(row);
        if let Some(slot) = self
            .chunks
            .get_mut(chunk)
            .and_then(|rows| rows.get_mut(within))
        {
            self.sums
                .add(chunk, i64::from(height.height) - i64::from(slot.height));
            *slot = height;
        }
    }

    /// The offset of the top of `row`; the total when `row` is beyond the end.
    pub fn top_of(&self, row: usize) -> Px64 {
        let (chunk, within) = self.locate(row);
        let before = self.sums.prefix(chunk);
        let inside = self
            .chunks
            .get(chunk)
            .map_or(0, |rows| chunk_sum(rows.get(..within).unwrap_or(rows)));
        before + inside
    }

    /// The row at `offset` and how far below its top that is. Beyond the end: `(len, rest)`.
    pub fn find(&self, offset: Px64) -> (usize, Px64) {
        let (chunk, mut rest) = self.sums.find(offset.max(0));
        let mut row = self.counts.prefix(chunk) as usize;
        for height in self.chunks.get(chunk).into_iter().flatten() {
            if rest < i64::from(height.height) {
                break;
            }
            rest -= i64::from(height.height);
            row += 1;
        }
        (row, rest)
    }

    /// Replaces the rows of `range` by rows with the given heights. The range is cut to the rows there are.
    pub fn splice(&mut self, range: Range<usize>, heights: impl IntoIterator<Item = RowHeight>) {
        let len = self.len();
        let (start, end) = (
            range.start.min(len),
            range.end.min(len).max(range.start.min(len)),
        );
        if self.chunks.is_empty() {
            self.chunks.push(Vec::new());
            self.rebuild_trees();
        }
        let last = self.chunks.len() - 1;
        let (first_chunk, first_within) = match self.locate(start) {
            (chunk, _) if chunk > last => (last, self.chunks[last].len()),
            place => place,
        };
        let (last_chunk, last_within) = match self.locate(end) {
            (chunk, _) if chunk > last => (last, self.chunks[last].len()),
            place => place,
        };
        if first_chunk == last_chunk {
            self.chunks[first_chunk].splice(first_within..last_within, heights);
        } else {
            let tail = self.chunks[last_chunk].split_off(last_within);
            self.chunks[first_chunk].truncate(first_within);
            self.chunks[first_chunk].extend(heights);
            self.chunks[first_chunk].extend(tail);
            self.chunks.drain(first_chunk + 1..=last_chunk);
        }
        self.settle_chunk(first_chunk, first_chunk == last_chunk);
    }

    /// Brings one changed chunk back to a sane size and the trees up to date.
    fn settle_chunk(&mut self, chunk: usize, trees_match: bool) {
        let size = self.chunks[chunk].len();
        if trees_match && size > 0 && size <= 2 * CHUNK {
            let sum = self.sums.prefix(chunk + 1) - self.sums.prefix(chunk);
            let count = self.counts.prefix(chunk + 1) - self.counts.prefix(chunk);
            self.sums.add(chunk, chunk_sum(&self.chunks[chunk]) - sum);
            self.counts.add(chunk, size as i64 - count);
            return;
        }
        let rows = std::mem::take(&mut self.chunks[chunk]);
        let parts: Vec<Vec<RowHeight>> = if rows.len() <= 2 * CHUNK {
            (!rows.is_empty()).then_some(rows).into_iter().collect()
        } else {
            rows.chunks(CHUNK).map(<[_]>::to_vec).collect()
        };
        self.chunks.splice(chunk..=chunk, parts);
        self.rebuild_trees();
    }

    /// Appends rows with estimated heights.
    pub fn extend(&mut self, heights: impl IntoIterator<Item = Px64>) {
        let len = self.len();
        self.splice(len..len, heights.into_iter().map(RowHeight::estimated));
    }

    /// Multiplies every height by `ratio` and makes all of them estimates, for a layout at another width or scale.
    pub fn scale(&mut self, ratio: f64) {
        for row in self.chunks.iter_mut().flatten() {
            let scaled = (f64::from(row.height) * ratio / PIXEL as f64).ceil() as i64 * PIXEL;
            *row = RowHeight::estimated(scaled);
        }
        self.rebuild_trees();
    }
}

fn chunk_sum(rows: &[RowHeight]) -> i64 {
    rows.iter().map(|row| i64::from(row.height)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agrees(list: &RowHeights, model: &[i64]) -> Result<(), TestCaseError> {
        prop_assert_eq!(list.len(), model.len());
        let mut top = 0;
        for (row, &height) in model.iter().enumerate() {
            prop_assert_eq!(list.top_of(row), top);
            prop_assert_eq!(i64::from(list.get(row).unwrap().height), height);
            if height > 0 {
                prop_assert_eq!(list.find(top), (row, 0));
                prop_assert_eq!(list.find(top + height - 1), (row, height - 1));
            }
            top += height;
        }
        prop_assert_eq!(list.total(), top);
        prop_assert_eq!(list.top_of(model.len()), top);
        prop_assert_eq!(list.find(top + 5), (model.len(), 5));
        prop_assert_eq!(list.get(model.len()), None);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn splices_and_updates_agree_with_a_plain_list(
            mut model in prop::collection::vec(0..500_i64, 0..700),
            edits in prop::collection::vec(
                (0.0..1.0_f64, 0..300_usize, prop::collection::vec(0..500_i64, 0..400)), 0..8),
            updates in prop::collection::vec((0.0..1.0_f64, 0..500_i64), 0..20),
        ) {
            let mut list = RowHeights::from_estimates(model.iter().copied());
            agrees(&list, &model)?;
            for (at, removed, inserted) in edits {
                let start = (at * model.len() as f64) as usize;
                let end = (start + removed).min(model.len());
                list.splice(start..end, inserted.iter().map(|&h| RowHeight::estimated(h)));
                model.splice(start..end, inserted);
                agrees(&list, &model)?;
            }
            for (at, height) in updates {
                if model.is_empty() { break; }
                let row = (at * model.len() as f64) as usize;
                list.set(row, RowHeight::measured(height, 3));
                model[row] = height;
            }
            agrees(&list, &model)?;
        }
    }

    #[test]
    fn the_last_row_can_go_and_rows_can_come_back() {
        let mut list = RowHeights::from_estimates([64]);
        list.splice(0..1, []);
        assert_eq!((list.len(), list.total()), (0, 0));
        list.extend([64, 128]);
        assert_eq!((list.len(), list.total()), (2, 192));
    }
}
