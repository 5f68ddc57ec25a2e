//! What a window finds when it opens.

use egui::Key;
use egui::accesskit::Role;

use crate::table::{SHORT_ANSWERS, Table};
use crate::window::{CTRL, Window};

#[test]
fn a_damaged_thread_is_put_aside_and_named_and_the_others_open() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.say("a good thread");
    window.until_answered("Ann's answer.");
    window.close();
    let threads = table.home().join("threads");
    std::fs::write(threads.join("broken.json"), "{ not a thread").unwrap();
    let mut window = Window::open(table.home());
    window.until_seen("broken.");
    assert!(window.sees("corrupt"), "{}", window.outline());
    assert_eq!(window.threads(), [("a good thread".to_owned(), true)]);
    window.say("and it goes on");
    window.until("an answer", |w| w.messages().len() == 4);
}

#[test]
fn the_zoom_is_remembered() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.press_with(CTRL, Key::Equals);
    window.settle();
    let zoom = window.harness.ctx.zoom_factor();
    assert!(zoom > 1.05);
    window.close();
    let mut window = Window::open(table.home());
    window.settle();
    assert_eq!(window.harness.ctx.zoom_factor(), zoom);
    window.press_with(CTRL, Key::Num0);
    window.settle();
    assert_eq!(window.harness.ctx.zoom_factor(), 1.0);
}

#[test]
fn a_keymap_of_ones_own_is_used_and_its_mistakes_are_named() {
    let table = Table::set(SHORT_ANSWERS);
    let keymap = "[[bindings]]\nkeys = \"Ctrl+K Ctrl+R\"\ncommand = \"thread.rename\"\n\
        [[bindings]]\nkeys = \"F9\"\ncommand = \"fly.away\"\n";
    std::fs::write(table.home().join("keymap.toml"), keymap).unwrap();
    let mut window = Window::open(table.home());
    window.until_seen("no such command: fly.away");
    assert!(window.sees("keymap.toml:6"), "{}", window.outline());
    window.press_with(CTRL, Key::K);
    assert!(!window.has(Role::TextInput, "Thread title"));
    window.press_with(CTRL, Key::R);
    assert!(window.has(Role::TextInput, "Thread title"));
}

#[test]
fn settings_changed_by_another_program_take_effect() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    assert!(window.sees("@bob  model-b"));
    let text = table.settings().replace("\"Bob\"", "\"Robert\"");
    std::fs::write(table.home().join("settings.toml"), text).unwrap();
    window.until_seen("Robert");
}
