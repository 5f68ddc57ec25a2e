//! The graph: directories, files and exported symbols, and how they hang together.

mod adjacency;

use serde::{Deserialize, Serialize};

use crate::facts::ImportFlags;
use crate::interner::Interner;
use crate::resolve::{Classification, Rule};

pub use adjacency::Adjacency;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeType {
    /// A directory.
    Dir,
    /// A file.
    File,
    /// An exported name of a file.
    Symbol,
}

impl NodeType {
    /// The word of a `.kg` line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dir => "dir",
            Self::File => "file",
            Self::Symbol => "symbol",
        }
    }
}

/// What an edge says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EdgeType {
    /// A directory contains a directory or a file.
    Contains,
    /// A file exports a symbol.
    Exports,
    /// A file imports a file.
    Imports,
    /// A file imports a symbol of another file.
    ImportsSymbol,
    /// A file passes on names of another file.
    Reexports,
    /// A class or interface is built on another one.
    Inherits,
    /// A test imports a file that is none.
    Tests,
}

impl EdgeType {
    /// All edge types, in the order that edges are kept.
    pub const ALL: [Self; 7] = [
        Self::Contains,
        Self::Exports,
        Self::Imports,
        Self::ImportsSymbol,
        Self::Reexports,
        Self::Inherits,
        Self::Tests,
    ];

    /// The edge types that what a file imports decides.
    pub(crate) const OF_IMPORTS: [Self; 5] = [
        Self::Imports,
        Self::ImportsSymbol,
        Self::Reexports,
        Self::Inherits,
        Self::Tests,
    ];

    /// The word of a `.kg` line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Contains => "CONTAINS",
            Self::Exports => "EXPORTS",
            Self::Imports => "IMPORTS",
            Self::ImportsSymbol => "IMPORTS_SYMBOL",
            Self::Reexports => "REEXPORTS",
            Self::Inherits => "INHERITS",
            Self::Tests => "TESTS",
        }
    }
}

/// The index of a node in [`Graph::nodes`].
pub type NodeIndex = u32;

/// A node; names are numbers of [`Graph::names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The id of the `.kg` line; stable over rebuilds where an id map is kept.
    pub id: u32,
    /// What it is.
    pub node_type: NodeType,
    /// The node it lies in; `None` for the root directory.
    pub parent: Option<NodeIndex>,
    /// Its name: the last component of a path, or the symbol's name.
    pub name: u32,
    /// A file's extension or a symbol's kind; the empty string for directories.
    pub kind: u32,
}

/// An edge between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The id of the `.kg` line.
    pub id: u32,
    /// Where it starts.
    pub from: NodeIndex,
    /// Where it ends.
    pub to: NodeIndex,
    /// What it says.
    pub edge_type: EdgeType,
}

/// One name of an import record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordName {
    /// The name in the other module, `default` or `*`.
    pub imported: u32,
    /// The local name; the empty string where nothing is bound.
    pub local: u32,
    /// Whether nothing in the file refers to it.
    pub unused: bool,
}

/// What one import statement takes from one module: the reason of IMPORTS and IMPORTS_SYMBOL edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportRecord {
    /// The importing file.
    pub from: NodeIndex,
    /// The module as written.
    pub module: u32,
    /// Where it lives.
    pub classification: Classification,
    /// The file it resolves to.
    pub target: Option<NodeIndex>,
    /// The imported names.
    pub names: Box<[RecordName]>,
    /// How it is imported.
    pub flags: ImportFlags,
    /// 1-based line; 0 where a reader of an older file doesn't know.
    pub line: u32,
    /// The rule that resolved it; `None` where a reader of an older file doesn't know.
    pub rule: Option<Rule>,
}

/// A code graph.
///
/// Nodes stand in the byte order of their paths, each file followed by its symbols in the byte order of their names;
/// edges by type, start and end; import records by file and line. A parent always stands before its children.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The absolute path of the root, as the header says it.
    pub root: String,
    /// All names and kinds.
    pub names: Interner,
    /// The nodes; the first is the root directory.
    pub nodes: Vec<Node>,
    /// The edges.
    pub edges: Vec<Edge>,
    /// The import records.
    pub imports: Vec<ImportRecord>,
    adjacency: Adjacency,
}

impl Graph {
    /// Puts a graph together; edges are sorted and indexed here.
    #[must_use]
    pub fn assemble(
        root: String,
        names: Interner,
        nodes: Vec<Node>,
        mut edges: Vec<Edge>,
        imports: Vec<ImportRecord>,
    ) -> Self {
        edges.sort_unstable_by_key(|edge| (edge.edge_type, edge.from, edge.to));
        let adjacency = Adjacency::build(nodes.len(), &edges, &imports);
        Self {
            root,
            names,
            nodes,
            edges,
            imports,
            adjacency,
        }
    }

