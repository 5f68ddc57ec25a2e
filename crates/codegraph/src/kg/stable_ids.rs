//! Ids that stay with their nodes and edges over rebuilds, so that files differ only where the folder does.

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_128;

use crate::graph::{EdgeType, Graph};

/// The ids given out so far. An id is never given to another node or edge.
#[derive(Clone, Debug, Default)]
pub struct StableIds {
    nodes: FxHashMap<u128, u32>,
    edges: FxHashMap<(u32, u32, EdgeType), u32>,
    next_node: u32,
    next_edge: u32,
}

impl StableIds {
    /// Takes over the ids of a graph, such as one read from a file.
    #[must_use]
    pub fn of(graph: &Graph) -> Self {
        let mut ids = Self::default();
        for (key, node) in keys(graph).into_iter().zip(&graph.nodes) {
            ids.nodes.insert(key, node.id);
            ids.next_node = ids.next_node.max(node.id.saturating_add(1));
        }
        for edge in &graph.edges {
            let (from, to) = (
                graph.nodes[edge.from as usize].id,
                graph.nodes[edge.to as usize].id,
            );
            ids.edges.insert((from, to, edge.edge_type), edge.id);
            ids.next_edge = ids.next_edge.max(edge.id.saturating_add(1));
        }
        ids
    }

    /// Whether no id was given out yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Gives every node and edge of a graph its id.
    pub fn assign(&mut self, graph: &mut Graph) {
        for (key, node) in keys(graph).into_iter().zip(&mut graph.nodes) {
            node.id = *self
                .nodes
                .entry(key)
                .or_insert_with(|| take(&mut self.next_node));
        }
        for edge in &mut graph.edges {
            let (from, to) = (
                graph.nodes[edge.from as usize].id,
                graph.nodes[edge.to as usize].id,
            );
            edge.id = *self
                .edges
                .entry((from, to, edge.edge_type))
                .or_insert_with(|| take(&mut self.next_edge));
        }
    }
}

fn take(next: &mut u32) -> u32 {
    let id = *next;
    *next = next.saturating_add(1);
    id
}

/// A key for every node: its name and type within its parent's key.
fn keys(graph: &Graph) -> Vec<u128> {
    let mut keys: Vec<u128> = Vec::with_capacity(graph.nodes.len());
    let mut buffer = Vec::new();
    for node in &graph.nodes {
        buffer.clear();
        if let Some(parent) = node.parent {
            buffer.extend_from_slice(&keys[parent as usize].to_le_bytes());
            buffer.push(node.node_type as u8);
            buffer.extend_from_slice(graph.names.text(node.name).as_bytes());
        }
        keys.push(xxh3_128(&buffer));
    }
    keys
}
