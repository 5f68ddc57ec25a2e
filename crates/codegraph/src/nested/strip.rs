//! Boxes of given areas in rows, in their order.

/// A box: its upper left corner and its size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Box2 {
    /// Left.
    pub x: f32,
    /// Top.
    pub y: f32,
    /// Width.
    pub width: f32,
    /// Height.
    pub height: f32,
}

/// Room for the name at the top of a box, and around what it holds, as shares of its shorter side.
const HEAD: f32 = 0.12;
const MARGIN: f32 = 0.025;
/// Room between siblings, as a share of the shorter side of what holds them.
const GAP: f32 = 0.012;
/// A box never loses more of a side than this to room around it.
const MOST_GAP: f32 = 0.15;

impl Box2 {
    /// Its middle.
    #[must_use]
    pub fn middle(self) -> [f32; 2] {
        [self.x + self.width / 2.0, self.y + self.height / 2.0]
    }

    /// Whether a point lies in it.
    #[must_use]
    pub fn contains(self, [x, y]: [f32; 2]) -> bool {
        x >= self.x && x <= self.x + self.width && y >= self.y && y <= self.y + self.height
    }

    /// Whether it holds all of another one.
    #[must_use]
    pub fn holds(self, other: Self) -> bool {
        other.x >= self.x
            && other.y >= self.y
            && other.x + other.width <= self.x + self.width
            && other.y + other.height <= self.y + self.height
    }

    /// Whether the two have more than an edge in common.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }

    /// The part at its top that its name stands in.
    #[must_use]
    pub fn head(self) -> Self {
        Self {
            height: HEAD * self.width.min(self.height),
            ..self
        }
    }

    /// What of it its children share.
    #[must_use]
    pub fn inside(self) -> Self {
        let side = self.width.min(self.height);
        let (head, margin) = (HEAD * side, MARGIN * side);
        Self {
            x: self.x + margin,
            y: self.y + head,
            width: self.width - 2.0 * margin,
            height: self.height - head - margin,
        }
    }

    /// Two parts with areas in proportion to two weights, side by side along the longer side.
    pub(super) fn split(self, first: f32, second: f32) -> (Self, Self) {
        let share = if first + second > 0.0 {
            first / (first + second)
        } else {
            1.0
        };
        if self.width > 1.2 * self.height {
            let width = self.width * share;
            let left = Self { width, ..self };
            let right = Self {
                x: self.x + width,
                width: self.width - width,
                ..self
            };
            return (left, right);
        }
        let height = self.height * share;
        let upper = Self { height, ..self };
        let lower = Self {
            y: self.y + height,
            height: self.height - height,
            ..self
        };
        (upper, lower)
    }

    fn with_gap(self, gap: f32) -> Self {
        let across = gap.min(MOST_GAP * self.width);
        let down = gap.min(MOST_GAP * self.height);
        Self {
            x: self.x + across / 2.0,
            y: self.y + down / 2.0,
            width: self.width - across,
            height: self.height - down,
        }
    }
}

/// Few boxes are put into the rows that make them most like squares; many into rows that stay what they are when one
/// more comes.
const FEW: usize = 16;

/// Boxes inside of `outer` in the order of `weights`, with areas in proportion to them, row after row. `keys` are numbers
/// that belong to the boxes wherever they stand.
pub(super) fn strips(outer: Box2, weights: &[f32], keys: &[u64]) -> Vec<Box2> {
    let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
    let gap = GAP * outer.width.min(outer.height);
    let mut boxes = Vec::with_capacity(weights.len());
    let (mut start, mut done) = (0, 0.0_f64);
    let rows = if weights.len() <= FEW {
        squarest_rows(outer, weights, total)
    } else {
        lasting_rows(weights, keys, total / row_count(outer, weights, total))
    };
    for end in rows {
        let row: f64 = weights[start..end].iter().map(|w| f64::from(*w)).sum();
        let top = f64::from(outer.y) + f64::from(outer.height) * (done / total);
        done += row;
        let bottom = f64::from(outer.y) + f64::from(outer.height) * (done / total);
        let mut before = 0.0_f64;
        for weight in &weights[start..end] {
            let left = f64::from(outer.x) + f64::from(outer.width) * (before / row);
            before += f64::from(*weight);
            let right = f64::from(outer.x) + f64::from(outer.width) * (before / row);
            let own = Box2 {
                x: left as f32,
                y: top as f32,
                width: (right - left) as f32,
                height: (bottom - top) as f32,
            };
            boxes.push(own.with_gap(gap));
        }
        start = end;
    }
    boxes
}

