//! The registry as tools of code mode: a program's calls pass the same guard as a model's own.

use std::collections::BTreeMap;
use std::sync::Arc;

use codemode::{BadPath, Call, Output, Reply, ToolError, ToolHost, ToolSet};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{Asker, CallReport, CallRequest, Guard, Session, Tier};

/// What is told of each call that a program made.
pub type CallObserver = dyn Fn(&CallRequest, &CallReport) + Send + Sync;

/// Answers the calls of a program on behalf of a seat.
#[derive(Clone)]
pub struct ProgramTools {
    /// The guard.
    pub guard: Guard,
    /// The thread the program belongs to.
    pub session: Arc<Session>,
    /// The seat that wrote the program.
    pub seat: String,
    /// What the seat is allowed in this turn.
    pub tier: Tier,
    /// Who asks the person.
    pub asker: Arc<dyn Asker>,
    /// Stops all calls.
    pub cancel: CancellationToken,
    /// Hears of each call when it is over, for the run journal.
    pub observer: Option<Arc<CallObserver>>,
}

impl std::fmt::Debug for ProgramTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProgramTools")
            .field("seat", &self.seat)
            .field("tier", &self.tier)
            .finish_non_exhaustive()
    }
}

impl Guard {
    /// The tools that a tier allows, as code mode describes them to a model: `tools.read_file({path})`.
    ///
    /// # Errors
    /// A tool's name has an empty part.
    pub fn program_tools(&self, tier: Tier) -> Result<ToolSet, BadPath> {
        let allowed = self.allowed(tier).into_iter();
        let tools = allowed.map(|tool| codemode::Tool {
            path: tool.name.to_string(),
            description: tool.description.to_string(),
            input: Some(tool.input.clone()),
            output: Some(tool.output.clone()),
            // The guard holds the arguments against the schema, and says more about what is wrong.
            validate: false,
        });
        ToolSet::new(tools.collect(), BTreeMap::new())
    }
}

impl ToolHost for ProgramTools {
    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let host = self.clone();
        Box::pin(async move {
            let request = CallRequest {
                call_id: format!("program-{}", call.id),
                tool: call.path,
                arguments: call.input,
                seat: host.seat,
                tier: host.tier,
            };
            let called = host
                .guard
                .call(&request, &host.session, &*host.asker, &host.cancel);
            let report = called.await;
            if let Some(observer) = &host.observer {
                observer(&request, &report);
            }
            match report.result {
                Ok(output) => Ok(Output::Json(output.data)),
                Err(fault) => Err(ToolError {
                    message: format!("{}: {}", fault.kind, fault.message),
                }),
            }
        })
    }
}
