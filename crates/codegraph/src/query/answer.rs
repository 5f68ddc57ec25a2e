//! The answers: structured, and as text.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use crate::facts::ImportFlags;
use crate::resolve::Classification;

/// A symbol of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
}

/// A name that a file imports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFrom {
    /// The local name; what the import is for where nothing is bound.
    pub local: String,
    /// The module as written.
    pub module: String,
    /// Where it lives.
    pub classification: Classification,
}

/// A file that exports a symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exporter {
    /// The file.
    pub path: String,
    /// The symbol.
    pub symbol: Symbol,
}

/// A name and the module it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribution {
    /// The name.
    pub name: String,
    /// The module as written.
    pub module: String,
}

/// A file at a distance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// The file.
    pub path: String,
    /// Imports on the way.
    pub distance: u32,
}

/// Why an edge exists: a line of the importing file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// 1-based line; 0 where unknown.
    pub line: u32,
    /// The module as written.
    pub module: String,
    /// The names taken.
    pub names: Vec<String>,
    /// The rule that resolved the module.
    pub rule: String,
    /// How it is imported.
    pub flags: ImportFlags,
    /// Whether it was read from syntax alone, so that it is likely and not proven.
    #[serde(default)]
    pub is_best_effort: bool,
}

/// One import on a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// The importing file.
    pub from: String,
    /// The imported file.
    pub to: String,
    /// Why, if an import says so itself; a definition reached through re-exports has none.
    pub reasons: Vec<Reason>,
}

/// A cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CycleEntry {
    /// Its files.
    pub files: Vec<String>,
    /// The imports to take away, as from and to.
    pub cut: Vec<(String, String)>,
    /// Whether no smaller cut exists.
    pub is_smallest: bool,
}

/// An import that a layer rule forbids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViolationEntry {
    /// The importing file.
    pub from: String,
    /// The imported file.
    pub to: String,
    /// The rule.
    pub rule: String,
    /// The line of the import; 0 where unknown.
    pub line: u32,
}

/// A file with a score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ranked {
    /// The file.
    pub path: String,
    /// Its score.
    pub score: f64,
}

/// A community of files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommunityEntry {
    /// The directory that most of its files lie in.
    pub name: String,
    /// Its files.
    pub files: Vec<String>,
}

/// A file that changes often and matters much.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HotspotEntry {
    /// The file.
    pub path: String,
    /// Commits that touched it.
    pub commits: u32,
    /// Its PageRank.
    pub rank: f64,
    /// Both together, the highest being 1.
    pub score: f64,
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "query", rename_all = "snake_case")]
pub enum Answer {
    /// All paths from the root's name.
    Structure {
        /// Sorted, directories and files.
        paths: Vec<String>,
    },
    /// What a file exports.
    Exports {
        /// The file.
        file: String,
        /// Sorted by name.
        symbols: Vec<Symbol>,
    },
    /// What a file imports.
    ImportsOf {
        /// The file.
        file: String,
        /// In order of appearance.
        imports: Vec<ImportedFrom>,
    },
    /// Which files export a name.
    ExportersOf {
        /// The name asked for.
        symbol: String,
        /// By path.
        exporters: Vec<Exporter>,
    },
    /// Which files import a file.
    Dependents {
        /// The file.
        file: String,
        /// Sorted.
        dependents: Vec<String>,
    },
    /// Imports that a file doesn't use.
    UnusedImports {
        /// The file.
        file: String,
        /// In order of appearance.
        unused: Vec<Attribution>,
    },
    /// What may break when a file or symbol changes.
    Impact {
        /// The file or `file#symbol`.
        of: String,
        /// By distance, then path.
        reached: Vec<Reached>,
    },
    /// The shortest chain of imports between two files.
    Path {
        /// Where it starts.
        from: String,
        /// Where it ends.
        to: String,
        /// `None` where there is no chain.
        hops: Option<Vec<Hop>>,
    },
    /// Why one file depends on another.
    Why {
        /// The dependency.
        hop: Hop,
        /// Symbols of the other file that are used.
        symbols: Vec<String>,
    },
    /// Tests that reach a file.
    TestsFor {
        /// The file.
        file: String,
        /// Nearest first.
        tests: Vec<Reached>,
    },
    /// Import cycles.
    Cycles {
        /// By first file.
        cycles: Vec<CycleEntry>,
    },
    /// Imports that the layer rules forbid.
    Layers {
        /// By importing file.
        violations: Vec<ViolationEntry>,
    },
    /// The files that much leans on.
    Central {
        /// Best first; scores are PageRank.
        files: Vec<Ranked>,
    },
    /// Files likely to change next.
    Next {
        /// The file that changed.
        file: String,
        /// Best first.
        files: Vec<Ranked>,
    },
    /// Groups of files.
    Communities {
        /// Largest first.
        communities: Vec<CommunityEntry>,
        /// −0.5 to 1.
        modularity: f64,
    },
    /// Files that change often and matter much.
    Hotspots {
        /// Best first.
        files: Vec<HotspotEntry>,
    },
    /// Exports that nothing in the folder imports.
    Dead {
        /// By path.
        exports: Vec<Exporter>,
    },
    /// The folder in so many tokens.
    Map {
        /// The text.
        text: String,
        /// Its estimated tokens.
        tokens: usize,
        /// How many files it leaves out.
        left_out: usize,
    },
}

