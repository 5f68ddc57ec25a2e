//! How a turn proceeds.

use conversation::{
    Effort, Finish, Input, JournalEntry, Output, PromptRole, QueuedKind, RequestId, Seat, SendMode,
    TurnEvent,
};
use transcript::{FailureKind, Role, Usage};

use crate::record::{ids, seat};
use crate::stage::{
    Stage, aborted, ended, events, request, requests, saved_at_once, send, warnings,
};

fn last_user_line(prompt: &conversation::Prompt) -> &str {
    let last = prompt.messages.last().unwrap();
    assert_eq!(last.role, PromptRole::User);
    &last.content
}

#[test]
fn the_persons_message_is_saved_before_anyone_is_asked() {
    let mut stage = Stage::new();
    let outputs = stage.send("u1", "hello @gpt");
    let saved = outputs
        .iter()
        .position(|o| matches!(o, Output::Persist { .. }))
        .unwrap();
    let asked = outputs
        .iter()
        .position(|o| matches!(o, Output::Request(_)))
        .unwrap();
    assert!(saved < asked);
    assert_eq!(saved_at_once(&outputs), ["u1".into()]);
    assert_eq!(stage.message("u1").targets(), ids(["gpt"]));
    let asked = request(&outputs);
    assert_eq!(asked.seat, "gpt".into());
    assert_eq!(asked.effort, Effort::OfSeat(None));
    assert_eq!(last_user_line(&asked.prompt), "[User] hello @gpt");
    assert!(stage.orchestrator.is_generating());
}

#[test]
fn the_second_seat_reads_the_first_ones_reply() {
    let mut stage = Stage::new();
    let first = request(&stage.send("u1", "@gpt @claude"));
    stage.delta(first.request, "I ");
    stage.delta(first.request, "begin.");
    let outputs = stage.done(first.request);
    let second = request(&outputs);
    assert_eq!(second.seat, "claude".into());
    assert_eq!(last_user_line(&second.prompt), "[GPT]: I begin.");
    assert_eq!(ended(&outputs), None);
    let outputs = stage.answer(second.request, "I end.");
    assert_eq!(ended(&outputs), Some(true));
    assert!(!stage.orchestrator.is_generating());
    assert_eq!(
        stage.lines(),
        [
            "user Complete: @gpt @claude",
            "gpt Complete: I begin.",
            "claude Complete: I end.",
        ]
    );
}

#[test]
fn after_an_error_the_next_seat_still_answers() {
    let mut stage = Stage::new();
    let first = request(&stage.send("u1", "@gpt @claude"));
    stage.delta(first.request, "par");
    let second = request(&stage.fail(first.request, "quota used up, resets at noon"));
    assert_eq!(second.seat, "claude".into());
    assert_eq!(ended(&stage.answer(second.request, "fine")), Some(false));
    assert_eq!(
        stage.lines()[1..],
        [
            "gpt Error: par (quota used up, resets at noon)",
            "claude Complete: fine"
        ]
    );
}

#[test]
fn a_stop_keeps_what_arrived_and_skips_the_rest() {
    let mut stage = Stage::new();
    let first = request(&stage.send("u1", "@all"));
    stage.delta(first.request, "so far");
    let outputs = stage.input(Input::Stop);
    assert_eq!(aborted(&outputs), [first.request]);
    assert_eq!(requests(&outputs).len(), 0);
    assert_eq!(ended(&outputs), Some(false));
    assert!(!stage.orchestrator.is_generating());
    let stopped = ["user Complete: @all", "claude Cancelled: so far"];
    assert_eq!(stage.lines(), stopped);

    for late in [
        stage.delta(first.request, " and more"),
        stage.done(first.request),
        stage.fail(first.request, "late"),
        stage.input(Input::Stop),
    ] {
        assert_eq!(late, []);
    }
    assert_eq!(stage.lines(), stopped);
}

