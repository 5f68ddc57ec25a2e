//! The six questions of `read_graph`.

use super::answer::{Answer, Attribution, Exporter, ImportedFrom, Symbol};
use crate::facts::ImportFlags;
use crate::graph::{EdgeType, Graph, ImportRecord, NodeIndex, NodeType};

pub(super) fn structure(graph: &Graph) -> Answer {
    let root = graph.nodes.first().map_or("", |_| graph.name(0));
    let paths = graph.paths();
    let entries = (0..)
        .zip(&graph.nodes)
        .filter(|(_, node)| node.node_type != NodeType::Symbol);
    let mut paths: Vec<String> = entries
        .map(|(index, _): (usize, _)| {
            let path = &paths[index];
            if path.is_empty() {
                root.to_owned()
            } else {
                format!("{root}/{path}")
            }
        })
        .collect();
    paths.sort_unstable();
    Answer::Structure { paths }
}

pub(super) fn symbol(graph: &Graph, node: NodeIndex) -> Symbol {
    Symbol {
        name: graph.name(node).to_owned(),
        kind: graph.kind(node).to_owned(),
    }
}

pub(super) fn exports(graph: &Graph, file: NodeIndex) -> Answer {
    let symbols = graph.adjacency().outgoing(EdgeType::Exports, file);
    let mut symbols: Vec<Symbol> = symbols.iter().map(|node| symbol(graph, *node)).collect();
    symbols.sort_by(|left, right| left.name.cmp(&right.name));
    Answer::Exports {
        file: graph.path(file),
        symbols,
    }
}

/// The import records of a file, in order of appearance.
pub(super) fn records(graph: &Graph, file: NodeIndex) -> impl Iterator<Item = &ImportRecord> {
    graph
        .adjacency()
        .records(file)
        .iter()
        .map(|index| &graph.imports[*index as usize])
}

pub(super) fn imports_of(graph: &Graph, file: NodeIndex) -> Answer {
    let text = |id: u32| graph.names.text(id).to_owned();
    let mut imports = Vec::new();
    // What is used without an import statement is a dependency, but no import.
    let stated =
        records(graph, file).filter(|record| !record.flags.contains(ImportFlags::IMPLICIT));
    for record in stated {
        let (module, classification) = (text(record.module), record.classification);
        let mut push = |local: String| {
            imports.push(ImportedFrom {
                local,
                module: module.clone(),
                classification,
            });
        };
        if record.names.is_empty() {
            let is_dynamic = record.flags.contains(ImportFlags::DYNAMIC)
                || record.flags.contains(ImportFlags::REQUIRE);
            push(
                if is_dynamic {
                    "(dynamic)"
                } else {
                    "(side effect)"
                }
                .to_owned(),
            );
        }
        for name in &record.names {
            let local = if graph.names.text(name.local).is_empty() {
                name.imported
            } else {
                name.local
            };
            push(text(local));
        }
    }
    Answer::ImportsOf {
        file: graph.path(file),
        imports,
    }
}

/// Exact but for case; `foo*` asks for all names that begin so.
pub(super) fn exporters_of(graph: &Graph, wanted: &str) -> Answer {
    let lower = wanted.to_lowercase();
    let fits = |name: &str| match lower.strip_suffix('*') {
        Some(start) => name.to_lowercase().starts_with(start),
        None => name.eq_ignore_ascii_case(wanted) || name.to_lowercase() == lower,
    };
    let symbols = graph
        .nodes_of(NodeType::Symbol)
        .filter(|node| fits(graph.name(*node)));
    let exporters = symbols
        .map(|node| Exporter {
            path: graph.path(node),
            symbol: symbol(graph, node),
        })
        .collect();
    Answer::ExportersOf {
        symbol: wanted.to_owned(),
        exporters,
    }
}

/// The files with an import of a file or of one of its symbols.
pub(super) fn dependents_of(graph: &Graph, file: NodeIndex) -> Vec<NodeIndex> {
    let adjacency = graph.adjacency();
    let mut dependents = adjacency.incoming(EdgeType::Imports, file).to_vec();
    for symbol in adjacency.outgoing(EdgeType::Exports, file) {
        dependents.extend(adjacency.incoming(EdgeType::ImportsSymbol, *symbol));
    }
    dependents.sort_unstable();
    dependents.dedup();
    dependents.retain(|dependent| *dependent != file);
    dependents
}

pub(super) fn dependents(graph: &Graph, file: NodeIndex) -> Answer {
    let mut dependents: Vec<String> = dependents_of(graph, file)
        .into_iter()
        .map(|node| graph.path(node))
        .collect();
    dependents.sort_unstable();
    Answer::Dependents {
        file: graph.path(file),
        dependents,
    }
}

pub(super) fn unused_imports(graph: &Graph, file: NodeIndex) -> Answer {
    let text = |id: u32| graph.names.text(id).to_owned();
    let unused = records(graph, file).flat_map(|record| {
        let names = record.names.iter().filter(|name| name.unused);
        names.map(move |name| Attribution {
            name: text(name.local),
            module: text(record.module),
        })
    });
    Answer::UnusedImports {
        file: graph.path(file),
        unused: unused.collect(),
    }
}
