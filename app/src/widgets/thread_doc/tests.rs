use std::{sync::Arc, time::Instant};

use egui::{Context, Event, Key, Modifiers, PointerButton, Pos2, RawInput, Rect, pos2, vec2};
use proptest::prelude::*;

use super::*;
use crate::theme::{SeatColor, ThemeName, fonts};

const VIEW: egui::Vec2 = vec2(900.0, 600.0);

struct Window {
    ctx: Context,
    tokens: Arc<Tokens>,
    doc: ThreadDoc,
    time: f64,
    copied: Vec<String>,
}

impl Window {
    fn new() -> Self {
        let ctx = Context::default();
        ctx.enable_accesskit();
        ctx.set_fonts(fonts::definitions_for_tests());
        let tokens = Arc::new(Tokens::builtin(ThemeName::Dark));
        Self {
            doc: ThreadDoc::new(&ctx, &tokens),
            ctx,
            tokens,
            time: 0.0,
            copied: Vec::new(),
        }
    }

    fn with(messages: impl IntoIterator<Item = MessageView>) -> Self {
        let mut window = Self::new();
        window.doc.set_messages(messages);
        window.frame();
        window
    }

    fn frame(&mut self) -> Vec<ThreadAction> {
        self.frame_with(Vec::new())
    }

    fn frame_with(&mut self, events: Vec<Event>) -> Vec<ThreadAction> {
        self.time += 1.0 / 60.0;
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, VIEW)),
            time: Some(self.time),
            events,
            ..RawInput::default()
        };
        let mut actions = Vec::new();
        let output = self.ctx.run_ui(input, |ui| {
            actions.extend(self.doc.show(ui, &self.tokens));
        });
        for command in &output.platform_output.commands {
            if let egui::OutputCommand::CopyText(text) = command {
                self.copied.push(text.clone());
            }
        }
        output.drop_without_applying_deltas();
        actions
    }

    fn button(&self, pos: Pos2, pressed: bool, modifiers: Modifiers) -> Event {
        Event::PointerButton {
            pos,
            button: PointerButton::Primary,
            pressed,
            modifiers,
        }
    }

    fn click(&mut self, pos: Pos2) -> Vec<ThreadAction> {
        self.click_with(pos, Modifiers::NONE)
    }

    fn click_with(&mut self, pos: Pos2, modifiers: Modifiers) -> Vec<ThreadAction> {
        self.frame_with(vec![
            Event::PointerMoved(pos),
            Event::ModifiersChanged(modifiers),
        ]);
        let down = self.button(pos, true, modifiers);
        let up = self.button(pos, false, modifiers);
        let mut actions = self.frame_with(vec![down]);
        actions.extend(self.frame_with(vec![up, Event::ModifiersChanged(Modifiers::NONE)]));
        actions
    }

    fn drag(&mut self, from: Pos2, to: Pos2) {
        self.frame_with(vec![Event::PointerMoved(from)]);
        let down = self.button(from, true, Modifiers::NONE);
        self.frame_with(vec![down]);
        for step in 1..=4 {
            let pos = from.lerp(to, step as f32 / 4.0);
            self.frame_with(vec![Event::PointerMoved(pos)]);
        }
        let up = self.button(to, false, Modifiers::NONE);
        self.frame_with(vec![up]);
    }

    fn key(&mut self, key: Key, modifiers: Modifiers) -> Vec<ThreadAction> {
        self.frame_with(vec![Event::Key {
            key,
            physical_key: None,
            pressed: true,
            repeat: false,
            modifiers,
        }])
    }

    fn focus(&mut self) {
        let id = self.doc.content.list_id;
        self.ctx.memory_mut(|memory| memory.request_focus(id));
        self.frame();
    }

    /// Screen rectangles of rows with `key` in message `at`.
    fn row_rect(&self, at: usize, key: RowKey) -> Option<Rect> {
        let content = &self.doc.content;
        let found = content.rects.iter().find(|(row, _)| {
            content.locate(*row).is_some_and(|(message, within)| {
                message == at && content.entries[message].rows[within].key == key
            })
        });
        found.map(|(_, rect)| *rect)
    }

    /// The middle of the first letter of a block's text.
    fn text_start(&self, at: usize, block: u32) -> Pos2 {
        let rect = self.row_rect(at, RowKey::Block(block, 0)).unwrap();
        let typography = self.doc.content.typography.clone().unwrap();
        let width = VIEW.x - crate::widgets::virtual_list::SCROLLBAR_WIDTH;
        let column = super::layout::Column::inside(width, &typography);
        let gap = {
            let rows = &self.doc.content.entries[at].rows;
            let row = rows.iter().find(|row| row.key == RowKey::Block(block, 0));
            row.unwrap().gap
        };
        pos2(column.left + 1.0, rect.top() + gap + 8.0)
    }

    /// What is visible: the message's name, which of its rows, and where that begins.
    fn picture(&self) -> Vec<(MessageId, RowKey, i64)> {
        let content = &self.doc.content;
        let placed = self.doc.list().placed().iter();
        placed
            .filter_map(|placed| {
                let (at, within) = content.locate(placed.row)?;
                let entry = &content.entries[at];
                Some((entry.view.id.clone(), entry.rows[within].key, placed.top))
            })
            .collect()
    }

    fn end_gap(&self) -> i64 {
        let last = self.doc.list().placed().last().unwrap();
        VIEW.y as i64 * 64 - (last.top + last.height)
    }

    fn row_keys(&self, at: usize) -> Vec<RowKey> {
        let rows = &self.doc.content.entries[at].rows;
        rows.iter().map(|row| row.key).collect()
    }
}