#[test]
fn news_of_a_request_never_made_is_ignored() {
    let mut stage = Stage::new();
    let open = request(&stage.send("u1", "hi"));
    let other = RequestId(open.request.0 + 1);
    assert_eq!(stage.delta(other, "x"), []);
    assert_eq!(stage.done(other), []);
    assert_eq!(stage.orchestrator.open_requests(), [open.request]);
}

#[test]
fn what_is_sent_during_a_turn_waits_visibly_and_can_be_taken_out() {
    let mut stage = Stage::new();
    let first = request(&stage.send("u1", "one"));
    assert!(requests(&stage.send("u2", "two")).is_empty());
    let outputs = stage.send("u3", "three");
    let queue = events(&outputs).find_map(|event| match event {
        TurnEvent::QueueChanged { queued, paused, .. } => Some((queued.clone(), *paused)),
        _ => None,
    });
    let (queued, paused) = queue.unwrap();
    assert!(!paused);
    assert_eq!(queued.len(), 2);
    assert_eq!(
        queued[1].kind,
        QueuedKind::Send {
            text: "three".into(),
            context_blocks: Vec::new(),
            mode: SendMode::Chat
        }
    );
    stage.input(Input::Unqueue {
        message_id: "u2".into(),
    });
    assert_eq!(stage.lines().len(), 2);

    let outputs = stage.answer(first.request, "1");
    assert_eq!(ended(&outputs), Some(true));
    assert_eq!(saved_at_once(&outputs), ["u3".into()]);
    assert_eq!(last_user_line(&request(&outputs).prompt), "[User] three");
    assert!(stage.orchestrator.queued().is_empty());
}

#[test]
fn after_a_stop_the_queue_waits_for_the_person() {
    let mut stage = Stage::new();
    stage.send("u1", "one");
    stage.send("u2", "two");
    let outputs = stage.input(Input::Stop);
    assert!(requests(&outputs).is_empty());
    assert!(stage.orchestrator.is_paused());
    assert_eq!(stage.orchestrator.queued().len(), 1);

    let now = request(&stage.send("u3", "three"));
    assert_eq!(last_user_line(&now.prompt), "[User] three");
    assert!(requests(&stage.answer(now.request, "3")).is_empty());

    let resumed = request(&stage.input(Input::Resume));
    assert_eq!(last_user_line(&resumed.prompt), "[User] two");
    assert!(!stage.orchestrator.is_paused());
}

#[test]
fn emptying_a_paused_queue_ends_the_pause() {
    let mut stage = Stage::new();
    stage.send("u1", "one");
    stage.send("u2", "two");
    stage.input(Input::Stop);
    stage.input(Input::Unqueue {
        message_id: "u2".into(),
    });
    assert!(!stage.orchestrator.is_paused());
    let open = request(&stage.send("u3", "three"));
    stage.send("u4", "four");
    assert_eq!(requests(&stage.answer(open.request, "3")).len(), 1);
}

#[test]
fn a_queued_message_goes_to_whom_the_person_was_speaking_when_they_sent_it() {
    let mut stage = Stage::new();
    let open = request(&stage.send("u1", "one"));
    stage.selected = Some("gemini".into());
    stage.send("u2", "two");
    stage.selected = Some("gpt".into());
    assert_eq!(
        request(&stage.answer(open.request, "1")).seat,
        "gemini".into()
    );
}

#[test]
fn named_targets_are_asked_whatever_the_text_mentions() {
    let mut stage = Stage::new();
    let Input::Send {
        message_id,
        text,
        context_blocks,
        mode,
        ..
    } = send("u1", "@claude")
    else {
        unreachable!();
    };
    let outputs = stage.input(Input::Send {
        message_id,
        text,
        context_blocks,
        mode,
        targets: Some(ids(["gpt", "nobody", "gpt"])),
    });
    assert_eq!(warnings(&outputs), ["no such seat at the table: nobody"]);
    let asked = request(&outputs);
    assert_eq!(asked.seat, "gpt".into());
    assert_eq!(ended(&stage.answer(asked.request, "hi")), Some(false));
}

