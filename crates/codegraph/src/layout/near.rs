//! The push of what is near: the nodes of the 3 × 3 cells around a node, one by one.

use std::ops::Range;

use super::field::Field;
use super::fixed::{Narrow, UNIT_BITS, Weight, fading, scaled, shuffled, signed};
use super::grid::{Grid, Member};

/// A cell of more members than this pushes as one: a crowd costs what it has members, not the square of it.
pub(super) const CROWD: u32 = 48;

/// Nearest distance that forces are worked out for, 0.05; nodes in one place would push without bound.
pub(super) const NEAREST: i32 = 205;

/// Adds up forces, in steps of 2^-`force_bits`.
pub(super) type Force = [i64; 2];

/// A way over its square, not yet weighted: parts of 16 bits and the shift that they need.
#[derive(Clone, Copy)]
struct Push {
    x: u32,
    y: u32,
    shift: i32,
}

impl Push {
    /// Over a way of these magnitudes. `base` is the shift of a weight of exponent 0.
    #[inline]
    fn over(x: u32, y: u32, base: i32) -> Self {
        let way = Narrow::of(x, y);
        let square = way.square().max((NEAREST * NEAREST).unsigned_abs());
        let zeros = square.leading_zeros();
        // The logarithm of the distance, rounded down.
        let doubled = way.exponent + ((31 - zeros) >> 1).cast_signed();
        let inverse = (1 << 31) / (square << zeros >> 16);
        // A part is at most the root of the square, so that it fits 15 bits after this.
        let widened = (zeros >> 1).saturating_sub(1);
        Self {
            x: ((way.x << widened) * inverse) >> 15,
            y: ((way.y << widened) * inverse) >> 15,
            shift: base + way.exponent + widened.cast_signed() - zeros.cast_signed()
                + fading(doubled),
        }
    }

    #[inline]
    fn weighted(self, weight: Weight) -> (u32, u32) {
        let shift = self.shift - weight.exponent;
        (
            scaled(self.x * weight.mantissa, shift),
            scaled(self.y * weight.mantissa, shift),
        )
    }
}

/// Adds the pushes between near nodes; `forces` by node.
pub(super) fn push(grid: &Grid, field: &Field, force_bits: i32, forces: &mut [Force]) {
    let near = Near {
        grid,
        field,
        base: 32 - UNIT_BITS - force_bits,
    };
    let side = grid.side;
    for row in 0..side {
        for column in 0..side {
            let cell = row * side + column;
            let own = grid.range(cell, cell + 1);
            if own.is_empty() {
                continue;
            }
            let (left, right) = (column.saturating_sub(1), (column + 2).min(side));
            let along = grid.range(cell, row * side + right);
            let below = if row + 1 < side {
                grid.range((row + 1) * side + left, (row + 1) * side + right)
            } else {
                0..0
            };
            if along.len() + below.len() <= CROWD as usize {
                for index in own {
                    near.pairs(index, index + 1..along.end, forces);
                    near.pairs(index, below.clone(), forces);
                }
            } else {
                near.cell(column, row, forces);
            }
        }
    }
}

struct Near<'a> {
    grid: &'a Grid,
    field: &'a Field,
    /// The shift of a push by a weight of exponent 0, over a way of exponent 0 whose square has no leading zeros.
    base: i32,
}

