//! The header of a thread: its title, how its endpoints are, who is spoken to, and a new thread.

use egui::{Align, Layout, RichText, Ui};
use transcript::SeatId;

use super::composer::Mode;
use super::view::ChatContext;
use crate::shell::command::Command;
use crate::shell::status_bar::pill_ui;
use crate::theme::{Tokens, fonts::Families};
use crate::widgets::icons::{self, icon_button};

/// Room left in the header, in points, in which there is place for an endpoint beside the title.
const PILL_FROM: f32 = 220.0;

/// What the person did in the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HeaderAction {
    /// Start a command.
    Command(Command),
    /// Speak to a seat, or to whoever was addressed last.
    SetDefaultTarget(Option<SeatId>),
    /// Change between Chat and Bonfire.
    ToggleBonfire,
    /// Ask an endpoint again.
    CheckEndpoint(String),
}

/// Draws the header and returns what the person did.
pub(super) fn header_ui(
    ui: &mut Ui,
    tokens: &Tokens,
    context: &ChatContext<'_>,
    mode: Mode,
) -> Vec<HeaderAction> {
    let mut actions = Vec::new();
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let key = context.keymap.label(Command::NewThread);
            if icon_button(ui, tokens, icons::PLUS, "New thread", key.as_deref()).clicked() {
                actions.push(HeaderAction::Command(Command::NewThread));
            }
            let key = context.keymap.label(Command::FindInThread);
            if icon_button(ui, tokens, icons::SEARCH, "Find in thread", key.as_deref()).clicked() {
                actions.push(HeaderAction::Command(Command::FindInThread));
            }
            target_ui(ui, tokens, context, &mut actions);
            let label = match mode {
                Mode::Chat => "Chat",
                Mode::Bonfire => "Bonfire",
            };
            let key = context
                .keymap
                .label(Command::ToggleBonfire)
                .unwrap_or_default();
            let text = RichText::new(label).size(tokens.metrics.typ.secondary);
            let tip = format!("Change between Chat and Bonfire  ({key})");
            if ui.button(text).on_hover_text(tip).clicked() {
                actions.push(HeaderAction::ToggleBonfire);
            }
            let in_use = context.model.endpoints.iter().filter(|endpoint| {
                context
                    .model
                    .seats
                    .iter()
                    .any(|view| view.seat.endpoint == endpoint.id)
            });
            for endpoint in in_use {
                // They are in the status bar as well; the title needs the room more.
                if ui.available_width() < PILL_FROM {
                    break;
                }
                if pill_ui(ui, tokens, endpoint) {
                    actions.push(HeaderAction::CheckEndpoint(endpoint.id.clone()));
                }
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                title_ui(ui, tokens, context, &mut actions);
            });
        });
    });
    actions
}

fn title_ui(
    ui: &mut Ui,
    tokens: &Tokens,
    context: &ChatContext<'_>,
    actions: &mut Vec<HeaderAction>,
) {
    let title = context
        .model
        .thread
        .as_ref()
        .map(|t| t.title.as_str())
        .filter(|t| !t.is_empty());
    let title = title.unwrap_or("New thread");
    let text = RichText::new(title)
        .family(Families::default().semibold)
        .size(tokens.metrics.typ.heading);
    let button = ui.add(
        egui::Button::new(text)
            .frame_when_inactive(false)
            .truncate(),
    );
    button.widget_info(|| {
        egui::WidgetInfo::labeled(
            egui::Role::Button,
            true,
            format!("Thread: {title}. Switch thread"),
        )
    });
    let key = context
        .keymap
        .label(Command::SwitchThread)
        .unwrap_or_default();
    if button
        .on_hover_text(format!("Switch thread  ({key})"))
        .clicked()
    {
        actions.push(HeaderAction::Command(Command::SwitchThread));
    }
}

fn target_ui(
    ui: &mut Ui,
    tokens: &Tokens,
    context: &ChatContext<'_>,
    actions: &mut Vec<HeaderAction>,
) {
    let model = context.model;
    let chosen = model
        .thread
        .as_ref()
        .and_then(|t| t.default_target.as_ref());
    let name = chosen
        .and_then(|id| model.seats.iter().find(|view| view.seat.id == *id))
        .map_or("last addressed", |view| view.seat.display_name.as_str());
    let label = RichText::new(format!("Speaking to {name}")).size(tokens.metrics.typ.secondary);
    ui.menu_button(label, |ui| {
        let wait = |seat: &SeatId| model.wait_secs(seat);
        let choice = super::targets_menu_ui(ui, &model.seats, chosen, wait);
        actions.extend(choice.map(HeaderAction::SetDefaultTarget));
    });
}
