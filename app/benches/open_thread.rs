//! Opening a long thread: from the switch to it until its first frame, disk, host and layout included, and until all
//! of it is there.
//!
//! The first frame shows the thread's end; what is above it is read while that is on the screen. The thread has 10,000 messages and 40 MB; the reference parses the bytes of its file with `serde_json`.

use std::path::Path;
use std::time::{Duration, Instant};

use egui_kittest::{Harness, kittest::NodeT as _};
use folkmoot::shell::{Shell, StartOptions};
use folkmoot::theme::fonts;
use host::{Host, HostHandle, HostOptions, Intent};
use transcript::{Thread, ThreadId, ThreadStore, Timestamp};

const MESSAGES: usize = 10_000;
const RUNS: usize = 5;
const TARGET: f64 = 1.5;
const MEMORY_TARGET_MB: f64 = 250.0;
/// Tells a process of this bench to measure its memory and nothing else.
const MEMORY_OF: &str = "--memory-of";
/// How far the thread is scrolled for that.
const SCREENS: usize = 300;
/// The last message.
const END: &str = "And so it ended.";
/// Far longer than opening takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Six blocks and about four thousand bytes, a fifth of it code.
fn message_text(n: usize) -> String {
    if n + 1 == MESSAGES {
        return END.to_owned();
    }
    let prose = |words: usize, from: usize| -> String {
        const WORDS: [&str; 8] = [
            "stream",
            "of",
            "events",
            "ends",
            "when",
            "`blank`",
            "lines",
            "**arrive**",
        ];
        let words: Vec<&str> = (0..words)
            .map(|w| WORDS[(w * 7 + from) % WORDS.len()])
            .collect();
        words.join(" ") + ".\n\n"
    };
    let code: String = (0..18)
        .map(|line| format!("    let value_{line} = compute({n}, \"text\"); // says what\n"))
        .collect();
    format!(
        "{}{}{}```rust\n{code}```\n\n{}{}",
        prose(150, n),
        prose(140, n + 1),
        prose(140, n + 2),
        prose(90, n + 3),
        prose(40, n + 4),
    )
}

/// A thread file in the transcript's own format; returns the thread's id.
fn write_thread(home: &Path) -> ThreadId {
    let id = ThreadId::from("01a00000-0000-7000-8000-000000000001");
    let messages: Vec<serde_json::Value> = (0..MESSAGES)
        .map(|n| {
            let (role, speaker) = if n % 2 == 0 {
                ("user", "user")
            } else {
                ("assistant", "ann")
            };
            serde_json::json!({
                "id": format!("01a00000-0000-7000-8000-1{n:011}"),
                "seq": n,
                "role": role,
                "speaker": speaker,
                "content": message_text(n),
                "status": "complete",
                "createdAt": "2026-11-01T10:00:00.000Z",
            })
        })
        .collect();
    let thread = serde_json::json!({
        "version": 1,
        "id": id,
        "title": "A long matter",
        "createdAt": "2026-11-01T10:00:00.000Z",
        "updatedAt": "2026-11-01T10:00:00.000Z",
        "participants": ["ann"],
        "messages": messages,
    });
    let folder = home.join("threads");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let file = folder.join(format!("{id}.json"));
    std::fs::write(&file, thread.to_string()).expect("the thread can be written");
    // As the store itself leaves it: listed, and in its own layout.
    let (mut store, notices) = ThreadStore::open(home, Timestamp::now()).expect("the store opens");
    assert!(notices.is_empty(), "{notices:?}");
    let (loaded, _): (Thread, _) = store.load(&id, Timestamp::now()).expect("the thread loads");
    assert_eq!(loaded.messages().len(), MESSAGES);
    store.fold(&loaded).expect("the thread can be saved");
    store.close().expect("the store closes");
    id
}

/// A window with an empty thread, on a folder that has the long one.
fn window(home: &Path) -> (Harness<'static, Shell>, HostHandle) {
    let host = Host::start(HostOptions::new(home.to_owned())).expect("the host starts");
    let handle = host.handle();
    let options = StartOptions {
        fonts: fonts::definitions_for_tests(),
        ..StartOptions::new(home.to_owned())
    };
    let harness = Harness::builder()
        .with_size(egui::vec2(1280.0, 800.0))
        .with_max_steps(50)
        .build_eframe(|cc| Shell::new(&cc.egui_ctx, host, options));
    (harness, handle)
}

