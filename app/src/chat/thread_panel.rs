//! The side panel's list of threads: drawn row by row as far as it is seen, however many there are.

use std::sync::Arc;

use egui::{Align, Layout, Rect, RichText, ScrollArea, Sense, Ui, UiBuilder, pos2, vec2};
use transcript::{ThreadId, ThreadSummary, Timestamp};

use crate::theme::{Tokens, fonts::Families};
use crate::widgets::icons::{self, icon_button};
use crate::widgets::text_field::text_field;

/// What the person did in the list of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadPanelAction {
    /// Open it.
    Open(ThreadId),
    /// Begin an empty one.
    New,
    /// Name it.
    Rename(ThreadId),
    /// Put it aside, or bring it back.
    Archive(ThreadId, bool),
    /// Move it to the bin.
    Delete(ThreadId),
}

/// The state of the list.
#[derive(Default)]
pub struct ThreadPanel {
    filter: String,
    shows_archived: bool,
    /// The rows that match, and for which list and filter.
    rows: Vec<usize>,
    rows_for: Option<(Arc<Vec<ThreadSummary>>, String, bool)>,
}

impl ThreadPanel {
    /// Draws the list and returns what the person did.
    pub fn thread_panel_ui(
        &mut self,
        ui: &mut Ui,
        tokens: &Tokens,
        threads: &Arc<Vec<ThreadSummary>>,
        current: &ThreadId,
        generating: &dyn Fn(&ThreadId) -> bool,
    ) -> Vec<ThreadPanelAction> {
        let mut actions = Vec::new();
        self.head_ui(ui, tokens, &mut actions);
        self.find_rows(threads);
        if self.rows.is_empty() {
            let sentence = if threads.is_empty() {
                "No threads yet. What you send begins one."
            } else {
                "No thread matches."
            };
            ui.add_space(tokens.metrics.space.related);
            ui.label(RichText::new(sentence).color(tokens.text.secondary));
            return actions;
        }
        let height = 2.0 * tokens.metrics.space.between_blocks + tokens.metrics.space.related;
        ui.spacing_mut().item_spacing.y = 0.0;
        let now = Timestamp::now();
        ScrollArea::vertical()
            .id_salt("threads")
            .auto_shrink(false)
            .show_rows(ui, height, self.rows.len(), |ui, visible| {
                for row in visible {
                    let thread = &threads[self.rows[row]];
                    let is_open = thread.id == *current;
                    row_ui(
                        ui,
                        tokens,
                        thread,
                        is_open,
                        generating(&thread.id),
                        now,
                        height,
                        &mut actions,
                    );
                }
            });
        actions
    }

