//! The window as a person uses it: real keys on a real display, drawn by the processor.

use std::path::Path;
use std::time::{Duration, Instant};

use folkmoot_tests::screen::Screen;
use folkmoot_tests::{DataFolder, ModelServer, Outcome, Running, folkmoot};
use serde_json::Value;

/// Mesa's software rasteriser, where Debian and its kin keep it.
const SOFTWARE_VULKAN: &str = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
/// How long the window is watched for a sign of life.
const WATCHED: Duration = Duration::from_secs(3);
/// Processor time, in hundredths of a second, in which no frame can be drawn by the processor.
const LESS_THAN_A_FRAME: u64 = 2;
/// Far longer than a window that is left alone takes to come to rest.
const PATIENCE: Duration = Duration::from_secs(90);

/// Share of the pixels that five short messages change at least.
const CLEARLY_OTHER: f64 = 0.01;
/// Share of the pixels that a caret and a tooltip change at most.
const HARDLY_OTHER: f64 = 0.002;

const SCRIPT: &str = r#"
[[step]]
contains = "hello"
model = "model-a"
reply = "Good day from Ann."
[[step]]
contains = "hello"
model = "model-b"
reply = "And from Bob."
[[step]]
contains = "endless"
reply = [{ content = "It begins" }, { gate = "never", content = " and never ends" }]
[[step]]
contains = "follow up"
reply = "It goes on."
"#;

struct Desk {
    screen: Screen,
    home: DataFolder,
    server: ModelServer,
}

impl Desk {
    fn window_program(&self, folder: &Path) -> Running {
        let mut program = folkmoot(&self.home)
            .args([folder])
            .env("DISPLAY", self.screen.display());
        if Path::new(SOFTWARE_VULKAN).exists() {
            program = program
                .env("VK_DRIVER_FILES", SOFTWARE_VULKAN)
                .env("WGPU_BACKEND", "vulkan");
        }
        program.start()
    }

    fn threads(&self) -> Vec<String> {
        let rows = folkmoot(&self.home)
            .args(["thread", "list", "--json"])
            .run()
            .json();
        let rows = rows.as_array().expect("a list");
        rows.iter()
            .filter_map(|row| row["id"].as_str().map(str::to_owned))
            .collect()
    }

    fn shown(&self, id: &str) -> Value {
        folkmoot(&self.home)
            .args(["thread", "show", "--json", id])
            .run()
            .json()
    }
}

fn said(thread: &Value) -> Vec<(&str, &str)> {
    let messages = thread["messages"].as_array().expect("a list");
    messages
        .iter()
        .map(|m| {
            (
                m["speaker"].as_str().unwrap_or_default(),
                m["content"].as_str().unwrap_or_default(),
            )
        })
        .collect()
}

/// Processor time that a process has used, all its threads together, in hundredths of a second.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process is there");
    // The name in brackets may hold spaces; user and system time are the 12th and 13th fields after it.
    let fields = stat
        .rsplit_once(')')
        .expect("a name in brackets")
        .1
        .split_whitespace();
    fields
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum()
}

/// Waits until the window that nobody touches draws nothing any more.
fn wait_for_rest(pid: u32) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let before = ticks(pid);
        std::thread::sleep(WATCHED);
        let used = ticks(pid) - before;
        if used <= LESS_THAN_A_FRAME {
            return;
        }
        let watched = WATCHED.as_secs();
        assert!(
            Instant::now() < deadline,
            "no rest: {used} hundredths of a second in {watched} s"
        );
    }
}

fn closed(program: Running) -> Outcome {
    let outcome = program.finish();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    outcome
}

#[test]
fn a_person_asks_stops_closes_and_finds_everything_again() {
    let Some(screen) = Screen::open_or_skip() else {
        return;
    };
    let server = ModelServer::play(SCRIPT);
    let home = DataFolder::for_server(&server);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("main.rs"), "fn main() {}\n").expect("a file");
    let desk = Desk {
        screen,
        home,
        server,
    };

    let program = desk.window_program(folder.path());
    let window = desk.screen.window_of(&program);
    desk.server.wait_for_list();
    let empty = window.wait_for_picture("more than a few colours", |p| p.colours() > 50);
    window.type_text("@all hello");
    window.press("Return");
    desk.server.wait_for_answer(2);
    let models: Vec<Value> = desk
        .server
        .chats()
        .iter()
        .map(|chat| chat.body["model"].clone())
        .collect();
    assert_eq!(models, ["model-a", "model-b"]);

    window.type_text("@ann endless");
    window.press("Return");
    desk.server.wait_at_gate("never");
    window.press("Escape");
    desk.server.wait_for_disconnect(3);

    wait_for_rest(program.pid());

    let talk = window.picture().expect("a picture");
    let changed = talk.difference(&empty);
    assert!(changed > CLEARLY_OTHER, "{changed}: no messages are seen");

    window.press("ctrl+q");
    closed(program);
    let threads = desk.threads();
    assert_eq!(threads.len(), 1);
    let before = desk.shown(&threads[0]);
    assert_eq!(
        said(&before),
        [
            ("user", "@all hello"),
            ("ann", "Good day from Ann."),
            ("bob", "And from Bob."),
            ("user", "@ann endless"),
            ("ann", "It begins"),
        ]
    );
    assert_eq!(before["messages"][4]["status"], "cancelled");

    let program = desk.window_program(folder.path());
    let window = desk.screen.window_of(&program);
    window.wait_for_picture("the thread as it was left", |picture| {
        picture.difference(&talk) < HARDLY_OTHER
    });
    window.type_text("@bob follow up");
    window.press("Return");
    let prompt = desk.server.wait_for_answer(4).body["messages"].to_string();
    for earlier in [
        "@all hello",
        "Good day from Ann.",
        "And from Bob.",
        "It begins",
        "follow up",
    ] {
        assert!(prompt.contains(earlier), "{earlier} is not in {prompt}");
    }
    window.press("ctrl+q");
    closed(program);
    assert_eq!(desk.threads(), threads, "it is the same thread");
    let after = desk.shown(&threads[0]);
    assert_eq!(after["messages"].as_array().map(Vec::len), Some(7));
    assert_eq!(after["messages"][6]["content"], "It goes on.");
    desk.server.assert_all_matched();
}

#[test]
fn a_killed_window_loses_no_message() {
    let Some(screen) = Screen::open_or_skip() else {
        return;
    };
    let server = ModelServer::play(SCRIPT);
    let home = DataFolder::for_server(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let desk = Desk {
        screen,
        home,
        server,
    };
    let program = desk.window_program(folder.path());
    let window = desk.screen.window_of(&program);
    desk.server.wait_for_list();
    window.type_text("@ann endless");
    window.press("Return");
    desk.server.wait_at_gate("never");
    program.kill();
    program.finish();
    let threads = desk.threads();
    assert_eq!(threads.len(), 1);
    let shown = desk.shown(&threads[0]);
    assert_eq!(shown["messages"][0]["content"], "@ann endless");
    let partial = shown["messages"][1]["content"].as_str().unwrap_or_default();
    assert!("It begins".starts_with(partial), "{partial}");
}
