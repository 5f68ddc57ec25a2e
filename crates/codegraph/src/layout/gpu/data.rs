//! What a run brings to the card: the shaders' structures, and buffers of them.

use bytemuck::{Pod, Zeroable};

use super::card::Card;
use super::passes::{self, BINDINGS};
use crate::layout::field::{offset_bits, sides};
use crate::layout::fixed::{Place, Weight};
use crate::layout::grid::side_for;
use crate::layout::step::{Body, Rules, Stride};

/// Neighbours in a row of `layout_attract.wgsl` at most.
const ROW: usize = 32;

/// Bits of a node's flags in `layout_fixed.wgsl`.
const PINNED: u32 = 1;
const ANCHORED: u32 = 2;

/// `Rules` of `layout_fixed.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct RawRules {
    count: u32,
    side: u32,
    rows: u32,
    force_bits: i32,
    offset_bits: u32,
    strength_mantissa: u32,
    strength_exponent: i32,
    anchor: u32,
}

/// `Turn` of `layout_fixed.wgsl`.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct RawTurn {
    cells: u32,
    pub(super) side: u32,
    other_cells: u32,
    other_side: u32,
    depth: u32,
    longest: u32,
    momentum: u32,
    padding: u32,
}

/// `Node` of `layout_fixed.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct RawNode {
    mass: u32,
    mantissa: u32,
    exponent: i32,
    flags: u32,
    anchor: [i32; 2],
}

/// `Row` of `layout_attract.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct RawRow {
    node: u32,
    start: u32,
    end: u32,
}

/// Bytes of what only the card sees, by element.
const WAY_BYTES: u64 = 8;
const FORCE_BYTES: u64 = 20;
const BOUNDS_BYTES: u64 = 32;
const BIN_BYTES: u64 = 12;
const SUM_BYTES: u64 = 12;
const SOURCE_BYTES: u64 = 16;
const LOCAL_BYTES: u64 = 16;
const MEMBER_BYTES: u64 = 24;

impl RawRules {
    fn new(body: Body<'_>, rules: Rules, rows: &[RawRow]) -> Self {
        let count = body.graph.len();
        Self {
            count: number(count),
            side: side_for(count),
            rows: number(rows.len()),
            force_bits: rules.force_bits,
            offset_bits: offset_bits(body.masses.iter().sum()),
            strength_mantissa: rules.strength.mantissa,
            strength_exponent: rules.strength.exponent,
            anchor: rules.anchor,
        }
    }
}

impl From<&Stride> for RawTurn {
    fn from(stride: &Stride) -> Self {
        Self {
            longest: stride.longest,
            momentum: stride.momentum,
            ..Self::default()
        }
    }
}

/// The neighbours of nodes in rows of a bounded length.
fn rows(body: Body<'_>) -> Vec<RawRow> {
    let mut start = 0;
    let mut rows = Vec::new();
    for node in 0..body.graph.len() {
        for row in body.graph.neighbours(node).chunks(ROW) {
            let end = start + number(row.len());
            rows.push(RawRow {
                node: number(node),
                start,
                end,
            });
            start = end;
        }
    }
    rows
}

/// Two turns a level, for summing up and for working down, finest first; and the cells of all levels.
pub(super) fn level_turns(side: u32) -> (Vec<RawTurn>, u64) {
    let sides = sides(side);
    let mut begins = vec![0];
    for side in &sides {
        begins.push(begins[begins.len() - 1] + side * side);
    }
    let level = |depth: usize| (begins[depth], sides.get(depth).copied().unwrap_or(0));
    let mut turns = Vec::new();
    for depth in 0..sides.len() {
        let finer = depth.checked_sub(1).map_or((0, 0), level);
        for (other_cells, other_side) in [finer, level(depth + 1)] {
            let (cells, side) = level(depth);
            turns.push(RawTurn {
                cells,
                side,
                other_cells,
                other_side,
                depth: number(depth),
                ..RawTurn::default()
            });
        }
    }
    (turns, u64::from(begins[sides.len()]))
}

/// The buffers of a run by the numbers of their bindings, and how many rows of neighbours there are. `cells` are those of
/// all levels.
pub(super) fn buffers(
    card: &Card,
    body: Body<'_>,
    rules: Rules,
    places: &[Place],
    cells: u64,
) -> ([wgpu::Buffer; BINDINGS], u32) {
    let rows = rows(body);
    let raw = RawRules::new(body, rules, &rows);
    let nodes: Vec<RawNode> = (0..places.len())
        .map(|node| raw_node(body, rules, node))
        .collect();
    let raw_places: Vec<[i32; 2]> = places.iter().map(|place| [place.x, place.y]).collect();
    let count = u64::from(raw.count);
    let finest = u64::from(raw.side) * u64::from(raw.side);
    let storage = wgpu::BufferUsages::STORAGE;
    let readable = storage | wgpu::BufferUsages::COPY_SRC;
    let filled = |contents: &[u8]| card.filled(contents, storage);
    let empty = |size: u64| card.empty(size, storage);
    let buffers = std::array::from_fn(|binding| match number(binding) {
        passes::RULES => card.filled(bytemuck::bytes_of(&raw), wgpu::BufferUsages::UNIFORM),
        passes::NODES => filled(bytemuck::cast_slice(&nodes)),
        passes::PLACES => card.filled(bytemuck::cast_slice(&raw_places), readable),
        passes::WAYS => empty(count * WAY_BYTES),
        passes::FORCES => empty(count * FORCE_BYTES),
        passes::BOUNDS => empty(BOUNDS_BYTES),
        passes::BINS => empty(finest * BIN_BYTES),
        passes::SUMS => empty(cells * SUM_BYTES),
        passes::SOURCES => empty(cells * SOURCE_BYTES),
        passes::LOCALS => empty(cells * LOCAL_BYTES),
        passes::MEMBERS => empty(count * MEMBER_BYTES),
        passes::ROWS => filled(bytemuck::cast_slice(&rows)),
        _targets => filled(bytemuck::cast_slice(body.graph.all_neighbours())),
    });
    (buffers, raw.rows)
}

fn raw_node(body: Body<'_>, rules: Rules, node: usize) -> RawNode {
    let weight = Weight::of_mass(body.masses[node], rules.strength);
    let anchor = body.anchors.get(node).copied().flatten();
    let is_pinned = body.pinned.get(node).copied().unwrap_or(false);
    let place = anchor.unwrap_or_default();
    RawNode {
        mass: body.masses[node],
        mantissa: weight.mantissa,
        exponent: weight.exponent,
        flags: PINNED * u32::from(is_pinned) + ANCHORED * u32::from(anchor.is_some()),
        anchor: [place.x, place.y],
    }
}

/// Counts of nodes, edges and cells fit 32 bits; a graph of more is refused by the size of its buffers.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
