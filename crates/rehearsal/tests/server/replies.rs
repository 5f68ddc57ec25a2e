//! What a reply says, streamed and plain.

use crate::client::{Client, ask, chat, get, rehearse, rehearse_step, soon};
use serde_json::json;

#[tokio::test]
async fn a_text_comes_in_deltas_with_a_finish_and_done() {
    let rehearsal =
        rehearse_step("reply = 'Grüße, {{user}}! I am {{seat}}.'\nchunk_chars = [2, 3]").await;
    let response = ask(&rehearsal, &chat("Bo")).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    assert_eq!(response.content(), "Grüße, Bo! I am Ada.");
    assert_eq!(response.finish().as_deref(), Some("stop"));
    assert_eq!(
        response.payloads().last().map(String::as_str),
        Some("[DONE]")
    );
    let events = response.events();
    assert!(events.len() > 7, "{} events", events.len());
    assert_eq!(events[0]["model"], "m");
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(events[1]["choices"][0]["delta"]["role"], json!(null));
}

#[tokio::test]
async fn thought_comes_before_the_words_of_a_text_reply() {
    let rehearsal =
        rehearse_step("reasoning = 'hmm {{user}}'\nreply = 'yes'\nchunk_chars = 100").await;
    let events = ask(&rehearsal, &chat("Bo")).await.events();
    assert_eq!(
        events[0]["choices"][0]["delta"]["reasoning_content"],
        "hmm Bo"
    );
    assert_eq!(events[1]["choices"][0]["delta"]["content"], "yes");
}

#[tokio::test]
async fn a_request_that_does_not_stream_gets_one_object() {
    let rehearsal = rehearse_step(
        "reply = [{ reasoning = 'h' }, { reasoning = 'm' }, { content = 'a' }, { content = 'b' }]\nusage = { prompt_tokens = 3, completion_tokens = 2 }\nanswer_model = 'm-2026'",
    )
    .await;
    let mut body = chat("x");
    body["stream"] = json!(false);
    let response = ask(&rehearsal, &body).await;
    assert_eq!(response.header("content-type"), Some("application/json"));
    let answer = response.json();
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["model"], "m-2026");
    assert_eq!(answer["choices"][0]["message"]["content"], "ab");
    assert_eq!(answer["choices"][0]["message"]["reasoning_content"], "hm");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert_eq!(
        answer["usage"],
        json!({ "prompt_tokens": 3, "completion_tokens": 2 })
    );
}

const TOOL_CALLS: &str = r#"
reply = [
  { tool_call = { index = 0, id = "call_1", name = "read_file", arguments = "{\"pa", extra = { extra_content = { google = { thought_signature = "s" } } } } },
  { tool_call = { index = 0, arguments = "th\":1}" } },
  { tool_calls = [{ name = "list_dir", arguments = { path = "x" } }, { id = "", name = "stat" }] },
]
"#;

#[tokio::test]
async fn tool_calls_are_sent_as_they_are_written() {
    let rehearsal = rehearse_step(TOOL_CALLS).await;
    let response = ask(&rehearsal, &chat("x")).await;
    let events = response.events();
    let delta = |index: usize| &events[index]["choices"][0]["delta"]["tool_calls"];
    assert_eq!(
        *delta(0),
        json!([{
            "index": 0, "id": "call_1", "type": "function",
            "function": { "name": "read_file", "arguments": "{\"pa" },
            "extra_content": { "google": { "thought_signature": "s" } },
        }])
    );
    assert_eq!(
        *delta(1),
        json!([{ "index": 0, "function": { "arguments": "th\":1}" } }])
    );
    assert_eq!(
        *delta(2),
        json!([
            { "function": { "name": "list_dir", "arguments": { "path": "x" } } },
            { "id": "", "type": "function", "function": { "name": "stat" } },
        ])
    );
    assert_eq!(response.finish().as_deref(), Some("tool_calls"));
}

