//! Reads `.kg` files in one pass.

use std::collections::HashSet;

use rustc_hash::FxHashMap;
use thiserror::Error;

use super::TITLE;
use super::escape::unescape;
use crate::facts::ImportFlags;
use crate::graph::{Edge, EdgeType, Graph, ImportRecord, Node, NodeIndex, NodeType, RecordName};
use crate::interner::Interner;
use crate::resolve::{Classification, Rule};

/// Why a `.kg` file can't be used; the graph is then built anew from the folder.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum KgError {
    /// The first line isn't that of a v3 file.
    #[error("not a version 3 knowledge graph")]
    NotKnowledgeGraph,
    /// The header counts more or fewer lines than there are: the file was cut or edited.
    #[error("the header counts {expected} {what} but the file has {found}")]
    Count {
        /// Nodes, edges or imports.
        what: &'static str,
        /// What the header says.
        expected: usize,
        /// What was found.
        found: usize,
    },
    /// A line that doesn't read.
    #[error("line {line}: {what}")]
    Line {
        /// 1-based.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// Reads a graph. Fields past the known ones and edge words it doesn't know are passed over.
///
/// # Errors
/// Says where the text is no whole v3 graph.
pub fn read(text: &str) -> Result<Graph, KgError> {
    let mut reader = Reader::default();
    let mut lines = text.lines();
    let title = lines
        .next()
        .and_then(|line| line.strip_prefix(TITLE))
        .ok_or(KgError::NotKnowledgeGraph)?;
    let root = unescape(title).into_owned();
    let mut counts = None;
    for (number, line) in (2..).zip(lines) {
        let result = match line.as_bytes().first() {
            None => Ok(()),
            Some(b'#') => {
                counts = counts.or_else(|| read_counts(line));
                Ok(())
            }
            Some(b'n') => reader.read_node(&line[1..]),
            Some(b'e') => reader.read_edge(&line[1..]),
            Some(b'i') => reader.read_import(&line[1..]),
            Some(_) => Err("starts with none of n, e, i, #"),
        };
        result.map_err(|what| KgError::Line { line: number, what })?;
    }
    let [nodes, edges, imports] = counts.ok_or(KgError::NotKnowledgeGraph)?;
    for (what, expected, found) in [
        ("nodes", nodes, reader.nodes.len()),
        ("edges", edges, reader.edge_lines),
        ("imports", imports, reader.imports.len()),
    ] {
        if expected != found {
            return Err(KgError::Count {
                what,
                expected,
                found,
            });
        }
    }
    Ok(Graph::assemble(
        root,
        reader.names,
        reader.nodes,
        reader.edges,
        reader.imports,
    ))
}

/// `# Nodes: 384  Edges: 512  Imports: 120`
fn read_counts(line: &str) -> Option<[usize; 3]> {
    let rest = line.strip_prefix("# Nodes: ")?;
    let (nodes, rest) = rest.split_once("  Edges: ")?;
    let (edges, imports) = rest.split_once("  Imports: ")?;
    Some([
        nodes.parse().ok()?,
        edges.parse().ok()?,
        imports.trim_end().parse().ok()?,
    ])
}

/// Node indices by id. Ids are dense but for nodes that are gone, so most live in a plain list.
#[derive(Default)]
struct Indices {
    dense: Vec<NodeIndex>,
    sparse: FxHashMap<u32, NodeIndex>,
}

impl Indices {
    const NONE: NodeIndex = NodeIndex::MAX;

    /// Keeps an index; says whether the id was free.
    fn insert(&mut self, id: u32, index: NodeIndex) -> bool {
        let at = id as usize;
        if at > self.dense.len() + 4096 {
            return self.sparse.insert(id, index).is_none();
        }
        if self.dense.len() <= at {
            self.dense.resize(at + 1, Self::NONE);
        }
        let is_free = self.dense[at] == Self::NONE && !self.sparse.contains_key(&id);
        self.dense[at] = index;
        is_free
    }

    fn get(&self, id: u32) -> Option<NodeIndex> {
        let dense = self
            .dense
            .get(id as usize)
            .copied()
            .filter(|index| *index != Self::NONE);
        dense.or_else(|| self.sparse.get(&id).copied())
    }
}

#[derive(Default)]
struct Reader {
    names: Interner,
    indices: Indices,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    edge_lines: usize,
    imports: Vec<ImportRecord>,
}

impl Reader {
    fn read_node(&mut self, line: &str) -> Result<(), &'static str> {
        let mut fields = line.split('|');
        let mut next = || fields.next().ok_or("has too few fields");
        let (id, node_type, parent, _, name, kind) =
            (next()?, next()?, next()?, next()?, next()?, next()?);
        let id = id.parse().map_err(|_| "has no node id")?;
        let node_type = match node_type {
            "dir" => NodeType::Dir,
            "file" => NodeType::File,
            "symbol" => NodeType::Symbol,
            _ => return Err("has an unknown node type"),
        };
        let parent = if parent.is_empty() {
            None
        } else {
            Some(self.node(parent)?)
        };
        if parent.is_none() != self.nodes.is_empty() {
            return Err("the first node, and no other, must be without a parent");
        }
        let index = u32::try_from(self.nodes.len()).map_err(|_| "is one node too many")?;
        if !self.indices.insert(id, index) {
            return Err("repeats a node id");
        }
        let (name, kind) = (
            self.names.intern(&unescape(name)),
            self.names.intern(&unescape(kind)),
        );
        self.nodes.push(Node {
            id,
            node_type,
            parent,
            name,
            kind,
        });
        Ok(())
    }

    fn read_edge(&mut self, line: &str) -> Result<(), &'static str> {
        let mut fields = line.split('|');
        let mut next = || fields.next().ok_or("has too few fields");
        let (id, from, to, word) = (next()?, next()?, next()?, next()?);
        let id = id.parse().map_err(|_| "has no edge id")?;
        let (from, to) = (self.node(from)?, self.node(to)?);
        self.edge_lines += 1;
        if let Some(edge_type) = EdgeType::ALL
            .into_iter()
            .find(|known| known.as_str() == word)
        {
            self.edges.push(Edge {
                id,
                from,
                to,
                edge_type,
            });
        }
        Ok(())
    }

    fn read_import(&mut self, line: &str) -> Result<(), &'static str> {
        let mut fields = line.split('|');
        let mut next = || fields.next().ok_or("has too few fields");
        let (from, module, classification) = (next()?, next()?, next()?);
        let (target, names, unused) = (next()?, next()?, next()?);
        let from = self.node(from)?;
        let target = if target.is_empty() {
            None
        } else {
            Some(self.node(target)?)
        };
        let classification =
            Classification::parse(classification).ok_or("has an unknown classification")?;
        let module = self.names.intern(&unescape(module));
        let unused: HashSet<_> = unused
            .split(',')
            .filter(|name| !name.is_empty())
            .map(unescape)
            .collect();
        let names: Vec<RecordName> = names
            .split(',')
            .filter(|item| !item.is_empty())
            .map(|item| {
                let (imported, local) = item
                    .split_once(':')
                    .unwrap_or((item, if item == "*" { "" } else { item }));
                let (imported, local) = (unescape(imported), unescape(local));
                let unused = unused.contains(&local);
                RecordName {
                    imported: self.names.intern(&imported),
                    local: self.names.intern(&local),
                    unused,
                }
            })
            .collect();
        let mut flags = ImportFlags::from_letters(fields.next().unwrap_or_default());
        let line = fields
            .next()
            .and_then(|line| line.parse().ok())
            .unwrap_or(0);
        let rule = fields.next().and_then(Rule::parse);
        if fields.next() == Some("whole") {
            flags = flags.with(ImportFlags::WHOLE);
        }
        self.imports.push(ImportRecord {
            from,
            module,
            classification,
            target,
            names: names.into_boxed_slice(),
            flags,
            line,
            rule,
        });
        Ok(())
    }

    fn node(&self, id: &str) -> Result<NodeIndex, &'static str> {
        let id: u32 = id
            .strip_prefix('n')
            .and_then(|id| id.parse().ok())
            .ok_or("has a field that is no node id")?;
        self.indices
            .get(id)
            .ok_or("names a node that doesn't stand before it")
    }
}
