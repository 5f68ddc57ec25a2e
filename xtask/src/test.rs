//! `cargo xtask test`: the whole suite, on any Linux machine.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};

use crate::cargo::{cargo, has_subcommand, succeeds};
use crate::software_vulkan::SoftwareVulkan;
use crate::system;

/// Runs every test of the workspace, doc tests included, drawing on the software renderer.
///
/// `args` go to `cargo nextest run`, or to `cargo test` where nextest is not installed. With arguments the doc tests
/// are left out, since the arguments choose among the others.
pub(crate) fn test(args: &[String]) -> Result<ExitCode> {
    system::provide(&system::test_needs());
    let vulkan = SoftwareVulkan::new().context("cannot make a private runtime folder")?;
    println!("{}", vulkan.summary());

    let nextest = has_subcommand("nextest");
    if !nextest {
        println!(
            "cargo-nextest is not installed; cargo test runs the same tests, one program after the other"
        );
    }
    let mut suite = suite(nextest, args);
    vulkan.apply(&mut suite);
    if cfg!(target_os = "linux") {
        // What a display takes was seen to above; a test that finds none fails instead of saying that it was skipped.
        suite.env("FOLKMOOT_TEST_SCREEN", "required");
    }
    if args.is_empty() {
        // The whole suite has built the programs; the tests of whole programs need not build them once more.
        suite.env("FOLKMOOT_TEST_PROGRAMS", target_folder()?.join("debug"));
    }
    let mut passed = succeeds(&mut suite)?;

    // nextest does not run doc tests.
    if nextest && args.is_empty() {
        let mut doc_tests = cargo(&["test", "--workspace", "--doc", "--no-fail-fast"]);
        vulkan.apply(&mut doc_tests);
        passed &= succeeds(&mut doc_tests)?;
    }
    Ok(if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Where cargo puts what it builds for this workspace.
fn target_folder() -> Result<PathBuf> {
    let output = cargo(&[
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
        "--offline",
    ])
    .output()
    .context("cannot ask cargo for its target folder")?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("cargo metadata printed no JSON")?;
    let folder = metadata["target_directory"].as_str();
    Ok(PathBuf::from(
        folder.context("cargo metadata names no target folder")?,
    ))
}

/// The command that runs the tests: over the whole workspace, unless the arguments name packages.
fn suite(nextest: bool, args: &[String]) -> Command {
    let mut suite = if nextest {
        cargo(&["nextest", "run"])
    } else {
        cargo(&["test", "--no-fail-fast"])
    };
    let names_packages = args.iter().take_while(|arg| *arg != "--").any(|arg| {
        let is_short = arg.starts_with("-p") && !arg.starts_with("--");
        is_short || arg == "--package" || arg.starts_with("--package=")
    });
    if !names_packages {
        suite.arg("--workspace");
    }
    suite.args(args);
    suite
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite_with(args: &[&str]) -> Vec<String> {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        suite(true, &args)
            .get_args()
            .map(|arg| arg.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn the_whole_workspace_is_tested_unless_a_package_is_named() {
        let workspace = "--workspace".to_owned();
        assert!(suite_with(&[]).contains(&workspace));
        assert!(suite_with(&["snapshot"]).contains(&workspace));
        assert!(suite_with(&["--", "-p"]).contains(&workspace));
        for named in [
            &["-p", "xtask"][..],
            &["-pxtask"],
            &["--package", "xtask"],
            &["--package=xtask"],
        ] {
            let args = suite_with(named);
            assert!(!args.contains(&workspace), "{args:?}");
            assert!(
                args.ends_with(
                    &named
                        .iter()
                        .map(|arg| (*arg).to_owned())
                        .collect::<Vec<_>>()
                )
            );
        }
    }
}
