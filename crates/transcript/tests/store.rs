//! Threads survive on disk: saved, loaded, damaged, deleted, seen by a second process.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;
use transcript::{
    Access, Disk, MessageId, NewMessage, Notice, NoticeSeverity, Route, Settlement, Status, Step,
    StoreError, Thread, ThreadId, ThreadStore, Timestamp,
};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn open(home: &TempDir) -> ThreadStore {
    let (store, notices) = ThreadStore::open(home.path(), NOW).unwrap();
    assert_eq!(notices, []);
    assert_eq!(store.access(), &Access::ReadWrite);
    store
}

fn reopen(home: &TempDir) -> (ThreadStore, Vec<Notice>) {
    ThreadStore::open(home.path(), NOW).unwrap()
}

fn route() -> Route {
    serde_json::from_str(r#"{"endpoint":"rehearsal","model":"m"}"#).unwrap()
}

fn say(store: &mut ThreadStore, thread: &mut Thread, text: &str) {
    let nth = thread.messages().len();
    let id = MessageId::from(format!("m{nth}"));
    let message = thread
        .append(NewMessage::user(text), id, at(nth as i64))
        .unwrap();
    store.put(thread, &message).unwrap();
}

/// A saved thread with three messages; only the first is in the thread file if `folded` is false.
fn saved(home: &TempDir, id: &str, folded: bool) -> Thread {
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

fn file(home: &TempDir, name: &str) -> PathBuf {
    home.path().join("threads").join(name)
}

/// Names in the threads folder that contain `part`.
fn named(home: &TempDir, part: &str) -> Vec<PathBuf> {
    let names = fs::read_dir(home.path().join("threads")).unwrap();
    names
        .map(|name| name.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().contains(part))
        .collect()
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

#[test]
fn a_thread_comes_back_from_its_log_and_from_its_file() {
    for folded in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let thread = saved(&home, "t", folded);
        assert_eq!(file(&home, "t.log").exists(), !folded);
        let mut store = open(&home);
        assert_eq!(store.list()[0].title, "first");
        assert_eq!(store.list()[0].messages, 3);
        let (loaded, notices) = store.load(&"t".into(), NOW).unwrap();
        assert_eq!((loaded, notices), (thread.clone(), vec![]));
        assert_eq!(store.needs_fold(thread.id()), !folded);
    }
}

#[test]
fn a_reply_that_was_streaming_at_the_crash_is_cancelled_with_the_text_it_had() {
    let home = tempfile::tempdir().unwrap();
    let mut store = open(&home);
    let mut thread = Thread::new("t".into(), NOW);
    thread.seat(&"gpt".into()).unwrap();
    store.create(&thread).unwrap();
    say(&mut store, &mut thread, "go");
    let reply = thread
        .append(NewMessage::reply("gpt".into(), route()), "r".into(), NOW)
        .unwrap();
    store.put(&thread, &reply).unwrap();
    for (step, text) in ["Hal", "f an ", "answer é"].into_iter().enumerate() {
        let before = thread.message(&"r".into()).unwrap().content().len();
        thread.grow(&"r".into(), text).unwrap();
        store.grow(thread.id(), 1, before, text).unwrap();
        store.commit().unwrap();
        // Folding in the middle of a reply loses nothing of it, nor of what comes later.
        if step == 1 {
            store.fold(&thread).unwrap();
        }
    }
    drop(store);
    let (loaded, _) = open(&home).load(&"t".into(), NOW).unwrap();
    let reply = &loaded.messages()[1];
    assert_eq!(reply.content(), "Half an answer é");
    assert_eq!(reply.status(), Status::Cancelled);
    let on_disk = fs::read_to_string(file(&home, "t.json")).unwrap();
    assert!(!on_disk.contains("streaming"));
}

#[test]
fn a_crash_between_the_new_file_and_the_removal_of_the_log_mixes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let dead = Arc::new(AtomicBool::new(false));
    let is_dead = Arc::clone(&dead);
    let disk = Disk::with_hook(move |step| {
        if matches!(step, Step::Remove(path) if path.ends_with("t.log")) {
            is_dead.store(true, Ordering::Relaxed);
        }
        match is_dead.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::Other.into()),
            false => Ok(()),
        }
    });
    let (mut store, _) = ThreadStore::open_with(home.path(), NOW, disk).unwrap();
    let mut thread = Thread::new("t".into(), NOW);
    thread.seat(&"gpt".into()).unwrap();
    store.create(&thread).unwrap();
    let reply = NewMessage::reply("gpt".into(), route());
    let reply = thread.append(reply, "r".into(), NOW).unwrap();
    store.put(&thread, &reply).unwrap();
    store.commit().unwrap();
    // What follows is in the buffer only when the file is written.
    let end = Settlement {
        content: Some("done".into()),
        ..Settlement::complete()
    };
    let reply = thread.settle(&"r".into(), end, NOW).unwrap();
    store.put(&thread, &reply).unwrap();
    say(&mut store, &mut thread, "next");
    assert!(store.fold(&thread).is_err());
    drop(store);
    assert!(file(&home, "t.log").exists());
    assert_eq!(
        open(&home).load(&"t".into(), NOW).unwrap(),
        (thread, vec![])
    );
}

