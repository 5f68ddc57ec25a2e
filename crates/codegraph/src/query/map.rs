//! The folder in so many tokens: the files that matter most, with what they export.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::answer::Answer;
use super::files;
use crate::analysis::page_rank::{by_rank, page_rank};
use crate::graph::{EdgeType, Graph, NodeIndex};
use crate::language::{file_name, parent};

/// The budget of a question that states none.
const BUDGET: usize = 2_000;

/// Characters a token; measured on code with common tokenizers it lies between 3 and 4.5.
const CHARACTERS: usize = 4;

/// How much more a file or name that the question mentions counts.
const MENTIONED: f64 = 50.0;

/// Draws a map. The argument holds a number of tokens and words: paths and names that the reader cares for.
pub(super) fn map(graph: &Graph, argument: &str) -> Answer {
    let mut budget = BUDGET;
    let mut words = Vec::new();
    for word in argument.split_whitespace() {
        match word.parse() {
            Ok(tokens) => budget = tokens,
            Err(_) => words.push(word),
        }
    }
    let files = files(graph);
    let jump: Vec<f64> = files
        .nodes
        .iter()
        .zip(&files.paths)
        .map(|(node, path)| interest(graph, *node, path, &words))
        .collect();
    let ranks = page_rank(&files, &jump);
    let mut shown: BTreeMap<&str, Vec<(&str, String)>> = BTreeMap::new();
    let (mut characters, mut count) = (0, 0);
    for file in by_rank(&ranks) {
        let path = &files.paths[file as usize];
        let exports = exports(graph, files.nodes[file as usize]);
        if exports.is_empty() && !words.iter().any(|word| path.contains(word)) {
            continue;
        }
        let entry = format!("  {}{exports}\n", file_name(path));
        let heading = if shown.contains_key(parent(path)) {
            0
        } else {
            parent(path).chars().count() + 3
        };
        let cost = entry.chars().count() + heading;
        if (characters + cost).div_ceil(CHARACTERS) > budget {
            continue;
        }
        characters += cost;
        count += 1;
        shown.entry(parent(path)).or_default().push((path, entry));
    }
    let mut text = String::with_capacity(characters);
    for (directory, mut entries) in shown {
        entries.sort_unstable();
        // Writing to a String can't fail.
        let _ = writeln!(
            text,
            "{}/",
            if directory.is_empty() { "." } else { directory }
        );
        entries.iter().for_each(|(_, entry)| text.push_str(entry));
    }
    Answer::Map {
        tokens: text.chars().count().div_ceil(CHARACTERS),
        text,
        left_out: files.len() - count,
    }
}

fn interest(graph: &Graph, node: NodeIndex, path: &str, words: &[&str]) -> f64 {
    let exports = graph.adjacency().outgoing(EdgeType::Exports, node);
    let is_mentioned = words.iter().any(|word| {
        path == *word
            || file_name(path) == *word
            || exports.iter().any(|symbol| graph.name(*symbol) == *word)
    });
    if is_mentioned { MENTIONED } else { 1.0 }
}

/// `: name, name, …` with the first exports.
fn exports(graph: &Graph, file: NodeIndex) -> String {
    const SHOWN: usize = 12;
    let symbols = graph.adjacency().outgoing(EdgeType::Exports, file);
    let mut names: Vec<&str> = symbols
        .iter()
        .map(|symbol| graph.name(*symbol))
        .filter(|name| !name.starts_with('_'))
        .take(SHOWN + 1)
        .collect();
    if names.len() > SHOWN {
        names[SHOWN] = "…";
    }
    if names.is_empty() {
        String::new()
    } else {
        format!(": {}", names.join(", "))
    }
}
