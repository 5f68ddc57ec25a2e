//! What of the boxes is shown at a zoom, and the links between what is shown.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::{Box2, Nested};
use crate::graph::NodeIndex;

/// Marks have numbers of 16 bits while links are counted: half the memory to look through.
const MOST_MARKS: usize = u16::MAX as usize - 1;

/// How much is shown at most, and from which size on a box is open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Marks; 65,534 at most.
    pub marks: usize,
    /// Links.
    pub links: usize,
    /// A box opens when its shorter side has so many pixels.
    pub open_from: f32,
    /// What has fewer pixels than this on its shorter side is not shown by itself.
    pub show_from: f32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            marks: 2_000,
            links: 5_000,
            open_from: 90.0,
            show_from: 2.0,
        }
    }
}

/// A box that is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutMark {
    /// Which node it is.
    pub node: NodeIndex,
    /// Where it is.
    pub area: Box2,
    /// Whether what lies in it is shown; a closed one stands for all of it.
    pub is_open: bool,
    /// How many nodes lie in it.
    pub below: u32,
}

/// All links from one shown box to another as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CutLink {
    /// Where they start, in [`Cut::marks`].
    pub from: u32,
    /// Where they end.
    pub to: u32,
    /// How many they are.
    pub count: u32,
}

/// What is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cut {
    /// The boxes, what holds others before them.
    pub marks: Vec<CutMark>,
    /// The links with the highest counts.
    pub links: Vec<CutLink>,
    /// Whether links were left out.
    pub leaves_out: bool,
}

impl Cut {
    /// The innermost shown box at a point.
    #[must_use]
    pub fn mark_at(&self, point: [f32; 2]) -> Option<&CutMark> {
        let mut marks = self.marks.iter().rev();
        marks.find(|mark| mark.area.contains(point))
    }
}

/// A closed box that could be opened; the largest comes first.
struct Candidate {
    side: f32,
    place: u32,
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_size = self.side.total_cmp(&other.side);
        by_size.then_with(|| other.place.cmp(&self.place))
    }
}

impl Nested {
    /// What is shown of the part `visible` at `scale` pixels a unit.
    #[must_use]
    pub fn cut(&self, visible: Box2, scale: f32, limits: &Limits) -> Cut {
        if self.is_empty() {
            return Cut::default();
        }
        let side = |place: u32| {
            let own = self.boxes[place as usize];
            own.width.min(own.height) * scale
        };
        let candidate = |place: u32| {
            let is_open = self.ends[place as usize] > place + 1
                && side(place) >= limits.open_from
                && self.boxes[place as usize].overlaps(visible);
            is_open.then(|| Candidate {
                side: side(place),
                place,
            })
        };
        let mut shown = vec![0_u32];
        let mut opened = Vec::new();
        let mut heap: BinaryHeap<Candidate> = candidate(0).into_iter().collect();
        let mut children = Vec::new();
        while let Some(next) = heap.pop() {
            children.clear();
            children.extend(self.children(next.place).filter(|child| {
                side(*child) >= limits.show_from && self.boxes[*child as usize].overlaps(visible)
            }));
            if shown.len() + children.len() > limits.marks.min(MOST_MARKS) {
                continue;
            }
            opened.push(next.place);
            shown.extend_from_slice(&children);
            heap.extend(children.iter().filter_map(|child| candidate(*child)));
        }
        shown.sort_unstable();
        opened.sort_unstable();
        let marks: Vec<CutMark> = shown
            .iter()
            .map(|place| CutMark {
                node: self.nodes[*place as usize],
                area: self.boxes[*place as usize],
                is_open: opened.binary_search(place).is_ok(),
                below: self.ends[*place as usize] - place - 1,
            })
            .collect();
        let (links, leaves_out) = self.links_of(&shown, limits.links);
        Cut {
            marks,
            links,
            leaves_out,
        }
    }

