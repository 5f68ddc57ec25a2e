//! HTTP as such, the record of what came, and the door for other processes.

use crate::client::{Client, End, ask, chat, get, rehearse_step, request, soon};
use futures_util::StreamExt;
use rehearsal::{Options, Rehearsal, Script};
use serde_json::json;

#[tokio::test]
async fn a_connection_serves_one_request_after_the_other() {
    let rehearsal = rehearse_step("reply = 'a'").await;
    let mut client = Client::connect(rehearsal.addr()).await;
    for _ in 0..3 {
        client.send_chat(&chat("x")).await;
        assert_eq!(client.response().await.content(), "a");
    }
    client
        .send(b"GET /v1/models HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!(client.response().await.header("connection"), Some("close"));
    assert_eq!(client.end().await, (Vec::new(), End::Closed));
}

#[tokio::test]
async fn requests_sent_ahead_are_answered_in_order() {
    let rehearsal = rehearse_step("reply = 'a'").await;
    let mut client = Client::connect(rehearsal.addr()).await;
    client.send_chat(&chat("x")).await;
    client
        .send(b"GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
        .await;
    assert_eq!(client.response().await.content(), "a");
    assert_eq!(client.response().await.status, 404);
}

#[tokio::test]
async fn a_client_of_http_1_0_gets_a_body_that_ends_with_the_connection() {
    let rehearsal = rehearse_step("reply = 'a'").await;
    let mut client = Client::connect(rehearsal.addr()).await;
    let body = chat("x").to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.0\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    client.send((head + &body).as_bytes()).await;
    let response = client.response().await;
    assert_eq!(
        (response.content().as_str(), response.end),
        ("a", End::Closed)
    );
}

#[tokio::test]
async fn a_client_that_waits_to_be_told_to_go_on_is_told() {
    let rehearsal = rehearse_step("reply = 'a'").await;
    let mut client = Client::connect(rehearsal.addr()).await;
    let body = chat("x").to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    client.send(head.as_bytes()).await;
    assert_eq!(client.head().await.expect("a head").status, 100);
    client.send(body.as_bytes()).await;
    assert_eq!(client.response().await.content(), "a");
}

#[tokio::test]
async fn what_is_not_http_is_refused_and_the_connection_closed() {
    let rehearsal = rehearse_step("reply = 'a'").await;
    let mut client = Client::connect(rehearsal.addr()).await;
    client.send(b"\x16\x03\x01 this is TLS\r\n\r\n").await;
    let response = client.response().await;
    assert_eq!(response.status, 400);
    assert_eq!(response.json()["error"]["type"], "invalid_request_error");
    assert_eq!(client.end().await.1, End::Closed);
}

#[tokio::test]
async fn unknown_paths_and_methods_are_a_json_404() {
    let rehearsal = rehearse_step("reply = 'a'").await;
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/v1/chat/completions"),
        ("POST", "/v1/models"),
    ] {
        let response = request(&rehearsal, method, path, "a").await;
        assert_eq!(response.status, 404, "{method} {path}");
        assert!(response.json()["error"]["message"].is_string());
    }
}

#[tokio::test]
async fn a_chat_request_that_is_not_json_is_a_400_and_a_mismatch() {
    let rehearsal = rehearse_step("reply = 'a'").await;
    let mut client = Client::connect(rehearsal.addr()).await;
    client
        .send(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")
        .await;
    assert_eq!(client.response().await.status, 400);
    assert_eq!(rehearsal.mismatches().len(), 1);
    assert_eq!(rehearsal.requests()[0].raw, b"abc");
}

#[tokio::test]
async fn every_request_is_recorded_as_it_came() {
    let rehearsal = rehearse_step("reply = 'a'").await;
    get(&rehearsal, "/v1/models?x=1").await;
    let body = chat("é");
    ask(&rehearsal, &body).await;
    soon(rehearsal.wait_for_answer(1)).await;
    let requests = rehearsal.requests();
    assert_eq!(
        (requests[0].method.as_str(), requests[0].path.as_str()),
        ("GET", "/v1/models?x=1")
    );
    assert_eq!((requests[0].seq, requests[0].chat), (1, None));
    assert_eq!((requests[1].seq, requests[1].chat), (2, Some(1)));
    assert_eq!(requests[1].body, body);
    assert_eq!(requests[1].raw, body.to_string().as_bytes());
    assert_eq!(requests[1].header("content-type"), Some("application/json"));
    assert!(requests[1].answered && !requests[1].disconnected);
}

#[tokio::test]
async fn the_control_door_lists_requests_and_opens_gates() {
    let rehearsal = rehearse_step("reply = [{ content = 'a', gate = 'g' }]").await;
    let mut client = Client::connect(rehearsal.addr()).await;
    let (listed, ()) = tokio::join!(get(&rehearsal, "/_rehearsal/requests?chats=1"), async {
        client.send_chat(&chat("x")).await;
    });
    assert_eq!(listed.json()[0]["body"], chat("x"));
    assert_eq!(listed.json()[0]["raw"], chat("x").to_string());
    let opened = request(&rehearsal, "POST", "/_rehearsal/gate/g", "localhost:1").await;
    assert_eq!(opened.json(), json!({ "open": "g" }));
    assert_eq!(client.response().await.content(), "a");
    assert_eq!(
        get(&rehearsal, "/_rehearsal/mismatches").await.json(),
        json!([])
    );
    assert_eq!(get(&rehearsal, "/_rehearsal/nothing").await.status, 404);
    assert_eq!(
        rehearsal.requests().len(),
        1,
        "control requests aren't recorded"
    );
}

#[tokio::test]
async fn the_control_door_is_shut_to_other_names_of_this_machine() {
    let rehearsal = rehearse_step("reply = 'a'").await;
    let response = request(&rehearsal, "GET", "/_rehearsal/requests", "evil.example").await;
    assert_eq!(response.status, 403);
}

#[tokio::test]
async fn a_taken_port_is_an_error() {
    let first = rehearse_step("reply = 'a'").await;
    let options = Options {
        port: first.addr().port(),
        ..Options::default()
    };
    let second = Rehearsal::start(Script::demo(), options).await;
    assert_eq!(
        second.map(|_| ()).map_err(|e| e.kind()),
        Err(std::io::ErrorKind::AddrInUse)
    );
}

#[tokio::test]
async fn shutting_down_and_dropping_end_every_connection() {
    for by_dropping in [false, true] {
        let rehearsal = rehearse_step("no_first_byte = true").await;
        let mut client = Client::connect(rehearsal.addr()).await;
        client.send_chat(&chat("x")).await;
        soon(rehearsal.wait_for_request(1)).await;
        if by_dropping {
            drop(rehearsal);
        } else {
            soon(rehearsal.shutdown()).await;
        }
        assert_eq!(client.end().await, (Vec::new(), End::Closed));
    }
}

#[tokio::test]
async fn a_real_client_reads_the_pieces_as_they_were_split() {
    // Another test may have installed it already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let rehearsal = rehearse_step("reply = 'wörter'\nsplit = 'every_byte'").await;
    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client");
    let response = client
        .post(format!("{}/chat/completions", rehearsal.base_url()))
        .body(chat("x").to_string())
        .send()
        .await
        .expect("a response");
    let pieces: Vec<_> = response.bytes_stream().collect().await;
    let pieces: Vec<_> = pieces
        .into_iter()
        .map(|piece| piece.expect("a piece"))
        .collect();
    assert!(pieces.iter().all(|piece| piece.len() == 1));
    assert!(pieces.concat().ends_with(b"data: [DONE]\n\n"));
}
