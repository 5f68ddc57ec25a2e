// Moves each node by its force over its stiffness, and by some of its last way.

struct NodeForce {
    high: array<i32, 2>,
    low: array<u32, 2>,
    stiffness: u32,
}

@group(0) @binding(1) var<storage, read> nodes: array<Node>;
@group(0) @binding(2) var<storage, read_write> places: array<vec2<i32>>;
@group(0) @binding(3) var<storage, read_write> ways: array<vec2<i32>>;
@group(0) @binding(4) var<storage, read> forces: array<NodeForce>;

const STIFFNESS_BITS: i32 = 6;
const MOMENTUM_BITS: i32 = 8;
const LONGEST: u32 = 1u << 20u;

// A number of 48 bits: its sign, and its magnitude in parts of 32 and 16 bits.
struct Wide {
    sign: i32,
    high: u32,
    low: u32,
}

fn wide(high_sum: i32, low_sum: u32) -> Wide {
    let high = high_sum + i32(low_sum >> 16u);
    let low = low_sum & 0xffffu;
    if high >= 0 {
        return Wide(0, u32(high), low);
    }
    let borrowed = select(0, 1, low > 0u);
    return Wide(-1, u32(-high - borrowed), (0x10000u - low) & 0xffffu);
}

fn cut_off(value: Wide, cut: u32) -> u32 {
    if cut >= 16u {
        return value.high >> (cut - 16u);
    }
    return (value.high << (16u - cut)) | (value.low >> cut);
}

fn step_of(force: NodeForce) -> vec2<i32> {
    let x = wide(force.high[0], force.low[0]);
    let y = wide(force.high[1], force.low[1]);
    var bits = 32u - countLeadingZeros(x.low | y.low);
    if (x.high | y.high) > 0u {
        bits = 48u - countLeadingZeros(x.high | y.high);
    }
    let cut = max(bits, 15u) - 15u;
    var stiffness = 0xffffffffu;
    if force.stiffness <= 0xffffffffu / 3u {
        stiffness = force.stiffness * 3u;
    }
    stiffness = max(stiffness / 2u, 1u << u32(STIFFNESS_BITS));
    let stiff_bits = 16 - i32(countLeadingZeros(stiffness));
    let stiff = (stiffness >> u32(max(stiff_bits, 0))) << u32(max(-stiff_bits, 0));
    let shift = stiff_bits + rules.force_bits - i32(cut) - UNIT_BITS - STIFFNESS_BITS + 15;
    let sizes = vec2<u32>(
        min(scaled((cut_off(x, cut) << 15u) / stiff, shift), LONGEST),
        min(scaled((cut_off(y, cut) << 15u) / stiff, shift), LONGEST),
    );
    return vec2<i32>(signed(sizes.x, x.sign), signed(sizes.y, y.sign));
}

fn held(way: vec2<i32>, longest: u32) -> vec2<i32> {
    let short = narrow(magnitudes(way));
    let length = narrow_length(short.parts);
    if (length << u32(short.exponent)) <= longest {
        return way;
    }
    return vec2<i32>(
        signed(short.parts.x * longest / length, way.x),
        signed(short.parts.y * longest / length, way.y),
    );
}

fn back(way: i32, share: u32) -> i32 {
    let size = magnitude(way);
    return signed((size >> 8u) * share + (((size & 255u) * share) >> 8u), way);
}

@compute @workgroup_size(64)
fn integrate(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = number(id, groups);
    if index >= rules.count {
        return;
    }
    let node = nodes[index];
    if (node.flags & PINNED) != 0u {
        return;
    }
    let step = step_of(forces[index]);
    let last = ways[index];
    let momentum = i32(turn.momentum);
    let carried = vec2<i32>(
        scaled_signed(last.x * momentum, MOMENTUM_BITS),
        scaled_signed(last.y * momentum, MOMENTUM_BITS),
    );
    let way = held(carried + step, turn.longest);
    ways[index] = way;
    var there = clamp(places[index] + way, vec2<i32>(-FARTHEST), vec2<i32>(FARTHEST));
    if (node.flags & ANCHORED) != 0u {
        let rest = node.anchor - there;
        there += vec2<i32>(back(rest.x, rules.anchor), back(rest.y, rules.anchor));
    }
    places[index] = there;
}
