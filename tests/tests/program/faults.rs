//! Everything that can go wrong with a reply, from the wire to the exit code.

use folkmoot_tests::{DataFolder, ModelServer, Outcome, folkmoot};

/// A way to fail, and what comes of it.
struct Fault {
    name: &'static str,
    /// The keys of the step that answers.
    step: &'static str,
    status: &'static str,
    /// What was delivered before.
    content: &'static str,
    /// What the error says, all of it.
    says: &'static [&'static str],
    /// How often the model was asked: a retry makes two.
    requests: usize,
}

const FAULTS: &[Fault] = &[
    Fault {
        name: "rate limit",
        step: "status = 429\nheaders = { \"Retry-After\" = \"7\" }\nbody = { error = { message = \"The quota of this week is used up.\", code = \"quota\" } }",
        status: "error",
        content: "",
        says: &[
            "limits the rate",
            "7 s",
            "The quota of this week is used up.",
        ],
        requests: 1,
    },
    Fault {
        name: "bad request",
        step: "status = 400\nbody = { error = { message = \"unknown parameter\", code = \"invalid_request\" } }",
        status: "error",
        content: "",
        says: &["400", "invalid_request", "unknown parameter"],
        requests: 1,
    },
    Fault {
        name: "wrong key",
        step: "status = 401\nbody = { error = { message = \"Incorrect key\", code = \"invalid_api_key\" } }",
        status: "error",
        content: "",
        says: &["401", "Incorrect key", "key or login"],
        requests: 1,
    },
    Fault {
        name: "context overflow",
        step: "status = 400\nbody = { error = { message = \"prompt is too long\", code = \"context_length_exceeded\" } }",
        status: "error",
        content: "",
        says: &["prompt is too long", "soft_limit_chars"],
        requests: 1,
    },
    Fault {
        name: "server error",
        step: "status = 503\nbody = { error = { message = \"overloaded\" } }",
        status: "error",
        content: "",
        says: &["503", "overloaded"],
        requests: 2,
    },
    Fault {
        name: "gateway page",
        step: "status = 502\ncontent_type = \"text/html\"\nbody = \"<html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>\"",
        status: "error",
        content: "",
        says: &["502", "Bad Gateway"],
        requests: 2,
    },
    Fault {
        name: "login page",
        step: "status = 200\ncontent_type = \"text/html\"\nbody = \"<html><title>Please log in</title></html>\"",
        status: "error",
        content: "",
        says: &["text/html", "/v1"],
        requests: 1,
    },
    Fault {
        name: "empty",
        step: "empty_200 = true",
        status: "error",
        content: "",
        says: &["empty reply"],
        requests: 1,
    },
    Fault {
        name: "no first byte",
        step: "no_first_byte = true",
        status: "error",
        content: "",
        says: &["within 1 s", "first_byte_timeout_secs"],
        requests: 1,
    },
    Fault {
        name: "stall",
        step: "reply = \"one two three four\"\nchunk_chars = 4\nstall_after = 2",
        status: "error",
        content: "one two ",
        says: &["fell silent for 1 s", "stall_timeout_secs"],
        requests: 1,
    },
    Fault {
        name: "reset before a word",
        step: "reply = \"one two\"\nreset_after = 0",
        status: "error",
        content: "",
        says: &["retry"],
        requests: 2,
    },
    Fault {
        name: "reset in the middle",
        step: "reply = \"one two three four\"\nchunk_chars = 4\nreset_after = 2",
        status: "cancelled",
        content: "one two ",
        says: &["cut off"],
        requests: 1,
    },
    Fault {
        name: "closed in the middle",
        step: "reply = \"one two three four\"\nchunk_chars = 4\nclose_after = 2",
        status: "cancelled",
        content: "one two ",
        says: &["cut off"],
        requests: 1,
    },
    Fault {
        name: "no finish reason",
        step: "reply = \"one two\"\nno_finish = true",
        status: "cancelled",
        content: "one two",
        says: &["cut off"],
        requests: 1,
    },
    Fault {
        name: "no finish reason and no end mark",
        step: "reply = \"one two\"\nno_finish = true\nno_done = true",
        status: "cancelled",
        content: "one two",
        says: &["cut off"],
        requests: 1,
    },
    Fault {
        name: "error inside the stream",
        step: "reply = [{ content = \"one two\" }, { error = { message = \"the model crashed\", code = \"server_error\" } }]",
        status: "error",
        content: "one two",
        says: &["the model crashed", "server_error"],
        requests: 1,
    },
    Fault {
        name: "damaged event",
        step: "reply = [{ content = \"one two\" }, { data = \"{not json\" }, { content = \" three\" }]",
        status: "error",
        content: "one two",
        says: &["damaged", "{not json"],
        requests: 1,
    },
    Fault {
        name: "redirect to another host",
        step: "redirect = \"http://evil.example/v1/chat/completions\"",
        status: "error",
        content: "",
        says: &["evil.example", "refused"],
        requests: 1,
    },
    Fault {
        name: "redirect in circles",
        step: "redirect = \"/v1/chat/completions\"",
        status: "error",
        content: "",
        says: &["again and again", "refused"],
        requests: 4,
    },
];

