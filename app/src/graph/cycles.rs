//! Import cycles: each as a group of its own, users above what they use, the links to cut in red.

use std::collections::BTreeMap;

use codegraph::graph::{EdgeType, Graph, NodeIndex};
use codegraph::layered::layers;
use egui::{Align2, Color32, Pos2, Rect, pos2, vec2};
use host::{CycleData, GraphData};

use super::scene::{Label, MarkStyle, Scene, SceneBuilder, Subject};
use crate::theme::Tokens;

/// Sizes in units of the layout, which are points at scale 1.
const BOX: egui::Vec2 = vec2(220.0, 28.0);
const COLUMN: f32 = 244.0;
const ROW: f32 = 72.0;
const MARGIN: f32 = 24.0;
const HEAD: f32 = 28.0;
/// Groups stand side by side up to this width.
const WIDEST: f32 = 2_400.0;
/// A cycle of more files is shown by its directories' counts in the matrix; here it would be a hairball.
const MOST_FILES: usize = 300;

/// The scene of all cycles.
pub(super) fn cycles_scene(data: &GraphData, tokens: &Tokens, generation: u64) -> Scene {
    let mut scene = SceneBuilder::default();
    let (mut at, mut row_height) = (Pos2::ZERO, 0.0_f32);
    for (cycle, nth) in data.cycles.iter().zip(1_u32..) {
        if cycle.files.len() > MOST_FILES {
            continue;
        }
        let group = Group::of(&data.graph, cycle);
        let size = group.size();
        if at.x > 0.0 && at.x + size.x > WIDEST {
            at = pos2(0.0, at.y + row_height + MARGIN);
            row_height = 0.0;
        }
        group.draw(&mut scene, &data.graph, nth, at, tokens);
        at.x += size.x + MARGIN;
        row_height = row_height.max(size.y);
    }
    let mut scene = scene.finish(generation);
    if data.cycles.is_empty() {
        scene.notice =
            Some("No file imports itself by way of others: there are no cycles.".to_owned());
    }
    scene
}

/// A cycle with places for its files.
struct Group<'a> {
    cycle: &'a CycleData,
    links: Vec<(u32, u32)>,
    /// Where each file's box has its middle, from the upper left corner of the group.
    middles: Vec<Pos2>,
    columns: f32,
    rows: f32,
}

impl<'a> Group<'a> {
    fn of(graph: &Graph, cycle: &'a CycleData) -> Self {
        let number: BTreeMap<NodeIndex, u32> = cycle.files.iter().copied().zip(0..).collect();
        let mut links = Vec::new();
        for (file, from) in cycle.files.iter().zip(0_u32..) {
            for target in graph.adjacency().outgoing(EdgeType::Imports, *file) {
                links.extend(number.get(target).map(|to| (from, *to)));
            }
        }
        let is_cut = |link: &(u32, u32)| {
            let (from, to) = (cycle.files[link.0 as usize], cycle.files[link.1 as usize]);
            cycle.cut.contains(&(from, to))
        };
        let kept: Vec<(u32, u32)> = links.iter().copied().filter(|link| !is_cut(link)).collect();
        let places = layers(cycle.files.len(), &kept);
        let rows = places
            .iter()
            .map(|place| place.layer + 1)
            .max()
            .unwrap_or(1);
        let mut widths = vec![0_u32; rows as usize];
        for place in &places {
            let width = &mut widths[place.layer as usize];
            *width = (*width).max(place.order + 1);
        }
        let columns = widths.iter().copied().max().unwrap_or(1) as f32;
        let middles = places
            .iter()
            .map(|place| {
                let indent = (columns - widths[place.layer as usize] as f32) / 2.0;
                pos2(
                    MARGIN + (indent + place.order as f32 + 0.5) * COLUMN,
                    HEAD + MARGIN + (place.layer as f32 + 0.5) * ROW,
                )
            })
            .collect();
        Self {
            cycle,
            links,
            middles,
            columns,
            rows: rows as f32,
        }
    }

    fn size(&self) -> egui::Vec2 {
        vec2(
            self.columns * COLUMN + 2.0 * MARGIN,
            self.rows * ROW + 2.0 * MARGIN + HEAD,
        )
    }

    fn draw(&self, scene: &mut SceneBuilder, graph: &Graph, nth: u32, at: Pos2, tokens: &Tokens) {
        let area = Rect::from_min_size(at, self.size());
        let frame = MarkStyle {
            fill: Color32::TRANSPARENT,
            stroke: tokens.border.strong,
            corner: tokens.metrics.radius.card,
        };
        let files = self.cycle.files.len();
        let told = match self.cycle.cut.len() {
            1 => format!("Cycle {nth}: {files} files, open with one import less"),
            cuts => format!("Cycle {nth}: {files} files, open with {cuts} imports less"),
        };
        scene.item(Subject::Group(nth), area, told.clone(), frame);
        scene.label(Label {
            text: told,
            area: Rect::from_min_size(at, vec2(area.width(), HEAD)).shrink2(vec2(MARGIN, 0.0)),
            align: Align2::LEFT_CENTER,
            importance: 1e6,
            color: tokens.text.secondary,
            is_strong: true,
        });
        let middle = |file: u32| at + self.middles[file as usize].to_vec2();
        for (from, to) in &self.links {
            let (a, b) = (
                self.cycle.files[*from as usize],
                self.cycle.files[*to as usize],
            );
            let is_cut = self.cycle.cut.contains(&(a, b));
            let colors = if is_cut {
                [tokens.state.error; 2]
            } else {
                [tokens.text.disabled, tokens.accent]
            };
            let width = if is_cut { 2.5 } else { 1.2 };
            scene.curve(downward(middle(*from), middle(*to)), colors, width);
        }
        for (file, number) in self.cycle.files.iter().zip(0_u32..) {
            let area = Rect::from_center_size(middle(number), BOX);
            let path = graph.path(*file);
            let style = MarkStyle {
                fill: tokens.surface.raised,
                stroke: tokens.border.strong,
                corner: tokens.metrics.radius.control,
            };
            scene.item(Subject::Node(*file), area, path.clone(), style);
            scene.label(Label {
                text: path,
                area: area.shrink2(vec2(8.0, 0.0)),
                align: Align2::LEFT_CENTER,
                importance: 1.0,
                color: tokens.text.primary,
                is_strong: false,
            });
        }
    }
}

/// A curve that leaves a box downward and arrives at the next from above; one that goes up swings out to the right.
fn downward(from: Pos2, to: Pos2) -> [Pos2; 4] {
    let half = BOX.y / 2.0;
    if to.y > from.y {
        let (start, end) = (from + vec2(0.0, half), to - vec2(0.0, half));
        let bend = (end.y - start.y) / 2.0;
        return [start, start + vec2(0.0, bend), end - vec2(0.0, bend), end];
    }
    let side = BOX.x / 2.0;
    let (start, end) = (from + vec2(side, 0.0), to + vec2(side, 0.0));
    let out = 40.0 + 0.15 * (start.y - end.y);
    [start, start + vec2(out, 0.0), end + vec2(out, 0.0), end]
}
