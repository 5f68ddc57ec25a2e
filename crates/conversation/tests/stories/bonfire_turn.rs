//! A turn in Bonfire mode.

use conversation::bonfire::{DRAFTS, Step, request_count};
use conversation::{
    Effort, Finish, Input, JournalEntry, Output, Purpose, Request, SendMode, TurnEvent,
};
use transcript::Usage;

use crate::stage::{Stage, aborted, ended, events, request, requests, send_as};

fn light(stage: &mut Stage) -> Request {
    let outputs = stage.input(send_as(SendMode::Bonfire, "u1", "@gpt why?"));
    request(&outputs)
}

fn drafts(stage: &mut Stage) -> Vec<Request> {
    let plan = light(stage);
    let outputs = stage.answer(plan.request, "the plan");
    requests(&outputs).into_iter().cloned().collect()
}

#[test]
fn only_the_synthesis_is_spoken() {
    let mut stage = Stage::new();
    let mut open = vec![light(&mut stage)];
    let mut asked = Vec::new();
    let mut spoken = Vec::new();
    let mut journal = Vec::new();
    while let Some(next) = open.pop() {
        let said = format!("text of {}", next.purpose.name());
        let mut outputs = stage.delta(next.request, &said);
        let into_reply = events(&outputs).any(|e| matches!(e, TurnEvent::Delta { .. }));
        assert_eq!(into_reply, next.purpose.is_spoken());
        outputs.extend(stage.input(Input::Done {
            request: next.request,
            usage: Some(Usage {
                input_tokens: Some(10),
                output_tokens: Some(1),
                ..Usage::default()
            }),
            model: None,
            finish: Finish::Stop,
        }));
        if next.purpose.is_spoken() {
            spoken.push(said);
        }
        open.extend(requests(&outputs).into_iter().cloned());
        journal.extend(outputs.into_iter().filter_map(|output| match output {
            Output::Journal { entry, .. } => Some(entry),
            _ => None,
        }));
        asked.push(next);
    }
    assert_eq!(asked.len(), request_count());
    assert!(asked.iter().all(|r| r.effort == Effort::Highest));
    assert!(asked.iter().all(|r| r.seat == "gpt".into()));
    assert_eq!(
        stage.lines(),
        [
            "user Complete: @gpt why?",
            "gpt Complete: text of synthesis"
        ]
    );
    assert_eq!(spoken, ["text of synthesis"]);
    let usage = stage.message("r1").usage().unwrap();
    assert_eq!(usage.input_tokens, Some(60));
    assert_eq!(usage.output_tokens, Some(6));
    assert!(!stage.orchestrator.is_generating());

    let answered: Vec<_> = journal
        .iter()
        .filter_map(|entry| match entry {
            JournalEntry::Response { purpose, text, .. } => Some((*purpose, text.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(answered.len(), request_count());
    for (purpose, text) in answered {
        let kept = (!purpose.is_spoken()).then(|| format!("text of {}", purpose.name()));
        assert_eq!(text, kept);
    }
}

#[test]
fn every_prompt_begins_with_the_threads_own_and_says_what_it_adds() {
    let mut stage = Stage::new();
    let outputs = stage.input(send_as(SendMode::Bonfire, "u1", "why?"));
    let plan = request(&outputs);
    let added = outputs.iter().find_map(|output| match output {
        Output::Journal {
            entry: JournalEntry::Request { instruction, .. },
            ..
        } => instruction.clone(),
        _ => None,
    });
    assert_eq!(plan.prompt.messages[1].content, "[User] why?");
    assert_eq!(Some(plan.prompt.messages[2].content.clone()), added);
    let outputs = stage.answer(plan.request, "the plan");
    for draft in requests(&outputs) {
        assert_eq!(draft.prompt.messages[..2], plan.prompt.messages[..2]);
    }
}

#[test]
fn drafts_are_asked_for_together_and_one_may_fail() {
    let mut stage = Stage::new();
    let drafts = drafts(&mut stage);
    assert_eq!(drafts.len(), DRAFTS);
    assert!(requests(&stage.fail(drafts[1].request, "429")).is_empty());
    assert!(requests(&stage.answer(drafts[2].request, "third")).is_empty());
    let critique = request(&stage.answer(drafts[0].request, "first"));
    assert_eq!(critique.purpose, Purpose::Bonfire(Step::Critique));
    let synthesis = request(&stage.answer(critique.request, "weak"));
    assert_eq!(ended(&stage.answer(synthesis.request, "reply")), Some(true));
}

#[test]
fn a_failed_step_fails_the_turn_in_the_providers_words() {
    let mut stage = Stage::new();
    let plan = light(&mut stage);
    assert_eq!(ended(&stage.fail(plan.request, "no credit")), Some(false));
    assert_eq!(stage.lines()[1], "gpt Error:  (plan: no credit)");

    let mut stage = Stage::new();
    for draft in drafts(&mut stage) {
        stage.fail(draft.request, "overloaded");
    }
    assert_eq!(
        stage.lines()[1],
        "gpt Error:  (every draft failed: overloaded)"
    );
    assert!(!stage.orchestrator.is_generating());
}

#[test]
fn a_stop_closes_every_open_request() {
    let mut stage = Stage::new();
    let drafts = drafts(&mut stage);
    stage.delta(drafts[0].request, "secret draft");
    let outputs = stage.input(Input::Stop);
    let open: Vec<_> = drafts.iter().map(|draft| draft.request).collect();
    assert_eq!(aborted(&outputs), open);
    assert_eq!(stage.lines()[1], "gpt Cancelled: ");
    assert!(stage.done(open[0]).is_empty());
    assert!(!stage.orchestrator.is_generating());
}

#[test]
fn a_retry_is_a_bonfire_again() {
    let mut stage = Stage::new();
    let plan = light(&mut stage);
    stage.fail(plan.request, "no credit");
    let again = request(&stage.retry("r1"));
    assert_eq!(again.purpose, Purpose::Bonfire(Step::Plan));
    assert_eq!(stage.lines()[1], "gpt Deleted: ");
}
