//! A seat's calls through the guard, and an endpoint as the loop's model.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use models::{
    ChatMessage, ChatRequest, Client, Completion, Endpoint, ModelError, StreamEvent, ToolCall,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tools::{
    Asker, CallReport, CallRequest, Guard, Session, Tier, Tool, ToolFault, parse_arguments,
};

use crate::driver::{CallRunner, Called, Model};
use crate::tool_loop::CallResult;

/// Carries out the calls of a seat in one turn.
#[derive(Clone)]
pub struct SeatTools {
    /// The guard.
    pub guard: Guard,
    /// The thread.
    pub session: Arc<Session>,
    /// The seat.
    pub seat: String,
    /// What it is allowed in this turn.
    pub tier: Tier,
    /// Who asks the person.
    pub asker: Arc<dyn Asker>,
}

impl std::fmt::Debug for SeatTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SeatTools")
            .field("seat", &self.seat)
            .field("tier", &self.tier)
            .finish_non_exhaustive()
    }
}

impl SeatTools {
    /// The tools as a request offers them; none where there are none to be had.
    pub fn offers(&self) -> Vec<Value> {
        let allowed = self.guard.allowed(self.tier);
        allowed.into_iter().map(Tool::offer).collect()
    }
}

impl CallRunner for SeatTools {
    fn is_read_only(&self, name: &str) -> bool {
        self.guard.registry().is_read_only(name)
    }

    fn run<'a>(&'a self, call: &'a ToolCall, cancel: CancellationToken) -> BoxFuture<'a, Called> {
        Box::pin(async move {
            let arguments = match parse_arguments(&call.arguments) {
                Ok(arguments) => arguments,
                Err(fault) => return Called::refused(&fault),
            };
            let request = CallRequest {
                call_id: call.id.clone(),
                tool: call.name.clone(),
                arguments,
                seat: self.seat.clone(),
                tier: self.tier,
            };
            let calling = self
                .guard
                .call(&request, &self.session, &*self.asker, &cancel);
            Called::of(calling.await)
        })
    }
}

impl Called {
    /// What came of a call that reached the guard.
    pub fn of(report: CallReport) -> Self {
        let bad_call = report
            .result
            .as_ref()
            .is_err_and(|fault| fault.kind.is_bad_call());
        Self {
            result: CallResult {
                text: report.text(),
                bad_call,
            },
            report: Some(Box::new(report)),
        }
    }

    /// A call that never reached the guard.
    pub fn refused(fault: &ToolFault) -> Self {
        Self {
            result: CallResult {
                text: fault.text(),
                bad_call: fault.kind.is_bad_call(),
            },
            report: None,
        }
    }
}

/// A model behind an endpoint.
#[derive(Debug)]
pub struct EndpointModel {
    /// The way there.
    pub client: Client,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The request, without messages and tools: model, effort, limits.
    pub request: ChatRequest,
    /// The tools, as they are offered where they are.
    pub tools: Vec<Value>,
}

impl Model for EndpointModel {
    fn stream<'a>(
        &'a self,
        messages: &'a [ChatMessage],
        offer_tools: bool,
        events: mpsc::Sender<StreamEvent>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Completion, ModelError>> {
        let mut request = self.request.clone();
        request.messages = messages.to_vec();
        request.tools = if offer_tools {
            self.tools.clone()
        } else {
            Vec::new()
        };
        Box::pin(async move {
            let streaming = self.client.stream(&self.endpoint, &request, cancel, events);
            streaming.await
        })
    }
}
