//! Which languages the graph reads, told by file extension.
//!
//! The first tier is read to the standard of its compiler or linter. The second tier is read by a tree-sitter grammar,
//! one cargo feature a language, and its edges are best effort: every answer that shows a reason says so.
//!
//! Another language of the second tier is: a feature with its grammar in `Cargo.toml`; a variant here, with its
//! extensions; a module in `facts/` that reads a syntax tree into [`FileFacts`](crate::facts::FileFacts), with the
//! builder of `facts/syntax.rs`; a module in `resolve/` that finds the files a module name means; and its rules as
//! small folders in `tests/rules/`. A language whose files name the package or namespace they belong to needs no
//! resolver of its own: see `resolve/namespaces.rs`.

use serde::{Deserialize, Serialize};

/// A language whose files give facts (exports and imports).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// JavaScript and TypeScript in every module flavour, with or without JSX.
    JavaScript,
    /// A Vue or Svelte component, whose script blocks are JavaScript or TypeScript.
    Component,
    /// Python sources and stubs.
    Python,
    /// Cython, for which there is no grammar: a scan of column 0.
    Cython,
    /// Rust, with the `rust` feature.
    Rust,
    /// Go, with the `go` feature.
    Go,
    /// Java, with the `java` feature.
    Java,
    /// C and its headers, with the `c` feature. A header that is C++ is read as such.
    C,
    /// C++, with the `cpp` feature.
    Cpp,
    /// C#, with the `csharp` feature.
    CSharp,
    /// Ruby, with the `ruby` feature.
    Ruby,
    /// PHP, with the `php` feature.
    Php,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 12] = [
        Self::JavaScript,
        Self::Component,
        Self::Python,
        Self::Cython,
        Self::Rust,
        Self::Go,
        Self::Java,
        Self::C,
        Self::Cpp,
        Self::CSharp,
        Self::Ruby,
        Self::Php,
    ];

    /// The language of a path, or `None` for files that are nodes without symbols.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        let language = match extension(path) {
            "ts" | "tsx" | "mts" | "cts" | "js" | "jsx" | "mjs" | "cjs" => Self::JavaScript,
            "vue" | "svelte" => Self::Component,
            "py" | "pyi" => Self::Python,
            "pyx" => Self::Cython,
            "rs" => Self::Rust,
            "go" => Self::Go,
            "java" => Self::Java,
            "c" | "h" => Self::C,
            "cc" | "cpp" | "cxx" | "c++" | "C" | "hh" | "hpp" | "hxx" | "h++" | "H" | "inl"
            | "ipp" | "tpp" | "cu" | "cuh" => Self::Cpp,
            "cs" => Self::CSharp,
            "rb" | "rake" | "gemspec" => Self::Ruby,
            "php" => Self::Php,
            _ => return None,
        };
        language.is_built_in().then_some(language)
    }

    /// Whether the grammar was compiled in.
    fn is_built_in(self) -> bool {
        match self {
            Self::JavaScript | Self::Component | Self::Python | Self::Cython => true,
            Self::Rust => cfg!(feature = "rust"),
            Self::Go => cfg!(feature = "go"),
            Self::Java => cfg!(feature = "java"),
            Self::C => cfg!(feature = "c"),
            Self::Cpp => cfg!(feature = "cpp"),
            Self::CSharp => cfg!(feature = "csharp"),
            Self::Ruby => cfg!(feature = "ruby"),
            Self::Php => cfg!(feature = "php"),
        }
    }

    /// Whether files of this language resolve their imports by the rules of JavaScript.
    #[must_use]
    pub fn resolves_like_javascript(self) -> bool {
        matches!(self, Self::JavaScript | Self::Component)
    }

    /// Whether facts and resolutions come from syntax alone, so that an edge is likely and not proven.
    #[must_use]
    pub fn is_best_effort(self) -> bool {
        !matches!(self, Self::JavaScript | Self::Component | Self::Python)
    }

    /// Whether a name may come from any file of a package or namespace.
    #[must_use]
    pub fn has_packages(self) -> bool {
        matches!(self, Self::Go | Self::Java | Self::CSharp | Self::Php)
    }

    /// Whether every use of an export by another file is seen, so that one without any is dead.
    #[must_use]
    pub fn shows_every_use(self) -> bool {
        !self.is_best_effort() || self == Self::Rust
    }
}

/// The last component of a `/`-separated path.
#[must_use]
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The extension without its dot; empty where there is none (`Makefile`, `.gitignore`).
#[must_use]
pub fn extension(path: &str) -> &str {
    match file_name(path).rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension,
        _ => "",
    }
}

/// The directory of a `/`-separated path; empty for a file of the root.
#[must_use]
pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_and_dotfiles_have_none() {
        assert_eq!(Language::of_path("a/b.d.mts"), Some(Language::JavaScript));
        assert_eq!(Language::of_path("a/b.pyx"), Some(Language::Cython));
        assert_eq!(Language::of_path("README.md"), None);
        assert_eq!(
            Language::of_path("a/b.go").is_some(),
            cfg!(feature = "go"),
            "a language is read where its feature is on"
        );
        assert_eq!(extension("x/.gitignore"), "");
        assert_eq!(extension("x/Makefile"), "");
        assert_eq!(parent("a/b/c"), "a/b");
        assert_eq!(parent("c"), "");
    }
}
