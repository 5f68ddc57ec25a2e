//! Asking the person.

use std::fmt;

use commands::{Enforcement, Piece};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::Class;
use crate::command_bounds::Bounds;
use crate::session::Grant;

/// What the person is asked before a call is carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Question {
    /// What the door calls the call, so that the question can be shown beside it; may be empty.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What it may do.
    pub class: Class,
    /// The seat that calls it.
    pub seat: String,
    /// What is about to happen, in a few words.
    pub heading: String,
    /// The exact bytes it is about; the pieces that are escaped stand for what can't be seen.
    pub exact: Vec<Piece>,
    /// What to look at.
    pub reasons: Vec<String>,
    /// Within which bounds a command will run.
    pub bounds: Bounds,
    /// What of these bounds the system enforces here.
    pub enforcement: Enforcement,
    /// What "allow for this session" would cover; none where it isn't to be offered.
    pub grant: Option<Grant>,
}

impl Question {
    /// The exact bytes as plain text, escapes and all.
    pub fn exact_text(&self) -> String {
        self.exact.iter().map(|piece| piece.text.as_str()).collect()
    }
}

/// What the person answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// This call.
    AllowOnce,
    /// This call and all that [`Question::grant`] covers, until another thread is opened or the program ends.
    AllowSession,
    /// Not this call.
    Deny {
        /// What the model is told, if anything.
        #[serde(default)]
        why: Option<String>,
    },
}

/// How a call came to be allowed or not, for the run journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Approval {
    /// No question was needed.
    NotNeeded,
    /// The sandbox took the place of the question.
    Sandbox,
    /// The person had allowed it for the session.
    Grant {
        /// What was granted.
        grant: Grant,
    },
    /// The person was asked.
    Person {
        /// What was shown.
        question: Box<Question>,
        /// What they said.
        answer: Answer,
    },
}

/// Who puts questions to the person: the window, a terminal, a test.
pub trait Asker: Send + Sync {
    /// Asks, and waits as long as it takes. The future is dropped when the call is stopped; the question is then to be
    /// taken off the screen.
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer>;
}

/// Nobody is there to be asked: the answer is no.
#[derive(Clone, Copy, Debug, Default)]
pub struct NobodyAsks;

impl Asker for NobodyAsks {
    fn ask(&self, _: Question) -> BoxFuture<'_, Answer> {
        let why = Some("nobody is there to be asked".to_owned());
        Box::pin(std::future::ready(Answer::Deny { why }))
    }
}

/// Answers by a function.
pub struct AnswerWith<F>(pub F);

impl<F> fmt::Debug for AnswerWith<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerWith")
    }
}

impl<F: Fn(&Question) -> Answer + Send + Sync> Asker for AnswerWith<F> {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(std::future::ready((self.0)(&question)))
    }
}
