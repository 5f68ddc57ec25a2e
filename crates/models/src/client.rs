//! The streaming client: one request, one reply, in order, until it is whole, refused, late or stopped.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, Response, StatusCode};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::assembler::{AssemblerOptions, StreamFault};
use crate::completion::{Completion, StreamEvent};
use crate::decoder::{Progress, ReplyDecoder};
use crate::endpoint::Endpoint;
use crate::errors::ModelError;
use crate::model_list::{self, ModelInfo};
use crate::provider_report::{MAX_BODY_BYTES, ProviderReport};
use crate::request::ChatRequest;
use crate::retry_after::retry_after;
use crate::snippet::snippet;
use crate::sse::MAX_EVENT_BYTES;
use crate::transport::{Failure, Transport, reason};

/// After the finish reason, usage and `[DONE]` get this long to arrive.
const TAIL_GRACE: Duration = Duration::from_secs(2);

/// After `[DONE]`, the end of the body gets this long, so that the connection can be used again.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// A model list that takes longer is not coming.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);

/// The body of a refusal gets this long.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest model list that is read, in bytes.
const MAX_LIST_BYTES: usize = 16 * 1024 * 1024;

/// How long to wait for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the request to the first payload of the reply; comments don't count. Reasoning models take minutes.
    pub first_byte: Duration,
    /// Between two bytes once bytes have come; comments count, because providers send them while a request is queued.
    pub stall: Duration,
    /// To connect, name lookup and TLS included.
    pub connect: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(300),
            stall: Duration::from_secs(120),
            connect: Duration::from_secs(20),
        }
    }
}

/// Talks to every endpoint. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    transport: Transport,
    timeouts: Timeouts,
}

impl Client {
    /// A client that reads the proxy settings and certificates of the system as they are now.
    ///
    /// # Errors
    /// [`ModelError::Setup`] where the HTTP or TLS library refuses its configuration.
    pub fn new(timeouts: Timeouts) -> Result<Self, ModelError> {
        Ok(Self {
            transport: Transport::new(timeouts.connect)?,
            timeouts,
        })
    }

    /// The models the endpoint offers now.
    ///
    /// # Errors
    /// As [`Client::stream`], without the kinds that only a stream knows.
    pub async fn list_models(&self, endpoint: &Endpoint) -> Result<Vec<ModelInfo>, ModelError> {
        let listed = timeout(LIST_TIMEOUT, self.list(endpoint)).await;
        let listed = listed.unwrap_or_else(|_| {
            Err(ModelError::Connect {
                host: endpoint.host(),
                reason: format!("no model list within {} s", LIST_TIMEOUT.as_secs()),
            })
        });
        listed.map_err(|error| error.redacted(&endpoint.secrets()))
    }

