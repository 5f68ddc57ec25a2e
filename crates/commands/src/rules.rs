//! The rules by which commands are judged: a file of TOML, whose examples are tried when it is read.

use serde::{Deserialize, Serialize};

use crate::word::Word;

/// What may be done with a command. The order is that of strictness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It may run without a question, where the workspace's settings let anything do so.
    Allow,
    /// The person is asked.
    Ask,
    /// It doesn't run.
    Deny,
}

/// A rule about a program.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The names of the programs.
    pub program: Vec<String>,
    /// What the first arguments that are no flags must be: for each, what is allowed.
    #[serde(default)]
    pub subcommand: Vec<Vec<String>>,
    /// Flags that must be there, for each its spellings: `["-r", "-R", "--recursive"]`.
    #[serde(default)]
    pub with_flags: Vec<Vec<String>>,
    /// Of these arguments one must be there; `*` stands for anything.
    #[serde(default)]
    pub with_args: Vec<String>,
    /// With any of these flags the rule says nothing.
    #[serde(default)]
    pub unless_flags: Vec<String>,
    /// With any of these arguments the rule says nothing; `*` stands for anything.
    #[serde(default)]
    pub unless_args: Vec<String>,
    /// Flags whose value is the next argument.
    #[serde(default)]
    pub value_flags: Vec<String>,
    /// What to do.
    pub decision: Decision,
    /// Why, for the person.
    #[serde(default)]
    pub why: String,
    /// Commands that the rule must speak about.
    #[serde(default, rename = "match")]
    pub matches: Vec<String>,
    /// Commands that it must say nothing about.
    #[serde(default)]
    pub not_match: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    #[serde(default, rename = "rule")]
    rules: Vec<Rule>,
}

/// Rules, in the order of the files they came from. All that speak about a command count; the strictest wins.
#[derive(Clone, Debug)]
pub struct RuleSet {
    rules: Vec<Rule>,
}

/// The file isn't one of rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It isn't TOML of the right form.
    #[error("not a file of rules: {0}")]
    Form(String),
    /// A rule names no program, or has an empty list of alternatives.
    #[error("rule {number} has an empty list, which would match nothing")]
    Empty {
        /// Which, from 1.
        number: usize,
    },
    /// An example doesn't come out as written.
    #[error("rule {number} {} the example: {example}", if *.should_match { "says nothing about" } else { "must say nothing about, but speaks about," })]
    Example {
        /// Which, from 1.
        number: usize,
        /// The example.
        example: String,
        /// Whether the rule should have spoken about it.
        should_match: bool,
    },
}

const DEFAULT: &str = include_str!("default_rules.toml");

impl Default for RuleSet {
    /// The rules that hold unless the user adds to them.
    ///
    /// # Panics
    /// Never: the text is a constant, and a test reads it.
    fn default() -> Self {
        Self::parse(DEFAULT).unwrap_or_else(|error| unreachable!("{error}"))
    }
}

impl RuleSet {
    /// Reads rules and tries their examples.
    ///
    /// # Errors
    /// The text isn't a file of rules, or an example comes out differently.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let file: RuleFile =
            toml::from_str(text).map_err(|error| RuleError::Form(error.to_string()))?;
        for (number, rule) in (1..).zip(&file.rules) {
            let lists = rule.subcommand.iter().chain(&rule.with_flags);
            if rule.program.is_empty() || lists.into_iter().any(Vec::is_empty) {
                return Err(RuleError::Empty { number });
            }
            let wanted = rule.matches.iter().map(|example| (example, true));
            let unwanted = rule.not_match.iter().map(|example| (example, false));
            for (example, should_match) in wanted.chain(unwanted) {
                if rule.speaks_about_example(example) != should_match {
                    return Err(RuleError::Example {
                        number,
                        example: example.clone(),
                        should_match,
                    });
                }
            }
        }
        Ok(Self { rules: file.rules })
    }

    /// These rules and others: the user's, say.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.rules.extend(other.rules);
        self
    }

    /// The strictest rule that speaks about a program and its arguments.
    pub(crate) fn strictest(
        &self,
        program: &str,
        by_path: bool,
        arguments: &[Word],
        more: bool,
    ) -> Option<&Rule> {
        let speaking = self.rules.iter().filter(|rule| {
            // A program somewhere else that has a harmless program's name may be anything.
            let trusted = !by_path || rule.decision != Decision::Allow;
            trusted && rule.speaks_about(program, arguments, more)
        });
        speaking.max_by_key(|rule| rule.decision)
    }
}

impl Rule {
    fn speaks_about_example(&self, example: &str) -> bool {
        let Ok(commands) = crate::parse(example) else {
            return false;
        };
        commands.iter().any(|command| {
            let program = command.words.first().and_then(Word::fixed);
            program.is_some_and(|program| self.speaks_about(program, &command.words[1..], false))
        })
    }

