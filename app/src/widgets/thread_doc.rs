//! A thread as it is shown: messages as rows of a virtual list, split into blocks when they come near the view.
//!
//! The document is a render model. It is told what happened ([`ThreadDoc::append_delta`] and the like), shows it, and
//! answers with what the person asked for ([`ThreadAction`]).

mod actions;
mod entry;
mod layout;
mod message;
mod paint;
mod pointer;
mod rows;
#[cfg(test)]
mod tests;
mod toolbar;
mod view;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use egui::{Id, Rect, Ui};

pub use actions::ThreadAction;
use entry::Entry;
pub use message::{ContextView, ErrorView, MessageId, MessageRole, MessageStatus, MessageView};
use rows::RowKey;

use super::{
    fenwick::Fenwick,
    highlight::Highlighter,
    layout_cache::LayoutCache,
    markdown::Typography,
    selection::{DocPos, Selection, Unit},
    virtual_list::{Position, VirtualList},
};
use crate::theme::{Metrics, Tokens};

/// How many bytes laid out blocks may take.
const LAYOUT_BUDGET: usize = 64 << 20;

/// A thread's messages, laid out as far as they were looked at, and where the thread is scrolled to.
pub struct ThreadDoc {
    list: VirtualList,
    content: Content,
    /// Messages that have text waiting to be split.
    dirty: BTreeSet<usize>,
    /// Number of messages when the tail was left, for counting what came since.
    seen: Option<usize>,
}

/// Everything but the scroll position.
struct Content {
    entries: Vec<Entry>,
    metrics: Arc<Metrics>,
    index: HashMap<MessageId, usize>,
    /// Rows of each message.
    row_counts: Fenwick,
    next_uid: u32,
    cache: LayoutCache<(u32, RowKey)>,
    highlighter: Highlighter,
    typography: Option<Arc<Typography>>,
    theme_epoch: u64,
    selection: Option<Selection>,
    /// What is marked wherever it stands; empty for nothing.
    marked: String,
    focused: Option<usize>,
    /// Whether the list got the focus by other means than the pointer, so that it must be seen.
    is_reached_by_keys: bool,
    hovered: Option<usize>,
    /// Rows of the last frame.
    rects: Vec<(usize, Rect)>,
    view: Rect,
    actions: Vec<ThreadAction>,
    /// Rows whose message changes shape after this frame.
    reshaped: BTreeSet<usize>,
    list_id: Id,
}

impl ThreadDoc {
    /// An empty thread, shown in windows of `ctx`. The sizes of `tokens` hold for all themes.
    pub fn new(ctx: &egui::Context, tokens: &Tokens) -> Self {
        Self {
            list: VirtualList::from_estimates([rows::END_HEIGHT]),
            content: Content {
                entries: Vec::new(),
                metrics: Arc::new(tokens.metrics.clone()),
                index: HashMap::new(),
                row_counts: Fenwick::default(),
                next_uid: 0,
                cache: LayoutCache::new(LAYOUT_BUDGET),
                highlighter: Highlighter::new(ctx),
                typography: None,
                theme_epoch: 0,
                selection: None,
                marked: String::new(),
                focused: None,
                is_reached_by_keys: true,
                hovered: None,
                rects: Vec::new(),
                view: Rect::NOTHING,
                actions: Vec::new(),
                reshaped: BTreeSet::new(),
                list_id: Id::NULL,
            },
            dirty: BTreeSet::new(),
            seen: None,
        }
    }

    /// Replaces all messages and shows the end. Costs little more than a look at each text: they are split later.
    pub fn set_messages(&mut self, messages: impl IntoIterator<Item = MessageView>) {
        let content = &mut self.content;
        content.entries.clear();
        content.index.clear();
        content.selection = None;
        content.focused = None;
        content.cache.clear();
        let messages = messages.into_iter();
        content.entries.reserve(messages.size_hint().0);
        content.index.reserve(messages.size_hint().0);
        for view in messages {
            content.add_entry(view);
        }
        content.row_counts = content.entries.iter().map(|_| 1).collect();
        let estimates = content.entries.iter().map(Entry::unsplit_estimate);
        self.list = VirtualList::from_estimates(estimates.chain([rows::END_HEIGHT]));
        self.dirty.clear();
        self.seen = None;
    }

