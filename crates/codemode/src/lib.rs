//! Code mode: a JavaScript-like language in which a model calls tools by program.
//!
//! ```
//! use codemode::{CancelFlag, Call, Limits, Output, Reply, Runtime, Tool, ToolHost, ToolSet};
//! use futures_util::future::{BoxFuture, FutureExt};
//!
//! struct Shop;
//! impl ToolHost for Shop {
//!     fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
//!         async move { Ok(Output::Json(serde_json::json!({ "id": call.input["id"], "status": "open" }))) }.boxed()
//!     }
//! }
//!
//! let order = Tool {
//!     path: "orders.lookup".into(),
//!     input: Some(serde_json::json!({ "type": "object", "properties": { "id": { "type": "string" } } })),
//!     output: Some(serde_json::json!({ "type": "object" })),
//!     ..Tool::default()
//! };
//! let tools = ToolSet::new(vec![order], Default::default())?;
//! let runtime = Runtime::new(tools, Limits::default());
//! let source = "const order = await tools.orders.lookup({ id: 'o1' }); ({ open: order.status === 'open' })";
//! let outcome = futures_executor(runtime.execute(source, &Shop, &CancelFlag::default()))?;
//! assert_eq!(outcome.result, Ok(serde_json::json!({ "open": true })));
//! # fn futures_executor<F: Future>(f: F) -> F::Output {
//! #     tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(f)
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program reaches the world through its tools only. Source is parsed by oxc (`front`), compiled to register code
//! (`compile`) and run by a machine whose frames, objects and strings live in arenas of the run (`vm`, `heap`). What
//! stands and what is missing is told in the crate's README.

#![allow(
    clippy::wrong_self_convention,
    reason = "the conversions are named as ECMA-262 names them"
)]

mod atoms;
mod binary;
mod builtins;
mod check;
pub mod cli;
mod compile;
mod compiled;
mod data;
mod diagnostic;
pub mod events;
mod front;
mod heap;
mod hooks;
mod host;
mod limits;
mod mark;
mod number;
mod object;
mod op;
pub mod openapi;
mod outcome;
mod output;
mod realm;
mod record;
mod regex;
mod run;
mod runtime;
mod schema;
mod search;
mod shape;
mod signature;
mod state;
mod text;
mod tools;
mod value;
mod vm;

pub use data::{BadExtension, Data, Extension, HostError, HostFunction};
pub use diagnostic::{Diagnostic, DiagnosticKind, Location};
pub use hooks::{Ended, Hooks};
pub use host::{Call, CancelFlag, Environment, Output, Reply, ToolError};
pub use limits::{BadLimit, Limits, Truncation};
pub use outcome::{Outcome, ToolCall};
pub use record::{LoggedCall, ReplayError, RunLog, Step};
pub use run::{Interrupted, ToolHost};
pub use runtime::{Compiled, Runtime, compile, compile_with_prelude};
pub use schema::validate;
pub use tools::{BadPath, Descriptor, Namespace, Tool, ToolSet, expression};
