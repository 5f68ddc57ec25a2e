//! Questions to a graph, as one line of text: `exports server/app.ts`, `path a.ts b.ts`, `cycles`.
//!
//! Every answer is structured data (serde) and, by [`std::fmt::Display`], the text that people and models read. The six
//! questions of `read_graph` print in its documented shapes.

mod answer;
mod dependencies;
mod export;
mod locate;
mod map;
mod overview;
mod structure;

use thiserror::Error;

use crate::analysis::FileGraph;
use crate::analysis::history::{History, HistoryError};
use crate::analysis::layers::{LayerError, LayerRules};
use crate::graph::Graph;

pub use answer::{
    Answer, Attribution, CommunityEntry, CycleEntry, Exporter, Hop, HotspotEntry, ImportedFrom,
    Ranked, Reached, Reason, Symbol, ViolationEntry,
};
pub use export::{GnnExport, NpyFile, gnn_export};
pub use locate::is_test;

/// Why a question has no answer.
#[derive(Debug, Error)]
pub enum QueryError {
    /// No such question.
    #[error("no such query: {0}; try one of: {NAMES}")]
    Unknown(String),
    /// The question lacks its argument.
    #[error("{0} needs {1}")]
    Argument(&'static str, &'static str),
    /// No file of that name.
    #[error("no such file in the graph: {0}")]
    NoFile(String),
    /// Several files fit; the question must say which.
    #[error("{} files fit {name}: {}", candidates.len(), candidates.join(", "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// The files that fit, at most 20.
        candidates: Vec<String>,
    },
    /// The question needs history.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The layer rules don't read.
    #[error(transparent)]
    Layers(#[from] LayerError),
}

/// The names of all questions.
const NAMES: &str = "structure, exports, imports_of, exporters_of, dependents, unused_imports, impact, path, why, \
                     cycles, layers, central, next, communities, hotspots, dead, tests-for, map";

/// What questions are answered from.
pub struct Context<'g> {
    /// The graph.
    pub graph: &'g Graph,
    /// History for `next` and `hotspots`; read once by the caller, as it costs more than any question.
    pub history: Option<&'g History>,
    /// The text of the layer rules for `layers`.
    pub layer_rules: Option<&'g str>,
}

impl<'g> Context<'g> {
    /// A context of the graph alone.
    #[must_use]
    pub fn new(graph: &'g Graph) -> Self {
        Self {
            graph,
            history: None,
            layer_rules: None,
        }
    }
}

/// Answers a question.
///
/// # Errors
/// Says what is wrong with the question, with the candidates where a file name is ambiguous.
pub fn ask(context: &Context<'_>, question: &str) -> Result<Answer, QueryError> {
    let graph = context.graph;
    let question = question.trim();
    let (name, argument) = question
        .split_once(char::is_whitespace)
        .unwrap_or((question, ""));
    let argument = argument.trim();
    let file = |what: &'static str| match argument {
        "" => Err(QueryError::Argument(what, "a file")),
        argument => locate::file(graph, argument),
    };
    let pair = |what: &'static str| {
        locate::pair(graph, argument).ok_or(QueryError::Argument(what, "two files"))?
    };
    match name {
        "structure" => Ok(structure::structure(graph)),
        "exports" => Ok(structure::exports(graph, file("exports")?)),
        "imports_of" => Ok(structure::imports_of(graph, file("imports_of")?)),
        "exporters_of" if argument.is_empty() => {
            Err(QueryError::Argument("exporters_of", "a symbol"))
        }
        "exporters_of" => Ok(structure::exporters_of(graph, argument)),
        "dependents" => Ok(structure::dependents(graph, file("dependents")?)),
        "unused_imports" => Ok(structure::unused_imports(graph, file("unused_imports")?)),
        "impact" => dependencies::impact(graph, argument),
        "path" => pair("path").map(|(from, to)| dependencies::path(graph, from, to)),
        "why" => pair("why").map(|(from, to)| dependencies::why(graph, from, to)),
        "tests-for" => Ok(dependencies::tests_for(graph, file("tests-for")?)),
        "cycles" => Ok(overview::cycles(graph, argument == "all")),
        "layers" => Ok(overview::layers(
            graph,
            &LayerRules::parse(context.layer_rules.unwrap_or_default())?,
        )),
        "central" => Ok(overview::central(graph, argument.parse().unwrap_or(20))),
        "communities" => Ok(overview::communities(graph)),
        "next" => Ok(overview::next(graph, file("next")?, history(context)?)),
        "hotspots" => Ok(overview::hotspots(graph, history(context)?)),
        "dead" => Ok(overview::dead(graph)),
        "map" => Ok(map::map(graph, argument)),
        _ => Err(QueryError::Unknown(name.to_owned())),
    }
}

fn history<'g>(context: &Context<'g>) -> Result<&'g History, QueryError> {
    context
        .history
        .ok_or_else(|| HistoryError::None("none was read".to_owned()).into())
}

/// The files of a graph for algorithms.
fn files(graph: &Graph) -> FileGraph {
    FileGraph::new(graph)
}
