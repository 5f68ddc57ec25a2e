//! Endpoints and seats: the demo table, live model lists, settings that change, keys that stay secret.

use host::settings::{EndpointAuth, EndpointSettings, SettingsEdit};
use host::{EndpointState, EndpointStatus, Event, Intent, SeatView, SendMessage};
use models::SecretString;

use crate::table::{Table, is_reply, settings_for, start, wait};

#[test]
fn with_nothing_configured_the_demo_table_answers_and_says_what_it_is() {
    let home = tempfile::tempdir().unwrap();
    let nobody = "[sidecar]\nexternal_url = \"http://127.0.0.1:9\"\n";
    std::fs::write(home.path().join("settings.toml"), nobody).unwrap();
    let (host, handle, events, snapshot) = start(home.path());
    let seats: Vec<SeatView> = if snapshot.seats.is_empty() {
        wait(&events, "the demo seats", |event| match event {
            Event::Seats(seats) if !seats.is_empty() => Some(seats.to_vec()),
            _ => None,
        })
    } else {
        snapshot.seats.to_vec()
    };
    assert_eq!(seats.len(), 2);
    assert!(
        seats
            .iter()
            .all(|s| s.demo_label == Some("Demo: scripted, not an AI"))
    );
    handle
        .send(Intent::Send(SendMessage::chat(
            snapshot.current.id.clone(),
            "@all hello",
        )))
        .unwrap();
    let mut replies = Vec::new();
    let ok = wait(&events, "the turn's end", |event| match event {
        Event::MessageAdded(_, message) => {
            replies.extend(is_reply(message).then(|| message.id().clone()));
            None
        }
        Event::TurnEnded { ok, .. } => Some(*ok),
        _ => None,
    });
    assert!(ok);
    assert_eq!(replies.len(), 2);
    for reply in replies {
        let thread = snapshot.current.id.clone();
        let message = reply.clone();
        handle.send(Intent::Inspect { thread, message }).unwrap();
        let requests = wait(&events, "the inspection", |event| match event {
            Event::Inspection {
                message, requests, ..
            } if *message == reply => Some(requests.clone()),
            _ => None,
        });
        // The demo runs on this machine, and servers there want turns to alternate.
        let roles: Vec<_> = requests[0].messages.iter().map(|m| m.role).collect();
        assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{roles:?}");
    }
    host.shutdown();
}

#[test]
fn a_changed_settings_file_is_followed_without_a_restart() {
    let table = Table::open("[[step]]\nreply = 'x'");
    let text = settings_for(&table.server.base_url(), "");
    let more = format!(
        "{text}[[participants]]\nid = \"cleo\"\nendpoint = \"script\"\nmodel = \"model-c\"\n"
    );
    std::fs::write(table.home.path().join("settings.toml"), more).unwrap();
    table.wait("the third seat", |event| match event {
        Event::Seats(seats) => seats
            .iter()
            .any(|s| s.seat.id.as_str() == "cleo")
            .then_some(()),
        _ => None,
    });
}

#[test]
fn an_edit_in_the_window_is_written_with_comments_kept_and_takes_effect() {
    let table = Table::open_with("[[step]]\nreply = 'x'", "# my proxy\n");
    table.intent(Intent::EditSettings(SettingsEdit::SoftLimitChars(77_000)));
    table.wait("the new settings", |event| match event {
        Event::Settings(settings, _) => (settings.soft_limit_chars == 77_000).then_some(()),
        _ => None,
    });
    let text = std::fs::read_to_string(table.home.path().join("settings.toml")).unwrap();
    assert!(
        text.contains("# my proxy") && text.contains("soft_limit_chars = 77000"),
        "{text}"
    );
}