    /// Streams one reply; its events go to `events` in order, and the channel's bound slows the endpoint down.
    ///
    /// Cancelling `cancel`, dropping the receiver of `events` or dropping the future closes the connection at once.
    /// A 5xx or a broken connection is retried once, if nothing was delivered; a 429 never is.
    ///
    /// # Errors
    /// Every kind of [`ModelError`]; what was delivered before stays with the receiver.
    pub async fn stream(
        &self,
        endpoint: &Endpoint,
        request: &ChatRequest,
        cancel: CancellationToken,
        events: mpsc::Sender<StreamEvent>,
    ) -> Result<Completion, ModelError> {
        let body = Bytes::from(request.body(&endpoint.profile));
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ModelError::Cancelled),
            () = events.closed() => Err(ModelError::Cancelled),
            outcome = self.reply(endpoint, body, &events) => outcome,
        };
        outcome.map_err(|error| {
            let error = error.redacted(&endpoint.secrets());
            log::debug!("{} at {}: {error}", request.model, endpoint.host());
            error
        })
    }

    async fn reply(
        &self,
        endpoint: &Endpoint,
        body: Bytes,
        events: &mpsc::Sender<StreamEvent>,
    ) -> Result<Completion, ModelError> {
        match self.attempt(endpoint, body.clone(), events).await {
            Err(failure) if failure.may_retry => {
                log::info!("{}: one more try", endpoint.host());
                self.attempt(endpoint, body, events).await
            }
            outcome => outcome,
        }
        .map_err(|failure| failure.error)
    }

    async fn attempt(
        &self,
        endpoint: &Endpoint,
        body: Bytes,
        events: &mpsc::Sender<StreamEvent>,
    ) -> Result<Completion, Failure> {
        let deadline = Instant::now() + self.timeouts.first_byte;
        let sent = self
            .transport
            .exchange(endpoint, Method::POST, "chat/completions", Some(body));
        let response = timeout_at(deadline, sent)
            .await
            .map_err(|_| self.too_late(endpoint))??;
        if !response.status().is_success() {
            return Err(refusal(endpoint, response).await);
        }
        let mut reply = Reply::new(endpoint, &response, self.timeouts, deadline)?;
        reply.read(response, events).await
    }

    async fn list(&self, endpoint: &Endpoint) -> Result<Vec<ModelInfo>, ModelError> {
        let exchanged = self
            .transport
            .exchange(endpoint, Method::GET, "models", None)
            .await;
        let mut response = exchanged.map_err(|failure| failure.error)?;
        if !response.status().is_success() {
            return Err(refusal(endpoint, response).await.error);
        }
        let content_type = header(response.headers(), CONTENT_TYPE.as_str());
        let body = read_up_to(&mut response, MAX_LIST_BYTES)
            .await
            .map_err(|error| ModelError::Disconnected {
                host: endpoint.host(),
                reason: reason(&error),
            })?;
        let value = serde_json::from_slice(&body).unwrap_or_default();
        if let Some(models) = model_list::parse(&value) {
            return Ok(models);
        }
        let text = String::from_utf8_lossy(&body);
        if ProviderReport::is_error(&value) {
            let fault = StreamFault::Provider(ProviderReport::of_text(&text));
            return Err(error_of_fault(endpoint, None, content_type, fault));
        }
        Err(ModelError::NotAnEventStream {
            host: endpoint.host(),
            content_type,
            snippet: snippet(&text),
        })
    }

    fn too_late(&self, endpoint: &Endpoint) -> ModelError {
        ModelError::FirstByteTimeout {
            host: endpoint.host(),
            secs: self.timeouts.first_byte.as_secs(),
        }
    }
}

/// A reply that is being read.
struct Reply<'a> {
    endpoint: &'a Endpoint,
    timeouts: Timeouts,
    decoder: ReplyDecoder,
    content_type: Option<String>,
    trace_id: Option<String>,
    progress: Progress,
    /// When the first payload must have come.
    deadline: Instant,
    last_byte: Option<Instant>,
    finished: Option<Instant>,
    delivered: bool,
}

impl<'a> Reply<'a> {
    fn new(
        endpoint: &'a Endpoint,
        response: &Response,
        timeouts: Timeouts,
        deadline: Instant,
    ) -> Result<Self, ModelError> {
        let headers = response.headers();
        let content_type = header(headers, CONTENT_TYPE.as_str());
        // No encoding was offered, so nothing here can undo one.
        if let Some(encoding) =
            header(headers, CONTENT_ENCODING.as_str()).filter(|name| name != "identity")
        {
            return Err(ModelError::NotAnEventStream {
                host: endpoint.host(),
                content_type,
                snippet: format!("content-encoding {encoding}, which was not asked for"),
            });
        }
        Ok(Self {
            endpoint,
            timeouts,
            decoder: ReplyDecoder::new(content_type.as_deref(), assembler_options(endpoint)),
            content_type,
            trace_id: trace_id(headers),
            progress: Progress::Waiting,
            deadline,
            last_byte: None,
            finished: None,
            delivered: false,
        })
    }

