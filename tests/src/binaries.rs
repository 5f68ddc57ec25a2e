//! The programs under test, built once in the profile of the tests, or taken from the folder that
//! `FOLKMOOT_TEST_PROGRAMS` names.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The `folkmoot` program.
pub fn folkmoot_path() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| build("folkmoot", "folkmoot"))
}

/// The `rehearse` program.
pub fn rehearse_path() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| build("rehearsal", "rehearse"))
}

/// Builds a program beside the running test, which lies in `TARGET/PROFILE/deps`.
fn build(package: &str, program: &str) -> PathBuf {
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    if let Some(folder) = std::env::var_os("FOLKMOOT_TEST_PROGRAMS") {
        return PathBuf::from(folder).join(file);
    }
    let test = std::env::current_exe().expect("the test has a path");
    let profile_folder = test
        .ancestors()
        .nth(2)
        .expect("tests lie in TARGET/PROFILE/deps");
    let target_folder = profile_folder
        .parent()
        .expect("a profile's folder lies in the target folder");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([
        "build",
        "--quiet",
        "--offline",
        "--package",
        package,
        "--bin",
        program,
    ]);
    command.arg("--target-dir").arg(target_folder);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    if profile_folder.ends_with("release") {
        command.arg("--release");
    }
    let status = command.status().expect("cargo starts");
    assert!(status.success(), "{program} can't be built: {status}");
    profile_folder.join(file)
}
