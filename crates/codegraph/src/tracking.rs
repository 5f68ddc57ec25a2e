//! What a thread is told about the folder: the whole tree once, then only what came and went.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::snapshot::{SnapshotError, write_atomically};

/// The text for a folder in which no file came or went.
pub const NO_CHANGES: &str = "(no file tree changes since last update)";

/// A thread is sent the whole tree again when more files than this came or went.
pub const PATCH_LIMIT: usize = 100;

/// What one turn of a thread is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeUpdate {
    /// The whole tree, within its budget.
    Full(String),
    /// `+ added` and `- deleted` lines.
    Patch(String),
    /// Nothing came or went.
    Unchanged,
}

impl TreeUpdate {
    /// The text for the prompt.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Full(text) | Self::Patch(text) => text,
            Self::Unchanged => NO_CHANGES,
        }
    }
}

/// What every thread was last told, kept over restarts. Threads that were told the same share one list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentTrees {
    /// The list that each thread knows, by its key.
    threads: BTreeMap<String, String>,
    /// File lists by key.
    lists: BTreeMap<String, Vec<String>>,
}

impl SentTrees {
    /// Reads what was told before. A file that is missing or broken means that nobody was told anything.
    #[must_use]
    pub fn load(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Writes what was told, whole or not at all.
    ///
    /// # Errors
    /// Says which file the system refused.
    pub fn save(&self, path: &Path) -> Result<(), SnapshotError> {
        let bytes = serde_json::to_vec(self).map_err(|error| SnapshotError {
            path: path.to_owned(),
            source: std::io::Error::other(error),
        })?;
        write_atomically(path, &bytes)
    }

    /// What a thread is to be told now, of the sorted paths of all files; it counts as told from then on. `tokens` is
    /// the budget of a whole tree.
    pub fn update<'p>(
        &mut self,
        thread: &str,
        paths: impl Iterator<Item = &'p str>,
        tokens: usize,
    ) -> TreeUpdate {
        let now: Vec<String> = paths.map(str::to_owned).collect();
        let before = self.threads.get(thread).and_then(|key| self.lists.get(key));
        let update = match before {
            None => TreeUpdate::Full(full_tree(&now, tokens)),
            Some(before) => {
                patch(before, &now).unwrap_or_else(|| TreeUpdate::Full(full_tree(&now, tokens)))
            }
        };
        let key = key_of(&now);
        self.threads.insert(thread.to_owned(), key.clone());
        self.lists.entry(key).or_insert(now);
        self.drop_unknown_lists();
        update
    }

    /// Makes the next update of a thread a whole tree again.
    pub fn reset(&mut self, thread: &str) {
        self.threads.remove(thread);
        self.drop_unknown_lists();
    }

    fn drop_unknown_lists(&mut self) {
        let known: BTreeSet<&String> = self.threads.values().collect();
        self.lists.retain(|key, _| known.contains(key));
    }
}

fn key_of(paths: &[String]) -> String {
    let mut hasher = Xxh3::new();
    for path in paths {
        hasher.update(path.as_bytes());
        hasher.update(b"\n");
    }
    format!("{:032x}", hasher.digest128())
}

/// The lines between two lists; `None` where there are too many.
fn patch(before: &[String], now: &[String]) -> Option<TreeUpdate> {
    let (old, new): (BTreeSet<&String>, BTreeSet<&String>) =
        (before.iter().collect(), now.iter().collect());
    let added: Vec<_> = new.difference(&old).collect();
    let deleted: Vec<_> = old.difference(&new).collect();
    if added.is_empty() && deleted.is_empty() {
        return Some(TreeUpdate::Unchanged);
    }
    if added.len() + deleted.len() > PATCH_LIMIT {
        return None;
    }
    let mut text = String::new();
    for (sign, paths) in [('+', added), ('-', deleted)] {
        for path in paths {
            // Writing to a String can't fail.
            let _ = writeln!(text, "{sign} {path}");
        }
    }
    text.pop();
    Some(TreeUpdate::Patch(text))
}

