//! Refusals, failures and what is tried again.

use std::time::Duration;

use models::{Client, ModelError, Timeouts};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::wire_server::{Exchange, WireServer, answer, stream_answer};
use crate::{STOP, content, endpoint, error, keyed, stream};

const JSON: &str = "content-type: application/json\r\n";

/// Fails the first request by `fault`, and answers the others.
async fn fails_once<F, Fut>(fault: F) -> WireServer
where
    F: Fn(Exchange) -> Fut + Send + Sync + Clone + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    WireServer::start(move |mut exchange| {
        let fault = fault.clone();
        async move {
            if exchange.number == 1 {
                fault(exchange).await;
            } else {
                exchange
                    .send(&stream_answer(&format!("{}{STOP}", content("a"))))
                    .await;
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_server_error_is_tried_once_more() {
    let server = fails_once(|mut exchange| async move {
        exchange
            .send(&answer("503 Service Unavailable", JSON, "{}"))
            .await;
    })
    .await;
    let (text, outcome) = stream(&endpoint(&server.base())).await;
    assert_eq!(text, "a");
    outcome.expect("a whole reply");
    let received = server.received();
    assert_eq!(received.len(), 2);
    assert_eq!(received[0].body, received[1].body);
}

#[tokio::test]
async fn a_server_error_twice_is_told() {
    let page = "<html><head><title>502 Bad Gateway</title></head></html>";
    let server = WireServer::always(answer(
        "502 Bad Gateway",
        "content-type: text/html\r\n",
        page,
    ))
    .await;
    let ModelError::Provider {
        status,
        message,
        body,
        ..
    } = error(&endpoint(&server.base())).await
    else {
        panic!("another error");
    };
    assert_eq!(
        (status, message.as_str(), &*body),
        (Some(502), "502 Bad Gateway", page)
    );
    assert_eq!(server.received().len(), 2);
}

#[tokio::test]
async fn a_reset_before_anything_was_delivered_is_tried_once_more() {
    let at_once = fails_once(|exchange| async move { exchange.reset() }).await;
    let after_the_head = fails_once(|mut exchange| async move {
        exchange.send_stream_head().await;
        exchange.send(": keep-alive\n\n").await;
        exchange.reset();
    })
    .await;
    for server in [at_once, after_the_head] {
        let (text, outcome) = stream(&endpoint(&server.base())).await;
        assert_eq!(text, "a");
        outcome.expect("a whole reply");
        assert_eq!(server.received().len(), 2);
    }
}

#[tokio::test]
async fn a_connection_that_breaks_twice_is_told() {
    let server = WireServer::start(|exchange| async move { exchange.reset() }).await;
    let error = error(&endpoint(&server.base())).await;
    assert!(
        matches!(error, ModelError::Disconnected { .. }),
        "{error:?}"
    );
    assert!(
        error.to_string().contains(&server.address().to_string()),
        "{error}"
    );
    assert_eq!(server.received().len(), 2);
}

#[tokio::test]
async fn a_break_after_a_delta_is_a_cut_and_never_tried_again() {
    let chunked =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let delta = content("a");
    let begun = format!("{chunked}{:x}\r\n{delta}\r\n", delta.len());
    let server = WireServer::always(begun).await;
    let (text, outcome) = stream(&endpoint(&server.base())).await;
    assert_eq!((text.as_str(), outcome), ("a", Err(ModelError::CutOff)));
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_rate_limit_is_never_tried_again_and_says_how_long() {
    let body = r#"{"error":{"message":"cooling down","code":"model_cooldown","reset_seconds":90}}"#;
    let server = WireServer::always(answer(
        "429 Too Many Requests",
        "retry-after: 30\r\nx-request-id: r1\r\n",
        body,
    ))
    .await;
    let error = error(&endpoint(&server.base())).await;
    let ModelError::RateLimited {
        code,
        message,
        trace_id,
        retry_after,
        ..
    } = &error
    else {
        panic!("{error:?}");
    };
    assert_eq!(
        (code.as_deref(), message.as_str(), trace_id.as_deref()),
        (Some("model_cooldown"), "cooling down", Some("r1"))
    );
    assert_eq!(*retry_after, Some(Duration::from_secs(90)));
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_refusal_carries_the_providers_words_code_and_trace() {
    let body = r#"{"error":{"message":"unknown provider for model m","type":"invalid_request_error","code":"model_not_found"}}"#;
    let server =
        WireServer::always(answer("400 Bad Request", "x-cpa-trace-id: t9\r\n", body)).await;
    let error = error(&endpoint(&server.base())).await;
    assert_eq!(error.status(), Some(400));
    assert_eq!(error.code(), Some("model_not_found"));
    assert_eq!(error.trace_id(), Some("t9"));
    assert!(
        error.to_string().contains("unknown provider for model m"),
        "{error}"
    );
    assert!(
        error.to_string().contains(&server.address().to_string()),
        "{error}"
    );
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn an_error_that_is_a_string_and_an_empty_body_are_told() {
    let server = WireServer::always(answer(
        "401 Unauthorized",
        JSON,
        r#"{"error":"Missing API key"}"#,
    ))
    .await;
    let refused = error(&endpoint(&server.base())).await;
    assert!(refused.is_unauthorized());
    assert!(refused.to_string().contains("Missing API key"), "{refused}");
    let server = WireServer::always(answer("403 Forbidden", "", "")).await;
    assert!(
        error(&endpoint(&server.base()))
            .await
            .to_string()
            .contains("Forbidden")
    );
}

#[tokio::test]
async fn an_error_inside_a_stream_keeps_code_trace_and_partial() {
    let event = r#"data: {"error":{"message":"unexpected EOF","type":"server_error","code":"internal_server_error"}}"#;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-cpa-trace-id: t9\r\nconnection: close\r\n\r\n";
    let server = WireServer::always(format!("{head}{}{event}\n\n", content("par"))).await;
    let (text, outcome) = stream(&endpoint(&server.base())).await;
    assert_eq!(text, "par");
    let error = outcome.expect_err("the error");
    assert_eq!(
        (error.code(), error.trace_id(), error.status()),
        (Some("internal_server_error"), Some("t9"), None)
    );
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_rate_limit_inside_a_stream_is_a_rate_limit() {
    let event = r#"data: {"error":{"message":"m","code":"rate_limit_exceeded","retry_after":7}}"#;
    let server = WireServer::always(stream_answer(&format!("{event}\n\n"))).await;
    let error = error(&endpoint(&server.base())).await;
    assert!(matches!(error, ModelError::RateLimited { .. }), "{error:?}");
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn nothing_at_all_is_an_empty_reply() {
    for body in ["", "data: [DONE]\n\n", ": hi\n\n"] {
        let server = WireServer::always(stream_answer(body)).await;
        assert_eq!(error(&endpoint(&server.base())).await, ModelError::Empty);
    }
}

#[tokio::test]
async fn a_web_page_names_the_host_and_shows_its_words() {
    let page = "<!DOCTYPE html><title>Welcome to the router</title>";
    let server = WireServer::always(answer("200 OK", "content-type: text/html\r\n", page)).await;
    let endpoint = endpoint(&server.base());
    let expected = ModelError::NotAnEventStream {
        host: server.address().to_string(),
        content_type: Some("text/html".to_owned()),
        snippet: "Welcome to the router".to_owned(),
    };
    assert_eq!(error(&endpoint).await, expected);
    let listed = Client::new(Timeouts::default())
        .expect("a client")
        .list_models(&endpoint)
        .await;
    assert!(
        matches!(listed, Err(ModelError::NotAnEventStream { .. })),
        "{listed:?}"
    );
}

#[tokio::test]
async fn an_encoding_that_was_not_asked_for_is_named() {
    let server = WireServer::always(answer("200 OK", "content-encoding: gzip\r\n", "\u{1f}")).await;
    let error = error(&endpoint(&server.base())).await;
    assert!(error.to_string().contains("gzip"), "{error}");
    assert_eq!(
        server.received()[0].header("accept-encoding").as_deref(),
        Some("identity")
    );
}

#[tokio::test]
async fn a_redirect_to_another_host_is_refused_and_that_host_hears_nothing() {
    let other = WireServer::always(stream_answer(&format!("{}{STOP}", content("a")))).await;
    for status in [
        "301 Moved Permanently",
        "302 Found",
        "303 See Other",
        "307 Temporary Redirect",
    ] {
        let location = format!("location: {}/chat/completions\r\n", other.base());
        let server = WireServer::always(answer(status, &location, "")).await;
        let error = error(&keyed(&server.base(), "sk-1")).await;
        let ModelError::RedirectRefused { host, to } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(*host, server.address().to_string());
        assert!(to.starts_with(&other.base()));
    }
    assert_eq!(other.received().len(), 0);
}

#[tokio::test]
async fn a_redirect_on_the_same_host_takes_the_request_along() {
    let server = fails_once(|mut exchange| async move {
        exchange
            .send(&answer(
                "307 Temporary Redirect",
                "location: /other/v1/chat/completions\r\n",
                "",
            ))
            .await;
    })
    .await;
    assert_eq!(stream(&endpoint(&server.base())).await.0, "a");
    let received = server.received();
    assert!(
        received[1]
            .head
            .starts_with("POST /other/v1/chat/completions "),
        "{}",
        received[1].head
    );
    assert_eq!(received[0].body, received[1].body);
}

#[tokio::test]
async fn a_circle_of_redirects_ends() {
    let server = WireServer::always(answer(
        "307 Temporary Redirect",
        "location: /v1/chat/completions\r\n",
        "",
    ))
    .await;
    let error = error(&endpoint(&server.base())).await;
    assert!(
        matches!(error, ModelError::RedirectRefused { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn nobody_at_the_address_is_told_with_the_address() {
    // A port that was free a moment ago.
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("bound")
    };
    let error = error(&endpoint(&format!("http://{address}/v1"))).await;
    let ModelError::Connect { host, reason } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(*host, address.to_string());
    assert!(!reason.is_empty());
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_no_connection() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("bound");
    let plain = async {
        let (mut socket, _) = listener.accept().await.expect("a client");
        socket
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .expect("written");
        let mut rest = Vec::new();
        _ = socket.read_to_end(&mut rest).await;
    };
    let endpoint = endpoint(&format!("https://{address}/v1"));
    let (error, ()) = tokio::join!(error(&endpoint), plain);
    let ModelError::Connect { host, reason } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(*host, address.to_string());
    assert!(!reason.contains("no answer"), "{reason}");
}
