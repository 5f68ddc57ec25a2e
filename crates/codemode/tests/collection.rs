//! Collections take nothing that a program can still reach, wherever they happen.

use codemode::{
    Call, CancelFlag, Environment, Limits, Output, Reply, Runtime, ToolHost, ToolSet, compile,
};
use futures_util::future::{BoxFuture, FutureExt};
use std::sync::Arc;

struct NoTools;

impl ToolHost for NoTools {
    fn call(&self, _: Call) -> BoxFuture<'static, Reply> {
        async { Ok(Output::Json(serde_json::Value::Null)) }.boxed()
    }
}

const CHAPTERS: [&str; 10] = [
    include_str!("fixtures/async.txt"),
    include_str!("fixtures/binary.txt"),
    include_str!("fixtures/boundary.txt"),
    include_str!("fixtures/builtins.txt"),
    include_str!("fixtures/classes.txt"),
    include_str!("fixtures/diagnostics.txt"),
    include_str!("fixtures/expressions.txt"),
    include_str!("fixtures/reflection.txt"),
    include_str!("fixtures/statements.txt"),
    include_str!("fixtures/text.txt"),
];

/// The programs of the fixtures that need no tools and set no limits.
fn programs() -> Vec<(&'static str, &'static str)> {
    let blocks = CHAPTERS.iter().flat_map(|text| text.split("\n=== "));
    let cases = blocks.filter_map(|block| {
        let (name, rest) = block.trim_start_matches("=== ").split_once('\n')?;
        let (program, _) = rest.split_once("\n---\n")?;
        Some((name, program))
    });
    let set = ["tools: ", "limits: ", "prelude: "];
    cases
        .filter(|(_, program)| !set.iter().any(|field| program.starts_with(field)))
        .collect()
}

fn answer(program: &str, eagerly: bool) -> serde_json::Value {
    let environment = Environment {
        now_ms: Arc::new(|| 1_700_000_000_000.0),
        seed: 7,
    };
    let tools = ToolSet::new(Vec::new(), Default::default()).unwrap();
    let mut runtime = Runtime::new(tools, Limits::default()).with_environment(environment);
    if eagerly {
        runtime = runtime.with_eager_collection();
    }
    let compiled = match compile(program) {
        Ok(compiled) => compiled,
        Err(problems) => return runtime.not_compiled(problems).to_json(),
    };
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let cancel = CancelFlag::default();
    let run = runtime.run(&compiled, &NoTools, &cancel);
    executor.block_on(run).unwrap().to_json()
}

#[test]
fn collecting_at_every_safe_point_changes_no_result() {
    let programs = programs();
    assert!(programs.len() > 100);
    for (name, program) in programs {
        assert_eq!(answer(program, true), answer(program, false), "{name}");
    }
}

#[test]
fn values_in_the_hands_of_built_ins_survive() {
    let program = "
        const waste = () => { const list = []; for (let i = 0; i < 5; i++) list.push({ i, text: 'w' + i }); };
        const made = Array.from({ length: 20 }, (_, i) => { waste(); return { name: 'n' + i }; });
        const kept = made.map((o, i) => { made[i] = null; waste(); return { was: o.name }; });
        const sorted = kept.toSorted((a, b) => { waste(); return a.was < b.was ? 1 : -1; });
        const total = kept.reduce((all, o) => { waste(); return { text: all.text + o.was }; }, { text: '' });
        const text = 'abc'.replace(/./g, c => { waste(); return c + c; });
        const map = new Map(kept.map(o => [{ key: o.was }, o]));
        map.forEach((value, key) => { map.delete(key); waste(); value.was += key.key; });
        const copy = JSON.parse(JSON.stringify({ kept }, (k, v) => { waste(); return v; }), (k, v) => { waste(); return v; });
        const settled = await Promise.all(kept.map(async o => { waste(); await null; waste(); return o.was; }));
        function* numbers() { for (let i = 0; i < 5; i++) { waste(); yield { i }; } }
        const helped = numbers().map(o => { waste(); return { j: o.i + 1 }; }).toArray().map(o => o.j);
        return [sorted[0].was, total.text.length, text, copy.kept.length, settled.join(), helped.join()];
    ";
    let settled: Vec<String> = (0..20).map(|i| format!("n{i}n{i}")).collect();
    let value = serde_json::json!(["n9n9", 50, "aabbcc", 20, settled.join(","), "1,2,3,4,5"]);
    assert_eq!(answer(program, true)["value"], value);
}
