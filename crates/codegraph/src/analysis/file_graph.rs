//! The files of a graph and their imports, as plain numbers for algorithms.

use rustc_hash::FxHashMap;

use crate::facts::ImportFlags;
use crate::graph::{EdgeType, Graph, NodeIndex, NodeType};

/// Files numbered in path order, with sorted neighbours both ways. An edge leads from a file to one it imports,
/// directly or as the place where an imported symbol is defined. No file is its own neighbour.
#[derive(Clone, Debug, Default)]
pub struct FileGraph {
    /// The node of every file.
    pub nodes: Vec<NodeIndex>,
    /// The path of every file.
    pub paths: Vec<String>,
    numbers: FxHashMap<NodeIndex, u32>,
    imports: Vec<Vec<u32>>,
    importers: Vec<Vec<u32>>,
}

impl FileGraph {
    /// Reads the files and imports of a graph.
    #[must_use]
    pub fn new(graph: &Graph) -> Self {
        Self::with_edges(graph, |_, _| true)
    }

    /// As [`FileGraph::new`], without edges that no run of the program has, and those within one package: for types
    /// alone, Rust's `mod`, names that need no import.
    #[must_use]
    pub fn at_run_time(graph: &Graph) -> Self {
        let mut runs: rustc_hash::FxHashSet<(NodeIndex, NodeIndex)> =
            rustc_hash::FxHashSet::default();
        for import in &graph.imports {
            let never_runs = [
                ImportFlags::TYPE_ONLY,
                ImportFlags::TYPE_CHECKING,
                ImportFlags::IMPLICIT,
            ];
            // `mod name;` in Rust says where a module lies, not that anything of it is used.
            let is_declaration = graph.names.text(import.module).starts_with("mod ");
            let erased =
                is_declaration || never_runs.iter().any(|flag| import.flags.contains(*flag));
            if let Some(target) = import.target.filter(|_| !erased) {
                runs.insert((import.from, target));
            }
        }
        Self::with_edges(graph, |from, to| runs.contains(&(from, to)))
    }

    fn with_edges(graph: &Graph, keep: impl Fn(NodeIndex, NodeIndex) -> bool) -> Self {
        let paths = graph.paths();
        let nodes: Vec<NodeIndex> = graph.nodes_of(NodeType::File).collect();
        let numbers: FxHashMap<NodeIndex, u32> = (0..)
            .zip(&nodes)
            .map(|(number, node)| (*node, number))
            .collect();
        let mut imports = vec![Vec::new(); nodes.len()];
        let mut importers = vec![Vec::new(); nodes.len()];
        for (number, node) in (0_u32..).zip(&nodes) {
            let adjacency = graph.adjacency();
            let files = adjacency.outgoing(EdgeType::Imports, *node).iter().copied();
            let symbols = adjacency
                .outgoing(EdgeType::ImportsSymbol, *node)
                .iter()
                .map(|symbol| graph.file_of(*symbol));
            let row: &mut Vec<u32> = &mut imports[number as usize];
            row.extend(
                files
                    .chain(symbols)
                    .filter(|target| keep(*node, *target))
                    .filter_map(|target| numbers.get(&target)),
            );
            row.retain(|target| *target != number);
            row.sort_unstable();
            row.dedup();
            for target in row.iter() {
                importers[*target as usize].push(number);
            }
        }
        let paths = nodes
            .iter()
            .map(|node| paths[*node as usize].clone())
            .collect();
        Self {
            nodes,
            paths,
            numbers,
            imports,
            importers,
        }
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The number of a file's node.
    #[must_use]
    pub fn number(&self, node: NodeIndex) -> Option<u32> {
        self.numbers.get(&node).copied()
    }

    /// The files that a file imports, sorted.
    #[must_use]
    pub fn imports(&self, file: u32) -> &[u32] {
        &self.imports[file as usize]
    }

    /// The files that import a file, sorted.
    #[must_use]
    pub fn importers(&self, file: u32) -> &[u32] {
        &self.importers[file as usize]
    }

    /// Breadth-first distances from some files along `neighbours`; `u32::MAX` for what isn't reached.
    #[must_use]
    pub fn distances<'g>(
        &'g self,
        from: &[u32],
        neighbours: impl Fn(u32) -> &'g [u32],
    ) -> Vec<u32> {
        let mut distances = vec![u32::MAX; self.len()];
        let mut queue = std::collections::VecDeque::new();
        for start in from {
            distances[*start as usize] = 0;
            queue.push_back(*start);
        }
        while let Some(file) = queue.pop_front() {
            for next in neighbours(file) {
                if distances[*next as usize] == u32::MAX {
                    distances[*next as usize] = distances[file as usize] + 1;
                    queue.push_back(*next);
                }
            }
        }
        distances
    }

    /// The shortest chain of imports between two files, ends included; of equal ones the first in path order.
    #[must_use]
    pub fn path(&self, from: u32, to: u32) -> Option<Vec<u32>> {
        let distances = self.distances(&[to], |file| self.importers(file));
        let mut at = from;
        let mut chain = vec![at];
        if distances[at as usize] == u32::MAX {
            return None;
        }
        while at != to {
            at = *self
                .imports(at)
                .iter()
                .find(|next| distances[**next as usize] < distances[at as usize])?;
            chain.push(at);
        }
        Some(chain)
    }
}
