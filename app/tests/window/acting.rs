//! What can be done with a message: copy, fork, see its prompt.

use egui::accesskit::Role;
use egui::{Key, OutputCommand};

use crate::table::{SHORT_ANSWERS, Table};
use crate::window::{CTRL_SHIFT, Window};

/// A window with one question and its answer in Markdown.
fn answered(table: &Table) -> Window {
    let mut window = Window::open(table.home());
    window.say("a question");
    window.until_answered("**bold** answer.");
    window
}

const MARKDOWN: &str = "[[step]]\nreply = \"A **bold** answer.\"\n";

/// What the last frame put into the clipboard.
fn copied(window: &Window) -> Option<String> {
    let commands = &window.harness.output().platform_output.commands;
    commands.iter().find_map(|command| match command {
        OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    })
}

/// Clicks a button and returns what that put into the clipboard.
fn copied_by(window: &mut Window, button: &str) -> Option<String> {
    let at = window.control(Role::Button, button).rect().center();
    window.harness.hover_at(at);
    window.harness.drag_at(at);
    window.harness.step();
    let released = egui::Event::PointerButton {
        pos: at,
        button: egui::PointerButton::Primary,
        pressed: false,
        modifiers: egui::Modifiers::NONE,
    };
    window.harness.event(released);
    window.harness.step();
    copied(window)
}

#[test]
fn a_message_is_copied_as_text_or_as_markdown() {
    let table = Table::set(MARKDOWN);
    let mut window = answered(&table);
    window.hover_last_message();
    let text = copied_by(&mut window, "Copy text");
    assert_eq!(text.as_deref(), Some("A bold answer."));
    let markdown = copied_by(&mut window, "Copy as Markdown");
    assert_eq!(markdown.as_deref(), Some("A **bold** answer."));
}

#[test]
fn a_fork_begins_with_the_same_messages_and_leaves_the_first_thread_alone() {
    let table = Table::set(MARKDOWN);
    let mut window = answered(&table);
    window.hover_last_message();
    window.click("Fork from here");
    window.until("the fork", |w| w.threads().len() == 2);
    assert_eq!(window.messages().len(), 2);
    window.say("and more");
    window.until("its answer", |w| w.messages().len() == 4);
    let counts = |w: &Window| (w.sees("· 4 messages"), w.sees("· 2 messages"));
    window.until("both in the list", |w| counts(w) == (true, true));
}

#[test]
fn what_the_model_saw_can_be_looked_at() {
    let table = Table::set(MARKDOWN);
    let mut window = answered(&table);
    window.press_with(CTRL_SHIFT, Key::I);
    window.until_seen("Request: reply");
    assert!(window.sees("[User] a question"), "{}", window.outline());
    window.click("Close");
    window.until_gone("Request: reply");
}

#[test]
fn bonfire_says_what_it_costs_before_anything_is_sent() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    assert!(!window.sees("requests"));
    window.press_with(CTRL_SHIFT, Key::B);
    window.until_seen("about 6 requests");
    window.press_with(CTRL_SHIFT, Key::B);
    window.until_gone("requests");
    assert_eq!(table.requests(), 0);
}
