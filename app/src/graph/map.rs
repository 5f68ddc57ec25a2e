//! The map: directories as boxes that hold what lies in them, imports as curves between what is open.

use codegraph::graph::{NodeIndex, NodeType};
use codegraph::nested::{Box2, Cut, CutMark};
use egui::{Align2, Color32, Rect, pos2, vec2};
use host::GraphData;

use super::filters::{Filters, Imports, links_without};
use super::palette::{ColorBy, class_color, heat_color, mix};
use super::scene::{Label, MarkStyle, Scene, SceneBuilder, Subject};
use crate::theme::Tokens;

/// A link's colour, from 0 (not seen) to 1, where one import stands for itself.
const LINK_STRENGTH: f32 = 0.5;

/// What the map shows besides the cut.
pub(super) struct MapStyle<'a> {
    /// The graph.
    pub(super) data: &'a GraphData,
    /// What colours tell.
    pub(super) color_by: ColorBy,
    /// Whether a file passes the filters and the search; the others are paler.
    pub(super) is_found: &'a dyn Fn(NodeIndex) -> bool,
    /// The filters by themselves.
    pub(super) filters: &'a Filters,
    /// Imports that aren't shown.
    pub(super) hidden: &'a Imports,
    /// The theme.
    pub(super) tokens: &'a Tokens,
}

/// A box of the layout as a rectangle.
pub(super) fn rect(area: Box2) -> Rect {
    Rect::from_min_size(pos2(area.x, area.y), vec2(area.width, area.height))
}

/// The scene of a cut.
pub(super) fn map_scene(cut: &Cut, style: &MapStyle<'_>, generation: u64) -> Scene {
    let (data, tokens) = (style.data, style.tokens);
    let mut scene = SceneBuilder::default();
    for link in &links_without(cut, &data.graph, style.hidden) {
        let (from, to) = (&cut.marks[link.from as usize], &cut.marks[link.to as usize]);
        let Some(points) = data.nested.curve(from.node, to.node) else {
            continue;
        };
        let weight = (link.count as f32).log2();
        let strength = (LINK_STRENGTH + 0.08 * weight).min(0.9);
        let colors =
            [tokens.text.disabled, tokens.accent].map(|color| color.gamma_multiply(strength));
        scene.curve(points.map(Into::into), colors, 1.0 + 0.5 * weight);
    }
    for mark in &cut.marks {
        let area = rect(mark.area);
        let name = told(mark, data);
        scene.item(
            Subject::Node(mark.node),
            area,
            name,
            mark_style(mark, style),
        );
        scene.label(label(mark, style));
    }
    scene.finish(generation)
}

/// A mark's name in full.
fn told(mark: &CutMark, data: &GraphData) -> String {
    let path = data.graph.path(mark.node);
    match data.graph.nodes[mark.node as usize].node_type {
        NodeType::Dir if path.is_empty() => format!("the whole folder, {} entries", mark.below),
        NodeType::Dir => format!("{path}/, {} entries", mark.below),
        NodeType::File | NodeType::Symbol => path,
    }
}

fn mark_style(mark: &CutMark, style: &MapStyle<'_>) -> MarkStyle {
    let tokens = style.tokens;
    let side = mark.area.width.min(mark.area.height);
    if style.data.graph.nodes[mark.node as usize].node_type == NodeType::Dir {
        let fill = if mark.is_open {
            tokens.surface.base
        } else {
            mix(tokens.surface.raised, tokens.text.secondary, 0.18)
        };
        return MarkStyle {
            // What is open lets the curves below it through.
            fill: if mark.is_open {
                Color32::TRANSPARENT
            } else {
                fill
            },
            stroke: tokens.border.strong,
            corner: 0.03 * side,
        };
    }
    let color = file_color(mark.node, style);
    let share = if (style.is_found)(mark.node) {
        0.72
    } else {
        0.12
    };
    MarkStyle {
        fill: mix(tokens.surface.raised, color, share),
        stroke: Color32::TRANSPARENT,
        corner: 0.12 * side,
    }
}

pub(super) fn file_color(node: NodeIndex, style: &MapStyle<'_>) -> Color32 {
    let (data, tokens) = (style.data, style.tokens);
    let at = node as usize;
    match style.color_by {
        ColorBy::Community => {
            let community = data.communities.get(at).copied().flatten();
            community.map_or(tokens.text.disabled, |nth| class_color(tokens, nth))
        }
        ColorBy::Language => class_color(tokens, language_class(data.graph.kind(node))),
        ColorBy::Churn => {
            let most = data.churn.iter().copied().max().unwrap_or_default().max(1) as f32;
            let count = data.churn.get(at).copied().unwrap_or_default() as f32;
            heat_color(tokens, count.ln_1p() / most.ln_1p())
        }
        ColorBy::Age => match data.age.get(at).copied() {
            // The last hundred commits are told apart best.
            Some(ago) if ago != u32::MAX => heat_color(tokens, 1.0 / (1.0 + ago as f32 / 20.0)),
            _ => tokens.text.disabled,
        },
    }
}

/// A number for an extension: the same for those of one language.
fn language_class(extension: &str) -> u32 {
    match extension.trim_start_matches('.') {
        "ts" | "tsx" | "mts" | "cts" => 2,
        "js" | "jsx" | "mjs" | "cjs" => 0,
        "py" | "pyi" | "pyx" => 1,
        "rs" => 4,
        "vue" | "svelte" => 3,
        "go" => 5,
        "java" | "kt" | "c" | "h" | "cpp" | "hpp" | "cs" => 6,
        _ => 7,
    }
}

fn label(mark: &CutMark, style: &MapStyle<'_>) -> Label {
    let (data, tokens) = (style.data, style.tokens);
    let is_directory = data.graph.nodes[mark.node as usize].node_type == NodeType::Dir;
    let name = match data.graph.name(mark.node) {
        "" if is_directory => "/".to_owned(),
        name if is_directory => format!("{name}/"),
        name => name.to_owned(),
    };
    let area = if mark.is_open {
        rect(mark.area.head())
    } else {
        rect(mark.area)
    };
    Label {
        text: name,
        area,
        align: if mark.is_open {
            Align2::LEFT_CENTER
        } else {
            Align2::CENTER_CENTER
        },
        importance: mark.area.width * mark.area.height,
        color: if is_directory {
            tokens.text.secondary
        } else {
            tokens.text.primary
        },
        is_strong: is_directory,
    }
}
