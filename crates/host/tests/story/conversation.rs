//! Turns: who answers, what they are shown, stop, retry, errors, the queue, several threads.

use host::{Channel, Event, Intent, SendMessage};
use transcript::Status;

use crate::table::{Table, is_reply};

const TWO_SEATS: &str = r#"
[[step]]
model = "model-a"
reasoning = "SECRET-THOUGHT"
reply = "Ann's answer"
[[step]]
model = "model-b"
reply = "Bob's answer"
"#;

#[test]
fn the_second_seat_reads_the_first_ones_reply_and_thoughts_stay_private() {
    let table = Table::open(TWO_SEATS);
    table.say("@all hello");
    assert!(table.turn_ended());
    let asked = table.request(2);
    assert_eq!(asked[0].0, "system");
    assert!(asked[0].1.contains("Bob") && asked[0].1.contains("Ann"));
    assert_eq!(
        asked[1],
        (
            "user".into(),
            "[User] @all hello\n\n[Ann]: Ann's answer".into()
        )
    );
    table.say("@ann again");
    assert!(table.turn_ended());
    let asked = table.request(3);
    assert_eq!(asked[2], ("assistant".into(), "Ann's answer".into()));
    assert_eq!(
        asked[3],
        (
            "user".into(),
            "[Bob]: Bob's answer\n\n[User] @ann again".into()
        )
    );
    for nth in 1..=3 {
        assert!(!format!("{:?}", table.request(nth)).contains("SECRET-THOUGHT"));
    }
    assert!(
        table.server.mismatches().is_empty(),
        "{:?}",
        table.server.mismatches()
    );
}

#[test]
fn thoughts_stream_apart_and_are_found_again_in_the_journal() {
    let table = Table::open(TWO_SEATS);
    table.say("@ann hello");
    let thought = table.wait("a thought", |event| match event {
        Event::Delta(delta) if delta.channel == Channel::Reasoning => Some(delta.text.clone()),
        _ => None,
    });
    assert!("SECRET-THOUGHT".starts_with(&thought));
    assert!(table.turn_ended());
    let reply = table.fresh_snapshot().current.messages[1].id().clone();
    table.intent(Intent::ShowReasoning(table.thread(), reply));
    let thought = table.wait("the journal", |event| match event {
        Event::Reasoning(_, _, text) => Some(text.clone()),
        _ => None,
    });
    assert_eq!(thought, "SECRET-THOUGHT");
    let thread = std::fs::read_dir(table.home.path().join("threads")).unwrap();
    for file in thread
        .flatten()
        .filter(|f| !f.file_name().to_string_lossy().contains("journal"))
    {
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(!text.contains("SECRET-THOUGHT"), "{:?}", file.path());
    }
}

#[test]
fn stop_keeps_what_arrived_skips_the_rest_and_hangs_up() {
    let script = r#"
        [[step]]
        model = "model-a"
        reply = [{ content = "half " }, { gate = "never", content = "an answer" }]
        [[step]]
        model = "model-b"
        reply = "not asked"
    "#;
    let table = Table::open(script);
    table.say("@all go");
    table.wait("text", |event| {
        matches!(event, Event::Delta(_)).then_some(())
    });
    table.intent(Intent::Stop(table.thread()));
    assert!(!table.turn_ended());
    table
        .runtime
        .block_on(async {
            tokio::time::timeout(
                std::time::Duration::from_secs(30),
                table.server.wait_for_disconnect(1),
            )
            .await
        })
        .expect("the server sees the client go");
    let messages = table.messages();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!(
        messages[1],
        ("ann".into(), "half ".into(), Status::Cancelled)
    );
    assert_eq!(
        table
            .server
            .requests()
            .iter()
            .filter(|r| r.path.ends_with("completions"))
            .count(),
        1
    );
}

#[test]
fn an_error_is_shown_in_the_providers_words_and_the_next_seat_answers() {
    let script = r#"
        [[step]]
        model = "model-a"
        status = 429
        headers = { "Retry-After" = "7" }
        body = { error = { message = "The quota of this week is used up.", code = "quota" } }
        [[step]]
        model = "model-b"
        reply = "I can."
    "#;
    let table = Table::open(script);
    table.say("@all go");
    let (seat, wait_secs) = table.wait("the limit", |event| match event {
        Event::RateLimited { seat, wait_secs } => Some((seat.to_string(), *wait_secs)),
        _ => None,
    });
    assert_eq!((seat.as_str(), wait_secs), ("ann", 7));
    assert!(!table.turn_ended());
    let snapshot = table.fresh_snapshot();
    let messages = &snapshot.current.messages;
    assert_eq!(messages[1].status(), Status::Error);
    assert!(
        messages[1]
            .error()
            .unwrap()
            .contains("The quota of this week is used up.")
    );
    assert_eq!(messages[2].content(), "I can.");
}