impl Near<'_> {
    /// A member and others push each other.
    #[inline]
    fn pairs(&self, index: usize, others: Range<usize>, forces: &mut [Force]) {
        let here = self.grid.members[index];
        let mut sum = [0_i64; 2];
        for there in &self.grid.members[others] {
            let (x, y) = way(here, *there);
            let push = Push::over(x.unsigned_abs(), y.unsigned_abs(), self.base);
            let (on_x, on_y) = push.weighted(there.weight);
            let (back_x, back_y) = if here.weight == there.weight {
                (on_x, on_y)
            } else {
                push.weighted(here.weight)
            };
            sum[0] += i64::from(signed(on_x, x));
            sum[1] += i64::from(signed(on_y, y));
            let other = &mut forces[there.node as usize];
            other[0] -= i64::from(signed(back_x, x));
            other[1] -= i64::from(signed(back_y, y));
        }
        let own = &mut forces[here.node as usize];
        own[0] += sum[0];
        own[1] += sum[1];
    }

    /// A cell with itself and the half of its neighbours that come after it, where some of them may be crowded.
    fn cell(&self, column: u32, row: u32, forces: &mut [Force]) {
        let side = self.grid.side;
        let cell = row * side + column;
        let own = self.grid.range(cell, cell + 1);
        if own.len() > CROWD as usize {
            self.crowd(cell, own, true, forces);
        } else {
            for index in own.clone() {
                self.pairs(index, index + 1..own.end, forces);
            }
        }
        let after = [(1, 0), (-1, 1), (0, 1), (1, 1)];
        for (columns, rows) in after {
            let at = (column.checked_add_signed(columns), row + rows);
            if let (Some(column), row) = at
                && column < side
                && row < side
            {
                self.cells(cell, row * side + column, forces);
            }
        }
    }

    /// Two neighbouring cells push each other.
    fn cells(&self, cell: u32, other: u32, forces: &mut [Force]) {
        let (own, others) = (
            self.grid.range(cell, cell + 1),
            self.grid.range(other, other + 1),
        );
        let is_crowd = |range: &Range<usize>| range.len() > CROWD as usize;
        if !is_crowd(&own) && !is_crowd(&others) {
            for index in own {
                self.pairs(index, others.clone(), forces);
            }
            return;
        }
        for (from, on) in [
            (cell, (own.clone(), others.clone())),
            (other, (others, own)),
        ] {
            let (from_members, on) = on;
            if is_crowd(&from_members) {
                self.crowd(from, on, false, forces);
            } else {
                for index in on {
                    self.members(index, from_members.clone(), forces);
                }
            }
        }
    }

    /// Members push one, who doesn't push back.
    fn members(&self, index: usize, from: Range<usize>, forces: &mut [Force]) {
        let here = self.grid.members[index];
        for there in &self.grid.members[from] {
            let (x, y) = way(here, *there);
            let push = Push::over(x.unsigned_abs(), y.unsigned_abs(), self.base);
            let (on_x, on_y) = push.weighted(there.weight);
            let own = &mut forces[here.node as usize];
            own[0] += i64::from(signed(on_x, x));
            own[1] += i64::from(signed(on_y, y));
        }
    }

    /// A crowded cell pushes members as one, its own ones without what they weigh themselves.
    fn crowd(&self, cell: u32, on: Range<usize>, is_own: bool, forces: &mut [Force]) {
        let (column, row) = (cell % self.grid.side, cell / self.grid.side);
        let centre = self.field.centre(self.grid, column, row);
        for here in &self.grid.members[on] {
            let weight = self.field.weight(cell, if is_own { here.mass } else { 0 });
            let (mut x, mut y) = (here.place.x - centre.x, here.place.y - centre.y);
            if is_own {
                // Members in one place part at random.
                let [jitter_x, jitter_y, ..] = shuffled(here.node).to_le_bytes();
                (x, y) = (x + i32::from(jitter_x) - 128, y + i32::from(jitter_y) - 128);
            }
            let push = Push::over(x.unsigned_abs(), y.unsigned_abs(), self.base);
            let (on_x, on_y) = push.weighted(weight);
            let own = &mut forces[here.node as usize];
            own[0] += i64::from(signed(on_x, x));
            own[1] += i64::from(signed(on_y, y));
        }
    }
}

/// From one member to another. Two in one place part by their numbers.
#[inline]
fn way(here: Member, from: Member) -> (i32, i32) {
    let (x, y) = (here.place.x - from.place.x, here.place.y - from.place.y);
    if x | y == 0 {
        let is_after = here.node > from.node;
        (if is_after { NEAREST } else { -NEAREST }, 0)
    } else {
        (x, y)
    }
}