    /// Adds messages before all others. What is visible stays where it is, and so do selection and focus.
    pub fn prepend(&mut self, messages: impl IntoIterator<Item = MessageView>) {
        let content = &mut self.content;
        let old = std::mem::take(&mut content.entries);
        content.index.clear();
        for view in messages {
            content.add_entry(view);
        }
        let count = content.entries.len();
        let estimates: Vec<f32> = content
            .entries
            .iter()
            .map(Entry::unsplit_estimate)
            .collect();
        content.entries.extend(old);
        content.index_entries();
        content.selection = content.selection.map(|selection| selection.shifted(count));
        for at in [&mut content.focused, &mut content.hovered] {
            *at = at.map(|at| at + count);
        }
        self.dirty = self.dirty.iter().map(|at| at + count).collect();
        self.seen = self.seen.map(|seen| seen + count);
        self.list.splice(0..0, estimates);
        // The first of the old ones follows another now.
        if count > 0 && count < self.len() {
            self.reshape(count);
        }
    }

    /// Adds a message at the end.
    pub fn push_message(&mut self, view: MessageView) {
        let content = &mut self.content;
        content.add_entry(view);
        content.row_counts.push(1);
        let end = self.list.len().saturating_sub(1);
        let estimate = content.entries.last().map_or(0.0, Entry::unsplit_estimate);
        self.list.splice(end..end, [estimate]);
    }

    /// Appends text to a message that streams in. Unknown messages are ignored: the snapshot that follows has them.
    pub fn append_delta(&mut self, id: &MessageId, text: &str) {
        if let Some(&at) = self.content.index.get(id) {
            self.content.entries[at].pending.push_str(text);
            self.dirty.insert(at);
        }
    }

    /// Appends text to a message's reasoning.
    pub fn append_reasoning(&mut self, id: &MessageId, text: &str) {
        if let Some(&at) = self.content.index.get(id) {
            self.content.entries[at].push_reasoning(text);
            self.reshape(at);
        }
    }

    /// Changes how far along a message is.
    pub fn set_status(&mut self, id: &MessageId, status: MessageStatus) {
        if let Some(&at) = self.content.index.get(id) {
            self.flush(at);
            self.content.entries[at].view.status = status;
            self.reshape(at);
        }
    }

    /// Takes a message away.
    pub fn remove_message(&mut self, id: &MessageId) {
        let Some(&at) = self.content.index.get(id) else {
            return;
        };
        let rows = self.content.rows_of(at);
        self.list.splice(rows, []);
        let content = &mut self.content;
        content.entries.remove(at);
        content.index_entries();
        content.selection = None;
        content.focused = None;
        self.dirty = std::mem::take(&mut self.dirty)
            .into_iter()
            .filter(|&dirty| dirty != at)
            .map(|dirty| if dirty > at { dirty - 1 } else { dirty })
            .collect();
        if at < self.content.entries.len() {
            self.reshape(at);
        }
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.content.entries.len()
    }

