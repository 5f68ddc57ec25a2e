//! The graph of a set of files, kept up to date change by change.
//!
//! The model knows no disk and no clock: files are given to it and taken away, and [`Model::commit`] brings the graph
//! up to date. Only what a change can reach is worked out anew: the facts of changed files, the imports of files that
//! had asked for a path that came or went, and then the links. The result is that of a build from nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::facts::{self, FileFacts, Problem};
use crate::filter;
use crate::graph::Graph;
use crate::language::{Language, file_name};
use crate::link::{LinkFacts, LinkFile, Links, link, relink_all};
use crate::resolve::{FileResolution, Namespaces, Resolver};
use crate::world::{World, ancestors, is_config, name_key, probe_key};

/// A file read and made ready for the model. Preparing is pure and can be done on any thread.
#[derive(Clone, Debug)]
pub struct PreparedFile {
    path: String,
    facts: Option<Arc<FileFacts>>,
    config: Option<String>,
}

impl PreparedFile {
    /// Reads what the graph needs of a file. `known` are facts read from the same bytes before.
    #[must_use]
    pub fn new(path: &str, bytes: &[u8], known: Option<Arc<FileFacts>>) -> Self {
        let is_small = bytes.len() as u64 <= filter::SIZE_LIMIT;
        let is_source = is_small
            && Language::of_path(path).is_some()
            && filter::is_written_by_people(path, bytes);
        let facts =
            is_source.then(|| known.unwrap_or_else(|| Arc::new(facts::extract(path, bytes))));
        let config = (is_small && is_config(path, bytes))
            .then(|| String::from_utf8_lossy(bytes).into_owned());
        Self {
            path: path.to_owned(),
            facts,
            config,
        }
    }

    /// A file that is a node and nothing more: too large, unreadable, or of no language.
    #[must_use]
    pub fn bare(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            facts: None,
            config: None,
        }
    }

    /// The facts, for a cache.
    #[must_use]
    pub fn facts(&self) -> Option<&Arc<FileFacts>> {
        self.facts.as_ref()
    }
}

struct ModelFile {
    world_id: u32,
    facts: Option<Arc<FileFacts>>,
    link_facts: Option<LinkFacts>,
    resolution: Option<FileResolution>,
}

impl ModelFile {
    fn as_link_file<'f>(&'f self, path: &'f str) -> LinkFile<'f> {
        let (facts, resolution) = (self.link_facts.as_ref(), self.resolution.as_ref());
        LinkFile {
            path,
            world_id: self.world_id,
            facts,
            resolution,
        }
    }
}

/// The files of a folder and their graph.
pub struct Model {
    root: String,
    world: World,
    resolver: Resolver,
    files: BTreeMap<String, ModelFile>,
    graph: Graph,
    links: Links,
    /// Changed files, as they were at the last commit; `None` for new ones.
    dirty: BTreeMap<String, Option<ModelFile>>,
    /// Keys of paths, files and directories, that came or went since the last commit.
    moved: FxHashSet<u64>,
    configs_changed: bool,
    changed: bool,
}

impl Model {
    /// An empty folder. `root` is the absolute path that the header shows and whose last part names the root node.
    #[must_use]
    pub fn new(root: &str) -> Self {
        let world = World::default();
        let resolver = Resolver::new(&world, Namespaces::default());
        let (graph, links) = link(root, crate::interner::Interner::default(), &[]);
        Self {
            root: root.to_owned(),
            world,
            resolver,
            files: BTreeMap::new(),
            graph,
            links,
            dirty: BTreeMap::new(),
            moved: FxHashSet::default(),
            configs_changed: false,
            changed: false,
        }
    }

    /// Adds a file or takes its new contents.
    pub fn set(&mut self, file: PreparedFile) {
        let PreparedFile {
            path,
            facts,
            config,
        } = file;
        if !self.world.is_file(&path) {
            self.note_move(&path);
        }
        let world_id = self.world.add(&path);
        if self.world.config(&path) != config.as_deref() {
            self.configs_changed = true;
            match &config {
                Some(text) => self.world.set_config(&path, text),
                None => self.world.remove_config(&path),
            }
        }
        let link_facts = facts
            .as_ref()
            .map(|facts| LinkFacts::new(&mut self.graph.names, facts));
        let file = ModelFile {
            world_id,
            facts,
            link_facts,
            resolution: None,
        };
        let before = self.files.insert(path.clone(), file);
        self.dirty.entry(path).or_insert(before);
        self.changed = true;
    }

    /// Takes a file away.
    pub fn remove(&mut self, path: &str) {
        if self.files.remove(path).is_none() {
            return;
        }
        self.configs_changed |= self.world.config(path).is_some();
        self.world.remove(path);
        self.note_move(path);
        self.dirty.remove(path);
        self.changed = true;
    }

