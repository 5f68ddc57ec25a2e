//! What the person asks for in a thread.

use std::sync::Arc;

use super::MessageId;

/// Something to do, asked for in the thread. Copying has been done already when it is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadAction {
    /// The message's text was copied, without markup.
    Copied(MessageId),
    /// The message's Markdown was copied.
    CopiedMarkdown(MessageId),
    /// The selected source text was copied.
    CopiedSelection,
    /// A code block was copied.
    CopiedCode(MessageId),
    /// Ask the message's seat once more.
    Retry(MessageId),
    /// Show what the message's model saw.
    Inspect(MessageId),
    /// Show what its model thought, from where that is kept.
    ShowReasoning(MessageId),
    /// Delete the message.
    Delete(MessageId),
    /// Go on in a new thread from here.
    Fork(MessageId),
    /// Open a link's target.
    OpenLink(Arc<str>),
    /// The one action of the message's error card.
    ResolveError(MessageId),
}
