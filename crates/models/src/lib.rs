//! Model endpoints: the streaming client, its dialects, the model list and the key vault.

mod assembler;
mod client;
mod completion;
mod decoder;
mod endpoint;
mod errors;
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
mod wire;

pub use assembler::{Assembler, AssemblerOptions, Step, StreamFault};
pub use client::{Client, Timeouts};
pub use completion::{Completion, Finish, StreamEvent, ToolCall, Usage};
pub use decoder::{Progress, ReplyDecoder};
pub use endpoint::{Auth, Endpoint, EndpointKind};
pub use errors::ModelError;
pub use model_list::ModelInfo;
pub use profile::{EffortField, MaxTokensField, Profile, ReasoningField};
pub use provider_report::ProviderReport;
pub use redact::redact;
pub use request::{ChatMessage, ChatRequest, ChatRole};
pub use retry_after::{LONGEST_WAIT, body_wait, header_wait, retry_after};
pub use secret::SecretString;
pub use sse::{MAX_EVENT_BYTES, SseEvent, SseReader};
pub use transport::USER_AGENT;
