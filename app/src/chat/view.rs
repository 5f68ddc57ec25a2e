//! The view of the open thread: header, messages, what waits, composer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::{Frame, Panel, RichText, Ui};
use host::{Channel, Intent};
use transcript::{MessageId, Status, ThreadId};

mod drafts;
mod inspection;
mod notes;
mod search;

use drafts::{Editing, blocked};
use inspection::Inspection;
use notes::Note;
use search::Searching;

use super::composer::{Composer, ComposerAction, ComposerContext, Written};
use super::find::Find;
use super::header::{HeaderAction, header_ui};
use super::message_view::{Clock, message_status, message_view, sentence, speaker_view};
use crate::shell::command::Command;
use crate::shell::keymap::Keymap;
use crate::shell::model::{Change, Model};
use crate::shell::parts::Part;
use crate::theme::Tokens;
use crate::widgets::thread_doc::{ThreadAction, ThreadDoc};
use crate::widgets::virtual_list::SCROLLBAR_WIDTH;

/// How long the composer rests before the size of its prompt is asked for.
const ESTIMATE_PAUSE: Duration = Duration::from_millis(120);
/// How long the composer rests before its draft is saved.
const DRAFT_PAUSE: Duration = Duration::from_millis(400);
/// Widest the composer and the empty state get, in points.
pub(crate) const COLUMN: f32 = 738.0;

/// What the view is given to show.
pub struct ChatContext<'a> {
    /// The render model.
    pub model: &'a Model,
    /// The keymap, for tooltips.
    pub keymap: &'a Keymap,
}

/// What the person wants.
#[derive(Debug)]
pub enum ChatAction {
    /// Something of the host.
    Intent(Box<Intent>),
    /// A command of the window.
    Command(Command),
    /// Put text into the clipboard.
    Copy(String),
    /// Open a link in the browser.
    OpenUrl(String),
}

/// The state of the view.
pub struct ChatView {
    doc: Option<ThreadDoc>,
    shown: Option<ThreadId>,
    /// Whose messages the document holds.
    doc_thread: Option<ThreadId>,
    /// The message at the top of each thread that was left with its end out of sight.
    left_at: HashMap<ThreadId, Arc<str>>,
    /// Whether the messages must be handed to the document anew at the next frame.
    is_stale: bool,
    composer: Composer,
    /// The search bar.
    pub find: Find,
    searching: Option<Searching>,
    /// Messages changed while the search bar is open.
    searches_again: bool,
    notes: Vec<Note>,
    has_noted_direction: bool,
    inspection: Option<Inspection>,
    estimate_at: Option<Instant>,
    draft_at: Option<Instant>,
    /// Saves the draft of the thread that was shown before.
    left_draft: Option<Intent>,
    /// Height of the composer and the lines above it, in points.
    composer_height: f32,
    /// What F6 goes through here, in reading order.
    parts: Vec<Part>,
    /// The message of the past that is in the composer.
    editing: Option<Editing>,
}

impl Default for ChatView {
    fn default() -> Self {
        Self::new()
    }
}

impl ChatView {
    /// A view that shows nothing yet.
    pub fn new() -> Self {
        Self {
            doc: None,
            shown: None,
            doc_thread: None,
            left_at: HashMap::new(),
            is_stale: true,
            composer: Composer::default(),
            find: Find::default(),
            searching: None,
            searches_again: false,
            notes: Vec::new(),
            has_noted_direction: false,
            inspection: None,
            estimate_at: None,
            draft_at: None,
            left_draft: None,
            composer_height: 0.0,
            parts: Vec::new(),
            editing: None,
        }
    }

    /// What F6 goes through here, in reading order, as of the last frame.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Shows the model's thread, from the beginning.
    pub fn show_thread(&mut self, model: &Model) {
        let Some(thread) = &model.thread else { return };
        self.is_stale |= !self.shows_messages_of(model);
        if self.shown.as_ref() != Some(&thread.id) {
            let unsaved = self.unsaved_draft();
            self.left_draft = unsaved.or(self.left_draft.take());
            self.shown = Some(thread.id.clone());
            self.composer = Composer::default();
            self.composer.set(Written {
                text: thread.draft.clone(),
                attachments: thread.draft_blocks.clone(),
            });
            self.notes.retain(|note| note.restore.is_some());
            self.editing = None;
            self.find = Find::default();
            self.composer.focus();
            self.note_direction(thread.messages.iter().rev().map(|m| &**m));
        }
        self.estimate_at = Some(Instant::now());
    }

