//! Go import paths, resolved against the modules of the folder: `go.mod` with its local `replace`s, `go.work`, `vendor`.
//! A package is all files of its directory.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Classification, Package, ResolvedImport, Rule};
use crate::facts::{Import, ImportFlags};
use crate::language::{extension, file_name, parent};
use crate::world::{Prober, World, ancestors, join};

/// One `go.mod` or `go.work`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Module {
    name: String,
    /// Local replacements: import path and directory.
    replaced: Vec<(String, String)>,
    /// Directories that a `go.work` uses.
    used: Vec<String>,
}

/// The files of a directory, sorted by id.
#[derive(Clone, Debug, Default)]
struct PackageFiles {
    sources: Arc<[u32]>,
    tests: Arc<[u32]>,
}

/// The modules and package directories of a folder.
#[derive(Clone, Debug, Default)]
pub(super) struct Modules {
    by_directory: BTreeMap<String, Module>,
    workspaces: BTreeMap<String, Module>,
    /// The sources and the tests of every directory.
    packages: BTreeMap<String, PackageFiles>,
}

impl Modules {
    pub(super) fn read(world: &World) -> Self {
        let mut modules = Self::default();
        for (path, text) in world.configs() {
            let directory = parent(path);
            let into = match file_name(path) {
                "go.mod" => &mut modules.by_directory,
                "go.work" => &mut modules.workspaces,
                _ => continue,
            };
            into.insert(directory.to_owned(), read_module(directory, text));
        }
        let mut packages: BTreeMap<&str, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
        for path in world.files().filter(|path| extension(path) == "go") {
            let Some(id) = world.file_id(path) else {
                continue;
            };
            let (sources, tests) = packages.entry(parent(path)).or_default();
            if path.ends_with("_test.go") {
                tests.push(id);
            } else {
                sources.push(id);
            }
        }
        let shared = |mut ids: Vec<u32>| -> Arc<[u32]> {
            ids.sort_unstable();
            Arc::from(ids)
        };
        modules.packages = packages
            .into_iter()
            .map(|(directory, (sources, tests))| {
                let (sources, tests) = (shared(sources), shared(tests));
                (directory.to_owned(), PackageFiles { sources, tests })
            })
            .collect();
        modules
    }

    /// Whether another reading resolves the same, as far as files don't ask for directories themselves.
    pub(super) fn stand_for(&self, other: &Self) -> bool {
        self.by_directory == other.by_directory && self.workspaces == other.workspaces
    }

    /// Resolves one import of a file.
    pub(super) fn resolve(
        &self,
        prober: &mut Prober<'_>,
        from: &str,
        import: &Import,
    ) -> ResolvedImport {
        let path = import.module.as_str();
        if import.flags.contains(ImportFlags::IMPLICIT) {
            return self.own_package(prober, from, path);
        }
        if path.starts_with("./") || path.starts_with("../") {
            return join(parent(from), path)
                .and_then(|directory| self.package(prober, &directory, Rule::Relative))
                .unwrap_or_else(ResolvedImport::missing);
        }
        let own = enclosing(&self.by_directory, from);
        let mut is_local = false;
        for (directory, rule) in self.candidates(own, from, path) {
            is_local = true;
            if let Some(found) = self.package(prober, &directory, rule) {
                return found;
            }
        }
        for around in ancestors(from).chain(std::iter::once("")) {
            for (place, rule) in [("vendor", Rule::Vendored), ("src", Rule::SourceRoot)] {
                let directory = join(around, place).and_then(|base| join(&base, path));
                if let Some(found) = directory.and_then(|it| self.package(prober, &it, rule)) {
                    return found;
                }
            }
        }
        if is_local {
            ResolvedImport::missing()
        } else if path.split('/').next().is_some_and(|top| top.contains('.')) {
            ResolvedImport::without_file(Classification::ThirdParty, Rule::Package)
        } else {
            ResolvedImport::without_file(Classification::Stdlib, Rule::Builtin)
        }
    }

