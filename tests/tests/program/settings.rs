//! Settings that are wrong are told of and don't stop anything.

use folkmoot_tests::{DataFolder, ModelServer, folkmoot};

const ANSWER: &str = "[[step]]\nreply = \"fine\"";

#[test]
fn a_mistake_in_the_settings_warns_with_its_line_and_the_answer_comes() {
    let server = ModelServer::play(ANSWER);
    let home = DataFolder::for_url(
        &server.base_url(),
        "[prompt]\nsoft_limit_char = 5\n[router]\ndefault_mode = \"loud\"",
    );
    let outcome = folkmoot(&home).args(["ask", "--json", "hello"]).run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let warnings: Vec<String> = outcome
        .events_of("warning")
        .iter()
        .map(|w| w["text"].to_string())
        .collect();
    let text = std::fs::read_to_string(home.settings_path()).expect("settings");
    for wrong in ["soft_limit_char", "default_mode"] {
        let line = 1 + text
            .lines()
            .position(|line| line.starts_with(wrong))
            .expect("it is there");
        let place = format!("settings.toml:{line}");
        assert!(
            warnings
                .iter()
                .any(|w| w.contains(&place) && w.contains(wrong)),
            "{place}: {warnings:?}"
        );
    }
    let text = folkmoot(&home).args(["ask", "hello"]).run();
    assert!(text.stderr.contains("settings.toml:"), "{text}");
    assert_eq!(text.stdout, "[Ann]\nfine\n");
}

#[test]
fn settings_that_are_no_toml_ask_nobody_and_say_where_they_are_wrong() {
    let home = DataFolder::new();
    home.write_settings("[[participants\nid = 1\n");
    let outcome = folkmoot(&home).args(["ask", "--json", "hello"]).run();
    assert_eq!(outcome.code, Some(2), "{outcome}");
    let why = &outcome.stderr;
    assert!(
        why.contains("settings.toml:3") && why.contains("not valid TOML"),
        "{outcome}"
    );
    assert_eq!(outcome.event("done")["ok"], false);
    assert!(outcome.events_of("start").is_empty(), "{outcome}");
}

#[test]
fn no_enabled_seat_is_a_usage_error() {
    let server = ModelServer::play(ANSWER);
    let home = DataFolder::new();
    home.write_settings(&format!(
        "[[endpoints]]\nid = \"script\"\nurl = \"{}\"\n\
         [[participants]]\nid = \"ann\"\nmodel = \"m\"\nendpoint = \"script\"\nenabled = false\n",
        server.base_url()
    ));
    let outcome = folkmoot(&home).args(["ask", "--json", "hello"]).run();
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert_eq!(outcome.event("done")["ok"], false);
    assert!(outcome.stderr.contains("no seat is enabled"), "{outcome}");
}

#[test]
fn round_robin_lets_the_seats_take_turns() {
    let server = ModelServer::play(ANSWER);
    let home = DataFolder::for_url(
        &server.base_url(),
        "[router]\ndefault_mode = \"roundRobin\"",
    );
    let first = folkmoot(&home).args(["ask", "--json", "one"]).run();
    let thread = first.thread_id();
    let second = folkmoot(&home)
        .args(["ask", "--json", "--thread", &thread, "two"])
        .run();
    let third = folkmoot(&home)
        .args(["ask", "--json", "--thread", &thread, "three"])
        .run();
    let seats = [first, second, third].map(|outcome| outcome.event("start")["seat"].clone());
    assert_eq!(seats, ["ann", "bob", "ann"]);
}

#[test]
fn a_project_that_is_not_trusted_has_no_say() {
    let server = ModelServer::play(ANSWER);
    let home = DataFolder::for_server(&server);
    let project = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(project.path().join(".folkmoot")).expect("a folder");
    let own = "[[participants]]\nid = \"mallory\"\nendpoint = \"script\"\nmodel = \"evil\"\n";
    std::fs::write(project.path().join(".folkmoot/settings.toml"), own).expect("settings");
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "hello"])
        .in_folder(project.path())
        .run();
    assert_eq!(outcome.event("start")["seat"], "ann", "{outcome}");
}
