//! How long the size hint takes, beside assembling the prompt that it predicts.

use std::hint::black_box;
use std::time::{Duration, Instant};

use conversation::{PromptEstimator, PromptOptions, Seat, prompt};
use transcript::{NewMessage, Route, Settlement, Thread, Timestamp};

const MESSAGES: usize = 10_000;
const TARGET: Duration = Duration::from_millis(1);

fn main() {
    let table = [
        Seat::new("claude", "Claude", "sidecar", "m"),
        Seat::new("gpt", "GPT", "sidecar", "m"),
    ];
    let mut thread = long_thread(&table);
    for (name, soft_limit_chars) in [("default limit", 150_000), ("no limit", usize::MAX)] {
        let options = PromptOptions {
            soft_limit_chars,
            ..PromptOptions::default()
        };
        let mut estimator = PromptEstimator::new();
        let first = timed(|| estimator.estimate(&thread, "a", &table[0], &table, &options));
        let estimate = median(|| {
            estimator.estimate(
                &thread,
                "a draft of some length",
                &table[0],
                &table,
                &options,
            )
        });
        let assemble = median(|| prompt::assemble(&thread, &table[0], &table, &options));
        say(&mut thread, "one more", table.len());
        let grown = timed(|| estimator.estimate(&thread, "a", &table[0], &table, &options));
        let verdict = if estimate < TARGET && grown < TARGET {
            "ok"
        } else {
            "MISSED"
        };
        println!(
            "bench estimate, {name}: {:.4}x of assembling the prompt ({MESSAGES} messages: {estimate:.1?}; \
             {grown:.1?} after one more message; {first:.1?} the first time; target < {TARGET:?}) {verdict}",
            estimate.as_secs_f64() / assemble.as_secs_f64(),
        );
    }
}

fn long_thread(table: &[Seat]) -> Thread {
    let mut thread = Thread::new("t".into(), Timestamp::UNIX_EPOCH);
    let text = "Some words of a reply, and then some more.\n".repeat(90);
    for seat in table {
        thread.seat(&seat.id).expect("an ordinary seat");
    }
    for nth in 0..MESSAGES {
        say(&mut thread, &text, nth % (table.len() + 1));
    }
    thread
}

fn say(thread: &mut Thread, text: &str, who: usize) {
    let now = Timestamp::UNIX_EPOCH;
    let id = transcript::MessageId::from(format!("m{}", thread.messages().len()));
    let Some(seat) = thread.participants().get(who).cloned() else {
        thread
            .append(NewMessage::user(text), id, now)
            .expect("nothing streams");
        return;
    };
    let route = Route {
        endpoint: "sidecar".into(),
        model: "m".into(),
        extra: Default::default(),
    };
    thread
        .append(NewMessage::reply(seat, route), id.clone(), now)
        .and_then(|_| thread.grow(&id, text))
        .and_then(|()| thread.settle(&id, Settlement::complete(), now))
        .expect("nothing streams");
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

fn median<T>(mut work: impl FnMut() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..51).map(|_| timed(&mut work)).collect();
    times.sort_unstable();
    times[times.len() / 2]
}