    /// Where a path may lie, likeliest first: in the file's own module, in a replacement, in a module of the workspace,
    /// in any other module of the folder. Of modules with one name the one nearest to the file comes first.
    fn candidates(
        &self,
        own: Option<(&str, &Module)>,
        from: &str,
        path: &str,
    ) -> Vec<(String, Rule)> {
        let mut found = Vec::new();
        let mut push = |directory: &str, prefix: &str, rule| {
            if let Some(rest) = below(path, prefix) {
                found.extend(join(directory, rest).map(|directory| (directory, rule)));
            }
        };
        if let Some((directory, module)) = own {
            push(directory, &module.name, Rule::GoModule);
            for (replaced, directory) in &module.replaced {
                push(directory, replaced, Rule::GoReplace);
            }
        }
        let workspace = enclosing(&self.workspaces, from);
        if let Some((_, workspace)) = workspace {
            for (replaced, directory) in &workspace.replaced {
                push(directory, replaced, Rule::GoReplace);
            }
            for directory in &workspace.used {
                if let Some(module) = self.by_directory.get(directory) {
                    push(directory, &module.name, Rule::GoModule);
                }
            }
        }
        let mut others: Vec<(&String, &Module)> = self.by_directory.iter().collect();
        others.sort_by_key(|(directory, module)| {
            let shared = super::includes::shared_directories(from, &format!("{directory}/go.mod"));
            std::cmp::Reverse((module.name.len(), shared))
        });
        for (directory, module) in others {
            push(directory, &module.name, Rule::GoModule);
        }
        found
    }

    /// The package of a directory. Asking for the directory makes any file that comes or goes there ask again.
    fn package(
        &self,
        prober: &mut Prober<'_>,
        directory: &str,
        rule: Rule,
    ) -> Option<ResolvedImport> {
        if !prober.is_directory(directory) {
            return None;
        }
        let PackageFiles { sources, .. } = self.packages.get(directory)?;
        (!sources.is_empty()).then(|| {
            ResolvedImport::in_package(
                rule,
                Package {
                    files: Arc::clone(sources),
                    is_whole: true,
                },
            )
        })
    }

    /// The files that share a package with a file; tests see sources and each other, sources no tests.
    fn own_package(&self, prober: &mut Prober<'_>, from: &str, package: &str) -> ResolvedImport {
        prober.is_directory(parent(from));
        let Some(PackageFiles { sources, tests }) = self.packages.get(parent(from)) else {
            return ResolvedImport::missing();
        };
        let files = if package == "_test" {
            Arc::clone(tests)
        } else if from.ends_with("_test.go") {
            let mut all = [&sources[..], &tests[..]].concat();
            all.sort_unstable();
            Arc::from(all)
        } else {
            Arc::clone(sources)
        };
        let is_whole = false;
        ResolvedImport::in_package(Rule::SamePackage, Package { files, is_whole })
    }
}

/// The nearest entry around a file.
fn enclosing<'m>(
    modules: &'m BTreeMap<String, Module>,
    from: &str,
) -> Option<(&'m str, &'m Module)> {
    ancestors(from)
        .chain(std::iter::once(""))
        .find_map(|directory| modules.get_key_value(directory))
        .map(|(directory, module)| (directory.as_str(), module))
}

/// What is left of a path below a prefix of whole parts; empty for the prefix itself.
fn below<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(prefix)?;
    if rest.is_empty() {
        return Some(rest);
    }
    rest.strip_prefix('/').filter(|_| !prefix.is_empty())
}

/// Reads `module`, `replace … => ./local` and `use`, one a line or in brackets.
fn read_module(directory: &str, text: &str) -> Module {
    let mut module = Module::default();
    let mut block = "";
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let (word, rest) = if block.is_empty() {
            line.split_once(char::is_whitespace).unwrap_or((line, ""))
        } else {
            (block, line)
        };
        let rest = rest.trim();
        if line == ")" {
            block = "";
        } else if rest == "(" {
            block = word;
        } else {
            read_directive(&mut module, directory, word, rest);
        }
    }
    module
}

fn read_directive(module: &mut Module, directory: &str, word: &str, rest: &str) {
    let bare = |text: &str| text.trim_matches(['"', '`']).to_owned();
    let is_path = |path: &str| path.starts_with("./") || path.starts_with("../") || path == ".";
    match word {
        "module" => module.name = bare(rest),
        "use" => module
            .used
            .extend(join(directory, bare(rest).trim_start_matches("./"))),
        "replace" => {
            let Some((from, to)) = rest.split_once("=>") else {
                return;
            };
            let from = bare(from.split_whitespace().next().unwrap_or_default());
            let to = bare(to.split_whitespace().next().unwrap_or_default());
            if is_path(&to) {
                module
                    .replaced
                    .extend(join(directory, &to).map(|to| (from, to)));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_read_alone_and_in_blocks() {
        let module = read_module(
            "a/b",
            "module example.com/m // x\n\nreplace (\n  example.com/x v1.0.0 => ../x\n  y => example.com/z v1\n)\nuse ./c\n",
        );
        assert_eq!(module.name, "example.com/m");
        assert_eq!(
            module.replaced,
            [("example.com/x".to_owned(), "a/x".to_owned())]
        );
        assert_eq!(module.used, ["a/b/c"]);
        assert_eq!(below("a/b/c", "a/b"), Some("c"));
        assert_eq!(below("a/bc", "a/b"), None);
    }
}
