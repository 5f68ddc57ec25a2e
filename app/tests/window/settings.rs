//! The settings, and the notice that must be read before a subscription is used.

use egui::Key;
use egui::accesskit::Role;

use crate::table::{SHORT_ANSWERS, Table};
use crate::window::{CTRL, Window};

const LISTS_MODELS: &str = r#"
[[models]]
id = "gpt-6"
owned_by = "openai"
[[step]]
reply = "Good day from the new seat."
"#;

fn fill(window: &mut Window, name: &str, text: &str) {
    window.control(Role::TextInput, name).focus();
    window.settle();
    window.press_with(CTRL, Key::A);
    window.type_text(text);
    window.settle();
}

#[test]
fn an_endpoint_and_a_seat_are_added_written_and_used() {
    let table = Table::set_with(LISTS_MODELS, |_| {
        "# mine\n[sidecar]\nexternal_url = \"http://127.0.0.1:9\"\n".to_owned()
    });
    let url = table.server.base_url();
    let mut window = Window::open(table.home());
    window.until_seen("Demo: scripted, not an AI");
    window.press_with(CTRL, Key::Comma);
    window.until_seen("Every change is written to");
    fill(&mut window, "Name", "local");
    fill(&mut window, "Address", &url);
    window.click_wherever("Add endpoint");
    window.until("the seats of its models", |w| {
        let seats = &w.shell().model().seats;
        seats.iter().any(|view| view.seat.endpoint == "local")
    });
    let text = table.settings();
    assert!(
        text.contains("id = \"local\"") && text.contains(&url),
        "{text}"
    );
    assert!(text.contains("# mine"), "comments stay: {text}");

    window.click_wherever("Add seat");
    fill(&mut window, "Name in mentions", "nora");
    fill(&mut window, "Name shown", "Nora");
    window.click_wherever("Save seat");
    window.until("the seat", |w| {
        w.shell()
            .model()
            .seats
            .iter()
            .map(|view| view.seat.id.as_str())
            .eq(["nora"])
    });
    let text = table.settings();
    assert!(
        text.contains("id = \"nora\"") && text.contains("model = \"gpt-6\""),
        "{text}"
    );

    window.press_with(CTRL, Key::W);
    window.until_gone("Every change is written to");
    window.press_with(CTRL, Key::L);
    window.settle();
    window.say("hello");
    window.until_answered("Good day from the new seat.");
}

#[test]
fn a_name_or_an_address_that_cannot_be_is_told_and_nothing_is_written() {
    let table = Table::set(SHORT_ANSWERS);
    let before = table.settings();
    let mut window = Window::open(table.home());
    window.press_with(CTRL, Key::Comma);
    window.until_seen("Every change is written to");
    fill(&mut window, "Name", "two words");
    fill(&mut window, "Address", "http://127.0.0.1:1");
    window.click_wherever("Add endpoint");
    window.until_seen("A name is made of letters");
    fill(&mut window, "Name", "local");
    fill(&mut window, "Address", "ftp://127.0.0.1");
    window.click_wherever("Add endpoint");
    window.until_seen("is not an address");
    assert_eq!(table.settings(), before);
}

#[test]
fn what_the_settings_file_gets_wrong_is_said_with_its_line() {
    let table = Table::set_with(SHORT_ANSWERS, |url| {
        format!(
            "{}\n[router]\ndefault_moode = \"manual\"\n",
            crate::table::seats(url)
        )
    });
    let mut window = Window::open(table.home());
    window.click("1 problem in the settings");
    window.until_seen("default_moode");
}

#[test]
fn the_notice_about_terms_blocks_sending_until_it_is_read() {
    let table = Table::set_with(SHORT_ANSWERS, |url| {
        let proxy = url.trim_end_matches("/v1");
        format!(
            "[sidecar]\nexternal_url = \"{proxy}\"\n[[participants]]\nid = \"ann\"\ndisplay_name = \"Ann\"\nmodel = \"model-a\"\n"
        )
    });
    let mut window = Window::open(table.home());
    window.until_seen("may violate their terms of service");
    window.type_text("hello");
    window.press(Key::Enter);
    window.until_seen("Read the notice at the top first.");
    assert!(window.is_off("Send"));
    assert_eq!(window.draft(), "hello", "nothing is lost");
    assert_eq!(table.requests(), 0);
    window.click("I understand");
    window.until_gone("may violate their terms of service");
    window.press_with(CTRL, Key::L);
    window.press(Key::Enter);
    window.until_answered("Ann's answer.");
    window.close();
    let window = Window::open(table.home());
    assert!(
        !window.sees("may violate their terms of service"),
        "once is enough"
    );
}
