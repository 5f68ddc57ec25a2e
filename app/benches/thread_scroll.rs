//! Frame cost of a long thread: 10,000 messages, 60,000 blocks, 40 MB, a fifth of it code.
//!
//! A frame is `Context::run_ui` and `tessellate`, without a renderer; its time is the processor time of the UI thread,
//! so that other work on the machine doesn't count.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use egui::{Context, Event, Modifiers, MouseWheelUnit, Pos2, RawInput, Rect, TouchPhase, vec2};
use folkmoot::{
    theme::{self, SeatColor, ThemeName, Tokens, fonts},
    widgets::thread_doc::{MessageId, MessageRole, MessageStatus, MessageView, ThreadDoc},
};
use serde::{Deserialize, Serialize};

const MESSAGES: usize = 10_000;
const FEW_MESSAGES: usize = 100;
const FRAMES: usize = 900;
const VIEW: egui::Vec2 = vec2(1280.0, 800.0);

/// A small generator of the same numbers in each run (Steele, Lea, Flood 2014: SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

const WORDS: &[&str] = &[
    "the",
    "stream",
    "of",
    "events",
    "ends",
    "when",
    "a",
    "blank",
    "line",
    "arrives",
    "and",
    "every",
    "reader",
    "must",
    "`keep`",
    "what",
    "it",
    "has",
    "**until**",
    "then",
    "because",
    "_nothing_",
    "else",
    "tells",
    "how",
    "long",
    "an",
    "event",
    "is",
    "[see](https://example.org/a)",
    "buffers",
    "grow",
    "with",
    "need",
];

fn prose(random: &mut Random, words: usize, out: &mut String) {
    for n in 0..words {
        if n > 0 {
            out.push(' ');
        }
        out.push_str(WORDS[random.below(WORDS.len())]);
    }
    out.push_str(".\n\n");
}

/// Six blocks, about four thousand bytes.
fn message_text(random: &mut Random) -> String {
    let mut out = String::new();
    prose(random, 110, &mut out);
    for _ in 0..2 {
        match random.below(10) {
            0 => out.push_str("## A heading\n\n"),
            1 => {
                for _ in 0..2 {
                    out.push_str("- ");
                    prose(random, 40, &mut out);
                    out.pop();
                }
                out.push('\n');
            }
            2 => {
                out.push_str("| a | b | c |\n|---|:-:|--:|\n");
                for n in 0..12 {
                    out.push_str(&format!(
                        "| row {n} | some `code` here | {} |\n",
                        random.below(9999)
                    ));
                }
                out.push('\n');
            }
            _ => prose(random, 108, &mut out),
        }
    }
    out.push_str("```rust\n");
    for n in 0..18 {
        out.push_str(&format!(
            "    let value_{n} = compute({}, \"text\"); // says what\n",
            random.below(1000)
        ));
    }
    out.push_str("```\n\n");
    prose(random, 108, &mut out);
    prose(random, 100, &mut out);
    out
}

#[derive(Serialize, Deserialize)]
struct Stored {
    id: String,
    content: String,
}

fn stored_thread(messages: usize) -> Vec<Stored> {
    let mut random = Random(7);
    (0..messages)
        .map(|n| Stored {
            id: format!("m{n}"),
            content: message_text(&mut random),
        })
        .collect()
}

fn views(stored: &[Stored]) -> impl Iterator<Item = MessageView> + '_ {
    stored.iter().enumerate().map(|(n, message)| {
        let (speaker, role) = if n % 3 == 0 {
            ("You", MessageRole::User)
        } else {
            (["Claude", "GPT"][n % 2], MessageRole::Seat)
        };
        MessageView {
            color: SeatColor::Nth(n % 2),
            time: "10:42".into(),
            ..MessageView::new(message.id.as_str(), speaker, role, message.content.as_str())
        }
    })
}

struct Window {
    ctx: Context,
    tokens: Arc<Tokens>,
    doc: ThreadDoc,
    time: f64,
    /// Vertices of the last frame.
    vertices: usize,
}

impl Window {
    fn new() -> Self {
        let ctx = Context::default();
        let tokens = Arc::new(Tokens::builtin(ThemeName::Dark));
        ctx.set_fonts(fonts::definitions_for_tests());
        theme::apply(&ctx, &tokens);
        let doc = ThreadDoc::new(&ctx, &tokens);
        let mut window = Self {
            ctx,
            tokens,
            doc,
            time: 0.0,
            vertices: 0,
        };
        window.frame(Vec::new());
        window
    }

