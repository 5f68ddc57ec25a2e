//! Threads survive on disk.

mod damage;
mod folder;
mod saving;

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use transcript::{Access, MessageId, NewMessage, Notice, Route, Thread, ThreadStore, Timestamp};

pub(crate) const NOW: Timestamp = Timestamp::UNIX_EPOCH;

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(crate) fn open(home: &TempDir) -> ThreadStore {
    let (store, notices) = ThreadStore::open(home.path(), NOW).unwrap();
    assert_eq!(notices, []);
    assert_eq!(store.access(), &Access::ReadWrite);
    store
}

pub(crate) fn reopen(home: &TempDir) -> (ThreadStore, Vec<Notice>) {
    ThreadStore::open(home.path(), NOW).unwrap()
}

pub(crate) fn route() -> Route {
    serde_json::from_str(r#"{"endpoint":"rehearsal","model":"m"}"#).unwrap()
}

pub(crate) fn say(store: &mut ThreadStore, thread: &mut Thread, text: &str) {
    let nth = thread.messages().len();
    let id = MessageId::from(format!("m{nth}"));
    let message = thread
        .append(NewMessage::user(text), id, at(nth as i64))
        .unwrap();
    store.put(thread, &message).unwrap();
}

/// A saved thread with three messages; only the first is in the thread file if `folded` is false.
pub(crate) fn saved(home: &TempDir, id: &str, folded: bool) -> Thread {
    let mut store = open(home);
    let mut thread = Thread::new(id.into(), NOW);
    thread
        .append(NewMessage::user("first"), "m0".into(), NOW)
        .unwrap();
    store.create(&thread).unwrap();
    say(&mut store, &mut thread, "second");
    say(&mut store, &mut thread, "third");
    store.commit().unwrap();
    if folded {
        store.fold(&thread).unwrap();
    }
    store.close().unwrap();
    thread
}

pub(crate) fn file(home: &TempDir, name: &str) -> PathBuf {
    home.path().join("threads").join(name)
}

/// Names in the threads folder that contain `part`.
pub(crate) fn named(home: &TempDir, part: &str) -> Vec<PathBuf> {
    let names = fs::read_dir(home.path().join("threads")).unwrap();
    names
        .map(|name| name.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().contains(part))
        .collect()
}

/// A second store on the same folder, as another process would have it.
pub(crate) fn open_elsewhere(home: &TempDir) -> ThreadStore {
    let (store, notices) = reopen(home);
    assert_eq!(notices.len(), 1);
    assert!(matches!(store.access(), Access::ReadOnly { .. }));
    store
}
