//! What resolution may look at: the files that exist, and the texts of configuration files.
//!
//! Resolution never touches the disk. It asks the world, and every question it asks is written down as a probe, so
//! that a file which appears or goes away re-resolves exactly the files that had asked for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use xxhash_rust::xxh3::xxh3_64;

use crate::interner::Interner;
use crate::language::{extension, file_name, parent};

/// The key of a probed path.
#[must_use]
pub(crate) fn probe_key(path: &str) -> u64 {
    xxh3_64(path.as_bytes())
}

/// The files of a folder by root-relative path with `/`.
#[derive(Clone, Debug, Default)]
pub struct World {
    paths: Interner,
    present: FxHashSet<u32>,
    /// How many files lie directly or deeper in a directory.
    directories: FxHashMap<Box<str>, u32>,
    configs: BTreeMap<String, Arc<str>>,
}

impl World {
    /// Adds a file; answers its id. Adding it again changes nothing.
    pub fn add(&mut self, path: &str) -> u32 {
        let id = self.paths.intern(path);
        if self.present.insert(id) {
            for directory in ancestors(path) {
                *self.directories.entry(directory.into()).or_default() += 1;
            }
        }
        id
    }

    /// Removes a file.
    pub fn remove(&mut self, path: &str) {
        let Some(id) = self.paths.get(path) else {
            return;
        };
        if self.present.remove(&id) {
            for directory in ancestors(path) {
                if let Some(count) = self.directories.get_mut(directory) {
                    *count -= 1;
                    if *count == 0 {
                        self.directories.remove(directory);
                    }
                }
            }
        }
        self.configs.remove(path);
    }

    /// Keeps the text of a configuration file; see [`is_config`].
    pub fn set_config(&mut self, path: &str, text: &str) {
        self.configs.insert(path.to_owned(), Arc::from(text));
    }

    /// Forgets the text of a configuration file that is none any more.
    pub fn remove_config(&mut self, path: &str) {
        self.configs.remove(path);
    }

    /// The text of a configuration file.
    #[must_use]
    pub fn config(&self, path: &str) -> Option<&str> {
        self.configs.get(path).map(|text| &**text)
    }

    /// All configuration files in path order.
    pub fn configs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.configs
            .iter()
            .map(|(path, text)| (path.as_str(), &**text))
    }

    /// Whether the file exists.
    #[must_use]
    pub fn is_file(&self, path: &str) -> bool {
        self.file_id(path).is_some()
    }

    /// The id of a file that exists.
    #[must_use]
    pub fn file_id(&self, path: &str) -> Option<u32> {
        self.paths.get(path).filter(|id| self.present.contains(id))
    }

    /// The id of a path that was seen at any time.
    #[must_use]
    pub fn known_id(&self, path: &str) -> Option<u32> {
        self.paths.get(path)
    }

    /// The path of an id.
    #[must_use]
    pub fn path(&self, id: u32) -> &str {
        self.paths.text(id)
    }

    /// Whether a directory holds any file. The root always exists.
    #[must_use]
    pub fn is_directory(&self, path: &str) -> bool {
        path.is_empty() || self.directories.contains_key(path)
    }

    /// All files that exist, in no order.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.present.iter().map(|id| self.paths.text(*id))
    }
}

/// The directories above a path, nearest first, without the root.
pub(crate) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let mut current = parent(path);
    std::iter::from_fn(move || {
        (!current.is_empty()).then(|| {
            let here = current;
            current = parent(current);
            here
        })
    })
}

/// Whether a file's text takes part in resolution. `text` decides for JSON files of any name, as `extends` may
/// name any of them.
#[must_use]
pub fn is_config(path: &str, text: &[u8]) -> bool {
    match file_name(path) {
        "package.json"
        | "Cargo.toml"
        | "go.mod"
        | "go.work"
        | "pyproject.toml"
        | "setup.cfg"
        | "pnpm-workspace.yaml"
        | "lerna.json" => true,
        _ => {
            extension(path) == "json"
                && text.len() <= 64 * 1024
                && (memchr::memmem::find(text, b"compilerOptions").is_some()
                    || file_name(path).starts_with("tsconfig")
                    || file_name(path).starts_with("jsconfig"))
        }
    }
}

/// A world that writes down what it was asked.
pub(crate) struct Prober<'w> {
    world: &'w World,
    asked: FxHashSet<u64>,
}

impl<'w> Prober<'w> {
    pub(crate) fn new(world: &'w World) -> Self {
        Self {
            world,
            asked: FxHashSet::default(),
        }
    }

    /// The id of a file if it exists.
    pub(crate) fn file(&mut self, path: &str) -> Option<u32> {
        self.asked.insert(probe_key(path));
        self.world.file_id(path)
    }

    /// The text of a configuration file.
    pub(crate) fn config(&self, path: &str) -> Option<&'w str> {
        self.world.config(path)
    }

    pub(crate) fn is_directory(&mut self, path: &str) -> bool {
        self.asked.insert(probe_key(path));
        self.world.is_directory(path)
    }

    /// Notes that the answer depends on which files of a name there are, wherever they lie.
    pub(crate) fn ask_name(&mut self, name: &str) {
        self.asked.insert(name_key(name));
    }

    /// Everything that was asked, sorted.
    pub(crate) fn into_probes(self) -> Box<[u64]> {
        let mut probes: Vec<u64> = self.asked.into_iter().collect();
        probes.sort_unstable();
        probes.into_boxed_slice()
    }
}

/// The key of a file name in any directory.
pub(crate) fn name_key(name: &str) -> u64 {
    probe_key(&format!("*/{name}"))
}

/// Joins a relative specifier to a directory, with `.` and `..` worked out. `None` where it leaves the root.
#[must_use]
pub(crate) fn join(directory: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_lives_as_long_as_a_file_in_it() {
        let mut world = World::default();
        world.add("a/b/c.ts");
        world.add("a/d.ts");
        assert!(world.is_directory("a/b"));
        world.remove("a/b/c.ts");
        assert!(!world.is_directory("a/b") && world.is_directory("a"));
    }

    #[test]
    fn joining_works_out_dots_and_stays_inside() {
        assert_eq!(join("a/b", "../c").as_deref(), Some("a/c"));
        assert_eq!(join("", "./x/./y").as_deref(), Some("x/y"));
        assert_eq!(join("a", "../../x"), None);
    }
}
