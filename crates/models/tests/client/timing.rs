//! Stop, time limits, and when the connection closes.

use std::sync::Arc;
use std::time::Duration;

use models::{Client, Finish, ModelError, StreamEvent, Timeouts};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::wire_server::{Exchange, WireServer};
use crate::{STOP, content, endpoint, request, stream, stream_with};

/// Longer than any machine needs, and shorter than every default time limit of the client.
const GENEROUS: Duration = Duration::from_secs(60);

/// A server that does `begin`, then waits for the client to close and says so.
async fn watched(begin: &'static str) -> (WireServer, Arc<Notify>) {
    let closed = Arc::new(Notify::new());
    let notify = closed.clone();
    let server = WireServer::start(move |mut exchange: Exchange| {
        let notify = notify.clone();
        async move {
            exchange.send(begin).await;
            exchange.closed().await;
            notify.notify_one();
        }
    })
    .await;
    (server, closed)
}

const BEGUN: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
    2f\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n\r\n";

#[tokio::test]
async fn stop_in_the_middle_of_a_reply_closes_the_connection() {
    let (server, closed) = watched(BEGUN).await;
    let client = Client::new(Timeouts::default()).expect("a client");
    let (sender, mut events) = mpsc::channel(4);
    let cancel = CancellationToken::new();
    let (endpoint, request) = (endpoint(&server.base()), request());
    let stop = async {
        assert_eq!(
            events.recv().await,
            Some(StreamEvent::Content("a".to_owned()))
        );
        cancel.cancel();
        timeout(GENEROUS, closed.notified())
            .await
            .expect("the server saw it");
    };
    let (outcome, ()) = tokio::join!(
        client.stream(&endpoint, &request, cancel.clone(), sender),
        stop
    );
    assert_eq!(outcome, Err(ModelError::Cancelled));
}

#[tokio::test]
async fn stop_before_the_first_byte_closes_the_connection() {
    let (server, closed) = watched("").await;
    let client = Client::new(Timeouts::default()).expect("a client");
    let (sender, _events) = mpsc::channel(4);
    let cancel = CancellationToken::new();
    let (endpoint, request) = (endpoint(&server.base()), request());
    let stop = async {
        while server.received().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
        timeout(GENEROUS, closed.notified())
            .await
            .expect("the server saw it");
    };
    let (outcome, ()) = tokio::join!(
        client.stream(&endpoint, &request, cancel.clone(), sender),
        stop
    );
    assert_eq!(outcome, Err(ModelError::Cancelled));
}

#[tokio::test]
async fn a_receiver_that_goes_away_closes_the_connection() {
    let (server, closed) = watched(BEGUN).await;
    let client = Client::new(Timeouts::default()).expect("a client");
    let (sender, mut events) = mpsc::channel(4);
    let (endpoint, request) = (endpoint(&server.base()), request());
    let leave = async {
        events.recv().await.expect("an event");
        drop(events);
        timeout(GENEROUS, closed.notified())
            .await
            .expect("the server saw it");
    };
    let (outcome, ()) = tokio::join!(
        client.stream(&endpoint, &request, CancellationToken::new(), sender),
        leave
    );
    assert_eq!(outcome, Err(ModelError::Cancelled));
}

#[tokio::test]
async fn a_dropped_future_closes_the_connection() {
    let (server, closed) = watched(BEGUN).await;
    let client = Client::new(Timeouts::default()).expect("a client");
    let (sender, mut events) = mpsc::channel(4);
    let endpoint = endpoint(&server.base());
    let task = tokio::spawn(async move {
        client
            .stream(&endpoint, &request(), CancellationToken::new(), sender)
            .await
    });
    events.recv().await.expect("an event");
    task.abort();
    timeout(GENEROUS, closed.notified())
        .await
        .expect("the server saw it");
}

#[tokio::test]
async fn no_answer_at_all_is_a_first_byte_timeout() {
    let (server, closed) = watched("").await;
    let timeouts = Timeouts {
        first_byte: Duration::from_millis(200),
        ..Timeouts::default()
    };
    let (_, outcome) = stream_with(timeouts, &endpoint(&server.base())).await;
    assert!(
        matches!(outcome, Err(ModelError::FirstByteTimeout { .. })),
        "{outcome:?}"
    );
    timeout(GENEROUS, closed.notified())
        .await
        .expect("the server saw it");
    assert_eq!(server.received().len(), 1);
}

/// Sends a comment again and again, `count` times or until the client is gone.
async fn comments(exchange: &mut Exchange, count: usize, every: Duration) {
    let mut ticks = tokio::time::interval(every);
    for _ in 0..count {
        ticks.tick().await;
        if !exchange.try_send(": keep-alive\n\n").await {
            return;
        }
    }
}

#[tokio::test]
async fn comments_alone_are_no_first_byte() {
    let server = WireServer::start(|mut exchange| async move {
        exchange.send_stream_head().await;
        comments(&mut exchange, usize::MAX, Duration::from_millis(20)).await;
    })
    .await;
    let timeouts = Timeouts {
        first_byte: Duration::from_millis(300),
        ..Timeouts::default()
    };
    let (_, outcome) = stream_with(timeouts, &endpoint(&server.base())).await;
    assert!(
        matches!(outcome, Err(ModelError::FirstByteTimeout { .. })),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn comments_keep_a_reply_that_pauses_alive() {
    let server = WireServer::start(|mut exchange| async move {
        exchange.send_stream_head().await;
        exchange.send(&content("a")).await;
        comments(&mut exchange, 13, Duration::from_millis(100)).await;
        exchange.send(&format!("{}{STOP}", content("b"))).await;
    })
    .await;
    let timeouts = Timeouts {
        stall: Duration::from_millis(1000),
        ..Timeouts::default()
    };
    let (text, outcome) = stream_with(timeouts, &endpoint(&server.base())).await;
    assert_eq!(text, "ab");
    outcome.expect("a whole reply");
}

#[tokio::test]
async fn silence_in_the_middle_is_a_stall_and_keeps_the_partial() {
    let (server, closed) = watched(BEGUN).await;
    let timeouts = Timeouts {
        stall: Duration::from_millis(200),
        ..Timeouts::default()
    };
    let (text, outcome) = stream_with(timeouts, &endpoint(&server.base())).await;
    assert_eq!(text, "a");
    assert!(
        matches!(outcome, Err(ModelError::StallTimeout { .. })),
        "{outcome:?}"
    );
    timeout(GENEROUS, closed.notified())
        .await
        .expect("the server saw it");
}

#[tokio::test]
async fn a_finished_reply_does_not_wait_for_a_server_that_stays_on_the_line() {
    let server = WireServer::start(|mut exchange| async move {
        exchange.send_stream_head().await;
        exchange.send(&format!("{}{STOP}", content("a"))).await;
        exchange.closed().await;
    })
    .await;
    let (text, outcome) = timeout(GENEROUS, stream(&endpoint(&server.base())))
        .await
        .expect("in time");
    assert_eq!(text, "a");
    assert_eq!(outcome.expect("a whole reply").finish, Finish::Stop);
}