    fn frame(&mut self, events: Vec<Event>) -> Duration {
        self.time += 1.0 / 60.0;
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, VIEW)),
            max_texture_side: Some(8192),
            time: Some(self.time),
            events,
            ..RawInput::default()
        };
        let start = thread_time();
        let output = self.ctx.run_ui(input, |ui| {
            self.doc.show(ui, &self.tokens);
        });
        let shapes = output.shapes.clone();
        let primitives = self.ctx.tessellate(shapes, output.pixels_per_point);
        let elapsed = thread_time().saturating_sub(start);
        self.vertices = primitives.iter().map(vertices).sum();
        output.drop_without_applying_deltas();
        elapsed
    }

    fn wheel(&mut self, points: f32) -> Duration {
        self.frame(vec![
            Event::PointerMoved(Pos2::new(VIEW.x / 2.0, VIEW.y / 2.0)),
            Event::MouseWheel {
                unit: MouseWheelUnit::Point,
                delta: vec2(0.0, points),
                phase: TouchPhase::Move,
                source: egui::MouseWheelSource::Unknown,
                modifiers: Modifiers::NONE,
            },
        ])
    }

    /// Top and height of the visible rows, in 1/64 px. Row numbers change when messages above are split.
    fn picture(&self) -> Vec<(i64, i64)> {
        let placed = self.doc.list().placed().iter();
        placed.map(|placed| (placed.top, placed.height)).collect()
    }

    fn end_gap(&self) -> i64 {
        let last = self.doc.list().placed().last();
        last.map_or(0, |last| (VIEW.y as i64) * 64 - (last.top + last.height))
    }
}

fn vertices(primitive: &egui::ClippedPrimitive) -> usize {
    match &primitive.primitive {
        egui::epaint::Primitive::Mesh(mesh) => mesh.vertices.len(),
        egui::epaint::Primitive::Callback(_) => 0,
    }
}

/// Processor time this thread has used.
#[cfg(unix)]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Time passed since the first call, where no processor time can be had.
#[cfg(not(unix))]
fn thread_time() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

struct Times {
    sorted: Vec<Duration>,
}

impl Times {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { sorted: times }
    }

    fn at(&self, fraction: f64) -> f64 {
        let last = self.sorted.len() - 1;
        self.sorted[(last as f64 * fraction) as usize].as_secs_f64() * 1e3
    }

    fn p50(&self) -> f64 {
        self.at(0.5)
    }

    fn p99(&self) -> f64 {
        self.at(0.99)
    }
}

/// Prints a measured value beside its reference; the process fails when any misses its target.
fn report(name: &str, value: f64, unit: &str, of: &str, target: f64, ok: &mut bool) {
    let met = value <= target;
    *ok &= met;
    let verdict = if met { "ok" } else { "MISS" };
    println!("bench {name}: {value:.2}{unit} of {of} (target <= {target}{unit}) {verdict}");
}

fn scroll_times(window: &mut Window) -> Times {
    window.doc.follow_tail();
    window.frame(Vec::new());
    let times = Times::of((0..FRAMES).map(|_| window.wheel(60.0)).collect());
    assert!(!window.doc.list().follows_tail(), "the wheel moved nothing");
    times
}

fn jump_times(window: &mut Window, ids: &[MessageId]) -> Times {
    let mut random = Random(11);
    let times = (0..FRAMES / 3)
        .map(|_| {
            let id = &ids[random.below(ids.len())];
            window.doc.jump_to(id);
            window.frame(Vec::new())
        })
        .collect();
    Times::of(times)
}

fn still_times(window: &mut Window) -> Times {
    Times::of((0..FRAMES).map(|_| window.frame(Vec::new())).collect())
}

/// Two hundred tokens a second at sixty frames a second.
fn stream(
    window: &mut Window,
    id: &MessageId,
    mut frame: impl FnMut(&mut Window) -> Duration,
) -> Times {
    let mut random = Random(13);
    let mut text = String::new();
    for _ in 0..20 {
        text.push_str(&message_text(&mut random));
    }
    let mut tokens = text.as_bytes().chunks(5).map(String::from_utf8_lossy);
    let mut due = 0.0;
    let times = (0..FRAMES)
        .map(|_| {
            due += 200.0 / 60.0;
            while due >= 1.0 {
                due -= 1.0;
                if let Some(token) = tokens.next() {
                    window.doc.append_delta(id, &token);
                }
            }
            frame(window)
        })
        .collect();
    Times::of(times)
}

fn streaming_message(n: usize) -> MessageView {
    MessageView {
        status: MessageStatus::Streaming {
            since: Instant::now(),
        },
        ..MessageView::new(format!("stream{n}"), "Claude", MessageRole::Seat, "")
    }
}

