//! The picker: one overlay for everything that is chosen by typing: commands, threads, messages, seats.

use egui::{
    Align, Align2, Area, Frame, Id, Key, Layout, Margin, Order, RichText, ScrollArea, Sense, Ui,
    vec2,
};
use host::ThreadSnapshot;
use pulldown_cmark::{Event as MarkdownEvent, Parser, Tag, TagEnd};
use transcript::{MessageId, SeatId, ThreadId};

use super::command::Command;
use crate::theme::{Tokens, fonts::Families};
use crate::widgets::text_field::text_field;

/// Widest the overlay gets, in points.
const WIDTH: f32 = 560.0;
/// Messages whose links are listed.
const MESSAGES_WITH_LINKS: usize = 200;
/// Rows seen at once.
const ROWS: usize = 12;

/// What a row of the picker stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Start a command.
    Command(Command),
    /// Open a thread.
    Thread(ThreadId),
    /// Open a link in the browser.
    Link(String),
    /// Jump to a message of the open thread.
    Message(MessageId),
    /// Speak to a seat, or to whoever was addressed last.
    Target(Option<SeatId>),
}

/// A row of the picker.
#[derive(Clone, Debug)]
pub struct Item {
    /// What it stands for.
    pub choice: Choice,
    /// Its text, which is searched.
    pub label: String,
    /// What stands at its right: a key, a date, a model.
    pub detail: String,
}

/// An open picker.
pub struct Picker {
    title: &'static str,
    hint: &'static str,
    query: String,
    items: Vec<Item>,
    /// Indices of the items that match, best first.
    found: Vec<usize>,
    selected: usize,
    is_new: bool,
}

/// What the person did with the picker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PickerOutcome {
    /// Nothing yet.
    Open,
    /// Closed it.
    Closed,
    /// Chose a row.
    Chosen(Choice),
}

impl Picker {
    /// A picker over `items`; `title` names it for screen readers.
    pub fn new(title: &'static str, hint: &'static str, items: Vec<Item>) -> Self {
        let found = (0..items.len()).collect();
        Self {
            title,
            hint,
            query: String::new(),
            items,
            found,
            selected: 0,
            is_new: true,
        }
    }

    /// One over the person's messages of a thread, newest first.
    pub fn outline(thread: &ThreadSnapshot) -> Self {
        let items = thread
            .messages
            .iter()
            .rev()
            .filter(|m| {
                m.role() == transcript::Role::User && m.status() != transcript::Status::Deleted
            })
            .map(|m| Item {
                choice: Choice::Message(m.id().clone()),
                label: transcript::title_from(m.content()),
                detail: format!("#{}", m.seq()),
            })
            .collect();
        Self::new("Messages", "Jump to one of your messages", items)
    }

    /// One over the links of a thread's latest messages, newest message first.
    pub fn links(thread: &ThreadSnapshot) -> Self {
        let mut items: Vec<Item> = Vec::new();
        for message in thread.messages.iter().rev().take(MESSAGES_WITH_LINKS) {
            for (url, text) in links_of(message.content()) {
                let choice = Choice::Link(url.clone());
                if !items.iter().any(|item| item.choice == choice) {
                    items.push(Item {
                        choice,
                        label: if text.is_empty() { url.clone() } else { text },
                        detail: url,
                    });
                }
            }
        }
        Self::new("Links", "Open a link of the latest messages", items)
    }

    /// Draws it over everything and returns what the person did.
    pub fn picker_ui(&mut self, ctx: &egui::Context, tokens: &Tokens) -> PickerOutcome {
        let mut outcome = self.take_keys(ctx);
        let screen = ctx.content_rect();
        let width = WIDTH.min(screen.width() - 2.0 * tokens.metrics.space.between_blocks);
        let area = Area::new(Id::unique("picker"))
            .order(Order::Foreground)
            .anchor(Align2::CENTER_TOP, vec2(0.0, screen.height() * 0.12))
            .show(ctx, |ui| {
                Frame::popup(ui.style())
                    .inner_margin(Margin::same(tokens.metrics.space.related as i8))
                    .show(ui, |ui| {
                        ui.set_width(width);
                        self.content_ui(ui, tokens, &mut outcome);
                    });
            });
        let clicked_outside = ctx.input(|i| {
            i.pointer.any_pressed()
                && i.pointer
                    .interact_pos()
                    .is_some_and(|p| !area.response.rect.contains(p))
        });
        if clicked_outside && !self.is_new && outcome == PickerOutcome::Open {
            outcome = PickerOutcome::Closed;
        }
        self.is_new = false;
        outcome
    }

