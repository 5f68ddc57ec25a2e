//! Every rule of facts and resolution as a small folder with the sets it must give.
//!
//! A file of `tests/rules/` holds sources (`//- path`) and expectations (`//= what`). Each expected set is compared
//! whole: what is missing and what is too much both fail.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use codegraph::graph::{EdgeType, Graph};
use codegraph::model::{Model, PreparedFile};

/// The languages behind features, by the names of their files of rules.
const SECOND_TIER: [(&str, bool); 8] = [
    ("c", cfg!(feature = "c")),
    ("cpp", cfg!(feature = "cpp")),
    ("csharp", cfg!(feature = "csharp")),
    ("go", cfg!(feature = "go")),
    ("java", cfg!(feature = "java")),
    ("php", cfg!(feature = "php")),
    ("ruby", cfg!(feature = "ruby")),
    ("rust", cfg!(feature = "rust")),
];

struct Case {
    name: String,
    files: Vec<(String, String)>,
    expected: Vec<(String, BTreeSet<String>)>,
}

fn parse(name: &str, text: &str) -> Case {
    let mut case = Case {
        name: name.to_owned(),
        files: Vec::new(),
        expected: Vec::new(),
    };
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("//- ") {
            case.files.push((path.to_owned(), String::new()));
        } else if let Some(what) = line.strip_prefix("//= ") {
            case.expected.push((what.to_owned(), BTreeSet::new()));
        } else if let Some((_, set)) = case.expected.last_mut() {
            if !line.trim().is_empty() {
                set.insert(line.trim().to_owned());
            }
        } else if let Some((_, source)) = case.files.last_mut() {
            let _ = writeln!(source, "{line}");
        }
    }
    assert!(!case.expected.is_empty(), "{name} expects nothing");
    case
}

fn build(files: &[(String, String)]) -> Model {
    let mut model = Model::new("/w");
    for (path, source) in files {
        model.set(PreparedFile::new(path, source.as_bytes(), None));
    }
    model.commit();
    model
}

/// What the graph says about one of the things that cases expect.
fn actual(graph: &Graph, what: &str) -> BTreeSet<String> {
    let name = |id: u32| graph.names.text(id).to_owned();
    match what {
        "imports" => graph
            .edges_of(EdgeType::Imports)
            .iter()
            .map(|edge| format!("{} -> {}", graph.path(edge.from), graph.path(edge.to)))
            .collect(),
        "symbols" => graph
            .edges_of(EdgeType::ImportsSymbol)
            .iter()
            .map(|edge| {
                format!(
                    "{} -> {}#{}",
                    graph.path(edge.from),
                    graph.path(edge.to),
                    graph.name(edge.to)
                )
            })
            .collect(),
        "exports" => graph
            .edges_of(EdgeType::Exports)
            .iter()
            .map(|edge| {
                format!(
                    "{} {}:{}",
                    graph.path(edge.from),
                    graph.name(edge.to),
                    graph.kind(edge.to)
                )
            })
            .collect(),
        "unused" => graph
            .imports
            .iter()
            .flat_map(|import| {
                import
                    .names
                    .iter()
                    .filter(|name| name.unused)
                    .map(move |name| (import, name))
            })
            .map(|(import, unused)| format!("{} {}", graph.path(import.from), name(unused.local)))
            .collect(),
        "reexports" | "tests" => graph
            .edges_of(if what == "tests" {
                EdgeType::Tests
            } else {
                EdgeType::Reexports
            })
            .iter()
            .map(|edge| format!("{} -> {}", graph.path(edge.from), graph.path(edge.to)))
            .collect(),
        "bases" => graph
            .edges_of(EdgeType::Inherits)
            .iter()
            .map(|edge| {
                let symbol = |node| format!("{}#{}", graph.path(node), graph.name(node));
                format!("{} -> {}", symbol(edge.from), symbol(edge.to))
            })
            .collect(),
        "whole" => graph
            .imports
            .iter()
            .filter(|import| import.flags.contains(codegraph::facts::ImportFlags::WHOLE))
            .map(|import| format!("{}:{}", graph.path(import.from), import.line))
            .collect(),
        "records" => graph
            .imports
            .iter()
            .map(|import| {
                let names = import
                    .names
                    .iter()
                    .map(|taken| format!("{}:{}", name(taken.imported), name(taken.local)));
                let names: Vec<String> = names.collect();
                let rule = import.rule.map_or("", codegraph::resolve::Rule::as_str);
                let flags = import.flags.letters();
                format!(
                    "{}:{} {} [{}] {} {rule} {}",
                    graph.path(import.from),
                    import.line,
                    name(import.module),
                    names.join(","),
                    import.classification.as_str(),
                    if flags.is_empty() { "-" } else { &flags },
                )
            })
            .collect(),
        other => panic!("no such expectation: {other}"),
    }
}

#[test]
fn every_rule_gives_exactly_the_sets_that_its_case_states() {
    let mut failures = String::new();
    let mut cases = 0;
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rules");
    let mut paths: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        // A language whose grammar is left out has nothing to say.
        let language = path.file_stem().and_then(|stem| stem.to_str());
        if SECOND_TIER
            .iter()
            .any(|(name, is_built_in)| Some(*name) == language && !is_built_in)
        {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for part in text.split("//# ").skip(1) {
            let (title, body) = part.split_once('\n').unwrap();
            let case = parse(
                &format!("{}: {title}", path.file_name().unwrap().display()),
                body,
            );
            let model = build(&case.files);
            cases += 1;
            for (what, expected) in &case.expected {
                let actual = actual(model.graph(), what);
                if actual != *expected {
                    let missing: Vec<_> = expected.difference(&actual).collect();
                    let extra: Vec<_> = actual.difference(expected).collect();
                    let _ = writeln!(
                        failures,
                        "{} ({what})\n  missing {missing:#?}\n  too much {extra:#?}",
                        case.name
                    );
                }
            }
        }
    }
    assert!(cases > 30, "only {cases} cases were found");
    assert!(failures.is_empty(), "{failures}");
}
