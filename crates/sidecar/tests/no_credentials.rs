//! What a sidecar is sent: never a key, whatever the environment holds.

use models::{ChatMessage, ChatRequest, ChatRole, Client, Endpoint, Timeouts};
use sidecar::{HealthState, SidecarEndpoint, check};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Answers one request with `answer` and returns its head, in lower case.
async fn serve(listener: &TcpListener, answer: &str) -> String {
    let (mut socket, _) = listener.accept().await.expect("a client");
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut bytes = [0; 1024];
        let count = socket.read(&mut bytes).await.expect("a request");
        head.extend_from_slice(&bytes[..count]);
    }
    socket.write_all(answer.as_bytes()).await.expect("sent");
    String::from_utf8_lossy(&head).to_ascii_lowercase()
}

fn expect_no_credentials(head: &str) {
    for name in [
        "authorization",
        "x-api-key",
        "x-goog-api-key",
        "anthropic-version",
        "cookie",
    ] {
        assert!(!head.contains(&format!("\r\n{name}:")), "{head}");
    }
    assert!(head.contains("\r\nuser-agent: folkmoot/"), "{head}");
    let target = head.lines().next().expect("a request line");
    assert!(!target.contains('?'), "{target}");
}

#[tokio::test]
async fn no_request_to_the_sidecar_carries_a_key() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let sidecar = SidecarEndpoint::new(&format!("http://{address}")).expect("an address");
    let client = Client::new(Timeouts::default()).expect("a client");

    let list = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"object\":\"list\",\"data\":[{\"id\":\"claude-opus-4-8\"}]}";
    let (health, head) = tokio::join!(check(&sidecar, &client), serve(&listener, list));
    assert_eq!(health.state, HealthState::Green);
    assert_eq!(health.models[0].id, "claude-opus-4-8");
    expect_no_credentials(&head);

    let reply = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
        data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let (sender, _events) = mpsc::channel(8);
    let endpoint = Endpoint::from(&sidecar);
    let request = ChatRequest::new(
        "claude-opus-4-8",
        vec![ChatMessage::new(ChatRole::User, "hi")],
    );
    let (outcome, head) = tokio::join!(
        client.stream(&endpoint, &request, CancellationToken::new(), sender),
        serve(&listener, reply)
    );
    outcome.expect("a whole reply");
    expect_no_credentials(&head);
}

#[tokio::test]
async fn a_sidecar_that_does_not_run_is_red_and_says_what_to_do() {
    // A port that was free a moment ago.
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        listener.local_addr().expect("bound")
    };
    let sidecar = SidecarEndpoint::new(&format!("http://{address}/v1")).expect("an address");
    let health = check(
        &sidecar,
        &Client::new(Timeouts::default()).expect("a client"),
    )
    .await;
    assert_eq!(health.state, HealthState::Red);
    assert!(
        health.detail.contains("start CLIProxyAPI"),
        "{}",
        health.detail
    );
    assert!(
        health.detail.contains(&address.to_string()),
        "{}",
        health.detail
    );
}
