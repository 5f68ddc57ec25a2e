//! What the window looks like: pictures to compare with, those in the README among them.
//! `UPDATE_SNAPSHOTS=1` makes them anew.

use std::path::Path;

use egui::accesskit::Role;
use egui::epaint::Shape;
use egui::{Key, Vec2, vec2};
use egui_kittest::SnapshotOptions;
use egui_kittest::kittest::NodeT;
use folkmoot::theme::ThemeName;
use transcript::{
    MessageId, NewMessage, Route, SeatId, Settlement, Thread, ThreadId, ThreadStore, Timestamp,
};

use crate::table::Table;
use crate::window::{CTRL, CTRL_SHIFT, Window};

const SIZE: Vec2 = vec2(1280.0, 800.0);

const MODELS: &str = r#"
[[models]]
id = "claude-opus-4-8"
[[models]]
id = "gpt-6-codex"
[[models]]
id = "gemini-4-pro"
[[step]]
reply = "Yes."
"#;

const QUESTION: &str = "@claude @gpt the stream reader loses the last event when the server closes the \
    connection without a blank line. Why, and what would be *right* by the \
    [WHATWG grammar](https://html.spec.whatwg.org/multipage/server-sent-events.html)?";

const CAUSE: &str = r"The reader dispatches an event at the empty line that ends it. An event that is cut in the middle is **discarded** by the grammar, but yours is complete: it ends with `\r\n\r\n`, split over two reads.

```rust
/// Splits bytes into lines; a `\r` at a chunk's end swallows the `\n` that may follow.
fn push(&mut self, chunk: &[u8]) {
    for &byte in chunk {
        match (byte, std::mem::take(&mut self.swallow_lf)) {
            (b'\n', true) => {} // second half of CRLF
            (b'\n' | b'\r', _) => {
                self.swallow_lf = byte == b'\r';
                self.end_line();
            }
            (byte, _) => self.line.push(byte),
        }
    }
}
```";

const AGREEMENT: &str = "I agree with Claude on the cause. `end_line` also allocates for each line.

| Case | Before | After |
|:-----|:------:|------:|
| `\\r\\n\\r\\n` in one read | 1 event | 1 event |
| split over two reads | **lost** | 1 event |

Shall I write the test for each split point?";

/// The seats of the pictures, on a proxy that the script plays.
fn seats(url: &str) -> String {
    let proxy = url.trim_end_matches("/v1");
    let seat = |id: &str, name: &str, model: &str| {
        format!("[[participants]]\nid = \"{id}\"\ndisplay_name = \"{name}\"\nmodel = \"{model}\"\n")
    };
    [
        format!("[sidecar]\nexternal_url = \"{proxy}\"\n"),
        seat("claude", "Claude", "claude-opus-4-8"),
        seat("gpt", "GPT", "gpt-6-codex"),
        seat("gemini", "Gemini", "gemini-4-pro"),
    ]
    .concat()
}

/// A minute of the 14th of March 2026 at noon, wherever this runs, so that the same is shown everywhere.
fn at(minute: i8) -> Timestamp {
    let noon = jiff::civil::date(2026, 3, 14).at(12, minute, 0, 0);
    let zoned = noon
        .to_zoned_datetime(jiff::tz::TimeZone::system())
        .unwrap();
    Timestamp::from_millis(zoned.timestamp().as_millisecond())
}

/// Says something in a thread, as the person or, with a seat and its model, as that.
fn say(thread: &mut Thread, seat: Option<(&str, &str)>, text: &str, end: Settlement) {
    let place = thread.messages().len();
    let (id, now) = (
        MessageId::from(format!("m{place}").as_str()),
        at(place as i8),
    );
    let Some((seat, model)) = seat else {
        thread.append(NewMessage::user(text), id, now).unwrap();
        return;
    };
    let seat = SeatId::from(seat);
    let route = Route {
        endpoint: "sidecar".to_owned(),
        model: model.to_owned(),
        extra: serde_json::Map::new(),
    };
    thread.seat(&seat).unwrap();
    thread
        .append(NewMessage::reply(seat, route), id.clone(), now)
        .unwrap();
    thread.grow(&id, text).unwrap();
    thread.settle(&id, end, now).unwrap();
}

/// Threads of another day: titles in the list, and the given one on top.
fn lay_threads(home: &Path, thread: &Thread) {
    let (mut store, _) = ThreadStore::open(home, at(0)).unwrap();
    for (n, title) in [
        "日本語のタイトルと emoji 🔥",
        "Which crate for PTYs, and why not another one of the older ones?",
    ]
    .into_iter()
    .enumerate()
    {
        let mut other = Thread::new(ThreadId::from(format!("t{n}").as_str()), at(0));
        say(&mut other, None, title, Settlement::complete());
        store.create(&other).unwrap();
    }
    store.create(thread).unwrap();
    store.close().unwrap();
}

/// A window with the first thread of the list open, the notice about terms read.
fn open(table: &Table, theme: ThemeName, size: Vec2, thread: &Thread) -> Window {
    lay_threads(table.home(), thread);
    let mut window = Window::open_as(table.home(), theme, size);
    window.click("I understand");
    window.press_with(CTRL, Key::P);
    window.type_text(thread.title());
    window.press(Key::Enter);
    window.until("the thread", |w| {
        w.shell().model().thread_id() == Some(thread.id())
    });
    window.until("the prompt's size", |w| {
        w.shell().model().estimate.size.is_some()
    });
    window
}

