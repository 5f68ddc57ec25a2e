//! What reaches what, and why.

use super::answer::{Answer, Hop, Reached, Reason};
use super::structure::records;
use super::{QueryError, files, locate};
use crate::analysis::FileGraph;
use crate::facts::ImportFlags;
use crate::graph::{EdgeType, Graph, ImportRecord, NodeIndex};
use crate::language::Language;

/// What may break when a file, or one symbol of it (`file#symbol`), changes.
pub(super) fn impact(graph: &Graph, argument: &str) -> Result<Answer, QueryError> {
    if argument.is_empty() {
        return Err(QueryError::Argument("impact", "a file, or file#symbol"));
    }
    let all = files(graph);
    let (start, of) = match locate::file(graph, argument) {
        Ok(file) => (vec![file], graph.path(file)),
        Err(error) => {
            let Some((path, name)) = argument.rsplit_once('#') else {
                return Err(error);
            };
            let file = locate::file(graph, path)?;
            let symbols = graph.adjacency().outgoing(EdgeType::Exports, file);
            let symbol = symbols.iter().find(|symbol| graph.name(**symbol) == name);
            let symbol = symbol.ok_or_else(|| QueryError::NoFile(argument.to_owned()))?;
            let users = graph
                .adjacency()
                .incoming(EdgeType::ImportsSymbol, *symbol)
                .to_vec();
            (users, format!("{}#{name}", graph.path(file)))
        }
    };
    let is_symbol = of.contains('#');
    let start: Vec<u32> = start
        .into_iter()
        .filter_map(|node| all.number(node))
        .collect();
    let distances = all.distances(&start, |file| all.importers(file));
    let reached = reached(&all, &distances, u32::from(is_symbol), |_| true);
    Ok(Answer::Impact { of, reached })
}

/// Files at a distance, nearest first; `offset` is added to each distance, and files at 0 are left out.
fn reached(
    all: &FileGraph,
    distances: &[u32],
    offset: u32,
    keep: impl Fn(&str) -> bool,
) -> Vec<Reached> {
    let found = all
        .paths
        .iter()
        .zip(distances)
        .filter(|(path, distance)| **distance != u32::MAX && keep(path));
    let mut reached: Vec<Reached> = found
        .map(|(path, distance)| Reached {
            path: path.clone(),
            distance: distance + offset,
        })
        .filter(|reached| reached.distance > 0)
        .collect();
    reached.sort_by(|left, right| {
        left.distance
            .cmp(&right.distance)
            .then_with(|| left.path.cmp(&right.path))
    });
    reached
}

pub(super) fn tests_for(graph: &Graph, file: NodeIndex) -> Answer {
    let all = files(graph);
    let start: Vec<u32> = all.number(file).into_iter().collect();
    let distances = all.distances(&start, |file| all.importers(file));
    Answer::TestsFor {
        file: graph.path(file),
        tests: reached(&all, &distances, 0, locate::is_test),
    }
}

pub(super) fn path(graph: &Graph, from: NodeIndex, to: NodeIndex) -> Answer {
    let all = files(graph);
    let chain = all
        .number(from)
        .zip(all.number(to))
        .and_then(|(from, to)| all.path(from, to));
    let hops = chain.map(|chain| {
        chain
            .windows(2)
            .map(|step| {
                hop(
                    graph,
                    all.nodes[step[0] as usize],
                    all.nodes[step[1] as usize],
                )
            })
            .collect()
    });
    Answer::Path {
        from: graph.path(from),
        to: graph.path(to),
        hops,
    }
}

pub(super) fn why(graph: &Graph, from: NodeIndex, to: NodeIndex) -> Answer {
    let used = graph
        .adjacency()
        .outgoing(EdgeType::ImportsSymbol, from)
        .iter();
    let symbols = used
        .filter(|symbol| graph.file_of(**symbol) == to)
        .map(|symbol| graph.name(*symbol).to_owned());
    Answer::Why {
        hop: hop(graph, from, to),
        symbols: symbols.collect(),
    }
}

pub(super) fn hop(graph: &Graph, from: NodeIndex, to: NodeIndex) -> Hop {
    let mut because: Vec<&ImportRecord> = records(graph, from)
        .filter(|record| record.target == Some(to))
        .collect();
    if because.is_empty() {
        because = indirect(graph, from, to);
    }
    let is_best_effort = Language::of_path(&graph.path(from)).is_some_and(Language::is_best_effort);
    let reasons = because.into_iter().map(|record| Reason {
        line: record.line,
        module: graph.names.text(record.module).to_owned(),
        names: record
            .names
            .iter()
            .map(|name| graph.names.text(name.imported).to_owned())
            .collect(),
        rule: record
            .rule
            .map_or("", crate::resolve::Rule::as_str)
            .to_owned(),
        flags: record.flags,
        is_best_effort,
    });
    Hop {
        from: graph.path(from),
        to: graph.path(to),
        reasons: reasons.collect(),
    }
}

/// The imports of a Go package that a file is part of without giving any of the names, and of a Python module that the
/// file is the stub of.
fn indirect(graph: &Graph, from: NodeIndex, to: NodeIndex) -> Vec<&ImportRecord> {
    let directory = |file: NodeIndex| graph.nodes[file as usize].parent;
    let is_imported = graph
        .adjacency()
        .outgoing(EdgeType::Imports, from)
        .contains(&to);
    let stem = |file: NodeIndex| graph.name(file).rsplit_once('.').map(|(stem, _)| stem);
    let means_it = |target: NodeIndex| match graph.kind(to) {
        "go" => graph.kind(target) == "go",
        "pyi" => stem(target) == stem(to),
        _ => false,
    };
    records(graph, from)
        .filter(|record| {
            let is_stated = !record.flags.contains(ImportFlags::IMPLICIT);
            is_imported
                && is_stated
                && record
                    .target
                    .is_some_and(|target| directory(target) == directory(to) && means_it(target))
        })
        .collect()
}
