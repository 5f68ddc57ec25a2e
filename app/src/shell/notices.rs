//! Notices: a toast for what is new, and the list of all that still stand.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use egui::{Align2, Area, Frame, Id, Margin, Order, RichText, ScrollArea, Ui, vec2};
use host::{HostNotice, Severity};

use crate::theme::Tokens;
use crate::widgets::icons::{self, icon_button};

/// How long a toast stays that needs no answer.
const TOAST_TIME: Duration = Duration::from_secs(8);
/// Widest a toast gets, in points.
const TOAST_WIDTH: f32 = 380.0;
/// Toasts seen at once.
const TOASTS: usize = 3;

/// The state of the notices' views.
#[derive(Default)]
pub struct Notices {
    /// Notices that were toasts already.
    shown: HashSet<u64>,
    toasts: Vec<(HostNotice, Instant)>,
    /// Whether the list is open.
    pub is_open: bool,
}

impl Notices {
    /// Takes note of the notices that stand; new ones become toasts.
    pub fn update(&mut self, notices: &[HostNotice]) {
        for notice in notices {
            if self.shown.insert(notice.id) {
                self.toasts.push((notice.clone(), Instant::now()));
            }
        }
        self.toasts
            .retain(|(toast, _)| notices.iter().any(|n| n.id == toast.id));
    }

    /// Draws toasts and, when open, the list. Returns notices that the person closed.
    pub fn notices_ui(
        &mut self,
        ctx: &egui::Context,
        tokens: &Tokens,
        notices: &[HostNotice],
    ) -> Vec<u64> {
        let mut dismissed = Vec::new();
        if self.is_open {
            self.list_ui(ctx, tokens, notices, &mut dismissed);
        } else {
            self.toasts_ui(ctx, tokens, &mut dismissed);
        }
        dismissed
    }

    fn toasts_ui(&mut self, ctx: &egui::Context, tokens: &Tokens, dismissed: &mut Vec<u64>) {
        let now = Instant::now();
        self.toasts
            .retain(|(toast, since)| toast.is_persistent || now < *since + TOAST_TIME);
        let next_end = self
            .toasts
            .iter()
            .filter(|(t, _)| !t.is_persistent)
            .map(|(_, since)| *since + TOAST_TIME)
            .min();
        if let Some(end) = next_end {
            ctx.request_repaint_after(
                end.saturating_duration_since(now) + Duration::from_millis(20),
            );
        }
        let mut closed = None;
        let margin = tokens.metrics.space.between_blocks;
        let above_status_bar = tokens.metrics.size.status_bar + margin;
        Area::new(Id::unique("toasts"))
            .order(Order::Foreground)
            .anchor(Align2::RIGHT_BOTTOM, vec2(-margin, -above_status_bar))
            .show(ctx, |ui| {
                for (toast, _) in self.toasts.iter().rev().take(TOASTS).rev() {
                    Frame::popup(ui.style())
                        .inner_margin(Margin::same(tokens.metrics.space.inside_card as i8))
                        .show(ui, |ui| {
                            ui.set_width(
                                TOAST_WIDTH.min(ctx.content_rect().width() - 4.0 * margin),
                            );
                            if notice_row_ui(ui, tokens, toast) {
                                closed = Some(toast.id);
                            }
                        });
                    ui.add_space(tokens.metrics.space.related);
                }
            });
        if let Some(id) = closed {
            self.toasts.retain(|(toast, _)| toast.id != id);
            dismissed.push(id);
        }
    }

    fn list_ui(
        &mut self,
        ctx: &egui::Context,
        tokens: &Tokens,
        notices: &[HostNotice],
        dismissed: &mut Vec<u64>,
    ) {
        let margin = tokens.metrics.space.between_blocks;
        if ctx.input_mut(|i| i.consume_key(egui::Modifiers::NONE, egui::Key::Escape)) {
            self.is_open = false;
        }
        Area::new(Id::unique("notices"))
            .order(Order::Foreground)
            .anchor(
                Align2::RIGHT_BOTTOM,
                vec2(-margin, -(tokens.metrics.size.status_bar + margin)),
            )
            .show(ctx, |ui| {
                Frame::popup(ui.style())
                    .inner_margin(Margin::same(tokens.metrics.space.inside_card as i8))
                    .show(ui, |ui| {
                        ui.set_width(TOAST_WIDTH);
                        ui.horizontal(|ui| {
                            ui.heading("Notices");
                            ui.with_layout(
                                egui::Layout::right_to_left(egui::Align::Center),
                                |ui| {
                                    if icon_button(ui, tokens, icons::X, "Close the notices", None)
                                        .clicked()
                                    {
                                        self.is_open = false;
                                    }
                                },
                            );
                        });
                        if notices.is_empty() {
                            ui.label(
                                RichText::new("Nothing to report.").color(tokens.text.secondary),
                            );
                        }
                        ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
                            for notice in notices.iter().rev() {
                                if notice_row_ui(ui, tokens, notice) {
                                    dismissed.push(notice.id);
                                }
                                ui.add_space(tokens.metrics.space.related);
                            }
                        });
                    });
            });
    }
}

/// Draws a notice; returns whether the person closed it.
fn notice_row_ui(ui: &mut Ui, tokens: &Tokens, notice: &HostNotice) -> bool {
    let (icon, color) = match notice.severity {
        Severity::Info => (icons::INFO, tokens.accent),
        Severity::Warning => (icons::WARNING, tokens.state.warn),
        Severity::Error => (icons::WARNING, tokens.state.error),
    };
    let mut closed = false;
    ui.horizontal_top(|ui| {
        ui.label(icons::icon_text(icon, tokens).color(color));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Min), |ui| {
            // What is persistent goes when its cause does.
            closed = !notice.is_persistent
                && icon_button(ui, tokens, icons::X, "Dismiss", None).clicked();
            ui.with_layout(egui::Layout::left_to_right(egui::Align::Min), |ui| {
                ui.add(egui::Label::new(&notice.text).wrap());
            });
        });
    });
    closed
}