    /// Whether the document holds just the model's messages, so that it needs not be made anew.
    fn shows_messages_of(&mut self, model: &Model) -> bool {
        let (Some(doc), Some(thread)) = (&mut self.doc, &model.thread) else {
            return false;
        };
        let shown = || {
            thread
                .messages
                .iter()
                .filter(|m| m.status() != Status::Deleted)
        };
        if self.shown.as_ref() != Some(&thread.id)
            || !doc.ids().eq(shown().map(|m| m.id().as_str()))
        {
            return false;
        }
        // Settled messages never change; only the last one may have grown.
        shown().next_back().is_none_or(|last| {
            let text = match last.status() {
                Status::Streaming => model.live_text.as_str(),
                _ => last.content(),
            };
            doc.source(&last.id().as_str().into()) == Some(text)
        })
    }

    /// Names and colours of speakers may have changed.
    pub fn seats_changed(&mut self, model: &Model) {
        let messages = model.thread.iter().flat_map(|thread| &thread.messages);
        if let Some(doc) = &mut self.doc {
            for message in messages.filter(|m| m.role() == transcript::Role::Assistant) {
                doc.set_speaker(&message.id().as_str().into(), &speaker_view(message, model));
            }
        }
        self.estimate_at = Some(Instant::now());
    }

    /// Puts the caret into the composer.
    pub fn focus_composer(&mut self) {
        self.composer.focus();
    }

    /// Puts the focus onto the messages.
    pub fn focus_messages(&mut self, ctx: &egui::Context) {
        if let Some(doc) = &self.doc {
            ctx.memory_mut(|memory| memory.request_focus(doc.focus_id()));
        }
    }

    /// Whether Esc closes something here before it stops a turn.
    pub fn wants_escape(&self) -> bool {
        self.find.is_open || self.inspection.is_some() || self.editing.is_some()
    }

    /// Shows a line above the composer.
    pub fn warn(&mut self, text: String) {
        let text = sentence(text);
        self.notes.retain(|note| note.text != text);
        self.notes.push(Note {
            text,
            restore: None,
        });
    }

    /// Says that a thread is in the bin, and offers to bring it back.
    pub fn offer_restore(&mut self, thread: ThreadId, title: &str) {
        let text = format!("\"{title}\" is in the bin.");
        self.notes.push(Note {
            text,
            restore: Some(thread),
        });
    }

    /// Scrolls to the end and follows it.
    pub fn jump_to_latest(&mut self) {
        if let Some(doc) = &mut self.doc {
            doc.follow_tail();
        }
    }

    /// Scrolls to a message.
    pub fn jump_to_message(&mut self, message: &MessageId) {
        if let Some(doc) = &mut self.doc {
            doc.jump_to(&message.as_str().into());
        }
    }

    /// Takes in a change of the open thread.
    pub fn take_change(&mut self, change: Change, model: &Model) {
        match change {
            Change::Added(message) => {
                self.note_direction(std::iter::once(&*message));
                let view = message_view(&message, model, &Clock::now());
                if let Some(doc) = self.doc.as_mut().filter(|_| !self.is_stale) {
                    doc.push_message(view);
                    if message.role() == transcript::Role::User {
                        doc.follow_tail();
                    }
                }
            }
            Change::Delta(delta) => {
                if let Some(doc) = self.doc.as_mut().filter(|_| !self.is_stale) {
                    let id = delta.message.as_str().into();
                    match delta.channel {
                        Channel::Reply => doc.append_delta(&id, &delta.text),
                        Channel::Reasoning => doc.append_reasoning(&id, &delta.text),
                    }
                }
            }
            Change::Message(message) => self.message_changed(&message, model),
            Change::Reasoning(_, text) if text.is_empty() => {
                self.warn("No reasoning was kept for this reply.".to_owned());
            }
            Change::Reasoning(message, text) => {
                if let Some(doc) = &mut self.doc {
                    let message = message.as_str().into();
                    doc.set_reasoning(&message, &text);
                    doc.jump_to(&message);
                }
            }
            Change::Attachment(block) => {
                self.composer.written.attachments.push(block);
                self.draft_at = Some(Instant::now());
                self.composer.focus();
                self.estimate_at = Some(Instant::now());
            }
            Change::BackToComposer {
                text,
                context_blocks,
                reason,
            } => {
                self.put_back(Written {
                    text,
                    attachments: context_blocks,
                });
                if let Some(reason) = reason {
                    self.warn(reason);
                }
            }
            Change::Warning(text) => self.warn(text),
            Change::Inspection(_, requests) => self.inspection = Some(Inspection::new(&requests)),
            _ => {}
        }
    }

