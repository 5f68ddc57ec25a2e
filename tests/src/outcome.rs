//! How a program ended, and what it said.

use std::fmt;

use serde_json::Value;

/// Exit code and output of a program that has ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Nothing when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Outcome {
    /// Standard output as one JSON object a line.
    pub fn events(&self) -> Vec<Value> {
        let lines = self.stdout.lines();
        lines
            .map(|line| {
                serde_json::from_str(line)
                    .unwrap_or_else(|e| panic!("no JSON: {e}: {line}\n{self}"))
            })
            .collect()
    }

    /// Standard output as one JSON value.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("no JSON: {e}\n{self}"))
    }

    /// The events of a type.
    pub fn events_of(&self, kind: &str) -> Vec<Value> {
        self.events()
            .into_iter()
            .filter(|event| event["type"] == kind)
            .collect()
    }

    /// The only event of a type.
    pub fn event(&self, kind: &str) -> Value {
        let mut found = self.events_of(kind);
        assert_eq!(found.len(), 1, "events of type {kind}: {found:?}\n{self}");
        found.remove(0)
    }

    /// The only `message` event of a seat.
    pub fn reply(&self, seat: &str) -> Value {
        let mut found = self.events_of("message");
        found.retain(|message| message["seat"] == seat);
        assert_eq!(found.len(), 1, "messages of {seat}: {found:?}\n{self}");
        found.remove(0)
    }

    /// The id that the `thread` event gives.
    pub fn thread_id(&self) -> String {
        self.event("thread")["id"]
            .as_str()
            .expect("an id is a text")
            .to_owned()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |text: &str| text.chars().take(4_000).collect::<String>();
        let (out, err) = (short(&self.stdout), short(&self.stderr));
        write!(
            f,
            "exit code {:?}\n--- stdout\n{out}\n--- stderr\n{err}",
            self.code
        )
    }
}
