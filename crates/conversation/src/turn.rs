//! How a turn is opened, and how a seat gets its place in it.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;
use transcript::{Message, MessageId, NewMessage, Role, Route, SeatId, Status, Thread};

use crate::Seat;
use crate::event::TurnEvent;
use crate::input::SendMode;
use crate::output::Durability;
use crate::prompt::{Prompt, assemble_without};
use crate::queue::Send;
use crate::reply::Reply;
use crate::router::route;
use crate::thread_writer::ThreadWriter;

/// Under this key of a reply's route stands the mode in which it was made, where that isn't chat.
const MODE_KEY: &str = "mode";
const BONFIRE: &str = "bonfire";

/// A turn in progress.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) pending: VecDeque<Responder>,
    pub(crate) mode: SendMode,
    pub(crate) reply: Option<Reply>,
    pub(crate) ok: bool,
}

/// A seat that is still to answer.
#[derive(Debug)]
pub(crate) struct Responder {
    seat: SeatId,
    /// Messages that its prompt does not show.
    left_out: Vec<MessageId>,
}

/// Puts the person's message into the thread and decides who answers it.
pub(crate) fn open_turn(send: Send, writer: &mut ThreadWriter<'_, '_>) -> Turn {
    let mut turn = Turn {
        pending: VecDeque::new(),
        mode: send.mode,
        reply: None,
        ok: true,
    };
    let (mut responders, everyone_there) = responders(&send, writer);
    turn.ok &= everyone_there;
    responders.retain(|seat| match writer.seat_participant(seat) {
        Ok(()) => true,
        Err(error) => {
            turn.ok = false;
            writer.warn(error.to_string());
            false
        }
    });
    let message = NewMessage {
        context_blocks: send.context_blocks,
        targets: responders.clone(),
        ..NewMessage::user(send.text)
    };
    if let Err(error) = writer.append(message, send.message_id, Durability::Now) {
        writer.warn(error.to_string());
        turn.ok = false;
        return turn;
    }
    if responders.is_empty() {
        writer.warn("nobody answers: no addressed seat is enabled");
        turn.ok = false;
    }
    turn.pending = responders
        .into_iter()
        .map(|seat| Responder {
            seat,
            left_out: Vec::new(),
        })
        .collect();
    turn
}

/// Who answers, and whether everyone whom the sender named is there.
fn responders(send: &Send, writer: &mut ThreadWriter<'_, '_>) -> (Vec<SeatId>, bool) {
    let Some(targets) = send.targets.as_ref().filter(|named| !named.is_empty()) else {
        let routing = route(
            writer.thread,
            &send.text,
            writer.context.seats,
            send.selected.as_ref(),
            writer.context.router_mode,
        );
        for mention in routing.unknown_mentions {
            writer.warn(format!("nobody at the table is called @{mention}"));
        }
        return (routing.responders, true);
    };
    let mut responders: Vec<SeatId> = Vec::new();
    let mut everyone_there = true;
    for target in targets {
        if writer.seat(target).is_none() {
            writer.warn(format!("no such seat at the table: {target}"));
            everyone_there = false;
        } else if !responders.contains(target) {
            responders.push(target.clone());
        }
    }
    (responders, everyone_there)
}

/// Why a message can't be retried, if it can't.
pub(crate) fn retriable(thread: &Thread, message_id: &MessageId) -> Result<(), String> {
    match thread.message(message_id) {
        Some(m) if m.role() == Role::Assistant && is_failed(m) => Ok(()),
        Some(_) => Err("only a reply that failed or was stopped can be retried".to_owned()),
        None => Err(format!("no such message: {message_id}")),
    }
}

fn is_failed(message: &Message) -> bool {
    matches!(message.status(), Status::Error | Status::Cancelled)
}

pub(crate) fn open_retry(message_id: &MessageId, writer: &mut ThreadWriter<'_, '_>) -> Turn {
    let mut turn = Turn {
        pending: VecDeque::new(),
        mode: SendMode::Chat,
        reply: None,
        ok: true,
    };
    // It may have been deleted while the retry waited.
    if let Err(why) = retriable(writer.thread, message_id) {
        writer.warn(why);
        turn.ok = false;
        return turn;
    }
    if let Some(message) = writer.thread.message(message_id).cloned() {
        turn.mode = mode_of(&message);
        turn.pending.push_back(Responder {
            seat: message.speaker().clone(),
            left_out: failed_attempts(writer.thread, &message),
        });
        if message.content().is_empty() {
            writer.tombstone(message_id);
        }
    }
    turn
}

/// The replies of the same seat to the same message of the person that failed or were stopped.
pub fn failed_attempts(thread: &Thread, attempt: &Message) -> Vec<MessageId> {
    let messages = thread.messages();
    let is_user = |message: &&Arc<Message>| message.role() == Role::User;
    let at = usize::try_from(attempt.seq()).map_or(messages.len(), |at| at.min(messages.len()));
    let (before, after) = messages.split_at(at);
    before
        .iter()
        .rev()
        .take_while(|message| !is_user(message))
        .chain(after.iter().take_while(|message| !is_user(message)))
        .filter(|message| message.speaker() == attempt.speaker() && is_failed(message))
        .map(|message| message.id().clone())
        .collect()
}

fn mode_of(reply: &Message) -> SendMode {
    let mode = reply.route().and_then(|route| route.extra.get(MODE_KEY));
    match mode.and_then(Value::as_str) {
        Some(BONFIRE) => SendMode::Bonfire,
        _ => SendMode::Chat,
    }
}

/// Assembles the prompt of a seat whose turn it is, and puts its empty reply into the thread.
pub(crate) fn place_reply(
    responder: &Responder,
    mode: SendMode,
    writer: &mut ThreadWriter<'_, '_>,
) -> Result<(MessageId, Seat, Prompt), String> {
    let Some(seat) = writer.seat(&responder.seat).cloned() else {
        return Err(format!("no such seat at the table: {}", responder.seat));
    };
    let prompt = assemble_without(
        writer.thread,
        &seat,
        writer.context.seats,
        &writer.context.options,
        &responder.left_out,
    );
    let mut route = Route {
        endpoint: seat.endpoint.clone(),
        model: seat.model.clone(),
        extra: Default::default(),
    };
    if mode == SendMode::Bonfire {
        route.extra.insert(MODE_KEY.to_owned(), BONFIRE.into());
    }
    let message_id = (writer.context.new_id)();
    writer
        .seat_participant(&seat.id)
        .and_then(|()| {
            let reply = NewMessage::reply(seat.id.clone(), route);
            writer.append(reply, message_id.clone(), Durability::Later)
        })
        .map_err(|error| error.to_string())?;
    if !prompt.dropped.is_empty() || prompt.over_budget {
        writer.tell(|thread, generation| TurnEvent::Dropped {
            thread,
            generation,
            message: message_id.clone(),
            message_ids: prompt.dropped.clone(),
            over_budget: prompt.over_budget,
        });
    }
    Ok((message_id, seat, prompt))
}
