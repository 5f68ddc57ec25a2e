//! Several threads: switching, naming, putting aside, deleting, and a second window on the same data.

use egui::Key;
use egui::accesskit::Role;
use transcript::{NewMessage, Thread, ThreadStore, Timestamp};

use crate::table::{SHORT_ANSWERS, Table};
use crate::window::{CTRL, Window};

/// Two threads, "First matter" and "Second matter", the second one open.
fn two_threads(table: &Table) -> Window {
    let mut window = Window::open(table.home());
    for title in ["First matter", "Second matter"] {
        window.press_with(CTRL, Key::N);
        window.until("an empty thread", |w| {
            w.sees("Who sits at the table") && w.draft().is_empty()
        });
        window.say(title);
        window.until_answered("Ann's answer.");
    }
    window
}

#[test]
fn a_thread_goes_on_streaming_while_another_is_shown() {
    let table = Table::set(
        r#"
        [[step]]
        contains = "slow"
        reply = [{ content = "Slowly" }, { gate = "rest", content = " but surely." }]
        [[step]]
        contains = "quick"
        reply = "Done."
        "#,
    );
    let mut window = Window::open(table.home());
    window.say("a slow matter");
    window.until("the first words", |w| {
        w.messages().last().is_some_and(|m| m.text == "Slowly")
    });
    window.press_with(CTRL, Key::N);
    window.until_seen("Who sits at the table");
    assert!(window.sees("answering…"), "{}", window.outline());
    window.say("a quick matter");
    window.until_answered("Done.");
    assert_eq!(
        window.threads(),
        [
            ("a quick matter".to_owned(), true),
            ("a slow matter".to_owned(), false)
        ]
    );
    window.control(Role::ListBoxOption, "a slow matter").click();
    window.until("the slow thread", |w| {
        w.messages().last().is_some_and(|m| m.text == "Slowly")
    });
    table.server.open_gate("rest");
    window.until_answered("Slowly but surely.");
    window.until_gone("answering…");
}

#[test]
fn the_picker_switches_threads_by_a_part_of_the_title() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = two_threads(&table);
    window.press_with(CTRL, Key::P);
    window.type_text("first");
    window.press(Key::Enter);
    window.until("the first thread", |w| {
        w.messages()
            .first()
            .is_some_and(|m| m.text == "First matter")
    });
    assert!(
        window
            .threads()
            .contains(&("First matter".to_owned(), true))
    );
}

/// Title of a long thread.
const LONG: &str = "A long matter";

/// A thread file of `messages` messages, longer than what is read at once.
fn long_thread(table: &Table, messages: usize) {
    let now = Timestamp::now();
    let mut thread = Thread::new("long".into(), now);
    for nth in 0..messages {
        let text = format!("Entry {nth}. {}", "Word after word. ".repeat(400));
        let id = format!("m{nth}").as_str().into();
        thread
            .append(NewMessage::user(text), id, now)
            .expect("a message fits");
    }
    thread.rename(LONG, now);
    let (mut store, _) = ThreadStore::open(table.home(), now).expect("the store opens");
    store.create(&thread).expect("the thread can be written");
    store.fold(&thread).expect("the thread can be folded");
    store.close().expect("the store closes");
}

#[test]
fn a_long_thread_opens_at_its_end_and_is_there_as_a_whole() {
    let table = Table::set(SHORT_ANSWERS);
    long_thread(&table, 400);
    let mut window = Window::open(table.home());
    window.say("Second matter");
    window.until_answered("Ann's answer.");
    let opened = |w: &Window| {
        let thread = w.shell().model().thread.as_ref();
        thread.is_some_and(|t| t.id.as_str() == "long" && t.messages.len() == 400)
    };
    window.control(Role::ListBoxOption, LONG).click();
    window.until("the whole of it", opened);
    let last = |w: &Window| w.messages().last().map(|m| m.text.clone());
    assert!(last(&window).is_some_and(|text| text.starts_with("Entry 399.")));
    window.focus_messages();
    window.press(Key::Home);
    window.until("the beginning", |w| {
        w.messages()
            .first()
            .is_some_and(|m| m.text.starts_with("Entry 0."))
    });
    // A thread that was left in the middle is found there again.
    window.control(Role::ListBoxOption, "Second matter").click();
    window.until("the other thread", |w| {
        w.messages()
            .first()
            .is_some_and(|m| m.text == "Second matter")
    });
    window.control(Role::ListBoxOption, LONG).click();
    window.until("the long thread, where it was left", |w| {
        w.messages()
            .first()
            .is_some_and(|m| m.text.starts_with("Entry 0."))
    });
}

