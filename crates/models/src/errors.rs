//! What can go wrong between a seat and its model.

use std::time::Duration;

use crate::redact::redact;
use crate::secret::SecretString;

/// Why there is no whole reply. Content delivered before stays delivered.
///
/// The text names the host and what to do; the provider's own words in it are verbatim. A [`crate::Client`] returns no
/// error that contains the endpoint's key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The stream ended without saying that the reply is finished.
    #[error(
        "cut off: the reply ended before the model said it was done; retry, or ask it to continue"
    )]
    CutOff,
    /// The endpoint answered, and the answer holds nothing.
    #[error("empty reply: the endpoint answered with nothing; retry, or pick another model")]
    Empty,
    /// The provider refused or failed, in its own words.
    #[error("{host} answered{}: {message}{}{}", status_label(*status, code.as_deref()), hint(*status, code.as_deref(), message), trace_label(trace_id.as_deref()))]
    Provider {
        /// Who answered.
        host: Box<str>,
        /// The HTTP status; none for an error inside a stream that began well.
        status: Option<u16>,
        /// The provider's code or type.
        code: Option<String>,
        /// The provider's text.
        message: String,
        /// The id for the provider's support.
        trace_id: Option<Box<str>>,
        /// The whole body, cut at 64 KiB.
        body: Box<str>,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// A limit of the account or the provider was reached. Never retried by itself.
    #[error("{host} limits the rate{}: {message}{}", wait_label(*retry_after), trace_label(trace_id.as_deref()))]
    RateLimited {
        /// Who answered.
        host: Box<str>,
        /// The provider's code or type.
        code: Option<String>,
        /// The provider's text.
        message: String,
        /// The id for the provider's support.
        trace_id: Option<Box<str>>,
        /// The whole body, cut at 64 KiB.
        body: Box<str>,
        /// How long to wait, where anybody said.
        retry_after: Option<Duration>,
    },
    /// Nothing of the reply came in time.
    #[error(
        "{host} sent nothing of a reply within {secs} s; retry, or raise streaming.first_byte_timeout_secs"
    )]
    FirstByteTimeout {
        /// Who was asked.
        host: String,
        /// The limit, in seconds.
        secs: u64,
    },
    /// The reply began, and then not a byte more came.
    #[error(
        "{host} fell silent for {secs} s in the middle of its reply; retry, or raise streaming.stall_timeout_secs"
    )]
    StallTimeout {
        /// Who fell silent.
        host: String,
        /// The limit, in seconds.
        secs: u64,
    },
    /// There is nobody at that address, or no way to it.
    #[error(
        "can't connect to {host}: {reason}; check that the server runs and that its address is right"
    )]
    Connect {
        /// Who was called.
        host: String,
        /// The operating system's or TLS library's words.
        reason: String,
    },
    /// The connection broke before anything of the reply came, twice.
    #[error("{host} closed the connection before it answered: {reason}; retry in a moment")]
    Disconnected {
        /// Who hung up.
        host: String,
        /// The words of the transport.
        reason: String,
    },
    /// Something answers at that address, but not with a model's reply.
    #[error(
        "{host} answered with {} instead of a reply; check that the address ends in /v1: {snippet}",
        content_type.as_deref().unwrap_or("something")
    )]
    NotAnEventStream {
        /// Who answered.
        host: String,
        /// What the answer calls itself.
        content_type: Option<String>,
        /// Its beginning.
        snippet: String,
    },
    /// A part of the reply could not be read and is lost.
    #[error("{host} sent a damaged piece of its reply; retry: {snippet}")]
    Damaged {
        /// Who sent it.
        host: String,
        /// The beginning of the piece.
        snippet: String,
    },
    /// The endpoint sent more in one piece than any reply holds.
    #[error("{host} sent a single piece of more than {limit_bytes} bytes; this is no reply")]
    TooLong {
        /// Who sent it.
        host: String,
        /// The limit, in bytes.
        limit_bytes: usize,
    },
    /// The endpoint sends the request elsewhere. The conversation and the key go to no host that wasn't chosen.
    #[error(
        "{host} redirects to {to}, which was refused; if that is right, make it the endpoint's address"
    )]
    RedirectRefused {
        /// Who redirects.
        host: String,
        /// Where to.
        to: String,
    },
    /// The key can't be sent: it holds characters that no HTTP header may.
    #[error("the key of endpoint {endpoint} holds characters that can't be sent; enter it again")]
    UnusableKey {
        /// The endpoint's id.
        endpoint: String,
    },
    /// The HTTP client can't be set up on this machine.
    #[error("can't set up the HTTP client: {reason}")]
    Setup {
        /// Why.
        reason: String,
    },
    /// The settings lack what a request takes.
    #[error("{reason}")]
    NotConfigured {
        /// What is missing, and where to give it.
        reason: String,
    },
    /// Stopped by the person.
    #[error("stopped")]
    Cancelled,
}

