//! From the file's shape to checked steps.

use regex::Regex;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;

use super::schema::{
    BodyToml, ChunkChars, ChunkToml, DefaultsToml, EndpointToml, OrderToml, ReplyToml, ScriptToml,
    Split, StepToml, ToolCallToml,
};
use super::{
    Answer, AnswerKind, Chunk, ChunkDelta, Cut, CutKind, Done, Endpoint, FloodRate, Reply,
    ReplyBody, RoleStyle, Script, ScriptError, Step, WholeResponse,
};
use crate::conditions::Conditions;
use crate::template::Template;
use serde_json::{Map, Value};

/// Pieces of a text reply when the script says nothing: about a token of English.
const DEFAULT_PIECE_CHARS: (usize, usize) = (4, 4);
const DEFAULT_FLOOD_SECONDS: f64 = 1.0;

pub(super) fn compile(text: &str) -> Result<Script, ScriptError> {
    let file: ScriptToml = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        error_at(text, offset, error.message().replace('\n', ", "))
    })?;
    let ordered = file.order == OrderToml::Ordered;
    let mut steps = Vec::with_capacity(file.steps.len());
    for (index, step) in file.steps.into_iter().enumerate() {
        let span = step.span();
        let (line, _) = position(text, span.start);
        let step = step.into_inner();
        let label = match &step.name {
            Some(name) => format!("step {} \"{name}\" (line {line})", index + 1),
            None => format!("step {} (line {line})", index + 1),
        };
        let step = compile_step(label, step, &file.defaults).map_err(|problem| {
            let offset = problem.span.unwrap_or(span).start;
            error_at(text, offset, problem.message)
        })?;
        steps.push(step);
    }
    Ok(Script {
        ordered,
        models: file.models,
        steps,
    })
}

/// What is wrong with a step; without a span it is the step as a whole.
struct Problem {
    span: Option<Range<usize>>,
    message: String,
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Problem {
            span: None,
            message,
        }
    }
}

impl From<&str> for Problem {
    fn from(message: &str) -> Self {
        Problem::from(message.to_owned())
    }
}

fn error_at(text: &str, offset: usize, message: String) -> ScriptError {
    let (line, column) = position(text, offset);
    ScriptError {
        line,
        column,
        message,
    }
}

/// Line and column, both from 1, of a byte offset.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

fn compile_step(
    label: String,
    mut step: StepToml,
    defaults: &DefaultsToml,
) -> Result<Step, Problem> {
    let conditions = compile_conditions(&mut step)?;
    if step.times == Some(0) {
        return Err("times must be at least 1".into());
    }
    let endpoint = match step.endpoint {
        EndpointToml::Chat => Endpoint::Chat,
        EndpointToml::Models => Endpoint::Models,
    };
    let (otherwise, times, every_other) = (step.otherwise, step.times, step.every_other);
    let answer = compile_answer(step, defaults)?;
    if endpoint == Endpoint::Models && matches!(answer.kind, AnswerKind::Reply(_)) {
        return Err("endpoint = \"models\" can be given a status and a body, not a reply".into());
    }
    Ok(Step {
        label,
        endpoint,
        conditions,
        otherwise,
        times,
        every_other,
        answer,
    })
}

fn compile_conditions(step: &mut StepToml) -> Result<Conditions, Problem> {
    if step.nth == Some(0) || step.nth_of_model == Some(0) {
        return Err("nth counts requests from 1".into());
    }
    let regex = step.regex.as_ref().map(compile_regex).transpose()?;
    Ok(Conditions {
        model: step.model.take(),
        seat: step.seat.take(),
        nth: step.nth,
        nth_of_model: step.nth_of_model,
        last_role: step.last_role.take(),
        contains: std::mem::take(&mut step.contains).into_vec(),
        regex,
        prompt_contains: std::mem::take(&mut step.prompt_contains).into_vec(),
        tool_result: step.tool_result.take(),
        previous_speaker: step.previous_speaker.take(),
        facts: std::mem::take(&mut step.facts),
    })
}

