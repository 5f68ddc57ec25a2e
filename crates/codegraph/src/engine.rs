//! A folder on disk and its graph: built once, then kept true to what is on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashSet;
use thiserror::Error;

use crate::cache::{FactsCache, content_key};
use crate::filter::{Filter, SIZE_LIMIT};
use crate::graph::Graph;
use crate::kg::{self, StableIds};
use crate::language::Language;
use crate::model::{Model, PreparedFile};
use crate::snapshot::{SnapshotError, snapshot_names, write_atomically};
use crate::tree_text;
use crate::walk::{Found, Stamp, Walked, graph_path, walk};

/// A folder that can't be opened.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The root is gone or isn't a directory.
    #[error("not a folder that can be read: {}", .0.display())]
    Root(PathBuf),
    /// A snapshot couldn't be written.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

/// Which files a refresh found changed, by path in the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files that weren't there before.
    pub added: Vec<String>,
    /// Files with new contents.
    pub changed: Vec<String>,
    /// Files that are gone.
    pub removed: Vec<String>,
}

impl Changes {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

/// What the engine knows of a file on disk.
struct Tracked {
    stamp: Stamp,
    key: u128,
}

/// An open folder.
pub struct Engine {
    root: PathBuf,
    root_text: String,
    filter: Filter,
    model: Model,
    tracked: BTreeMap<String, Tracked>,
    cache: FactsCache,
    cache_file: Option<PathBuf>,
    ids: StableIds,
    directories: BTreeSet<String>,
}

impl Engine {
    /// Opens a folder and builds its graph. `cache_file` keeps facts between runs; without it all is read anew.
    ///
    /// # Errors
    /// Where the root isn't a readable directory.
    pub fn open(
        root: &Path,
        filter: Filter,
        cache_file: Option<PathBuf>,
    ) -> Result<Self, EngineError> {
        let root = root
            .canonicalize()
            .map_err(|_| EngineError::Root(root.to_owned()))?;
        if !root.is_dir() {
            return Err(EngineError::Root(root));
        }
        let root_text = root.to_string_lossy().into_owned();
        let cache = cache_file
            .as_deref()
            .map(FactsCache::load)
            .unwrap_or_default();
        let mut engine = Self {
            model: Model::new(&root_text),
            root,
            root_text,
            filter,
            tracked: BTreeMap::new(),
            cache,
            cache_file,
            ids: StableIds::default(),
            directories: BTreeSet::new(),
        };
        engine.refresh()?;
        Ok(engine)
    }

    /// Walks the folder again and takes in what changed.
    ///
    /// # Errors
    /// Where the root is gone; the graph then stays as it was.
    pub fn refresh(&mut self) -> Result<Changes, EngineError> {
        if !self.root.is_dir() {
            return Err(EngineError::Root(self.root.clone()));
        }
        let Walked {
            files: found,
            directories,
        } = walk(&self.root, self.filter);
        self.directories = directories;
        let mut changes = Changes::default();
        let present: FxHashSet<&str> = found.iter().map(|file| file.path.as_str()).collect();
        let gone = self
            .tracked
            .keys()
            .filter(|path| !present.contains(path.as_str()));
        changes.removed = gone.cloned().collect();
        let stale: Vec<&Found> = found
            .iter()
            .filter(|file| {
                self.tracked
                    .get(&file.path)
                    .is_none_or(|known| known.stamp != file.stamp)
            })
            .collect();
        self.take_in(&stale, &mut changes);
        self.drop_removed(&changes);
        self.model.commit();
        Ok(changes)
    }

    /// Takes in changes at known places, as a watcher reports them. Directories and ignore files call for a walk.
    ///
    /// # Errors
    /// As [`Engine::refresh`].
    pub fn refresh_paths(&mut self, paths: &[PathBuf]) -> Result<Changes, EngineError> {
        let mut stale = Vec::new();
        let mut changes = Changes::default();
        for on_disk in paths {
            let Some(path) = graph_path(&self.root, on_disk) else {
                continue;
            };
            let known = self.tracked.get(&path);
            match Stamp::of(on_disk) {
                Ok(stamp) if known.is_some() && on_disk.is_file() => {
                    stale.push(Found {
                        path,
                        on_disk: on_disk.clone(),
                        stamp,
                    });
                }
                // A file never seen may be ignored, and one that is gone may have been a directory.
                _ => return self.refresh(),
            }
        }
        let stale: Vec<&Found> = stale.iter().collect();
        self.take_in(&stale, &mut changes);
        self.model.commit();
        Ok(changes)
    }