    fn message_changed(&mut self, message: &transcript::Message, model: &Model) {
        let Some(doc) = self.doc.as_mut().filter(|_| !self.is_stale) else {
            return;
        };
        let id = message.id().as_str().into();
        if message.status() == Status::Deleted {
            doc.remove_message(&id);
        } else if doc
            .source(&id)
            .is_some_and(|source| source != message.content())
        {
            // A stripped label or a lost delta: the transcript is right.
            self.is_stale = true;
        } else {
            doc.set_status(&id, message_status(message, model));
        }
        self.note_direction(std::iter::once(message));
        self.searches_again = self.find.is_open;
        self.estimate_at = Some(Instant::now());
    }

    /// Draws the view and returns what the person wants.
    pub fn chat_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Arc<Tokens>,
        context: &ChatContext<'_>,
    ) -> Vec<ChatAction> {
        let mut actions = Vec::new();
        let full_height = ui.available_height();
        self.parts.clear();
        self.refresh_doc(ui.ctx(), tokens, context.model);
        self.head_ui(ui, tokens, context, &mut actions);
        self.find_bar_ui(ui, tokens, context.model);
        let bottom = Panel::bottom("composer panel")
            .resizable(false)
            .show_separator_line(false)
            .frame(
                Frame::new()
                    .fill(tokens.surface.base)
                    .inner_margin(tokens.metrics.space.inside_panel()),
            );
        let bottom = bottom.show(ui, |ui| {
            centred(ui, |ui| {
                self.notes_ui(ui, tokens, context.model, &mut actions);
                self.queue_ui(ui, tokens, context.model, &mut actions);
                self.composer_ui(ui, tokens, context, full_height, &mut actions);
            });
        });
        // A panel is placed by the height that it had before.
        let height = bottom.response.rect.height();
        if (height - self.composer_height).abs() > 0.5 {
            self.composer_height = height;
            ui.ctx().request_discard("the composer's height changed");
        }
        let messages = ui.available_rect_before_wrap();
        let first = self.doc.as_ref().map(ThreadDoc::focus_id);
        self.parts.push(Part {
            area: messages,
            first,
        });
        self.messages_ui(ui, tokens, context, &mut actions);
        let composer = bottom.response.rect;
        let first = Composer::field_id();
        self.parts.push(Part::with_first(composer, first));
        self.timed_work(ui.ctx(), context.model, &mut actions);
        actions
    }

    fn refresh_doc(&mut self, ctx: &egui::Context, tokens: &Tokens, model: &Model) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        let doc = self.doc.get_or_insert_with(|| ThreadDoc::new(ctx, tokens));
        let messages = model
            .thread
            .as_ref()
            .map(|t| t.messages.as_slice())
            .unwrap_or_default();
        let shown: Vec<_> = messages
            .iter()
            .filter(|m| m.status() != Status::Deleted)
            .collect();
        let clock = Clock::now();
        let view = |message: &&Arc<transcript::Message>| message_view(message, model, &clock);
        let thread = model.thread_id().cloned();
        if let Some(left) = self.doc_thread.take() {
            match doc.top_message() {
                Some(top) => drop(self.left_at.insert(left.clone(), top)),
                None => drop(self.left_at.remove(&left)),
            }
            self.doc_thread = Some(left);
        }
        let is_same = self.doc_thread == thread;
        self.doc_thread = thread;
        let earlier = shown.len().saturating_sub(doc.len());
        let holds_end = is_same && earlier > 0 && !doc.is_empty() && {
            let end = shown[earlier..].iter().map(|m| m.id().as_str());
            doc.ids().eq(end)
        };
        if holds_end {
            doc.prepend(shown[..earlier].iter().map(view));
        } else {
            doc.set_messages(shown.iter().map(view));
        }
        let left_at = self.doc_thread.as_ref().and_then(|id| self.left_at.get(id));
        if let Some(top) = left_at.filter(|_| doc.list().follows_tail()) {
            doc.show_at_top(top);
        }
    }

    fn head_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        context: &ChatContext<'_>,
        actions: &mut Vec<ChatAction>,
    ) {
        let frame = Frame::new()
            .fill(tokens.surface.base)
            .inner_margin(tokens.metrics.space.inside_top_bar());
        let header = Panel::top("thread header")
            .frame(frame)
            .show(ui, |ui| header_ui(ui, tokens, context, self.composer.mode));
        self.parts.push(Part::panel(header.response.rect));
        for action in header.inner {
            actions.push(match action {
                HeaderAction::Command(command) => ChatAction::Command(command),
                HeaderAction::SetDefaultTarget(seat) => match context.model.thread_id().cloned() {
                    Some(thread) => intent(Intent::SetDefaultTarget { thread, seat }),
                    None => continue,
                },
                HeaderAction::ToggleBonfire => {
                    self.toggle_bonfire();
                    continue;
                }
                HeaderAction::CheckEndpoint(id) => intent(Intent::CheckEndpoints(Some(id))),
            });
        }
    }

    fn composer_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        context: &ChatContext<'_>,
        full_height: f32,
        actions: &mut Vec<ChatAction>,
    ) {
        let model = context.model;
        let thread = model.thread.as_ref();
        let stop_key = context
            .keymap
            .label(Command::Stop)
            .unwrap_or_else(|| "Esc".to_owned());
        let composer = ComposerContext {
            seats: &model.seats,
            responders: &model.estimate.targets,
            default_target: thread.and_then(|t| t.default_target.as_ref()),
            estimate: model.estimate.size,
            unknown_mentions: &model.estimate.unknown_mentions,
            is_generating: model.turn().is_generating,
            blocked: blocked(model),
            max_height: full_height * tokens.metrics.size.composer_max_height_fraction,
            stop_key: &stop_key,
        };
        for action in self.composer.composer_ui(ui, tokens, &composer) {
            match action {
                ComposerAction::Send => {
                    if let Some(wanted) = self.send_intent(model) {
                        actions.push(intent(wanted));
                    }
                }
                ComposerAction::Stop => actions.push(ChatAction::Command(Command::Stop)),
                ComposerAction::AttachFile => {
                    actions.push(ChatAction::Command(Command::AttachFile));
                }
                ComposerAction::EditLast => actions.push(ChatAction::Command(Command::EditLast)),
                ComposerAction::Changed => self.composer_changed(),
                ComposerAction::SetDefaultTarget(seat) => {
                    if let Some(thread) = model.thread_id().cloned() {
                        actions.push(intent(Intent::SetDefaultTarget { thread, seat }));
                    }
                }
            }
        }
    }

    fn composer_changed(&mut self) {
        let now = Instant::now();
        self.estimate_at.get_or_insert(now + ESTIMATE_PAUSE);
        self.draft_at = Some(now + DRAFT_PAUSE);
    }

    fn messages_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Arc<Tokens>,
        context: &ChatContext<'_>,
        actions: &mut Vec<ChatAction>,
    ) {
        let Some(doc) = &mut self.doc else { return };
        if doc.is_empty() {
            if let Some(text) = super::empty_state::empty_state_ui(ui, tokens, context.model) {
                self.composer.set_text(text.to_owned());
                self.composer.focus();
                self.composer_changed();
            }
            return;
        }
        let Some(thread) = context.model.thread_id().cloned() else {
            return;
        };
        for action in doc.show(ui, tokens) {
            actions.extend(thread_action(&thread, action, context.model));
        }
    }
}