#[test]
fn a_mention_of_nobody_is_reported_and_the_message_still_answered() {
    let mut stage = Stage::new();
    let outputs = stage.send("u1", "@nobody hi");
    assert_eq!(
        warnings(&outputs),
        ["nobody at the table is called @nobody"]
    );
    let asked = request(&outputs);
    assert_eq!(ended(&stage.answer(asked.request, "hi")), Some(true));
}

#[test]
fn with_nobody_to_answer_the_message_is_kept_and_the_person_told() {
    let mut stage = Stage::new();
    stage.seats.clear();
    let outputs = stage.send("u1", "anyone?");
    assert_eq!(saved_at_once(&outputs), ["u1".into()]);
    assert_eq!(warnings(&outputs).len(), 1);
    assert_eq!(ended(&outputs), Some(false));
    assert!(!stage.orchestrator.is_generating());
}

#[test]
fn a_seat_that_leaves_before_its_turn_is_skipped() {
    let mut stage = Stage::new();
    let first = request(&stage.send("u1", "@claude @gpt @gemini"));
    stage.seats[1].enabled = false;
    let outputs = stage.answer(first.request, "1");
    assert_eq!(warnings(&outputs), ["no such seat at the table: gpt"]);
    let last = request(&outputs);
    assert_eq!(last.seat, "gemini".into());
    assert_eq!(ended(&stage.answer(last.request, "3")), Some(false));
}

#[test]
fn a_seat_with_a_reserved_name_is_refused() {
    let mut stage = Stage::new();
    stage.seats = vec![seat("user"), seat("gpt")];
    let outputs = stage.send("u1", "@all");
    assert_eq!(warnings(&outputs).len(), 1);
    assert_eq!(request(&outputs).seat, "gpt".into());
}

#[test]
fn a_message_id_is_used_once() {
    let mut stage = Stage::new();
    stage.send("u1", "one");
    stage.send("u2", "two");
    for id in ["u1", "u2"] {
        let outputs = stage.send(id, "again");
        assert_eq!(warnings(&outputs).len(), 1);
        assert_eq!(outputs.len(), 1);
    }
}

#[test]
fn how_a_model_finishes_decides_how_the_reply_ends() {
    let other = |word: &str| Finish::Other(word.into());
    for (text, finish, line) in [
        ("hi", Finish::Stop, "Complete: hi"),
        ("hi", Finish::ToolCalls, "Complete: hi"),
        (
            "hi",
            Finish::Length,
            "Complete: hi (ends at the model's output limit)",
        ),
        (
            "hi",
            other("tired"),
            "Complete: hi (the model finished with: tired)",
        ),
        (
            "hi",
            Finish::ContentFilter,
            "Error: hi (the provider's content filter ended the reply)",
        ),
        (
            "hi",
            other("insufficient_system_resource"),
            "Error: hi (the provider ended the reply: insufficient_system_resource)",
        ),
        (
            "",
            Finish::Stop,
            "Error:  (the model answered with nothing)",
        ),
        (
            "[CLAUDE]: ",
            Finish::Stop,
            "Error:  (the model answered with nothing)",
        ),
        (
            "",
            Finish::Length,
            "Error:  (the model reached its output limit before it said anything)",
        ),
        (
            "",
            Finish::ToolCalls,
            "Error:  (the model asked for a tool, but it was offered none)",
        ),
    ] {
        let mut stage = Stage::new();
        let open = request(&stage.send("u1", "q"));
        stage.delta(open.request, text);
        let outputs = stage.finish(open.request, finish);
        assert_eq!(stage.lines()[1], format!("claude {line}"));
        assert_eq!(ended(&outputs), Some(line.starts_with("Complete")));
    }
}

