//! The push of all that is far: a pyramid of grids, summed upwards and worked out downwards.
//!
//! Upwards, each cell takes the mass and the centre of mass of its four finer cells. Downwards, each cell takes its
//! coarser cell's push, and adds that of the cells which the 3 × 3 around the coarser cell cover and its own 3 × 3 don't,
//! as the push in its middle and how that changes with the place. In the plane a push that falls with the distance is
//! 1/z of a complex number, so the change is one complex number too: -1/z².
//!
//! L. Greengard, V. Rokhlin: A Fast Algorithm for Particle Simulations (1987), with expansions of two terms.

use super::fixed::{Place, UNIT_BITS, Weight, fading};
use super::grid::{Grid, SMALLEST_SIDE};

/// Bits behind the point of a place within its cell.
const CELL_BITS: u32 = 10;

/// The change of the push over a cell counts up to here: it is multiplied with a place of [`CELL_BITS`] bits.
const STEEPEST: i32 = 1 << 20;

/// The mass of a cell and its moments about the cell's corner, in [`Field::offset_bits`].
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    mass: u32,
    x: u32,
    y: u32,
}

/// A cell as it pushes: the centre of its mass from its corner, in [`CELL_BITS`], and its weight.
#[derive(Clone, Copy, Debug, Default)]
struct Source {
    x: i32,
    y: i32,
    weight: Weight,
}

/// A push around the middle of a cell: in the middle, and the complex change of it over one cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Local {
    x: i32,
    y: i32,
    change_x: i32,
    change_y: i32,
}

#[derive(Debug)]
struct Level {
    side: u32,
    sums: Vec<Sum>,
    sources: Vec<Source>,
    locals: Vec<Local>,
}

/// The pyramid, finest grid first.
#[derive(Debug)]
pub(super) struct Field {
    levels: Vec<Level>,
    strength: Weight,
    force_bits: i32,
    offset_bits: u32,
}

/// Bits behind the point of a place within a cell while masses are summed: a sum over all nodes must fit 32 bits.
pub(super) fn offset_bits(total_mass: u32) -> u32 {
    total_mass.leading_zeros().min(CELL_BITS)
}

/// The sides of the pyramid's grids, finest first.
pub(super) fn sides(finest: u32) -> Vec<u32> {
    let halves = |side: &u32| (*side > SMALLEST_SIDE).then(|| side.div_ceil(2));
    std::iter::successors(Some(finest), halves).collect()
}

impl Field {
    pub(super) fn new(side: u32, total_mass: u32, strength: Weight, force_bits: i32) -> Self {
        let level = |side: u32| {
            let cells = (side * side) as usize;
            Level {
                side,
                sums: vec![Sum::default(); cells],
                sources: vec![Source::default(); cells],
                locals: vec![Local::default(); cells],
            }
        };
        Self {
            levels: sides(side).into_iter().map(level).collect(),
            strength,
            force_bits,
            offset_bits: offset_bits(total_mass),
        }
    }

    /// Works the field of the grid's members out.
    pub(super) fn build(&mut self, grid: &Grid) {
        self.sum_up(grid);
        for depth in (0..self.levels.len()).rev() {
            let shift = grid.shift + u32::try_from(depth).unwrap_or(0);
            self.work_down(depth, shift);
        }
    }

    fn sum_up(&mut self, grid: &Grid) {
        let bits = self.offset_bits;
        let finest = &mut self.levels[0];
        let mask = (1_u32 << grid.shift) - 1;
        let within = |way: i32| (way.unsigned_abs() & mask) >> (grid.shift - bits);
        for (cell, sum) in (0..).zip(&mut finest.sums) {
            *sum = Sum::default();
            for member in &grid.members[grid.range(cell, cell + 1)] {
                sum.mass += member.mass;
                sum.x += within(member.place.x - grid.low.x) * member.mass;
                sum.y += within(member.place.y - grid.low.y) * member.mass;
            }
        }
        for depth in 1..self.levels.len() {
            let (finer, coarser) = self.levels.split_at_mut(depth);
            coarser[0].sum(&finer[depth - 1], bits);
        }
        for level in &mut self.levels {
            for (source, sum) in level.sources.iter_mut().zip(&level.sums) {
                *source = Source::default();
                if sum.mass > 0 {
                    let middle = |moment: u32| (moment / sum.mass) << (CELL_BITS - bits);
                    source.x = middle(sum.x).cast_signed();
                    source.y = middle(sum.y).cast_signed();
                    source.weight = Weight::of_mass(sum.mass, self.strength);
                }
            }
        }
    }

    fn work_down(&mut self, depth: usize, shift: u32) {
        let (finer, coarser) = self.levels.split_at_mut(depth + 1);
        let (level, above) = (&mut finer[depth], coarser.first());
        let side = level.side;
        let shift = shift.cast_signed();
        // What is far is two to three cells away.
        let base = shift + 16 - UNIT_BITS - self.force_bits + fading(shift + 1);
        for row in 0..side {
            let rows = reach(row, side, above.is_some());
            for column in 0..side {
                let cell = (row * side + column) as usize;
                if level.sums[cell].mass == 0 {
                    continue;
                }
                let mut local = above.map_or_else(Local::default, |above| {
                    let coarse = &above.locals[(row / 2 * above.side + column / 2) as usize];
                    coarse.quarter(column % 2 == 1, row % 2 == 1)
                });
                let columns = reach(column, side, above.is_some());
                for from_row in rows.clone() {
                    let is_near_row = from_row.abs_diff(row) <= 1;
                    let sources = &level.sources[(from_row * side) as usize..];
                    for from_column in columns.clone() {
                        let source = &sources[from_column as usize];
                        let is_near = is_near_row && from_column.abs_diff(column) <= 1;
                        if !is_near && source.weight.mantissa > 0 {
                            let columns = column.cast_signed() - from_column.cast_signed();
                            let rows = row.cast_signed() - from_row.cast_signed();
                            local.add(source, columns, rows, base);
                        }
                    }
                }
                level.locals[cell] = local;
            }
        }
    }

