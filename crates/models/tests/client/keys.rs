//! No key in any error, in any debug print or in any line of the log.

use std::sync::Mutex;

use models::{Client, ModelError, SecretString, Timeouts};

use crate::wire_server::{WireServer, answer, stream_answer};
use crate::{STOP, content, keyed, stream, stream_by};

const KEY: &str = "sk-planted-7f3Q/9x+Zz";

/// Every log line of this process, of every crate.
struct Lines(Mutex<Vec<String>>);

impl log::Log for Lines {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        self.0
            .lock()
            .expect("not poisoned")
            .push(record.args().to_string());
    }

    fn flush(&self) {}
}

static LINES: Lines = Lines(Mutex::new(Vec::new()));

/// Every answer that quotes the key back, through every kind of error.
fn answers() -> Vec<String> {
    let quoted = format!("your key {KEY} is wrong");
    let error = format!(
        r#"{{"error":{{"message":"{quoted}","code":"{KEY}","type":"t"}},"request_id":"{KEY}"}}"#
    );
    let long = format!("{} {KEY}", "x".repeat(290));
    vec![
        answer(
            "401 Unauthorized",
            "content-type: application/json\r\n",
            &error,
        ),
        answer(
            "400 Bad Request",
            &format!("x-request-id: {KEY}\r\n"),
            &quoted,
        ),
        answer("429 Too Many Requests", "", &error),
        answer("500 Internal Server Error", "", &error),
        answer("502 Bad Gateway", "", &format!("<title>{quoted}</title>")),
        answer(
            "200 OK",
            "content-type: text/html\r\n",
            &format!("<html>{quoted}</html>"),
        ),
        answer("200 OK", &format!("content-type: {KEY}\r\n"), &quoted),
        answer("200 OK", &format!("content-encoding: {KEY}\r\n"), ""),
        answer("200 OK", "content-type: application/json\r\n", &error),
        answer("200 OK", "content-type: text/plain\r\n", &long),
        answer(
            "307 Temporary Redirect",
            &format!("location: http://other.example/?key={KEY}\r\n"),
            "",
        ),
        answer(
            "307 Temporary Redirect",
            "location: http://other.example/?key=sk-planted-7f3Q%2F9x%2BZz\r\n",
            "",
        ),
        stream_answer(&format!("data: {error}\n\n")),
        stream_answer(&format!(
            "{}data: {{\"choices\": {quoted}\n\n",
            content("a")
        )),
        stream_answer(&format!("data: error: {quoted}\n\n")),
        stream_answer(&format!("data: {{\"a\":\"{long}\n\n{STOP}")),
        answer(
            "500 Internal Server Error",
            "",
            &format!("{}{KEY}", " ".repeat(64 * 1024 - 12)),
        ),
        answer(
            "500 Internal Server Error",
            "",
            &format!("{}{KEY}", "y".repeat(64 * 1024 - 12)),
        ),
    ]
}

#[tokio::test]
async fn a_planted_key_shows_in_no_error_and_no_log_line() {
    log::set_logger(&LINES).expect("the only logger");
    log::set_max_level(log::LevelFilter::Trace);
    let client = Client::new(Timeouts::default()).expect("a client");
    let mut errors = Vec::new();
    for answer in answers() {
        let server = WireServer::always(answer.clone()).await;
        let endpoint = keyed(&server.base(), KEY);
        let outcome = stream_by(&client, &endpoint).await.1;
        errors.push(outcome.expect_err(&answer));
        let listed = client.list_models(&endpoint).await;
        errors.extend(listed.err());
        assert!(!format!("{endpoint:?}").contains(KEY));
    }
    let server = WireServer::start(|exchange| async move { exchange.reset() }).await;
    errors.push(
        stream_by(&client, &keyed(&server.base(), KEY))
            .await
            .1
            .expect_err("a reset"),
    );
    errors.push(
        stream_by(&client, &keyed("http://127.0.0.1:1/v1", KEY))
            .await
            .1
            .expect_err("nobody there"),
    );
    errors.push(
        stream_by(
            &client,
            &keyed("http://127.0.0.1:1/v1", &format!("{KEY}\u{1}")),
        )
        .await
        .1
        .expect_err("unusable"),
    );
    assert!(matches!(
        errors.last(),
        Some(ModelError::UnusableKey { .. })
    ));

    for error in &errors {
        let shown = format!("{error}\n{error:?}\n{error:#?}");
        assert!(!shown.contains("sk-planted"), "{shown}");
        assert!(!shown.contains(&KEY[KEY.len() - 8..]), "{shown}");
    }
    let lines = LINES.0.lock().expect("not poisoned");
    assert!(!lines.is_empty());
    for line in lines.iter() {
        assert!(!line.contains("sk-planted"), "{line}");
    }
}

#[tokio::test]
async fn a_password_in_the_address_shows_in_no_error() {
    let server = WireServer::always(answer(
        "500 Internal Server Error",
        "",
        "user:hunter2secret was refused",
    ))
    .await;
    let base = format!(
        "http://user:hunter2secret@{}/v1?token=t0psecret",
        server.address()
    );
    let endpoint = crate::endpoint(&base);
    let error = stream(&endpoint).await.1.expect_err("refused");
    let shown = format!("{error} {error:?} {:?}", SecretString::new("hunter2secret"));
    assert!(
        !shown.contains("hunter2") && !shown.contains("t0psecret"),
        "{shown}"
    );
    assert!(shown.contains("was refused"), "{shown}");
}
