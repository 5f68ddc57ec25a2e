//! Seats in the settings: who sits at the table, on which model, with which instructions.

use egui::{RichText, TextEdit, Ui};
use host::settings::{ParticipantSettings, SettingsEdit};
use host::{Intent, SeatOverride, SeatView};

use super::endpoint_form::check_name;
use super::{SettingsContext, choice, field_width, heading, row, secondary};
use crate::theme::{Tokens, fonts::Families};
use crate::widgets::icons::{self, icon_button};
use crate::widgets::text_field::text_field;

const EFFORTS: [(&str, &str); 5] = [
    ("", "as the model decides"),
    ("low", "low"),
    ("medium", "medium"),
    ("high", "high"),
    ("max", "max"),
];

/// What is being typed in the section on seats.
#[derive(Default)]
pub(super) struct SeatsSection {
    /// The seat being edited or added.
    form: Option<ParticipantSettings>,
    is_new: bool,
    problem: Option<String>,
}

impl SeatsSection {
    pub(super) fn seats_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        context: &SettingsContext<'_>,
        intents: &mut Vec<Intent>,
    ) {
        let about = if context.settings.participants.is_empty() {
            "One seat for each provider that your endpoints offer. Add a seat to set the table yourself."
        } else {
            "The seats at the table, in the order in which @all answers."
        };
        heading(ui, tokens, "Seats", about);
        for (place, view) in context.seats.iter().enumerate() {
            self.seat_ui(ui, tokens, context, place, view, intents);
        }
        ui.add_space(tokens.metrics.space.related);
        if self.form.is_some() {
            self.form_ui(ui, tokens, context, intents);
        } else if ui.button("Add seat").clicked() {
            self.form = Some(blank(context));
            self.is_new = true;
        }
    }

    fn seat_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        context: &SettingsContext<'_>,
        place: usize,
        view: &SeatView,
        intents: &mut Vec<Intent>,
    ) {
        let seat = &view.seat;
        ui.horizontal_wrapped(|ui| {
            let color = crate::chat::color_of(context.seats, place, tokens);
            ui.label(
                RichText::new(&seat.display_name)
                    .family(Families::default().semibold)
                    .color(color),
            );
            ui.label(RichText::new(format!("@{}", seat.id)).color(tokens.text.secondary));
            ui.label(
                RichText::new(format!("{} on {}", seat.model, seat.endpoint))
                    .color(tokens.text.secondary),
            );
            if let Some(label) = view.demo_label {
                ui.label(RichText::new(label).color(tokens.state.warn));
            }
            if !seat.enabled {
                ui.label(RichText::new("switched off").color(tokens.text.disabled));
            }
            if !view.is_derived {
                if icon_button(
                    ui,
                    tokens,
                    icons::PENCIL,
                    &format!("Edit {}", seat.id),
                    None,
                )
                .clicked()
                {
                    self.form = context
                        .settings
                        .participants
                        .iter()
                        .find(|p| p.id == seat.id.as_str())
                        .cloned();
                    self.is_new = false;
                }
                if icon_button(
                    ui,
                    tokens,
                    icons::TRASH,
                    &format!("Remove {}", seat.id),
                    None,
                )
                .clicked()
                {
                    let edit = SettingsEdit::RemoveParticipant(seat.id.to_string());
                    intents.push(Intent::EditSettings(edit));
                }
            }
        });
        if let Some(warning) = &view.warning {
            ui.label(RichText::new(warning).color(tokens.state.warn));
        }
        if view.is_derived && view.variants.len() > 1 {
            variant_ui(ui, view, intents);
        }
    }

    fn form_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        context: &SettingsContext<'_>,
        intents: &mut Vec<Intent>,
    ) {
        let Some(form) = &mut self.form else { return };
        let title = if self.is_new {
            "New seat".to_owned()
        } else {
            format!("Seat {}", form.id)
        };
        ui.label(RichText::new(title).family(Families::default().medium));
        if self.is_new {
            row(ui, "Name in mentions", |ui, label| {
                ui.add(
                    text_field(&mut form.id)
                        .hint_text("claude")
                        .desired_width(field_width(ui, 300.0)),
                )
                .labelled_by(label);
            });
        }
        row(ui, "Name shown", |ui, label| {
            ui.add(
                text_field(&mut form.display_name)
                    .hint_text("Claude")
                    .desired_width(field_width(ui, 300.0)),
            )
            .labelled_by(label);
        });
        endpoint_choice_ui(ui, context, form);
        model_choice_ui(ui, context, form);
        row(ui, "Effort", |ui, _| {
            let current = form.effort.clone().unwrap_or_default();
            if let Some(effort) = choice(ui, "seat effort", "Effort", &current, &EFFORTS) {
                form.effort = Some(effort).filter(|e| !e.is_empty());
            }
        });
        row(ui, "Instructions", |ui, label| {
            ui.add(
                TextEdit::multiline(&mut form.system_prompt)
                    .desired_rows(3)
                    .desired_width(field_width(ui, 400.0)),
            )
            .labelled_by(label);
        });
        row(ui, "Colour", |ui, label| {
            let mut color = form.color.clone().unwrap_or_default();
            let field = text_field(&mut color)
                .hint_text("#D97706, or empty for the theme's")
                .desired_width(field_width(ui, 300.0));
            if ui.add(field).labelled_by(label).changed() {
                form.color = Some(color).filter(|c| !c.is_empty());
            }
        });
        ui.checkbox(&mut form.enabled, "May speak");
        if let Some(problem) = &self.problem {
            ui.label(RichText::new(problem).color(tokens.state.error));
        }
        ui.horizontal(|ui| {
            if ui.button("Save seat").clicked() {
                self.save(context, intents);
            }
            if ui.button("Cancel").clicked() {
                self.form = None;
                self.problem = None;
            }
        });
        secondary(
            ui,
            tokens,
            "Once the settings name a seat, only the seats named there sit at the table.",
        );
    }

    fn save(&mut self, context: &SettingsContext<'_>, intents: &mut Vec<Intent>) {
        let Some(form) = &mut self.form else { return };
        form.id = form.id.trim().to_owned();
        form.model = form.model.trim().to_owned();
        if form.display_name.trim().is_empty() {
            form.display_name.clone_from(&form.id);
        }
        let taken = self.is_new
            && context
                .settings
                .participants
                .iter()
                .any(|p| p.id.eq_ignore_ascii_case(&form.id));
        let checked = check_name(&form.id).and_then(|()| {
            if taken {
                Err(format!("There is a seat called {} already.", form.id))
            } else if form.model.is_empty() {
                Err("A seat needs a model.".to_owned())
            } else {
                Ok(())
            }
        });
        match checked {
            Ok(()) => {
                intents.push(Intent::EditSettings(SettingsEdit::PutParticipant(
                    form.clone(),
                )));
                self.form = None;
                self.problem = None;
            }
            Err(problem) => self.problem = Some(problem),
        }
    }
}

