//! `cargo xtask check`: everything that can be said about the code without running it.

use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::cargo::{cargo, has_subcommand, metadata, succeeds, workspace_root};
use crate::policy::Policy;

/// Looks at one side of the code and says whether it is in order.
type Phase = fn() -> Result<bool>;

/// Checks formatting, dependencies and lints, the quick ones first, and goes on after a failure so that one call
/// shows all there is to mend.
pub(crate) fn check() -> Result<ExitCode> {
    let phases: [(&str, Phase); 3] = [
        ("formatting", formatting),
        ("dependencies", dependencies),
        ("lints", lints),
    ];
    let mut failed = Vec::new();
    for (name, phase) in phases {
        let start = Instant::now();
        let passed = phase()?;
        println!(
            "{name}: {} in {:.1} s\n",
            if passed { "ok" } else { "FAILED" },
            start.elapsed().as_secs_f32()
        );
        if !passed {
            failed.push(name);
        }
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("check failed: {}", failed.join(", "));
    Ok(ExitCode::FAILURE)
}

fn formatting() -> Result<bool> {
    succeeds(cargo(&["fmt", "--all"]).arg("--check"))
}

fn lints() -> Result<bool> {
    succeeds(cargo(&["clippy", "--workspace", "--all-targets"]).args(["--", "-D", "warnings"]))
}

/// Holds the dependency graph to `deny.toml`: with cargo-deny where it is installed, otherwise with [`Policy`].
/// Advisories are left to `cargo deny check advisories`, which fetches a database; this check needs no network.
fn dependencies() -> Result<bool> {
    println!("advisories: not checked, as their database comes from the network");
    if has_subcommand("deny") {
        let mut deny = Command::new("cargo");
        deny.args(["deny", "--offline", "check", "licenses", "bans", "sources"])
            .current_dir(workspace_root());
        return succeeds(&mut deny);
    }
    let path = workspace_root().join("deny.toml");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let policy = Policy::parse(&text).with_context(|| format!("cannot use {}", path.display()))?;
    let metadata = metadata()?;
    let packages: Vec<_> = metadata
        .packages
        .into_iter()
        .filter(|package| !metadata.workspace_members.contains(&package.id))
        .collect();
    let report = policy.check(&packages);
    for warning in &report.warnings {
        println!("warning: {warning}");
    }
    for violation in &report.violations {
        println!("error: {violation}");
    }
    println!(
        "{} packages, {} against deny.toml",
        packages.len(),
        report.violations.len()
    );
    Ok(report.violations.is_empty())
}