#[test]
fn retry_keeps_a_partial_and_takes_an_empty_failure_back() {
    let script = r#"
        [[step]]
        nth = 1
        reply = "part"
        no_finish = true
        [[step]]
        nth = 2
        status = 400
        body = { error = { message = "no" } }
        [[step]]
        reply = "whole"
    "#;
    let table = Table::open(script);
    table.say("@ann go");
    assert!(!table.turn_ended());
    let first = table.fresh_snapshot().current.messages[1].clone();
    assert_eq!(
        (first.content(), first.status()),
        ("part", Status::Cancelled)
    );
    assert!(first.error().unwrap().starts_with("cut off"));
    table.intent(Intent::Retry(table.thread(), first.id().clone()));
    assert!(!table.turn_ended());
    let second = table.fresh_snapshot().current.messages[2].clone();
    assert_eq!(second.status(), Status::Error);
    table.intent(Intent::Retry(table.thread(), second.id().clone()));
    assert!(table.turn_ended());
    let messages = table.messages();
    assert_eq!(messages[1].1, "part");
    assert_eq!(messages[2].2, Status::Deleted);
    assert_eq!(
        (messages[3].1.as_str(), messages[3].2),
        ("whole", Status::Complete)
    );
}

#[test]
fn a_message_during_a_turn_waits_for_its_end() {
    let script = r#"
        [[step]]
        contains = "first"
        reply = [{ content = "one" }, { gate = "go", content = "!" }]
        [[step]]
        contains = "second"
        reply = "two"
    "#;
    let table = Table::open(script);
    table.say("@ann first");
    table.at_gate("go");
    table.say("@bob second");
    let waiting = table.wait("the queue", |event| match event {
        Event::Queue(_, queue) if !queue.waiting.is_empty() => Some(queue.waiting.len()),
        _ => None,
    });
    assert_eq!(waiting, 1);
    table.server.open_gate("go");
    assert!(table.turn_ended());
    assert!(table.turn_ended());
    let said: Vec<String> = table
        .messages()
        .into_iter()
        .map(|(_, text, _)| text)
        .collect();
    assert_eq!(said, ["@ann first", "one!", "@bob second", "two"]);
}

#[test]
fn a_stream_belongs_to_its_thread_and_goes_on_while_another_is_open() {
    let script = r#"
        [[step]]
        contains = "slow"
        reply = [{ content = "begun" }, { gate = "go", content = " and done" }]
        [[step]]
        contains = "quick"
        reply = "at once"
    "#;
    let table = Table::open(script);
    let first = table.thread();
    table.say("@ann slow");
    table.at_gate("go");
    table.intent(Intent::NewThread);
    let second = table.wait("the new thread", |event| match event {
        Event::ThreadOpened(thread) if thread.id != first => Some(thread.id.clone()),
        _ => None,
    });
    table.intent(Intent::Send(SendMessage::chat(
        second.clone(),
        "@bob quick",
    )));
    let ended = table.wait("the quick turn's end", |event| match event {
        Event::TurnEnded { thread, .. } => Some(thread.clone()),
        _ => None,
    });
    assert_eq!(ended, second);
    table.server.open_gate("go");
    let text = table.wait("the slow reply", |event| match event {
        Event::MessageChanged(thread, message) if is_reply(message) => {
            Some((thread.clone(), message.content().to_owned()))
        }
        _ => None,
    });
    assert_eq!(text, (first.clone(), "begun and done".into()));
    table.intent(Intent::SwitchThread(first.clone()));
    let thread = table.wait("the first thread", |event| match event {
        Event::ThreadOpened(thread) if thread.id == first => Some(thread.clone()),
        _ => None,
    });
    assert_eq!(thread.messages.len(), 2);
}

