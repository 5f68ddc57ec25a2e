//! How a stream is spelled: line ends, splits, field names, token counts, `[DONE]`.

use crate::client::{End, ask, chat, rehearse_step};
use serde_json::{Value, json};

async fn body_of(keys: &str) -> String {
    ask(&rehearse_step(keys).await, &chat("x")).await.body()
}

#[tokio::test]
async fn line_ends_and_the_space_after_the_colon_can_change() {
    assert!(
        body_of("reply = 'a'\ncrlf = true")
            .await
            .ends_with("data: [DONE]\r\n\r\n")
    );
    assert!(
        body_of("reply = 'a'\ncr = true")
            .await
            .ends_with("data: [DONE]\r\r")
    );
    let body = body_of("reply = 'a'\nno_space = true").await;
    assert!(
        body.starts_with("data:{") && body.ends_with("data:[DONE]\n\n"),
        "{body}"
    );
}

#[tokio::test]
async fn a_split_body_is_the_same_body_in_small_writes() {
    let whole = ask(&rehearse_step("reply = 'héllo'").await, &chat("x")).await;
    for (split, most) in [("\"every_byte\"", 1), ("7", 7)] {
        let rehearsal = rehearse_step(&format!("reply = 'héllo'\nsplit = {split}")).await;
        let response = ask(&rehearsal, &chat("x")).await;
        assert_eq!(response.body(), whole.body());
        assert!(response.chunks.iter().all(|chunk| chunk.len() <= most));
        assert_eq!(response.end, End::Complete);
    }
}

#[tokio::test]
async fn a_plain_reply_is_split_too() {
    let rehearsal = rehearse_step("reply = 'a'\nplain = true\nsplit = 3\nuntil_close = true").await;
    let response = ask(&rehearsal, &chat("x")).await;
    assert_eq!(response.json()["choices"][0]["message"]["content"], "a");
}

#[tokio::test]
async fn a_streaming_request_can_be_answered_plainly() {
    let rehearsal = rehearse_step("reply = 'a'\nplain = true").await;
    let response = ask(&rehearsal, &chat("x")).await;
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.json()["choices"][0]["message"]["content"], "a");
}

#[tokio::test]
async fn thought_goes_where_the_field_says() {
    let reply = "reply = [{ reasoning = 'hm' }, { content = 'a' }]";
    let thought = |events: &[Value]| events[0]["choices"][0]["delta"].clone();
    let cases = [
        (
            "reasoning_content",
            json!({ "role": "assistant", "reasoning_content": "hm" }),
        ),
        (
            "reasoning",
            json!({ "role": "assistant", "reasoning": "hm" }),
        ),
        (
            "reasoning_details",
            json!({ "role": "assistant", "reasoning_details": [{ "type": "reasoning.text", "text": "hm", "index": 0 }] }),
        ),
        (
            "think_tags",
            json!({ "role": "assistant", "content": "<think>hm" }),
        ),
        (
            "content_parts",
            json!({ "role": "assistant", "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] }] }),
        ),
    ];
    for (field, expected) in cases {
        let rehearsal = rehearse_step(&format!("{reply}\nreasoning_field = '{field}'")).await;
        let response = ask(&rehearsal, &chat("x")).await;
        assert_eq!(thought(&response.events()), expected, "{field}");
        let mut plain_request = chat("x");
        plain_request["stream"] = json!(false);
        let plain = ask(&rehearsal, &plain_request).await.body();
        assert!(plain.contains("hm"), "{field}: {plain}");
        if field == "think_tags" {
            assert_eq!(response.content(), "<think>hm</think>a");
            assert!(plain.contains("<think>hm</think>a"), "{plain}");
        }
    }
}

#[tokio::test]
async fn the_role_comes_once_always_or_never() {
    let reply = "reply = 'abcdefgh'\nchunk_chars = 4";
    for (keys, expected) in [
        ("", 1),
        ("role_in_every_delta = true", 3),
        ("no_role = true", 0),
    ] {
        let rehearsal = rehearse_step(&format!("{reply}\n{keys}")).await;
        let body = ask(&rehearsal, &chat("x")).await.body();
        assert_eq!(body.matches("\"role\"").count(), expected, "{keys}");
    }
}

#[tokio::test]
async fn token_counts_come_in_the_chunks_that_the_style_names() {
    let reply =
        "reply = 'abcdefgh'\nchunk_chars = 4\nusage = { prompt_tokens = 9, completion_tokens = 2 }";
    let real = json!({ "prompt_tokens": 9, "completion_tokens": 2 });
    let styles = [
        // style, events, choices of the last, how many events have counts
        ("extra_chunk", 4, Some(json!([])), 1),
        ("null_choices", 4, Some(Value::Null), 1),
        ("no_choices", 4, None, 1),
        (
            "with_finish",
            3,
            Some(json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }])),
            1,
        ),
        (
            "every_chunk",
            3,
            Some(json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }])),
            3,
        ),
        ("zeros", 4, Some(json!([])), 4),
    ];
    for (style, events, choices, with_usage) in styles {
        let rehearsal = rehearse_step(&format!("{reply}\nusage_style = '{style}'")).await;
        let came = ask(&rehearsal, &chat("x")).await.events();
        assert_eq!(came.len(), events, "{style}");
        let last = came.last().expect("there are events");
        assert_eq!(last["usage"], real, "{style}");
        assert_eq!(last.get("choices"), choices.as_ref(), "{style}");
        assert_eq!(
            came.iter().filter(|e| e["usage"].is_object()).count(),
            with_usage,
            "{style}"
        );
    }
    let rehearsal = rehearse_step(&format!("{reply}\nusage_style = 'never'")).await;
    assert!(!ask(&rehearsal, &chat("x")).await.body().contains("usage"));
}