fn intent(intent: Intent) -> ChatAction {
    ChatAction::Intent(Box::new(intent))
}

fn secondary(tokens: &Tokens, text: &str) -> RichText {
    RichText::new(text)
        .size(tokens.metrics.typ.secondary)
        .color(tokens.text.secondary)
}

/// Lays `content` out in the column that prose has.
fn centred(ui: &mut Ui, content: impl FnOnce(&mut Ui)) {
    let beside_scrollbar = (ui.available_width() - SCROLLBAR_WIDTH).max(1.0);
    let width = beside_scrollbar.min(COLUMN);
    let side = ((beside_scrollbar - width) / 2.0).floor();
    ui.horizontal(|ui| {
        ui.add_space(side);
        ui.vertical(|ui| {
            ui.set_width(width);
            content(ui);
        });
    });
}

fn thread_action(thread: &ThreadId, action: ThreadAction, model: &Model) -> Option<ChatAction> {
    let id = |message: &Arc<str>| MessageId::from(&**message);
    let wanted = match action {
        ThreadAction::Retry(message) => Intent::Retry(thread.clone(), id(&message)),
        ThreadAction::Inspect(message) => Intent::Inspect {
            thread: thread.clone(),
            message: id(&message),
        },
        ThreadAction::ShowReasoning(message) => Intent::ShowReasoning(thread.clone(), id(&message)),
        ThreadAction::Delete(message) => Intent::DeleteMessage(thread.clone(), id(&message)),
        ThreadAction::Fork(message) => {
            let messages = model
                .thread
                .as_ref()
                .map(|t| t.messages.as_slice())
                .unwrap_or_default();
            let last_shared = messages
                .iter()
                .find(|m| m.id().as_str() == &*message)
                .map(|m| m.seq());
            Intent::Fork {
                thread: thread.clone(),
                last_shared,
                resend: None,
            }
        }
        ThreadAction::OpenLink(url) => return Some(ChatAction::OpenUrl(url.to_string())),
        ThreadAction::ResolveError(message) => {
            return Some(super::message_view::resolve_error(
                thread,
                &id(&message),
                model,
            ));
        }
        ThreadAction::Copied(_)
        | ThreadAction::CopiedMarkdown(_)
        | ThreadAction::CopiedSelection
        | ThreadAction::CopiedCode(_) => return None,
    };
    Some(intent(wanted))
}