/// The tree as paths, as deep as the budget allows: a directory below that depth is one line with its number of files.
fn full_tree(paths: &[String], tokens: usize) -> String {
    const CHARACTERS_PER_TOKEN: usize = 4;
    let budget = tokens.saturating_mul(CHARACTERS_PER_TOKEN);
    let deepest = paths
        .iter()
        .map(|path| path.matches('/').count() + 1)
        .max()
        .unwrap_or(1);
    let mut best = None;
    for depth in 1..=deepest {
        let text = tree_to_depth(paths, depth);
        if text.len() > budget {
            break;
        }
        best = Some(text);
    }
    best.unwrap_or_else(|| {
        let top = tree_to_depth(paths, 1);
        let mut cut = String::new();
        let lines: Vec<&str> = top.lines().collect();
        let kept = lines
            .iter()
            .take_while(|line| {
                let fits = cut.len() + line.len() < budget;
                if fits {
                    cut.push_str(line);
                    cut.push('\n');
                }
                fits
            })
            .count();
        let _ = write!(cut, "... {} more", lines.len() - kept);
        cut
    })
}

fn tree_to_depth(paths: &[String], depth: usize) -> String {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for path in paths {
        let parts: Vec<&str> = path.split('/').collect();
        if parts.len() <= depth {
            lines.insert(path.clone(), 0);
        } else {
            *lines
                .entry(format!("{}/", parts[..depth].join("/")))
                .or_default() += 1;
        }
    }
    let lines = lines.into_iter().map(|(line, files)| match files {
        0 => line,
        1 => format!("{line} (1 file)"),
        files => format!("{line} ({files} files)"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(count: usize) -> Vec<String> {
        let mut paths: Vec<String> = (0..count)
            .map(|number| format!("d{}/f{number}.ts", number % 7))
            .collect();
        paths.sort();
        paths
    }

    fn tell(sent: &mut SentTrees, thread: &str, paths: &[String]) -> TreeUpdate {
        sent.update(thread, paths.iter().map(String::as_str), 10_000)
    }

    #[test]
    fn a_thread_gets_the_tree_once_then_patches() {
        let mut sent = SentTrees::default();
        let mut files = paths(10);
        assert!(
            matches!(tell(&mut sent, "a", &files), TreeUpdate::Full(text) if text.contains("d0/f0.ts"))
        );
        assert_eq!(
            tell(&mut sent, "a", &files).text(),
            "(no file tree changes since last update)"
        );
        files.remove(0);
        files.push("z.ts".to_owned());
        assert_eq!(tell(&mut sent, "a", &files).text(), "+ z.ts\n- d0/f0.ts");
        assert_eq!(tell(&mut sent, "a", &files), TreeUpdate::Unchanged);
        assert!(
            matches!(tell(&mut sent, "b", &files), TreeUpdate::Full(_)),
            "another thread knows nothing"
        );
    }

    #[test]
    fn strictly_more_than_a_hundred_changes_send_the_tree_again() {
        let mut sent = SentTrees::default();
        tell(&mut sent, "a", &[]);
        assert!(matches!(
            tell(&mut sent, "a", &paths(100)),
            TreeUpdate::Patch(_)
        ));
        tell(&mut sent, "a", &[]);
        sent.reset("a");
        tell(&mut sent, "a", &[]);
        assert!(matches!(
            tell(&mut sent, "a", &paths(101)),
            TreeUpdate::Full(_)
        ));
    }

    #[test]
    fn what_was_told_survives_a_restart_and_a_broken_file_does_no_harm() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sent.json");
        let mut sent = SentTrees::default();
        tell(&mut sent, "a", &paths(5));
        sent.save(&path).unwrap();
        let mut again = SentTrees::load(&path);
        assert_eq!(again, sent);
        assert_eq!(tell(&mut again, "a", &paths(5)), TreeUpdate::Unchanged);
        std::fs::write(&path, "{ broken").unwrap();
        assert_eq!(SentTrees::load(&path), SentTrees::default());
    }

    #[test]
    fn a_tree_over_its_budget_shows_less_depth_and_stays_within() {
        let files = paths(1_000);
        let text = full_tree(&files, 100);
        assert!(
            text.len() <= 400 && text.contains("d0/ (143 files)"),
            "{text}"
        );
        let flat: Vec<String> = (0..1_000).map(|number| format!("f{number}")).collect();
        assert!(full_tree(&flat, 100).ends_with("more"));
    }
}
