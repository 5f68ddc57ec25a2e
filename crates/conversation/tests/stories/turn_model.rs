//! Whatever happens in whatever order, a thread stays a thread.

use std::collections::BTreeSet;

use conversation::{Durability, Finish, Input, Output, RequestId, SendMode, TurnEvent};
use proptest::prelude::*;
use transcript::{FailureKind, MessageId, Role, Status, Thread};

use crate::stage::{Stage, aborted, send_as};

/// Something that happens, in terms of what is there when it does.
#[derive(Clone, Debug)]
enum Happening {
    Send(String, bool),
    Delta(usize, String),
    Reasoning(usize),
    Done(usize, u8),
    Failed(usize, bool),
    /// News of a request that is closed, or was never open.
    Stale(u8),
    Stop,
    Resume,
    Retry(usize),
    Unqueue(usize),
    Delete(usize),
    Note,
    /// A seat is switched on or off.
    Toggle(usize),
}

fn any_happening() -> impl Strategy<Value = Happening> {
    let text = prop::sample::select(vec![
        "hi",
        "@gpt",
        "@all",
        "@claude @gpt",
        "@nobody",
        "`@gpt`",
        "",
    ]);
    let piece = prop::sample::select(vec!["word ", "[CLAU", "DE]: ", "[GPT]: x\n", "\n", ""]);
    prop_oneof![
        4 => (text, prop::bool::weighted(0.3)).prop_map(|(t, b)| Happening::Send(t.into(), b)),
        8 => (any::<usize>(), piece).prop_map(|(r, t)| Happening::Delta(r, t.into())),
        1 => any::<usize>().prop_map(Happening::Reasoning),
        8 => (any::<usize>(), any::<u8>()).prop_map(|(r, f)| Happening::Done(r, f)),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(r, c)| Happening::Failed(r, c)),
        1 => any::<u8>().prop_map(Happening::Stale),
        1 => Just(Happening::Stop),
        1 => Just(Happening::Resume),
        2 => any::<usize>().prop_map(Happening::Retry),
        1 => any::<usize>().prop_map(Happening::Unqueue),
        1 => any::<usize>().prop_map(Happening::Delete),
        1 => Just(Happening::Note),
        1 => (0usize..3).prop_map(Happening::Toggle),
    ]
}

/// What an outsider knows: which requests are open and which messages were saved.
#[derive(Default)]
struct Model {
    open: BTreeSet<RequestId>,
    ever: BTreeSet<RequestId>,
    saved: BTreeSet<MessageId>,
    turn_open: bool,
}

impl Model {
    fn pick(&self, nth: usize) -> Option<RequestId> {
        let count = self.open.len().max(1);
        self.open.iter().nth(nth % count).copied()
    }

    fn input(&self, happening: &Happening, step: usize, stage: &Stage) -> Option<Input> {
        let message = |nth: usize| {
            let messages = stage.thread.messages();
            Some(messages.get(nth % messages.len().max(1))?.id().clone())
        };
        let name = || MessageId::from(format!("u{step}"));
        Some(match happening {
            Happening::Send(text, bonfire) => {
                let mode = if *bonfire {
                    SendMode::Bonfire
                } else {
                    SendMode::Chat
                };
                send_as(mode, name().as_str(), text)
            }
            Happening::Delta(nth, text) => Input::Delta {
                request: self.pick(*nth)?,
                text: text.clone(),
            },
            Happening::Reasoning(nth) => Input::Reasoning {
                request: self.pick(*nth)?,
                text: "hm".into(),
            },
            Happening::Done(nth, finish) => Input::Done {
                request: self.pick(*nth)?,
                usage: None,
                model: None,
                finish: match finish % 8 {
                    0 => Finish::Length,
                    1 => Finish::ContentFilter,
                    2 => Finish::Other("odd".into()),
                    _ => Finish::Stop,
                },
            },
            Happening::Failed(nth, cut_off) => Input::Failed {
                request: self.pick(*nth)?,
                error: "503".into(),
                kind: cut_off.then_some(FailureKind::CutOff),
            },
            Happening::Stale(nth) => {
                let request = RequestId(u64::from(*nth));
                if self.open.contains(&request) {
                    return None;
                }
                Input::Done {
                    request,
                    usage: None,
                    model: None,
                    finish: Finish::Stop,
                }
            }
            Happening::Stop => Input::Stop,
            Happening::Resume => Input::Resume,
            Happening::Retry(nth) => Input::Retry {
                message_id: message(*nth)?,
            },
            Happening::Unqueue(nth) => {
                let queued = stage.orchestrator.queued();
                Input::Unqueue {
                    message_id: queued.get(nth % queued.len().max(1))?.message_id.clone(),
                }
            }
            Happening::Delete(nth) => Input::Delete {
                message_id: message(*nth)?,
            },
            Happening::Note => Input::Note {
                message_id: name(),
                text: "note".into(),
            },
            Happening::Toggle(_) => return None,
        })
    }