fn user(id: &str, text: &str) -> MessageView {
    MessageView::new(id, "You", MessageRole::User, text)
}

fn seat(id: &str, text: &str) -> MessageView {
    MessageView {
        color: SeatColor::Nth(1),
        ..MessageView::new(id, "Claude", MessageRole::Seat, text)
    }
}

fn streaming(id: &str) -> MessageView {
    MessageView {
        status: MessageStatus::Streaming {
            since: Instant::now(),
        },
        ..seat(id, "")
    }
}

fn many(count: usize) -> Vec<MessageView> {
    (0..count)
        .map(|n| {
            let text = format!(
                "Message {n} says\n\n- one\n- two\n\n```rust\nlet n = {n};\n```\n\n{}",
                "and more words ".repeat(n % 40)
            );
            if n % 2 == 0 {
                user(&format!("m{n}"), &text)
            } else {
                seat(&format!("m{n}"), &text)
            }
        })
        .collect()
}

#[test]
fn only_messages_near_the_view_are_split() {
    let mut window = Window::with(many(2000));
    for _ in 0..5 {
        window.frame();
    }
    let split = |window: &Window| {
        let entries = &window.doc.content.entries;
        entries.iter().filter(|entry| entry.is_split()).count()
    };
    assert!(split(&window) < 60, "{}", split(&window));
    assert!(window.doc.jump_to(&"m1000".into()));
    window.frame();
    assert!(window.doc.content.entries[1000].is_split());
    assert!(split(&window) < 120, "{}", split(&window));
}

#[test]
fn a_jump_lands_on_the_message_and_on_the_block_with_a_byte() {
    let mut window = Window::with(many(500));
    for at in [250, 3, 499, 0] {
        assert!(window.doc.jump_to(&format!("m{at}").into()));
        window.frame();
        assert!(window.row_rect(at, RowKey::Header).is_some(), "{at}");
    }
    let source = window.doc.content.entries[321].source().to_owned();
    let byte = source.find("let n").unwrap();
    assert!(window.doc.jump_to_byte(&"m321".into(), byte));
    window.frame();
    assert!(window.row_rect(321, RowKey::CodeBody(3, 0)).is_some());
    assert!(!window.doc.jump_to(&"nobody".into()));
}

#[test]
fn a_reply_that_streams_at_the_tail_leaves_no_gap() {
    let mut window = Window::with(many(30));
    window.doc.push_message(streaming("s"));
    let text = "Some words.\n\n```rust\nfn main() {\n    body();\n}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd";
    for piece in text.split_inclusive(' ') {
        window.doc.append_delta(&"s".into(), piece);
        window.frame();
        assert_eq!(window.end_gap(), 0);
    }
    assert_eq!(window.doc.source(&"s".into()), Some(text));
    window.doc.set_status(&"s".into(), MessageStatus::Complete);
    window.frame();
    assert_eq!(window.end_gap(), 0);
    assert!(window.doc.list().follows_tail());
}

