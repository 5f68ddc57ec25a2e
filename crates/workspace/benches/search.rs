//! grep against ripgrep's own binary (`rg` of Debian, or `RG=/path/to/rg`), and finding names against a bare walk.
//!
//! The tree has 200 MB unless `BENCH_TREE_MB` says otherwise.

#[path = "support/measure.rs"]
mod measure;
#[path = "support/tree.rs"]
mod tree;

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ignore::{WalkBuilder, WalkState};
use workspace::{FindRequest, GrepRequest, SearchLimits, StopToken, Workspace};

fn main() {
    let megabytes = std::env::var("BENCH_TREE_MB")
        .ok()
        .and_then(|text| text.parse().ok());
    let megabytes: usize = megabytes.unwrap_or(200);
    let folder = tempfile::tempdir().unwrap();
    tree::make(folder.path(), megabytes * 50, 20_000);
    let workspace = Arc::new(Workspace::open(&[folder.path()]).unwrap());
    let limits = SearchLimits {
        matches: 100_000,
        time: Duration::from_secs(120),
        ..Default::default()
    };
    println!("a tree of {megabytes} MB in {} files", megabytes * 50);

    let rg = std::env::var("RG").unwrap_or_else(|_| "rg".into());
    for (name, pattern) in [
        ("a word", "needle42"),
        ("a pattern", r"needle\d+ is (here|there)"),
        ("no match", "zzzz[0-9]qq"),
    ] {
        let ours = measure::best_of(5, || {
            let request = GrepRequest {
                pattern: pattern.into(),
                ..Default::default()
            };
            let result = workspace
                .grep(&request, &limits, &StopToken::default())
                .unwrap();
            assert_eq!(
                result.matches.len(),
                if name == "no match" { 0 } else { megabytes }
            );
        });
        let mut there = true;
        let theirs = measure::best_of(5, || {
            let mut command = Command::new(&rg);
            command
                .args([
                    "-i",
                    "-n",
                    "--column",
                    "--hidden",
                    "--no-messages",
                    "-e",
                    pattern,
                ])
                .arg(folder.path());
            there &= command.stdout(Stdio::null()).status().is_ok();
        });
        if there {
            measure::report(
                &format!("grep, {name}"),
                ours,
                theirs,
                "ripgrep's binary",
                1.2,
            );
        } else {
            println!(
                "bench grep, {name}: {:.1} ms; there is no rg to compare with",
                ours * 1e3
            );
        }
    }

    let ours = measure::best_of(7, || {
        let request = FindRequest {
            pattern: "f77".into(),
            ..Default::default()
        };
        let result = workspace
            .search_files(&request, &limits, &StopToken::default())
            .unwrap();
        assert!(result.total > 10);
    });
    let bare = measure::best_of(7, || {
        let count = AtomicUsize::new(0);
        WalkBuilder::new(folder.path())
            .hidden(false)
            .require_git(false)
            .build_parallel()
            .run(|| {
                Box::new(|_| {
                    count.fetch_add(1, Ordering::Relaxed);
                    WalkState::Continue
                })
            });
        assert!(count.into_inner() > megabytes);
    });
    measure::report("find", ours, bare, "ignore's bare walk", 1.2);
}