#[test]
fn title_archive_flag_and_seats_are_saved_and_the_list_is_sorted_by_last_use() {
    let home = tempfile::tempdir().unwrap();
    let mut store = open(&home);
    let mut threads: Vec<Thread> = (0..3)
        .map(|i| Thread::new(ThreadId::from(format!("t{i}")), at(i)))
        .collect();
    threads
        .iter()
        .for_each(|thread| store.create(thread).unwrap());
    threads[0].rename("Renamed", at(10));
    threads[0].set_archived(true, at(10));
    threads[0].seat(&"claude".into()).unwrap();
    store.put_header(&threads[0]).unwrap();
    store.commit().unwrap();
    let ids = |store: &ThreadStore| -> Vec<String> {
        store.list().iter().map(|t| t.id.to_string()).collect()
    };
    assert_eq!(ids(&store), ["t0", "t2", "t1"]);
    drop(store);
    let mut store = open(&home);
    assert_eq!(ids(&store), ["t0", "t2", "t1"]);
    assert!(store.list()[0].archived);
    let (loaded, _) = store.load(&"t0".into(), NOW).unwrap();
    assert_eq!(loaded, threads[0]);
}

#[test]
fn a_torn_tail_is_cut_and_the_rest_survives() {
    let home = tempfile::tempdir().unwrap();
    let mut thread = saved(&home, "t", false);
    let log = file(&home, "t.log");
    let mut bytes = fs::read(&log).unwrap();
    bytes.extend_from_slice(b"0123abcd {\"put\":{\"upd");
    fs::write(&log, &bytes).unwrap();

    let mut store = open(&home);
    assert_eq!(store.list()[0].messages, 3);
    let (loaded, notices) = store.load(&"t".into(), NOW).unwrap();
    assert_eq!(loaded, thread);
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].severity, NoticeSeverity::Warning);
    assert_eq!(notices[0].path.as_deref(), Some(&*log));
    assert_eq!(store.load(&"t".into(), NOW).unwrap().1, [], "told once");
    say(&mut store, &mut thread, "fourth");
    store.commit().unwrap();
    drop(store);
    assert_eq!(
        open(&home).load(&"t".into(), NOW).unwrap(),
        (thread, vec![])
    );
    assert!(named(&home, "torn").is_empty());
}

#[test]
fn a_damaged_log_is_cut_at_the_damage_and_its_bytes_are_kept() {
    for loads_first in [true, false] {
        let home = tempfile::tempdir().unwrap();
        let mut thread = saved(&home, "t", false);
        let log = file(&home, "t.log");
        let mut bytes = fs::read(&log).unwrap();
        let second = memchr::memchr(b'\n', &bytes).unwrap() + 1;
        bytes[second + 20] ^= 0x20;
        fs::write(&log, &bytes).unwrap();

        let mut store = open(&home);
        if loads_first {
            let (loaded, notices) = store.load(&"t".into(), NOW).unwrap();
            assert_eq!(loaded.messages(), &thread.messages()[..2]);
            assert_eq!(notices[0].severity, NoticeSeverity::Error);
            assert_eq!(notices[0].path.as_deref(), Some(&*named(&home, "torn")[0]));
            thread = loaded;
        } else {
            // A caller that has the thread in memory still appends behind the last good record only.
            thread.set_archived(true, NOW);
            store.put_header(&thread).unwrap();
            store.commit().unwrap();
            thread = open_elsewhere(&home).load(&"t".into(), NOW).unwrap().0;
            assert_eq!(thread.messages().len(), 2);
            assert!(thread.is_archived());
        }
        assert_eq!(
            fs::read(&named(&home, "torn")[0]).unwrap(),
            &bytes[second..]
        );
        say(&mut store, &mut thread, "on we go");
        store.commit().unwrap();
        drop(store);
        assert_eq!(
            open(&home).load(&"t".into(), NOW).unwrap(),
            (thread, vec![])
        );
    }
}

