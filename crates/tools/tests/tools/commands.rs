//! Commands: what runs where, and what becomes of what they leave behind.

use ::commands::Helper;
use serde_json::json;
use std::time::Duration;
use tools::{Answer, Sandboxing};

use crate::bench::{Bench, by};

#[tokio::test]
async fn output_is_distilled_and_the_mark_says_how_to_read_the_rest() {
    let bench = Bench::new(&[]);
    let output = bench
        .ok("run_command", json!({"command": "seq 1 1000; exit 3"}))
        .await;
    assert!(
        output.truncated && output.text.contains("exit code 3"),
        "{}",
        output.text
    );
    let id = output.data["command_id"].as_str().unwrap();
    let mark = format!("read_command_output command_id={id} priority=top offset=");
    assert!(output.text.contains(&mark), "{}", output.text);
    let rest = json!({"cmd_id": id, "priority": "top", "offset": 499, "limit": 2});
    let part = bench.ok("read_command_output", rest).await;
    assert_eq!(part.data["text"], "500\n501\n");
    assert_eq!(part.data["lines"], json!([500, 501]));
    assert!(part.truncated);
    let last = bench
        .ok(
            "read_command_output",
            json!({"command_id": id, "filter": "^99.$"}),
        )
        .await;
    assert_eq!(last.data["total_lines"], 10);
    assert!(
        last.text
            .starts_with(&format!("[{id}] matching lines 1-10 of 10\n"))
    );
}

#[tokio::test]
async fn what_takes_long_goes_on_as_a_job_that_is_listed_waited_for_and_killed() {
    let bench = Bench::new(&[]);
    bench.set(|settings| settings.hand_back_after = Duration::from_millis(50));
    let output = bench
        .ok("run_command", json!({"command": "echo begun; sleep 600"}))
        .await;
    let job = output.data["job_id"].as_str().unwrap().to_owned();
    assert_eq!(output.data["exit_code"], json!(null));
    assert!(output.text.contains("goes on as a job"), "{}", output.text);
    let jobs = bench.ok("list_jobs", json!({})).await;
    assert_eq!(jobs.data["jobs"][0]["job_id"], *job);
    let part = bench
        .ok("read_command_output", json!({"command_id": job}))
        .await;
    assert_eq!(part.data["running"], true);
    let killed = bench.ok("kill_job", json!({"job_id": job})).await;
    assert_eq!(killed.data["stopped"], true);
    assert_eq!(
        bench.ok("list_jobs", json!({})).await.data["jobs"],
        json!([])
    );

    let short = bench
        .ok("run_command", json!({"command": "sleep 0.3; echo over"}))
        .await;
    let job = short.data["job_id"].as_str().unwrap().to_owned();
    let waited = json!({"command_id": job, "wait_seconds": 60});
    let part = bench.ok("read_command_output", waited).await;
    assert_eq!(
        (&part.data["running"], &part.data["text"]),
        (&json!(false), &json!("over\n"))
    );
}

/// Whether the process of this number has ended.
fn is_gone(process: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{}/stat", process.trim()));
    state.map_or(true, |state| state.contains(") Z "))
}

/// Whether a command has written down the number of its child.
fn has_begun(bench: &Bench) -> bool {
    std::fs::read_to_string(bench.path().join("child")).is_ok_and(|text| text.ends_with('\n'))
}

