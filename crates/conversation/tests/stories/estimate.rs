//! The estimate is what the prompt then measures.

use conversation::{Draft, PromptEstimator, PromptOptions, Seat, assemble};
use proptest::prelude::*;
use transcript::Timestamp;

use crate::prompt::{any_lines, any_seat, say};
use crate::record::{Record, block, seat};

fn table() -> Vec<Seat> {
    vec![seat("claude"), seat("gpt")]
}

proptest! {
    #[test]
    fn an_estimate_is_what_the_prompt_then_measures(
        lines in any_lines(),
        seats in prop::collection::vec(any_seat(), 1..3),
        draft in "[a-z漢]{0,40}",
        attached in prop::option::of("[a-z`]{0,20}"),
        soft_limit_chars in 200usize..4000,
    ) {
        let options = PromptOptions { soft_limit_chars, keep_recent: 3 };
        let blocks: Vec<_> = attached.iter().map(|content| block("a.rs", content)).collect();
        let draft = Draft { text: &draft, context_blocks: &blocks };
        let mut estimator = PromptEstimator::new();
        let mut record = Record::new();
        for (nth, line) in lines.iter().enumerate() {
            say(&mut record, line);
            let seat = &seats[nth % seats.len()];
            let estimate = estimator.estimate(&record.thread, draft, seat, &table(), &options);
            let mut sent = Record { thread: record.thread.clone() };
            match blocks.first() {
                Some(block) => drop(sent.user_with(draft.text, "a.rs", &block.content)),
                None => drop(sent.user(draft.text)),
            }
            let prompt = assemble(&sent.thread, seat, &table(), &options);
            prop_assert_eq!(estimate.chars, prompt.chars);
            prop_assert_eq!(estimate.over_budget, prompt.over_budget);
            prop_assert_eq!(estimate.dropped, prompt.dropped.len());
        }
    }
}

#[test]
fn a_growing_reply_counts_once_it_has_settled() {
    let mut record = Record::new();
    record.user("hi");
    let mut estimator = PromptEstimator::new();
    let mut chars = |record: &Record| {
        let options = PromptOptions::default();
        estimator
            .estimate(&record.thread, "next", &seat("claude"), &table(), &options)
            .chars
    };
    let before = chars(&record);
    let reply = record.streaming("gpt", "four");
    assert_eq!(chars(&record), before);
    record.thread.grow(&reply, "more").unwrap();
    assert_eq!(chars(&record), before);
    record
        .thread
        .settle(
            &reply,
            transcript::Settlement::complete(),
            Timestamp::UNIX_EPOCH,
        )
        .unwrap();
    assert_eq!(chars(&record), before + "[GPT]: fourmore".len());
}

#[test]
fn another_thread_is_measured_anew() {
    let mut estimator = PromptEstimator::new();
    let options = PromptOptions::default();
    let mut long = Record::new();
    long.user(&"x".repeat(1000));
    let short = transcript::Thread::new("other".into(), Timestamp::UNIX_EPOCH);
    let mut chars = |thread| {
        estimator
            .estimate(thread, "hi", &seat("claude"), &table(), &options)
            .chars
    };
    assert!(chars(&long.thread) > chars(&short) + 1000);
}

#[test]
fn tokens_are_estimated_by_script() {
    let mut estimator = PromptEstimator::new();
    let options = PromptOptions::default();
    let empty = transcript::Thread::new("t".into(), Timestamp::UNIX_EPOCH);
    let mut tokens = |draft: &str| {
        estimator
            .estimate(&empty, draft, &seat("claude"), &table(), &options)
            .approx_tokens
    };
    let base = tokens("x");
    assert_eq!(tokens(&"x".repeat(401)), base + 100);
    assert_eq!(tokens(&format!("x{}", "漢".repeat(100))), base + 100);
}