fn compile_regex(pattern: &Spanned<String>) -> Result<Regex, Problem> {
    Regex::new(pattern.get_ref()).map_err(|error| Problem {
        span: Some(pattern.span()),
        message: error.to_string().replace('\n', " "),
    })
}

fn compile_answer(step: StepToml, defaults: &DefaultsToml) -> Result<Answer, Problem> {
    let says_reply = step.reply.is_some()
        || step.reasoning.is_some()
        || step.flood.is_some()
        || step.huge_line_bytes.is_some()
        || step.data_null;
    let kinds = [
        step.no_first_byte,
        step.status.is_some() && step.redirect.is_none(),
        step.empty_200,
        step.redirect.is_some(),
        says_reply,
    ];
    match kinds.iter().filter(|says| **says).count() {
        0 => {
            return Err(
                "this step says nothing: give it a reply, a status, a redirect, flood, empty_200 or no_first_byte"
                    .into(),
            );
        }
        1 => {}
        _ => {
            return Err(
                "this step says more than one thing: reply, status, redirect, empty_200 and no_first_byte exclude each other"
                    .into(),
            );
        }
    }
    if step.body.is_some() && (says_reply || step.no_first_byte || step.empty_200) {
        return Err("body goes with a status, not with a reply".into());
    }
    let delay = Duration::from_millis(step.delay_ms);
    let gate = step.gate.clone();
    let kind = if step.no_first_byte {
        AnswerKind::Silence
    } else if says_reply {
        AnswerKind::Reply(Box::new(compile_reply(step, defaults)?))
    } else {
        AnswerKind::Whole(compile_whole(step)?)
    };
    Ok(Answer { delay, gate, kind })
}

fn compile_whole(step: StepToml) -> Result<WholeResponse, Problem> {
    let mut headers = compile_headers(step.headers)?;
    let default_status = if step.redirect.is_some() { 307 } else { 200 };
    let status = step.status.unwrap_or(default_status);
    if !(200..=599).contains(&status) {
        return Err(format!("status {status} is not a final HTTP status").into());
    }
    if let Some(location) = step.redirect {
        headers.push(checked_header("location", &location)?);
    }
    let (body, usual_type) = match step.body {
        Some(BodyToml::Json(json)) => (Value::Object(json).to_string(), Some("application/json")),
        Some(BodyToml::Text(text)) => {
            let usual_type = match text.trim_start().bytes().next() {
                Some(b'{' | b'[') => "application/json",
                Some(b'<') => "text/html; charset=utf-8",
                _ => "text/plain; charset=utf-8",
            };
            (text, Some(usual_type))
        }
        None if step.empty_200 => (String::new(), Some("text/event-stream")),
        None => (String::new(), None),
    };
    Ok(WholeResponse {
        status,
        content_type: step.content_type.or(usual_type.map(str::to_owned)),
        headers,
        body: body.into_bytes(),
    })
}

fn compile_headers(
    headers: impl IntoIterator<Item = (String, Value)>,
) -> Result<Vec<(String, String)>, Problem> {
    headers
        .into_iter()
        .map(|(name, value)| match value {
            Value::String(text) => checked_header(&name, &text),
            Value::Number(number) => checked_header(&name, &number.to_string()),
            _ => Err(format!("the header {name} needs a text or a number").into()),
        })
        .collect()
}

fn checked_header(name: &str, value: &str) -> Result<(String, String), Problem> {
    // Field names are tokens, values hold no line ends: RFC 9110, sections 5.1 and 5.5.
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(format!("{name:?} can't be a header name").into());
    }
    if value.contains(['\r', '\n', '\0']) {
        return Err(format!("the header {name} holds a line end").into());
    }
    Ok((name.to_owned(), value.to_owned()))
}