#[test]
fn a_reply_that_is_cut_off_is_cancelled_with_that_word_or_an_error_if_empty() {
    for (text, error, line) in [
        (
            "half",
            "no finish reason",
            "Cancelled: half (cut off: no finish reason)",
        ),
        (
            "half",
            "cut off before its end",
            "Cancelled: half (cut off before its end)",
        ),
        (
            "",
            "no finish reason",
            "Error:  (cut off: no finish reason)",
        ),
    ] {
        let mut stage = Stage::new();
        let open = request(&stage.send("u1", "q"));
        stage.delta(open.request, text);
        let outputs = stage.input(Input::Failed {
            request: open.request,
            error: error.into(),
            kind: Some(FailureKind::CutOff),
        });
        assert_eq!(stage.lines()[1], format!("claude {line}"));
        let kind = stage.thread.messages()[1].failure();
        assert_eq!(kind, Some(FailureKind::CutOff));
        assert_eq!(ended(&outputs), Some(false));
    }
}

#[test]
fn a_reply_records_what_it_cost_and_which_model_answered() {
    let mut stage = Stage::new();
    let open = request(&stage.send("u1", "q"));
    stage.delta(open.request, "a");
    let usage = Usage {
        input_tokens: Some(7),
        ..Usage::default()
    };
    stage.input(Input::Done {
        request: open.request,
        usage: Some(usage.clone()),
        model: Some("model-20261101".into()),
        finish: Finish::Stop,
    });
    let reply = stage.message("r1");
    assert_eq!(reply.usage(), Some(&usage));
    assert_eq!(reply.route().unwrap().model, "model-20261101");
    assert_eq!(reply.route().unwrap().endpoint, "sidecar");
}

#[test]
fn the_seats_own_label_never_reaches_the_thread_and_anothers_is_flagged() {
    let mut stage = Stage::new();
    let open = request(&stage.send("u1", "q"));
    for piece in ["[Cla", "ude", "]: ", "Sure.\n[GP", "T]: me too"] {
        stage.delta(open.request, piece);
    }
    stage.done(open.request);
    let reply = stage.message("r1");
    assert_eq!(reply.content(), "Sure.\n[GPT]: me too");
    let note = reply.error().unwrap();
    assert!(note.contains("claims to be by GPT"), "{note}");
}

#[test]
fn what_was_held_back_as_a_possible_label_is_not_lost_by_a_stop() {
    let mut stage = Stage::new();
    let open = request(&stage.send("u1", "q"));
    stage.delta(open.request, "[Cla");
    stage.input(Input::Stop);
    assert_eq!(stage.lines()[1], "claude Cancelled: [Cla");
}

#[test]
fn reasoning_goes_to_the_thinking_channel_and_the_journal_only() {
    let mut stage = Stage::new();
    let open = request(&stage.send("u1", "q"));
    for piece in ["hm, ", "yes"] {
        let outputs = stage.input(Input::Reasoning {
            request: open.request,
            text: piece.into(),
        });
        assert!(matches!(
            &outputs[..],
            [Output::Event(TurnEvent::Reasoning { text, .. })] if text == piece
        ));
    }
    stage.delta(open.request, "Yes.");
    let outputs = stage.done(open.request);
    let thoughts = outputs.iter().filter_map(|output| match output {
        Output::Journal {
            entry: entry @ JournalEntry::Reasoning { text, .. },
            ..
        } => Some((entry.kind(), entry.data()["text"].clone(), text.clone())),
        _ => None,
    });
    assert_eq!(
        thoughts.collect::<Vec<_>>(),
        [("reasoning", "hm, yes".into(), "hm, yes".to_owned())]
    );
    assert_eq!(stage.lines()[1], "claude Complete: Yes.");
}