#[test]
fn a_long_thread_that_is_broken_in_the_middle_leaves_the_open_one_open() {
    let table = Table::set(SHORT_ANSWERS);
    long_thread(&table, 400);
    let mut window = Window::open(table.home());
    window.say("Second matter");
    window.until_answered("Ann's answer.");
    let path = table.home().join("threads/long.json");
    let mut bytes = std::fs::read(&path).expect("the file");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 40].fill(b'"');
    std::fs::write(&path, bytes).expect("the file can be written");
    window.control(Role::ListBoxOption, LONG).click();
    window.until_seen("could not be opened");
    window.until("the thread that was open", |w| {
        w.messages()
            .last()
            .is_some_and(|m| m.text == "Ann's answer.")
    });
    window.say("still here");
    window.until("another answer", |w| w.messages().len() == 4);
}

#[test]
fn a_thread_is_renamed() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = two_threads(&table);
    window.press(Key::F2);
    window.until("the dialog", |w| w.has(Role::TextInput, "Thread title"));
    window.press_with(CTRL, Key::A);
    window.type_text("A better name");
    window.press(Key::Enter);
    window.until("the new title", |w| {
        w.threads().contains(&("A better name".to_owned(), true))
    });
    assert!(window.has(Role::Button, "Thread: A better name. Switch thread"));
    window.close();
    let window = Window::open(table.home());
    assert!(
        window
            .threads()
            .contains(&("A better name".to_owned(), true))
    );
}

#[test]
fn an_archived_thread_leaves_the_list_and_can_be_brought_back() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = two_threads(&table);
    window
        .control(Role::ListBoxOption, "First matter")
        .click_secondary();
    window.until("the menu", |w| w.has(Role::Button, "Archive"));
    window.click("Archive");
    window.until("an end of it", |w| {
        w.threads() == [("Second matter".to_owned(), true)]
    });
    window.click("Show archived threads");
    window.until_seen("archived ·");
    window
        .control(Role::ListBoxOption, "First matter")
        .click_secondary();
    window.until("the menu", |w| w.has(Role::Button, "Bring back"));
    window.click("Bring back");
    window.until_gone("archived ·");
    window.click("Hide archived threads");
    assert_eq!(window.threads().len(), 2);
}

#[test]
fn a_deleted_thread_can_be_brought_back() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = two_threads(&table);
    window
        .control(Role::ListBoxOption, "Second matter")
        .click_secondary();
    window.until("the menu", |w| w.has(Role::Button, "Delete"));
    window.click("Delete");
    window.until("the other thread", |w| {
        w.threads() == [("First matter".to_owned(), true)]
    });
    window.until_seen("\"Second matter\" is in the bin.");
    window.click("Bring it back");
    window.until("the thread", |w| {
        w.messages()
            .first()
            .is_some_and(|m| m.text == "Second matter")
    });
    assert_eq!(window.threads().len(), 2);
}

#[test]
fn a_message_is_deleted_by_its_toolbar() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = two_threads(&table);
    window.hover_last_message();
    window.click("Delete");
    window.until("its end", |w| w.messages().len() == 1);
}

#[test]
fn a_filter_narrows_the_list() {
    let table = Table::set(SHORT_ANSWERS);
    let mut window = two_threads(&table);
    window.control(Role::TextInput, "Filter threads").focus();
    window.settle();
    window.type_text("FIRST");
    window.settle();
    assert_eq!(window.threads(), [("First matter".to_owned(), false)]);
    window.type_text("less");
    window.until_seen("No thread matches.");
}

#[test]
fn a_second_window_on_the_same_data_says_that_it_saves_nothing() {
    let table = Table::set(SHORT_ANSWERS);
    let first = two_threads(&table);
    let mut second = Window::open(table.home());
    assert!(second.sees("not saved"), "{}", second.outline());
    assert!(!first.sees("not saved"));
    second.press_with(CTRL, Key::N);
    second.until_seen("Who sits at the table");
    second.say("only in memory");
    second.until_answered("Ann's answer.");
    second.close();
    first.close();
    let again = Window::open(table.home());
    assert!(!again.sees("not saved"));
    assert_eq!(again.threads().len(), 2);
}

#[test]
fn the_side_panel_keeps_its_width_and_whether_it_is_seen() {
    let table = Table::set(SHORT_ANSWERS);
    let width = |w: &Window| {
        let field = w.control(Role::TextInput, "Filter threads");
        field.rect().width().round()
    };
    let mut window = Window::open(table.home());
    let first = width(&window);
    let edge = window
        .control(Role::Splitter, "Resize panel")
        .rect()
        .center();
    window.harness.hover_at(edge);
    window.harness.drag_at(edge);
    window.harness.hover_at(edge + egui::vec2(60.0, 0.0));
    window.harness.drop_at(edge + egui::vec2(60.0, 0.0));
    window.settle();
    assert_eq!(width(&window), first + 60.0);
    window.close();
    let mut window = Window::open(table.home());
    assert_eq!(width(&window), first + 60.0);
    window.press_with(CTRL, Key::B);
    assert!(!window.has(Role::TextInput, "Filter threads"));
    window.close();
    let window = Window::open(table.home());
    assert!(!window.has(Role::TextInput, "Filter threads"));
}