fn script(faults: &[Fault]) -> String {
    faults
        .iter()
        .map(|fault| {
            format!(
                "[[step]]\ncontains = \"<{}>\"\n{}\n",
                fault.name, fault.step
            )
        })
        .collect()
}

fn ask(home: &DataFolder, fault: &Fault) -> Outcome {
    folkmoot(home)
        .args(["ask", "--json", "--to", "ann", &format!("<{}>", fault.name)])
        .run()
}

fn problem(fault: &Fault, outcome: &Outcome, requests: usize) -> Option<String> {
    let message = outcome.reply("ann");
    let error = message["error"].as_str().unwrap_or_default();
    let done = outcome.event("done")["ok"] == false;
    let fits = outcome.code == Some(1)
        && done
        && outcome.stderr.is_empty()
        && message["status"] == fault.status
        && message["content"] == fault.content
        && fault.says.iter().all(|part| error.contains(part))
        && requests == fault.requests;
    (!fits).then(|| format!("{}: {requests} requests, {message}\n{outcome}", fault.name))
}

#[test]
fn every_fault_is_told_in_full_keeps_what_came_and_fails_the_command() {
    let server = ModelServer::play(&script(FAULTS));
    let home = DataFolder::for_url(
        &server.base_url(),
        "[streaming]\nfirst_byte_timeout_secs = 1\nstall_timeout_secs = 1",
    );
    let mut problems = Vec::new();
    for fault in FAULTS {
        let before = server.chats().len();
        let outcome = ask(&home, fault);
        problems.extend(problem(fault, &outcome, server.chats().len() - before));
        let thread = outcome.thread_id();
        let saved = folkmoot(&home)
            .args(["thread", "show", "--json", &thread])
            .run()
            .json();
        let reply = &saved["messages"][1];
        if reply["status"] != fault.status || reply["content"] != fault.content {
            problems.push(format!("{}: saved as {reply}", fault.name));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

#[test]
fn a_person_reads_the_error_on_standard_error_and_the_partial_on_standard_output() {
    let server = ModelServer::play("[[step]]\nreply = \"one two\"\nno_finish = true");
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home).args(["ask", "hello"]).run();
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert_eq!(outcome.stdout, "[Ann]\none two\n");
    assert!(
        outcome.stderr.starts_with("folkmoot: Ann: cut off: "),
        "{outcome}"
    );
}

#[test]
fn nobody_at_the_address_is_told_with_the_address() {
    let home = DataFolder::for_url("http://127.0.0.1:9/v1", "");
    let outcome = folkmoot(&home).args(["ask", "--json", "hello"]).run();
    assert_eq!(outcome.code, Some(1), "{outcome}");
    let error = outcome.reply("ann")["error"].to_string();
    assert!(error.contains("can't connect to 127.0.0.1:9"), "{error}");
}

#[test]
fn a_broken_connection_is_retried_once_and_then_answers() {
    let script =
        "[[step]]\nnth = 1\nreply = \"lost\"\nreset_after = 0\n[[step]]\nreply = \"found\"";
    let server = ModelServer::play(script);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home).args(["ask", "--json", "hello"]).run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(outcome.reply("ann")["content"], "found");
    assert_eq!(server.chats().len(), 2);
}

#[test]
fn a_limit_is_warned_of_with_the_time_to_wait() {
    let script = "[[step]]\nstatus = 429\nheaders = { \"Retry-After\" = \"7\" }\nbody = { error = { message = \"slow\" } }";
    let server = ModelServer::play(script);
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home).args(["ask", "--json", "hello"]).run();
    assert_eq!(outcome.event("warning")["text"], "Ann asks to wait 7 s");
}

#[test]
fn a_model_that_writes_for_another_seat_is_flagged_and_not_split() {
    let server = ModelServer::play("[[step]]\nreply = \"I agree.\\n[Bob]: so do I\"");
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "--to", "ann", "hello"])
        .run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(outcome.reply("ann")["content"], "I agree.\n[Bob]: so do I");
    let note = outcome.reply("ann")["error"].to_string();
    assert!(note.contains("claims to be by Bob"), "{note}");
    let spoken = folkmoot(&home).args(["ask", "--to", "ann", "hello"]).run();
    assert!(spoken.stderr.contains("claims to be by Bob"), "{spoken}");
}

#[test]
fn an_endpoint_whose_list_of_models_fails_can_still_be_asked() {
    for list in [
        "status = 500\nbody = \"broken\"",
        "status = 404\nbody = \"no\"",
        "status = 200\nbody = \"<html>\"",
        "no_first_byte = true",
    ] {
        let server = ModelServer::play(&format!(
            "[[step]]\nendpoint = \"models\"\n{list}\n[[step]]\nreply = \"fine\""
        ));
        let home = DataFolder::for_server(&server);
        let outcome = folkmoot(&home).args(["ask", "--json", "hello"]).run();
        assert_eq!(outcome.code, Some(0), "{list}: {outcome}");
    }
}
