//! The parts of a graph that no edge joins, and how they are set beside each other.

use super::LayoutGraph;
use super::fixed::{FARTHEST, Place, UNIT_BITS};

/// Room around a part: half of an edge's natural length on each side.
const MARGIN: i64 = 1 << (UNIT_BITS - 1);

/// A part of a graph, with its nodes numbered anew.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) graph: LayoutGraph,
    /// The node of the whole graph for each of this one's, sorted.
    nodes: Vec<u32>,
}

/// The parts, by their first nodes.
pub(super) fn parts(graph: &LayoutGraph) -> Vec<Part> {
    let count = graph.len();
    let mut part_of = vec![u32::MAX; count];
    let mut nodes: Vec<Vec<u32>> = Vec::new();
    for first in 0..count {
        if part_of[first] != u32::MAX {
            continue;
        }
        let part = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        part_of[first] = part;
        let mut found = vec![u32::try_from(first).unwrap_or(u32::MAX)];
        let mut next = 0;
        while let Some(node) = found.get(next) {
            next += 1;
            for neighbour in graph.neighbours(*node as usize) {
                let part_of = &mut part_of[*neighbour as usize];
                if *part_of == u32::MAX {
                    *part_of = part;
                    found.push(*neighbour);
                }
            }
        }
        found.sort_unstable();
        nodes.push(found);
    }
    let mut number = vec![0_u32; count];
    for nodes in &nodes {
        (0..)
            .zip(nodes)
            .for_each(|(new, node)| number[*node as usize] = new);
    }
    let part = |nodes: Vec<u32>| {
        let edges = nodes.iter().flat_map(|node| {
            let from = number[*node as usize];
            let to = graph.neighbours(*node as usize).iter();
            to.map(move |to| (from, *to))
        });
        let edges = edges.map(|(from, to)| (from, number[to as usize]));
        Part {
            graph: LayoutGraph::new(nodes.len(), edges),
            nodes,
        }
    };
    nodes.into_iter().map(part).collect()
}

/// A part's places from the corner of the box around them, with the margin.
struct Boxed {
    part: usize,
    low: (i64, i64),
    width: i64,
    height: i64,
}

impl Boxed {
    fn around(part: usize, places: &[Place]) -> Self {
        let bounds = |at: fn(&Place) -> i32| {
            let values = places.iter().map(|place| i64::from(at(place)));
            let (low, high) = (values.clone().min(), values.max());
            (low.unwrap_or(0), high.unwrap_or(0))
        };
        let (x, y) = (bounds(|place| place.x), bounds(|place| place.y));
        Self {
            part,
            low: (x.0 - MARGIN, y.0 - MARGIN),
            width: x.1 - x.0 + 2 * MARGIN,
            height: y.1 - y.0 + 2 * MARGIN,
        }
    }
}

/// Sets parts in rows, the highest ones first, about as wide together as they are high; around the origin.
pub(super) fn pack(parts: &[Part], placed: &[Vec<Place>], count: usize) -> Vec<Place> {
    let mut boxes: Vec<Boxed> = placed
        .iter()
        .enumerate()
        .map(|(part, places)| Boxed::around(part, places))
        .collect();
    boxes.sort_by_key(|boxed| (std::cmp::Reverse(boxed.height), boxed.part));
    let area: u128 = boxes
        .iter()
        .map(|boxed| {
            u128::from(boxed.width.unsigned_abs()) * u128::from(boxed.height.unsigned_abs())
        })
        .sum();
    let square = i64::try_from(area.isqrt()).unwrap_or(i64::MAX);
    let widest = boxes.iter().map(|boxed| boxed.width).max().unwrap_or(0);
    let width = square.max(widest);
    let (mut x, mut y, mut row_height) = (0, 0, 0);
    let mut corners = Vec::with_capacity(boxes.len());
    let mut reached = 0;
    for boxed in &boxes {
        if x + boxed.width > width {
            (x, y, row_height) = (0, y + row_height, 0);
        }
        corners.push((x, y));
        x += boxed.width;
        reached = reached.max(x);
        row_height = row_height.max(boxed.height);
    }
    let middle = (reached / 2, (y + row_height) / 2);
    let mut places = vec![Place::default(); count];
    for (boxed, corner) in boxes.iter().zip(corners) {
        let way = (
            corner.0 - boxed.low.0 - middle.0,
            corner.1 - boxed.low.1 - middle.1,
        );
        let moved = |at: i32, way: i64| {
            let farthest = i64::from(FARTHEST);
            i32::try_from((i64::from(at) + way).clamp(-farthest, farthest)).unwrap_or(FARTHEST)
        };
        for (node, place) in parts[boxed.part].nodes.iter().zip(&placed[boxed.part]) {
            places[*node as usize] = Place {
                x: moved(place.x, way.0),
                y: moved(place.y, way.1),
            };
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_each_node_and_edge_once() {
        let graph = LayoutGraph::new(7, [(5, 1), (1, 3), (2, 6)]);
        let parts = parts(&graph);
        let nodes: Vec<Vec<u32>> = parts.iter().map(|part| part.nodes.clone()).collect();
        assert_eq!(nodes, [vec![0], vec![1, 3, 5], vec![2, 6], vec![4]]);
        assert_eq!(parts[1].graph, LayoutGraph::new(3, [(0, 2), (0, 1)]));
    }

    #[test]
    fn packed_parts_lie_apart() {
        let graph = LayoutGraph::new(40, (0..30).map(|node| (node, (node + 1) % 10)));
        let parts = parts(&graph);
        let placed: Vec<Vec<Place>> = parts
            .iter()
            .map(|part| {
                let place = |node: i32| Place {
                    x: (node % 5) << 13,
                    y: (node / 5) << 13,
                };
                (0..i32::try_from(part.nodes.len()).unwrap())
                    .map(place)
                    .collect()
            })
            .collect();
        let places = pack(&parts, &placed, graph.len());
        for (index, place) in places.iter().enumerate() {
            for other in &places[index + 1..] {
                let apart = (place.x - other.x).abs().max((place.y - other.y).abs());
                assert!(apart >= 1 << UNIT_BITS, "{place:?} {other:?}");
            }
        }
    }
}
