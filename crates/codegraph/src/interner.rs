//! Strings as numbers: equal strings get equal numbers, for the life of the table.

use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A table of strings that only grows.
#[derive(Clone, Debug, Default)]
pub struct Interner {
    ids: FxHashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl Interner {
    /// The number of a string, given out on first sight.
    pub fn intern(&mut self, text: &str) -> u32 {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let text: Arc<str> = Arc::from(text);
        self.texts.push(Arc::clone(&text));
        self.ids.insert(text, id);
        id
    }

    /// The number of a string that was seen before.
    #[must_use]
    pub fn get(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    /// The string of a number that this table gave out; empty for any other.
    #[must_use]
    pub fn text(&self, id: u32) -> &str {
        self.texts.get(id as usize).map_or("", |text| text)
    }

    /// How many strings the table holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether the table holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}
