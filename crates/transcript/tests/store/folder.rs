//! The data folder as a whole: its list, its trash, a second process.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;
use transcript::{Access, Disk, StoreError, Thread, ThreadStore};

use crate::*;

#[test]
fn a_second_process_reads_and_writes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let thread = saved(&home, "t", false);
    let mut first = open(&home);
    fs::write(file(&home, "broken.json"), "{").unwrap();
    let torn = [
        fs::read(file(&home, "t.log")).unwrap(),
        b"00000000 {".to_vec(),
    ]
    .concat();
    fs::write(file(&home, "t.log"), torn).unwrap();
    fs::write(file(&home, ".x.json.tmp"), "").unwrap();
    let before = everything_below(home.path());

    let (mut second, notices) = reopen(&home);
    assert!(notices[0].text.contains("Another Folkmoot"));
    assert!(notices[1].text.contains("damaged"), "{notices:?}");
    assert_eq!(
        second.load(&"t".into(), NOW).unwrap(),
        (thread.clone(), vec![])
    );
    assert!(matches!(
        second.load(&"broken".into(), NOW),
        Err(StoreError::Corrupt {
            renamed_to: None,
            ..
        })
    ));
    let refused = |outcome: Result<(), StoreError>| {
        assert!(matches!(outcome, Err(StoreError::ReadOnly { .. })));
    };
    refused(second.create(&Thread::new("new".into(), NOW)));
    refused(second.put(&thread, &thread.messages()[0]));
    refused(second.grow(thread.id(), 0, 0, "x"));
    refused(second.put_header(&thread));
    refused(second.fold(&thread));
    refused(second.delete(thread.id()));
    second.commit().unwrap();
    second.rebuild_index(NOW).unwrap();
    drop(second);
    assert_eq!(everything_below(home.path()), before);

    // It learns of what the first one does, and may write once that one is gone.
    let mut second = open_elsewhere_with(&home, 2);
    let mut thread = first.load(&"t".into(), NOW).unwrap().0;
    say(&mut first, &mut thread, "fourth");
    first.commit().unwrap();
    second.refresh(NOW).unwrap();
    assert_eq!(second.summary(&"t".into()).unwrap().messages, 4);
    assert_eq!(second.load(&"t".into(), NOW).unwrap().0, thread);
    drop((first, second));
    assert_eq!(reopen(&home).0.access(), &Access::ReadWrite);
}

#[test]
fn a_deleted_thread_can_be_taken_back_or_removed_for_good() {
    let home = tempfile::tempdir().unwrap();
    let thread = saved(&home, "t", false);
    fs::write(file(&home, "t.journal.jsonl"), "{}\n").unwrap();
    let mut store = open(&home);
    store.delete(thread.id()).unwrap();
    assert_eq!(store.list(), []);
    assert!(named(&home, "t.").is_empty());
    assert!(matches!(
        store.load(thread.id(), NOW),
        Err(StoreError::NotFound(_))
    ));
    assert!(matches!(
        store.delete(thread.id()),
        Err(StoreError::NotFound(_))
    ));
    drop(store);

    let mut store = open(&home);
    assert_eq!(store.deleted().unwrap(), std::slice::from_ref(thread.id()));
    store.restore(thread.id(), NOW).unwrap();
    assert_eq!(store.list()[0].messages, 3);
    assert_eq!(
        store.load(thread.id(), NOW).unwrap(),
        (thread.clone(), vec![])
    );
    assert!(file(&home, "t.journal.jsonl").exists());
    assert!(matches!(
        store.restore(thread.id(), NOW),
        Err(StoreError::Exists(_))
    ));

    store.delete(thread.id()).unwrap();
    store.purge_deleted(thread.id()).unwrap();
    assert!(matches!(
        store.restore(thread.id(), NOW),
        Err(StoreError::NotFound(_))
    ));
    assert_eq!(store.deleted().unwrap(), []);
}

#[test]
fn the_index_is_only_a_shortcut() {
    let home = tempfile::tempdir().unwrap();
    for id in ["a", "b", "c"] {
        saved(&home, id, id == "b");
    }
    let index = file(&home, "index.json");
    let listed = open(&home).list();
    let good = fs::read(&index).unwrap();
    for bytes in [
        &b""[..],
        b"{\"version\":9,\"threads\":[]}",
        &good[..good.len() / 2],
    ] {
        fs::write(&index, bytes).unwrap();
        assert_eq!(open(&home).list(), listed);
        assert_eq!(
            serde_json::from_slice::<serde_json::Value>(&fs::read(&index).unwrap()).unwrap()["threads"]
                .as_array()
                .unwrap()
                .len(),
            3,
            "written anew on the way out"
        );
    }
    fs::remove_file(&index).unwrap();
    let mut store = open(&home);
    assert_eq!(store.list(), listed);
    store.rebuild_index(NOW).unwrap();
    assert_eq!(store.list(), listed);
    drop(store);

    // What others do to the files between two starts is seen.
    fs::remove_file(file(&home, "a.json")).unwrap();
    fs::remove_file(file(&home, "a.log")).unwrap();
    let text = fs::read_to_string(file(&home, "b.json")).unwrap();
    fs::write(
        file(&home, "b.json"),
        text.replace("\"title\":\"first\"", "\"title\":\"other\""),
    )
    .unwrap();
    let titles: Vec<_> = open(&home)
        .list()
        .into_iter()
        .map(|t| (t.id.to_string(), t.title))
        .collect();
    assert_eq!(
        titles,
        [
            ("c".to_owned(), "first".to_owned()),
            ("b".into(), "other".into())
        ]
    );
}

#[test]
fn the_list_right_after_a_crash_shows_what_was_committed() {
    let home = tempfile::tempdir().unwrap();
    let mut thread = saved(&home, "t", true);
    let dead = Arc::new(AtomicBool::new(false));
    let is_dead = Arc::clone(&dead);
    let disk = Disk::with_hook(move |_| match is_dead.load(Ordering::Relaxed) {
        true => Err(io::ErrorKind::Other.into()),
        false => Ok(()),
    });
    let (mut store, _) = ThreadStore::open_with(home.path(), NOW, disk).unwrap();
    thread.rename("Committed", at(7));
    store.put_header(&thread).unwrap();
    say(&mut store, &mut thread, "committed");
    store.commit().unwrap();
    thread.rename("Lost", at(8));
    store.put_header(&thread).unwrap();
    // From here on nothing reaches the disk, as if the process were gone.
    dead.store(true, Ordering::Relaxed);
    drop(store);
    let listed = open(&home).list();
    assert_eq!(
        (listed[0].title.as_str(), listed[0].messages),
        ("Committed", 4)
    );
}

fn everything_below(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(everything_below(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

fn open_elsewhere_with(home: &TempDir, notices: usize) -> ThreadStore {
    let (store, told) = reopen(home);
    assert_eq!(told.len(), notices);
    store
}
