//! The habits of an endpoint: which optional fields it takes and what it refuses.

use url::Url;

use crate::endpoint::{EndpointKind, is_loopback};

/// The field that limits the reply's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxTokensField {
    /// `max_tokens`, understood nearly everywhere.
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's reasoning models insist on.
    MaxCompletionTokens,
}

/// How an effort is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffortField {
    /// `reasoning_effort`, the value passed on as it is.
    ReasoningEffort,
    /// DeepSeek's `thinking: {type}` switch and a `reasoning_effort` of low, high or max
    /// (<https://api-docs.deepseek.com/guides/thinking_mode>).
    DeepSeek,
}

/// Which field carries a turn's own reasoning back beside its tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningField {
    /// Never sent back.
    Never,
    /// `reasoning_content`: DeepSeek answers 400 without it, others ignore it.
    ReasoningContent,
}

/// What a request to an endpoint looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Merge neighbouring messages of the same role, and begin with a user message: strict chat templates refuse others.
    pub merge_same_role: bool,
    /// Put all system messages into the first one.
    pub single_system_message: bool,
    /// Ask for usage with `stream_options.include_usage`. Only for endpoints that are known to take it.
    pub include_usage: bool,
    /// How the reply's limit is called.
    pub max_tokens_field: MaxTokensField,
    /// Read `<think>` tags in the content as reasoning.
    pub think_tags: bool,
    /// How an effort is asked for.
    pub effort_field: EffortField,
    /// How reasoning goes back within a turn's tool loop.
    pub reasoning_field: ReasoningField,
}

impl Default for Profile {
    /// What every endpoint takes: nothing optional.
    fn default() -> Self {
        Self {
            merge_same_role: false,
            single_system_message: false,
            include_usage: false,
            max_tokens_field: MaxTokensField::MaxTokens,
            think_tags: false,
            effort_field: EffortField::ReasoningEffort,
            reasoning_field: ReasoningField::ReasoningContent,
        }
    }
}

impl Profile {
    /// The profile of an endpoint: the proxy translates to each provider's form by itself and takes messages as they
    /// are, whatever its address; the others go by theirs.
    pub fn of(kind: EndpointKind, url: &Url) -> Profile {
        match kind {
            EndpointKind::Sidecar => Profile::default(),
            _ => Profile::for_url(url),
        }
    }

    /// The word for the most effort that can be asked for. `high` is the highest that most providers share.
    pub fn highest_effort(&self) -> &'static str {
        match self.effort_field {
            EffortField::DeepSeek => "max",
            EffortField::ReasoningEffort => "high",
        }
    }

    /// The profile of a well-known host, of a local server (strict templates, thinking in tags), or the default.
    pub fn for_url(url: &Url) -> Profile {
        let host = url.host_str().unwrap_or_default();
        let under = |domain: &str| {
            host == domain
                || host
                    .strip_suffix(domain)
                    .is_some_and(|rest| rest.ends_with('.'))
        };
        if under("deepseek.com") {
            return Profile {
                include_usage: true,
                effort_field: EffortField::DeepSeek,
                ..Profile::default()
            };
        }
        if under("openai.com") || under("openai.azure.com") {
            return Profile {
                include_usage: true,
                max_tokens_field: MaxTokensField::MaxCompletionTokens,
                reasoning_field: ReasoningField::Never,
                ..Profile::default()
            };
        }
        if is_loopback(url) {
            return Profile {
                merge_same_role: true,
                single_system_message: true,
                think_tags: true,
                ..Profile::default()
            };
        }
        Profile::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(url: &str) -> Profile {
        Profile::for_url(&Url::parse(url).expect("valid"))
    }

    #[test]
    fn usage_is_asked_for_only_where_it_is_known_to_be_taken() {
        assert!(profile("https://api.deepseek.com/v1").include_usage);
        assert!(!profile("https://deepseek.com.example/v1").include_usage);
        assert!(!profile("https://notdeepseek.com/v1").include_usage);
        assert!(!profile("http://127.0.0.1:8080/v1").include_usage);
    }

    #[test]
    fn a_local_server_gets_strict_messages_and_its_think_tags_read() {
        let local = profile("http://localhost:8080/v1");
        assert!(local.merge_same_role && local.single_system_message && local.think_tags);
        assert_eq!(profile("https://llm.example/v1"), Profile::default());
    }
}
