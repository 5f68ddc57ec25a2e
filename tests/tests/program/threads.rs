//! `folkmoot thread`: what lies in the data folder, without a window.

use folkmoot_tests::{DataFolder, ModelServer, Outcome, folkmoot};
use serde_json::{Value, json};

struct Table {
    home: DataFolder,
    _server: ModelServer,
}

impl Table {
    fn open() -> Self {
        let server = ModelServer::play("[[step]]\nreply = \"an answer with `code`\"");
        Self {
            home: DataFolder::for_server(&server),
            _server: server,
        }
    }

    fn say(&self, text: &str) -> String {
        folkmoot(&self.home)
            .args(["ask", "--json", text])
            .run()
            .thread_id()
    }

    fn thread(&self, args: &[&str]) -> Outcome {
        folkmoot(&self.home).args(["thread"]).args(args).run()
    }

    fn listed(&self) -> Vec<String> {
        let rows = self.thread(&["list", "--json"]).json();
        let rows = rows.as_array().expect("a list");
        rows.iter()
            .filter_map(|row| row["id"].as_str().map(str::to_owned))
            .collect()
    }
}

#[test]
fn the_list_shows_threads_last_used_first_with_title_time_and_length() {
    let table = Table::open();
    assert_eq!(table.thread(&["list", "--json"]).json(), json!([]));
    assert_eq!(table.thread(&["list"]).stdout, "");
    let (first, second) = (
        table.say("the first matter"),
        table.say("the second matter"),
    );
    let rows = table.thread(&["list", "--json"]).json();
    assert_eq!(rows[0]["id"], second.as_str());
    assert_eq!(rows[1]["id"], first.as_str());
    assert_eq!(rows[1]["title"], "the first matter");
    assert_eq!(rows[1]["messages"], 2);
    let fields: Vec<&String> = rows[0].as_object().expect("an object").keys().collect();
    assert_eq!(fields, ["id", "title", "updatedAt", "messages"]);
    assert!(rows[0]["updatedAt"].as_str() >= rows[1]["updatedAt"].as_str());
    let text = table.thread(&["list"]).stdout;
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(
        text.lines()
            .next()
            .is_some_and(|l| l.starts_with(&second) && l.ends_with("the second matter"))
    );
    folkmoot(&table.home)
        .args(["ask", "--thread", &first[..first.len() - 1], "more"])
        .run();
    assert_eq!(table.listed(), [first, second]);
}

#[test]
fn a_thread_is_shown_as_text_and_as_the_files_json() {
    let table = Table::open();
    let id = table.say("what is larch?");
    let text = table.thread(&["show", &id]).stdout;
    assert!(
        text.contains("what is larch?") && text.contains("an answer with `code`"),
        "{text}"
    );
    let shown = table.thread(&["show", &id, "--json"]).json();
    assert_eq!(shown["version"], 1, "{shown}");
    assert_eq!(shown["id"], id.as_str());
    let file = std::fs::read(table.home.thread_path(&id)).expect("the thread's file");
    let file: Value = serde_json::from_slice(&file).expect("JSON");
    assert_eq!(shown, file);
}

