//! Steps of a force layout: what pushes and pulls a node, and how far it goes.

use super::LayoutGraph;
use super::field::Field;
use super::fixed::{FARTHEST, Narrow, Place, UNIT_BITS, Weight, scaled, scaled_signed, signed};
use super::grid::{Grid, side_for};
use super::near::{self, Force};

/// How strongly forces pull and push.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Repulsion against springs, from 0 to 16; Hu's constant C.
    pub repulsion: f32,
    /// How strongly nodes of an earlier layout are held, from 0 to 1.
    pub anchor: f32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            repulsion: 0.2,
            anchor: 0.8,
        }
    }
}

/// [`Options`] as integers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) strength: Weight,
    /// Steps of 2^-8.
    pub(super) anchor: u32,
    /// Bits behind the point of a force: fewer where masses are large, so that sums fit.
    pub(super) force_bits: i32,
}

impl Rules {
    pub(super) fn new(options: Options, total_mass: u32) -> Self {
        let strength = Weight::of_strength(options.repulsion);
        let total = Weight::of_mass(total_mass, strength);
        // Bits before the point of what everything pushes with in one place.
        let bits = (15 + total.exponent).max(0);
        Self {
            strength,
            anchor: fixed(options.anchor, 8),
            force_bits: (28 - bits).clamp(0, UNIT_BITS),
        }
    }
}

/// A share as an integer.
fn fixed(share: f32, bits: u32) -> u32 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    let fixed = (share.clamp(0.0, 1.0) * (1_u32 << bits) as f32) as u32;
    fixed
}

/// Bits behind the point of stiffness, and of a share of momentum.
const STIFFNESS_BITS: i32 = 6;
const MOMENTUM_BITS: u32 = 8;

/// A spring stiffens up to this length.
const STIFFEST: u32 = 1 << 14;

/// A graph with all that holds for one run of steps.
#[derive(Clone, Copy)]
pub(super) struct Body<'a> {
    pub(super) graph: &'a LayoutGraph,
    /// How many nodes of the finest graph each node stands for.
    pub(super) masses: &'a [u32],
    /// What each node is held near; `None` for free ones. Empty where all are free.
    pub(super) anchors: &'a [Option<Place>],
    /// Which nodes don't move. Empty where all do.
    pub(super) pinned: &'a [bool],
}

/// What each step of a run may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stride {
    /// The longest way of a node, below 2^16.
    pub(super) longest: u32,
    /// The share of the last way that is gone once more, in steps of 2^-8.
    pub(super) momentum: u32,
}

/// The processor's backend: one run of steps.
pub(super) fn relax(body: Body<'_>, rules: Rules, strides: &[Stride], places: &mut [Place]) {
    if places.is_empty() {
        return;
    }
    let mut relaxation = Relaxation::new(body, rules, places);
    for stride in strides {
        relaxation.step(*stride);
    }
}

struct Relaxation<'a> {
    body: Body<'a>,
    rules: Rules,
    places: &'a mut [Place],
    ways: Vec<Place>,
    weights: Vec<Weight>,
    forces: Vec<Force>,
    stiffness: Vec<u32>,
    grid: Grid,
    field: Field,
}

impl<'a> Relaxation<'a> {
    fn new(body: Body<'a>, rules: Rules, places: &'a mut [Place]) -> Self {
        let count = places.len();
        let total = body.masses.iter().sum();
        Self {
            body,
            rules,
            ways: vec![Place::default(); count],
            weights: body
                .masses
                .iter()
                .map(|mass| Weight::of_mass(*mass, rules.strength))
                .collect(),
            forces: vec![[0; 2]; count],
            stiffness: vec![0; count],
            grid: Grid::new(count),
            field: Field::new(side_for(count), total, rules.strength, rules.force_bits),
            places,
        }
    }

    fn step(&mut self, stride: Stride) {
        self.grid.sort(self.places, self.body.masses, &self.weights);
        self.field.build(&self.grid);
        self.forces.fill([0; 2]);
        self.stiffness.fill(0);
        near::push(
            &self.grid,
            &self.field,
            self.rules.force_bits,
            &mut self.forces,
        );
        self.pull();
        self.push_from_far();
        for node in 0..self.places.len() {
            self.integrate(node, stride);
        }
    }