    /// The links between shown places, counted; the `most` with the highest counts, by their ends.
    fn links_of(&self, shown: &[u32], most: usize) -> (Vec<CutLink>, bool) {
        // Which shown place stands for each place: the innermost one that holds it.
        let mut stands_for = vec![u16::MAX; self.nodes.len()];
        for (mark, place) in (0_u16..).zip(shown) {
            let below = *place as usize..self.ends[*place as usize] as usize;
            stands_for[below].fill(mark);
        }
        // The runs of places that each of them stands for, so that one row of counters serves one at a time.
        let mut runs: Vec<(u16, std::ops::Range<usize>)> = Vec::with_capacity(2 * shown.len());
        let mut start = 0;
        while start < stands_for.len() {
            let mark = stands_for[start];
            let len = stands_for[start..].iter().position(|other| *other != mark);
            let end = len.map_or(stands_for.len(), |len| start + len);
            runs.push((mark, start..end));
            start = end;
        }
        runs.sort_unstable_by_key(|(mark, run)| (*mark, run.start));
        let mut counts = vec![0_u32; shown.len()];
        let mut touched: Vec<u16> = Vec::new();
        let mut links: Vec<CutLink> = Vec::new();
        let mut runs = runs.into_iter().peekable();
        while let Some((mark, run)) = runs.next() {
            let row = self.link_starts[run.start] as usize..self.link_starts[run.end] as usize;
            for end in &self.link_ends[row] {
                let to = stands_for[*end as usize];
                let count = &mut counts[to as usize];
                if *count == 0 {
                    touched.push(to);
                }
                *count += 1;
            }
            if runs.peek().is_some_and(|(next, _)| *next == mark) {
                continue;
            }
            for to in touched.drain(..) {
                let count = std::mem::take(&mut counts[to as usize]);
                if to != mark {
                    links.push(CutLink {
                        from: mark.into(),
                        to: to.into(),
                        count,
                    });
                }
            }
        }
        let leaves_out = links.len() > most;
        if leaves_out {
            let by_count = |link: &CutLink| (std::cmp::Reverse(link.count), link.from, link.to);
            links.select_nth_unstable_by_key(most, by_count);
            links.truncate(most);
        }
        links.sort_unstable();
        (links, leaves_out)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::WHOLE;
    use super::super::tests::tree;
    use super::*;

    proptest! {
        #[test]
        fn at_every_zoom_the_limits_hold_and_every_link_is_counted(
            parents in prop::collection::vec(any::<prop::sample::Index>(), 0..150),
            links in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..300),
            x in 0f32..1600.0, y in 0f32..1000.0, scale in 0.05f32..40.0, most in 1usize..120,
        ) {
            let parents = tree(&parents);
            let node = |pick: &prop::sample::Index| pick.index(parents.len()) as u32;
            let links: Vec<(u32, u32)> = links.iter().map(|(from, to)| (node(from), node(to))).collect();
            let nested = Nested::new(&parents, |_| true, |_| 1.0, u64::from, links.iter().copied());
            let visible = Box2 { x: x - 640.0 / scale, y: y - 400.0 / scale, width: 1280.0 / scale, height: 800.0 / scale };
            let limits = Limits { marks: most, links: usize::MAX, ..Limits::default() };
            let cut = nested.cut(visible, scale, &limits);
            prop_assert!(cut.marks.len() <= most);
            // What stands for a node: itself or the nearest of its ancestors that is shown.
            let shown: BTreeMap<u32, u32> = cut.marks.iter().zip(0..).map(|(mark, nth)| (mark.node, nth)).collect();
            let stands_for = |node: u32| {
                let up = std::iter::successors(Some(node), |node| parents[*node as usize]);
                up.into_iter().find_map(|node| shown.get(&node).copied()).unwrap()
            };
            let mut expected: BTreeMap<(u32, u32), u32> = BTreeMap::new();
            for (from, to) in &links {
                let (from, to) = (stands_for(*from), stands_for(*to));
                if from != to {
                    *expected.entry((from, to)).or_default() += 1;
                }
            }
            let found: BTreeMap<(u32, u32), u32> =
                cut.links.iter().map(|link| ((link.from, link.to), link.count)).collect();
            prop_assert_eq!(&found, &expected);
            // A limit on links keeps those with the highest counts.
            let few = nested.cut(visible, scale, &Limits { links: 3, ..limits });
            prop_assert_eq!(few.links.len(), expected.len().min(3));
            prop_assert_eq!(few.leaves_out, expected.len() > 3);
            let least = few.links.iter().map(|link| link.count).min();
            let better = expected.values().filter(|count| Some(**count) > least).count();
            prop_assert!(better <= 3);
            // The innermost box under a point is found.
            let point = [x, y];
            if let Some(mark) = cut.mark_at(point) {
                let inner = cut.marks.iter().filter(|m| m.area.contains(point));
                let smallest = inner.map(|m| m.area.width).fold(f32::INFINITY, f32::min);
                prop_assert_eq!(mark.area.width, smallest);
            }
        }
    }

    #[test]
    fn nearer_shows_more_and_everything_can_be_reached() {
        // Directories of ten, four levels deep.
        let parents: Vec<Option<NodeIndex>> = std::iter::once(None)
            .chain((1..11_111_u32).map(|node| Some((node - 1) / 10)))
            .collect();
        let nested = Nested::new(&parents, |_| true, |_| 1.0, u64::from, []);
        let limits = Limits::default();
        let far = nested.cut(WHOLE, 0.8, &limits);
        assert!(far.marks.len() < 2_000 && far.marks.iter().any(|m| !m.is_open && m.below > 0));
        let last = nested.box_of(11_110).unwrap();
        let scale = 90.0 / last.width.min(last.height);
        let [x, y] = last.middle();
        let visible = Box2 {
            x: x - 640.0 / scale,
            y: y - 400.0 / scale,
            width: 1280.0 / scale,
            height: 800.0 / scale,
        };
        let near = nested.cut(visible, scale, &limits);
        assert_eq!(near.mark_at([x, y]).map(|mark| mark.node), Some(11_110));
    }

    #[test]
    fn a_directory_of_very_many_files_opens_as_far_as_they_can_be_seen() {
        let parents: Vec<Option<NodeIndex>> = std::iter::once(None)
            .chain((1..50_000).map(|_| Some(0)))
            .collect();
        let nested = Nested::new(&parents, |_| true, |_| 1.0, u64::from, []);
        let limits = Limits::default();
        assert_eq!(nested.cut(WHOLE, 0.8, &limits).marks.len(), 1);
        let part = Box2 {
            x: 800.0,
            y: 500.0,
            width: 100.0,
            height: 60.0,
        };
        let near = nested.cut(part, 12.8, &limits);
        assert!(
            (100..=2_000).contains(&near.marks.len()),
            "{}",
            near.marks.len()
        );
    }
}
