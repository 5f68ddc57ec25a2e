//! `.kg` files: they come back as they were, whatever names they hold, and broken ones say so.

use codegraph::graph::Graph;
use codegraph::kg::{self, KgError, StableIds};
use codegraph::model::{Model, PreparedFile};
use proptest::prelude::*;

fn model(files: &[(&str, &str)]) -> Model {
    let mut model = Model::new("/home/u/app");
    for (path, text) in files {
        model.set(PreparedFile::new(path, text.as_bytes(), None));
    }
    model.commit();
    model
}

/// A reader as the format's documentation describes it: lines, and `split('|')`.
fn naive(text: &str) -> (usize, usize, usize) {
    let mut counts = (0, 0, 0);
    for line in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let fields: Vec<&str> = line.split('|').collect();
        match line.as_bytes()[0] {
            b'n' => {
                assert_eq!(fields.len(), 6, "{line}");
                assert_eq!(fields[3], "");
                counts.0 += 1;
            }
            b'e' => {
                assert_eq!(fields.len(), 4, "{line}");
                counts.1 += 1;
            }
            _ => {
                assert!(line.starts_with("in") && fields.len() >= 6, "{line}");
                counts.2 += 1;
            }
        }
    }
    counts
}

fn header_counts(text: &str) -> (usize, usize, usize) {
    let line = text.lines().nth(1).unwrap();
    let numbers: Vec<usize> = line
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    (numbers[0], numbers[1], numbers[2])
}

#[test]
fn the_file_has_the_documented_header_and_lines() {
    let model = model(&[
        (
            "server/index.ts",
            "import { getFileTrackingService } from './fileTracking';\nimport fs from 'fs';\nexport const app = getFileTrackingService;",
        ),
        (
            "server/fileTracking.ts",
            "export function getFileTrackingService() {}",
        ),
        ("README.md", ""),
    ]);
    let text = kg::write_canonical(model.graph());
    let expected = "\
# Knowledge Graph v3 — /home/u/app
# Nodes: 7  Edges: 8  Imports: 2
# Format: n<id>|<type>|<parentId>||<name>|<kind>
#         e<id>|<fromId>|<toId>|<type>
#         i<fromId>|<module>|<classification>|<targetFileId>|<names>|<unused>
#   type: dir|file|symbol  classification: local|stdlib|third-party
#   names: imported:local pairs (comma-joined)  unused: local names (comma-joined)

n0|dir|||app|
n1|file|n0||README.md|md
n2|dir|n0||server|
n3|file|n2||fileTracking.ts|ts
n4|symbol|n3||getFileTrackingService|function
n5|file|n2||index.ts|ts
n6|symbol|n5||app|const

e0|n0|n1|CONTAINS
e1|n0|n2|CONTAINS
e2|n2|n3|CONTAINS
e3|n2|n5|CONTAINS
e4|n3|n4|EXPORTS
e5|n5|n6|EXPORTS
e6|n5|n3|IMPORTS
e7|n5|n4|IMPORTS_SYMBOL

in5|./fileTracking|local|n3|getFileTrackingService|||1|relative
in5|fs|stdlib||default:fs|fs||2|builtin
";
    assert_eq!(text, expected);
}

#[test]
fn a_cut_or_edited_file_says_what_is_wrong() {
    let model = model(&[("a.ts", "import './b'; export const a = 1;"), ("b.ts", "")]);
    let text = kg::write_canonical(model.graph());
    assert!(matches!(kg::read("hello"), Err(KgError::NotKnowledgeGraph)));
    let cut = &text[..text.len() - 30];
    assert!(kg::read(cut).is_err());
    let without_last = text.trim_end().rsplit_once('\n').unwrap().0;
    assert_eq!(
        kg::read(without_last).unwrap_err().to_string(),
        "the header counts 1 imports but the file has 0"
    );
    let dangling = text.replace("e0|n0|n1|", "e0|n0|n99|");
    assert!(matches!(
        kg::read(&dangling),
        Err(KgError::Line {
            what: "names a node that doesn't stand before it",
            ..
        })
    ));
    let future = text.replace("IMPORTS\n", "CALLS\n");
    assert!(
        kg::read(&future).is_ok(),
        "edge words of the future are passed over"
    );
}

