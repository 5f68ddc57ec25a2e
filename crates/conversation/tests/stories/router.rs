//! Who responds to a message.

use conversation::{MentionKind, RouterMode, RoutingReason, Seat, mentions, route};
use proptest::prelude::*;
use transcript::SeatId;

use crate::record::{Record, ids, seat};

fn seats() -> Vec<Seat> {
    let mut seats = vec![seat("claude"), seat("gpt"), seat("gemini"), seat("local")];
    seats[2].enabled = false;
    seats
}

fn manual(record: &Record, text: &str) -> (Vec<SeatId>, RoutingReason) {
    let routing = route(&record.thread, text, &seats(), None, RouterMode::Manual);
    (routing.responders, routing.reason)
}

#[test]
fn mentioned_seats_answer_in_order_of_mention_each_once() {
    let record = Record::new();
    let routing = manual(&record, "@gpt first, then @Claude, then @GPT again");
    assert_eq!(routing, (ids(["gpt", "claude"]), RoutingReason::Mentioned));
}

#[test]
fn all_supersedes_other_mentions_and_follows_the_tables_order() {
    let record = Record::new();
    let routing = manual(&record, "@local and @all");
    assert_eq!(
        routing,
        (ids(["claude", "gpt", "local"]), RoutingReason::All)
    );
}

#[test]
fn a_mention_of_nobody_falls_through_and_is_reported_once() {
    let record = Record::new();
    let text = "@nobody @gemini @nobody hello";
    let routing = route(
        &record.thread,
        text,
        &seats(),
        Some(&"local".into()),
        RouterMode::Manual,
    );
    assert_eq!(routing.responders, ids(["local"]));
    assert_eq!(routing.reason, RoutingReason::Selected);
    assert_eq!(routing.unknown_mentions, ["nobody", "gemini"]);
}

#[test]
fn without_a_selection_the_seat_addressed_last_answers() {
    let mut record = Record::new();
    assert_eq!(
        manual(&record, "hello"),
        (ids(["claude"]), RoutingReason::FirstSeat)
    );
    record.user_to("@gpt hello", &["gpt"]);
    record.reply("gpt", "hi");
    assert_eq!(
        manual(&record, "and?"),
        (ids(["gpt"]), RoutingReason::LastAddressed)
    );
    record.user_to("@gemini", &["gemini"]);
    assert_eq!(
        manual(&record, "and?"),
        (ids(["gpt"]), RoutingReason::LastAddressed)
    );
}

#[test]
fn a_selection_that_is_switched_off_does_not_count() {
    let record = Record::new();
    let off = SeatId::from("gemini");
    let routing = route(
        &record.thread,
        "hello",
        &seats(),
        Some(&off),
        RouterMode::Manual,
    );
    assert_eq!(routing.responders, ids(["claude"]));
}

#[test]
fn round_robin_goes_on_after_the_last_speaker_and_skips_who_is_off() {
    let mut record = Record::new();
    let next = |record: &Record| {
        let selected = SeatId::from("claude");
        route(
            &record.thread,
            "go on",
            &seats(),
            Some(&selected),
            RouterMode::RoundRobin,
        )
        .responders
    };
    assert_eq!(next(&record), ids(["claude"]));
    for (speaker, after) in [
        ("claude", "gpt"),
        ("gpt", "local"),
        ("gemini", "local"),
        ("local", "claude"),
        ("departed", "claude"),
    ] {
        record.reply(speaker, "hm");
        assert_eq!(next(&record), ids([after]), "after {speaker}");
    }
    let explicit = route(
        &record.thread,
        "@gpt",
        &seats(),
        None,
        RouterMode::RoundRobin,
    );
    assert_eq!(explicit.responders, ids(["gpt"]));
}

#[test]
fn at_an_empty_table_nobody_answers() {
    let record = Record::new();
    let routing = route(&record.thread, "@all", &[], None, RouterMode::RoundRobin);
    assert_eq!(routing.responders, ids([]));
    assert_eq!(routing.reason, RoutingReason::NobodyEnabled);
}

#[test]
fn two_seats_with_one_model_are_two_seats() {
    let twins = [seat("a"), seat("b")];
    assert_eq!(twins[0].model, twins[1].model);
    let record = Record::new();
    let routing = route(&record.thread, "@b @a", &twins, None, RouterMode::Manual);
    assert_eq!(routing.responders, ids(["b", "a"]));
}

fn any_table() -> impl Strategy<Value = Vec<Seat>> {
    let id = prop::sample::select(vec!["a", "b", "c", "B", "all", "a-1"]);
    prop::collection::vec((id, any::<bool>()), 0..5).prop_map(|seats| {
        seats
            .into_iter()
            .map(|(id, enabled)| Seat {
                enabled,
                ..seat(id)
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn every_text_at_every_table_has_one_answer(
        table in any_table(),
        text in "(@(a|b|B|c|all|a-1|x)|[ é`~\n,]|\\PC){0,12}",
        selected in prop::option::of("[abcx]"),
        said in prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "x"]), 0..4),
        round_robin in any::<bool>(),
    ) {
        let mut record = Record::new();
        for speaker in said {
            record.user_to("q", &[speaker]);
            record.reply(speaker, "r");
        }
        let selected = selected.map(SeatId::from);
        let mode = if round_robin { RouterMode::RoundRobin } else { RouterMode::Manual };
        let routing = route(&record.thread, &text, &table, selected.as_ref(), mode);

        let enabled: Vec<&SeatId> = table.iter().filter(|s| s.enabled).map(|s| &s.id).collect();
        prop_assert_eq!(routing.responders.is_empty(), enabled.is_empty());
        let mut seen = Vec::new();
        for responder in &routing.responders {
            prop_assert!(enabled.contains(&responder));
            prop_assert!(!seen.contains(responder));
            seen.push(responder.clone());
        }
        if routing.reason == RoutingReason::Mentioned {
            let mut expected = Vec::new();
            for mention in mentions(&text, &table) {
                match mention.kind {
                    MentionKind::Seat(id) if !expected.contains(&id) => expected.push(id),
                    _ => {}
                }
            }
            prop_assert_eq!(&routing.responders, &expected);
        }
        let again = route(&record.thread, &text, &table, selected.as_ref(), mode);
        prop_assert_eq!(&again, &routing);
        // Spelled out as mentions, the answer addresses the same seats again.
        if !routing.responders.iter().any(|id| id.as_str() == "all") {
            let spelled: String = routing.responders.iter().map(|id| format!("@{id} ")).collect();
            let answer = route(&record.thread, &spelled, &table, None, mode);
            prop_assert_eq!(answer.responders, routing.responders);
        }
    }
}