    fn take_in(&mut self, stale: &[&Found], changes: &mut Changes) {
        for (file, prepared, key) in prepare_all(stale, &self.cache) {
            let known = self.tracked.insert(
                file.path.clone(),
                Tracked {
                    stamp: file.stamp,
                    key,
                },
            );
            match known {
                None => changes.added.push(file.path.clone()),
                Some(known) if known.key != key => changes.changed.push(file.path.clone()),
                Some(_) => continue,
            }
            if let Some(facts) = prepared.facts() {
                self.cache.insert(key, std::sync::Arc::clone(facts));
            }
            self.model.set(prepared);
        }
        changes.added.sort_unstable();
        changes.changed.sort_unstable();
    }

    fn drop_removed(&mut self, changes: &Changes) {
        for path in &changes.removed {
            self.tracked.remove(path);
            self.model.remove(path);
        }
    }

    /// The graph as of the last refresh.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        self.model.graph()
    }

    /// The files and what couldn't be read of them.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The folder, as an absolute path.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directories of the last walk, also those without files.
    #[must_use]
    pub fn directories(&self) -> &BTreeSet<String> {
        &self.directories
    }

    /// The folder's filter.
    #[must_use]
    pub fn filter(&self) -> Filter {
        self.filter
    }

    /// Writes the graph and its tree text into a directory, under the folder's names, with ids that stay with their
    /// nodes; saves the cache. Answers the path of the graph.
    ///
    /// # Errors
    /// Says which file the system refused.
    pub fn write_snapshot(&mut self, directory: &Path) -> Result<PathBuf, EngineError> {
        let (graph_name, text_name) = snapshot_names(&self.root_text);
        let path = directory.join(graph_name);
        if self.ids.is_empty()
            && let Ok(text) = std::fs::read_to_string(&path)
            && let Ok(before) = kg::read(&text)
        {
            self.ids = StableIds::of(&before);
        }
        self.ids.assign(self.model.graph_mut());
        write_atomically(&path, kg::write(self.model.graph()).as_bytes())?;
        write_atomically(
            &directory.join(text_name),
            tree_text::render(self.model.graph()).as_bytes(),
        )?;
        if let Some(cache_file) = &self.cache_file {
            let keys: FxHashSet<u128> = self.tracked.values().map(|file| file.key).collect();
            self.cache.retain(|key| keys.contains(&key));
            self.cache.save(cache_file)?;
        }
        Ok(path)
    }
}

/// Parsers and tree walks recurse with the nesting of a source, and a long chain of operators nests deeply. The system
/// gives pages to a stack only as they are used.
const WORKER_STACK: usize = 256 * 1024 * 1024;

/// Reads and prepares files on all cores, in the order given.
fn prepare_all<'f>(
    stale: &[&'f Found],
    cache: &FactsCache,
) -> Vec<(&'f Found, PreparedFile, u128)> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(stale.len()));
    let threads = std::thread::available_parallelism()
        .map_or(2, std::num::NonZero::get)
        .min(stale.len().div_ceil(16));
    let work = || {
        let mut mine = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = stale.get(index) else { break };
            let (prepared, key) = prepare(file, cache);
            mine.push((index, prepared, key));
        }
        done.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(mine);
    };
    std::thread::scope(|scope| {
        let spawned = (0..threads).filter(|_| {
            let worker = std::thread::Builder::new()
                .name("facts".to_owned())
                .stack_size(WORKER_STACK);
            worker.spawn_scoped(scope, work).is_ok()
        });
        if spawned.count() == 0 {
            work();
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _, _)| *index);
    done.into_iter()
        .map(|(index, prepared, key)| (stale[index], prepared, key))
        .collect()
}

fn prepare(file: &Found, cache: &FactsCache) -> (PreparedFile, u128) {
    let is_read = Language::of_path(&file.path).is_some() || is_config_candidate(&file.path);
    if !is_read || file.stamp.size > SIZE_LIMIT {
        return (PreparedFile::bare(&file.path), u128::from(file.stamp.size));
    }
    match std::fs::read(&file.on_disk) {
        Ok(bytes) => {
            let key = content_key(&file.path, &bytes);
            (PreparedFile::new(&file.path, &bytes, cache.get(key)), key)
        }
        Err(error) => {
            log::warn!("cannot read a source: {error}: {}", file.on_disk.display());
            (PreparedFile::bare(&file.path), 0)
        }
    }
}

/// Files whose text may take part in resolution.
fn is_config_candidate(path: &str) -> bool {
    matches!(
        crate::language::extension(path),
        "json" | "toml" | "cfg" | "yaml" | "mod" | "work"
    )
}
