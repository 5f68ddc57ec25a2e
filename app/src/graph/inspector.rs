//! The panel at the right: what is selected, and what can be asked about it.

use codegraph::graph::{EdgeType, NodeIndex, NodeType};
use egui::{Frame, Panel, RichText, ScrollArea, Ui};
use host::GraphData;

use super::{GraphAction, GraphContext, GraphView, Mode};
use crate::theme::fonts::Families;

impl GraphView {
    pub(super) fn inspector_ui(
        &mut self,
        ui: &mut Ui,
        context: &GraphContext<'_>,
        data: &GraphData,
        actions: &mut Vec<GraphAction>,
    ) {
        let selection = self.selection(data);
        if selection.is_empty() {
            return;
        }
        let tokens = context.tokens;
        let frame = Frame::new()
            .fill(tokens.surface.raised)
            .inner_margin(tokens.metrics.space.inside_text_panel());
        Panel::right("graph inspector")
            .default_size(tokens.metrics.size.inspector)
            .frame(frame)
            .show(ui, |ui| {
                ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                    match selection[..] {
                        [one] => self.one_ui(ui, context, data, one, actions),
                        [from, to] => self.pair_ui(ui, data, from, to, actions),
                        _ => drop(ui.label(format!("{} are selected.", selection.len()))),
                    }
                    self.answer_ui(ui, context);
                });
            });
    }

    fn one_ui(
        &mut self,
        ui: &mut Ui,
        context: &GraphContext<'_>,
        data: &GraphData,
        node: NodeIndex,
        actions: &mut Vec<GraphAction>,
    ) {
        let graph = &data.graph;
        let path = graph.path(node);
        let families = Families::default();
        ui.label(RichText::new(&path).family(families.semibold));
        if graph.nodes[node as usize].node_type == NodeType::Dir {
            return;
        }
        let adjacency = graph.adjacency();
        let counts = [
            ("exports", adjacency.outgoing(EdgeType::Exports, node).len()),
            ("users", adjacency.incoming(EdgeType::Imports, node).len()),
            ("imports", adjacency.outgoing(EdgeType::Imports, node).len()),
        ];
        let told = counts.map(|(what, count)| format!("{count} {what}"));
        let secondary = context.tokens.text.secondary;
        ui.label(RichText::new(told.join(", ")).color(secondary));
        ui.add_space(context.tokens.metrics.space.related);
        ui.horizontal_wrapped(|ui| {
            if self.mode != Mode::Focus && ui.button("Focus").clicked() {
                self.mode = Mode::Focus;
            }
            if ui.button("Open").clicked() {
                actions.push(GraphAction::OpenFile(path.clone()));
            }
            if ui.button("Attach to the message").clicked() {
                actions.push(GraphAction::Attach(path.clone()));
            }
            for (label, question) in [
                ("Impact", "impact"),
                ("Dependents", "dependents"),
                ("Exports", "exports"),
                ("Unused imports", "unused_imports"),
                ("Tests", "tests-for"),
                ("What next?", "next"),
            ] {
                if ui.button(label).clicked() {
                    self.ask(format!("{question} {path}"), actions);
                }
            }
        });
    }

    fn pair_ui(
        &mut self,
        ui: &mut Ui,
        data: &GraphData,
        from: NodeIndex,
        to: NodeIndex,
        actions: &mut Vec<GraphAction>,
    ) {
        let (from, to) = (data.graph.path(from), data.graph.path(to));
        ui.label(format!("{from}\n{to}"));
        ui.horizontal_wrapped(|ui| {
            if ui.button("Path between them").clicked() {
                self.ask(format!("path {from} {to}"), actions);
            }
            if ui.button("Why this import?").clicked() {
                self.ask(format!("why {from} {to}"), actions);
            }
            if ui.button("Swap").clicked() {
                self.selected.reverse();
            }
        });
    }

    fn answer_ui(&self, ui: &mut Ui, context: &GraphContext<'_>) {
        let Some(asked) = &self.asked else {
            return;
        };
        let tokens = context.tokens;
        let families = Families::default();
        ui.add_space(tokens.metrics.space.inside_card);
        ui.label(RichText::new(&asked.question).color(tokens.text.secondary));
        match &asked.answer {
            None => drop(ui.label("…")),
            Some(Ok(text)) => {
                let text = RichText::new(text)
                    .family(families.mono)
                    .size(tokens.metrics.typ.secondary);
                ui.add(egui::Label::new(text).selectable(true));
            }
            Some(Err(why)) => drop(ui.label(RichText::new(why).color(tokens.state.warn))),
        }
    }
}
