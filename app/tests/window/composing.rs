//! What the composer keeps, queues, edits and attaches.

use egui::Key;
use egui::accesskit::Role;

use crate::table::{SHORT_ANSWERS, Table};
use crate::window::{CTRL, CTRL_SHIFT, Window};

#[test]
fn a_draft_survives_the_end_of_the_program() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.say("a thread of its own");
    window.until_answered("Ann's answer.");
    window.type_text("not finished yet, 日本");
    window.close();
    let window = Window::open(table.home());
    assert_eq!(window.draft(), "not finished yet, 日本");
    assert_eq!(window.messages()[0].text, "a thread of its own");
}

#[test]
fn each_thread_keeps_its_own_draft_however_quickly_it_is_left() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.say("first");
    window.until_answered("Ann's answer.");
    window.type_text("half a thought");
    window.press_with(CTRL, Key::N);
    window.until_seen("Who sits at the table");
    assert_eq!(window.draft(), "");
    window.control(Role::ListBoxOption, "first").click();
    window.until("the draft", |w| w.draft() == "half a thought");
}

#[test]
fn what_an_input_method_composes_is_written_and_its_enter_sends_nothing() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.type_text("in ");
    for text in ["に", "にほ", "日本"] {
        window.compose(text);
        // Enter chooses among what the input method offers.
        window.press(Key::Enter);
    }
    assert!(window.messages().is_empty(), "{}", window.outline());
    window.commit("日本");
    window.commit("へ");
    assert_eq!(window.draft(), "in 日本へ");
    window.press(Key::Enter);
    window.until_answered("Ann's answer.");
    assert_eq!(window.messages()[0].text, "in 日本へ");
}

#[test]
fn a_message_written_during_a_turn_waits_for_its_end() {
    let table = Table::set(
        r#"
        [[step]]
        nth = 1
        reply = [{ content = "First" }, { gate = "rest", content = " answer." }]
        [[step]]
        reply = "Second answer."
        "#,
    );
    let mut window = Window::open(table.home());
    window.say("one");
    window.until_seen("First");
    window.say("two");
    window.until_seen("Waits: two");
    window.say("three");
    window.until_seen("Waits: three");
    assert!(!window.messages().iter().any(|m| m.text == "two"));
    // The second of the two is taken out again, and stands before what is being written.
    window.type_text("four");
    let out = "Take it back out of the queue";
    let last = window.buttons(out).last().copied().unwrap();
    window.click_at(last);
    window.until_gone("Waits: three");
    window.until("it is in the composer", |w| w.draft() == "three\n\nfour");
    table.server.open_gate("rest");
    window.until_answered("Second answer.");
    let texts: Vec<String> = window.messages().into_iter().map(|m| m.text).collect();
    assert_eq!(texts, ["one", "First answer.", "two", "Second answer."]);
    assert!(!window.sees("Waits:"));
}

#[test]
fn up_edits_the_last_message_and_sending_it_goes_on_in_a_fork() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.say("a quesion");
    window.until_answered("Ann's answer.");
    window.press(Key::ArrowUp);
    window.until_seen("You are editing an earlier message.");
    assert_eq!(window.draft(), "a quesion");
    window.press_with(CTRL, Key::A);
    window.type_text("a question");
    window.press(Key::Enter);
    window.until("the fork", |w| {
        w.messages().first().is_some_and(|m| m.text == "a question")
    });
    window.until_answered("Ann's answer.");
    assert_eq!(window.messages().len(), 2);
    let titles: Vec<String> = window
        .threads()
        .into_iter()
        .map(|(title, _)| title)
        .collect();
    assert!(
        titles.contains(&"a quesion".to_owned()),
        "the first stays: {titles:?}"
    );
    assert_eq!(titles.len(), 2);
}

#[test]
fn escape_ends_the_editing_and_changes_nothing() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.say("a question");
    window.until_answered("Ann's answer.");
    window.press(Key::ArrowUp);
    window.until_seen("You are editing an earlier message.");
    window.press(Key::Escape);
    window.until_gone("You are editing an earlier message.");
    assert_eq!(window.draft(), "");
    assert_eq!(window.threads().len(), 1);
}

#[test]
fn what_was_being_written_comes_back_after_an_edit() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.say("a question");
    window.until_answered("Ann's answer.");
    window.type_text("half a thought");
    let edit = |window: &mut Window| {
        window.press_with(CTRL_SHIFT, Key::P);
        window.type_text("edit my last");
        window.press(Key::Enter);
        window.until_seen("You are editing an earlier message.");
        assert_eq!(window.draft(), "a question");
    };
    edit(&mut window);
    window.press(Key::Escape);
    window.until_gone("You are editing an earlier message.");
    assert_eq!(window.draft(), "half a thought");
    // Sent, the edit goes on in a fork; the draft stays with its thread.
    edit(&mut window);
    window.type_text(", again");
    window.press(Key::Enter);
    window.until("the fork", |w| {
        w.threads().len() == 2 && w.draft().is_empty()
    });
    window.until_answered("Ann's answer.");
    window.press_with(CTRL, Key::P);
    window.press(Key::ArrowDown);
    window.press(Key::Enter);
    window.until("the draft", |w| w.draft() == "half a thought");
}

#[test]
fn five_megabytes_pasted_become_an_attachment_and_are_sent_whole() {
    let table = Table::set_with(SHORT_ANSWERS, |url| {
        format!(
            "{}[prompt]\nsoft_limit_chars = 100000000\n",
            crate::table::seats(url)
        )
    });
    let mut window = Window::open(table.home());
    let line = "0123456789 The quick brown fox jumps over the lazy dog, ends. \n";
    let text = line.repeat((5 << 20) / line.len());
    window.paste(&text);
    window.until_seen("pasted text 1");
    assert!(window.sees("5.2 MB"), "{}", window.outline());
    assert_eq!(window.draft(), "");
    window.type_text("look at this");
    window.press(Key::Enter);
    window.until_answered("Ann's answer.");
    assert!(table.last_words(1).contains(&text), "whole, in one piece");
    assert!(!window.has(Role::Button, "Remove pasted text 1"));
    window.settle();
}

#[test]
fn an_attachment_alone_can_be_sent_and_removed() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.paste(&"many words ".repeat(4000));
    window.until_seen("pasted text 1");
    window.click("Remove pasted text 1");
    window.until_gone("pasted text 1");
    window.press_with(CTRL, Key::L);
    window.paste(&"other words ".repeat(4000));
    window.until_seen("pasted text 2");
    window.click("Send");
    window.until_answered("Ann's answer.");
    let sent = table.last_words(1);
    assert!(sent.contains("other words other words") && !sent.contains("many words"));
}

#[test]
fn shift_enter_begins_a_new_line() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.type_text("one");
    window.press_with(egui::Modifiers::SHIFT, Key::Enter);
    window.type_text("two");
    window.settle();
    assert_eq!(window.draft(), "one\ntwo");
    window.press(Key::Enter);
    window.until_answered("Ann's answer.");
    assert_eq!(window.messages()[0].text, "one\ntwo");
}

#[test]
fn a_family_is_deleted_by_one_press() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.type_text("we 👨\u{200d}👩\u{200d}👧\u{200d}👦");
    window.press(Key::Backspace);
    window.settle();
    assert_eq!(window.draft(), "we ");
}
