//! `kill -9` at random moments of a streaming reply.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use folkmoot_tests::{DataFolder, ModelServer, folkmoot};
use serde_json::Value;

/// Children killed by each of the threads that work at once.
const ROUNDS: usize = 5;
const THREADS: usize = 4;
/// Words of the reply, and how many come in a second.
const WORDS: usize = 100;
const WORDS_PER_SECOND: usize = 40;
/// What was printed longer ago than this must be on the disk.
const LOSS: Duration = Duration::from_secs(1);

fn random_below(limit: usize) -> usize {
    (RandomState::new().hash_one(0u8) % limit as u64) as usize
}

fn reply() -> String {
    (0..WORDS).map(|n| format!("w{n:03} ")).collect()
}

/// Kills an `ask` after a random word; returns the thread, what was printed, and what of it must not be lost.
fn kill_at_a_random_word(home: &DataFolder, question: &str) -> (String, String, String) {
    let last_word = random_below(WORDS * 3 / 4);
    let mut asking = folkmoot(home).args(["ask", "--json", question]).start();
    let thread = asking.wait_for_event("thread")["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    asking.wait_for_event("start");
    let mut printed: Vec<(Instant, String)> = Vec::new();
    while printed.iter().map(|(_, text)| text.len()).sum::<usize>() < last_word * 5 {
        let delta = asking.wait_for_event("delta");
        printed.push((
            Instant::now(),
            delta["text"].as_str().expect("a text").to_owned(),
        ));
    }
    let killed = Instant::now();
    asking.kill();
    let outcome = asking.finish();
    assert_eq!(outcome.code, None, "it was killed, not ended: {outcome}");
    let all = printed.iter().map(|(_, text)| text.as_str()).collect();
    let old = printed
        .iter()
        .take_while(|(at, _)| *at + LOSS < killed)
        .map(|(_, text)| text.as_str());
    (thread, all, old.collect())
}

fn assert_all_load(home: &DataFolder, expected: &[(String, String, String)]) {
    let listed = folkmoot(home).args(["thread", "list", "--json"]).run();
    assert_eq!(
        (listed.code, listed.stderr.as_str()),
        (Some(0), ""),
        "{listed}"
    );
    for (thread, question, kept) in expected {
        let shown = folkmoot(home)
            .args(["thread", "show", "--json", thread])
            .run();
        assert_eq!(
            (shown.code, shown.stderr.as_str()),
            (Some(0), ""),
            "{shown}"
        );
        let messages = shown.json()["messages"].clone();
        assert_eq!(messages[0]["content"], question.as_str(), "{messages}");
        let partial = messages[1]["content"].as_str().unwrap_or_default();
        assert!(reply().starts_with(partial), "{partial}");
        assert!(
            partial.starts_with(kept.as_str()),
            "{} of {} bytes were kept",
            partial.len(),
            kept.len()
        );
        if messages[1] != Value::Null {
            assert_eq!(messages[1]["status"], "cancelled", "{messages}");
        }
    }
    assert_eq!(listed.json().as_array().map(Vec::len), Some(expected.len()));
}

#[test]
fn a_killed_ask_loses_no_message_and_little_of_a_reply() {
    let script = format!(
        "[[step]]\nreply = \"{}\"\nchunk_chars = 5\ntokens_per_second = {WORDS_PER_SECOND}\n",
        reply()
    );
    let server = ModelServer::play(&script);
    std::thread::scope(|scope| {
        for worker in 0..THREADS {
            let server = &server;
            scope.spawn(move || {
                let home = DataFolder::for_server(server);
                let mut expected = Vec::new();
                for round in 0..ROUNDS {
                    let question = format!("question {round} of {worker}");
                    let (thread, printed, kept) = kill_at_a_random_word(&home, &question);
                    assert!(reply().starts_with(&printed), "{printed}");
                    expected.push((thread, question, kept));
                    assert_all_load(&home, &expected);
                }
            });
        }
    });
}

#[test]
fn a_killed_ask_is_followed_by_one_that_works() {
    let server = ModelServer::play(
        "[[step]]\nnth = 1\nreply = [{ content = \"half\" }, { gate = \"never\" }]\n[[step]]\nreply = \"whole\"",
    );
    let home = DataFolder::for_server(&server);
    let mut asking = folkmoot(&home).args(["ask", "--json", "one"]).start();
    let thread = asking.wait_for_event("thread")["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    asking.wait_for_event("delta");
    asking.kill();
    asking.finish();
    let next = folkmoot(&home)
        .args(["ask", "--json", "--thread", &thread, "two"])
        .run();
    assert_eq!(
        next.code,
        Some(0),
        "the lock of the killed one is gone: {next}"
    );
    assert!(next.events_of("warning").is_empty(), "{next}");
    let prompt = server.wait_for_chat(2).body["messages"].to_string();
    assert!(prompt.contains("one") && prompt.contains("two"), "{prompt}");
}

#[test]
fn a_child_killed_while_it_starts_leaves_a_folder_that_opens() {
    let server = ModelServer::play("[[step]]\nreply = \"quick\"");
    let home = DataFolder::for_server(&server);
    for _ in 0..8 {
        let asking = folkmoot(&home).args(["ask", "--json", "hello"]).start();
        std::thread::sleep(Duration::from_millis(random_below(120) as u64));
        asking.kill();
        asking.finish();
        let listed = folkmoot(&home).args(["thread", "list", "--json"]).run();
        assert_eq!(
            (listed.code, listed.stderr.as_str()),
            (Some(0), ""),
            "{listed}"
        );
        for row in listed.json().as_array().expect("a list") {
            let id = row["id"].as_str().expect("an id");
            let shown = folkmoot(&home).args(["thread", "show", "--json", id]).run();
            assert_eq!(
                (shown.code, shown.stderr.as_str()),
                (Some(0), ""),
                "{shown}"
            );
            assert_eq!(shown.json()["messages"][0]["content"], "hello");
        }
    }
}