impl Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Structure { paths } => {
                writeln!(f, "Directory tree ({} entries):", paths.len())?;
                lines(f, paths)
            }
            Self::Exports { file, symbols } => {
                writeln!(f, "{file} exports:")?;
                lines(f, symbols)
            }
            Self::ImportsOf { file, imports } => {
                writeln!(f, "{file} imports:")?;
                imports
                    .iter()
                    .try_for_each(|import| writeln!(f, "  {import}"))
            }
            Self::ExportersOf { symbol, exporters } => {
                writeln!(f, "Files exporting '{symbol}':")?;
                lines(f, exporters)
            }
            Self::Dependents { file, dependents } => {
                writeln!(f, "{file} is imported by:")?;
                lines(f, dependents)
            }
            Self::UnusedImports { file, unused } => {
                writeln!(f, "{file} unused imports:")?;
                unused
                    .iter()
                    .try_for_each(|name| writeln!(f, "  {} (from {})", name.name, name.module))
            }
            Self::Impact { of, reached } => {
                writeln!(f, "A change of {of} reaches {} files:", reached.len())?;
                lines(f, reached)
            }
            Self::Path {
                from,
                to,
                hops: None,
            } => writeln!(f, "{from} does not reach {to}."),
            Self::Path {
                from,
                to,
                hops: Some(hops),
            } => {
                writeln!(f, "{from} reaches {to} in {} imports:", hops.len())?;
                lines(f, hops)
            }
            Self::Why { hop, symbols } => {
                if hop.reasons.is_empty() && symbols.is_empty() {
                    return writeln!(f, "{} does not import {}.", hop.from, hop.to);
                }
                writeln!(f, "{hop}")?;
                symbols
                    .iter()
                    .try_for_each(|symbol| writeln!(f, "  uses {symbol}"))
            }
            Self::TestsFor { file, tests } => {
                writeln!(f, "{} tests reach {file}:", tests.len())?;
                lines(f, tests)
            }
            other => other.fmt_overview(f),
        }
    }
}

impl Answer {
    fn fmt_overview(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cycles { cycles } => {
                writeln!(f, "{} import cycles:", cycles.len())?;
                lines(f, cycles)
            }
            Self::Layers { violations } => {
                writeln!(f, "{} imports break the layer rules:", violations.len())?;
                lines(f, violations)
            }
            Self::Central { files } => {
                writeln!(f, "Most central files:")?;
                lines(f, files)
            }
            Self::Next { file, files } => {
                writeln!(f, "After {file}, likely next:")?;
                lines(f, files)
            }
            Self::Communities {
                communities,
                modularity,
            } => {
                writeln!(
                    f,
                    "{} communities (modularity {modularity:.3}):",
                    communities.len()
                )?;
                lines(f, communities)
            }
            Self::Hotspots { files } => {
                writeln!(f, "Hotspots (commits x centrality):")?;
                lines(f, files)
            }
            Self::Dead { exports } => {
                writeln!(f, "{} exports that nothing here imports:", exports.len())?;
                lines(f, exports)
            }
            Self::Map { text, left_out, .. } => {
                f.write_str(text)?;
                if *left_out > 0 {
                    writeln!(f, "({left_out} files left out)")?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn lines<T: Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    items.iter().try_for_each(|item| writeln!(f, "{item}"))
}

impl Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.kind)
    }
}

impl Display for ImportedFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", self.local, self.module)?;
        match self.classification {
            Classification::Local => Ok(()),
            other => write!(f, " [{}]", other.as_str()),
        }
    }
}

impl Display for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {}", self.path, self.symbol)
    }
}

impl Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.distance, self.path)
    }
}

impl Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {}", self.from, self.to)?;
        for reason in &self.reasons {
            write!(
                f,
                "\n  line {}: {} from {} ({}{})",
                reason.line,
                reason.names.join(", "),
                reason.module,
                reason.rule,
                if reason.is_best_effort {
                    ", best effort"
                } else {
                    ""
                }
            )?;
        }
        if self.reasons.is_empty() {
            write!(f, "\n  through re-exports")?;
        }
        Ok(())
    }
}

impl Display for CycleEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} files: {}", self.files.len(), self.files.join(", "))?;
        let how = if self.is_smallest {
            "ends"
        } else {
            "ends, perhaps not with the fewest,"
        };
        write!(f, "  {how} without {} imports:", self.cut.len())?;
        self.cut
            .iter()
            .try_for_each(|(from, to)| write!(f, "\n    {from} → {to}"))
    }
}

impl Display for ViolationEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{} → {} ({})",
            self.from, self.line, self.to, self.rule
        )
    }
}

impl Display for Ranked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4} {}", self.score, self.path)
    }
}

impl Display for CommunityEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({} files): {}",
            self.name,
            self.files.len(),
            self.files.join(", ")
        )
    }
}

impl Display for HotspotEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.3} {} ({} commits, rank {:.4})",
            self.score, self.path, self.commits, self.rank
        )
    }
}