    /// Numbers the edges in their order.
    pub(crate) fn number_edges(&mut self) {
        (0..)
            .zip(&mut self.edges)
            .for_each(|(id, edge)| edge.id = id);
    }

    /// Puts other imports in the place of a file's. Everything is given sorted; edges begin at the file or its symbols.
    pub(crate) fn replace_file(
        &mut self,
        from: NodeIndex,
        records: Vec<ImportRecord>,
        edges: &[Edge],
    ) {
        let start = self.imports.partition_point(|import| import.from < from);
        let end = self.imports.partition_point(|import| import.from <= from);
        self.imports.splice(start..end, records);
        let symbols = self.nodes[from as usize + 1..]
            .iter()
            .take_while(|node| node.parent == Some(from))
            .count();
        let last = from + NodeIndex::try_from(symbols).unwrap_or(NodeIndex::MAX);
        for edge_type in EdgeType::OF_IMPORTS {
            let key = |edge: &Edge| (edge.edge_type, edge.from);
            let start = self
                .edges
                .partition_point(|edge| key(edge) < (edge_type, from));
            let end = self
                .edges
                .partition_point(|edge| key(edge) <= (edge_type, last));
            let new = edges.iter().filter(|edge| edge.edge_type == edge_type);
            self.edges.splice(start..end, new.copied());
        }
        self.number_edges();
        self.adjacency
            .rebuild_imports(self.nodes.len(), &self.edges, &self.imports);
    }

    /// Neighbours and import records by node.
    #[must_use]
    pub fn adjacency(&self) -> &Adjacency {
        &self.adjacency
    }

    /// The name of a node.
    #[must_use]
    pub fn name(&self, node: NodeIndex) -> &str {
        self.names.text(self.nodes[node as usize].name)
    }

    /// The kind of a node: extension or symbol kind.
    #[must_use]
    pub fn kind(&self, node: NodeIndex) -> &str {
        self.names.text(self.nodes[node as usize].kind)
    }

    /// The path of a directory or file below the root, with `/`; empty for the root. A symbol gives its file's path.
    #[must_use]
    pub fn path(&self, node: NodeIndex) -> String {
        let mut node = self.file_of(node);
        let mut parts = Vec::new();
        while let Some(parent) = self.nodes[node as usize].parent {
            parts.push(self.name(node));
            node = parent;
        }
        parts.reverse();
        parts.join("/")
    }

    /// The directory or file at a path below the root, with `/`; the root for the empty path.
    #[must_use]
    pub fn node_at(&self, path: &str) -> Option<NodeIndex> {
        let root = (!self.nodes.is_empty()).then_some(0);
        let parts = path.split('/').filter(|part| !part.is_empty());
        parts.fold(root, |node, part| {
            let children = self.adjacency.outgoing(EdgeType::Contains, node?);
            let mut children = children.iter().copied();
            children.find(|child| self.name(*child) == part)
        })
    }

    /// The file of a symbol; any other node itself.
    #[must_use]
    pub fn file_of(&self, node: NodeIndex) -> NodeIndex {
        let here = self.nodes[node as usize];
        match (here.node_type, here.parent) {
            (NodeType::Symbol, Some(parent)) => parent,
            _ => node,
        }
    }

    /// The indices of all nodes of a type.
    pub fn nodes_of(&self, node_type: NodeType) -> impl Iterator<Item = NodeIndex> {
        (0..)
            .zip(&self.nodes)
            .filter(move |(_, node)| node.node_type == node_type)
            .map(|(index, _)| index)
    }

    /// The edges of a type.
    #[must_use]
    pub fn edges_of(&self, edge_type: EdgeType) -> &[Edge] {
        let start = self
            .edges
            .partition_point(|edge| edge.edge_type < edge_type);
        let end = self
            .edges
            .partition_point(|edge| edge.edge_type <= edge_type);
        &self.edges[start..end]
    }

    /// The paths of all nodes; symbols give their file's path. One pass, for work that needs them all.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let path = match node.parent {
                None => String::new(),
                Some(parent) => {
                    let parent = &paths[parent as usize];
                    let name = self.names.text(node.name);
                    match node.node_type {
                        NodeType::Symbol => parent.clone(),
                        _ if parent.is_empty() => name.to_owned(),
                        _ => format!("{parent}/{name}"),
                    }
                }
            };
            paths.push(path);
        }
        paths
    }
}
