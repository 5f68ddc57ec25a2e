//! What holds for every program: no panic, no budget passed, the same answer twice; and models of text and sorting.

use codemode::{
    Call, CancelFlag, Environment, Limits, Outcome, Output, Reply, Runtime, Tool, ToolHost, ToolSet,
};
use futures_util::future::{BoxFuture, FutureExt};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

struct Echo;

impl ToolHost for Echo {
    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        async move { Ok(Output::Json(call.input)) }.boxed()
    }
}

fn run(source: &str, limits: Limits) -> Outcome {
    let tool = Tool {
        path: "echo".into(),
        output: Some(json!({})),
        ..Tool::default()
    };
    let tools = ToolSet::new(vec![tool], Default::default()).unwrap();
    let environment = Environment {
        now_ms: Arc::new(|| 1_700_000_000_000.0),
        seed: 7,
    };
    let runtime = Runtime::new(tools, limits).with_environment(environment);
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    executor
        .block_on(runtime.execute(source, &Echo, &CancelFlag::default()))
        .unwrap()
}

fn small() -> Limits {
    Limits {
        fuel: Some(200_000),
        heap_bytes: 16 << 20,
        max_tool_calls: Some(50),
        max_output_bytes: Some(10_000),
        ..Limits::default()
    }
}

/// Programs grown from pieces that touch everything.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("f".to_owned()),
        Just("o".to_owned()),
        Just("[1, 'x', , null]".to_owned()),
        Just("{}".to_owned()).prop_map(|_| "({ k: 1, get g() { return a } })".to_owned()),
        Just("/(a|b)*c/g".to_owned()),
        Just("new Map([[1, 2]])".to_owned()),
        Just("Promise.resolve(1)".to_owned()),
        Just("tools.echo({ a })".to_owned()),
        Just("undefined".to_owned()),
        Just("Symbol.iterator".to_owned()),
        Just("10n".to_owned()),
        Just("Math.random()".to_owned()),
        (-1000i32..1000).prop_map(|n| format!("({n})")),
        "[a-c]{0,4}".prop_map(|s| format!("'{s}'")),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        let op = prop::sample::select(vec![
            "+",
            "-",
            "*",
            "/",
            "%",
            "**",
            "==",
            "===",
            "<",
            ">=",
            "&&",
            "||",
            "??",
            "&",
            "<<",
            ">>>",
            "in",
            "instanceof",
            ",",
        ]);
        let method = prop::sample::select(vec![
            "length",
            "map",
            "constructor",
            "prototype",
            "toString",
            "then",
            "slice",
            "__proto__",
            "x",
            "keys",
        ]);
        let call = prop::sample::select(vec![
            "map", "filter", "slice", "join", "concat", "replace", "split", "sort", "toString",
            "push", "repeat", "then", "flat", "reduce", "at", "padEnd", "match", "call", "bind",
            "next",
        ]);
        let wrap = prop::sample::select(vec![
            "String",
            "JSON.stringify",
            "Object.keys",
            "Array.from",
            "new Set",
            "structuredClone",
            "await ",
            "typeof ",
            "-",
            "!",
            "new ",
            "delete ",
            "Object.freeze",
            "Number",
            "BigInt",
            "Promise.all",
            "console.log",
            "new Error",
            "new Date",
            "new RegExp",
            "parseInt",
        ]);
        prop_oneof![
            (inner.clone(), op, inner.clone()).prop_map(|(x, op, y)| format!("({x} {op} {y})")),
            (inner.clone(), method).prop_map(|(x, m)| format!("{x}?.{m}")),
            (inner.clone(), call, inner.clone()).prop_map(|(x, m, y)| format!("{x}.{m}({y})")),
            (wrap, inner.clone()).prop_map(|(w, x)| format!("{w}({x})")),
            (inner.clone(), inner.clone())
                .prop_map(|(x, y)| format!("((a, ...b) => [{x}, ...b, {y}])")),
            (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("{x}[{y}]")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(x, y, z)| format!("({x} ? {y} : `${{{z}}}`)")),
        ]
    })
}

