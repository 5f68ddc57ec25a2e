//! Sending a message and watching the answer come.

use egui::accesskit::Role;
use egui::epaint::Shape;

use crate::table::{SHORT_ANSWERS, Table};
use crate::window::{COMPOSER, Window};

/// Rectangles of the size that the caret of a streaming reply has.
fn carets(window: &Window) -> usize {
    fn count(shape: &Shape) -> usize {
        match shape {
            Shape::Vec(shapes) => shapes.iter().map(count).sum(),
            Shape::Rect(rect) => usize::from(rect.rect.size() == egui::vec2(7.0, 14.0)),
            _ => 0,
        }
    }
    let shapes = &window.harness.output().shapes;
    shapes.iter().map(|clipped| count(&clipped.shape)).sum()
}

#[test]
fn a_message_is_sent_by_enter_and_answered_by_the_seats_it_names() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.say("@all good day");
    window.until_answered("Bob's answer.");
    let texts: Vec<String> = window.messages().into_iter().map(|m| m.text).collect();
    assert_eq!(texts, ["@all good day", "Ann's answer.", "Bob's answer."]);
    assert_eq!(window.draft(), "");
    let composer = window.control(Role::MultilineTextInput, COMPOSER);
    assert!(composer.is_focused());
    window.settle();
}

#[test]
fn a_message_is_sent_by_the_button_which_is_off_while_there_is_nothing_to_send() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    assert!(window.is_off("Send"));
    window.type_text("@bob good day");
    window.settle();
    assert!(!window.is_off("Send"));
    window.click("Send");
    window.until_answered("Bob's answer.");
}

#[test]
fn a_reply_is_read_while_it_streams_with_a_caret_at_its_end() {
    let table = Table::set(
        r#"
        [[step]]
        reply = [{ content = "Half of it" }, { gate = "rest", content = ", and the rest." }]
        "#,
    );
    let mut window = Window::open(table.home());
    window.say("go on");
    table.at_gate("rest");
    window.until("half of the reply", |w| {
        w.messages().last().is_some_and(|m| m.text == "Half of it")
    });
    let reply = window.messages().pop().unwrap();
    assert!(reply.name.starts_with("Ann, "), "{}", reply.name);
    assert!(reply.name.ends_with(", answering"), "{}", reply.name);
    assert_eq!(carets(&window), 1);
    table.server.open_gate("rest");
    window.until_answered("Half of it, and the rest.");
    window.until("the caret's end", |w| carets(w) == 0);
    let reply = window.messages().pop().unwrap();
    assert!(!reply.name.contains("answering"), "{}", reply.name);
}

#[test]
fn thoughts_are_a_closed_line_that_opens() {
    let table = Table::set(
        r#"
        [[step]]
        reply = [{ reasoning = "First I think about it." }, { gate = "said", content = "Then I speak." }]
        "#,
    );
    let mut window = Window::open(table.home());
    window.say("think");
    let thoughts = "Thinking  ·  23 B";
    window.until("the thoughts", |w| w.has(Role::Button, thoughts));
    let height = window.list_height();
    window.click(thoughts);
    assert!(window.list_height() > height);
    table.server.open_gate("said");
    window.until_answered("Then I speak.");
}

#[test]
fn any_text_arrives_intact_on_both_sides() {
    let ours = "tab\there, bell \u{7}, escape \u{1b}[31mred\u{1b}[0m, שלום עולם, مرحبا, \u{202e}back\u{202c}, \
        👨\u{200d}👩\u{200d}👧\u{200d}👦 🇯🇵 👍🏽, 日本語 中文 한국, e\u{301}, \u{feff}end";
    let theirs = "bell \u{7} \u{1b}[32mgreen\u{1b}[0m \u{202e}evil\u{202c} 日本語 🔥 שלום \u{0}nul";
    // A JSON string without surrogates is a TOML string.
    let script = format!("[[step]]\nreply = {}\n", serde_json::json!(theirs));
    let table = Table::set(&script);
    let mut window = Window::open(table.home());
    window.paste(ours);
    window.settle();
    assert_eq!(window.draft(), ours);
    window.press(egui::Key::Enter);
    window.until_answered(theirs);
    let texts: Vec<String> = window.messages().into_iter().map(|m| m.text).collect();
    assert_eq!(texts, [ours, theirs]);
    assert_eq!(table.last_words(1), format!("[User] {ours}"));
    window.close();
    let window = Window::open(table.home());
    let texts: Vec<String> = window.messages().into_iter().map(|m| m.text).collect();
    assert_eq!(texts, [ours, theirs], "and is found again");
}