#[test]
fn a_retry_adds_a_reply_and_keeps_a_partial_one() {
    let mut stage = Stage::new();
    let open = request(&stage.send("u1", "q"));
    stage.delta(open.request, "half");
    stage.fail(open.request, "500");
    let again = request(&stage.retry("r1"));
    let contents: Vec<&str> = again.prompt.messages[1..]
        .iter()
        .map(|m| m.content.as_str())
        .collect();
    assert_eq!(contents, ["[User] q"]);
    stage.fail(again.request, "501");

    let third = request(&stage.retry("r2"));
    assert_eq!(third.prompt.messages.len(), 2);
    stage.answer(third.request, "whole");
    assert_eq!(
        stage.lines(),
        [
            "user Complete: q",
            "claude Error: half (500)",
            "claude Deleted: ",
            "claude Complete: whole",
        ]
    );
}

#[test]
fn a_retry_sees_what_others_said_since_and_later_turns_see_the_partial_reply() {
    let mut stage = Stage::new();
    let first = request(&stage.send("u1", "@claude @gpt"));
    stage.delta(first.request, "half");
    let second = request(&stage.fail(first.request, "500"));
    stage.answer(second.request, "from gpt");
    let again = request(&stage.retry("r1"));
    assert_eq!(again.seat, "claude".into());
    assert_eq!(last_user_line(&again.prompt), "[GPT]: from gpt");
    stage.answer(again.request, "whole");
    let next = request(&stage.send("u2", "@gpt"));
    let heard: Vec<&str> = next.prompt.messages[2..]
        .iter()
        .map(|m| m.content.as_str())
        .collect();
    assert_eq!(
        heard,
        [
            "[CLAUDE]: half",
            "from gpt",
            "[CLAUDE]: whole",
            "[User] @gpt"
        ]
    );
}

#[test]
fn a_retry_leaves_out_only_its_own_attempts_at_the_same_message() {
    let mut stage = Stage::new();
    let half_failed = |stage: &mut Stage, open: RequestId, text: &str| {
        stage.delta(open, text);
        stage.fail(open, "500")
    };
    let open = request(&stage.send("u1", "@claude"));
    half_failed(&mut stage, open.request, "older");
    let open = request(&stage.send("u2", "@claude @gpt"));
    let open = request(&half_failed(&mut stage, open.request, "own"));
    half_failed(&mut stage, open.request, "other");
    let again = request(&stage.retry("r2"));
    let shown: Vec<&str> = again.prompt.messages[1..]
        .iter()
        .map(|m| m.content.as_str())
        .collect();
    assert_eq!(
        shown,
        [
            "[User] @claude",
            "older",
            "[User] @claude @gpt",
            "[GPT]: other"
        ]
    );
}

#[test]
fn only_a_reply_that_failed_or_was_stopped_can_be_retried() {
    let mut stage = Stage::new();
    let open = request(&stage.send("u1", "q"));
    for id in ["u1", "r1", "nothing"] {
        let outputs = stage.retry(id);
        assert_eq!(warnings(&outputs).len(), 1, "{id}");
        assert_eq!(outputs.len(), 1, "{id}");
    }
    stage.answer(open.request, "fine");
    assert_eq!(stage.retry("r1").len(), 1);
}

#[test]
fn a_retry_during_a_turn_waits_and_looks_again() {
    let mut stage = Stage::new();
    let open = request(&stage.send("u1", "q"));
    stage.delta(open.request, "half");
    stage.fail(open.request, "500");
    let open = request(&stage.send("u2", "another"));
    assert!(requests(&stage.retry("r1")).is_empty());
    assert_eq!(stage.retry("r1"), [], "it waits once");
    assert_eq!(stage.orchestrator.queued()[0].kind, QueuedKind::Retry);
    stage.input(Input::Delete {
        message_id: "r1".into(),
    });
    let outputs = stage.answer(open.request, "fine");
    assert!(requests(&outputs).is_empty());
    assert_eq!(warnings(&outputs).len(), 1);
    assert!(!stage.orchestrator.is_generating());
}

