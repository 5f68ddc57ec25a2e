//! A grid over the plane and the coarser grids above it, each cell with the mass and the centre of what lies in it.

use super::Point;

/// Cells along a side of the finest grid at most.
const LARGEST_SIDE: usize = 512;

/// Fixed-point units to a unit of length in cell sums.
const FIXED: f32 = 256.0;

/// Mass and its moments, in integers: sums of them don't depend on their order.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    mass: i64,
    x: i64,
    y: i64,
}

/// The grids, finest first; each next one has half as many cells along a side.
pub(super) struct Pyramid {
    origin: Point,
    cell_size: f32,
    side: usize,
    levels: Vec<Vec<Cell>>,
    /// The nodes sorted by cell, and where each cell's begin.
    members: Vec<u32>,
    starts: Vec<u32>,
    cells: Vec<u32>,
}

impl Pyramid {
    /// Sorts points into cells of at least `cell_size`.
    pub(super) fn build(points: &[Point], weights: &[u32], cell_size: f32) -> Self {
        let (mut low, mut high) = (
            Point {
                x: f32::MAX,
                y: f32::MAX,
            },
            Point {
                x: f32::MIN,
                y: f32::MIN,
            },
        );
        for point in points {
            low = Point {
                x: low.x.min(point.x),
                y: low.y.min(point.y),
            };
            high = Point {
                x: high.x.max(point.x),
                y: high.y.max(point.y),
            };
        }
        let extent = (high.x - low.x).max(high.y - low.y).max(cell_size);
        let mut side = 4;
        #[allow(clippy::cast_precision_loss)]
        while side < LARGEST_SIDE && extent / side as f32 > cell_size {
            side *= 2;
        }
        #[allow(clippy::cast_precision_loss)]
        let cell_size = extent * 1.0001 / side as f32;
        let mut pyramid = Self {
            origin: low,
            cell_size,
            side,
            levels: Vec::new(),
            members: vec![0; points.len()],
            starts: vec![0; side * side + 1],
            cells: Vec::with_capacity(points.len()),
        };
        pyramid.sort(points, weights);
        pyramid
    }

    fn sort(&mut self, points: &[Point], weights: &[u32]) {
        let mut finest = vec![Cell::default(); self.side * self.side];
        for (point, weight) in points.iter().zip(weights) {
            let cell = self.cell_of(*point);
            self.cells.push(u32::try_from(cell).unwrap_or(0));
            self.starts[cell + 1] += 1;
            let mass = i64::from(*weight);
            let sum = &mut finest[cell];
            sum.mass += mass;
            sum.x += fixed(point.x - self.origin.x) * mass;
            sum.y += fixed(point.y - self.origin.y) * mass;
        }
        for cell in 0..self.side * self.side {
            self.starts[cell + 1] += self.starts[cell];
        }
        let mut next = self.starts.clone();
        for (node, cell) in (0..).zip(&self.cells) {
            let slot = &mut next[*cell as usize];
            self.members[*slot as usize] = node;
            *slot += 1;
        }
        self.levels.push(finest);
        let mut side = self.side;
        while side > 4 {
            let fine = &self.levels[self.levels.len() - 1];
            let mut coarse = vec![Cell::default(); side * side / 4];
            for (index, cell) in fine.iter().enumerate() {
                let (x, y) = (index % side, index / side);
                let sum = &mut coarse[(y / 2) * (side / 2) + x / 2];
                sum.mass += cell.mass;
                sum.x += cell.x;
                sum.y += cell.y;
            }
            side /= 2;
            self.levels.push(coarse);
        }
    }

    fn cell_of(&self, point: Point) -> usize {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let at = |value: f32| ((value / self.cell_size) as usize).min(self.side - 1);
        at(point.y - self.origin.y) * self.side + at(point.x - self.origin.x)
    }

    /// Calls `near` with every node of the 3 × 3 cells around a node, and `far` with the mass and centre of every cell
    /// beyond: at each level those that the next coarser level's 3 × 3 covers and this one's doesn't, and at the
    /// coarsest all that is left.
    pub(super) fn visit(
        &self,
        node: usize,
        mut near: impl FnMut(u32),
        mut far: impl FnMut(f32, Point),
    ) {
        let cell = self.cells[node] as usize;
        let (mut x, mut y, mut side) = (cell % self.side, cell / self.side, self.side);
        for neighbour in around(x, y, side) {
            let members = self.starts[neighbour] as usize..self.starts[neighbour + 1] as usize;
            self.members[members]
                .iter()
                .for_each(|member| near(*member));
        }
        for (depth, level) in self.levels.iter().enumerate() {
            let is_coarsest = depth + 1 == self.levels.len();
            let (low_x, high_x) = if is_coarsest {
                (0, side)
            } else {
                reach(x / 2, side)
            };
            let (low_y, high_y) = if is_coarsest {
                (0, side)
            } else {
                reach(y / 2, side)
            };
            for row in low_y..high_y {
                for column in low_x..high_x {
                    let is_near = column.abs_diff(x) <= 1 && row.abs_diff(y) <= 1;
                    let sum = level[row * side + column];
                    if !is_near && sum.mass > 0 {
                        far(mass(sum), self.centre(sum));
                    }
                }
            }
            (x, y, side) = (x / 2, y / 2, side / 2);
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn centre(&self, cell: Cell) -> Point {
        let mass = cell.mass as f32;
        Point {
            x: self.origin.x + cell.x as f32 / mass / FIXED,
            y: self.origin.y + cell.y as f32 / mass / FIXED,
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn mass(cell: Cell) -> f32 {
    cell.mass as f32
}

#[allow(clippy::cast_possible_truncation)]
fn fixed(value: f32) -> i64 {
    (value * FIXED) as i64
}

/// The finer cells that the 3 × 3 around a coarse cell covers, along one side.
fn reach(coarse: usize, side: usize) -> (usize, usize) {
    (coarse.saturating_sub(1) * 2, ((coarse + 2) * 2).min(side))
}

fn around(x: usize, y: usize, side: usize) -> impl Iterator<Item = usize> {
    let rows = y.saturating_sub(1)..(y + 2).min(side);
    rows.flat_map(move |row| {
        (x.saturating_sub(1)..(x + 2).min(side)).map(move |column| row * side + column)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_other_node_is_counted_exactly_once(points in prop::collection::vec((-50.0_f32..50.0, -50.0_f32..50.0), 1..200)) {
            let points: Vec<Point> = points.into_iter().map(|(x, y)| Point { x, y }).collect();
            let weights = vec![1; points.len()];
            let pyramid = Pyramid::build(&points, &weights, 2.0);
            for node in 0..points.len() {
                let (mut near_count, mut far_mass) = (0, 0.0);
                pyramid.visit(node, |_| near_count += 1, |mass, _| far_mass += mass);
                #[allow(clippy::cast_precision_loss)]
                let total = near_count as f32 + far_mass;
                #[allow(clippy::cast_precision_loss)]
                let expected = points.len() as f32;
                prop_assert!((total - expected).abs() < 1e-3, "{total} of {expected}");
            }
        }
    }
}
