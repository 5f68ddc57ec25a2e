//! What of a hundred thousand files is shown at a zoom, and the three hundred thousand links between them.

use std::time::Instant;

use codegraph::nested::{Box2, Limits, Nested, WHOLE};

const NODES: u32 = 100_000;
const LINKS: u32 = 300_000;
const TARGET_MS: f64 = 5.0;

/// Numbers that look random and are the same each time (Marsaglia's xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % u64::from(end)) as u32
    }
}

fn main() {
    let mut numbers = Numbers(7);
    // A tenth are directories; most files lie in deep ones.
    let directories = NODES / 10;
    let parents: Vec<Option<u32>> = (0..NODES)
        .map(|node| match node {
            0 => None,
            node if node < directories => Some((node - 1) / 6),
            _ => Some(numbers.below(directories)),
        })
        .collect();
    let weights: Vec<f32> = (0..NODES).map(|_| 5.0 + numbers.below(30) as f32).collect();
    let file = |numbers: &mut Numbers| directories + numbers.below(NODES - directories);
    let links: Vec<(u32, u32)> = (0..LINKS)
        .map(|_| (file(&mut numbers), file(&mut numbers)))
        .collect();
    let began = Instant::now();
    let nested = Nested::new(
        &parents,
        |_| true,
        |node| weights[node as usize],
        |node| u64::from(node).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        links.iter().copied(),
    );
    println!(
        "layout of {NODES} boxes: {:.0} ms",
        began.elapsed().as_secs_f64() * 1e3
    );
    let limits = Limits::default();
    let mut times = Vec::new();
    let mut shown = 0;
    for step in 0..200 {
        let scale = 0.8 * 1.04_f32.powi(step);
        let (width, height) = (1280.0 / scale, 800.0 / scale);
        let visible = Box2 {
            x: 0.37 * WHOLE.width - width / 2.0,
            y: 0.61 * WHOLE.height - height / 2.0,
            width,
            height,
        };
        let began = Instant::now();
        let cut = nested.cut(visible, scale, &limits);
        times.push(began.elapsed().as_secs_f64() * 1e3);
        shown = shown.max(cut.marks.len());
        assert!(cut.marks.len() <= limits.marks && cut.links.len() <= limits.links);
    }
    times.sort_by(f64::total_cmp);
    let p99 = times[times.len() * 99 / 100];
    let verdict = if p99 <= TARGET_MS { "ok" } else { "MISS" };
    println!(
        "bench cut_100k_300k: {p99:.2} ms at p99, {:.2} at p50, up to {shown} marks (target <= {TARGET_MS} ms) {verdict}",
        times[times.len() / 2]
    );
}