/// A second store on the same folder, as another process would have it.
fn open_elsewhere(home: &TempDir) -> ThreadStore {
    let (store, notices) = reopen(home);
    assert_eq!(notices.len(), 1);
    assert!(matches!(store.access(), Access::ReadOnly { .. }));
    store
}

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

fn open_elsewhere_with(home: &TempDir, notices: usize) -> ThreadStore {
    let (store, told) = reopen(home);
    assert_eq!(told.len(), notices);
    store
}

#[test]
fn a_broken_thread_file_is_renamed_told_and_stops_nothing() {
    let message = |id: &str, seq: u64| {
        format!(
            r#"{{"id":"{id}","seq":{seq},"role":"user","speaker":"user","content":"","status":"complete","createdAt":"2026-01-01T00:00:00Z"}}"#
        )
    };
    let with = |messages: &str| {
        format!(
            r#"{{"version":1,"id":"bad","createdAt":"2026-01-01T00:00:00Z","messages":[{messages}]}}"#
        )
    };
    let gap = with(&message("a", 1));
    let twice = with(&format!("{},{}", message("a", 0), message("a", 1)));
    let torn = &with(&message("a", 0))[..120];
    let nested = format!("{}{}", r#"{"version":1,"x":"#, "[".repeat(100_000));
    let broken: [&[u8]; 8] = [
        b"",
        b"not JSON",
        b"\xff\xfe\x00",
        b"[]",
        gap.as_bytes(),
        twice.as_bytes(),
        torn.as_bytes(),
        nested.as_bytes(),
    ];
    for bytes in broken {
        let home = tempfile::tempdir().unwrap();
        let good = saved(&home, "good", true);
        fs::write(file(&home, "bad.json"), bytes).unwrap();
        let (mut store, mut notices) = reopen(&home);
        if notices.is_empty() {
            // What a quick look doesn't see, loading does.
            let error = store.load(&"bad".into(), NOW).unwrap_err();
            assert!(matches!(
                error,
                StoreError::Corrupt {
                    renamed_to: Some(_),
                    ..
                }
            ));
            notices.push(error.to_notice());
        }
        let [kept] = &named(&home, "bad.corrupt-19700101T000000000Z")[..] else {
            panic!("not renamed: {:?}", String::from_utf8_lossy(bytes));
        };
        assert_eq!(fs::read(kept).unwrap(), bytes);
        assert_eq!(notices[0].path.as_ref(), Some(kept));
        assert_eq!(store.list().len(), 1);
        assert_eq!(store.load(&"good".into(), NOW).unwrap().0, good);
        assert!(matches!(
            store.load(&"bad".into(), NOW),
            Err(StoreError::NotFound(_))
        ));
        drop(store);
        assert_eq!(reopen(&home).1, [], "told once");
    }
}

#[test]
fn a_file_of_a_newer_version_stays_where_it_is() {
    let home = tempfile::tempdir().unwrap();
    saved(&home, "good", true);
    let newer = r#"{"version":2,"id":"new","createdAt":"2030-01-01T00:00:00Z","messages":{}}"#;
    fs::write(file(&home, "new.json"), newer).unwrap();
    let (mut store, notices) = reopen(&home);
    assert!(notices[0].text.contains("newer version"), "{notices:?}");
    assert!(matches!(
        store.load(&"new".into(), NOW),
        Err(StoreError::Version { version: 2, .. })
    ));
    assert_eq!(fs::read_to_string(file(&home, "new.json")).unwrap(), newer);
}

#[test]
fn a_damaged_file_of_a_thread_whose_log_is_whole_is_recovered_from_the_log() {
    let home = tempfile::tempdir().unwrap();
    let mut store = open(&home);
    let mut thread = Thread::new("t".into(), NOW);
    // Never created: the log holds it from its beginning.
    say(&mut store, &mut thread, "one");
    say(&mut store, &mut thread, "two");
    store.commit().unwrap();
    drop(store);
    assert!(!file(&home, "t.json").exists());
    fs::write(file(&home, "t.json"), "damage").unwrap();
    let (mut store, notices) = reopen(&home);
    assert_eq!(notices.len(), 1);
    assert_eq!(fs::read(&named(&home, "corrupt")[0]).unwrap(), b"damage");
    assert_eq!(store.load(&"t".into(), NOW).unwrap(), (thread, vec![]));
}

#[test]
fn a_log_without_its_thread_file_is_kept_under_another_name() {
    for damage in [None, Some("damage")] {
        let home = tempfile::tempdir().unwrap();
        saved(&home, "t", false);
        let log = fs::read(file(&home, "t.log")).unwrap();
        match damage {
            None => fs::remove_file(file(&home, "t.json")).unwrap(),
            Some(bytes) => fs::write(file(&home, "t.json"), bytes).unwrap(),
        }
        let (store, notices) = reopen(&home);
        assert_eq!(notices.len(), 1);
        assert_eq!(store.list(), []);
        let kept = named(&home, "t.corrupt");
        assert!(kept.iter().any(|path| fs::read(path).unwrap() == log));
    }
}

#[test]
fn a_copy_made_by_hand_is_a_thread_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    saved(&home, "t", true);
    fs::copy(file(&home, "t.json"), file(&home, "copy.json")).unwrap();
    let mut store = open(&home);
    assert_eq!(store.list().len(), 2);
    let (mut copy, notices) = store.load(&"copy".into(), NOW).unwrap();
    assert_eq!((copy.id().as_str(), notices.len()), ("copy", 1));
    say(&mut store, &mut copy, "only here");
    store.fold(&copy).unwrap();
    assert_eq!(store.load(&"copy".into(), NOW).unwrap(), (copy, vec![]));
    assert_eq!(store.load(&"t".into(), NOW).unwrap().0.messages().len(), 3);
}

