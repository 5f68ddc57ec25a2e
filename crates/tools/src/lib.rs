//! The tool registry: one schema, one permission class and one executor for each tool, behind one guard.
//!
//! Whatever calls a tool, a model in a turn, a program of code mode, a client of MCP, the command line, passes
//! [`Guard::call`]: is the tool known, do the arguments fit, do tier and trust allow it, does the policy ask, does the
//! path stay inside; what will change is kept first, so that it can be taken back.
//!
//! ```
//! use std::sync::Arc;
//! use tools::{AnswerWith, Answer, CallRequest, Guard, Registry, Session, Tier, TurnMessage, Workbench};
//! use workspace::Workspace;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (folder, data) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! std::fs::write(folder.path().join("a.txt"), "one\n")?;
//! let (workbench, _) = Workbench::open(Workspace::open(&[folder.path()])?, data.path(), None)?;
//! let guard = Guard::new(Registry::built_in(), Arc::new(workbench));
//! let session = Arc::new(Session::new(TurnMessage { id: "m1".into(), at_millis: 0 }));
//!
//! let mut request = CallRequest {
//!     call_id: "c1".into(),
//!     tool: "read_file".into(),
//!     arguments: serde_json::json!({"path": "a.txt"}),
//!     seat: "ann".into(),
//!     tier: Tier::Read,
//! };
//! let asker = AnswerWith(|_: &tools::Question| Answer::AllowOnce);
//! let report = guard.call(&request, &session, &asker, &Default::default()).await;
//! assert_eq!(report.text(), "   1| one\n");
//!
//! request.tool = "delete_file".into();
//! let report = guard.call(&request, &session, &asker, &Default::default()).await;
//! assert_eq!(report.result.unwrap_err().kind.name(), "not_allowed");
//! # Ok(())
//! # }
//! ```

mod approval;
mod arguments;
mod checkpoint_keeper;
mod class;
mod code_mode;
mod command_bounds;
mod command_tools;
mod fault;
mod file_tools;
mod folder_tools;
mod guard;
mod job_tools;
mod nearest_name;
mod project_notes;
mod registry;
mod search_tools;
mod session;
mod text;
mod tool;
mod trust;
mod workbench;

pub use approval::{Answer, AnswerWith, Approval, Asker, NobodyAsks, Question};
pub use arguments::parse_arguments;
pub use class::{Class, Tier};
pub use code_mode::{CallObserver, ProgramTools};
pub use command_bounds::{Bounds, Sandboxing};
pub use fault::{FaultKind, ToolFault};
pub use guard::{CallReport, CallRequest, Guard};
pub use project_notes::ProjectNotes;
pub use registry::{NameTaken, Registry};
pub use session::{Grant, Seat, Session, TurnMessage};
pub use tool::{CallContext, Executor, Keeps, Need, Plan, Tool, ToolOutput, ToolSummary};
pub use trust::{Trust, TrustRecord};
pub use workbench::{OpenError, ToolSettings, Workbench};
