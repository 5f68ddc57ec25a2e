//! What one file says by itself: the names it exports and the modules it imports.
//!
//! Facts are a pure function of the file's name and bytes; nothing here knows another file. That is what makes
//! them cacheable by content and lets an edit cost one parse.

#[cfg(any(feature = "c", feature = "cpp"))]
mod c;
mod component;
#[cfg(feature = "csharp")]
mod csharp;
mod cython;
#[cfg(feature = "go")]
mod go;
#[cfg(feature = "java")]
mod java;
mod javascript;
mod lines;
#[cfg(feature = "php")]
mod php;
mod python;
#[cfg(feature = "ruby")]
mod ruby;
#[cfg(feature = "rust")]
mod rust;
#[cfg(any(
    feature = "c",
    feature = "cpp",
    feature = "csharp",
    feature = "go",
    feature = "java",
    feature = "php",
    feature = "ruby",
    feature = "rust"
))]
mod syntax;

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

use crate::language::Language;

pub(crate) use lines::LineIndex;

/// Raised with every change of what facts are drawn from the same bytes; part of the cache key.
pub const FACTS_VERSION: u32 = 2;

/// What a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SymbolKind {
    /// A function, `async` or not.
    Function,
    /// A class, abstract or not.
    Class,
    /// A value: `const`, `let`, `var`, a namespace, a module-level binding.
    Const,
    /// A type alias.
    Type,
    /// A TypeScript interface.
    Interface,
    /// An enum.
    Enum,
    /// The default export.
    Default,
}

impl SymbolKind {
    /// The word used in `.kg` files and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Class => "class",
            Self::Const => "const",
            Self::Type => "type",
            Self::Interface => "interface",
            Self::Enum => "enum",
            Self::Default => "default",
        }
    }

    /// How strongly a declaration names what it is merged with: `class` + `interface` is a class, `const` + `type` a
    /// const, after what exists at run time.
    #[must_use]
    pub(crate) fn strength(self) -> u8 {
        match self {
            Self::Class => 6,
            Self::Function => 5,
            Self::Enum => 4,
            Self::Const => 3,
            Self::Interface => 2,
            Self::Type => 1,
            Self::Default => 0,
        }
    }

    /// The kind of a word; `None` for words that are no kind.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "function" => Self::Function,
            "class" => Self::Class,
            "const" => Self::Const,
            "type" => Self::Type,
            "interface" => Self::Interface,
            "enum" => Self::Enum,
            "default" => Self::Default,
            _ => return None,
        })
    }
}

/// Where an exported name comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// Declared in this file. The kind is the declaration's, also where the export is the default one.
    Declared(SymbolKind),
    /// Brought in by the import at this index in [`FileFacts::imports`], under the name it has in that module.
    Imported {
        /// Index in [`FileFacts::imports`].
        import: u32,
        /// The name in the other module; `*` for the module as a whole.
        name: String,
    },
}

/// One exported name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// The exported name; `default` for the default export.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// 1-based line.
    pub line: u32,
}

/// The properties of an import that decide what it means.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct ImportFlags(u16);

impl ImportFlags {
    /// Only types: erased at run time.
    pub const TYPE_ONLY: Self = Self(1);
    /// `import()`, `importlib.import_module`.
    pub const DYNAMIC: Self = Self(2);
    /// `require()`.
    pub const REQUIRE: Self = Self(4);
    /// For its side effect alone.
    pub const SIDE_EFFECT: Self = Self(8);
    /// `export … from`.
    pub const REEXPORT: Self = Self(16);
    /// Under a condition or in a `try`.
    pub const CONDITIONAL: Self = Self(32);
    /// Under `if TYPE_CHECKING`.
    pub const TYPE_CHECKING: Self = Self(64);
    /// Written by no statement: names of the same package or namespace, qualified names, names that load themselves.
    /// Such an import is only there where it is found.
    pub const IMPLICIT: Self = Self(128);

    /// The module may be used in every part: what is taken out of it can't be told. Has no letter; a `.kg` line says it
    /// in a field of its own.
    pub const WHOLE: Self = Self(256);

