//! Import cycles and the fewest imports that would end them.

use std::collections::BTreeSet;

use super::FileGraph;

/// Components with at most this many inner edges are searched for one import that cuts them.
const SINGLE_LIMIT: usize = 2_000;
/// Components with at most this many inner edges are searched for two imports that cut them.
const PAIR_LIMIT: usize = 100;

/// Files that import each other in a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The files of the strongly connected component, sorted.
    pub files: Vec<u32>,
    /// Imports that, taken away, leave no cycle.
    pub cut: Vec<(u32, u32)>,
    /// Whether no smaller cut exists; a larger component gets the best cut that was found.
    pub is_smallest: bool,
}

/// All cycles, by their first file.
#[must_use]
pub fn cycles(files: &FileGraph) -> Vec<Cycle> {
    let mut found: Vec<Cycle> = components(files)
        .into_iter()
        .filter(|files| files.len() > 1)
        .map(|members| cut(files, members))
        .collect();
    found.sort_by(|left, right| left.files.cmp(&right.files));
    found
}

/// Strongly connected components, each sorted. R. Tarjan (1972), with a stack of its own instead of the call stack.
#[must_use]
pub fn components(files: &FileGraph) -> Vec<Vec<u32>> {
    let count = files.len();
    let mut order = vec![u32::MAX; count];
    let mut low = vec![0_u32; count];
    let mut on_stack = vec![false; count];
    let (mut stack, mut components, mut next) = (Vec::new(), Vec::new(), 0_u32);
    for start in (0..).take(count) {
        if order[start as usize] != u32::MAX {
            continue;
        }
        let mut calls: Vec<(u32, usize)> = vec![(start, 0)];
        while let Some((file, edge)) = calls.pop() {
            let at = file as usize;
            if edge == 0 {
                (order[at], low[at]) = (next, next);
                next += 1;
                stack.push(file);
                on_stack[at] = true;
            }
            let row = files.imports(file);
            if edge > 0 {
                low[at] = low[at].min(low[row[edge - 1] as usize]);
            }
            let mut edge = edge;
            let mut descended = false;
            while let Some(target) = row.get(edge) {
                edge += 1;
                if order[*target as usize] == u32::MAX {
                    calls.push((file, edge));
                    calls.push((*target, 0));
                    descended = true;
                    break;
                }
                if on_stack[*target as usize] {
                    low[at] = low[at].min(order[*target as usize]);
                }
            }
            if !descended && low[at] == order[at] {
                let mut component = Vec::new();
                while let Some(member) = stack.pop() {
                    on_stack[member as usize] = false;
                    component.push(member);
                    if member == file {
                        break;
                    }
                }
                component.sort_unstable();
                components.push(component);
            }
        }
    }
    components
}

fn cut(files: &FileGraph, members: Vec<u32>) -> Cycle {
    let inside: BTreeSet<u32> = members.iter().copied().collect();
    let edges: Vec<(u32, u32)> = members
        .iter()
        .flat_map(|from| {
            files
                .imports(*from)
                .iter()
                .filter(|to| inside.contains(to))
                .map(|to| (*from, *to))
        })
        .collect();
    if edges.len() <= SINGLE_LIMIT
        && let Some(edge) = edges
            .iter()
            .find(|edge| is_acyclic(&members, &edges, &[**edge]))
    {
        return Cycle {
            cut: vec![*edge],
            files: members,
            is_smallest: true,
        };
    }
    if edges.len() <= PAIR_LIMIT {
        for (index, first) in edges.iter().enumerate() {
            if let Some(second) = edges[index + 1..]
                .iter()
                .find(|edge| is_acyclic(&members, &edges, &[*first, **edge]))
            {
                return Cycle {
                    cut: vec![*first, *second],
                    files: members,
                    is_smallest: true,
                };
            }
        }
    }
    let cut = greedy_cut(&members, &edges);
    // All smaller cuts were tried.
    let tried = if edges.len() <= PAIR_LIMIT {
        2
    } else {
        usize::from(edges.len() <= SINGLE_LIMIT)
    };
    Cycle {
        is_smallest: cut.len() == tried + 1,
        cut,
        files: members,
    }
}

/// Whether the edges without some of them have no cycle: files without incoming edges are taken off until none is left.
fn is_acyclic(members: &[u32], edges: &[(u32, u32)], without: &[(u32, u32)]) -> bool {
    let at = |file: u32| members.binary_search(&file).unwrap_or(0);
    let kept = || edges.iter().filter(|edge| !without.contains(edge));
    let mut incoming = vec![0_u32; members.len()];
    let mut rows = vec![Vec::new(); members.len()];
    for (from, to) in kept() {
        incoming[at(*to)] += 1;
        rows[at(*from)].push(at(*to));
    }
    let mut ready: Vec<usize> = (0..members.len())
        .filter(|file| incoming[*file] == 0)
        .collect();
    let mut taken = 0;
    while let Some(file) = ready.pop() {
        taken += 1;
        for to in &rows[file] {
            incoming[*to] -= 1;
            if incoming[*to] == 0 {
                ready.push(*to);
            }
        }
    }
    taken == members.len()
}

/// P. Eades, X. Lin, W. F. Smyth: A fast and effective heuristic for the feedback arc set problem (1993), then every
/// cut edge that can be put back is.
fn greedy_cut(members: &[u32], edges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let at = |file: u32| members.binary_search(&file).unwrap_or(0);
    let edges_at: Vec<(usize, usize)> = edges
        .iter()
        .map(|(from, to)| (at(*from), at(*to)))
        .collect();
    let mut degrees = vec![(0_i64, 0_i64); members.len()];
    let mut touching = vec![Vec::new(); members.len()];
    for (from, to) in &edges_at {
        degrees[*from].0 += 1;
        degrees[*to].1 += 1;
        touching[*from].push((*from, *to));
        touching[*to].push((*from, *to));
    }
    let mut left: BTreeSet<usize> = (0..members.len()).collect();
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    while let Some(best) = left.iter().copied().max_by_key(|file| {
        let (out, into) = degrees[*file];
        (out == 0, into == 0, out - into, std::cmp::Reverse(*file))
    }) {
        left.remove(&best);
        if degrees[best].0 == 0 {
            tail.push(best);
        } else {
            head.push(best);
        }
        for (from, to) in &touching[best] {
            degrees[*from].0 -= 1;
            degrees[*to].1 -= 1;
        }
    }
    head.extend(tail.into_iter().rev());
    let mut place = vec![0; members.len()];
    head.iter()
        .enumerate()
        .for_each(|(position, file)| place[*file] = position);
    let backward = edges_at
        .iter()
        .zip(edges)
        .filter(|((from, to), _)| place[*from] >= place[*to]);
    let mut cut: Vec<(u32, u32)> = backward.map(|(_, edge)| *edge).collect();
    let mut index = 0;
    while index < cut.len() {
        let edge = cut.remove(index);
        if !is_acyclic(members, edges, &cut) {
            cut.insert(index, edge);
            index += 1;
        }
    }
    cut
}
