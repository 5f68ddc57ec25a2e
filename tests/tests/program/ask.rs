//! `folkmoot ask`: the lines that other programs rely on, who answers, what goes in.

use folkmoot_tests::{DataFolder, ModelServer, folkmoot};
use serde_json::{Value, json};

const TWO_SEATS: &str = r#"
[[step]]
model = "model-a"
reasoning = "SECRET-THOUGHT"
reply = "Ann's answer"
usage = { prompt_tokens = 12, completion_tokens = 3 }
[[step]]
model = "model-b"
reply = "Bob's answer"
"#;

fn types(events: &[Value]) -> Vec<&str> {
    let mut types: Vec<&str> = events
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    types.dedup();
    types
}

fn joined(events: &[Value]) -> String {
    events
        .iter()
        .filter_map(|event| event["text"].as_str())
        .collect()
}

#[test]
fn one_seat_prints_thread_start_deltas_message_and_done() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "--to", "ann", "hello"])
        .run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(outcome.stderr, "");
    let events = outcome.events();
    assert_eq!(
        types(&events),
        ["thread", "start", "reasoning", "delta", "message", "done"]
    );
    let id = outcome.event("start")["message_id"].clone();
    assert!(id.as_str().is_some_and(|id| !id.is_empty()));
    assert_eq!(outcome.event("start")["seat"], "ann");
    for kind in ["reasoning", "delta", "message"] {
        for event in outcome.events_of(kind) {
            assert_eq!(event["message_id"], id, "{event}");
        }
    }
    assert_eq!(joined(&outcome.events_of("delta")), "Ann's answer");
    assert_eq!(joined(&outcome.events_of("reasoning")), "SECRET-THOUGHT");
    let message = outcome.reply("ann");
    assert_eq!(message["status"], "complete");
    assert_eq!(message["content"], "Ann's answer");
    assert_eq!(message["error"], Value::Null);
    assert_eq!(message["usage"]["inputTokens"], 12, "{message}");
    assert_eq!(message["usage"]["outputTokens"], 3, "{message}");
    assert_eq!(outcome.event("done"), json!({"type": "done", "ok": true}));
}

#[test]
fn every_event_has_exactly_the_fields_of_the_contract() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "hello", "@carl"])
        .run();
    let mut seen = Vec::new();
    for event in outcome.events() {
        let fields: Vec<&String> = event.as_object().expect("an object").keys().collect();
        let expected: &[&str] = match event["type"].as_str() {
            Some("thread") => &["type", "id"],
            Some("start") => &["type", "seat", "message_id"],
            Some("delta" | "reasoning") => &["type", "message_id", "text"],
            Some("message") => &[
                "type",
                "message_id",
                "seat",
                "status",
                "content",
                "error",
                "usage",
            ],
            Some("warning") => &["type", "text"],
            Some("done") => &["type", "ok"],
            other => panic!("unknown type {other:?}"),
        };
        assert_eq!(fields, expected);
        seen.push(event["type"].clone());
    }
    for kind in [
        "thread",
        "start",
        "reasoning",
        "delta",
        "message",
        "warning",
        "done",
    ] {
        assert!(seen.iter().any(|s| s == kind), "no {kind} in {seen:?}");
    }
}

#[test]
fn all_answer_in_turn_and_the_second_reads_the_first() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "--to", "all", "hello"])
        .run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let seats: Vec<Value> = outcome
        .events_of("start")
        .iter()
        .map(|e| e["seat"].clone())
        .collect();
    assert_eq!(seats, ["ann", "bob"]);
    assert_eq!(outcome.reply("bob")["content"], "Bob's answer");
    assert_eq!(outcome.events_of("thread").len(), 1);
    assert_eq!(outcome.events_of("done").len(), 1);
    let shown_to_bob = server.wait_for_chat(2).body["messages"].to_string();
    assert!(
        shown_to_bob.contains("[Ann]: Ann's answer"),
        "{shown_to_bob}"
    );
    assert!(!shown_to_bob.contains("SECRET-THOUGHT"), "{shown_to_bob}");
    server.assert_all_matched();
}

