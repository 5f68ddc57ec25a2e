//! What a reader has seen: the version of each file that was last shown, so that an edit made against an older
//! one is noticed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{ContentHash, RelPath};

/// Texts up to this size are remembered whole, so that an edit can be shown to lie where nothing changed.
pub(crate) const LONGEST_TEXT: usize = 1024 * 1024;
/// As many texts are remembered.
const MOST_TEXTS: usize = 32;

/// The versions one reader, a seat in a thread say, has seen.
#[derive(Debug, Default)]
pub struct ReadLedger(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    versions: HashMap<RelPath, Version>,
    /// The files whose text is remembered, the oldest first.
    order: VecDeque<RelPath>,
}

/// A version of a file.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) hash: ContentHash,
    /// The view of the text, unless it is too long or too long ago.
    pub(crate) text: Option<Arc<str>>,
}

impl ReadLedger {
    pub(crate) fn note(&self, path: &RelPath, hash: ContentHash, text: Option<&str>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = text
            .filter(|text| text.len() <= LONGEST_TEXT)
            .map(Arc::from);
        seen.order.retain(|other| other != path);
        if text.is_some() {
            seen.order.push_back(path.clone());
        }
        seen.versions.insert(path.clone(), Version { hash, text });
        if seen.order.len() > MOST_TEXTS
            && let Some(oldest) = seen.order.pop_front()
            && let Some(version) = seen.versions.get_mut(&oldest)
        {
            version.text = None;
        }
    }

    pub(crate) fn seen(&self, path: &RelPath) -> Option<Version> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.versions.get(path).cloned()
    }

    pub(crate) fn forget(&self, path: &RelPath) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.versions.remove(path);
        seen.order.retain(|other| other != path);
    }
}
