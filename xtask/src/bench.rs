//! `cargo xtask bench`: every bench, one after the other, and a summary of what they measured.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::cargo::{cargo, metadata, shown};
use crate::software_vulkan::SoftwareVulkan;

/// What tells a bench from all others: two packages may each have one of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BenchId {
    /// The package's id, as cargo spells it.
    package: String,
    name: String,
}

/// A bench of the workspace.
#[derive(Debug)]
struct Bench {
    id: BenchId,
    package: String,
    name: String,
    folder: PathBuf,
}

/// Builds and runs the benches whose package or name contains the first of `args`.
///
/// A bench is a program that prints lines of the form `bench NAME: RESULT ok` or `bench NAME: RESULT MISS`; those
/// lines make the summary. The exit code is 1 if a line says MISS or a bench fails.
pub(crate) fn bench(args: &[String]) -> Result<ExitCode> {
    let filter = args.first().map_or("", String::as_str);
    let benches = selected(filter)?;
    if benches.is_empty() {
        bail!("no bench is called `{filter}`");
    }
    let programs = build(&benches)?;
    let vulkan = SoftwareVulkan::new().context("cannot make a private runtime folder")?;
    let mut results = Vec::new();
    let mut failed = Vec::new();
    for bench in &benches {
        let Some(program) = programs
            .iter()
            .find(|(id, _)| *id == bench.id)
            .map(|(_, program)| program)
        else {
            bail!("cargo built no program for the bench {}", bench.name);
        };
        println!("\n== {} {}", bench.package, bench.name);
        let mut command = Command::new(program);
        command
            .arg("--bench")
            .current_dir(&bench.folder)
            .env("CARGO_MANIFEST_DIR", &bench.folder);
        vulkan.apply(&mut command);
        if !gather(&mut command, &mut results)? {
            failed.push(bench.name.as_str());
        }
    }
    println!("\n{}", summary(&results));
    for name in &failed {
        println!("failed: {name}");
    }
    let missed = results.iter().any(|result| result.missed);
    Ok(if missed || !failed.is_empty() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The benches whose package or name contains `filter`, in the order of packages and names.
fn selected(filter: &str) -> Result<Vec<Bench>> {
    let metadata = metadata()?;
    let mut benches = Vec::new();
    for package in metadata
        .packages
        .iter()
        .filter(|package| metadata.workspace_members.contains(&package.id))
    {
        for target in package
            .targets
            .iter()
            .filter(|target| target.kind.iter().any(|kind| kind == "bench"))
        {
            if package.name.contains(filter) || target.name.contains(filter) {
                benches.push(Bench {
                    id: BenchId {
                        package: package.id.clone(),
                        name: target.name.clone(),
                    },
                    package: package.name.clone(),
                    name: target.name.clone(),
                    folder: package
                        .manifest_path
                        .parent()
                        .map(PathBuf::from)
                        .unwrap_or_default(),
                });
            }
        }
    }
    benches.sort_by(|a, b| (&a.package, &a.name).cmp(&(&b.package, &b.name)));
    Ok(benches)
}

/// Builds the benches and returns which they are and their programs.
///
/// One build over the workspace rather than one for each package: that way every dependency has one set of features
/// and is compiled once.
fn build(benches: &[Bench]) -> Result<Vec<(BenchId, PathBuf)>> {
    let mut command = cargo(&[
        "bench",
        "--workspace",
        "--no-run",
        "--message-format",
        "json-render-diagnostics",
    ]);
    for bench in benches {
        command.args(["--bench", &bench.name]);
    }
    println!("$ {}", shown(&command));
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo bench")?;
    if !output.status.success() {
        bail!("the benches do not build");
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(bench_program)
        .collect())
}

/// Reads a line of cargo's JSON messages: bench and program if it announces one.
fn bench_program(message: &str) -> Option<(BenchId, PathBuf)> {
    #[derive(Deserialize)]
    struct Message {
        package_id: Option<String>,
        target: Option<crate::cargo::Target>,
        executable: Option<PathBuf>,
    }
    let message: Message = serde_json::from_str(message).ok()?;
    let target = message
        .target
        .filter(|target| target.kind.iter().any(|kind| kind == "bench"))?;
    let id = BenchId {
        package: message.package_id?,
        name: target.name,
    };
    Some((id, message.executable?))
}

/// Runs a bench, shows what it prints, keeps its results; says whether it ended well.
fn gather(command: &mut Command, results: &mut Vec<Measured>) -> Result<bool> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", shown(command)))?;
    let stdout = child
        .stdout
        .take()
        .context("the bench has no standard output")?;
    for line in BufReader::new(stdout).lines() {
        let line = line.context("cannot read what the bench prints")?;
        println!("{line}");
        results.extend(Measured::parse(&line));
    }
    Ok(child.wait().context("cannot wait for the bench")?.success())
}

/// One line of a bench.
#[derive(Debug, PartialEq, Eq)]
struct Measured {
    name: String,
    result: String,
    missed: bool,
}

impl Measured {
    /// Reads `bench NAME: RESULT`; other lines are `None`. A line that says MISS anywhere after the name is a miss.
    fn parse(line: &str) -> Option<Self> {
        let (name, result) = line.strip_prefix("bench ")?.split_once(": ")?;
        let missed = result
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| word == "MISS");
        Some(Self {
            name: name.trim().to_owned(),
            result: result.trim().to_owned(),
            missed,
        })
    }
}

