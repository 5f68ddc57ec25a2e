//! The settings: seats, endpoints and everything else of `settings.toml`, each change written at once.

use std::path::Path;
use std::sync::Arc;

use egui::{ComboBox, DragValue, RichText, ScrollArea, Ui};
use host::settings::{Settings, SettingsEdit, SettingsProblem};
use host::{EndpointStatus, Intent, SeatView};

use crate::theme::{Tokens, fonts::Families};

mod endpoint_form;
mod seat_form;

use endpoint_form::EndpointsSection;
use seat_form::SeatsSection;

/// Widest the column of settings gets, in points.
const COLUMN: f32 = 680.0;

/// What the settings view shows.
pub struct SettingsContext<'a> {
    /// The settings in force.
    pub settings: &'a Arc<Settings>,
    /// What was not understood.
    pub problems: &'a [SettingsProblem],
    /// The file.
    pub path: &'a Path,
    /// The seats.
    pub seats: &'a [SeatView],
    /// The endpoints.
    pub endpoints: &'a [EndpointStatus],
}

/// The state of the settings view: what is being typed.
#[derive(Default)]
pub struct SettingsView {
    seats: SeatsSection,
    endpoints: EndpointsSection,
}

impl SettingsView {
    /// Draws the settings and returns what the person wants.
    pub fn settings_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        context: &SettingsContext<'_>,
    ) -> Vec<Intent> {
        let mut intents = Vec::new();
        ScrollArea::vertical()
            .id_salt("settings")
            .auto_shrink(false)
            .show(ui, |ui| {
                let side = ((ui.available_width() - COLUMN) / 2.0)
                    .max(tokens.metrics.space.between_blocks);
                ui.horizontal_top(|ui| {
                    ui.add_space(side);
                    ui.vertical(|ui| {
                        ui.set_max_width(
                            COLUMN.min(ui.available_width() - tokens.metrics.space.between_blocks),
                        );
                        ui.add_space(tokens.metrics.space.between_speakers);
                        ui.label(
                            RichText::new("Settings")
                                .size(tokens.metrics.typ.empty_state)
                                .family(Families::default().semibold),
                        );
                        secondary(
                            ui,
                            tokens,
                            &format!(
                                "Every change is written to {} at once.",
                                context.path.display()
                            ),
                        );
                        problems_ui(ui, tokens, context.problems);
                        self.seats.seats_ui(ui, tokens, context, &mut intents);
                        self.endpoints
                            .endpoints_ui(ui, tokens, context, &mut intents);
                        conversation_ui(ui, tokens, context.settings, &mut intents);
                        appearance_ui(ui, tokens, context.settings, &mut intents);
                        privacy_ui(ui, tokens, context, &mut intents);
                        ui.add_space(2.0 * tokens.metrics.space.between_speakers);
                    });
                });
            });
        intents
    }
}

fn problems_ui(ui: &mut Ui, tokens: &Tokens, problems: &[SettingsProblem]) {
    for problem in problems {
        ui.label(RichText::new(problem.to_string()).color(tokens.state.warn));
    }
}

/// A section's heading with a sentence on what it is about.
fn heading(ui: &mut Ui, tokens: &Tokens, title: &str, about: &str) {
    ui.add_space(tokens.metrics.space.between_speakers);
    ui.heading(title);
    secondary(ui, tokens, about);
    ui.add_space(tokens.metrics.space.related);
}

fn secondary(ui: &mut Ui, tokens: &Tokens, text: &str) {
    let text = RichText::new(text)
        .size(tokens.metrics.typ.secondary)
        .color(tokens.text.secondary);
    ui.add(egui::Label::new(text).wrap());
}

/// A label at the left, a control at the right.
fn row<R>(ui: &mut Ui, label: &str, control: impl FnOnce(&mut Ui, egui::Id) -> R) -> R {
    ui.horizontal(|ui| {
        let width = 180.0;
        let label = ui
            .allocate_ui_with_layout(
                egui::vec2(width, ui.spacing().interact_size.y),
                egui::Layout::left_to_right(egui::Align::Center),
                |ui| {
                    ui.set_min_width(width);
                    ui.label(label)
                },
            )
            .inner;
        control(ui, label.id)
    })
    .inner
}

/// A choice among words.
fn choice(
    ui: &mut Ui,
    id: &str,
    name: &str,
    current: &str,
    options: &[(&str, &str)],
) -> Option<String> {
    let shown = options
        .iter()
        .find(|(value, _)| *value == current)
        .map_or(current, |(_, label)| label);
    let mut chosen = None;
    let combo = ComboBox::from_id_salt(id)
        .selected_text(shown)
        .width(220.0)
        .show_ui(ui, |ui| {
            for (value, label) in options {
                if ui.selectable_label(*value == current, *label).clicked() && *value != current {
                    chosen = Some((*value).to_owned());
                }
            }
        });
    combo.response.widget_info(|| {
        let mut info = egui::WidgetInfo::labeled(egui::Role::ComboBox, true, name);
        info.current_text_value = Some(shown.to_owned());
        info
    });
    chosen
}

