//! Writes a graph as `.kg`.

use std::fmt::Write as _;

use super::escape::{escape_item, escape_name};
use super::{FORMAT, TITLE};
use crate::facts::ImportFlags;
use crate::graph::{Graph, ImportRecord, RecordName};

/// Writes a graph with the ids that its nodes and edges carry.
#[must_use]
pub fn write(graph: &Graph) -> String {
    Writer {
        graph,
        canonical: false,
    }
    .write()
}

/// Writes a graph with dense ids in the order of paths: equal folders give equal bytes.
#[must_use]
pub fn write_canonical(graph: &Graph) -> String {
    Writer {
        graph,
        canonical: true,
    }
    .write()
}

struct Writer<'g> {
    graph: &'g Graph,
    canonical: bool,
}

impl Writer<'_> {
    fn write(&self) -> String {
        let graph = self.graph;
        let mut out = String::with_capacity(
            (graph.nodes.len() + graph.edges.len() + graph.imports.len()) * 32,
        );
        let (nodes, edges, imports) = (graph.nodes.len(), graph.edges.len(), graph.imports.len());
        out.push_str(TITLE);
        out.push_str(&escape_name(&graph.root));
        // Writing to a String can't fail.
        let _ = write!(
            out,
            "\n# Nodes: {nodes}  Edges: {edges}  Imports: {imports}\n{FORMAT}\n"
        );
        for (index, node) in (0..).zip(&graph.nodes) {
            let (name, kind) = (
                escape_name(graph.names.text(node.name)),
                escape_name(graph.names.text(node.kind)),
            );
            let id = self.node_id(index);
            let _ = write!(out, "n{id}|{}|", node.node_type.as_str());
            if let Some(parent) = node.parent {
                let _ = write!(out, "n{}", self.node_id(parent));
            }
            let _ = writeln!(out, "||{name}|{kind}");
        }
        out.push('\n');
        for (index, edge) in (0_u32..).zip(&graph.edges) {
            let id = if self.canonical { index } else { edge.id };
            let (from, to) = (self.node_id(edge.from), self.node_id(edge.to));
            let _ = writeln!(out, "e{id}|n{from}|n{to}|{}", edge.edge_type.as_str());
        }
        out.push('\n');
        for import in &graph.imports {
            self.write_import(&mut out, import);
        }
        out
    }

    fn node_id(&self, index: u32) -> u32 {
        if self.canonical {
            index
        } else {
            self.graph.nodes[index as usize].id
        }
    }

    fn write_import(&self, out: &mut String, import: &ImportRecord) {
        let names = &self.graph.names;
        let module = escape_name(names.text(import.module));
        let _ = write!(
            out,
            "in{}|{module}|{}|",
            self.node_id(import.from),
            import.classification.as_str()
        );
        if let Some(target) = import.target {
            let _ = write!(out, "n{}", self.node_id(target));
        }
        out.push('|');
        for (index, name) in import.names.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            self.write_name(out, *name);
        }
        out.push('|');
        for (index, name) in import.names.iter().filter(|name| name.unused).enumerate() {
            if index > 0 {
                out.push(',');
            }
            out.push_str(&escape_item(names.text(name.local)));
        }
        let rule = import.rule.map_or("", crate::resolve::Rule::as_str);
        let whole = if import.flags.contains(ImportFlags::WHOLE) {
            "|whole"
        } else {
            ""
        };
        let (flags, line) = (import.flags.letters(), import.line);
        let _ = writeln!(out, "|{flags}|{line}|{rule}{whole}");
    }

    /// `imported` where the local name is the same, else `imported:local`; a bare `*` binds nothing.
    fn write_name(&self, out: &mut String, name: RecordName) {
        let (imported, local) = (
            self.graph.names.text(name.imported),
            self.graph.names.text(name.local),
        );
        out.push_str(&escape_item(imported));
        let is_plain = (imported == local && !imported.is_empty() && imported != "*")
            || (imported == "*" && local.is_empty());
        if !is_plain {
            out.push(':');
            out.push_str(&escape_item(local));
        }
    }
}
