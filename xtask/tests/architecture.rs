//! The direction of dependencies: nothing below the program knows the window, nothing below the host knows the host,
//! and the pure crates know no runtime and no network.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

/// What stands above the host or beside the product: allowed to depend on everything.
const ABOVE_HOST: [&str; 2] = ["folkmoot", "folkmoot-tests"];

/// Crates that make up windows, by the start of their names.
const WINDOW: [&str; 9] = [
    "egui", "eframe", "epaint", "emath", "ecolor", "wgpu", "winit", "rfd", "arboard",
];

/// Crates that are pure: no runtime, no network, no clock of their own.
const PURE: [&str; 1] = ["conversation"];
const RUNTIME_AND_NETWORK: [&str; 7] = [
    "tokio",
    "tokio-util",
    "reqwest",
    "hyper",
    "rustls",
    "notify",
    "keyring",
];

/// The direct dependencies, tests' own left out, of every package of the workspace.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
            "--manifest-path",
        ])
        .arg(PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("../Cargo.toml"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let names_of = |package: &serde_json::Value| {
        let dependencies = package["dependencies"].as_array().unwrap();
        let used = dependencies
            .iter()
            .filter(|dependency| dependency["kind"] != "dev");
        used.map(|dependency| dependency["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| {
            (
                package["name"].as_str().unwrap().to_owned(),
                names_of(package),
            )
        })
        .collect()
}

/// Crates that compute on the graphics card, on a device that the program opened; they draw nothing.
const COMPUTES: [(&str, &str); 1] = [("codegraph", "wgpu")];

#[test]
fn nothing_below_the_program_knows_the_window() {
    for (package, used) in dependencies()
        .iter()
        .filter(|(package, _)| !ABOVE_HOST.contains(&package.as_str()))
    {
        let window: Vec<_> = used
            .iter()
            .filter(|name| WINDOW.iter().any(|start| name.starts_with(start)))
            .filter(|name| !COMPUTES.contains(&(package.as_str(), name.as_str())))
            .collect();
        assert!(window.is_empty(), "{package} depends on {window:?}");
    }
}

#[test]
fn nothing_below_the_host_knows_the_host_or_the_program() {
    for (package, used) in dependencies()
        .iter()
        .filter(|(package, _)| !ABOVE_HOST.contains(&package.as_str()))
    {
        for above in ["host", "folkmoot"] {
            assert!(!used.contains(above), "{package} depends on {above}");
        }
    }
}

#[test]
fn the_pure_crates_know_neither_runtime_nor_network() {
    let dependencies = dependencies();
    for package in PURE {
        let impure: Vec<_> = dependencies[package]
            .iter()
            .filter(|name| RUNTIME_AND_NETWORK.contains(&name.as_str()))
            .collect();
        assert!(impure.is_empty(), "{package} depends on {impure:?}");
    }
}
