//! Paints a thread with everything that can be in one, without a window, and writes pictures to look at:
//! `cargo run -p folkmoot --example thread_picture -- OUT_FOLDER [WIDTHxHEIGHT] [SCALE]`.

use std::{path::PathBuf, sync::Arc, time::Duration, time::Instant};

use egui_kittest::Harness;
use folkmoot::{
    theme::{self, SeatColor, ThemeName, Tokens, fonts},
    widgets::thread_doc::{
        ContextView, ErrorView, MessageRole, MessageStatus, MessageView, ThreadDoc,
    },
};

const QUESTION: &str = "@claude @gpt the stream reader drops the last event when the server closes the \
connection without a blank line. Can you find out why, and what would be the *right* behaviour according to the \
[WHATWG grammar](https://html.spec.whatwg.org/multipage/server-sent-events.html)?";

const ANSWER: &str = r#"The reader only dispatches an event when it sees the empty line that ends it. When the connection closes in the middle of an event, the grammar says that the **incomplete event is discarded**, so dropping it is _right_ — but the one in your log *is* complete: it ends with `\r\n\r\n`, split over two reads.

## What happens

1. The first read ends after `\r`, which the reader takes for a line end.
2. The next read begins with `\n`; that is taken for *another* line end.
3. The event is dispatched one line too early, with its last `data:` line missing.

> Streams must be decoded as UTF-8, and a CR followed by an LF is a single line end,
> even when a chunk boundary lies between them.

```rust
/// Splits bytes into lines; a `\r` at the end of a chunk remembers to swallow the `\n` that may follow.
fn push(&mut self, chunk: &[u8]) -> usize {
    let mut lines = 0;
    for &byte in chunk {
        match (byte, std::mem::take(&mut self.swallow_lf)) {
            (b'\n', true) => {}                       // second half of CRLF
            (b'\n' | b'\r', _) => {
                self.swallow_lf = byte == b'\r';
                self.end_line();
                lines += 1;
            }
            (byte, _) => self.line.push(byte),
        }
    }
    lines
}
```

| Case | Before | After |
|:-----|:------:|------:|
| `\n\n` | 1 event | 1 event |
| `\r\n\r\n` in one read | 1 event | 1 event |
| `\r\n` split over two reads | **lost** | 1 event |

- [x] unit test for each split point
- [ ] fuzz target
- nested things:
  - an inner item that is long enough to be wrapped onto a second line, so that the hanging indent can be seen
  - 日本語と emoji 😀 and $e^{i\pi} + 1 = 0$
"#;

const SECOND: &str = "I agree with Claude on the cause. One addition: `end_line` allocates for every line. \
With a reused buffer the reader runs at memory speed:\n\n```python\ndef measure(path: str, rounds: int = 5) -> float:\n    \"\"\"Best of some rounds, in MB/s.\"\"\"\n    best = min(timeit(lambda: read(path)) for _ in range(rounds))\n    return os.path.getsize(path) / best / 1e6\n```\n\n---\n\nShall I send a patch?";

fn thread(ctx: &egui::Context, tokens: &Tokens) -> ThreadDoc {
    let mut doc = ThreadDoc::new(ctx, tokens);
    let seat = |id: &str, name: &str, n: usize, model: &str, text: &str| MessageView {
        color: SeatColor::Nth(n),
        model: Some(model.into()),
        time: "10:42".into(),
        ..MessageView::new(id, name, MessageRole::Seat, text)
    };
    let user = |id: &str, text: &str| MessageView {
        time: "10:41".into(),
        ..MessageView::new(id, "You", MessageRole::User, text)
    };
    let long_code: String = (0..120)
        .map(|n| format!("let value_{n} = compute({n}, \"a string\"); // line {n}\n"))
        .collect();
    doc.set_messages([
        MessageView {
            context: vec![ContextView {
                title: "crates/models/src/sse.rs".into(),
                text: long_code.clone().into(),
            }],
            ..user("q1", QUESTION)
        },
        MessageView {
            reasoning: "The user asks about a lost event. I should look at line ends first.".into(),
            ..seat("a1", "Claude", 0, "claude-opus-4-8", ANSWER)
        },
        seat("a2", "GPT", 1, "gpt-6-codex", SECOND),
        user("q2", "Yes, and show me the whole file."),
        seat(
            "a3",
            "Gemini with a rather long name",
            2,
            "gemini-4-pro",
            &format!("Here it is:\n\n```rust\n{long_code}```\n"),
        ),
        MessageView {
            status: MessageStatus::Stopped,
            ..seat("a4", "Grok", 3, "grok-5", "I would rather first look at")
        },
        MessageView {
            status: MessageStatus::Failed(ErrorView {
                text: "HTTP 429: You have exhausted your capacity on this model. Your quota will reset after 1h12m30s."
                    .into(),
                action: Some("Retry".into()),
            }),
            ..seat("a5", "Claude", 0, "claude-opus-4-8", "")
        },
        MessageView {
            status: MessageStatus::Streaming {
                since: Instant::now() - Duration::from_secs(8),
            },
            ..seat("a6", "GPT", 1, "gpt-6-codex", "Writing the patch now. The reader keeps")
        },
    ]);
    doc
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| ".".to_owned()));
    let size = arguments.next().unwrap_or_else(|| "1280x800".to_owned());
    let (width, height) = size.split_once('x').unwrap_or(("1280", "800"));
    let size = egui::vec2(width.parse()?, height.parse()?);
    let scale: f32 = arguments.next().map_or(Ok(1.0), |scale| scale.parse())?;
    for (name, file) in [(ThemeName::Dark, "dark"), (ThemeName::Light, "light")] {
        let tokens = Arc::new(Tokens::builtin(name));
        let mut doc: Option<ThreadDoc> = None;
        let shown = tokens.clone();
        let mut harness = Harness::builder()
            .with_size(size)
            .with_pixels_per_point(scale)
            .with_context_setup(move |ctx| {
                ctx.set_fonts(fonts::definitions_for_tests());
                theme::apply(ctx, &tokens);
            })
            .wgpu()
            .build_ui_state(
                move |ui, step: &mut usize| {
                    let ctx = ui.ctx().clone();
                    let doc = doc.get_or_insert_with(|| thread(&ctx, &shown));
                    egui::Frame::new()
                        .fill(shown.surface.base)
                        .show(ui, |ui| doc.show(ui, &shown));
                    doc.wait_for_colors();
                    if *step == 1 {
                        doc.jump_to(&"q1".into());
                        doc.scroll_by(-1e6);
                    } else if *step == 2 {
                        doc.scroll_by(560.0);
                    } else if *step == 3 {
                        doc.follow_tail();
                    }
                },
                0,
            );
        for (step, part) in [(1, "start"), (2, "middle"), (3, "end")] {
            *harness.state_mut() = step;
            harness.step();
            *harness.state_mut() = 9;
            harness.event(egui::Event::PointerMoved(egui::pos2(
                size.x / 2.0,
                size.y * 0.6,
            )));
            harness.run_steps(130);
            let image = harness.render()?;
            let path = folder.join(format!("{file}-{part}.png"));
            image.save(&path)?;
            println!("{}", path.display());
        }
    }
    Ok(())
}
