//! "What the model saw": the messages of a reply's requests, over everything.

use egui::{Align, Id, Key, Layout, Modifiers, RichText, ScrollArea, Ui, Vec2, vec2};

use host::InspectedRequest;
use models::ChatRole;

use super::ChatView;
use crate::theme::{Tokens, fonts::Families};
use crate::widgets::icons::{self, icon_button};

/// Longest row, in characters; it fits into the widest this view gets.
const ROW_CHARS: usize = 108;

/// The prompt of a reply, as rows; whether a row is a head.
pub(super) struct Inspection {
    lines: Vec<(String, bool)>,
    is_new: bool,
}

/// Breaks a line into rows, at a blank where there is one in the second half of the row.
fn rows_of(line: &str) -> Vec<String> {
    let mut rows = Vec::new();
    let mut rest = line;
    while let Some((limit, _)) = rest.char_indices().nth(ROW_CHARS) {
        let blank = rest[..limit].rfind(' ').map(|at| at + 1);
        let at = blank.filter(|at| *at > limit / 2).unwrap_or(limit);
        rows.push(rest[..at].to_owned());
        rest = &rest[at..];
    }
    rows.push(rest.to_owned());
    rows
}

impl Inspection {
    pub(super) fn new(requests: &[InspectedRequest]) -> Self {
        let mut lines = Vec::new();
        for request in requests {
            let to = request.host.as_deref().unwrap_or("no endpoint");
            let how = if request.is_reconstructed {
                ", as today's settings would ask for it"
            } else {
                ""
            };
            lines.push((format!("Request: {} to {to}{how}", request.purpose), true));
            for (name, value) in &request.settings {
                let rows = rows_of(&format!("{name}: {value}"));
                lines.extend(rows.into_iter().map(|row| (row, false)));
            }
            lines.push((String::new(), false));
            for message in &request.messages {
                let role = match message.role {
                    ChatRole::System => "system",
                    ChatRole::User => "user",
                    ChatRole::Assistant => "assistant",
                    ChatRole::Tool => "tool",
                };
                lines.push((
                    format!("{role}, {} characters", message.content.chars().count()),
                    true,
                ));
                let rows = message.content.lines().flat_map(rows_of);
                lines.extend(rows.map(|row| (row, false)));
                lines.push((String::new(), false));
            }
        }
        if lines.is_empty() {
            lines.push((
                "There is no prompt to show for this reply.".to_owned(),
                false,
            ));
        }
        Self {
            lines,
            is_new: true,
        }
    }
}

impl ChatView {
    /// Draws "what the model saw" over everything, when it is open.
    pub fn inspection_ui(&mut self, ctx: &egui::Context, tokens: &Tokens) {
        let Some(inspection) = &mut self.inspection else {
            return;
        };
        let is_new = std::mem::take(&mut inspection.is_new);
        let mut is_closed = false;
        let modal = egui::Modal::new(Id::unique("inspection")).show(ctx, |ui| {
            let size = ctx.content_rect().size() * 0.8;
            ui.set_width(size.x.min(900.0));
            ui.horizontal(|ui| {
                ui.heading("What the model saw");
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    is_closed = icon_button(ui, tokens, icons::X, "Close", None).clicked();
                });
            });
            let families = Families::default();
            let row_height = tokens.metrics.typ.code * tokens.metrics.typ.code_line_height;
            let mut area = ScrollArea::both().max_height(size.y).auto_shrink(false);
            if is_new {
                area = area.scroll_offset(Vec2::ZERO);
            }
            area.show_rows(ui, row_height, inspection.lines.len(), |ui, rows| {
                let keys = scroll_keys(ui, row_height, size.y);
                if keys != Vec2::ZERO {
                    ui.scroll_with_delta(keys);
                }
                for (line, is_head) in &inspection.lines[rows] {
                    let text = RichText::new(line).size(tokens.metrics.typ.code);
                    let text = if *is_head {
                        text.family(families.semibold.clone()).color(tokens.accent)
                    } else {
                        text.family(families.mono.clone())
                    };
                    ui.add(egui::Label::new(text).extend());
                }
            });
        });
        if modal.should_close() || is_closed {
            self.inspection = None;
        }
    }
}

/// How far the keys of this frame scroll: by a row, by a page, or to either end.
fn scroll_keys(ui: &Ui, row: f32, page: f32) -> Vec2 {
    /// Beyond the end of any text.
    const ALL: f32 = 1e9;
    let steps = [
        (Key::ArrowUp, vec2(0.0, row)),
        (Key::ArrowDown, vec2(0.0, -row)),
        (Key::ArrowLeft, vec2(4.0 * row, 0.0)),
        (Key::ArrowRight, vec2(-4.0 * row, 0.0)),
        (Key::PageUp, vec2(0.0, page - row)),
        (Key::PageDown, vec2(0.0, row - page)),
        (Key::Space, vec2(0.0, row - page)),
        (Key::Home, vec2(0.0, ALL)),
        (Key::End, vec2(0.0, -ALL)),
    ];
    ui.input_mut(|input| {
        let pressed = |(key, step): (Key, Vec2)| {
            let times = input.count_and_consume_key(Modifiers::NONE, key);
            step * times as f32
        };
        steps
            .map(pressed)
            .into_iter()
            .fold(Vec2::ZERO, |a, b| a + b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_no_longer_than_the_view_and_hold_every_character() {
        let words = "one two three ".repeat(40);
        for line in ["", "short", &"x".repeat(500), &words, &"語".repeat(250)] {
            let rows = rows_of(line);
            assert_eq!(rows.concat(), line);
            assert!(rows.iter().all(|row| row.chars().count() <= ROW_CHARS));
        }
        assert!(rows_of(&words)[0].ends_with(' '));
    }
}
