//! Placeholders in reply texts: `{{user}}`, `{{fact:file_count|no}}`.

use std::collections::BTreeMap;

use crate::table_view::TableView;

/// A text with its placeholders found and named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Placeholder {
        what: Placeholder,
        fallback: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Placeholder {
    User,
    UserFirstLine,
    Seat,
    Model,
    PreviousSpeaker,
    PreviousSentence,
    Fact(String),
}

/// Longest `{{user_first_line}}` and `{{previous_sentence}}`, in characters.
const QUOTE_CHARS: usize = 120;

/// What the placeholders stand for in one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meaning<'a> {
    pub(crate) view: &'a TableView,
    pub(crate) facts: &'a BTreeMap<String, String>,
}

impl Template {
    /// Finds the placeholders; a name that means nothing is an error, so that a typo doesn't reach the reader.
    pub(crate) fn parse(text: &str) -> Result<Template, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (inside, tail) = after
                .split_once("}}")
                .ok_or("a placeholder is not closed: expected }}")?;
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(Part::placeholder(inside)?);
            rest = tail;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Template(parts))
    }

    /// The text for one request. What is unknown and has no fallback says so in words.
    pub(crate) fn expand(&self, meaning: Meaning<'_>) -> String {
        self.0
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Placeholder { what, fallback } => what
                    .value(meaning)
                    .filter(|value| !value.is_empty())
                    .or_else(|| fallback.clone())
                    .unwrap_or_else(|| "(unknown)".to_owned()),
            })
            .collect()
    }
}

impl Part {
    fn placeholder(inside: &str) -> Result<Part, String> {
        let (name, fallback) = match inside.split_once('|') {
            Some((name, fallback)) => (name.trim(), Some(fallback.to_owned())),
            None => (inside.trim(), None),
        };
        let what = match (name, name.strip_prefix("fact:")) {
            (_, Some(fact)) if !fact.is_empty() => Placeholder::Fact(fact.to_owned()),
            ("user", _) => Placeholder::User,
            ("user_first_line", _) => Placeholder::UserFirstLine,
            ("seat", _) => Placeholder::Seat,
            ("model", _) => Placeholder::Model,
            ("previous_speaker", _) => Placeholder::PreviousSpeaker,
            ("previous_sentence", _) => Placeholder::PreviousSentence,
            _ => return Err(format!("unknown placeholder {{{{{name}}}}}")),
        };
        Ok(Part::Placeholder { what, fallback })
    }
}

impl Placeholder {
    fn value(&self, meaning: Meaning<'_>) -> Option<String> {
        let view = meaning.view;
        match self {
            Placeholder::User => Some(view.user.clone()),
            Placeholder::UserFirstLine => view.user.lines().next().map(clipped),
            Placeholder::Seat => view.seat.clone().or_else(|| Some(view.model.clone())),
            Placeholder::Model => Some(view.model.clone()),
            Placeholder::PreviousSpeaker => view.previous.as_ref().map(|said| said.speaker.clone()),
            Placeholder::PreviousSentence => view
                .previous
                .as_ref()
                .map(|said| clipped(first_sentence(&said.text))),
            Placeholder::Fact(name) => meaning.facts.get(name).cloned(),
        }
    }
}

/// Up to the first full stop, question or exclamation mark that a space or the line's end follows.
fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    let end = line
        .char_indices()
        .find(|(at, c)| {
            let after = &line[at + c.len_utf8()..];
            matches!(c, '.' | '!' | '?') && (after.is_empty() || after.starts_with(' '))
        })
        .map_or(line.len(), |(at, c)| at + c.len_utf8());
    &line[..end]
}

fn clipped(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(QUOTE_CHARS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table_view::Utterance;

    fn expand(text: &str, view: &TableView, facts: &[(&str, &str)]) -> String {
        let facts = facts
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let template = Template::parse(text).expect("the template is well formed");
        template.expand(Meaning {
            view,
            facts: &facts,
        })
    }

    #[test]
    fn every_placeholder_takes_its_value_from_the_request() {
        let view = TableView {
            model: "m".to_owned(),
            seat: Some("Critic".to_owned()),
            user: "hello\nworld".to_owned(),
            previous: Some(Utterance {
                speaker: "Scout".to_owned(),
                text: "Version 1.2 works. More follows.".to_owned(),
            }),
            ..TableView::default()
        };
        let text = "{{user}}/{{user_first_line}}/{{seat}}/{{model}}/{{previous_speaker}}/{{previous_sentence}}/{{fact:a}}";
        assert_eq!(
            expand(text, &view, &[("a", "1")]),
            "hello\nworld/hello/Critic/m/Scout/Version 1.2 works./1"
        );
    }

    #[test]
    fn an_unknown_or_empty_value_takes_the_fallback() {
        let view = TableView::default();
        let text = "{{fact:a|none}} {{fact:b|none}} {{previous_speaker|nobody}} {{fact:b}}";
        assert_eq!(
            expand(text, &view, &[("a", "")]),
            "none none nobody (unknown)"
        );
    }

    #[test]
    fn the_seat_without_a_name_is_its_model() {
        let view = TableView {
            model: "m".to_owned(),
            ..TableView::default()
        };
        assert_eq!(expand("{{seat}}", &view, &[]), "m");
    }

    #[test]
    fn what_stands_for_nothing_is_refused() {
        assert!(Template::parse("{{usr}}").is_err());
        assert!(Template::parse("{{fact:}}").is_err());
        assert!(Template::parse("{{user").is_err());
    }

    #[test]
    fn a_value_is_never_expanded_again() {
        let view = TableView {
            user: "{{fact:a}}".to_owned(),
            ..TableView::default()
        };
        assert_eq!(expand("{{user}}", &view, &[("a", "1")]), "{{fact:a}}");
    }

    #[test]
    fn a_long_quote_is_clipped_between_characters() {
        let view = TableView {
            user: "é".repeat(500),
            ..TableView::default()
        };
        let line = expand("{{user_first_line}}", &view, &[]);
        assert_eq!(line.chars().count(), QUOTE_CHARS + 1);
        assert!(line.ends_with('…'));
    }
}
