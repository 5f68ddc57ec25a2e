//! Who responds to a message.

use transcript::{Role, SeatId, Thread};

use crate::Seat;
use crate::mention::{MentionKind, mentions};

/// Who responds when a message mentions nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouterMode {
    /// The seat that the person is speaking to.
    #[default]
    Manual,
    /// The next seat after the one that spoke last.
    RoundRobin,
}

/// The router's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routing {
    /// Enabled seats in order of speaking, each once. Empty only when no seat is enabled.
    pub responders: Vec<SeatId>,
    /// Mentions that addressed nobody at the table, as typed, each once.
    pub unknown_mentions: Vec<String>,
    /// Which rule decided.
    pub reason: RoutingReason,
}

/// The rule that chose the responders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutingReason {
    /// The message says `@all`.
    All,
    /// The message mentions them.
    Mentioned,
    /// The person is speaking to that seat.
    Selected,
    /// The person spoke to that seat last.
    LastAddressed,
    /// It is that seat's turn.
    RoundRobin,
    /// Nothing else decided, so the first enabled seat.
    FirstSeat,
    /// No seat is enabled.
    NobodyEnabled,
}

/// Decides who responds to `text`, the next message of `thread`. The first rule that names an enabled seat
/// wins:
///
/// 1. `@all`: every enabled seat, in the table's order.
/// 2. Mentions: those seats, in order of mention.
/// 3. [`RouterMode::RoundRobin`]: the next enabled seat after the one that spoke last.
/// 4. [`RouterMode::Manual`]: `selected`, else the last seat of those last addressed.
/// 5. The first enabled seat.
pub fn route(
    thread: &Thread,
    text: &str,
    seats: &[Seat],
    selected: Option<&SeatId>,
    mode: RouterMode,
) -> Routing {
    let mut mentioned = Vec::new();
    let mut unknown_mentions = Vec::new();
    let mut everyone = false;
    for mention in mentions(text, seats) {
        match mention.kind {
            MentionKind::All => everyone = true,
            MentionKind::Seat(seat) => push_once(&mut mentioned, seat),
            MentionKind::Unknown => push_once(&mut unknown_mentions, mention.token),
        }
    }
    let (responders, reason) = if everyone {
        (every_enabled(seats), RoutingReason::All)
    } else if mentioned.is_empty() {
        let (seat, reason) = unmentioned(thread, seats, selected, mode);
        (seat.into_iter().collect(), reason)
    } else {
        (mentioned, RoutingReason::Mentioned)
    };
    Routing {
        reason: if responders.is_empty() {
            RoutingReason::NobodyEnabled
        } else {
            reason
        },
        responders,
        unknown_mentions,
    }
}

/// The seat that the person addressed last and that is still enabled: the last one, where it was several.
pub fn last_addressed(thread: &Thread, seats: &[Seat]) -> Option<SeatId> {
    thread
        .messages()
        .iter()
        .rev()
        .filter(|message| message.role() == Role::User)
        .find_map(|message| message.targets().iter().rev().find(|id| enabled(seats, id)))
        .cloned()
}

fn unmentioned(
    thread: &Thread,
    seats: &[Seat],
    selected: Option<&SeatId>,
    mode: RouterMode,
) -> (Option<SeatId>, RoutingReason) {
    let first = || {
        seats
            .iter()
            .find(|seat| seat.enabled)
            .map(|seat| seat.id.clone())
    };
    match mode {
        RouterMode::RoundRobin => (
            after_last_speaker(thread, seats).or_else(first),
            RoutingReason::RoundRobin,
        ),
        RouterMode::Manual => {
            if let Some(seat) = selected.filter(|id| enabled(seats, id)) {
                (Some(seat.clone()), RoutingReason::Selected)
            } else if let Some(seat) = last_addressed(thread, seats) {
                (Some(seat), RoutingReason::LastAddressed)
            } else {
                (first(), RoutingReason::FirstSeat)
            }
        }
    }
}

fn after_last_speaker(thread: &Thread, seats: &[Seat]) -> Option<SeatId> {
    let last = thread
        .messages()
        .iter()
        .rev()
        .find(|message| message.role() == Role::Assistant)?;
    let place = seats.iter().position(|seat| seat.id == *last.speaker())?;
    let (up_to_last, rest) = seats.split_at(place + 1);
    rest.iter()
        .chain(up_to_last)
        .find(|seat| seat.enabled)
        .map(|seat| seat.id.clone())
}

fn every_enabled(seats: &[Seat]) -> Vec<SeatId> {
    let mut ids = Vec::new();
    for seat in seats.iter().filter(|seat| seat.enabled) {
        push_once(&mut ids, seat.id.clone());
    }
    ids
}

fn enabled(seats: &[Seat], id: &SeatId) -> bool {
    seats.iter().any(|seat| seat.enabled && seat.id == *id)
}

fn push_once<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
