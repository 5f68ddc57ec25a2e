//! `cargo xtask test`: the whole suite, on any Linux machine.

use std::process::ExitCode;

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
    let mut suite = if nextest {
        cargo(&["nextest", "run", "--workspace"])
    } else {
        println!(
            "cargo-nextest is not installed; cargo test runs the same tests, one program after the other"
        );
        cargo(&["test", "--workspace", "--no-fail-fast"])
    };
    suite.args(args);
    vulkan.apply(&mut suite);
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
