//! Where the nodes of a graph are drawn: a deterministic force layout.
//!
//! The graph is coarsened by matching until it is small, laid out there, and refined level by level. Repulsion is
//! exact between neighbouring cells of a grid and by the sums of a pyramid of coarser cells beyond, so that a step
//! costs time in proportion to nodes and edges. All sums over cells are taken in fixed-point integers, whose order
//! doesn't matter; the same graph gives the same positions to the bit.
//!
//! Y. Hu: Efficient, High-Quality Force-Directed Graph Drawing (2005) for the force model and the multilevel scheme;
//! T. M. J. Fruchterman, E. M. Reingold: Graph Drawing by Force-directed Placement (1991) for the grid and the cooling.

mod coarsen;
mod pyramid;
mod step;

pub use step::{Options, Point, Relaxation};

use coarsen::{Coarse, coarsen};

/// Levels are coarsened until so few nodes are left.
const SMALLEST: usize = 24;

/// Steps on the coarsest level, and on every finer one.
const COARSEST_STEPS: u32 = 200;
const LEVEL_STEPS: u32 = 40;

/// An undirected graph to lay out: neighbours in compressed rows, every edge in both of its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayoutGraph {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl LayoutGraph {
    /// Takes the edges of a graph of `count` nodes. Loops, doubles and edges to nodes that don't exist are left out.
    #[must_use]
    pub fn new(count: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let inside = |node: u32| (node as usize) < count;
        let mut pairs: Vec<(u32, u32)> = edges
            .into_iter()
            .filter(|(from, to)| from != to && inside(*from) && inside(*to))
            .flat_map(|(from, to)| [(from, to), (to, from)])
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut starts = vec![0_u32; count + 1];
        for (from, _) in &pairs {
            starts[*from as usize + 1] += 1;
        }
        for index in 0..count {
            starts[index + 1] += starts[index];
        }
        Self {
            starts,
            targets: pairs.into_iter().map(|(_, to)| to).collect(),
        }
    }

    /// The number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The neighbours of a node, sorted.
    #[must_use]
    pub fn neighbours(&self, node: usize) -> &[u32] {
        &self.targets[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}

/// Lays a graph out from nothing. Positions are in units of the natural length of an edge, around the origin.
#[must_use]
pub fn layout(graph: &LayoutGraph, options: Options) -> Vec<Point> {
    let weights = vec![1; graph.len()];
    let mut levels = vec![Coarse {
        graph: graph.clone(),
        weights,
        parents: Vec::new(),
    }];
    while let Some(finest) = levels.last()
        && finest.graph.len() > SMALLEST
        && let Some(next) = coarsen(finest)
    {
        levels.push(next);
    }
    let mut points: Vec<Point> = Vec::new();
    for (depth, level) in levels.iter().enumerate().rev() {
        let is_coarsest = depth + 1 == levels.len();
        points = if is_coarsest {
            seeded(level.graph.len())
        } else {
            spread(&levels[depth + 1], &points, level.graph.len())
        };
        let steps = if is_coarsest {
            COARSEST_STEPS
        } else {
            LEVEL_STEPS
        };
        let mut relaxation =
            Relaxation::new(&level.graph, points, options).with_weights(&level.weights);
        let heat = if is_coarsest { 2.0 } else { 0.6 };
        relaxation.run(steps, heat);
        points = relaxation.into_points();
    }
    points
}

/// Brings an earlier layout up to date: `before` holds the positions of nodes that were there, `None` for new ones.
///
/// A new node starts at the mean of its neighbours. Old nodes are held near where they were by `options.anchor`; pinned
/// ones don't move at all.
#[must_use]
pub fn update(
    graph: &LayoutGraph,
    before: &[Option<Point>],
    pinned: &[u32],
    options: Options,
) -> Vec<Point> {
    let known = |node: usize| before.get(node).copied().flatten();
    let anywhere = seeded(graph.len());
    let start: Vec<Point> = (0..graph.len())
        .map(|node| {
            known(node).unwrap_or_else(|| {
                let near: Vec<Point> = graph
                    .neighbours(node)
                    .iter()
                    .filter_map(|next| known(*next as usize))
                    .collect();
                let jitter = Point {
                    x: anywhere[node].x * 1e-3,
                    y: anywhere[node].y * 1e-3,
                };
                mean(&near).map_or(anywhere[node], |near| Point {
                    x: near.x + jitter.x,
                    y: near.y + jitter.y,
                })
            })
        })
        .collect();
    let anchors: Vec<bool> = (0..graph.len()).map(|node| known(node).is_some()).collect();
    let mut relaxation = Relaxation::new(graph, start, options)
        .with_anchors(&anchors)
        .with_pins(pinned);
    relaxation.run(30, 0.15);
    relaxation.into_points()
}

fn mean(points: &[Point]) -> Option<Point> {
    #[allow(clippy::cast_precision_loss)]
    let count = points.len() as f32;
    (!points.is_empty()).then(|| Point {
        x: points.iter().map(|point| point.x).sum::<f32>() / count,
        y: points.iter().map(|point| point.y).sum::<f32>() / count,
    })
}

/// Places in a disc by a low-discrepancy sequence: the golden angle and the square root of the number.
fn seeded(count: usize) -> Vec<Point> {
    const GOLDEN_ANGLE: f32 = 2.399_963_2;
    (0..count)
        .map(|node| {
            #[allow(clippy::cast_precision_loss)]
            let node = node as f32;
            let (radius, angle) = ((node + 0.5).sqrt(), node * GOLDEN_ANGLE);
            Point {
                x: radius * angle.cos(),
                y: radius * angle.sin(),
            }
        })
        .collect()
}

/// Places finer nodes around their coarse ones, with more room in between.
fn spread(coarse: &Coarse, points: &[Point], count: usize) -> Vec<Point> {
    const ROOM: f32 = std::f32::consts::SQRT_2;
    let jitter = seeded(count);
    #[allow(clippy::cast_precision_loss)]
    let scale = 0.3 / (count.max(1) as f32).sqrt();
    coarse
        .parents
        .iter()
        .zip(jitter)
        .map(|(parent, jitter)| {
            let at = points[*parent as usize];
            Point {
                x: at.x * ROOM + jitter.x * scale,
                y: at.y * ROOM + jitter.y * scale,
            }
        })
        .collect()
}
