//! From a module as written to the file it names.
//!
//! Resolution works with nothing installed: it reads the files of the folder and their configuration, never
//! `node_modules` or `site-packages`. What it can't find inside is `third-party` or `stdlib` by name.

mod glob;
mod go;
mod includes;
mod javascript;
mod jsonc;
mod namespaces;
mod package_json;
mod python;
mod python_roots;
mod ruby;
mod rust;
mod tsconfig;

use std::sync::Arc;

pub(crate) use glob::matches as glob_matches;
pub(crate) use namespaces::Namespaces;
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
    /// Comes with the language.
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
    /// A Go package below a module of the folder.
    GoModule,
    /// A Go package that a `replace` puts into the folder.
    GoReplace,
    /// Below a `vendor` directory.
    Vendored,
    /// A namespace or package that files say they belong to.
    Namespace,
    /// Of the importing file's own package or namespace, without an import statement.
    SamePackage,
    /// Below a directory where includes are looked for.
    IncludePath,
    /// The one file of the folder whose path ends so.
    UniqueEnd,
    /// On a load path of Ruby.
    LoadPath,
    /// A Ruby constant whose file is named after it.
    Autoload,
    /// Comes with the language.
    Builtin,
    /// A name of some installed package.
    Package,
    /// Local by its form, but nothing is there.
    Missing,
}

impl Rule {
    const ALL: [Self; 23] = [
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
        Self::GoModule,
        Self::GoReplace,
        Self::Vendored,
        Self::Namespace,
        Self::SamePackage,
        Self::IncludePath,
        Self::UniqueEnd,
        Self::LoadPath,
        Self::Autoload,
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
            Self::GoModule => "go-module",
            Self::GoReplace => "go-replace",
            Self::Vendored => "vendored",
            Self::Namespace => "namespace",
            Self::SamePackage => "same-package",
            Self::IncludePath => "include-path",
            Self::UniqueEnd => "unique-end",
            Self::LoadPath => "load-path",
            Self::Autoload => "autoload",
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

/// The files that an import means together: each of its names comes from one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    /// Ids in the [`World`], sorted.
    pub(crate) files: Arc<[u32]>,
    /// Whether importing it is importing every file, used by name or not.
    pub(crate) is_whole: bool,
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
    /// Python: the stubs beside the files above, by file. An import of a module depends on both.
    pub(crate) stubs: Vec<(u32, u32)>,
    /// The files, where the module is a package of several; `target` is none then.
    pub(crate) package: Option<Package>,
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
            stubs: Vec::new(),
            package: None,
        }
    }

    fn without_file(classification: Classification, rule: Rule) -> Self {
        Self {
            classification,
            rule,
            target: None,
            types: None,
            submodules: Vec::new(),
            stubs: Vec::new(),
            package: None,
        }
    }

    fn in_package(rule: Rule, package: Package) -> Self {
        Self {
            package: Some(package),
            ..Self::without_file(Classification::Local, rule)
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
    go: go::Modules,
    includes: includes::Includes,
    ruby: ruby::Autoloads,
    namespaces: Namespaces,
}

impl Resolver {
    pub(crate) fn new(world: &World, namespaces: Namespaces) -> Self {
        Self {
            javascript: javascript::Configuration::read(world),
            python: python_roots::SourceRoots::read(world),
            rust: rust::Packages::read(world),
            go: go::Modules::read(world),
            includes: includes::Includes::read(world),
            ruby: ruby::Autoloads::read(world),
            namespaces,
        }
    }

    /// Whether another resolver would answer the same for a language, but for what its files asked for themselves.
    pub(crate) fn stands_for(&self, other: &Self, language: Language) -> bool {
        match language {
            Language::JavaScript | Language::Component => self.javascript == other.javascript,
            Language::Python | Language::Cython => self.python == other.python,
            Language::Rust => self.rust == other.rust,
            Language::Go => self.go.stand_for(&other.go),
            Language::C | Language::Cpp => true,
            Language::Ruby => self.ruby == other.ruby,
            Language::Java | Language::CSharp | Language::Php => {
                self.namespaces.stand_for(&other.namespaces, language)
            }
        }
    }

    pub(crate) fn resolve(&self, world: &World, path: &str, facts: &FileFacts) -> FileResolution {
        let mut prober = Prober::new(world);
        let mut resolution = FileResolution::default();
        let Some(language) = Language::of_path(path) else {
            return resolution;
        };
        let scope = language
            .resolves_like_javascript()
            .then(|| self.javascript.scope_of(path));
        let roots = match language {
            Language::Python | Language::Cython => Some(self.python.for_file(path)),
            _ => None,
        };
        resolution.jsx_factory = scope
            .as_ref()
            .and_then(|scope| scope.jsx_factory(facts.jsx_pragma.as_deref()));
        for import in &facts.imports {
            let prober = &mut prober;
            let resolved = match (language, &scope, &roots) {
                (_, Some(scope), _) => self.javascript.resolve(prober, path, scope, import),
                (_, _, Some(roots)) => python::resolve(prober, &self.python, roots, path, import),
                (Language::Rust, ..) => rust::resolve(prober, &self.rust, path, import),
                (Language::Go, ..) => self.go.resolve(prober, path, import),
                (Language::C | Language::Cpp, ..) => self.includes.resolve(prober, path, import),
                (Language::Ruby, ..) => self.ruby.resolve(prober, path, facts, import),
                _ => self
                    .namespaces
                    .resolve(prober, language, path, &facts.namespaces, import),
            };
            resolution.imports.push(resolved);
        }
        resolution.probes = prober.into_probes();
        resolution
    }
}
