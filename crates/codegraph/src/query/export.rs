//! The graph as arrays for graph neural networks: `.npy` files and a description.

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::graph::{EdgeType, Graph, NodeType};

/// An array file in NumPy's format 1.0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NpyFile {
    /// The file's name.
    pub name: &'static str,
    /// The file's bytes.
    pub bytes: Vec<u8>,
}

/// The arrays of a graph and their description.
#[derive(Clone, Debug, PartialEq)]
pub struct GnnExport {
    /// `edge_index` (2 × E, i64), `edge_type` (E, u8), `node_type` (N × 3, u8, one-hot), `node_kind` (N × K, u8,
    /// one-hot), `name_hash` (N, u64).
    pub arrays: Vec<NpyFile>,
    /// What the columns mean, with the numbers of nodes and edges.
    pub description: Value,
}

/// Turns a graph into arrays. Nodes are numbered in the order of the canonical file.
#[must_use]
pub fn gnn_export(graph: &Graph) -> GnnExport {
    let (nodes, edges) = (graph.nodes.len(), graph.edges.len());
    let mut kinds: Vec<&str> = graph
        .nodes
        .iter()
        .map(|node| graph.names.text(node.kind))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let ends = graph
        .edges
        .iter()
        .map(|edge| edge.from)
        .chain(graph.edges.iter().map(|edge| edge.to));
    let edge_index = ends.flat_map(|end| i64::from(end).to_le_bytes()).collect();
    let edge_type = graph
        .edges
        .iter()
        .map(|edge| edge.edge_type as u8)
        .collect();
    let mut node_type = vec![0_u8; nodes * 3];
    let mut node_kind = vec![0_u8; nodes * kinds.len()];
    let mut name_hash = Vec::with_capacity(nodes * 8);
    for (index, node) in graph.nodes.iter().enumerate() {
        node_type[index * 3 + node.node_type as usize] = 1;
        let kind = kinds
            .binary_search(&graph.names.text(node.kind))
            .unwrap_or(0);
        node_kind[index * kinds.len() + kind] = 1;
        name_hash.extend(xxh3_64(graph.names.text(node.name).as_bytes()).to_le_bytes());
    }
    let arrays = vec![
        npy("edge_index.npy", "<i8", &[2, edges], edge_index),
        npy("edge_type.npy", "|u1", &[edges], edge_type),
        npy("node_type.npy", "|u1", &[nodes, 3], node_type),
        npy("node_kind.npy", "|u1", &[nodes, kinds.len()], node_kind),
        npy("name_hash.npy", "<u8", &[nodes], name_hash),
    ];
    let words = |types: &[&str]| {
        types
            .iter()
            .map(|word| Value::from(*word))
            .collect::<Vec<_>>()
    };
    let description = json!({
        "nodes": nodes,
        "edges": edges,
        "node_types": words(&[NodeType::Dir, NodeType::File, NodeType::Symbol].map(NodeType::as_str)),
        "edge_types": words(&EdgeType::ALL.map(EdgeType::as_str)),
        "kinds": words(&kinds),
        "name_hash": "xxh3-64 of the name in UTF-8",
    });
    GnnExport {
        arrays,
        description,
    }
}

/// <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>, version 1.0.
fn npy(name: &'static str, kind: &str, shape: &[usize], data: Vec<u8>) -> NpyFile {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let mut header = format!(
        "{{'descr': '{kind}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        sizes.join(", ")
    );
    let unpadded = 10 + header.len() + 1;
    header.push_str(&" ".repeat(unpadded.next_multiple_of(64) - unpadded));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(
        u16::try_from(header.len())
            .unwrap_or(u16::MAX)
            .to_le_bytes(),
    );
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    NpyFile { name, bytes }
}
