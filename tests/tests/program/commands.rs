//! `models`, `rehearse`, completions, the manual page, help, version, and command lines that are wrong.

use std::io::{Read, Write};
use std::net::TcpStream;

use folkmoot_tests::{DataFolder, ModelServer, folkmoot, rehearse};

#[test]
fn models_lists_what_each_endpoint_offers_and_how_it_is() {
    let server = ModelServer::play(
        "[[models]]\nid = \"m-one\"\n[[models]]\nid = \"m-two\"\n[[step]]\nreply = \"x\"",
    );
    let home = DataFolder::for_server(&server);
    let text = folkmoot(&home).args(["models"]).run();
    assert_eq!(text.code, Some(0), "{text}");
    assert!(
        text.stdout.contains("m-one")
            && text.stdout.contains("m-two")
            && text.stdout.contains("ready"),
        "{text}"
    );
    assert!(
        text.stdout.contains("not reachable") && text.stdout.contains("start CLIProxyAPI"),
        "{text}"
    );
    let json = folkmoot(&home).args(["models", "--json"]).run().json();
    let script = json
        .as_array()
        .expect("a list")
        .iter()
        .find(|e| e["id"] == "script")
        .expect("the endpoint");
    assert_eq!(script["models"], serde_json::json!(["m-one", "m-two"]));
    assert_eq!(script["state"], "ready");
}

#[test]
fn models_fails_when_no_endpoint_answers() {
    let home = DataFolder::for_url("http://127.0.0.1:9/v1", "");
    let outcome = folkmoot(&home).args(["models"]).run();
    assert_eq!(outcome.code, Some(1), "{outcome}");
}

fn request(address: &str, text: &str) -> String {
    let address = address
        .trim_start_matches("http://")
        .trim_end_matches("/v1");
    let mut socket = TcpStream::connect(address).expect("the server listens");
    socket
        .write_all(text.replace("HOST", address).as_bytes())
        .expect("the server reads");
    let mut answer = String::new();
    socket
        .read_to_string(&mut answer)
        .expect("the server answers");
    answer
}

fn chat(address: &str, model: &str) -> String {
    let body = format!(
        "{{\"model\":\"{model}\",\"messages\":[{{\"role\":\"user\",\"content\":\"hello\"}}]}}"
    );
    let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n";
    request(
        address,
        &format!(
            "{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ),
    )
}

fn address_of(line: &str) -> String {
    let address = line
        .strip_prefix("rehearsal listening on ")
        .unwrap_or_else(|| panic!("{line}"));
    assert!(
        address.starts_with("http://127.0.0.1:") && address.ends_with("/v1"),
        "{line}"
    );
    address.to_owned()
}

#[test]
fn rehearse_serves_a_script_or_the_demo_and_prints_where() {
    let home = DataFolder::new();
    let script = home.path().join("script.toml");
    std::fs::write(
        &script,
        "[[step]]\nmodel = \"m\"\nreply = \"from the script\"\n",
    )
    .expect("a script");
    let path = script.display().to_string();
    let servers = [
        (
            folkmoot(&home).args(["rehearse", &path]),
            "m",
            "from the script",
        ),
        (rehearse().args([&path]), "m", "from the script"),
        (
            folkmoot(&home).args(["rehearse"]),
            "demo-scout",
            "\"content\"",
        ),
        (rehearse().args(["--demo"]), "demo-scout", "\"content\""),
    ];
    for (program, model, says) in servers {
        let mut serving = program.start();
        let address = address_of(&serving.wait_for_line("the address", |_| true));
        let list = request(
            &address,
            "GET /v1/models HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n",
        );
        assert!(list.contains(model), "{list}");
        let answer = chat(&address, model);
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains(says),
            "{answer}"
        );
        serving.interrupt();
        let outcome = serving.finish();
        assert_eq!(outcome.code, Some(0), "{outcome}");
        assert_eq!(
            outcome.stdout.lines().count(),
            1,
            "exactly one line: {outcome}"
        );
    }
}

#[test]
fn a_script_with_a_mistake_is_refused_with_file_and_line() {
    let home = DataFolder::new();
    let script = home.path().join("script.toml");
    std::fs::write(
        &script,
        "[[step]]\nreply = \"x\"\n[[step]]\nreplay = \"typo\"\n",
    )
    .expect("a script");
    let path = script.display().to_string();
    for outcome in [
        folkmoot(&home).args(["rehearse", &path]).run(),
        rehearse().args([&path]).run(),
    ] {
        assert!(outcome.code.is_some_and(|code| code != 0), "{outcome}");
        assert!(
            outcome.stderr.contains("line 4") && outcome.stderr.contains(&path),
            "{outcome}"
        );
        assert_eq!(outcome.stdout, "");
    }
    let missing = folkmoot(&home).args(["rehearse", "no-such.toml"]).run();
    assert_eq!(missing.code, Some(2), "{missing}");
    assert!(missing.stderr.contains("no-such.toml"), "{missing}");
}

