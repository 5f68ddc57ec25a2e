//! What a seat is shown.

use conversation::{Prompt, PromptOptions, PromptRole, Seat, assemble, assemble_without};
use proptest::prelude::*;
use transcript::{MessageId, Role, Settlement, Status};

use crate::record::{Record, seat};

const MARKER: &str = "[System] Earlier messages omitted for length.";

fn table() -> Vec<Seat> {
    vec![seat("claude"), seat("gpt")]
}

fn shown_to(record: &Record, seat: &Seat) -> Prompt {
    assemble(&record.thread, seat, &table(), &PromptOptions::default())
}

/// The prompt without its system message, one line a message: role, then text.
fn lines(prompt: &Prompt) -> Vec<String> {
    assert_eq!(prompt.messages[0].role, PromptRole::System);
    prompt.messages[1..]
        .iter()
        .map(|m| format!("{:?} {}", m.role, m.content))
        .collect()
}

#[test]
fn each_seat_sees_its_own_words_as_the_assistants_and_all_others_labelled() {
    let mut record = Record::new();
    record.user("Who are you?");
    record.reply("claude", "I am one.");
    record.reply("gpt", "I am another.");
    record.user("Thanks");
    assert_eq!(
        lines(&shown_to(&record, &table()[0])),
        [
            "User [User] Who are you?",
            "Assistant I am one.",
            "User [GPT]: I am another.",
            "User [User] Thanks",
        ]
    );
    assert_eq!(
        lines(&shown_to(&record, &table()[1])),
        [
            "User [User] Who are you?",
            "User [CLAUDE]: I am one.",
            "Assistant I am another.",
            "User [User] Thanks",
        ]
    );
}

#[test]
fn two_seats_with_one_model_and_one_name_keep_apart() {
    let mut twins = vec![seat("a"), seat("b")];
    for twin in &mut twins {
        twin.display_name = "Claude".into();
    }
    let mut record = Record::new();
    record.user("hi");
    record.reply("a", "from a");
    record.reply("b", "from b");
    let prompt = assemble(&record.thread, &twins[1], &twins, &PromptOptions::default());
    assert_eq!(
        lines(&prompt)[1..3],
        ["User [Claude (a)]: from a", "Assistant from b"]
    );
    assert!(
        prompt.messages[0]
            .content
            .starts_with("You are Claude (b),")
    );
}

#[test]
fn the_system_message_names_the_seat_its_company_and_its_instructions() {
    let mut seats = vec![seat("claude"), seat("gpt"), seat("off")];
    seats[0].system_prompt = "Be brief.\n".into();
    seats[2].enabled = false;
    let record = Record::new();
    let prompt = assemble(&record.thread, &seats[0], &seats, &PromptOptions::default());
    let system = &prompt.messages[0].content;
    assert!(system.starts_with("You are CLAUDE,"));
    assert!(system.contains("The other participants: GPT."));
    assert!(system.ends_with("\n\nBe brief."));
}

#[test]
fn attachments_follow_the_persons_words_in_fences_they_cannot_close() {
    let mut record = Record::new();
    record.user_with("Look", "src/a.md", "```\ncode\n```");
    record.user_with("", "b.rs", "x");
    assert_eq!(
        lines(&shown_to(&record, &table()[0])),
        [
            "User [User] Look\n\nsrc/a.md:10-42\n````\n```\ncode\n```\n````",
            "User [User]\n\nb.rs:10-42\n```\nx\n```",
        ]
    );
}

#[test]
fn notes_follow_the_system_message_or_stay_in_place_as_the_users() {
    let mut record = Record::new();
    record.user("hi");
    record.note("We use tabs.");
    record.user("ok?");
    assert_eq!(
        lines(&shown_to(&record, &table()[0])),
        ["System We use tabs.", "User [User] hi", "User [User] ok?"]
    );
    let strict = Seat {
        single_system_message: true,
        ..seat("claude")
    };
    assert_eq!(
        lines(&shown_to(&record, &strict)),
        [
            "User [User] hi",
            "User [System] We use tabs.",
            "User [User] ok?"
        ]
    );
}

#[test]
fn partial_replies_are_shown_and_empty_deleted_or_streaming_ones_are_not() {
    let mut record = Record::new();
    let taken_back = record.user("taken back");
    record.user("hi");
    record.reply_ended("claude", "half a", Settlement::cancelled(None));
    record.reply_ended("gpt", "half b", Settlement::error("500"));
    record.reply_ended("gpt", "", Settlement::error("429"));
    record.user("go on");
    record.streaming("gpt", "not yet");
    record.delete(&taken_back);
    assert_eq!(
        lines(&shown_to(&record, &table()[0])),
        [
            "User [User] hi",
            "Assistant half a",
            "User [GPT]: half b",
            "User [User] go on",
        ]
    );
}

