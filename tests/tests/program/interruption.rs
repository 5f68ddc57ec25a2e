//! Ctrl+C, a reader that goes away, and two processes on one data folder.

use folkmoot_tests::{DataFolder, ModelServer, folkmoot};

const GATED: &str = r#"
[[step]]
contains = "gated"
model = "model-a"
reply = [{ content = "the first half" }, { gate = "rest", content = " and the rest" }]
[[step]]
model = "model-b"
reply = "Bob's answer"
[[step]]
reply = "quick"
"#;

#[test]
fn ctrl_c_keeps_the_partial_skips_the_rest_and_hangs_up() {
    let server = ModelServer::play(GATED);
    let home = DataFolder::for_server(&server);
    let mut asking = folkmoot(&home)
        .args(["ask", "--json", "--to", "all", "gated"])
        .start();
    let thread = asking.wait_for_event("thread")["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    asking.wait_for_event("delta");
    server.wait_at_gate("rest");
    asking.interrupt();
    let outcome = asking.finish();
    assert_eq!(outcome.code, Some(130), "{outcome}");
    server.wait_for_disconnect(1);
    let message = outcome.reply("ann");
    assert_eq!(
        (&message["status"], &message["content"]),
        (&"cancelled".into(), &"the first half".into())
    );
    assert_eq!(outcome.event("done")["ok"], false);
    assert_eq!(server.chats().len(), 1, "the queued seat is skipped");
    let shown = folkmoot(&home)
        .args(["thread", "show", "--json", &thread])
        .run()
        .json();
    assert_eq!(shown["messages"][1]["status"], "cancelled", "{shown}");
    assert_eq!(shown["messages"][1]["content"], "the first half", "{shown}");
    assert_eq!(
        shown["messages"].as_array().map(Vec::len),
        Some(2),
        "{shown}"
    );
    let text = folkmoot(&home)
        .args(["thread", "show", &thread])
        .run()
        .stdout;
    assert!(
        text.contains("the first half") && text.contains("stopped"),
        "{text}"
    );
}

#[test]
fn ctrl_c_before_the_first_word_ends_the_wait() {
    let server = ModelServer::play("[[step]]\nno_first_byte = true");
    let home = DataFolder::for_server(&server);
    let mut asking = folkmoot(&home).args(["ask", "--json", "hello"]).start();
    asking.wait_for_event("start");
    server.wait_for_chat(1);
    asking.interrupt();
    assert_eq!(asking.finish().code, Some(130));
    server.wait_for_disconnect(1);
}

#[test]
fn ctrl_c_while_endpoints_are_asked_sends_nothing() {
    // The seats follow from the list of models, which doesn't come.
    let server = ModelServer::play(
        "[[step]]\nendpoint = \"models\"\nno_first_byte = true\n[[step]]\nreply = \"no\"",
    );
    let home = DataFolder::new();
    home.write_settings(&format!(
        "[[endpoints]]\nid = \"script\"\nurl = \"{}\"\n",
        server.base_url()
    ));
    let mut asking = folkmoot(&home).args(["ask", "--json", "hello"]).start();
    server.wait_for_list();
    asking.interrupt();
    assert!(asking.is_alive() || server.chats().is_empty());
    let outcome = asking.finish();
    assert_eq!(outcome.code, Some(130), "{outcome}");
    assert!(server.chats().is_empty());
    let listed = folkmoot(&home)
        .args(["thread", "list", "--json"])
        .run()
        .json();
    assert_eq!(listed, serde_json::json!([]), "no message was begun");
}

#[test]
fn a_second_process_reads_only_and_says_so() {
    let server = ModelServer::play(GATED);
    let home = DataFolder::for_server(&server);
    let mut first = folkmoot(&home)
        .args(["ask", "--json", "--to", "ann", "gated"])
        .start();
    server.wait_at_gate("rest");
    let thread = first.wait_for_event("thread")["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    first.wait_for_event("delta");

    let second = folkmoot(&home)
        .args(["ask", "--json", "--to", "ann", "meanwhile"])
        .run();
    assert_eq!(second.code, Some(0), "the answer still comes: {second}");
    assert_eq!(second.reply("ann")["content"], "quick");
    let warnings = second.events_of("warning");
    let told = warnings
        .iter()
        .any(|w| w["text"].to_string().contains("will not be saved"));
    assert!(told, "{second}");
    let unsaved = second.thread_id();

    let shown = folkmoot(&home)
        .args(["thread", "show", "--json", &thread])
        .run();
    assert_eq!(shown.code, Some(0), "reading works: {shown}");
    let deleted = folkmoot(&home).args(["thread", "delete", &thread]).run();
    assert_eq!(deleted.code, Some(1), "writing doesn't: {deleted}");

    server.open_gate("rest");
    let outcome = first.finish();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(
        outcome.reply("ann")["content"],
        "the first half and the rest"
    );
    let listed = folkmoot(&home).args(["thread", "list", "--json"]).run();
    assert!(
        listed.stdout.contains(&thread) && !listed.stdout.contains(&unsaved),
        "{listed}"
    );
}
