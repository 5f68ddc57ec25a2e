//! The open folder: facts about it for the demo table, and files read from it as context blocks.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use thiserror::Error;
use transcript::{BlockKind, ContextBlock};

/// Files looked at before a folder counts as large enough.
const MAX_FILES: usize = 4_000;
/// Folders deeper than this are left out.
const MAX_DEPTH: usize = 8;
/// Largest file that is attached, in bytes.
const MAX_ATTACHED_BYTES: u64 = 1 << 20;
/// Largest file whose lines are counted, in bytes.
const MAX_COUNTED_BYTES: u64 = 256 << 10;

/// Why a file was not attached.
#[derive(Debug, Error)]
pub enum AttachError {
    /// The disk refused.
    #[error("file could not be read: {error} ({})", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// Too large to send along.
    #[error("file is larger than 1 MiB, attach a selection instead ({})", .0.display())]
    TooLarge(PathBuf),
    /// Not text.
    #[error("file is not text in UTF-8 ({})", .0.display())]
    NotText(PathBuf),
    /// The lines asked for aren't there.
    #[error("file has {lines} lines, so line {first} can't be attached ({})", path.display())]
    NoSuchLines {
        /// The file.
        path: PathBuf,
        /// How many lines it has.
        lines: usize,
        /// The first line asked for.
        first: u32,
    },
    /// Looks like it holds secrets.
    #[error("file looks like it holds secrets, so it is not attached ({})", .0.display())]
    Secret(PathBuf),
}

