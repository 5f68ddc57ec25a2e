//! The commits of a folder: which files changed together, and how often each did.

use std::path::Path;
use std::process::Command;

use rustc_hash::FxHashMap;
use thiserror::Error;

/// History that can't be read.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// Git isn't there.
    #[error("git cannot be run: {0}")]
    Git(#[from] std::io::Error),
    /// The folder is no repository, or has no commit.
    #[error("no history: {0}")]
    None(String),
}

/// The files of recent commits, newest first; paths relative to the folder, with `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// One list of files a commit.
    pub commits: Vec<Vec<String>>,
}

impl History {
    /// Reads up to `limit` commits of the repository around a folder. Merges are left out.
    ///
    /// # Errors
    /// Where git isn't installed or the folder has no history.
    pub fn read(root: &Path, limit: usize) -> Result<Self, HistoryError> {
        let output = Command::new("git")
            .arg("-C")
            .arg(root)
            .args([
                "-c",
                "core.fsmonitor=false",
                "-c",
                "core.quotepath=false",
                "-c",
                "log.showSignature=false",
            ])
            .args([
                "log",
                "--no-merges",
                "--no-renames",
                "--name-only",
                "--relative",
                "-z",
                "--format=%x01",
            ])
            .arg(format!("--max-count={limit}"))
            .output()?;
        if !output.status.success() {
            return Err(HistoryError::None(
                String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            ));
        }
        Ok(Self::parse(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Reads what `git log -z --name-only --format=%x01` prints.
    fn parse(text: &str) -> Self {
        let commits = text.split('\u{1}').skip(1).map(|commit| {
            commit
                .split(['\0', '\n'])
                .filter(|path| !path.is_empty())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        Self {
            commits: commits.filter(|files| !files.is_empty()).collect(),
        }
    }

    /// How many commits touched each file.
    #[must_use]
    pub fn churn(&self) -> FxHashMap<&str, u32> {
        let mut churn = FxHashMap::default();
        for path in self.commits.iter().flatten() {
            *churn.entry(path.as_str()).or_default() += 1;
        }
        churn
    }

    /// How many commits ago each file was touched last.
    #[must_use]
    pub fn last_changes(&self) -> FxHashMap<&str, u32> {
        let mut last = FxHashMap::default();
        for (ago, files) in (0..).zip(&self.commits) {
            for path in files {
                last.entry(path.as_str()).or_insert(ago);
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_reads_as_files_by_commit() {
        let history = History::parse("\u{1}\0\na.ts\0b/c d.ts\0\u{1}\0\u{1}\0\na.ts\0");
        assert_eq!(history.commits, [vec!["a.ts", "b/c d.ts"], vec!["a.ts"]]);
        let last = history.last_changes();
        assert_eq!((last["a.ts"], last["b/c d.ts"], last.len()), (0, 0, 2));
        assert_eq!(history.churn()["a.ts"], 2);
    }
}
