//! Addressing seats by `@`.

use egui::Key;
use egui::accesskit::Role;

use crate::table::{SHORT_ANSWERS, Table};
use crate::window::Window;

#[test]
fn the_popup_completes_a_mention_and_enter_then_sends() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.type_text("Hello @");
    window.until_seen("@ann  Ann");
    assert!(window.sees("@bob  Bob") && window.sees("every seat, one after the other"));
    window.type_text("b");
    window.until_gone("@ann  Ann");
    window.press(Key::Enter);
    window.settle();
    assert_eq!(window.draft(), "Hello @bob ");
    assert_eq!(
        window.messages(),
        [],
        "accepting a completion sends nothing"
    );
    window.type_text("there");
    window.press(Key::Enter);
    window.until_answered("Bob's answer.");
    assert_eq!(window.messages()[0].text, "Hello @bob there");
    assert_eq!(table.request(1).body["model"], "model-b");
}

#[test]
fn enter_sends_also_when_it_comes_in_one_frame_with_the_rest_of_the_text() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.type_text("@bob");
    window.until_seen("@bob  Bob");
    let enter = egui::Event::Key {
        key: Key::Enter,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers: egui::Modifiers::NONE,
    };
    let rest = egui::Event::Text(" there".to_owned());
    window.harness.input_mut().events.extend([rest, enter]);
    window.harness.step();
    window.until_answered("Bob's answer.");
    assert_eq!(window.messages()[0].text, "@bob there");
}

#[test]
fn escape_closes_the_popup_and_keeps_the_text() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.type_text("@a");
    window.until_seen("@ann  Ann");
    window.press(Key::Escape);
    window.until_gone("@ann  Ann");
    assert_eq!(window.draft(), "@a");
}

#[test]
fn a_mention_that_names_nobody_is_told_and_the_text_is_kept() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.type_text("@carol are you there?");
    window.until_seen("nobody is called @carol");
    assert_eq!(window.draft(), "@carol are you there?");
}

#[test]
fn who_answers_is_said_before_sending_and_can_be_chosen() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.until("the responder", |w| w.has(Role::Button, "Speaking to Ann"));
    window.type_text("@all hello");
    window.until("both", |w| w.has(Role::Button, "Speaking to Ann, then Bob"));
    window.press_with(crate::window::CTRL_SHIFT, Key::S);
    window.type_text("bob");
    window.press(Key::Enter);
    window.until_gone("Whoever was addressed last");
    window.press_with(crate::window::CTRL, Key::A);
    window.type_text("hello");
    window.until("the chosen one", |w| {
        w.draft() == "hello" && w.shell().model().estimate.targets == ["bob".into()]
    });
    window.press(Key::Enter);
    window.until_answered("Bob's answer.");
}
