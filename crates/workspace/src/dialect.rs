//! Which way of writing edits suits which model, and local counts of how each fares.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::{ErrorKind, WorkspaceError};

/// A way of writing edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// A text and what takes its place.
    Replace,
    /// Search and replace blocks for several files.
    Blocks,
    /// The envelope patch.
    Envelope,
    /// The whole file.
    Whole,
    /// Lines named by number and hash.
    Anchors,
}

/// Files of fewer lines are written whole by models of which nothing is known.
pub const SMALL_FILE_LINES: u64 = 400;

impl Dialect {
    /// What a model is offered first. Models of the GPT family are trained on the envelope patch; published rates of
    /// well-formed edits (Aider's leaderboard) favour plain replacement for most others.
    pub fn for_model(model: &str, file_lines: u64) -> Self {
        let model = model.to_lowercase();
        let has = |names: &[&str]| names.iter().any(|name| model.contains(name));
        if has(&["gpt-oss", "qwq"]) {
            return if file_lines < SMALL_FILE_LINES {
                Self::Whole
            } else {
                Self::Replace
            };
        }
        if has(&["gpt", "codex", "o3", "o4-"]) {
            return Self::Envelope;
        }
        if has(&["claude", "deepseek", "gemini"]) || file_lines >= SMALL_FILE_LINES {
            return Self::Replace;
        }
        Self::Whole
    }
}

/// How edits in one dialect fared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DialectCount {
    /// Calls.
    pub attempts: u64,
    /// Calls that changed a file.
    pub applied: u64,
    /// Of these, those that were found by less than exact likeness.
    pub by_fallback: u64,
    /// Refusals by kind.
    pub refused: BTreeMap<ErrorKind, u64>,
}

/// Counts of this process; they go nowhere.
#[derive(Debug, Default)]
pub struct EditCounters(Mutex<BTreeMap<Dialect, DialectCount>>);

impl EditCounters {
    /// Counts one call; `fallback` says whether any part was found by less than exact likeness.
    pub fn count<T>(&self, dialect: Dialect, outcome: &Result<T, WorkspaceError>, fallback: bool) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(dialect).or_default();
        count.attempts += 1;
        match outcome {
            Ok(_) => {
                count.applied += 1;
                count.by_fallback += u64::from(fallback);
            }
            Err(error) => *count.refused.entry(error.kind()).or_default() += 1,
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> BTreeMap<Dialect, DialectCount> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_gets_what_it_writes_best() {
        for (model, lines, dialect) in [
            ("claude-sonnet-4", 10, Dialect::Replace),
            ("gpt-5.1-codex", 10, Dialect::Envelope),
            ("gemini-2.5-pro", 9_000, Dialect::Replace),
            ("somebody/small-7b", 100, Dialect::Whole),
            ("somebody/small-7b", 400, Dialect::Replace),
            ("gpt-oss-120b", 100, Dialect::Whole),
        ] {
            assert_eq!(Dialect::for_model(model, lines), dialect, "{model}");
        }
    }

    #[test]
    fn outcomes_are_counted_by_their_cause() {
        let counters = EditCounters::default();
        counters.count(Dialect::Replace, &Ok(()), true);
        let refused = Err::<(), _>(WorkspaceError::input("why", "what"));
        counters.count(Dialect::Replace, &refused, false);
        let count = &counters.counts()[&Dialect::Replace];
        assert_eq!(
            (count.attempts, count.applied, count.by_fallback),
            (2, 1, 1)
        );
        assert_eq!(count.refused[&ErrorKind::InvalidInput], 1);
    }
}