    /// Whether the rule is about this; `more` says that there are arguments which aren't known.
    fn speaks_about(&self, program: &str, arguments: &[Word], more: bool) -> bool {
        if !self.program.iter().any(|name| name == program) {
            return false;
        }
        let given = Given::of(arguments, &self.value_flags);
        let unsure = more || given.unsure;
        // What isn't known counts against an allowance, and never hides from a prohibition what is known.
        if unsure && self.decision == Decision::Allow && self.has_exceptions() {
            return false;
        }
        let named = |names: &[String], have: &str| names.iter().any(|name| name == have);
        let subcommands = self.subcommand.iter().enumerate();
        let right_subcommand = subcommands.into_iter().all(|(place, names)| {
            given
                .positionals
                .get(place)
                .is_some_and(|have| named(names, have))
        });
        right_subcommand
            && self
                .with_flags
                .iter()
                .all(|spellings| given.has_any(spellings))
            && (self.with_args.is_empty() || given.args_match(&self.with_args))
            && !given.has_any(&self.unless_flags)
            && !given.args_match(&self.unless_args)
    }

    fn has_exceptions(&self) -> bool {
        !self.unless_flags.is_empty() || !self.unless_args.is_empty() || !self.subcommand.is_empty()
    }
}

/// The arguments, sorted out.
struct Given<'a> {
    positionals: Vec<&'a str>,
    /// As given, and each letter of a cluster by itself.
    flags: Vec<String>,
    all: Vec<&'a str>,
    unsure: bool,
}

impl<'a> Given<'a> {
    fn of(arguments: &'a [Word], value_flags: &[String]) -> Self {
        let mut given = Self {
            positionals: Vec::new(),
            flags: Vec::new(),
            all: Vec::new(),
            unsure: false,
        };
        let mut flags_ended = false;
        let mut skip = false;
        for argument in arguments {
            // A pattern that doesn't begin with a dash names files only, unless a file is named like a flag.
            given.unsure |= argument.dynamic || (argument.glob && !argument.text.contains('/'));
            let text = argument.text.as_str();
            given.all.push(text);
            if std::mem::take(&mut skip) {
                continue;
            }
            if flags_ended || !text.starts_with('-') || text == "-" {
                given.positionals.push(text);
                continue;
            }
            if text == "--" {
                flags_ended = true;
                continue;
            }
            skip = value_flags.iter().any(|flag| flag == text);
            let name = text.split('=').next().unwrap_or(text);
            given.flags.push(name.to_owned());
            if !name.starts_with("--") {
                given
                    .flags
                    .extend(text.chars().skip(1).map(|letter| format!("-{letter}")));
            }
        }
        given
    }

    fn has_any(&self, spellings: &[String]) -> bool {
        spellings.iter().any(|wanted| {
            self.flags.iter().any(|have| {
                // Long flags may be cut short as long as they are clear, and letters may have a value right behind.
                let cut_short =
                    have.len() > 4 && wanted.starts_with("--") && wanted.starts_with(have.as_str());
                let single = wanted.len() > 2
                    && !wanted.starts_with("--")
                    && have.starts_with(wanted.as_str());
                have == wanted || cut_short || single
            })
        })
    }

    fn args_match(&self, patterns: &[String]) -> bool {
        patterns
            .iter()
            .any(|pattern| self.all.iter().any(|text| matches_star(pattern, text)))
    }
}

/// Whether the text is as the pattern says, in which `*` stands for any letters.
pub(crate) fn matches_star(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            let Some(at) = rest.find(part) else {
                return false;
            };
            rest = &rest[at + part.len()..];
        }
    }
    match last {
        None => rest.is_empty(),
        Some(part) => rest.ends_with(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_rules_hold_what_their_examples_say() {
        let rules = RuleSet::parse(DEFAULT).unwrap();
        let examples: usize = rules
            .rules
            .iter()
            .map(|rule| rule.matches.len() + rule.not_match.len())
            .sum();
        assert!(examples > 40, "{examples}");
    }

    #[test]
    fn a_wrong_example_or_a_rule_that_matches_nothing_is_refused() {
        let wrong = "[[rule]]\nprogram = ['git']\nsubcommand = [['push']]\ndecision = 'deny'\nmatch = ['git pull']";
        let error = RuleSet::parse(wrong).unwrap_err();
        assert_eq!(
            error.to_string(),
            "rule 1 says nothing about the example: git pull"
        );
        let wrong = "[[rule]]\nprogram = ['git']\ndecision = 'deny'\nnot_match = ['git pull']";
        assert!(matches!(
            RuleSet::parse(wrong),
            Err(RuleError::Example {
                should_match: false,
                ..
            })
        ));
        let wrong = "[[rule]]\nprogram = []\ndecision = 'deny'";
        assert_eq!(
            RuleSet::parse(wrong).unwrap_err(),
            RuleError::Empty { number: 1 }
        );
        assert!(matches!(
            RuleSet::parse("[[rule]]\nprograms = 1"),
            Err(RuleError::Form(_))
        ));
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, matches) in [
            ("/", "/", true),
            ("/*", "/etc", true),
            ("/*", "x/etc", false),
            ("*.pem", "a.pem", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c2b", false),
            ("", "", true),
            ("*", "", true),
        ] {
            assert_eq!(matches_star(pattern, text), matches, "{pattern} {text}");
        }
    }
}
