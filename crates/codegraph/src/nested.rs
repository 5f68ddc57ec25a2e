//! A tree drawn as boxes inside boxes, and what of it is shown at a zoom.
//!
//! Every directory is a box that holds the boxes of what lies in it, the directories in one part and the files in the
//! other, each in the order of their names, with areas in proportion to their weights. How much of it is open depends on how large it is on the screen, so that there are never
//! more marks and links than a person can take in: a closed box stands for everything below it, and the links of
//! everything below it are its own, counted.
//!
//! B. B. Bederson, B. Shneiderman, M. Wattenberg: Ordered and Quantum Treemaps (2002) for the strips, which keep
//! neighbours where they are when one of them changes; D. Holten: Hierarchical Edge Bundles (2006) for the curves.

mod cut;
mod strip;

use crate::graph::{EdgeType, Graph, NodeIndex, NodeType};

pub use cut::{Cut, CutLink, CutMark, Limits};
pub use strip::Box2;

/// The whole, in units of the layout.
pub const WHOLE: Box2 = Box2 {
    x: 0.0,
    y: 0.0,
    width: 1600.0,
    height: 1000.0,
};

/// A tree as boxes inside boxes, with the links between its nodes.
///
/// Inside, nodes are numbered by *place*: depth first, so that everything below a node is one run of places.
#[derive(Clone, Debug, Default)]
pub struct Nested {
    nodes: Vec<NodeIndex>,
    places: Vec<u32>,
    /// One past the last place below a place.
    ends: Vec<u32>,
    parents: Vec<u32>,
    boxes: Vec<Box2>,
    /// Links by the place they start at, in compressed rows.
    link_starts: Vec<u32>,
    link_ends: Vec<u32>,
}

