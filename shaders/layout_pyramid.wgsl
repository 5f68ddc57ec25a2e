// The push of all that is far: masses summed up from finer grids to coarser ones, pushes worked out from coarser grids
// down to finer ones.

struct Sum {
    mass: u32,
    x: u32,
    y: u32,
}

// The centre of a cell's mass from its corner, and its weight.
struct Source {
    middle: vec2<i32>,
    mantissa: u32,
    exponent: i32,
}

struct Bounds {
    low: vec2<i32>,
    high: vec2<i32>,
}

@group(0) @binding(5) var<storage, read> bounds: Bounds;
@group(0) @binding(7) var<storage, read_write> sums: array<Sum>;
@group(0) @binding(8) var<storage, read_write> sources: array<Source>;
// A push around the middle of a cell: in the middle (x, y), and its complex change over one cell (z, w).
@group(0) @binding(9) var<storage, read_write> locals: array<vec4<i32>>;

@compute @workgroup_size(64)
fn sum(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = number(id, groups);
    if index >= turn.side * turn.side {
        return;
    }
    var total = sums[turn.cells + index];
    if turn.other_side > 0u {
        total = Sum(0u, 0u, 0u);
        let corner = vec2<u32>(index % turn.side, index / turn.side) * 2u;
        for (var part = 0u; part < 4u; part += 1u) {
            let at = corner + vec2<u32>(part & 1u, part >> 1u);
            if at.x < turn.other_side && at.y < turn.other_side {
                let finer = sums[turn.other_cells + at.y * turn.other_side + at.x];
                let half = (finer.mass << rules.offset_bits) >> 1u;
                total.mass += finer.mass;
                total.x += (finer.x >> 1u) + half * (part & 1u);
                total.y += (finer.y >> 1u) + half * (part >> 1u);
            }
        }
        sums[turn.cells + index] = total;
    }
    var source = Source(vec2<i32>(0), 0u, 0);
    if total.mass > 0u {
        let widened = CELL_BITS - rules.offset_bits;
        let weight = weight_of(total.mass);
        let middle = vec2<u32>(total.x / total.mass, total.y / total.mass) << vec2<u32>(widened);
        source = Source(vec2<i32>(middle), weight.mantissa, weight.exponent);
    }
    sources[turn.cells + index] = source;
}

// What the change of a push comes to over a way.
fn changed(change: vec2<i32>, way: vec2<i32>) -> vec2<i32> {
    return vec2<i32>(change.y * way.y - change.x * way.x, change.y * way.x + change.x * way.y);
}

// The coarser cell's push around the middle of one of its quarters.
fn quarter(coarse: vec4<i32>, at: vec2<u32>) -> vec4<i32> {
    let way = vec2<i32>(at & vec2<u32>(1u)) * 2 - 1;
    let change = changed(coarse.zw, way);
    return vec4<i32>(
        coarse.x + shifted(change.x, 2),
        coarse.y + shifted(change.y, 2),
        shifted(coarse.z, 1),
        shifted(coarse.w, 1),
    );
}

// The push of a cell that is so many columns and rows away.
fn pushed(source: Source, cells: vec2<i32>, base: i32) -> vec4<i32> {
    let way = cells * i32(1u << CELL_BITS) + i32(1u << (CELL_BITS - 1u)) - source.middle;
    let square = magnitude(way.x * way.x + way.y * way.y);
    let inverse = i32((1u << 31u) / (square >> 9u));
    let x = shifted(way.x * inverse, 14);
    let y = shifted(way.y * inverse, 14);
    let change_x = (x * x - y * y) >> 16u;
    let change_y = (-2 * x * y) >> 16u;
    let mantissa = i32(source.mantissa);
    let shift = base - source.exponent;
    return vec4<i32>(
        shifted(x * mantissa, shift),
        shifted(y * mantissa, shift),
        shifted(change_x * mantissa, shift),
        shifted(change_y * mantissa, shift),
    );
}

@compute @workgroup_size(64)
fn work_down(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = number(id, groups);
    let side = turn.side;
    if index >= side * side || sums[turn.cells + index].mass == 0u {
        return;
    }
    let at = vec2<u32>(index % side, index / side);
    let shift = i32(shift_for(bounds.low, bounds.high) + turn.depth);
    let base = shift + 16 - UNIT_BITS - rules.force_bits + fading(shift + 1);
    var local = vec4<i32>(0);
    var low = vec2<u32>(0u);
    var high = vec2<u32>(side);
    if turn.other_side > 0u {
        let above = at / 2u;
        local = quarter(locals[turn.other_cells + above.y * turn.other_side + above.x], at);
        low = (max(above, vec2<u32>(1u)) - 1u) * 2u;
        high = min((above + 2u) * 2u, vec2<u32>(side));
    }
    for (var row = low.y; row < high.y; row += 1u) {
        for (var column = low.x; column < high.x; column += 1u) {
            let cells = vec2<i32>(at) - vec2<i32>(i32(column), i32(row));
            let source = sources[turn.cells + row * side + column];
            let is_near = abs(cells.x) <= 1 && abs(cells.y) <= 1;
            if !is_near && source.mantissa > 0u {
                local += pushed(source, cells, base);
            }
        }
    }
    locals[turn.cells + index] = local;
}