fn compile_reply(step: StepToml, defaults: &DefaultsToml) -> Result<Reply, Problem> {
    let pace = step.tokens_per_second.or(defaults.tokens_per_second);
    let piece_chars = compile_piece_chars(step.chunk_chars.or(defaults.chunk_chars))?;
    let cut = compile_cut(&step)?;
    let flood = compile_flood(step.flood, step.flood_seconds)?;
    let split = match step.split {
        None => None,
        Some(Split::Named(_)) => Some(NonZeroUsize::MIN),
        Some(Split::Bytes(bytes)) => {
            Some(NonZeroUsize::new(bytes).ok_or("split must be at least 1 byte")?)
        }
    };
    exclusive("crlf", step.crlf, "cr", step.cr)?;
    exclusive("no_done", step.no_done, "double_done", step.double_done)?;
    exclusive(
        "no_role",
        step.no_role,
        "role_in_every_delta",
        step.role_in_every_delta,
    )?;
    Ok(Reply {
        body: compile_reply_body(step.reply, step.reasoning.as_deref(), piece_chars)?,
        pace: pace.map(compile_pace).transpose()?,
        finish: step.finish,
        usage: step.usage,
        usage_style: step.usage_style,
        answer_model: step.answer_model,
        content_type: step.content_type,
        headers: compile_headers(step.headers)?,
        plain: step.plain,
        split,
        line_end: match (step.crlf, step.cr) {
            (true, _) => "\r\n",
            (_, true) => "\r",
            _ => "\n",
        },
        space_after_colon: !step.no_space,
        reasoning_field: step.reasoning_field,
        role: match (step.role_in_every_delta, step.no_role) {
            (true, _) => RoleStyle::Every,
            (_, true) => RoleStyle::Never,
            _ => RoleStyle::First,
        },
        done: Done {
            times: match (step.no_done, step.double_done) {
                (true, _) => 0,
                (_, true) => 2,
                _ => 1,
            },
            then: step.after_done,
        },
        no_finish: step.no_finish,
        until_close: step.until_close,
        data_null: step.data_null,
        huge_line_bytes: step.huge_line_bytes,
        flood,
        cut,
    })
}

fn exclusive(first: &str, has_first: bool, second: &str, has_second: bool) -> Result<(), Problem> {
    if has_first && has_second {
        return Err(format!("only one of {first} and {second} can hold").into());
    }
    Ok(())
}

fn compile_pace(tokens_per_second: f64) -> Result<Duration, Problem> {
    if !tokens_per_second.is_finite() || !(0.001..=1e6).contains(&tokens_per_second) {
        return Err("tokens_per_second must lie between 0.001 and 1000000".into());
    }
    Ok(Duration::from_secs_f64(1.0 / tokens_per_second))
}

fn compile_piece_chars(chunk_chars: Option<ChunkChars>) -> Result<(usize, usize), Problem> {
    let (least, most) = match chunk_chars {
        None => DEFAULT_PIECE_CHARS,
        Some(ChunkChars::Fixed(chars)) => (chars, chars),
        Some(ChunkChars::Between(least, most)) => (least, most),
    };
    if least == 0 || least > most {
        return Err("chunk_chars must be at least 1, the smaller number first".into());
    }
    Ok((least, most))
}

fn compile_cut(step: &StepToml) -> Result<Option<Cut>, Problem> {
    let cuts = [
        (step.stall_after, CutKind::Stall),
        (step.reset_after, CutKind::Reset),
        (step.close_after, CutKind::Close),
    ];
    let mut wanted = cuts
        .into_iter()
        .filter_map(|(after, kind)| after.map(|after_chunks| Cut { after_chunks, kind }));
    let cut = wanted.next();
    if wanted.next().is_some() {
        return Err("only one of stall_after, reset_after and close_after can hold".into());
    }
    Ok(cut)
}

fn compile_flood(
    per_second: Option<u32>,
    seconds: Option<f64>,
) -> Result<Option<FloodRate>, Problem> {
    let Some(per_second) = per_second else {
        return match seconds {
            None => Ok(None),
            Some(_) => Err("flood_seconds goes with flood = DELTAS_PER_SECOND".into()),
        };
    };
    let seconds = seconds.unwrap_or(DEFAULT_FLOOD_SECONDS);
    if per_second == 0 || !(0.001..=3600.0).contains(&seconds) {
        return Err("flood needs a rate of at least 1 and 0.001 to 3600 seconds".into());
    }
    Ok(Some(FloodRate {
        per_second,
        seconds,
    }))
}

