//! What lies below the text: attaching, mode, who answers, the size of the prompt, sending.

use egui::{Align, Layout, RichText, Ui, vec2};
use transcript::SeatId;

use super::{Composer, ComposerAction, ComposerContext, Mode};
use crate::chat::targets_menu_ui;
use crate::theme::{Tokens, readable_on};
use crate::widgets::icons::{self, icon_button};

/// Room that the hint on the prompt's size needs, in points; in less it is left out.
const HINT_WIDTH: f32 = 240.0;

impl Composer {
    pub(super) fn footer_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        context: &ComposerContext<'_>,
        actions: &mut Vec<ComposerAction>,
    ) {
        ui.add_space(tokens.metrics.space.inside_chip);
        ui.horizontal(|ui| {
            if icon_button(ui, tokens, icons::PAPERCLIP, "Attach a file", None).clicked() {
                actions.push(ComposerAction::AttachFile);
            }
            self.mode_ui(ui, tokens, actions);
            target_ui(ui, tokens, context, self.popup_was_open, actions);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                self.send_or_stop_ui(ui, tokens, context, actions);
                if ui.available_width() > HINT_WIDTH {
                    hint_ui(ui, tokens, context);
                }
            });
        });
    }

    fn mode_ui(&mut self, ui: &mut Ui, tokens: &Tokens, actions: &mut Vec<ComposerAction>) {
        let requests = conversation::bonfire::request_count();
        let (label, explanation) = match self.mode {
            Mode::Chat => ("Chat", "Each seat answers once.".to_owned()),
            Mode::Bonfire => (
                "Bonfire",
                format!(
                    "Plan, drafts, criticism, synthesis: about {requests} requests for each answer."
                ),
            ),
        };
        let text = RichText::new(label).size(tokens.metrics.typ.secondary);
        let button = ui
            .button(text)
            .on_hover_text(format!("{explanation} Click to change."));
        button.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Mode: {label}"))
        });
        if button.clicked() {
            self.mode = match self.mode {
                Mode::Chat => Mode::Bonfire,
                Mode::Bonfire => Mode::Chat,
            };
            actions.push(ComposerAction::Changed);
        }
        if self.mode == Mode::Bonfire {
            ui.label(
                RichText::new(format!("about {requests} requests"))
                    .size(tokens.metrics.typ.secondary)
                    .color(tokens.state.warn),
            );
        }
    }

    fn send_or_stop_ui(
        &self,
        ui: &mut Ui,
        tokens: &Tokens,
        context: &ComposerContext<'_>,
        actions: &mut Vec<ComposerAction>,
    ) {
        let can_send = !self.written.is_empty() && context.blocked.is_none();
        let label = if context.is_generating {
            "Queue"
        } else {
            "Send"
        };
        let fill = if can_send {
            tokens.accent
        } else {
            tokens.surface.hover
        };
        let color = if can_send {
            tokens.on_accent
        } else {
            tokens.text.disabled
        };
        let send = egui::Button::new(RichText::new(label).color(color))
            .fill(fill)
            .min_size(vec2(0.0, tokens.metrics.size.hit_target_min));
        let response = ui.add_enabled(can_send, send);
        let why_not = context.blocked.unwrap_or("There is nothing to send yet");
        if response
            .on_hover_text("Send (Enter)")
            .on_disabled_hover_text(why_not)
            .clicked()
        {
            actions.push(ComposerAction::Send);
        }
        if context.is_generating {
            let fill = ui.visuals().widgets.inactive.weak_bg_fill;
            let color = readable_on(tokens.state.error, fill, tokens);
            let stop = egui::Button::new(RichText::new("Stop").color(color))
                .min_size(vec2(0.0, tokens.metrics.size.hit_target_min));
            let tip = format!(
                "End this turn; what has arrived is kept ({})",
                context.stop_key
            );
            if ui.add(stop).on_hover_text(tip).clicked() {
                actions.push(ComposerAction::Stop);
            }
        }
    }
}

/// Who will answer, and a menu to choose.
fn target_ui(
    ui: &mut Ui,
    tokens: &Tokens,
    context: &ComposerContext<'_>,
    is_completing: bool,
    actions: &mut Vec<ComposerAction>,
) {
    let name = |id: &SeatId| {
        let view = context.seats.iter().find(|view| view.seat.id == *id);
        view.map_or_else(|| id.to_string(), |view| view.seat.display_name.clone())
    };
    let names: Vec<String> = context.responders.iter().map(name).collect();
    let summary = if names.is_empty() {
        "nobody".to_owned()
    } else {
        names.join(", then ")
    };
    let text = RichText::new(format!("to {summary}")).size(tokens.metrics.typ.secondary);
    let button = ui.menu_button(text, |ui| {
        let choice = targets_menu_ui(ui, context.seats, context.default_target, |_| None);
        actions.extend(choice.map(ComposerAction::SetDefaultTarget));
    });
    button.response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Speaking to {summary}"))
    });
    button
        .response
        .on_hover_text("Who answers a message without a mention");
    // While a mention is being typed it names nobody yet.
    for unknown in context.unknown_mentions.iter().filter(|_| !is_completing) {
        ui.label(icons::icon_text(icons::WARNING, tokens).color(tokens.state.warn));
        ui.label(
            RichText::new(format!("nobody is called @{unknown}"))
                .size(tokens.metrics.typ.secondary)
                .color(tokens.state.warn),
        );
    }
}

fn hint_ui(ui: &mut Ui, tokens: &Tokens, context: &ComposerContext<'_>) {
    let Some((chars, approx_tokens, over_budget)) = context.estimate else {
        return;
    };
    let amount = if approx_tokens >= 1000 {
        format!("~{:.1}k tokens", approx_tokens as f32 / 1000.0)
    } else {
        format!("~{approx_tokens} tokens")
    };
    let (text, color) = if over_budget {
        (
            format!("{amount}, older messages left out"),
            tokens.state.warn,
        )
    } else {
        (amount, tokens.text.secondary)
    };
    ui.label(
        RichText::new(text)
            .size(tokens.metrics.typ.secondary)
            .color(color),
    )
    .on_hover_text(format!(
        "The prompt for the largest seat would have {chars} characters"
    ));
}
