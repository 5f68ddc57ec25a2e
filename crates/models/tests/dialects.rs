//! Every way that endpoints differ on the wire, read from recorded streams. Each stream is read whole, byte by byte and
//! cut in two at every byte, and must come out the same each time.

use models::{AssemblerOptions, Completion, Finish, ReplyDecoder, StreamEvent, StreamFault, Usage};

#[derive(Debug, Clone, Default, PartialEq)]
struct Seen {
    content: String,
    reasoning: String,
    tool_deltas: Vec<StreamEvent>,
}

type Outcome = (Seen, Result<Completion, StreamFault>);

fn read_pieces(content_type: &str, options: &AssemblerOptions, pieces: &[&[u8]]) -> Outcome {
    let mut seen = Seen::default();
    let mut sink = |event: StreamEvent| match event {
        StreamEvent::Content(text) => seen.content.push_str(&text),
        StreamEvent::Reasoning(text) => seen.reasoning.push_str(&text),
        delta @ StreamEvent::ToolCallDelta { .. } => seen.tool_deltas.push(delta),
    };
    let mut decoder = ReplyDecoder::new(Some(content_type), options.clone());
    for piece in pieces {
        if let Err(fault) = decoder.push(piece, &mut sink) {
            return (seen, Err(fault));
        }
    }
    let outcome = decoder.end(&mut sink);
    (seen, outcome)
}

#[track_caller]
fn read_as(content_type: &str, options: &AssemblerOptions, body: &[u8]) -> Outcome {
    let whole = read_pieces(content_type, options, &[body]);
    let bytes: Vec<&[u8]> = body.chunks(1).collect();
    assert_eq!(
        read_pieces(content_type, options, &bytes),
        whole,
        "byte by byte"
    );
    for at in 0..=body.len() {
        let halves = [&body[..at], &body[at..]];
        assert_eq!(
            read_pieces(content_type, options, &halves),
            whole,
            "cut at byte {at}"
        );
    }
    whole
}

#[track_caller]
fn read(body: &str) -> Outcome {
    read_as(
        "text/event-stream",
        &AssemblerOptions::default(),
        body.as_bytes(),
    )
}

/// A stream of these payloads, each an event of its own.
fn events(payloads: &[&str]) -> String {
    payloads
        .iter()
        .map(|payload| format!("data: {payload}\n\n"))
        .collect()
}

fn content(text: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}]}}"#)
}

const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

#[track_caller]
fn expect_content(body: &str, text: &str) -> Completion {
    let (seen, outcome) = read(body);
    assert_eq!(seen.content, text);
    outcome.expect("a whole reply")
}

#[test]
fn bytes_may_split_inside_a_code_point() {
    let body = events(&[
        &content("né 日本 🦀"),
        &content("\\ud83e\\udd80"),
        STOP,
        "[DONE]",
    ]);
    expect_content(&body, "né 日本 🦀🦀");
}

#[test]
fn line_ends_of_every_kind_comments_and_missing_spaces_are_read() {
    for end in ["\n", "\r", "\r\n"] {
        let body = [
            "\u{FEFF}: OPENROUTER PROCESSING",
            "",
            "event: message",
            "id: 1",
            &format!("data:{}", content("a")),
            "",
            ": keep-alive",
            "",
            "data: {\"choices\":[{\"index\":0,",
            "data: \"delta\":{\"content\":\"b\"}}]}",
            "",
            &format!("data: {STOP}"),
            "",
            "data: [DONE]",
            "",
            "",
        ]
        .join(end);
        expect_content(&body, "ab");
    }
}

#[test]
fn events_without_data_with_null_and_with_words_are_ignored() {
    let body = format!(
        "event: ping\n\ndata:\n\ndata: null\n\ndata: ping\n\ndata: {{}}\n\ndata: {{\"type\":\"ping\"}}\n\n{}",
        events(&[&content("a"), STOP])
    );
    expect_content(&body, "a");
}

