//! Decodes the body of an answer, whatever it turns out to be: an event stream, one JSON document, or neither.

use memchr::memrchr2;

use crate::assembler::{Assembler, AssemblerOptions, Step, StreamFault};
use crate::completion::{Completion, StreamEvent};
use crate::provider_report::looks_like_html;
use crate::snippet::snippet;
use crate::sse::{BYTE_ORDER_MARK, MAX_EVENT_BYTES, SseEvent, SseReader};

/// Bytes that tell every kind of body apart: the longest name of an event stream's field and its colon.
const TELLING_BYTES: usize = 6;

/// A body that can't be told apart after this many bytes is white space without end.
const MAX_UNTOLD_BYTES: usize = 1024 * 1024;

/// Bytes of a body that is neither stream nor JSON that are read for the error message.
const FOREIGN_BYTES: usize = 2048;

/// How far a reply has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing but signs of life yet.
    Waiting,
    /// The reply has begun.
    Begun,
    /// A finish reason was seen; only usage may follow.
    Finished,
    /// Nothing more can come.
    Done,
}

/// From the bytes of an answer's body to [`StreamEvent`]s and a [`Completion`]. Pure.
#[derive(Debug)]
pub struct ReplyDecoder {
    body: Body,
    assembler: Assembler,
    done: bool,
}

#[derive(Debug)]
enum Body {
    /// The first bytes, not enough to tell.
    Unknown {
        start: Vec<u8>,
        declared: Declared,
    },
    Events(SseReader),
    Json(Vec<u8>),
    Foreign(Vec<u8>),
}

/// What the Content-Type says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Declared {
    EventStream,
    Other,
}