#[test]
fn seats_are_asked_in_the_order_given_and_each_once() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "--to", "@Bob,ann,bob", "hello"])
        .run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let models: Vec<Value> = server
        .chats()
        .iter()
        .map(|chat| chat.body["model"].clone())
        .collect();
    assert_eq!(models, ["model-b", "model-a"]);
}

#[test]
fn a_mention_in_the_text_chooses_who_answers() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "what does @bob say of `@ann`?"])
        .run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(outcome.event("start")["seat"], "bob");
}

#[test]
fn without_json_replies_are_text_under_the_seats_names() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home).args(["ask", "--to", "all", "hello"]).run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(outcome.stdout, "[Ann]\nAnn's answer\n[Bob]\nBob's answer\n");
    assert_eq!(outcome.stderr, "");
}

#[test]
fn words_become_one_message_and_a_dash_reads_standard_input() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    assert_eq!(
        folkmoot(&home)
            .args(["ask", "three", "plain", "words"])
            .run()
            .code,
        Some(0)
    );
    assert!(
        server.wait_for_chat(1).body["messages"]
            .to_string()
            .contains("three plain words")
    );
    let question = "first line\nsecond \"line\"\twith ünïcode 🙂\n";
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "-"])
        .input(question)
        .run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let messages = server.wait_for_chat(2).body["messages"].clone();
    let asked = messages[messages.as_array().expect("a list").len() - 1]["content"].clone();
    assert!(
        asked
            .as_str()
            .expect("a text")
            .contains(question.trim_end()),
        "{asked}"
    );
}

#[test]
fn text_that_begins_with_a_dash_goes_after_two_dashes() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "--", "--to", "is an option"])
        .run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(
        server.wait_for_chat(1).body["messages"]
            .to_string()
            .contains("--to is an option")
    );
}

#[test]
fn a_message_of_spaces_or_nothing_is_a_usage_error_and_asks_nobody() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    for args in [
        &["ask", "   "][..],
        &["ask", ""],
        &["ask", "-"],
        &["ask", "--json", "\n\t"],
    ] {
        let outcome = folkmoot(&home).args(args).input(" \n").run();
        assert_eq!(outcome.code, Some(2), "{args:?}: {outcome}");
        assert!(outcome.stderr.contains("message is empty"), "{outcome}");
    }
    let outcome = folkmoot(&home).args(["ask"]).run();
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(server.requests().is_empty());
}

#[test]
fn input_that_is_no_text_is_a_usage_error() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home)
        .args(["ask", "-"])
        .input(vec![0xff, 0xfe, 0x00])
        .run();
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("UTF-8"), "{outcome}");
}

#[test]
fn an_unknown_seat_is_a_usage_error_that_names_the_seats() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "--to", "ann,carl", "hello"])
        .run();
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(
        outcome
            .stderr
            .contains("no seat is called \"carl\"; at the table: ann, bob"),
        "{outcome}"
    );
    assert!(server.chats().is_empty(), "nobody was asked");
}

#[test]
fn an_unknown_mention_warns_and_the_message_still_goes_out() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home).args(["ask", "--json", "hello @carl"]).run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let warning = outcome.event("warning")["text"].to_string();
    assert!(warning.contains("carl"), "{warning}");
}

#[test]
fn a_thread_goes_on_with_everything_that_was_said() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    let first = folkmoot(&home)
        .args(["ask", "--json", "--to", "ann", "ALPHA"])
        .run();
    let thread = first.thread_id();
    let second = folkmoot(&home)
        .args(["ask", "--json", "--thread", &thread, "--to", "bob", "BETA"])
        .run();
    assert_eq!(second.code, Some(0), "{second}");
    assert_eq!(second.thread_id(), thread);
    let prompt = server.wait_for_chat(2).body["messages"].to_string();
    for said in ["ALPHA", "[Ann]: Ann's answer", "BETA"] {
        assert!(prompt.contains(said), "{said} is not in {prompt}");
    }
    let shown = folkmoot(&home)
        .args(["thread", "show", "--json", &thread])
        .run()
        .json();
    let roles: Vec<&Value> = shown["messages"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|m| &m["role"])
        .collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
}