#[test]
fn editing_goes_on_in_a_fork_and_leaves_the_thread_as_it_was() {
    let table = Table::open("[[step]]\nreply = 'answer to {{user}}'");
    table.say("@ann one");
    assert!(table.turn_ended());
    table.say("@ann two");
    assert!(table.turn_ended());
    let first = table.thread();
    let resend = SendMessage {
        thread: None,
        ..SendMessage::chat(first.clone(), "@ann two, better")
    };
    table.intent(Intent::Fork {
        thread: first.clone(),
        last_shared: Some(1),
        resend: Some(Box::new(resend)),
    });
    assert!(table.turn_ended());
    let fork = table.fresh_snapshot().current;
    assert_ne!(fork.id, first);
    let said: Vec<&str> = fork.messages.iter().map(|m| m.content()).collect();
    assert_eq!(
        said,
        [
            "@ann one",
            "answer to @ann one",
            "@ann two, better",
            "answer to @ann two, better"
        ]
    );
    table.intent(Intent::SwitchThread(first.clone()));
    table.wait("the first thread", |event| {
        matches!(event, Event::ThreadOpened(thread) if thread.id == first).then_some(())
    });
    assert_eq!(table.messages()[2].1, "@ann two");
}

#[test]
fn what_the_model_saw_is_what_was_sent() {
    let table = Table::open(TWO_SEATS);
    table.say("@ann hello");
    assert!(table.turn_ended());
    let reply = table.fresh_snapshot().current.messages[1].id().clone();
    table.intent(Intent::Inspect {
        thread: table.thread(),
        message: reply,
    });
    let requests = table.wait("the inspection", |event| match event {
        Event::Inspection { requests, .. } => Some(requests.clone()),
        _ => None,
    });
    let seen = &requests[0];
    let shown: Vec<String> = seen.messages.iter().map(|m| m.content.clone()).collect();
    let sent: Vec<String> = table
        .request(1)
        .into_iter()
        .map(|(_, content)| content)
        .collect();
    assert_eq!(shown, sent);
    assert!(!seen.is_reconstructed);
    let sent = table.server.requests();
    let sent = sent.iter().rfind(|r| r.chat.is_some()).unwrap();
    for (name, value) in &seen.settings {
        assert_eq!(&sent.body[name], value);
    }
    assert_eq!(
        seen.settings.len() + 1,
        sent.body.as_object().unwrap().len()
    );
}

#[test]
fn an_empty_message_goes_back_with_the_reason() {
    let table = Table::open(TWO_SEATS);
    table.say("   \n ");
    let reason = table.wait("the refusal", |event| match event {
        Event::SendRefused { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert!(reason.contains("empty"));
    assert!(
        table
            .server
            .requests()
            .iter()
            .all(|r| !r.path.ends_with("completions"))
    );
}

#[test]
fn bonfire_asks_several_times_and_says_one_thing_and_all_of_it_can_be_seen_later() {
    let mut table = Table::open("[[step]]\nreply = 'thought about it'");
    let message = SendMessage {
        mode: conversation::SendMode::Bonfire,
        ..SendMessage::chat(table.thread(), "@ann hard")
    };
    table.intent(Intent::Send(message));
    assert!(table.turn_ended());
    let asked = table
        .server
        .requests()
        .iter()
        .filter(|r| r.path.ends_with("completions"))
        .count();
    assert_eq!(asked, conversation::bonfire::request_count());
    assert_eq!(table.messages().len(), 2);
    assert_eq!(table.messages()[1].1, "thought about it");

    table.restart();
    let thread = table.thread();
    let reply = table.snapshot.current.messages[1].id().clone();
    table.intent(Intent::ShowReasoning(thread.clone(), reply.clone()));
    let thoughts = table.wait("the thoughts", |event| match event {
        Event::Reasoning(_, _, text) => Some(text.clone()),
        _ => None,
    });
    for step in ["plan", "draft 1", "draft 2", "draft 3", "critique"] {
        let said = format!("**{step}**\n\nthought about it");
        assert!(thoughts.contains(&said), "{step}: {thoughts}");
    }
    table.intent(Intent::Inspect {
        thread,
        message: reply,
    });
    let requests = table.wait("what was asked", |event| match event {
        Event::Inspection { requests, .. } => Some(requests.clone()),
        _ => None,
    });
    assert_eq!(requests.len(), asked);
    let last = &requests[asked - 1];
    assert!(last.is_reconstructed);
    assert_eq!(last.purpose, "synthesis");
    let shown = &last.messages.last().unwrap().content;
    assert!(shown.contains("<draft-3>\nthought about it"), "{shown}");
    // What is shown is what was sent.
    let sent = table.server.requests();
    let sent = sent.iter().rfind(|r| r.chat.is_some()).unwrap();
    let messages = sent.body["messages"].as_array().unwrap();
    let sent: Vec<_> = messages.iter().map(|m| m["content"].as_str()).collect();
    let shown: Vec<_> = last.messages.iter().map(|m| Some(&*m.content)).collect();
    assert_eq!(sent, shown);
}
