//! A conversation without a mouse.

use egui::Key;
use egui::accesskit::Role;
use egui_kittest::kittest::NodeT;

use crate::table::Table;
use crate::window::{COMPOSER, CTRL, Window};

#[test]
fn a_whole_conversation_needs_no_pointer() {
    let filler = "A paragraph that takes room in the window.\n\n".repeat(40);
    let script = format!(
        "[[step]]\nreply = {}\n",
        serde_json::json!(format!("The first needle.\n\n{filler}The second needle."))
    );
    let table = Table::set(&script);
    let mut window = Window::open(table.home());

    window.say("where is the needle?");
    window.until_answered("needle.");

    // To the messages, from one to the next, and back.
    let is_focused =
        |w: &Window, role, name: &str| w.has(role, name) && w.control(role, name).is_focused();
    window.focus_messages();
    window.press(Key::ArrowUp);
    window.press(Key::ArrowUp);
    window.until("the question in view", |w| {
        w.messages().len() == 2 && w.messages()[0].text.starts_with("where")
    });
    window.press(Key::Enter);
    assert!(
        is_focused(&window, Role::Button, "Copy text"),
        "{}",
        window.outline()
    );
    for _ in 0..3 {
        window.press(Key::F6);
        if is_focused(&window, Role::MultilineTextInput, COMPOSER) {
            break;
        }
    }
    assert!(
        is_focused(&window, Role::MultilineTextInput, COMPOSER),
        "{}",
        window.outline()
    );

    // Search: the count, the next hit, around the end, closed.
    window.press_with(CTRL, Key::F);
    assert!(is_focused(&window, Role::TextInput, "Find in thread"));
    window.type_text("needle");
    window.until_seen("1 of 3");
    window.press(Key::Enter);
    window.until_seen("2 of 3");
    window.press(Key::F3);
    window.until_seen("3 of 3");
    window.settle();
    assert!(
        !window.sees("Jump to latest") || window.messages().len() == 1,
        "{}",
        window.outline()
    );
    window.press(Key::Enter);
    window.until_seen("1 of 3");
    window.until("the question in view", |w| {
        w.messages()
            .first()
            .is_some_and(|m| m.text.starts_with("where"))
    });
    window.press(Key::Escape);
    window.until("the composer", |w| {
        is_focused(w, Role::MultilineTextInput, COMPOSER)
    });
    assert!(!window.has(Role::TextInput, "Find in thread"));
    window.press_with(CTRL, Key::End);
    window.until_gone("Jump to latest");
    window.settle();
}

#[test]
fn f6_goes_through_the_parts_of_the_window_both_ways() {
    let table = Table::set("[[step]]\nreply = \"Yes.\"");
    let mut window = Window::open(table.home());
    window.say("hello");
    window.until_answered("Yes.");
    let focus = |w: &Window| -> String {
        let parts = [
            (Role::TextInput, "Filter threads"),
            (Role::List, "Messages"),
            (Role::MultilineTextInput, COMPOSER),
        ];
        let found = parts
            .into_iter()
            .find(|(role, name)| w.control(*role, name).is_focused());
        found.map_or_else(String::new, |(_, name)| name.to_owned())
    };
    let mut forth = Vec::new();
    for _ in 0..3 {
        window.press(Key::F6);
        forth.push(focus(&window));
    }
    assert_eq!(forth, ["Filter threads", "Messages", COMPOSER]);
    let mut back = Vec::new();
    for _ in 0..3 {
        window.press_with(egui::Modifiers::SHIFT, Key::F6);
        back.push(focus(&window));
    }
    assert_eq!(back, ["Messages", "Filter threads", COMPOSER]);
}

#[test]
fn tab_comes_to_every_control() {
    let table = Table::set("[[step]]\nreply = \"```rust\\nfn main() {}\\n```\"");
    let mut window = Window::open(table.home());
    window.say("hello");
    window.until_answered("```");
    assert_eq!(unreached(&mut window), [""; 0], "{}", window.outline());
    window.press_with(CTRL, Key::Comma);
    window.until_seen("Every change is written to");
    assert_eq!(unreached(&mut window), [""; 0], "{}", window.outline());
}

/// Names of controls that a full round of Tab doesn't come to.
fn unreached(window: &mut Window) -> Vec<String> {
    let is_control = |role| {
        matches!(
            role,
            Role::Button
                | Role::CheckBox
                | Role::ComboBox
                | Role::SpinButton
                | Role::TextInput
                | Role::MultilineTextInput
                | Role::ListBoxOption
                | Role::List
        )
    };
    let nodes = |w: &Window, is_focused: bool| -> Vec<String> {
        let all = w
            .harness
            .root()
            .children_recursive()
            .map(|node| node.accesskit_node());
        let wanted = all.filter(|node| {
            is_control(node.role()) && !node.is_disabled() && (!is_focused || node.is_focused())
        });
        wanted
            .map(|node| format!("{:?} {}", node.role(), node.label().unwrap_or_default()))
            .collect()
    };
    let mut left = nodes(window, false);
    assert!(left.len() > 5, "{left:?}");
    for _ in 0..2 * left.len() + 20 {
        window.press(Key::Tab);
        let here = nodes(window, true);
        left.retain(|name| !here.contains(name));
    }
    left
}
