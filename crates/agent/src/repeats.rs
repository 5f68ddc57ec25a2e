//! Notices a model that makes the same call again and again and gets the same result.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use models::ToolCall;

/// So many of the last calls are looked at.
const WINDOW: usize = 10;
/// From so many on, the result tells the model.
const TOLD_FROM: usize = 3;
/// More than so many, and it gets no more calls.
const MOST: usize = 5;

/// The last calls with their results, as hashes.
#[derive(Debug, Default)]
pub(crate) struct Repeats(VecDeque<u64>);

/// What a call is among those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// Nothing of note.
    Fine,
    /// The same call gave the same result so often by now.
    Told(usize),
    /// It is a loop.
    Loop,
}

impl Repeats {
    /// Takes note of a call and its result.
    pub(crate) fn note(&mut self, call: &ToolCall, result: &str) -> Repetition {
        let mut hasher = DefaultHasher::new();
        // The same JSON in another spelling is the same call.
        let arguments = serde_json::from_str::<serde_json::Value>(&call.arguments);
        let arguments =
            arguments.map_or_else(|_| call.arguments.clone(), |value| value.to_string());
        (&call.name, arguments, without_times(result)).hash(&mut hasher);
        let signature = hasher.finish();
        self.0.push_back(signature);
        if self.0.len() > WINDOW {
            self.0.pop_front();
        }
        match self.0.iter().filter(|seen| **seen == signature).count() {
            count if count > MOST => Repetition::Loop,
            count if count >= TOLD_FROM => Repetition::Told(count),
            _ => Repetition::Fine,
        }
    }
}

/// A result without its first line where that names a run of a command, which is another one each time.
fn without_times(result: &str) -> &str {
    match result.split_once('\n') {
        Some((first, rest)) if first.starts_with('[') && first.contains("] ") => rest,
        _ => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &str) -> ToolCall {
        ToolCall {
            id: "x".into(),
            name: "grep".into(),
            arguments: arguments.into(),
            extra: serde_json::Map::new(),
        }
    }

    #[test]
    fn the_same_call_with_the_same_result_is_told_and_then_stopped() {
        let mut repeats = Repeats::default();
        let spellings = ["{\"a\":1}", "{ \"a\": 1 }"];
        let found: Vec<Repetition> = (0..6)
            .map(|at| repeats.note(&call(spellings[at % 2]), "nothing"))
            .collect();
        use Repetition::{Fine, Loop, Told};
        assert_eq!(found, [Fine, Fine, Told(3), Told(4), Told(5), Loop]);
    }

    #[test]
    fn another_result_or_calls_between_are_no_loop() {
        let mut repeats = Repeats::default();
        for at in 0..20 {
            assert_eq!(repeats.note(&call("{}"), &at.to_string()), Repetition::Fine);
        }
        for at in 0..40 {
            let arguments = format!("{{\"n\":{}}}", at % 5);
            assert_eq!(repeats.note(&call(&arguments), "same"), Repetition::Fine);
        }
    }

    #[test]
    fn a_command_that_fails_in_the_same_way_each_time_is_the_same_whatever_its_number_and_time() {
        let mut repeats = Repeats::default();
        let last = (0..6).map(|at| {
            let result =
                format!("[ab-{at}] exit code 1, after {at} ms, not sandboxed\nno such target\n");
            repeats.note(&call("{}"), &result)
        });
        assert_eq!(last.last(), Some(Repetition::Loop));
    }
}
