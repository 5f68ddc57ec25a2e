//! A thread, its orchestrator, and a view that knows only what it is told.

use std::collections::BTreeMap;
use std::sync::Arc;

use conversation::{
    Durability, Finish, Input, Orchestrator, Output, PromptOptions, Request, RequestId, RouterMode,
    Seat, SendMode, TurnContext, TurnEvent,
};
use transcript::{Message, MessageId, SeatId, Status, Thread, Timestamp};

use crate::record::seat;

pub(crate) struct Stage {
    pub(crate) orchestrator: Orchestrator,
    pub(crate) thread: Thread,
    pub(crate) seats: Vec<Seat>,
    pub(crate) options: PromptOptions,
    pub(crate) router_mode: RouterMode,
    pub(crate) selected: Option<SeatId>,
    /// What a view shows: status and text, built from events alone.
    pub(crate) view: BTreeMap<u64, (MessageId, Status, String)>,
    replies_named: u64,
    inputs: i64,
}

impl Stage {
    /// With seats `claude`, `gpt` and `gemini`.
    pub(crate) fn new() -> Self {
        Self {
            orchestrator: Orchestrator::new(),
            thread: Thread::new("t".into(), Timestamp::UNIX_EPOCH),
            seats: vec![seat("claude"), seat("gpt"), seat("gemini")],
            options: PromptOptions::default(),
            router_mode: RouterMode::Manual,
            selected: None,
            view: BTreeMap::new(),
            replies_named: 0,
            inputs: 0,
        }
    }

    pub(crate) fn input(&mut self, input: Input) -> Vec<Output> {
        self.inputs += 1;
        let mut new_id = || {
            self.replies_named += 1;
            MessageId::from(format!("r{}", self.replies_named))
        };
        let outputs = self.orchestrator.handle(
            &mut self.thread,
            input,
            &mut TurnContext {
                seats: &self.seats,
                options: self.options,
                router_mode: self.router_mode,
                selected: self.selected.as_ref(),
                now: Timestamp::from_millis(self.inputs),
                new_id: &mut new_id,
            },
        );
        for event in events(&outputs) {
            self.show(event);
        }
        outputs
    }

    pub(crate) fn send(&mut self, id: &str, text: &str) -> Vec<Output> {
        self.input(send(id, text))
    }

    pub(crate) fn delta(&mut self, request: RequestId, text: &str) -> Vec<Output> {
        self.input(Input::Delta {
            request,
            text: text.into(),
        })
    }

    pub(crate) fn done(&mut self, request: RequestId) -> Vec<Output> {
        self.finish(request, Finish::Stop)
    }

    pub(crate) fn finish(&mut self, request: RequestId, finish: Finish) -> Vec<Output> {
        self.input(Input::Done {
            request,
            usage: None,
            model: None,
            finish,
        })
    }

    /// The whole reply of one request.
    pub(crate) fn answer(&mut self, request: RequestId, text: &str) -> Vec<Output> {
        self.delta(request, text);
        self.done(request)
    }

    pub(crate) fn fail(&mut self, request: RequestId, error: &str) -> Vec<Output> {
        self.input(Input::Failed {
            request,
            error: error.into(),
            kind: None,
        })
    }

    pub(crate) fn retry(&mut self, id: &str) -> Vec<Output> {
        self.input(Input::Retry {
            message_id: id.into(),
        })
    }

    pub(crate) fn message(&self, id: &str) -> &Arc<Message> {
        self.thread.message(&id.into()).unwrap()
    }

    /// Every message as `speaker status: content`, with the error in parentheses.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |m: &Arc<Message>| {
            let error = m.error().map(|e| format!(" ({e})")).unwrap_or_default();
            format!("{} {:?}: {}{error}", m.speaker(), m.status(), m.content())
        };
        self.thread.messages().iter().map(line).collect()
    }

    fn show(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::MessageAdded { message, .. } => {
                let shown = (
                    message.id().clone(),
                    message.status(),
                    message.content().to_owned(),
                );
                assert!(self.view.insert(message.seq(), shown).is_none());
            }
            TurnEvent::Delta { message, text, .. } => {
                let (_, status, content) = self
                    .view
                    .values_mut()
                    .find(|(id, ..)| id == message)
                    .unwrap();
                assert_eq!(*status, Status::Streaming);
                content.push_str(text);
            }
            TurnEvent::MessageChanged { message, .. } => {
                let (_, status, content) = self.view.get_mut(&message.seq()).unwrap();
                *status = message.status();
                if message.status() == Status::Deleted {
                    content.clear();
                }
            }
            _ => {}
        }
    }
}

pub(crate) fn send(id: &str, text: &str) -> Input {
    send_as(SendMode::Chat, id, text)
}

pub(crate) fn send_as(mode: SendMode, id: &str, text: &str) -> Input {
    Input::Send {
        message_id: id.into(),
        text: text.into(),
        context_blocks: Vec::new(),
        targets: None,
        mode,
    }
}

pub(crate) fn events(outputs: &[Output]) -> impl Iterator<Item = &TurnEvent> {
    outputs.iter().filter_map(|output| match output {
        Output::Event(event) => Some(event),
        _ => None,
    })
}

pub(crate) fn requests(outputs: &[Output]) -> Vec<&Request> {
    outputs
        .iter()
        .filter_map(|output| match output {
            Output::Request(request) => Some(request),
            _ => None,
        })
        .collect()
}

/// The one request among the outputs.
#[track_caller]
pub(crate) fn request(outputs: &[Output]) -> Request {
    let all = requests(outputs);
    assert_eq!(all.len(), 1, "{outputs:#?}");
    all[0].clone()
}

pub(crate) fn aborted(outputs: &[Output]) -> Vec<RequestId> {
    let abort = |output: &Output| match output {
        Output::Abort { request } => Some(*request),
        _ => None,
    };
    outputs.iter().filter_map(abort).collect()
}

pub(crate) fn saved_at_once(outputs: &[Output]) -> Vec<MessageId> {
    let saved = |output: &Output| match output {
        Output::Persist {
            message_id,
            durability: Durability::Now,
        } => Some(message_id.clone()),
        _ => None,
    };
    outputs.iter().filter_map(saved).collect()
}

pub(crate) fn warnings(outputs: &[Output]) -> Vec<&str> {
    events(outputs)
        .filter_map(|event| match event {
            TurnEvent::Warning { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

/// How the turn ended, if it did.
pub(crate) fn ended(outputs: &[Output]) -> Option<bool> {
    events(outputs).find_map(|event| match event {
        TurnEvent::TurnEnded { ok, .. } => Some(*ok),
        _ => None,
    })
}
