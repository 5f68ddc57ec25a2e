//! tsconfig.json and jsconfig.json: which file owns a source, and what it says about module names.
//!
//! Follows TypeScript's documented behaviour: <https://www.typescriptlang.org/tsconfig/>.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{glob, jsonc};
use crate::language::{extension, file_name, parent};
use crate::world::{World, ancestors, join};

/// How deep `extends` and `references` are followed; real chains are short, cycles are not.
const CHAIN_LIMIT: u32 = 32;

/// One configuration with its `extends` worked in. Paths are root-relative.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TsConfig {
    pub(super) directory: String,
    pub(super) base_url: Option<String>,
    /// Patterns with their targets, in order, and the directory that targets are relative to.
    pub(super) paths: Vec<(String, Vec<String>)>,
    pub(super) root_dirs: Vec<String>,
    pub(super) out_dir: Option<String>,
    pub(super) root_dir: Option<String>,
    pub(super) conditions: Vec<String>,
    jsx: Option<String>,
    jsx_factory: Option<String>,
    allow_js: bool,
    files: Option<Vec<String>>,
    include: Option<Vec<String>>,
    exclude: Option<Vec<String>>,
    references: Vec<String>,
}

impl TsConfig {
    /// Whether the configuration's file lists cover a source.
    fn owns(&self, path: &str) -> bool {
        let is_script = matches!(extension(path), "js" | "jsx" | "mjs" | "cjs");
        if is_script && !self.allow_js {
            return false;
        }
        if self
            .files
            .as_ref()
            .is_some_and(|files| files.iter().any(|file| file == path))
        {
            return true;
        }
        let inside = |pattern: &String| {
            glob::matches(pattern, path) || glob::matches(&format!("{pattern}/**"), path)
        };
        let included = match (&self.include, &self.files) {
            (Some(include), _) => include.iter().any(inside),
            (None, Some(_)) => false,
            (None, None) => {
                self.directory.is_empty() || path.starts_with(&format!("{}/", self.directory))
            }
        };
        included && !self.exclude.iter().flatten().any(inside)
    }

    /// Whether it only points at other configurations.
    fn is_solution(&self) -> bool {
        !self.references.is_empty()
            && self.files.as_ref().is_some_and(Vec::is_empty)
            && self.include.is_none()
    }

    /// The local name that JSX uses; `None` under the automatic transform.
    pub(super) fn jsx_factory(&self) -> Option<&str> {
        match self.jsx.as_deref() {
            Some("react-jsx" | "react-jsxdev") => None,
            _ => Some(self.jsx_factory.as_deref().unwrap_or("React")),
        }
    }
}

/// All configurations of a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TsConfigs {
    by_path: BTreeMap<String, TsConfig>,
}

impl TsConfigs {
    /// Reads every tsconfig and jsconfig. `package_directory` finds a workspace package by name, for `extends`.
    pub(super) fn read(world: &World, package_directory: &dyn Fn(&str) -> Option<String>) -> Self {
        let reader = Reader {
            world,
            package_directory,
        };
        let by_path = world
            .configs()
            .filter(|(path, _)| extension(path) == "json" && file_name(path) != "package.json")
            .filter_map(|(path, _)| Some((path.to_owned(), reader.read(path, 0)?)))
            .collect();
        Self { by_path }
    }

    /// The configuration that a source is compiled under: the nearest that owns it, looking through references; else
    /// the nearest there is.
    pub(super) fn owner_of(&self, path: &str) -> Option<&TsConfig> {
        let mut nearest = None;
        for directory in ancestors(path).chain(std::iter::once("")) {
            for name in ["tsconfig.json", "jsconfig.json"] {
                let Some(config) = self.by_path.get(&join(directory, name)?) else {
                    continue;
                };
                if let Some(owner) = self.owner_below(config, path, 0) {
                    return Some(owner);
                }
                if nearest.is_none() && !config.is_solution() {
                    nearest = Some(config);
                }
            }
        }
        nearest
    }

    fn owner_below<'c>(
        &'c self,
        config: &'c TsConfig,
        path: &str,
        depth: u32,
    ) -> Option<&'c TsConfig> {
        if depth > CHAIN_LIMIT {
            return None;
        }
        // A referenced project is more precise than the configuration that refers to it.
        config
            .references
            .iter()
            .filter_map(|reference| self.by_path.get(reference))
            .find_map(|referenced| self.owner_below(referenced, path, depth + 1))
            .or_else(|| config.owns(path).then_some(config))
    }
}

struct Reader<'w> {
    world: &'w World,
    package_directory: &'w dyn Fn(&str) -> Option<String>,
}