#[tokio::test]
async fn counts_that_the_script_leaves_out_are_estimated() {
    let rehearsal = rehearse_step("reply = 'abcdefgh'\nusage_style = 'every_chunk'").await;
    let events = ask(&rehearsal, &chat("x")).await.events();
    let counts: Vec<u64> = events
        .iter()
        .filter_map(|e| e["usage"]["completion_tokens"].as_u64())
        .collect();
    assert_eq!(counts, [1, 2, 2]);
}

#[tokio::test]
async fn a_chunk_of_nothing_but_counts_has_no_choices() {
    let rehearsal = rehearse_step("reply = [{ content = 'a', usage = { prompt_tokens = 0 } }, { usage = { prompt_tokens = 5 } }]").await;
    let events = ask(&rehearsal, &chat("x")).await.events();
    assert_eq!(events[0]["usage"], json!({ "prompt_tokens": 0 }));
    assert_eq!(events[1]["choices"], json!([]));
    assert_eq!(events[1]["usage"], json!({ "prompt_tokens": 5 }));
}

#[tokio::test]
async fn done_comes_as_often_as_asked_and_something_may_follow() {
    for (keys, expected) in [("", 1), ("no_done = true", 0), ("double_done = true", 2)] {
        let body = body_of(&format!("reply = 'a'\n{keys}")).await;
        assert_eq!(body.matches("[DONE]").count(), expected, "{keys}");
    }
    let body = body_of("reply = 'a'\nafter_done = \"trailing\"").await;
    assert!(body.ends_with("data: [DONE]\n\ntrailing"), "{body}");
}

#[tokio::test]
async fn the_finish_reason_can_be_any_or_none() {
    let rehearsal = rehearse_step("reply = 'a'\nfinish = 'STOP'").await;
    assert_eq!(
        ask(&rehearsal, &chat("x")).await.finish().as_deref(),
        Some("STOP")
    );
    let rehearsal = rehearse_step("reply = [{ content = 'a', finish = 'length' }]").await;
    let response = ask(&rehearsal, &chat("x")).await;
    assert_eq!(response.finish().as_deref(), Some("length"));
    assert_eq!(response.events().len(), 1);
    let rehearsal = rehearse_step("reply = 'a'\nno_finish = true").await;
    assert_eq!(ask(&rehearsal, &chat("x")).await.finish(), None);
}

#[tokio::test]
async fn content_type_and_headers_of_a_reply_can_be_set() {
    let rehearsal =
        rehearse_step("reply = 'a'\ncontent_type = 'text/plain'\nheaders = { X-Trace = 'abc' }")
            .await;
    let response = ask(&rehearsal, &chat("x")).await;
    assert_eq!(response.header("content-type"), Some("text/plain"));
    assert_eq!(response.header("x-trace"), Some("abc"));
}

#[tokio::test]
async fn a_body_can_end_with_its_connection() {
    let rehearsal = rehearse_step("reply = 'a'\nuntil_close = true").await;
    let response = ask(&rehearsal, &chat("x")).await;
    assert_eq!(response.header("transfer-encoding"), None);
    assert_eq!(response.content(), "a");
    assert_eq!(response.end, End::Closed);
}