/// Draws frames until the open thread has at least so many messages; the frame that shows them is drawn.
fn draw_until(harness: &mut Harness<'_, Shell>, messages: usize) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        harness.step();
        let model = harness.state().model();
        if model
            .thread
            .as_ref()
            .is_some_and(|thread| thread.messages.len() >= messages)
        {
            return;
        }
        assert!(Instant::now() < deadline, "the thread does not open");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Whether a text is on the screen, as a screen reader is told.
fn shows(harness: &Harness<'_, Shell>, text: &str) -> bool {
    harness.root().children_recursive().any(|node| {
        let value = node.accesskit_node().value();
        value.is_some_and(|value| value.contains(text))
    })
}

fn resident_bytes() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split(' ').nth(1)?.parse::<f64>().ok());
    pages.unwrap_or(0.0) * 4096.0
}

/// Bytes that a process holds more with the long thread open and scrolled through than with an empty window.
fn grown_by_opening(home: &Path, id: &str) -> f64 {
    let (mut harness, handle) = window(home);
    for _ in 0..10 {
        draw_until(&mut harness, 0);
    }
    let empty = resident_bytes();
    handle
        .send(Intent::SwitchThread(ThreadId::from(id)))
        .expect("the host takes it");
    draw_until(&mut harness, MESSAGES);
    harness.hover_at(egui::pos2(700.0, 300.0));
    for _ in 0..SCREENS {
        harness.event(egui::Event::MouseWheel {
            unit: egui::MouseWheelUnit::Page,
            delta: egui::vec2(0.0, 1.0),
            phase: egui::TouchPhase::Move,
            source: egui::MouseWheelSource::Unknown,
            modifiers: egui::Modifiers::NONE,
        });
        harness.step();
    }
    resident_bytes() - empty
}

/// [`grown_by_opening`] in a process of its own, which has no memory of earlier work to use again.
fn report_memory(home: &Path, id: &ThreadId) -> bool {
    let program = std::env::current_exe().expect("the bench has a path");
    let output = std::process::Command::new(program)
        .arg(MEMORY_OF)
        .arg(home)
        .arg(id.as_str())
        .output()
        .expect("the bench starts itself");
    let text = String::from_utf8_lossy(&output.stdout);
    let grown: f64 = text.trim().parse().expect("a number of bytes");
    let grown = grown / 1e6;
    let is_met = grown <= MEMORY_TARGET_MB;
    let verdict = if is_met { "ok" } else { "MISS" };
    println!(
        "bench resident memory with the thread open: {grown:.0} MB more than an empty window (target <= {MEMORY_TARGET_MB} MB) {verdict}"
    );
    is_met
}

fn best(mut run: impl FnMut() -> Duration) -> f64 {
    let times = (0..RUNS).map(|_| run().as_secs_f64());
    times.fold(f64::INFINITY, f64::min)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let [_, mode, home, id] = args.as_slice()
        && mode == MEMORY_OF
    {
        println!("{}", grown_by_opening(Path::new(home), id));
        return;
    }
    let parse = {
        let home = tempfile::tempdir().expect("a temporary folder");
        let id = write_thread(home.path());
        let bytes = std::fs::read(home.path().join("threads").join(format!("{id}.json")))
            .expect("the file");
        println!(
            "thread: {MESSAGES} messages, {:.1} MB",
            bytes.len() as f64 / 1e6
        );
        best(|| {
            let began = Instant::now();
            let value: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
            let took = began.elapsed();
            std::hint::black_box(value);
            took
        })
    };
    let (mut first, mut whole) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..RUNS {
        // Each time anew, so that the thread is not in the host's memory.
        let home = tempfile::tempdir().expect("a temporary folder");
        let id = write_thread(home.path());
        let (mut harness, handle) = window(home.path());
        for _ in 0..10 {
            draw_until(&mut harness, 0);
        }
        assert!(!shows(&harness, END), "nothing of the thread is shown yet");
        let began = Instant::now();
        handle
            .send(Intent::SwitchThread(id))
            .expect("the host takes it");
        draw_until(&mut harness, 1);
        first = first.min(began.elapsed().as_secs_f64());
        assert!(
            shows(&harness, END),
            "the first frame shows the thread's end"
        );
        draw_until(&mut harness, MESSAGES);
        whole = whole.min(began.elapsed().as_secs_f64());
    }
    println!(
        "first frame {:.0} ms, all of it {:.0} ms ({:.2}x), parse {:.0} ms",
        first * 1e3,
        whole * 1e3,
        whole / parse,
        parse * 1e3
    );
    let ratio = first / parse;
    let verdict = if ratio <= TARGET { "ok" } else { "MISS" };
    println!(
        "bench open a thread of 40 MB to its first frame: {ratio:.2}x of serde_json parsing the same bytes (target <= {TARGET}x) {verdict}"
    );
    let home = tempfile::tempdir().expect("a temporary folder");
    let id = write_thread(home.path());
    let fits = report_memory(home.path(), &id);
    if ratio > TARGET || !fits {
        std::process::exit(1);
    }
}
