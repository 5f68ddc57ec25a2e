//! Which requests a step answers, and in what a request differs from that.

use regex::Regex;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

use crate::table_view::TableView;

/// The keys of a step that a request must meet, all of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions {
    pub(crate) model: Option<String>,
    pub(crate) seat: Option<String>,
    pub(crate) nth: Option<u64>,
    pub(crate) nth_of_model: Option<u64>,
    pub(crate) last_role: Option<String>,
    pub(crate) contains: Vec<String>,
    pub(crate) regex: Option<Regex>,
    pub(crate) prompt_contains: Vec<String>,
    pub(crate) tool_result: Option<String>,
    pub(crate) previous_speaker: Option<String>,
    pub(crate) facts: BTreeMap<String, String>,
}

/// A request as the conditions see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub(crate) view: &'a TableView,
    /// This request's number among all chat requests, from 1.
    pub(crate) nth: u64,
    /// The same among the requests for its model.
    pub(crate) nth_of_model: u64,
    pub(crate) facts: &'a BTreeMap<String, String>,
}

/// One key that the request doesn't meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) key: &'static str,
    pub(crate) expected: String,
    pub(crate) came: String,
}

impl Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "    - {}: {}", self.key, self.expected)?;
        writeln!(f, "    + {}: {}", self.key, self.came)
    }
}

impl Conditions {
    /// Everything in which the request differs; empty when it fits.
    pub(crate) fn differences(&self, candidate: Candidate<'_>) -> Vec<Difference> {
        let mut differences = Differences::default();
        self.compare_who(candidate, &mut differences);
        self.compare_words(candidate, &mut differences);
        differences.0
    }

    fn compare_who(&self, candidate: Candidate<'_>, differences: &mut Differences) {
        let view = candidate.view;
        if let Some(model) = &self.model {
            differences.check(*model == view.model, "model", model, &view.model);
        }
        if let Some(seat) = &self.seat {
            let came = view.seat.as_deref().unwrap_or("(no \"You are NAME\")");
            differences.check(view.is_seat(seat), "seat", seat, came);
        }
        if let Some(nth) = self.nth {
            differences.check(nth == candidate.nth, "nth", nth, candidate.nth);
        }
        if let Some(nth) = self.nth_of_model {
            let came = candidate.nth_of_model;
            differences.check(nth == came, "nth_of_model", nth, came);
        }
        if let Some(role) = &self.last_role {
            differences.check(*role == view.last_role, "last_role", role, &view.last_role);
        }
        if let Some(speaker) = &self.previous_speaker {
            let came = view.previous.as_ref().map(|said| said.speaker.as_str());
            let fits =
                came.is_some_and(|came| speaker == "*" || came.eq_ignore_ascii_case(speaker));
            let came = came.unwrap_or("(nobody)");
            differences.check(fits, "previous_speaker", speaker, came);
        }
        for (name, part) in &self.facts {
            let came = candidate.facts.get(name).map_or("", String::as_str);
            let expected = format!("{name} with {}", quoted(part));
            differences.check(came.contains(part), "facts", expected, quoted(came));
        }
    }

    fn compare_words(&self, candidate: Candidate<'_>, differences: &mut Differences) {
        let view = candidate.view;
        for part in &self.contains {
            let fits = view.user.contains(part);
            differences.check(fits, "contains", quoted(part), quoted(&view.user));
        }
        if let Some(regex) = &self.regex {
            let fits = regex.is_match(&view.user);
            differences.check(fits, "regex", regex.as_str(), quoted(&view.user));
        }
        for part in &self.prompt_contains {
            let fits = view.prompt.contains(part);
            differences.check(fits, "prompt_contains", quoted(part), quoted(&view.prompt));
        }
        if let Some(part) = &self.tool_result {
            let fits = view.tool_results.iter().any(|result| result.contains(part));
            let came = match view.tool_results.as_slice() {
                [] => "(no tool result at the end)".to_owned(),
                results => quoted(&results.join("\n")),
            };
            differences.check(fits, "tool_result", quoted(part), came);
        }
    }
}

