//! What a thread without messages shows: who sits at the table, and something to begin with.

use egui::text::{LayoutJob, TextFormat};
use egui::{FontId, RichText, ScrollArea, Ui};

use crate::shell::model::Model;
use crate::theme::{Tokens, fonts::Families};

/// Beginnings offered in an empty thread.
const BEGINNINGS: [&str; 3] = [
    "@all What is this project, and how do I run it?",
    "Explain the largest file to me.",
    "@all Discuss: what should be tested first?",
];

/// Draws the empty state; returns the beginning that was chosen.
pub(super) fn empty_state_ui(ui: &mut Ui, tokens: &Tokens, model: &Model) -> Option<&'static str> {
    let mut chosen = None;
    let families = Families::default();
    let lines = 6.0 + model.seats.len() as f32;
    let height = lines * tokens.metrics.size.hit_target_min;
    let above = ((ui.available_height() - height) / 2.0).max(tokens.metrics.space.between_speakers);
    let content = |ui: &mut Ui| {
        ui.add_space(above);
        let title = if model.seats.is_empty() {
            "The table is being set"
        } else {
            "Who sits at the table"
        };
        ui.label(
            RichText::new(title)
                .size(tokens.metrics.typ.empty_state)
                .family(families.semibold.clone()),
        );
        ui.add_space(tokens.metrics.space.related);
        for (place, view) in model
            .seats
            .iter()
            .enumerate()
            .filter(|(_, view)| view.seat.enabled)
        {
            let about = view.demo_label.unwrap_or(&view.seat.model);
            let mut line = LayoutJob::default();
            let name = FontId::new(tokens.metrics.typ.ui, families.semibold.clone());
            let color = super::color_of(&model.seats, place, tokens);
            line.append(
                &view.seat.display_name,
                0.0,
                TextFormat::simple(name, color),
            );
            let detail = FontId::new(tokens.metrics.typ.ui, families.regular.clone());
            let format = TextFormat::simple(detail, tokens.text.secondary);
            let text = format!("@{}  {about}", view.seat.id);
            line.append(&text, tokens.metrics.space.related, format);
            ui.label(line);
        }
        if model.seats.is_empty() {
            let text = "Looking for models. Add an endpoint in the settings if none is found.";
            ui.label(RichText::new(text).color(tokens.text.secondary));
            return;
        }
        ui.add_space(tokens.metrics.space.between_blocks);
        for beginning in BEGINNINGS {
            if ui
                .add(egui::Button::new(
                    RichText::new(beginning).size(tokens.metrics.typ.ui),
                ))
                .clicked()
            {
                chosen = Some(beginning);
            }
        }
    };
    ScrollArea::vertical()
        .auto_shrink(false)
        .show(ui, |ui| ui.vertical_centered(content));
    chosen
}