#[test]
fn the_beginning_of_an_id_is_enough_where_it_is_the_only_one() {
    let table = Table::open();
    let (first, second) = (table.say("one"), table.say("two"));
    let shared = first
        .chars()
        .zip(second.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let found = table.thread(&["show", "--json", &first[..=shared]]).json();
    assert_eq!(found["id"], first.as_str());
    let several = table.thread(&["show", &first[..shared]]);
    assert_eq!(several.code, Some(2), "{several}");
    assert!(
        several.stderr.contains("several threads begin with"),
        "{several}"
    );
    for wrong in ["zzz", "", "../settings", "*"] {
        for command in ["show", "export", "fork", "delete"] {
            let outcome = table.thread(&[command, wrong]);
            assert_eq!(outcome.code, Some(2), "{command} {wrong:?}: {outcome}");
            assert!(
                outcome.stderr.contains("thread list"),
                "{command} {wrong:?}: {outcome}"
            );
        }
    }
    assert_eq!(table.listed().len(), 2);
}

#[test]
fn a_thread_is_exported_as_markdown_and_json() {
    let table = Table::open();
    let id = table.say("what is larch?");
    let markdown = table.thread(&["export", &id]);
    assert_eq!(markdown.code, Some(0), "{markdown}");
    assert!(markdown.stdout.contains("what is larch?"), "{markdown}");
    assert_eq!(
        table
            .thread(&["export", &id, "--format", "markdown"])
            .stdout,
        markdown.stdout
    );
    let json = table.thread(&["export", &id, "--format", "json"]).json();
    assert_eq!(json["messages"][1]["content"], "an answer with `code`");
    let wrong = table.thread(&["export", &id, "--format", "pdf"]);
    assert_eq!(wrong.code, Some(2), "{wrong}");
    assert!(wrong.stderr.contains("markdown"), "{wrong}");
}

#[test]
fn a_fork_shares_messages_up_to_a_number_and_leaves_the_thread_alone() {
    let table = Table::open();
    let id = table.say("one");
    folkmoot(&table.home)
        .args(["ask", "--thread", &id, "two"])
        .run();
    let before = std::fs::read(table.home.thread_path(&id)).expect("the file");
    let all = table.thread(&["fork", &id]).stdout.trim().to_owned();
    assert_eq!(
        table.thread(&["show", "--json", &all]).json()["messages"]
            .as_array()
            .map(Vec::len),
        Some(4)
    );
    let part = table
        .thread(&["fork", &id, "--at", "1"])
        .stdout
        .trim()
        .to_owned();
    let shown = table.thread(&["show", "--json", &part]).json();
    assert_eq!(
        shown["messages"].as_array().map(Vec::len),
        Some(2),
        "{shown}"
    );
    assert_eq!(shown["forkedFrom"], json!({"threadId": id, "seq": 1}));
    assert_eq!(
        std::fs::read(table.home.thread_path(&id)).expect("the file"),
        before
    );
    let beyond = table.thread(&["fork", &id, "--at", "99"]);
    assert_eq!(beyond.code, Some(2), "{beyond}");
    assert!(beyond.stderr.contains("message 3"), "{beyond}");
    assert_eq!(table.listed().len(), 3);
}

#[test]
fn a_deleted_thread_is_out_of_the_list_and_comes_back_whole() {
    let table = Table::open();
    let id = table.say("one");
    let before = table.thread(&["show", "--json", &id]).json();
    let deleted = table.thread(&["delete", &id[..id.len() - 1]]);
    assert_eq!(deleted.code, Some(0), "{deleted}");
    assert!(
        deleted
            .stdout
            .contains(&format!("folkmoot thread restore {id}")),
        "{deleted}"
    );
    assert_eq!(table.listed(), Vec::<String>::new());
    assert_eq!(table.thread(&["show", &id]).code, Some(2));
    let asked = folkmoot(&table.home)
        .args(["ask", "--thread", &id, "more"])
        .run();
    assert_eq!(asked.code, Some(2), "{asked}");
    let other = table.say("something else");
    assert_ne!(other, id, "the id stays free for the thread to come back");
    let restored = table.thread(&["restore", &id]);
    assert_eq!(restored.code, Some(0), "{restored}");
    assert_eq!(table.thread(&["show", "--json", &id]).json(), before);
    assert_ne!(table.thread(&["restore", "never-there"]).code, Some(0));
}

#[test]
fn a_damaged_thread_is_put_aside_named_and_stops_nothing() {
    let table = Table::open();
    let (good, bad) = (table.say("good"), table.say("bad"));
    let garbage = b"{\"version\": 1, \"id\": \"x\", \"messages\": [tru";
    std::fs::write(table.home.thread_path(&bad), garbage).expect("a file");
    let listed = table.thread(&["list", "--json"]);
    assert_eq!(listed.code, Some(0), "{listed}");
    assert!(
        listed.stderr.contains(&bad) && listed.stderr.contains(".corrupt-"),
        "{listed}"
    );
    assert_eq!(listed.json()[0]["id"], good.as_str());
    assert_eq!(listed.json().as_array().map(Vec::len), Some(1));
    let kept = table
        .home
        .files()
        .into_iter()
        .find(|path| path.to_string_lossy().contains(".corrupt-"));
    let kept = std::fs::read(kept.expect("the damaged file is kept")).expect("a file");
    assert_eq!(kept, garbage);
    let again = table.thread(&["list", "--json"]);
    assert_eq!(again.stderr, "", "it is told once");
    assert_eq!(
        folkmoot(&table.home).args(["ask", "hello"]).run().code,
        Some(0)
    );
}

#[test]
fn a_reader_that_goes_away_early_is_no_failure() {
    let table = Table::open();
    for n in 0..3 {
        table.say(&format!("matter {n}"));
    }
    let id = table.say("last");
    for args in [
        &["thread", "list"][..],
        &["thread", "show", &id],
        &["thread", "export", &id],
        &["man"],
    ] {
        let quoted = args.join(" ");
        let program = folkmoot_tests::folkmoot_path().display();
        let pipe = format!("{{ '{program}' {quoted}; echo code $? >&2; }} | true");
        let output = std::process::Command::new("bash")
            .args(["-c", &pipe])
            .env("FOLKMOOT_HOME", table.home.path())
            .output()
            .expect("bash runs");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(stderr.trim(), "code 0", "{args:?}");
    }
}
