//! The window as a person uses it: real keys on a real display, drawn by the processor.

use std::path::Path;
use std::time::Duration;

use folkmoot_tests::screen::Screen;
use folkmoot_tests::{DataFolder, ModelServer, Outcome, Running, folkmoot};
use serde_json::Value;

/// Mesa's software rasteriser, where Debian and its kin keep it.
const SOFTWARE_VULKAN: &str = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
/// How long the idle window is watched.
const WATCHED: Duration = Duration::from_secs(4);

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

/// The smallest share of a core that the process used over a while, of three whiles.
fn idle_share(pid: u32) -> f64 {
    let share = || {
        let before = ticks(pid);
        std::thread::sleep(WATCHED);
        (ticks(pid) - before) as f64 / 100.0 / WATCHED.as_secs_f64()
    };
    (0..3).map(|_| share()).fold(f64::INFINITY, f64::min)
}

fn closed(program: Running) -> Outcome {
    let outcome = program.finish();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    outcome
}

#[test]
fn a_person_asks_stops_closes_and_finds_everything_again() {
    let screen = match Screen::open() {
        Ok(screen) => screen,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return;
        }
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

    let share = idle_share(program.pid());
    eprintln!("the idle window uses {:.1} % of a core", share * 100.0);
    assert!(
        share < 0.2,
        "the idle window uses {:.1} % of a core",
        share * 100.0
    );

    let pictures = tempfile::tempdir().expect("a folder");
    match window.picture(&pictures.path().join("window.png")) {
        Ok(colours) => assert!(colours > 50, "{colours} colours: the window is blank"),
        Err(reason) => eprintln!("no picture: {reason}"),
    }

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
    let screen = match Screen::open() {
        Ok(screen) => screen,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return;
        }
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
