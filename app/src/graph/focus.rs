//! One file in the middle: who uses it at the left, what it uses at the right, and which of its exports are used.

use std::collections::BTreeMap;

use codegraph::graph::{EdgeType, Graph, NodeIndex, NodeType};
use egui::{Align2, Pos2, Rect, pos2, vec2};

use super::map::MapStyle;
use super::scene::{Label, MarkStyle, Scene, SceneBuilder, Subject};
use crate::theme::Tokens;

/// Sizes in units of the layout, which are points at scale 1.
const BOX: egui::Vec2 = vec2(240.0, 28.0);
const ROW: f32 = 36.0;
const COLUMN: f32 = 420.0;
const SYMBOL_ROW: f32 = 24.0;
/// With more files than this a column shows their directories.
const MOST_ROWS: usize = 60;
/// At most this many exports are listed; used ones first.
const MOST_SYMBOLS: usize = 40;

/// One row of a column: a file, or all files of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The file, or the directory whose files it stands for.
    pub(super) node: NodeIndex,
    /// The files.
    pub(super) files: Vec<NodeIndex>,
}

/// The rows of a column: files by path, or their directories where there are too many.
pub(super) fn rows(graph: &Graph, files: &[NodeIndex]) -> Vec<Row> {
    if files.len() <= MOST_ROWS {
        let row = |file: &NodeIndex| Row {
            node: *file,
            files: vec![*file],
        };
        return files.iter().map(row).collect();
    }
    // The deepest level of directories that is few enough; at worst those right below the root.
    let depth_of = |file: NodeIndex| ancestors(graph, file).len();
    let deepest = files.iter().map(|file| depth_of(*file)).max().unwrap_or(1);
    let at_depth = |depth: usize| {
        let mut groups: BTreeMap<NodeIndex, Vec<NodeIndex>> = BTreeMap::new();
        for file in files {
            let above = ancestors(graph, *file);
            let directory = above[depth.min(above.len() - 1)];
            groups.entry(directory).or_default().push(*file);
        }
        groups
    };
    let groups = (1..=deepest)
        .rev()
        .map(at_depth)
        .find(|groups| groups.len() <= MOST_ROWS)
        .unwrap_or_else(|| at_depth(1));
    groups
        .into_iter()
        .map(|(node, files)| Row { node, files })
        .collect()
}

/// The directories that a node lies in, the root first, the node itself last.
fn ancestors(graph: &Graph, node: NodeIndex) -> Vec<NodeIndex> {
    let parent = |node: &NodeIndex| graph.nodes[*node as usize].parent;
    let mut up: Vec<NodeIndex> = std::iter::successors(Some(node), parent).collect();
    up.reverse();
    up
}

/// The scene around a file, or around the file of a symbol.
pub(super) fn focus_scene(node: NodeIndex, style: &MapStyle<'_>, generation: u64) -> Scene {
    let (graph, tokens) = (&style.data.graph, style.tokens);
    let adjacency = graph.adjacency();
    let file = graph.file_of(node);
    let shown = |files: &[NodeIndex], is_hidden: &dyn Fn(NodeIndex) -> bool| -> Vec<NodeIndex> {
        let passes =
            |other: &NodeIndex| !is_hidden(*other) && style.filters.passes(style.data, *other);
        files.iter().copied().filter(passes).collect()
    };
    let users = shown(adjacency.incoming(EdgeType::Imports, file), &|user| {
        style.hidden.contains(&(user, file))
    });
    let used = shown(adjacency.outgoing(EdgeType::Imports, file), &|used| {
        style.hidden.contains(&(file, used))
    });
    let (users, used) = (rows(graph, &users), rows(graph, &used));
    let mut symbols = symbols(graph, file);
    symbols.retain(|symbol| style.filters.passes(style.data, *symbol));
    let mut scene = SceneBuilder::default();
    let height = BOX.y + symbols.len() as f32 * SYMBOL_ROW;
    let middle = Rect::from_center_size(Pos2::ZERO, vec2(BOX.x, height));
    let users_at = column(&users, -COLUMN);
    let used_at = column(&used, COLUMN);
    let pale = tokens.text.disabled;
    for (row, area) in users.iter().zip(&users_at) {
        let to = middle.left_top() + vec2(0.0, BOX.y / 2.0);
        let width = 1.0 + (row.files.len() as f32).log2();
        let colors = [pale, tokens.accent];
        // A symbol of its own is pointed at where one row stands for one file.
        let uses = symbols.iter().enumerate().filter(|(_, symbol)| {
            let importers = adjacency.incoming(EdgeType::ImportsSymbol, **symbol);
            row.files.iter().any(|file| importers.contains(file))
        });
        let ends: Vec<Pos2> = uses
            .map(|(nth, _)| symbol_area(middle, nth).left_center())
            .collect();
        for end in if ends.is_empty() { vec![to] } else { ends } {
            scene.sideways_link(area.right_center(), end, colors, width);
        }
    }
    for (row, area) in used.iter().zip(&used_at) {
        let from = middle.right_top() + vec2(0.0, BOX.y / 2.0);
        let width = 1.0 + (row.files.len() as f32).log2();
        scene.sideways_link(from, area.left_center(), [tokens.accent, pale], width);
    }
    for (rows, areas) in [(&users, &users_at), (&used, &used_at)] {
        for (row, area) in rows.iter().zip(areas) {
            row_item(&mut scene, graph, row, *area, tokens);
        }
    }
    let strong = MarkStyle {
        fill: tokens.surface.raised,
        stroke: tokens.accent,
        corner: tokens.metrics.radius.control,
    };
    let path = graph.path(file);
    scene.item(Subject::Node(file), middle, path.clone(), strong);
    let head = Rect::from_min_size(middle.min, BOX);
    scene.label(Label {
        text: path,
        area: head.shrink2(vec2(8.0, 0.0)),
        align: Align2::LEFT_CENTER,
        importance: 1e6,
        color: tokens.text.primary,
        is_strong: true,
    });
    for (nth, symbol) in symbols.iter().enumerate() {
        symbol_item(&mut scene, graph, *symbol, symbol_area(middle, nth), tokens);
    }
    scene.finish(generation)
}

