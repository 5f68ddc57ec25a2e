//! How good the free layout is and how long it takes, against Graphviz' `sfdp` on the same graphs.
//!
//! Quality as the field measures it: stress over sampled pairs at the best scale (less is better), the neighbourhoods
//! that are preserved (more is better), and how evenly long the edges are.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use children::children_milliseconds;
use codegraph::layout::{Backend, LayoutGraph, Options, Point, layout};
use timing::milliseconds;

#[path = "support/children.rs"]
mod children;
#[allow(dead_code, reason = "each bench uses a part")]
#[path = "support/timing.rs"]
mod timing;

/// A graph to lay out.
struct Subject {
    name: &'static str,
    count: u32,
    edges: Vec<(u32, u32)>,
}

fn main() {
    for subject in subjects() {
        measure(&subject);
    }
}

fn subjects() -> Vec<Subject> {
    vec![
        Subject {
            name: "10k_30k",
            count: 10_000,
            edges: scale_free(10_000, 3),
        },
        Subject {
            name: "grid_50x50",
            count: 2_500,
            edges: grid(50),
        },
        Subject {
            name: "tree_3k",
            count: 3_000,
            edges: (1..3_000).map(|node| (node, (node - 1) / 3)).collect(),
        },
        Subject {
            name: "groups_2k",
            count: 2_000,
            edges: groups(2_000),
        },
    ]
}

/// Numbers of a fixed sequence, each below a bound.
fn random() -> impl FnMut(u64) -> u32 {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u32::try_from(state % below).unwrap_or(0)
    }
}

/// A new node joins ends of old edges.
fn scale_free(count: u32, degree: u32) -> Vec<(u32, u32)> {
    let mut random = random();
    let mut ends: Vec<u32> = vec![0, 1];
    let mut edges = vec![(0, 1)];
    for node in 2..count {
        for _ in 0..degree {
            let target = ends[random(ends.len() as u64) as usize];
            edges.push((node, target));
            ends.extend([node, target]);
        }
    }
    edges
}

fn grid(side: u32) -> Vec<(u32, u32)> {
    let row = |y: u32| (1..side).map(move |x| (y * side + x - 1, y * side + x));
    let column = |y: u32| (0..side).map(move |x| ((y - 1) * side + x, y * side + x));
    let rows = (0..side).flat_map(row);
    rows.chain((1..side).flat_map(column)).collect()
}

/// Folders of 20 files with most imports inside, as code has them.
fn groups(count: u32) -> Vec<(u32, u32)> {
    let mut random = random();
    let mut edges = Vec::new();
    for node in 1..count {
        let group = node / 20 * 20;
        for _ in 0..2 {
            edges.push((node, group + random(20)));
        }
        if random(4) == 0 {
            edges.push((node, random(u64::from(group.max(1)))));
        }
    }
    edges
}

/// A random graph has no neighbourhoods in the plane: below this, what is kept is chance.
const NO_NEIGHBOURHOODS: f64 = 0.005;

fn measure(subject: &Subject) {
    let name = subject.name;
    let graph = LayoutGraph::new(subject.count as usize, subject.edges.iter().copied());
    let mut points = Vec::new();
    let ours = (0..3)
        .map(|_| milliseconds(|| points = layout(&graph, Options::default(), &Backend::Processor)))
        .fold(f64::MAX, f64::min);
    let Some((theirs, reference)) = sfdp(subject) else {
        println!("bench layout_{name}: {ours:.0} ms, sfdp is not installed");
        return;
    };
    let (ours_found, theirs_found) = (
        Quality::of(&graph, &points),
        Quality::of(&graph, &reference),
    );
    ratio(
        &format!("layout_{name}"),
        ours,
        theirs,
        "ms",
        Bound::AtMost(0.4),
    );
    ratio(
        &format!("layout_{name}_stress"),
        ours_found.stress,
        theirs_found.stress,
        "a pair",
        Bound::AtMost(1.10),
    );
    if theirs_found.neighbourhoods < NO_NEIGHBOURHOODS {
        println!("bench layout_{name}_neighbourhoods: nothing to compare, sfdp keeps none");
    } else {
        ratio(
            &format!("layout_{name}_neighbourhoods"),
            ours_found.neighbourhoods,
            theirs_found.neighbourhoods,
            "kept",
            Bound::AtLeast(0.95),
        );
    }
    ratio(
        &format!("layout_{name}_edge_length_cv"),
        ours_found.edge_length_cv,
        theirs_found.edge_length_cv,
        "of the mean",
        Bound::AtMost(1.2),
    );
}

#[derive(Clone, Copy)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

fn ratio(name: &str, ours: f64, theirs: f64, unit: &str, bound: Bound) {
    let ratio = ours / theirs;
    let (is_met, target) = match bound {
        Bound::AtMost(bound) => (ratio <= bound, format!("<= {bound}x")),
        Bound::AtLeast(bound) => (ratio >= bound, format!(">= {bound}x")),
    };
    let verdict = if is_met { "ok" } else { "MISS" };
    println!(
        "bench {name}: {ratio:.2}x of sfdp ({ours:.4} {unit}, {theirs:.4} {unit}) (target {target}) {verdict}"
    );
}

