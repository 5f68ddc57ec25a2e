//! A graph in layers: what uses stands above what is used, and few links cross.
//!
//! K. Sugiyama, S. Tagawa, M. Toda: Methods for Visual Understanding of Hierarchical System Structures (1981): layers by
//! the longest way, order by the middle of the neighbours, swept down and up.

/// So many sweeps down and up order the layers; more change little.
const SWEEPS: usize = 12;

/// Where a node stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Its layer, from 0 at the top.
    pub layer: u32,
    /// Its place in the layer, from 0 at the left.
    pub order: u32,
}

/// Places for `count` nodes. Links whose ends don't exist, and links of a node to itself, are left out; links that close a
/// ring, in the order they come, are taken as if they ran the other way.
#[must_use]
pub fn layers(count: usize, links: &[(u32, u32)]) -> Vec<Place> {
    let inside = |node: u32| (node as usize) < count;
    let links: Vec<(u32, u32)> = links
        .iter()
        .copied()
        .filter(|(from, to)| from != to && inside(*from) && inside(*to))
        .collect();
    let order = ring_free_order(count, &links);
    let mut below = vec![Vec::new(); count];
    let mut above = vec![Vec::new(); count];
    for (from, to) in links {
        let runs_down = order[from as usize] < order[to as usize];
        let (upper, lower) = if runs_down { (from, to) } else { (to, from) };
        below[upper as usize].push(lower);
        above[lower as usize].push(upper);
    }
    let mut by_order: Vec<u32> = (0..count as u32).collect();
    by_order.sort_by_key(|node| order[*node as usize]);
    let mut layer = vec![0_u32; count];
    for node in by_order {
        let uppers = above[node as usize].iter();
        let deepest = uppers.map(|upper| layer[*upper as usize] + 1).max();
        layer[node as usize] = deepest.unwrap_or(0);
    }
    let mut rows: Vec<Vec<u32>> = Vec::new();
    for (node, layer) in (0..).zip(&layer) {
        if rows.len() <= *layer as usize {
            rows.resize(*layer as usize + 1, Vec::new());
        }
        rows[*layer as usize].push(node);
    }
    sort_rows(&mut rows, &above, &below);
    let mut places = vec![Place::default(); count];
    for (layer, row) in (0..).zip(&rows) {
        for (order, node) in (0..).zip(row) {
            places[*node as usize] = Place { layer, order };
        }
    }
    places
}

/// A number for each node, so that links run from lower to higher ones as far as there is no ring: depth first.
fn ring_free_order(count: usize, links: &[(u32, u32)]) -> Vec<u32> {
    let mut targets = vec![Vec::new(); count];
    for (from, to) in links {
        targets[*from as usize].push(*to);
    }
    let mut is_seen = vec![false; count];
    let mut finished = Vec::with_capacity(count);
    for root in 0..count as u32 {
        let mut open = vec![(root, 0_usize)];
        if std::mem::replace(&mut is_seen[root as usize], true) {
            continue;
        }
        while let Some((node, next)) = open.last_mut() {
            if let Some(target) = targets[*node as usize].get(*next) {
                *next += 1;
                if !std::mem::replace(&mut is_seen[*target as usize], true) {
                    open.push((*target, 0));
                }
            } else {
                finished.push(*node);
                open.pop();
            }
        }
    }
    let mut order = vec![0; count];
    for (at, node) in (0..).zip(finished.iter().rev()) {
        order[*node as usize] = at;
    }
    order
}

