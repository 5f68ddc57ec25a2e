//! Where the secrets of a workspace lie: for those who hide them from programs.

use std::fs;
use std::path::PathBuf;

use crate::RelPath;
use crate::workspace::Workspace;

/// As many entries are looked through.
const MOST_ENTRIES: usize = 200_000;

impl Workspace {
    /// The real paths of what the secret policy covers, what Git ignores included. Of a folder that is covered only
    /// the folder is told, links are not followed, and no more than 200,000 entries are looked at.
    pub fn secret_paths(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut todo: Vec<(PathBuf, RelPath)> = self
            .roots()
            .map(|(path, root)| (root.real().to_owned(), path))
            .collect();
        let mut seen = 0;
        while let Some((folder, at)) = todo.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                seen += 1;
                if seen > MOST_ENTRIES {
                    log::warn!(
                        "more than {MOST_ENTRIES} entries; secrets among the rest are not hidden"
                    );
                    return found;
                }
                let name = entry.file_name();
                let Some(name) = name.to_str().filter(|name| *name != ".git") else {
                    continue;
                };
                let path = at.join(name);
                if self.secrets().hides_last(&path) {
                    found.push(entry.path());
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    todo.push((entry.path(), path));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::Workspace;

    #[test]
    fn secrets_are_found_wherever_they_lie_and_a_covered_folder_stands_for_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b/.ssh")).unwrap();
        for path in [
            ".env",
            "a/main.rs",
            "a/b/server.pem",
            "a/b/.ssh/id_rsa",
            ".gitignore",
        ] {
            fs::write(top.join(path), ".env").unwrap();
        }
        let mut found = Workspace::open(&[&top]).unwrap().secret_paths();
        found.sort();
        let expected = [".env", "a/b/.ssh", "a/b/server.pem"].map(|path| top.join(path));
        assert_eq!(found, expected);
    }
}