    const LETTERS: [(Self, char); 8] = [
        (Self::TYPE_ONLY, 't'),
        (Self::DYNAMIC, 'd'),
        (Self::REQUIRE, 'r'),
        (Self::SIDE_EFFECT, 's'),
        (Self::REEXPORT, 'x'),
        (Self::CONDITIONAL, 'c'),
        (Self::TYPE_CHECKING, 'g'),
        (Self::IMPLICIT, 'i'),
    ];

    /// Whether all flags of `other` are set.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The letters of a `.kg` line, in a fixed order.
    #[must_use]
    pub fn letters(self) -> String {
        Self::LETTERS
            .iter()
            .filter(|(flag, _)| self.contains(*flag))
            .map(|(_, letter)| letter)
            .collect()
    }

    /// Reads the letters back; unknown ones are left out.
    #[must_use]
    pub fn from_letters(letters: &str) -> Self {
        letters.chars().fold(Self::default(), |flags, letter| {
            Self::LETTERS
                .iter()
                .find(|(_, known)| *known == letter)
                .map_or(flags, |(flag, _)| flags.with(*flag))
        })
    }
}

/// Whether an imported name is used in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Usage {
    /// Something refers to it, or it needs no reference (`export … from`).
    Used,
    /// Nothing refers to it.
    Unused,
    /// Nothing refers to it by name, but the file has JSX, which uses its factory under the classic transform.
    UnusedUnlessJsxFactory,
}

/// One name of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedName {
    /// The name in the other module: a name, `default`, or `*` for the module as a whole.
    pub imported: String,
    /// The local name; empty where nothing is bound (`export *`, `from m import *`).
    pub local: String,
    /// Whether this one name is type-only.
    pub type_only: bool,
    /// Whether the file uses it.
    pub usage: Usage,
    /// Where the name may mean a module: the members that the file takes out of it, with those taken out of them in
    /// turn (`a`, `a.b`). `None` where the module is also used in a way that may take any of them.
    pub members: Option<Vec<String>>,
}

impl ImportedName {
    /// A name that is used, in whatever way.
    #[must_use]
    pub fn used(imported: &str, local: &str) -> Self {
        Self {
            imported: imported.to_owned(),
            local: local.to_owned(),
            type_only: false,
            usage: Usage::Used,
            members: None,
        }
    }
}

/// One import statement, call or re-export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The module as written (`./a`, `react`, `..pkg.mod`).
    pub module: String,
    /// The imported names, in order.
    pub names: Vec<ImportedName>,
    /// How it is imported.
    pub flags: ImportFlags,
    /// 1-based line.
    pub line: u32,
    /// For `import a.b` in Python: the whole module is named and nothing is taken out of it.
    pub whole_module: bool,
}

/// A class or interface that another one is built on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The name that the file exports the class by.
    pub class: String,
    /// The base as written, its parts joined by `.`.
    pub base: String,
}

impl Base {
    pub(crate) fn new(class: &str, base: impl Into<String>) -> Self {
        Self {
            class: class.to_owned(),
            base: base.into(),
        }
    }
}

/// A name used where an import without a list of names may bring it: of the same Go package, from `import a.b.*`, from
/// an `#include`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The name.
    pub name: String,
    /// 1-based line of its first use.
    pub line: u32,
}

/// Something in a file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// 1-based line; 0 where it is about the whole file.
    pub line: u32,
    /// What is wrong, in lower case.
    pub message: String,
}

/// The facts of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// The exported names in order of appearance; a name may stand twice (overloads, merged declarations).
    pub exports: Vec<Export>,
    /// The imports in order of appearance.
    pub imports: Vec<Import>,
    /// Indices in `imports` of modules whose exports are all exported again (`export *`).
    pub star_exports: Vec<u32>,
    /// `__all__`, where it could be read.
    pub dunder_all: Option<Vec<String>>,
    /// Names bound at module level that are no exports but that another module can still import (Python).
    pub bindings: Vec<Export>,
    /// The JSX factory named by a pragma comment.
    pub jsx_pragma: Option<String>,
    /// Lines of the file.
    pub lines: u32,
    /// The packages or namespaces that the file says it belongs to (Java, C#, PHP), or that its text is nested in
    /// (Ruby).
    pub namespaces: Vec<String>,
    /// What the classes and interfaces of the file are built on.
    pub bases: Vec<Base>,
    /// Names that the file uses without saying where each comes from: any of its open imports may bring them.
    pub references: Vec<Reference>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