#[test]
fn earlier_messages_come_in_above_without_moving_anything() {
    let all = many(300);
    for scrolled in [0.0, -700.0] {
        let mut window = Window::with(all[250..].iter().cloned());
        window.doc.scroll_by(scrolled);
        window.frame();
        window.doc.select(&all[297].id, 0..5);
        let (before, selected) = (window.picture(), window.doc.selected_text());
        let row = window.doc.list().placed()[0].row;
        window.doc.prepend(all[..250].iter().cloned());
        window.frame();
        assert_eq!(window.picture(), before);
        assert!(window.doc.list().placed()[0].row > row);
        assert_eq!(window.doc.selected_text(), selected);
        assert_eq!(window.doc.list().follows_tail(), scrolled == 0.0);
        let ids: Vec<_> = window.doc.ids().map(str::to_owned).collect();
        assert!(ids.iter().eq(all.iter().map(|view| &*view.id)));
        // Each name still leads to its own message.
        window.doc.jump_to(&all[3].id);
        window.frame();
        let seen = window.picture();
        assert!(
            seen.iter()
                .any(|(id, key, _)| *id == all[3].id && *key == RowKey::Header)
        );
        assert_eq!(
            window.doc.source(&all[260].id),
            Some(&*all[260].content).filter(|text| !text.is_empty())
        );
    }
}

#[test]
fn a_reply_that_streams_while_scrolled_up_moves_nothing_and_is_counted() {
    let mut window = Window::with(many(30));
    window.doc.scroll_by(-700.0);
    window.frame();
    let before = window.picture();
    window.doc.push_message(streaming("s"));
    for _ in 0..200 {
        window
            .doc
            .append_delta(&"s".into(), "more words to read\n\n");
        window.frame();
        assert_eq!(window.picture(), before);
    }
    assert_eq!(window.doc.new_below(), 1);
    window.doc.follow_tail();
    window.frame();
    assert_eq!((window.doc.new_below(), window.end_gap()), (0, 0));
}

#[test]
fn reading_the_reply_that_is_being_written_is_not_disturbed() {
    let mut window = Window::with([streaming("s")]);
    window
        .doc
        .append_delta(&"s".into(), &"a paragraph of words\n\n".repeat(100));
    window.frame();
    window.doc.scroll_by(-300.0);
    window.frame();
    let before = window.picture();
    for _ in 0..100 {
        window.doc.append_delta(&"s".into(), "x ");
        window.frame();
        assert_eq!(window.picture(), before);
    }
}

#[test]
fn long_code_is_collapsed_unless_it_was_seen_growing() {
    let code = format!("```rust\n{}```\n", "line();\n".repeat(100));
    let mut window = Window::with([seat("a", &code)]);
    assert_eq!(
        window.doc.content.entries[0].shown_lines(0),
        rows::COLLAPSED_LINES
    );
    let foot = window.row_rect(0, RowKey::CodeFoot(0)).unwrap();
    let column = (VIEW.x - 12.0) / 2.0;
    let height = window
        .doc
        .list()
        .placed()
        .iter()
        .map(|placed| placed.height)
        .sum::<i64>();
    let left = foot.left() + column - 300.0;
    window.click(pos2(left, foot.center().y));
    window.frame();
    assert_eq!(window.doc.content.entries[0].shown_lines(0), 100);
    let grown = window
        .doc
        .list()
        .placed()
        .iter()
        .map(|placed| placed.height)
        .sum::<i64>();
    assert!(grown > height);

    let mut window = Window::with([streaming("s")]);
    window.doc.append_delta(&"s".into(), &code);
    window.frame();
    window.doc.set_status(&"s".into(), MessageStatus::Complete);
    window.frame();
    assert_eq!(window.doc.content.entries[0].shown_lines(0), 100);
}

#[test]
fn what_became_of_a_message_is_a_row_of_its_own() {
    let mut window = Window::with([streaming("s")]);
    assert_eq!(window.row_keys(0), [RowKey::Header, RowKey::Status]);
    window.doc.append_delta(&"s".into(), "text");
    window.frame();
    assert_eq!(window.row_keys(0), [RowKey::Header, RowKey::Block(0, 0)]);
    window.doc.set_status(&"s".into(), MessageStatus::CutOff);
    window.frame();
    assert_eq!(window.row_keys(0)[2], RowKey::Status);
    let error = ErrorView {
        text: "HTTP 529: overloaded".into(),
        action: Some("Retry".into()),
    };
    window
        .doc
        .set_status(&"s".into(), MessageStatus::Failed(error));
    window.frame();
    assert_eq!(window.row_keys(0)[2], RowKey::Error);
}