fn program() -> impl Strategy<Value = String> {
    let statement = (expression(), expression(), 0..9u8).prop_map(|(x, y, which)| match which {
        0 => format!("a = {x};"),
        1 => format!("for (const k of {x}) {{ b = {y}; if (c++ > 20) break; }}"),
        2 => format!("try {{ {x} }} catch (e) {{ a = e }} finally {{ c++ }}"),
        3 => format!("if ({x}) {{ b = {y} }} else o.p = {x};"),
        4 => format!("while (c++ < 30) {{ {x}; }}"),
        5 => format!("f = function* () {{ yield {x}; return {y} }};"),
        6 => format!("var {{ p, ...q }} = {x} ?? {{}};"),
        7 => format!(
            "class K {{ #p = {x}; get p() {{ return this.#p }} static s = {y} }} a = new K().p;"
        ),
        _ => format!("f = async (x) => {{ await {x}; return x }};"),
    });
    prop::collection::vec(statement, 1..6).prop_map(|list| {
        format!(
            "let a = 1, b = 'bc', c = 0, f = x => x, o = {{}};\n{}\nreturn [a, b, c]",
            list.join("\n")
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_program_never_panics_and_answers_the_same_twice(source in program()) {
        let (first, second) = (run(&source, small()), run(&source, small()));
        prop_assert_eq!(first.to_json(), second.to_json());
        prop_assert!(first.tool_calls.len() <= 50);
    }

    #[test]
    fn any_text_is_answered(source in "[a-z0-9 (){}\\[\\];,.=+*/<>'\"`$!?:&|#@\\\\\n-]{0,80}") {
        run(&source, small());
    }

    #[test]
    fn data_comes_back_as_it_went(value in data()) {
        let outcome = run(&format!("return await tools.echo({{ v: JSON.parse({}) }})", Value::from(value.to_string())), Limits::default());
        prop_assert_eq!(outcome.result, Ok(json!({ "v": value })));
    }

    #[test]
    fn sorting_is_stable(keys in prop::collection::vec(0..5u8, 0..60)) {
        let list: Vec<Value> = keys.iter().enumerate().map(|(at, key)| json!([key, at])).collect();
        let mut expected = list.clone();
        expected.sort_by_key(|pair| pair[0].as_u64());
        let outcome = run(&format!("return {}.sort((x, y) => x[0] - y[0])", Value::from(list)), Limits::default());
        prop_assert_eq!(outcome.result, Ok(Value::from(expected)));
    }

    #[test]
    fn text_methods_agree_with_utf16(text in "[ab\u{e9}\u{20ac}\u{1F600}]{0,12}", from in -14i32..14, to in -14i32..14) {
        let units: Vec<u16> = text.encode_utf16().collect();
        let bound = |n: i32| if n < 0 { (units.len() as i32 + n).max(0) } else { n.min(units.len() as i32) } as usize;
        let (start, end) = (bound(from), bound(to).max(bound(from)));
        let expected: Vec<u16> = units[start..end].to_vec();
        let source = format!(
            "const s = {}; return [[...Array(s.slice({from}, {to}).length).keys()].map(i => s.slice({from}, {to}).charCodeAt(i)), s.length, [...s].length]",
            Value::from(text.as_str())
        );
        let outcome = run(&source, Limits::default());
        prop_assert_eq!(outcome.result, Ok(json!([expected, units.len(), text.chars().count()])));
    }
}

fn data() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1_000_000i64..1_000_000).prop_map(|n| json!(n)),
        "[ -~\u{e9}\u{20ac}\u{1F600}]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

#[test]
fn ten_thousand_calls_may_be_in_flight_and_no_more() {
    let source = "const calls = Array.from({ length: 10000 }, (_, i) => tools.echo({ i })); let more; try { tools.echo({}) } catch (e) { more = e.name } return [(await Promise.all(calls)).length, more]";
    let outcome = run(source, Limits::default());
    assert_eq!(outcome.result, Ok(json!([10_000, "RangeError"])));
}

#[test]
fn cancelling_ends_a_busy_program_without_an_outcome() {
    let tools = ToolSet::new(Vec::new(), Default::default()).unwrap();
    let runtime = Runtime::new(tools, Limits::default());
    for source in [
        "for (;;) {}",
        "/(a+)+b/.test('a'.repeat(60))",
        "await new Promise(() => {}); tools.x",
    ] {
        let flag = CancelFlag::default();
        let remote = flag.clone();
        let canceller = std::thread::spawn(move || remote.cancel());
        let executor = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let outcome = executor.block_on(runtime.execute(source, &Echo, &flag));
        canceller.join().unwrap();
        // The third program may notice first that nothing can wake it.
        assert!(outcome.is_err() || source.starts_with("await"), "{source}");
    }
}

#[test]
fn deep_nesting_in_the_source_is_refused_or_run_but_never_fatal() {
    for piece in [
        "(",
        "[",
        "{",
        "!",
        "a=>",
        "a?b:",
        "if(1)",
        "a=",
        "new ",
        "typeof ",
        "`${",
        "x=>{",
        "-",
        "a.b(",
        "1+(",
        "a.",
        "a&&",
        "a|",
        "a>",
        "a%",
        "a`b`",
        "typeof\n",
        "a\nin\n",
        "else ",
        "do ",
        "a?.",
        "await\t",
        "l:",
        "[a,",
        "function f(){",
        "class A{m(){",
        "for(;;)",
        "try{",
        "switch(1){case 1:",
        "({a:",
        "a**",
        "async()=>",
        "yield ",
        "x??",
    ] {
        run(&piece.repeat(3_000), small());
    }
    run(
        &format!("{}1{}", "(".repeat(2_000), ")".repeat(2_000)),
        small(),
    );
    run(
        &format!("return {}1{}", "[".repeat(1_000), "]".repeat(1_000)),
        small(),
    );
    run(&format!("return {}1", "1+".repeat(5_000)), small());
}

#[test]
fn the_clock_and_the_random_source_are_the_hosts() {
    let source = "return [Date.now(), Math.random(), crypto.randomUUID()]";
    assert_eq!(
        run(source, Limits::default()).result,
        run(source, Limits::default()).result
    );
    assert_eq!(
        run("return new Date().getTime()", Limits::default()).result,
        Ok(json!(1_700_000_000_000u64))
    );
}

#[test]
fn the_check_before_a_run_tells_every_problem_and_runs_nothing() {
    let tool = Tool {
        path: "github.listIssues".into(),
        input: Some(
            json!({ "type": "object", "properties": { "repo": { "type": "string" } }, "required": ["repo"], "additionalProperties": false }),
        ),
        ..Tool::default()
    };
    let tools = ToolSet::new(vec![tool], Default::default()).unwrap();
    let source = "const a = await tools.github.listIssues({ repoo: 'x' })\nawait tools.github.listIssue({})\nconsole.log(missing, a, typeof absent)\nlistIssues()";
    let problems = codemode::compile(source).unwrap().check(&tools);
    let messages: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "Tool 'github.listIssues' needs the field 'repo'. (line 1, col 41)",
            "Tool 'github.listIssues' has no field 'repoo'. Did you mean 'repo'? (line 1, col 43)",
            "Unknown tool 'github.listIssue'. Did you mean tools.github.listIssues? (line 2, col 7)",
            "ReferenceError: missing is not defined (line 3, col 13)",
            "ReferenceError: listIssues is not defined (line 4, col 1)",
        ]
    );
    assert_eq!(
        problems[4].suggestions,
        ["Call tools.github.listIssues(...) instead."]
    );
}
