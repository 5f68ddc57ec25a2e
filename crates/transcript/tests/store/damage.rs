//! Damaged, torn and foreign files cost no more than they must, and are told.

use std::fs;
use std::io;

use transcript::{Disk, NoticeSeverity, Step, StoreError, Thread, ThreadStore};

use crate::*;

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
