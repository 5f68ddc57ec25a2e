//! What a host does around calls: refuse them before they start, look at them when they end.

use crate::data::Data;
use crate::host::{Call, Output, ToolError};

/// How a call ended, with its result.
#[derive(Debug)]
pub enum Ended<'a, T> {
    /// With this result.
    Success(&'a T),
    /// With an error of this text.
    Failure(&'a str),
    /// Cut off by the end of the run.
    Interrupted,
}

/// Looks at every call of a run. The methods run on the run's own thread and must not wait: what asks a person belongs
/// into [`crate::ToolHost::call`].
pub trait Hooks: Send + Sync {
    /// A tool call was admitted, with decoded input. An error denies it: the program gets it as the call's failure and
    /// can catch it. The built-in `search` comes by too, as the tool `search` with the index `usize::MAX`.
    ///
    /// # Errors
    /// To deny the call.
    fn before_tool(&self, call: &Call) -> Result<(), ToolError> {
        let _ = call;
        Ok(())
    }

    /// An admitted tool call that wasn't denied ended.
    fn after_tool(&self, call: &Call, ended: Ended<'_, Output>) {
        let _ = (call, ended);
    }

    /// The program called an extension, or a function that an extension gave it.
    ///
    /// # Errors
    /// To deny the call.
    fn before_extension(&self, name: &str, arguments: &[Data]) -> Result<(), ToolError> {
        let _ = (name, arguments);
        Ok(())
    }

    /// A call of an extension ended; one that gave a promise ends when the promise settles.
    fn after_extension(&self, name: &str, ended: Ended<'_, Data>) {
        let _ = (name, ended);
    }
}
