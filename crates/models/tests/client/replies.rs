//! Replies that come, and what was asked for them.

use std::time::Duration;

use models::{Auth, Client, Finish, Profile, StreamEvent, Timeouts, USER_AGENT};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::wire_server::{WireServer, answer, stream_answer};
use crate::{DONE, STOP, content, endpoint, keyed, request, stream};

const GENEROUS: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_reply_streams_in_order_and_completes() {
    let server = WireServer::always(stream_answer(&format!(
        "{}{}{STOP}{DONE}",
        content("a"),
        content("é")
    )))
    .await;
    let (text, outcome) = stream(&keyed(&server.base(), "sk-1")).await;
    assert_eq!(text, "aé");
    assert_eq!(outcome.expect("a whole reply").finish, Finish::Stop);

    let received = &server.received()[0];
    assert!(
        received
            .head
            .starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{}",
        received.head
    );
    assert_eq!(received.header("user-agent").as_deref(), Some(USER_AGENT));
    assert_eq!(
        received.header("authorization").as_deref(),
        Some("Bearer sk-1")
    );
    assert_eq!(
        received.header("content-type").as_deref(),
        Some("application/json")
    );
    let body: Value = serde_json::from_str(&received.body).expect("JSON");
    assert_eq!(
        body,
        serde_json::json!({"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream": true})
    );
    assert_eq!(
        received.body.as_bytes(),
        request().body(&Profile::default())
    );
}

#[tokio::test]
async fn without_a_key_a_request_carries_no_credentials() {
    let server = WireServer::always(stream_answer(&format!("{}{STOP}", content("a")))).await;
    stream(&endpoint(&server.base()))
        .await
        .1
        .expect("a whole reply");
    for name in ["authorization", "x-api-key", "x-goog-api-key", "cookie"] {
        assert_eq!(server.received()[0].header(name), None);
    }
}

#[tokio::test]
async fn five_hundred_events_pass_through_a_channel_of_four_in_order() {
    let numbers: String = (0..500).map(|n| content(&format!("{n} "))).collect();
    let server = WireServer::always(stream_answer(&format!("{numbers}{STOP}"))).await;
    let (text, outcome) = stream(&endpoint(&server.base())).await;
    assert_eq!(text, (0..500).map(|n| format!("{n} ")).collect::<String>());
    outcome.expect("a whole reply");
}

