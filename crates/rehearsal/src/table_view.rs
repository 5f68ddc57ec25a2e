//! What a chat request says about the table: who is asked, what the person said last, who spoke since.
//!
//! A chat API knows two parties, so a table of many writes the speaker into the text: `[User] ...` for the person,
//! `[Name]: ...` for another seat, at the start of a message or of a paragraph when messages were merged.

use serde_json::Value;

/// A chat request as the matching and the placeholders see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TableView {
    pub(crate) model: String,
    pub(crate) streamed: bool,
    /// Texts of the system messages.
    pub(crate) system: Vec<String>,
    /// The name in "You are NAME" of the first system message that has one.
    pub(crate) seat: Option<String>,
    pub(crate) last_role: String,
    /// What the person said last, without the label.
    pub(crate) user: String,
    /// The last other seat that spoke after the person, and its words.
    pub(crate) previous: Option<Utterance>,
    /// Tool results at the end of the request, in order.
    pub(crate) tool_results: Vec<String>,
    /// Every message's text, a blank line between two.
    pub(crate) prompt: String,
}

/// One speaker's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Utterance {
    pub(crate) speaker: String,
    pub(crate) text: String,
}

const PERSON: &str = "User";
const HOUSE: &str = "System";

impl TableView {
    /// Reads a request body; whatever is missing or of another type stays empty.
    pub(crate) fn of(body: &Value) -> TableView {
        let no_messages = Vec::new();
        let messages: Vec<(&str, String)> = body["messages"]
            .as_array()
            .unwrap_or(&no_messages)
            .iter()
            .map(|message| {
                let role = message["role"].as_str().unwrap_or_default();
                (role, text_of(&message["content"]))
            })
            .collect();
        let system: Vec<String> = messages
            .iter()
            .filter(|(role, _)| matches!(*role, "system" | "developer"))
            .map(|(_, text)| text.clone())
            .collect();
        let utterances: Vec<Utterance> = messages
            .iter()
            .filter(|(role, _)| *role == "user")
            .flat_map(|(_, text)| utterances(text))
            .collect();
        let last_of_person = utterances.iter().rposition(|said| said.speaker == PERSON);
        let since = last_of_person.map_or(0, |at| at + 1);
        let mut tool_results: Vec<String> = messages
            .iter()
            .rev()
            .take_while(|(role, _)| *role == "tool")
            .map(|(_, text)| text.clone())
            .collect();
        tool_results.reverse();
        let texts: Vec<&str> = messages.iter().map(|(_, text)| text.as_str()).collect();
        TableView {
            model: body["model"].as_str().unwrap_or_default().to_owned(),
            streamed: body["stream"].as_bool().unwrap_or(false),
            seat: system.iter().find_map(|text| seat_named_in(text)),
            last_role: messages.last().map_or("", |(role, _)| *role).to_owned(),
            user: last_of_person.map_or(String::new(), |at| utterances[at].text.clone()),
            previous: utterances[since..]
                .iter()
                .rfind(|said| said.speaker != HOUSE)
                .cloned(),
            tool_results,
            prompt: texts.join("\n\n"),
            system,
        }
    }

    /// Whether a system message says "You are `name`" and the name ends there.
    pub(crate) fn is_seat(&self, name: &str) -> bool {
        let phrase = format!("You are {name}");
        self.system.iter().any(|text| {
            text.match_indices(&phrase)
                .any(|(at, _)| name_end(&text[at + phrase.len()..]) == Some(0))
        })
    }
}

fn seat_named_in(system: &str) -> Option<String> {
    let (_, rest) = system.split_once("You are ")?;
    let name = &rest[..name_end(rest).unwrap_or(rest.len())];
    (!name.is_empty()).then(|| name.to_owned())
}

/// Where a name ends: at a comma, a semicolon, a line's end or a full stop that isn't inside a version number.
fn name_end(text: &str) -> Option<usize> {
    if text.is_empty() {
        return Some(0);
    }
    text.char_indices()
        .find(|(at, c)| match c {
            ',' | ';' | '\n' | '\r' => true,
            '.' => !text[at + 1..].starts_with(|next: char| !next.is_whitespace()),
            _ => false,
        })
        .map(|(at, _)| at)
}

/// A message's text: the content itself, or the text parts of a list.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.as_str().or_else(|| part["text"].as_str()))
            .collect(),
        _ => String::new(),
    }
}

