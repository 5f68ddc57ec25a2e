//! Module names of JavaScript and TypeScript, resolved as the compiler's `bundler` mode does, without an install.

use super::package_json::{Packages, captured, map_targets};
use super::tsconfig::{TsConfig, TsConfigs};
use super::{Classification, ResolvedImport, Rule};
use crate::facts::{Import, ImportFlags};
use crate::language::{extension, file_name, parent};
use crate::stdlib;
use crate::world::{Prober, World, join};

/// Names of directories that builds write to.
const BUILD_DIRECTORIES: [&str; 9] = [
    "dist", "lib", "build", "out", "output", "esm", "cjs", "es", "types",
];

/// All configuration of a folder that module names depend on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Configuration {
    packages: Packages,
    tsconfigs: TsConfigs,
}

/// The configuration in force for one file.
pub(super) struct FileScope<'c> {
    tsconfig: Option<&'c TsConfig>,
    conditions: Vec<String>,
}

impl FileScope<'_> {
    pub(super) fn jsx_factory(&self, pragma: Option<&str>) -> Option<String> {
        if let Some(pragma) = pragma {
            return Some(pragma.to_owned());
        }
        self.tsconfig
            .map_or(Some("React"), TsConfig::jsx_factory)
            .map(str::to_owned)
    }
}

/// A module found: the file that runs and, where another, the declaration file that types come from.
#[derive(Clone, Copy)]
struct Found {
    value: u32,
    types: Option<u32>,
}

impl Configuration {
    pub(super) fn read(world: &World) -> Self {
        let packages = Packages::read(world);
        let tsconfigs = TsConfigs::read(world, &|name| packages.by_name("", name));
        Self {
            packages,
            tsconfigs,
        }
    }

