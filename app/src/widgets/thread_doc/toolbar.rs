//! The actions on a message, shown only while the pointer is over it or it has the focus.

use egui::{Id, Rect, Stroke, StrokeKind, Ui, pos2, vec2};

use super::{
    Content, ThreadAction,
    entry::Entry,
    layout::Column,
    message::{MessageRole, MessageStatus},
};
use crate::{
    theme::Tokens,
    widgets::{icons, markdown::plain_text},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Button {
    Copy,
    CopyMarkdown,
    Inspect,
    Reasoning,
    Retry,
    Fork,
    Delete,
}

impl Button {
    fn icon(self) -> char {
        match self {
            Self::Copy => icons::COPY,
            Self::CopyMarkdown => icons::MARKDOWN,
            Self::Inspect => icons::EYE,
            Self::Reasoning => icons::THINKING,
            Self::Retry => icons::RETRY,
            Self::Fork => icons::GIT_FORK,
            Self::Delete => icons::TRASH,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Copy => "Copy text",
            Self::CopyMarkdown => "Copy as Markdown",
            Self::Inspect => "What the model saw",
            Self::Reasoning => "Show the reasoning",
            Self::Retry => "Retry",
            Self::Fork => "Fork from here",
            Self::Delete => "Delete",
        }
    }
}

fn button_id(list: Id, uid: u32, button: Button) -> Id {
    list.with(("action", uid, button))
}

/// The button that Enter on a message moves the focus to.
pub(super) fn first_button(list: Id, uid: u32) -> Id {
    button_id(list, uid, Button::Copy)
}

pub(super) fn show(content: &mut Content, ui: &mut Ui, tokens: &Tokens, column: Column) {
    let dragging = ui.input(|input| input.pointer.is_decidedly_dragging());
    let mut shown: Vec<usize> = Vec::new();
    if !dragging {
        shown.extend(content.hovered);
    }
    shown.extend(content.focused.filter(|&at| Some(at) != content.hovered));
    for at in shown {
        show_for(content, ui, tokens, column, at);
    }
}

fn show_for(content: &mut Content, ui: &mut Ui, tokens: &Tokens, column: Column, at: usize) {
    let Some(rect) = content.message_rect(at) else {
        return;
    };
    let entry = &content.entries[at];
    let has_focus = |button| {
        let id = button_id(content.list_id, entry.uid, button);
        ui.memory(|memory| memory.has_focus(id))
    };
    let buttons = buttons_of(entry);
    let list_has_focus = ui.memory(|memory| memory.has_focus(content.list_id));
    let is_reached = list_has_focus || buttons.iter().any(|&button| has_focus(button));
    if content.hovered != Some(at) && !is_reached {
        return;
    }
    let side = tokens.metrics.size.hit_target_min;
    let view = content.view;
    let padding = if entry.view.role == MessageRole::User {
        5.0
    } else {
        -5.0
    };
    let top = (rect.top() + padding)
        .max(view.top() + tokens.metrics.space.inside_chip)
        .min(rect.bottom() - side);
    let right = view.left() + column.left + column.width;
    let width = side * buttons.len() as f32;
    let bar = Rect::from_min_size(pos2(right - width, top), vec2(width, side));
    paint_bar(ui, tokens, entry.view.role, bar, top > rect.top() + padding);
    let (uid, id) = (entry.uid, entry.view.id.clone());
    for (n, button) in buttons.into_iter().enumerate() {
        let left = bar.left() + side * n as f32;
        let slot = Rect::from_min_size(pos2(left, top), vec2(side, side));
        let button_id = button_id(content.list_id, uid, button);
        let response =
            icons::icon_button_at(ui, tokens, button.icon(), button.label(), slot, button_id);
        if response.clicked() {
            let action = match button {
                Button::Copy => {
                    ui.ctx().copy_text(text_of(&content.entries[at]));
                    ThreadAction::Copied(id.clone())
                }
                Button::CopyMarkdown => {
                    ui.ctx().copy_text(content.entries[at].source().to_owned());
                    ThreadAction::CopiedMarkdown(id.clone())
                }
                Button::Inspect => ThreadAction::Inspect(id.clone()),
                Button::Reasoning => ThreadAction::ShowReasoning(id.clone()),
                Button::Retry => ThreadAction::Retry(id.clone()),
                Button::Fork => ThreadAction::Fork(id.clone()),
                Button::Delete => ThreadAction::Delete(id.clone()),
            };
            content.actions.push(action);
        }
    }
}

/// What copying a message gives: its text, or the error when it has none.
fn text_of(entry: &Entry) -> String {
    match &entry.view.status {
        MessageStatus::Failed(error) if entry.source().is_empty() => error.text.to_string(),
        _ => plain_text(entry.source()),
    }
}

/// The bar hides what is behind it; over the message's own text it is set off by a border.
fn paint_bar(ui: &Ui, tokens: &Tokens, role: MessageRole, bar: Rect, over_text: bool) {
    let radius = tokens.metrics.radius.control;
    if over_text {
        let border = Stroke::new(1.0 / ui.pixels_per_point(), tokens.border.strong);
        let fill = tokens.surface.overlay;
        ui.painter()
            .rect(bar, radius, fill, border, StrokeKind::Outside);
        return;
    }
    let surface = match role {
        MessageRole::User => tokens.surface.raised,
        _ => tokens.surface.base,
    };
    ui.painter().rect_filled(bar, radius, surface);
}

fn buttons_of(entry: &Entry) -> Vec<Button> {
    let streaming = matches!(entry.view.status, MessageStatus::Streaming { .. });
    let mut buttons = vec![Button::Copy, Button::CopyMarkdown];
    // A reply that is whole stands; asking once more is a new message.
    let is_whole = entry.view.status == MessageStatus::Complete;
    if entry.view.role == MessageRole::Seat && !streaming {
        buttons.push(Button::Inspect);
        if !entry.has_reasoning() {
            buttons.push(Button::Reasoning);
        }
    }
    if entry.view.role == MessageRole::Seat && !streaming && !is_whole {
        buttons.push(Button::Retry);
    }
    if !streaming {
        buttons.extend([Button::Fork, Button::Delete]);
    }
    buttons
}