    fn take_keys(&mut self, ctx: &egui::Context) -> PickerOutcome {
        if self.is_new {
            // The key that opened it is still there.
            return PickerOutcome::Open;
        }
        let count = self.found.len();
        let none = egui::Modifiers::NONE;
        let (down, up, page_down, page_up, enter, escape) = ctx.input_mut(|i| {
            (
                i.count_and_consume_key(none, Key::ArrowDown),
                i.count_and_consume_key(none, Key::ArrowUp),
                i.count_and_consume_key(none, Key::PageDown),
                i.count_and_consume_key(none, Key::PageUp),
                i.consume_key(none, Key::Enter),
                i.consume_key(none, Key::Escape),
            )
        });
        if count > 0 {
            self.selected = (self.selected + down + count - up % count) % count;
            self.selected = (self.selected + page_down * ROWS)
                .min(count - 1)
                .saturating_sub(page_up * ROWS);
        }
        if escape {
            return PickerOutcome::Closed;
        }
        match self.found.get(self.selected) {
            Some(index) if enter => PickerOutcome::Chosen(self.items[*index].choice.clone()),
            _ => PickerOutcome::Open,
        }
    }

    fn content_ui(&mut self, ui: &mut Ui, tokens: &Tokens, outcome: &mut PickerOutcome) {
        let field = text_field(&mut self.query)
            .id(Id::unique("picker query"))
            .hint_text(RichText::new(self.hint).color(tokens.text.secondary))
            .desired_width(f32::INFINITY)
            .show(ui);
        let response = &field.response.response;
        let title = self.title;
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, title));
        if self.is_new {
            response.request_focus();
        }
        if response.changed() {
            self.search();
        }
        ui.add_space(tokens.metrics.space.inside_chip);
        if self.found.is_empty() {
            ui.label(RichText::new("Nothing matches.").color(tokens.text.secondary));
            return;
        }
        let row_height = tokens.metrics.size.hit_target_min;
        ui.spacing_mut().item_spacing.y = 0.0;
        let visible = ROWS.min(self.found.len()) as f32 * row_height;
        let top = self.selected as f32 * row_height;
        ScrollArea::vertical()
            .id_salt("picker rows")
            .max_height(visible)
            .min_scrolled_height(visible)
            .show_rows(ui, row_height, self.found.len(), |ui, rows| {
                let origin = ui.min_rect().top() - rows.start as f32 * row_height;
                for row in rows {
                    if self.row_ui(ui, tokens, row, row_height) {
                        *outcome =
                            PickerOutcome::Chosen(self.items[self.found[row]].choice.clone());
                    }
                }
                let selected = egui::Rect::from_min_size(
                    egui::pos2(ui.min_rect().left(), origin + top),
                    vec2(1.0, row_height),
                );
                if !ui.clip_rect().y_range().contains(selected.center().y) {
                    ui.scroll_to_rect(selected, None);
                }
            });
    }

    /// Draws a row; returns whether it was clicked.
    fn row_ui(&mut self, ui: &mut Ui, tokens: &Tokens, row: usize, height: f32) -> bool {
        let item = &self.items[self.found[row]];
        let (rect, response) =
            ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::click());
        let is_selected = row == self.selected;
        response.widget_info(|| {
            egui::WidgetInfo::selected(egui::Role::ListBoxOption, true, is_selected, &item.label)
        });
        if is_selected || response.hovered() {
            let fill = if is_selected {
                tokens.surface.selected
            } else {
                tokens.surface.hover
            };
            ui.painter()
                .rect_filled(rect, tokens.metrics.radius.control, fill);
        }
        let inner = rect.shrink2(vec2(tokens.metrics.space.related, 0.0));
        let mut row_ui = ui.new_child(
            egui::UiBuilder::new()
                .max_rect(inner)
                .layout(Layout::right_to_left(Align::Center)),
        );
        let detail = RichText::new(&item.detail)
            .size(tokens.metrics.typ.secondary)
            .family(Families::default().tabular)
            .color(if is_selected {
                tokens.text.primary
            } else {
                tokens.text.secondary
            });
        row_ui.add(egui::Label::new(detail).selectable(false));
        row_ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.add(egui::Label::new(&item.label).truncate().selectable(false));
        });
        response.clicked()
    }

    fn search(&mut self) {
        let mut scored: Vec<(i32, usize)> = self
            .items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| Some((fuzzy_score(&self.query, &item.label)?, index)))
            .collect();
        scored.sort_by_key(|(score, index)| (-score, *index));
        self.found = scored.into_iter().map(|(_, index)| index).collect();
        self.selected = 0;
    }
}

