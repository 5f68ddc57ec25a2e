//! A message as the window knows it.

use std::{sync::Arc, time::Instant};

use crate::{theme::SeatColor, widgets::shared_text::SharedText};

/// A message's name, unique in its thread.
pub type MessageId = Arc<str>;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageRole {
    /// The person.
    User,
    /// A model at the table.
    Seat,
    /// The program.
    System,
}

/// How far along a message is.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageStatus {
    /// All of it is there.
    Complete,
    /// All of it is there, and something about it is worth knowing.
    Noted(Arc<str>),
    /// It is being written.
    Streaming {
        /// When it was asked for.
        since: Instant,
    },
    /// The person stopped it.
    Stopped,
    /// It ended without saying that it is complete.
    CutOff,
    /// It failed.
    Failed(ErrorView),
}

/// An error in the provider's words, and what can be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorView {
    /// What went wrong, as the provider put it.
    pub text: Arc<str>,
    /// The label of the one action that helps, when there is one.
    pub action: Option<Arc<str>>,
}

/// Something a model was shown besides the thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextView {
    /// What it is: a file's name, a selection.
    pub title: Arc<str>,
    /// What the model saw.
    pub text: Arc<str>,
}

/// A message to show.
#[derive(Clone, Debug)]
pub struct MessageView {
    /// Its name.
    pub id: MessageId,
    /// Who speaks, by name.
    pub speaker: Arc<str>,
    /// Who speaks, by kind.
    pub role: MessageRole,
    /// The speaker's colour.
    pub color: SeatColor,
    /// The model that answered, when one did.
    pub model: Option<Arc<str>>,
    /// When, ready to be shown.
    pub time: Arc<str>,
    /// The text, Markdown.
    pub content: SharedText,
    /// How far along it is.
    pub status: MessageStatus,
    /// What the model thought on the way.
    pub reasoning: SharedText,
    /// What the model was shown besides the thread.
    pub context: Vec<ContextView>,
}

impl MessageView {
    /// A complete message without extras.
    pub fn new(
        id: impl Into<MessageId>,
        speaker: impl Into<Arc<str>>,
        role: MessageRole,
        content: impl Into<SharedText>,
    ) -> Self {
        Self {
            id: id.into(),
            speaker: speaker.into(),
            role,
            color: SeatColor::Nth(0),
            model: None,
            time: Arc::default(),
            content: content.into(),
            status: MessageStatus::Complete,
            reasoning: SharedText::default(),
            context: Vec::new(),
        }
    }

    pub(super) fn same_speaker(&self, other: &Self) -> bool {
        self.role == other.role && self.speaker == other.speaker
    }
}

/// How a message follows the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Continuation {
    First,
    SameSpeaker,
    OtherSpeaker,
}
