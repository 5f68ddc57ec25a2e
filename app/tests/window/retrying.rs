//! A reply that failed: what is said about it, and asking again.

use egui::Key;
use egui::accesskit::Role;

use crate::table::Table;
use crate::window::{CTRL_SHIFT, Window};

const FAILS_ONCE: &str = r#"
[[step]]
nth = 1
status = 429
body = { error = { message = "The quota of this week is used up.", code = "quota" } }
[[step]]
reply = "Now I can."
"#;

fn failed(table: &Table) -> Window {
    let mut window = Window::open(table.home());
    window.say("try it");
    window.until("the failure", |w| {
        w.messages()
            .last()
            .is_some_and(|m| m.name.ends_with(", failed"))
            && !w.shell().model().turn().is_generating
    });
    window
}

fn is_answered(window: &mut Window, table: &Table) {
    window.until_answered("Now I can.");
    assert_eq!(table.requests(), 2);
    let failures = window
        .messages()
        .iter()
        .filter(|m| m.name.ends_with(", failed"))
        .count();
    assert_eq!(
        failures, 0,
        "a failure without any content makes way for the new try"
    );
    window.settle();
}

#[test]
fn an_error_says_what_the_provider_said_and_offers_another_try() {
    let table = Table::set(FAILS_ONCE);
    let mut window = failed(&table);
    assert!(
        window.sees("The quota of this week is used up."),
        "{}",
        window.outline()
    );
    window.click("Retry");
    is_answered(&mut window, &table);
}

#[test]
fn the_toolbar_of_a_stopped_reply_asks_again() {
    let table = Table::set(
        r#"
        [[step]]
        nth = 1
        reply = [{ content = "A poor" }, { gate = "never", content = " answer." }]
        [[step]]
        reply = "A better one."
        "#,
    );
    let mut window = Window::open(table.home());
    window.say("try it");
    window.until_seen("A poor");
    window.press(Key::Escape);
    window.until("the stop", |w| {
        w.messages()
            .last()
            .is_some_and(|m| m.name.ends_with(", stopped"))
            && !w.shell().model().turn().is_generating
    });
    window.hover_last_message();
    for name in ["Copy text", "Copy as Markdown", "Fork from here", "Delete"] {
        assert!(
            window.has(Role::Button, name),
            "{name}; {}",
            window.outline()
        );
    }
    window.click("Retry");
    window.until_answered("A better one.");
    let texts: Vec<String> = window.messages().into_iter().map(|m| m.text).collect();
    assert_eq!(texts, ["try it", "A poor", "A better one."]);
    assert_eq!(
        table.last_words(2),
        "[User] try it",
        "the attempt itself is left out"
    );
    window.hover_last_message();
    assert!(
        !window.has(Role::Button, "Retry"),
        "a whole reply is not retried"
    );
}

#[test]
fn a_key_asks_the_last_failure_again() {
    let table = Table::set(FAILS_ONCE);
    let mut window = failed(&table);
    window.press_with(CTRL_SHIFT, Key::R);
    is_answered(&mut window, &table);
}

#[test]
fn a_reply_cut_in_the_middle_keeps_its_text_and_says_so() {
    let table = Table::set(
        "[[step]]\nreply = [{ content = \"Only half\" }]\nno_finish = true\nno_done = true\n",
    );
    let mut window = Window::open(table.home());
    window.say("go on");
    window.until("the cut", |w| {
        w.messages()
            .last()
            .is_some_and(|m| m.name.ends_with(", cut off"))
    });
    assert_eq!(window.messages().pop().unwrap().text, "Only half");
}

#[test]
fn a_prompt_that_is_too_long_leads_to_a_new_thread() {
    let table = Table::set(
        "[[step]]\nstatus = 400\nbody = { error = { message = \"Too much.\", code = \"context_length_exceeded\" } }\n",
    );
    let mut window = failed(&table);
    assert!(window.sees("Too much."));
    window.click("Start a new thread");
    window.until_seen("Who sits at the table");
}

#[test]
fn a_refused_key_leads_to_the_settings() {
    let table = Table::set(
        "[[step]]\nstatus = 401\nbody = { error = { message = \"Incorrect API key provided.\" } }\n",
    );
    let mut window = failed(&table);
    assert!(window.sees("Incorrect API key provided."));
    assert!(!window.has(Role::Button, "Retry"));
    window.click("Open settings");
    window.until_seen("Every change is written to");
}
