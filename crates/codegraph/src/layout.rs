//! Where the nodes of a graph are drawn: a deterministic force layout.
//!
//! Each part without an edge to the others is laid out by itself, and the parts are packed. A part is coarsened by
//! matching until it is small, laid out there, and refined level by level. A step of that:
//!
//! 1. The plane is cut into cells, each a power of two wide, and the nodes are sorted into them (`grid`).
//! 2. Near nodes push each other one by one (`near`), far ones by the sums of a pyramid of coarser cells (`field`).
//! 3. Each edge pulls with the square of its length; a node goes by its force over the stiffness of its edges, and on
//!    by some of its last way (`step`), at most as far as its level's natural length allows (`schedule`).
//!
//! This is one specification with two backends, the processor and, behind the feature `gpu`, compute shaders on a
//! graphics card. All arithmetic is in integers with a stated rounding (`fixed`), and what is summed in no certain order
//! is a sum of integers. So both backends give the same positions to the bit, on every machine.
//!
//! Y. Hu: Efficient, High-Quality Force-Directed Graph Drawing (2005) for the force model and the multilevel scheme;
//! B. T. Polyak: Some Methods of Speeding up the Convergence of Iteration Methods (1964) for the momentum.

mod coarsen;
mod field;
mod fixed;
#[cfg(feature = "gpu")]
pub mod gpu;
mod grid;
mod near;
mod packing;
mod schedule;
mod step;

pub use step::Options;

use coarsen::{Coarse, coarsen};
use fixed::{FARTHEST, Place, UNIT_BITS};
use packing::{pack, parts};
use schedule::{Phase, strides};
use step::{Body, Rules, Stride};

/// Levels are coarsened until so few nodes are left.
const SMALLEST: usize = 24;

/// A place in the plane, in units of the natural length of an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f32,
    /// Down.
    pub y: f32,
}

impl From<Place> for Point {
    #[allow(clippy::cast_precision_loss)]
    fn from(place: Place) -> Self {
        let unit = (1 << UNIT_BITS) as f32;
        Self {
            x: place.x as f32 / unit,
            y: place.y as f32 / unit,
        }
    }
}

impl From<Point> for Place {
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
    fn from(point: Point) -> Self {
        // A number that is none becomes 0; what is too far is held at the border.
        let at = |value: f32| {
            ((value * (1 << UNIT_BITS) as f32).round() as i32).clamp(-FARTHEST, FARTHEST)
        };
        Self {
            x: at(point.x),
            y: at(point.y),
        }
    }
}

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

    /// The neighbours of all nodes, one after the other.
    #[cfg(feature = "gpu")]
    fn all_neighbours(&self) -> &[u32] {
        &self.targets
    }
}

/// What takes the steps of a layout. The positions are the same whichever it is.
#[derive(Clone, Debug, Default)]
pub enum Backend {
    /// The thread that asks.
    #[default]
    Processor,
    /// A graphics card, where a run is large enough for it to be faster.
    #[cfg(feature = "gpu")]
    Gpu(std::sync::Arc<gpu::Gpu>),
}

impl Backend {
    fn relax(&self, body: Body<'_>, rules: Rules, strides: &[Stride], places: &mut [Place]) {
        #[cfg(feature = "gpu")]
        if let Self::Gpu(gpu) = self
            && gpu.relax(body, rules, strides, places)
        {
            return;
        }
        step::relax(body, rules, strides, places);
    }
}

/// Lays a graph out from nothing. Positions are in units of the natural length of an edge, around the origin.
#[must_use]
pub fn layout(graph: &LayoutGraph, options: Options, backend: &Backend) -> Vec<Point> {
    let parts = parts(graph);
    let placed: Vec<Vec<Place>> = parts
        .iter()
        .map(|part| multilevel(part.graph.clone(), options, backend))
        .collect();
    let places = pack(&parts, &placed, graph.len());
    places.into_iter().map(Point::from).collect()
}

