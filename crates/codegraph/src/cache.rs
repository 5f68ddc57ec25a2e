//! Facts by content, kept over restarts. The file is safe to delete at any time: it saves parsing and nothing else.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::facts::{FACTS_VERSION, FileFacts};
use crate::language::file_name;
use crate::snapshot::{SnapshotError, write_atomically};

const MAGIC: &[u8; 8] = b"kgfacts1";

/// The key of a file's facts: its bytes, its name (which decides the dialect) and the version of the reader.
#[must_use]
pub fn content_key(path: &str, bytes: &[u8]) -> u128 {
    let mut hasher = Xxh3::new();
    hasher.update(&FACTS_VERSION.to_le_bytes());
    hasher.update(file_name(path).as_bytes());
    hasher.update(&[0]);
    hasher.update(bytes);
    hasher.digest128()
}

/// Facts by content key.
#[derive(Debug, Default)]
pub struct FactsCache {
    entries: FxHashMap<u128, Arc<FileFacts>>,
}

impl FactsCache {
    /// Reads a cache file. One that is missing, cut, edited or of another version is an empty cache.
    #[must_use]
    pub fn load(path: &Path) -> Self {
        std::fs::read(path)
            .ok()
            .and_then(|bytes| Self::decode(&bytes))
            .unwrap_or_default()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (version, rest) = rest.split_first_chunk::<4>()?;
        let (sum, body) = rest.split_first_chunk::<8>()?;
        if u32::from_le_bytes(*version) != FACTS_VERSION
            || u64::from_le_bytes(*sum) != xxh3_64(body)
        {
            return None;
        }
        let entries: Vec<(u128, FileFacts)> = postcard::from_bytes(body).ok()?;
        Some(Self {
            entries: entries
                .into_iter()
                .map(|(key, facts)| (key, Arc::new(facts)))
                .collect(),
        })
    }

    /// Facts known for a key.
    #[must_use]
    pub fn get(&self, key: u128) -> Option<Arc<FileFacts>> {
        self.entries.get(&key).cloned()
    }

    /// Keeps facts.
    pub fn insert(&mut self, key: u128, facts: Arc<FileFacts>) {
        self.entries.insert(key, facts);
    }

    /// Drops everything but the given keys.
    pub fn retain(&mut self, keep: impl Fn(u128) -> bool) {
        self.entries.retain(|key, _| keep(*key));
    }

    /// Writes the cache whole or not at all.
    ///
    /// # Errors
    /// Says which file the system refused.
    pub fn save(&self, path: &Path) -> Result<(), SnapshotError> {
        let mut entries: Vec<(u128, &FileFacts)> = self
            .entries
            .iter()
            .map(|(key, facts)| (*key, &**facts))
            .collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        let body = postcard::to_stdvec(&entries).map_err(|error| SnapshotError {
            path: path.to_owned(),
            source: std::io::Error::other(error),
        })?;
        let mut bytes = Vec::with_capacity(body.len() + 20);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FACTS_VERSION.to_le_bytes());
        bytes.extend_from_slice(&xxh3_64(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        write_atomically(path, &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_and_a_damaged_file_is_an_empty_cache() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("facts");
        let source = b"import { a } from './b';\nexport const c = a;";
        let facts = Arc::new(crate::facts::extract("x.ts", source));
        let key = content_key("x.ts", source);
        let mut cache = FactsCache::default();
        cache.insert(key, Arc::clone(&facts));
        cache.save(&path).unwrap();
        assert_eq!(FactsCache::load(&path).get(key), Some(facts));
        assert_ne!(content_key("x.tsx", source), key);
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(FactsCache::load(&path).get(key), None);
    }
}
