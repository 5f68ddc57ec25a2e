//! A child process is killed at every step it takes towards the disk; what it had acknowledged is there.
//!
//! In every other round the power fails too: bytes that were written but not synced are cut off, files whose
//! folder was not synced are gone, and moves are undone.

use std::collections::{HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use transcript::{Disk, NoticeSeverity, Step, StoreError, Thread, ThreadStore, Timestamp};

use crate::script::{self, Op, Random, THREADS, World, as_saved, id};

const ROUNDS: usize = 600;
const OPS: usize = 50;
const CHILD: &str = "TRANSCRIPT_KILL_ROUND";

/// What one child does, and where it ends.
#[derive(Clone, Copy, Debug)]
struct Round {
    seed: u64,
    kill_at: usize,
    power_fails: bool,
}

#[test]
fn nothing_acknowledged_is_lost_wherever_the_process_is_killed() {
    if let Ok(job) = std::env::var(CHILD) {
        run_child(&job);
        return;
    }
    let rounds = Mutex::new(rounds().into_iter());
    let killed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(round) = rounds.lock().unwrap().next() else {
                        return;
                    };
                    let home = script::home();
                    let (acknowledged, was_killed) = spawn_child(home.path(), round);
                    killed.fetch_add(usize::from(was_killed), Ordering::Relaxed);
                    verify(home.path(), round, acknowledged);
                }
            });
        }
    });
    assert_eq!(killed.load(Ordering::Relaxed), ROUNDS);
}

/// Rounds that end at points spread evenly over the steps of several scripts.
fn rounds() -> Vec<Round> {
    let mut rounds = Vec::new();
    let mut seed = 0;
    while rounds.len() < ROUNDS {
        let home = script::home();
        let steps = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&steps);
        let disk = Disk::with_hook(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        play(home.path(), seed, disk, &mut |_| {});
        let steps = steps.load(Ordering::Relaxed);
        for kill_at in (1 + seed as usize % 3..=steps).step_by(3) {
            rounds.push(Round {
                seed,
                kill_at,
                power_fails: rounds.len() % 2 == 1,
            });
        }
        seed += 1;
    }
    rounds.truncate(ROUNDS);
    rounds
}

/// Runs a script to its end, telling of each operation that returned.
fn play(home: &Path, seed: u64, disk: Disk, acknowledge: &mut dyn FnMut(usize)) {
    let (mut store, _) = ThreadStore::open_with(home, Timestamp::UNIX_EPOCH, disk).unwrap();
    let (mut world, mut random) = (World::default(), Random(seed));
    for nth in 0..OPS {
        let op = world.next(&mut random);
        world.apply(op, Some(&mut store)).unwrap();
        acknowledge(nth);
    }
}

fn spawn_child(home: &Path, round: Round) -> (Option<usize>, bool) {
    let job = format!(
        "{} {} {} {}",
        round.seed,
        round.kill_at,
        round.power_fails,
        home.display()
    );
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "--test-threads=1"])
        .arg("killed::nothing_acknowledged_is_lost_wherever_the_process_is_killed")
        .env(CHILD, job)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let acknowledged = text
        .lines()
        .filter_map(|line| line.strip_prefix("acknowledged ")?.parse().ok())
        .next_back();
    let killed = std::os::unix::process::ExitStatusExt::signal(&output.status) == Some(9);
    assert!(
        killed || output.status.success(),
        "{round:?}: {:?}",
        output.status
    );
    (acknowledged, killed)
}

fn run_child(job: &str) {
    let mut words = job.splitn(4, ' ');
    let mut word = || words.next().unwrap();
    let (seed, kill_at, power_fails) = (
        word().parse().unwrap(),
        word().parse::<usize>().unwrap(),
        word() == "true",
    );
    let home = PathBuf::from(word());
    let steps = AtomicUsize::new(0);
    let synced = Mutex::new(Synced::default());
    let disk = Disk::with_hook(move |step| {
        let mut synced = synced.lock().unwrap();
        if steps.fetch_add(1, Ordering::Relaxed) + 1 == kill_at {
            if power_fails {
                synced.lose_the_rest(seed);
            }
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::KILL)?;
        }
        synced.note(step);
        Ok(())
    });
    println!();
    play(&home, seed, disk, &mut |nth| {
        let mut out = std::io::stdout();
        writeln!(out, "acknowledged {nth}").unwrap();
        out.flush().unwrap();
    });
}

/// What a power cut would leave.
#[derive(Default)]
struct Synced {
    /// How many bytes of each written file.
    len: HashMap<PathBuf, u64>,
    /// Files that would have no name.
    unnamed: HashSet<PathBuf>,
    /// Files that would have their name from before: by the new name, the old one.
    moved: HashMap<PathBuf, PathBuf>,
}