/// A number made of a name (FNV-1a, then mixed).
fn key_of(name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The parent of the root.
const NONE: u32 = u32::MAX;

impl Nested {
    /// The boxes of a graph's directories and files, its imports being the links. The area of a file grows with the
    /// square root of its lines.
    #[must_use]
    pub fn of(graph: &Graph, lines: impl Fn(NodeIndex) -> u32) -> Self {
        let shown = |node: NodeIndex| graph.nodes[node as usize].node_type != NodeType::Symbol;
        let parents: Vec<Option<NodeIndex>> = graph.nodes.iter().map(|node| node.parent).collect();
        let weight = |node: NodeIndex| match graph.nodes[node as usize].node_type {
            NodeType::File => (lines(node) as f32 + 20.0).sqrt(),
            NodeType::Dir | NodeType::Symbol => 0.0,
        };
        let links = graph.edges_of(EdgeType::Imports).iter();
        Self::new(
            &parents,
            shown,
            weight,
            |node| key_of(graph.name(node)),
            links.map(|edge| (edge.from, edge.to)),
        )
    }

    /// Boxes of a tree that is given by the parent of each node; the first node is the root, parents stand before their
    /// children. Nodes that are not `shown`, and what lies below them, are left out. The weight of a node that has
    /// children is theirs. The `key` of a node is a number made of its name alone: it makes rows last.
    #[must_use]
    pub fn new(
        parents: &[Option<NodeIndex>],
        shown: impl Fn(NodeIndex) -> bool,
        weight: impl Fn(NodeIndex) -> f32,
        key: impl Fn(NodeIndex) -> u64,
        links: impl IntoIterator<Item = (NodeIndex, NodeIndex)>,
    ) -> Self {
        let mut nested = Self::ordered(parents, shown);
        let weights = nested.weights(weight);
        nested.lay_out(&weights, key);
        nested.link(links);
        nested
    }

    fn ordered(parents: &[Option<NodeIndex>], shown: impl Fn(NodeIndex) -> bool) -> Self {
        let count = parents.len();
        let mut children: Vec<Vec<NodeIndex>> = vec![Vec::new(); count];
        for (node, parent) in (0..).zip(parents) {
            if let Some(parent) = parent.filter(|_| shown(node)) {
                children[parent as usize].push(node);
            }
        }
        // What holds others comes first, as in a list of files.
        let holds: Vec<bool> = children.iter().map(|below| !below.is_empty()).collect();
        for below in &mut children {
            below.sort_by_key(|child| !holds[*child as usize]);
        }
        let mut nested = Self {
            places: vec![NONE; count],
            ..Self::default()
        };
        // Nodes to enter, and to leave again once everything below them has its place.
        let mut open: Vec<(NodeIndex, u32, bool)> = Vec::new();
        if count > 0 {
            open.push((0, NONE, false));
        }
        while let Some((node, parent, is_left)) = open.pop() {
            if is_left {
                let place = nested.places[node as usize] as usize;
                nested.ends[place] = nested.nodes.len() as u32;
                continue;
            }
            let place = nested.nodes.len() as u32;
            nested.places[node as usize] = place;
            nested.nodes.push(node);
            nested.parents.push(parent);
            nested.ends.push(place + 1);
            open.push((node, parent, true));
            let below = children[node as usize].iter().rev();
            open.extend(below.map(|child| (*child, place, false)));
        }
        nested
    }

    fn weights(&self, weight: impl Fn(NodeIndex) -> f32) -> Vec<f32> {
        let mut weights: Vec<f32> = self.nodes.iter().map(|node| weight(*node)).collect();
        // Children have higher places than their parents.
        for place in (0..self.nodes.len()).rev() {
            let is_empty = self.ends[place] as usize == place + 1;
            if is_empty {
                let own = weights[place];
                weights[place] = if own.is_finite() { own.max(1.0) } else { 1.0 };
            }
            let parent = self.parents[place];
            if parent != NONE {
                // What a parent was given as its own doesn't count.
                weights[parent as usize] = 0.0;
            }
        }
        for place in (0..self.nodes.len()).rev() {
            let parent = self.parents[place];
            if parent != NONE {
                weights[parent as usize] += weights[place];
            }
        }
        weights
    }

    fn lay_out(&mut self, weights: &[f32], key: impl Fn(NodeIndex) -> u64) {
        self.boxes = vec![Box2::default(); self.nodes.len()];
        if let Some(root) = self.boxes.first_mut() {
            *root = WHOLE;
        }
        for place in 0..self.nodes.len() as u32 {
            let children: Vec<u32> = self.children(place).collect();
            let (holders, leaves): (Vec<u32>, Vec<u32>) = children
                .into_iter()
                .partition(|child| self.ends[*child as usize] > child + 1);
            let inside = self.boxes[place as usize].inside();
            let sum = |places: &[u32]| places.iter().map(|at| weights[*at as usize]).sum::<f32>();
            let (first, second) = inside.split(sum(&holders), sum(&leaves));
            for (part, places) in [(first, holders), (second, leaves)] {
                let areas: Vec<f32> = places.iter().map(|at| weights[*at as usize]).collect();
                let keys: Vec<u64> = places
                    .iter()
                    .map(|at| key(self.nodes[*at as usize]))
                    .collect();
                for (at, area) in places.into_iter().zip(strip::strips(part, &areas, &keys)) {
                    self.boxes[at as usize] = area;
                }
            }
        }
    }

    fn link(&mut self, links: impl IntoIterator<Item = (NodeIndex, NodeIndex)>) {
        let place = |node: NodeIndex| self.places.get(node as usize).copied().unwrap_or(NONE);
        let mut pairs: Vec<(u32, u32)> = links
            .into_iter()
            .map(|(from, to)| (place(from), place(to)))
            .filter(|(from, to)| *from != NONE && *to != NONE && from != to)
            .collect();
        pairs.sort_unstable();
        let mut starts = vec![0_u32; self.nodes.len() + 1];
        for (from, _) in &pairs {
            starts[*from as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        self.link_starts = starts;
        self.link_ends = pairs.into_iter().map(|(_, to)| to).collect();
    }

    /// The places right below a place.
    fn children(&self, place: u32) -> impl Iterator<Item = u32> + '_ {
        let end = self.ends[place as usize];
        let first = Some(place + 1).filter(|first| *first < end);
        std::iter::successors(first, move |child| {
            Some(self.ends[*child as usize]).filter(|next| *next < end)
        })
    }

    /// The number of nodes that are shown.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing is shown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The box of a node; `None` for one that isn't shown.
    #[must_use]
    pub fn box_of(&self, node: NodeIndex) -> Option<Box2> {
        let place = *self.places.get(node as usize)?;
        self.boxes.get(place as usize).copied()
    }

    /// The node that a node lies in.
    #[must_use]
    pub fn parent_of(&self, node: NodeIndex) -> Option<NodeIndex> {
        let place = *self.places.get(node as usize)?;
        let parent = *self.parents.get(place as usize)?;
        self.nodes.get(parent as usize).copied()
    }

    /// How a link runs: start, two control points, end. It leans towards the boxes that hold its ends, so that links of
    /// one way run side by side.
    #[must_use]
    pub fn curve(&self, from: NodeIndex, to: NodeIndex) -> Option<[[f32; 2]; 4]> {
        /// How much of the way a link goes along the tree rather than straight.
        const BUNDLING: f32 = 0.75;
        let place = |node: NodeIndex| {
            self.places
                .get(node as usize)
                .copied()
                .filter(|p| *p != NONE)
        };
        let (from, to) = (place(from)?, place(to)?);
        let middle = |place: u32| self.boxes[place as usize].middle();
        let (start, end) = (middle(from), middle(to));
        let common = self.common(from, to);
        let by_way_of = |place: u32| {
            let holder = self.child_of(common, place);
            if holder == place || holder == common {
                middle(common)
            } else {
                middle(holder)
            }
        };
        let mix = |a: [f32; 2], b: [f32; 2], share: f32| {
            [a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share]
        };
        let first = mix(mix(start, end, 1.0 / 3.0), by_way_of(from), BUNDLING);
        let second = mix(mix(start, end, 2.0 / 3.0), by_way_of(to), BUNDLING);
        Some([start, first, second, end])
    }

    /// The innermost place that holds both.
    fn common(&self, a: u32, b: u32) -> u32 {
        let mut at = a.min(b);
        let other = a.max(b);
        while self.ends[at as usize] <= other {
            at = self.parents[at as usize];
        }
        at
    }

    /// What of the way from `above` down to `place` comes right below `above`; `above` itself where they are the same.
    fn child_of(&self, above: u32, place: u32) -> u32 {
        let mut at = place;
        while at != above && self.parents[at as usize] != above {
            at = self.parents[at as usize];
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A tree of `parents.len() + 1` nodes: each node's parent is one of those before it.
    pub(super) fn tree(parents: &[prop::sample::Index]) -> Vec<Option<NodeIndex>> {
        let parent = |(nth, pick): (usize, &prop::sample::Index)| Some(pick.index(nth + 1) as u32);
        let rest = parents.iter().enumerate().map(parent);
        std::iter::once(None).chain(rest).collect()
    }

    proptest! {
        #[test]
        fn boxes_hold_their_children_and_siblings_never_overlap(
            parents in prop::collection::vec(any::<prop::sample::Index>(), 0..200),
            weights in prop::collection::vec(0.0f32..1e4, 201),
        ) {
            let parents = tree(&parents);
            let nested = Nested::new(&parents, |_| true, |node| weights[node as usize], u64::from, []);
            prop_assert_eq!(nested.len(), parents.len());
            for (node, parent) in (0..).zip(&parents) {
                let own = nested.box_of(node).unwrap();
                prop_assert!(own.width > 0.0 && own.height > 0.0, "{own:?}");
                if let Some(parent) = parent {
                    prop_assert!(nested.box_of(*parent).unwrap().holds(own));
                    prop_assert_eq!(nested.parent_of(node), Some(*parent));
                }
                for other in node + 1..parents.len() as u32 {
                    if parents[other as usize] == *parent {
                        prop_assert!(!own.overlaps(nested.box_of(other).unwrap()));
                    }
                }
            }
            let again = Nested::new(&parents, |_| true, |node| weights[node as usize], u64::from, []);
            prop_assert_eq!(again.boxes, nested.boxes);
        }

        #[test]
        fn a_link_runs_from_one_node_to_the_other(
            parents in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
            from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(),
        ) {
            let parents = tree(&parents);
            let (from, to) = (from.index(parents.len()) as u32, to.index(parents.len()) as u32);
            let nested = Nested::new(&parents, |_| true, |_| 1.0, u64::from, []);
            let [start, first, second, end] = nested.curve(from, to).unwrap();
            prop_assert_eq!(start, nested.box_of(from).unwrap().middle());
            prop_assert_eq!(end, nested.box_of(to).unwrap().middle());
            let inside = |at: [f32; 2]| at[0] >= 0.0 && at[0] <= WHOLE.width && at[1] >= 0.0 && at[1] <= WHOLE.height;
            prop_assert!(inside(first) && inside(second));
        }
    }

    #[test]
    fn areas_follow_weights() {
        let parents = [None, Some(0), Some(0), Some(0), Some(0)];
        let weights = [0.0, 100.0, 200.0, 300.0, 400.0];
        let nested = Nested::new(
            &parents,
            |_| true,
            |node| weights[node as usize],
            u64::from,
            [],
        );
        let area = |node| {
            let own = nested.box_of(node).unwrap();
            own.width * own.height
        };
        for node in 2..=4 {
            let ratio = area(node) / area(1) / (weights[node as usize] / weights[1]);
            assert!((0.85..1.15).contains(&ratio), "{node}: {ratio}");
        }
    }

    #[test]
    fn a_file_more_hardly_moves_the_others() {
        // The names that a folder of 400 files has, and the same with one more at each of several places.
        let names: Vec<String> = (0..400).map(|nth| format!("file_{nth:03}.ts")).collect();
        let of = |names: &[String]| {
            let parents: Vec<Option<NodeIndex>> = std::iter::once(None)
                .chain(names.iter().map(|_| Some(0)))
                .collect();
            let name = |node: NodeIndex| node.checked_sub(1).map_or("", |at| &names[at as usize]);
            let key = |node| key_of(name(node));
            Nested::new(&parents, |_| true, |_| 1.0, key, [])
        };
        let before = of(&names);
        let diameter = WHOLE.width.hypot(WHOLE.height);
        for at in [0, 57, 200, 333, 399] {
            let mut more = names.clone();
            more.insert(at, format!("file_{at:03}_more.ts"));
            let after = of(&more);
            let moved = |nth: usize| {
                let now = nth + usize::from(nth >= at);
                let (a, b) = (
                    before.box_of(nth as u32 + 1).unwrap().middle(),
                    after.box_of(now as u32 + 1).unwrap().middle(),
                );
                (a[0] - b[0]).hypot(a[1] - b[1])
            };
            let mean = (0..names.len()).map(moved).sum::<f32>() / names.len() as f32;
            assert!(mean < 0.02 * diameter, "one more at {at}: {mean}");
        }
    }

    #[test]
    fn hidden_nodes_have_no_box_and_no_links() {
        let parents = [None, Some(0), Some(1), Some(0)];
        let nested = Nested::new(
            &parents,
            |node| node != 1,
            |_| 1.0,
            u64::from,
            [(3, 1), (3, 2)],
        );
        assert_eq!(nested.len(), 2);
        assert_eq!(nested.box_of(1), None);
        assert!(nested.link_ends.is_empty());
        assert!(Nested::new(&[], |_| true, |_| 1.0, u64::from, []).is_empty());
    }
}