/// Splits a message where a paragraph begins with a label. What stands before the first label is the person's.
fn utterances(text: &str) -> Vec<Utterance> {
    let mut said: Vec<Utterance> = Vec::new();
    let mut fence = None;
    let mut after_blank = true;
    for line in text.split_inclusive('\n') {
        let label = (after_blank && fence.is_none())
            .then(|| label(line))
            .flatten();
        let (speaker, words) = match label {
            Some((speaker, words)) => (Some(speaker), words),
            None => (None, line),
        };
        match (speaker, said.last_mut()) {
            (None, Some(current)) => current.text.push_str(words),
            (speaker, _) => said.push(Utterance {
                speaker: speaker.unwrap_or(PERSON).to_owned(),
                text: words.to_owned(),
            }),
        }
        fence = fence_after(fence, line);
        after_blank = line.trim().is_empty();
    }
    for utterance in &mut said {
        utterance.text = utterance.text.trim().to_owned();
    }
    said
}

/// The backticks of the code fence that is open after a line, if one is (CommonMark 0.31, section 4.5).
fn fence_after(open: Option<usize>, line: &str) -> Option<usize> {
    let line = line.trim();
    let backticks = line.len() - line.trim_start_matches('`').len();
    match open {
        None => (backticks >= 3).then_some(backticks),
        Some(opening) => {
            let closes = backticks >= opening && backticks == line.len();
            (!closes).then_some(opening)
        }
    }
}

/// The label a line begins with, and the rest of the line. A seat's label has a colon, so that a link or a TOML table
/// at the start of a paragraph is no label.
fn label(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.strip_prefix('[')?.split_once(']')?;
    if name.is_empty() || name.contains('[') {
        return None;
    }
    match rest.strip_prefix(':') {
        Some(words) => Some((name, words)),
        None => (name == PERSON || name == HOUSE).then_some((name, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn view(messages: &Value) -> TableView {
        TableView::of(&json!({ "model": "m", "messages": messages }))
    }

    #[test]
    fn the_seat_is_the_name_in_the_framing() {
        let view = view(&json!([
            { "role": "system", "content": "You are Ada 2, one of several AI assistants." }
        ]));
        assert_eq!(view.seat.as_deref(), Some("Ada 2"));
        assert!(view.is_seat("Ada 2"));
        assert!(!view.is_seat("Ada"));
    }

    #[test]
    fn a_full_stop_ends_a_name_but_not_inside_a_version() {
        let view = view(&json!([{ "role": "system", "content": "You are GPT 5.1." }]));
        assert_eq!(view.seat.as_deref(), Some("GPT 5.1"));
        assert!(view.is_seat("GPT 5.1"));
        assert!(!view.is_seat("GPT 5"));
    }

    #[test]
    fn the_person_is_the_last_user_label_and_a_seat_may_have_spoken_since() {
        let view = view(&json!([
            { "role": "user", "content": "[User] first" },
            { "role": "assistant", "content": "mine" },
            { "role": "user", "content": "[User] @all second\nline" },
            { "role": "user", "content": "[Scout]: I looked. It is small." },
        ]));
        assert_eq!(view.user, "@all second\nline");
        assert_eq!(
            view.previous,
            Some(Utterance {
                speaker: "Scout".to_owned(),
                text: "I looked. It is small.".to_owned()
            })
        );
        assert_eq!(view.last_role, "user");
    }

    #[test]
    fn merged_messages_are_told_apart_by_their_paragraphs() {
        let view = view(&json!([{
            "role": "user",
            "content": "[User] look\n\na.md:1-5\n````\n```toml\n\n[Scout]: not a label\n````\n\n[dependencies]\n\n[Scout]: seen"
        }]));
        assert!(view.user.starts_with("look"));
        assert!(view.user.ends_with("[dependencies]"));
        assert_eq!(view.previous.map(|said| said.text).as_deref(), Some("seen"));
    }

    #[test]
    fn a_request_without_labels_has_a_person_and_nobody_else() {
        let view =
            view(&json!([{ "role": "user", "content": [{ "type": "text", "text": "hi" }] }]));
        assert_eq!(view.user, "hi");
        assert_eq!(view.previous, None);
        assert_eq!(view.seat, None);
    }

    #[test]
    fn an_omission_marker_is_nobody_speaking() {
        let view = view(&json!([
            { "role": "user", "content": "[User] hi" },
            { "role": "user", "content": "[System] Earlier messages omitted." },
        ]));
        assert_eq!(view.previous, None);
    }

    #[test]
    fn only_tool_results_at_the_end_count() {
        let view = view(&json!([
            { "role": "tool", "content": "old" },
            { "role": "assistant", "content": null },
            { "role": "tool", "content": "a" },
            { "role": "tool", "content": "b" },
        ]));
        assert_eq!(view.tool_results, ["a", "b"]);
    }

    #[test]
    fn a_body_that_is_no_chat_request_reads_as_empty() {
        for body in [
            Value::Null,
            json!([1]),
            json!({ "messages": { "a": 1 }, "model": 3 }),
        ] {
            assert_eq!(TableView::of(&body), TableView::default());
        }
    }
}
