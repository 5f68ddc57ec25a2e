//! The edges that a file adds to the graph besides its imports: what it passes on, which types of its are built on which,
//! and what it tests.

use super::groups::Group;
use super::{LinkFacts, Links};
use crate::facts::ImportFlags;
use crate::graph::{Edge, EdgeType, NodeIndex};

/// Adds an edge that has no number yet.
pub(super) fn edge(edge_type: EdgeType, from: NodeIndex, to: NodeIndex) -> Edge {
    Edge {
        id: 0,
        from,
        to,
        edge_type,
    }
}

impl Links {
    /// Adds them all; `groups` are the file's imports with the files that their names come from.
    pub(super) fn add_other_edges(
        &self,
        file: u32,
        facts: &LinkFacts,
        groups: &[Vec<Group>],
        edges: &mut Vec<Edge>,
    ) {
        let from = self.file_nodes[file as usize];
        for (import, groups) in facts.imports.iter().zip(groups) {
            let others = groups
                .iter()
                .filter_map(|group| group.target)
                .filter(|target| *target != file);
            for target in others {
                let to = self.file_nodes[target as usize];
                if import.flags.contains(ImportFlags::REEXPORT) {
                    edges.push(edge(EdgeType::Reexports, from, to));
                }
                if self.is_test[file as usize] && !self.is_test[target as usize] {
                    edges.push(edge(EdgeType::Tests, from, to));
                }
            }
        }
        for base in &facts.bases {
            let Some(class) = self.symbol_nodes.get(&(file, base.class)) else {
                continue;
            };
            let to = self
                .base_symbol(file, &base.path, groups)
                .filter(|to| to != class);
            edges.extend(to.map(|to| edge(EdgeType::Inherits, *class, to)));
        }
    }

    /// The symbol that a name in a list of bases means, where it is defined: of the file itself, imported, or taken out
    /// of an imported module.
    fn base_symbol(&self, file: u32, path: &[u32], groups: &[Vec<Group>]) -> Option<NodeIndex> {
        let (first, rest) = path.split_first()?;
        let imported = groups.iter().flatten().find_map(|group| {
            let name = group.names.iter().find(|name| name.local == *first)?;
            Some((group.target?, *name))
        });
        let (at, name) = match imported {
            None => (file, *first),
            Some((target, name)) if !name.is_module => (target, name.imported),
            Some((target, _)) => {
                let (last, modules) = rest.split_last()?;
                let mut at = target;
                // After `import a.b` the file is what `a.b` means: the parts before the last may lead nowhere further.
                for module in modules {
                    at = self.tables.module(at, *module).unwrap_or(at);
                }
                (at, *last)
            }
        };
        let defined = self.tables.definition(at, name)?;
        self.symbol_nodes
            .get(&defined)
            .or_else(|| self.symbol_nodes.get(&(at, name)))
            .copied()
    }
}
