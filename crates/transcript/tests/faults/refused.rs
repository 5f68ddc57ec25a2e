//! The disk refuses for a while, at any step; the threads live on in memory and are saved once it relents.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use transcript::{Disk, NewMessage, StoreError, Thread, ThreadStore, Timestamp};

use crate::script::{self, Op, Random, World, as_saved, id};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const OPS: usize = 80;

/// Plays a script while steps `from..to` are refused. Returns how many operations failed.
fn play(seed: u64, from: usize, to: usize, why: io::ErrorKind) -> usize {
    let home = script::home();
    let (steps, armed) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let is_armed = Arc::clone(&armed);
    let disk = Disk::with_hook(move |_| {
        let refuses = is_armed.load(Ordering::Relaxed)
            && (from..to).contains(&steps.fetch_add(1, Ordering::Relaxed));
        if refuses { Err(why.into()) } else { Ok(()) }
    });
    let (mut store, _) = ThreadStore::open_with(home.path(), NOW, disk).unwrap();
    armed.store(true, Ordering::Relaxed);
    let (mut world, mut random) = (World::default(), Random(seed));
    let mut failed = 0;
    for _ in 0..OPS {
        let op = world.next(&mut random);
        failed += usize::from(world.apply(op, Some(&mut store)).is_err());
    }
    armed.store(false, Ordering::Relaxed);
    for t in std::mem::take(&mut world.unsettled) {
        let op = if world.deleted.contains_key(&t) {
            Op::Restore(t)
        } else {
            Op::Delete(t)
        };
        match world.apply(op, Some(&mut store)) {
            // It had come back before the last step of it was refused.
            Err(StoreError::Exists(_)) => {
                let thread = world.deleted.remove(&t).unwrap();
                world.threads.insert(t, thread);
            }
            other => other.unwrap(),
        }
    }
    store.close().unwrap();

    let (mut store, notices) = ThreadStore::open(home.path(), NOW).unwrap();
    assert_eq!(notices, []);
    assert_eq!(store.list().len(), world.threads.len());
    for (t, thread) in &world.threads {
        let (loaded, notices) = store.load(&id(*t), NOW).unwrap();
        assert_eq!(notices, []);
        assert_eq!(
            loaded.messages(),
            as_saved(thread).messages(),
            "seed {seed}, {from}..{to}"
        );
        assert_eq!(loaded.title(), thread.title());
    }
    for (t, thread) in &world.deleted {
        store.restore(&id(*t), NOW).unwrap();
        assert_eq!(
            store.load(&id(*t), NOW).unwrap().0.messages(),
            thread.messages()
        );
    }
    failed
}

#[test]
fn a_full_disk_or_a_read_only_one_costs_nothing_once_it_is_over() {
    let mut failed = 0;
    for round in 0..120 {
        let why = match round % 2 {
            0 => io::ErrorKind::StorageFull,
            _ => io::ErrorKind::ReadOnlyFilesystem,
        };
        let (seed, from) = (round as u64 % 10, round * 2);
        failed += play(seed, from, from + 1 + round % 17, why);
    }
    assert!(failed > 120, "only {failed} operations failed");
}

#[test]
fn a_thread_that_could_not_be_created_is_saved_by_the_next_commit() {
    let home = script::home();
    let full = Arc::new(AtomicBool::new(false));
    let is_full = Arc::clone(&full);
    let disk = Disk::with_hook(move |_| match is_full.load(Ordering::Relaxed) {
        true => Err(io::ErrorKind::StorageFull.into()),
        false => Ok(()),
    });
    let (mut store, _) = ThreadStore::open_with(home.path(), NOW, disk).unwrap();
    full.store(true, Ordering::Relaxed);
    let mut thread = Thread::new("t".into(), NOW);
    thread
        .append(NewMessage::user("hi"), "m0".into(), NOW)
        .unwrap();
    let error = store.create(&thread).unwrap_err();
    assert!(error.to_notice().text.contains("free some space"));
    let more = thread
        .append(NewMessage::user("more"), "m1".into(), NOW)
        .unwrap();
    store.put(&thread, &more).unwrap();
    assert!(store.commit().is_err());
    assert!(store.has_unsaved());
    assert_eq!(store.list()[0].messages, 2);
    assert_eq!(store.load(thread.id(), NOW).unwrap().0, thread);
    full.store(false, Ordering::Relaxed);
    store.commit().unwrap();
    assert!(!store.has_unsaved());
    drop(store);
    let (mut store, _) = ThreadStore::open(home.path(), NOW).unwrap();
    assert_eq!(store.load(thread.id(), NOW).unwrap(), (thread, vec![]));
}
