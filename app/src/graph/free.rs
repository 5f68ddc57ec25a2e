//! The free layout: files drawn together by their imports, worked out beside the window.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use codegraph::graph::{EdgeType, NodeIndex, NodeType};
use codegraph::layout::{Backend, LayoutGraph, Options, Point, layout, update};
use egui::{Align2, Color32, Pos2, Rect, pos2, vec2};
use host::GraphData;

use super::layout_card::LayoutCard;
use super::map::{MapStyle, file_color};
use super::palette::mix;
use super::scene::{Label, MarkStyle, Scene, SceneBuilder, Subject};

/// Units of the scene an edge's natural length.
const EDGE: f32 = 60.0;
/// More links than this are not told apart: those between the files with the most of them are left.
const MOST_LINKS: usize = 5_000;

/// Positions of files, by path, of one version of one folder's graph.
#[derive(Default)]
pub(super) struct FreeLayout {
    of: Option<(PathBuf, u64)>,
    places: HashMap<String, Point>,
    running: Option<Receiver<Places>>,
}

/// What a run gives: of which folder and version, and where each file is.
type Places = ((PathBuf, u64), HashMap<String, Point>);

impl FreeLayout {
    /// Takes in a run that has ended, and begins one where the graph is another; files that were there stay near where
    /// they were. Says how many runs have ended.
    pub(super) fn keep_up(
        &mut self,
        ctx: &egui::Context,
        data: &Arc<GraphData>,
        card: Option<&Arc<LayoutCard>>,
    ) {
        if let Some(running) = &self.running {
            let Ok((of, places)) = running.try_recv() else {
                return;
            };
            self.of = Some(of);
            self.places = places;
            self.running = None;
        }
        let wanted = (data.folder.clone(), data.version);
        if self.of.as_ref() == Some(&wanted) {
            return;
        }
        let is_same_folder = self
            .of
            .as_ref()
            .is_some_and(|(folder, _)| *folder == wanted.0);
        let before = is_same_folder.then(|| self.places.clone());
        let (send, receive) = channel();
        let (data, ctx, card) = (data.clone(), ctx.clone(), card.cloned());
        let run = move || {
            let processor = Backend::Processor;
            let backend = card.as_ref().map_or(&processor, |card| card.backend());
            // The window may be gone by now.
            let _gone = send.send((wanted, places(&data, before.as_ref(), backend)));
            ctx.request_repaint();
        };
        if let Err(error) = std::thread::Builder::new()
            .name("graph layout".to_owned())
            .spawn(run)
        {
            log::warn!("no thread for the layout: {error}");
            return;
        }
        self.running = Some(receive);
    }

    /// Of which version the positions are; changes when there is something new to show.
    pub(super) fn version(&self) -> Option<u64> {
        self.of.as_ref().map(|(_, version)| *version)
    }

    /// The scene of the positions that are known.
    pub(super) fn scene(&self, style: &MapStyle<'_>, generation: u64) -> Scene {
        let graph = &style.data.graph;
        let mut scene = SceneBuilder::default();
        let paths = graph.paths();
        let place = |node: NodeIndex| -> Option<Pos2> {
            let at = self.places.get(&paths[node as usize])?;
            Some(pos2(at.x * EDGE, at.y * EDGE))
        };
        let adjacency = graph.adjacency();
        let degree = |node: NodeIndex| {
            adjacency.incoming(EdgeType::Imports, node).len()
                + adjacency.outgoing(EdgeType::Imports, node).len()
        };
        let mut links: Vec<(NodeIndex, NodeIndex)> = graph
            .edges_of(EdgeType::Imports)
            .iter()
            .map(|edge| (edge.from, edge.to))
            .filter(|link| !style.hidden.contains(link))
            .collect();
        if links.len() > MOST_LINKS {
            links.sort_by_key(|(from, to)| std::cmp::Reverse(degree(*from).min(degree(*to))));
            links.truncate(MOST_LINKS);
        }
        let tokens = style.tokens;
        let colors = [tokens.text.disabled, tokens.accent].map(|color| color.gamma_multiply(0.45));
        for (from, to) in links {
            if let (Some(from), Some(to)) = (place(from), place(to)) {
                let way = to - from;
                let points = [from, from + way / 3.0, from + way * (2.0 / 3.0), to];
                scene.curve(points, colors, 1.0);
            }
        }
        for node in graph.nodes_of(NodeType::File) {
            let Some(middle) = place(node) else { continue };
            let degree = degree(node) as f32;
            let radius = 5.0 + 2.0 * degree.sqrt();
            let area = Rect::from_center_size(middle, vec2(2.0 * radius, 2.0 * radius));
            let share = if (style.is_found)(node) { 0.85 } else { 0.15 };
            let mark = MarkStyle {
                fill: mix(tokens.surface.base, file_color(node, style), share),
                stroke: Color32::TRANSPARENT,
                corner: radius,
            };
            scene.item(
                Subject::Node(node),
                area,
                paths[node as usize].clone(),
                mark,
            );
            scene.label(Label {
                text: graph.name(node).to_owned(),
                area: Rect::from_center_size(middle + vec2(0.0, radius + 9.0), vec2(150.0, 18.0)),
                align: Align2::CENTER_CENTER,
                importance: degree,
                color: tokens.text.primary,
                is_strong: false,
            });
        }
        let mut scene = scene.finish(generation);
        if self.of.is_none() {
            scene.notice = Some("Laying the files out …".to_owned());
        }
        scene
    }
}

/// Where each file is drawn, by its path.
fn places(
    data: &GraphData,
    before: Option<&HashMap<String, Point>>,
    backend: &Backend,
) -> HashMap<String, Point> {
    let graph = &data.graph;
    let files: Vec<NodeIndex> = graph.nodes_of(NodeType::File).collect();
    let number: HashMap<NodeIndex, u32> = files.iter().copied().zip(0..).collect();
    let links = graph.edges_of(EdgeType::Imports).iter();
    let links = links.filter_map(|edge| Some((*number.get(&edge.from)?, *number.get(&edge.to)?)));
    let layout_graph = LayoutGraph::new(files.len(), links);
    let paths: Vec<String> = files.iter().map(|file| graph.path(*file)).collect();
    let points = match before {
        None => layout(&layout_graph, Options::default(), backend),
        Some(before) => {
            let known: Vec<Option<Point>> =
                paths.iter().map(|path| before.get(path).copied()).collect();
            update(&layout_graph, &known, &[], Options::default(), backend)
        }
    };
    paths.into_iter().zip(points).collect()
}