#[tokio::test]
async fn a_connection_whose_reply_was_read_to_its_end_is_used_again() {
    let server = WireServer::start(|mut exchange| async move {
        if exchange.is_get() {
            let fresh = r#"{"data":[{"id":"fresh"}]}"#;
            exchange.send(&answer("200 OK", "", fresh)).await;
            return;
        }
        let body = format!("{}{STOP}{DONE}", content("a"));
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        exchange.send(&format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len())).await;
        if exchange.next_request().await {
            exchange.send(&answer("200 OK", "", r#"{"data":[{"id":"again"}]}"#)).await;
        }
    })
    .await;
    let client = Client::new(Timeouts::default()).expect("a client");
    let endpoint = endpoint(&server.base());
    let (sender, mut events) = mpsc::channel(4);
    let request = request();
    let (outcome, ()) = tokio::join!(
        client.stream(&endpoint, &request, CancellationToken::new(), sender),
        async { while events.recv().await.is_some() {} }
    );
    outcome.expect("a whole reply");
    // The connection comes back a moment after the reply does.
    let reused = timeout(GENEROUS, async {
        while client.list_models(&endpoint).await.expect("a list")[0].id != "again" {}
    });
    reused.await.expect("in time");
}

#[tokio::test]
async fn a_plain_json_answer_is_a_reply() {
    let json = r#"{"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
    let server =
        WireServer::always(answer("200 OK", "content-type: application/json\r\n", json)).await;
    let (text, outcome) = stream(&endpoint(&server.base())).await;
    assert_eq!(text, "whole");
    assert_eq!(
        outcome
            .expect("a whole reply")
            .usage
            .and_then(|usage| usage.input_tokens),
        Some(3)
    );
}

#[tokio::test]
async fn tool_calls_without_ids_get_ids_that_differ_from_reply_to_reply() {
    let call = r#"data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}}]}"#;
    let server = WireServer::always(stream_answer(&format!("{call}\n\n{STOP}"))).await;
    let endpoint = endpoint(&server.base());
    let first = stream(&endpoint)
        .await
        .1
        .expect("a whole reply")
        .tool_calls
        .remove(0);
    let second = stream(&endpoint)
        .await
        .1
        .expect("a whole reply")
        .tool_calls
        .remove(0);
    assert!(!first.id.is_empty());
    assert_ne!(first.id, second.id);
}

#[tokio::test]
async fn the_think_tags_of_a_local_model_go_to_the_thinking_channel() {
    let server = WireServer::always(stream_answer(&format!(
        "{}{}{STOP}",
        content("<think>h"),
        content("m</think>a")
    )))
    .await;
    let mut endpoint = endpoint(&server.base());
    endpoint.profile.think_tags = true;
    let client = Client::new(Timeouts::default()).expect("a client");
    let (sender, mut events) = mpsc::channel(64);
    client
        .stream(&endpoint, &request(), CancellationToken::new(), sender)
        .await
        .expect("a whole reply");
    let mut seen = Vec::new();
    while let Some(event) = events.recv().await {
        seen.push(event);
    }
    let thought = |text: &str| StreamEvent::Reasoning(text.to_owned());
    assert_eq!(
        seen,
        [
            thought("h"),
            thought("m"),
            StreamEvent::Content("a".to_owned())
        ]
    );
}

#[tokio::test]
async fn the_model_list_is_read_with_the_endpoints_key() {
    let list = r#"{"object":"list","data":[{"id":"a","object":"model","owned_by":"openai"}]}"#;
    let server =
        WireServer::always(answer("200 OK", "content-type: application/json\r\n", list)).await;
    let client = Client::new(Timeouts::default()).expect("a client");
    let models = client
        .list_models(&keyed(&server.base(), "sk-1"))
        .await
        .expect("a list");
    assert_eq!(
        (models[0].id.as_str(), models[0].owned_by.as_str()),
        ("a", "openai")
    );
    let received = &server.received()[0];
    assert!(received.head.starts_with("GET /v1/models HTTP/1.1\r\n"));
    assert_eq!(received.header("user-agent").as_deref(), Some(USER_AGENT));
    assert_eq!(
        received.header("authorization").as_deref(),
        Some("Bearer sk-1")
    );
}

/// The test that a child process runs with a proxy in its environment. Does nothing without the variable.
#[tokio::test]
async fn child_streams_from_the_address_in_its_environment() {
    let Ok(base) = std::env::var("FOLKMOOT_TEST_BASE") else {
        return;
    };
    let endpoint = endpoint(&base);
    assert!(matches!(endpoint.auth, Auth::None));
    assert_eq!(stream(&endpoint).await.0, "a");
}

#[tokio::test]
async fn a_proxy_in_the_environment_is_used_outside_and_bypassed_on_this_machine() {
    let server = WireServer::always(stream_answer(&format!("{}{STOP}", content("a")))).await;
    let proxy = WireServer::always(stream_answer(&format!("{}{STOP}", content("a")))).await;
    for base in [server.base(), "http://models.example/v1".to_owned()] {
        let status = tokio::process::Command::new(std::env::current_exe().expect("this test"))
            .args([
                "--exact",
                "replies::child_streams_from_the_address_in_its_environment",
            ])
            .env("FOLKMOOT_TEST_BASE", base)
            .env("http_proxy", format!("http://{}", proxy.address()))
            .env("HTTP_PROXY", format!("http://{}", proxy.address()))
            .env_remove("no_proxy")
            .env_remove("NO_PROXY")
            .stdout(std::process::Stdio::null())
            .status()
            .await;
        assert!(status.expect("it ran").success());
    }
    assert_eq!(server.received().len(), 1);
    let proxied = proxy.received();
    assert_eq!(proxied.len(), 1);
    assert!(
        proxied[0]
            .head
            .starts_with("POST http://models.example/v1/chat/completions "),
        "{}",
        proxied[0].head
    );
}