    fn head_ui(&mut self, ui: &mut Ui, tokens: &Tokens, actions: &mut Vec<ThreadPanelAction>) {
        ui.horizontal(|ui| {
            ui.label(RichText::new("Threads").family(Families::default().semibold));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if icon_button(ui, tokens, icons::PLUS, "New thread", None).clicked() {
                    actions.push(ThreadPanelAction::New);
                }
                let label = if self.shows_archived {
                    "Hide archived threads"
                } else {
                    "Show archived threads"
                };
                if icon_button(ui, tokens, icons::ARCHIVE, label, None).clicked() {
                    self.shows_archived = !self.shows_archived;
                }
            });
        });
        let field = text_field(&mut self.filter)
            .id(filter_id())
            .hint_text(RichText::new("Filter threads").color(tokens.text.secondary))
            .desired_width(f32::INFINITY)
            .show(ui);
        field.response.response.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Filter threads")
        });
        ui.add_space(tokens.metrics.space.inside_chip);
    }

    fn find_rows(&mut self, threads: &Arc<Vec<ThreadSummary>>) {
        let is_fresh = self
            .rows_for
            .as_ref()
            .is_some_and(|(list, filter, archived)| {
                Arc::ptr_eq(list, threads)
                    && *filter == self.filter
                    && *archived == self.shows_archived
            });
        if is_fresh {
            return;
        }
        let wanted = self.filter.trim().to_lowercase();
        self.rows = (0..threads.len())
            .filter(|row| {
                let thread = &threads[*row];
                (self.shows_archived || !thread.archived)
                    && (wanted.is_empty() || thread.title.to_lowercase().contains(&wanted))
            })
            .collect();
        self.rows_for = Some((
            Arc::clone(threads),
            self.filter.clone(),
            self.shows_archived,
        ));
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "one row's facts; a struct would only rename them"
)]
fn row_ui(
    ui: &mut Ui,
    tokens: &Tokens,
    thread: &ThreadSummary,
    is_open: bool,
    is_generating: bool,
    now: Timestamp,
    height: f32,
    actions: &mut Vec<ThreadPanelAction>,
) {
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::click());
    let title = if thread.title.is_empty() {
        "New thread"
    } else {
        &thread.title
    };
    response.widget_info(|| {
        egui::WidgetInfo::selected(egui::Role::ListBoxOption, true, is_open, title)
    });
    if is_open || response.hovered() {
        let fill = if is_open {
            tokens.surface.selected
        } else {
            tokens.surface.hover
        };
        ui.painter()
            .rect_filled(rect, tokens.metrics.radius.control, fill);
    }
    if response.has_focus() {
        crate::theme::focus_ring(ui.painter(), rect.shrink(4.0), tokens);
    }
    let inner = rect.shrink2(vec2(
        tokens.metrics.space.related,
        tokens.metrics.space.inside_chip,
    ));
    let half = inner.height() / 2.0;
    let upper = Rect::from_min_size(inner.min, vec2(inner.width(), half));
    let lower = Rect::from_min_size(
        pos2(inner.left(), inner.top() + half),
        vec2(inner.width(), half),
    );
    let mut line = ui.new_child(
        UiBuilder::new()
            .max_rect(upper)
            .layout(Layout::left_to_right(Align::Center)),
    );
    let color = if thread.archived {
        tokens.text.secondary
    } else {
        tokens.text.primary
    };
    line.add(
        egui::Label::new(RichText::new(title).color(color))
            .truncate()
            .selectable(false),
    );
    let about = format!(
        "{} · {}",
        age(thread.updated_at, now),
        messages_label(thread.messages)
    );
    let about = match (is_generating, thread.archived) {
        (true, _) => format!("answering… · {about}"),
        (false, true) => format!("archived · {about}"),
        (false, false) => about,
    };
    let mut line = ui.new_child(
        UiBuilder::new()
            .max_rect(lower)
            .layout(Layout::left_to_right(Align::Center)),
    );
    let color = if is_generating {
        tokens.state.busy
    } else {
        tokens.text.secondary
    };
    let small = RichText::new(about)
        .size(tokens.metrics.typ.secondary)
        .color(color);
    line.add(egui::Label::new(small).truncate().selectable(false));
    if response.clicked() {
        actions.push(ThreadPanelAction::Open(thread.id.clone()));
    }
    response.context_menu(|ui| {
        if ui.button("Rename…").clicked() {
            actions.push(ThreadPanelAction::Rename(thread.id.clone()));
        }
        let label = if thread.archived {
            "Bring back"
        } else {
            "Archive"
        };
        if ui.button(label).clicked() {
            actions.push(ThreadPanelAction::Archive(
                thread.id.clone(),
                !thread.archived,
            ));
        }
        if ui.button("Delete").clicked() {
            actions.push(ThreadPanelAction::Delete(thread.id.clone()));
        }
    });
}

/// The id of the filter, where the panel's focus begins.
pub fn filter_id() -> egui::Id {
    egui::Id::unique("thread filter")
}

fn messages_label(count: usize) -> String {
    if count == 1 {
        "1 message".to_owned()
    } else {
        format!("{count} messages")
    }
}

/// How long ago something was, as people say it.
fn age(then: Timestamp, now: Timestamp) -> String {
    let minutes = (now.as_millis() - then.as_millis()).max(0) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1_440 => format!("{} h", minutes / 60),
        1_440..10_080 => format!("{} d", minutes / 1_440),
        _ => then.to_string().get(..10).unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_like_speech() {
        let at = |minutes: i64| Timestamp::from_millis(minutes * 60_000);
        assert_eq!(age(at(10), at(10)), "now");
        assert_eq!(age(at(0), at(59)), "59 min");
        assert_eq!(age(at(0), at(61)), "1 h");
        assert_eq!(age(at(0), at(3000)), "2 d");
        assert_eq!(age(at(0), at(30_000_000)), "1970-01-01");
        assert_eq!(
            age(at(5), at(0)),
            "now",
            "clocks that run backwards don't confuse it"
        );
    }
}