#[derive(Default)]
struct Differences(Vec<Difference>);

impl Differences {
    fn check(&mut self, fits: bool, key: &'static str, expected: impl Display, came: impl Display) {
        if !fits {
            self.0.push(Difference {
                key,
                expected: format!("{expected}"),
                came: format!("{came}"),
            });
        }
    }
}

/// Longest text that a difference shows; of a longer one the end is shown, because that is where the news is.
const SHOWN_CHARS: usize = 240;

/// A text in quotes on one line, shortened at its front.
pub(crate) fn quoted(text: &str) -> String {
    let chars = text.chars().count();
    if chars <= SHOWN_CHARS {
        return format!("{text:?}");
    }
    let tail: String = text.chars().skip(chars - SHOWN_CHARS).collect();
    format!("({chars} characters, ending) {tail:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table_view::Utterance;

    fn view() -> TableView {
        TableView {
            model: "m1".to_owned(),
            system: vec!["You are Ada, one of several.".to_owned()],
            seat: Some("Ada".to_owned()),
            last_role: "tool".to_owned(),
            user: "please look at main.rs".to_owned(),
            previous: Some(Utterance {
                speaker: "Scout".to_owned(),
                text: "done".to_owned(),
            }),
            tool_results: vec!["42 lines".to_owned()],
            prompt: "You are Ada, one of several.\n\nplease look".to_owned(),
            ..TableView::default()
        }
    }

    fn keys_that_differ(conditions: &Conditions) -> Vec<&'static str> {
        let view = view();
        let facts = BTreeMap::from([("top_languages".to_owned(), "Rust, TOML".to_owned())]);
        conditions
            .differences(Candidate {
                view: &view,
                nth: 3,
                nth_of_model: 2,
                facts: &facts,
            })
            .iter()
            .map(|difference| difference.key)
            .collect()
    }

    #[test]
    fn a_request_that_meets_every_key_fits() {
        let conditions = Conditions {
            model: Some("m1".to_owned()),
            seat: Some("Ada".to_owned()),
            nth: Some(3),
            nth_of_model: Some(2),
            last_role: Some("tool".to_owned()),
            contains: vec!["look".to_owned(), "main".to_owned()],
            regex: Regex::new("(?i)MAIN").ok(),
            prompt_contains: vec!["several".to_owned()],
            tool_result: Some("42".to_owned()),
            previous_speaker: Some("*".to_owned()),
            facts: BTreeMap::from([("top_languages".to_owned(), "Rust".to_owned())]),
        };
        assert_eq!(keys_that_differ(&conditions), [""; 0]);
    }

    #[test]
    fn every_key_that_is_not_met_is_named() {
        let conditions = Conditions {
            model: Some("m2".to_owned()),
            seat: Some("Bob".to_owned()),
            nth: Some(1),
            nth_of_model: Some(1),
            last_role: Some("user".to_owned()),
            contains: vec!["absent".to_owned()],
            regex: Regex::new("^absent").ok(),
            prompt_contains: vec!["absent".to_owned()],
            tool_result: Some("absent".to_owned()),
            previous_speaker: Some("Critic".to_owned()),
            facts: BTreeMap::from([("top_languages".to_owned(), "Go".to_owned())]),
        };
        assert_eq!(
            keys_that_differ(&conditions),
            [
                "model",
                "seat",
                "nth",
                "nth_of_model",
                "last_role",
                "previous_speaker",
                "facts",
                "contains",
                "regex",
                "prompt_contains",
                "tool_result"
            ]
        );
    }

    #[test]
    fn a_long_text_is_shown_by_its_end() {
        let shown = quoted(&format!("{}end", "a".repeat(1000)));
        assert!(shown.starts_with("(1003 characters, ending) \"aaa"));
        assert!(shown.ends_with("end\""));
    }
}