#[test]
fn a_reply_is_whole_by_its_finish_reason_and_not_by_done() {
    expect_content(&events(&[&content("a"), STOP]), "a");
    expect_content(&events(&[&content("a"), STOP, "[DONE]", "[DONE]"]), "a");
    let trailing = format!("{}garbage {{", events(&[&content("a"), STOP, "[DONE]"]));
    expect_content(&trailing, "a");
    expect_content(events(&[&content("a"), STOP]).trim_end(), "a");

    for cut in [events(&[&content("a"), "[DONE]"]), events(&[&content("a")])] {
        let (seen, outcome) = read(&cut);
        assert_eq!(
            (seen.content.as_str(), outcome),
            ("a", Err(StreamFault::CutOff))
        );
    }
    let (seen, outcome) = read(&format!(
        "{}data: {{\"choices\":[{{\"delta\":{{\"con",
        events(&[&content("a")])
    ));
    assert_eq!(
        (seen.content.as_str(), outcome),
        ("a", Err(StreamFault::CutOff))
    );
}

#[test]
fn a_body_with_nothing_in_it_is_empty() {
    for body in [
        String::new(),
        "\n\n".to_owned(),
        ": keep-alive\n\n".to_owned(),
        events(&["[DONE]"]),
        events(&[STOP, "[DONE]"]),
        events(&[
            r#"{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
        ]),
        events(&[
            r#"{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}"#,
            "[DONE]",
        ]),
    ] {
        let (seen, outcome) = read(&body);
        assert_eq!(
            (seen, outcome),
            (Seen::default(), Err(StreamFault::Empty)),
            "{body}"
        );
    }
}

#[test]
fn choices_may_be_empty_missing_or_null() {
    let body = events(&[
        r#"{"id":"","choices":[],"prompt_filter_results":[{"prompt_index":0}]}"#,
        &content("a"),
        r#"{"choices":null}"#,
        STOP,
        r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#,
        r#"{"usage":{"prompt_tokens":7,"completion_tokens":4}}"#,
        "[DONE]",
    ]);
    let usage = expect_content(&body, "a").usage.expect("usage");
    assert_eq!(
        (usage.input_tokens, usage.output_tokens),
        (Some(7), Some(4))
    );
}

#[test]
fn usage_is_the_last_that_counts_and_is_never_added_up() {
    let counted = |n: u64| {
        format!(
            r#"{{"choices":[{{"delta":{{"content":"a"}}}}],"usage":{{"prompt_tokens":10,"completion_tokens":{n}}}}}"#
        )
    };
    let zeros =
        r#"{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}"#;
    let body = events(&[&counted(1), &counted(2), &counted(3), STOP, zeros, "[DONE]"]);
    let usage = expect_content(&body, "aaa").usage;
    let expected = Usage {
        input_tokens: Some(10),
        output_tokens: Some(3),
        ..Usage::default()
    };
    assert_eq!(usage, Some(expected));

    assert_eq!(
        expect_content(&events(&[&content("a"), STOP, zeros]), "a").usage,
        None
    );
    let kimi = r#"{"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":5,"completion_tokens":6}}]}"#;
    let usage = expect_content(&events(&[&content("a"), kimi]), "a").usage;
    assert_eq!(usage.and_then(|usage| usage.output_tokens), Some(6));
}

#[test]
fn an_error_object_in_the_stream_keeps_its_code_and_the_partial() {
    let error = r#"{"error":{"message":"unexpected EOF","type":"server_error","code":"internal_server_error"}}"#;
    for body in [
        events(&[&content("par"), error]),
        events(&[&content("par"), error, "[DONE]"]),
    ] {
        let (seen, outcome) = read(&body);
        assert_eq!(seen.content, "par");
        let Err(StreamFault::Provider(report)) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(report.code.as_deref(), Some("internal_server_error"));
        assert_eq!(report.message, "unexpected EOF");
        assert_eq!(report.body, error);
    }
}

