//! Questions and the exact text of their answers.

use codegraph::analysis::FileGraph;
use codegraph::analysis::communities::{communities, modularity};
use codegraph::analysis::history::History;
use codegraph::analysis::page_rank::page_rank;
use codegraph::model::{Model, PreparedFile};
use codegraph::query::{self, Answer, Context, QueryError};
use codegraph::{kg, tree_text};

fn model(files: &[(&str, &str)]) -> Model {
    let mut model = Model::new("/home/u/H");
    for (path, text) in files {
        model.set(PreparedFile::new(path, text.as_bytes(), None));
    }
    model.commit();
    model
}

fn server() -> Model {
    model(&[
        (
            "server/fileTracking.ts",
            "export function getFileTrackingService() {}\nexport class FileTrackingService {}\nexport type TrackingMode = 1;",
        ),
        ("server/deepseek.ts", "export const chatDeepSeekTool = 1;"),
        (
            "server/agent.ts",
            "import { chatDeepSeekTool } from './deepseek';\nimport { getFileTrackingService } from './index';\nimport fs from 'fs';\nimport express from 'express';\nimport './setup';\nchatDeepSeekTool; fs;",
        ),
        (
            "server/index.ts",
            "export { getFileTrackingService } from './fileTracking';\nexport const app = 1;",
        ),
        ("server/setup.ts", "console.log(1);"),
        ("server/agent.test.ts", "import './agent';"),
        (
            "client/App.tsx",
            "import type { TrackingMode } from '../server/fileTracking';\nexport const mode: TrackingMode = 1;",
        ),
        (".eslintrc.js", ""),
    ])
}

fn ask(model: &Model, question: &str) -> String {
    let answer = query::ask(&Context::new(model.graph()), question).unwrap();
    let json = serde_json::to_string(&answer).unwrap();
    let again: Answer = serde_json::from_str(&json).unwrap();
    assert_eq!(
        again.to_string(),
        answer.to_string(),
        "an answer is structured data too"
    );
    answer.to_string()
}

#[test]
fn the_six_questions_answer_in_their_documented_shapes() {
    let model = server();
    assert_eq!(
        ask(&model, "structure"),
        "Directory tree (11 entries):\nH\nH/.eslintrc.js\nH/client\nH/client/App.tsx\nH/server\nH/server/agent.test.ts\n\
         H/server/agent.ts\nH/server/deepseek.ts\nH/server/fileTracking.ts\nH/server/index.ts\nH/server/setup.ts\n"
    );
    assert_eq!(
        ask(&model, "exports server/fileTracking.ts"),
        "server/fileTracking.ts exports:\nFileTrackingService:class\ngetFileTrackingService:function\nTrackingMode:type\n"
            .replace("FileTrackingService:class\ngetFileTrackingService:function\nTrackingMode:type", "FileTrackingService:class\nTrackingMode:type\ngetFileTrackingService:function")
    );
    assert_eq!(
        ask(&model, "imports_of server/agent.ts"),
        "server/agent.ts imports:\n  chatDeepSeekTool from ./deepseek\n  getFileTrackingService from ./index\n  \
         fs from fs [stdlib]\n  express from express [third-party]\n  (side effect) from ./setup\n"
    );
    assert_eq!(
        ask(&model, "exporters_of getfiletrackingservice"),
        "Files exporting 'getfiletrackingservice':\nserver/fileTracking.ts → getFileTrackingService:function\n\
         server/index.ts → getFileTrackingService:function\n"
    );
    assert_eq!(
        ask(&model, "dependents server/fileTracking.ts"),
        "server/fileTracking.ts is imported by:\nclient/App.tsx\nserver/agent.ts\nserver/index.ts\n"
    );
    assert_eq!(
        ask(&model, "unused_imports server/agent.ts"),
        "server/agent.ts unused imports:\n  getFileTrackingService (from ./index)\n  express (from express)\n"
    );
}

#[test]
fn questions_answer_the_same_from_a_file() {
    let model = server();
    let graph = kg::read(&kg::write_canonical(model.graph())).unwrap();
    for question in [
        "structure",
        "imports_of agent.ts",
        "unused_imports agent.ts",
        "why agent.ts deepseek.ts",
        "central",
    ] {
        let from_file = query::ask(&Context::new(&graph), question)
            .unwrap()
            .to_string();
        assert_eq!(from_file, ask(&model, question), "{question}");
    }
}

#[test]
fn a_file_is_found_by_any_unmistakable_name() {
    let model = server();
    for name in [
        "server/agent.ts",
        "/home/u/H/server/agent.ts",
        "server\\agent.ts",
        "agent.ts",
        "H/server/agent.ts",
        "./server/agent.ts",
    ] {
        assert!(
            ask(&model, &format!("exports {name}")).starts_with("server/agent.ts"),
            "{name}"
        );
    }
    let twice = self::model(&[("a/x.ts", ""), ("b/x.ts", "")]);
    let context = Context::new(twice.graph());
    assert!(
        matches!(query::ask(&context, "exports x.ts"), Err(QueryError::Ambiguous { candidates, .. }) if candidates == ["a/x.ts", "b/x.ts"])
    );
    assert!(matches!(
        query::ask(&context, "exports y.ts"),
        Err(QueryError::NoFile(_))
    ));
    assert!(matches!(
        query::ask(&context, "exports"),
        Err(QueryError::Argument(..))
    ));
    assert!(matches!(
        query::ask(&context, "nonsense"),
        Err(QueryError::Unknown(_))
    ));
}

