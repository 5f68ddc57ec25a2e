//! Source roots: the directories that absolute Python module names start from.

use std::collections::{BTreeMap, BTreeSet};

use toml::Value;

use crate::language::{file_name, parent};
use crate::world::{World, ancestors, join};

/// Directories whose packages are nobody's dependency: they are roots for the files below them only.
const PRIVATE: [&str; 9] = [
    "fixtures",
    "testdata",
    "test_data",
    "examples",
    "example",
    "vendor",
    "_vendor",
    "third_party",
    "docs",
];

/// The source roots of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SourceRoots {
    /// All roots in path order.
    roots: BTreeSet<String>,
    /// The root of every directory that is a package.
    package_roots: BTreeMap<String, String>,
}

impl SourceRoots {
    pub(super) fn read(world: &World) -> Self {
        let mut packages = BTreeSet::new();
        let mut roots = BTreeSet::from([String::new()]);
        for path in world.files() {
            match file_name(path) {
                "__init__.py" | "__init__.pyi" | "__init__.pyx" => {
                    packages.insert(parent(path).to_owned());
                }
                "pyproject.toml" | "setup.py" | "setup.cfg" => add_project(world, path, &mut roots),
                _ => {}
            }
        }
        if world.is_directory("src") {
            roots.insert("src".to_owned());
        }
        let mut package_roots = BTreeMap::new();
        for package in &packages {
            let outermost = ancestors(package)
                .take_while(|above| packages.contains(*above))
                .last();
            let root = parent(outermost.unwrap_or(package)).to_owned();
            roots.insert(root.clone());
            package_roots.insert(package.clone(), root);
        }
        Self {
            roots,
            package_roots,
        }
    }

    /// Whether a directory holds an `__init__` module.
    pub(super) fn is_package(&self, directory: &str) -> bool {
        self.package_roots.contains_key(directory)
    }

    /// The roots for a file's absolute imports, best first, and how many of them enclose the file.
    pub(super) fn for_file(&self, path: &str) -> FileRoots {
        let directory = parent(path);
        let mut ordered: Vec<String> = Vec::new();
        ordered.extend(self.package_roots.get(directory).cloned());
        for above in std::iter::once(directory)
            .chain(ancestors(directory))
            .chain(std::iter::once(""))
        {
            for root in [above.to_owned(), join(above, "src").unwrap_or_default()] {
                if self.roots.contains(&root) && !ordered.contains(&root) {
                    ordered.push(root);
                }
            }
        }
        let enclosing = ordered.len();
        let is_private = |root: &str| root.split('/').any(|part| PRIVATE.contains(&part));
        let others = self.roots.iter().filter(|root| !is_private(root));
        let others: Vec<String> = others
            .filter(|root| !ordered.contains(root))
            .cloned()
            .collect();
        ordered.extend(others);
        FileRoots { ordered, enclosing }
    }
}

/// The roots of one file.
pub(super) struct FileRoots {
    pub(super) ordered: Vec<String>,
    /// The first so many roots lie above the file; names found there beat the standard library.
    pub(super) enclosing: usize,
}

/// Adds the roots that a project file states or implies.
fn add_project(world: &World, path: &str, roots: &mut BTreeSet<String>) {
    let directory = parent(path);
    let mut add = |relative: &str| {
        if let Some(root) = join(directory, relative).filter(|root| world.is_directory(root)) {
            roots.insert(root);
        }
    };
    add("");
    add("src");
    match (file_name(path), world.config(path)) {
        ("pyproject.toml", Some(text)) => {
            if let Ok(value) = text.parse::<toml::Table>() {
                stated_roots(&Value::Table(value))
                    .iter()
                    .for_each(|root| add(root));
            }
        }
        ("setup.cfg", Some(text)) => {
            for line in text.lines() {
                if let Some((key, value)) = line.split_once('=') {
                    let (key, value) = (key.trim(), value.trim());
                    if (key == "where" || key.is_empty()) && !value.is_empty() {
                        add(value);
                    }
                }
            }
        }
        _ => {}
    }
}

/// What build back ends and tools call source directories in pyproject.toml.
fn stated_roots(value: &Value) -> Vec<String> {
    let at = |keys: &[&str]| keys.iter().try_fold(value, |value, key| value.get(*key));
    let mut roots = Vec::new();
    for keys in [
        &["tool", "setuptools", "packages", "find", "where"][..],
        &["tool", "pytest", "ini_options", "pythonpath"],
        &["tool", "ruff", "src"],
        &["tool", "mypy", "mypy_path"],
        &["tool", "pyright", "extraPaths"],
        &["tool", "hatch", "build", "targets", "wheel", "sources"],
    ] {
        match at(keys) {
            Some(Value::Array(items)) => {
                roots.extend(items.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            Some(Value::String(text)) => {
                roots.extend(text.split([' ', ':', ',']).map(str::to_owned));
            }
            _ => {}
        }
    }
    if let Some(Value::String(root)) = at(&["tool", "setuptools", "package-dir", ""]) {
        roots.push(root.clone());
    }
    for package in at(&["tool", "poetry", "packages"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        roots.extend(
            package
                .get("from")
                .and_then(Value::as_str)
                .map(str::to_owned),
        );
    }
    for package in at(&["tool", "hatch", "build", "targets", "wheel", "packages"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        roots.extend(package.as_str().map(|path| parent(path).to_owned()));
    }
    roots.retain(|root| !root.is_empty());
    roots
}
