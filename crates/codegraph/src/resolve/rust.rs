//! Rust paths, resolved along the module tree: `crate`, `super`, `self`, child modules, packages of the workspace.
//!
//! Best effort without a compiler: the longest part of a path that is a file is the module, and what is left are its
//! items. Macros and conditional compilation are not looked through.

use std::collections::BTreeMap;

use super::{Classification, ResolvedImport, Rule};
use crate::facts::Import;
use crate::language::{file_name, parent};
use crate::world::{Prober, World, ancestors, join};

/// The packages of a folder: the root file of each library by the name that code calls it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Packages {
    libraries: BTreeMap<String, Vec<String>>,
    directories: BTreeMap<String, String>,
}

impl Packages {
    pub(super) fn read(world: &World) -> Self {
        let mut packages = Self::default();
        for (path, text) in world
            .configs()
            .filter(|(path, _)| file_name(path) == "Cargo.toml")
        {
            let Ok(manifest) = text.parse::<toml::Table>() else {
                continue;
            };
            let text_at =
                |table: &str, key: &str| manifest.get(table)?.get(key)?.as_str().map(str::to_owned);
            let Some(name) = text_at("package", "name") else {
                continue;
            };
            let directory = parent(path);
            let root = text_at("lib", "path").unwrap_or_else(|| "src/lib.rs".to_owned());
            let Some(root) = join(directory, &root) else {
                continue;
            };
            let called = text_at("lib", "name").unwrap_or(name).replace('-', "_");
            packages
                .libraries
                .entry(called.clone())
                .or_default()
                .push(root.clone());
            packages.directories.insert(directory.to_owned(), root);
        }
        packages
    }

    /// The root file of the library of the package around a file.
    fn library_around(&self, path: &str) -> Option<&str> {
        let mut directories = ancestors(path).chain(std::iter::once(""));
        directories
            .find_map(|directory| self.directories.get(directory))
            .map(String::as_str)
    }
}

/// Resolves one import of a file.
pub(super) fn resolve(
    prober: &mut Prober<'_>,
    packages: &Packages,
    from: &str,
    import: &Import,
) -> ResolvedImport {
    if let Some(declared) = import.module.strip_prefix("mod ") {
        return declared_module(prober, packages, from, declared);
    }
    let parts: Vec<&str> = import.module.trim_start_matches("::").split("::").collect();
    let (first, rest) = (parts[0], &parts[1..]);
    let root = crate_root(prober, packages, from);
    let found = match first {
        "crate" | "$crate" => root.clone().map(|root| (root, rest, Rule::Relative)),
        "self" => Some((from.to_owned(), rest, Rule::Relative)),
        "super" => {
            let ups = parts.iter().take_while(|part| **part == "super").count();
            let mut module = Some(from.to_owned());
            for _ in 0..ups {
                module = module.and_then(|module| parent_module(prober, root.as_deref(), &module));
            }
            module.map(|module| (module, &parts[ups..], Rule::Relative))
        }
        "std" | "core" | "alloc" | "proc_macro" | "test" => {
            return ResolvedImport::without_file(Classification::Stdlib, Rule::Builtin);
        }
        name => {
            if child(prober, root.as_deref(), from, name).is_some() {
                Some((from.to_owned(), &parts[..], Rule::Relative))
            } else {
                let library = packages.libraries.get(name).and_then(|roots| roots.first());
                library.map(|library| (library.clone(), rest, Rule::Workspace))
            }
        }
    };
    let Some((module, rest, rule)) = found else {
        let is_local = matches!(first, "crate" | "super");
        return if is_local {
            ResolvedImport::missing()
        } else {
            ResolvedImport::without_file(Classification::ThirdParty, Rule::Package)
        };
    };
    let root = if rule == Rule::Workspace {
        Some(module.clone())
    } else {
        root
    };
    descend(prober, root.as_deref(), module, rest, rule, import)
}

/// Walks down from a module as far as there are files, then looks which names are modules themselves.
fn descend(
    prober: &mut Prober<'_>,
    root: Option<&str>,
    mut module: String,
    rest: &[&str],
    rule: Rule,
    import: &Import,
) -> ResolvedImport {
    let mut left = rest.len();
    for part in rest {
        let Some(next) = child(prober, root, &module, part) else {
            break;
        };
        module = next;
        left -= 1;
    }
    let Some(file) = prober.file(&module) else {
        return ResolvedImport::missing();
    };
    let mut resolved = ResolvedImport::found(rule, file);
    if left == 0 {
        for (index, name) in (0..).zip(&import.names) {
            let submodule =
                child(prober, root, &module, &name.imported).and_then(|path| prober.file(&path));
            resolved
                .submodules
                .extend(submodule.map(|file| (index, file)));
        }
    }
    resolved
}

fn declared_module(
    prober: &mut Prober<'_>,
    packages: &Packages,
    from: &str,
    declared: &str,
) -> ResolvedImport {
    let path = match declared.strip_prefix('"') {
        Some(path) => join(parent(from), path.trim_end_matches('"')),
        None => {
            let root = crate_root(prober, packages, from);
            child(prober, root.as_deref(), from, declared)
        }
    };
    match path.and_then(|path| prober.file(&path)) {
        Some(file) => ResolvedImport::found(Rule::Relative, file),
        None => ResolvedImport::missing(),
    }
}

/// The root of the crate that a file belongs to: of its package's library or main program, or the file itself where it
/// is a program, test, example or bench of its own.
fn crate_root(prober: &mut Prober<'_>, packages: &Packages, from: &str) -> Option<String> {
    let library = packages.library_around(from)?;
    let source = parent(library);
    let inside = from
        .strip_prefix(source)
        .and_then(|inside| inside.strip_prefix('/'))
        .filter(|_| !source.is_empty());
    match inside {
        Some(inside) if !inside.starts_with("bin/") && inside != "main.rs" => {
            let main = join(source, "main.rs")?;
            if prober.file(library).is_some() {
                Some(library.to_owned())
            } else {
                prober.file(&main).map(|_| main)
            }
        }
        _ => Some(from.to_owned()),
    }
}

/// The directory that the children of a module lie in.
fn children_directory(root: Option<&str>, module: &str) -> Option<String> {
    let name = file_name(module);
    if Some(module) == root || matches!(name, "mod.rs" | "lib.rs" | "main.rs") {
        return Some(parent(module).to_owned());
    }
    join(parent(module), name.strip_suffix(".rs")?)
}

/// The file of a child module.
fn child(prober: &mut Prober<'_>, root: Option<&str>, module: &str, name: &str) -> Option<String> {
    let directory = children_directory(root, module)?;
    [format!("{name}.rs"), format!("{name}/mod.rs")]
        .iter()
        .filter_map(|tail| join(&directory, tail))
        .find(|path| path != module && prober.file(path).is_some())
}

/// The file of the module around a module.
fn parent_module(prober: &mut Prober<'_>, root: Option<&str>, module: &str) -> Option<String> {
    let mut directory = parent(module);
    if file_name(module) == "mod.rs" {
        directory = parent(directory);
    }
    if root.is_some_and(|root| parent(root) == directory) {
        return root.map(str::to_owned);
    }
    [format!("{directory}.rs"), format!("{directory}/mod.rs")]
        .into_iter()
        .find(|path| prober.file(path).is_some())
}
