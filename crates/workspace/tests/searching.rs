//! Searching: what is found, what isn't, and what a hostile pattern can't do.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use workspace::{
    BufferTable, CutShort, EntryKind, ErrorKind, FindRequest, GrepRequest, GrepResult, RelPath,
    SearchLimits, StopToken, Workspace, WorkspaceError,
};

fn tree(files: &[(&str, &str)]) -> (TempDir, Arc<Workspace>) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let at = folder.path().join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, text).unwrap();
    }
    let workspace = Arc::new(Workspace::open(&[folder.path()]).unwrap());
    (folder, workspace)
}

fn grep(workspace: &Arc<Workspace>, pattern: &str) -> Result<GrepResult, WorkspaceError> {
    let request = GrepRequest {
        pattern: pattern.into(),
        ..Default::default()
    };
    workspace.grep(&request, &SearchLimits::default(), &StopToken::default())
}

fn places(result: &GrepResult) -> Vec<String> {
    let matches = result.matches.iter();
    matches
        .map(|found| format!("{}:{}:{}", found.path, found.line, found.column))
        .collect()
}

const TREE: &[(&str, &str)] = &[
    ("src/a.rs", "fn main() {\r\n    let x = needle();\r\n}\r\n"),
    ("src/b.py", "# Needle\nneedle = 1; needle = 2\n"),
    (".github/ci.yml", "needle: true\n"),
    ("build/out.txt", "needle\n"),
    (".gitignore", "build/\n"),
    (".env", "needle=secret\n"),
    ("secrets/x", "needle\n"),
    (".git/config", "needle\n"),
    ("bin", "needle\0needle\n"),
];

#[test]
fn lines_are_found_by_path_and_line_but_not_in_secrets_binaries_or_ignored_files() {
    let (_folder, workspace) = tree(TREE);
    let result = grep(&workspace, "needle").unwrap();
    assert_eq!(
        places(&result),
        [
            ".github/ci.yml:1:1",
            "src/a.rs:2:13",
            "src/b.py:1:3",
            "src/b.py:2:1"
        ]
    );
    assert_eq!(
        (result.total, result.truncated, result.literal),
        (4, false, false)
    );
    assert_eq!(result.matches[1].text, "    let x = needle();");
    let request = GrepRequest {
        pattern: "needle".into(),
        include_ignored: true,
        case_sensitive: true,
        glob: Some("*.{txt,py}".into()),
        ..Default::default()
    };
    let result = workspace
        .grep(&request, &SearchLimits::default(), &StopToken::default())
        .unwrap();
    assert_eq!(places(&result), ["build/out.txt:1:1", "src/b.py:2:1"]);
    let request = GrepRequest {
        pattern: "needle".into(),
        subdir: Some("src".into()),
        glob: Some("src/*.rs".into()),
        ..Default::default()
    };
    let result = workspace
        .grep(&request, &SearchLimits::default(), &StopToken::default())
        .unwrap();
    assert_eq!(places(&result), ["src/a.rs:2:13"]);
}

