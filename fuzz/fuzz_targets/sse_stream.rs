//! Any bytes as the body of an answer: the decoder never panics, and how the network splits them changes nothing.
//!
//! The first byte picks the options, the second the size of the pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;
use models::{AssemblerOptions, Completion, ReplyDecoder, StreamEvent, StreamFault};

#[derive(Debug, Default, PartialEq)]
struct Seen {
    content: String,
    reasoning: String,
    tool_deltas: Vec<StreamEvent>,
}

fuzz_target!(|input: &[u8]| {
    let [options, size, body @ ..] = input else {
        return;
    };
    let whole = decode(*options, body, body.len().max(1));
    let pieces = decode(*options, body, usize::from(*size).max(1));
    assert_eq!(whole, pieces);
});

fn decode(options: u8, body: &[u8], piece: usize) -> (Seen, Result<Completion, StreamFault>) {
    let content_type = match options & 6 {
        0 => None,
        2 => Some("application/json"),
        _ => Some("text/event-stream"),
    };
    let options = AssemblerOptions {
        think_tags: options & 1 == 1,
        ..AssemblerOptions::default()
    };
    let mut seen = Seen::default();
    let mut sink = |event: StreamEvent| match event {
        StreamEvent::Content(text) => seen.content.push_str(&text),
        StreamEvent::Reasoning(text) => seen.reasoning.push_str(&text),
        delta @ StreamEvent::ToolCallDelta { .. } => seen.tool_deltas.push(delta),
    };
    let mut decoder = ReplyDecoder::new(content_type, options);
    for bytes in body.chunks(piece) {
        if let Err(fault) = decoder.push(bytes, &mut sink) {
            return (seen, Err(fault));
        }
    }
    let outcome = decoder.end(&mut sink);
    (seen, outcome)
}
