//! How far nodes may go in each step of a run.

use super::LayoutGraph;
use super::fixed::cube_root;
use super::step::{Rules, Stride};

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The coarsest graph, from nowhere.
    Coarsest,
    /// A finer graph, from where its coarser one is.
    Finer,
    /// A graph that has changed a little.
    Update,
}

/// Steps on the coarsest level, on the finest one, and on any at most. Coarser levels are cheap and decide on the shape.
const COARSEST_STEPS: u64 = 200;
const FINEST_STEPS: u64 = 30;
const MOST_STEPS: u64 = 400;

/// The share of the last way that is gone once more, in steps of 2^-8.
const MOMENTUM: u32 = 230;

/// Ways are below 16 natural lengths of an edge, so that products of them fit 32 bits.
const LONGEST: u64 = (1 << 16) - 1;

/// The strides of a run over a graph that stands for a `finest` one.
///
/// The longest way is told in natural lengths of the level's edges, and falls to a fifth in the course of the run.
pub(super) fn strides(
    phase: Phase,
    finest: &LayoutGraph,
    graph: &LayoutGraph,
    rules: Rules,
) -> Vec<Stride> {
    // What a step costs. Random graphs lose few edges when they are coarsened, and need few steps.
    let cost = |graph: &LayoutGraph| (graph.len() + graph.targets.len()).max(1) as u64;
    let times_cheaper = cost(finest).div_ceil(cost(graph));
    let per_node = finest.len().div_ceil(graph.len().max(1)) as u64;
    let (steps, first_percent) = match phase {
        Phase::Coarsest => (COARSEST_STEPS, 300),
        Phase::Finer => {
            let steps = (FINEST_STEPS * FINEST_STEPS * times_cheaper).isqrt();
            (steps.min(MOST_STEPS), 200)
        }
        Phase::Update => (FINEST_STEPS, 25),
    };
    let first = natural_length(per_node, rules) * first_percent / 100;
    (0..steps)
        .map(|step| Stride {
            longest: u32::try_from((first - first * step * 4 / (steps * 5)).min(LONGEST))
                .unwrap_or(0),
            momentum: MOMENTUM,
        })
        .collect()
}

/// Where a spring and a push of average nodes are even, in steps of 2^-12.
fn natural_length(mass: u64, rules: Rules) -> u64 {
    let strength = u64::from(rules.strength.mantissa) * mass.min(1 << 20);
    // A strength is at most 2^19 and more than 2^-13; of what it is the cube, there are 36 bits behind the point.
    cube_root(strength << (36 + rules.strength.exponent).max(0))
}
