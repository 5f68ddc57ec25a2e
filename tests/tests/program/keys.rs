//! `folkmoot key`: keys go in and never come out.

use std::os::unix::fs::PermissionsExt;

use folkmoot_tests::{DataFolder, ModelServer, Outcome, folkmoot};

const KEY: &str = "sk-PLANTED-0123456789abcdef";

fn with_vault(server: &ModelServer) -> DataFolder {
    let home = DataFolder::new();
    home.write_settings(&format!(
        "[[endpoints]]\nid = \"keyed\"\nurl = \"{}\"\nauth = \"vault\"\n\
         [[participants]]\nid = \"ann\"\ndisplay_name = \"Ann\"\nendpoint = \"keyed\"\nmodel = \"model-a\"\n",
        server.base_url()
    ));
    home
}

fn assert_no_key(home: &DataFolder, outcome: &Outcome) {
    assert!(
        !outcome.stdout.contains(KEY) && !outcome.stderr.contains(KEY),
        "{outcome}"
    );
    for path in home.files() {
        let bytes = std::fs::read(&path).expect("a file");
        let found = bytes
            .windows(KEY.len())
            .any(|window| window == KEY.as_bytes());
        assert!(!found, "the key lies open in {}", path.display());
    }
}

#[test]
fn a_key_goes_in_is_used_and_is_never_seen_again() {
    let server = ModelServer::play("[[step]]\nreply = \"hi\"");
    let home = with_vault(&server);
    let before = folkmoot(&home).args(["ask", "--json", "hello"]).run();
    assert_eq!(before.code, Some(1), "{before}");
    let error = before.reply("ann")["error"].to_string();
    assert!(error.contains("folkmoot key set keyed"), "{error}");
    assert!(server.chats().is_empty());

    let set = folkmoot(&home)
        .args(["key", "set", "keyed"])
        .input(format!("  {KEY}\n"))
        .run();
    assert_eq!(
        (set.code, set.stdout.as_str(), set.stderr.as_str()),
        (Some(0), "", "")
    );
    assert_no_key(&home, &set);
    let listed = folkmoot(&home).args(["key", "list"]).run();
    assert_eq!(listed.stdout, "keyed\n");
    for name in ["api-keys.enc", "vault.key"] {
        let mode = std::fs::metadata(home.path().join("store").join(name))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }

    let asked = folkmoot(&home).args(["ask", "--json", "hello"]).run();
    assert_eq!(asked.code, Some(0), "{asked}");
    let sent = server.wait_for_chat(1);
    assert_eq!(
        sent.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert!(!sent.body.to_string().contains(KEY));
    assert_no_key(&home, &asked);
    assert_no_key(&home, &folkmoot(&home).args(["models", "--json"]).run());

    let removed = folkmoot(&home).args(["key", "remove", "keyed"]).run();
    assert_eq!(removed.code, Some(0), "{removed}");
    assert_eq!(folkmoot(&home).args(["key", "list"]).run().stdout, "");
    assert_eq!(
        folkmoot(&home).args(["ask", "--json", "hello"]).run().code,
        Some(1)
    );
    assert_eq!(server.chats().len(), 1);
}

#[test]
fn a_provider_that_repeats_the_key_in_its_error_is_not_quoted() {
    let step = format!(
        "[[step]]\nstatus = 401\nbody = {{ error = {{ message = \"no such key {KEY} here\" }} }}"
    );
    let server = ModelServer::play(&step);
    let home = with_vault(&server);
    folkmoot(&home)
        .args(["key", "set", "keyed"])
        .input(KEY)
        .run();
    let outcome = folkmoot(&home).args(["ask", "--json", "hello"]).run();
    let error = outcome.reply("ann")["error"].to_string();
    assert!(error.contains("no such key"), "{error}");
    assert_no_key(&home, &outcome);
}

#[test]
fn what_is_no_key_is_not_stored() {
    let server = ModelServer::play("[[step]]\nreply = \"hi\"");
    let home = with_vault(&server);
    for wrong in ["", " \n", "two words", "two\nlines"] {
        let outcome = folkmoot(&home)
            .args(["key", "set", "keyed"])
            .input(wrong)
            .run();
        assert_eq!(outcome.code, Some(2), "{wrong:?}: {outcome}");
        assert!(
            outcome.stderr.contains("nothing was stored"),
            "{wrong:?}: {outcome}"
        );
    }
    let unknown = folkmoot(&home)
        .args(["key", "set", "other"])
        .input(KEY)
        .run();
    assert_eq!(unknown.code, Some(2), "{unknown}");
    assert!(
        unknown.stderr.contains("no endpoint other") && unknown.stderr.contains("keyed"),
        "{unknown}"
    );
    assert_no_key(&home, &unknown);
    assert_eq!(folkmoot(&home).args(["key", "list"]).run().stdout, "");
    let as_argument = folkmoot(&home).args(["key", "set", "keyed", KEY]).run();
    assert_eq!(
        as_argument.code,
        Some(2),
        "a key on the command line is seen by every process"
    );
}

#[test]
fn subscriptions_only_makes_no_keyed_request() {
    let server = ModelServer::play("[[step]]\nreply = \"hi\"");
    let home = DataFolder::for_url(&server.base_url(), "[providers]\nsubscriptions_only = true");
    let outcome = folkmoot(&home).args(["ask", "--json", "hello"]).run();
    assert_ne!(outcome.code, Some(0), "{outcome}");
    assert!(server.requests().is_empty(), "{:?}", server.requests());
}

#[test]
fn an_endpoint_that_takes_no_key_and_a_key_that_is_none_are_refused() {
    let server = ModelServer::play("[[step]]\nreply = \"hi\"");
    let home = DataFolder::for_server(&server);
    let set = |home: &DataFolder, endpoint: &str, key: &str| {
        folkmoot(home)
            .args(["key", "set", endpoint])
            .input(key.to_owned())
            .run()
    };
    let refused = set(&home, "script", KEY);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("auth = \"vault\""), "{refused}");
    assert_no_key(&home, &refused);
    let home = with_vault(&server);
    for key in [
        "",
        "two words",
        "sk-\u{1b}[2J",
        "sk-ключ",
        &"k".repeat(20 << 10),
    ] {
        let refused = set(&home, "keyed", key);
        assert_eq!(refused.code, Some(2), "{refused}");
    }
    assert_eq!(folkmoot(&home).args(["key", "list"]).run().stdout, "");
}
