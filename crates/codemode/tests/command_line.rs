//! The real binary: commands, files, exit codes, and what is said on which stream.

use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own for each test, gone at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "codemode-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::SeqCst)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn codemode(args: &[&str], input: &[u8]) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_codemode"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that fails at once doesn't read its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

const TOOLS: &str = r#"{ "namespaces": { "shop": "Orders" }, "tools": [
    { "path": "shop.order", "description": "One order", "input": { "type": "object", "required": ["id"], "additionalProperties": false, "properties": { "id": { "type": "string" } } },
      "output": { "type": "object", "properties": { "id": { "type": "string" } } }, "behave": { "echo": true } } ] }"#;

#[test]
fn run_prints_log_lines_and_the_value_and_tells_success() {
    let folder = Folder::new();
    let tools = folder.file("tools.json", TOOLS);
    let program = folder.file(
        "p.js",
        "print('a', 1); const o = await tools.shop.order({ id: 'x' }); ({ o, twice: twice(2) })",
    );
    let prelude = folder.file("prelude.js", "const twice = n => 2 * n");
    let (code, out, err) = codemode(
        &["run", &program, "--tools", &tools, "--prelude", &prelude],
        b"",
    );
    assert_eq!((code, err.as_str()), (0, ""));
    let (log, value) = out.split_once('\n').unwrap();
    assert_eq!(log, "a 1");
    assert_eq!(
        serde_json::from_str::<Value>(value).unwrap(),
        json!({ "o": { "id": "x" }, "twice": 4 })
    );
    let (code, out, _) = codemode(&["run", "--json", "-", "--tools", &tools], b"print(1); 5");
    assert_eq!(
        (code, out.as_str()),
        (
            0,
            "{\"ok\":true,\"value\":5,\"logs\":[\"1\"],\"toolCalls\":[]}\n"
        )
    );
}

#[test]
fn run_tells_a_failure_on_standard_error_with_its_place() {
    let (code, out, err) = codemode(&["run", "-"], b"print('before')\nthrow new Error('no')");
    assert_eq!((code, out.as_str()), (1, "before\n"));
    assert!(
        err.starts_with("ExecutionFailure: ") && err.contains("no (line 2, col 1)"),
        "{err}"
    );
    let (code, _, err) = codemode(&["run", "-"], b"Promise.reject(1); 2");
    assert_eq!(code, 0);
    assert!(err.starts_with("warning: Unhandled rejection"), "{err}");
    let (code, out, _) = codemode(&["run", "-", "--json"], b"let let");
    assert_eq!(
        (
            code,
            serde_json::from_str::<Value>(&out).unwrap()["error"]["kind"].clone()
        ),
        (1, json!("ParseError"))
    );
}

#[test]
fn run_holds_to_its_limits_and_checks_when_asked() {
    let folder = Folder::new();
    let limits = folder.file("limits.json", "{ \"fuel\": 1000, \"maxToolCalls\": 1 }");
    let (code, _, err) = codemode(&["run", "-", "--limits", &limits], b"for (;;);");
    assert_eq!(code, 1);
    assert!(err.contains("after 1000 steps"), "{err}");
    let tools = folder.file("tools.json", TOOLS);
    let (code, out, err) = codemode(
        &["run", "-", "--check", "--tools", &tools],
        b"print(1)\nawait tools.shop.order({ ID: 'x' })\nnope()",
    );
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(
        err.contains("3 problems, nothing was run")
            && err.contains("nope is not defined (line 3, col 1)"),
        "{err}"
    );
}

#[test]
fn files_that_are_missing_or_broken_are_named_with_what_is_wrong() {
    let folder = Folder::new();
    let program = folder.file("p.js", "1");
    let gone = folder.0.join("gone.json").to_str().unwrap().to_owned();
    let broken = folder.file("broken.json", "[\n  {\n  oops");
    let binary = folder.file("binary.js", [0xff, 0xfe]);
    let wrong = folder.file(
        "wrong.json",
        "[{ \"path\": \"a..b\", \"behave\": { \"echo\": true } }]",
    );
    let odd = folder.file(
        "odd.json",
        "[{ \"path\": \"a\", \"behave\": { \"dance\": true } }]",
    );
    let limits = folder.file("limits.json", "{ \"timeoutMs\": 0 }");
    let directory = folder.0.to_str().unwrap();
    for (args, parts) in [
        (
            vec!["run", &gone],
            vec!["can't read (No such file", "gone.json"],
        ),
        (vec!["run", directory], vec!["can't read (", directory]),
        (vec!["run", &binary], vec!["not UTF-8", "binary.js"]),
        (
            vec!["run", &program, "--tools", &gone],
            vec!["can't read (", "gone.json"],
        ),
        (
            vec!["run", &program, "--prelude", &gone],
            vec!["can't read (", "gone.json"],
        ),
        (
            vec!["check", &program, "--tools", &broken],
            vec!["not JSON (", "line 3", "broken.json"],
        ),
        (
            vec!["catalog", "--tools", &wrong],
            vec!["empty segment", "wrong.json"],
        ),
        (
            vec!["run", &program, "--tools", &odd],
            vec!["unknown behave", "odd.json"],
        ),
        (
            vec!["run", &program, "--limits", &limits],
            vec!["timeoutMs must be", "limits.json"],
        ),
    ] {
        let (code, out, err) = codemode(&args, b"");
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(parts.iter().all(|p| err.contains(p)), "{args:?}: {err}");
    }
}