impl FileFacts {
    fn unreadable(message: &str) -> Self {
        let problem = Problem {
            line: 0,
            message: message.to_owned(),
        };
        Self {
            problems: vec![problem],
            ..Self::default()
        }
    }
}

/// Brackets open at once in a file that is read; recursive parsers need stack for each.
const DEPTH_LIMIT: u32 = 1_000;

/// Whether a text would take a recursive parser too deep: open brackets, or runs of one prefix operator.
fn is_too_deep(text: &str) -> bool {
    let (mut depth, mut run, mut before) = (0_u32, 0_u32, 0_u8);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        run = if byte == before && matches!(byte, b'!' | b'~') {
            run + 1
        } else {
            0
        };
        before = byte;
        if depth > DEPTH_LIMIT || run > DEPTH_LIMIT {
            return true;
        }
    }
    false
}

/// Reads the facts of a file.
///
/// `path` decides the language; bytes that are not UTF-8 are read lossily, and a file that doesn't parse gives what
/// could be read plus a [`Problem`].
#[must_use]
pub fn extract(path: &str, bytes: &[u8]) -> FileFacts {
    let Some(language) = Language::of_path(path) else {
        return FileFacts::default();
    };
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut facts = if is_too_deep(text) {
        FileFacts::unreadable("brackets are nested too deeply")
    } else {
        // The grammars are other people's code on anybody's text: a panic there must cost one file, not the graph.
        let extracted = catch_unwind(AssertUnwindSafe(|| match language {
            Language::JavaScript => javascript::extract(path, text),
            Language::Component => component::extract(path, text),
            Language::Python => python::extract(path, text),
            Language::Cython => cython::extract(text),
            #[cfg(feature = "rust")]
            Language::Rust => rust::extract(text),
            #[cfg(feature = "go")]
            Language::Go => go::extract(path, text),
            #[cfg(feature = "java")]
            Language::Java => java::extract(text),
            #[cfg(any(feature = "c", feature = "cpp"))]
            Language::C | Language::Cpp => c::extract(path, language, text),
            #[cfg(feature = "csharp")]
            Language::CSharp => csharp::extract(text),
            #[cfg(feature = "ruby")]
            Language::Ruby => ruby::extract(text),
            #[cfg(feature = "php")]
            Language::Php => php::extract(text),
            // A language whose feature is off is none that a path has.
            #[allow(unreachable_patterns)]
            _ => FileFacts::default(),
        }));
        extracted.unwrap_or_else(|_| FileFacts::unreadable("the parser failed"))
    };
    facts.lines = u32::try_from(memchr::memchr_iter(b'\n', text.as_bytes()).count())
        .unwrap_or(u32::MAX)
        .saturating_add(u32::from(!text.is_empty() && !text.ends_with('\n')));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_sources_cost_a_problem_and_nothing_else() {
        for source in [
            "(".repeat(100_000),
            "!".repeat(100_000),
            "export { a as \"\\\\u\" }; const a = 1;".to_owned(),
            "export const a = ;\n".repeat(2_000),
        ] {
            let facts = extract("a.ts", source.as_bytes());
            assert_eq!(facts.problems.len(), 1, "{source:.20}");
        }
        for path in ["a.ts", "a.js", "a.vue", "a.py", "a.pyx"] {
            assert!(
                extract(path, &[0xFF, 0xFE, 0, b'\n', b'"', b'{'])
                    .imports
                    .is_empty()
            );
            assert!(extract(path, b"").imports.is_empty());
        }
    }

    #[test]
    fn flags_survive_their_letters() {
        for bits in 0..256 {
            let flags = ImportFlags(bits);
            assert_eq!(ImportFlags::from_letters(&flags.letters()), flags);
        }
        assert_eq!(ImportFlags::from_letters("t?x").letters(), "tx");
    }
}