#[test]
fn a_port_that_is_taken_is_told() {
    let server = ModelServer::play("[[step]]\nreply = \"x\"");
    let port = server
        .base_url()
        .trim_end_matches("/v1")
        .rsplit(':')
        .next()
        .expect("a port")
        .to_owned();
    let home = DataFolder::new();
    let outcome = folkmoot(&home).args(["rehearse", "--port", &port]).run();
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(outcome.stderr.contains("in use"), "{outcome}");
}

#[test]
fn help_version_completions_and_the_manual_page_name_every_subcommand() {
    let home = DataFolder::new();
    let version = folkmoot(&home).args(["--version"]).run();
    assert_eq!(version.code, Some(0));
    assert_eq!(
        version.stdout,
        format!("folkmoot {}\n", env!("CARGO_PKG_VERSION"))
    );
    let subcommands = ["ask", "thread", "models", "key", "rehearse", "completions"];
    let help = folkmoot(&home).args(["--help"]).run();
    let man = folkmoot(&home).args(["man"]).run();
    assert!(man.stdout.contains(".TH folkmoot 1"), "{man}");
    for text in [&help, &man] {
        assert_eq!(text.code, Some(0), "{text}");
        assert_eq!(text.stderr, "");
        for name in subcommands {
            assert!(text.stdout.contains(name), "{name} is not in {text}");
        }
    }
    assert!(
        help.stdout.contains("FOLKMOOT_HOME") && help.stdout.contains("Examples:"),
        "{help}"
    );
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folkmoot(&home).args(["completions", shell]).run();
        assert_eq!(script.code, Some(0), "{shell}: {script}");
        for name in subcommands {
            assert!(script.stdout.contains(name), "{shell} doesn't know {name}");
        }
    }
    let ask = folkmoot(&home).args(["ask", "--help"]).run();
    for option in ["--to", "--thread", "--file", "--json", "--bonfire"] {
        assert!(ask.stdout.contains(option), "{ask}");
    }
    assert!(
        home.files()
            .iter()
            .all(|path| path.ends_with("settings.toml")),
        "help writes nothing"
    );
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    let home = DataFolder::new();
    let wrong: [&[&str]; 6] = [
        &["ask", "--loud", "x"],
        &["thread"],
        &["thread", "fly"],
        &["thread", "show"],
        &["completions", "tcsh"],
        &["rehearse", "--port", "70000"],
    ];
    for args in wrong {
        let outcome = folkmoot(&home).args(args).run();
        assert_eq!(outcome.code, Some(2), "{args:?}: {outcome}");
        assert!(
            outcome.stderr.contains("Usage") || outcome.stderr.contains("error"),
            "{args:?}: {outcome}"
        );
        assert_eq!(outcome.stdout, "", "{args:?}");
    }
}

#[test]
fn without_a_display_the_window_says_what_works_instead() {
    let home = DataFolder::new();
    let outcome = folkmoot(&home).run();
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(
        outcome.stderr.contains("no display") && outcome.stderr.contains("folkmoot ask"),
        "{outcome}"
    );
}

#[test]
fn a_data_folder_that_cannot_be_made_is_told_with_its_path() {
    let home = DataFolder::new();
    let in_the_way = home.path().join("file");
    std::fs::write(&in_the_way, "").expect("a file");
    for args in [&["thread", "list"][..], &["ask", "hello"]] {
        let outcome = folkmoot(&home)
            .env("FOLKMOOT_HOME", in_the_way.join("data"))
            .args(args)
            .run();
        assert!(
            outcome.stderr.contains(&in_the_way.display().to_string()),
            "{args:?}: {outcome}"
        );
    }
}

#[test]
fn the_code_graph_of_a_folder_is_asked_from_the_command_line() {
    let home = DataFolder::new();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ts"), "export const one = 1;\n").unwrap();
    let user = "import { one } from './a';\nexport const two = one + 1;\n";
    std::fs::write(folder.path().join("b.ts"), user).unwrap();
    let path = folder.path().to_str().unwrap();
    let asked = folkmoot(&home)
        .args(["graph", "query", path, "--ask", "dependents a.ts", "--json"])
        .run();
    assert!(asked.stdout.contains("b.ts"), "{}", asked.stdout);
    let refused = folkmoot(&home)
        .args(["graph", "query", path, "--ask", "dependents nowhere.ts"])
        .run();
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("nowhere.ts"), "{}", refused.stderr);
}

#[test]
fn a_program_of_code_mode_runs_from_the_command_line() {
    let home = DataFolder::new();
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("p.js");
    std::fs::write(&program, "const xs = [1, 2, 3]; return xs.map(x => x * 2);").unwrap();
    let path = program.to_str().unwrap();
    let ran = folkmoot(&home).args(["code", "run", path, "--json"]).run();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(ran.json()["value"], serde_json::json!([2, 4, 6]));
    let usage = folkmoot(&home).args(["code", "--help"]).run();
    assert!(
        usage.stdout.contains("usage:") || usage.stderr.contains("usage:"),
        "{usage}"
    );
    let wrong = folkmoot(&home).args(["code", "run", "nowhere.js"]).run();
    assert_eq!(wrong.code, Some(2), "{wrong}");
    assert!(wrong.stderr.contains("nowhere.js"), "{wrong}");
}