#[test]
fn a_wrong_command_line_is_told_with_the_usage() {
    for (args, part) in [
        (vec![], "no command"),
        (vec!["walk"], "unknown command: walk"),
        (vec!["run"], "no FILE"),
        (vec!["run", "a", "b"], "unexpected argument: b"),
        (vec!["run", "a", "--fast"], "unknown option: --fast"),
        (vec!["run", "a", "--tools"], "--tools needs a value"),
        (vec!["catalog"], "catalog needs --tools"),
        (vec!["lines", "x"], "unexpected argument: x"),
        (vec!["check", "--json"], "no FILE"),
    ] {
        let (code, out, err) = codemode(&args, b"");
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(
            err.starts_with(part) && err.contains("usage: codemode run"),
            "{args:?}: {err}"
        );
    }
    let (code, out, _) = codemode(&["--help"], b"");
    assert!(code == 0 && out.starts_with("usage: codemode run"));
}

#[test]
fn check_tells_every_problem_and_is_silent_about_none() {
    let folder = Folder::new();
    let tools = folder.file("tools.json", TOOLS);
    let (code, out, _) = codemode(
        &["check", "-", "--tools", &tools],
        b"order({ id: 'x' })\nawait tools.shop.ordr({})",
    );
    assert_eq!(code, 1);
    assert_eq!(
        out,
        "ExecutionFailure: ReferenceError: order is not defined (line 1, col 1)\n  Call tools.shop.order(...) instead.\n\
         UnknownTool: Unknown tool 'shop.ordr'. Did you mean tools.shop.order? (line 2, col 7)\n  Call tools.shop.order instead.\n  \
         Use search({ query: ... }) to find the tools there are.\n"
    );
    let (code, out, _) = codemode(&["check", "-", "--json"], b"nope");
    assert_eq!(
        (
            code,
            serde_json::from_str::<Value>(&out).unwrap()[0]["location"].clone()
        ),
        (1, json!({ "line": 1, "column": 1 }))
    );
    assert_eq!(
        codemode(
            &["check", "-", "--tools", &tools],
            b"await tools.shop.order({ id: 'x' })"
        ),
        (0, String::new(), String::new())
    );
}

#[test]
fn the_catalog_has_signatures_and_namespaces() {
    let folder = Folder::new();
    let tools = folder.file("tools.json", TOOLS);
    let (code, out, _) = codemode(&["catalog", "--tools", &tools, "--compact"], b"");
    let catalog: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 0);
    assert_eq!(
        catalog["tools"][0]["signature"],
        json!("tools.shop.order(input: { id: string }): Promise<{ id?: string }>")
    );
    assert_eq!(
        catalog["namespaces"],
        json!([{ "path": "shop", "description": "Orders" }])
    );
    let (_, out, _) = codemode(&["catalog", "--tools", &tools], b"");
    assert!(
        serde_json::from_str::<Value>(&out).unwrap()["tools"][0]["signature"]
            .as_str()
            .unwrap()
            .contains('\n')
    );
}

#[test]
fn lines_answers_every_line_in_order_whatever_it_is() {
    let input: Vec<&[u8]> = vec![
        b"{\"code\":\"1 + 1\"}", b"", b"not json", b"[]", b"{\"code\":5}", b"\xff\xfe", b"{\"code\":\"1\",\"limits\":{\"fuel\":0}}",
        b"{\"code\":\"1\",\"tools\":[{\"path\":\"a.\"}]}", b"{\"code\":\"1\",\"tools\":7}", b"{\"code\":\"1\",\"check\":1}", b"{\"code\":\"1\",\"prelude\":1}",
        b"{\"code\":\"nope()\",\"check\":true}", b"{\"code\":\"print(x)\",\"prelude\":\"const x = 7\"}",
        br#"{"code":"search('boxes').items[0].path","tools":[{"path":"shop.a"}],"namespaces":{"shop":"Things in boxes"}}"#,
        br#"{"code":"search({ query: 'a', compact: true }).items[0].signature","tools":[{"path":"a","input":{"type":"object","properties":{"x":{"type":"string"}}}}]}"#,
        b"{\"code\":\"'last'\"}",
    ];
    let (code, out, err) = codemode(&["lines"], &input.join(&b'\n'));
    assert_eq!((code, err.as_str()), (0, ""));
    let answers: Vec<Value> = out
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(answers.len(), input.len() - 1);
    assert_eq!(
        answers[0],
        json!({ "ok": true, "value": 2, "toolCalls": [] })
    );
    for (at, part) in [
        (1, "not JSON"),
        (2, "no code"),
        (3, "no code"),
        (4, "not JSON"),
        (5, "fuel must be"),
        (6, "empty segment"),
        (7, "list or a record"),
        (8, "check must be"),
        (9, "prelude must be"),
    ] {
        assert_eq!(
            answers[at]["error"]["kind"],
            json!("InvalidDataValue"),
            "{at}"
        );
        assert!(
            answers[at]["error"]["message"]
                .as_str()
                .unwrap()
                .contains(part),
            "{}",
            answers[at]
        );
        assert_eq!(answers[at]["toolCalls"], json!([]));
    }
    assert_eq!(
        answers[10]["problems"][0]["message"],
        json!("ReferenceError: nope is not defined (line 1, col 1)")
    );
    assert_eq!(answers[11]["logs"], json!(["7"]));
    assert_eq!(answers[12]["value"], json!("tools.shop.a"));
    assert_eq!(
        answers[13]["value"],
        json!("tools.a(input: { x?: string }): Promise<void>")
    );
    assert_eq!(answers[14]["value"], json!("last"));
}
