//! A random but repeatable script of changes, and the threads as they should be after each.

use std::collections::{BTreeMap, BTreeSet};

use transcript::{
    NewMessage, Role, Route, Settlement, StoreError, Thread, ThreadId, ThreadStore, Timestamp,
};

/// One change. Threads are meant by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Create(usize),
    Say(usize),
    BeginReply(usize),
    Grow(usize),
    Settle(usize),
    TakeBack(usize),
    Rename(usize),
    Commit,
    Fold(usize),
    Delete(usize),
    Restore(usize),
}

impl Op {
    /// The thread that is durable once the operation returned; all of them for a commit.
    pub(crate) fn makes_durable(self) -> Option<Vec<usize>> {
        match self {
            Self::Commit => Some((0..THREADS).collect()),
            Self::Create(t) | Self::Fold(t) | Self::Delete(t) | Self::Restore(t) => Some(vec![t]),
            _ => None,
        }
    }
}

pub(crate) const THREADS: usize = 4;

/// An empty data folder, in memory where there is such a place: here the disk's speed tests nothing.
pub(crate) fn home() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

pub(crate) fn id(thread: usize) -> ThreadId {
    ThreadId::from(format!("t{thread}"))
}

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// The threads as a program that uses the store has them in memory.
#[derive(Clone, Default)]
pub(crate) struct World {
    pub(crate) threads: BTreeMap<usize, Thread>,
    pub(crate) deleted: BTreeMap<usize, Thread>,
    /// Deletions and restorations that the disk refused; whether they happened is open.
    pub(crate) unsettled: BTreeSet<usize>,
    step: i64,
}

impl World {
    /// Picks a change that fits the state.
    pub(crate) fn next(&self, random: &mut Random) -> Op {
        loop {
            let t = random.below(THREADS);
            if self.unsettled.contains(&t) {
                return Op::Commit;
            }
            let Some(thread) = self.threads.get(&t) else {
                if self.deleted.contains_key(&t) {
                    return Op::Restore(t);
                }
                return Op::Create(t);
            };
            let streams = thread.streaming().is_some();
            let op = match random.below(16) {
                0..=1 => Op::Say(t),
                2..=3 => Op::BeginReply(t),
                4..=6 => Op::Grow(t),
                7..=8 => Op::Settle(t),
                9 => Op::TakeBack(t),
                10 => Op::Rename(t),
                11..=12 => Op::Commit,
                13..=14 => Op::Fold(t),
                _ => Op::Delete(t),
            };
            let fits = match op {
                Op::Say(_) | Op::BeginReply(_) => !streams,
                Op::Grow(_) | Op::Settle(_) => streams,
                Op::TakeBack(_) => !streams && !thread.messages().is_empty(),
                Op::Delete(_) => random.below(4) == 0,
                _ => true,
            };
            if fits {
                return op;
            }
        }
    }

    /// Makes the change in memory, and in the store if there is one.
    pub(crate) fn apply(
        &mut self,
        op: Op,
        store: Option<&mut ThreadStore>,
    ) -> Result<(), StoreError> {
        self.step += 1;
        let now = Timestamp::from_millis(self.step);
        match op {
            Op::Commit => return store.map_or(Ok(()), ThreadStore::commit),
            Op::Create(t) => {
                let mut thread = Thread::new(id(t), now);
                thread.seat(&"gpt".into()).unwrap();
                let created = store.map_or(Ok(()), |store| store.create(&thread));
                self.threads.insert(t, thread);
                return created;
            }
            Op::Fold(t) => {
                return store.map_or(Ok(()), |store| store.fold(&self.threads[&t]));
            }
            Op::Delete(t) => {
                if let Some(Err(error)) = store.map(|store| store.delete(&id(t))) {
                    self.unsettled.insert(t);
                    return Err(error);
                }
                let thread = as_saved(&self.threads.remove(&t).unwrap());
                self.deleted.insert(t, thread);
            }
            Op::Restore(t) => {
                if let Some(Err(error)) = store.map(|store| store.restore(&id(t), now)) {
                    self.unsettled.insert(t);
                    return Err(error);
                }
                let thread = self.deleted.remove(&t).unwrap();
                self.threads.insert(t, thread);
            }
            Op::Rename(t) => {
                let thread = self.threads.get_mut(&t).unwrap();
                thread.rename(&format!("Title {}", self.step), now);
                return store.map_or(Ok(()), |store| store.put_header(thread));
            }
            Op::Say(t) | Op::BeginReply(t) | Op::Grow(t) | Op::Settle(t) | Op::TakeBack(t) => {
                let thread = self.threads.get_mut(&t).unwrap();
                return change_message(thread, op, self.step, store);
            }
        }
        Ok(())
    }
}

fn change_message(
    thread: &mut Thread,
    op: Op,
    step: i64,
    store: Option<&mut ThreadStore>,
) -> Result<(), StoreError> {
    let now = Timestamp::from_millis(step);
    let route: Route = serde_json::from_str(r#"{"endpoint":"rehearsal","model":"m"}"#).unwrap();
    let last = thread.messages().last().map(|m| m.id().clone());
    let message = match op {
        Op::Say(_) => {
            let words = "What is said here, é… ".repeat(1 + step as usize % 7);
            let id = format!("m{step}").as_str().into();
            thread.append(NewMessage::user(words), id, now)
        }
        Op::BeginReply(_) => {
            let id = format!("m{step}").as_str().into();
            thread.append(NewMessage::reply("gpt".into(), route), id, now)
        }
        Op::Grow(_) => {
            let live = thread.streaming().unwrap();
            let (id, seq, at) = (live.id().clone(), live.seq(), live.content().len());
            let text = format!("piece {step} ↵\n");
            thread.grow(&id, &text).unwrap();
            return store.map_or(Ok(()), |store| store.grow(thread.id(), seq, at, &text));
        }
        Op::Settle(_) => thread.settle(&last.unwrap(), Settlement::complete(), now),
        _ => thread.tombstone(&last.unwrap(), now),
    };
    let message = message.unwrap();
    assert!(message.role() != Role::System);
    store.map_or(Ok(()), |store| store.put(thread, &message))
}

/// The thread as it comes back from the disk: what streams has been cut off.
pub(crate) fn as_saved(thread: &Thread) -> Thread {
    let mut saved = thread.clone();
    if let Some(live) = thread.streaming() {
        let id = live.id().clone();
        let now = thread.updated_at();
        saved.settle(&id, Settlement::cancelled(None), now).unwrap();
    }
    saved
}