#[test]
fn names_that_are_no_thread_ids_never_reach_the_disk() {
    let home = tempfile::tempdir().unwrap();
    let mut store = open(&home);
    for id in ["../up", "", "a/b", "index", "a.b", "é", &"x".repeat(129)] {
        let thread = Thread::new(id.into(), NOW);
        assert!(
            matches!(store.create(&thread), Err(StoreError::BadId(_))),
            "{id}"
        );
        assert!(
            matches!(store.put_header(&thread), Err(StoreError::BadId(_))),
            "{id}"
        );
        assert!(
            matches!(store.load(&id.into(), NOW), Err(StoreError::BadId(_))),
            "{id}"
        );
        assert!(
            matches!(store.delete(&id.into()), Err(StoreError::BadId(_))),
            "{id}"
        );
    }
    assert_eq!(store.list(), []);
}

#[test]
fn a_message_is_never_saved_before_the_one_it_follows() {
    let home = tempfile::tempdir().unwrap();
    let mut store = open(&home);
    let mut thread = Thread::new("t".into(), NOW);
    store.create(&thread).unwrap();
    for id in ["a", "b"] {
        thread.append(NewMessage::user(id), id.into(), NOW).unwrap();
    }
    let put = store.put(&thread, &thread.messages()[1]);
    assert!(matches!(
        put,
        Err(StoreError::Gap {
            expected: 0,
            found: 1,
            ..
        })
    ));
    assert!(store.grow(thread.id(), 0, 0, "x").is_err());
    assert!(!store.has_unsaved());
    assert!(matches!(store.create(&thread), Err(StoreError::Exists(_))));
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

#[cfg(unix)]
#[test]
fn files_are_private_and_links_and_modes_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let parent = tempfile::tempdir().unwrap();
    let home = tempfile::tempdir_in(&parent).unwrap();
    fs::remove_dir(home.path()).unwrap();
    let mut thread = saved(&home, "t", false);
    assert_eq!(mode(home.path()), 0o700);
    assert_eq!(mode(&home.path().join("threads")), 0o700);
    for name in ["t.json", "t.log", "index.json"] {
        assert_eq!(mode(&file(&home, name)), 0o600, "{name}");
    }
    let elsewhere = parent.path().join("elsewhere.json");
    fs::rename(file(&home, "t.json"), &elsewhere).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&elsewhere, file(&home, "t.json")).unwrap();
    let mut store = open(&home);
    assert_eq!(store.list().len(), 1);
    thread = store.load(thread.id(), NOW).unwrap().0;
    say(&mut store, &mut thread, "through the link");
    store.fold(&thread).unwrap();
    assert!(file(&home, "t.json").is_symlink());
    assert_eq!(mode(&elsewhere), 0o640);
    let text = fs::read_to_string(&elsewhere).unwrap();
    assert_eq!(serde_json::from_str::<Thread>(&text).unwrap(), thread);
    store.delete(thread.id()).unwrap();
    store.restore(thread.id(), NOW).unwrap();
    assert_eq!(store.load(thread.id(), NOW).unwrap().0, thread);

    // A link to nowhere is told, not written over.
    symlink(parent.path().join("nowhere"), file(&home, "gone.json")).unwrap();
    assert!(matches!(
        store.load(&"gone".into(), NOW),
        Err(StoreError::Io { .. })
    ));
    let new = Thread::new("gone".into(), NOW);
    assert!(matches!(store.create(&new), Err(StoreError::Exists(_))));
    // A folder, or anything else that can't be read as a file, is none of ours.
    fs::create_dir(file(&home, "folder.json")).unwrap();
    drop(store);
    assert_eq!(reopen(&home).0.list().len(), 1);
}

