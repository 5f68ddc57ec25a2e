//! An answer as a sequence of actions on one connection. Building the sequence needs no clock and no socket, so all
//! that a step can do is decided, and tested, here; the connection only carries it out.

use serde_json::Value;
use std::num::NonZeroUsize;
use std::time::Duration;

use crate::event_writer::EventWriter;
use crate::http::{Framing, ResponseHead};
use crate::plain;
use crate::script::{Answer, AnswerKind, Cut, CutKind, FloodRate, Reply, WholeResponse};
use crate::streamed;
use crate::template::Meaning;

/// One thing the connection does.
#[derive(Debug)]
pub(crate) enum Action {
    /// Let this much time pass since the action before.
    Wait(Duration),
    /// Wait until the gate of this name is open.
    Gate(String),
    Head(ResponseHead),
    /// Send bytes of the body.
    Body(Vec<u8>),
    /// Send numbered content deltas at a rate.
    Flood(EventWriter, FloodRate),
    /// Send nothing more and wait for the client to go.
    Hold,
    /// Reset the connection.
    Reset,
    /// Close the connection with the body unfinished.
    Close,
}

/// All actions of one answer.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) actions: Vec<Action>,
    /// Largest number of body bytes in one write.
    pub(crate) split: Option<NonZeroUsize>,
}

/// The actions that answer request number `seq`.
pub(crate) fn delivery(answer: &Answer, meaning: Meaning<'_>, seq: usize) -> Delivery {
    let mut actions = Vec::new();
    if !answer.delay.is_zero() {
        actions.push(Action::Wait(answer.delay));
    }
    actions.extend(answer.gate.clone().map(Action::Gate));
    let mut split = None;
    match &answer.kind {
        AnswerKind::Silence => actions.push(Action::Hold),
        AnswerKind::Whole(whole) => actions.extend(whole_actions(whole.clone())),
        AnswerKind::Reply(reply) => {
            split = reply.split;
            if meaning.view.streamed && !reply.plain {
                streamed::push_actions(reply, meaning, seq, &mut actions);
            } else {
                plain::push_actions(reply, meaning, seq, &mut actions);
            }
        }
    }
    Delivery { actions, split }
}

/// The actions for a response that is no chat reply: a list, an error, a page.
pub(crate) fn whole_actions(whole: WholeResponse) -> [Action; 2] {
    let mut headers = whole.headers;
    headers.extend(
        whole
            .content_type
            .map(|content_type| ("content-type".to_owned(), content_type)),
    );
    let head = ResponseHead {
        status: whole.status,
        headers,
        framing: Framing::Length(whole.body.len()),
    };
    [Action::Head(head), Action::Body(whole.body)]
}

/// A JSON response without frills.
pub(crate) fn json_actions(status: u16, body: &Value) -> Delivery {
    let whole = WholeResponse {
        status,
        content_type: Some("application/json".to_owned()),
        headers: Vec::new(),
        body: body.to_string().into_bytes(),
    };
    Delivery {
        actions: whole_actions(whole).into(),
        split: None,
    }
}

/// The head of a chat reply.
pub(crate) fn reply_head(reply: &Reply, usual_type: &str, framing: Framing) -> Action {
    let content_type = reply.content_type.as_deref().unwrap_or(usual_type);
    let mut headers = vec![("content-type".to_owned(), content_type.to_owned())];
    headers.extend(reply.headers.iter().cloned());
    Action::Head(ResponseHead {
        status: 200,
        headers,
        framing,
    })
}

/// The actions that break a body off in the middle of `next`.
pub(crate) fn cut_actions(cut: Cut, next: &[u8], actions: &mut Vec<Action>) {
    if cut.kind != CutKind::Stall && !next.is_empty() {
        actions.push(Action::Body(next[..next.len() / 2].to_vec()));
    }
    actions.push(match cut.kind {
        CutKind::Stall => Action::Hold,
        CutKind::Reset => Action::Reset,
        CutKind::Close => Action::Close,
    });
}