    pub(super) fn scope_of(&self, path: &str) -> FileScope<'_> {
        let tsconfig = self.tsconfigs.owner_of(path);
        let mut conditions: Vec<String> =
            tsconfig.map_or_else(Vec::new, |config| config.conditions.clone());
        conditions.extend(
            [
                "types", "import", "require", "node", "module", "browser", "source",
            ]
            .map(str::to_owned),
        );
        FileScope {
            tsconfig,
            conditions,
        }
    }

    pub(super) fn resolve(
        &self,
        prober: &mut Prober<'_>,
        from: &str,
        scope: &FileScope<'_>,
        import: &Import,
    ) -> ResolvedImport {
        let specifier = strip_query(&import.module);
        let mut search = Search {
            prober,
            from,
            types_first: is_declaration(from),
        };
        let found = self.search(&mut search, scope, specifier);
        match found {
            Some((rule, found)) => {
                let mut resolved = ResolvedImport::found(rule, found.value);
                if import.flags.contains(ImportFlags::TYPE_ONLY) {
                    resolved.target = Some(found.types.unwrap_or(found.value));
                } else {
                    resolved.types = found.types;
                }
                resolved
            }
            None if specifier.starts_with('.') || specifier.starts_with('/') => {
                ResolvedImport::missing()
            }
            None if stdlib::is_node(specifier) => {
                ResolvedImport::without_file(Classification::Stdlib, Rule::Builtin)
            }
            None if specifier.starts_with('#') || self.is_own_alias(scope, specifier) => {
                ResolvedImport::missing()
            }
            None => ResolvedImport::without_file(Classification::ThirdParty, Rule::Package),
        }
    }

    fn search(
        &self,
        search: &mut Search<'_, '_>,
        scope: &FileScope<'_>,
        specifier: &str,
    ) -> Option<(Rule, Found)> {
        if specifier.starts_with('.') {
            let path = join(parent(search.from), specifier)?;
            if let Some(found) = search.module(&path) {
                return Some((Rule::Relative, found));
            }
            return search
                .root_dirs(scope.tsconfig?, &path)
                .map(|found| (Rule::RootDirs, found));
        }
        if let Some(rooted) = specifier.strip_prefix('/') {
            // Bundlers serve `/x` from the project's root or its `public` directory.
            return search
                .module(&join("", rooted)?)
                .map(|found| (Rule::BaseUrl, found));
        }
        if specifier.starts_with('#') {
            return self.package_imports(search, scope, specifier);
        }
        if let Some(tsconfig) = scope.tsconfig {
            if let Some(found) = search.paths(tsconfig, specifier) {
                return Some((Rule::TsconfigPaths, found));
            }
            if let Some(found) = tsconfig
                .base_url
                .as_ref()
                .and_then(|base| search.module(&join(base, specifier)?))
            {
                return Some((Rule::BaseUrl, found));
            }
        }
        if stdlib::is_node(specifier) {
            return None;
        }
        self.package(search, scope, specifier)
    }

    /// Whether a name matches an alias of the project itself, so that not finding it is the project's fault.
    fn is_own_alias(&self, scope: &FileScope<'_>, specifier: &str) -> bool {
        scope.tsconfig.is_some_and(|config| {
            config.paths.iter().any(|(pattern, _)| {
                pattern.trim_end_matches('*').len() > 1 && captured(pattern, specifier).is_some()
            })
        })
    }

    fn package_imports(
        &self,
        search: &mut Search<'_, '_>,
        scope: &FileScope<'_>,
        specifier: &str,
    ) -> Option<(Rule, Found)> {
        if let Some(found) = scope
            .tsconfig
            .and_then(|tsconfig| search.paths(tsconfig, specifier))
        {
            return Some((Rule::TsconfigPaths, found));
        }
        let (directory, package) = self.packages.around(search.from)?;
        let targets = map_targets(&package.imports, specifier, &scope.conditions);
        let found = search.entry(directory, &targets, scope.tsconfig);
        if let Some((found, _)) = found {
            return Some((Rule::PackageImports, found));
        }
        let bare = targets.iter().find(|target| !target.starts_with('.'))?;
        self.package(search, scope, bare)
    }

    /// A package of this folder by name, with an optional path into it.
    fn package(
        &self,
        search: &mut Search<'_, '_>,
        scope: &FileScope<'_>,
        specifier: &str,
    ) -> Option<(Rule, Found)> {
        let (name, subpath) = split_package(specifier)?;
        let own = self
            .packages
            .around(search.from)
            .filter(|(_, package)| package.name == name);
        let (directory, rule) = match own {
            Some((directory, _)) => (directory.to_owned(), Rule::PackageSelf),
            None => (self.packages.by_name(search.from, name)?, Rule::Workspace),
        };
        let package = self.packages.at(&directory)?;
        if rule == Rule::PackageSelf
            && package.exports.is_null()
            && self.packages.by_name(search.from, name).is_none()
        {
            return None;
        }
        let key = if subpath.is_empty() {
            ".".to_owned()
        } else {
            format!("./{subpath}")
        };
        let targets = if !package.exports.is_null() {
            map_targets(&package.exports, &key, &scope.conditions)
        } else if subpath.is_empty() {
            let mut entries = package.entries.clone();
            entries.extend(["./index", "./src/index"].map(str::to_owned));
            entries
        } else {
            vec![key, format!("./src/{subpath}")]
        };
        let (found, is_source) = search.entry(&directory, &targets, scope.tsconfig)?;
        let rule = if is_source && rule == Rule::Workspace {
            Rule::WorkspaceSource
        } else {
            rule
        };
        Some((rule, found))
    }
}

/// The search for one import of one file.
struct Search<'s, 'w> {
    prober: &'s mut Prober<'w>,
    from: &'s str,
    /// Declaration files import declaration files.
    types_first: bool,
}

impl Search<'_, '_> {
    fn file(&mut self, stem: &str, extensions: &[&str]) -> Option<u32> {
        extensions
            .iter()
            .find_map(|extension| self.prober.file(&format!("{stem}{extension}")))
    }

    /// A path as a module: a file with any extension that a module may have, else a directory.
    fn module(&mut self, path: &str) -> Option<Found> {
        self.module_file(path).or_else(|| self.directory(path))
    }

