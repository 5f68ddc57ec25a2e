//! Turns from the prompt to files on the disk, and back.

use std::collections::BTreeSet;
use std::time::Duration;

use agent::{Ending, pairing};
use models::{ChatMessage, ChatRequest, ChatRole, Profile};
use serde_json::{Value, json};
use tools::Tier;
use transcript::{Access, BodyRef, Journal, JournalKind, JournalRecord, Timestamp};

use crate::table::Table;

fn said(text: &str) -> Vec<ChatMessage> {
    vec![
        ChatMessage::new(ChatRole::System, "You are Ann."),
        ChatMessage::new(ChatRole::User, text),
    ]
}

fn answer(ending: &Ending) -> &str {
    match ending {
        Ending::Answered { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

const EDIT: &str = r#"
[[step]]
contains = "double"
last_role = "user"
reply = [
  { content = "I look first." },
  { tool_call = { index = 0, id = "c1", name = "read_file", arguments = { path = "sum.py" }, extra = { extra_content = { google = { thought_signature = "QUJD" } } } } },
  { tool_call = { index = 1, id = "c2", name = "search_text", arguments = { pattern = "total" } } },
]
[[step]]
tool_result = "1| total = 1"
reply = [
  { tool_call = { index = 0, id = "c1", name = "edit_file", arguments = { path = "sum.py", old_string = "total = 1", new_string = "total = 2" } } },
  { tool_call = { index = 1, id = "c2", name = "run_command", arguments = { command = "cp sum.py copy.py && cat copy.py" } } },
]
[[step]]
tool_result = "exit code 0"
reply = "It is doubled."
[[step]]
contains = "thanks"
reply = "With pleasure."
"#;

#[tokio::test]
async fn a_model_reads_edits_and_runs_and_all_of_it_is_taken_back() {
    let table = Table::new(EDIT, &[("sum.py", "total = 1\r\nprint(total)\r\n")]);
    let outcome = table.turn(said("double it")).await;
    assert_eq!(answer(&outcome.ending), "It is doubled.");
    assert_eq!(table.server.mismatches(), json!([]));
    assert_eq!(table.read("sum.py"), "total = 2\r\nprint(total)\r\n");
    assert_eq!(table.read("copy.py"), "total = 2\r\nprint(total)\r\n");
    let course = table.course.lock().unwrap().clone();
    let position = |what: &str| course.iter().position(|entry| entry == what).unwrap();
    assert!(position("narrated I look first.") < position("started read_file"));
    assert!(
        position("started search_text")
            < position("done read_file").min(position("done search_text"))
    );
    assert!(position("done edit_file") < position("started run_command"));

    let requests = table.server.requests();
    assert_eq!(requests.len(), 3);
    let calls = &requests[1]["messages"][2];
    assert_eq!(
        calls["tool_calls"][0]["extra_content"]["google"]["thought_signature"],
        "QUJD"
    );
    assert_eq!(requests[1]["messages"][3]["tool_call_id"], "c1");
    // A prefix cache serves what was sent before: later requests only add.
    for pair in requests.windows(2) {
        let [earlier, later] = pair else { continue };
        let sent = earlier["messages"].as_array().unwrap();
        assert_eq!(
            later["messages"].as_array().unwrap()[..sent.len()],
            sent[..]
        );
        assert_eq!(earlier["tools"], later["tools"]);
    }

    let workbench = table.seat.guard.workbench();
    let (history, workspace) = (&workbench.history, &workbench.workspace);
    let plan = history.preview(workspace, "m1").unwrap();
    assert_eq!(plan.files.len(), 2);
    history
        .restore(workspace, &plan, &BTreeSet::new(), 2)
        .unwrap();
    assert_eq!(table.read("sum.py"), "total = 1\r\nprint(total)\r\n");
    assert!(!table.path().join("copy.py").exists());
}

#[tokio::test]
async fn the_journal_keeps_what_happened_and_no_later_prompt_holds_any_of_it() {
    let table = Table::new(EDIT, &[("sum.py", "total = 1\n")]);
    let outcome = table.turn(said("double it")).await;
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("threads")).unwrap();
    let mut journal = Journal::open(home.path(), &Access::ReadWrite);
    let thread = "t".into();
    for record in table.records.lock().unwrap().iter() {
        let line = JournalRecord {
            at: Timestamp::UNIX_EPOCH,
            turn: 1,
            message_id: Some("m2".into()),
            kind: JournalKind::Tool,
            data: record.data.clone(),
        };
        journal
            .append_with_bodies(&thread, line, &record.bodies())
            .unwrap();
    }
    let records: Vec<JournalRecord> = journal.read(&thread).unwrap().map(Result::unwrap).collect();
    let edit = records
        .iter()
        .find(|record| record.data["tool"] == "edit_file")
        .unwrap();
    assert_eq!(
        (&edit.data["status"], &edit.data["approval"]["by"]),
        (&json!("done"), &json!("not_needed"))
    );
    let body = |record: &JournalRecord, name: &str| -> String {
        let body: BodyRef = serde_json::from_value(record.data[name].clone()).unwrap();
        String::from_utf8(journal.body(&thread, &body).unwrap().unwrap()).unwrap()
    };
    assert!(body(edit, "diff").contains("-total = 1\n+total = 2\n"));
    let run = records
        .iter()
        .find(|record| record.data["tool"] == "run_command")
        .unwrap();
    assert_eq!(
        run.data["approval"]["question"]["exact"][0]["text"],
        "cp sum.py copy.py && cat copy.py"
    );
    assert!(body(run, "result").contains("exit code 0"));
    assert!(run.data["ranMs"].is_u64());

    // The next turn is assembled from what was said, and holds nothing else.
    let mut next = said("double it");
    next.push(ChatMessage::new(
        ChatRole::Assistant,
        answer(&outcome.ending),
    ));
    next.push(ChatMessage::new(ChatRole::User, "thanks"));
    let outcome = table.turn(next).await;
    assert_eq!(answer(&outcome.ending), "With pleasure.");
    let request = table.server.requests().last().unwrap()["messages"].to_string();
    for trace in ["I look first.", "tool", "total", "cp sum.py", "exit code"] {
        assert!(!request.contains(trace), "{trace} in {request}");
    }
}

const SLEEP: &str = r#"
[[step]]
contains = "wait"
reply = [
  { tool_call = { index = 0, id = "a", name = "list_files", arguments = {} } },
  { tool_call = { index = 1, id = "b", name = "run_command", arguments = { command = "echo $$ > pid; sleep 600" } } },
  { tool_call = { index = 2, id = "c", name = "write_file", arguments = { path = "never", content = "" } } },
]
[[step]]
contains = "hi"
reply = "Hello."
"#;

#[tokio::test]
async fn stop_during_the_second_of_three_calls_ends_the_process_and_leaves_a_turn_to_go_on_from() {
    let mut table = Table::new(SLEEP, &[]);
    let stopping = async {
        while std::fs::read_to_string(table.path().join("pid")).map_or(0, |text| text.len()) < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        table.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(table.turn(said("wait")), stopping);
    assert_eq!(outcome.ending, Ending::Stopped);
    let pid = table.read("pid");
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    assert!(
        state.as_ref().map_or(true, |state| state.contains(") Z ")),
        "{state:?}"
    );
    assert!(!table.path().join("never").exists());

    let mut messages = outcome.messages;
    assert_eq!(pairing::check(&messages), Ok(()));
    let results: Vec<&str> = messages
        .iter()
        .rev()
        .take(2)
        .map(|message| &*message.content)
        .collect();
    assert!(
        results[0].contains("before it ran") && results[1].contains("while it ran"),
        "{results:?}"
    );
    messages.push(ChatMessage::new(ChatRole::User, "hi"));
    table.cancel = tokio_util::sync::CancellationToken::new();
    assert_eq!(answer(&table.turn(messages).await.ending), "Hello.");
    assert_eq!(table.server.mismatches(), json!([]));
}

const WRONG: &str = r#"
order = "ordered"
[[step]]
reply = [{ tool_call = { index = 0, id = "a", name = "raed_file", arguments = "{\"path\": \"a\"}" } }]
[[step]]
tool_result = "did you mean read_file"
reply = [{ tool_call = { index = 0, id = "a", name = "read_file", arguments = "{\"path\": \"a" } }]
[[step]]
tool_result = "cut off after 11 bytes"
reply = [{ tool_call = { index = 0, id = "a", name = "read_file", arguments = "[1]" } }]
[[step]]
tool_result = "there are no more tools in this turn"
reply = "I give up."
"#;

#[tokio::test]
async fn a_model_that_cannot_get_its_calls_right_is_asked_to_answer_without_tools() {
    let table = Table::new(WRONG, &[("a", "a\n")]);
    let outcome = table.turn(said("read a")).await;
    assert_eq!(answer(&outcome.ending), "I give up.");
    let requests = table.server.requests();
    assert!(requests[2]["tools"].is_array() && requests[3]["tools"].is_null());
}

const ENDLESS: &str = r#"
[[step]]
tool_result = "no more tools"
reply = [{ content = "Enough." }, { tool_call = { index = 0, id = "z", name = "list_files", arguments = {} } }]
[[step]]
reply = [{ tool_call = { index = 0, id = "a", name = "list_files", arguments = {} } }]
"#;

#[tokio::test]
async fn a_model_that_never_stops_calling_is_given_one_round_without_tools() {
    let mut table = Table::new(ENDLESS, &[]);
    table.options.max_rounds = 3;
    let outcome = table.turn(said("go")).await;
    assert_eq!(answer(&outcome.ending), "Enough.");
    assert_eq!(table.server.requests().len(), 4);
    assert_eq!(pairing::check(&outcome.messages), Ok(()));
    assert!(
        table
            .course
            .lock()
            .unwrap()
            .contains(&"OutOfRounds".to_owned())
    );
}

#[tokio::test]
async fn without_tools_a_turn_is_one_request_as_it_was_before_there_were_any() {
    let script = "[[step]]\nreply = \"Hello.\"\n";
    let table = Table::new(script, &[]);
    let mut settings = (*table.seat.guard.workbench().settings()).clone();
    settings.tools_enabled = false;
    table.seat.guard.workbench().set_settings(settings);
    let outcome = table.turn(said("hi")).await;
    assert_eq!(answer(&outcome.ending), "Hello.");
    let plain = ChatRequest::new("m", said("hi")).body(&Profile::default());
    let requests = table.server.requests();
    assert_eq!(requests, [serde_json::from_slice::<Value>(&plain).unwrap()]);
}

#[tokio::test]
async fn the_read_tier_is_offered_no_changes_and_gets_none() {
    let script = r#"
[[step]]
tool_result = "needs full access"
reply = "I may not."
[[step]]
reply = [{ tool_call = { index = 0, id = "a", name = "write_file", arguments = { path = "x", content = "" } } }]
"#;
    let mut table = Table::new(script, &[]);
    table.seat.tier = Tier::Read;
    let outcome = table.turn(said("write x")).await;
    assert_eq!(answer(&outcome.ending), "I may not.");
    assert!(!table.path().join("x").exists());
    let offered = table.server.requests()[0]["tools"].to_string();
    assert!(
        offered.contains("\"grep\"") && !offered.contains("\"write_file\""),
        "{offered}"
    );
}

#[tokio::test]
async fn a_request_that_fails_between_calls_ends_the_turn_with_its_error() {
    let script = r#"
[[step]]
last_role = "tool"
status = 500
body = "the engine is on fire"
[[step]]
reply = [{ tool_call = { index = 0, id = "a", name = "list_files", arguments = {} } }]
"#;
    let table = Table::new(script, &[]);
    let outcome = table.turn(said("go")).await;
    let Ending::Failed { error } = &outcome.ending else {
        panic!("{:?}", outcome.ending);
    };
    assert!(
        error.contains("on fire") && outcome.error.is_some(),
        "{error}"
    );
    assert_eq!(pairing::check(&outcome.messages), Ok(()));
}