fn blank(context: &SettingsContext<'_>) -> ParticipantSettings {
    let best = context
        .endpoints
        .iter()
        .find(|e| !e.models.is_empty() && e.id != "rehearsal");
    ParticipantSettings {
        id: String::new(),
        display_name: String::new(),
        color: None,
        endpoint: best.map_or_else(|| "sidecar".to_owned(), |e| e.id.clone()),
        model: best
            .and_then(|e| e.models.first())
            .map(|m| m.id.clone())
            .unwrap_or_default(),
        effort: None,
        system_prompt: String::new(),
        enabled: true,
    }
}

fn endpoint_choice_ui(ui: &mut Ui, context: &SettingsContext<'_>, form: &mut ParticipantSettings) {
    row(ui, "Endpoint", |ui, _| {
        let options: Vec<(&str, &str)> = context
            .endpoints
            .iter()
            .map(|e| (e.id.as_str(), e.id.as_str()))
            .collect();
        if let Some(endpoint) = choice(ui, "seat endpoint", "Endpoint", &form.endpoint, &options) {
            let first = context
                .endpoints
                .iter()
                .find(|e| e.id == endpoint)
                .and_then(|e| e.models.first());
            form.model = first.map(|m| m.id.clone()).unwrap_or_default();
            form.endpoint = endpoint;
        }
    });
}

fn model_choice_ui(ui: &mut Ui, context: &SettingsContext<'_>, form: &mut ParticipantSettings) {
    row(ui, "Model", |ui, label| {
        ui.add(text_field(&mut form.model).desired_width(field_width(ui, 220.0)))
            .labelled_by(label);
        let endpoint = context.endpoints.iter().find(|e| e.id == form.endpoint);
        let models: Vec<(&str, &str)> = endpoint
            .map(|e| {
                e.models
                    .iter()
                    .map(|m| (m.id.as_str(), m.id.as_str()))
                    .collect()
            })
            .unwrap_or_default();
        if !models.is_empty()
            && let Some(model) = choice(
                ui,
                "seat model",
                "Models of the endpoint",
                &form.model,
                &models,
            )
        {
            form.model = model;
        }
    });
}

/// Another model of the family, for a seat that comes from the live list.
fn variant_ui(ui: &mut Ui, view: &SeatView, intents: &mut Vec<Intent>) {
    let seat = &view.seat;
    row(ui, "    model, effort", |ui, _| {
        let options: Vec<(&str, &str)> = view
            .variants
            .iter()
            .map(|v| (v.as_str(), v.as_str()))
            .collect();
        let id = format!("variant {}", seat.id);
        let current = seat.effort.clone().unwrap_or_default();
        if let Some(model) = choice(
            ui,
            &id,
            &format!("Model of {}", seat.id),
            &seat.model,
            &options,
        ) {
            let choice = SeatOverride {
                model: Some(model),
                effort: seat.effort.clone(),
            };
            intents.push(Intent::OverrideSeat(seat.id.clone(), choice));
        }
        let id = format!("effort {}", seat.id);
        if let Some(effort) = choice(
            ui,
            &id,
            &format!("Effort of {}", seat.id),
            &current,
            &EFFORTS,
        ) {
            let effort = Some(effort).filter(|e| !e.is_empty());
            let choice = SeatOverride {
                model: Some(seat.model.clone()),
                effort,
            };
            intents.push(Intent::OverrideSeat(seat.id.clone(), choice));
        }
    });
}
