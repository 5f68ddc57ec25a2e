//! What is saved comes back.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use transcript::{
    Disk, MessageId, NewMessage, Settlement, Status, Step, StoreError, Thread, ThreadId,
    ThreadStore,
};

use crate::*;

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
fn a_long_thread_tells_its_end_before_all_of_it_is_read() {
    let home = tempfile::tempdir().unwrap();
    let mut store = open(&home);
    let mut thread = Thread::new("t".into(), NOW);
    for nth in 0..3_000 {
        let (id, text) = (format!("m{nth}"), format!("é\n{nth} ").repeat(nth % 150));
        thread
            .append(NewMessage::user(text), MessageId::from(id), NOW)
            .unwrap();
    }
    store.create(&thread).unwrap();
    store.fold(&thread).unwrap();
    let end = store.load_end(thread.id()).unwrap();
    assert_eq!(end.title, thread.title());
    assert!(
        (100..1_000).contains(&end.messages.len()),
        "{}",
        end.messages.len()
    );
    assert!(thread.messages().ends_with(&end.messages));
    say(&mut store, &mut thread, "one more");
    assert_eq!(store.load_end(thread.id()), None, "one waits");
    store.commit().unwrap();
    assert_eq!(store.load_end(thread.id()), None, "one is in the log");
    store.fold(&thread).unwrap();
    let end = store.load_end(thread.id()).unwrap();
    assert_eq!(end.messages.last(), thread.messages().last());
}

#[test]
fn only_a_file_that_ends_as_it_was_written_tells_its_end() {
    let home = tempfile::tempdir().unwrap();
    let mut store = open(&home);
    let mut thread = Thread::new("t".into(), NOW);
    for nth in 0..40 {
        let id = MessageId::from(format!("m{nth}"));
        thread
            .append(NewMessage::user("word ".repeat(8_000)), id, NOW)
            .unwrap();
    }
    store.create(&thread).unwrap();
    store.fold(&thread).unwrap();
    assert!(store.load_end(thread.id()).is_some());
    assert_eq!(store.load_end(&"other".into()), None);
    assert_eq!(store.load_end(&"../t".into()), None);
    let path = file(&home, "t.json");
    let good = fs::read(&path).unwrap();
    let last = good.iter().rposition(|byte| *byte == b'w').unwrap();
    for (what, bytes) in [
        ("cut off", good[..good.len() - 9].to_vec()),
        ("followed by more", [&good[..], b"more"].concat()),
        ("no text", {
            let mut bytes = good.clone();
            bytes[last] = 0xff;
            bytes
        }),
        ("another layout", serde_json::to_vec(&thread).unwrap()),
    ] {
        fs::write(&path, bytes).unwrap();
        assert_eq!(store.load_end(thread.id()), None, "{what}");
    }
}
