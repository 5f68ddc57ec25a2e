//! The invariants of a thread hold after any sequence of changes, allowed or refused.

use proptest::prelude::*;
use transcript::{
    ContextBlock, FailureKind, Message, NewMessage, Role, Route, SeatId, Settlement, Status,
    Thread, ThreadError, ThreadId, Timestamp,
};

const SEATS: [&str; 4] = ["claude", "gpt", "user", "stranger"];

#[derive(Clone, Debug)]
enum Change {
    Seat(usize),
    Say(Role, usize, String),
    Grow(u8, String),
    Settle(u8, Status),
    Tombstone(u8),
    Rename(String),
    Fork(Option<u64>),
    SaveAndLoad,
}

fn change() -> impl Strategy<Value = Change> {
    let role = prop_oneof![Just(Role::User), Just(Role::Assistant), Just(Role::System)];
    let status = prop_oneof![
        Just(Status::Complete),
        Just(Status::Error),
        Just(Status::Cancelled),
        Just(Status::Streaming),
        Just(Status::Deleted),
    ];
    prop_oneof![
        2 => (0..SEATS.len()).prop_map(Change::Seat),
        6 => (role, 0..SEATS.len(), "\\PC{0,12}").prop_map(|(r, s, t)| Change::Say(r, s, t)),
        4 => (any::<u8>(), "\\PC{0,8}").prop_map(|(i, t)| Change::Grow(i, t)),
        4 => (any::<u8>(), status).prop_map(|(i, s)| Change::Settle(i, s)),
        2 => any::<u8>().prop_map(Change::Tombstone),
        1 => "\\PC{0,20}".prop_map(Change::Rename),
        1 => proptest::option::of(0u64..20).prop_map(Change::Fork),
        1 => Just(Change::SaveAndLoad),
    ]
}

/// A message by position from the end, so that changes often hit the live one.
fn pick(thread: &Thread, nth: u8) -> transcript::MessageId {
    let messages = thread.messages();
    match messages.len() {
        0 => "none".into(),
        len => messages[len - 1 - (usize::from(nth) % len)].id().clone(),
    }
}

fn apply(thread: &mut Thread, change: Change, step: usize) -> Result<(), ThreadError> {
    let now = Timestamp::from_millis(step as i64);
    match change {
        Change::Seat(i) => thread.seat(&SEATS[i].into()),
        Change::Say(role, i, content) => {
            let speaker: SeatId = match role {
                Role::User => "user".into(),
                Role::System => "system".into(),
                Role::Assistant => SEATS[i].into(),
            };
            let new = NewMessage {
                role,
                speaker,
                ..NewMessage::user(content)
            };
            thread.append(new, format!("m{step}").into(), now).map(drop)
        }
        Change::Grow(i, text) => thread.grow(&pick(thread, i), &text),
        Change::Settle(i, status) => {
            let end = Settlement {
                status,
                ..Settlement::complete()
            };
            thread.settle(&pick(thread, i), end, now).map(drop)
        }
        Change::Tombstone(i) => thread.tombstone(&pick(thread, i), now).map(drop),
        Change::Rename(title) => {
            thread.rename(&title, now);
            Ok(())
        }
        Change::Fork(at) => {
            *thread = thread.fork(at, ThreadId::from(format!("t{step}")), now);
            Ok(())
        }
        Change::SaveAndLoad => {
            let text = serde_json::to_string(thread).unwrap();
            *thread = serde_json::from_str(&text).unwrap();
            Ok(())
        }
    }
}