/// What a layout is like.
struct Quality {
    /// Mean squared relative error of distances against shortest paths, at the scale that fits best.
    stress: f64,
    /// Jaccard index of a node's neighbours and as many nearest nodes, the mean over nodes.
    neighbourhoods: f64,
    /// Standard deviation of edge lengths over their mean.
    edge_length_cv: f64,
}

impl Quality {
    fn of(graph: &LayoutGraph, points: &[Point]) -> Self {
        Self {
            stress: stress(graph, points),
            neighbourhoods: neighbourhoods(graph, points),
            edge_length_cv: edge_length_cv(graph, points),
        }
    }
}

fn distance(left: Point, right: Point) -> f64 {
    f64::from(left.x - right.x).hypot(f64::from(left.y - right.y))
}

/// Over the pairs of 100 nodes, spread over the graph, with every other node.
fn stress(graph: &LayoutGraph, points: &[Point]) -> f64 {
    let step = (graph.len() / 100).max(1);
    let mut pairs = Vec::new();
    for source in (0..graph.len()).step_by(step) {
        for (target, hops) in hops(graph, source).into_iter().enumerate() {
            if let Some(hops) = hops
                && hops > 0
            {
                pairs.push((f64::from(hops), distance(points[source], points[target])));
            }
        }
    }
    let along: f64 = pairs.iter().map(|(hops, length)| length / hops).sum();
    let square: f64 = pairs
        .iter()
        .map(|(hops, length)| (length / hops).powi(2))
        .sum();
    let scale = along / square;
    let total: f64 = pairs
        .iter()
        .map(|(hops, length)| (scale * length / hops - 1.0).powi(2))
        .sum();
    total / pairs.len() as f64
}

fn hops(graph: &LayoutGraph, source: usize) -> Vec<Option<u32>> {
    let mut found = vec![None; graph.len()];
    found[source] = Some(0);
    let mut queue = VecDeque::from([source]);
    while let Some(node) = queue.pop_front() {
        let next_hops = found[node].map(|hops| hops + 1);
        for next in graph.neighbours(node) {
            if found[*next as usize].is_none() {
                found[*next as usize] = next_hops;
                queue.push_back(*next as usize);
            }
        }
    }
    found
}

/// Over 1,000 nodes, spread over the graph.
fn neighbourhoods(graph: &LayoutGraph, points: &[Point]) -> f64 {
    let step = (graph.len() / 1_000).max(1);
    let kept = (0..graph.len()).step_by(step).filter_map(|node| {
        let linked = graph.neighbours(node);
        let mut nearest: Vec<(f64, u32)> = (0..)
            .zip(points)
            .filter(|(other, _)| *other as usize != node)
            .map(|(other, point)| (distance(points[node], *point), other))
            .collect();
        nearest.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        let both = nearest
            .iter()
            .take(linked.len())
            .filter(|(_, other)| linked.binary_search(other).is_ok())
            .count();
        (!linked.is_empty()).then(|| both as f64 / (2 * linked.len() - both) as f64)
    });
    let kept: Vec<f64> = kept.collect();
    kept.iter().sum::<f64>() / kept.len() as f64
}

fn edge_length_cv(graph: &LayoutGraph, points: &[Point]) -> f64 {
    let lengths: Vec<f64> = (0..graph.len())
        .flat_map(|node| {
            graph
                .neighbours(node)
                .iter()
                .map(move |other| (node, *other))
        })
        .map(|(from, to)| distance(points[from], points[to as usize]))
        .collect();
    let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
    let variance = lengths
        .iter()
        .map(|length| (length - mean).powi(2))
        .sum::<f64>();
    (variance / lengths.len() as f64).sqrt() / mean
}

/// How long `sfdp` takes, in milliseconds of its own, and where it puts the nodes.
fn sfdp(subject: &Subject) -> Option<(f64, Vec<Point>)> {
    let mut dot = String::from("graph g { node [shape=point];\n");
    (0..subject.count).for_each(|node| {
        let _ = writeln!(dot, "{node};");
    });
    for (from, to) in &subject.edges {
        let _ = writeln!(dot, "{from} -- {to};");
    }
    dot.push_str("}\n");
    // A child's time is none of this thread's.
    let before = children_milliseconds();
    let mut child = Command::new("sfdp")
        .arg("-Tplain")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(dot.as_bytes()).ok()?;
    let mut plain = String::new();
    child.stdout.take()?.read_to_string(&mut plain).ok()?;
    child.wait().ok()?;
    let mut points = vec![Point::default(); subject.count as usize];
    for line in plain.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["node", name, x, y, ..] = words.as_slice() {
            let node: usize = name.parse().ok()?;
            *points.get_mut(node)? = Point {
                x: x.parse().ok()?,
                y: y.parse().ok()?,
            };
        }
    }
    Some((children_milliseconds() - before, points))
}