#[test]
fn a_key_reaches_its_endpoint_and_no_file_event_or_error() {
    const KEY: &str = "sk-planted-key-4711";
    let script = r#"
        [[step]]
        status = 401
        body = { error = { message = "bad key sk-planted-key-4711" } }
    "#;
    let table = Table::open(script);
    let url = url::Url::parse(&table.server.base_url()).unwrap();
    let keyed = EndpointSettings {
        id: "keyed".into(),
        url,
        auth: EndpointAuth::Vault,
    };
    table.intent(Intent::EditSettings(SettingsEdit::PutEndpoint(keyed)));
    table.wait("the endpoint", |event| match event {
        Event::Endpoints(list) => list.iter().any(|e| e.id == "keyed").then_some(()),
        _ => None,
    });
    table.intent(Intent::SetKey {
        endpoint: "keyed".into(),
        key: SecretString::new(KEY.to_owned()),
    });
    table.wait("the key", |event| match event {
        Event::Endpoints(list) => list
            .iter()
            .any(|e| e.id == "keyed" && e.has_key && e.state != EndpointState::Checking)
            .then_some(()),
        _ => None,
    });
    let mut text = std::fs::read_to_string(table.home.path().join("settings.toml")).unwrap();
    text.push_str("[[participants]]\nid = \"kay\"\nendpoint = \"keyed\"\nmodel = \"m\"\n");
    std::fs::write(table.home.path().join("settings.toml"), text).unwrap();
    table.wait("the seat", |event| match event {
        Event::Seats(seats) => seats
            .iter()
            .any(|s| s.seat.id.as_str() == "kay")
            .then_some(()),
        _ => None,
    });
    table.say("@kay hello");
    let error = table.wait("the error", |event| match event {
        Event::MessageChanged(_, message) => message.error().map(str::to_owned),
        _ => None,
    });
    assert!(!error.contains(KEY), "{error}");
    let sent = table.server.requests();
    let chat = sent
        .iter()
        .find(|r| r.path.ends_with("completions"))
        .unwrap();
    assert_eq!(
        chat.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert!(chat.header("user-agent").unwrap().starts_with("folkmoot/"));
    table.fresh_snapshot();
    assert_eq!(
        files_with(table.home.path(), KEY),
        Vec::<std::path::PathBuf>::new()
    );
}

fn files_with(folder: &std::path::Path, needle: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, needle));
        } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(needle) {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_seat_of_the_proxy_waits_for_the_notice_about_terms() {
    let table = Table::open("[[step]]\nreply = 'x'");
    let base = table.server.base_url();
    let home = tempfile::tempdir().unwrap();
    let proxy = base.trim_end_matches("/v1");
    let text = format!(
        "[sidecar]\nexternal_url = \"{proxy}\"\n[[participants]]\nid = \"claude\"\nmodel = \"model-a\"\n"
    );
    std::fs::write(home.path().join("settings.toml"), text).unwrap();
    let (host, handle, events, snapshot) = start(home.path());
    let send = || Intent::Send(SendMessage::chat(snapshot.current.id.clone(), "hello"));
    handle.send(send()).unwrap();
    wait(&events, "the refusal", |event| {
        matches!(event, Event::SendRefused { .. }).then_some(())
    });
    assert!(
        table
            .server
            .requests()
            .iter()
            .all(|r| !r.path.ends_with("completions"))
    );
    handle.send(Intent::DismissTermsNotice).unwrap();
    handle.send(send()).unwrap();
    wait(&events, "the answer", |event| {
        matches!(event, Event::TurnEnded { ok: true, .. }).then_some(())
    });
    let sent = table.server.requests();
    for request in &sent {
        assert_eq!(request.header("authorization"), None);
        assert_eq!(request.header("x-api-key"), None);
    }
    host.shutdown();
}

#[test]
fn a_server_on_this_machine_that_is_started_later_is_found_by_itself() {
    let script = "[[step]]\nmodel = 'model-a'\nreply = 'x'";
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let home = tempfile::tempdir().unwrap();
    let settings = settings_for(&format!("http://127.0.0.1:{port}/v1"), "");
    std::fs::write(home.path().join("settings.toml"), settings).unwrap();
    let (host, _handle, events, snapshot) = start(home.path());
    let has = |endpoints: &[EndpointStatus], state: EndpointState| {
        let is_it = |e: &EndpointStatus| e.id == "script" && e.state == state;
        endpoints.iter().any(is_it)
    };
    let script_is = |state: EndpointState| {
        move |event: &Event| match event {
            Event::Endpoints(endpoints) => has(endpoints, state).then_some(()),
            _ => None,
        }
    };
    if !has(&snapshot.endpoints, EndpointState::Red) {
        wait(&events, "nobody there", script_is(EndpointState::Red));
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = rehearsal::Options {
        port,
        ..rehearsal::Options::default()
    };
    let server = runtime
        .block_on(rehearsal::Rehearsal::start(
            rehearsal::Script::parse(script).unwrap(),
            options,
        ))
        .unwrap();
    wait(&events, "the server", script_is(EndpointState::Green));
    drop(server);
    host.shutdown();
}

#[test]
fn settings_that_come_into_the_open_folder_later_ask_for_trust_and_then_count() {
    let table = Table::open("[[step]]\nmodel = 'model-a'\nreply = 'x'");
    let folder = tempfile::tempdir().unwrap();
    table.intent(Intent::OpenFolder(Some(folder.path().to_owned())));
    table.wait("the folder", |event| match event {
        Event::Folder(Some(_), false) => Some(()),
        _ => None,
    });
    let own = folder.path().join(".folkmoot");
    std::fs::create_dir(&own).unwrap();
    // Long after the folder: it must be watched by then.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let file = own.join("settings.toml");
    std::fs::write(&file, "[prompt]\nsoft_limit_chars = 7000\n").unwrap();
    table.wait("the wish for trust", |event| match event {
        Event::Folder(Some(_), true) => Some(()),
        _ => None,
    });
    let limit_is = |limit: usize| {
        move |event: &Event| match event {
            Event::Settings(settings, _) if settings.soft_limit_chars == limit => Some(()),
            _ => None,
        }
    };
    table.intent(Intent::TrustFolder(folder.path().to_owned()));
    table.wait("its settings", limit_is(7_000));
    std::fs::write(&file, "[prompt]\nsoft_limit_chars = 8000\n").unwrap();
    table.wait("its change", limit_is(8_000));
}
