//! Opening a long thread, against parsing the same bytes as plain JSON values.

use std::error::Error;
use std::time::{Duration, Instant};

use transcript::{NewMessage, Route, SeatId, Settlement, Thread, ThreadStore, Timestamp};

const MESSAGES: usize = 10_000;
const ROUNDS: usize = 9;
/// Within 1.5x the first frame is to stand, too.
const TARGET: f64 = 1.2;

/// About 4 kB of Markdown in six blocks.
fn reply(nth: usize) -> String {
    let sentence = "The galley of a closed block is kept until its width changes, so nothing is laid out twice. ";
    let code = "    let heights = \"fenwick\";\n    tree.add(row, height - tree.at(row));\n";
    format!(
        "## Step {nth}\n\n{}\n\n- one\n- two “quoted”\n- three\n\n```rust\nfn main() {{\n{}}}\n```\n\n> quoted\n\n{}\n",
        sentence.repeat(16),
        code.repeat(8),
        sentence.repeat(18)
    )
}

fn long_thread() -> Result<Thread, Box<dyn Error>> {
    let seat = SeatId::from("claude");
    let route: Route = serde_json::from_str(r#"{"endpoint":"rehearsal","model":"m"}"#)?;
    let mut thread = Thread::new("long".into(), Timestamp::now());
    thread.seat(&seat)?;
    for nth in 0..MESSAGES / 2 {
        let now = Timestamp::now();
        let ask = uuid::Uuid::now_v7().to_string().into();
        thread.append(NewMessage::user(reply(nth)), ask, now)?;
        let new = NewMessage::reply(seat.clone(), route.clone());
        let answer = thread.append(new, uuid::Uuid::now_v7().to_string().into(), now)?;
        thread.grow(answer.id(), &reply(nth))?;
        let end = Settlement {
            usage: Some(serde_json::from_str(
                r#"{"inputTokens":1000,"outputTokens":900}"#,
            )?),
            ..Settlement::complete()
        };
        thread.settle(answer.id(), end, now)?;
    }
    Ok(thread)
}

fn timed<T>(times: &mut Vec<Duration>, what: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let outcome = what();
    times.push(start.elapsed());
    outcome
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let now = Timestamp::now();
    let thread = long_thread()?;
    let (mut store, _) = ThreadStore::open(home.path(), now)?;
    store.create(&thread)?;
    let bytes = std::fs::read(home.path().join("threads/long.json"))?;
    let (mut loads, mut parses) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let loaded = timed(&mut loads, || store.load(thread.id(), now))?;
        assert_eq!(loaded.0.messages().len(), MESSAGES);
        drop(loaded);
        let value = timed(&mut parses, || {
            serde_json::from_slice::<serde_json::Value>(&bytes)
        })?;
        assert!(value.is_object());
        drop(value);
    }
    let (load, parse) = (median(loads), median(parses));
    let ratio = load.as_secs_f64() / parse.as_secs_f64();
    println!(
        "bench open_thread: {ratio:.2}x of serde_json::Value of the same {} MB, {load:.0?} against {parse:.0?} (target <= {TARGET}x) {}",
        bytes.len() / 1_000_000,
        if ratio <= TARGET { "ok" } else { "MISS" }
    );
    Ok(())
}