/// Whether the piece of code with this text has the colours of its syntax.
fn is_coloured(window: &Window, code: &str) -> bool {
    fn colours(shape: &Shape, code: &str) -> usize {
        match shape {
            Shape::Vec(shapes) => shapes.iter().map(|s| colours(s, code)).max().unwrap_or(0),
            Shape::Text(text) if text.galley.text().contains(code) => {
                let sections = text.galley.job.sections.iter();
                let colours = sections.map(|section| section.format.color.to_array());
                colours.collect::<std::collections::HashSet<_>>().len()
            }
            _ => 0,
        }
    }
    let shapes = &window.harness.output().shapes;
    shapes
        .iter()
        .any(|clipped| colours(&clipped.shape, code) > 2)
}

pub(crate) fn compare(window: &mut Window, name: &str) {
    window.settle();
    window.harness.snapshot(name);
}

/// The thread of the README's pictures.
fn table_picture(theme: ThemeName, name: &str) {
    let table = Table::set_with(MODELS, seats);
    let mut thread = Thread::new(ThreadId::from("t9"), at(0));
    say(&mut thread, None, QUESTION, Settlement::complete());
    say(
        &mut thread,
        Some(("claude", "claude-opus-4-8")),
        CAUSE,
        Settlement::complete(),
    );
    say(
        &mut thread,
        Some(("gpt", "gpt-6-codex")),
        AGREEMENT,
        Settlement::complete(),
    );
    let mut window = open(&table, theme, SIZE, &thread);
    window.until("the code's colours", |w| is_coloured(w, "fn push"));
    window.type_text("@gemini do you see ");
    window.until("who answers", |w| w.has(Role::Button, "Speaking to Gemini"));
    window.settle();
    let options = SnapshotOptions::new().output_path("../docs/pictures");
    window.harness.snapshot_options(name, &options);
}

#[test]
fn a_conversation_in_the_dark() {
    table_picture(ThemeName::Dark, "table-dark");
}

#[test]
fn a_conversation_in_the_light() {
    table_picture(ThemeName::Light, "table-light");
}

#[test]
fn an_empty_thread() {
    let table = Table::set_with(MODELS, seats);
    let mut window = Window::open_as(table.home(), ThemeName::Light, vec2(900.0, 600.0));
    window.until("the prompt's size", |w| {
        w.shell().model().estimate.size.is_some()
    });
    compare(&mut window, "empty-light");
}

#[test]
fn a_narrow_window_with_everything_that_went_wrong() {
    let table = Table::set_with(MODELS, seats);
    let mut thread = Thread::new(ThreadId::from("t9"), at(0));
    say(
        &mut thread,
        None,
        "@all what went wrong? 世界の問い？",
        Settlement::complete(),
    );
    let claude = Some(("claude", "claude-opus-4-8"));
    let error = "the endpoint sidecar answered with status 429: You have exhausted your capacity on this model. \
        Your quota will reset after 1h12m30s.";
    say(&mut thread, claude, "", Settlement::error(error));
    say(
        &mut thread,
        Some(("gpt", "gpt-6-codex")),
        "I would first look",
        Settlement::cancelled(None),
    );
    let cut = Settlement::cut_off("cut off: the reply ended early");
    say(
        &mut thread,
        Some(("gemini", "gemini-4-pro")),
        "- one\n- two: שלום 👋\n- thr",
        cut,
    );
    let mut window = open(&table, ThemeName::Dark, vec2(560.0, 720.0), &thread);
    window.press_with(CTRL, Key::B);
    compare(&mut window, "errors-dark");
}

#[test]
fn the_settings() {
    let table = Table::set_with(MODELS, seats);
    let mut window = Window::open_as(table.home(), ThemeName::Light, vec2(1000.0, 800.0));
    window.click("I understand");
    window.press_with(CTRL, Key::Comma);
    window.until_seen("Every change is written to");
    window.settle();
    // The data folder and the server's port are others each time.
    let changing: Vec<egui::Rect> = window
        .harness
        .root()
        .children_recursive()
        .filter(|node| {
            let is_text = matches!(node.accesskit_node().role(), Role::Label | Role::TextInput);
            let text = node.value().unwrap_or_default();
            is_text && (text.contains("settings.toml") || text.contains("127.0.0.1"))
        })
        .map(|node| node.rect())
        .collect();
    assert!(changing.len() > 1, "{}", window.outline());
    for mut rect in changing {
        rect.set_width(440.0);
        window.harness.mask(rect.expand(1.0));
    }
    window.harness.snapshot("settings-light");
}

#[test]
fn the_palette() {
    let table = Table::set_with(MODELS, seats);
    let mut window = Window::open_as(table.home(), ThemeName::Dark, vec2(900.0, 600.0));
    window.click("I understand");
    window.until("the prompt's size", |w| {
        w.shell().model().estimate.size.is_some()
    });
    window.press_with(CTRL_SHIFT, Key::P);
    window.type_text("th");
    compare(&mut window, "palette-dark");
}
