// The numbers of the free layout and what all of its passes share; comes before each of them.
//
// The same arithmetic as crates/codegraph/src/layout, where it is explained: all integers, so that the positions are
// the same to the bit on every adapter and on the processor. Where the order of a sum is open, it is one of integers.

struct Rules {
    // Nodes.
    count: u32,
    // Cells along a side of the finest grid.
    side: u32,
    // Rows of neighbours to be pulled by.
    rows: u32,
    // Bits behind the point of a force.
    force_bits: i32,
    // Bits behind the point of a place within its cell, while masses are summed.
    offset_bits: u32,
    // What a mass of one repels with.
    strength_mantissa: u32,
    strength_exponent: i32,
    // How strongly anchored nodes are held, in steps of 2^-8.
    anchor: u32,
}

// What changes from dispatch to dispatch: a level of the pyramid, or the stride of a step.
struct Turn {
    // Where the level's cells begin, and how many there are along a side.
    cells: u32,
    side: u32,
    // The same of the finer level when summing, of the coarser one when working down; a side of 0 where there is none.
    other_cells: u32,
    other_side: u32,
    // Levels below this one.
    depth: u32,
    longest: u32,
    momentum: u32,
    padding: u32,
}

@group(0) @binding(0) var<uniform> rules: Rules;
@group(1) @binding(0) var<uniform> turn: Turn;

struct Node {
    mass: u32,
    mantissa: u32,
    exponent: i32,
    // PINNED, ANCHORED.
    flags: u32,
    anchor: vec2<i32>,
}

struct Member {
    place: vec2<i32>,
    mass: u32,
    mantissa: u32,
    exponent: i32,
    node: u32,
}

// A force, in two parts of which neither overflows: value = high * 2^16 + low.
struct Force {
    high: vec2<i32>,
    low: vec2<u32>,
}

struct Weight {
    mantissa: u32,
    exponent: i32,
}

// A way cut to 15 bits.
struct Narrow {
    parts: vec2<u32>,
    exponent: i32,
}

const GROUP: u32 = 64u;
const PINNED: u32 = 1u;
const ANCHORED: u32 = 2u;

const UNIT_BITS: i32 = 12;
const FARTHEST: i32 = 1073741823;
const LARGEST: u32 = 1073741824u;
const FADING_FROM: i32 = 11;
const LEAST_SHIFT: u32 = 10u;
const CELL_BITS: u32 = 10u;

// The number of a thread in a dispatch of as many rows of groups as are needed.
fn number(id: vec3<u32>, groups: vec3<u32>) -> u32 {
    return id.y * groups.x * GROUP + id.x;
}

fn scaled(value: u32, shift: i32) -> u32 {
    if shift > 32 {
        return 0u;
    }
    if shift > 0 {
        return ((value >> u32(shift - 1)) + 1u) >> 1u;
    }
    let left = u32(min(-shift, 31));
    if value > (LARGEST >> left) {
        return LARGEST;
    }
    return value << left;
}

fn signed(magnitude: u32, like: i32) -> i32 {
    let sign = like >> 31u;
    return (bitcast<i32>(magnitude) ^ sign) - sign;
}

fn magnitude(value: i32) -> u32 {
    return bitcast<u32>(abs(value));
}

fn magnitudes(way: vec2<i32>) -> vec2<u32> {
    return bitcast<vec2<u32>>(abs(way));
}

fn scaled_signed(value: i32, shift: i32) -> i32 {
    return signed(scaled(magnitude(value), shift), value);
}

// For magnitudes below 1.5 * 2^30.
fn shifted(value: i32, shift: i32) -> i32 {
    if shift > 30 {
        return 0;
    }
    if shift > 0 {
        return (value + (1 << u32(shift - 1))) >> u32(shift);
    }
    return scaled_signed(value, shift);
}

fn narrow(way: vec2<u32>) -> Narrow {
    let widest = way.x | way.y;
    if widest < (1u << 15u) {
        return Narrow(way, 0);
    }
    let cut = 17u - countLeadingZeros(widest);
    return Narrow(way >> vec2<u32>(cut), i32(cut));
}

// The square root, rounded down, digit by digit.
fn root(value: u32) -> u32 {
    var rest = value;
    var found = 0u;
    for (var digit = 1u << 30u; digit > 0u; digit >>= 2u) {
        let tried = found + digit;
        found >>= 1u;
        if rest >= tried {
            rest -= tried;
            found += digit;
        }
    }
    return found;
}

fn narrow_length(way: vec2<u32>) -> u32 {
    return root(way.x * way.x + way.y * way.y);
}

fn weight_of(mass: u32) -> Weight {
    if mass == 0u {
        return Weight(0u, 0);
    }
    let zeros = countLeadingZeros(mass);
    let mantissa = (((mass << zeros) >> 17u) * rules.strength_mantissa) >> 15u;
    return Weight(mantissa, rules.strength_exponent + 32 - i32(zeros));
}

fn fading(distance_bits: i32) -> i32 {
    return max(distance_bits - FADING_FROM, 0);
}

fn shuffled(number: u32) -> u32 {
    let word = number * 747796405u + 2891336453u;
    let mixed = ((word >> ((word >> 28u) + 4u)) ^ word) * 277803737u;
    return (mixed >> 22u) ^ mixed;
}

// The shift of the smallest cells of which a side covers the way between two corners.
fn shift_for(low: vec2<i32>, high: vec2<i32>) -> u32 {
    let extent = magnitude(max(high.x - low.x, high.y - low.y));
    var shift = LEAST_SHIFT;
    while (extent >> shift) >= rules.side {
        shift += 1u;
    }
    return shift;
}