/// Orders every row by the middle of its neighbours' places, keeping the best of all sweeps.
fn sort_rows(rows: &mut Vec<Vec<u32>>, above: &[Vec<u32>], below: &[Vec<u32>]) {
    let mut best = rows.clone();
    let mut fewest = crossings(rows, below);
    let mut place = vec![0.0_f32; above.len()];
    for sweep in 0..SWEEPS {
        let runs_down = sweep % 2 == 0;
        set_places(rows, &mut place);
        for at in 0..rows.len() {
            let at = if runs_down { at } else { rows.len() - 1 - at };
            let neighbours = if runs_down { above } else { below };
            let middle = |node: &u32| {
                let near = &neighbours[*node as usize];
                if near.is_empty() {
                    return place[*node as usize];
                }
                let sum: f32 = near.iter().map(|other| place[*other as usize]).sum();
                sum / near.len() as f32
            };
            let mut row: Vec<(f32, u32)> = rows[at].iter().map(|n| (middle(n), *n)).collect();
            row.sort_by(|a, b| a.0.total_cmp(&b.0));
            rows[at] = row.into_iter().map(|(_, node)| node).collect();
            set_row(&rows[at], &mut place);
        }
        let crossing = crossings(rows, below);
        if crossing < fewest {
            fewest = crossing;
            best.clone_from(rows);
        }
    }
    *rows = best;
}

fn set_places(rows: &[Vec<u32>], place: &mut [f32]) {
    for row in rows {
        set_row(row, place);
    }
}

/// Places around the middle, so that rows of different lengths compare.
fn set_row(row: &[u32], place: &mut [f32]) {
    let half = (row.len() as f32 - 1.0) / 2.0;
    for (at, node) in row.iter().enumerate() {
        place[*node as usize] = at as f32 - half;
    }
}

/// How many pairs of links cross, each link taken as straight from its row to the other.
fn crossings(rows: &[Vec<u32>], below: &[Vec<u32>]) -> usize {
    let mut at = vec![0_u32; below.len()];
    for row in rows {
        for (order, node) in (0..).zip(row) {
            at[*node as usize] = order;
        }
    }
    let mut layer = vec![0_u32; below.len()];
    for (nth, row) in (0..).zip(rows) {
        for node in row {
            layer[*node as usize] = nth;
        }
    }
    let mut count = 0;
    for row in rows {
        // Links out of one row, from left to right; those to the same row cross when their ends are the other way round.
        let links: Vec<(u32, u32, u32)> = row
            .iter()
            .flat_map(|node| {
                let ends = below[*node as usize].iter();
                ends.map(|end| (at[*node as usize], layer[*end as usize], at[*end as usize]))
            })
            .collect();
        for (nth, a) in links.iter().enumerate() {
            let rest = links[nth + 1..].iter();
            count += rest
                .filter(|b| a.1 == b.1 && a.0 < b.0 && a.2 > b.2)
                .count();
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn users_stand_above_what_they_use() {
        // 0 uses 1 and 2, both use 3, and 3 uses nothing; 4 stands alone.
        let places = layers(5, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        let layer: Vec<u32> = places.iter().map(|place| place.layer).collect();
        assert_eq!(layer, [0, 1, 1, 2, 0]);
    }

    #[test]
    fn crossings_are_untangled() {
        // A ladder whose second row is given in the reverse order.
        let links: Vec<(u32, u32)> = (0..6).map(|nth| (nth, 11 - nth)).collect();
        let places = layers(12, &links);
        for (from, to) in &links {
            assert_eq!(places[*from as usize].order, places[*to as usize].order);
        }
    }

    #[test]
    fn one_link_of_a_ring_points_up() {
        let links = [(0, 1), (1, 2), (2, 0)];
        let places = layers(3, &links);
        let up = links
            .iter()
            .filter(|(from, to)| places[*from as usize].layer > places[*to as usize].layer);
        assert_eq!(up.count(), 1);
    }

    proptest! {
        #[test]
        fn nodes_have_places_of_their_own_and_rings_alone_point_up(
            links in prop::collection::vec((0u32..30, 0u32..30), 0..90),
        ) {
            let places = layers(28, &links);
            let all: BTreeSet<Place> = places.iter().copied().collect();
            prop_assert_eq!(all.len(), 28);
            prop_assert_eq!(&places, &layers(28, &links));
            let down: Vec<(u32, u32)> = links.iter().copied().filter(|(from, to)| from < to).collect();
            let places = layers(28, &down);
            for (from, to) in down.iter().filter(|(_, to)| *to < 28) {
                prop_assert!(places[*from as usize].layer < places[*to as usize].layer);
            }
        }
    }
}
