//! Programs of the fuzzer's seeds, cut, spliced and scribbled over: whatever comes out is checked and run within its limits,
//! without a panic, and gives the same outcome twice and from its log.

use codemode::{
    Call, CancelFlag, Environment, Limits, Output, Reply, Runtime, Tool, ToolHost, ToolSet, compile,
};
use futures_util::future::{BoxFuture, FutureExt};
use proptest::prelude::*;
use serde_json::json;
use std::path::Path;
use std::sync::{Arc, OnceLock};

struct Echo;

impl ToolHost for Echo {
    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        async { Ok(Output::Json(call.input)) }.boxed()
    }
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let tool = |path: &str| Tool {
            path: path.into(),
            input: Some(json!({ "type": "object", "properties": { "id": { "type": "string" } } })),
            output: Some(
                json!({ "type": "object", "properties": { "items": { "type": "array" } } }),
            ),
            ..Tool::default()
        };
        let tools = vec![tool("github.listIssues"), tool("users.get"), tool("a")];
        let limits = Limits {
            fuel: Some(20_000),
            heap_bytes: 8 << 20,
            max_tool_calls: Some(50),
            max_output_bytes: Some(10_000),
            ..Limits::default()
        };
        let environment = Environment {
            now_ms: Arc::new(|| 1_700_000_000_000.0),
            seed: 7,
        };
        Runtime::new(ToolSet::new(tools, Default::default()).unwrap(), limits)
            .with_environment(environment)
    })
}

fn seeds() -> &'static [Vec<char>] {
    static SEEDS: OnceLock<Vec<Vec<char>>> = OnceLock::new();
    SEEDS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/codemode_source");
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        files.sort();
        files
            .iter()
            .map(|f| std::fs::read_to_string(f).unwrap().chars().collect())
            .collect()
    })
}

const TOKENS: [&str; 40] = [
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "`",
    "${",
    "'",
    "\"",
    "/",
    "/*",
    "*/",
    "//",
    "=>",
    "...",
    "?.",
    "??=",
    "**",
    "await ",
    "async ",
    "yield ",
    "class ",
    "function*",
    "return ",
    "try{",
    "}catch{",
    "finally{",
    "for(;;)",
    "new ",
    "#x",
    "tools.",
    "tools.users.get({id:1}).x",
    "0n",
    "1e999",
    "\\u{110000}",
    "\u{2028}",
    "𝒳",
    "<T>",
    "@",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn scribbled_programs_neither_panic_nor_differ(
        first: prop::sample::Index,
        edits in prop::collection::vec((0u8..5, any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6),
    ) {
        let mut text = first.get(seeds()).clone();
        for (kind, at, other, length) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + length.index(12)).min(text.len());
            match kind {
                0 => drop(text.drain(at..end)),
                1 => {
                    let token: Vec<char> = TOKENS[other.index(TOKENS.len())].chars().collect();
                    text.splice(at..at, token);
                }
                2 => {
                    let source = other.get(seeds());
                    let from = length.index(source.len() + 1);
                    let to = (from + 40).min(source.len());
                    text.splice(at..at, source[from..to].to_vec());
                }
                3 => {
                    let again = text[at..end].to_vec();
                    text.splice(at..at, again);
                }
                _ => text.truncate(at.max(8)),
            }
        }
        let source: String = text.into_iter().collect();
        let Ok(compiled) = compile(&source) else { return Ok(()) };
        let problems = runtime().check(&compiled);
        prop_assert!(problems.len() <= 50 && problems.iter().all(|p| p.location.is_some()));
        let run = || {
            let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
            executor.block_on(runtime().record(&compiled, &Echo, &CancelFlag::default(), None)).unwrap()
        };
        let (outcome, log) = run();
        prop_assert_eq!(&run(), &(outcome.clone(), log.clone()));
        prop_assert_eq!(runtime().replay(&log), Ok(outcome));
    }
}