#[test]
fn a_deleted_message_leaves_the_next_prompt_and_keeps_its_place() {
    let mut stage = Stage::new();
    let open = request(&stage.send("u1", "secret"));
    let refused = stage.input(Input::Delete {
        message_id: "r1".into(),
    });
    assert_eq!(warnings(&refused).len(), 1);
    stage.answer(open.request, "a");
    stage.input(Input::Delete {
        message_id: "u1".into(),
    });
    assert_eq!(
        stage.input(Input::Delete {
            message_id: "u1".into()
        }),
        []
    );
    let next = request(&stage.send("u2", "next"));
    assert_eq!(next.prompt.messages.len(), 3);
    assert_eq!(stage.lines()[0], "user Deleted: ");
    assert_eq!(stage.message("u2").seq(), 2);
}

#[test]
fn a_note_waits_for_the_reply_in_progress_and_reaches_the_next_seat() {
    let mut stage = Stage::new();
    let note = |stage: &mut Stage, id: &str| {
        stage.input(Input::Note {
            message_id: id.into(),
            text: "We use tabs.".into(),
        })
    };
    note(&mut stage, "n1");
    assert_eq!(stage.message("n1").role(), Role::System);
    let first = request(&stage.send("u1", "@claude @gpt"));
    assert_eq!(note(&mut stage, "n2"), []);
    let second = request(&stage.answer(first.request, "1"));
    assert_eq!(stage.message("n2").seq(), 3);
    let notes = second
        .prompt
        .messages
        .iter()
        .filter(|m| m.content == "We use tabs.");
    assert_eq!(notes.count(), 2);
    assert_eq!(warnings(&note(&mut stage, "n2")).len(), 1);
}

#[test]
fn the_person_is_told_what_a_prompt_left_out() {
    let mut stage = Stage::new();
    stage.options.soft_limit_chars = 2000;
    stage.options.keep_recent = 2;
    for nth in 0..6 {
        let open = request(&stage.send(&format!("u{nth}"), &"x".repeat(300)));
        stage.answer(open.request, "ok");
    }
    let outputs = stage.send("last", &"x".repeat(300));
    let asked = request(&outputs);
    let told = events(&outputs).find_map(|event| match event {
        TurnEvent::Dropped {
            message,
            message_ids,
            over_budget,
            ..
        } => Some((message.clone(), message_ids.clone(), *over_budget)),
        _ => None,
    });
    assert!(!asked.prompt.dropped.is_empty());
    assert_eq!(told, Some((asked.message_id, asked.prompt.dropped, false)));
}

#[test]
fn every_event_of_a_turn_carries_its_number() {
    let mut stage = Stage::new();
    let generation = |outputs: &[Output]| -> Vec<u64> {
        events(outputs)
            .map(|event| match event {
                TurnEvent::TurnStarted { generation, .. }
                | TurnEvent::MessageAdded { generation, .. }
                | TurnEvent::Delta { generation, .. }
                | TurnEvent::MessageChanged { generation, .. }
                | TurnEvent::TurnEnded { generation, .. } => *generation,
                other => panic!("unexpected: {other:?}"),
            })
            .collect()
    };
    for turn in 1..=2 {
        let outputs = stage.send(&format!("u{turn}"), "q");
        let open = request(&outputs).request;
        assert_eq!(generation(&outputs), [turn; 3]);
        assert_eq!(generation(&stage.delta(open, "a")), [turn]);
        assert_eq!(generation(&stage.done(open)), [turn; 2]);
    }
}

#[test]
fn effort_is_the_seats_own() {
    let mut stage = Stage::new();
    stage.seats = vec![Seat {
        effort: Some("low".into()),
        ..seat("claude")
    }];
    assert_eq!(
        request(&stage.send("u1", "q")).effort,
        Effort::OfSeat(Some("low".into()))
    );
}
