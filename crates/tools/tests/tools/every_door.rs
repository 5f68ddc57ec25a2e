//! Every tool through the guard by each of its doors: as a model calls it, and as a program of code mode does.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use codemode::{CancelFlag, Limits, Runtime};
use serde_json::{Value, json};
use tools::{Class, ProgramTools, Tier};

use crate::bench::Bench;

/// Values in data, by JSON pointer.
type Values = &'static [(&'static str, &'static str)];

/// Calls that go through, in this order, over [`FILES`]: the tool, its arguments, part of its text, and what is in its
/// data.
const CALLS: &[(&str, &str, &str, Values)] = &[
    (
        "read_file",
        r#"{"path": "src/main.rs", "offset": 2, "limit": 1}"#,
        "   2|     run();\n(lines 2-2 of 3)\n",
        &[
            ("/lines", "[2, 2]"),
            ("/total_lines", "3"),
            ("/line_end", r#""lf""#),
        ],
    ),
    (
        "read_file",
        r#"{"path": "notes.txt"}"#,
        "   1| one\n   2| two\n",
        &[("/lines", "[1, 2]")],
    ),
    (
        "list_files",
        r#"{"path": "src"}"#,
        "[FILE] main.rs (",
        &[("/entries/0/kind", r#""file""#), ("/hidden_secrets", "0")],
    ),
    (
        "search_files",
        r#"{"pattern": "*.RS"}"#,
        "src/main.rs\n",
        &[
            ("/matches/0/path", r#""src/main.rs""#),
            ("/truncated", "false"),
        ],
    ),
    (
        "grep",
        r#"{"pattern": "run\\(", "glob": "*.rs"}"#,
        "src/main.rs:2:     run();\n",
        &[("/matches/0/line", "2"), ("/matches/0/column", "5")],
    ),
    (
        "edit_file",
        r#"{"path": "src/main.rs", "old_string": "run()", "new_string": "$&()"}"#,
        "Replaced 1 place: src/main.rs\n",
        &[("/replacements", "1"), ("/created", "false")],
    ),
    (
        "write_file",
        r#"{"path": "docs/new.md", "content": "New\n"}"#,
        "Created: docs/new.md\n",
        &[("/created", "true")],
    ),
    (
        "apply_patch",
        r#"{"patch": "*** Begin Patch\n*** Update File: notes.txt\n@@\n-two\n+2\n*** End Patch"}"#,
        "Updated: notes.txt\n",
        &[("/written/0/path", r#""notes.txt""#), ("/deleted", "[]")],
    ),
    (
        "create_directory",
        r#"{"path": "a/b"}"#,
        "Made: a/b/\n",
        &[("/created", "true")],
    ),
    (
        "rename_file",
        r#"{"oldPath": "notes.txt", "newPath": "a/b/notes.txt"}"#,
        "Moved: notes.txt to a/b/notes.txt\n",
        &[("/to", r#""a/b/notes.txt""#)],
    ),
    (
        "delete_file",
        r#"{"path": "docs"}"#,
        "Moved to the trash, 2 in all: docs\n",
        &[("/entries", "2"), ("/kind", r#""folder""#)],
    ),
    (
        "run_command",
        r#"{"command": "printf 'one\\ntwo\\n'; sleep 600 & echo $!"}"#,
        "exit code 0",
        &[("/exit_code", "0"), ("/timed_out", "false")],
    ),
    (
        "list_jobs",
        "{}",
        "processes",
        &[("/jobs/0/running", "false")],
    ),
    (
        "read_command_output",
        r#"{"command_id": "JOB", "priority": "top", "limit": 1}"#,
        "lines 1-1 of 3\none\n",
        &[("/text", r#""one\n""#), ("/total_lines", "3")],
    ),
    (
        "kill_job",
        r#"{"job_id": "JOB"}"#,
        "exit code 0",
        &[("/exit_code", "0")],
    ),
];

const FILES: &[(&str, &str)] = &[
    ("src/main.rs", "fn main() {\n    run();\n}\n"),
    ("notes.txt", "one\ntwo\n"),
];

fn check(tool: &str, data: &Value, expected: &[(&str, &str)]) {
    for (pointer, value) in expected {
        let value: Value = serde_json::from_str(value).unwrap();
        assert_eq!(
            data.pointer(pointer),
            Some(&value),
            "{tool} {pointer}: {data}"
        );
    }
}

/// What both doors must leave behind.
fn check_folder(bench: &Bench) {
    assert_eq!(bench.read("src/main.rs"), "fn main() {\n    $&();\n}\n");
    assert_eq!(bench.read("a/b/notes.txt"), "one\n2\n");
    assert!(!bench.path().join("docs").exists());
}

#[test]
fn the_table_calls_every_tool() {
    let called: BTreeSet<&str> = CALLS.iter().map(|(tool, ..)| *tool).collect();
    let registry = tools::Registry::built_in();
    let all: BTreeSet<&str> = registry.tools().iter().map(|tool| &*tool.name).collect();
    assert_eq!(called, all);
}

#[tokio::test]
async fn as_a_model_calls_them() {
    let bench = Bench::new(FILES);
    let mut job = String::new();
    for (tool, arguments, text, expected) in CALLS {
        let arguments = serde_json::from_str(&arguments.replace("JOB", &job)).unwrap();
        let output = bench.ok(tool, arguments).await;
        assert!(output.text.contains(text), "{tool}: {}", output.text);
        check(tool, &output.data, expected);
        let schema = &bench.guard.registry().get(tool).unwrap().output;
        assert_eq!(codemode::validate(schema, &output.data), Ok(()), "{tool}");
        if *tool == "run_command" {
            job = output.data["job_id"].as_str().unwrap().to_owned();
        }
    }
    check_folder(&bench);
}

fn program_tools(bench: &Bench, calls: &Arc<Mutex<Vec<String>>>) -> ProgramTools {
    let calls = Arc::clone(calls);
    ProgramTools {
        guard: bench.guard.clone(),
        session: Arc::clone(&bench.session),
        seat: "ann".into(),
        tier: bench.tier,
        asker: Arc::new(bench.asker()),
        cancel: bench.cancel.clone(),
        observer: Some(Arc::new(move |request, report| {
            let outcome = if report.result.is_ok() { "ok" } else { "fault" };
            calls
                .lock()
                .unwrap()
                .push(format!("{} {outcome}", request.tool));
        })),
    }
}

async fn run(bench: &Bench, host: &ProgramTools, source: &str) -> Result<Value, String> {
    let tools = bench.guard.program_tools(bench.tier).unwrap();
    let runtime = Runtime::new(tools, Limits::default()).with_check(true);
    let outcome = runtime
        .execute(source, host, &CancelFlag::default())
        .await
        .unwrap();
    outcome.result.map_err(|problem| problem.message)
}

#[tokio::test]
async fn as_a_program_calls_them() {
    let bench = Bench::new(FILES);
    let calls = Arc::default();
    let host = program_tools(&bench, &calls);
    let mut job = String::new();
    for (tool, arguments, _, expected) in CALLS {
        let arguments = arguments.replace("JOB", &job);
        let source = format!("return await tools.{tool}({arguments});");
        let data = run(&bench, &host, &source).await.unwrap();
        check(tool, &data, expected);
        if *tool == "run_command" {
            job = data["job_id"].as_str().unwrap().to_owned();
        }
    }
    check_folder(&bench);
    assert_eq!(calls.lock().unwrap().len(), CALLS.len());
    // One of them asks because it runs a command, one because its folder isn't empty.
    assert_eq!(bench.questions(), 2);
}

#[tokio::test]
async fn a_program_meets_the_same_walls_and_can_catch_what_it_runs_into() {
    let mut bench = Bench::new(FILES);
    let calls = Arc::default();
    let source = "const faults = [];
        for (const path of ['../x', '/etc/passwd', '.env']) {
            try { await tools.read_file({ path }); } catch (error) { faults.push(error.message.split(':')[0]); }
        }
        const texts = await Promise.all(['src/main.rs', 'notes.txt'].map(path => tools.read_file({ path })));
        return { faults, lines: texts.map(text => text.total_lines) };";
    let host = program_tools(&bench, &calls);
    let value = run(&bench, &host, source).await.unwrap();
    let faults = ["outside_workspace", "outside_workspace", "secret"];
    assert_eq!(value, json!({"faults": faults, "lines": [3, 2]}));

    let write = "return await tools.write_file({ path: 'x', content: '' });";
    bench.tier = Tier::Read;
    let host = program_tools(&bench, &calls);
    let told = run(&bench, &host, write).await.unwrap_err();
    assert!(told.contains("write_file"), "{told}");
    assert!(!bench.path().join("x").exists());
    // A program that was given the list of another tier gets no further than the guard.
    let full = bench.guard.program_tools(Tier::Full).unwrap();
    let runtime = Runtime::new(full, Limits::default());
    let outcome = runtime
        .execute(write, &host, &CancelFlag::default())
        .await
        .unwrap();
    assert!(outcome.result.unwrap_err().message.contains("not_allowed"));
    assert!(!bench.path().join("x").exists());
}

#[tokio::test]
async fn calls_that_a_program_makes_at_once_change_files_one_after_the_other() {
    let bench = Bench::new(&[("count.txt", "0\n")]);
    let calls = Arc::default();
    let host = program_tools(&bench, &calls);
    let source = "await tools.read_file({ path: 'count.txt' });
        const one = n => tools.edit_file({ path: 'count.txt', old_string: '0', new_string: '0' + n });
        await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(one));";
    run(&bench, &host, source).await.unwrap();
    let text = bench.read("count.txt");
    let digits: BTreeSet<char> = text.trim().chars().collect();
    assert_eq!((digits.len(), text.trim().len()), (9, 9), "{text}");
    let checkpoints = bench.guard.workbench().history.checkpoints().unwrap();
    assert_eq!(checkpoints.len(), 1);
}

#[test]
fn every_tool_has_a_schema_that_names_all_its_parameters_and_a_class_that_fits_its_name() {
    for tool in tools::Registry::built_in().tools() {
        assert_eq!(tool.input["additionalProperties"], false, "{}", tool.name);
        for required in tool.input["required"].as_array().unwrap() {
            let name = required.as_str().unwrap();
            assert!(
                tool.input["properties"].get(name).is_some(),
                "{} {name}",
                tool.name
            );
        }
        let reads = ["read_", "list_", "search_", "grep"]
            .iter()
            .any(|start| tool.name.starts_with(start));
        assert_eq!(tool.class == Class::Read, reads, "{}", tool.name);
        assert!(!tool.description.is_empty());
    }
}
