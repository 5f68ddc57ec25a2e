//! Model endpoints: the streaming client, its dialects, the model list and the key vault.
//!
//! Bytes become a reply in pure steps that can be used apart: [`SseReader`] finds the events, [`Assembler`] reads their
//! payloads, [`ReplyDecoder`] runs both after a look at what the body really is. [`Client`] adds HTTP, time limits, the
//! one retry and [`ModelError`]s free of keys. What differs between endpoints before anything is sent is a [`Profile`];
//! what differs in what comes back is understood from everybody.
//!
//! ```
//! use models::{AssemblerOptions, Finish, ReplyDecoder, StreamEvent};
//!
//! let mut text = String::new();
//! let mut sink = |event: StreamEvent| {
//!     if let StreamEvent::Content(more) = event {
//!         text.push_str(&more);
//!     }
//! };
//! let mut decoder = ReplyDecoder::new(Some("text/event-stream"), AssemblerOptions::default());
//! decoder.push(br#"data: {"choices":[{"delta":{"content":"Hel"}}]}"#, &mut sink)?;
//! decoder.push(b"\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\n", &mut sink)?;
//! let completion = decoder.end(&mut sink)?;
//! assert_eq!((text.as_str(), completion.finish), ("Hello", Finish::Stop));
//! # Ok::<(), models::StreamFault>(())
//! ```

mod assembler;
mod client;
mod completion;
mod decoder;
mod endpoint;
mod errors;
mod family;
mod model_list;
mod profile;
mod provider_report;
mod redact;
mod request;
mod retry_after;
mod secret;
mod snippet;
mod sse;
mod think_tags;
mod tool_calls;
mod transport;
mod usage;
mod vault;
mod wire;

pub use assembler::{Assembler, AssemblerOptions, Step, StreamFault};
pub use client::{Client, Timeouts};
pub use completion::{Completion, Finish, StreamEvent, ToolCall, Usage};
pub use decoder::{Progress, ReplyDecoder};
pub use endpoint::{Auth, Endpoint, EndpointKind};
pub use errors::ModelError;
pub use family::{Family, SuggestedSeat, suggest_seats};
pub use model_list::ModelInfo;
pub use profile::{EffortField, MaxTokensField, Profile, ReasoningField};
pub use provider_report::ProviderReport;
pub use redact::redact;
pub use request::{ChatMessage, ChatRequest, ChatRole};
pub use retry_after::{LONGEST_WAIT, body_wait, header_wait, retry_after};
pub use secret::SecretString;
pub use sse::{MAX_EVENT_BYTES, SseEvent, SseReader};
pub use transport::USER_AGENT;
pub use vault::{Vault, VaultError, VaultKind};
