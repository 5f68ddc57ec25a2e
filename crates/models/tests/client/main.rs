//! The client against a server of raw sockets: what goes over the wire, when the connection closes, what errors say.

mod keys;
mod refusals;
mod replies;
mod timing;
mod wire_server;

use models::{
    Auth, ChatMessage, ChatRequest, ChatRole, Client, Completion, Endpoint, EndpointKind,
    ModelError, Profile, SecretString, StreamEvent, Timeouts,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use url::Url;

const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn content(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

fn endpoint(base: &str) -> Endpoint {
    Endpoint {
        id: "test".to_owned(),
        kind: EndpointKind::Keyed,
        base_url: Url::parse(base).expect("an address"),
        auth: Auth::None,
        profile: Profile::default(),
    }
}

fn keyed(base: &str, key: &str) -> Endpoint {
    Endpoint {
        auth: Auth::Key(SecretString::new(key)),
        ..endpoint(base)
    }
}

fn request() -> ChatRequest {
    ChatRequest::new("m", vec![ChatMessage::new(ChatRole::User, "hello")])
}

/// Streams a reply to its end; the text that came, and how it ended.
async fn stream_by(
    client: &Client,
    endpoint: &Endpoint,
) -> (String, Result<Completion, ModelError>) {
    let (sender, mut events) = mpsc::channel(4);
    let request = request();
    let reading = async {
        let mut text = String::new();
        while let Some(event) = events.recv().await {
            if let StreamEvent::Content(more) = event {
                text.push_str(&more);
            }
        }
        text
    };
    let (outcome, text) = tokio::join!(
        client.stream(endpoint, &request, CancellationToken::new(), sender),
        reading
    );
    (text, outcome)
}

async fn stream_with(
    timeouts: Timeouts,
    endpoint: &Endpoint,
) -> (String, Result<Completion, ModelError>) {
    stream_by(&Client::new(timeouts).expect("a client"), endpoint).await
}

async fn stream(endpoint: &Endpoint) -> (String, Result<Completion, ModelError>) {
    stream_with(Timeouts::default(), endpoint).await
}

async fn error(endpoint: &Endpoint) -> ModelError {
    stream(endpoint).await.1.expect_err("no reply")
}