    /// Where the mass of a cell of the finest grid has its centre.
    pub(super) fn centre(&self, grid: &Grid, column: u32, row: u32) -> Place {
        let source = &self.levels[0].sources[(row * grid.side + column) as usize];
        let corner = grid.corner(column, row);
        let way = |within: i32| within << (grid.shift - CELL_BITS);
        Place {
            x: corner.x + way(source.x),
            y: corner.y + way(source.y),
        }
    }

    /// What a cell of the finest grid repels with, less some of its mass.
    pub(super) fn weight(&self, cell: u32, less: u32) -> Weight {
        Weight::of_mass(
            self.levels[0].sums[cell as usize].mass - less,
            self.strength,
        )
    }

    /// The push of all that is far on a place in a cell.
    #[inline]
    pub(super) fn push(&self, grid: &Grid, cell: u32, place: Place) -> Place {
        let local = &self.levels[0].locals[cell as usize];
        let mask = (1_u32 << grid.shift) - 1;
        let middle = 1_i32 << (CELL_BITS - 1);
        let within = |way: i32| {
            ((way.unsigned_abs() & mask) >> (grid.shift - CELL_BITS)).cast_signed() - middle
        };
        let (x, y) = (within(place.x - grid.low.x), within(place.y - grid.low.y));
        let change_x = local.change_x.clamp(-STEEPEST, STEEPEST);
        let change_y = local.change_y.clamp(-STEEPEST, STEEPEST);
        let bits = CELL_BITS.cast_signed();
        Place {
            x: local.x + shifted(change_y * y - change_x * x, bits),
            y: local.y + shifted(change_y * x + change_x * y, bits),
        }
    }
}

impl Level {
    fn sum(&mut self, finer: &Self, bits: u32) {
        self.sums.fill(Sum::default());
        for row in 0..finer.side {
            for column in 0..finer.side {
                let part = finer.sums[(row * finer.side + column) as usize];
                let sum = &mut self.sums[(row / 2 * self.side + column / 2) as usize];
                // A place in the finer cell is half of that in the coarser one; the second one begins in the middle.
                let half = part.mass << bits >> 1;
                sum.mass += part.mass;
                sum.x += (part.x >> 1) + half * (column % 2);
                sum.y += (part.y >> 1) + half * (row % 2);
            }
        }
    }
}

impl Local {
    /// The same push around the middle of one of the four finer cells.
    fn quarter(self, is_right: bool, is_lower: bool) -> Self {
        let (x, y) = (if is_right { 1 } else { -1 }, if is_lower { 1 } else { -1 });
        Self {
            x: self.x + shifted(self.change_y * y - self.change_x * x, 2),
            y: self.y + shifted(self.change_y * x + self.change_x * y, 2),
            change_x: shifted(self.change_x, 1),
            change_y: shifted(self.change_y, 1),
        }
    }

    /// Adds the push of a cell that is so many columns and rows away. `base` is the shift for a weight of exponent 0.
    #[inline]
    fn add(&mut self, source: &Source, columns: i32, rows: i32, base: i32) {
        let middle = 1 << (CELL_BITS - 1);
        let x = (columns << CELL_BITS) + middle - source.x;
        let y = (rows << CELL_BITS) + middle - source.y;
        // At least 1.5 cells and at most 3.5 along each side: the square has 22 to 25 bits.
        let square = (x * x + y * y).unsigned_abs();
        let inverse = ((1 << 31) / (square >> 9)).cast_signed();
        let (x, y) = (shifted(x * inverse, 14), shifted(y * inverse, 14));
        let change_x = (x * x - y * y) >> 16;
        let change_y = (-2 * x * y) >> 16;
        let mantissa = source.weight.mantissa.cast_signed();
        let shift = base - source.weight.exponent;
        self.x += shifted(x * mantissa, shift);
        self.y += shifted(y * mantissa, shift);
        self.change_x += shifted(change_x * mantissa, shift);
        self.change_y += shifted(change_y * mantissa, shift);
    }
}

/// `value` · 2^-`shift` rounded half up, for magnitudes below 1.5 · 2^30; at most 2^30 where the shift is to the left.
#[inline]
fn shifted(value: i32, shift: i32) -> i32 {
    if shift > 30 {
        0
    } else if shift > 0 {
        (value + (1 << (shift - 1))) >> shift
    } else {
        super::fixed::scaled_signed(value, shift)
    }
}

/// Which cells along a side are worked out with one: those of the coarser 3, or all in the coarsest grid.
fn reach(at: u32, side: u32, has_coarser: bool) -> std::ops::Range<u32> {
    if has_coarser {
        (at / 2).saturating_sub(1) * 2..((at / 2 + 2) * 2).min(side)
    } else {
        0..side
    }
}