    fn note_move(&mut self, path: &str) {
        self.moved.insert(probe_key(path));
        self.moved.insert(name_key(file_name(path)));
        self.moved.extend(ancestors(path).map(probe_key));
    }

    /// Whether changes wait for a commit.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        self.changed
    }

    /// Brings the graph up to date.
    pub fn commit(&mut self) -> &Graph {
        if std::mem::take(&mut self.changed) {
            let dirty = std::mem::take(&mut self.dirty);
            let has_reached_others = self.resolve_reached(&dirty);
            let is_contained = !has_reached_others
                && dirty
                    .iter()
                    .all(|(path, before)| match (before, self.files.get(path)) {
                        (Some(before), Some(after)) => Links::exports_stand(
                            &before.as_link_file(path),
                            &after.as_link_file(path),
                        ),
                        _ => false,
                    });
            if is_contained {
                for (path, file) in dirty
                    .keys()
                    .filter_map(|path| self.files.get_key_value(path))
                {
                    self.links.relink(&mut self.graph, &file.as_link_file(path));
                }
            } else {
                let files: Vec<LinkFile<'_>> = self
                    .files
                    .iter()
                    .map(|(path, file)| file.as_link_file(path))
                    .collect();
                (self.graph, self.links) =
                    if has_reached_others || dirty.values().any(Option::is_none) {
                        link(&self.root, std::mem::take(&mut self.graph.names), &files)
                    } else {
                        let changed: Vec<u32> =
                            dirty.values().flatten().map(|file| file.world_id).collect();
                        relink_all(
                            &self.root,
                            std::mem::take(&mut self.graph),
                            &self.links,
                            &files,
                            &changed,
                        )
                    };
            }
        }
        &self.graph
    }

    /// Resolves the imports of the files that the changes reach. Says whether those are others than the changed ones,
    /// or files came or went.
    fn resolve_reached(&mut self, dirty: &BTreeMap<String, Option<ModelFile>>) -> bool {
        let moved = std::mem::take(&mut self.moved);
        let mut has_reached_others = !moved.is_empty();
        let mut stands = Language::ALL.map(|_| true);
        let namespaces_changed = dirty.iter().any(|(path, before)| {
            let after = self.files.get(path);
            namespaces_of(path, before.as_ref()) != namespaces_of(path, after)
        });
        if std::mem::take(&mut self.configs_changed) || !moved.is_empty() || namespaces_changed {
            let resolver = Resolver::new(&self.world, self.namespaces());
            stands = Language::ALL.map(|language| resolver.stands_for(&self.resolver, language));
            self.resolver = resolver;
        }
        let stands = |language| {
            Language::ALL
                .iter()
                .zip(stands)
                .all(|(known, stands)| *known != language || stands)
        };
        for (path, file) in &mut self.files {
            let Some(facts) = &file.facts else { continue };
            let is_reached = !Language::of_path(path).is_some_and(&stands)
                || dirty.contains_key(path)
                || file.resolution.as_ref().is_none_or(|resolution| {
                    !moved.is_empty() && resolution.probes.iter().any(|probe| moved.contains(probe))
                });
            if is_reached {
                has_reached_others |= !dirty.contains_key(path);
                file.resolution = Some(self.resolver.resolve(&self.world, path, facts));
            }
        }
        has_reached_others
    }

    /// The namespaces that files say they belong to.
    fn namespaces(&self) -> Namespaces {
        Namespaces::collect(self.files.iter().filter_map(|(path, file)| {
            let language = Language::of_path(path)?;
            let facts = file.facts.as_deref()?;
            Namespaces::count_for(language).then_some((language, file.world_id, facts))
        }))
    }

    /// The graph of the last commit.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The graph of the last commit, for giving its nodes and edges ids.
    pub(crate) fn graph_mut(&mut self) -> &mut Graph {
        &mut self.graph
    }

    /// The paths of all files in byte order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The number of lines of a source; `None` for files without facts.
    #[must_use]
    pub fn lines(&self, path: &str) -> Option<u32> {
        self.files
            .get(path)?
            .facts
            .as_ref()
            .map(|facts| facts.lines)
    }

    /// What couldn't be read, by file.
    pub fn problems(&self) -> impl Iterator<Item = (&str, &Problem)> {
        self.files.iter().flat_map(|(path, file)| {
            file.facts
                .iter()
                .flat_map(|facts| &facts.problems)
                .map(move |problem| (path.as_str(), problem))
        })
    }
}

/// What a file says of its namespaces, where they decide how others resolve.
fn namespaces_of<'f>(path: &str, file: Option<&'f ModelFile>) -> &'f [String] {
    let counts = Language::of_path(path).is_some_and(Namespaces::count_for);
    file.filter(|_| counts)
        .and_then(|file| file.facts.as_ref())
        .map_or(&[], |facts| &facts.namespaces)
}
