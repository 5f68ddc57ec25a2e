//! Messages of the transcript as the thread's document shows them.

use std::sync::Arc;
use std::time::Instant;

use host::Intent;
use jiff::civil::Date;
use jiff::{ZonedDateTime, tz::TimeZone};
use transcript::{ContextBlock, FailureKind, Message, MessageId, Role, Status, ThreadId};

use super::view::ChatAction;
use crate::shell::command::Command;
use crate::shell::model::Model;
use crate::theme::SeatColor;
use crate::widgets::shared_text::SharedText;
use crate::widgets::thread_doc::{ContextView, ErrorView, MessageRole, MessageStatus, MessageView};

/// A message as it is shown.
pub(super) fn message_view(message: &Arc<Message>, model: &Model, clock: &Clock) -> MessageView {
    let is_live = message.status() == Status::Streaming;
    let (content, reasoning) = match &model.thread {
        Some(thread) if is_live => (
            model.live_text.as_str().into(),
            thread.live_reasoning.as_str().into(),
        ),
        _ => (SharedText::of(Arc::clone(message)), SharedText::default()),
    };
    MessageView {
        time: clock.label(message).into(),
        status: message_status(message, model),
        content,
        reasoning,
        context: message.context_blocks().iter().map(context_view).collect(),
        ..speaker_view(message, model)
    }
}

/// Who speaks a message, without what is said.
pub(super) fn speaker_view(message: &Message, model: &Model) -> MessageView {
    let place = model
        .seats
        .iter()
        .position(|view| view.seat.id == *message.speaker());
    let view = place.map(|place| &model.seats[place]);
    let (role, speaker): (MessageRole, Arc<str>) = match message.role() {
        Role::User => (MessageRole::User, "You".into()),
        Role::System => (MessageRole::System, "Note".into()),
        Role::Assistant => {
            let name = view.map_or(message.speaker().as_str(), |view| {
                view.seat.display_name.as_str()
            });
            (MessageRole::Seat, name.into())
        }
    };
    let demo = view.and_then(|view| view.demo_label);
    let model_name = message.route().map(|route| match demo {
        Some(label) => Arc::from(label),
        None => Arc::from(route.model.as_str()),
    });
    MessageView {
        color: seat_color(view, place),
        model: model_name,
        ..MessageView::new(message.id().as_str(), speaker, role, "")
    }
}

fn seat_color(view: Option<&host::SeatView>, place: Option<usize>) -> SeatColor {
    let hex = view.and_then(|view| view.seat.color.as_deref());
    match hex.and_then(|hex| egui::Color32::from_hex(hex).ok()) {
        Some(color) => SeatColor::Chosen(color),
        None => SeatColor::Nth(place.unwrap_or(7)),
    }
}

/// How far along a message is, and what can be done about it.
pub(super) fn message_status(message: &Message, model: &Model) -> MessageStatus {
    match (message.status(), message.error()) {
        (Status::Streaming, _) => MessageStatus::Streaming {
            since: model.streaming_since.unwrap_or_else(Instant::now),
        },
        (Status::Error, error) => {
            let text = error.unwrap_or("The reply failed.");
            MessageStatus::Failed(ErrorView {
                text: sentence(text.to_owned()).into(),
                action: Some(Remedy::of(message).label().into()),
            })
        }
        (Status::Cancelled, _) if message.failure() == Some(FailureKind::CutOff) => {
            MessageStatus::CutOff
        }
        (Status::Cancelled, _) => MessageStatus::Stopped,
        (Status::Complete, Some(note)) => MessageStatus::Noted(sentence(note.to_owned()).into()),
        (Status::Complete | Status::Deleted, _) => MessageStatus::Complete,
    }
}

/// A text of the engines, which begins in lower case as a part of a sentence does, as a sentence.
pub(super) fn sentence(mut text: String) -> String {
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// The one thing that helps when a reply failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    Retry,
    Settings,
    NewThread,
}

impl Remedy {
    fn of(message: &Message) -> Self {
        match message.failure() {
            Some(FailureKind::Configuration) => Self::Settings,
            Some(FailureKind::ContextFull) => Self::NewThread,
            Some(FailureKind::CutOff | FailureKind::RateLimited) | None => Self::Retry,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Retry => "Retry",
            Self::Settings => "Open settings",
            Self::NewThread => "Start a new thread",
        }
    }
}

/// What the action of a message's error card does.
pub(super) fn resolve_error(thread: &ThreadId, message: &MessageId, model: &Model) -> ChatAction {
    let messages = model
        .thread
        .as_ref()
        .map(|t| t.messages.as_slice())
        .unwrap_or_default();
    let failed = messages.iter().find(|m| m.id() == message);
    match failed.map_or(Remedy::Retry, |message| Remedy::of(message)) {
        Remedy::Settings => ChatAction::Command(Command::OpenSettings),
        Remedy::NewThread => ChatAction::Command(Command::NewThread),
        Remedy::Retry => {
            ChatAction::Intent(Box::new(Intent::Retry(thread.clone(), message.clone())))
        }
    }
}

fn context_view(block: &ContextBlock) -> ContextView {
    let title = match block.range {
        Some([first, last]) => format!("{}:{first}-{last}", block.path),
        None => block.path.clone(),
    };
    ContextView {
        title: title.into(),
        text: block.content.as_str().into(),
    }
}

/// The time zone of the system and today's date in it, looked up once for many messages.
pub(super) struct Clock {
    zone: TimeZone,
    today: Date,
}

impl Clock {
    /// As the system has it now.
    pub(super) fn now() -> Self {
        Self {
            zone: TimeZone::system(),
            today: ZonedDateTime::now().date(),
        }
    }

    /// Time of day, with the date when a message is of another day than today.
    fn label(&self, message: &Message) -> String {
        let millis = message.created_at().as_millis();
        let Ok(timestamp) = jiff::Timestamp::from_millisecond(millis) else {
            return String::new();
        };
        let local = timestamp.to_zoned_datetime(self.zone.clone());
        let format = if local.date() == self.today {
            "%H:%M"
        } else {
            "%Y-%m-%d %H:%M"
        };
        local.strftime(format).to_string()
    }
}
