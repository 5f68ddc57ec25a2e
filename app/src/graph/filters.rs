//! What of the graph is looked at: languages, kinds of symbols, kinds of imports, one community. What doesn't pass is
//! paler, or isn't drawn where it is a link or a row.

use std::collections::{BTreeSet, HashMap, HashSet};

use codegraph::facts::ImportFlags;
use codegraph::graph::{EdgeType, Graph, NodeIndex, NodeType};
use codegraph::nested::{Cut, CutLink};
use egui::Ui;
use host::GraphData;

/// Imports as pairs of files.
pub(super) type Imports = HashSet<(NodeIndex, NodeIndex)>;

/// The kinds of imports that can be left out, by name.
const IMPORT_KINDS: [(ImportFlags, &str); 7] = [
    (ImportFlags::TYPE_ONLY, "Types only"),
    (ImportFlags::TYPE_CHECKING, "Under TYPE_CHECKING"),
    (ImportFlags::DYNAMIC, "Dynamic"),
    (ImportFlags::REQUIRE, "require()"),
    (ImportFlags::SIDE_EFFECT, "For side effects"),
    (ImportFlags::REEXPORT, "Re-exports"),
    (ImportFlags::CONDITIONAL, "Conditional"),
];

/// The filters that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filters {
    /// Extensions and symbol kinds that are left out.
    hidden_kinds: BTreeSet<String>,
    /// Imports with any of these flags are left out.
    hidden_imports: BTreeSet<ImportFlags>,
    /// The one community that is shown.
    community: Option<u32>,
}

impl Filters {
    /// Whether everything passes.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a directory, file or symbol passes.
    pub(super) fn passes(&self, data: &GraphData, node: NodeIndex) -> bool {
        let graph = &data.graph;
        if self.hidden_kinds.contains(graph.kind(node)) {
            return false;
        }
        let community = |node: NodeIndex| data.communities.get(node as usize).copied().flatten();
        match graph.nodes[node as usize].node_type {
            NodeType::Dir => true,
            NodeType::File | NodeType::Symbol => self
                .community
                .is_none_or(|wanted| community(graph.file_of(node)) == Some(wanted)),
        }
    }

    /// The imports that don't pass: all statements that make them are of kinds that are left out.
    pub(super) fn hidden(&self, graph: &Graph) -> Imports {
        if self.hidden_imports.is_empty() {
            return Imports::default();
        }
        let mut passes: HashMap<(NodeIndex, NodeIndex), bool> = HashMap::new();
        for record in &graph.imports {
            let Some(target) = record.target else {
                continue;
            };
            let is_hidden = self
                .hidden_imports
                .iter()
                .any(|flags| record.flags.contains(*flags));
            *passes.entry((record.from, target)).or_default() |= !is_hidden;
        }
        let hidden = passes.into_iter().filter(|(_, passes)| !passes);
        hidden.map(|(import, _)| import).collect()
    }

    /// The menu that sets them.
    pub(super) fn filters_ui(
        &mut self,
        ui: &mut Ui,
        data: &GraphData,
        selected: Option<NodeIndex>,
    ) {
        let title = if self.is_empty() {
            "Filter"
        } else {
            "Filter (on)"
        };
        ui.menu_button(title, |ui| {
            let graph = &data.graph;
            let community = selected
                .and_then(|node| data.communities.get(graph.file_of(node) as usize).copied())
                .flatten();
            let mut is_only = self.community.is_some();
            let can_choose = is_only || community.is_some();
            let only = egui::Checkbox::new(&mut is_only, "Only the selected file's community");
            if ui.add_enabled(can_choose, only).changed() {
                self.community = community.filter(|_| is_only);
            }
            ui.menu_button("Languages", |ui| {
                self.kinds_ui(ui, graph, NodeType::File);
            });
            ui.menu_button("Symbols", |ui| self.kinds_ui(ui, graph, NodeType::Symbol));
            ui.menu_button("Imports", |ui| {
                for (flags, name) in IMPORT_KINDS {
                    let mut is_shown = !self.hidden_imports.contains(&flags);
                    if ui.checkbox(&mut is_shown, name).changed() {
                        set(&mut self.hidden_imports, flags, !is_shown);
                    }
                }
            });
            ui.separator();
            let all = ui.add_enabled(!self.is_empty(), egui::Button::new("Show everything"));
            if all.clicked() {
                *self = Self::default();
                ui.close();
            }
        });
    }

    fn kinds_ui(&mut self, ui: &mut Ui, graph: &Graph, of: NodeType) {
        let kinds: BTreeSet<&str> = graph.nodes_of(of).map(|node| graph.kind(node)).collect();
        for kind in kinds {
            let name = if kind.is_empty() { "others" } else { kind };
            let mut is_shown = !self.hidden_kinds.contains(kind);
            if ui.checkbox(&mut is_shown, name).changed() {
                set(&mut self.hidden_kinds, kind.to_owned(), !is_shown);
            }
        }
    }
}

fn set<T: Ord>(set: &mut BTreeSet<T>, value: T, is_in: bool) {
    if is_in {
        set.insert(value);
    } else {
        set.remove(&value);
    }
}

/// The links of a cut, counting only the imports that aren't hidden.
pub(super) fn links_without(cut: &Cut, graph: &Graph, hidden: &Imports) -> Vec<CutLink> {
    if hidden.is_empty() {
        return cut.links.clone();
    }
    // Each node counts for the innermost mark that it lies in; parents stand before their children.
    let mut mark_of: Vec<Option<u32>> = vec![None; graph.nodes.len()];
    for (mark, nth) in cut.marks.iter().zip(0..) {
        mark_of[mark.node as usize] = Some(nth);
    }
    for node in 0..graph.nodes.len() {
        if let (None, Some(parent)) = (mark_of[node], graph.nodes[node].parent) {
            mark_of[node] = mark_of[parent as usize];
        }
    }
    let mut counts: HashMap<(u32, u32), u32> = HashMap::new();
    for edge in graph.edges_of(EdgeType::Imports) {
        let ends = (mark_of[edge.from as usize], mark_of[edge.to as usize]);
        if let ((Some(from), Some(to)), false) = (ends, hidden.contains(&(edge.from, edge.to))) {
            *counts.entry((from, to)).or_default() += 1;
        }
    }
    let links = cut.links.iter().filter_map(|link| {
        let count = *counts.get(&(link.from, link.to))?;
        Some(CutLink { count, ..*link })
    });
    links.collect()
}