#[test]
fn strict_endpoints_get_alternating_roles_that_begin_with_the_user() {
    let strict = Seat {
        merge_same_role: true,
        single_system_message: true,
        ..seat("claude")
    };
    let mut record = Record::new();
    let first = record.user("first");
    record.reply("claude", "a");
    record.reply("claude", "b");
    record.reply("gpt", "c");
    record.user("d");
    record.delete(&first);
    let prompt = shown_to(&record, &strict);
    assert_eq!(
        lines(&prompt),
        [
            "User [System] The conversation begins here.",
            "Assistant a\n\nb",
            "User [GPT]: c\n\n[User] d",
        ]
    );
    assert_eq!(prompt.chars, total_chars(&prompt));
}

#[test]
fn a_prompt_that_ends_with_the_seats_own_words_asks_for_its_turn() {
    let mut record = Record::new();
    record.user("hi");
    record.reply("claude", "hello");
    assert_eq!(
        lines(&shown_to(&record, &table()[0])).last().unwrap(),
        "User [System] It is your turn, CLAUDE."
    );
}

#[test]
fn a_retry_does_not_see_the_attempts_it_makes_good() {
    let mut record = Record::new();
    record.user("hi");
    let failed = record.reply_ended("claude", "half", Settlement::error("500"));
    record.reply("gpt", "hello");
    let prompt = assemble_without(
        &record.thread,
        &table()[0],
        &table(),
        &PromptOptions::default(),
        &[failed],
    );
    assert_eq!(lines(&prompt), ["User [User] hi", "User [GPT]: hello"]);
}

#[test]
fn what_is_too_long_loses_its_oldest_messages_to_one_marker() {
    let mut record = Record::new();
    let all: Vec<MessageId> = (0..40)
        .map(|nth| record.user(&format!("{nth:03} {}", "x".repeat(93))))
        .collect();
    let options = PromptOptions {
        soft_limit_chars: 3000,
        keep_recent: 8,
    };
    let prompt = assemble(&record.thread, &seat("claude"), &table(), &options);
    assert!(prompt.chars <= 3000 && !prompt.over_budget);
    assert_eq!(prompt.dropped, all[..prompt.dropped.len()]);
    let markers = prompt.messages.iter().filter(|m| m.content == MARKER);
    assert_eq!(markers.count(), 1);
    assert_eq!(prompt.messages[1].content, MARKER);
    assert_eq!(prompt.messages[1].role, PromptRole::System);
    assert!(prompt.messages.last().unwrap().content.contains(" 039 "));
    assert_eq!(prompt.messages.len(), 2 + 40 - prompt.dropped.len());
}

#[test]
fn the_latest_messages_stay_even_over_the_budget() {
    let mut record = Record::new();
    for _ in 0..10 {
        record.user(&"x".repeat(500));
    }
    let options = PromptOptions {
        soft_limit_chars: 1000,
        keep_recent: 4,
    };
    let prompt = assemble(&record.thread, &seat("claude"), &table(), &options);
    assert!(prompt.over_budget);
    assert_eq!(prompt.dropped.len(), 6);
    assert_eq!(prompt.messages.len(), 2 + 4);
}

#[test]
fn a_small_window_limits_more_than_the_characters_do() {
    let mut record = Record::new();
    for _ in 0..40 {
        record.user(&"漢".repeat(100));
    }
    let small = Seat {
        context_window_tokens: Some(2000),
        ..seat("claude")
    };
    assert!(shown_to(&record, &seat("claude")).dropped.is_empty());
    let prompt = shown_to(&record, &small);
    assert!(!prompt.dropped.is_empty() && !prompt.over_budget);
}

#[test]
fn the_beginning_of_a_prompt_stays_the_same_for_many_turns() {
    let mut record = Record::new();
    let options = PromptOptions {
        soft_limit_chars: 20_000,
        keep_recent: 8,
    };
    let mut before: Option<Prompt> = None;
    let mut drops = 0;
    for turn in 0..400 {
        record.user(&format!("question {turn} {}", "x".repeat(80)));
        let prompt = assemble(&record.thread, &table()[0], &table(), &options);
        assert!(!prompt.over_budget);
        if let Some(before) = before {
            if before.dropped == prompt.dropped {
                assert!(prompt.messages.starts_with(&before.messages), "turn {turn}");
            } else {
                drops += 1;
            }
        }
        before = Some(prompt);
        record.reply("claude", &format!("answer {turn} {}", "y".repeat(120)));
        record.reply("gpt", &format!("answer {turn} {}", "z".repeat(120)));
    }
    // 400 turns of about 350 characters through a room of about 19,000, half of which is freed each time.
    assert!((10..=20).contains(&drops), "{drops} drops");
}

fn total_chars(prompt: &Prompt) -> usize {
    prompt
        .messages
        .iter()
        .map(|m| m.content.chars().count())
        .sum()
}

/// How a random thread grows.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    User(String),
    Attached(String, String),
    Note(String),
    Reply(usize, String, Status),
    Delete(usize),
}

