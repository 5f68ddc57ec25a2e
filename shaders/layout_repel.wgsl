// The pushes on each node: of the nodes of the 3 x 3 cells around it one by one, of crowded ones among these cells as
// one, and of all that is far as its cell has it.

struct Bin {
    count: u32,
    filled: u32,
    start: u32,
}

struct Sum {
    mass: u32,
    x: u32,
    y: u32,
}

struct Source {
    middle: vec2<i32>,
    mantissa: u32,
    exponent: i32,
}

struct Bounds {
    low: vec2<i32>,
    high: vec2<i32>,
}

struct NodeForce {
    high_x: i32,
    high_y: i32,
    low_x: u32,
    low_y: u32,
    stiffness: u32,
}

@group(0) @binding(4) var<storage, read_write> forces: array<NodeForce>;
@group(0) @binding(5) var<storage, read> bounds: Bounds;
@group(0) @binding(6) var<storage, read> bins: array<Bin>;
@group(0) @binding(7) var<storage, read> sums: array<Sum>;
@group(0) @binding(8) var<storage, read> sources: array<Source>;
@group(0) @binding(9) var<storage, read> locals: array<vec4<i32>>;
@group(0) @binding(10) var<storage, read> members: array<Member>;

const CROWD: u32 = 48u;
const NEAREST: i32 = 205;
const STEEPEST: i32 = 1 << 20u;

fn pushed(way: vec2<i32>, weight: Weight) -> vec2<i32> {
    let short = narrow(magnitudes(way));
    let square = max(
        short.parts.x * short.parts.x + short.parts.y * short.parts.y,
        u32(NEAREST * NEAREST),
    );
    let zeros = countLeadingZeros(square);
    let doubled = short.exponent + i32((31u - zeros) >> 1u);
    let inverse = (1u << 31u) / ((square << zeros) >> 16u);
    let widened = max(zeros >> 1u, 1u) - 1u;
    let parts = ((short.parts << vec2<u32>(widened)) * inverse) >> vec2<u32>(15u);
    let shift = 32 - UNIT_BITS - rules.force_bits + short.exponent + i32(widened) - i32(zeros)
        + fading(doubled) - weight.exponent;
    return vec2<i32>(
        signed(scaled(parts.x * weight.mantissa, shift), way.x),
        signed(scaled(parts.y * weight.mantissa, shift), way.y),
    );
}

fn add(force: ptr<function, Force>, push: vec2<i32>) {
    (*force).high += push >> vec2<u32>(16u);
    (*force).low += bitcast<vec2<u32>>(push) & vec2<u32>(0xffffu);
}

fn far(local: vec4<i32>, within: vec2<i32>) -> vec2<i32> {
    let change = clamp(local.zw, vec2<i32>(-STEEPEST), vec2<i32>(STEEPEST));
    return local.xy + vec2<i32>(
        shifted(change.y * within.y - change.x * within.x, i32(CELL_BITS)),
        shifted(change.y * within.x + change.x * within.y, i32(CELL_BITS)),
    );
}

// A crowded cell pushes as one, its own members without what they weigh themselves and from beside the middle.
fn crowd(cell: vec2<u32>, index: u32, here: Member, is_own: bool, shift: u32) -> vec2<i32> {
    let source = sources[index];
    let corner = bounds.low + bitcast<vec2<i32>>(cell << vec2<u32>(shift));
    var way = here.place - (corner + (source.middle << vec2<u32>(shift - CELL_BITS)));
    var mass = sums[index].mass;
    if is_own {
        let jitter = shuffled(here.node);
        way += vec2<i32>(vec2<u32>(jitter & 255u, (jitter >> 8u) & 255u)) - 128;
        mass -= here.mass;
    }
    return pushed(way, weight_of(mass));
}

@compute @workgroup_size(64)
fn push(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = number(id, groups);
    if index >= rules.count {
        return;
    }
    let here = members[index];
    let shift = shift_for(bounds.low, bounds.high);
    let from_low = magnitudes(here.place - bounds.low);
    let own = from_low >> vec2<u32>(shift);
    var force = Force(vec2<i32>(0), vec2<u32>(0u));
    let low = max(own, vec2<u32>(1u)) - 1u;
    let high = min(own + 2u, vec2<u32>(rules.side));
    for (var row = low.y; row < high.y; row += 1u) {
        for (var column = low.x; column < high.x; column += 1u) {
            let cell = vec2<u32>(column, row);
            let cell_index = row * rules.side + column;
            let bin = bins[cell_index];
            let is_own = all(cell == own);
            if bin.count > CROWD {
                add(&force, crowd(cell, cell_index, here, is_own, shift));
                continue;
            }
            for (var at = bin.start; at < bin.start + bin.count; at += 1u) {
                let there = members[at];
                if there.node != here.node {
                    var way = here.place - there.place;
                    if all(way == vec2<i32>(0)) {
                        way.x = select(-NEAREST, NEAREST, here.node > there.node);
                    }
                    add(&force, pushed(way, Weight(there.mantissa, there.exponent)));
                }
            }
        }
    }
    let cell_bits = vec2<u32>(shift - CELL_BITS);
    let within = vec2<i32>((from_low & vec2<u32>((1u << shift) - 1u)) >> cell_bits);
    let middle = i32(1u << (CELL_BITS - 1u));
    add(&force, far(locals[own.y * rules.side + own.x], within - middle));
    let total = &forces[here.node];
    (*total).high_x += force.high.x;
    (*total).high_y += force.high.y;
    (*total).low_x += force.low.x;
    (*total).low_y += force.low.y;
}
