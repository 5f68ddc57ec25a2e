//! One reply in every spelling that endpoints use comes out as the same reply.

use folkmoot_tests::{DataFolder, ModelServer, folkmoot};

/// What is said, with characters of one to four bytes and line ends of its own.
const REPLY: &str = "plain, ünïcode, 漢字, 🙂\\nand a second line";
const CONTENT: &str = "plain, ünïcode, 漢字, 🙂\nand a second line";

/// Name, keys of the step beside the reply, whether a thought is said first.
const SPELLINGS: &[(&str, &str, bool)] = &[
    ("usual", "", true),
    ("lines end in CRLF", "crlf = true", true),
    ("lines end in CR", "cr = true", true),
    ("no space after the colon", "no_space = true", true),
    ("every byte on its own", "split = \"every_byte\"", true),
    (
        "every byte on its own, CRLF",
        "split = \"every_byte\"\ncrlf = true",
        true,
    ),
    ("seven bytes at a time", "split = 7", true),
    ("role in every delta", "role_in_every_delta = true", true),
    ("no role", "no_role = true", true),
    (
        "usage with null choices",
        "usage_style = \"null_choices\"",
        true,
    ),
    (
        "usage without choices",
        "usage_style = \"no_choices\"",
        true,
    ),
    (
        "usage with the finish",
        "usage_style = \"with_finish\"",
        true,
    ),
    (
        "usage in every chunk",
        "usage_style = \"every_chunk\"",
        true,
    ),
    ("usage of zeros", "usage_style = \"zeros\"", true),
    ("no usage", "usage_style = \"never\"", true),
    ("no end mark", "no_done = true", true),
    ("two end marks", "double_done = true", true),
    (
        "text after the end mark",
        "after_done = \"data: {\\\"choices\\\":[]}\\n\\n\"",
        true,
    ),
    ("until the connection closes", "until_close = true", true),
    ("null data first", "data_null = true", true),
    (
        "thought in reasoning",
        "reasoning_field = \"reasoning\"",
        true,
    ),
    (
        "thought in reasoning_details",
        "reasoning_field = \"reasoning_details\"",
        true,
    ),
    (
        "thought as a content part",
        "reasoning_field = \"content_parts\"",
        true,
    ),
    ("one JSON object", "plain = true", true),
    (
        "one JSON object called a stream",
        "plain = true\ncontent_type = \"text/event-stream\"",
        true,
    ),
    (
        "a stream called JSON",
        "content_type = \"application/json\"",
        true,
    ),
    ("uppercase finish", "finish = \"STOP\"", false),
    ("finish of another provider", "finish = \"end_turn\"", false),
    (
        "model under another name",
        "answer_model = \"model-a-2026\"",
        false,
    ),
];

#[test]
fn every_spelling_gives_the_same_reply() {
    let script: String = SPELLINGS
        .iter()
        .map(|(name, keys, thinks)| {
            let thought = if *thinks {
                "reasoning = \"hidden\"\n"
            } else {
                ""
            };
            format!("[[step]]\ncontains = \"<{name}>\"\nreply = \"{REPLY}\"\n{thought}{keys}\n")
        })
        .collect();
    let server = ModelServer::play(&script);
    let home = DataFolder::for_server(&server);
    let mut problems = Vec::new();
    for (name, _, thinks) in SPELLINGS {
        let outcome = folkmoot(&home)
            .args(["ask", "--json", &format!("<{name}>")])
            .run();
        let text = |kind: &str| -> String {
            outcome
                .events_of(kind)
                .iter()
                .filter_map(|event| event["text"].as_str())
                .collect()
        };
        let thought = if *thinks { "hidden" } else { "" };
        let fits = outcome.code == Some(0)
            && outcome.reply("ann")["content"] == CONTENT
            && text("delta") == CONTENT
            && text("reasoning") == thought;
        if !fits {
            problems.push(format!("{name}: {outcome}"));
        }
    }
    server.assert_all_matched();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

#[test]
fn a_line_of_a_megabyte_is_one_delta_of_the_reply() {
    let server = ModelServer::play("[[step]]\nhuge_line_bytes = 1000000\nreply = \"end\"");
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home).args(["ask", "--json", "hello"]).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let content = outcome.reply("ann")["content"]
        .as_str()
        .expect("a text")
        .to_owned();
    assert!(
        content.len() > 900_000 && content.ends_with("end"),
        "{} bytes",
        content.len()
    );
}

#[test]
fn a_flood_of_deltas_arrives_whole_and_in_order() {
    let server = ModelServer::play("[[step]]\nflood = 5000\nflood_seconds = 1.0\nreply = \"END\"");
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home).args(["ask", "--json", "hello"]).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let content = outcome.reply("ann")["content"]
        .as_str()
        .expect("a text")
        .to_owned();
    let streamed: String = outcome
        .events_of("delta")
        .iter()
        .filter_map(|e| e["text"].as_str())
        .collect();
    assert!(content.ends_with("END"));
    assert_eq!(streamed, content);
    let numbers: Vec<u64> = content
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|n| n.parse().ok())
        .collect();
    assert_eq!(numbers.len(), 5000);
    assert!(
        numbers.windows(2).all(|pair| pair[1] == pair[0] + 1),
        "{:?}",
        &numbers[..20]
    );
}
