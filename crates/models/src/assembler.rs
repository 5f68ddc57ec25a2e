//! Assembles the payloads of a chat completion into a reply, whatever dialect they speak. Pure: knows nothing of HTTP.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::completion::{Completion, Finish, StreamEvent, Usage};
use crate::provider_report::ProviderReport;
use crate::snippet::snippet;
use crate::sse::BYTE_ORDER_MARK;
use crate::think_tags::{Channel, ThinkTags};
use crate::tool_calls::ToolCalls;
use crate::wire::{Choice, Chunk, Delta, mend_surrogates};

/// What an [`Assembler`] has to know about the endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssemblerOptions {
    /// Read `<think>...</think>` at the start of the content as reasoning.
    pub think_tags: bool,
    /// The beginning of the ids given to tool calls that come without one; unique within a turn.
    pub local_ids: String,
}

impl Default for AssemblerOptions {
    fn default() -> Self {
        Self {
            think_tags: false,
            local_ids: "call".to_owned(),
        }
    }
}

/// Whether anything worth reading can still come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The reply goes on.
    More,
    /// `[DONE]` came: nothing after it counts.
    Done,
}

/// Why a stream is no whole reply. What was delivered before it stays delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamFault {
    /// The stream ended without a finish reason.
    CutOff,
    /// The stream ended and brought nothing.
    Empty,
    /// The provider reported an error inside the stream.
    Provider(ProviderReport),
    /// A payload could not be read as JSON, so a part of the reply is lost.
    Damaged {
        /// The beginning of the payload.
        snippet: String,
    },
    /// The body is neither an event stream nor JSON: an HTML page, most often.
    NotAnEventStream {
        /// The beginning of the body.
        snippet: String,
    },
    /// A single event, or a body that is not streamed, is larger than any reply can be.
    TooLong,
}

/// A reply being put together.
#[derive(Debug)]
pub struct Assembler {
    options: AssemblerOptions,
    think_tags: Option<ThinkTags>,
    tool_calls: ToolCalls,
    usage: Option<Usage>,
    model: Option<String>,
    finish: Option<Finish>,
    blank_finish: BlankFinish,
    delivered: bool,
    fed: bool,
    noise: Option<String>,
}

/// What an empty `finish_reason` means here. Some endpoints end with one, others put one into every chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlankFinish {
    Unseen,
    AtTheEnd,
    Noise,
}

impl Assembler {
    /// An assembler for one reply.
    pub fn new(options: AssemblerOptions) -> Self {
        Self {
            think_tags: options.think_tags.then(ThinkTags::new),
            options,
            tool_calls: ToolCalls::default(),
            usage: None,
            model: None,
            finish: None,
            blank_finish: BlankFinish::Unseen,
            delivered: false,
            fed: false,
            noise: None,
        }
    }

    /// A finish reason was seen: the reply is whole, only its usage may be missing.
    pub fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Any payload has come, be it without content.
    pub fn has_begun(&self) -> bool {
        self.fed
    }

