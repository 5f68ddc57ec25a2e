//! The banner at the top: the notice about providers' terms, or a folder's wish for trust.

use std::sync::Arc;

use egui::{Align, Frame, Layout, Panel, RichText, Ui};
use host::Intent;

use super::{Shell, parts::Part};
use crate::theme::Tokens;
use crate::widgets::icons;

impl Shell {
    /// At most one banner: the notice about providers' terms, or a folder's wish for trust.
    pub(super) fn banner_ui(&mut self, ui: &mut Ui) {
        let tokens = Arc::clone(&self.tokens);
        let frame = Frame::new()
            .fill(tokens.surface.raised)
            .inner_margin(tokens.metrics.space.inside_panel());
        if self.model.shows_terms_notice {
            let panel = Panel::top("terms notice")
                .frame(frame)
                .show(ui, |ui| terms_ui(ui, &tokens));
            self.parts.push(Part::panel(panel.response.rect));
            if panel.inner {
                self.send(Intent::DismissTermsNotice);
            }
        } else if let Some(folder) = self
            .model
            .folder
            .clone()
            .filter(|_| self.model.folder_asks_trust)
        {
            let panel = Panel::top("trust")
                .frame(frame)
                .show(ui, |ui| trust_ui(ui, &folder));
            self.parts.push(Part::panel(panel.response.rect));
            if panel.inner {
                self.send(Intent::TrustFolder(folder));
            }
        }
    }
}

/// Draws the notice about providers' terms; returns whether it was dismissed.
fn terms_ui(ui: &mut Ui, tokens: &Tokens) -> bool {
    ui.horizontal(|ui| {
        ui.label(icons::icon_text(icons::WARNING, tokens).color(tokens.state.warn));
        let mut dismissed = false;
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            dismissed = ui.button("I understand").clicked();
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.add(egui::Label::new(TERMS_NOTICE).wrap());
            });
        });
        dismissed
    })
    .inner
}

const TERMS_NOTICE: &str = "Using subscription accounts outside the providers' official clients may violate their \
    terms of service and can lead to rate limits or a suspended account. You decide.";

/// Draws a folder's wish for trust; returns whether it was granted.
fn trust_ui(ui: &mut Ui, folder: &std::path::Path) -> bool {
    ui.horizontal(|ui| {
        let mut trusted = false;
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            trusted = ui.button("Trust this folder").clicked();
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let text = format!(
                    "{} brings settings of its own. They have no effect until you trust it.",
                    folder.display()
                );
                ui.add(egui::Label::new(RichText::new(text)).wrap());
            });
        });
        trusted
    })
    .inner
}