fn main() {
    let mut ok = true;
    let stored = stored_thread(MESSAGES);
    let bytes: usize = stored.iter().map(|message| message.content.len()).sum();
    let json = serde_json::to_string(&stored).unwrap_or_default();
    println!("thread: {MESSAGES} messages, {:.1} MB", bytes as f64 / 1e6);

    let mut few = Window::new();
    few.doc.set_messages(views(&stored[..FEW_MESSAGES]));

    let mut window = Window::new();
    let views: Vec<MessageView> = views(&stored).collect();
    let ids: Vec<MessageId> = views.iter().map(|view| view.id.clone()).collect();
    drop(stored);

    let start = thread_time();
    let parsed: Vec<Stored> = serde_json::from_str(&json).unwrap_or_default();
    let parse = thread_time().saturating_sub(start);
    drop(parsed);
    let start = thread_time();
    window.doc.set_messages(views);
    let open = thread_time().saturating_sub(start);
    let first = window.frame(Vec::new());
    let few_first = few.frame(Vec::new());
    println!(
        "open {:.1} ms, first frame {:.1} ms, of 100 messages {:.1} ms, serde_json parse {:.1} ms",
        open.as_secs_f64() * 1e3,
        first.as_secs_f64() * 1e3,
        few_first.as_secs_f64() * 1e3,
        parse.as_secs_f64() * 1e3
    );
    let ratio = open.as_secs_f64() / parse.as_secs_f64();
    report("open_thread", ratio, "x", "serde_json parse", 0.5, &mut ok);

    // The first round splits and colours; both windows get one.
    scroll_times(&mut few);
    let first_round = scroll_times(&mut window);
    let small = scroll_times(&mut few);
    let large = scroll_times(&mut window);
    let visible = (window.vertices, window.doc.list().placed().len());
    println!("a frame: {} vertices, {} rows", visible.0, visible.1);
    println!(
        "scroll: 100 messages p50 {:.2} p99 {:.2} ms; 10,000 p50 {:.2} p99 {:.2} ms, first time p50 {:.2} p99 {:.2} ms",
        small.p50(),
        small.p99(),
        large.p50(),
        large.p99(),
        first_round.p50(),
        first_round.p99()
    );
    report(
        "scroll_p50",
        large.p50() / small.p50(),
        "x",
        "100 messages",
        1.25,
        &mut ok,
    );
    report(
        "scroll_p99",
        first_round.p99(),
        " ms",
        "one frame",
        6.0,
        &mut ok,
    );

    let jumps = jump_times(&mut window, &ids);
    println!("jumps: p50 {:.2} p99 {:.2} ms", jumps.p50(), jumps.p99());
    report(
        "jump_worst",
        jumps.at(1.0),
        " ms",
        "one jump",
        20.0,
        &mut ok,
    );

    window.doc.follow_tail();
    let still = still_times(&mut window);
    window.doc.push_message(streaming_message(0));
    let mut gap = 0;
    let streaming = stream(&mut window, &"stream0".into(), |window| {
        let elapsed = window.frame(Vec::new());
        gap = gap.max(window.end_gap().abs());
        elapsed
    });
    println!(
        "stream at the tail: p50 {:.2} p99 {:.2} ms; still p50 {:.2} p99 {:.2} ms",
        streaming.p50(),
        streaming.p99(),
        still.p50(),
        still.p99()
    );
    report(
        "stream_at_tail_p99",
        streaming.p99(),
        " ms",
        "one frame",
        6.0,
        &mut ok,
    );
    report(
        "stream_at_tail",
        streaming.p99() / large.p99(),
        "x",
        "the thread scrolled without streaming, p99",
        2.0,
        &mut ok,
    );
    report(
        "stream_end_gap",
        gap as f64 / 64.0,
        " px",
        "no gap",
        0.0,
        &mut ok,
    );

    window.doc.push_message(streaming_message(1));
    let scrolled = stream(&mut window, &"stream1".into(), |window| window.wheel(60.0));
    report(
        "scroll_while_streaming_p99",
        scrolled.p99() / large.p99(),
        "x",
        "scroll without streaming",
        2.0,
        &mut ok,
    );

    window.doc.push_message(streaming_message(2));
    // The wheel's smoothed movement ends first.
    still_times(&mut window);
    window.doc.follow_tail();
    window.frame(Vec::new());
    window.doc.scroll_by(-2000.0);
    window.frame(Vec::new());
    let before = window.picture();
    let mut moved = false;
    stream(&mut window, &"stream2".into(), |window| {
        let elapsed = window.frame(Vec::new());
        moved |= window.picture() != before;
        elapsed
    });
    report(
        "stream_movement",
        f64::from(moved),
        " px",
        "no movement",
        0.0,
        &mut ok,
    );

    if !ok {
        std::process::exit(1);
    }
}