#[test]
fn errors_in_other_clothes_are_errors_too() {
    for (body, message) in [
        (events(&[r#"{"error":"no capacity"}"#]), "no capacity"),
        (
            "event: error\ndata: {\"message\":\"m\"}\n\n".to_owned(),
            "m",
        ),
        (
            events(&[r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#]),
            "m",
        ),
        (
            events(&[r#"{"object":"error","message":"m","code":40303}"#]),
            "m",
        ),
        (events(&[r#"{"detail":"m"}"#]), "m"),
        (
            events(&[
                r#"{"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"message":"m","code":502}}"#,
            ]),
            "m",
        ),
        (
            "event: error\ndata: the upstream hung up\n\n".to_owned(),
            "the upstream hung up",
        ),
        (
            "data: Error: out of memory\n\ndata: [DONE]\n\n".to_owned(),
            "Error: out of memory",
        ),
    ] {
        let Err(StreamFault::Provider(report)) = read(&body).1 else {
            panic!("{body}");
        };
        assert_eq!(report.message, message);
    }
}

#[test]
fn an_error_after_the_finish_reason_takes_nothing_back() {
    expect_content(
        &events(&[
            &content("a"),
            STOP,
            r#"{"error":{"message":"m"}}"#,
            "{broken",
        ]),
        "a",
    );
}

#[test]
fn json_that_answers_a_stream_request_is_read_whatever_it_is_called() {
    let json = r#"{"model":"m-2","choices":[{"index":0,"message":{"role":"assistant","content":"a","reasoning_content":"r",
        "tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],
        "usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    for content_type in ["application/json", "text/event-stream", "text/plain"] {
        let (seen, outcome) = read_as(
            content_type,
            &AssemblerOptions::default(),
            format!("\n\n{json}").as_bytes(),
        );
        assert_eq!((seen.content.as_str(), seen.reasoning.as_str()), ("a", "r"));
        let completion = outcome.expect("a whole reply");
        assert_eq!(completion.finish, Finish::ToolCalls);
        assert_eq!(completion.model.as_deref(), Some("m-2"));
        assert_eq!(completion.tool_calls[0].id, "c");
    }
    let (_, outcome) = read_as(
        "application/json",
        &AssemblerOptions::default(),
        &json.as_bytes()[..json.len() - 9],
    );
    assert_eq!(outcome, Err(StreamFault::CutOff));
    let error = "\n\n\n{\"error\":{\"message\":\"m\",\"code\":\"c\"}}";
    let (_, outcome) = read_as(
        "application/json",
        &AssemblerOptions::default(),
        error.as_bytes(),
    );
    assert!(
        matches!(outcome, Err(StreamFault::Provider(report)) if report.code.as_deref() == Some("c"))
    );
}

#[test]
fn an_event_stream_under_another_name_is_read() {
    let body = events(&[&content("a"), STOP, "[DONE]"]);
    for content_type in ["application/json", "text/plain; charset=utf-8", ""] {
        for body in [
            body.clone(),
            format!(": hi\n\n{body}"),
            format!("event: x\n{body}"),
        ] {
            let (seen, outcome) =
                read_as(content_type, &AssemblerOptions::default(), body.as_bytes());
            assert_eq!(seen.content, "a", "{content_type} {body}");
            assert!(outcome.is_ok());
        }
    }
}

#[test]
fn blank_lines_and_a_byte_order_mark_before_any_body_change_nothing() {
    let json = r#"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}"#.to_owned();
    for (content_type, body) in [
        ("application/json", json.clone()),
        ("text/event-stream", json),
        ("text/event-stream", events(&[&content("a"), STOP])),
        ("text/plain", events(&[&content("a"), STOP])),
    ] {
        for before in ["\u{FEFF}", "\n\r\n\r", "\u{FEFF}\n \n", " \t\n\n"] {
            let body = format!("{before}{body}");
            let (seen, outcome) =
                read_as(content_type, &AssemblerOptions::default(), body.as_bytes());
            assert_eq!(seen.content, "a", "{content_type} {body:?}");
            assert!(outcome.is_ok(), "{content_type} {body:?}");
        }
    }
    let page = format!(
        "\u{FEFF}<!DOCTYPE html>{}<title>late</title>",
        "x".repeat(3000)
    );
    let (_, outcome) = read_as(
        "text/event-stream",
        &AssemblerOptions::default(),
        page.as_bytes(),
    );
    assert!(matches!(outcome, Err(StreamFault::NotAnEventStream { .. })));
}

#[test]
fn a_web_page_or_plain_words_are_no_event_stream() {
    for (content_type, body, snippet) in [
        (
            "text/html",
            "<!DOCTYPE html><title>Sign in</title>",
            "Sign in",
        ),
        (
            "text/event-stream",
            "<html><body>Sign <b>in</b></body></html>",
            "Sign in",
        ),
        ("text/plain", "error code: 502", "error code: 502"),
        ("text/plain", "hm", "hm"),
    ] {
        let (_, outcome) = read_as(content_type, &AssemblerOptions::default(), body.as_bytes());
        let expected = StreamFault::NotAnEventStream {
            snippet: snippet.to_owned(),
        };
        assert_eq!(outcome, Err(expected), "{body}");
    }
}

#[test]
fn thinking_comes_under_many_names_and_once() {
    for delta in [
        r#""reasoning_content":"hm""#,
        r#""reasoning":"hm""#,
        r#""reasoning":"hm","reasoning_content":"hm""#,
        r#""reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}]"#,
        r#""reasoning_details":[{"type":"reasoning.summary","summary":"hm"},{"type":"reasoning.encrypted","data":"x"}]"#,
        r#""content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]"#,
    ] {
        let chunk = format!(r#"{{"choices":[{{"delta":{{"content":null,{delta}}}}}]}}"#).replacen(
            "\"content\":null,\"content\"",
            "\"content\"",
            1,
        );
        let (seen, outcome) = read(&events(&[&chunk, &content("a"), STOP]));
        assert_eq!(
            (seen.reasoning.as_str(), seen.content.as_str()),
            ("hm", "a"),
            "{delta}"
        );
        assert!(outcome.is_ok());
    }
}

#[test]
fn think_tags_are_read_only_where_the_endpoint_is_said_to_use_them() {
    let body = events(&[
        &content("<thi"),
        &content("nk>h"),
        &content("m</th"),
        &content("ink>\\n\\na"),
        STOP,
    ]);
    let options = AssemblerOptions {
        think_tags: true,
        ..AssemblerOptions::default()
    };
    let (seen, outcome) = read_as("text/event-stream", &options, body.as_bytes());
    assert_eq!(
        (seen.reasoning.as_str(), seen.content.as_str()),
        ("hm", "a")
    );
    assert!(outcome.is_ok());
    assert_eq!(read(&body).0.content, "<think>hm</think>\n\na");
}

#[test]
fn content_may_be_an_array_of_parts_or_null() {
    let parts = r#"{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}"#;
    let null =
        r#"{"choices":[{"delta":{"content":null,"reasoning_content":null,"tool_calls":null}}]}"#;
    expect_content(&events(&[null, parts, null, STOP]), "ab");
}

fn tool_delta(delta: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{delta}]}}}}]}}"#)
}

/// The calls of a stream as `id name arguments`, after the endpoint ended with `finish`.
#[track_caller]
fn calls(deltas: &[&str], finish: &str) -> Vec<String> {
    let mut payloads: Vec<String> = deltas.iter().map(|delta| tool_delta(delta)).collect();
    payloads.push(format!(
        r#"{{"choices":[{{"delta":{{}},"finish_reason":"{finish}"}}]}}"#
    ));
    let payloads: Vec<&str> = payloads.iter().map(String::as_str).collect();
    let completion = read(&events(&payloads)).1.expect("a whole reply");
    assert_eq!(completion.finish, Finish::ToolCalls);
    let calls = completion.tool_calls.iter();
    calls
        .map(|call| format!("{} {} {}", call.id, call.name, call.arguments))
        .collect()
}

#[test]
fn tool_calls_without_an_index_are_told_apart_by_id_and_name() {
    assert_eq!(
        calls(
            &[
                r#"{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}"#,
                r#"{"function":{"arguments":"1}"}}"#,
                r#"{"function":{"name":"g","arguments":"{}"}}"#,
            ],
            "tool_calls"
        ),
        ["a f {\"x\":1}", "call_1 g {}"]
    );
}

#[test]
fn a_reused_index_with_a_new_id_is_a_second_call() {
    assert_eq!(
        calls(
            &[
                r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}"#,
                r#"{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}}"#,
            ],
            "tool_calls"
        ),
        ["a f {\"x\":1}", "b f {\"x\":2}"]
    );
}

