//! What no call gets through, whichever tool it is of.

use serde_json::{Value, json};
use tools::Tier;

use crate::bench::Bench;

/// A call of each tool that takes a path, with this path.
fn calls_on(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"path": path})),
        ("list_files", json!({"path": path})),
        ("write_file", json!({"path": path, "content": "x"})),
        (
            "edit_file",
            json!({"path": path, "old_string": "a", "new_string": "b"}),
        ),
        (
            "apply_patch",
            json!({"patch": format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch")}),
        ),
        ("create_directory", json!({"path": path})),
        ("rename_file", json!({"oldPath": path, "newPath": "free"})),
        ("rename_file", json!({"oldPath": "a.txt", "newPath": path})),
        ("delete_file", json!({"path": path})),
        ("grep", json!({"pattern": "a", "subdir": path})),
        ("search_files", json!({"pattern": "a", "subdir": path})),
    ]
}

fn is_write(tool: &str) -> bool {
    !matches!(tool, "read_file" | "list_files" | "grep" | "search_files")
}

#[tokio::test]
async fn no_tool_leaves_the_folder() {
    let bench = Bench::new(&[("a.txt", "a\n")]);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("b.txt"), "a\n").unwrap();
    std::os::unix::fs::symlink(outside.path(), bench.path().join("link")).unwrap();
    for path in ["../x", "a/../../x", "/etc/passwd", "link/b.txt", "link/new"] {
        for (tool, arguments) in calls_on(path) {
            let (kind, told) = bench.fault(tool, arguments.clone()).await;
            assert_eq!(kind, "outside_workspace", "{tool} {arguments}: {told}");
        }
    }
    assert_eq!(bench.read("a.txt"), "a\n");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn no_tool_shows_or_touches_a_secret() {
    let bench = Bench::new(&[
        ("a.txt", "a\n"),
        (".env", "KEY=abc\n"),
        ("b/server.pem", "abc\n"),
    ]);
    for path in [".env", "b/server.pem"] {
        for (tool, arguments) in calls_on(path) {
            let (kind, told) = bench.fault(tool, arguments.clone()).await;
            assert_eq!(kind, "secret", "{tool} {arguments}: {told}");
        }
    }
    let listing = bench.ok("list_files", json!({})).await;
    assert_eq!(listing.data["hidden_secrets"], 1);
    assert!(listing.text.contains("(1 hidden by the secret policy)"));
    let found = bench
        .ok("grep", json!({"pattern": "abc", "include_ignored": true}))
        .await;
    assert_eq!(found.data["matches"], json!([]));
}

#[tokio::test]
async fn repositories_are_read_and_never_written() {
    let bench = Bench::new(&[
        ("a.txt", "a\n"),
        (".git/config", "a\n"),
        ("sub/.git/hooks/x", "a\n"),
    ]);
    for path in [
        ".git/config",
        ".GIT/config2",
        "sub/.git/hooks/x",
        ".git/hooks/new",
    ] {
        for (tool, arguments) in calls_on(path)
            .into_iter()
            .filter(|(tool, _)| is_write(tool))
        {
            let (kind, told) = bench.fault(tool, arguments.clone()).await;
            let refused = ["protected", "not_found"].contains(&kind);
            assert!(refused, "{tool} {arguments}: {kind} {told}");
        }
    }
    assert_eq!(
        bench.fault("delete_file", json!({"path": "sub"})).await.0,
        "protected"
    );
    assert_eq!(bench.read(".git/config"), "a\n");
    assert!(!bench.path().join(".git/hooks").exists());
}