#[test]
fn why_and_path_name_the_line_and_the_rule() {
    let model = server();
    assert_eq!(
        ask(&model, "why server/agent.ts server/deepseek.ts"),
        "server/agent.ts → server/deepseek.ts\n  line 1: chatDeepSeekTool from ./deepseek (relative)\n  uses chatDeepSeekTool\n"
    );
    assert_eq!(
        ask(&model, "why server/agent.ts server/fileTracking.ts"),
        "server/agent.ts → server/fileTracking.ts\n  through re-exports\n  uses getFileTrackingService\n"
    );
    assert!(
        ask(&model, "path agent.test.ts deepseek.ts")
            .starts_with("server/agent.test.ts reaches server/deepseek.ts in 2 imports:")
    );
    assert_eq!(
        ask(&model, "path deepseek.ts agent.ts"),
        "server/deepseek.ts does not reach server/agent.ts.\n"
    );
}

#[test]
fn impact_and_tests_follow_imports_backwards() {
    let model = server();
    assert_eq!(
        ask(&model, "impact server/deepseek.ts"),
        "A change of server/deepseek.ts reaches 2 files:\n1 server/agent.ts\n2 server/agent.test.ts\n"
    );
    assert_eq!(
        ask(&model, "impact server/fileTracking.ts#TrackingMode"),
        "A change of server/fileTracking.ts#TrackingMode reaches 1 files:\n1 client/App.tsx\n"
    );
    assert_eq!(
        ask(&model, "tests-for deepseek.ts"),
        "1 tests reach server/deepseek.ts:\n2 server/agent.test.ts\n"
    );
}

#[test]
fn cycles_come_with_the_smallest_cut_and_types_make_none() {
    let ring = model(&[
        ("a.ts", "import './b';"),
        ("b.ts", "import './c'; import './d';"),
        ("c.ts", "import './a';"),
        ("d.ts", "import './a';"),
        ("t.ts", "import type { U } from './u';"),
        ("u.ts", "import './t'; export type U = 1;"),
    ]);
    assert_eq!(
        ask(&ring, "cycles"),
        "1 import cycles:\n4 files: a.ts, b.ts, c.ts, d.ts\n  ends without 1 imports:\n    a.ts → b.ts\n"
    );
    assert!(ask(&ring, "cycles all").starts_with("2 import cycles:"));
}

#[cfg(feature = "rust")]
#[test]
fn declaring_a_module_makes_no_cycle_and_using_it_does() {
    let model = model(&[
        ("Cargo.toml", "[package]\nname = \"x\""),
        ("src/lib.rs", "mod a; mod b;\npub use b::g;"),
        ("src/a.rs", "use super::b;\npub fn f() {}"),
        ("src/b.rs", "use crate::f;\npub fn g() {}"),
    ]);
    let answer = ask(&model, "cycles");
    assert!(
        answer.starts_with("1 import cycles:\n2 files: src/b.rs, src/lib.rs\n"),
        "{answer}"
    );
}

#[test]
fn layers_list_every_import_that_breaks_a_rule() {
    let model = model(&[
        ("ui/a.ts", "import '../store/b';"),
        ("store/b.ts", "\nimport '../ui/c';"),
        ("ui/c.ts", ""),
        ("x.ts", "import './ui/a';"),
    ]);
    let rules = "[[layers]]\nname = \"ui\"\npaths = [\"ui/**\"]\n[[layers]]\nname = \"store\"\npaths = [\"store/**\"]\n\
                 [[forbidden]]\nfrom = [\"*.ts\"]\nto = [\"ui/**\"]\n";
    let context = Context {
        layer_rules: Some(rules),
        ..Context::new(model.graph())
    };
    assert_eq!(
        query::ask(&context, "layers").unwrap().to_string(),
        "2 imports break the layer rules:\nstore/b.ts:2 → ui/c.ts (store may not import ui)\nx.ts:1 → ui/a.ts (forbidden: *.ts to ui/**)\n"
    );
    let broken = Context {
        layer_rules: Some("[[layers]]\nnaem = 1"),
        ..Context::new(model.graph())
    };
    assert!(matches!(
        query::ask(&broken, "layers"),
        Err(QueryError::Layers(_))
    ));
}

