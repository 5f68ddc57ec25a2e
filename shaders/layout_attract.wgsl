// The springs: along each edge the square of its length. One thread a row of at most 32 neighbours, so that a node of
// many of them holds up no other.

struct Row {
    node: u32,
    start: u32,
    end: u32,
}

struct NodeForce {
    high_x: atomic<i32>,
    high_y: atomic<i32>,
    low_x: atomic<u32>,
    low_y: atomic<u32>,
    stiffness: atomic<u32>,
}

@group(0) @binding(2) var<storage, read> places: array<vec2<i32>>;
@group(0) @binding(4) var<storage, read_write> forces: array<NodeForce>;
@group(0) @binding(11) var<storage, read> rows: array<Row>;
@group(0) @binding(12) var<storage, read> targets: array<u32>;

const STIFFNESS_BITS: i32 = 6;
const STIFFEST: u32 = 1u << 14u;

@compute @workgroup_size(64)
fn pull(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = number(id, groups);
    if index >= rules.rows {
        return;
    }
    let row = rows[index];
    let here = places[row.node];
    let base = 2 * UNIT_BITS - rules.force_bits;
    var high = vec2<i32>(0);
    var low = vec2<u32>(0u);
    var stiffness = 0u;
    for (var at = row.start; at < row.end; at += 1u) {
        let way = places[targets[at]] - here;
        let short = narrow(magnitudes(way));
        let length = narrow_length(short.parts);
        let shift = base - 2 * short.exponent;
        let pull = vec2<i32>(
            signed(scaled(short.parts.x * length, shift), way.x),
            signed(scaled(short.parts.y * length, shift), way.y),
        );
        high += pull >> vec2<u32>(16u);
        low += bitcast<vec2<u32>>(pull) & vec2<u32>(0xffffu);
        stiffness += min(scaled(length, UNIT_BITS - STIFFNESS_BITS - short.exponent), STIFFEST);
    }
    // Only what is below 2^16 stays in the low part, of which there may be many.
    high += vec2<i32>(low >> vec2<u32>(16u));
    low &= vec2<u32>(0xffffu);
    let force = &forces[row.node];
    atomicAdd(&(*force).high_x, high.x);
    atomicAdd(&(*force).high_y, high.y);
    atomicAdd(&(*force).low_x, low.x);
    atomicAdd(&(*force).low_y, low.y);
    atomicAdd(&(*force).stiffness, stiffness);
}