async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn stop_reaches_the_processes_of_a_command() {
    let bench = Bench::new(&[]);
    let command = "(sleep 600 & echo $! > child); sleep 600";
    let stopping = async {
        until(|| has_begun(&bench)).await;
        bench.cancel.cancel();
    };
    let (report, ()) = tokio::join!(
        bench.call("run_command", json!({"command": command})),
        stopping
    );
    assert_eq!(report.result.unwrap().data["stopped"], true);
    assert!(is_gone(&bench.read("child")));
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_ends_its_command_before_the_next_change() {
    let bench = Bench::new(&[]);
    let command = json!({"command": "(sleep 600 & echo $! > child); sleep 600"});
    tokio::select! {
        report = bench.call("run_command", command) => panic!("it ended: {}", report.text()),
        () = until(|| has_begun(&bench)) => {}
    }
    bench
        .ok("write_file", json!({"path": "next", "content": ""}))
        .await;
    assert!(is_gone(&bench.read("child")));
}

#[tokio::test]
async fn a_users_rule_forbids_and_a_rule_that_contradicts_its_example_is_refused() {
    let bench = Bench::new(&[]);
    let rule = "[[rule]]\nprogram = [\"make\"]\nsubcommand = [[\"deploy\"]]\ndecision = \"deny\"\n\
                why = \"never from here\"\nmatch = [\"make deploy\"]\nnot_match = [\"make test\"]\n";
    bench.set(|settings| *settings = settings.clone().with_rules(rule).unwrap());
    let (kind, told) = bench
        .fault("run_command", json!({"command": "true && make deploy"}))
        .await;
    assert!(
        kind == "denied" && told.contains("make deploy: never from here"),
        "{told}"
    );
    let wrong = rule.replace("make test", "make deploy");
    assert!(tools::ToolSettings::default().with_rules(&wrong).is_err());
}

/// The helper that `cargo` built for the crate beneath, if it did.
fn helper() -> Option<Helper> {
    let target = std::env::current_exe().ok()?;
    let program = target.parent()?.parent()?.join("folkmoot-sandbox");
    program.exists().then(|| Helper {
        program,
        arguments: Vec::new(),
    })
}

#[tokio::test]
async fn a_whole_sandbox_takes_the_place_of_the_question_only_where_the_person_chose_so() {
    let bench = Bench::with_helper(&[("a.txt", "a\n"), (".env", "KEY=1\n")], helper());
    let enforcement = bench.guard.workbench().enforcement().clone();
    let whole = enforcement.label() == "sandboxed";
    if !whole {
        eprintln!(
            "the sandbox isn't whole here: {enforcement:?}; what is tested is that it is then asked"
        );
    }
    let report = bench.call("run_command", json!({"command": "true"})).await;
    assert_eq!(by(&report), "the person");
    assert_eq!(
        report.result.unwrap().data["sandbox"]["enforced"],
        json!([])
    );

    bench.set(|settings| settings.sandboxing = Sandboxing::Ask);
    let report = bench.call("run_command", json!({"command": "true"})).await;
    assert_eq!(by(&report), "the person");
    let enforced = report.result.unwrap().data["sandbox"]["enforced"].clone();
    assert_eq!(enforced.as_array().unwrap().is_empty(), !whole);

    bench.set(|settings| settings.sandboxing = Sandboxing::Auto);
    let report = bench
        .call(
            "run_command",
            json!({"command": "cat .env; ./made-up; echo b > b.txt"}),
        )
        .await;
    assert_eq!(
        by(&report),
        if whole { "the sandbox" } else { "the person" }
    );
    if !whole {
        let question = bench.asked.lock().unwrap().last().unwrap().clone();
        assert!(
            question
                .reasons
                .iter()
                .any(|why| why.contains("can't be made whole"))
        );
        return;
    }
    let output = report.result.unwrap();
    assert!(!output.text.contains("KEY=1"), "{}", output.text);
    assert_eq!(bench.read("b.txt"), "b\n");
    // What leaves the sandbox, or is named by a rule, is asked about.
    let rule = "[[rule]]\nprogram = [\"make\"]\ndecision = \"ask\"\n";
    bench.set(|settings| *settings = settings.clone().with_rules(rule).unwrap());
    let questions = bench.questions();
    for arguments in [
        json!({"command": "true", "network": true}),
        json!({"command": "true", "unsandboxed": true}),
        json!({"command": "make deploy"}),
    ] {
        assert_eq!(
            by(&bench.call("run_command", arguments).await),
            "the person"
        );
    }
    assert_eq!(bench.questions(), questions + 3);
}

#[tokio::test]
async fn without_a_helper_there_is_no_sandbox_and_none_is_claimed() {
    let mut bench = Bench::new(&[]);
    bench.set(|settings| settings.sandboxing = Sandboxing::Auto);
    bench.answer = Answer::Deny { why: None };
    let (kind, _) = bench.fault("run_command", json!({"command": "true"})).await;
    assert_eq!(kind, "denied");
    let question = bench.asked.lock().unwrap()[0].clone();
    assert_eq!(question.enforcement.label(), "not sandboxed");
    assert!(question.reasons[0].contains("the sandbox can't be made whole here"));
}
