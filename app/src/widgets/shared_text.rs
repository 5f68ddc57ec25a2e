//! A text that is kept once, wherever it lies.

use std::{fmt, ops::Deref, sync::Arc};

/// A text that never changes, shared with whoever made it: a message of the transcript is shown without a copy.
#[derive(Clone)]
pub struct SharedText(Arc<dyn AsRef<str> + Send + Sync>);

impl SharedText {
    /// The text of `owner`, which stays alive as long as this does. It must give the same text each time.
    pub fn of(owner: Arc<impl AsRef<str> + Send + Sync + 'static>) -> Self {
        Self(owner)
    }
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        (*self.0).as_ref()
    }
}

impl Default for SharedText {
    fn default() -> Self {
        Self::from("")
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        Self(Arc::new(text))
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        Self(Arc::new(Box::<str>::from(text)))
    }
}

impl PartialEq for SharedText {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SharedText {}

impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
