//! Which languages the graph reads, told by file extension.

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
    /// Rust, with the `rust` feature.
    Rust,
    /// Cython, for which there is no grammar: a scan of column 0.
    Cython,
}

impl Language {
    /// The language of a path, or `None` for files that are nodes without symbols.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        match extension(path) {
            "ts" | "tsx" | "mts" | "cts" | "js" | "jsx" | "mjs" | "cjs" => Some(Self::JavaScript),
            "vue" | "svelte" => Some(Self::Component),
            "py" | "pyi" => Some(Self::Python),
            "pyx" => Some(Self::Cython),
            "rs" if cfg!(feature = "rust") => Some(Self::Rust),
            _ => None,
        }
    }

    /// Whether files of this language resolve their imports by the rules of JavaScript.
    #[must_use]
    pub fn resolves_like_javascript(self) -> bool {
        matches!(self, Self::JavaScript | Self::Component)
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
        assert_eq!(extension("x/.gitignore"), "");
        assert_eq!(extension("x/Makefile"), "");
        assert_eq!(parent("a/b/c"), "a/b");
        assert_eq!(parent("c"), "");
    }
}