/// Reads a file, or some lines of it, as a context block. The path shown is relative to the folder where the
/// file lies inside it.
///
/// # Errors
/// When the file can't be read, is too large, is no text, or is of a kind that holds secrets.
pub fn read_context_block(
    folder: Option<&Path>,
    path: &Path,
    range: Option<[u32; 2]>,
) -> Result<ContextBlock, AttachError> {
    if is_secret(path) {
        return Err(AttachError::Secret(path.to_owned()));
    }
    let io = |error| AttachError::Io {
        path: path.to_owned(),
        error,
    };
    let full = std::fs::canonicalize(path).map_err(io)?;
    if is_secret(&full) {
        return Err(AttachError::Secret(full));
    }
    // Looked at before it is opened: opening a pipe waits for a writer.
    if !std::fs::metadata(&full).map_err(io)?.is_file() {
        return Err(io(std::io::Error::other("not a regular file")));
    }
    let file = std::fs::File::open(&full).map_err(io)?;
    let mut bytes = Vec::new();
    file.take(MAX_ATTACHED_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if bytes.len() as u64 > MAX_ATTACHED_BYTES {
        return Err(AttachError::TooLarge(full));
    }
    let text = String::from_utf8(bytes).map_err(|_| AttachError::NotText(full.clone()))?;
    if text.contains('\0') {
        return Err(AttachError::NotText(full));
    }
    let content = match range {
        Some([first, last]) => {
            let lines: Vec<&str> = text.lines().collect();
            let from = first.saturating_sub(1) as usize;
            if from >= lines.len() {
                return Err(AttachError::NoSuchLines {
                    path: full,
                    lines: lines.len(),
                    first,
                });
            }
            lines[from..lines.len().min(last as usize)].join("\n")
        }
        None => text,
    };
    Ok(ContextBlock {
        kind: if range.is_some() {
            BlockKind::Selection
        } else {
            BlockKind::File
        },
        path: shown_path(folder, &full),
        range,
        content,
        extra: serde_json::Map::new(),
    })
}

fn shown_path(folder: Option<&Path>, full: &Path) -> String {
    let root = folder.and_then(|folder| std::fs::canonicalize(folder).ok());
    let inside = root
        .as_deref()
        .and_then(|root| full.strip_prefix(root).ok());
    let parts: Vec<_> = match inside {
        Some(relative) => relative
            .components()
            .map(|c| c.as_os_str().to_string_lossy().into_owned())
            .collect(),
        None => return full.display().to_string(),
    };
    parts.join("/")
}

/// Whether a component of the path names a file or folder that usually holds secrets.
fn is_secret(path: &Path) -> bool {
    path.components().any(|component| {
        let Component::Normal(name) = component else {
            return false;
        };
        let name = name.to_string_lossy().to_lowercase();
        let env = name == ".env" || (name.starts_with(".env.") && name != ".env.example");
        let ends = [".pem", ".key", ".p12", ".pfx", ".keystore"]
            .iter()
            .any(|e| name.ends_with(e));
        let named = [
            "id_rsa",
            "id_ed25519",
            "id_ecdsa",
            "id_dsa",
            ".netrc",
            ".npmrc",
            ".pypirc",
            ".git-credentials",
            ".ssh",
            ".gnupg",
            ".aws",
            "api-keys.enc",
            "vault.key",
            "shadow",
        ];
        env || ends || named.contains(&name.as_str())
    })
}

/// What the demo table may say about a folder. Bounded in files, depth and bytes; never follows links.
pub(crate) fn facts(folder: &Path) -> BTreeMap<String, String> {
    let mut survey = Survey::default();
    survey.walk(folder, folder, 0);
    survey.into_facts(folder)
}

#[derive(Default)]
struct Survey {
    files: usize,
    lines: usize,
    languages: BTreeMap<&'static str, usize>,
    largest: Vec<(u64, String)>,
    entry_points: Vec<String>,
    readme: Option<PathBuf>,
    truncated: bool,
}

impl Survey {
    fn walk(&mut self, root: &Path, folder: &Path, depth: usize) {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return;
        };
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            if self.files >= MAX_FILES {
                self.truncated = true;
                return;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let skipped = [
                "node_modules",
                "target",
                "dist",
                "build",
                "__pycache__",
                "vendor",
            ];
            if name.starts_with('.') || skipped.contains(&name.as_str()) {
                continue;
            }
            if kind.is_dir() && depth < MAX_DEPTH {
                self.walk(root, &entry.path(), depth + 1);
            } else if kind.is_file() {
                self.file(root, &entry.path(), &name, depth);
            }
        }
    }

    fn file(&mut self, root: &Path, path: &Path, name: &str, depth: usize) {
        self.files += 1;
        let size = std::fs::metadata(path).map_or(0, |m| m.len());
        let relative = path
            .strip_prefix(root)
            .unwrap_or(path)
            .display()
            .to_string();
        if depth == 0 && name.to_lowercase().starts_with("readme") {
            self.readme = Some(path.to_owned());
        }
        let entry_names = [
            "main.rs",
            "lib.rs",
            "main.py",
            "__main__.py",
            "app.py",
            "index.ts",
            "index.js",
            "main.ts",
            "main.go",
            "Main.java",
            "Cargo.toml",
            "package.json",
            "pyproject.toml",
            "go.mod",
            "Makefile",
        ];
        if entry_names.contains(&name) && self.entry_points.len() < 6 {
            self.entry_points.push(relative.clone());
        }
        if let Some(language) = language_of(name) {
            let lines = if size <= MAX_COUNTED_BYTES {
                count_lines(path)
            } else {
                0
            };
            self.lines += lines;
            *self.languages.entry(language).or_default() += lines;
        }
        self.largest.push((size, relative));
        self.largest.sort_by(|a, b| b.cmp(a));
        self.largest.truncate(3);
    }

    fn into_facts(self, folder: &Path) -> BTreeMap<String, String> {
        let name = folder.file_name().map_or_else(
            || folder.display().to_string(),
            |n| n.to_string_lossy().into_owned(),
        );
        let mut languages: Vec<_> = self.languages.into_iter().collect();
        languages.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
        let top: Vec<&str> = languages.iter().take(3).map(|(name, _)| *name).collect();
        let about = if self.truncated { "more than " } else { "" };
        let largest: Vec<String> = self
            .largest
            .iter()
            .map(|(size, path)| format!("`{path}` ({} kB)", size.div_ceil(1000)))
            .collect();
        let mut facts = BTreeMap::from([
            ("folder".to_owned(), name),
            ("file_count".to_owned(), format!("{about}{}", self.files)),
            ("line_count".to_owned(), self.lines.to_string()),
        ]);
        let mut put = |key: &str, value: String| {
            if !value.is_empty() {
                facts.insert(key.to_owned(), value);
            }
        };
        put("top_languages", top.join(", "));
        put("largest_files", largest.join(", "));
        let points: Vec<String> = self.entry_points.iter().map(|p| format!("`{p}`")).collect();
        put("entry_points", points.join(", "));
        put(
            "readme_first_line",
            self.readme.and_then(|p| first_line(&p)).unwrap_or_default(),
        );
        facts
    }
}

