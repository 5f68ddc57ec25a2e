//! The check before a run: what it finds, and that it finds nothing in programs that are right.
//!
//! `check/right.txt` holds programs that are right; `check/wrong.txt` programs, `---`, and each problem as
//! `LINE:COLUMN KIND text [suggestion]`, all of them and in order.

use codemode::{
    Call, CancelFlag, Limits, Output, Reply, Runtime, Tool, ToolHost, ToolSet, compile,
};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn tool(path: &str, input: Value, output: Option<Value>) -> Tool {
    Tool {
        path: path.into(),
        input: Some(input),
        output,
        ..Tool::default()
    }
}

fn tools() -> ToolSet {
    let issue = json!({ "type": "object", "properties": {
        "title": { "type": "string" }, "number": { "type": "integer" },
        "labels": { "type": "array", "items": { "type": "string" } },
        "user": { "$ref": "#/$defs/user" } } });
    let list = vec![
        tool(
            "github.listIssues",
            json!({ "type": "object", "required": ["repo"], "additionalProperties": false, "properties": {
                "repo": { "type": "string", "minLength": 1 },
                "state": { "enum": ["open", "closed", "all"] },
                "labels": { "type": "array", "items": { "type": "string" } },
                "limit": { "type": "integer", "maximum": 100 } } }),
            Some(json!({ "type": "object", "properties": {
                "items": { "type": "array", "items": issue }, "total": { "type": "integer" } },
                "$defs": { "user": { "type": "object", "properties": { "login": { "type": "string" } } } } })),
        ),
        tool(
            "users.get",
            json!({ "type": "object", "required": ["id"], "properties": { "id": { "type": "integer" } } }),
            Some(json!({ "anyOf": [
                { "type": "object", "properties": { "login": { "type": "string" } } }, { "type": "null" }] })),
        ),
        tool(
            "misc.any",
            json!({ "type": "object", "properties": {
                "id": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
                "when": { "type": ["string", "null"], "format": "date-time" },
                "size": { "oneOf": [{ "enum": ["small", "large"] }, { "type": "number" }] },
                "mixed": { "type": "array" }, "any": {}, "ratio": { "type": "number" }, "cb": true,
                "nested": { "type": "object", "properties": { "deep": { "$ref": "#/definitions/deep" } } } },
                "definitions": { "deep": { "type": "object", "additionalProperties": false,
                    "properties": { "n": { "type": "number" } } } } }),
            Some(json!({ "oneOf": [
                { "type": "object", "properties": { "either": { "const": 1 }, "a": {} } },
                { "type": "object", "properties": { "b": {} } }] })),
        ),
        tool("misc.open", json!({}), Some(json!({}))),
        tool(
            "misc.extra",
            json!({}),
            Some(
                json!({ "type": "object", "properties": { "known": {} }, "additionalProperties": true }),
            ),
        ),
        tool(
            "misc.tree",
            json!({}),
            Some(
                json!({ "$ref": "#/$defs/node", "$defs": { "node": { "type": "object", "properties": {
                "name": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#/$defs/node" } } } } } }),
            ),
        ),
        tool("misc.quiet", json!({ "type": "object" }), None),
    ];
    ToolSet::new(list, Default::default()).unwrap()
}

fn found(source: &str) -> Vec<codemode::Diagnostic> {
    compile(source)
        .unwrap_or_else(|e| panic!("{e:?}: {source}"))
        .check(&tools())
}

#[test]
fn programs_that_are_right_have_no_problem() {
    let mut count = 0;
    for block in include_str!("check/right.txt")
        .trim_start_matches("=== ")
        .split("\n=== ")
    {
        let (name, source) = block.split_once('\n').unwrap();
        assert_eq!(found(source), [], "{name}");
        count += 1;
    }
    assert!(count > 25);
}

#[test]
fn every_problem_is_told_with_its_place_and_what_comes_near() {
    let mut failures = Vec::new();
    for block in include_str!("check/wrong.txt")
        .trim_start_matches("=== ")
        .split("\n=== ")
    {
        let (name, rest) = block.split_once('\n').unwrap();
        let (source, expected) = rest.split_once("\n---\n").unwrap();
        let problems = found(source);
        let told: Vec<String> = problems
            .iter()
            .map(|p| {
                let at = p.location.unwrap();
                let suggestions = p.suggestions.join("; ");
                format!(
                    "{}:{} {:?} {} [{suggestions}]",
                    at.line, at.column, p.kind, p.message
                )
            })
            .collect();
        let expected: Vec<&str> = expected.lines().filter(|l| !l.is_empty()).collect();
        let fits = |told: &String, expected: &&str| {
            let mut words = expected.splitn(3, ' ');
            let (at, kind) = (words.next().unwrap(), words.next().unwrap());
            let (text, suggestion) = words
                .next()
                .unwrap()
                .split_once(" [")
                .unwrap_or_else(|| (expected.splitn(3, ' ').nth(2).unwrap_or_default(), ""));
            told.starts_with(&format!("{at} {kind} "))
                && told.contains(text)
                && told.contains(suggestion.trim_end_matches(']'))
        };
        if told.len() != expected.len() || !told.iter().zip(&expected).all(|(t, e)| fits(t, e)) {
            failures.push(format!("{name}:\n  {}", told.join("\n  ")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_prelude_declares_names_and_isnt_checked_itself() {
    let prelude = "const gh = tools.github; const get = async id => (await tools.users.get({ id })).login; tools.misc.quiet({}).then(r => r.x)";
    let check = |source: &str| {
        let compiled = codemode::compile_with_prelude(prelude, source).unwrap();
        compiled.check(&tools())
    };
    assert_eq!(
        check("const r = await gh.listIssues({ repo: 'a' }); print(r.items, await get(1))"),
        []
    );
    let problems = check("\nawait gh.listIssue({})");
    assert_eq!(problems.len(), 1);
    assert_eq!(
        problems[0].location,
        Some(codemode::Location { line: 2, column: 7 })
    );
}

#[test]
fn schemas_that_refer_to_themselves_and_sources_full_of_mistakes_end_soon() {
    let endless = json!({ "anyOf": [{ "$ref": "#" }, { "$ref": "#" }, { "$ref": "#" }, { "type": "object", "properties": { "a": { "$ref": "#" } } }] });
    let list = vec![tool("endless", endless.clone(), Some(endless))];
    let endless = ToolSet::new(list, Default::default()).unwrap();
    let nested = "const r = await tools.endless({ a: { a: { a: { b: 1, a: 3 } } } }); r.a.a.b.c";
    assert_eq!(compile(nested).unwrap().check(&endless).len(), 0);
    let names: String = (0..20_000).map(|n| format!("unknown{n};")).collect();
    assert_eq!(found(&names).len(), 50);
    let fields: String = (0..20_000).map(|n| format!("f{n}: {n},")).collect();
    assert_eq!(
        found(&format!(
            "await tools.github.listIssues({{ repo: 'a', {fields} }})"
        ))
        .len(),
        50
    );
    let calls: String = (0..5_000)
        .map(|n| format!("tools.github.x{n}();"))
        .collect();
    assert_eq!(found(&calls).len(), 50);
    let deep = format!(
        "tools.users.get({{ id: {}1{} }})",
        "[".repeat(2_000),
        "]".repeat(2_000)
    );
    assert_eq!(found(&deep).len(), 1);
    let chain = format!(
        "const r = await tools.github.listIssues({{ repo: 'a' }}); r{}",
        ".items".repeat(2_000)
    );
    assert!(found(&chain).len() <= 50);
}

struct Counting(Arc<AtomicUsize>);

impl ToolHost for Counting {
    fn call(&self, _: Call) -> BoxFuture<'static, Reply> {
        self.0.fetch_add(1, Ordering::SeqCst);
        async { Ok(Output::Json(Value::Null)) }.boxed()
    }
}

#[test]
fn a_program_with_problems_calls_no_tool_and_one_without_the_option_does() {
    let run = |checks: bool, source: &str| {
        let calls = Arc::new(AtomicUsize::new(0));
        let runtime = Runtime::new(tools(), Limits::default()).with_check(checks);
        let outcome = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(runtime.execute(
                source,
                &Counting(Arc::clone(&calls)),
                &CancelFlag::default(),
            ))
            .unwrap();
        (outcome, calls.load(Ordering::SeqCst))
    };
    let source = "await tools.users.get({ id: 1 })\nawait tools.users.gett({ id: 1 })\nmissing()";
    let (outcome, calls) = run(true, source);
    assert_eq!((calls, outcome.problems.len()), (0, 2));
    let error = outcome.result.unwrap_err();
    assert!(error.message.starts_with("2 problems, nothing was run:\n"));
    assert!(
        error
            .message
            .contains("missing is not defined (line 3, col 1)")
    );
    let (outcome, calls) = run(false, source);
    assert_eq!((calls, outcome.problems.len()), (1, 0));
    let (outcome, calls) = run(true, "let a; let a; let b; let b");
    assert_eq!((calls, outcome.problems.len()), (0, 2));
    let (outcome, calls) = run(true, "await tools.users.get({ id: 1 })");
    assert_eq!((calls, outcome.result.is_ok()), (1, true));
}
