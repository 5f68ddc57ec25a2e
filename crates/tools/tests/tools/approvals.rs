//! What the person is asked, and what their answers mean.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use serde_json::json;
use tools::{Answer, Asker, CallRequest, Grant, NobodyAsks, Question, Tier};

use crate::bench::{Bench, by};

#[tokio::test]
async fn a_command_is_asked_about_each_time_with_its_exact_bytes() {
    let bench = Bench::new(&[]);
    let command = "echo safe \u{202e}; echo hi";
    for asked in 1..=2 {
        let report = bench.call("run_command", json!({"command": command})).await;
        assert_eq!(by(&report), "the person");
        assert!(report.text().contains("safe"), "{}", report.text());
        assert_eq!(bench.questions(), asked);
    }
    let question = bench.asked.lock().unwrap()[0].clone();
    assert_eq!((&*question.tool, &*question.seat), ("run_command", "ann"));
    assert_eq!(question.call_id, "c1");
    assert!(question.exact_text().starts_with("echo safe "));
    assert!(!question.exact_text().contains('\u{202e}'));
    assert!(question.exact.iter().any(|piece| piece.escaped));
    assert_eq!(question.grant, Some(Grant::Commands));
}

#[tokio::test]
async fn no_means_no_and_the_model_is_told_why() {
    let mut bench = Bench::new(&[]);
    bench.answer = Answer::Deny {
        why: Some("use the test script".into()),
    };
    let (kind, told) = bench
        .fault("run_command", json!({"command": "touch x"}))
        .await;
    assert_eq!(kind, "denied");
    assert!(told.contains("use the test script"), "{told}");
    assert!(!bench.path().join("x").exists());
}

#[tokio::test]
async fn allowed_for_the_session_is_not_asked_again_until_another_thread_is_opened() {
    let mut bench = Bench::new(&[]);
    bench.answer = Answer::AllowSession;
    bench.ok("run_command", json!({"command": "true"})).await;
    let report = bench
        .call("run_command", json!({"command": "touch x && false"}))
        .await;
    assert_eq!((by(&report), bench.questions()), ("a grant", 1));
    assert_eq!(report.result.unwrap().data["exit_code"], 1);
    // It covers nothing else, and no rule.
    std::fs::create_dir(bench.path().join("d")).unwrap();
    std::fs::write(bench.path().join("d/f"), "").unwrap();
    bench.ok("delete_file", json!({"path": "d"})).await;
    assert_eq!(bench.questions(), 2);
    let (kind, told) = bench
        .fault("run_command", json!({"command": "echo a; rm -rf /"}))
        .await;
    assert!(
        kind == "denied" && told.contains("a rule forbids it"),
        "{told}"
    );
    bench.session.revoke_grants();
    bench.ok("run_command", json!({"command": "true"})).await;
    assert_eq!(bench.questions(), 3);
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_answer_is_no() {
    let bench = Bench::new(&[]);
    let request = CallRequest {
        call_id: "c1".into(),
        tool: "run_command".into(),
        arguments: json!({"command": "touch x"}),
        seat: "ann".into(),
        tier: Tier::Full,
    };
    let report = bench
        .guard
        .call(&request, &bench.session, &NobodyAsks, &bench.cancel)
        .await;
    assert_eq!(report.result.unwrap_err().kind.name(), "denied");
    assert!(!bench.path().join("x").exists());
}

/// Never answers; tells when its question is taken off the screen.
struct Silent(Arc<AtomicBool>, Arc<tokio::sync::Notify>);

struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Asker for Silent {
    fn ask(&self, _: Question) -> BoxFuture<'_, Answer> {
        let gone = Gone(Arc::clone(&self.0));
        Box::pin(async move {
            let _gone = gone;
            self.1.notify_one();
            std::future::pending().await
        })
    }
}

#[tokio::test]
async fn stop_takes_an_open_question_away() {
    let bench = Bench::new(&[]);
    let (gone, asked) = (Arc::new(AtomicBool::new(false)), Arc::default());
    let silent = Silent(Arc::clone(&gone), Arc::clone(&asked));
    let request = CallRequest {
        call_id: "c1".into(),
        tool: "run_command".into(),
        arguments: json!({"command": "touch x"}),
        seat: "ann".into(),
        tier: Tier::Full,
    };
    let stopping = async {
        asked.notified().await;
        bench.cancel.cancel();
    };
    let calling = bench
        .guard
        .call(&request, &bench.session, &silent, &bench.cancel);
    let (report, ()) = tokio::join!(calling, stopping);
    assert_eq!(report.result.unwrap_err().kind.name(), "cancelled");
    assert!(gone.load(Ordering::Acquire) && !bench.path().join("x").exists());
}

#[tokio::test]
async fn a_folder_with_something_in_it_is_asked_about_and_an_empty_one_is_not() {
    let mut bench = Bench::new(&[("full/a", "a")]);
    std::fs::create_dir(bench.path().join("empty")).unwrap();
    let report = bench.call("delete_file", json!({"path": "empty"})).await;
    assert_eq!((by(&report), bench.questions()), ("no need", 0));
    bench.answer = Answer::Deny { why: None };
    assert_eq!(
        bench.fault("delete_file", json!({"path": "full"})).await.0,
        "denied"
    );
    assert!(bench.path().join("full/a").exists());
}