    fn module_file(&mut self, path: &str) -> Option<Found> {
        if path.is_empty() {
            return None;
        }
        let exact = |search: &mut Self| {
            search
                .prober
                .file(path)
                .map(|value| Found { value, types: None })
        };
        let replaced = match extension(path) {
            "js" | "ts" if !is_declaration(path) => self.variants(
                &path[..path.len() - 3],
                &[".ts", ".tsx"],
                &[".d.ts"],
                &[".js", ".jsx"],
            ),
            "jsx" | "tsx" => self.variants(
                &path[..path.len() - 4],
                &[".tsx", ".ts"],
                &[".d.ts"],
                &[".jsx", ".js"],
            ),
            "mjs" | "mts" if !is_declaration(path) => {
                self.variants(&path[..path.len() - 4], &[".mts"], &[".d.mts"], &[".mjs"])
            }
            "cjs" | "cts" if !is_declaration(path) => {
                self.variants(&path[..path.len() - 4], &[".cts"], &[".d.cts"], &[".cjs"])
            }
            "ts" | "mts" | "cts" | "json" | "vue" | "svelte" => exact(self),
            _ => None,
        };
        replaced
            .or_else(|| {
                let sources = [".ts", ".tsx", ".mts", ".cts"];
                self.variants(
                    path,
                    &sources,
                    &[".d.ts", ".d.mts", ".d.cts"],
                    &[".js", ".jsx", ".mjs", ".cjs", ".json"],
                )
            })
            .or_else(|| {
                self.file(path, &[".vue", ".svelte"])
                    .map(|value| Found { value, types: None })
            })
            .or_else(|| {
                let is_asset = !extension(path).is_empty();
                let value = if is_asset {
                    self.prober.file(path)
                } else {
                    None
                };
                value.map(|value| Found { value, types: None })
            })
    }

    /// TypeScript sources win. Of a declaration file beside a script, values come from the script and types from the
    /// declarations.
    fn variants(
        &mut self,
        stem: &str,
        sources: &[&str],
        declarations: &[&str],
        scripts: &[&str],
    ) -> Option<Found> {
        if file_name(stem).is_empty() {
            return None;
        }
        if let Some(value) = self.file(stem, sources) {
            return Some(Found { value, types: None });
        }
        let declaration = self.file(stem, declarations);
        if self.types_first
            && let Some(value) = declaration
        {
            return Some(Found { value, types: None });
        }
        match (self.file(stem, scripts), declaration) {
            (Some(value), types) => Some(Found { value, types }),
            (None, Some(value)) => Some(Found { value, types: None }),
            (None, None) => None,
        }
    }

    fn directory(&mut self, path: &str) -> Option<Found> {
        if !self.prober.is_directory(path) {
            return None;
        }
        let package = join(path, "package.json")?;
        if self.prober.file(&package).is_some()
            && let Some(found) = self.directory_package(path, &package)
        {
            return Some(found);
        }
        self.module_file(&join(path, "index")?)
    }

    /// The entry that a directory's own package.json names: values from the script, types from the declarations.
    fn directory_package(&mut self, path: &str, package: &str) -> Option<Found> {
        let manifest = super::jsonc::parse(self.prober.config(package)?)?;
        let entries = ["types", "typings", "module", "main"]
            .iter()
            .filter_map(|key| manifest[*key].as_str());
        let mut types = None;
        for entry in entries {
            let Some(found) = join(path, entry).and_then(|entry| self.module_file(&entry)) else {
                continue;
            };
            if is_declaration(entry) && !self.types_first {
                types.get_or_insert(found.value);
                continue;
            }
            return Some(Found {
                value: found.value,
                types: types.or(found.types),
            });
        }
        types.map(|value| Found { value, types: None })
    }

    /// `paths`: an exact name first, then the pattern with the longest text before its star; targets in order.
    fn paths(&mut self, tsconfig: &TsConfig, specifier: &str) -> Option<Found> {
        let matching = tsconfig.paths.iter().filter_map(|(pattern, targets)| {
            let captured = captured(pattern, specifier)?;
            let weight = pattern.find('*').unwrap_or(usize::MAX);
            Some((weight, captured, targets))
        });
        let (_, captured, targets) = matching.max_by_key(|(weight, _, _)| *weight)?;
        targets.iter().find_map(|target| {
            let path = join("", &target.replace('*', captured))?;
            self.module(&path)
                .or_else(|| self.source_behind("", &path, Some(tsconfig)))
        })
    }

