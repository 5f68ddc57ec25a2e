//! Links again after exports changed: only files that can see a changed name are worked out anew, the rest is carried
//! over with its nodes renumbered.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{EdgesByType, LinkFile, Linker, Links};
use crate::graph::{Edge, EdgeType, Graph, ImportRecord, Node, NodeIndex, NodeType};
use crate::interner::Interner;
use crate::link::exports::ExportTables;

/// Marks a node that is gone.
const GONE: NodeIndex = NodeIndex::MAX;

/// Brings a graph up to date for the same files with other contents. `changed` are the world ids of files whose own
/// facts or resolutions changed.
pub(crate) fn relink_all(
    root: &str,
    mut old: Graph,
    before: &Links,
    files: &[LinkFile<'_>],
    changed: &[u32],
) -> (Graph, Links) {
    let mut names = std::mem::take(&mut old.names);
    let tables = ExportTables::build(files, &before.by_world_id, &names, &before.words);
    let reached = reached_files(&before.tables, &tables, files.len());
    let is_affected: Vec<bool> = files
        .iter()
        .map(|file| changed.contains(&file.world_id) || sees_any(before, file, &reached))
        .collect();
    let links = Links {
        by_world_id: before.by_world_id.clone(),
        world_ids: before.world_ids.clone(),
        is_test: before.is_test.clone(),
        tables,
        words: before.words,
        file_nodes: Vec::with_capacity(files.len()),
        symbol_nodes: FxHashMap::default(),
    };
    let mut linker = Linker {
        files,
        links,
        nodes: Vec::new(),
        edges: Vec::new(),
    };
    linker.links.symbol_nodes.reserve(linker.links.tables.len());
    let mut renumbered = vec![GONE; old.nodes.len()];
    add_nodes_again(&mut linker, &old, &mut renumbered, &mut names);
    let Linker {
        links,
        nodes,
        mut edges,
        ..
    } = linker;
    renumber_symbols(&old, before, &nodes, &links, &mut renumbered);
    let mut old_records = std::mem::take(&mut old.imports).into_iter().peekable();
    let mut old_edges =
        EdgeType::OF_IMPORTS.map(|edge_type| old.edges_of(edge_type).iter().peekable());
    let mut imports: Vec<ImportRecord> = Vec::with_capacity(old_records.len());
    let mut by_type = EdgesByType::default();
    for (index, file) in files.iter().enumerate() {
        let (old_from, from) = (before.file_nodes[index], links.file_nodes[index]);
        let is_affected = is_affected[index];
        for old_edges in &mut old_edges {
            while let Some(edge) = old_edges.next_if(|edge| old.file_of(edge.from) == old_from) {
                by_type.extend((!is_affected).then(|| Edge {
                    id: 0,
                    from: renumbered[edge.from as usize],
                    to: renumbered[edge.to as usize],
                    edge_type: edge.edge_type,
                }));
            }
        }
        while let Some(mut record) = old_records.next_if(|record| record.from == old_from) {
            record.from = from;
            record.target = record.target.map(|target| renumbered[target as usize]);
            imports.extend((!is_affected).then_some(record));
        }
        if is_affected {
            let output = links.output_of(file, &nodes, &names);
            by_type.extend(output.edges);
            imports.extend(output.records);
        }
    }
    edges.extend(by_type.into_sorted());
    let mut graph = Graph::assemble(root.to_owned(), names, nodes, edges, imports);
    graph.number_edges();
    (graph, links)
}

/// The files with a changed name, and those that pass names of such files on.
fn reached_files(old: &ExportTables, new: &ExportTables, count: usize) -> Vec<bool> {
    let mut reached = vec![false; count];
    let mut queue: Vec<u32> = ExportTables::changed_files(old, new).into_iter().collect();
    queue.iter().for_each(|file| reached[*file as usize] = true);
    let mut passed_on_by: FxHashMap<u32, FxHashSet<u32>> = FxHashMap::default();
    for (file, origin) in old.passed_on().chain(new.passed_on()) {
        passed_on_by.entry(origin).or_default().insert(file);
    }
    while let Some(file) = queue.pop() {
        for next in passed_on_by.get(&file).into_iter().flatten() {
            if !std::mem::replace(&mut reached[*next as usize], true) {
                queue.push(*next);
            }
        }
    }
    reached
}

/// Whether a file imports from any of the reached files.
fn sees_any(links: &Links, file: &LinkFile<'_>, reached: &[bool]) -> bool {
    let is_reached = |id: &u32| {
        links
            .by_world_id
            .get(id)
            .is_some_and(|index| reached[*index as usize])
    };
    file.resolution.is_some_and(|resolution| {
        resolution.imports.iter().any(|import| {
            import.target.iter().chain(&import.types).any(is_reached)
                || import
                    .submodules
                    .iter()
                    .any(|(_, submodule)| is_reached(submodule))
                || import.stubs.iter().any(|(_, stub)| is_reached(stub))
                || import
                    .package
                    .iter()
                    .any(|package| package.files.iter().any(is_reached))
        })
    })
}

/// Adds the directories and files of the old graph, which are those of the new one, with the new symbols behind each
/// file.
fn add_nodes_again(
    linker: &mut Linker<'_>,
    old: &Graph,
    renumbered: &mut [NodeIndex],
    names: &mut Interner,
) {
    let mut file = 0;
    for (index, node) in old
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| node.node_type != NodeType::Symbol)
    {
        let parent = node.parent.map(|parent| renumbered[parent as usize]);
        let added = linker.push_node(node.node_type, parent, node.name, node.kind);
        renumbered[index] = added;
        if node.node_type == NodeType::File {
            linker.links.file_nodes.push(added);
            linker.add_symbols(file, added, names);
            file += 1;
        }
        if let Some(parent) = parent {
            linker.push_edge(EdgeType::Contains, parent, added);
        }
    }
}

/// Finds the old symbols among the new ones, by name within their file.
fn renumber_symbols(
    old: &Graph,
    before: &Links,
    nodes: &[Node],
    links: &Links,
    renumbered: &mut [NodeIndex],
) {
    for (file, (from, to)) in (0..).zip(before.file_nodes.iter().zip(&links.file_nodes)) {
        let symbols = (*from as usize + 1..old.nodes.len())
            .take_while(|index| old.nodes[*index].parent == Some(*from));
        for (offset, symbol) in (1..).zip(symbols) {
            let name = old.nodes[symbol].name;
            // Nearly always the symbol is where it was behind its file.
            let same = nodes.get((*to + offset) as usize);
            let is_same = same.is_some_and(|node| node.parent == Some(*to) && node.name == name);
            renumbered[symbol] = if is_same {
                *to + offset
            } else {
                links
                    .symbol_nodes
                    .get(&(file, name))
                    .copied()
                    .unwrap_or(GONE)
            };
        }
    }
}
