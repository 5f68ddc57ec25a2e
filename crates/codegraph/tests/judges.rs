//! Precision and recall against independent judges: ruff for Python, the TypeScript compiler for JavaScript.
//!
//! Runs where the judges are at hand, and says so where they are not:
//! `CODEGRAPH_SUBJECTS` is a directory of unpacked packages, `CODEGRAPH_RUFF` the ruff program, `CODEGRAPH_TYPESCRIPT` the
//! directory of the npm package `typescript@5`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What is asked for over all subjects together: precision and recall.
const BARS: [(&str, f64, f64); 3] = [
    ("imports", 0.995, 0.99),
    ("exports", 0.995, 0.995),
    ("unused", 0.98, 0.95),
];

fn setting(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .map(PathBuf::from)
        .filter(|path| path.exists())
}

fn subjects(directory: &Path) -> Vec<PathBuf> {
    let mut subjects: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    subjects.sort();
    subjects
}

/// Adds up what a judge says of every subject and holds it against the bars.
fn judge(interpreter: &str, script: &str, judge: &Path, directory: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/judges")
        .join(script);
    let mut totals = [[0.0_f64; 3]; 3];
    for subject in subjects(directory) {
        let output = Command::new(interpreter)
            .arg(&script)
            .arg(env!("CARGO_BIN_EXE_codegraph"))
            .arg(judge)
            .arg(&subject)
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        println!("{report}");
        for (total, (what, _, _)) in totals.iter_mut().zip(BARS) {
            let count = |key: &str| report[what][key].as_f64().unwrap_or(0.0);
            total[0] += count("ours");
            total[1] += count("judge");
            total[2] += count("ours") * count("precision");
        }
    }
    for (total, (what, precision, recall)) in
        totals.iter().zip(BARS).filter(|(total, _)| total[1] > 0.0)
    {
        let [ours, judged, both] = *total;
        println!(
            "{what}: precision {:.4}, recall {:.4} of {judged}",
            both / ours,
            both / judged
        );
        assert!(
            both / ours >= precision && both / judged >= recall,
            "{what} miss the bar"
        );
    }
}

#[test]
fn python_agrees_with_ruff_to_the_bars() {
    let (Some(subjects), Some(ruff)) = (setting("CODEGRAPH_SUBJECTS"), setting("CODEGRAPH_RUFF"))
    else {
        println!("not run: CODEGRAPH_SUBJECTS and CODEGRAPH_RUFF are not set");
        return;
    };
    judge("python3", "python.py", &ruff, &subjects);
}

#[test]
fn javascript_agrees_with_the_compiler_to_the_bars() {
    let (Some(subjects), Some(typescript)) = (
        setting("CODEGRAPH_SUBJECTS"),
        setting("CODEGRAPH_TYPESCRIPT"),
    ) else {
        println!("not run: CODEGRAPH_SUBJECTS and CODEGRAPH_TYPESCRIPT are not set");
        return;
    };
    judge("node", "typescript.cjs", &typescript, &subjects);
}