    async fn read(
        &mut self,
        mut response: Response,
        events: &mpsc::Sender<StreamEvent>,
    ) -> Result<Completion, Failure> {
        loop {
            let limit = self.limit();
            let bytes = match timeout_at(limit, response.chunk()).await {
                Ok(Ok(Some(bytes))) => bytes,
                Ok(Ok(None)) => return self.end(events).await,
                Ok(Err(error)) => return self.broken(&error, events).await,
                Err(_) if self.finished.is_some() => return self.end(events).await,
                Err(_) => {
                    let late = self.late(limit);
                    // Text that was held back behind a possible tag is part of what came.
                    _ = self.end(events).await;
                    return Err(late.into());
                }
            };
            self.take(&bytes, events).await?;
            if self.progress == Progress::Done {
                tokio::spawn(drain(response));
                return self.end(events).await;
            }
        }
    }

    async fn take(
        &mut self,
        bytes: &[u8],
        events: &mpsc::Sender<StreamEvent>,
    ) -> Result<(), Failure> {
        let now = Instant::now();
        self.last_byte = Some(now);
        let mut new = Vec::new();
        let progress = self.decoder.push(bytes, &mut |event| new.push(event));
        self.deliver(new, events).await;
        match progress {
            Ok(progress) => self.progress = progress,
            Err(fault) => {
                _ = self.end(events).await;
                return Err(self.error_of(fault).into());
            }
        }
        if self.progress == Progress::Finished {
            self.finished.get_or_insert(now);
        }
        Ok(())
    }

    /// Nothing more comes: hands on what was held back, and says what the reply was worth.
    async fn end(&mut self, events: &mpsc::Sender<StreamEvent>) -> Result<Completion, Failure> {
        let spent = ReplyDecoder::new(None, AssemblerOptions::default());
        let decoder = std::mem::replace(&mut self.decoder, spent);
        let mut last = Vec::new();
        let outcome = decoder.end(&mut |event| last.push(event));
        self.deliver(last, events).await;
        outcome.map_err(|fault| self.error_of(fault).into())
    }

    /// The connection broke in the middle of the body.
    async fn broken(
        &mut self,
        error: &reqwest::Error,
        events: &mpsc::Sender<StreamEvent>,
    ) -> Result<Completion, Failure> {
        match self.end(events).await {
            Err(_) if !self.delivered => Err(Failure {
                error: ModelError::Disconnected {
                    host: self.endpoint.host(),
                    reason: reason(error),
                },
                may_retry: true,
            }),
            outcome => outcome,
        }
    }

    async fn deliver(&mut self, new: Vec<StreamEvent>, events: &mpsc::Sender<StreamEvent>) {
        for event in new {
            self.delivered = true;
            // A closed channel ends the whole reply from outside.
            _ = events.send(event).await;
        }
    }

    fn limit(&self) -> Instant {
        let stalled = self.last_byte.map(|at| at + self.timeouts.stall);
        match (self.finished, self.progress) {
            (Some(at), _) => at + TAIL_GRACE,
            (None, Progress::Waiting) => stalled.map_or(self.deadline, |at| at.min(self.deadline)),
            (None, _) => stalled.unwrap_or(self.deadline),
        }
    }

    fn late(&self, limit: Instant) -> ModelError {
        let host = self.endpoint.host();
        if self.progress == Progress::Waiting && limit == self.deadline {
            let secs = self.timeouts.first_byte.as_secs();
            return ModelError::FirstByteTimeout { host, secs };
        }
        let secs = self.timeouts.stall.as_secs();
        ModelError::StallTimeout { host, secs }
    }

    fn error_of(&self, fault: StreamFault) -> ModelError {
        error_of_fault(
            self.endpoint,
            self.trace_id.clone(),
            self.content_type.clone(),
            fault,
        )
    }
}

fn assembler_options(endpoint: &Endpoint) -> AssemblerOptions {
    /// Numbers the replies of this process, so that ids made here never meet twice within a turn.
    static REPLIES: AtomicU64 = AtomicU64::new(0);
    AssemblerOptions {
        think_tags: endpoint.profile.think_tags,
        local_ids: format!("call_{}", REPLIES.fetch_add(1, Ordering::Relaxed)),
    }
}