/// The links of a Markdown text that a browser can open: target and text.
fn links_of(markdown: &str) -> Vec<(String, String)> {
    let mut links = Vec::new();
    let mut open: Option<(String, String)> = None;
    for event in Parser::new(markdown) {
        match event {
            MarkdownEvent::Start(Tag::Link { dest_url, .. }) => {
                open = Some((dest_url.into_string(), String::new()));
            }
            MarkdownEvent::Text(text) | MarkdownEvent::Code(text) => {
                if let Some((_, label)) = &mut open {
                    label.push_str(&text);
                }
            }
            MarkdownEvent::End(TagEnd::Link) => links.extend(open.take()),
            _ => {}
        }
    }
    let opens = |url: &str| {
        ["http://", "https://"]
            .iter()
            .any(|scheme| url.starts_with(scheme))
    };
    links.retain(|(url, _)| opens(url));
    links
}

/// How well `query` matches `text`: all its letters occur in order; beginnings of words and runs count more.
/// `None` where it does not match. Case and blanks in the query don't count.
pub fn fuzzy_score(query: &str, text: &str) -> Option<i32> {
    let wanted: Vec<char> = query
        .chars()
        .filter(|c| !c.is_whitespace())
        .flat_map(char::to_lowercase)
        .collect();
    let letters: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    let at_word = |i: usize| i == 0 || !letters[i - 1].is_alphanumeric();
    // best[i]: the best score of the letters so far with the last of them at i.
    let mut best: Vec<Option<i32>> = Vec::new();
    for (nth, letter) in wanted.iter().enumerate() {
        let mut reached: Option<i32> = if nth == 0 { Some(0) } else { None };
        let mut next = vec![None; letters.len()];
        for (i, here) in letters.iter().enumerate() {
            if here == letter {
                let bonus = if i == 0 {
                    16
                } else if at_word(i) {
                    8
                } else {
                    0
                };
                let in_run = (nth > 0 && i > 0)
                    .then(|| best[i - 1].map(|score| score + 6 + bonus))
                    .flatten();
                let jumped = reached.map(|score| score + 1 + bonus);
                next[i] = in_run.max(jumped);
            }
            if nth > 0 {
                reached = reached.max(best[i]);
            }
        }
        best = next;
    }
    if wanted.is_empty() {
        return Some(0);
    }
    let score = best.into_iter().flatten().max()?;
    // Of equal matches the shorter text is meant.
    Some(score * 16 - i32::try_from(letters.len()).unwrap_or(i32::MAX).min(15))
}

#[cfg(test)]
mod tests {
    use super::fuzzy_score;

    fn best<'a>(query: &str, texts: &[&'a str]) -> Option<&'a str> {
        texts
            .iter()
            .filter_map(|t| Some((fuzzy_score(query, t)?, *t)))
            .max_by_key(|(s, _)| *s)
            .map(|(_, t)| t)
    }

    #[test]
    fn links_are_listed_with_their_text_and_only_what_a_browser_opens() {
        let text = "See [the `docs`](https://docs.rs/x) and <https://a.example>, not [this](javascript:x) or `[y](https://z)`.";
        let links = super::links_of(text);
        assert_eq!(links[0], ("https://docs.rs/x".into(), "the docs".into()));
        assert_eq!(links[1].0, "https://a.example");
        assert_eq!(links.len(), 2);
    }

    #[test]
    fn beginnings_of_words_and_runs_win() {
        let titles = [
            "New thread",
            "Next hit",
            "Rename the thread…",
            "Theme: dark",
            "Find in thread",
        ];
        assert_eq!(best("nt", &titles), Some("New thread"));
        assert_eq!(best("dark", &titles), Some("Theme: dark"));
        assert_eq!(best("the", &titles), Some("Theme: dark"));
        assert_eq!(best("find thr", &titles), Some("Find in thread"));
        assert_eq!(best("zzz", &titles), None);
        assert_eq!(fuzzy_score("", "anything"), Some(0));
        assert!(fuzzy_score("é", "É").is_some());
    }
}
