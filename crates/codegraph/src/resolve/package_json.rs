//! package.json: entry points, the `exports` and `imports` maps, and which packages form a workspace.
//!
//! The maps follow Node's documented algorithm: <https://nodejs.org/api/packages.html>.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::tsconfig::strings;
use super::{glob, jsonc};
use crate::language::{file_name, parent};
use crate::world::{World, join};

/// What resolution needs of one package.json.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) exports: Value,
    pub(super) imports: Value,
    /// Entry points without a map, best first.
    pub(super) entries: Vec<String>,
    dependencies: BTreeMap<String, String>,
}

/// The packages of a folder by directory, and the members of its workspaces by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Packages {
    by_directory: BTreeMap<String, Package>,
    members: BTreeMap<String, Vec<String>>,
}

impl Packages {
    pub(super) fn read(world: &World) -> Self {
        let mut by_directory = BTreeMap::new();
        let mut workspaces = Vec::new();
        for (path, text) in world.configs() {
            let directory = parent(path);
            match file_name(path) {
                "package.json" => {
                    let Some(value) = jsonc::parse(text) else {
                        continue;
                    };
                    let globs = match &value["workspaces"] {
                        Value::Object(map) => {
                            strings(&map.get("packages").cloned().unwrap_or_default())
                        }
                        list => strings(list),
                    };
                    workspaces.push((directory.to_owned(), globs));
                    by_directory.insert(directory.to_owned(), read_package(&value));
                }
                "pnpm-workspace.yaml" => {
                    workspaces.push((directory.to_owned(), pnpm_packages(text)));
                }
                "lerna.json" => {
                    if let Some(value) = jsonc::parse(text) {
                        workspaces.push((directory.to_owned(), strings(&value["packages"])));
                    }
                }
                _ => {}
            }
        }
        let members = members(&by_directory, &workspaces);
        Self {
            by_directory,
            members,
        }
    }

    /// The nearest package around a file: its directory and contents.
    pub(super) fn around<'p>(&'p self, path: &'p str) -> Option<(&'p str, &'p Package)> {
        let mut directory = parent(path);
        loop {
            if let Some(package) = self.by_directory.get(directory) {
                return Some((directory, package));
            }
            if directory.is_empty() {
                return None;
            }
            directory = parent(directory);
        }
    }

    pub(super) fn at(&self, directory: &str) -> Option<&Package> {
        self.by_directory.get(directory)
    }

    /// The directory of a package that a file can import by name: a member of a workspace, or a dependency of the
    /// file's own package given by path.
    pub(super) fn by_name(&self, from: &str, name: &str) -> Option<String> {
        if let Some((directory, package)) = self.around(from)
            && let Some(version) = package.dependencies.get(name)
        {
            let by_path = ["file:", "link:", "portal:"]
                .iter()
                .find_map(|prefix| version.strip_prefix(prefix));
            if let Some(found) = by_path.and_then(|path| join(directory, path)) {
                return Some(found);
            }
            if version.starts_with("workspace:") {
                let same_name = self
                    .by_directory
                    .iter()
                    .filter(|(_, package)| package.name == name);
                return nearest(from, same_name.map(|(directory, _)| directory.as_str()));
            }
        }
        nearest(from, self.members.get(name)?.iter().map(String::as_str))
    }
}

/// The directory that shares the longest way with the file.
fn nearest<'d>(from: &str, directories: impl Iterator<Item = &'d str>) -> Option<String> {
    directories
        .max_by_key(|directory| common(from, directory))
        .map(str::to_owned)
}

fn common(left: &str, right: &str) -> usize {
    left.split('/')
        .zip(right.split('/'))
        .take_while(|(left, right)| left == right)
        .count()
}

fn read_package(value: &Value) -> Package {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let mut dependencies = BTreeMap::new();
    for key in [
        "dependencies",
        "devDependencies",
        "peerDependencies",
        "optionalDependencies",
    ] {
        for (name, version) in value[key].as_object().into_iter().flatten() {
            if let Some(version) = version.as_str() {
                dependencies.insert(name.clone(), version.to_owned());
            }
        }
    }
    let entries = ["source", "types", "typings", "module", "main", "svelte"]
        .iter()
        .filter_map(|key| text(key));
    Package {
        name: text("name").unwrap_or_default(),
        exports: value["exports"].clone(),
        imports: value["imports"].clone(),
        entries: entries.collect(),
        dependencies,
    }
}

