//! A conversation without a mouse.

use egui::Key;
use egui::accesskit::Role;
use egui_kittest::kittest::NodeT;

use crate::table::{SHORT_ANSWERS, Table};
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
    let table = Table::set(SHORT_ANSWERS);
    let mut window = Window::open(table.home());
    window.say("hello");
    window.until_answered("Ann's answer.");
    let focus = |w: &Window| -> String {
        let focused = w.focused();
        focused.unwrap_or_else(|| "nothing".to_owned())
    };
    let messages = "Messages";
    let forth: Vec<String> = (0..6)
        .map(|_| {
            window.press(Key::F6);
            focus(&window)
        })
        .collect();
    assert_eq!(
        forth,
        [
            "script: ready. Check again",
            "Threads",
            "Filter threads",
            "Thread: hello. Switch thread",
            messages,
            COMPOSER
        ]
    );
    let back: Vec<String> = (0..3)
        .map(|_| {
            window.press_with(egui::Modifiers::SHIFT, Key::F6);
            focus(&window)
        })
        .collect();
    assert_eq!(
        back,
        [messages, "Thread: hello. Switch thread", "Filter threads"]
    );
    // The search bar and the settings are parts while they are open.
    window.press_with(CTRL, Key::F);
    window.press(Key::F6);
    assert_eq!(focus(&window), messages);
    window.press_with(egui::Modifiers::SHIFT, Key::F6);
    assert_eq!(focus(&window), "Find in thread");
    window.press(Key::Escape);
    window.press_with(CTRL, Key::Comma);
    window.until_seen("Every change is written to");
    let seen: Vec<String> = (0..5)
        .map(|_| {
            window.press(Key::F6);
            focus(&window)
        })
        .collect();
    assert!(seen.iter().all(|name| name != messages), "{seen:?}");
    assert!(seen.iter().any(|name| name == "Edit ann"), "{seen:?}");
}

#[test]
fn what_the_model_saw_is_read_by_keys() {
    let table = Table::set("[[step]]\nreply = \"Yes.\"");
    let mut window = Window::open(table.home());
    let lines: Vec<String> = (0..300).map(|n| format!("line {n} of it")).collect();
    window.say(&lines.join("\n\n"));
    window.until_answered("Yes.");
    window.press_with(crate::window::CTRL_SHIFT, Key::I);
    window.until_seen("What the model saw");
    assert!(!window.has(Role::Label, "line 299 of it"));
    window.press(Key::End);
    window.until("the end", |w| w.has(Role::Label, "line 299 of it"));
    window.press(Key::PageUp);
    window.until("more of it", |w| !w.has(Role::Label, "line 299 of it"));
    window.press(Key::Home);
    window.until("the beginning", |w| w.has(Role::Label, "line 0 of it"));
    window.press(Key::Escape);
    window.until_gone("What the model saw");
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
