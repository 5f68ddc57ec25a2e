//! `folkmoot ask --file`: files of the folder as context.

use folkmoot_tests::{DataFolder, ModelServer, folkmoot};

const ANSWER: &str = "[[step]]\nreply = \"seen\"";

#[test]
fn a_file_and_lines_of_a_file_ride_along_and_stay_in_the_thread() {
    let server = ModelServer::play(ANSWER);
    let home = DataFolder::for_server(&server);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("whole.rs"), "fn whole() {}\n").expect("a file");
    std::fs::write(folder.path().join("part.rs"), "one\ntwo\nthree\nfour\n").expect("a file");
    let outcome = folkmoot(&home)
        .args([
            "ask",
            "--json",
            "--file",
            "whole.rs",
            "--file",
            "part.rs:2-3",
            "look",
        ])
        .in_folder(folder.path())
        .run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let prompt = server.wait_for_chat(1).body["messages"].to_string();
    assert!(
        prompt.contains("fn whole() {}") && prompt.contains("whole.rs"),
        "{prompt}"
    );
    assert!(prompt.contains("two\\nthree"), "{prompt}");
    assert!(
        !prompt.contains("four") && !prompt.contains("one\\n"),
        "{prompt}"
    );
    let shown = folkmoot(&home)
        .args(["thread", "show", "--json", &outcome.thread_id()])
        .run()
        .json();
    assert_eq!(
        shown["messages"][0]["contextBlocks"]
            .as_array()
            .map(Vec::len),
        Some(2),
        "{shown}"
    );
}

#[test]
fn a_file_that_is_not_there_is_a_usage_error_that_names_it() {
    let server = ModelServer::play(ANSWER);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home)
        .args(["ask", "--file", "no/such/file.rs", "look"])
        .run();
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("no/such/file.rs"), "{outcome}");
    assert!(server.requests().is_empty());
}

#[test]
fn bytes_that_are_no_text_are_not_attached() {
    let server = ModelServer::play(ANSWER);
    let home = DataFolder::for_server(&server);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("image.png"), [0x89, b'P', 0, 0, 0xff]).expect("a file");
    let outcome = folkmoot(&home)
        .args(["ask", "--file", "image.png", "look"])
        .in_folder(folder.path())
        .run();
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("image.png"), "{outcome}");
}
