//! Scripts: what the server says to which request, read from TOML and checked as a whole before anything is served.

mod compile;
mod schema;

pub(crate) use schema::{ReasoningField, UsageStyle};

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::time::Duration;

use crate::conditions::Conditions;
use crate::template::Template;

/// Everything a [`Rehearsal`](crate::Rehearsal) knows: the models it lists and the steps it answers with.
///
/// The file format is described in the crate's documentation.
#[derive(Debug, Clone)]
pub struct Script {
    pub(crate) ordered: bool,
    pub(crate) models: Vec<ModelEntry>,
    pub(crate) steps: Vec<Step>,
}

/// Why a script can't be used, and where in its text that is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ScriptError {
    /// Line in the script, from 1.
    pub line: usize,
    /// Column in that line, in characters, from 1.
    pub column: usize,
    /// What is wrong, in lower case.
    pub message: String,
}

impl Script {
    /// Reads a script from TOML. An unknown key, an impossible value and keys that contradict each other are errors
    /// with their place.
    pub fn parse(text: &str) -> Result<Script, ScriptError> {
        compile::compile(text)
    }

    /// The built-in demo table: two scripted models, `demo-scout` and `demo-critic`, that answer about a folder from
    /// the facts in [`Options`](crate::Options). It is written for lenient mode and for seats that are addressed as
    /// `@scout` and `@critic`.
    ///
    /// The facts are texts on one line, each of which may be left out: `folder`, `file_count`, `line_count`,
    /// `top_languages`, `readme_first_line`, `largest_files`, `entry_points`. Lists are separated by commas.
    pub fn demo() -> Script {
        const DEMO: &str = include_str!("../../../assets/rehearsal/demo.toml");
        match Script::parse(DEMO) {
            Ok(script) => script,
            Err(error) => unreachable!("the built-in script is checked by a test: {error}"),
        }
    }

    /// The model list: the script's own, or else every model that a step names.
    pub(crate) fn models(&self) -> Vec<ModelEntry> {
        if !self.models.is_empty() {
            return self.models.clone();
        }
        let named = self
            .steps
            .iter()
            .filter_map(|step| step.conditions.model.as_ref());
        let ids: BTreeSet<&String> = named.collect();
        ids.into_iter()
            .map(|id| ModelEntry {
                id: id.clone(),
                owned_by: rehearsal(),
                context_length: None,
            })
            .collect()
    }
}

/// One row of the model list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelEntry {
    pub(crate) id: String,
    #[serde(default = "rehearsal")]
    pub(crate) owned_by: String,
    pub(crate) context_length: Option<u64>,
}

fn rehearsal() -> String {
    "rehearsal".to_owned()
}

/// One answer and the requests it is for.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// Number, name and line of the step, as messages call it.
    pub(crate) label: String,
    pub(crate) endpoint: Endpoint,
    pub(crate) conditions: Conditions,
    pub(crate) otherwise: bool,
    /// How often the step answers; without a number it never wears out in a matched script and answers once in an
    /// ordered one.
    pub(crate) times: Option<u64>,
    pub(crate) every_other: bool,
    pub(crate) answer: Answer,
}

/// The door a request came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Chat,
    Models,
}

/// What happens after a request has been read.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) delay: Duration,
    pub(crate) gate: Option<String>,
    pub(crate) kind: AnswerKind,
}

#[derive(Debug, Clone)]
pub(crate) enum AnswerKind {
    /// Nothing at all, until the client goes.
    Silence,
    /// A response with a known body.
    Whole(WholeResponse),
    /// A chat reply, streamed unless the request or the step wants it plain.
    Reply(Box<Reply>),
}

#[derive(Debug, Clone)]
pub(crate) struct WholeResponse {
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) body: ReplyBody,
    /// Time between two chunks that name no delay of their own.
    pub(crate) pace: Option<Duration>,
    pub(crate) finish: Option<String>,
    pub(crate) usage: Option<Map<String, Value>>,
    pub(crate) usage_style: Option<UsageStyle>,
    pub(crate) answer_model: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) plain: bool,
    pub(crate) split: Option<NonZeroUsize>,
    pub(crate) line_end: &'static str,
    pub(crate) space_after_colon: bool,
    pub(crate) reasoning_field: ReasoningField,
    pub(crate) role: RoleStyle,
    pub(crate) done: Done,
    pub(crate) no_finish: bool,
    pub(crate) until_close: bool,
    pub(crate) data_null: bool,
    pub(crate) huge_line_bytes: Option<usize>,
    pub(crate) flood: Option<FloodRate>,
    pub(crate) cut: Option<Cut>,
}

