//! Which messages a prompt holds, in which order, and how large it gets: everything but the text.

use crate::prompt::PromptRole;
use crate::seat_view::SeatView;
use crate::size::{Budget, Size};

/// What stands between merged messages.
pub(crate) const MERGE_SEPARATOR: &str = "\n\n";

/// One message that a prompt could hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The role under which the seat sees it.
    pub(crate) role: PromptRole,
    /// Its size with its label.
    pub(crate) size: Size,
}

/// One part of a prompt, before neighbours are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    System,
    /// The entry at this index.
    Entry(usize),
    OmissionMarker,
    Opener,
    Cue,
}

/// A prompt in outline.
pub(crate) struct Outline {
    /// What it holds, in order.
    pub(crate) parts: Vec<Part>,
    /// How many entries were dropped, from the first.
    pub(crate) dropped: usize,
    /// What it measures in all.
    pub(crate) size: Size,
    /// Whether that is more than the budget, because what must stay is too large.
    pub(crate) over_budget: bool,
}

impl Outline {
    /// Arranges `entries`, given in the thread's order.
    ///
    /// Notes that keep the system role come right after the system message; everything else keeps its place.
    pub(crate) fn new(
        entries: &[Entry],
        view: &SeatView<'_>,
        budget: Budget,
        keep_recent: usize,
    ) -> Self {
        let marker = view.omission_marker();
        let marker_size = Size::of(&marker.content);
        let system_size = Size::of(&view.system);
        let keep_recent = keep_recent.max(1);
        let room = Room {
            budget: budget.beside(system_size),
            marker: marker_size,
            separator: if view.merges() {
                Size::of(MERGE_SEPARATOR)
            } else {
                Size::default()
            },
        };
        let dropped = drop_point(entries, &room, keep_recent);
        let mut outline = Self {
            parts: Vec::with_capacity(entries.len() - dropped + 4),
            dropped,
            size: Size::default(),
            over_budget: false,
        };
        let mut last_role = None;
        let mut add = |part, role, size| {
            if view.merges() && last_role == Some(role) {
                outline.size += Size::of(MERGE_SEPARATOR);
            }
            last_role = Some(role);
            outline.parts.push(part);
            outline.size += size;
        };
        add(Part::System, PromptRole::System, system_size);
        let kept = || (dropped..entries.len()).map(|at| (at, entries[at]));
        for (at, note) in kept().filter(|(_, e)| e.role == PromptRole::System) {
            add(Part::Entry(at), note.role, note.size);
        }
        let mut heard = PromptRole::System;
        if dropped > 0 {
            add(Part::OmissionMarker, marker.role, marker_size);
            heard = marker.role;
        }
        for (at, entry) in kept().filter(|(_, e)| e.role != PromptRole::System) {
            if view.merges() && heard == PromptRole::System && entry.role == PromptRole::Assistant {
                add(
                    Part::Opener,
                    PromptRole::User,
                    Size::of(&view.opener().content),
                );
            }
            add(Part::Entry(at), entry.role, entry.size);
            heard = entry.role;
        }
        if heard != PromptRole::User {
            add(Part::Cue, PromptRole::User, Size::of(&view.cue().content));
        }
        outline.over_budget =
            budget.is_exceeded_by(outline.size) && entries.len() - dropped <= keep_recent;
        outline
    }
}

/// What the entries share.
struct Room {
    /// The budget, less what is always there.
    budget: Budget,
    /// What is there as well once something was dropped.
    marker: Size,
    /// What each entry may bring with it.
    separator: Size,
}

/// How many of the oldest entries to drop so that the rest fits into `room`.
///
/// The answer is what an observer who was there from the first message would have arrived at: each time the
/// room was exceeded, they dropped until half of it was free. So it follows from the messages alone, and
/// between two such moments new messages leave it where it is. Providers cache prompts by prefix: dropping
/// one message every turn would lose the cache every turn.
fn drop_point(entries: &[Entry], room: &Room, keep_recent: usize) -> usize {
    let budget_after_drop = room.budget.beside(room.marker);
    let low_water = budget_after_drop.halved();
    let mut dropped = 0;
    let mut kept = Size::default();
    for (at, entry) in entries.iter().enumerate() {
        kept += entry.size + room.separator;
        let budget = if dropped == 0 {
            room.budget
        } else {
            budget_after_drop
        };
        if budget.is_exceeded_by(kept) {
            let droppable = (at + 1).saturating_sub(keep_recent);
            while dropped < droppable && low_water.is_exceeded_by(kept) {
                kept -= entries[dropped].size + room.separator;
                dropped += 1;
            }
        }
    }
    dropped
}
