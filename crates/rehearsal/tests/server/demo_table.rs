//! A newcomer's conversation with the demo table.

use crate::client::{Client, Response};
use rehearsal::{Options, Rehearsal, Script};
use serde_json::{Value, json};

async fn demo() -> Rehearsal {
    let facts = [
        ("folder", "moot"),
        ("file_count", "412"),
        ("line_count", "38,000"),
        ("top_languages", "Rust, TOML"),
        ("readme_first_line", "A table for many"),
        ("largest_files", "src/main.rs, src/list.rs"),
        ("entry_points", "src/main.rs"),
    ];
    let facts = facts.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let options = Options {
        facts: facts.into(),
        strict: false,
        ..Options::default()
    };
    Rehearsal::start(script_at_once(), options)
        .await
        .expect("a port is free")
}

fn request(seat: &str, messages: &[Value]) -> Value {
    let mut all = vec![json!({
        "role": "system",
        "content": format!("You are {seat}, one of several AI assistants in a shared group conversation."),
    })];
    all.extend_from_slice(messages);
    json!({ "model": format!("demo-{}", seat.to_lowercase()), "messages": all })
}

async fn ask(rehearsal: &Rehearsal, seat: &str, messages: &[Value]) -> Response {
    let mut client = Client::connect(rehearsal.addr()).await;
    client.send_chat(&request(seat, messages)).await;
    client.response().await
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": format!("[User] {text}") })
}

async fn say(rehearsal: &Rehearsal, seat: &str, text: &str) -> String {
    let mut answer = ask(rehearsal, seat, &[user(text)]).await.json();
    let content = answer["choices"][0]["message"]["content"].take();
    content.as_str().expect("a content").to_owned()
}

/// The script without its pace, which no test needs to sit through.
fn script_at_once() -> Script {
    let text = include_str!("../../../../assets/rehearsal/demo.toml");
    let text: String = text
        .lines()
        .filter(|line| !line.starts_with("tokens_per_second"))
        .flat_map(|line| [line, "\n"])
        .collect();
    Script::parse(&text).expect("the script is well formed")
}

#[tokio::test]
async fn two_seats_are_listed() {
    let rehearsal = demo().await;
    let list = crate::client::get(&rehearsal, "/v1/models").await.json();
    let ids: Vec<&str> = list["data"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|m| m["id"].as_str())
        .collect();
    assert_eq!(ids, ["demo-scout", "demo-critic"]);
}

#[tokio::test]
async fn scout_answers_what_newcomers_ask_from_the_facts() {
    let rehearsal = demo().await;
    let questions = [
        ("hello", "You've opened `moot` with 412 files"),
        ("what is this project?", "38,000 lines, mostly Rust, TOML"),
        ("Hi @scout, explain this folder", "> A table for many"),
        ("how do I run it?", "cargo run"),
        (
            "where should I start reading?",
            "Where most of it is:** src/main.rs, src/list.rs",
        ),
        ("which are the largest files", "src/list.rs"),
        ("@scout show me some code", "```rust"),
        ("show me a table", "| Files | 412 |"),
        ("are you a real AI?", "scripted, not an AI"),
        ("help", "Worth trying"),
        ("be slow please", "**Stop**"),
        ("thanks!", "You're welcome"),
        ("sing a song", "I've no scripted answer to “sing a song”"),
    ];
    for (question, expected) in questions {
        let answer = say(&rehearsal, "Scout", question).await;
        assert!(answer.contains(expected), "{question}: {answer}");
        assert!(
            !answer.contains("{{") && !answer.contains("(unknown)"),
            "{question}: {answer}"
        );
    }
    assert_eq!(rehearsal.mismatches(), [""; 0]);
}

#[tokio::test]
async fn critic_answers_alone_and_thinks_first() {
    let rehearsal = demo().await;
    for (question, expected) in [
        ("hello", "the demo's second seat"),
        ("what is this project?", "Three questions I'd put to `moot`"),
        ("how do I run it?", "run the tests"),
        ("show me some code", "```rust"),
        ("who are you?", "the second demo seat"),
        ("thank you", "No objections"),
        ("sing a song", "isn't in my script"),
    ] {
        let answer = ask(&rehearsal, "Critic", &[user(question)]).await.json();
        let message = &answer["choices"][0]["message"];
        let content = message["content"].as_str().expect("a content");
        assert!(content.contains(expected), "{question}: {content}");
        assert!(message["reasoning_content"].is_string(), "{question}");
    }
}

#[tokio::test]
async fn critic_refers_to_what_scout_said() {
    let rehearsal = demo().await;
    for question in [
        "@all hi",
        "@all what is this project?",
        "@all how do I run it?",
        "@all show me code",
        "@all sing",
    ] {
        let scout = say(&rehearsal, "Scout", question).await;
        let said = json!({ "role": "user", "content": format!("[Scout]: {scout}") });
        let mut answer = ask(&rehearsal, "Critic", &[user(question), said])
            .await
            .json();
        let content = answer["choices"][0]["message"]["content"].take();
        let content = content.as_str().expect("a content");
        assert!(content.contains("Scout"), "{question}: {content}");
    }
}

#[tokio::test]
async fn an_asked_for_error_can_be_retried() {
    let rehearsal = demo().await;
    let ask_for_error = [user("@scout show an error")];
    for _ in 0..2 {
        let refused = ask(&rehearsal, "Scout", &ask_for_error).await;
        assert_eq!(
            (refused.status, refused.header("retry-after")),
            (429, Some("5"))
        );
        assert_eq!(ask(&rehearsal, "Scout", &ask_for_error).await.status, 200);
    }
}

#[tokio::test]
async fn without_facts_the_seats_say_that_they_do_not_know() {
    let options = Options {
        strict: false,
        ..Options::default()
    };
    let rehearsal = Rehearsal::start(script_at_once(), options)
        .await
        .expect("a port is free");
    for question in [
        "hello",
        "what is this project?",
        "how do I run it?",
        "where do I start?",
        "show me some code",
    ] {
        for seat in ["Scout", "Critic"] {
            let answer = say(&rehearsal, seat, question).await;
            assert!(
                !answer.contains("(unknown)"),
                "{seat}, {question}: {answer}"
            );
        }
    }
}
