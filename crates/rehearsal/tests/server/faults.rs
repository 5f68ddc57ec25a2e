//! How a server fails.

use crate::client::{Client, End, ask, chat, get, rehearse, rehearse_step, soon};
use serde_json::json;

#[tokio::test]
async fn without_a_first_byte_the_client_waits_until_it_goes() {
    let rehearsal = rehearse_step("no_first_byte = true").await;
    let mut client = Client::connect(rehearsal.addr()).await;
    client.send_chat(&chat("x")).await;
    let request = soon(rehearsal.wait_for_request(1)).await;
    assert!(!request.disconnected);
    drop(client);
    let request = soon(rehearsal.wait_for_disconnect(1)).await;
    assert!(!request.answered);
}

#[tokio::test]
async fn a_stall_comes_after_so_many_chunks() {
    for after in [0, 2, 99] {
        let keys = format!("reply = 'abcd'\nchunk_chars = 1\nstall_after = {after}");
        let rehearsal = rehearse_step(&keys).await;
        let mut client = Client::connect(rehearsal.addr()).await;
        client.send_chat(&chat("x")).await;
        client.head().await.expect("a head");
        for _ in 0..after.min(5) {
            client.chunk().await.expect("a chunk").expect("a delta");
        }
        drop(client);
        soon(rehearsal.wait_for_disconnect(1)).await;
    }
}

#[tokio::test]
async fn a_reset_comes_in_the_middle_of_an_event() {
    let rehearsal = rehearse_step("reply = 'abcd'\nchunk_chars = 1\nreset_after = 2").await;
    let response = ask(&rehearsal, &chat("x")).await;
    assert_eq!(response.end, End::Reset);
    assert_eq!(response.chunks.len(), 4, "two events, half of one, nothing");
    let body = response.body();
    assert!(
        body.contains("\"content\":\"b\"") && !body.contains("\"content\":\"c\""),
        "{body}"
    );
    assert!(!body.ends_with("\n\n"), "{body}");
    let request = &rehearsal.requests()[0];
    assert!(!request.answered && !request.disconnected);
}

#[tokio::test]
async fn a_close_leaves_the_body_unfinished() {
    let rehearsal = rehearse_step("reply = 'abcd'\nchunk_chars = 1\nclose_after = 1").await;
    let response = ask(&rehearsal, &chat("x")).await;
    assert_eq!(response.end, End::Closed);
    assert!(response.body().contains("\"content\":\"a\""));
    assert!(!response.body().ends_with("\n\n"));
}

#[tokio::test]
async fn a_plain_reply_breaks_off_as_well() {
    let rehearsal = rehearse_step("reply = 'abcd'\nplain = true\nreset_after = 0").await;
    let response = ask(&rehearsal, &chat("x")).await;
    assert_eq!(response.end, End::Reset);
    assert!(response.body().starts_with("{\"id\""));
}

#[tokio::test]
async fn a_status_brings_its_body_and_headers() {
    let rehearsal = rehearse_step(
        "status = 429\nheaders = { Retry-After = 7 }\nbody = { error = { message = 'slow down', code = 'rate' } }",
    )
    .await;
    let response = ask(&rehearsal, &chat("x")).await;
    assert_eq!(response.status, 429);
    assert_eq!(response.header("retry-after"), Some("7"));
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(
        response.json(),
        json!({ "error": { "message": "slow down", "code": "rate" } })
    );
    assert_eq!(response.end, End::Complete);
}

#[tokio::test]
async fn the_type_of_a_body_is_guessed_or_given() {
    let cases = [
        ("body = '<html>no</html>'", "text/html; charset=utf-8"),
        ("body = ' {\"a\":1}'", "application/json"),
        ("body = 'no'", "text/plain; charset=utf-8"),
        (
            "body = 'no'\ncontent_type = 'text/event-stream'",
            "text/event-stream",
        ),
    ];
    for (keys, expected) in cases {
        let rehearsal = rehearse_step(&format!("status = 502\n{keys}")).await;
        let response = ask(&rehearsal, &chat("x")).await;
        assert_eq!(
            (response.status, response.header("content-type")),
            (502, Some(expected))
        );
    }
}

#[tokio::test]
async fn an_empty_answer_is_an_event_stream_of_nothing() {
    let rehearsal = rehearse_step("empty_200 = true").await;
    let response = ask(&rehearsal, &chat("x")).await;
    assert_eq!((response.status, response.body().as_str()), (200, ""));
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
}

#[tokio::test]
async fn a_null_event_comes_first() {
    let rehearsal = rehearse_step("reply = 'a'\ndata_null = true").await;
    let payloads = ask(&rehearsal, &chat("x")).await.payloads();
    assert_eq!(payloads[0], "null");
    assert!(payloads[1].contains("\"content\":\"a\""));
}

#[tokio::test]
async fn a_huge_line_has_the_size_asked_for() {
    let rehearsal = rehearse_step("reply = 'a'\nhuge_line_bytes = 5000000").await;
    let response = ask(&rehearsal, &chat("x")).await;
    let line = response.body().lines().next().map(str::len);
    assert_eq!(line, Some(5_000_000));
    assert!(response.content().ends_with("xa"));
}

#[tokio::test]
async fn a_flood_delivers_every_delta_in_order_and_the_reply_after_it() {
    let rehearsal = rehearse_step("flood = 5000\nflood_seconds = 0.2\nreply = 'end'").await;
    let content = ask(&rehearsal, &chat("x")).await.content();
    let expected: String = (0..1000).map(|n| format!("{n} ")).collect();
    assert_eq!(content, expected + "end");
}

#[tokio::test]
async fn a_flood_notices_that_the_client_has_gone() {
    let rehearsal = rehearse_step("flood = 1000\nflood_seconds = 3600").await;
    let mut client = Client::connect(rehearsal.addr()).await;
    client.send_chat(&chat("x")).await;
    client.head().await.expect("a head");
    client.chunk().await.expect("a chunk").expect("a delta");
    drop(client);
    soon(rehearsal.wait_for_disconnect(1)).await;
}

#[tokio::test]
async fn a_redirect_names_its_target() {
    let rehearsal = rehearse_step("redirect = 'http://example.invalid/v1'").await;
    let response = ask(&rehearsal, &chat("x")).await;
    assert_eq!(response.status, 307);
    assert_eq!(
        response.header("location"),
        Some("http://example.invalid/v1")
    );
    let rehearsal = rehearse_step("redirect = '/elsewhere'\nstatus = 302").await;
    assert_eq!(ask(&rehearsal, &chat("x")).await.status, 302);
}

#[tokio::test]
async fn the_model_list_can_fail_too() {
    let rehearsal = rehearse("[[models]]\nid = 'a'\n[[step]]\nendpoint = 'models'\ntimes = 1\nstatus = 503\nbody = 'starting'\n").await;
    assert_eq!(get(&rehearsal, "/v1/models").await.status, 503);
    assert_eq!(
        get(&rehearsal, "/v1/models").await.json()["data"][0]["id"],
        "a"
    );
}
