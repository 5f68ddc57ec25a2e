//! How a reply ends, from how its request did.

use transcript::{Settlement, Usage};

use crate::input::Finish;

/// DeepSeek's word for "we ran out of machines half-way".
const OUT_OF_RESOURCES: &str = "insufficient_system_resource";

/// The end of a reply whose request finished. One that was cut short by a limit is complete, with a note in
/// its error field that says so.
pub(crate) fn of_finished(finish: &Finish, said_something: bool) -> Settlement {
    match (finish_error(finish), said_something) {
        (Some(error), _) => Settlement::error(error),
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
pub(crate) fn of_failed(error: &str, cut_off: bool, said_something: bool) -> Settlement {
    let error = failure_text(error, cut_off);
    if cut_off && said_something {
        Settlement::cancelled(Some(error))
    } else {
        Settlement::error(error)
    }
}

/// What went wrong where a model finished for a bad reason.
pub(crate) fn finish_error(finish: &Finish) -> Option<String> {
    match finish {
        Finish::ContentFilter => Some("the provider's content filter ended the reply".to_owned()),
        Finish::Other(word) if word == OUT_OF_RESOURCES => {
            Some(format!("the provider ended the reply: {word}"))
        }
        Finish::Stop | Finish::Length | Finish::ToolCalls | Finish::Other(_) => None,
    }
}

/// The words of a failure; a cut connection is called that, once.
pub(crate) fn failure_text(error: &str, cut_off: bool) -> String {
    if cut_off && !error.to_lowercase().starts_with("cut off") {
        format!("cut off: {error}")
    } else {
        error.to_owned()
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
