// The marks and links of the graph view, drawn as instances over whatever lies behind them.
//
// Positions of instances are in the units of the layout; everything that is compared with a pixel is in physical pixels
// of the view. Colours come as egui has them: gamma-encoded, premultiplied by their alpha.

struct View {
    // What of the layout is in the middle of the view.
    center: vec2<f32>,
    // Physical pixels a unit of the layout.
    scale: f32,
    // 1 where the target converts from linear to gamma by itself.
    encodes_gamma: u32,
    // Size of the view in physical pixels.
    size: vec2<f32>,
    padding: vec2<f32>,
}

@group(0) @binding(0) var<uniform> view: View;

// Room around a shape for its antialiased edge, in pixels.
const MARGIN: f32 = 1.0;
// Segments of a link's curve; the host draws (SEGMENTS + 1) * 2 vertices.
const SEGMENTS: u32 = 24u;

fn to_pixels(position: vec2<f32>) -> vec2<f32> {
    return (position - view.center) * view.scale + 0.5 * view.size;
}

fn to_clip(pixels: vec2<f32>) -> vec4<f32> {
    let ndc = pixels / view.size * 2.0 - 1.0;
    return vec4<f32>(ndc.x, -ndc.y, 0.0, 1.0);
}

fn linear_from_gamma(color: vec3<f32>) -> vec3<f32> {
    let low = color / 12.92;
    let high = pow((color + 0.055) / 1.055, vec3<f32>(2.4));
    return select(high, low, color <= vec3<f32>(0.04045));
}

fn output(color: vec4<f32>) -> vec4<f32> {
    if view.encodes_gamma == 0u || color.a <= 0.0 {
        return color;
    }
    return vec4<f32>(linear_from_gamma(color.rgb / color.a) * color.a, color.a);
}

// Marks: boxes with round corners, circles among them.

struct Mark {
    @location(0) center: vec2<f32>,
    @location(1) half_size: vec2<f32>,
    // Radius of the corners in units; at most half of the shorter side counts.
    @location(2) corner: f32,
    // Width of the outline in pixels, inside of the shape.
    @location(3) outline: f32,
    @location(4) fill: vec4<f32>,
    @location(5) stroke: vec4<f32>,
}

struct MarkFragment {
    @builtin(position) position: vec4<f32>,
    // From the middle of the mark, in pixels.
    @location(0) offset: vec2<f32>,
    @location(1) @interpolate(flat) half_size: vec2<f32>,
    @location(2) @interpolate(flat) corner_outline: vec2<f32>,
    @location(3) @interpolate(flat) fill: vec4<f32>,
    @location(4) @interpolate(flat) stroke: vec4<f32>,
}

@vertex
fn mark_vertex(@builtin(vertex_index) vertex: u32, mark: Mark) -> MarkFragment {
    let corner = vec2<f32>(f32(vertex & 1u), f32(vertex >> 1u)) * 2.0 - 1.0;
    let half_size = max(mark.half_size * view.scale, vec2<f32>(0.5));
    let offset = corner * (half_size + MARGIN);
    var out: MarkFragment;
    out.position = to_clip(to_pixels(mark.center) + offset);
    out.offset = offset;
    out.half_size = half_size;
    let radius = min(mark.corner * view.scale, min(half_size.x, half_size.y));
    out.corner_outline = vec2<f32>(radius, mark.outline);
    out.fill = mark.fill;
    out.stroke = mark.stroke;
    return out;
}

@fragment
fn mark_fragment(in: MarkFragment) -> @location(0) vec4<f32> {
    let radius = in.corner_outline.x;
    let beyond = abs(in.offset) - in.half_size + radius;
    let distance = length(max(beyond, vec2<f32>(0.0))) + min(max(beyond.x, beyond.y), 0.0) - radius;
    let inside = clamp(0.5 - distance, 0.0, 1.0);
    let ring = clamp(0.5 + distance + in.corner_outline.y, 0.0, 1.0) * f32(in.corner_outline.y > 0.0);
    let color = mix(in.fill, in.stroke + in.fill * (1.0 - in.stroke.a), ring);
    return output(color * inside);
}

// Links: cubic curves whose colour runs from their start to their end.

struct Link {
    @location(0) start: vec2<f32>,
    @location(1) first: vec2<f32>,
    @location(2) second: vec2<f32>,
    @location(3) end: vec2<f32>,
    @location(4) start_color: vec4<f32>,
    @location(5) end_color: vec4<f32>,
    // Pixels.
    @location(6) width: f32,
}

struct LinkFragment {
    @builtin(position) position: vec4<f32>,
    @location(0) color: vec4<f32>,
    // From the middle of the line, in pixels.
    @location(1) across: f32,
    @location(2) @interpolate(flat) half_width: f32,
}

@vertex
fn link_vertex(@builtin(vertex_index) vertex: u32, link: Link) -> LinkFragment {
    let t = f32(vertex >> 1u) / f32(SEGMENTS);
    let side = f32(vertex & 1u) * 2.0 - 1.0;
    let a = to_pixels(link.start);
    let b = to_pixels(link.first);
    let c = to_pixels(link.second);
    let d = to_pixels(link.end);
    let u = 1.0 - t;
    let point = a * (u * u * u) + b * (3.0 * u * u * t) + c * (3.0 * u * t * t) + d * (t * t * t);
    var along = (b - a) * (u * u) + (c - b) * (2.0 * u * t) + (d - c) * (t * t);
    if dot(along, along) < 1e-8 {
        along = d - a + vec2<f32>(1e-4, 0.0);
    }
    let across = normalize(vec2<f32>(-along.y, along.x));
    // A thinner line than a pixel is drawn as a paler one.
    let half_width = max(0.5 * link.width, 0.5);
    let strength = min(link.width, 1.0);
    var out: LinkFragment;
    out.across = side * (half_width + MARGIN);
    out.position = to_clip(point + across * out.across);
    out.half_width = half_width;
    out.color = mix(link.start_color, link.end_color, t) * strength;
    return out;
}

@fragment
fn link_fragment(in: LinkFragment) -> @location(0) vec4<f32> {
    return output(in.color * clamp(0.5 + in.half_width - abs(in.across), 0.0, 1.0));
}
