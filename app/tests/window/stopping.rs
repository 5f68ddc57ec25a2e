//! Ending a turn in the middle of it.

use egui::Key;
use egui::accesskit::Role;

use crate::table::Table;
use crate::window::Window;

const HALF_AN_ANSWER: &str = r#"
[[step]]
model = "model-a"
reply = [{ content = "Half an answer" }, { gate = "never", content = " and more" }]
[[step]]
model = "model-b"
reply = "Nobody asked me."
"#;

/// A window in which the first of two seats has said half of its answer.
fn amid(table: &Table) -> Window {
    let mut window = Window::open(table.home());
    window.say("@all go on");
    window.until("half an answer", |w| {
        w.messages()
            .last()
            .is_some_and(|m| m.text == "Half an answer")
    });
    window
}

fn is_stopped(window: &mut Window, table: &Table) {
    window.until("the stop", |w| {
        w.messages()
            .last()
            .is_some_and(|m| m.name.ends_with(", stopped"))
            && !w.shell().model().turn().is_generating
    });
    table.hung_up(1);
    let texts: Vec<String> = window.messages().into_iter().map(|m| m.text).collect();
    assert_eq!(
        texts,
        ["@all go on", "Half an answer"],
        "the second seat is skipped"
    );
    assert_eq!(table.requests(), 1);
    assert!(!window.has(Role::Button, "Stop"));
    window.settle();
}

#[test]
fn escape_stops_the_turn_and_keeps_what_arrived() {
    let table = Table::set(HALF_AN_ANSWER);
    let mut window = amid(&table);
    window.press(Key::Escape);
    is_stopped(&mut window, &table);
}

#[test]
fn the_button_stops_the_turn_and_keeps_what_arrived() {
    let table = Table::set(HALF_AN_ANSWER);
    let mut window = amid(&table);
    window.click("Stop");
    is_stopped(&mut window, &table);
}

#[test]
fn escape_closes_the_search_before_it_stops_a_turn() {
    let table = Table::set(HALF_AN_ANSWER);
    let mut window = amid(&table);
    window.press_with(crate::window::CTRL, Key::F);
    assert!(window.has(Role::TextInput, "Find in thread"));
    window.press(Key::Escape);
    assert!(!window.has(Role::TextInput, "Find in thread"));
    assert!(window.shell().model().turn().is_generating);
    window.press(Key::Escape);
    is_stopped(&mut window, &table);
}