    /// Whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.content.entries.is_empty()
    }

    /// The source text of a message, with everything that was appended.
    pub fn source(&mut self, id: &MessageId) -> Option<&str> {
        let &at = self.content.index.get(id)?;
        self.flush(at);
        Some(self.content.entries[at].source())
    }

    /// Changes how a message's speaker is shown: name, colour, model.
    pub fn set_speaker(&mut self, id: &MessageId, like: &MessageView) {
        if let Some(&at) = self.content.index.get(id) {
            let view = &mut self.content.entries[at].view;
            view.speaker = like.speaker.clone();
            view.color = like.color;
            view.model.clone_from(&like.model);
        }
    }

    /// The list's state: where it is scrolled to, which rows are visible.
    pub fn list(&self) -> &VirtualList {
        &self.list
    }

    /// Keeps the end in view from now on: after sending a message, or when the person asks for the latest.
    pub fn follow_tail(&mut self) {
        self.list.follow_tail();
        self.seen = None;
    }

    /// Scrolls by `points`, towards the end when positive, as the wheel does.
    pub fn scroll_by(&mut self, points: f32) {
        self.list.scroll_by(points);
    }

    /// How many messages came since the person left the end.
    pub fn new_below(&self) -> usize {
        self.seen.map_or(0, |seen| self.len().saturating_sub(seen))
    }

    /// Scrolls to a message and marks it for a moment. False when there is no such message.
    pub fn jump_to(&mut self, id: &MessageId) -> bool {
        let Some(&at) = self.content.index.get(id) else {
            return false;
        };
        let row = self.content.rows_of(at).start;
        self.list.jump_to(row, true);
        self.content.focused = Some(at);
        true
    }

    /// Scrolls to the block of a message that has byte `byte` of its source, and marks it for a moment.
    pub fn jump_to_byte(&mut self, id: &MessageId, byte: usize) -> bool {
        let Some(&at) = self.content.index.get(id) else {
            return false;
        };
        self.split_entry(at);
        if self.content.entries[at].uncover(byte) {
            self.reshape(at);
        }
        let first = self.content.rows_of(at).start;
        let row = first + self.content.entries[at].row_at_byte(byte);
        self.list.jump_to(row, true);
        true
    }

    /// Marks `text` wherever it is visible, without regard to case, until told otherwise; empty marks nothing.
    pub fn mark_matches(&mut self, text: &str) {
        text.clone_into(&mut self.content.marked);
    }

    /// Selects a part of a message's source text.
    pub fn select(&mut self, id: &MessageId, range: std::ops::Range<usize>) {
        if let Some(&text) = self.content.index.get(id) {
            let start = DocPos {
                text,
                byte: range.start,
            };
            let end = DocPos {
                text,
                byte: range.end,
            };
            self.content.selection = Some(Selection::new(Unit::Grapheme, start, end));
        }
    }

    /// Replaces a message's reasoning.
    pub fn set_reasoning(&mut self, id: &MessageId, text: &str) {
        if let Some(&at) = self.content.index.get(id) {
            self.content.entries[at].set_reasoning(text);
            self.reshape(at);
        }
    }

    /// What has the keyboard focus when the messages have it.
    pub fn focus_id(&self) -> Id {
        self.content.list_id
    }

    /// The names of the messages, in order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.content.entries.iter().map(|entry| &*entry.view.id)
    }

    /// The message at the top of the view; `None` while the tail is followed.
    pub fn top_message(&self) -> Option<MessageId> {
        let Position::Anchor { row, .. } = self.list.position() else {
            return None;
        };
        let (at, _) = self.content.locate(row)?;
        Some(self.content.entries[at].view.id.clone())
    }

    /// Shows a message at the top of the view. False when there is no such message.
    pub fn show_at_top(&mut self, id: &MessageId) -> bool {
        let Some(&at) = self.content.index.get(id) else {
            return false;
        };
        let row = self.content.rows_of(at).start;
        self.list.jump_to(row, false);
        true
    }

    /// What is selected, as source text; empty when nothing is.
    pub fn selected_text(&self) -> String {
        let selection = self.content.selection.as_ref();
        selection.map_or_else(String::new, |selection| {
            selection.copy(|text| self.content.entries.get(text).map(Entry::source))
        })
    }

    /// Waits until the colours asked for so far are there; for tests and pictures.
    pub fn wait_for_colors(&mut self) {
        self.content
            .highlighter
            .wait(std::time::Duration::from_secs(60));
    }

    /// Shows the thread in the space that `ui` has left, and says what the person asked for.
    pub fn show(&mut self, ui: &mut Ui, tokens: &Arc<Tokens>) -> Vec<ThreadAction> {
        while let Some(at) = self.dirty.pop_first() {
            self.flush(at);
        }
        view::show(self, ui, tokens)
    }

    /// Splits text that arrived since the last frame; only the open end of the message is parsed again.
    fn flush(&mut self, at: usize) {
        let entry = &mut self.content.entries[at];
        let text = std::mem::take(&mut entry.pending);
        if text.is_empty() {
            return;
        }
        let was_empty = entry.source().is_empty();
        let changed = entry.push_content(&text);
        if was_empty || !entry.is_split() {
            self.reshape(at);
        } else {
            self.replace_tail_rows(at, changed);
        }
    }

    /// Replaces the rows from block `changed` on, keeping what is measured of those that stay.
    fn replace_tail_rows(&mut self, at: usize, changed: usize) {
        let first_row = self.content.rows_of(at).start;
        let entry = &mut self.content.entries[at];
        let keep = entry.rows_before_block(changed);
        let old: Vec<_> = entry.rows.split_off(keep);
        let new = entry.tail_rows(changed);
        self.apply_rows(at, first_row + keep, &old, &new);
    }

    /// Builds all rows of a message anew, keeping what is measured of those that stay the same.
    fn reshape(&mut self, at: usize) {
        let first_row = self.content.rows_of(at).start;
        let continues = self.content.continues(at);
        let entry = &mut self.content.entries[at];
        if !entry.is_split() {
            self.list.invalidate(first_row);
            return;
        }
        let old = std::mem::take(&mut entry.rows);
        let new = entry.all_rows(continues);
        self.apply_rows(at, first_row, &old, &new);
    }

    fn apply_rows(&mut self, at: usize, first: usize, old: &[rows::Row], new: &[rows::Row]) {
        let same = old
            .iter()
            .zip(new)
            .take_while(|(old, new)| old.key == new.key)
            .count();
        for row in first..first + same {
            self.list.invalidate(row);
        }
        let entry = &mut self.content.entries[at];
        let estimates: Vec<f32> = new[same..].iter().map(|row| entry.estimate(row)).collect();
        self.list.splice(first + same..first + old.len(), estimates);
        entry.rows.extend(new);
        let delta = new.len() as i64 - old.len() as i64;
        self.content.row_counts.add(at, delta);
    }

    fn split_entry(&mut self, at: usize) {
        let first = self.content.rows_of(at).start;
        if let Some(estimates) = self.content.split_entry(at) {
            self.list.splice(first..first + 1, estimates);
        }
    }
}