#[test]
fn sparse_indices_missing_ids_and_headers_without_arguments_are_taken() {
    assert_eq!(
        calls(
            &[
                r#"{"index":2,"id":null,"function":{"name":"f","arguments":null}}"#,
                r#"{"index":2,"function":{"arguments":"{}"}}"#,
                r#"{"index":5,"id":"","function":{"name":"g","arguments":{"x":[1, 2]}}}"#,
            ],
            "tool_calls"
        ),
        ["call_0 f {}", "call_1 g {\"x\":[1, 2]}"]
    );
}

#[test]
fn a_whole_call_in_one_delta_and_empty_arguments_are_taken() {
    assert_eq!(
        calls(
            &[r#"{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}"#],
            "tool_calls"
        ),
        ["a f {\"x\":1}"]
    );
    assert_eq!(
        calls(
            &[r#"{"index":0,"id":"a","function":{"name":"f","arguments":""}}"#],
            "stop"
        ),
        ["a f {}"]
    );
}

#[test]
fn a_thought_signature_survives_verbatim() {
    let call = r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"CrYB"}}}"#;
    let completion = read(&events(&[&tool_delta(call), STOP]))
        .1
        .expect("a whole reply");
    let extra = serde_json::Value::Object(completion.tool_calls[0].extra.clone());
    assert_eq!(
        extra,
        serde_json::json!({"extra_content": {"google": {"thought_signature": "CrYB"}}})
    );
}