/// Lays out a graph without separate parts.
fn multilevel(graph: LayoutGraph, options: Options, backend: &Backend) -> Vec<Place> {
    let total = graph.len();
    if total == 1 {
        return vec![Place::default()];
    }
    let mut levels = vec![Coarse {
        weights: vec![1; total],
        graph,
        parents: Vec::new(),
    }];
    while let Some(finest) = levels.last()
        && finest.graph.len() > SMALLEST
        && let Some(next) = coarsen(finest)
    {
        levels.push(next);
    }
    let rules = Rules::new(options, u32::try_from(total).unwrap_or(u32::MAX));
    let mut places: Vec<Place> = Vec::new();
    for (depth, level) in levels.iter().enumerate().rev() {
        let count = level.graph.len();
        let (phase, start) = match levels.get(depth + 1) {
            None => (Phase::Coarsest, seeded(count)),
            Some(coarser) => (Phase::Finer, spread(coarser, &places, count)),
        };
        places = start;
        let body = Body {
            graph: &level.graph,
            masses: &level.weights,
            anchors: &[],
            pinned: &[],
        };
        let strides = strides(phase, &levels[0].graph, &level.graph, rules);
        backend.relax(body, rules, &strides, &mut places);
    }
    places
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
    backend: &Backend,
) -> Vec<Point> {
    let count = graph.len();
    let mut anchors: Vec<Option<Place>> = before
        .iter()
        .map(|point| point.map(Place::from))
        .take(count)
        .collect();
    anchors.resize(count, None);
    let anywhere = seeded(count);
    let mut places: Vec<Place> = (0..count)
        .map(|node| {
            let near = || {
                mean(
                    graph
                        .neighbours(node)
                        .iter()
                        .filter_map(|next| anchors[*next as usize]),
                )
            };
            anchors[node]
                .or_else(|| near().map(|near| moved(near, anywhere[node], 1 << 10)))
                .unwrap_or(anywhere[node])
        })
        .collect();
    let mut is_pinned = vec![false; count];
    for node in pinned {
        if let Some(pin) = is_pinned.get_mut(*node as usize) {
            *pin = true;
        }
    }
    let body = Body {
        graph,
        masses: &vec![1; count],
        anchors: &anchors,
        pinned: &is_pinned,
    };
    let rules = Rules::new(options, u32::try_from(count).unwrap_or(u32::MAX));
    let strides = strides(Phase::Update, graph, graph, rules);
    backend.relax(body, rules, &strides, &mut places);
    places.into_iter().map(Point::from).collect()
}

fn mean(places: impl Iterator<Item = Place>) -> Option<Place> {
    let (mut sum, mut count) = ((0_i64, 0_i64), 0);
    for place in places {
        sum = (sum.0 + i64::from(place.x), sum.1 + i64::from(place.y));
        count += 1;
    }
    let at = |sum: i64| i32::try_from(sum / count).unwrap_or(0);
    (count > 0).then(|| Place {
        x: at(sum.0),
        y: at(sum.1),
    })
}

/// A place moved by a small part of a way.
fn moved(place: Place, way: Place, part: i32) -> Place {
    Place {
        x: (place.x + way.x / part).clamp(-FARTHEST, FARTHEST),
        y: (place.y + way.y / part).clamp(-FARTHEST, FARTHEST),
    }
}

/// Places in a disc by a low-discrepancy sequence: the golden angle and the square root of the number.
fn seeded(count: usize) -> Vec<Place> {
    // Cosine and sine of the golden angle in steps of 2^-30.
    const TURN: (i64, i64) = (-791_743_804, 725_302_181);
    let mut direction = (1_i64 << 30, 0_i64);
    (0..count as u64)
        .map(|node| {
            // The root of 2^24 times as much has the 12 bits behind the point that a place has.
            let radius = ((node << 24) + (1 << 23)).isqrt().cast_signed();
            let (x, y) = direction;
            direction = (
                (x * TURN.0 - y * TURN.1) >> 30,
                (x * TURN.1 + y * TURN.0) >> 30,
            );
            let at = |along: i64| {
                i32::try_from((along * radius) >> 30)
                    .map_or(FARTHEST, |at| at.clamp(-FARTHEST, FARTHEST))
            };
            Place { x: at(x), y: at(y) }
        })
        .collect()
}

/// Places finer nodes around their coarse ones, with more room in between.
fn spread(coarse: &Coarse, places: &[Place], count: usize) -> Vec<Place> {
    // Ways from the middle are made √2 as long, since there are about twice as many nodes.
    let wider = |at: i32| {
        i32::try_from(i64::from(at) * 181 / 128)
            .unwrap_or(FARTHEST)
            .clamp(-FARTHEST / 2, FARTHEST / 2)
    };
    let part = i32::try_from(count.isqrt() * 3 + 1).unwrap_or(i32::MAX);
    coarse
        .parents
        .iter()
        .zip(seeded(count))
        .map(|(parent, jitter)| {
            let at = places[*parent as usize];
            moved(
                Place {
                    x: wider(at.x),
                    y: wider(at.y),
                },
                jitter,
                part,
            )
        })
        .collect()
}
