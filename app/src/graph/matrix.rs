//! Which directories depend on which: a square of counts. With users above what they use, everything that points back
//! up stands below the diagonal, and is marked.

use std::collections::{BTreeMap, BTreeSet};

use codegraph::graph::{EdgeType, Graph, NodeIndex, NodeType};
use egui::{Align2, Color32, Rect, pos2, vec2};
use host::GraphData;

use super::palette::mix;
use super::scene::{Label, MarkStyle, Scene, SceneBuilder, Subject};
use crate::theme::Tokens;

/// At most this many rows: more can't be told apart.
const MOST_GROUPS: usize = 60;
/// Side of a cell in units of the layout, which are points at scale 1.
const CELL: f32 = 28.0;
/// Width of the names at the left.
const NAMES: f32 = 260.0;

/// Groups of files in the order of the matrix, and how many imports run between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Matrix {
    /// How many directories deep the groups lie at most.
    depth: usize,
    /// The directories, users before what they use.
    pub(super) groups: Vec<NodeIndex>,
    /// Imports from one group to another, by their places in `groups`.
    pub(super) counts: BTreeMap<(u32, u32), u32>,
}

impl Matrix {
    /// The imports between the directories of a graph, at the deepest level that has few enough of them.
    pub(super) fn of(graph: &Graph) -> Self {
        let depth = (1..12)
            .rev()
            .find(|depth| groups_at(graph, *depth).len() <= MOST_GROUPS)
            .unwrap_or(1);
        let group_of = |file: NodeIndex| directory_at(graph, file, depth);
        let mut between: BTreeMap<(NodeIndex, NodeIndex), u32> = BTreeMap::new();
        for edge in graph.edges_of(EdgeType::Imports) {
            let (from, to) = (group_of(edge.from), group_of(edge.to));
            if from != to {
                *between.entry((from, to)).or_default() += 1;
            }
        }
        let mut groups = groups_at(graph, depth);
        // Directories without code would only thin the rest out.
        groups.retain(|group| {
            between
                .keys()
                .any(|(from, to)| from == group || to == group)
        });
        let groups = ordered(groups, &between);
        let place: BTreeMap<NodeIndex, u32> = groups.iter().copied().zip(0..).collect();
        let counts = between
            .into_iter()
            .map(|((from, to), count)| ((place[&from], place[&to]), count))
            .collect();
        Self {
            depth,
            groups,
            counts,
        }
    }

    /// The rules that imports from one group to another break.
    fn forbidden<'d>(&self, data: &'d GraphData) -> BTreeMap<(u32, u32), BTreeSet<&'d str>> {
        let place_of = |file: NodeIndex| {
            let group = directory_at(&data.graph, file, self.depth);
            let nth = self.groups.iter().position(|other| *other == group)?;
            u32::try_from(nth).ok()
        };
        let mut broken: BTreeMap<(u32, u32), BTreeSet<&str>> = BTreeMap::new();
        for (from, to, rule) in &data.forbidden {
            if let (Some(from), Some(to)) = (place_of(*from), place_of(*to)) {
                broken.entry((from, to)).or_default().insert(rule);
            }
        }
        broken
    }

    /// Whether a cell points back up: it makes a cycle with what it uses, or breaks the order of the layers.
    pub(super) fn points_back(cell: (u32, u32)) -> bool {
        cell.0 > cell.1
    }
}

/// The directory at a depth that a file lies in; the one it lies in itself where that is less deep.
fn directory_at(graph: &Graph, file: NodeIndex, depth: usize) -> NodeIndex {
    let parent = |node: &NodeIndex| graph.nodes[*node as usize].parent;
    let mut up: Vec<NodeIndex> = std::iter::successors(parent(&file), parent).collect();
    up.reverse();
    up.get(depth).or(up.last()).copied().unwrap_or(0)
}

