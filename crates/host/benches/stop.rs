//! Stop: from the person's wish until the model server sees that nobody listens any more.
//!
//! The reference is the bare connection: a client that drops its socket in the middle of the same reply.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use host::{Event, Host, HostOptions, Intent, SendMessage};
use models::VaultKind;
use rehearsal::{Options, Rehearsal, Script};
use tokio::runtime::Runtime;

/// What the specification allows, in milliseconds.
const TARGET_MS: f64 = 200.0;
const RUNS: usize = 20;
const SCRIPT: &str =
    "[[step]]\nreply = [{ content = 'It begins' }, { gate = 'never', content = '.' }]";
const PATIENCE: Duration = Duration::from_secs(30);

/// The slowest of several, as one slow Stop is what a person remembers.
fn slowest(times: impl Iterator<Item = Duration>) -> f64 {
    times
        .map(|time| time.as_secs_f64() * 1e3)
        .fold(0.0, f64::max)
}

/// Drops a bare connection in the middle of the reply; `nth` counts the chat requests from 1.
fn bare(runtime: &Runtime, server: &Rehearsal, nth: usize) -> Duration {
    let url = server.base_url();
    let host = url
        .trim_start_matches("http://")
        .trim_end_matches("/v1")
        .to_owned();
    let mut stream = TcpStream::connect(&host).expect("the server listens");
    let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}"#;
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("the request goes out");
    let mut seen = Vec::new();
    let mut piece = [0; 1024];
    while !String::from_utf8_lossy(&seen).contains("It begins") {
        let read = stream.read(&mut piece).expect("the reply comes");
        seen.extend_from_slice(&piece[..read]);
    }
    let began = Instant::now();
    drop(stream);
    runtime.block_on(server.wait_for_disconnect(nth));
    began.elapsed()
}

fn main() {
    let runtime = Runtime::new().expect("a runtime");
    let script = Script::parse(SCRIPT).expect("the script is right");
    let server = runtime
        .block_on(Rehearsal::start(script, Options::default()))
        .expect("the server starts");
    let reference = slowest((1..=RUNS).map(|nth| bare(&runtime, &server, nth)));

    let home = tempfile::tempdir().expect("a temporary folder");
    let settings = format!(
        "[[endpoints]]\nid = \"script\"\nurl = \"{}\"\n[[participants]]\nid = \"ann\"\nmodel = \"m\"\nendpoint = \"script\"\n",
        server.base_url()
    );
    std::fs::write(home.path().join("settings.toml"), settings).expect("the settings are written");
    let host = Host::start(HostOptions {
        vault: VaultKind::File,
        ..HostOptions::new(home.path().to_owned())
    })
    .expect("the host starts");
    let handle = host.handle();
    let events = handle.subscribe(|| {});
    let wait = |what: &str, fits: &dyn Fn(&Event) -> bool| -> Event {
        let deadline = Instant::now() + PATIENCE;
        loop {
            assert!(Instant::now() < deadline, "{what} did not come");
            match events.recv_timeout(Duration::from_millis(200)) {
                Some(event) if fits(&event) => return event,
                _ => {}
            }
        }
    };
    handle.send(Intent::Ready).expect("the host listens");
    let Event::Snapshot(snapshot) = wait("a snapshot", &|e| matches!(e, Event::Snapshot(_))) else {
        return;
    };
    let thread = snapshot.current.id.clone();
    let ours = slowest((1..=RUNS).map(|run| {
        let message = SendMessage::chat(thread.clone(), "@ann go on");
        handle
            .send(Intent::Send(message))
            .expect("the host listens");
        wait("the reply", &|event| matches!(event, Event::Delta(_)));
        let began = Instant::now();
        handle
            .send(Intent::Stop(thread.clone()))
            .expect("the host listens");
        runtime.block_on(server.wait_for_disconnect(RUNS + run));
        let took = began.elapsed();
        wait("the turn's end", &|event| {
            matches!(event, Event::TurnEnded { .. })
        });
        took
    }));
    host.shutdown();
    let verdict = if ours <= TARGET_MS { "ok" } else { "MISS" };
    println!(
        "bench stop until the server sees it, slowest of {RUNS}: {ours:.1} ms, {:.1}x of dropping a bare connection (target <= {TARGET_MS} ms) {verdict}",
        ours / reference
    );
    if ours > TARGET_MS {
        std::process::exit(1);
    }
}