#[test]
fn dead_exports_are_those_that_nothing_can_use() {
    let model = model(&[
        (
            "main.ts",
            "import { used } from './lib'; import * as ns from './whole'; import { viaBarrel } from './barrel'; used; ns; viaBarrel; export const entry = 1;",
        ),
        ("lib.ts", "export const used = 1, dead = 2;"),
        ("whole.ts", "export const maybe = 1;"),
        ("barrel.ts", "export * from './origin';"),
        ("origin.ts", "export const viaBarrel = 1, unusedHere = 2;"),
    ]);
    assert_eq!(
        ask(&model, "dead"),
        "3 exports that nothing here imports:\nbarrel.ts → unusedHere:const\nlib.ts → dead:const\norigin.ts → unusedHere:const\n"
    );
}

/// Two rings joined by one import.
fn two_rings() -> Model {
    let names: Vec<(String, String)> = (0..2)
        .flat_map(|ring| {
            (0..6).map(move |at| {
                let mut text = format!(
                    "import './f{ring}{}'; import './f{ring}{}';",
                    (at + 1) % 6,
                    (at + 2) % 6
                );
                if (ring, at) == (0, 0) {
                    text.push_str("import './f10';");
                }
                (format!("f{ring}{at}.ts"), text)
            })
        })
        .collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    model(&files)
}

#[test]
fn communities_are_found_and_are_the_same_every_time() {
    let model = two_rings();
    let files = FileGraph::new(model.graph());
    let groups = communities(&files);
    assert_eq!(groups, [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
    assert!(modularity(&files, &groups) > 0.4);
    assert_eq!(ask(&model, "communities"), ask(&two_rings(), "communities"));
}

#[test]
fn page_rank_sums_to_one_and_is_the_same_to_the_bit() {
    let model = server();
    let ranks = page_rank(&FileGraph::new(model.graph()), &[]);
    assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    let again = page_rank(&FileGraph::new(server().graph()), &[]);
    assert!(
        ranks
            .iter()
            .zip(&again)
            .all(|(left, right)| left.to_bits() == right.to_bits())
    );
    assert!(ask(&model, "central 1").contains("server/fileTracking.ts"));
}

#[test]
fn history_imports_and_names_predict_the_next_file() {
    let model = model(&[
        ("a.ts", "import './b';"),
        ("b.ts", ""),
        ("a.test.ts", ""),
        ("far.ts", ""),
        ("z.ts", ""),
    ]);
    let commit = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect();
    let history = History {
        commits: vec![
            commit(&["a.ts", "far.ts"]),
            commit(&["a.ts", "far.ts"]),
            commit(&["z.ts"]),
        ],
    };
    let context = Context {
        history: Some(&history),
        ..Context::new(model.graph())
    };
    let Answer::Next { files, .. } = query::ask(&context, "next a.ts").unwrap() else {
        panic!("another answer")
    };
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["far.ts", "b.ts", "a.test.ts"]);
    let hotspots = query::ask(&context, "hotspots").unwrap().to_string();
    assert!(
        hotspots.starts_with("Hotspots (commits x centrality):\n1.000 "),
        "{hotspots}"
    );
    assert!(matches!(
        query::ask(&Context::new(model.graph()), "next a.ts"),
        Err(QueryError::History(_))
    ));
}

#[test]
fn a_map_stays_within_its_budget_and_follows_mentions() {
    let model = server();
    let Answer::Map {
        text,
        tokens,
        left_out,
    } = query::ask(&Context::new(model.graph()), "map 20 chatDeepSeekTool").unwrap()
    else {
        panic!("another answer")
    };
    assert!(tokens <= 20, "{text}");
    assert!(text.contains("deepseek.ts: chatDeepSeekTool"), "{text}");
    assert!(left_out > 0);
}

#[test]
fn the_tree_text_nests_and_shows_exports_and_imports() {
    assert_eq!(
        tree_text::render(server().graph()),
        "H {\n  .eslintrc.js\n  client {\n    App.tsx  (exports: mode:const; → TrackingMode)\n  }\n  server {\n    \
         agent.test.ts  (→ agent)\n    agent.ts  (→ chatDeepSeekTool, getFileTrackingService, setup)\n    \
         deepseek.ts  (exports: chatDeepSeekTool:const)\n    \
         fileTracking.ts  (exports: FileTrackingService:class, TrackingMode:type, getFileTrackingService:function)\n    \
         index.ts  (exports: app:const, getFileTrackingService:function; → getFileTrackingService)\n    setup.ts\n  }\n}\n\
         # 7 exports\n# 6 file-level imports\n# 5 symbol-level imports\n"
    );
}

#[test]
fn arrays_for_networks_match_the_header() {
    let model = server();
    let export = query::gnn_export(model.graph());
    assert_eq!(export.description["nodes"], model.graph().nodes.len());
    assert_eq!(export.description["edges"], model.graph().edges.len());
    for array in &export.arrays {
        let header = usize::from(u16::from_le_bytes([array.bytes[8], array.bytes[9]]));
        assert_eq!((10 + header) % 64, 0, "{}", array.name);
    }
    let index = &export.arrays[0].bytes;
    assert_eq!(index.len() % 64, (model.graph().edges.len() * 16) % 64);
}
