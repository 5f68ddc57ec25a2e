//! How a reply ends, from how its request did.

use transcript::{FailureKind, Settlement, Usage};

use crate::input::Finish;

/// DeepSeek's word for "we ran out of machines half-way".
const OUT_OF_RESOURCES: &str = "insufficient_system_resource";

/// Why a request brought no whole reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// In words for the person.
    pub text: String,
    /// What kind of failure it was, where that is known.
    pub kind: Option<FailureKind>,
}

impl Failure {
    /// A failure in these words; a cut connection is called that, once.
    pub(crate) fn new(error: String, kind: Option<FailureKind>) -> Self {
        let is_unsaid = !error.to_lowercase().starts_with("cut off");
        let text = match kind {
            Some(FailureKind::CutOff) if is_unsaid => format!("cut off: {error}"),
            _ => error,
        };
        Self { text, kind }
    }

    /// A failure of a known place in a longer way.
    pub(crate) fn within(self, place: impl std::fmt::Display) -> Self {
        Self {
            text: format!("{place}: {}", self.text),
            ..self
        }
    }

    /// The end that it is for a reply.
    pub(crate) fn settlement(self) -> Settlement {
        Settlement {
            failure: self.kind,
            ..Settlement::error(self.text)
        }
    }
}

impl From<&str> for Failure {
    fn from(text: &str) -> Self {
        Self::new(text.to_owned(), None)
    }
}

/// The end of a reply whose request finished. One that was cut short by a limit is complete, with a note in
/// its error field that says so.
pub(crate) fn of_finished(finish: &Finish, said_something: bool) -> Settlement {
    match (finish_error(finish), said_something) {
        (Some(failure), _) => failure.settlement(),
        (None, false) => Settlement::error(match finish {
            Finish::Length => "the model reached its output limit before it said anything",
            Finish::ToolCalls => "the model asked for a tool, but it was offered none",
            _ => "the model answered with nothing",
        }),
        (None, true) => Settlement {
            error: note_on(finish),
            ..Settlement::complete()
        },
    }
}

/// The end of a reply whose request failed.
pub(crate) fn of_failed(failure: Failure, said_something: bool) -> Settlement {
    if failure.kind == Some(FailureKind::CutOff) && said_something {
        Settlement::cut_off(failure.text)
    } else {
        failure.settlement()
    }
}

/// What went wrong where a model finished for a bad reason.
pub(crate) fn finish_error(finish: &Finish) -> Option<Failure> {
    match finish {
        Finish::ContentFilter => Some("the provider's content filter ended the reply".into()),
        Finish::Other(word) if word == OUT_OF_RESOURCES => {
            Some(Failure::from(word.as_str()).within("the provider ended the reply"))
        }
        Finish::Stop | Finish::Length | Finish::ToolCalls | Finish::Other(_) => None,
    }
}

/// The sum of what two requests cost, as far as either reported it.
pub(crate) fn total_usage(so_far: Option<Usage>, more: Option<Usage>) -> Option<Usage> {
    let (Some(a), Some(b)) = (&so_far, &more) else {
        return so_far.or(more);
    };
    let sum = |x: Option<u64>, y: Option<u64>| match (x, y) {
        (Some(x), Some(y)) => Some(x.saturating_add(y)),
        (x, y) => x.or(y),
    };
    Some(Usage {
        input_tokens: sum(a.input_tokens, b.input_tokens),
        output_tokens: sum(a.output_tokens, b.output_tokens),
        extra: b.extra.clone(),
    })
}

fn note_on(finish: &Finish) -> Option<String> {
    match finish {
        Finish::Length => Some("ends at the model's output limit".to_owned()),
        Finish::Other(word) => Some(format!("the model finished with: {word}")),
        Finish::Stop | Finish::ToolCalls | Finish::ContentFilter => None,
    }
}
