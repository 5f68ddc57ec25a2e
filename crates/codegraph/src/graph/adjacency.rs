//! Neighbours by node and edge type, in compressed sparse rows.

use super::{Edge, EdgeType, ImportRecord, NodeIndex};

/// One direction of one edge type: the neighbours of node `n` are `targets[starts[n]..starts[n + 1]]`.
#[derive(Clone, Debug, Default)]
struct Rows {
    starts: Vec<u32>,
    targets: Vec<NodeIndex>,
}

impl Rows {
    fn build(nodes: usize, pairs: impl Iterator<Item = (NodeIndex, NodeIndex)> + Clone) -> Self {
        let mut starts = vec![0_u32; nodes + 1];
        for (from, _) in pairs.clone() {
            starts[from as usize + 1] += 1;
        }
        for index in 0..nodes {
            starts[index + 1] += starts[index];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; starts[nodes] as usize];
        for (from, to) in pairs {
            let slot = &mut next[from as usize];
            targets[*slot as usize] = to;
            *slot += 1;
        }
        Self { starts, targets }
    }

    fn row(&self, node: NodeIndex) -> &[NodeIndex] {
        match (
            self.starts.get(node as usize),
            self.starts.get(node as usize + 1),
        ) {
            (Some(start), Some(end)) => &self.targets[*start as usize..*end as usize],
            _ => &[],
        }
    }
}

/// Neighbours of every node by edge type, both ways, and the import records of every file.
#[derive(Clone, Debug, Default)]
pub struct Adjacency {
    forward: [Rows; EdgeType::ALL.len()],
    backward: [Rows; EdgeType::ALL.len()],
    records: Rows,
}

impl Adjacency {
    /// Reads edges sorted by type.
    pub(super) fn build(nodes: usize, edges: &[Edge], imports: &[ImportRecord]) -> Self {
        let mut adjacency = Self::default();
        EdgeType::ALL
            .into_iter()
            .for_each(|edge_type| adjacency.read(nodes, edges, edge_type));
        adjacency.read_records(nodes, imports);
        adjacency
    }

    /// Reads again what imports can change.
    pub(super) fn rebuild_imports(
        &mut self,
        nodes: usize,
        edges: &[Edge],
        imports: &[ImportRecord],
    ) {
        EdgeType::OF_IMPORTS
            .into_iter()
            .for_each(|edge_type| self.read(nodes, edges, edge_type));
        self.read_records(nodes, imports);
    }

    fn read(&mut self, nodes: usize, edges: &[Edge], edge_type: EdgeType) {
        let start = edges.partition_point(|edge| edge.edge_type < edge_type);
        let end = edges.partition_point(|edge| edge.edge_type <= edge_type);
        let edges = &edges[start..end];
        self.forward[edge_type as usize] =
            Rows::build(nodes, edges.iter().map(|edge| (edge.from, edge.to)));
        self.backward[edge_type as usize] =
            Rows::build(nodes, edges.iter().map(|edge| (edge.to, edge.from)));
    }

    fn read_records(&mut self, nodes: usize, imports: &[ImportRecord]) {
        self.records = Rows::build(
            nodes,
            (0..)
                .zip(imports)
                .map(|(index, import)| (import.from, index)),
        );
    }

    /// Where the edges of a type lead from a node.
    #[must_use]
    pub fn outgoing(&self, edge_type: EdgeType, node: NodeIndex) -> &[NodeIndex] {
        self.forward[edge_type as usize].row(node)
    }

    /// Where the edges of a type that end at a node come from.
    #[must_use]
    pub fn incoming(&self, edge_type: EdgeType, node: NodeIndex) -> &[NodeIndex] {
        self.backward[edge_type as usize].row(node)
    }

    /// The indices of a file's import records.
    #[must_use]
    pub fn records(&self, file: NodeIndex) -> &[u32] {
        self.records.row(file)
    }
}
