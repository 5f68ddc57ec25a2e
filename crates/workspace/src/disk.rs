//! A hook before every step that changes the disk, so that tests can kill the process or refuse at any of them.

use std::fmt;
use std::io;
use std::sync::Arc;

/// Called with the name of the step; an error is returned in its place.
type Hook = dyn Fn(&str) -> io::Result<()> + Send + Sync;

/// The way to the disk.
#[derive(Clone, Default)]
pub struct Disk {
    hook: Option<Arc<Hook>>,
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk")
            .field("hooked", &self.hook.is_some())
            .finish()
    }
}

impl Disk {
    /// A disk whose every step asks `hook` first.
    pub fn with_hook(hook: impl Fn(&str) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self {
            hook: Some(Arc::new(hook)),
        }
    }

    pub(crate) fn before(&self, step: &str) -> io::Result<()> {
        self.hook.as_ref().map_or(Ok(()), |hook| hook(step))
    }
}
