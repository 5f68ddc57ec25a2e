//! Communities of files: groups that import among themselves more than chance would have it.
//!
//! The Leiden algorithm: V. A. Traag, L. Waltman, N. J. van Eck, From Louvain to Leiden (2019), on modularity, with
//! files visited in a fixed order instead of a random one, so that equal graphs give equal communities.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::FileGraph;

/// How often the graph is coarsened at most; real graphs need less than ten rounds.
const ROUNDS: u32 = 32;

/// A weighted graph without direction.
struct Weighted {
    rows: Vec<Vec<(u32, f64)>>,
    /// Twice the weight inside a node, plus the weight of its edges.
    degrees: Vec<f64>,
    total: f64,
}

/// The community of every file, numbered by the first file of each.
#[must_use]
pub fn communities(files: &FileGraph) -> Vec<u32> {
    let mut graph = weighted(files);
    let mut members: Vec<u32> = (0..).take(files.len()).collect();
    let mut assigned: Vec<u32> = members.clone();
    for _ in 0..ROUNDS {
        let moved = move_nodes(&graph, assigned.clone());
        let refined = refine(&graph, &moved);
        let parts = refined.iter().max().map_or(0, |last| *last as usize + 1);
        if parts == graph.rows.len() {
            members
                .iter_mut()
                .for_each(|member| *member = moved[*member as usize]);
            break;
        }
        let mut next = vec![0; parts];
        for (node, part) in refined.iter().enumerate() {
            next[*part as usize] = moved[node];
        }
        graph = aggregate(&graph, &refined, parts);
        assigned = renumber(&next);
        members
            .iter_mut()
            .for_each(|member| *member = refined[*member as usize]);
    }
    renumber(&members)
}

fn weighted(files: &FileGraph) -> Weighted {
    let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); files.len()];
    for file in (0..).take(files.len()) {
        for target in files.imports(file) {
            rows[file as usize].push((*target, 1.0));
            rows[*target as usize].push((file, 1.0));
        }
    }
    for row in &mut rows {
        merge(row);
    }
    let degrees: Vec<f64> = rows
        .iter()
        .map(|row| row.iter().map(|(_, weight)| weight).sum())
        .collect();
    let total = degrees.iter().sum();
    Weighted {
        rows,
        degrees,
        total,
    }
}

fn merge(row: &mut Vec<(u32, f64)>) {
    row.sort_unstable_by_key(|(target, _)| *target);
    row.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
}

/// Moves nodes to the best neighbouring community until none wants to move.
fn move_nodes(graph: &Weighted, mut community: Vec<u32>) -> Vec<u32> {
    let count = graph.rows.len();
    let mut sizes = vec![0.0; count];
    for (node, home) in community.iter().enumerate() {
        sizes[*home as usize] += graph.degrees[node];
    }
    let mut queue: VecDeque<usize> = (0..count).collect();
    let mut queued = vec![true; count];
    while let Some(node) = queue.pop_front() {
        queued[node] = false;
        let home = community[node];
        sizes[home as usize] -= graph.degrees[node];
        let best = best_community(graph, node, home, &community, &sizes, |_| true);
        sizes[best as usize] += graph.degrees[node];
        if best != home {
            community[node] = best;
            for (neighbour, _) in &graph.rows[node] {
                let at = *neighbour as usize;
                if community[at] != best && !queued[at] {
                    queued[at] = true;
                    queue.push_back(at);
                }
            }
        }
    }
    renumber(&community)
}

/// The community with the largest gain in modularity; at equal gains the present one, then the lowest.
fn best_community(
    graph: &Weighted,
    node: usize,
    home: u32,
    community: &[u32],
    sizes: &[f64],
    allowed: impl Fn(usize) -> bool,
) -> u32 {
    let mut weights: FxHashMap<u32, f64> = FxHashMap::default();
    for (neighbour, weight) in &graph.rows[node] {
        if *neighbour as usize != node && allowed(*neighbour as usize) {
            *weights.entry(community[*neighbour as usize]).or_default() += weight;
        }
    }
    let gain = |to: u32, weight: f64| {
        weight - graph.degrees[node] * sizes[to as usize] / graph.total.max(1.0)
    };
    let mut best = (home, gain(home, weights.get(&home).copied().unwrap_or(0.0)));
    let mut candidates: Vec<(u32, f64)> = weights.into_iter().collect();
    candidates.sort_unstable_by_key(|(to, _)| *to);
    for (to, weight) in candidates {
        let gained = gain(to, weight);
        if gained > best.1 + 1e-12 {
            best = (to, gained);
        }
    }
    best.0
}

/// Splits communities into well connected parts: single nodes join a part of their own community.
fn refine(graph: &Weighted, community: &[u32]) -> Vec<u32> {
    let count = graph.rows.len();
    let mut part: Vec<u32> = (0..).take(count).collect();
    let mut sizes = graph.degrees.clone();
    let mut is_single = vec![true; count];
    for node in 0..count {
        if !is_single[node] {
            continue;
        }
        let home = part[node];
        sizes[home as usize] -= graph.degrees[node];
        let best = best_community(graph, node, home, &part, &sizes, |other| {
            community[other] == community[node]
        });
        sizes[best as usize] += graph.degrees[node];
        if best != home {
            part[node] = best;
            is_single[node] = false;
            is_single[best as usize] = false;
        }
    }
    renumber(&part)
}

fn aggregate(graph: &Weighted, part: &[u32], parts: usize) -> Weighted {
    let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); parts];
    let mut degrees = vec![0.0; parts];
    for (node, row) in graph.rows.iter().enumerate() {
        degrees[part[node] as usize] += graph.degrees[node];
        for (target, weight) in row {
            rows[part[node] as usize].push((part[*target as usize], *weight));
        }
    }
    rows.iter_mut().for_each(merge);
    Weighted {
        rows,
        degrees,
        total: graph.total,
    }
}

/// Numbers groups from 0 in the order of their first member.
fn renumber(groups: &[u32]) -> Vec<u32> {
    let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
    groups
        .iter()
        .map(|group| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(*group).or_insert(next)
        })
        .collect()
}

/// The modularity of a division: the share of imports inside groups beyond what chance would give. −0.5 to 1.
#[must_use]
pub fn modularity(files: &FileGraph, groups: &[u32]) -> f64 {
    let graph = weighted(files);
    if graph.total == 0.0 {
        return 0.0;
    }
    let mut inside = 0.0;
    let mut sizes: FxHashMap<u32, f64> = FxHashMap::default();
    for (node, row) in graph.rows.iter().enumerate() {
        *sizes.entry(groups[node]).or_default() += graph.degrees[node];
        inside += row
            .iter()
            .filter(|(to, _)| groups[*to as usize] == groups[node])
            .map(|(_, weight)| weight)
            .sum::<f64>();
    }
    let mut squares: Vec<f64> = sizes
        .into_values()
        .map(|size| (size / graph.total).powi(2))
        .collect();
    squares.sort_unstable_by(f64::total_cmp);
    inside / graph.total - squares.iter().sum::<f64>()
}
