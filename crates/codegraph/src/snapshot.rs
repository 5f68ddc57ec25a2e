//! Where a folder's snapshot lies: names by hash of the path, and writes that are whole or not there.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use md5::{Digest as _, Md5};
use thiserror::Error;
use unicode_normalization::UnicodeNormalization as _;

/// A snapshot that couldn't be written.
#[derive(Debug, Error)]
#[error("cannot write the snapshot: {source}: {}", path.display())]
pub struct SnapshotError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: std::io::Error,
}

/// The 12 hex digits that stand for a folder: MD5 of its absolute path.
///
/// The path is taken as NFC, with `/` for `\`, a drive letter in lower case and no slash at the end, so that every
/// spelling of one folder gives one name. The caller resolves links and the case on disk first.
#[must_use]
pub fn workspace_hash(absolute_path: &str) -> String {
    let mut path: String = absolute_path
        .nfc()
        .map(|c| if c == '\\' { '/' } else { c })
        .collect();
    if path.as_bytes().get(1) == Some(&b':') {
        path[..1].make_ascii_lowercase();
    }
    while path.len() > 1 && path.ends_with('/') {
        path.pop();
    }
    let digest = Md5::digest(path.as_bytes());
    digest
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The names of a folder's graph and of its tree text.
#[must_use]
pub fn snapshot_names(absolute_path: &str) -> (String, String) {
    let hash = workspace_hash(absolute_path);
    (
        format!("file-tree-snapshot-{hash}.kg"),
        format!("file-tree-snapshot-{hash}.txt"),
    )
}

/// Writes a file under a temporary name beside it and then renames, so that a reader sees the old or the new one.
///
/// # Errors
/// Says which file the system refused.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), SnapshotError> {
    let write = || {
        let directory = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory)?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|source| SnapshotError {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_paths_give_their_known_hashes() {
        assert_eq!(workspace_hash("d:/Work Projects/H"), "eff1144f48a5");
        assert_eq!(workspace_hash("D:\\Work Projects\\H\\"), "eff1144f48a5");
        assert_eq!(workspace_hash("/home/u/app"), "e8fe62499352");
        assert_eq!(workspace_hash("/home/u/app/"), "e8fe62499352");
        assert_eq!(
            workspace_hash("/home/u/a\u{308}"),
            workspace_hash("/home/u/\u{e4}")
        );
    }

    #[test]
    fn a_write_replaces_the_whole_file_and_leaves_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/er.kg");
        write_atomically(&path, b"one two three").unwrap();
        write_atomically(&path, b"four").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"four");
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1
        );
    }
}