    /// Takes the data of one event, and the event's name where it has one.
    ///
    /// # Errors
    /// An error that the provider reports, or a payload that is damaged. Once a finish reason was seen neither counts.
    pub fn feed(
        &mut self,
        name: &str,
        payload: &[u8],
        sink: &mut impl FnMut(StreamEvent),
    ) -> Result<Step, StreamFault> {
        let payload = payload
            .strip_prefix(BYTE_ORDER_MARK)
            .unwrap_or(payload)
            .trim_ascii();
        if payload.starts_with(b"[DONE]") {
            self.fed = true;
            return Ok(Step::Done);
        }
        if payload.is_empty() || payload == b"null" {
            return Ok(Step::More);
        }
        self.fed = true;
        let outcome = match serde_json::from_slice::<Chunk<'_>>(payload) {
            Ok(chunk) if name != "error" => {
                self.chunk(&chunk, || serde_json::from_slice(payload).ok(), sink)
            }
            _ => self.feed_odd(name, payload, sink),
        };
        match outcome {
            Err(StreamFault::Provider(_) | StreamFault::Damaged { .. }) if self.is_finished() => {
                Ok(Step::More)
            }
            outcome => outcome,
        }
    }

    /// The stream ended: hands on what was held back and says whether the reply is whole.
    ///
    /// # Errors
    /// [`StreamFault::CutOff`] without a finish reason, [`StreamFault::Empty`] where nothing came at all, and the
    /// provider's words where it wrote an error as plain text.
    pub fn finish(mut self, sink: &mut impl FnMut(StreamEvent)) -> Result<Completion, StreamFault> {
        if let Some(mut tags) = self.think_tags.take() {
            tags.finish(&mut |channel, text| sink(event(channel, text)));
        }
        let nothing = !self.delivered && self.tool_calls.is_empty();
        if self.finish.is_none() && self.blank_finish == BlankFinish::AtTheEnd && !nothing {
            self.finish = Some(Finish::Stop);
        }
        match self.finish {
            None | Some(Finish::Stop) if nothing => Err(self
                .noise
                .as_deref()
                .map_or(StreamFault::Empty, plain_text_error)),
            None => Err(self
                .noise
                .as_deref()
                .map_or(StreamFault::CutOff, plain_text_error)),
            Some(finish) => {
                let tool_calls = self.tool_calls.finish(&self.options.local_ids);
                Ok(Completion {
                    finish: settle(finish, &tool_calls),
                    usage: self.usage,
                    tool_calls,
                    model: self.model,
                })
            }
        }
    }

    /// Payloads that are not one plain chunk: errors, several values in a line, broken characters, words.
    fn feed_odd(
        &mut self,
        name: &str,
        payload: &[u8],
        sink: &mut impl FnMut(StreamEvent),
    ) -> Result<Step, StreamFault> {
        let text = String::from_utf8_lossy(payload);
        if !text.starts_with(['{', '[']) {
            if name == "error" || text.to_ascii_lowercase().contains("error") {
                self.noise = Some(text.into_owned());
            }
            return Ok(Step::More);
        }
        let text = if text.contains("\\u") {
            Cow::Owned(mend_surrogates(&text))
        } else {
            text
        };
        let mut values = serde_json::Deserializer::from_str(&text).into_iter::<&RawValue>();
        while let Some(value) = values.next() {
            match value {
                Ok(value) => self.value(name, value.get(), sink)?,
                Err(_)
                    if text[values.byte_offset()..]
                        .trim_start()
                        .starts_with("[DONE]") =>
                {
                    return Ok(Step::Done);
                }
                Err(_) => {
                    return Err(StreamFault::Damaged {
                        snippet: snippet(&text),
                    });
                }
            }
        }
        Ok(Step::More)
    }

    /// One JSON value of an odd payload.
    fn value(
        &mut self,
        name: &str,
        json: &str,
        sink: &mut impl FnMut(StreamEvent),
    ) -> Result<(), StreamFault> {
        let Ok(value) = serde_json::from_str::<Value>(json) else {
            return Err(StreamFault::Damaged {
                snippet: snippet(json),
            });
        };
        if let Value::Array(items) = &value {
            return items
                .iter()
                .try_for_each(|item| self.value(name, &item.to_string(), sink));
        }
        if name == "error" {
            return Err(StreamFault::Provider(ProviderReport::of_value(&value)));
        }
        // Through the tree once more: it holds each key once, where the payload may repeat keys.
        let plain = value.to_string();
        match serde_json::from_str::<Chunk<'_>>(&plain) {
            Ok(chunk) => self.chunk(&chunk, || Some(value.clone()), sink).map(|_| ()),
            Err(_) if ProviderReport::is_error(&value) => {
                Err(StreamFault::Provider(ProviderReport::of_value(&value)))
            }
            Err(_) => Err(StreamFault::Damaged {
                snippet: snippet(json),
            }),
        }
    }

    fn chunk(
        &mut self,
        chunk: &Chunk<'_>,
        whole: impl FnOnce() -> Option<Value>,
        sink: &mut impl FnMut(StreamEvent),
    ) -> Result<Step, StreamFault> {
        if self.model.is_none() {
            self.model = chunk.model.non_empty().map(str::to_owned);
        }
        self.count(chunk.usage);
        let mut failed = false;
        if let Some(choice) = &chunk.choices.first {
            failed = self.choice(choice, sink);
        }
        let odd =
            failed || chunk.error.is_some() || (!chunk.choices.present && chunk.usage.is_none());
        if odd
            && let Some(whole) = whole()
            && (failed || ProviderReport::is_error(&whole))
        {
            return Err(StreamFault::Provider(ProviderReport::of_value(&whole)));
        }
        Ok(Step::More)
    }

    /// Takes a choice; true where its finish reason says that the provider failed.
    fn choice(&mut self, choice: &Choice<'_>, sink: &mut impl FnMut(StreamEvent)) -> bool {
        self.count(choice.usage);
        // Endpoints that stream and repeat the whole message at the end must not say everything twice.
        let message = choice
            .message
            .as_ref()
            .filter(|_| !self.delivered && self.tool_calls.is_empty());
        let brought = match choice.delta.as_ref().or(message) {
            Some(delta) => self.delta(delta, sink),
            None => false,
        };
        if brought && self.blank_finish == BlankFinish::AtTheEnd {
            self.blank_finish = BlankFinish::Noise;
        }
        let Some(reason) = choice.finish_reason.as_ref() else {
            return false;
        };
        let Some(reason) = reason.non_empty() else {
            self.blank(brought);
            return false;
        };
        if reason.eq_ignore_ascii_case("error") {
            return true;
        }
        self.finish = Finish::from_wire(reason).or(self.finish.take());
        false
    }

    /// Weighs an empty finish reason: one beside content means nothing, then and later.
    fn blank(&mut self, brought: bool) {
        if self.blank_finish != BlankFinish::Noise {
            self.blank_finish = if brought {
                BlankFinish::Noise
            } else {
                BlankFinish::AtTheEnd
            };
        }
    }

    /// Hands on what a delta brings; true where it brought anything.
    fn delta(&mut self, delta: &Delta<'_>, sink: &mut impl FnMut(StreamEvent)) -> bool {
        let mut brought = false;
        let thought = delta.thought();
        if !thought.is_empty() {
            brought = true;
            sink(StreamEvent::Reasoning(thought.to_owned()));
        }
        for text in [&delta.content, &delta.refusal] {
            if let Some(text) = text.non_empty() {
                brought = true;
                match &mut self.think_tags {
                    Some(tags) => tags.push(text, &mut |channel, text| sink(event(channel, text))),
                    None => sink(StreamEvent::Content(text.to_owned())),
                }
            }
        }
        self.delivered |= brought;
        if let Some(raw) = delta.tool_calls {
            self.tool_calls.add(raw, sink);
            brought = true;
        } else if let Some(raw) = delta.function_call {
            self.tool_calls.add_function_call(raw, sink);
            brought = true;
        }
        brought
    }

    fn count(&mut self, raw: Option<&RawValue>) {
        let later = raw
            .and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok())
            .and_then(|usage| Usage::from_wire(&usage));
        if let Some(later) = later {
            self.usage.get_or_insert_default().replace_with(later);
        }
    }
}

fn event(channel: Channel, text: &str) -> StreamEvent {
    match channel {
        Channel::Answer => StreamEvent::Content(text.to_owned()),
        Channel::Thought => StreamEvent::Reasoning(text.to_owned()),
    }
}

fn plain_text_error(text: &str) -> StreamFault {
    StreamFault::Provider(ProviderReport::of_text(text))
}

/// Tool calls win over the stated reason, unless the limit or the filter struck in the middle of one.
fn settle(finish: Finish, tool_calls: &[crate::completion::ToolCall]) -> Finish {
    let whole = |json: &str| serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok();
    match finish {
        Finish::ToolCalls if tool_calls.is_empty() => Finish::Stop,
        finish if tool_calls.is_empty() => finish,
        Finish::Stop | Finish::ToolCalls => Finish::ToolCalls,
        _ if tool_calls.iter().all(|call| whole(&call.arguments)) => Finish::ToolCalls,
        finish => finish,
    }
}
