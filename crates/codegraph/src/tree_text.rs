//! The `.txt` beside a `.kg`: the folder as a nested tree that people and models can read.

use std::fmt::Write as _;

use crate::graph::{EdgeType, Graph, NodeIndex, NodeType};

/// How many exports, and how many imports, one line shows before `...`.
const SHOWN: usize = 8;

/// Draws the tree, with exports and imports behind each file and the totals at the end.
#[must_use]
pub fn render(graph: &Graph) -> String {
    let mut out = String::new();
    if !graph.nodes.is_empty() {
        render_directory(graph, 0, 0, &mut out);
    }
    for (edge_type, what) in [
        (EdgeType::Exports, "exports"),
        (EdgeType::Imports, "file-level imports"),
        (EdgeType::ImportsSymbol, "symbol-level imports"),
    ] {
        // Writing to a String can't fail.
        let _ = writeln!(out, "# {} {what}", graph.edges_of(edge_type).len());
    }
    out
}

fn render_directory(graph: &Graph, directory: NodeIndex, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    let _ = writeln!(out, "{indent}{} {{", shown(graph.name(directory)));
    for child in graph.adjacency().outgoing(EdgeType::Contains, directory) {
        if graph.nodes[*child as usize].node_type == NodeType::Dir {
            render_directory(graph, *child, depth + 1, out);
        } else {
            let _ = writeln!(
                out,
                "{indent}  {}{}",
                shown(graph.name(*child)),
                annotation(graph, *child)
            );
        }
    }
    let _ = writeln!(out, "{indent}}}");
}

/// `  (exports: app:const; → getFileTrackingService, FilesPanel)`, or nothing.
fn annotation(graph: &Graph, file: NodeIndex) -> String {
    let adjacency = graph.adjacency();
    let exports = adjacency.outgoing(EdgeType::Exports, file).iter();
    let exports =
        exports.map(|symbol| format!("{}:{}", shown(graph.name(*symbol)), graph.kind(*symbol)));
    let symbols = adjacency.outgoing(EdgeType::ImportsSymbol, file);
    // A file stands for itself only where no name of it is shown.
    let has_symbol = |target: NodeIndex| {
        symbols
            .iter()
            .any(|symbol| graph.nodes[*symbol as usize].parent == Some(target))
    };
    let files = adjacency
        .outgoing(EdgeType::Imports, file)
        .iter()
        .filter(|target| !has_symbol(**target));
    let mut imports: Vec<String> = symbols
        .iter()
        .map(|symbol| shown(graph.name(*symbol)))
        .collect();
    imports.extend(files.map(|target| stem(graph.name(*target))));
    imports.dedup();
    let (exports, imports) = (list(exports.collect()), list(imports));
    match (exports.is_empty(), imports.is_empty()) {
        (true, true) => String::new(),
        (false, true) => format!("  (exports: {exports})"),
        (true, false) => format!("  (→ {imports})"),
        (false, false) => format!("  (exports: {exports}; → {imports})"),
    }
}

fn list(mut items: Vec<String>) -> String {
    if items.len() > SHOWN {
        items.truncate(SHOWN);
        items.push("...".to_owned());
    }
    items.join(", ")
}

fn stem(name: &str) -> String {
    shown(
        name.split('.')
            .next()
            .filter(|stem| !stem.is_empty())
            .unwrap_or(name),
    )
}

/// A name on one line, whatever it holds.
fn shown(name: &str) -> String {
    crate::kg::escape_name(name).into_owned()
}
