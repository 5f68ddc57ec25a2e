//! Token counts as a scripted model reports them: what the script says, or an estimate from the characters.

use serde_json::{Map, Value, json};

use crate::script::{Reply, UsageStyle};

/// A character count over this is about a token count for English text.
const CHARS_PER_TOKEN: usize = 4;

/// The counts of one reply and the chunks they go into.
#[derive(Debug)]
pub(crate) struct TokenCounts {
    pub(crate) style: UsageStyle,
    scripted: Option<Map<String, Value>>,
    prompt_chars: usize,
}

impl TokenCounts {
    pub(crate) fn of(reply: &Reply, prompt_chars: usize) -> TokenCounts {
        let usual = match reply.usage {
            Some(_) => UsageStyle::ExtraChunk,
            None => UsageStyle::Never,
        };
        TokenCounts {
            style: reply.usage_style.unwrap_or(usual),
            scripted: reply.usage.clone(),
            prompt_chars,
        }
    }

    /// The counts of the whole reply.
    pub(crate) fn total(&self, reply_chars: usize) -> Value {
        match &self.scripted {
            Some(scripted) => Value::Object(scripted.clone()),
            None => self.so_far(reply_chars),
        }
    }

    /// The counts in the middle of a reply: an estimate that only grows.
    pub(crate) fn so_far(&self, reply_chars: usize) -> Value {
        let prompt = self.prompt_chars.div_ceil(CHARS_PER_TOKEN);
        let reply = reply_chars.div_ceil(CHARS_PER_TOKEN);
        json!({ "prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply })
    }

    pub(crate) fn zeros() -> Value {
        json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 })
    }
}