    fn follow(&mut self, input: &Input, outputs: &[Output]) {
        if let Input::Done { request, .. } | Input::Failed { request, .. } = input {
            self.open.remove(request);
        }
        for output in outputs {
            match output {
                Output::Request(request) => {
                    assert!(self.ever.insert(request.request), "a request has one name");
                    self.open.insert(request.request);
                }
                Output::Abort { request } => {
                    assert!(self.open.remove(request), "only what is open is aborted");
                }
                Output::Persist {
                    message_id,
                    durability: Durability::Now,
                } => {
                    self.saved.insert(message_id.clone());
                }
                Output::Event(TurnEvent::TurnStarted { .. }) => {
                    assert!(!self.turn_open, "one turn at a time");
                    self.turn_open = true;
                }
                Output::Event(TurnEvent::TurnEnded { .. }) => {
                    assert!(self.turn_open);
                    assert!(self.open.is_empty(), "a turn ends with nothing open");
                    self.turn_open = false;
                }
                _ => {}
            }
        }
    }
}

fn check_thread(stage: &Stage, model: &Model) {
    let messages = stage.thread.messages();
    for (place, message) in messages.iter().enumerate() {
        assert_eq!(message.seq(), place as u64);
        let (id, status, content) = &stage.view[&message.seq()];
        assert_eq!((id, *status), (message.id(), message.status()));
        assert_eq!(content, message.content(), "a view shows what is there");
        match message.role() {
            Role::User => assert!(model.saved.contains(message.id()), "saved before all else"),
            Role::Assistant => assert!(stage.thread.participants().contains(message.speaker())),
            Role::System => {}
        }
        assert!(
            message.status() != Status::Streaming || place + 1 == messages.len(),
            "only the last message may stream"
        );
    }
    assert_eq!(stage.view.len(), messages.len());
    let streaming = stage.thread.streaming().map(|m| m.id());
    assert_eq!(streaming, stage.orchestrator.streaming());
    assert_eq!(stage.orchestrator.is_generating(), streaming.is_some());
    assert_eq!(stage.orchestrator.is_generating(), model.turn_open);
    let open: BTreeSet<RequestId> = stage.orchestrator.open_requests().into_iter().collect();
    assert_eq!(open, model.open);
    assert_eq!(open.is_empty(), streaming.is_none());
    let waits = !stage.orchestrator.queued().is_empty();
    assert!(
        !waits || stage.orchestrator.is_generating() || stage.orchestrator.is_paused(),
        "nothing waits for no reason"
    );
}

fn run(happenings: &[Happening]) -> (Thread, Vec<Vec<Output>>) {
    let mut stage = Stage::new();
    let mut model = Model::default();
    let mut all = Vec::new();
    for (step, happening) in happenings.iter().enumerate() {
        if let Happening::Toggle(nth) = happening {
            stage.seats[*nth].enabled ^= true;
        }
        let Some(input) = model.input(happening, step, &stage) else {
            continue;
        };
        let before = stage.thread.clone();
        let outputs = stage.input(input.clone());
        model.follow(&input, &outputs);
        check_thread(&stage, &model);
        match happening {
            Happening::Stale(_) => {
                assert_eq!(outputs, []);
                assert_eq!(stage.thread, before);
            }
            Happening::Stop => assert!(model.open.is_empty(), "a stop leaves nothing open"),
            _ => assert_eq!(aborted(&outputs), [], "only a stop aborts"),
        }
        all.push(outputs);
    }
    // The person stops; whatever waited is answered by errors until nothing waits.
    let outputs = stage.input(Input::Stop);
    model.follow(&Input::Stop, &outputs);
    let mut input = Input::Resume;
    loop {
        let outputs = stage.input(input.clone());
        model.follow(&input, &outputs);
        check_thread(&stage, &model);
        let Some(request) = model.pick(0) else { break };
        input = Input::Failed {
            request,
            error: "503".into(),
            kind: None,
        };
    }
    assert!(stage.orchestrator.queued().is_empty());
    (stage.thread, all)
}

proptest! {
    #[test]
    fn any_sequence_of_events_keeps_the_thread_whole(
        happenings in prop::collection::vec(any_happening(), 0..120),
    ) {
        let (thread, outputs) = run(&happenings);
        let (again, outputs_again) = run(&happenings);
        prop_assert_eq!(&thread, &again);
        prop_assert_eq!(&outputs, &outputs_again);

        let saved = serde_json::to_string(&thread).unwrap();
        let loaded: Thread = serde_json::from_str(&saved).unwrap();
        prop_assert_eq!(loaded.messages(), thread.messages());
    }
}