/// Codes by which limits are reported inside a stream, where no status can.
const RATE_CODES: [&str; 6] = [
    "429",
    "rate_limit_exceeded",
    "rate_limit_error",
    "model_cooldown",
    "usage_limit_reached",
    "RESOURCE_EXHAUSTED",
];

fn error_of_fault(
    endpoint: &Endpoint,
    trace_id: Option<String>,
    content_type: Option<String>,
    fault: StreamFault,
) -> ModelError {
    let host = endpoint.host();
    match fault {
        StreamFault::CutOff => ModelError::CutOff,
        StreamFault::Empty => ModelError::Empty,
        StreamFault::Damaged { snippet } => ModelError::Damaged { host, snippet },
        StreamFault::NotAnEventStream { snippet } => ModelError::NotAnEventStream {
            host,
            content_type,
            snippet,
        },
        StreamFault::TooLong => ModelError::TooLong {
            host,
            limit_bytes: MAX_EVENT_BYTES,
        },
        StreamFault::Provider(report) => {
            let limited = report
                .code
                .as_deref()
                .is_some_and(|code| RATE_CODES.contains(&code));
            let status = limited.then_some(StatusCode::TOO_MANY_REQUESTS);
            error_of_report(&host, status, trace_id, &HeaderMap::new(), report)
        }
    }
}

/// Reads the body of an answer that is no success.
async fn refusal(endpoint: &Endpoint, mut response: Response) -> Failure {
    let status = response.status();
    let headers = response.headers().clone();
    let body = timeout(
        ERROR_BODY_TIMEOUT,
        read_up_to(&mut response, MAX_BODY_BYTES),
    )
    .await;
    let body = body.ok().and_then(Result::ok).unwrap_or_default();
    let mut report = ProviderReport::of_text(&String::from_utf8_lossy(&body));
    if report.message.is_empty() {
        report.message = status
            .canonical_reason()
            .unwrap_or("no explanation")
            .to_owned();
    }
    Failure {
        error: error_of_report(
            &endpoint.host(),
            Some(status),
            trace_id(&headers),
            &headers,
            report,
        ),
        may_retry: status.is_server_error(),
    }
}

fn error_of_report(
    host: &str,
    status: Option<StatusCode>,
    trace_id: Option<String>,
    headers: &HeaderMap,
    report: ProviderReport,
) -> ModelError {
    let retry_after = retry_after(headers, &report.body, Timestamp::now());
    let trace_id = trace_id.or(report.trace_id).map(String::into_boxed_str);
    let (code, message, body) = (report.code, report.message, report.body.into_boxed_str());
    let host = host.into();
    if status == Some(StatusCode::TOO_MANY_REQUESTS) {
        return ModelError::RateLimited {
            host,
            code,
            message,
            trace_id,
            body,
            retry_after,
        };
    }
    ModelError::Provider {
        host,
        status: status.map(|status| status.as_u16()),
        code,
        message,
        trace_id,
        body,
        retry_after,
    }
}

fn trace_id(headers: &HeaderMap) -> Option<String> {
    ["x-cpa-trace-id", "x-request-id", "request-id", "x-trace-id"]
        .iter()
        .find_map(|name| header(headers, name))
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

/// Reads a body to its end or the limit; an end that is cut off after some bytes is an end.
async fn read_up_to(response: &mut Response, limit: usize) -> reqwest::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(bytes)) => body.extend_from_slice(&bytes),
            Ok(None) => return Ok(body),
            Err(_) if !body.is_empty() => return Ok(body),
            Err(error) => return Err(error),
        }
        if body.len() >= limit {
            body.truncate(limit);
            return Ok(body);
        }
    }
}

async fn drain(mut response: Response) {
    _ = timeout(DRAIN_TIMEOUT, async {
        while let Ok(Some(_)) = response.chunk().await {}
    })
    .await;
}
