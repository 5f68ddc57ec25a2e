//! Fixtures by chapter: programs and what they answer, run through the command line.
//!
//! A case starts with `=== name`; `tools:`, `limits:` and `prelude:` lines may follow; then the program; then `---` and
//! the expectations: `value JSON`, `error KIND text`, `warning KIND text`, `logs JSON`, `calls JSON`, `at LINE:COLUMN`,
//! `truncated`, `alarms` (the check before the run finds something). Texts must occur in the message.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

struct Case {
    name: String,
    request: Value,
    expect: Vec<String>,
}

fn parse(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    for block in text
        .split("\n=== ")
        .map(|b| b.strip_prefix("=== ").unwrap_or(b))
    {
        let Some((name, rest)) = block.split_once('\n') else {
            continue;
        };
        let (program, expect) = rest
            .split_once("\n---\n")
            .unwrap_or_else(|| panic!("no expectation: {name}"));
        let mut request = json!({});
        let mut code = Vec::new();
        for line in program.lines() {
            let field = ["tools", "limits"]
                .iter()
                .find(|f| line.starts_with(&format!("{f}: ")) && code.is_empty());
            match field {
                Some(field) => {
                    let json = serde_json::from_str(&line[field.len() + 2..]);
                    request[*field] = json.unwrap_or_else(|error| panic!("{name}: {error}"));
                }
                None if line.starts_with("prelude: ") && code.is_empty() => {
                    request["prelude"] = json!(line[9..]);
                }
                None => code.push(line),
            }
        }
        request["code"] = json!(code.join("\n"));
        let expect = expect
            .lines()
            .filter(|l| !l.trim().is_empty())
            .map(str::to_owned)
            .collect();
        cases.push(Case {
            name: name.to_owned(),
            request,
            expect,
        });
    }
    cases
}

fn mismatch(result: &Value, expectation: &str) -> Option<String> {
    let (word, rest) = expectation.split_once(' ').unwrap_or((expectation, ""));
    let json = || serde_json::from_str::<Value>(rest).unwrap_or_else(|e| panic!("{e}: {rest}"));
    let problem = |diagnostic: &Value| {
        let (kind, text) = rest.split_once(' ').unwrap_or((rest, ""));
        diagnostic["kind"] == kind
            && diagnostic["message"]
                .as_str()
                .is_some_and(|m| m.contains(text))
    };
    let fine = match word {
        "value" => result["ok"] == true && result["value"] == json(),
        "error" => result["ok"] == false && problem(&result["error"]),
        "warning" => result["warnings"]
            .as_array()
            .is_some_and(|list| list.iter().any(problem)),
        "logs" => result["logs"] == json(),
        "calls" => {
            let names: Vec<&Value> = result["toolCalls"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|c| &c["name"])
                .collect();
            json!(names) == json()
        }
        "at" => {
            let place = &result["error"]["location"];
            format!("{}:{}", place["line"], place["column"]) == rest
        }
        "suggests" => result["error"]["suggestions"].to_string().contains(rest),
        "alarms" => true,
        "truncated" => result["truncated"] == true,
        "quiet" => result.get("warnings").is_none() && result.get("logs").is_none(),
        _ => panic!("unknown expectation: {expectation}"),
    };
    (!fine).then(|| format!("expected `{expectation}`, got {result}"))
}

fn chapter(text: &str) {
    let cases = parse(text);
    assert!(!cases.is_empty());
    let answers = answers(cases.iter().map(|c| c.request.clone()).collect());
    let mut failures = Vec::new();
    for (case, result) in cases.iter().zip(&answers) {
        for expectation in &case.expect {
            if let Some(problem) = mismatch(result, expectation) {
                failures.push(format!("{}: {problem}", case.name));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    no_false_alarms(&cases, &answers);
}

/// The check before the run finds nothing in programs that end well, but in those that fail on purpose and catch it:
/// they say `alarms`.
fn no_false_alarms(cases: &[Case], answers: &[Value]) {
    let mut requests = Vec::new();
    let mut right = Vec::new();
    for (case, _) in cases.iter().zip(answers).filter(|(_, a)| a["ok"] == true) {
        let mut request = case.request.clone();
        request["check"] = json!(true);
        requests.push(request);
        right.push((&case.name, !case.expect.iter().any(|e| e == "alarms")));
    }
    let checked = self::answers(requests);
    let wrong: Vec<String> = right
        .iter()
        .zip(&checked)
        .filter(|((_, right), answer)| answer.get("problems").is_none() != *right)
        .map(|((name, _), answer)| format!("{name}: {}", answer["problems"]))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn answers(requests: Vec<Value>) -> Vec<Value> {
    let count = requests.len();
    let mut child = Command::new(env!("CARGO_BIN_EXE_codemode"))
        .arg("lines")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for request in requests {
            if writeln!(input, "{request}").is_err() {
                break;
            }
        }
    });
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let answers: Vec<Value> = lines
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    writer.join().unwrap();
    child.wait().unwrap();
    assert_eq!(answers.len(), count);
    answers
}

macro_rules! chapters {
    ($($name:ident: $file:literal),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                chapter(include_str!(concat!("fixtures/", $file)));
            }
        )*
    };
}

chapters! {
    parsing_and_results: "parsing.txt",
    statements_and_functions: "statements.txt",
    expressions_and_operators: "expressions.txt",
    classes_and_accessors: "classes.txt",
    generators_and_promises: "async.txt",
    built_ins: "builtins.txt",
    text_and_regular_expressions: "text.txt",
    tools_and_search: "tools.txt",
    limits_and_escapes: "limits.txt",
    diagnostics_and_the_console: "diagnostics.txt",
    data_at_the_boundary: "boundary.txt",
    binary_data: "binary.txt",
    descriptors_and_derivation: "reflection.txt",
}
