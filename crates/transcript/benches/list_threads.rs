//! Opening a data folder of many threads and listing them, against looking at every name in the folder.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use transcript::{NewMessage, Thread, ThreadStore, Timestamp};

const THREADS: usize = 10_000;
const ROUNDS: usize = 15;
const TARGET: Duration = Duration::from_millis(100);

fn fill(home: &Path) -> Result<(), Box<dyn Error>> {
    let folder = home.join("threads");
    fs::create_dir_all(&folder)?;
    for nth in 0..THREADS {
        let id = uuid::Uuid::now_v7().to_string();
        let mut thread = Thread::new(id.as_str().into(), Timestamp::from_millis(nth as i64));
        let question = format!("Why does the number {nth} matter to anyone at this table?");
        let now = thread.created_at();
        thread.append(NewMessage::user(question), "m".into(), now)?;
        fs::write(
            folder.join(format!("{id}.json")),
            serde_json::to_vec(&thread)?,
        )?;
    }
    Ok(())
}

fn look_at_names(home: &Path) -> Result<u64, Box<dyn Error>> {
    let mut bytes = 0;
    for name in fs::read_dir(home.join("threads"))? {
        bytes += name?.metadata()?.len();
    }
    Ok(bytes)
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
    fill(home.path())?;
    let rebuilt = Instant::now();
    ThreadStore::open(home.path(), Timestamp::now())?
        .0
        .close()?;
    let rebuilt = rebuilt.elapsed();
    let (mut lists, mut looks) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (store, listed) = timed(&mut lists, || {
            let (store, _) = ThreadStore::open(home.path(), Timestamp::now())?;
            let listed = store.list();
            Ok::<_, Box<dyn Error>>((store, listed))
        })?;
        assert_eq!(listed.len(), THREADS);
        store.close()?;
        timed(&mut looks, || look_at_names(home.path()))?;
    }
    let (list, look) = (median(lists), median(looks));
    println!(
        "bench list_threads: {:.2}x of readdir and metadata ({look:.1?}), {THREADS} threads in {list:.1?}, {rebuilt:.0?} without an index (target <= {TARGET:?}) {}",
        list.as_secs_f64() / look.as_secs_f64(),
        if list <= TARGET { "ok" } else { "MISS" }
    );
    Ok(())
}