impl Content {
    fn add_entry(&mut self, view: MessageView) {
        self.index.insert(view.id.clone(), self.entries.len());
        self.entries
            .push(Entry::new(view, self.next_uid, self.metrics.clone()));
        self.next_uid += 1;
    }

    /// Counts rows and notes places anew, after messages moved.
    fn index_entries(&mut self) {
        let entries = self.entries.iter();
        self.row_counts = entries.map(|entry| entry.rows.len() as i64).collect();
        let ids = self.entries.iter().map(|entry| entry.view.id.clone());
        self.index = ids.zip(0..).collect();
    }

    /// The rows of message `at`.
    fn rows_of(&self, at: usize) -> std::ops::Range<usize> {
        let start = self.row_counts.prefix(at) as usize;
        let count = self.entries.get(at).map_or(0, |entry| entry.rows.len());
        start..start + count
    }

    /// The message that `row` belongs to, and its number there; `None` for the space at the end.
    fn locate(&self, row: usize) -> Option<(usize, usize)> {
        let (at, within) = self.row_counts.find(row as i64);
        (at < self.entries.len()).then_some((at, within as usize))
    }

    /// Whether message `at` goes on from the same speaker.
    fn continues(&self, at: usize) -> message::Continuation {
        let before = at
            .checked_sub(1)
            .and_then(|before| self.entries.get(before));
        match (before, self.entries.get(at)) {
            (None, _) | (_, None) => message::Continuation::First,
            (Some(before), Some(entry)) if before.view.same_speaker(&entry.view) => {
                message::Continuation::SameSpeaker
            }
            _ => message::Continuation::OtherSpeaker,
        }
    }

    /// Splits message `at` into rows; their estimated heights, or `None` when it is split already.
    fn split_entry(&mut self, at: usize) -> Option<Vec<f32>> {
        let continues = self.continues(at);
        let entry = self.entries.get_mut(at).filter(|entry| !entry.is_split())?;
        entry.split();
        entry.rows = entry.all_rows(continues);
        let estimates: Vec<f32> = entry.rows.iter().map(|row| entry.estimate(row)).collect();
        self.row_counts.add(at, estimates.len() as i64 - 1);
        Some(estimates)
    }
}