#[tokio::test]
async fn with_read_access_and_in_a_folder_without_trust_nothing_is_changed_and_nothing_runs() {
    let mut bench = Bench::new(&[("a.txt", "a\n")]);
    let mut calls: Vec<_> = calls_on("a.txt")
        .into_iter()
        .filter(|(tool, _)| is_write(tool))
        .collect();
    calls.push(("run_command", json!({"command": "touch b"})));
    calls.push(("kill_job", json!({"job_id": "x"})));
    for (tier, trusted, why) in [
        (Tier::Read, true, "needs full access"),
        (Tier::Full, false, "has not trusted"),
    ] {
        bench.tier = tier;
        bench.guard.workbench().set_trusted(trusted);
        for (tool, arguments) in &calls {
            let (kind, told) = bench.fault(tool, arguments.clone()).await;
            assert_eq!(kind, "not_allowed", "{tool}: {told}");
            assert!(told.contains(why), "{tool}: {told}");
        }
        assert_eq!(
            bench.ok("read_file", json!({"path": "a.txt"})).await.text,
            "   1| a\n"
        );
    }
    assert_eq!(bench.questions(), 0);
    assert_eq!(std::fs::read_dir(bench.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn switches_in_the_settings_hold_for_calls_and_not_only_for_what_is_offered() {
    let bench = Bench::new(&[("a.txt", "a\n")]);
    bench.set(|settings| settings.commands_enabled = false);
    let names = |bench: &Bench| -> Vec<String> {
        let allowed = bench.guard.allowed(Tier::Full);
        allowed.iter().map(|tool| tool.name.to_string()).collect()
    };
    assert!(!names(&bench).contains(&"run_command".to_owned()));
    let (kind, _) = bench
        .fault("run_command", json!({"command": "touch b"}))
        .await;
    assert_eq!(kind, "not_allowed");
    bench
        .ok("write_file", json!({"path": "c.txt", "content": ""}))
        .await;
    bench.set(|settings| settings.tools_enabled = false);
    assert_eq!(names(&bench), [""; 0]);
    assert_eq!(
        bench.fault("read_file", json!({"path": "a.txt"})).await.0,
        "not_allowed"
    );
}

#[tokio::test]
async fn what_a_project_says_to_models_counts_once_the_folder_is_trusted() {
    let bench = Bench::new(&[("AGENTS.md", "Use tabs.\u{1b}[2J\n")]);
    let notes = |bench: &Bench| bench.guard.workbench().project_notes().unwrap();
    assert_eq!(notes(&bench).unwrap().text, "Use tabs.\\u{1b}[2J\n");
    bench.guard.workbench().set_trusted(false);
    assert_eq!(notes(&bench), None);
    bench.guard.workbench().set_trusted(true);
    std::fs::remove_file(bench.path().join("AGENTS.md")).unwrap();
    assert_eq!(notes(&bench), None);
    std::os::unix::fs::symlink("/etc/hostname", bench.path().join("AGENTS.md")).unwrap();
    assert!(bench.guard.workbench().project_notes().is_err());
}

#[tokio::test]
async fn a_bad_call_is_told_how_to_be_a_good_one() {
    let bench = Bench::new(&[("a.txt", "a\n"), ("b/c.txt", "")]);
    for (tool, arguments, kind, told) in [
        (
            "raed_file",
            json!({}),
            "unknown_tool",
            "did you mean read_file",
        ),
        (
            "read_file",
            json!({"pth": "a.txt"}),
            "invalid_input",
            "did you mean `path`?",
        ),
        (
            "read_file",
            json!({"path": 5}),
            "invalid_input",
            "`path` must be string, got number",
        ),
        (
            "read_file",
            json!({"path": "a.txt", "offset": "1"}),
            "invalid_input",
            "must be integer",
        ),
        ("read_file", json!([]), "invalid_input", "must be an object"),
        (
            "read_file",
            json!({"path": "b"}),
            "invalid_input",
            "list_files shows what is in it",
        ),
        (
            "read_file",
            json!({"path": "a.tx"}),
            "not_found",
            "did you mean a.txt?",
        ),
        (
            "edit_file",
            json!({"path": "a.txt", "old_string": "a", "new_string": "b"}),
            "stale",
            "read it again",
        ),
        (
            "run_command",
            json!({"command": ""}),
            "invalid_input",
            "`command`",
        ),
        (
            "apply_patch",
            json!({"patch": "no"}),
            "invalid_input",
            "*** Begin Patch",
        ),
        (
            "read_command_output",
            json!({"command_id": "../x"}),
            "not_found",
            "no command has this name",
        ),
        (
            "read_command_output",
            json!({"command_id": "none-1"}),
            "not_found",
            "",
        ),
        (
            "kill_job",
            json!({"job_id": "none"}),
            "not_found",
            "no job has this name",
        ),
    ] {
        let (found, message) = bench.fault(tool, arguments.clone()).await;
        assert_eq!(found, kind, "{tool} {arguments}: {message}");
        assert!(message.contains(told), "{tool} {arguments}: {message}");
    }
}