#[test]
fn an_unknown_thread_is_a_usage_error_and_asks_nobody() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "--thread", "nope", "hello"])
        .run();
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("nope"), "{outcome}");
    assert!(server.chats().is_empty());
}

#[test]
fn a_seat_whose_endpoint_the_settings_lack_is_a_settings_error() {
    let home = DataFolder::new();
    home.write_settings("[[participants]]\nid = \"ann\"\nmodel = \"m\"\nendpoint = \"gone\"\n");
    let outcome = folkmoot(&home).args(["ask", "--to", "ann", "hello"]).run();
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("no endpoint"), "{outcome}");
}

#[test]
fn a_message_of_five_megabytes_is_sent_whole_and_saved_whole() {
    let server = ModelServer::play("[[step]]\nreply = \"long\"");
    let home = DataFolder::for_url(&server.base_url(), "[prompt]\nsoft_limit_chars = 20000000");
    let text = "0123456789abcdefghij klmnopqrst uvwxyz 0123456789\n".repeat(100_000);
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "-"])
        .input(text.as_str())
        .run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let sent = server.wait_for_chat(1).body["messages"].clone();
    let sent = sent.as_array().expect("a list").last().expect("a message")["content"].clone();
    let sent = sent.as_str().expect("a text");
    assert!(
        sent.contains(text.trim_end()),
        "{} bytes were sent",
        sent.len()
    );
    let thread = outcome.thread_id();
    let shown = folkmoot(&home)
        .args(["thread", "show", "--json", &thread])
        .run()
        .json();
    let saved = shown["messages"][0]["content"].as_str().expect("a text");
    assert_eq!(saved.trim_end(), text.trim_end());
}

#[test]
fn control_characters_of_a_model_never_reach_the_terminal() {
    let script =
        "[[step]]\nreply = \"a\\u001b[31mred\\u001b]0;title\\u0007\\u0008\\u009b2J\\r\\nb\\tc\"\n";
    let server = ModelServer::play(script);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home).args(["ask", "hello"]).run();
    assert_eq!(outcome.stdout, "[Ann]\na[31mred]0;title2J\nb\tc\n");
    let json = folkmoot(&home).args(["ask", "--json", "hello"]).run();
    let content = json.reply("ann")["content"]
        .as_str()
        .expect("a text")
        .to_owned();
    assert!(
        content.starts_with("a\u{1b}[31mred"),
        "programs get what the model said: {content:?}"
    );
    assert!(!json.stdout.contains('\u{1b}'), "as JSON escapes");
    let shown = folkmoot(&home)
        .args(["thread", "show", &json.thread_id()])
        .run();
    assert!(
        !shown.stdout.contains(['\u{1b}', '\u{7}', '\u{9b}']),
        "{:?}",
        shown.stdout
    );
}

#[test]
fn control_characters_in_an_error_never_reach_the_terminal() {
    let script = "[[step]]\nstatus = 400\nbody = { error = { message = \"no\\u001b[2Jway\" } }\n";
    let server = ModelServer::play(script);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home).args(["ask", "hello"]).run();
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(outcome.stderr.contains("no[2Jway"), "{outcome}");
    assert!(!outcome.stderr.contains('\u{1b}'), "{:?}", outcome.stderr);
}