fn check(thread: &Thread) {
    for (place, message) in thread.messages().iter().enumerate() {
        assert_eq!(message.seq(), place as u64);
        let live = message.status() == Status::Streaming;
        assert!(
            !live || place + 1 == thread.messages().len(),
            "only the last may stream"
        );
        match message.role() {
            Role::Assistant => assert!(thread.participants().contains(message.speaker())),
            Role::User => assert_eq!(message.speaker().as_str(), "user"),
            Role::System => assert_eq!(message.speaker().as_str(), "system"),
        }
        assert!(message.status() != Status::Deleted || message.content().is_empty());
        assert_eq!(
            thread.message(message.id()).map(|m| m.seq()),
            Some(message.seq())
        );
    }
    let text = serde_json::to_string(thread).unwrap();
    assert!(!text.contains(r#""status":"streaming""#));
    let loaded: Thread = serde_json::from_str(&text).unwrap();
    let settled = thread
        .messages()
        .iter()
        .filter(|m| m.status().is_terminal())
        .count();
    assert_eq!(loaded.messages().len(), settled);
    assert_eq!(loaded.messages(), &thread.messages()[..settled]);
}

proptest! {
    #[test]
    fn invariants_hold_after_any_changes(changes in proptest::collection::vec(change(), 0..40)) {
        let mut thread = Thread::new("t".into(), Timestamp::UNIX_EPOCH);
        for (step, change) in changes.into_iter().enumerate() {
            let before = thread.clone();
            if apply(&mut thread, change, step).is_err() {
                assert_eq!(thread, before, "a refused change changes nothing");
            }
            check(&thread);
        }
    }

    #[test]
    fn reading_arbitrary_text_never_panics(text in "\\PC{0,200}") {
        let _ = serde_json::from_str::<Thread>(&text);
        let _ = serde_json::from_str::<Message>(&text);
    }
}

#[test]
fn a_file_of_other_writers_survives_load_and_save() {
    let text = r##"{"version":1,"id":"t","title":"T","createdAt":"2026-01-01T00:00:00.000Z",
        "updatedAt":"2026-01-02T00:00:00.000Z","participants":["claude"],"pinned":{"by":"x"},
        "messages":[{"id":"a","seq":0,"role":"user","speaker":"user","content":"hi",
          "contextBlocks":[{"kind":"selection","path":"src/a.rs","range":[10,42],"content":"x","lang":"rust"}],
          "targets":["claude"],"status":"complete","createdAt":"2026-01-01T00:00:00.000Z","stars":3},
         {"id":"b","seq":1,"role":"assistant","speaker":"claude","content":"ho","status":"complete",
          "usage":{"inputTokens":3,"outputTokens":4,"cachedTokens":2},
          "route":{"endpoint":"keyed","model":"m","region":"eu"},"createdAt":"2026-01-01T00:00:01.000Z"},
         {"id":"c","seq":2,"role":"assistant","speaker":"claude","content":"","status":"error","error":"no",
          "failure":"context-full","createdAt":"2026-01-01T00:00:02.000Z"},
         {"id":"d","seq":3,"role":"assistant","speaker":"claude","content":"","status":"error","error":"no",
          "failure":"of-a-later-version","createdAt":"2026-01-01T00:00:03.000Z"}]}"##;
    let thread: Thread = serde_json::from_str(text).unwrap();
    let failures: Vec<_> = thread.messages().iter().map(|m| m.failure()).collect();
    assert_eq!(failures, [None, None, Some(FailureKind::ContextFull), None]);
    let again = serde_json::to_value(&thread).unwrap();
    assert_eq!(
        again,
        serde_json::from_str::<serde_json::Value>(text).unwrap()
    );
}

#[test]
fn a_message_found_streaming_was_cut_by_a_crash() {
    let text = r#"{"version":1,"id":"t","createdAt":"2026-01-01T00:00:00Z","messages":[
        {"id":"b","seq":0,"role":"assistant","speaker":"gpt","content":"half","status":"streaming",
         "createdAt":"2026-01-01T00:00:01Z"}]}"#;
    let thread: Thread = serde_json::from_str(text).unwrap();
    assert_eq!(thread.messages()[0].status(), Status::Cancelled);
    assert_eq!(thread.messages()[0].content(), "half");
    assert_eq!(thread.participants(), &["gpt".into()]);
}

#[test]
fn broken_files_are_refused_with_the_reason() {
    let with = |version: u8, messages: &str| {
        let text = format!(
            r#"{{"version":{version},"id":"t","createdAt":"2026-01-01T00:00:00Z","messages":[{messages}]}}"#
        );
        serde_json::from_str::<Thread>(&text)
            .unwrap_err()
            .to_string()
    };
    let message = |id: &str, seq: u8| {
        format!(
            r#"{{"id":"{id}","seq":{seq},"role":"user","speaker":"user","content":"","status":"complete",
            "createdAt":"2026-01-01T00:00:00Z"}}"#
        )
    };
    assert!(with(2, "").contains("version 2 is not known"));
    assert!(with(1, &message("a", 1)).contains("message number 1 stands where 0 should"));
    let twice = format!("{},{}", message("a", 0), message("a", 1));
    assert!(with(1, &twice).contains("occurs twice"));
}

#[test]
fn a_fork_shares_the_past_and_leaves_a_streaming_reply_behind() {
    let now = Timestamp::UNIX_EPOCH;
    let mut thread = Thread::new("t".into(), now);
    thread.seat(&"claude".into()).unwrap();
    let block = ContextBlock {
        kind: transcript::BlockKind::File,
        path: "a.rs".into(),
        range: None,
        content: "fn main() {}".into(),
        extra: serde_json::Map::new(),
    };
    let asked = NewMessage {
        context_blocks: vec![block],
        ..NewMessage::user("# Why?\nreally")
    };
    thread.append(asked, "m0".into(), now).unwrap();
    let route = Route {
        endpoint: "keyed".into(),
        model: "m".into(),
        extra: serde_json::Map::new(),
    };
    thread
        .append(NewMessage::reply("claude".into(), route), "m1".into(), now)
        .unwrap();
    thread.grow(&"m1".into(), "Because").unwrap();
    let fork = thread.fork(Some(1), "f".into(), now);
    assert_eq!(fork.messages(), &thread.messages()[..1]);
    assert_eq!(
        fork.forked_from().map(|o| (o.thread_id.as_str(), o.seq)),
        Some(("t", 0))
    );
    assert_eq!(fork.title(), "Why?");
    assert_eq!(
        thread.messages()[1].as_interrupted().status(),
        Status::Cancelled
    );
}
