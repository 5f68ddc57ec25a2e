//! The shape of a script file: what serde reads, before any of it is checked or compiled.

use serde::de::value::SeqAccessDeserializer;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use toml::Spanned;

use super::ModelEntry;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptToml {
    #[serde(default)]
    pub(super) order: OrderToml,
    #[serde(default)]
    pub(super) defaults: DefaultsToml,
    #[serde(default)]
    pub(super) models: Vec<ModelEntry>,
    #[serde(default, rename = "step")]
    pub(super) steps: Vec<Spanned<StepToml>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OrderToml {
    Ordered,
    #[default]
    Matched,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DefaultsToml {
    pub(super) tokens_per_second: Option<f64>,
    pub(super) chunk_chars: Option<ChunkChars>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct StepToml {
    pub(super) name: Option<String>,

    // Which requests the step answers.
    pub(super) endpoint: EndpointToml,
    pub(super) model: Option<String>,
    pub(super) seat: Option<String>,
    pub(super) nth: Option<u64>,
    pub(super) nth_of_model: Option<u64>,
    pub(super) last_role: Option<String>,
    pub(super) contains: OneOrMany,
    pub(super) regex: Option<Spanned<String>>,
    pub(super) prompt_contains: OneOrMany,
    pub(super) tool_result: Option<String>,
    pub(super) previous_speaker: Option<String>,
    pub(super) facts: BTreeMap<String, String>,
    pub(super) otherwise: bool,
    pub(super) times: Option<u64>,
    pub(super) every_other: bool,

    // What it says.
    pub(super) delay_ms: u64,
    pub(super) gate: Option<String>,
    pub(super) reply: Option<ReplyToml>,
    pub(super) reasoning: Option<String>,
    pub(super) tokens_per_second: Option<f64>,
    pub(super) chunk_chars: Option<ChunkChars>,
    pub(super) finish: Option<String>,
    pub(super) usage: Option<Map<String, Value>>,
    pub(super) answer_model: Option<String>,

    // How it spells it.
    pub(super) plain: bool,
    pub(super) split: Option<Split>,
    pub(super) crlf: bool,
    pub(super) cr: bool,
    pub(super) no_space: bool,
    pub(super) reasoning_field: ReasoningField,
    pub(super) role_in_every_delta: bool,
    pub(super) no_role: bool,
    pub(super) usage_style: Option<UsageStyle>,
    pub(super) no_done: bool,
    pub(super) double_done: bool,
    pub(super) after_done: Option<String>,
    pub(super) no_finish: bool,
    pub(super) until_close: bool,

    // How it fails.
    pub(super) no_first_byte: bool,
    pub(super) stall_after: Option<usize>,
    pub(super) reset_after: Option<usize>,
    pub(super) close_after: Option<usize>,
    pub(super) status: Option<u16>,
    pub(super) body: Option<BodyToml>,
    pub(super) content_type: Option<String>,
    pub(super) headers: BTreeMap<String, Value>,
    pub(super) empty_200: bool,
    pub(super) data_null: bool,
    pub(super) huge_line_bytes: Option<usize>,
    pub(super) flood: Option<u32>,
    pub(super) flood_seconds: Option<f64>,
    pub(super) redirect: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EndpointToml {
    #[default]
    Chat,
    Models,
}

/// Where a chunk puts its thought: the field names that providers use, and the two ways to hide it in the content.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReasoningField {
    #[default]
    ReasoningContent,
    Reasoning,
    ReasoningDetails,
    ThinkTags,
    ContentParts,
}

/// Which chunks carry the token counts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UsageStyle {
    #[default]
    ExtraChunk,
    NullChoices,
    NoChoices,
    WithFinish,
    EveryChunk,
    Zeros,
    Never,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ChunkToml {
    pub(super) content: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) tool_call: Option<ToolCallToml>,
    pub(super) tool_calls: Vec<ToolCallToml>,
    pub(super) finish: Option<String>,
    pub(super) usage: Option<Map<String, Value>>,
    pub(super) error: Option<Value>,
    pub(super) payload: Option<Map<String, Value>>,
    pub(super) data: Option<String>,
    pub(super) raw: Option<String>,
    pub(super) raw_hex: Option<String>,
    pub(super) comment: Option<String>,
    pub(super) gate: Option<String>,
    pub(super) delay_ms: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ToolCallToml {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Value>,
    pub(super) extra: Map<String, Value>,
}

/// A reply as one text, which the server cuts into deltas, or as a list of chunks, which it sends as they are.
#[derive(Debug)]
pub(super) enum ReplyToml {
    Text(String),
    Chunks(Vec<ChunkToml>),
}

// By hand rather than untagged, because an untagged enum loses the line of an unknown key inside a chunk.
impl<'de> Deserialize<'de> for ReplyToml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ReplyVisitor;

        impl<'de> Visitor<'de> for ReplyVisitor {
            type Value = ReplyToml;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of chunks")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ReplyToml, E> {
                Ok(ReplyToml::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, chunks: A) -> Result<ReplyToml, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(chunks)).map(ReplyToml::Chunks)
            }
        }

        deserializer.deserialize_any(ReplyVisitor)
    }
}

/// A fixed number of characters a delta, or a range that the server varies within.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "a number of characters or a pair [least, most]")]
pub(super) enum ChunkChars {
    Fixed(usize),
    Between(usize, usize),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "a number of bytes or \"every_byte\"")]
pub(super) enum Split {
    Bytes(usize),
    Named(SplitName),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SplitName {
    EveryByte,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "a text, or a table that becomes a JSON object")]
pub(super) enum BodyToml {
    Text(String),
    Json(Map<String, Value>),
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(untagged, expecting = "a text or a list of texts")]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
    #[default]
    Absent,
}

impl OneOrMany {
    pub(super) fn into_vec(self) -> Vec<String> {
        match self {
            OneOrMany::One(text) => vec![text],
            OneOrMany::Many(texts) => texts,
            OneOrMany::Absent => Vec::new(),
        }
    }
}
