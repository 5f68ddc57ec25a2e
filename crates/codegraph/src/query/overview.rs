//! Questions about the folder as a whole.

use rustc_hash::FxHashMap;

use super::answer::{
    Answer, CommunityEntry, CycleEntry, Exporter, HotspotEntry, Ranked, ViolationEntry,
};
use super::structure::{records, symbol};
use super::{files, locate};
use crate::analysis::history::History;
use crate::analysis::layers::LayerRules;
use crate::analysis::page_rank::{by_rank, page_rank};
use crate::analysis::predict::Predictor;
use crate::analysis::{FileGraph, communities as community, cycles as cycle};
use crate::facts::ImportFlags;
use crate::graph::{EdgeType, Graph, NodeIndex, NodeType};
use crate::language::{Language, parent};

/// How many files a ranking lists.
const LISTED: usize = 20;

/// Cycles at run time; with `all`, those that only types close as well.
pub(super) fn cycles(graph: &Graph, all: bool) -> Answer {
    let files = if all {
        FileGraph::new(graph)
    } else {
        FileGraph::at_run_time(graph)
    };
    let path = |file: &u32| files.paths[*file as usize].clone();
    let cycles = cycle::cycles(&files).into_iter().map(|found| CycleEntry {
        files: found.files.iter().map(path).collect(),
        cut: found
            .cut
            .iter()
            .map(|(from, to)| (path(from), path(to)))
            .collect(),
        is_smallest: found.is_smallest,
    });
    Answer::Cycles {
        cycles: cycles.collect(),
    }
}

pub(super) fn layers(graph: &Graph, rules: &LayerRules) -> Answer {
    let files = files(graph);
    let violations = rules.violations(&files).into_iter().map(|violation| {
        let (from, to) = (
            files.nodes[violation.from as usize],
            files.nodes[violation.to as usize],
        );
        let line = records(graph, from)
            .find(|record| record.target == Some(to))
            .map_or(0, |record| record.line);
        ViolationEntry {
            from: graph.path(from),
            to: graph.path(to),
            rule: violation.rule,
            line,
        }
    });
    Answer::Layers {
        violations: violations.collect(),
    }
}

pub(super) fn central(graph: &Graph, count: usize) -> Answer {
    let files = files(graph);
    let ranks = page_rank(&files, &[]);
    let listed = by_rank(&ranks).into_iter().take(count);
    let ranked = listed.map(|file| Ranked {
        path: files.paths[file as usize].clone(),
        score: ranks[file as usize],
    });
    Answer::Central {
        files: ranked.collect(),
    }
}

pub(super) fn communities(graph: &Graph) -> Answer {
    let files = files(graph);
    let groups = community::communities(&files);
    let mut members: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for (file, group) in (0..).zip(&groups) {
        members.entry(*group).or_default().push(file);
    }
    // A file that is alone imports nothing and is imported by nothing.
    let mut entries: Vec<CommunityEntry> = members
        .into_values()
        .filter(|members| members.len() > 1)
        .map(|members| CommunityEntry {
            name: common_directory(&files, &members),
            files: members
                .iter()
                .map(|file| files.paths[*file as usize].clone())
                .collect(),
        })
        .collect();
    entries.sort_by(|left, right| {
        right
            .files
            .len()
            .cmp(&left.files.len())
            .then_with(|| left.files.cmp(&right.files))
    });
    Answer::Communities {
        communities: entries,
        modularity: community::modularity(&files, &groups),
    }
}

/// The directory that most of some files lie directly in.
fn common_directory(files: &FileGraph, members: &[u32]) -> String {
    let mut counts: FxHashMap<&str, u32> = FxHashMap::default();
    for file in members {
        *counts
            .entry(parent(&files.paths[*file as usize]))
            .or_default() += 1;
    }
    let best = counts
        .into_iter()
        .max_by(|left, right| left.1.cmp(&right.1).then_with(|| right.0.cmp(left.0)));
    best.map_or_else(String::new, |(directory, _)| {
        if directory.is_empty() {
            ".".to_owned()
        } else {
            directory.to_owned()
        }
    })
}

pub(super) fn next(graph: &Graph, file: NodeIndex, history: &History) -> Answer {
    let files = files(graph);
    let predictor = Predictor::new(&files, history);
    let likely = files
        .number(file)
        .map(|number| predictor.next(number, 10))
        .unwrap_or_default();
    let ranked = likely.into_iter().map(|(file, score)| Ranked {
        path: files.paths[file as usize].clone(),
        score,
    });
    Answer::Next {
        file: graph.path(file),
        files: ranked.collect(),
    }
}

/// Commits times PageRank, scaled so that the highest is 1.
pub(super) fn hotspots(graph: &Graph, history: &History) -> Answer {
    let files = files(graph);
    let ranks = page_rank(&files, &[]);
    let churn = history.churn();
    let mut entries: Vec<HotspotEntry> = files
        .paths
        .iter()
        .zip(&ranks)
        .filter_map(|(path, rank)| {
            let commits = *churn.get(path.as_str())?;
            Some(HotspotEntry {
                path: path.clone(),
                commits,
                rank: *rank,
                score: f64::from(commits) * rank,
            })
        })
        .collect();
    entries.sort_by(|left, right| {
        right
            .score
            .total_cmp(&left.score)
            .then_with(|| left.path.cmp(&right.path))
    });
    entries.truncate(LISTED);
    let best = entries.first().map_or(1.0, |entry| entry.score);
    entries.iter_mut().for_each(|entry| entry.score /= best);
    Answer::Hotspots { files: entries }
}

/// Exports that no file of the folder imports by name. A file that is imported as a whole may be used in any part, and
/// one that nothing imports is where a program starts: neither is judged, nor are tests, nor languages whose uses are
/// read by best effort.
pub(super) fn dead(graph: &Graph) -> Answer {
    let mut used_whole: Vec<bool> = vec![false; graph.nodes.len()];
    let mut imported: Vec<bool> = vec![false; graph.nodes.len()];
    for record in &graph.imports {
        let Some(target) = record.target else {
            continue;
        };
        imported[target as usize] = true;
        // A reader of an older file doesn't know what is taken out of a module.
        let is_unknown = record.rule.is_none()
            && record
                .names
                .iter()
                .any(|name| graph.names.text(name.imported) == "*");
        let takes_whole = is_unknown || record.flags.contains(ImportFlags::WHOLE);
        let is_open = record.flags.contains(ImportFlags::DYNAMIC) && record.names.is_empty();
        used_whole[target as usize] |= takes_whole || is_open;
    }
    let adjacency = graph.adjacency();
    let exports = graph.nodes_of(NodeType::Symbol).filter(|node| {
        let file = graph.file_of(*node) as usize;
        imported[file]
            && !used_whole[file]
            && adjacency
                .incoming(EdgeType::ImportsSymbol, *node)
                .is_empty()
    });
    let mut exports: Vec<Exporter> = exports
        .map(|node| Exporter {
            path: graph.path(node),
            symbol: symbol(graph, node),
        })
        .collect();
    exports.retain(|export| {
        let is_judged = Language::of_path(&export.path).is_some_and(Language::shows_every_use);
        is_judged && !locate::is_test(&export.path) && !export.symbol.name.starts_with('_')
    });
    Answer::Dead { exports }
}