#[derive(Debug, Clone)]
pub(crate) enum ReplyBody {
    /// Cut into pieces of `piece_chars.0` to `piece_chars.1` characters, thought first.
    Text {
        reasoning: Option<Template>,
        content: Template,
        piece_chars: (usize, usize),
    },
    Chunks(Vec<Chunk>),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Chunk {
    pub(crate) delay: Option<Duration>,
    pub(crate) gate: Option<String>,
    pub(crate) comment: Option<String>,
    pub(crate) raw: Vec<u8>,
    pub(crate) data: Vec<String>,
    pub(crate) delta: ChunkDelta,
    /// The chunk reports an error, so no finish is added behind it.
    pub(crate) is_error: bool,
}

/// The part of a chunk that becomes a `chat.completion.chunk` object; nothing is sent when all of it is empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChunkDelta {
    pub(crate) content: Option<Template>,
    pub(crate) reasoning: Option<Template>,
    pub(crate) tool_calls: Vec<Map<String, Value>>,
    pub(crate) finish: Option<String>,
    pub(crate) usage: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoleStyle {
    First,
    Every,
    Never,
}

/// How often `[DONE]` comes, and what follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) times: usize,
    pub(crate) then: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FloodRate {
    pub(crate) per_second: u32,
    pub(crate) seconds: f64,
}

/// Where a stream breaks off: after so many chunks, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) after_chunks: usize,
    pub(crate) kind: CutKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutKind {
    /// The connection stays open and silent.
    Stall,
    /// Half of the next event, then a TCP reset.
    Reset,
    /// Half of the next event, then the end of the connection without the end of the body.
    Close,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> ScriptError {
        Script::parse(text).expect_err("the script is wrong")
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line() {
        let error = error("[[step]]\nreply = \"a\"\nspeling = 1\n");
        assert_eq!(error.line, 3);
        assert!(error.message.contains("unknown field `speling`"), "{error}");
    }

    #[test]
    fn an_unknown_key_inside_a_chunk_is_refused_with_its_line() {
        let error =
            error("[[step]]\nreply = [\n  { content = \"a\" },\n  { contend = \"b\" },\n]\n");
        assert_eq!((error.line, error.column), (4, 5));
        assert!(error.message.contains("unknown field `contend`"), "{error}");
    }

    #[test]
    fn broken_toml_is_refused_with_its_line() {
        assert_eq!(error("order = \"matched\"\n\n[[step\n").line, 3);
    }

    #[test]
    fn a_wrong_regex_is_refused_at_its_own_line() {
        let error = error("[[step]]\nreply = \"a\"\nregex = '(oops'\n");
        assert_eq!(error.line, 3);
        assert!(error.message.contains("unclosed group"), "{error}");
    }

    #[test]
    fn contradictions_are_refused_at_their_step() {
        let cases = [
            ("no_first_byte = true\nreply = \"a\"", "more than one"),
            ("status = 429\nreply = \"a\"", "more than one"),
            ("redirect = \"/x\"\nempty_200 = true", "more than one"),
            ("name = \"mute\"", "says nothing"),
            (
                "reply = \"a\"\nstall_after = 1\nreset_after = 1",
                "only one of",
            ),
            ("reply = \"a\"\ncrlf = true\ncr = true", "only one of"),
            (
                "reply = \"a\"\nno_done = true\ndouble_done = true",
                "only one of",
            ),
            (
                "reply = \"a\"\nno_role = true\nrole_in_every_delta = true",
                "only one of",
            ),
            ("reply = \"a\"\nsplit = 0", "split"),
            ("reply = \"a\"\nchunk_chars = [4, 2]", "chunk_chars"),
            ("reply = \"a\"\nchunk_chars = 0", "chunk_chars"),
            (
                "reply = \"a\"\ntokens_per_second = 0.0",
                "tokens_per_second",
            ),
            ("reply = \"a\"\nnth = 0", "nth"),
            ("reply = \"a\"\ntimes = 0", "times"),
            ("reply = \"{{usr}}\"", "unknown placeholder"),
            ("flood = 0", "flood"),
            ("reply = \"a\"\nflood_seconds = 1.0", "flood_seconds"),
            ("endpoint = \"models\"\nreply = \"a\"", "endpoint"),
            ("status = 42", "status"),
            ("status = 429\nheaders = { \"a b\" = \"1\" }", "header"),
            ("status = 429\nheaders = { x = \"1\\r\\n\" }", "header"),
            ("status = 429\nheaders = { x = [1] }", "header"),
            ("reply = [{ raw_hex = \"f\" }]", "raw_hex"),
            ("reply = [{}]", "empty chunk"),
            (
                "reply = [{ tool_call = { extra = { function = 1 } } }]",
                "extra",
            ),
            (
                "reply = [{ content = \"a\" }]\nreasoning = \"b\"",
                "reasoning",
            ),
            ("reply = \"a\"\nbody = \"b\"", "body"),
        ];
        for (keys, expected) in cases {
            let error = error(&format!(
                "order = \"matched\"\n\n[[step]]\nreply = \"fine\"\n\n[[step]]\n{keys}\n"
            ));
            assert_eq!(error.line, 6, "{keys}: {error}");
            assert!(error.message.contains(expected), "{keys}: {error}");
        }
    }

    #[test]
    fn an_error_reads_as_place_and_reason() {
        let error = ScriptError {
            line: 3,
            column: 7,
            message: "unknown key".to_owned(),
        };
        assert_eq!(error.to_string(), "line 3, column 7: unknown key");
    }
}