#[test]
fn finish_reasons_of_every_name_map_to_five() {
    for (reason, finish) in [
        ("stop", Finish::Stop),
        ("STOP", Finish::Stop),
        ("end_turn", Finish::Stop),
        ("eos", Finish::Stop),
        ("tool_calls", Finish::Stop),
        ("function_call", Finish::Stop),
        ("length", Finish::Length),
        ("max_tokens", Finish::Length),
        ("content_filter", Finish::ContentFilter),
        (
            "insufficient_system_resource",
            Finish::Other("insufficient_system_resource".to_owned()),
        ),
    ] {
        let end = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
        // Without a call there is nothing to wait for, whatever the endpoint says.
        assert_eq!(
            expect_content(&events(&[&content("a"), &end]), "a").finish,
            finish,
            "{reason}"
        );
    }
}

#[test]
fn tool_calls_win_over_the_stated_reason_unless_the_limit_cut_them() {
    let whole = r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#;
    for finish in ["stop", "STOP", "function_call", "tool_use", "eos", "length"] {
        assert_eq!(calls(&[whole], finish), ["a f {}"], "{finish}");
    }
    let cut = tool_delta(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}"#);
    let end = r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#;
    assert_eq!(
        read(&events(&[&cut, end])).1.expect("a whole reply").finish,
        Finish::Length
    );
}

#[test]
fn an_empty_finish_reason_ends_a_reply_only_where_it_stands_alone() {
    let blank = r#"{"choices":[{"delta":{},"finish_reason":""}]}"#;
    assert_eq!(
        expect_content(&events(&[&content("a"), blank, "[DONE]"]), "a").finish,
        Finish::Stop
    );
    let noisy = r#"{"choices":[{"delta":{"content":"a"},"finish_reason":""}]}"#;
    let (seen, outcome) = read(&events(&[noisy, noisy, blank, "[DONE]"]));
    assert_eq!(
        (seen.content.as_str(), outcome),
        ("aa", Err(StreamFault::CutOff))
    );
    expect_content(&events(&[noisy, STOP]), "a");
}