impl Reader<'_> {
    fn read(&self, path: &str, depth: u32) -> Option<TsConfig> {
        let value = jsonc::parse(self.world.config(path)?)?;
        let directory = parent(path);
        let mut config = TsConfig::default();
        for base in strings(&value["extends"]) {
            // A base that isn't there (an uninstalled package) leaves the rest as it is.
            if let Some(base) = self.locate(directory, &base)
                && depth < CHAIN_LIMIT
                && let Some(base) = self.read(&base, depth + 1)
            {
                inherit(&mut config, base);
            }
        }
        directory.clone_into(&mut config.directory);
        config.references = value["references"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|reference| self.reference(directory, reference["path"].as_str()?))
            .collect();
        for (key, slot) in [
            ("files", &mut config.files),
            ("include", &mut config.include),
            ("exclude", &mut config.exclude),
        ] {
            if let Some(list) = value[key].as_array() {
                let list = list.iter().filter_map(Value::as_str);
                *slot = Some(
                    list.filter_map(|pattern| place(directory, pattern))
                        .collect(),
                );
            }
        }
        read_options(&mut config, directory, &value["compilerOptions"]);
        Some(config)
    }

    /// The file that an `extends` names.
    fn locate(&self, directory: &str, base: &str) -> Option<String> {
        let candidate = if base.starts_with('.') {
            join(directory, base)?
        } else {
            let parts: Vec<&str> = base
                .splitn(if base.starts_with('@') { 3 } else { 2 }, '/')
                .collect();
            let name_parts = if base.starts_with('@') { 2 } else { 1 };
            let package =
                (self.package_directory)(&parts[..name_parts.min(parts.len())].join("/"))?;
            join(
                &package,
                parts.get(name_parts).copied().unwrap_or("tsconfig.json"),
            )?
        };
        [
            candidate.clone(),
            format!("{candidate}.json"),
            format!("{candidate}/tsconfig.json"),
        ]
        .into_iter()
        .find(|path| self.world.config(path).is_some())
    }

    fn reference(&self, directory: &str, reference: &str) -> Option<String> {
        let path = join(directory, reference)?;
        [
            path.clone(),
            join(&path, "tsconfig.json")?,
            format!("{path}.json"),
        ]
        .into_iter()
        .find(|path| self.world.config(path).is_some())
    }
}

/// Places a path of a configuration into the folder; `${configDir}` stands for the configuration's directory.
fn place(directory: &str, path: &str) -> Option<String> {
    let path = path
        .strip_prefix("${configDir}")
        .map_or(path, |rest| rest.trim_start_matches('/'));
    join(directory, path)
}

fn read_options(config: &mut TsConfig, directory: &str, options: &Value) {
    let placed = |key: &str| {
        options[key]
            .as_str()
            .and_then(|path| place(directory, path))
    };
    if let Some(base_url) = placed("baseUrl") {
        config.base_url = Some(base_url);
    }
    if let Some(paths) = options["paths"].as_object() {
        let base = config
            .base_url
            .clone()
            .unwrap_or_else(|| directory.to_owned());
        config.paths = paths
            .iter()
            .map(|(pattern, targets)| {
                let targets = strings(targets)
                    .iter()
                    .filter_map(|target| place(&base, target))
                    .collect();
                (pattern.clone(), targets)
            })
            .collect();
    }
    if options["rootDirs"].is_array() {
        config.root_dirs = strings(&options["rootDirs"])
            .iter()
            .filter_map(|path| place(directory, path))
            .collect();
    }
    if let Some(out_dir) = placed("outDir") {
        config.out_dir = Some(out_dir);
    }
    if let Some(root_dir) = placed("rootDir") {
        config.root_dir = Some(root_dir);
    }
    if options["customConditions"].is_array() {
        config.conditions = strings(&options["customConditions"]);
    }
    if let Some(jsx) = options["jsx"].as_str() {
        config.jsx = Some(jsx.to_lowercase());
    }
    if let Some(factory) = options["jsxFactory"]
        .as_str()
        .or_else(|| options["reactNamespace"].as_str())
    {
        config.jsx_factory = factory.split('.').next().map(str::to_owned);
    }
    if let Some(allow_js) = options["allowJs"]
        .as_bool()
        .or_else(|| options["checkJs"].as_bool())
    {
        config.allow_js = allow_js;
    }
}

/// Takes over what a base says; `references` are never inherited.
fn inherit(config: &mut TsConfig, base: TsConfig) {
    let TsConfig {
        directory: _,
        references: _,
        base_url,
        paths,
        root_dirs,
        out_dir,
        root_dir,
        ..
    } = base;
    let (conditions, jsx, jsx_factory, allow_js) =
        (base.conditions, base.jsx, base.jsx_factory, base.allow_js);
    let (files, include, exclude) = (base.files, base.include, base.exclude);
    config.base_url = base_url.or(config.base_url.take());
    if !paths.is_empty() {
        config.paths = paths;
    }
    if !root_dirs.is_empty() {
        config.root_dirs = root_dirs;
    }
    config.out_dir = out_dir.or(config.out_dir.take());
    config.root_dir = root_dir.or(config.root_dir.take());
    if !conditions.is_empty() {
        config.conditions = conditions;
    }
    config.jsx = jsx.or(config.jsx.take());
    config.jsx_factory = jsx_factory.or(config.jsx_factory.take());
    config.allow_js |= allow_js;
    config.files = files.or(config.files.take());
    config.include = include.or(config.include.take());
    config.exclude = exclude.or(config.exclude.take());
}

/// A string or a list of strings.
pub(super) fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    }
}
