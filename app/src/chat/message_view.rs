//! Messages of the transcript as the thread's document shows them.

use std::sync::Arc;
use std::time::Instant;

use host::Intent;
use transcript::{ContextBlock, Message, MessageId, Role, Status, ThreadId};

use super::view::ChatAction;
use crate::shell::command::Command;
use crate::shell::model::Model;
use crate::theme::SeatColor;
use crate::widgets::thread_doc::{ContextView, ErrorView, MessageRole, MessageStatus, MessageView};

/// Label of the action that runs a reply again.
const RETRY: &str = "Retry";
/// Label of the action that opens the settings.
const SETTINGS: &str = "Open settings";

/// A message as it is shown.
pub(super) fn message_view(message: &Message, model: &Model) -> MessageView {
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
    let is_live = message.status() == Status::Streaming;
    let reasoning = match &model.thread {
        Some(thread) if is_live => thread.live_reasoning.as_str().into(),
        _ => Arc::default(),
    };
    MessageView {
        color: seat_color(view, place),
        model: model_name,
        time: local_time(message).into(),
        status: message_status(message, model),
        reasoning,
        context: message.context_blocks().iter().map(context_view).collect(),
        ..MessageView::new(message.id().as_str(), speaker, role, message.content())
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
            let action = if needs_settings(text) {
                SETTINGS
            } else {
                RETRY
            };
            MessageStatus::Failed(ErrorView {
                text: text.into(),
                action: Some(action.into()),
            })
        }
        (Status::Cancelled, Some(error)) if error.starts_with("cut off") => MessageStatus::CutOff,
        (Status::Cancelled, _) => MessageStatus::Stopped,
        (Status::Complete | Status::Deleted, _) => MessageStatus::Complete,
    }
}

/// Whether an error is mended in the settings rather than by another try.
fn needs_settings(error: &str) -> bool {
    [
        "no key is stored",
        "no endpoint called",
        "answered with status 401",
        " 401",
        "is the key right",
    ]
    .iter()
    .any(|sign| error.contains(sign))
}

/// What the action of a message's error card does.
pub(super) fn resolve_error(thread: &ThreadId, message: &MessageId, model: &Model) -> ChatAction {
    let messages = model
        .thread
        .as_ref()
        .map(|t| t.messages.as_slice())
        .unwrap_or_default();
    let error = messages
        .iter()
        .find(|m| m.id() == message)
        .and_then(|m| m.error())
        .unwrap_or_default();
    if needs_settings(error) {
        ChatAction::Command(Command::OpenSettings)
    } else {
        ChatAction::Intent(Box::new(Intent::Retry(thread.clone(), message.clone())))
    }
}

fn context_view(block: &ContextBlock) -> ContextView {
    let size = super::size_label(block.content.len());
    let title = match block.range {
        Some([first, last]) => format!("{}:{first}-{last}, {size}", block.path),
        None => format!("{}, {size}", block.path),
    };
    ContextView {
        title: title.into(),
        text: block.content.as_str().into(),
    }
}

/// Time of day, with the date when it is another day than today, in the time zone of the system.
fn local_time(message: &Message) -> String {
    let Ok(timestamp) = jiff::Timestamp::from_millisecond(message.created_at().as_millis()) else {
        return String::new();
    };
    let zoned = timestamp.to_zoned_datetime(jiff::tz::TimeZone::system());
    let today = jiff::ZonedDateTime::now().date();
    if zoned.date() == today {
        zoned.strftime("%H:%M").to_string()
    } else {
        zoned.strftime("%Y-%m-%d %H:%M").to_string()
    }
}