#[test]
fn one_seats_failure_does_not_keep_the_next_from_answering() {
    let script = r#"
        [[step]]
        model = "model-a"
        status = 400
        body = { error = { message = "I won't" } }
        [[step]]
        model = "model-b"
        reply = "I will"
    "#;
    let server = ModelServer::play(script);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "--to", "all", "hello"])
        .run();
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert_eq!(outcome.reply("ann")["status"], "error");
    assert_eq!(outcome.reply("bob")["status"], "complete");
    assert_eq!(outcome.event("done")["ok"], false);
    let text = folkmoot(&home).args(["ask", "--to", "all", "hello"]).run();
    assert_eq!(text.code, Some(1), "{text}");
    assert!(
        text.stderr.contains("folkmoot: Ann: ") && text.stderr.contains("I won't"),
        "{text}"
    );
}

#[test]
fn bonfire_makes_several_requests_and_one_reply() {
    let server = ModelServer::play("[[step]]\nreply = \"considered\"");
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "--bonfire", "--to", "ann", "hello"])
        .run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(
        server.chats().len() >= 4,
        "{} requests",
        server.chats().len()
    );
    assert_eq!(outcome.reply("ann")["content"], "considered");
    let shown = folkmoot(&home)
        .args(["thread", "show", "--json", &outcome.thread_id()])
        .run()
        .json();
    assert_eq!(shown["messages"].as_array().expect("a list").len(), 2);
}

#[test]
fn without_any_seat_the_demo_table_answers_and_says_what_it_is() {
    let home = DataFolder::new();
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "--to", "all", "hello"])
        .run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(
        outcome.reply("scout")["content"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
    );
    assert!(
        outcome.reply("critic")["content"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
    );
    let models = folkmoot(&home).args(["models"]).run();
    assert!(models.stdout.contains("scripted, not an AI"), "{models}");
}

#[test]
fn a_subscription_is_used_only_after_the_notice_was_accepted() {
    let server = ModelServer::play(
        "[[models]]\nid = \"claude-opus-4-8\"\nowned_by = \"anthropic\"\n[[step]]\nreply = \"hi\"",
    );
    let home = DataFolder::new();
    let proxy = server.base_url().replace("/v1", "");
    let settings = format!("[sidecar]\nexternal_url = \"{proxy}\"\n");
    std::fs::write(home.settings_path(), settings).expect("settings");
    let refused = folkmoot(&home).args(["ask", "--json", "hello"]).run();
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("terms of service"), "{refused}");
    assert!(server.chats().is_empty());
    let accepted = folkmoot(&home)
        .args(["ask", "--json", "--accept-terms-notice", "hello"])
        .run();
    assert_eq!(accepted.code, Some(0), "{accepted}");
    assert_eq!(accepted.reply("claude")["content"], "hi");
    let remembered = folkmoot(&home).args(["ask", "--json", "hello again"]).run();
    assert_eq!(remembered.code, Some(0), "{remembered}");
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure_that_says_why() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    for json in [&["--json"][..], &[]] {
        let outcome = folkmoot(&home)
            .args(["ask", "--to", "ann", "hello"])
            .args(json)
            .output_to(std::path::Path::new("/dev/full"))
            .run();
        assert_eq!(outcome.code, Some(1), "{outcome}");
        assert!(outcome.stderr.contains("could not be written"), "{outcome}");
    }
}

#[test]
fn nobody_named_and_lines_that_are_not_there_are_usage_errors() {
    let server = ModelServer::play(TWO_SEATS);
    let home = DataFolder::for_server(&server);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.rs"), "one\ntwo\n").expect("a file");
    for (args, why) in [
        (["--to", ""], "names nobody"),
        (["--to", "zoe"], "at the table: ann, bob"),
        (["--file", "a.rs:7-9"], "has 2 lines"),
        (["--file", "a.rs:2-1"], "are no range"),
        (["--file", "b.rs"], "b.rs"),
    ] {
        let outcome = folkmoot(&home)
            .in_folder(folder.path())
            .args(["ask"])
            .args(args)
            .args(["hello"])
            .run();
        assert_eq!(outcome.code, Some(2), "{args:?}: {outcome}");
        assert!(outcome.stderr.contains(why), "{args:?}: {outcome}");
    }
    assert!(server.chats().is_empty());
}
