//! History and status against the `git` program, and how well the next file is predicted from them.

use std::path::Path;
use std::process::Command;

use codegraph::analysis::FileGraph;
use codegraph::analysis::history::{History, HistoryError};
use codegraph::analysis::predict::{Predictor, Weights};
use codegraph::engine::Engine;
use codegraph::filter::Filter;
use codegraph::git_status::{GitStatusError, TrackingMode, git_status};
use codegraph::model::{Model, PreparedFile};

/// What git prints; `None` where it isn't installed or has nothing to say.
fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args([
            "-c",
            "core.quotepath=false",
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
        ])
        .args([
            "-c",
            "commit.gpgsign=false",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn logged(directory: &Path, limit: usize) -> Option<Vec<Vec<String>>> {
    let limit = format!("--max-count={limit}");
    let arguments = [
        "log",
        "--no-merges",
        "--no-renames",
        "--name-only",
        "--relative",
        "--format=%x01",
        &limit,
        "--",
        ".",
    ];
    let text = git(directory, &arguments)?;
    let commits = text.split('\u{1}').map(|commit| {
        let mut files: Vec<String> = commit
            .lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect();
        files.sort_unstable();
        files
    });
    Some(commits.filter(|files| !files.is_empty()).collect())
}

fn write(directory: &Path, path: &str, text: &str) {
    let path = directory.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A repository with files that were added, changed, moved, deleted, and merged.
fn repository() -> Option<tempfile::TempDir> {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    git(root, &["init", "-q"])?;
    write(root, "a.ts", "export const a = 1;");
    write(root, "sub/b c.ts", "export const b = 1;");
    write(root, "sub/deep/d.ts", "export const d = 1;");
    git(root, &["add", "-A"])?;
    git(root, &["commit", "-qm", "1"])?;
    write(root, "sub/b c.ts", "export const b = 2;");
    std::fs::remove_file(root.join("a.ts")).unwrap();
    std::fs::create_dir(root.join("a.ts")).unwrap();
    write(root, "a.ts/inner.ts", "export const inner = 1;");
    git(root, &["add", "-A"])?;
    git(root, &["commit", "-qm", "2"])?;
    git(root, &["checkout", "-qb", "side"])?;
    write(root, "sub/é.ts", "export const e = 1;");
    git(root, &["add", "-A"])?;
    git(root, &["commit", "-qm", "3"])?;
    git(root, &["checkout", "-q", "main"])?;
    git(root, &["mv", "sub/deep/d.ts", "sub/d.ts"])?;
    git(root, &["commit", "-qm", "4"])?;
    git(root, &["merge", "-q", "--no-edit", "side"])?;
    Some(directory)
}

#[test]
fn history_is_what_git_logs() {
    let Some(directory) = repository() else {
        println!("not run: git is not installed");
        return;
    };
    let sorted = |mut commits: Vec<Vec<String>>| {
        // Commits of one second have no order in time.
        commits.sort();
        commits
    };
    for folder in [directory.path().to_owned(), directory.path().join("sub")] {
        let ours = History::read(&folder, 100).unwrap().commits;
        let judge = logged(&folder, 100).unwrap();
        assert_eq!(sorted(ours), sorted(judge), "{}", folder.display());
    }
}

#[test]
fn history_of_this_repository_is_what_git_logs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(judge) = logged(root, 100).filter(|judge| !judge.is_empty()) else {
        println!("not run: no git history here");
        return;
    };
    let ours = History::read(root, 100).unwrap().commits;
    // Where several commits share a second, the last few of a hundred may be others.
    let agree = ours.iter().filter(|commit| judge.contains(commit)).count();
    assert!(
        agree * 100 >= judge.len() * 97,
        "{agree} of {} commits agree",
        judge.len()
    );
}

#[test]
fn a_repository_without_a_commit_has_no_history() {
    let directory = tempfile::tempdir().unwrap();
    if git(directory.path(), &["init", "-q"]).is_some() {
        let error = History::read(directory.path(), 10).unwrap_err();
        assert!(matches!(error, HistoryError::None(_)), "{error}");
        assert!(git_status(directory.path()).unwrap().is_empty());
    }
}

#[test]
fn status_is_what_git_says_and_writes_nothing() {
    let Some(directory) = repository() else {
        println!("not run: git is not installed");
        return;
    };
    let root = directory.path();
    write(root, ".gitignore", "ignored/\n");
    write(root, "ignored/x.ts", "");
    write(root, "sub/b c.ts", "export const b = 3;");
    write(root, "staged.ts", "export const s = 1;");
    git(root, &["add", "staged.ts"]).unwrap();
    write(root, "staged.ts", "export const s = 2;");
    write(root, "new/one.ts", "");
    write(root, "new/two.ts", "");
    std::fs::remove_file(root.join("sub/d.ts")).unwrap();
    git(root, &["rm", "-q", "--cached", "a.ts/inner.ts"]).unwrap();
    let before = std::fs::read(root.join(".git/index")).unwrap();
    let ours: Vec<String> = git_status(&root.join("sub"))
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(std::fs::read(root.join(".git/index")).unwrap(), before);
    let arguments = [
        "status",
        "--porcelain",
        "--untracked-files=all",
        "--no-renames",
        "-z",
    ];
    let judge = git(root, &arguments).unwrap();
    let mut judge: Vec<&str> = judge.split('\0').filter(|line| !line.is_empty()).collect();
    // git lists a file that was taken out of the index and is still there twice; one line says both here.
    judge.retain(|line| *line != "D  a.ts/inner.ts");
    let mut ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    ours.sort_unstable();
    judge.sort_unstable();
    assert_eq!(ours, judge);
}

#[test]
fn a_folder_is_tracked_by_git_where_there_is_a_repository() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(TrackingMode::of(directory.path()), TrackingMode::Watcher);
    assert_eq!(
        TrackingMode::of(&directory.path().join("gone")),
        TrackingMode::None
    );
    assert!(matches!(
        git_status(directory.path()),
        Err(GitStatusError::NoRepository(_))
    ));
    if git(directory.path(), &["init", "-q"]).is_some() {
        assert_eq!(TrackingMode::of(directory.path()), TrackingMode::Git);
    }
}

#[test]
fn a_vendor_directory_is_in_where_git_tracks_it() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(root, "go.mod", "module m\n");
    write(
        root,
        "main.go",
        "package main\nimport \"x.org/v\"\nvar _ = v.V\n",
    );
    write(root, "vendor/x.org/v/v.go", "package v\nconst V = 1\n");
    write(root, "other/vendor/y.go", "package y\n");
    let paths = || {
        let engine = Engine::open(root, Filter::default(), None).unwrap();
        engine
            .model()
            .paths()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(paths(), ["go.mod", "main.go"]);
    if git(root, &["init", "-q"]).is_some() {
        git(root, &["add", "vendor"]).unwrap();
        assert_eq!(paths(), ["go.mod", "main.go", "vendor/x.org/v/v.go"]);
    }
}

/// A folder of packages, and commits as people make them: a module with its test, with what it imports, with a partner
/// that only habit ties it to, and now and then with something unrelated.
fn synthetic() -> (FileGraph, Vec<Vec<String>>) {
    const PACKAGES: u64 = 12;
    const MODULES: u64 = 8;
    let module = |package: u64, number: u64| format!("p{package}/m{number}.ts");
    let mut model = Model::new("/w");
    for package in 0..PACKAGES {
        for number in 0..MODULES {
            let mut text = format!("export const v{number} = 1;\n");
            for step in [1, 3] {
                let to = (number + step) % MODULES;
                text += &format!("import {{ v{to} }} from './m{to}'; v{to};\n");
            }
            let path = module(package, number);
            model.set(PreparedFile::new(&path, text.as_bytes(), None));
            let test = format!("p{package}/m{number}.test.ts");
            let text = format!("import {{ v{number} }} from './m{number}'; v{number};\n");
            model.set(PreparedFile::new(&test, text.as_bytes(), None));
        }
    }
    let files = FileGraph::new(model.commit());
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let commits = (0..600).map(|_| {
        let (package, number) = (random(PACKAGES), random(MODULES));
        let mut commit = vec![module(package, number)];
        if random(10) < 5 {
            commit.push(format!("p{package}/m{number}.test.ts"));
        }
        if random(10) < 4 {
            commit.push(module(
                package,
                (number + [1, 3][random(2) as usize]) % MODULES,
            ));
        }
        if random(10) < 4 {
            commit.push(module((package + 5) % PACKAGES, number));
        }
        if random(10) < 2 {
            commit.push(module(random(PACKAGES), random(MODULES)));
        }
        commit.sort_unstable();
        commit.dedup();
        commit
    });
    let commits = commits.collect();
    (files, commits)
}

#[test]
fn the_mix_of_signals_predicts_better_than_any_of_them() {
    let (files, commits) = synthetic();
    // The newest 30 of 100 are asked, the rest is known.
    let (asked, known) = commits.split_at(commits.len() * 3 / 10);
    let history = History {
        commits: known.to_vec(),
    };
    let nothing = Weights {
        imports: 0.0,
        together: 0.0,
        stem: 0.0,
        directory: 0.0,
    };
    let rate = |weights| {
        Predictor::with_weights(&files, &history, weights)
            .hit_rate(asked, 5)
            .rate()
    };
    let mix = rate(Weights::default());
    for alone in [
        Weights {
            imports: 1.0,
            ..nothing
        },
        Weights {
            together: 1.0,
            ..nothing
        },
        Weights {
            stem: 1.0,
            ..nothing
        },
    ] {
        let alone_rate = rate(alone);
        assert!(mix > alone_rate, "{mix} against {alone_rate} of {alone:?}");
    }
    assert!(mix >= 0.67, "hit@5 is {mix}");
}
