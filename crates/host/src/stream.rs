//! One request on its way: a task that streams a reply and reports to the core.

use std::sync::atomic::{AtomicBool, Ordering};

use conversation::{Finish, Prompt, PromptRole, RequestId};
use models::{
    ChatMessage, ChatRequest, ChatRole, Client, Completion, Endpoint, ModelError, StreamEvent,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use transcript::{FailureKind, ThreadId, Usage};

use crate::core::Inbound;

/// Longest reply that is taken, text and thoughts together.
const MAX_REPLY_BYTES: usize = 64 << 20;
/// Events that may wait between the connection and the core; beyond that TCP slows the sender down.
const WAITING_EVENTS: usize = 256;

/// What happened to a request.
pub(crate) struct StreamNews {
    pub(crate) thread: ThreadId,
    pub(crate) request: RequestId,
    pub(crate) kind: NewsKind,
}

pub(crate) enum NewsKind {
    /// Text of the reply.
    Content(String),
    /// Text of the reasoning.
    Reasoning(String),
    /// It said more than any reply does, and was ended.
    TooLong,
    /// It is over.
    Ended(Result<Completion, ModelError>),
}

/// A request with everything that it takes to make it.
pub(crate) struct Outgoing {
    pub(crate) client: Client,
    pub(crate) endpoint: Endpoint,
    pub(crate) chat: ChatRequest,
    pub(crate) cancel: CancellationToken,
    pub(crate) thread: ThreadId,
    pub(crate) request: RequestId,
    pub(crate) core: mpsc::Sender<Inbound>,
}

impl Outgoing {
    /// Streams the reply to its end.
    pub(crate) async fn run(self) {
        let (events, mut arriving) = mpsc::channel(WAITING_EVENTS);
        let streaming = self
            .client
            .stream(&self.endpoint, &self.chat, self.cancel.clone(), events);
        let too_long = AtomicBool::new(false);
        let forwarding = async {
            let mut batch = Vec::new();
            let mut bytes = 0;
            while arriving.recv_many(&mut batch, WAITING_EVENTS).await > 0 {
                for kind in joined(batch.drain(..)) {
                    if let NewsKind::Content(text) | NewsKind::Reasoning(text) = &kind {
                        bytes += text.len();
                    }
                    self.tell(kind).await;
                }
                if bytes > MAX_REPLY_BYTES {
                    too_long.store(true, Ordering::Relaxed);
                    self.cancel.cancel();
                    break;
                }
            }
        };
        let (ended, ()) = tokio::join!(streaming, forwarding);
        if too_long.load(Ordering::Relaxed) {
            self.tell(NewsKind::TooLong).await;
        } else if !self.cancel.is_cancelled() {
            self.tell(NewsKind::Ended(ended)).await;
        }
    }

    async fn tell(&self, kind: NewsKind) {
        let news = StreamNews {
            thread: self.thread.clone(),
            request: self.request,
            kind,
        };
        // The core may have ended; then nobody wants the news.
        let _ended = self.core.send(Inbound::Stream(news)).await;
    }
}

/// Neighbouring pieces of one kind as one piece.
fn joined(events: impl Iterator<Item = StreamEvent>) -> Vec<NewsKind> {
    let mut news: Vec<NewsKind> = Vec::new();
    for event in events {
        match (news.last_mut(), event) {
            (Some(NewsKind::Content(text)), StreamEvent::Content(more))
            | (Some(NewsKind::Reasoning(text)), StreamEvent::Reasoning(more)) => {
                text.push_str(&more);
            }
            (_, StreamEvent::Content(text)) => news.push(NewsKind::Content(text)),
            (_, StreamEvent::Reasoning(text)) => news.push(NewsKind::Reasoning(text)),
            // No tools are offered, so a call is no part of a reply.
            (_, StreamEvent::ToolCallDelta { .. }) => {}
        }
    }
    news
}

/// The request for a prompt.
pub(crate) fn chat_request(model: &str, prompt: &Prompt, effort: Option<String>) -> ChatRequest {
    let role = |role: PromptRole| match role {
        PromptRole::System => ChatRole::System,
        PromptRole::User => ChatRole::User,
        PromptRole::Assistant => ChatRole::Assistant,
    };
    let messages = prompt
        .messages
        .iter()
        .map(|m| ChatMessage::new(role(m.role), m.content.clone()))
        .collect();
    ChatRequest {
        effort,
        ..ChatRequest::new(model, messages)
    }
}

/// What kind of failure an error is, as far as it decides what helps.
pub(crate) fn failure_kind(error: &ModelError) -> Option<FailureKind> {
    match error {
        ModelError::CutOff => Some(FailureKind::CutOff),
        ModelError::RateLimited { .. } => Some(FailureKind::RateLimited),
        ModelError::NotAnEventStream { .. }
        | ModelError::RedirectRefused { .. }
        | ModelError::UnusableKey { .. }
        | ModelError::NotConfigured { .. }
        | ModelError::Setup { .. } => Some(FailureKind::Configuration),
        error if error.is_context_overflow() => Some(FailureKind::ContextFull),
        error if error.is_unauthorized() || error.is_unknown_model() => {
            Some(FailureKind::Configuration)
        }
        _ => None,
    }
}

/// The conversation's word for how a reply ended.
pub(crate) fn finish(finish: models::Finish) -> Finish {
    match finish {
        models::Finish::Stop => Finish::Stop,
        models::Finish::Length => Finish::Length,
        models::Finish::ToolCalls => Finish::ToolCalls,
        models::Finish::ContentFilter => Finish::ContentFilter,
        models::Finish::Other(word) => Finish::Other(word),
    }
}

/// What a reply cost, as the transcript keeps it.
pub(crate) fn usage(usage: &models::Usage) -> Usage {
    let mut extra = serde_json::Map::new();
    let details = [
        ("cachedInputTokens", usage.cached_input_tokens),
        ("reasoningTokens", usage.reasoning_tokens),
    ];
    for (key, count) in details {
        if let Some(count) = count {
            extra.insert(key.to_owned(), count.into());
        }
    }
    Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        extra,
    }
}
