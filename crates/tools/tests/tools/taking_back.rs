//! Whatever a call changed can be taken back.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use crate::bench::{Bench, message};

/// Puts the folder back as it was at a message; the paths that were put back.
fn restore(bench: &Bench, id: &str) -> Vec<String> {
    let workbench = bench.guard.workbench();
    workbench.keep_up(&bench.session).unwrap();
    let (history, workspace) = (&workbench.history, &workbench.workspace);
    let plan = history.preview(workspace, id).unwrap();
    let restored = history.restore(workspace, &plan, &BTreeSet::new(), 2_000);
    let restored = restored.unwrap().restored;
    restored.iter().map(ToString::to_string).collect()
}

fn names(bench: &Bench) -> Vec<String> {
    let entries = std::fs::read_dir(bench.path()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_turn_of_every_writing_tool_and_a_command_is_taken_back_whole() {
    let files = [
        ("a.txt", "a\n"),
        ("b.txt", "b\n"),
        ("c/d.txt", "d\n"),
        ("e.txt", "e\n"),
        ("own.txt", "own\n"),
    ];
    let bench = Bench::new(&files);
    for path in ["a.txt", "b.txt"] {
        bench.ok("read_file", json!({"path": path})).await;
    }
    bench
        .ok(
            "edit_file",
            json!({"path": "a.txt", "old_string": "a", "new_string": "A"}),
        )
        .await;
    bench
        .ok("write_file", json!({"path": "b.txt", "content": "B\n"}))
        .await;
    bench
        .ok(
            "write_file",
            json!({"path": "new/deep.txt", "content": "n\n"}),
        )
        .await;
    bench.ok("create_directory", json!({"path": "made"})).await;
    bench
        .ok(
            "rename_file",
            json!({"oldPath": "e.txt", "newPath": "f.txt"}),
        )
        .await;
    bench.ok("delete_file", json!({"path": "c"})).await;
    let patch = "*** Begin Patch\n*** Add File: p.txt\n+p\n*** End Patch";
    bench.ok("apply_patch", json!({"patch": patch})).await;
    bench
        .ok(
            "run_command",
            json!({"command": "rm a.txt; echo z > z.txt; chmod +x b.txt"}),
        )
        .await;
    std::fs::write(bench.path().join("mine.txt"), "mine\n").unwrap();
    restore(&bench, "m1");
    assert_eq!(
        names(&bench),
        ["a.txt", "b.txt", "c", "e.txt", "mine.txt", "own.txt"]
    );
    for (path, text) in files {
        assert_eq!(bench.read(path), text, "{path}");
    }
    let checkpoints = bench.guard.workbench().history.checkpoints().unwrap();
    let undo = checkpoints.last().unwrap().head.id.clone();
    restore(&bench, &undo);
    assert_eq!(bench.read("z.txt"), "z\n");
    assert!(!bench.path().join("a.txt").exists());
}

#[tokio::test]
async fn each_message_has_its_own_checkpoint() {
    let bench = Bench::new(&[("a.txt", "0\n")]);
    for (id, from, to) in [("m1", "0", "1"), ("m2", "1", "2")] {
        bench.session.begin_message(message(id));
        bench.ok("read_file", json!({"path": "a.txt"})).await;
        bench
            .ok(
                "edit_file",
                json!({"path": "a.txt", "old_string": from, "new_string": to}),
            )
            .await;
    }
    restore(&bench, "m2");
    assert_eq!(bench.read("a.txt"), "1\n");
    restore(&bench, "m1");
    assert_eq!(bench.read("a.txt"), "0\n");
}

#[tokio::test]
async fn what_a_job_changes_after_it_was_handed_back_is_taken_back_too() {
    let bench = Bench::new(&[("a.txt", "0\n")]);
    bench.set(|settings| settings.hand_back_after = Duration::from_millis(30));
    let command = json!({"command": "sleep 0.4; echo 1 > a.txt"});
    let job = bench.ok("run_command", command).await.data["job_id"].clone();
    assert_eq!(bench.read("a.txt"), "0\n");
    let waited = json!({"command_id": job, "wait_seconds": 60});
    bench.ok("read_command_output", waited).await;
    assert_eq!(bench.read("a.txt"), "1\n");
    assert_eq!(restore(&bench, "m1"), ["a.txt"]);
    assert_eq!(bench.read("a.txt"), "0\n");
}

#[tokio::test]
async fn a_call_that_fails_changes_nothing_and_leaves_nothing_to_take_back() {
    let bench = Bench::new(&[("a.txt", "x x\n")]);
    bench.ok("read_file", json!({"path": "a.txt"})).await;
    let (kind, _) = bench
        .fault(
            "edit_file",
            json!({"path": "a.txt", "old_string": "x", "new_string": "y"}),
        )
        .await;
    assert_eq!(kind, "ambiguous");
    let patch = "*** Begin Patch\n*** Add File: n.txt\n+n\n*** Update File: a.txt\n@@\n-gone\n+new\n*** End Patch";
    assert_eq!(
        bench.fault("apply_patch", json!({"patch": patch})).await.0,
        "no_match"
    );
    assert_eq!(names(&bench), ["a.txt"]);
    assert_eq!(restore(&bench, "m1"), [""; 0]);
}