#[test]
fn the_error_cards_button_reports_its_message() {
    let error = ErrorView {
        text: "HTTP 529: overloaded".into(),
        action: Some("Retry".into()),
    };
    let mut window = Window::with([MessageView {
        status: MessageStatus::Failed(error),
        ..seat("a", "partial")
    }]);
    let card = window.row_rect(0, RowKey::Error).unwrap();
    let start = window.text_start(0, 0);
    let actions = window.click(pos2(start.x + 60.0, card.bottom() - 26.0));
    assert_eq!(actions, [ThreadAction::ResolveError("a".into())]);
}

#[test]
fn a_drag_selects_across_messages_and_copies_the_source() {
    let mut window = Window::with([user("a", "one **two** three"), seat("b", "four `five`")]);
    let (start, end) = (window.text_start(0, 0), window.text_start(1, 0));
    window.drag(start, end + vec2(500.0, 0.0));
    assert_eq!(
        window.doc.selected_text(),
        "one **two** three\n\nfour `five"
    );
    window.frame_with(vec![Event::Copy]);
    assert_eq!(window.copied, ["one **two** three\n\nfour `five"]);
    assert!(!window.doc.list().follows_tail());
}

#[test]
fn shift_click_extends_and_escape_clears_a_selection() {
    let mut window = Window::with([seat("a", "first words"), seat("b", "second words")]);
    let (start, end) = (window.text_start(0, 0), window.text_start(1, 0));
    window.click(start);
    window.click_with(end, Modifiers::SHIFT);
    assert_eq!(window.doc.selected_text(), "first words");
    window.key(Key::Escape, Modifiers::NONE);
    assert_eq!(window.doc.selected_text(), "");
}

#[test]
fn double_and_triple_clicks_take_a_word_and_a_block() {
    let mut window = Window::with([seat("a", "first **bold** words\n\nother")]);
    let start = window.text_start(0, 0);
    window.click(start);
    window.click(start);
    assert_eq!(window.doc.selected_text(), "first");
    window.click(start);
    assert_eq!(window.doc.selected_text(), "first **bold** words");
}

#[test]
fn everything_can_be_selected_without_drawing_it() {
    let messages = many(300);
    let expected: Vec<String> = messages
        .iter()
        .map(|view| view.content.to_string())
        .collect();
    let mut window = Window::with(messages);
    window.focus();
    window.key(Key::A, Modifiers::COMMAND);
    assert_eq!(window.doc.selected_text(), expected.join("\n\n"));
}

#[test]
fn a_link_is_opened_by_a_click_and_not_by_a_drag() {
    let mut window = Window::with([seat("a", "[link text](https://example.org/x) after")]);
    let start = window.text_start(0, 0) + vec2(10.0, 0.0);
    assert_eq!(
        window.click(start),
        [ThreadAction::OpenLink("https://example.org/x".into())]
    );
    window.time += 5.0;
    window.drag(start, start + vec2(30.0, 0.0));
    assert!(window.doc.content.actions.is_empty());
    assert!(!window.doc.selected_text().is_empty());
}

#[test]
fn arrows_move_between_messages_and_enter_goes_to_the_actions() {
    let mut window = Window::with(many(20));
    window.focus();
    window.key(Key::ArrowUp, Modifiers::NONE);
    assert_eq!(window.doc.content.focused, Some(19));
    for _ in 0..15 {
        window.key(Key::ArrowUp, Modifiers::NONE);
    }
    window.frame();
    assert_eq!(window.doc.content.focused, Some(4));
    assert!(window.row_rect(4, RowKey::Header).is_some());
    window.key(Key::Enter, Modifiers::NONE);
    window.frame();
    let id = toolbar::first_button(
        window.doc.content.list_id,
        window.doc.content.entries[4].uid,
    );
    assert!(window.ctx.memory(|memory| memory.has_focus(id)));
    window.key(Key::Enter, Modifiers::NONE);
    assert_eq!(window.copied.len(), 1);
}

#[test]
fn removing_a_message_keeps_the_others_and_the_picture() {
    let mut window = Window::with(many(40));
    window.doc.scroll_by(-400.0);
    window.frame();
    let before = window.picture();
    window.doc.remove_message(&"m0".into());
    window.frame();
    assert_eq!(window.picture(), before);
    assert_eq!(window.doc.len(), 39);
    assert_eq!(window.doc.source(&"m0".into()), None);
    assert!(window.doc.source(&"m39".into()).is_some());
}