/// The exports of a file, those that are used by most files first.
fn symbols(graph: &Graph, file: NodeIndex) -> Vec<NodeIndex> {
    let adjacency = graph.adjacency();
    let mut symbols: Vec<NodeIndex> = adjacency.outgoing(EdgeType::Exports, file).to_vec();
    let users = |symbol: &NodeIndex| adjacency.incoming(EdgeType::ImportsSymbol, *symbol).len();
    symbols.sort_by_key(|symbol| (std::cmp::Reverse(users(symbol)), *symbol));
    symbols.truncate(MOST_SYMBOLS);
    symbols
}

fn symbol_area(middle: Rect, nth: usize) -> Rect {
    let top = middle.top() + BOX.y + nth as f32 * SYMBOL_ROW;
    Rect::from_min_size(pos2(middle.left(), top), vec2(BOX.x, SYMBOL_ROW))
}

fn column(rows: &[Row], x: f32) -> Vec<Rect> {
    let top = -(rows.len() as f32 - 1.0) / 2.0 * ROW;
    let area = |nth: usize| Rect::from_center_size(pos2(x, top + nth as f32 * ROW), BOX);
    (0..rows.len()).map(area).collect()
}

fn row_item(scene: &mut SceneBuilder, graph: &Graph, row: &Row, area: Rect, tokens: &Tokens) {
    let path = graph.path(row.node);
    let is_directory = graph.nodes[row.node as usize].node_type == NodeType::Dir;
    let name = match row.files.len() {
        count if is_directory => format!("{path}/ · {count} files"),
        _ => path,
    };
    let style = MarkStyle {
        fill: tokens.surface.raised,
        stroke: tokens.border.strong,
        corner: tokens.metrics.radius.control,
    };
    scene.item(Subject::Node(row.node), area, name.clone(), style);
    scene.label(Label {
        text: name,
        area: area.shrink2(vec2(8.0, 0.0)),
        align: Align2::LEFT_CENTER,
        importance: row.files.len() as f32,
        color: tokens.text.primary,
        is_strong: false,
    });
}

fn symbol_item(
    scene: &mut SceneBuilder,
    graph: &Graph,
    symbol: NodeIndex,
    area: Rect,
    tokens: &Tokens,
) {
    let users = graph.adjacency().incoming(EdgeType::ImportsSymbol, symbol);
    let style = MarkStyle {
        fill: egui::Color32::TRANSPARENT,
        stroke: egui::Color32::TRANSPARENT,
        corner: 0.0,
    };
    let (name, kind) = (graph.name(symbol), graph.kind(symbol));
    let told = format!("{name} ({kind}), used by {} files", users.len());
    scene.item(Subject::Node(symbol), area, told, style);
    let text = match users.len() {
        0 => name.to_owned(),
        count => format!("{name} · {count}"),
    };
    let color = if users.is_empty() {
        tokens.text.secondary
    } else {
        tokens.text.primary
    };
    scene.label(Label {
        text,
        area: area.shrink2(vec2(16.0, 0.0)),
        align: Align2::LEFT_CENTER,
        importance: 1e3 + users.len() as f32,
        color,
        is_strong: false,
    });
}