fn compile_reply_body(
    reply: Option<ReplyToml>,
    reasoning: Option<&str>,
    piece_chars: (usize, usize),
) -> Result<ReplyBody, Problem> {
    match reply {
        Some(ReplyToml::Chunks(_)) if reasoning.is_some() => {
            Err("reasoning goes with a text reply; in a list it is a key of a chunk".into())
        }
        Some(ReplyToml::Chunks(chunks)) => chunks
            .into_iter()
            .map(compile_chunk)
            .collect::<Result<_, _>>()
            .map(ReplyBody::Chunks),
        other => {
            let content = match other {
                Some(ReplyToml::Text(text)) => text,
                _ => String::new(),
            };
            Ok(ReplyBody::Text {
                reasoning: reasoning.map(Template::parse).transpose()?,
                content: Template::parse(&content)?,
                piece_chars,
            })
        }
    }
}

fn compile_chunk(chunk: ChunkToml) -> Result<Chunk, Problem> {
    let mut raw = chunk.raw.unwrap_or_default().into_bytes();
    if let Some(hex) = chunk.raw_hex {
        raw.extend(decode_hex(&hex)?);
    }
    let is_error = chunk.error.is_some();
    let mut data: Vec<String> = chunk.data.into_iter().collect();
    data.extend(
        chunk
            .payload
            .map(|payload| Value::Object(payload).to_string()),
    );
    data.extend(
        chunk
            .error
            .map(|error| serde_json::json!({ "error": error }).to_string()),
    );
    let tool_calls: Vec<ToolCallToml> = chunk
        .tool_call
        .into_iter()
        .chain(chunk.tool_calls)
        .collect();
    if tool_calls
        .iter()
        .any(|call| call.extra.contains_key("function"))
    {
        return Err(
            "the function of a tool call is given by name and arguments, not by extra".into(),
        );
    }
    let delta = ChunkDelta {
        content: chunk.content.as_deref().map(Template::parse).transpose()?,
        reasoning: chunk
            .reasoning
            .as_deref()
            .map(Template::parse)
            .transpose()?,
        tool_calls: tool_calls.into_iter().map(tool_call_delta).collect(),
        finish: chunk.finish,
        usage: chunk.usage,
    };
    let is_empty = raw.is_empty()
        && data.is_empty()
        && delta.is_empty()
        && chunk.comment.is_none()
        && chunk.gate.is_none()
        && chunk.delay_ms.is_none();
    if is_empty {
        return Err("an empty chunk says nothing".into());
    }
    Ok(Chunk {
        delay: chunk.delay_ms.map(Duration::from_millis),
        gate: chunk.gate,
        comment: chunk.comment,
        raw,
        data,
        delta,
        is_error,
    })
}

impl ChunkDelta {
    pub(crate) fn is_empty(&self) -> bool {
        self.content.is_none()
            && self.reasoning.is_none()
            && self.tool_calls.is_empty()
            && self.finish.is_none()
            && self.usage.is_none()
    }
}

fn tool_call_delta(call: ToolCallToml) -> Map<String, Value> {
    let mut delta = Map::new();
    if let Some(index) = call.index {
        delta.insert("index".to_owned(), index.into());
    }
    if let Some(id) = call.id {
        delta.insert("id".to_owned(), id.into());
        delta.insert("type".to_owned(), "function".into());
    }
    let mut function = Map::new();
    if let Some(name) = call.name {
        function.insert("name".to_owned(), name.into());
    }
    if let Some(arguments) = call.arguments {
        function.insert("arguments".to_owned(), arguments);
    }
    delta.insert("function".to_owned(), function.into());
    delta.extend(call.extra);
    delta
}

fn decode_hex(text: &str) -> Result<Vec<u8>, Problem> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()
        .ok_or("raw_hex holds something other than hexadecimal digits")?;
    if !digits.len().is_multiple_of(2) {
        return Err("raw_hex ends in the middle of a byte".into());
    }
    Ok(digits
        .chunks_exact(2)
        .filter_map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok())
        .collect())
}