#[test]
fn a_pattern_is_data_whatever_it_looks_like() {
    let (folder, workspace) = tree(&[("f", "a --pre=./x.sh b\n-foo\np->q\n[unclosed\n")]);
    for (pattern, line) in [
        ("--pre=./x.sh", 1),
        ("-foo", 2),
        ("->", 3),
        ("[unclosed", 4),
    ] {
        let result = grep(&workspace, pattern).unwrap();
        assert_eq!(result.matches.len(), 1, "{pattern}");
        assert_eq!(result.matches[0].line, line, "{pattern}");
    }
    assert!(grep(&workspace, "[unclosed").unwrap().literal);
    assert_eq!(
        grep(&workspace, "").unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_hostile_pattern_is_refused_or_stopped_in_time() {
    let long = "a".repeat(4 * 1024 * 1024);
    let (_folder, workspace) = tree(&[("f", &long), ("g", &long)]);
    for pattern in [
        "(a{1000}){1000}",
        "((a{100}){100}){100}",
        "(x+x+)+y{500,1000}{500}",
    ] {
        assert_eq!(
            grep(&workspace, pattern).unwrap_err().kind(),
            ErrorKind::InvalidInput,
            "{pattern}"
        );
    }
    let limits = SearchLimits {
        time: Duration::from_millis(300),
        ..Default::default()
    };
    for pattern in [
        "(?:a?){2000}a{2000}$b",
        "(a|a)*b",
        "(.*)(.*)(.*)(.*)(.*)[^a]x",
        "(?:.*=)?.{1,900}z",
    ] {
        let request = GrepRequest {
            pattern: pattern.into(),
            ..Default::default()
        };
        let started = Instant::now();
        match workspace.grep(&request, &limits, &StopToken::default()) {
            Ok(result) => assert!(result.matches.is_empty(), "{pattern}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidInput, "{pattern}: {error}"),
        }
        // Generous: the point is that it returns at all while the engine is still at work.
        assert!(started.elapsed() < Duration::from_secs(5), "{pattern}");
    }
}

#[test]
fn bounds_cut_and_say_which() {
    let many = "hit\n".repeat(5_000);
    let (_folder, workspace) = tree(&[("a", &many), ("b", &many), ("c/d", "x")]);
    let limits = SearchLimits {
        matches: 10,
        ..Default::default()
    };
    let request = GrepRequest {
        pattern: "hit".into(),
        ..Default::default()
    };
    let result = workspace
        .grep(&request, &limits, &StopToken::default())
        .unwrap();
    assert_eq!(
        (result.matches.len(), result.cut_short_by),
        (10, Some(CutShort::Matches))
    );
    assert!(result.total > 10);
    let limits = SearchLimits {
        files: 1,
        matches: 100_000,
        ..Default::default()
    };
    let result = workspace
        .grep(&request, &limits, &StopToken::default())
        .unwrap();
    assert_eq!(
        (result.files, result.cut_short_by),
        (1, Some(CutShort::Files))
    );
    let limits = SearchLimits {
        file_bytes: 100,
        ..Default::default()
    };
    let result = workspace
        .grep(&request, &limits, &StopToken::default())
        .unwrap();
    assert_eq!((result.total, result.too_large), (0, 2));
    let limits = SearchLimits {
        time: Duration::ZERO,
        ..Default::default()
    };
    let result = workspace
        .grep(&request, &limits, &StopToken::default())
        .unwrap();
    assert_eq!(result.cut_short_by, Some(CutShort::Time));
    let stop = StopToken::default();
    stop.stop();
    let stopped = workspace.grep(&request, &SearchLimits::default(), &stop);
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn a_long_line_is_shown_around_its_match() {
    let line = format!("{}needle{}\n", "é".repeat(3_000), "z".repeat(3_000));
    let (_folder, workspace) = tree(&[("f", &line)]);
    let result = grep(&workspace, "needle").unwrap();
    let found = &result.matches[0];
    assert_eq!(found.column, 3_001);
    assert!(
        found.text.contains("needle") && found.text.len() < 300,
        "{}",
        found.text
    );
    assert!(found.text.starts_with('…') && found.text.ends_with('…'));
}

#[test]
fn an_open_buffer_is_what_is_searched() {
    let (folder, _) = tree(&[("f", "old\n"), ("g", "old\n")]);
    let buffers = Arc::new(BufferTable::default());
    buffers.set(RelPath::parse("f").unwrap(), "new\n", true);
    let workspace = Arc::new(
        Workspace::open(&[folder.path()])
            .unwrap()
            .with_buffers(buffers),
    );
    assert_eq!(places(&grep(&workspace, "old").unwrap()), ["g:1:1"]);
    assert_eq!(places(&grep(&workspace, "new").unwrap()), ["f:1:1"]);
}

#[test]
fn utf_16_is_searched_as_text() {
    let (folder, workspace) = tree(&[]);
    let bytes: Vec<u8> = "\u{feff}one\r\nneedle\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    fs::write(folder.path().join("f"), bytes).unwrap();
    assert_eq!(places(&grep(&workspace, "needle").unwrap()), ["f:2:1"]);
}

#[test]
fn names_are_found_by_part_and_by_glob() {
    let (_folder, workspace) = tree(TREE);
    let find = |pattern: &str, include_ignored| {
        let request = FindRequest {
            pattern: pattern.into(),
            include_ignored,
            subdir: None,
        };
        let result =
            workspace.search_files(&request, &SearchLimits::default(), &StopToken::default());
        result.map(|result| {
            let matches = result.matches.into_iter();
            matches
                .map(|found| (found.path.to_string(), found.kind))
                .collect::<Vec<_>>()
        })
    };
    let file = |path: &str| (path.to_owned(), EntryKind::File);
    assert_eq!(find("A.R", false).unwrap(), [file("src/a.rs")]);
    assert_eq!(
        find("src", false).unwrap(),
        [("src".to_owned(), EntryKind::Folder)]
    );
    assert_eq!(
        find("src/", false).unwrap(),
        [file("src/a.rs"), file("src/b.py")]
    );
    assert_eq!(
        find("*.{py,yml}", false).unwrap(),
        [file(".github/ci.yml"), file("src/b.py")]
    );
    assert_eq!(find("**/*.rs", false).unwrap(), [file("src/a.rs")]);
    assert_eq!(find("out", false).unwrap(), []);
    assert_eq!(find("out", true).unwrap(), [file("build/out.txt")]);
    assert_eq!(find("env", true).unwrap(), []);
    assert_eq!(find("config", true).unwrap(), []);
    assert_eq!(
        find("[", false).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    assert_eq!(
        find(" ", false).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    let request = FindRequest {
        pattern: "s".into(),
        ..Default::default()
    };
    let limits = SearchLimits {
        matches: 1,
        ..Default::default()
    };
    let result = workspace
        .search_files(&request, &limits, &StopToken::default())
        .unwrap();
    assert!(result.truncated && result.total > 1 && result.matches.len() == 1);
}

#[test]
fn a_link_is_neither_walked_nor_searched() {
    let (folder, workspace) = tree(&[("f", "needle\n")]);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("out"), "needle\n").unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("dir")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("out"), folder.path().join("link")).unwrap();
    assert_eq!(places(&grep(&workspace, "needle").unwrap()), ["f:1:1"]);
}