fn language_of(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension {
        "rs" => "Rust",
        "py" => "Python",
        "ts" | "tsx" => "TypeScript",
        "js" | "jsx" | "mjs" => "JavaScript",
        "go" => "Go",
        "java" => "Java",
        "c" | "h" => "C",
        "cc" | "cpp" | "hpp" => "C++",
        "cs" => "C#",
        "rb" => "Ruby",
        "php" => "PHP",
        "swift" => "Swift",
        "kt" => "Kotlin",
        "html" => "HTML",
        "css" => "CSS",
        "sh" => "Shell",
        "wgsl" => "WGSL",
        "md" => "Markdown",
        _ => return None,
    })
}

fn count_lines(path: &Path) -> usize {
    std::fs::read(path).map_or(0, |bytes| bytes.iter().filter(|b| **b == b'\n').count())
}

fn first_line(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .ok()?
        .take(4096)
        .read_to_end(&mut bytes)
        .ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text
        .lines()
        .map(|l| l.trim_start_matches(['#', ' ']).trim())
        .find(|l| !l.is_empty())?;
    Some(line.chars().take(160).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_tell_what_lies_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("README.md"), "\n# Larch\n\nA tree.").unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("src/main.rs"), "fn main() {}\n\n").unwrap();
        std::fs::create_dir(folder.path().join("target")).unwrap();
        std::fs::write(folder.path().join("target/x.rs"), "\n\n\n\n").unwrap();
        let facts = facts(folder.path());
        assert_eq!(facts["file_count"], "2");
        assert_eq!(facts["readme_first_line"], "Larch");
        assert_eq!(facts["entry_points"], "`src/main.rs`");
        assert!(facts["top_languages"].contains("Rust"));
    }

    #[test]
    fn a_selection_has_its_lines_and_a_relative_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt");
        std::fs::write(&file, "one\ntwo\nthree\n").unwrap();
        let block = read_context_block(Some(folder.path()), &file, Some([2, 3])).unwrap();
        assert_eq!(
            (block.path.as_str(), block.content.as_str()),
            ("a.txt", "two\nthree")
        );
        assert_eq!(block.kind, BlockKind::Selection);
        let whole = read_context_block(None, &file, None).unwrap();
        assert_eq!(whole.content, "one\ntwo\nthree\n");
    }

    #[test]
    fn what_is_no_text_too_large_or_secret_is_not_attached() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            read_context_block(Some(folder.path()), &path, None)
        };
        assert!(matches!(
            put("a.bin", b"a\0b"),
            Err(AttachError::NotText(_))
        ));
        assert!(matches!(
            put("b.bin", b"\xff\xfe"),
            Err(AttachError::NotText(_))
        ));
        assert!(matches!(
            put("big.txt", &vec![b'x'; (1 << 20) + 1]),
            Err(AttachError::TooLarge(_))
        ));
        assert!(matches!(put(".env", b"KEY=1"), Err(AttachError::Secret(_))));
        assert!(matches!(
            put("server.pem", b"x"),
            Err(AttachError::Secret(_))
        ));
        assert!(put(".env.example", b"KEY=").is_ok());
        assert!(read_context_block(None, folder.path(), None).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_secret_is_a_secret() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("id_rsa"), "x").unwrap();
        let link = folder.path().join("notes.txt");
        std::os::unix::fs::symlink(folder.path().join("id_rsa"), &link).unwrap();
        assert!(matches!(
            read_context_block(None, &link, None),
            Err(AttachError::Secret(_))
        ));
    }
}