pub(crate) fn any_lines() -> impl Strategy<Value = Vec<Line>> {
    let text = "[a-z漢é`\n ]{0,60}";
    let status = prop::sample::select(vec![Status::Complete, Status::Error, Status::Cancelled]);
    let line = prop_oneof![
        3 => text.prop_map(Line::User),
        1 => (text, text).prop_map(|(t, b)| Line::Attached(t, b)),
        1 => text.prop_map(Line::Note),
        5 => (0usize..3, text, status).prop_map(|(s, t, e)| Line::Reply(s, t, e)),
        1 => (0usize..30).prop_map(Line::Delete),
    ];
    prop::collection::vec(line, 0..40)
}

pub(crate) fn say(record: &mut Record, line: &Line) {
    match line {
        Line::User(text) => drop(record.user(text)),
        Line::Attached(text, content) => drop(record.user_with(text, "p.rs", content)),
        Line::Note(text) => drop(record.note(text)),
        Line::Reply(who, text, status) => {
            let end = Settlement {
                status: *status,
                ..Settlement::complete()
            };
            record.reply_ended(["claude", "gpt", "departed"][*who], text, end);
        }
        Line::Delete(nth) => {
            if let Some(message) = record.thread.messages().get(*nth).cloned() {
                record.delete(message.id());
            }
        }
    }
}

pub(crate) fn any_seat() -> impl Strategy<Value = Seat> {
    let window = prop::option::of(100u64..2000);
    (any::<bool>(), any::<bool>(), window).prop_map(|(merge, single, window)| Seat {
        merge_same_role: merge,
        single_system_message: single,
        context_window_tokens: window,
        ..seat("claude")
    })
}

proptest! {
    #[test]
    fn any_thread_makes_a_well_formed_prompt(
        lines in any_lines(),
        seat in any_seat(),
        soft_limit_chars in 200usize..4000,
        keep_recent in 0usize..6,
    ) {
        let mut record = Record::new();
        for line in &lines {
            say(&mut record, line);
        }
        let options = PromptOptions { soft_limit_chars, keep_recent };
        let prompt = assemble(&record.thread, &seat, &table(), &options);

        prop_assert_eq!(prompt.chars, total_chars(&prompt));
        prop_assert_eq!(prompt.messages[0].role, PromptRole::System);
        prop_assert_eq!(prompt.messages.last().unwrap().role, PromptRole::User);
        let systems = prompt.messages.iter().filter(|m| m.role == PromptRole::System).count();
        let after_systems = &prompt.messages[systems..];
        prop_assert!(after_systems.iter().all(|m| m.role != PromptRole::System));
        if seat.single_system_message {
            prop_assert_eq!(systems, 1);
        }
        if seat.merge_same_role {
            prop_assert!(prompt.messages.windows(2).all(|pair| pair[0].role != pair[1].role));
            prop_assert_eq!(after_systems[0].role, PromptRole::User);
        }

        // What can be seen is what was dropped and what is shown, and the latest are among the shown.
        let visible: Vec<_> = record
            .thread
            .messages()
            .iter()
            .filter(|m| m.is_shared_context())
            .collect();
        let (dropped, kept) = visible.split_at(prompt.dropped.len());
        prop_assert!(dropped.iter().map(|m| m.id()).eq(&prompt.dropped));
        prop_assert!(dropped.is_empty() || kept.len() >= keep_recent.max(1));
        // Too long only where nothing more may go; an opener or a cue may exceed the soft limit by their length.
        prop_assert!(prompt.over_budget || prompt.chars <= soft_limit_chars + 90);
        prop_assert!(!prompt.over_budget || kept.len() <= keep_recent.max(1));
        let markers: usize = prompt.messages.iter().map(|m| m.content.matches(MARKER).count()).sum();
        prop_assert_eq!(markers, usize::from(!dropped.is_empty()));
        let own = |m: &&&std::sync::Arc<transcript::Message>| {
            m.role() == Role::Assistant && m.speaker() == &seat.id
        };
        for message in kept {
            let role = match message.role() {
                _ if own(&message) => PromptRole::Assistant,
                Role::System if !seat.single_system_message => PromptRole::System,
                _ => PromptRole::User,
            };
            prop_assert!(
                prompt.messages.iter().any(|m| m.role == role && m.content.contains(message.content()))
            );
        }
    }

    #[test]
    fn between_two_drops_a_prompt_only_grows_at_its_end(
        lines in any_lines(),
        single in any::<bool>(),
    ) {
        let seat = Seat { single_system_message: single, ..seat("claude") };
        let options = PromptOptions { soft_limit_chars: 1600, keep_recent: 2 };
        let mut record = Record::new();
        for line in &lines {
            let before = assemble(&record.thread, &seat, &table(), &options);
            say(&mut record, line);
            let after = assemble(&record.thread, &seat, &table(), &options);
            let appended = !matches!(line, Line::Delete(_))
                && (single || !matches!(line, Line::Note(_)));
            if appended && before.dropped == after.dropped {
                // A cue at the end gives way to what is said next.
                let is_cue = |m: &conversation::PromptMessage| m.content.starts_with("[System] It is your turn");
                let settled = before.messages.iter().filter(|m| !is_cue(m)).count();
                prop_assert_eq!(&after.messages[..settled], &before.messages[..settled]);
            }
        }
    }
}
