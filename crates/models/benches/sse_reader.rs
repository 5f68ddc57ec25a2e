//! A recorded stream of 100 MB through the decoder, against `serde_json` parsing of the payloads alone.
//!
//! The decoder finds the payloads, parses them and hands on owned events; the references get the payloads cut out for
//! them: once parsed into a `serde_json::Value`, once only checked (`serde::de::IgnoredAny`), which is the floor.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use models::{AssemblerOptions, ReplyDecoder, StreamEvent};
use serde::de::IgnoredAny;
use serde_json::Value;

const STREAM_BYTES: usize = 100_000_000;
const NETWORK_READ_BYTES: usize = 16 * 1024;
const ROUNDS: usize = 3;
const TARGET: f64 = 1.3;

fn main() {
    let stream = recorded_stream();
    let payloads: Vec<&[u8]> = stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|payload| *payload != "[DONE]")
        .map(str::as_bytes)
        .collect();
    let mut decoder = Duration::MAX;
    let mut value = Duration::MAX;
    let mut floor = Duration::MAX;
    for _ in 0..ROUNDS {
        decoder = decoder.min(time(|| decode(&stream)));
        value = value.min(time(|| parse_values(&payloads)));
        floor = floor.min(time(|| check(&payloads)));
    }
    println!(
        "{} MB, {} payloads; decoder {:.0} MB/s",
        stream.len() / 1_000_000,
        payloads.len(),
        stream.len() as f64 / 1e6 / decoder.as_secs_f64(),
    );
    let ratio = decoder.as_secs_f64() / value.as_secs_f64();
    let verdict = if ratio <= TARGET { "ok" } else { "MISS" };
    println!(
        "bench sse_reader: {ratio:.2}x of serde_json::from_slice::<Value> (target <= {TARGET}x) {verdict}"
    );
    let ratio = decoder.as_secs_f64() / floor.as_secs_f64();
    println!(
        "bench sse_reader_floor: {ratio:.2}x of serde_json::from_slice::<IgnoredAny> (for comparison)"
    );
}

fn time(run: impl FnOnce() -> usize) -> Duration {
    let start = Instant::now();
    black_box(run());
    start.elapsed()
}

fn decode(stream: &str) -> usize {
    let mut bytes = 0;
    let mut sink = |event: StreamEvent| match event {
        StreamEvent::Content(text) | StreamEvent::Reasoning(text) => bytes += black_box(text).len(),
        StreamEvent::ToolCallDelta { arguments, .. } => bytes += black_box(arguments).len(),
    };
    let mut decoder = ReplyDecoder::new(Some("text/event-stream"), AssemblerOptions::default());
    for read in stream.as_bytes().chunks(NETWORK_READ_BYTES) {
        decoder.push(read, &mut sink).expect("a good stream");
    }
    let completion = decoder.end(&mut sink).expect("a whole reply");
    bytes + completion.tool_calls.len()
}

fn parse_values(payloads: &[&[u8]]) -> usize {
    let parsed = payloads
        .iter()
        .map(|payload| serde_json::from_slice::<Value>(payload));
    parsed.filter(|value| black_box(value).is_ok()).count()
}

fn check(payloads: &[&[u8]]) -> usize {
    let parsed = payloads
        .iter()
        .map(|payload| serde_json::from_slice::<IgnoredAny>(payload));
    parsed.filter(|value| black_box(value).is_ok()).count()
}

/// A stream as gateways send it: thinking, then text in pieces of a few characters with escapes and other scripts
/// among them, a few tool calls, a comment now and then, usage at the end.
fn recorded_stream() -> String {
    const WORDS: [&str; 8] = [
        "The ",
        "function ",
        "returns\\n",
        "\\\"früh\\\" ",
        "日本語",
        "0x2A, ",
        "so we ",
        "`let x = 1;`",
    ];
    let mut stream = String::with_capacity(STREAM_BYTES + 4096);
    let head = r#"{"id":"chatcmpl-9aZ3kQ","object":"chat.completion.chunk","created":1764547200,"model":"gpt-5.6-sol","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":"#;
    let tail = r#","logprobs":null,"finish_reason":null}]}"#;
    let mut n = 0;
    while stream.len() < STREAM_BYTES {
        let word = WORDS[n % WORDS.len()];
        let delta = match n {
            0..20_000 => {
                format!(r#"{{"role":"assistant","content":null,"reasoning_content":"{word}"}}"#)
            }
            _ if n % 1000 < 20 => {
                let index = n / 1000;
                format!(
                    r#"{{"tool_calls":[{{"index":{index},"function":{{"arguments":"{{\"path\":\"src/"}}}}]}}"#
                )
            }
            _ => format!(r#"{{"content":"{word}"}}"#),
        };
        _ = write!(stream, "data: {head}{delta}{tail}\n\n");
        if n % 500 == 0 {
            stream.push_str(": keep-alive\n\n");
        }
        n += 1;
    }
    stream.push_str(r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":5}}"#);
    stream.push_str("\n\ndata: [DONE]\n\n");
    stream
}