/// The results under each other, misses marked, and their count at the end.
fn summary(results: &[Measured]) -> String {
    let width = results
        .iter()
        .map(|result| result.name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::from("summary\n");
    for Measured {
        name,
        result,
        missed,
    } in results
    {
        let mark = if *missed { "!" } else { " " };
        text.push_str(&format!("{mark} {name:width$}  {result}\n"));
    }
    let missed = results.iter().filter(|result| result.missed).count();
    text.push_str(&format!("{} measured, {missed} missed", results.len()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_bench_gives_its_name_and_result() {
        let measured =
            Measured::parse("bench sse reader: 1.12x of serde_json (target <= 1.3x) ok").unwrap();
        assert_eq!(measured.name, "sse reader");
        assert_eq!(measured.result, "1.12x of serde_json (target <= 1.3x) ok");
        assert!(!measured.missed);
    }

    #[test]
    fn a_miss_is_seen_as_a_word_of_the_result_only() {
        assert!(
            Measured::parse("bench save: 2.4x of 10 messages (target <= 2x) MISS")
                .unwrap()
                .missed
        );
        assert!(
            !Measured::parse("bench cache MISSES: 12 of 10,000 (target <= 20) ok")
                .unwrap()
                .missed
        );
    }

    #[test]
    fn what_else_a_bench_prints_is_no_result() {
        assert_eq!(Measured::parse("warming up"), None);
        assert_eq!(Measured::parse("benchmarks start"), None);
        assert_eq!(Measured::parse("bench without a result"), None);
    }

    #[test]
    fn the_summary_lines_results_up_and_counts_misses() {
        let lines = ["bench a: 1x ok", "bench longer: 3x MISS"];
        let results: Vec<Measured> = lines
            .iter()
            .filter_map(|line| Measured::parse(line))
            .collect();
        assert_eq!(
            summary(&results),
            "summary\n  a       1x ok\n! longer  3x MISS\n2 measured, 1 missed"
        );
    }

    #[test]
    fn only_messages_about_bench_programs_are_read() {
        let artifact = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/app#1","target":{"kind":["bench"],"name":"open"},"executable":"/t/open-1"}"#;
        let (id, program) = bench_program(artifact).unwrap();
        assert_eq!((id.name.as_str(), program), ("open", "/t/open-1".into()));
        // Another package's bench of the same name is another bench.
        let (other, _) = bench_program(&artifact.replace("/app#", "/transcript#")).unwrap();
        assert_ne!(id, other);
        assert_eq!(bench_program(&artifact.replace("bench", "lib")), None);
        assert_eq!(
            bench_program(r#"{"reason":"build-finished","success":true}"#),
            None
        );
    }
}
