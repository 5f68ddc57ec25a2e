//! Whole-program tests: the real `folkmoot` and `rehearse` as child processes, scripted models, a real window, kill -9.
//!
//! This library holds what the tests are made of; the tests themselves are in `tests/`:
//!
//! ```no_run
//! use folkmoot_tests::{DataFolder, ModelServer, folkmoot};
//!
//! let server = ModelServer::play("[[step]]\nreply = \"Good day.\"");
//! let home = DataFolder::for_server(&server);
//! let outcome = folkmoot(&home).args(["ask", "--json", "hello"]).run();
//! assert_eq!(outcome.code, Some(0), "{outcome}");
//! assert_eq!(outcome.reply("ann")["content"], "Good day.");
//! ```
//!
//! Like tests themselves, everything here panics when the machine or a program under test doesn't do its part.

use std::time::Duration;

mod binaries;
mod data_folder;
mod model_server;
mod outcome;
mod program;
pub mod screen;

pub use binaries::{folkmoot_path, rehearse_path};
pub use data_folder::DataFolder;
pub use model_server::ModelServer;
pub use outcome::Outcome;
pub use program::{Program, Running, folkmoot, rehearse};

/// Far longer than anything here takes, on a busy machine too; reaching it is a failure.
pub const PATIENCE: Duration = Duration::from_secs(60);