    /// The springs: along each edge the square of its length.
    fn pull(&mut self) {
        let base = 2 * UNIT_BITS - self.rules.force_bits;
        for node in 0..self.places.len() {
            let here = self.places[node];
            let (mut sum, mut stiffness) = ([0_i64; 2], 0_u32);
            for neighbour in self.body.graph.neighbours(node) {
                let neighbour = *neighbour as usize;
                if neighbour < node {
                    continue;
                }
                let there = self.places[neighbour];
                let (x, y) = (there.x - here.x, there.y - here.y);
                let way = Narrow::of(x.unsigned_abs(), y.unsigned_abs());
                let length = way.length();
                let shift = base - 2 * way.exponent;
                let pull_x = i64::from(signed(scaled(way.x * length, shift), x));
                let pull_y = i64::from(signed(scaled(way.y * length, shift), y));
                let stiff = scaled(length, UNIT_BITS - STIFFNESS_BITS - way.exponent).min(STIFFEST);
                sum[0] += pull_x;
                sum[1] += pull_y;
                stiffness = stiffness.wrapping_add(stiff);
                self.forces[neighbour][0] -= pull_x;
                self.forces[neighbour][1] -= pull_y;
                let other = &mut self.stiffness[neighbour];
                *other = other.wrapping_add(stiff);
            }
            self.forces[node][0] += sum[0];
            self.forces[node][1] += sum[1];
            self.stiffness[node] = self.stiffness[node].wrapping_add(stiffness);
        }
    }

    fn push_from_far(&mut self) {
        for cell in 0..self.grid.side * self.grid.side {
            for member in &self.grid.members[self.grid.range(cell, cell + 1)] {
                let push = self.field.push(&self.grid, cell, member.place);
                let force = &mut self.forces[member.node as usize];
                force[0] += i64::from(push.x);
                force[1] += i64::from(push.y);
            }
        }
    }

    /// Moves a node by its force over its stiffness, and by some of its last way.
    fn integrate(&mut self, node: usize, stride: Stride) {
        if self.body.pinned.get(node).copied().unwrap_or(false) {
            return;
        }
        let here = self.places[node];
        let step = step(
            self.forces[node],
            self.stiffness[node],
            self.rules.force_bits,
        );
        let last = self.ways[node];
        let carried = |way: i32| {
            scaled_signed(
                way * stride.momentum.cast_signed(),
                MOMENTUM_BITS.cast_signed(),
            )
        };
        let way = held(
            Place {
                x: carried(last.x) + step.x,
                y: carried(last.y) + step.y,
            },
            stride.longest,
        );
        self.ways[node] = way;
        let mut there = Place {
            x: (here.x + way.x).clamp(-FARTHEST, FARTHEST),
            y: (here.y + way.y).clamp(-FARTHEST, FARTHEST),
        };
        if let Some(Some(anchor)) = self.body.anchors.get(node) {
            there.x += back(anchor.x - there.x, self.rules.anchor);
            there.y += back(anchor.y - there.y, self.rules.anchor);
        }
        self.places[node] = there;
    }
}

/// The share of a way that an anchor takes back.
fn back(way: i32, share: u32) -> i32 {
    let way_size = way.unsigned_abs();
    // In two parts, since the product may have 40 bits.
    signed(
        (way_size >> 8) * share + (((way_size & 255) * share) >> 8),
        way,
    )
}

/// The way that a force goes against a stiffness: less than half of what would end an oscillation, as neighbours move
/// at the same time.
fn step(force: Force, stiffness: u32, force_bits: i32) -> Place {
    let sizes = force.map(i64::unsigned_abs);
    let cut = 49_u32.saturating_sub((sizes[0] | sizes[1]).leading_zeros());
    let narrow = |size: u64| u32::try_from(size >> cut).unwrap_or(0);
    let stiffness = (stiffness.saturating_mul(3) / 2).max(1 << STIFFNESS_BITS);
    // 16 bits of the stiffness.
    let bits = 16 - stiffness.leading_zeros().cast_signed();
    let stiff = if bits > 0 {
        stiffness >> bits
    } else {
        stiffness << -bits
    };
    let shift = bits + force_bits - cut.cast_signed() - UNIT_BITS - STIFFNESS_BITS + 15;
    let part = |size: u64, force: i64| {
        let size = scaled((narrow(size) << 15) / stiff, shift).min(LONGEST);
        if force < 0 {
            -size.cast_signed()
        } else {
            size.cast_signed()
        }
    };
    Place {
        x: part(sizes[0], force[0]),
        y: part(sizes[1], force[1]),
    }
}

/// No part of a way is longer.
const LONGEST: u32 = 1 << 20;

/// A way cut to a length.
fn held(way: Place, longest: u32) -> Place {
    let narrow = Narrow::of(way.x.unsigned_abs(), way.y.unsigned_abs());
    let length = narrow.length();
    if length << narrow.exponent <= longest {
        return way;
    }
    Place {
        x: signed(narrow.x * longest / length, way.x),
        y: signed(narrow.y * longest / length, way.y),
    }
}