#[test]
fn a_hit_is_jumped_to_and_marked() {
    let mut window = Window::with(many(50));
    window.doc.mark_matches("MESSAGE 1");
    assert!(window.doc.jump_to_byte(&"m19".into(), 0));
    window.frame();
    assert!(window.row_rect(19, RowKey::Block(0, 0)).is_some());
    let marked = window.picture();
    window.doc.mark_matches("");
    window.frame();
    assert_eq!(window.picture(), marked, "marks move nothing");
}

#[test]
fn a_hit_in_collapsed_code_opens_it_and_is_in_view() {
    let code: String = (0..200)
        .map(|line| format!("let line_{line} = 1;\n"))
        .collect();
    let text = format!("before\n\n```rust\n{code}```\n\nafter");
    let mut window = Window::with(many(20).into_iter().chain([seat("code", &text)]));
    let byte = text.find("line_170").unwrap();
    assert!(window.doc.jump_to_byte(&"code".into(), byte));
    window.frame();
    let shown = window.doc.content.entries[20].shown_lines(1);
    assert_eq!(shown, 200);
    let chunks = window.row_keys(20);
    let holds = |key: &RowKey| match *key {
        RowKey::CodeBody(block, chunk) => {
            let lines = window.doc.content.entries[20].code_chunk(block, chunk);
            lines.contains(&170)
        }
        _ => false,
    };
    let key = *chunks.iter().find(|key| holds(key)).unwrap();
    assert!(window.row_rect(20, key).is_some(), "{:?}", window.picture());
}

#[test]
fn what_is_opened_at_the_tail_opens_below_the_line_that_was_clicked() {
    let mut window = Window::with(many(10).into_iter().chain([MessageView {
        reasoning: "thought\n\n".repeat(60).into(),
        ..seat("r", "the answer")
    }]));
    let line = window.row_rect(10, RowKey::Reasoning).unwrap();
    let left = window.text_start(10, 0).x;
    window.click(pos2(left + 40.0, line.center().y));
    window.frame();
    assert_eq!(window.row_rect(10, RowKey::Reasoning), Some(line));
    assert!(window.row_rect(10, RowKey::ReasoningBlock(0)).is_some());
}

#[test]
fn an_idle_thread_asks_for_no_frame() {
    let mut window = Window::with(many(30));
    window.doc.wait_for_colors();
    for _ in 0..10 {
        window.frame();
    }
    window.doc.wait_for_colors();
    window.frame();
    window.frame();
    assert!(
        !window.ctx.has_requested_repaint(),
        "{:?}",
        window.ctx.repaint_causes()
    );
}

#[test]
fn a_huge_paragraph_and_a_huge_line_of_code_become_many_rows() {
    let huge = format!(
        "{}\n\n```\n{}\n```\n",
        "word ".repeat(200_000),
        "x".repeat(1_000_000)
    );
    let mut window = Window::with([seat("a", &huge)]);
    window.doc.scroll_by(-1e9);
    window.frame();
    let rows = &window.doc.content.entries[0].rows;
    assert!(rows.len() > 200, "{}", rows.len());
    let tallest = window
        .doc
        .list()
        .placed()
        .iter()
        .map(|placed| placed.height)
        .max();
    assert!(tallest.unwrap() < 4000 * 64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn however_a_thread_came_to_be_its_rows_are_the_same(
        pieces in prop::collection::vec(prop_oneof![
            Just("word "), Just("\n\n"), Just("- item\n"), Just("```rust\n"), Just("```\n"),
            Just("| a | b |\n|---|---|\n"), Just("# h\n"), Just("> q\n"),
        ], 1..25),
    ) {
        let mut window = Window::with([streaming("s")]);
        for piece in &pieces {
            window.doc.append_delta(&"s".into(), piece);
            window.frame();
        }
        window.doc.set_status(&"s".into(), MessageStatus::Complete);
        window.frame();
        let whole = Window::with([seat("s", &pieces.concat())]);
        prop_assert_eq!(window.row_keys(0), whole.row_keys(0));
        prop_assert_eq!(
            window.doc.content.row_counts.total() + 1,
            window.doc.list().len() as i64
        );
    }
}