fn conversation_ui(ui: &mut Ui, tokens: &Tokens, settings: &Settings, intents: &mut Vec<Intent>) {
    heading(
        ui,
        tokens,
        "Conversation",
        "Who answers, how much they are shown, how long they may take.",
    );
    let mut edit = |edit: SettingsEdit| intents.push(Intent::EditSettings(edit));
    row(ui, "Without a mention", |ui, _| {
        let current = match settings.default_mode {
            conversation::RouterMode::Manual => "manual",
            conversation::RouterMode::RoundRobin => "roundRobin",
        };
        let options = [
            ("manual", "the seat I am speaking to"),
            ("roundRobin", "the seats in turn"),
        ];
        if let Some(mode) = choice(ui, "router mode", "Without a mention", current, &options) {
            edit(SettingsEdit::RouterMode(mode));
        }
    });
    number(
        ui,
        "Longest prompt",
        settings.soft_limit_chars as u64,
        1_000..=100_000_000,
        " characters",
        |n| {
            edit(SettingsEdit::SoftLimitChars(
                usize::try_from(n).unwrap_or(usize::MAX),
            ));
        },
    );
    number(
        ui,
        "Wait for the first byte",
        settings.first_byte_timeout.as_secs(),
        1..=86_400,
        " s",
        |n| {
            edit(SettingsEdit::FirstByteTimeoutSecs(n));
        },
    );
    number(
        ui,
        "Wait within a reply",
        settings.stall_timeout.as_secs(),
        1..=86_400,
        " s",
        |n| {
            edit(SettingsEdit::StallTimeoutSecs(n));
        },
    );
}

/// A number that is written when the person has finished changing it.
fn number(
    ui: &mut Ui,
    label: &str,
    current: u64,
    range: std::ops::RangeInclusive<u64>,
    unit: &str,
    mut changed: impl FnMut(u64),
) {
    row(ui, label, |ui, label_id| {
        let id = ui.scope_id().with(label);
        let mut value = ui.data(|data| data.get_temp::<u64>(id)).unwrap_or(current);
        let speed = (current as f64 / 100.0).max(1.0);
        let response = ui.add(
            DragValue::new(&mut value)
                .range(range)
                .speed(speed)
                .suffix(unit),
        );
        let response = response.labelled_by(label_id);
        if response.dragged() || response.has_focus() {
            ui.data_mut(|data| data.insert_temp(id, value));
        } else {
            ui.data_mut(|data| data.remove::<u64>(id));
            if value != current && (response.lost_focus() || response.drag_stopped()) {
                changed(value);
            }
        }
    });
}

fn appearance_ui(ui: &mut Ui, tokens: &Tokens, settings: &Settings, intents: &mut Vec<Intent>) {
    heading(
        ui,
        tokens,
        "Appearance",
        "Zoom with Ctrl and +, -, 0. Keys are changed in keymap.toml.",
    );
    row(ui, "Theme", |ui, _| {
        let options = [
            ("system", "as the system"),
            ("light", "light"),
            ("dark", "dark"),
            ("light-high-contrast", "light, high contrast"),
            ("dark-high-contrast", "dark, high contrast"),
        ];
        if let Some(theme) = choice(ui, "theme", "Theme", &settings.theme, &options) {
            intents.push(Intent::EditSettings(SettingsEdit::Theme(theme)));
        }
    });
    switch(ui, "Reduced motion", settings.reduced_motion, |on| {
        intents.push(Intent::EditSettings(SettingsEdit::ReducedMotion(on)));
    });
}

fn privacy_ui(
    ui: &mut Ui,
    tokens: &Tokens,
    context: &SettingsContext<'_>,
    intents: &mut Vec<Intent>,
) {
    heading(
        ui,
        tokens,
        "Privacy",
        "Folkmoot sends no telemetry. It contacts these hosts and no others:",
    );
    for endpoint in context.endpoints {
        let text = RichText::new(&endpoint.url)
            .family(Families::default().mono)
            .size(tokens.metrics.typ.secondary);
        ui.label(text);
    }
    ui.add_space(tokens.metrics.space.related);
    switch(
        ui,
        "Subscriptions only",
        context.settings.subscriptions_only,
        |on| {
            intents.push(Intent::EditSettings(SettingsEdit::SubscriptionsOnly(on)));
        },
    );
    secondary(
        ui,
        tokens,
        "Removes every endpoint but the subscription proxy, and with them all keys from use.",
    );
    switch(
        ui,
        "Keep a run journal",
        context.settings.journal_enabled,
        |on| {
            intents.push(Intent::EditSettings(SettingsEdit::JournalEnabled(on)));
        },
    );
    secondary(
        ui,
        tokens,
        "Requests, reasoning and usage of each thread, on this machine only, for you to review.",
    );
}

fn switch(ui: &mut Ui, label: &str, current: bool, changed: impl FnOnce(bool)) {
    let mut on = current;
    if ui.checkbox(&mut on, label).changed() {
        changed(on);
    }
}
