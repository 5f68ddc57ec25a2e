//! One walk over a folder: which files there are, with their sizes and times.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use ignore::{WalkBuilder, WalkState};

use crate::filter::Filter;
use crate::kg::byte_stand_in;

/// What tells one state of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// When it was last written, where the system says.
    pub modified: Option<SystemTime>,
}

impl Stamp {
    /// The stamp of a file that exists.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn of(path: &Path) -> std::io::Result<Self> {
        let metadata = std::fs::symlink_metadata(path)?;
        Ok(Self {
            size: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }
}

/// A file found by a walk.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its path in the graph: below the root, with `/`, bytes that are no UTF-8 as stand-ins.
    pub path: String,
    /// Its path on disk.
    pub on_disk: PathBuf,
    /// Its state.
    pub stamp: Stamp,
}

/// What a walk found.
#[derive(Clone, Debug, Default)]
pub struct Walked {
    /// The files, by path.
    pub files: Vec<Found>,
    /// The directories that were entered, also those without files; the root is the empty path.
    pub directories: BTreeSet<String>,
}

/// Walks a folder. Links are not followed; what can't be read is left out. Sorted by path.
#[must_use]
pub fn walk(root: &Path, filter: Filter) -> Walked {
    let walked = Mutex::new(Walked::default());
    let vendored = Arc::new(TrackedVendors::new(root));
    let lock = || walked.lock().unwrap_or_else(PoisonError::into_inner);
    let walker = WalkBuilder::new(root)
        .hidden(false)
        .parents(false)
        .ignore(false)
        .git_global(false)
        .git_exclude(filter.honour_gitignore)
        .git_ignore(filter.honour_gitignore)
        .require_git(false)
        .follow_links(false)
        .filter_entry(move |entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.depth() == 0 || !is_directory || enters(filter, entry.path(), &vendored)
        })
        .threads(std::thread::available_parallelism().map_or(2, |count| count.get().min(8)))
        .build_parallel();
    walker.run(|| {
        Box::new(|entry| {
            let Ok(entry) = entry else {
                return WalkState::Continue;
            };
            let Some(path) = graph_path(root, entry.path()) else {
                return WalkState::Continue;
            };
            let kind = entry.file_type();
            if kind.is_some_and(|kind| kind.is_dir()) {
                lock().directories.insert(path);
            } else if kind.is_some_and(|kind| kind.is_file())
                && filter.takes(&path)
                && let Ok(metadata) = entry.metadata()
            {
                let stamp = Stamp {
                    size: metadata.len(),
                    modified: metadata.modified().ok(),
                };
                lock().files.push(Found {
                    path,
                    on_disk: entry.into_path(),
                    stamp,
                });
            }
            WalkState::Continue
        })
    });
    let mut walked = walked.into_inner().unwrap_or_else(PoisonError::into_inner);
    walked
        .files
        .sort_unstable_by(|left, right| left.path.cmp(&right.path));
    walked
}

/// The `vendor` directories that git tracks: their files are the folder's own, by the custom of Go.
struct TrackedVendors {
    root: PathBuf,
    /// Read when the first such directory is met.
    directories: OnceLock<BTreeSet<PathBuf>>,
}

impl TrackedVendors {
    fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            directories: OnceLock::new(),
        }
    }

    fn contain(&self, directory: &Path) -> bool {
        self.directories
            .get_or_init(|| Self::read(&self.root).unwrap_or_default())
            .contains(directory)
    }

    fn read(root: &Path) -> Option<BTreeSet<PathBuf>> {
        let repository = gix::discover(root).ok()?;
        let top = repository.workdir()?.canonicalize().ok()?;
        let index = repository.index_or_empty().ok()?;
        let mut directories = BTreeSet::new();
        for entry in index.entries() {
            let path = String::from_utf8_lossy(entry.path(&index));
            for (at, _) in path.match_indices("vendor/") {
                if at == 0 || path[..at].ends_with('/') {
                    directories.insert(top.join(&path[..at + "vendor".len()]));
                }
            }
        }
        Some(directories)
    }
}

fn enters(filter: Filter, path: &Path, vendored: &TrackedVendors) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    if name == "vendor" {
        return vendored.contain(path);
    }
    filter.enters(&name, || path.join("__init__.py").exists()) && !path.join("pyvenv.cfg").exists()
}

/// The path of a file in the graph; `None` for paths outside of the root.
#[must_use]
pub fn graph_path(root: &Path, path: &Path) -> Option<String> {
    let relative = path.strip_prefix(root).ok()?;
    let parts: Vec<String> = relative
        .iter()
        .map(|part| graph_name(part.as_encoded_bytes()))
        .collect();
    Some(parts.join("/"))
}

/// A file name as text: UTF-8 as it is, every other byte as its stand-in.
fn graph_name(bytes: &[u8]) -> String {
    let mut name = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            // A name that holds a stand-in itself is taken byte by byte, so that no two names become one.
            if u32::from(c) >= u32::from(byte_stand_in(0)) {
                name.extend(c.encode_utf8(&mut [0; 4]).bytes().map(byte_stand_in));
            } else {
                name.push(c);
            }
        }
        name.extend(chunk.invalid().iter().copied().map(byte_stand_in));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_name_is_kept() {
        assert_eq!(graph_name(b"plain"), "plain");
        assert_eq!(graph_name(b"a\xFFb"), format!("a{}b", byte_stand_in(0xFF)));
        let stand_in = byte_stand_in(0xFF).to_string();
        assert_ne!(graph_name(stand_in.as_bytes()), graph_name(b"\xFF"));
    }
}
