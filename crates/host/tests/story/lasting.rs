//! What lasts: restarts, crashes, a second process, a disk that refuses, broken files.

use std::time::{Duration, Instant};

use host::{Event, Intent, Severity};
use transcript::{Status, ThreadStore, Timestamp};

use crate::table::{Table, options, start, wait};

const ANSWER: &str = "[[step]]\nreply = 'an answer'";

#[test]
fn a_restart_finds_the_thread_the_draft_and_the_window_again() {
    let mut table = Table::open(ANSWER);
    table.say("@ann hello");
    assert!(table.turn_ended());
    let before = table.messages();
    let block =
        host::read_context_block(None, &table.home.path().join("settings.toml"), Some([1, 1]));
    let block = block.unwrap();
    table.intent(Intent::SetDraft {
        thread: table.thread(),
        text: "half a thought".into(),
        context_blocks: vec![block.clone()],
    });
    table.intent(Intent::SaveWindow(serde_json::json!({"zoom": 1.5})));
    table.restart();
    assert_eq!(table.messages(), before);
    assert_eq!(table.snapshot.current.draft, "half a thought");
    assert_eq!(table.snapshot.current.draft_blocks, [block]);
    assert_eq!(table.snapshot.window["zoom"], 1.5);
    assert_eq!(table.snapshot.threads.len(), 1);
    assert_eq!(table.snapshot.threads[0].title, "hello");
}

#[test]
fn a_crash_in_the_middle_of_a_reply_keeps_what_had_arrived() {
    let script = "[[step]]\nreply = [{ content = 'what had ' }, { content = 'arrived' }, { gate = 'never' }]";
    let table = Table::open(script);
    table.say("@ann go");
    table.at_gate("never");
    // What a crash leaves behind is what lies in the folder at that moment.
    let crashed = tempfile::tempdir().unwrap();
    let threads = crashed.path().join("threads");
    std::fs::create_dir_all(&threads).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        for file in std::fs::read_dir(table.home.path().join("threads"))
            .unwrap()
            .flatten()
        {
            if file.file_type().unwrap().is_file() {
                std::fs::copy(file.path(), threads.join(file.file_name())).unwrap();
            }
        }
        let (mut store, _) = ThreadStore::open(crashed.path(), Timestamp::now()).unwrap();
        let (thread, _) = store.load(&table.thread(), Timestamp::now()).unwrap();
        let messages = thread.messages();
        assert_eq!(
            messages[0].content(),
            "@ann go",
            "the person's message was durable before the request"
        );
        if messages
            .get(1)
            .is_some_and(|m| m.content() == "what had arrived")
        {
            assert_eq!(messages[1].status(), Status::Cancelled);
            break;
        }
        assert!(
            Instant::now() < deadline,
            "the partial reply never reached the disk: {messages:?}"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_second_process_reads_works_in_memory_and_says_so() {
    let table = Table::open(ANSWER);
    table.say("@ann hello");
    assert!(table.turn_ended());
    let (second, handle, events, snapshot) = start(table.home.path());
    assert!(snapshot.read_only.is_some());
    assert_eq!(snapshot.threads.len(), 1);
    handle
        .send(Intent::Send(host::SendMessage {
            thread: None,
            ..host::SendMessage::chat("x".into(), "@bob hi")
        }))
        .unwrap();
    wait(&events, "an answer in memory", |event| {
        matches!(event, Event::TurnEnded { ok: true, .. }).then_some(())
    });
    second.shutdown();
    assert_eq!(
        table.fresh_snapshot().threads.len(),
        1,
        "the second process has written nothing"
    );
}

#[test]
fn a_corrupt_thread_is_put_aside_named_and_stops_nothing() {
    let mut table = Table::open(ANSWER);
    table.say("@ann hello");
    assert!(table.turn_ended());
    let broken = table.home.path().join("threads").join("broken.json");
    table.host.take().unwrap().shutdown();
    std::fs::write(&broken, b"{ this is no thread").unwrap();
    table.restart();
    let notice = table
        .snapshot
        .notices
        .iter()
        .find(|n| n.text.contains("broken"))
        .expect("a notice names the file");
    assert!(matches!(
        notice.severity,
        Severity::Warning | Severity::Error
    ));
    assert!(!broken.exists());
    assert_eq!(table.snapshot.current.messages.len(), 2);
}

#[cfg(unix)]
#[test]
fn a_disk_that_refuses_is_a_lasting_notice_and_the_thread_goes_on_in_memory() {
    use std::os::unix::fs::PermissionsExt;
    if is_root_and_ignores_modes() {
        println!("skipped: this process may write everywhere, so no folder refuses it");
        return;
    }
    let table = Table::open(ANSWER);
    let threads = table.home.path().join("threads");
    std::fs::set_permissions(&threads, std::fs::Permissions::from_mode(0o500)).unwrap();
    table.say("@ann hello");
    let notice = table.wait("the notice", |event| match event {
        Event::Notices(notices) => notices
            .iter()
            .find(|n| n.text.contains("Not saved"))
            .cloned(),
        _ => None,
    });
    assert!(notice.is_persistent && notice.severity == Severity::Error);
    assert!(table.turn_ended());
    assert_eq!(table.messages().len(), 2);
    std::fs::set_permissions(&threads, std::fs::Permissions::from_mode(0o700)).unwrap();
    table.wait("the notice to go", |event| match event {
        Event::Notices(notices) => notices
            .iter()
            .all(|n| !n.text.contains("Not saved"))
            .then_some(()),
        _ => None,
    });
}

#[cfg(unix)]
fn is_root_and_ignores_modes() -> bool {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o500)).unwrap();
    std::fs::write(folder.path().join("x"), "").is_ok()
}

#[test]
fn a_broken_settings_file_costs_only_what_is_broken_in_it() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(
        home.path().join("settings.toml"),
        "[router]\ndefault_mode = \"x\"\nnew = 1\n[prompt\n",
    )
    .unwrap();
    let host = host::Host::start(options(home.path())).unwrap();
    let handle = host.handle();
    let events = handle.subscribe(|| {});
    handle.send(Intent::Ready).unwrap();
    let problems = wait(&events, "a snapshot", |event| match event {
        Event::Snapshot(snapshot) => Some(snapshot.settings_problems.clone()),
        _ => None,
    });
    assert!(
        problems[0].to_string().contains("settings.toml:4"),
        "{problems:?}"
    );
}

#[test]
fn deleted_threads_come_back() {
    let table = Table::open(ANSWER);
    table.say("@ann hello");
    assert!(table.turn_ended());
    let thread = table.thread();
    table.intent(Intent::DeleteThread(thread.clone()));
    table.wait("an empty list", |event| {
        matches!(event, Event::Threads(list) if list.is_empty()).then_some(())
    });
    table.intent(Intent::RestoreThread(thread.clone()));
    let back = table.wait("the thread", |event| match event {
        Event::ThreadOpened(opened) if opened.id == thread => Some(opened.clone()),
        _ => None,
    });
    assert_eq!(back.messages.len(), 2);
}
