//! The bar above the canvas: modes, search, colours.

use codegraph::graph::NodeType;
use egui::{Align, Frame, Layout, Panel, RichText, Ui};
use host::GraphData;

use super::palette::ColorBy;
use super::{GraphContext, GraphView, Mode};
use crate::widgets::text_field::text_field;

/// At most this many hits are listed below the search.
const LISTED: usize = 12;

impl GraphView {
    pub(super) fn toolbar_ui(&mut self, ui: &mut Ui, context: &GraphContext<'_>, data: &GraphData) {
        let tokens = context.tokens;
        let frame = Frame::new()
            .fill(tokens.surface.base)
            .inner_margin(tokens.metrics.space.inside_top_bar());
        Panel::top("graph toolbar").frame(frame).show(ui, |ui| {
            ui.horizontal(|ui| {
                for mode in Mode::ALL {
                    let is_chosen = self.mode == mode;
                    if ui.selectable_label(is_chosen, mode.title()).clicked() {
                        self.mode = mode;
                    }
                }
                ui.separator();
                self.search_ui(ui, data);
                let colors = egui::ComboBox::from_id_salt("graph colours")
                    .selected_text(format!("Colour: {}", self.color_by.title().to_lowercase()))
                    .show_ui(ui, |ui| {
                        for by in ColorBy::ALL {
                            ui.selectable_value(&mut self.color_by, by, by.title());
                        }
                    });
                colors.response.widget_info(|| {
                    egui::WidgetInfo::labeled(egui::Role::ComboBox, true, "Colour by")
                });
                let selected = self.selection(data).last().copied();
                self.filters.filters_ui(ui, data, selected);
                ui.menu_button("Export", |ui| {
                    if ui.button("SVG").clicked() {
                        self.export.wants_svg = true;
                        ui.close();
                    }
                    if ui.button("PNG").clicked() {
                        self.export.wants_png = true;
                        ui.close();
                    }
                });
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let files = data.graph.nodes_of(NodeType::File).count();
                    let imports = data
                        .graph
                        .edges_of(codegraph::graph::EdgeType::Imports)
                        .len();
                    let text = format!("{files} files, {imports} imports");
                    let text = RichText::new(text)
                        .size(tokens.metrics.typ.secondary)
                        .color(tokens.text.secondary);
                    ui.add(egui::Label::new(text).truncate());
                });
            });
        });
    }

    fn search_ui(&mut self, ui: &mut Ui, data: &GraphData) {
        let field = text_field(&mut self.search)
            .hint_text("Find files and symbols")
            .desired_width(220.0);
        let response = ui.add(field);
        response.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Find files and symbols")
        });
        if std::mem::take(&mut self.wants_search_focus) {
            response.request_focus();
        }
        if self.search.trim().is_empty() || !response.has_focus() && !response.lost_focus() {
            return;
        }
        let hits = hits(data, self.search.trim());
        let enters = response.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
        if let Some(first) = hits.first().filter(|_| enters) {
            self.select(data, *first, false);
            self.mode = Mode::Focus;
            self.search.clear();
        }
    }
}

/// Files and symbols that have the needle in their names, best first: equal, then beginning with it, then shorter.
pub(super) fn hits(data: &GraphData, needle: &str) -> Vec<codegraph::graph::NodeIndex> {
    let needle = needle.to_lowercase();
    let graph = &data.graph;
    let mut found: Vec<(u8, usize, u32)> = Vec::new();
    for node in 0..graph.nodes.len() as u32 {
        if graph.nodes[node as usize].node_type == NodeType::Dir {
            continue;
        }
        let name = graph.name(node).to_lowercase();
        let rank = if name == needle {
            0
        } else if name.starts_with(&needle) {
            1
        } else if name.contains(&needle) {
            2
        } else if needle.contains('/') && graph.path(node).to_lowercase().contains(&needle) {
            3
        } else {
            continue;
        };
        found.push((rank, name.len(), node));
    }
    found.sort_unstable();
    found.truncate(LISTED);
    found.into_iter().map(|(_, _, node)| node).collect()
}
