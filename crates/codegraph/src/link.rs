//! From the facts and resolutions of all files to one graph.

mod edges;
mod exports;
mod groups;
mod relink;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{Export, FileFacts, ImportFlags, Origin, SymbolKind, Usage};
use crate::graph::{Edge, EdgeType, Graph, ImportRecord, Node, NodeIndex, NodeType, RecordName};
use crate::interner::Interner;
use crate::language::{extension, file_name, parent};
use crate::query::is_test;
use crate::resolve::{FileResolution, ResolvedImport};

use exports::ExportTables;
use groups::Group;
pub(crate) use relink::relink_all;

/// A file's facts with all names interned, as linking wants them.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkFacts {
    exports: Vec<LinkExport>,
    bindings: Vec<LinkExport>,
    imports: Vec<LinkImport>,
    star_exports: Vec<u32>,
    dunder_all: Option<Vec<u32>>,
    /// Names used without saying where from, with their lines.
    references: Vec<(u32, u32)>,
    /// What is taken out of names that mean modules; each member with those taken out of it.
    members: Vec<Vec<Vec<u32>>>,
    bases: Vec<LinkBase>,
}

/// What a class of the file is built on.
#[derive(Clone, Debug)]
struct LinkBase {
    class: u32,
    path: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct LinkExport {
    name: u32,
    origin: LinkOrigin,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum LinkOrigin {
    Declared(SymbolKind),
    Imported { import: u32, name: u32 },
}

#[derive(Clone, Debug)]
struct LinkImport {
    module: u32,
    names: Vec<LinkName>,
    flags: ImportFlags,
    line: u32,
}

#[derive(Clone, Copy, Debug)]
struct LinkName {
    imported: u32,
    local: u32,
    type_only: bool,
    usage: Usage,
    /// The index of what is taken out of it; `None` where it may be anything.
    members: Option<u32>,
    /// Whether the name stands for the file that it comes from.
    is_module: bool,
}

impl LinkFacts {
    pub(crate) fn new(names: &mut Interner, facts: &FileFacts) -> Self {
        let mut intern_exports = |exports: &[Export]| {
            exports
                .iter()
                .map(|export| LinkExport {
                    name: names.intern(&export.name),
                    origin: match &export.origin {
                        Origin::Declared(kind) => LinkOrigin::Declared(*kind),
                        Origin::Imported { import, name } => LinkOrigin::Imported {
                            import: *import,
                            name: names.intern(name),
                        },
                    },
                })
                .collect()
        };
        let (exports, bindings) = (
            intern_exports(&facts.exports),
            intern_exports(&facts.bindings),
        );
        let mut members: Vec<Vec<Vec<u32>>> = Vec::new();
        let mut imports = Vec::with_capacity(facts.imports.len());
        for import in &facts.imports {
            let is_required = import.flags.contains(ImportFlags::REQUIRE);
            let taken = import.names.iter().map(|name| LinkName {
                imported: names.intern(&name.imported),
                local: names.intern(&name.local),
                type_only: name.type_only,
                usage: name.usage,
                members: name.members.as_ref().map(|taken| {
                    members.push(intern_members(names, taken));
                    u32::try_from(members.len() - 1).unwrap_or(u32::MAX)
                }),
                is_module: !name.local.is_empty()
                    && (name.imported == "*" || (is_required && name.imported == "default")),
            });
            let taken = taken.collect();
            imports.push(LinkImport {
                module: names.intern(&import.module),
                names: taken,
                flags: import.flags,
                line: import.line,
            });
        }
        let bases = facts.bases.iter();
        let bases = bases
            .map(|base| LinkBase {
                class: names.intern(&base.class),
                path: base
                    .base
                    .split('.')
                    .map(|part| names.intern(part))
                    .collect(),
            })
            .collect();
        let references = facts.references.iter();
        let references = references
            .map(|reference| (names.intern(&reference.name), reference.line))
            .collect();
        Self {
            exports,
            bindings,
            imports,
            references,
            members,
            bases,
            star_exports: facts.star_exports.clone(),
            dunder_all: facts
                .dunder_all
                .as_ref()
                .map(|all| all.iter().map(|name| names.intern(name)).collect()),
        }
    }
}

fn intern_members(names: &mut Interner, taken: &[String]) -> Vec<Vec<u32>> {
    let chains = taken.iter();
    chains
        .map(|chain| chain.split('.').map(|part| names.intern(part)).collect())
        .collect()
}

/// One file as linking sees it.
pub(crate) struct LinkFile<'f> {
    /// Root-relative path.
    pub(crate) path: &'f str,
    /// The id of the path in the world.
    pub(crate) world_id: u32,
    pub(crate) facts: Option<&'f LinkFacts>,
    pub(crate) resolution: Option<&'f FileResolution>,
}

/// The words that linking compares names with.
#[derive(Clone, Copy)]
struct Words {
    star: u32,
    default: u32,
    empty: u32,
}

/// What linking knows of all files, kept from one commit to the next.
pub(crate) struct Links {
    by_world_id: FxHashMap<u32, u32>,
    /// The id in the world of every file index.
    world_ids: Vec<u32>,
    /// Whether each file is a test, by its path.
    is_test: Vec<bool>,
    tables: ExportTables,
    words: Words,
    file_nodes: Vec<NodeIndex>,
    /// Symbol nodes by file index and name.
    symbol_nodes: FxHashMap<(u32, u32), NodeIndex>,
}

/// Links files, sorted by path, into a graph. `root` is the absolute path for the header.
pub(crate) fn link(root: &str, mut names: Interner, files: &[LinkFile<'_>]) -> (Graph, Links) {
    let words = Words {
        star: names.intern("*"),
        default: names.intern("default"),
        empty: names.intern(""),
    };
    let by_world_id: FxHashMap<u32, u32> = (0..)
        .zip(files)
        .map(|(index, file)| (file.world_id, index))
        .collect();
    let tables = ExportTables::build(files, &by_world_id, &names, &words);
    let links = Links {
        by_world_id,
        world_ids: files.iter().map(|file| file.world_id).collect(),
        is_test: files.iter().map(|file| is_test(file.path)).collect(),
        tables,
        words,
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
    linker.add_nodes(root, &mut names);
    let Linker {
        links,
        nodes,
        mut edges,
        ..
    } = linker;
    let mut imports = Vec::new();
    let mut by_type = EdgesByType::default();
    for file in files {
        let output = links.output_of(file, &nodes, &names);
        by_type.extend(output.edges);
        imports.extend(output.records);
    }
    edges.extend(by_type.into_sorted());
    let mut graph = Graph::assemble(root.to_owned(), names, nodes, edges, imports);
    graph.number_edges();
    (graph, links)
}

/// What one file adds to the graph: its import records, and its edges sorted.
struct FileOutput {
    records: Vec<ImportRecord>,
    edges: Vec<Edge>,
}

/// What the imports of a file lead to.
#[derive(Default)]
struct Reached {
    files: Vec<NodeIndex>,
    symbols: Vec<NodeIndex>,
}

/// Edges by type, so that those of files in order come out nearly sorted.
#[derive(Default)]
struct EdgesByType([Vec<Edge>; EdgeType::ALL.len()]);

impl EdgesByType {
    fn extend(&mut self, edges: impl IntoIterator<Item = Edge>) {
        for edge in edges {
            self.0[edge.edge_type as usize].push(edge);
        }
    }

    fn into_sorted(self) -> impl Iterator<Item = Edge> {
        self.0.into_iter().flatten()
    }
}

impl Links {
    /// Whether a change of a file leaves all exports of the folder as they are, so that only its own edges can differ.
    pub(crate) fn exports_stand(before: &LinkFile<'_>, after: &LinkFile<'_>) -> bool {
        exports::signature(before) == exports::signature(after)
    }

    /// Puts the new edges of a changed file into the graph. Its exports must stand.
    pub(crate) fn relink(&self, graph: &mut Graph, file: &LinkFile<'_>) {
        let Some(index) = self.by_world_id.get(&file.world_id) else {
            return;
        };
        let output = self.output_of(file, &graph.nodes, &graph.names);
        let node = self.file_nodes[*index as usize];
        graph.replace_file(node, output.records, &output.edges);
    }

    fn output_of(&self, file: &LinkFile<'_>, nodes: &[Node], names: &Interner) -> FileOutput {
        let mut output = FileOutput {
            records: Vec::new(),
            edges: Vec::new(),
        };
        let mut reached = Reached::default();
        let (Some(facts), Some(resolution)) = (file.facts, file.resolution) else {
            return output;
        };
        let Some(index) = self.by_world_id.get(&file.world_id).copied() else {
            return output;
        };
        let from = self.file_nodes[index as usize];
        let groups = self.groups(index, facts, resolution, nodes);
        self.add_other_edges(index, facts, &groups, &mut output.edges);
        let imports = facts.imports.iter().zip(&resolution.imports);
        for ((import, resolved), groups) in imports.zip(groups) {
            if let Some(package) = resolved.package.as_ref().filter(|package| package.is_whole) {
                let files = package
                    .files
                    .iter()
                    .filter_map(|id| self.by_world_id.get(id));
                let others = files.filter(|file| **file != index);
                reached
                    .files
                    .extend(others.map(|file| self.file_nodes[*file as usize]));
            }
            for group in groups {
                if let Some(target) = group.target.filter(|target| *target != index) {
                    reached.files.push(self.file_nodes[target as usize]);
                    for name in &group.names {
                        self.symbols_of(target, name.imported, &mut reached.symbols);
                        if name.is_module {
                            self.members_of(target, facts, name, &mut reached.symbols);
                        }
                    }
                    self.add_stub(target, resolved, facts, &group, &mut reached);
                }
                output
                    .records
                    .push(self.record(from, import, resolved, resolution, &group, names));
            }
        }
        output.records.sort_by(|left, right| {
            let by_module = || names.text(left.module).cmp(names.text(right.module));
            left.line
                .cmp(&right.line)
                .then_with(by_module)
                .then_with(|| left.target.cmp(&right.target))
        });
        reached
            .symbols
            .retain(|symbol| nodes[*symbol as usize].parent != Some(from));
        // A stub is no import of itself, whatever its source imports.
        reached.files.retain(|file| *file != from);
        let edges = &mut output.edges;
        let files = reached.files.into_iter();
        edges.extend(files.map(|to| edges::edge(EdgeType::Imports, from, to)));
        let symbols = reached.symbols.into_iter();
        edges.extend(symbols.map(|to| edges::edge(EdgeType::ImportsSymbol, from, to)));
        edges.sort_unstable_by_key(|edge| (edge.edge_type, edge.from, edge.to));
        edges.dedup();
        output
    }

    /// The symbols that a name of a file stands for: the file's own and the one it is defined as.
    fn symbols_of(&self, target: u32, name: u32, symbols: &mut Vec<NodeIndex>) {
        if name == self.words.star {
            return;
        }
        symbols.extend(self.symbol_nodes.get(&(target, name)));
        if let Some((file, name)) = self.tables.definition(target, name) {
            symbols.extend(self.symbol_nodes.get(&(file, name)));
        }
    }

    /// The stub beside a file that is imported says what the importer sees of it.
    fn add_stub(
        &self,
        target: u32,
        resolved: &ResolvedImport,
        facts: &LinkFacts,
        group: &Group,
        reached: &mut Reached,
    ) {
        let world_id = self.world_ids[target as usize];
        let stub = resolved.stubs.iter().find(|(file, _)| *file == world_id);
        let Some(stub) = stub.and_then(|(_, stub)| self.by_world_id.get(stub)) else {
            return;
        };
        reached.files.push(self.file_nodes[*stub as usize]);
        for name in &group.names {
            self.symbols_of(*stub, name.imported, &mut reached.symbols);
            if name.is_module {
                self.members_of(*stub, facts, name, &mut reached.symbols);
            }
        }
    }

    /// The symbols that are taken out of a name that stands for a file, through files that it passes on.
    fn members_of(
        &self,
        target: u32,
        facts: &LinkFacts,
        name: &LinkName,
        symbols: &mut Vec<NodeIndex>,
    ) {
        let chains = name.members.and_then(|at| facts.members.get(at as usize));
        for chain in chains.into_iter().flatten() {
            let mut at = target;
            for member in chain {
                self.symbols_of(at, *member, symbols);
                match self.tables.module(at, *member) {
                    Some(module) => at = module,
                    None => break,
                }
            }
        }
    }

    fn record(
        &self,
        from: NodeIndex,
        import: &LinkImport,
        resolved: &ResolvedImport,
        resolution: &FileResolution,
        group: &Group,
        names: &Interner,
    ) -> ImportRecord {
        let target = group.target.map(|target| self.file_nodes[target as usize]);
        let taken = &group.names;
        let is_unused = |name: &LinkName| match name.usage {
            Usage::Used => false,
            Usage::Unused => true,
            Usage::UnusedUnlessJsxFactory => {
                resolution.jsx_factory.as_deref() != Some(names.text(name.local))
            }
        };
        let record_names = taken.iter().map(|name| RecordName {
            imported: name.imported,
            local: name.local,
            unused: name.local != self.words.empty && is_unused(name),
        });
        let mut flags = import.flags;
        if !taken.is_empty() && taken.iter().all(|name| name.type_only) {
            flags = flags.with(ImportFlags::TYPE_ONLY);
        }
        let may_take_any = |name: &LinkName| name.is_module && name.members.is_none();
        if target.is_some() && taken.iter().any(may_take_any) {
            flags = flags.with(ImportFlags::WHOLE);
        }
        ImportRecord {
            from,
            module: import.module,
            classification: resolved.classification,
            target,
            names: record_names.collect(),
            flags,
            line: group.line,
            rule: Some(resolved.rule),
        }
    }
}

/// Adds the nodes of a new graph.
struct Linker<'f> {
    files: &'f [LinkFile<'f>],
    links: Links,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

impl Linker<'_> {
    fn push_node(
        &mut self,
        node_type: NodeType,
        parent: Option<NodeIndex>,
        name: u32,
        kind: u32,
    ) -> NodeIndex {
        let id = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.push(Node {
            id,
            node_type,
            parent,
            name,
            kind,
        });
        id
    }

    fn push_edge(&mut self, edge_type: EdgeType, from: NodeIndex, to: NodeIndex) {
        let id = u32::try_from(self.edges.len()).unwrap_or(u32::MAX);
        self.edges.push(Edge {
            id,
            from,
            to,
            edge_type,
        });
    }

    /// Adds directories, files and symbols in the byte order of paths.
    fn add_nodes(&mut self, root: &str, names: &mut Interner) {
        let root_name = names.intern(
            file_name(root.trim_end_matches(['/', '\\']))
                .rsplit('\\')
                .next()
                .unwrap_or(root),
        );
        let root_node = self.push_node(NodeType::Dir, None, root_name, self.links.words.empty);
        let mut directories: FxHashMap<&str, NodeIndex> = FxHashMap::from_iter([("", root_node)]);
        for (path, file) in ordered_paths(self.files) {
            let parent_node = directories.get(parent(path)).copied().unwrap_or(root_node);
            let name = names.intern(file_name(path));
            let node = match file {
                None => {
                    let node = self.push_node(
                        NodeType::Dir,
                        Some(parent_node),
                        name,
                        self.links.words.empty,
                    );
                    directories.insert(path, node);
                    node
                }
                Some(index) => {
                    let kind = names.intern(extension(path));
                    let node = self.push_node(NodeType::File, Some(parent_node), name, kind);
                    self.links.file_nodes.push(node);
                    self.add_symbols(index, node, names);
                    node
                }
            };
            self.push_edge(EdgeType::Contains, parent_node, node);
        }
    }

    fn add_symbols(&mut self, file: u32, node: NodeIndex, names: &mut Interner) {
        let mut exports: Vec<(u32, SymbolKind)> = self.links.tables.of(file).to_vec();
        exports.sort_unstable_by(|(left, _), (right, _)| names.text(*left).cmp(names.text(*right)));
        for (name, kind) in exports {
            let kind = names.intern(if name == self.links.words.default {
                "default"
            } else {
                kind.as_str()
            });
            let symbol = self.push_node(NodeType::Symbol, Some(node), name, kind);
            self.links.symbol_nodes.insert((file, name), symbol);
            self.push_edge(EdgeType::Exports, node, symbol);
        }
    }
}

/// All directories and files in the byte order of their paths; files with their index.
fn ordered_paths<'f>(files: &[LinkFile<'f>]) -> Vec<(&'f str, Option<u32>)> {
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    let mut paths: Vec<(&str, Option<u32>)> = Vec::with_capacity(files.len() * 2);
    for (index, file) in (0..).zip(files) {
        paths.push((file.path, Some(index)));
        for directory in crate::world::ancestors(file.path) {
            if !seen.insert(directory) {
                break;
            }
            paths.push((directory, None));
        }
    }
    paths.sort_unstable_by_key(|(path, _)| *path);
    paths
}
