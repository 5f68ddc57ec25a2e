//! Keeps what a call is about to change, in the checkpoint of the message whose turn it is.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use workspace::{Suspects, TreeWatch, WorkspaceError};

use crate::tool::Keeps;
use crate::{Session, Workbench};

impl Workbench {
    /// Keeps what a call may change. Without it the call isn't carried out.
    pub(crate) fn keep_before(
        &self,
        session: &Session,
        keeps: &Keeps,
    ) -> Result<(), WorkspaceError> {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let message = session.message();
        match keeps {
            Keeps::Nothing => Ok(()),
            Keeps::Paths(paths) => {
                let mut checkpoint = self.history.checkpoint(&message.id, message.at_millis)?;
                paths
                    .iter()
                    .try_for_each(|path| checkpoint.before(&self.workspace, path))
            }
            Keeps::Tree => {
                let suspects = self.suspects(&mut watch);
                let mut checkpoint = self.history.checkpoint(&message.id, message.at_millis)?;
                if !self.jobs_ran() {
                    return checkpoint.before_command(&self.workspace, &suspects);
                }
                // What changed meanwhile may be a job's doing.
                let changed = checkpoint.after_command(&self.workspace, &suspects);
                changed.map(drop)
            }
        }
    }

    /// Records what a call changed; how many paths that is.
    pub(crate) fn keep_after(
        &self,
        session: &Session,
        keeps: &Keeps,
    ) -> Result<usize, WorkspaceError> {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let message = session.message();
        match keeps {
            Keeps::Nothing => Ok(0),
            Keeps::Paths(paths) => {
                let mut checkpoint = self.history.checkpoint(&message.id, message.at_millis)?;
                for path in paths {
                    checkpoint.after(&self.workspace, path)?;
                }
                Ok(paths.len())
            }
            Keeps::Tree => {
                let suspects = self.suspects(&mut watch);
                let mut checkpoint = self.history.checkpoint(&message.id, message.at_millis)?;
                checkpoint.after_command(&self.workspace, &suspects)
            }
        }
    }

    /// Records what jobs changed since the last command, so that it can be taken back as well: to be called at the end
    /// of a turn and before a restore is shown. How many paths that is.
    ///
    /// # Errors
    /// The tree can't be looked at, or the disk refuses.
    pub fn keep_up(&self, session: &Session) -> Result<usize, WorkspaceError> {
        if !self.jobs_ran() {
            return Ok(0);
        }
        self.keep_after(session, &Keeps::Tree)
    }

    /// Whether a job ran since the last call of this, or runs.
    fn jobs_ran(&self) -> bool {
        let runs = !self.runner.list_jobs().is_empty();
        self.jobs_ran.swap(runs, Ordering::AcqRel) || runs
    }

    /// What may have changed since the last call of this; the watch begins with the first.
    fn suspects(&self, watch: &mut Option<TreeWatch>) -> Suspects {
        if let Some(watch) = watch {
            return watch.suspects();
        }
        match TreeWatch::start(&self.workspace, &self.history) {
            Ok(begun) => *watch = Some(begun),
            Err(error) => log::info!("changes are found by looking everywhere: {error}"),
        }
        Suspects::All
    }
}
