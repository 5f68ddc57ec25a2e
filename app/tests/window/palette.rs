//! The command palette.

use egui::Key;
use egui::accesskit::Role;

use crate::table::{SHORT_ANSWERS, Table};
use crate::window::{COMPOSER, CTRL_SHIFT, Window};

#[test]
fn the_palette_finds_a_command_by_its_words_and_starts_it() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.press_with(CTRL_SHIFT, Key::P);
    let field = window.control(Role::TextInput, "Command palette");
    assert!(field.is_focused());
    assert!(
        window.sees("Ctrl+Shift+P"),
        "a command is shown with its key"
    );
    window.type_text("performance");
    window.press(Key::Enter);
    window.until_seen("resident memory");
    assert!(!window.has(Role::TextInput, "Command palette"));
}

#[test]
fn escape_closes_the_palette_and_goes_back_to_the_composer() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.press_with(CTRL_SHIFT, Key::P);
    window.type_text("nothing is called like this");
    window.until_seen("Nothing matches.");
    window.press(Key::Escape);
    window.until("the composer", |w| {
        !w.has(Role::TextInput, "Command palette")
            && w.control(Role::MultilineTextInput, COMPOSER).is_focused()
    });
    window.say("still here");
    window.until_answered("Ann's answer.");
}

#[test]
fn arrows_choose_among_what_was_found() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.press_with(CTRL_SHIFT, Key::P);
    window.type_text("theme");
    window.settle();
    let chosen = |w: &Window| -> Vec<String> {
        let rows = w.threads().into_iter();
        rows.filter(|(title, is_chosen)| *is_chosen && title.contains("heme"))
            .map(|(title, _)| title)
            .collect()
    };
    let first = chosen(&window);
    assert_eq!(first.len(), 1, "{}", window.outline());
    window.press(Key::ArrowDown);
    let second = chosen(&window);
    assert_eq!(second.len(), 1);
    assert_ne!(first, second);
    window.press(Key::ArrowUp);
    assert_eq!(chosen(&window), first);
}
