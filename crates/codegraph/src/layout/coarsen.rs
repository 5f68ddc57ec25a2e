//! Coarser graphs: neighbours that are alike become one node.

use super::LayoutGraph;
use super::fixed::shuffled;

/// A level of a multilevel layout.
#[derive(Clone, Debug)]
pub(super) struct Coarse {
    pub(super) graph: LayoutGraph,
    /// How many nodes of the finest graph each node stands for.
    pub(super) weights: Vec<u32>,
    /// The node of this level for every node of the finer one.
    pub(super) parents: Vec<u32>,
}

/// The next coarser level; `None` where matching hardly helps any more.
pub(super) fn coarsen(fine: &Coarse) -> Option<Coarse> {
    let graph = &fine.graph;
    let count = graph.len();
    let mut parents = vec![u32::MAX; count];
    let mut next = 0_u32;
    // Nodes of few neighbours first: they have the least choice. Among equals shuffled numbers decide: pairs that were
    // matched by number would all lie the same way in a grid, and the coarser graph would be drawn too narrow.
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|node| {
        (
            graph.neighbours(*node).len(),
            shuffled(u32::try_from(*node).unwrap_or(0)),
            *node,
        )
    });
    for node in &order {
        if parents[*node] != u32::MAX {
            continue;
        }
        let free = graph
            .neighbours(*node)
            .iter()
            .filter(|other| parents[**other as usize] == u32::MAX);
        let mate = free.min_by_key(|other| {
            (
                fine.weights[**other as usize],
                graph.neighbours(**other as usize).len(),
                shuffled(**other),
            )
        });
        if let Some(mate) = mate {
            parents[*node] = next;
            parents[*mate as usize] = next;
            next += 1;
        }
    }
    // What is left over joins a neighbour's group, so that the leaves of a star end in one node.
    for node in &order {
        if parents[*node] == u32::MAX {
            let group = graph
                .neighbours(*node)
                .iter()
                .map(|other| parents[*other as usize])
                .filter(|group| *group != u32::MAX)
                .min();
            parents[*node] = group.unwrap_or_else(|| {
                next += 1;
                next - 1
            });
        }
    }
    if next as usize * 10 > count * 9 {
        return None;
    }
    let mut weights = vec![0_u32; next as usize];
    for (node, parent) in parents.iter().enumerate() {
        weights[*parent as usize] += fine.weights[node];
    }
    let edges = (0..count).flat_map(|node| {
        let parent = parents[node];
        let parents = &parents;
        graph
            .neighbours(node)
            .iter()
            .map(move |other| (parent, parents[*other as usize]))
    });
    let graph = LayoutGraph::new(next as usize, edges.collect::<Vec<_>>());
    Some(Coarse {
        graph,
        weights,
        parents,
    })
}
