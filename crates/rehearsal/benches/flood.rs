//! Does a flood keep its rate? The reference is the rate that the script asks for.

use rehearsal::{Options, Rehearsal, Script};
use std::error::Error;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PER_SECOND: u32 = 5_000;
const SECONDS: u32 = 3;
const LEAST: f64 = 0.98;
const MOST: f64 = 1.02;

/// Receives one flood; the time is from the first delta to the last.
async fn receive(rehearsal: &Rehearsal) -> Result<(usize, Duration), Box<dyn Error>> {
    let mut socket = TcpStream::connect(rehearsal.addr()).await?;
    let body = r#"{"model":"m","stream":true,"messages":[]}"#;
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all((head + body).as_bytes()).await?;
    let mut received = Vec::new();
    let mut first = None;
    let mut last = Instant::now();
    let mut deltas = 0;
    let mut seen = 0;
    while socket.read_buf(&mut received).await? > 0 {
        // A marker may lie across two reads, so counting goes on at the end of the last one found.
        while let Some(at) = find(&received[seen..], b"\"content\":") {
            seen += at + 1;
            deltas += 1;
            last = Instant::now();
            first.get_or_insert(last);
        }
    }
    Ok((deltas, last - first.unwrap_or(last)))
}

fn find(bytes: &[u8], marker: &[u8]) -> Option<usize> {
    bytes
        .windows(marker.len())
        .position(|window| window == marker)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let script = format!("[[step]]\nflood = {PER_SECOND}\nflood_seconds = {SECONDS}\n");
    let rehearsal = Rehearsal::start(Script::parse(&script)?, Options::default()).await?;
    let (deltas, time) = receive(&rehearsal).await?;
    let rate = deltas as f64 / time.as_secs_f64();
    let ratio = rate / f64::from(PER_SECOND);
    let complete = deltas == (PER_SECOND * SECONDS) as usize;
    let verdict = if complete && (LEAST..=MOST).contains(&ratio) {
        "ok"
    } else {
        "MISSED"
    };
    println!(
        "bench flood: {ratio:.3}x of the scripted {PER_SECOND} deltas/s, {deltas} of {} received (target {LEAST}x to {MOST}x) {verdict}",
        PER_SECOND * SECONDS
    );
    Ok(())
}