#[test]
fn the_role_may_be_in_every_delta_or_in_none() {
    let with_role = r#"{"choices":[{"delta":{"role":"assistant","content":"a"}}]}"#;
    expect_content(&events(&[with_role, with_role, &content("b"), STOP]), "aab");
}

#[test]
fn only_the_first_choice_is_heard() {
    let two =
        r#"{"choices":[{"index":1,"delta":{"content":"x"}},{"index":0,"delta":{"content":"a"}}]}"#;
    expect_content(&events(&[two, STOP]), "a");
}

#[test]
fn a_whole_message_at_the_end_of_a_stream_says_nothing_twice() {
    let last = r#"{"choices":[{"message":{"content":"ab"},"finish_reason":"stop"}]}"#;
    expect_content(&events(&[&content("a"), &content("b"), last]), "ab");
}

#[test]
fn values_glued_into_one_line_are_read_one_by_one() {
    let glued = format!("{}{}{STOP}[DONE]", content("a"), content("b"));
    expect_content(&events(&[&glued]), "ab");
}

#[test]
fn broken_characters_cost_a_character_and_not_the_chunk() {
    let body = events(&[&content("a\\ud83d b"), STOP]);
    expect_content(&body, "a\u{FFFD} b");
    let mut raw = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xFFb\"}}]}\n\n".to_vec();
    raw.extend_from_slice(events(&[STOP]).as_bytes());
    let (seen, outcome) = read_as("text/event-stream", &AssemblerOptions::default(), &raw);
    assert_eq!(seen.content, "a\u{FFFD}b");
    assert!(outcome.is_ok());
}

#[test]
fn a_repeated_key_costs_nothing() {
    let twice = r#"{"choices":[{"delta":{"content":"x","content":"a"}}]}"#;
    expect_content(&events(&[twice, STOP]), "a");
}

#[test]
fn a_damaged_payload_is_told_and_keeps_the_partial() {
    let (seen, outcome) = read(&events(&[
        &content("a"),
        r#"{"choices":[{"delta":{"content":"b"#,
        &content("c"),
        STOP,
    ]));
    assert_eq!(seen.content, "a");
    assert!(
        matches!(outcome, Err(StreamFault::Damaged { snippet }) if snippet.starts_with("{\"choices\""))
    );
}

#[test]
fn the_model_is_the_one_that_answered() {
    let chunk = r#"{"model":"deepseek-v4.1-flash","choices":[{"delta":{"content":"a"}}]}"#;
    assert_eq!(
        expect_content(&events(&[chunk, STOP]), "a")
            .model
            .as_deref(),
        Some("deepseek-v4.1-flash")
    );
}

mod random_splits {
    use proptest::prelude::*;

    use super::*;

    fn payload() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z é日🦀<>/\\\\]{0,6}".prop_map(|text| content(&text.replace('\\', "\\\\"))),
            Just("null".to_owned()),
            Just("ping".to_owned()),
            Just(r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#.to_owned()),
            Just(tool_delta(
                r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"é\":"}}"#
            )),
            Just(tool_delta(r#"{"index":0,"function":{"arguments":"1}"}}"#)),
            Just(r#"{"error":{"message":"m"}}"#.to_owned()),
            Just(r#"{"choices":[{"#.to_owned()),
            Just(STOP.to_owned()),
            Just("[DONE]".to_owned()),
        ]
    }

    proptest! {
        #[test]
        fn a_stream_reads_the_same_however_the_network_splits_it(
            payloads in prop::collection::vec(payload(), 0..10),
            ends in prop::collection::vec(prop::sample::select(vec!["\n\n", "\r\n\r\n", "\r\r", "\n: c\n\n"]), 10),
            think_tags in any::<bool>(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..16),
        ) {
            let stream: String = payloads.iter().zip(&ends).map(|(payload, end)| format!("data: {payload}{end}")).collect();
            let bytes = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let options = AssemblerOptions { think_tags, ..AssemblerOptions::default() };
            prop_assert_eq!(
                read_pieces("text/event-stream", &options, &pieces),
                read_pieces("text/event-stream", &options, &[bytes])
            );
        }
    }
}