#[test]
fn every_prefix_of_a_file_is_refused_without_a_panic() {
    let model = model(&[
        ("a.ts", "import { x } from './b|c'; export const a = x;"),
        ("ü/b.ts", ""),
    ]);
    let text = kg::write_canonical(model.graph());
    for end in (0..text.len() - 1).filter(|end| text.is_char_boundary(*end)) {
        if let Ok(graph) = kg::read(&text[..end]) {
            assert_eq!(
                graph.imports.len(),
                model.graph().imports.len(),
                "cut at {end}"
            );
        }
    }
}

#[test]
fn ids_stay_with_their_nodes_over_rebuilds_and_restarts() {
    let mut ids = StableIds::default();
    let id_of = |graph: &Graph, name: &str| {
        let index = graph
            .nodes
            .iter()
            .position(|node| graph.names.text(node.name) == name)
            .unwrap();
        graph.nodes[index].id
    };
    let files = |with: &[&'static str]| {
        with.iter()
            .map(|path| (*path, "export const x = 1;"))
            .collect::<Vec<_>>()
    };
    let mut first = model(&files(&["a.ts", "c.ts"])).graph().clone();
    ids.assign(&mut first);
    let (a, c) = (id_of(&first, "a.ts"), id_of(&first, "c.ts"));
    let mut second = model(&files(&["a.ts", "b.ts", "c.ts"])).graph().clone();
    ids.assign(&mut second);
    assert_eq!((id_of(&second, "a.ts"), id_of(&second, "c.ts")), (a, c));
    let b = id_of(&second, "b.ts");
    let mut restarted = StableIds::of(&kg::read(&kg::write(&second)).unwrap());
    let mut third = model(&files(&["b.ts", "d.ts"])).graph().clone();
    restarted.assign(&mut third);
    assert_eq!(id_of(&third, "b.ts"), b);
    assert!(
        ![a, b, c].contains(&id_of(&third, "d.ts")),
        "ids are never given out twice"
    );
}

fn hostile_name() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("|".to_owned()),
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just("%".to_owned()),
        Just("%7C".to_owned()),
        Just(",".to_owned()),
        Just(":".to_owned()),
        Just("\\".to_owned()),
        Just("ü\u{10FFFF}".to_owned()),
        Just(kg::byte_stand_in(0xFF).to_string()),
        "[a-z .#]{1,4}",
    ];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn hostile_names_come_back_as_they_were(
        names in prop::collection::vec(hostile_name(), 1..6),
        exported in hostile_name(),
        module in hostile_name(),
    ) {
        let escaped = |text: &str| serde_json::to_string(text).unwrap();
        let mut model = Model::new("/w|\n");
        for (index, name) in names.iter().enumerate() {
            let source = format!(
                "import {{ {} as local{index} }} from {};\nconst v = 1;\nexport {{ v as {} }};\nimport * as ns from './x';",
                escaped(&exported), escaped(&module), escaped(&exported),
            );
            model.set(PreparedFile::new(&format!("d{name}/{name}.ts"), source.as_bytes(), None));
        }
        let text = kg::write_canonical(model.commit());
        prop_assert_eq!(naive(&text), header_counts(&text));
        let graph = kg::read(&text).unwrap();
        prop_assert_eq!(&kg::write_canonical(&graph), &text);
        prop_assert_eq!(graph.paths(), model.graph().paths());
        prop_assert_eq!(&graph.root, "/w|\n");
    }

    #[test]
    fn damaged_files_never_panic(at in 0..2_000_usize, with in any::<char>()) {
        let model = model(&[("a.ts", "import { x } from './b'; export const a = x;"), ("b.ts", "export const x = 1;")]);
        let text = kg::write_canonical(model.graph());
        let mut characters: Vec<char> = text.chars().collect();
        let at = at % characters.len();
        characters[at] = with;
        if let Ok(graph) = kg::read(&characters.into_iter().collect::<String>()) {
            let _ = codegraph::tree_text::render(&graph);
            let _ = codegraph::query::ask(&codegraph::query::Context::new(&graph), "structure");
        }
    }
}