#[test]
fn fields_of_other_writers_survive_put_and_fold() {
    let home = tempfile::tempdir().unwrap();
    drop(open(&home));
    let text = r#"{"version":1,"id":"t","createdAt":"2026-01-01T00:00:00Z","pinned":true,"messages":[
        {"id":"a","seq":0,"role":"user","speaker":"user","content":"x","status":"complete","createdAt":"2026-01-01T00:00:00Z","stars":3}]}"#;
    // With the byte order mark of some editors.
    fs::write(file(&home, "t.json"), format!("\u{feff}{text}")).unwrap();
    let mut store = open(&home);
    let (mut thread, _) = store.load(&"t".into(), NOW).unwrap();
    let message = thread.tombstone(&"a".into(), NOW).unwrap();
    store.put(&thread, &message).unwrap();
    store.commit().unwrap();
    let (loaded, _) = store.load(&"t".into(), NOW).unwrap();
    assert_eq!(loaded, thread);
    store.fold(&loaded).unwrap();
    let saved: serde_json::Value =
        serde_json::from_slice(&fs::read(file(&home, "t.json")).unwrap()).unwrap();
    assert_eq!(saved["pinned"], true);
    assert_eq!(saved["messages"][0]["stars"], 3);
}

#[test]
fn a_thread_of_fifty_thousand_messages_is_saved_and_loaded() {
    let home = tempfile::tempdir().unwrap();
    let mut thread = Thread::new("t".into(), NOW);
    for nth in 0..50_000 {
        let id = MessageId::from(format!("m{nth}"));
        thread
            .append(NewMessage::user("some words"), id, NOW)
            .unwrap();
    }
    let mut store = open(&home);
    store.create(&thread).unwrap();
    say(&mut store, &mut thread, "one more");
    store.commit().unwrap();
    drop(store);
    let mut store = open(&home);
    assert_eq!(store.list()[0].messages, 50_001);
    assert_eq!(store.load(&"t".into(), NOW).unwrap().0, thread);
}

#[test]
fn settling_with_another_text_replaces_what_had_grown() {
    let home = tempfile::tempdir().unwrap();
    let mut store = open(&home);
    let mut thread = Thread::new("t".into(), NOW);
    thread.seat(&"gpt".into()).unwrap();
    store.create(&thread).unwrap();
    let reply = thread
        .append(NewMessage::reply("gpt".into(), route()), "r".into(), NOW)
        .unwrap();
    store.put(&thread, &reply).unwrap();
    thread.grow(&"r".into(), "[GPT]: hi").unwrap();
    store.grow(thread.id(), 0, 0, "[GPT]: hi").unwrap();
    let end = Settlement {
        content: Some("hi".into()),
        ..Settlement::complete()
    };
    let reply = thread.settle(&"r".into(), end, NOW).unwrap();
    store.put(&thread, &reply).unwrap();
    drop(store);
    let (loaded, _) = open(&home).load(&"t".into(), NOW).unwrap();
    assert_eq!(loaded, thread);
}

#[test]
fn a_data_folder_that_cannot_be_written_is_opened_read_only_and_told() {
    let home = tempfile::tempdir().unwrap();
    let thread = saved(&home, "t", false);
    let disk = Disk::with_hook(|step| match step {
        Step::Open(_) => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
        _ => Ok(()),
    });
    let (mut store, notices) = ThreadStore::open_with(home.path(), NOW, disk).unwrap();
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].severity, NoticeSeverity::Error);
    assert_eq!(notices[0].path.as_deref(), Some(home.path()));
    assert_eq!(
        store.load(thread.id(), NOW).unwrap(),
        (thread.clone(), vec![])
    );
    assert!(matches!(
        store.put_header(&thread),
        Err(StoreError::ReadOnly { .. })
    ));
}