/// How many rows there are to be, in steps of a quarter, so that it seldom changes.
fn row_count(outer: Box2, weights: &[f32], total: f64) -> f64 {
    let squares: f64 = weights.iter().map(|w| f64::from(*w) * f64::from(*w)).sum();
    // As many as there would be of boxes of one weight.
    let alike = total * total / squares.max(f64::MIN_POSITIVE);
    let rows = (alike * f64::from(outer.height) / f64::from(outer.width)).sqrt();
    let mut step = 1.0_f64;
    while (step * 1.25).max(step + 1.0).floor() <= rows {
        step = (step * 1.25).max(step + 1.0).floor();
    }
    step
}

/// Rows of about the weight `wanted`: one ends behind each box whose key is the least of all about it, so that a box that
/// comes or goes changes only the rows about it.
fn lasting_rows(weights: &[f32], keys: &[u64], wanted: f64) -> Vec<usize> {
    // Weight before each box, and after the last.
    let mut before = vec![0.0_f64];
    before.extend(weights.iter().scan(0.0, |sum, weight| {
        *sum += f64::from(*weight);
        Some(*sum)
    }));
    let reach = 0.45 * wanted;
    let is_least = |at: usize| {
        let first = before.partition_point(|sum| *sum < before[at] - reach);
        let last = before.partition_point(|sum| *sum <= before[at] + reach);
        let near = first.min(at)..last.clamp(at + 1, keys.len());
        keys[near].iter().all(|key| *key >= keys[at])
    };
    let mut ends: Vec<usize> = Vec::new();
    let mut start = 0;
    let candidates = (0..weights.len()).filter(|at| is_least(*at));
    for end in candidates.map(|at| at + 1).chain([weights.len()]) {
        if end > start {
            split_row(start..end, &before, keys, wanted, &mut ends);
            start = end;
        }
    }
    // A last row that is too thin goes into the one before.
    let thin = ends.len() > 1 && before[weights.len()] - before[ends[ends.len() - 2]] < reach;
    if thin {
        ends.remove(ends.len() - 2);
    }
    ends
}

/// Cuts a row that is too heavy in two behind the box with the least key in its middle third.
fn split_row(
    row: std::ops::Range<usize>,
    before: &[f64],
    keys: &[u64],
    wanted: f64,
    ends: &mut Vec<usize>,
) {
    let weight = before[row.end] - before[row.start];
    let third = |nth: f64| {
        let at = before[row.start] + weight * nth / 3.0;
        before.partition_point(|sum| *sum < at)
    };
    let middle = third(1.0).max(row.start + 1)..third(2.0).min(row.end - 1);
    let cut = middle.min_by_key(|at| keys[*at]);
    match cut.filter(|_| weight > 1.7 * wanted) {
        Some(cut) => {
            split_row(row.start..cut, before, keys, wanted, ends);
            split_row(cut..row.end, before, keys, wanted, ends);
        }
        None => ends.push(row.end),
    }
}

/// Rows that are each filled as long as that makes their boxes more like squares.
fn squarest_rows(outer: Box2, weights: &[f32], total: f64) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut start = 0;
    while start < weights.len() {
        start += squarest_row_len(outer, &weights[start..], total);
        ends.push(start);
    }
    ends
}

/// How many of the next boxes go into one row so that they are as much like squares as can be.
fn squarest_row_len(outer: Box2, weights: &[f32], total: f64) -> usize {
    let (width, height) = (f64::from(outer.width), f64::from(outer.height));
    // The mean of how far boxes of a row are from squares, from the row's sum and the sum of its inverses.
    let mut best = f64::INFINITY;
    let mut sum = 0.0;
    for (nth, weight) in weights.iter().enumerate() {
        sum += f64::from(*weight);
        let row_height = height * sum / total;
        let aspect = |weight: &f32| {
            let box_width = width * f64::from(*weight) / sum;
            (box_width / row_height).max(row_height / box_width)
        };
        let mean = weights[..=nth].iter().map(aspect).sum::<f64>() / (nth + 1) as f64;
        if mean > best {
            return nth;
        }
        best = mean;
    }
    weights.len()
}