    fn root_dirs(&mut self, tsconfig: &TsConfig, path: &str) -> Option<Found> {
        let below = tsconfig
            .root_dirs
            .iter()
            .filter_map(|root| path.strip_prefix(root.as_str())?.strip_prefix('/'))
            .min_by_key(|rest| rest.len())?;
        tsconfig
            .root_dirs
            .iter()
            .find_map(|root| self.module(&join(root, below)?))
    }

    /// The first entry that exists, else the first whose source exists; says whether it is the source. Where the first
    /// is a declaration file, values come from the first script after it.
    fn entry(
        &mut self,
        directory: &str,
        targets: &[String],
        tsconfig: Option<&TsConfig>,
    ) -> Option<(Found, bool)> {
        let relative = || {
            targets
                .iter()
                .filter(|target| target.starts_with('.') || !target.contains(':'))
        };
        let mut first: Option<Found> = None;
        for target in relative() {
            let Some(found) = join(directory, target).and_then(|path| self.module(&path)) else {
                continue;
            };
            match first {
                None if is_declaration(target) && !self.types_first => first = Some(found),
                None => return Some((found, false)),
                Some(_) if is_declaration(target) => {}
                Some(types) => {
                    return Some((
                        Found {
                            value: found.value,
                            types: Some(types.value),
                        },
                        false,
                    ));
                }
            }
        }
        if let Some(found) = first {
            return Some((found, false));
        }
        relative().find_map(|target| {
            let path = join(directory, target)?;
            self.source_behind(directory, &path, tsconfig)
                .map(|found| (found, true))
        })
    }

    /// The source that a built file comes from: by `outDir` and `rootDir`, else by the usual names of directories.
    fn source_behind(
        &mut self,
        directory: &str,
        built: &str,
        tsconfig: Option<&TsConfig>,
    ) -> Option<Found> {
        let stem = strip_script_extension(built);
        if let Some((out, root)) =
            tsconfig.and_then(|config| Some((config.out_dir.as_ref()?, config.root_dir.as_ref()?)))
            && let Some(rest) = stem.strip_prefix(out.as_str())
            && let Some(found) = join(root, rest).and_then(|path| self.module(&path))
        {
            return Some(found);
        }
        let inside = stem.strip_prefix(directory)?.trim_start_matches('/');
        let parts: Vec<&str> = inside.split('/').collect();
        let first = parts
            .iter()
            .position(|part| BUILD_DIRECTORIES.contains(part) || part.starts_with("dist-"))?;
        let rest: Vec<&str> = parts[first + 1..]
            .iter()
            .copied()
            .skip_while(|part| BUILD_DIRECTORIES.contains(part) || *part == "src")
            .collect();
        let rest = rest.join("/");
        let before = join(directory, &parts[..first].join("/"))?;
        ["src", "source", "", "lib"].iter().find_map(|source| {
            let path = join(&join(&before, source)?, &rest)?;
            self.module(&path)
        })
    }
}

fn is_declaration(path: &str) -> bool {
    [".d.ts", ".d.mts", ".d.cts"]
        .iter()
        .any(|extension| path.ends_with(extension))
}

/// Splits `@scope/name/sub/path` into name and path.
fn split_package(specifier: &str) -> Option<(&str, &str)> {
    let slash = if specifier.starts_with('@') {
        let scope = specifier.find('/')?;
        specifier[scope + 1..]
            .find('/')
            .map(|found| scope + 1 + found)
    } else {
        specifier.find('/')
    };
    Some(slash.map_or((specifier, ""), |slash| {
        (&specifier[..slash], &specifier[slash + 1..])
    }))
}

/// Bundlers take `./a.svg?raw`; loaders take `raw!./a`.
fn strip_query(specifier: &str) -> &str {
    let specifier = specifier.rsplit('!').next().unwrap_or(specifier);
    specifier.split('?').next().unwrap_or(specifier)
}

fn strip_script_extension(path: &str) -> &str {
    [
        ".d.ts", ".d.mts", ".d.cts", ".min.js", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx",
    ]
    .iter()
    .find_map(|extension| path.strip_suffix(extension))
    .unwrap_or(path)
}