fn groups_at(graph: &Graph, depth: usize) -> Vec<NodeIndex> {
    let mut groups: Vec<NodeIndex> = graph
        .nodes_of(NodeType::File)
        .map(|file| directory_at(graph, file, depth))
        .collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

/// Users before what they use, as far as there is such an order: the group that is used least for what it uses goes
/// next (P. Eades, X. Lin, W. F. Smyth: A fast and effective heuristic for the feedback arc set problem, 1993).
fn ordered(
    mut left: Vec<NodeIndex>,
    between: &BTreeMap<(NodeIndex, NodeIndex), u32>,
) -> Vec<NodeIndex> {
    let (mut front, mut back) = (Vec::new(), Vec::new());
    while !left.is_empty() {
        let flow = |group: NodeIndex| -> (i64, i64) {
            let inside = |other: &NodeIndex| left.contains(other);
            let sum = |matches: &dyn Fn(&(NodeIndex, NodeIndex)) -> bool| -> i64 {
                let counts = between.iter().filter(|(edge, _)| matches(edge));
                counts.map(|(_, count)| i64::from(*count)).sum()
            };
            let uses = sum(&|(from, to)| *from == group && inside(to));
            let used = sum(&|(from, to)| *to == group && inside(from));
            (uses, used)
        };
        let flows: Vec<(i64, i64)> = left.iter().map(|group| flow(*group)).collect();
        // What uses nothing goes to the back, what nobody uses to the front, else the greatest difference.
        if let Some(at) = flows.iter().rposition(|(uses, _)| *uses == 0) {
            back.push(left.remove(at));
            continue;
        }
        let best = (0..left.len()).max_by_key(|at| {
            let (uses, used) = flows[*at];
            (used == 0, uses - used, std::cmp::Reverse(*at))
        });
        if let Some(at) = best {
            front.push(left.remove(at));
        }
    }
    front.extend(back.into_iter().rev());
    front
}

/// The matrix as marks.
pub(super) fn matrix_scene(data: &GraphData, tokens: &Tokens, generation: u64) -> Scene {
    let graph = &data.graph;
    let matrix = &Matrix::of(graph);
    let forbidden = matrix.forbidden(data);
    let mut scene = SceneBuilder::default();
    let side = matrix.groups.len() as f32 * CELL;
    let frame = MarkStyle {
        fill: tokens.surface.raised,
        stroke: Color32::TRANSPARENT,
        corner: 0.0,
    };
    scene.mark(Rect::from_min_size(pos2(0.0, 0.0), vec2(side, side)), frame);
    for (group, nth) in matrix.groups.iter().zip(0_u32..) {
        let name = match graph.path(*group) {
            path if path.is_empty() => ".".to_owned(),
            path => path,
        };
        let at = nth as f32 * CELL;
        let row = Rect::from_min_size(pos2(-NAMES, at), vec2(NAMES, CELL));
        let plain = MarkStyle {
            fill: Color32::TRANSPARENT,
            stroke: Color32::TRANSPARENT,
            corner: 0.0,
        };
        scene.item(Subject::Node(*group), row, name.clone(), plain);
        scene.label(Label {
            text: format!("{name}  {}", nth + 1),
            area: row.shrink2(vec2(8.0, 0.0)),
            align: Align2::RIGHT_CENTER,
            importance: 1e3,
            color: tokens.text.primary,
            is_strong: false,
        });
        let above = Rect::from_min_size(pos2(at, -CELL), vec2(CELL, CELL));
        scene.label(Label {
            text: (nth + 1).to_string(),
            area: above,
            align: Align2::CENTER_CENTER,
            importance: 1e3,
            color: tokens.text.secondary,
            is_strong: false,
        });
        let own = Rect::from_min_size(pos2(at, at), vec2(CELL, CELL)).shrink(1.0);
        let style = MarkStyle {
            fill: tokens.border.subtle,
            ..frame
        };
        scene.mark(own, style);
    }
    let most = matrix.counts.values().copied().max().unwrap_or(1).max(1) as f32;
    for ((from, to), count) in &matrix.counts {
        let place = pos2(*to as f32 * CELL, *from as f32 * CELL);
        let area = Rect::from_min_size(place, vec2(CELL, CELL)).shrink(1.0);
        let strength = 0.25 + 0.75 * ((*count as f32).ln_1p() / most.ln_1p());
        let is_back = Matrix::points_back((*from, *to));
        let color = if is_back {
            tokens.state.error
        } else {
            tokens.accent
        };
        let broken = forbidden.get(&(*from, *to));
        let style = MarkStyle {
            fill: mix(tokens.surface.raised, color, strength),
            stroke: broken.map_or(Color32::TRANSPARENT, |_| tokens.state.warn),
            corner: 2.0,
        };
        let name = |group: u32| graph.path(matrix.groups[group as usize]);
        let against = if is_back { ", against the order" } else { "" };
        let rules = broken.map_or_else(String::new, |broken| {
            let rules: Vec<&str> = broken.iter().copied().collect();
            format!(", against the rules: {}", rules.join("; "))
        });
        let told = format!(
            "{} → {}: {count} imports{against}{rules}",
            name(*from),
            name(*to)
        );
        scene.item(Subject::Cell(*from, *to), area, told, style);
        scene.label(Label {
            text: count.to_string(),
            area,
            align: Align2::CENTER_CENTER,
            importance: *count as f32,
            color: tokens.text.primary,
            is_strong: false,
        });
    }
    let mut scene = scene.finish(generation);
    scene.notice.clone_from(&data.rules_problem);
    scene
}
