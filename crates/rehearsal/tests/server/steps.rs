//! Which step answers, and what a request that none answers leads to.

use crate::client::{ask, chat, rehearse, rehearse_step};
use rehearsal::{Options, Rehearsal, Script};
use serde_json::json;

#[tokio::test]
async fn steps_are_found_by_seat_model_and_words() {
    let rehearsal = rehearse(
        r#"
[[step]]
seat = "Bob"
reply = "Bob here"

[[step]]
model = "m"
contains = "first"
reply = "first"

[[step]]
seat = "Ada"
regex = "^sec"
reply = "second"
"#,
    )
    .await;
    assert_eq!(ask(&rehearsal, &chat("the first")).await.content(), "first");
    assert_eq!(ask(&rehearsal, &chat("second")).await.content(), "second");
    assert_eq!(rehearsal.mismatches(), [""; 0]);
    let steps: Vec<_> = rehearsal.requests().into_iter().map(|r| r.step).collect();
    assert_eq!(steps[0].as_deref(), Some("step 2 (line 6)"));
}

#[tokio::test]
async fn a_tool_loop_is_told_by_its_results() {
    let rehearsal = rehearse(
        "[[step]]\ntool_result = '42'\nlast_role = 'tool'\nreply = 'done'\n[[step]]\nreply = [{ tool_call = { id = 'c', name = 'count' } }]\n",
    )
    .await;
    let mut body = chat("count");
    assert_eq!(
        ask(&rehearsal, &body).await.finish().as_deref(),
        Some("tool_calls")
    );
    let messages = body["messages"].as_array_mut().expect("a list");
    messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [] }));
    messages.push(json!({ "role": "tool", "tool_call_id": "c", "content": "42 lines" }));
    assert_eq!(ask(&rehearsal, &body).await.content(), "done");
}

#[tokio::test]
async fn an_unmatched_request_fails_with_a_diff() {
    let rehearsal =
        rehearse_step("name = 'farewell'\nmodel = 'other'\ncontains = 'bye'\nreply = 'x'").await;
    let response = ask(&rehearsal, &chat("hello")).await;
    assert_eq!(response.status, 500);
    let error = response.json();
    let text = error["error"]["message"].as_str().expect("a message");
    for expected in [
        "request 1 (number 1 for its model) matched no step",
        "step 1 \"farewell\" (line 1) expected otherwise",
        "- model: other\n    + model: m\n",
        "- contains: \"bye\"\n    + contains: \"hello\"\n",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
    assert_eq!(rehearsal.mismatches(), [text]);
    assert_eq!(rehearsal.requests()[0].step, None);
}

#[tokio::test]
async fn a_lenient_server_falls_back_to_otherwise() {
    let script =
        "[[step]]\notherwise = true\nreply = 'whatever'\n[[step]]\ncontains = 'a'\nreply = 'a'\n";
    let options = Options {
        strict: false,
        ..Options::default()
    };
    let script = Script::parse(script).expect("the script is well formed");
    let rehearsal = Rehearsal::start(script, options)
        .await
        .expect("a port is free");
    assert_eq!(ask(&rehearsal, &chat("z")).await.content(), "whatever");
    assert_eq!(ask(&rehearsal, &chat("a")).await.content(), "a");
    assert_eq!(rehearsal.mismatches(), [""; 0]);
}

#[tokio::test]
async fn requests_are_counted_in_all_and_by_model() {
    let rehearsal = rehearse(
        "[[step]]\nnth = 3\nreply = 'third'\n[[step]]\nnth_of_model = 2\nreply = 'again'\n[[step]]\nreply = 'new'\n",
    )
    .await;
    let mut other = chat("x");
    other["model"] = json!("n");
    assert_eq!(ask(&rehearsal, &chat("x")).await.content(), "new");
    assert_eq!(ask(&rehearsal, &chat("x")).await.content(), "again");
    assert_eq!(ask(&rehearsal, &other).await.content(), "third");
    assert_eq!(ask(&rehearsal, &other).await.content(), "again");
}