/// The `packages` list of a pnpm-workspace.yaml; the one list that the file is for, so no YAML reader is needed.
fn pnpm_packages(text: &str) -> Vec<String> {
    let mut packages = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let line = line.split(" #").next().unwrap_or(line);
        if line.starts_with("packages:") {
            inside = true;
        } else if inside && !line.trim().is_empty() {
            match line.trim().strip_prefix('-') {
                Some(item) => packages.push(item.trim().trim_matches(['\'', '"']).to_owned()),
                None if line.trim_start().starts_with('#') => {}
                None => inside = false,
            }
        }
    }
    packages
}

fn members(
    packages: &BTreeMap<String, Package>,
    workspaces: &[(String, Vec<String>)],
) -> BTreeMap<String, Vec<String>> {
    let mut directories = BTreeSet::new();
    for (root, globs) in workspaces.iter().filter(|(_, globs)| !globs.is_empty()) {
        let matching = |directory: &str, glob: &str| {
            join(root, glob).is_some_and(|glob| glob::matches(&glob, directory))
        };
        for directory in packages.keys() {
            let excluded = globs
                .iter()
                .filter_map(|glob| glob.strip_prefix('!'))
                .any(|glob| matching(directory, glob));
            let included = globs
                .iter()
                .filter(|glob| !glob.starts_with('!'))
                .any(|glob| matching(directory, glob));
            if directory == root || (included && !excluded) {
                directories.insert(directory.clone());
            }
        }
    }
    let mut members: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for directory in directories {
        if let Some(package) = packages
            .get(&directory)
            .filter(|package| !package.name.is_empty())
        {
            members
                .entry(package.name.clone())
                .or_default()
                .push(directory);
        }
    }
    members
}

/// The targets of `key` (`.`, `./sub`, `#name`) in an `exports` or `imports` map, in the order of its conditions.
pub(super) fn map_targets(map: &Value, key: &str, conditions: &[String]) -> Vec<String> {
    let mut targets = Vec::new();
    match map {
        Value::Object(entries) if entries.keys().any(|entry| entry.starts_with(['.', '#'])) => {
            if let Some(target) = entries.get(key).filter(|_| !key.contains('*')) {
                collect(target, "", conditions, &mut targets);
                return targets;
            }
            let best = entries
                .iter()
                .filter_map(|(pattern, target)| Some((pattern, captured(pattern, key)?, target)))
                .max_by_key(|(pattern, _, _)| pattern.find('*').unwrap_or(pattern.len()));
            if let Some((_, captured, target)) = best {
                collect(target, captured, conditions, &mut targets);
            }
        }
        target if key == "." => collect(target, "", conditions, &mut targets),
        _ => {}
    }
    targets
}

/// What `*` stands for when a pattern matches a key; a pattern that ends in `/` matches what is below it.
pub(super) fn captured<'k>(pattern: &str, key: &'k str) -> Option<&'k str> {
    if let Some((before, after)) = pattern.split_once('*') {
        let rest = key.strip_prefix(before)?;
        return rest.strip_suffix(after);
    }
    if pattern.ends_with('/') {
        return key.strip_prefix(pattern);
    }
    (pattern == key).then_some("")
}

fn collect(target: &Value, captured: &str, conditions: &[String], targets: &mut Vec<String>) {
    match target {
        Value::String(text) if text.ends_with('/') => targets.push(format!("{text}{captured}")),
        Value::String(text) => targets.push(text.replace('*', captured)),
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect(item, captured, conditions, targets)),
        Value::Object(map) => {
            for (condition, target) in map {
                if condition == "default" || conditions.iter().any(|known| known == condition) {
                    collect(target, captured, conditions, targets);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_longest_pattern_of_an_exports_map_wins() {
        let map = json!({".": "./a.js", "./x/*": "./lib/x/*.js", "./x/y/*": {"node": "./n/*.js", "default": "./d/*.js"}});
        assert_eq!(map_targets(&map, ".", &[]), ["./a.js"]);
        assert_eq!(
            map_targets(&map, "./x/y/z", &["node".to_owned()]),
            ["./n/z.js", "./d/z.js"]
        );
        assert_eq!(map_targets(&map, "./x/q", &[]), ["./lib/x/q.js"]);
        assert!(map_targets(&map, "./w", &[]).is_empty());
    }

    #[test]
    fn a_pnpm_workspace_file_gives_its_globs() {
        let text = "catalog:\n  a: 1\npackages:\n  # all\n  - 'packages/*'\n  - \"!**/x\" # not\nother: 1\n  - no";
        assert_eq!(pnpm_packages(text), ["packages/*", "!**/x"]);
    }
}