#[tokio::test]
async fn tool_calls_of_a_plain_reply_are_whole() {
    let rehearsal = rehearse_step(TOOL_CALLS).await;
    let mut body = chat("x");
    body["stream"] = json!(false);
    let answer = ask(&rehearsal, &body).await.json();
    let calls = &answer["choices"][0]["message"]["tool_calls"];
    assert_eq!(calls[0]["function"]["arguments"], "{\"path\":1}");
    assert_eq!(calls[1]["function"]["arguments"], json!({ "path": "x" }));
    assert_eq!(calls[2]["function"]["name"], "stat");
    assert_eq!(calls[0]["index"], json!(null));
}

#[tokio::test]
async fn the_order_within_a_chunk_is_comment_raw_data_delta() {
    let rehearsal = rehearse_step(
        r#"reply = [
  { content = "c", comment = "wait\nmore", raw = "id: 7\n", data = "[]", payload = { a = 1 }, error = { message = "m", code = "c" } },
  { raw_hex = "ff 0A" },
]"#,
    )
    .await;
    let response = ask(&rehearsal, &chat("x")).await;
    let body = response.chunks.concat();
    let expected = b": wait\n: more\n\nid: 7\ndata: []\n\ndata: {\"a\":1}\n\ndata: {\"error\":{\"message\":\"m\",\"code\":\"c\"}}\n\ndata: {\"id\":";
    assert!(body.starts_with(expected), "{}", response.body());
    assert!(
        body.ends_with(b"\n\n\xff\ndata: [DONE]\n\n"),
        "{}",
        response.body()
    );
    assert_eq!(response.finish(), None, "no finish follows an error");
}

#[tokio::test]
async fn a_gate_holds_the_stream_until_it_is_opened() {
    let rehearsal =
        rehearse_step("reply = [{ content = 'a' }, { content = 'b', gate = 'g' }]").await;
    let mut client = Client::connect(rehearsal.addr()).await;
    client.send_chat(&chat("x")).await;
    client.head().await.expect("a head");
    let first = client.chunk().await.expect("a chunk").expect("a delta");
    assert!(String::from_utf8_lossy(&first).contains("\"content\":\"a\""));
    soon(rehearsal.wait_at_gate("g")).await;
    assert!(!rehearsal.requests()[0].answered);
    rehearsal.open_gate("g");
    let second = client.chunk().await.expect("a chunk").expect("a delta");
    assert!(String::from_utf8_lossy(&second).contains("\"content\":\"b\""));
    assert!(soon(rehearsal.wait_for_answer(1)).await.answered);
}

#[tokio::test]
async fn a_gate_of_the_step_holds_the_head() {
    let rehearsal = rehearse_step("reply = 'a'\ngate = 'head'\ndelay_ms = 1").await;
    let mut client = Client::connect(rehearsal.addr()).await;
    client.send_chat(&chat("x")).await;
    soon(rehearsal.wait_at_gate("head")).await;
    rehearsal.open_gate("head");
    assert_eq!(client.response().await.content(), "a");
}

#[tokio::test]
async fn the_model_list_is_the_scripts_own_or_what_its_steps_name() {
    let listed = rehearse(
        "[[models]]\nid = 'a'\nowned_by = 'x'\ncontext_length = 8192\n\n[[models]]\nid = 'b'\n",
    )
    .await;
    assert_eq!(
        get(&listed, "/v1/models").await.json(),
        json!({ "object": "list", "data": [
            { "id": "a", "object": "model", "created": 0, "owned_by": "x", "context_length": 8192 },
            { "id": "b", "object": "model", "created": 0, "owned_by": "rehearsal" },
        ] })
    );
    let named =
        rehearse("[[step]]\nmodel = 'z'\nreply = 'r'\n[[step]]\nmodel = 'y'\nreply = 'r'\n").await;
    let list = get(&named, "/v1/models").await.json();
    assert_eq!(list["data"][0]["id"], "y");
    assert_eq!(list["data"][1]["id"], "z");
}
