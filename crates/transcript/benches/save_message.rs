//! Saving one message durably in a long thread, against saving it in a short one.

use std::error::Error;
use std::time::{Duration, Instant};

use transcript::{MessageId, NewMessage, Thread, ThreadStore, Timestamp};

const LONG: usize = 50_000;
const SHORT: usize = 10;
const ROUNDS: usize = 300;
const TARGET: f64 = 2.0;

fn thread_of(messages: usize) -> Result<Thread, Box<dyn Error>> {
    let now = Timestamp::now();
    let mut thread = Thread::new(format!("of{messages}").into(), now);
    for nth in 0..messages {
        let id = MessageId::from(format!("m{nth}"));
        thread.append(NewMessage::user("A few words that were said."), id, now)?;
    }
    Ok(thread)
}

fn save_one(
    store: &mut ThreadStore,
    thread: &mut Thread,
    times: &mut Vec<Duration>,
) -> Result<(), Box<dyn Error>> {
    let message = thread.append(
        NewMessage::user("One more message of an ordinary length. ".repeat(20)),
        MessageId::generate(),
        Timestamp::now(),
    )?;
    let start = Instant::now();
    store.put(thread, &message)?;
    store.commit()?;
    times.push(start.elapsed());
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let (mut store, _) = ThreadStore::open(home.path(), Timestamp::now())?;
    let (mut long, mut short) = (thread_of(LONG)?, thread_of(SHORT)?);
    store.create(&long)?;
    store.create(&short)?;
    let (mut long_times, mut short_times) = (Vec::new(), Vec::new());
    // In turn, so that whatever else the disk does meets both alike.
    for _ in 0..ROUNDS {
        save_one(&mut store, &mut long, &mut long_times)?;
        save_one(&mut store, &mut short, &mut short_times)?;
    }
    let (long_time, short_time) = (median(long_times), median(short_times));
    let ratio = long_time.as_secs_f64() / short_time.as_secs_f64();
    println!(
        "bench save_message: {ratio:.2}x at {LONG} messages of the time at {SHORT}, {long_time:.1?} against {short_time:.1?} (target <= {TARGET}x) {}",
        if ratio <= TARGET { "ok" } else { "MISS" }
    );
    Ok(())
}