impl ModelError {
    /// How long the provider asks to wait before the next try.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            ModelError::Provider { retry_after, .. }
            | ModelError::RateLimited { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The provider's code or error type.
    pub fn code(&self) -> Option<&str> {
        match self {
            ModelError::Provider { code, .. } | ModelError::RateLimited { code, .. } => {
                code.as_deref()
            }
            _ => None,
        }
    }

    /// The HTTP status, where the answer was refused with one.
    pub fn status(&self) -> Option<u16> {
        match self {
            ModelError::Provider { status, .. } => *status,
            ModelError::RateLimited { .. } => Some(429),
            _ => None,
        }
    }

    /// The id that the provider's support asks for.
    pub fn trace_id(&self) -> Option<&str> {
        match self {
            ModelError::Provider { trace_id, .. } | ModelError::RateLimited { trace_id, .. } => {
                trace_id.as_deref()
            }
            _ => None,
        }
    }

    /// Whether the credentials were refused: the person has to log in or enter a key.
    pub fn is_unauthorized(&self) -> bool {
        self.status() == Some(401)
            || matches!(
                self.code(),
                Some(
                    "invalid_api_key"
                        | "authentication_error"
                        | "auth_not_found"
                        | "auth_unavailable"
                )
            )
    }

    /// Whether the endpoint has no such model, or nothing at the address that was asked.
    pub fn is_unknown_model(&self) -> bool {
        self.status() == Some(404) || self.code() == Some("model_not_found")
    }

    /// Whether the prompt didn't fit into the model's context window.
    pub fn is_context_overflow(&self) -> bool {
        match self {
            ModelError::Provider { code, message, .. } => overflows(code.as_deref(), message),
            _ => false,
        }
    }

    /// The same error without the secrets.
    #[must_use]
    pub fn redacted(self, secrets: &[SecretString]) -> ModelError {
        let clean = |text: String| redact(&text, secrets);
        let clean_some = |text: Option<String>| text.map(clean);
        let clean_box = |text: Box<str>| redact(&text, secrets).into_boxed_str();
        match self {
            ModelError::Provider {
                host,
                status,
                code,
                message,
                trace_id,
                body,
                retry_after,
            } => ModelError::Provider {
                host: clean_box(host),
                status,
                code: clean_some(code),
                message: clean(message),
                trace_id: trace_id.map(clean_box),
                body: clean_box(body),
                retry_after,
            },
            ModelError::RateLimited {
                host,
                code,
                message,
                trace_id,
                body,
                retry_after,
            } => ModelError::RateLimited {
                host: clean_box(host),
                code: clean_some(code),
                message: clean(message),
                trace_id: trace_id.map(clean_box),
                body: clean_box(body),
                retry_after,
            },
            ModelError::Connect { host, reason } => ModelError::Connect {
                host: clean(host),
                reason: clean(reason),
            },
            ModelError::Disconnected { host, reason } => ModelError::Disconnected {
                host: clean(host),
                reason: clean(reason),
            },
            ModelError::NotAnEventStream {
                host,
                content_type,
                snippet,
            } => ModelError::NotAnEventStream {
                host: clean(host),
                content_type: clean_some(content_type),
                snippet: clean(snippet),
            },
            ModelError::Damaged { host, snippet } => ModelError::Damaged {
                host: clean(host),
                snippet: clean(snippet),
            },
            ModelError::RedirectRefused { host, to } => ModelError::RedirectRefused {
                host: clean(host),
                to: clean(to),
            },
            ModelError::Setup { reason } => ModelError::Setup {
                reason: clean(reason),
            },
            ModelError::CutOff
            | ModelError::Empty
            | ModelError::FirstByteTimeout { .. }
            | ModelError::StallTimeout { .. }
            | ModelError::TooLong { .. }
            | ModelError::UnusableKey { .. }
            | ModelError::NotConfigured { .. }
            | ModelError::Cancelled => self,
        }
    }
}

fn status_label(status: Option<u16>, code: Option<&str>) -> String {
    match (status, code) {
        (Some(status), Some(code)) if code != status.to_string() => format!(" {status} ({code})"),
        (Some(status), _) => format!(" {status}"),
        (None, Some(code)) => format!(" with an error ({code})"),
        (None, None) => " with an error".to_owned(),
    }
}

/// What the provider's support asks for first.
fn trace_label(id: Option<&str>) -> String {
    id.map_or_else(String::new, |id| format!(" [request {id}]"))
}

fn wait_label(wait: Option<Duration>) -> String {
    match wait.map(|wait| wait.as_secs_f64().ceil() as u64) {
        None => String::new(),
        Some(secs @ 0..120) => format!(", try again in {secs} s"),
        Some(secs @ 120..7200) => format!(", try again in {} min", secs.div_ceil(60)),
        Some(secs) => format!(", try again in {} h", secs.div_ceil(3600)),
    }
}

fn overflows(code: Option<&str>, message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    code == Some("context_length_exceeded")
        || [
            "maximum context length",
            "context window",
            "prompt is too long",
            "context length",
            "too many tokens",
        ]
        .iter()
        .any(|words| message.contains(words))
}

/// What the person can do about it, in brackets after the provider's words.
fn hint(status: Option<u16>, code: Option<&str>, message: &str) -> &'static str {
    if overflows(code, message) {
        return " (too long for this model: start a new thread or lower prompt.soft_limit_chars)";
    }
    match (status, code) {
        (_, Some("auth_not_found" | "auth_unavailable")) => {
            " (log in to this provider in the sidecar)"
        }
        (Some(401), _) | (_, Some("invalid_api_key" | "authentication_error")) => {
            " (check this endpoint's key or login)"
        }
        (_, Some("model_not_found")) | (Some(404), _) => {
            " (pick a model from the list, or check the address)"
        }
        (Some(402), _) | (_, Some("insufficient_quota")) => {
            " (check the account's balance or plan)"
        }
        (Some(403), _) => " (check what this account may use)",
        (Some(500..), _) | (None, _) => " (retry in a moment)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(status: Option<u16>, code: Option<&str>, message: &str) -> ModelError {
        ModelError::Provider {
            host: "api.example".into(),
            status,
            code: code.map(str::to_owned),
            message: message.to_owned(),
            trace_id: None,
            body: Box::default(),
            retry_after: None,
        }
    }