impl ReplyDecoder {
    /// A decoder for an answer with this Content-Type. The type is taken as a hint: JSON comes under the name of an
    /// event stream and the other way round, so the first bytes decide.
    pub fn new(content_type: Option<&str>, options: AssemblerOptions) -> Self {
        let declared = match content_type {
            Some(kind)
                if kind
                    .trim_start()
                    .to_ascii_lowercase()
                    .starts_with("text/event-stream") =>
            {
                Declared::EventStream
            }
            _ => Declared::Other,
        };
        Self {
            body: Body::Unknown {
                start: Vec::new(),
                declared,
            },
            assembler: Assembler::new(options),
            done: false,
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// The provider's error, a damaged payload, or a body that is no reply.
    pub fn push(
        &mut self,
        bytes: &[u8],
        sink: &mut impl FnMut(StreamEvent),
    ) -> Result<Progress, StreamFault> {
        if self.done {
            return Ok(Progress::Done);
        }
        match &mut self.body {
            Body::Unknown { start, declared } => {
                start.extend_from_slice(bytes);
                let Some(body) = Body::tell(start, *declared, false) else {
                    drop_blank_lines(start);
                    if start.len() > MAX_UNTOLD_BYTES {
                        return Err(StreamFault::TooLong);
                    }
                    return Ok(Progress::Waiting);
                };
                let start = std::mem::take(start);
                self.body = body;
                return self.push_start(&start, sink);
            }
            Body::Events(reader) => feed(reader, &mut self.assembler, &mut self.done, bytes, sink)?,
            Body::Json(text) => {
                text.extend_from_slice(bytes);
                if text.len() > MAX_EVENT_BYTES {
                    return Err(StreamFault::TooLong);
                }
            }
            Body::Foreign(text) => {
                text.extend_from_slice(bytes);
                if text.len() >= FOREIGN_BYTES {
                    return Err(foreign(text));
                }
            }
        }
        Ok(self.progress())
    }

    /// The body ended.
    ///
    /// # Errors
    /// As [`ReplyDecoder::push`], and [`StreamFault::CutOff`] or [`StreamFault::Empty`] for what is no whole reply.
    pub fn end(mut self, sink: &mut impl FnMut(StreamEvent)) -> Result<Completion, StreamFault> {
        if let Body::Unknown { start, declared } = &mut self.body
            && let Some(body) = Body::tell(start, *declared, true)
        {
            let start = std::mem::take(start);
            self.body = body;
            self.push_start(&start, sink)?;
        }
        match &mut self.body {
            Body::Unknown { .. } => {}
            // A last payload that doesn't parse was cut by the end itself.
            Body::Events(reader) if !self.done => {
                match finish(reader, &mut self.assembler, &mut self.done, sink) {
                    Err(StreamFault::Damaged { .. }) => {}
                    outcome => outcome?,
                }
            }
            Body::Events(_) => {}
            Body::Json(text) => {
                let text = std::mem::take(text);
                match self.assembler.feed("", &text, sink) {
                    Err(StreamFault::Damaged { .. }) if is_cut(&text) => {
                        return Err(StreamFault::CutOff);
                    }
                    outcome => _ = outcome?,
                }
            }
            Body::Foreign(text) => return Err(foreign(text)),
        }
        self.assembler.finish(sink)
    }

    /// A finish reason was seen.
    pub fn is_finished(&self) -> bool {
        self.assembler.is_finished()
    }

    /// Takes the bytes that were held until they told the kind of the body. Only an event stream has a use for the mark
    /// and the blank lines before it.
    fn push_start(
        &mut self,
        start: &[u8],
        sink: &mut impl FnMut(StreamEvent),
    ) -> Result<Progress, StreamFault> {
        match &self.body {
            Body::Events(_) => self.push(start, sink),
            _ => self.push(without_mark(start).trim_ascii_start(), sink),
        }
    }

    fn progress(&self) -> Progress {
        let begun = match &self.body {
            Body::Unknown { .. } => false,
            Body::Events(_) => self.assembler.has_begun(),
            Body::Json(_) | Body::Foreign(_) => true,
        };
        match begun {
            _ if self.done => Progress::Done,
            _ if self.is_finished() => Progress::Finished,
            true => Progress::Begun,
            false => Progress::Waiting,
        }
    }
}

impl Body {
    /// Tells the kind of a body from its first bytes; `None` when there are too few. `all` says that no more come.
    fn tell(start: &[u8], declared: Declared, all: bool) -> Option<Body> {
        if !all && start.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(start) {
            return None;
        }
        let text = without_mark(start).trim_ascii_start();
        let is_field = [&b"data"[..], b"event", b"id", b"retry", b""]
            .iter()
            .any(|name| {
                text.strip_prefix(*name)
                    .is_some_and(|rest| rest.starts_with(b":"))
            });
        match text.first()? {
            b'{' | b'[' => Some(Body::Json(Vec::new())),
            b'<' => Some(Body::Foreign(Vec::new())),
            _ if is_field || declared == Declared::EventStream => {
                Some(Body::Events(SseReader::new()))
            }
            _ if text.len() >= TELLING_BYTES || all => Some(Body::Foreign(Vec::new())),
            _ => None,
        }
    }
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// Blank lines keep a connection alive while a request is queued; only the line end before the last line is kept of them.
fn drop_blank_lines(start: &mut Vec<u8>) {
    if without_mark(start).trim_ascii().is_empty()
        && let Some(at) = memrchr2(b'\n', b'\r', start)
    {
        start.drain(..at);
    }
}

fn feed(
    reader: &mut SseReader,
    assembler: &mut Assembler,
    done: &mut bool,
    bytes: &[u8],
    sink: &mut impl FnMut(StreamEvent),
) -> Result<(), StreamFault> {
    let mut outcome = Ok(());
    reader.feed(bytes, &mut |event| {
        take(event, assembler, done, &mut outcome, sink);
    });
    outcome
}

fn finish(
    reader: &mut SseReader,
    assembler: &mut Assembler,
    done: &mut bool,
    sink: &mut impl FnMut(StreamEvent),
) -> Result<(), StreamFault> {
    let mut outcome = Ok(());
    reader.finish(&mut |event| take(event, assembler, done, &mut outcome, sink));
    outcome
}

/// Takes one event; after an error or the end, whatever else the same bytes held is dropped.
fn take(
    event: SseEvent<'_>,
    assembler: &mut Assembler,
    done: &mut bool,
    outcome: &mut Result<(), StreamFault>,
    sink: &mut impl FnMut(StreamEvent),
) {
    if *done || outcome.is_err() {
        return;
    }
    match event {
        SseEvent::Message { name, data } => match assembler.feed(name, data, sink) {
            Ok(Step::More) => {}
            Ok(Step::Done) => *done = true,
            Err(fault) => *outcome = Err(fault),
        },
        SseEvent::Comment(_) => {}
        SseEvent::TooLong => *outcome = Err(StreamFault::TooLong),
    }
}

fn foreign(text: &[u8]) -> StreamFault {
    let text = String::from_utf8_lossy(&text[..text.len().min(FOREIGN_BYTES)]);
    let snippet = if looks_like_html(&text) {
        crate::provider_report::ProviderReport::of_text(&text).message
    } else {
        snippet(&text)
    };
    StreamFault::NotAnEventStream { snippet }
}

fn is_cut(json: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(json).is_err_and(|error| error.is_eof())
}
