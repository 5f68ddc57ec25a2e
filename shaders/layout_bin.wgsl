// Sorts the nodes into the cells of a grid over them, and sums masses and moments by cell.

struct Bin {
    count: atomic<u32>,
    filled: atomic<u32>,
    start: u32,
}

struct Sum {
    mass: atomic<u32>,
    x: atomic<u32>,
    y: atomic<u32>,
}

struct Bounds {
    low_x: atomic<i32>,
    low_y: atomic<i32>,
    high_x: atomic<i32>,
    high_y: atomic<i32>,
    // Members that are allotted to cells.
    allotted: atomic<u32>,
}

@group(0) @binding(1) var<storage, read> nodes: array<Node>;
@group(0) @binding(2) var<storage, read> places: array<vec2<i32>>;
@group(0) @binding(4) var<storage, read_write> forces: array<i32>;
@group(0) @binding(5) var<storage, read_write> bounds: Bounds;
@group(0) @binding(6) var<storage, read_write> bins: array<Bin>;
@group(0) @binding(7) var<storage, read_write> sums: array<Sum>;
@group(0) @binding(10) var<storage, read_write> members: array<Member>;

// Parts of a node's force: two of each of high and low, and the stiffness.
const FORCE_PARTS: u32 = 5u;

// Nodes that one thread takes the bounds of: so many fewer meet at the one place where they are kept.
const BOUNDED: u32 = 16u;

@compute @workgroup_size(64)
fn clear(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = number(id, groups);
    if index == 0u {
        atomicStore(&bounds.low_x, FARTHEST);
        atomicStore(&bounds.low_y, FARTHEST);
        atomicStore(&bounds.high_x, -FARTHEST);
        atomicStore(&bounds.high_y, -FARTHEST);
        atomicStore(&bounds.allotted, 0u);
    }
    if index < rules.side * rules.side {
        atomicStore(&bins[index].count, 0u);
        atomicStore(&bins[index].filled, 0u);
        atomicStore(&sums[index].mass, 0u);
        atomicStore(&sums[index].x, 0u);
        atomicStore(&sums[index].y, 0u);
    }
    if index < rules.count {
        for (var part = 0u; part < FORCE_PARTS; part += 1u) {
            forces[index * FORCE_PARTS + part] = 0;
        }
    }
}

@compute @workgroup_size(64)
fn bound(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let first = number(id, groups) * BOUNDED;
    if first >= rules.count {
        return;
    }
    var low = places[first];
    var high = low;
    for (var index = first + 1u; index < min(first + BOUNDED, rules.count); index += 1u) {
        low = min(low, places[index]);
        high = max(high, places[index]);
    }
    atomicMin(&bounds.low_x, low.x);
    atomicMin(&bounds.low_y, low.y);
    atomicMax(&bounds.high_x, high.x);
    atomicMax(&bounds.high_y, high.y);
}

struct Spot {
    cell: u32,
    // From the corner of the cell.
    within: vec2<u32>,
    shift: u32,
}

fn spot(place: vec2<i32>) -> Spot {
    let low = vec2<i32>(atomicLoad(&bounds.low_x), atomicLoad(&bounds.low_y));
    let high = vec2<i32>(atomicLoad(&bounds.high_x), atomicLoad(&bounds.high_y));
    let shift = shift_for(low, high);
    let way = magnitudes(place - low);
    let at = way >> vec2<u32>(shift);
    return Spot(at.y * rules.side + at.x, way & vec2<u32>((1u << shift) - 1u), shift);
}

@compute @workgroup_size(64)
fn count(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = number(id, groups);
    if index >= rules.count {
        return;
    }
    let spot = spot(places[index]);
    let offset = spot.within >> vec2<u32>(spot.shift - rules.offset_bits);
    let mass = nodes[index].mass;
    atomicAdd(&bins[spot.cell].count, 1u);
    atomicAdd(&sums[spot.cell].mass, mass);
    atomicAdd(&sums[spot.cell].x, offset.x * mass);
    atomicAdd(&sums[spot.cell].y, offset.y * mass);
}

// Which cell's members come first is open; all that is done with them is summed.
@compute @workgroup_size(64)
fn allot(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = number(id, groups);
    if index >= rules.side * rules.side {
        return;
    }
    let count = atomicLoad(&bins[index].count);
    if count > 0u {
        bins[index].start = atomicAdd(&bounds.allotted, count);
    }
}

@compute @workgroup_size(64)
fn scatter(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = number(id, groups);
    if index >= rules.count {
        return;
    }
    let place = places[index];
    let cell = spot(place).cell;
    let slot = bins[cell].start + atomicAdd(&bins[cell].filled, 1u);
    let node = nodes[index];
    members[slot] = Member(place, node.mass, node.mantissa, node.exponent, index);
}