    #[test]
    fn an_error_names_the_host_the_providers_words_and_what_to_do() {
        assert_eq!(
            provider(Some(401), Some("invalid_api_key"), "Incorrect key.").to_string(),
            "api.example answered 401 (invalid_api_key): Incorrect key. (check this endpoint's key or login)"
        );
        assert_eq!(
            provider(None, Some("server_error"), "unexpected EOF").to_string(),
            "api.example answered with an error (server_error): unexpected EOF (retry in a moment)"
        );
        let limited = ModelError::RateLimited {
            host: "api.example".into(),
            code: None,
            message: "Slow down".to_owned(),
            trace_id: None,
            body: Box::default(),
            retry_after: Some(Duration::from_millis(89_500)),
        };
        assert_eq!(
            limited.to_string(),
            "api.example limits the rate, try again in 90 s: Slow down"
        );
    }

    #[test]
    fn a_full_context_is_recognised_by_code_or_words() {
        assert!(provider(Some(400), Some("context_length_exceeded"), "no").is_context_overflow());
        assert!(
            provider(
                Some(400),
                None,
                "prompt is too long: 210000 tokens > 200000 maximum"
            )
            .is_context_overflow()
        );
        assert!(!provider(Some(400), None, "bad tool schema").is_context_overflow());
    }
}
