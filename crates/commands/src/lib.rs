//! Shell commands of models: taken apart, judged, run within bounds, stopped with all they started, and their output
//! kept.
//!
//! ```
//! use commands::{Decision, Place, RuleSet, judge};
//!
//! let place = Place { workspace: "/home/me/project".as_ref(), is_secret: &|path| path.ends_with(".env") };
//! let rules = RuleSet::default();
//! assert_eq!(judge("git status && ls -la", &rules, &place).decision, Decision::Allow);
//! assert_eq!(judge("git status && git push", &rules, &place).decision, Decision::Ask);
//! assert_eq!(judge("echo \"$(rm -fr /)\"", &rules, &place).decision, Decision::Deny);
//! assert_eq!(judge("cat .env", &rules, &place).decision, Decision::Ask);
//! ```

mod distil;
mod environment;
mod heredoc;
mod output_store;
mod parse;
mod policy;
mod process_tree;
mod read_word;
mod rules;
mod runner;
mod sandbox;
mod visible;
mod word;
mod wrappers;

pub use distil::Distilled;
pub use environment::{EnvironmentPolicy, Inherit};
pub use output_store::{OutputPart, OutputRequest, OutputStore, Stream};
pub use parse::parse;
pub use policy::{Judgement, Part, Place, judge};
pub use rules::{Decision, Rule, RuleError, RuleSet};
pub use runner::{CommandResult, CommandSpec, Ended, JobSummary, Runner};
#[cfg(target_os = "linux")]
pub use sandbox::helper_main;
pub use sandbox::{Enforcement, Helper, Layer, Missing, SandboxPolicy, protected_places};
pub use visible::{Piece, pieces, visible};
pub use word::{NotUnderstood, Redirect, SimpleCommand, Word};