impl Synced {
    fn note(&mut self, step: Step<'_>) {
        let len = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
        match step {
            Step::Open(path) if !path.exists() => {
                self.unnamed.insert(path.to_owned());
            }
            Step::Write(path) => {
                self.len.entry(path.to_owned()).or_insert(0);
            }
            Step::Truncate(path, to) => {
                self.len
                    .entry(path.to_owned())
                    .and_modify(|len| *len = to.min(*len));
            }
            Step::Sync(path) => {
                self.len.insert(path.to_owned(), len(path));
            }
            Step::Rename { from, to } => {
                if let Some(len) = self.len.remove(from) {
                    self.len.insert(to.to_owned(), len);
                }
                if !self.unnamed.remove(from) {
                    self.moved.insert(to.to_owned(), from.to_owned());
                } else if !to.exists() {
                    self.unnamed.insert(to.to_owned());
                }
            }
            Step::Remove(path) => {
                self.len.remove(path);
                self.unnamed.remove(path);
            }
            Step::SyncFolder(folder) => {
                self.unnamed.retain(|path| path.parent() != Some(folder));
                self.moved.retain(|path, _| path.parent() != Some(folder));
            }
            _ => {}
        }
    }

    fn lose_the_rest(&self, seed: u64) {
        let mut random = Random(seed);
        for path in &self.unnamed {
            // The lock is held by this process, and tells nothing.
            let _ = std::fs::remove_file(path);
        }
        for (to, from) in &self.moved {
            std::fs::rename(to, from).unwrap();
        }
        for (path, synced) in &self.len {
            let Ok(file) = OpenOptions::new().write(true).open(path) else {
                continue;
            };
            let len = file.metadata().unwrap().len();
            if len > *synced {
                let kept = synced + random.below((len - synced) as usize) as u64;
                file.set_len(kept).unwrap();
            }
        }
    }
}

/// What each thread was after each operation, `None` while it doesn't exist, and from where on that is durable.
fn expected(round: Round, acknowledged: Option<usize>) -> Vec<Vec<Option<Thread>>> {
    let (mut world, mut random) = (World::default(), Random(round.seed));
    let mut windows: Vec<Vec<Option<Thread>>> = vec![vec![None]; THREADS];
    // The operation after the last acknowledged one may have happened, in part or in full.
    let started = acknowledged.map_or(1, |nth| nth + 2).min(OPS);
    for nth in 0..started {
        let op = world.next(&mut random);
        world.apply(op, None).unwrap();
        let returned = acknowledged.is_some_and(|last| nth <= last);
        let durable = op.makes_durable().filter(|_| returned).unwrap_or_default();
        for (t, window) in windows.iter_mut().enumerate() {
            if durable.contains(&t) {
                window.clear();
            }
            window.push(world.threads.get(&t).map(as_saved));
        }
    }
    windows
}

fn verify(home: &Path, round: Round, acknowledged: Option<usize>) {
    let context = format!(
        "{round:?}, acknowledged {acknowledged:?}, {}",
        home.display()
    );
    let now = Timestamp::UNIX_EPOCH;
    let (mut store, notices) = ThreadStore::open(home, now).unwrap();
    assert!(notices.is_empty(), "{context}: {notices:?}");
    for (t, window) in expected(round, acknowledged).iter().enumerate() {
        let summary = store.summary(&id(t)).cloned();
        let found = match store.load(&id(t), now) {
            Ok((thread, notices)) => {
                assert!(
                    notices
                        .iter()
                        .all(|n| n.severity == NoticeSeverity::Warning)
                );
                Some(thread)
            }
            Err(StoreError::NotFound(_)) => None,
            Err(error) => panic!("{context}: {error}"),
        };
        let agrees = |possible: &Option<Thread>| match (possible, &found) {
            (None, None) => true,
            (Some(possible), Some(found)) => possible.messages() == found.messages(),
            _ => false,
        };
        assert!(
            window.iter().any(agrees),
            "{context}, thread {t}: {found:#?}\n{window:#?}"
        );
        let Some(mut thread) = found else {
            assert_eq!(summary, None, "{context}");
            continue;
        };
        let mut titles = window.iter().flatten().map(Thread::title);
        assert!(titles.any(|title| title == thread.title()), "{context}");
        let summary = summary.unwrap();
        assert_eq!(
            (summary.title.as_str(), summary.messages),
            (thread.title(), thread.messages().len()),
            "{context}"
        );
        carry_on(&mut store, &mut thread);
    }
    store.close().unwrap();
}

/// A thread that survived works on.
fn carry_on(store: &mut ThreadStore, thread: &mut Thread) {
    let now = Timestamp::from_millis(1_000_000);
    let new = transcript::NewMessage::user("after all that");
    let message = thread.append(new, "after".into(), now).unwrap();
    store.put(thread, &message).unwrap();
    store.commit().unwrap();
    assert_eq!(&store.load(thread.id(), now).unwrap().0, thread);
    store.fold(thread).unwrap();
    assert_eq!(
        store.load(thread.id(), now).unwrap(),
        (thread.clone(), vec![])
    );
}

#[test]
fn the_scripts_make_every_kind_of_change() {
    let mut seen = Vec::new();
    for seed in 0..10 {
        let (mut world, mut random) = (World::default(), Random(seed));
        for _ in 0..OPS {
            let op = world.next(&mut random);
            world.apply(op, None).unwrap();
            seen.push(std::mem::discriminant(&op));
        }
    }
    for op in [
        Op::Create(0),
        Op::Say(0),
        Op::BeginReply(0),
        Op::Grow(0),
        Op::Settle(0),
        Op::TakeBack(0),
        Op::Rename(0),
        Op::Commit,
        Op::Fold(0),
        Op::Delete(0),
        Op::Restore(0),
    ] {
        assert!(seen.contains(&std::mem::discriminant(&op)), "{op:?}");
    }
}
