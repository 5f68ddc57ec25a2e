//! The status bar: how the endpoints are, what is wrong, and what the renderer is.

use egui::{Align, Color32, Layout, RichText, Sense, Ui};
use host::{EndpointState, EndpointStatus, HostNotice, Severity};

use crate::theme::{Tokens, focus_ring, fonts::Families};
use crate::widgets::icons;

/// What the status bar shows.
pub struct StatusBar<'a> {
    /// The endpoints in use first.
    pub endpoints: &'a [EndpointStatus],
    /// Ids of the endpoints that seats use.
    pub in_use: &'a [String],
    /// Notices that stand.
    pub notices: &'a [HostNotice],
    /// Settings that were not understood.
    pub settings_problems: usize,
    /// Why nothing is saved.
    pub read_only: Option<&'a str>,
    /// Whether drawing is done by the processor.
    pub is_software_rendered: bool,
    /// Time of the last frame in milliseconds, when the performance panel is open.
    pub frame_ms: Option<f32>,
}

/// What the person clicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusBarAction {
    /// Ask the endpoints again.
    CheckEndpoints,
    /// Show notices.
    ShowNotices,
    /// Show settings.
    ShowSettings,
}

impl StatusBar<'_> {
    /// Draws it and returns what the person clicked.
    pub fn status_bar_ui(&self, ui: &mut Ui, tokens: &Tokens) -> Option<StatusBarAction> {
        let mut action = None;
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = tokens.metrics.space.inside_card;
            self.right_ui(ui, tokens, &mut action);
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                // In a narrow window this side gives way.
                ui.shrink_clip_rect(ui.max_rect());
                self.left_ui(ui, tokens, &mut action);
            });
        });
        action
    }

    fn left_ui(&self, ui: &mut Ui, tokens: &Tokens, action: &mut Option<StatusBarAction>) {
        for endpoint in self
            .endpoints
            .iter()
            .filter(|e| self.in_use.contains(&e.id))
        {
            if pill_ui(ui, tokens, endpoint) {
                *action = Some(StatusBarAction::CheckEndpoints);
            }
        }
        if let Some(reason) = self.read_only {
            let text = small("not saved", tokens).color(tokens.state.error);
            ui.label(text).on_hover_text(reason);
        }
        if self.settings_problems > 0 {
            let text = match self.settings_problems {
                1 => "1 problem in the settings".to_owned(),
                n => format!("{n} problems in the settings"),
            };
            if link(ui, small(&text, tokens).color(tokens.state.warn)) {
                *action = Some(StatusBarAction::ShowSettings);
            }
        }
    }

    fn right_ui(&self, ui: &mut Ui, tokens: &Tokens, action: &mut Option<StatusBarAction>) {
        let errors = self
            .notices
            .iter()
            .filter(|n| n.severity == Severity::Error)
            .count();
        let (text, color) = match (self.notices.len(), errors) {
            (0, _) => (String::from("no notices"), tokens.text.secondary),
            (1, 0) => (String::from("1 notice"), tokens.text.primary),
            (n, 0) => (format!("{n} notices"), tokens.text.primary),
            (_, 1) => (String::from("1 error"), tokens.state.error),
            (_, n) => (format!("{n} errors"), tokens.state.error),
        };
        if link(ui, small(&text, tokens).color(color)) {
            *action = Some(StatusBarAction::ShowNotices);
        }
        if self.is_software_rendered {
            ui.label(small("software rendering", tokens))
                .on_hover_text("No graphics card is used; everything works, only slower.");
        }
        if let Some(ms) = self.frame_ms {
            ui.label(small(&format!("{ms:.1} ms"), tokens).family(Families::default().tabular));
        }
    }
}

/// The colour, icon and word of an endpoint's state.
pub fn state_look(state: EndpointState, tokens: &Tokens) -> (Color32, char, &'static str) {
    match state {
        EndpointState::Checking => (tokens.state.busy, icons::HOURGLASS, "checking"),
        EndpointState::Green => (tokens.state.ok, icons::OK, "ready"),
        EndpointState::Amber => (tokens.state.warn, icons::WARNING, "needs attention"),
        EndpointState::Red => (tokens.state.error, icons::ERROR, "not reachable"),
    }
}

/// Draws an endpoint's pill; returns whether it was clicked.
pub fn pill_ui(ui: &mut Ui, tokens: &Tokens, endpoint: &EndpointStatus) -> bool {
    let (color, icon, word) = state_look(endpoint.state, tokens);
    let name = if endpoint.id == "rehearsal" {
        "demo table"
    } else {
        &endpoint.id
    };
    let rect = ui
        .scope(|ui| {
            ui.spacing_mut().item_spacing.x = tokens.metrics.space.inside_chip;
            let icon = egui::Label::new(icons::icon_text(icon, tokens).color(color));
            let text = egui::Label::new(small(&format!("{name}: {word}"), tokens));
            let mut parts = [icon, text];
            if ui.layout().prefer_right_to_left() {
                parts.reverse();
            }
            for part in parts {
                ui.add(part.selectable(false));
            }
        })
        .response
        .rect;
    let id = ui.scope_id().with(("endpoint", &endpoint.id));
    let response = ui.interact(rect, id, Sense::click());
    if response.has_focus() {
        focus_ring(ui.painter(), rect.shrink(4.0), tokens);
    }
    response.widget_info(|| {
        egui::WidgetInfo::labeled(
            egui::Role::Button,
            true,
            format!("{name}: {word}. Check again"),
        )
    });
    let detail = if endpoint.detail.is_empty() {
        endpoint.url.clone()
    } else {
        endpoint.detail.clone()
    };
    ui.ctx()
        .accesskit_node_builder(response.id, |node| node.set_description(detail.as_str()));
    response
        .on_hover_text(format!("{detail}\nClick to check again."))
        .clicked()
}

fn small(text: &str, tokens: &Tokens) -> RichText {
    RichText::new(text)
        .size(tokens.metrics.typ.secondary)
        .color(tokens.text.secondary)
}

fn link(ui: &mut Ui, text: RichText) -> bool {
    let name = text.text().to_owned();
    let response = ui.add(egui::Button::new(text).frame(false).small());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &name));
    response.clicked()
}
