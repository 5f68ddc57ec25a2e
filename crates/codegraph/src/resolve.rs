//! From a module as written to the file it names.
//!
//! Resolution works with nothing installed: it reads the files of the folder and their configuration, never
//! `node_modules` or `site-packages`. What it can't find inside is `third-party` or `stdlib` by name.

mod glob;
mod javascript;
mod jsonc;
mod package_json;
mod python;
mod python_roots;
mod rust;
mod tsconfig;

pub(crate) use glob::matches as glob_matches;
use serde::{Deserialize, Serialize};

use crate::facts::FileFacts;
use crate::language::Language;
use crate::world::{Prober, World};

/// Where an imported module lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Classification {
    /// In this folder, found or not.
    Local,
    /// Comes with Node.js or Python.
    Stdlib,
    /// Anything else.
    ThirdParty,
}

impl Classification {
    /// The word of a `.kg` line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Stdlib => "stdlib",
            Self::ThirdParty => "third-party",
        }
    }

    /// Reads the word of a `.kg` line.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "local" => Self::Local,
            "stdlib" => Self::Stdlib,
            "third-party" => Self::ThirdParty,
            _ => return None,
        })
    }
}

/// The rule that decided what an import names: the reason an edge exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Relative to the importing file.
    Relative,
    /// Relative through `rootDirs`.
    RootDirs,
    /// An alias of `paths` in a tsconfig or jsconfig.
    TsconfigPaths,
    /// `baseUrl` of a tsconfig or jsconfig.
    BaseUrl,
    /// `imports` of the nearest package.json (`#name`).
    PackageImports,
    /// The package's own name.
    PackageSelf,
    /// A package of the same workspace.
    Workspace,
    /// The source behind a workspace package's entry that isn't built.
    WorkspaceSource,
    /// An absolute Python module below a source root.
    SourceRoot,
    /// Found beside a script that is in no package.
    ScriptDirectory,
    /// Through a directory without `__init__`.
    NamespacePackage,
    /// Comes with the language.
    Builtin,
    /// A name of some installed package.
    Package,
    /// Local by its form, but nothing is there.
    Missing,
}

impl Rule {
    const ALL: [Self; 14] = [
        Self::Relative,
        Self::RootDirs,
        Self::TsconfigPaths,
        Self::BaseUrl,
        Self::PackageImports,
        Self::PackageSelf,
        Self::Workspace,
        Self::WorkspaceSource,
        Self::SourceRoot,
        Self::ScriptDirectory,
        Self::NamespacePackage,
        Self::Builtin,
        Self::Package,
        Self::Missing,
    ];

    /// The word used in files and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Relative => "relative",
            Self::RootDirs => "root-dirs",
            Self::TsconfigPaths => "tsconfig-paths",
            Self::BaseUrl => "base-url",
            Self::PackageImports => "package-imports",
            Self::PackageSelf => "package-self",
            Self::Workspace => "workspace",
            Self::WorkspaceSource => "workspace-source",
            Self::SourceRoot => "source-root",
            Self::ScriptDirectory => "script-directory",
            Self::NamespacePackage => "namespace-package",
            Self::Builtin => "builtin",
            Self::Package => "package",
            Self::Missing => "missing",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == word)
    }
}

/// What one import resolves to; ids are those of the [`World`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedImport {
    pub(crate) classification: Classification,
    pub(crate) rule: Rule,
    /// The file, if there is one.
    pub(crate) target: Option<u32>,
    /// The declaration file that type-only names come from, where it is another than `target`.
    pub(crate) types: Option<u32>,
    /// Python: the file of the submodule that a name may mean, by the name's index.
    pub(crate) submodules: Vec<(u32, u32)>,
}

impl ResolvedImport {
    fn found(rule: Rule, target: u32) -> Self {
        let classification = Classification::Local;
        Self {
            classification,
            rule,
            target: Some(target),
            types: None,
            submodules: Vec::new(),
        }
    }

    fn without_file(classification: Classification, rule: Rule) -> Self {
        Self {
            classification,
            rule,
            target: None,
            types: None,
            submodules: Vec::new(),
        }
    }

    fn missing() -> Self {
        Self::without_file(Classification::Local, Rule::Missing)
    }
}

/// The resolved imports of one file, in the order of its facts, and what was asked on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileResolution {
    pub(crate) imports: Vec<ResolvedImport>,
    pub(crate) probes: Box<[u64]>,
    /// The local name that JSX uses under the classic transform; `None` under the automatic one.
    pub(crate) jsx_factory: Option<String>,
}

/// Resolves the imports of files against one state of the world.
///
/// Building it reads all configuration files; it must be built anew when one of them or the set of Python packages
/// changes ([`Resolver::stands_for`]).
pub(crate) struct Resolver {
    javascript: javascript::Configuration,
    python: python_roots::SourceRoots,
    rust: rust::Packages,
}

impl Resolver {
    pub(crate) fn new(world: &World) -> Self {
        Self {
            javascript: javascript::Configuration::read(world),
            python: python_roots::SourceRoots::read(world),
            rust: rust::Packages::read(world),
        }
    }

    /// Whether another resolver would answer the same for a language.
    pub(crate) fn stands_for(&self, other: &Self, language: Language) -> bool {
        match language {
            Language::JavaScript | Language::Component => self.javascript == other.javascript,
            Language::Python | Language::Cython => self.python == other.python,
            Language::Rust => self.rust == other.rust,
        }
    }

    pub(crate) fn resolve(&self, world: &World, path: &str, facts: &FileFacts) -> FileResolution {
        let mut prober = Prober::new(world);
        let Some(language) = Language::of_path(path) else {
            return FileResolution::default();
        };
        let mut resolution = FileResolution::default();
        if language.resolves_like_javascript() {
            let scope = self.javascript.scope_of(path);
            resolution.jsx_factory = scope.jsx_factory(facts.jsx_pragma.as_deref());
            for import in &facts.imports {
                resolution
                    .imports
                    .push(self.javascript.resolve(&mut prober, path, &scope, import));
            }
        } else if language == Language::Rust {
            for import in &facts.imports {
                resolution
                    .imports
                    .push(rust::resolve(&mut prober, &self.rust, path, import));
            }
        } else {
            let roots = self.python.for_file(path);
            for import in &facts.imports {
                resolution.imports.push(python::resolve(
                    &mut prober,
                    &self.python,
                    &roots,
                    path,
                    import,
                ));
            }
        }
        resolution.probes = prober.into_probes();
        resolution
    }
}
