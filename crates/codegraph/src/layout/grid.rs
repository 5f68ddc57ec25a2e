//! The plane cut into square cells, and the nodes sorted by them.

use super::fixed::{FARTHEST, Place, Weight};

/// The shift of the smallest cells: a quarter of the natural length of an edge.
pub(super) const LEAST_SHIFT: u32 = 10;

/// Cells along a side at most.
const LARGEST_SIDE: u32 = 1_024;

/// Cells along a side at least; that many stay in the coarsest grid of the pyramid.
pub(super) const SMALLEST_SIDE: u32 = 4;

/// A node as its cell holds it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Member {
    pub(super) place: Place,
    pub(super) mass: u32,
    /// What the mass repels with.
    pub(super) weight: Weight,
    pub(super) node: u32,
}

/// Square cells of a power of two, and who is in them.
#[derive(Debug)]
pub(super) struct Grid {
    /// Cells along each of the two sides.
    pub(super) side: u32,
    /// The corner of the first cell.
    pub(super) low: Place,
    /// A cell is 2^`shift` wide.
    pub(super) shift: u32,
    /// Where the members of each cell begin, and where the last one's end.
    pub(super) starts: Vec<u32>,
    /// All nodes, by cell.
    pub(super) members: Vec<Member>,
}

/// Cells along a side for so many nodes: two cells a node, since a graph fills its square to a half or less.
pub(super) fn side_for(count: usize) -> u32 {
    let cells = u32::try_from(count).unwrap_or(u32::MAX).saturating_mul(2);
    (cells.isqrt() + 1).clamp(SMALLEST_SIDE, LARGEST_SIDE)
}

/// The shift of the smallest cells of which `side` cover a way of `extent`.
pub(super) fn shift_for(extent: u32, side: u32) -> u32 {
    let mut shift = LEAST_SHIFT;
    while extent >> shift >= side {
        shift += 1;
    }
    shift
}

impl Grid {
    pub(super) fn new(count: usize) -> Self {
        let side = side_for(count);
        Self {
            side,
            low: Place::default(),
            shift: LEAST_SHIFT,
            starts: vec![0; (side * side) as usize + 1],
            members: vec![Member::default(); count],
        }
    }

    /// Lays the cells over the places and sorts the nodes into them.
    pub(super) fn sort(&mut self, places: &[Place], masses: &[u32], weights: &[Weight]) {
        let (mut low, mut high) = (
            Place {
                x: FARTHEST,
                y: FARTHEST,
            },
            Place {
                x: -FARTHEST,
                y: -FARTHEST,
            },
        );
        for place in places {
            (low.x, low.y) = (low.x.min(place.x), low.y.min(place.y));
            (high.x, high.y) = (high.x.max(place.x), high.y.max(place.y));
        }
        let extent = (high.x - low.x).max(high.y - low.y).unsigned_abs();
        (self.low, self.shift) = (low, shift_for(extent, self.side));
        self.starts.fill(0);
        for place in places {
            let cell = self.cell_of(*place);
            self.starts[cell as usize] += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        // From the back, what is a cell's end moves down to where it begins.
        for (node, place) in (0..places.len()).zip(places).rev() {
            let cell = self.cell_of(*place);
            let start = &mut self.starts[cell as usize];
            *start -= 1;
            self.members[*start as usize] = Member {
                place: *place,
                mass: masses[node],
                weight: weights[node],
                node: u32::try_from(node).unwrap_or(u32::MAX),
            };
        }
    }

    /// The cell of a place.
    fn cell_of(&self, place: Place) -> u32 {
        let column = (place.x - self.low.x).unsigned_abs() >> self.shift;
        let row = (place.y - self.low.y).unsigned_abs() >> self.shift;
        row * self.side + column
    }

    /// The members of a row of cells, from one to before another, as indices.
    #[inline]
    pub(super) fn range(&self, from: u32, to: u32) -> std::ops::Range<usize> {
        self.starts[from as usize] as usize..self.starts[to as usize] as usize
    }

    /// The corner of a cell.
    pub(super) fn corner(&self, column: u32, row: u32) -> Place {
        Place {
            x: self.low.x + (column << self.shift).cast_signed(),
            y: self.low.y + (row << self.shift).cast_signed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_node_is_in_its_cell(spots in prop::collection::vec((-FARTHEST..FARTHEST, -9_000..9_000_i32), 1..200)) {
            let places: Vec<Place> = spots.into_iter().map(|(x, y)| Place { x, y }).collect();
            let mut grid = Grid::new(places.len());
            grid.sort(&places, &vec![1; places.len()], &vec![Weight::default(); places.len()]);
            let mut seen = vec![0; places.len()];
            for cell in 0..grid.side * grid.side {
                for member in &grid.members[grid.range(cell, cell + 1)] {
                    prop_assert_eq!(grid.cell_of(places[member.node as usize]), cell);
                    seen[member.node as usize] += 1;
                }
            }
            prop_assert!(seen.iter().all(|count| *count == 1));
        }
    }
}
