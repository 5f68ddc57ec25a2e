//! Calls of cargo on this workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

/// The folder of the workspace's `Cargo.toml`.
///
/// Asked of cargo when running rather than when compiling: two checkouts that share a target folder may share the
/// compiled program as well.
pub(crate) fn workspace_root() -> PathBuf {
    let own_folder = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own_folder
        .parent()
        .map_or_else(|| own_folder.clone(), Path::to_path_buf)
}

/// `cargo SUBCOMMAND` on this workspace, whatever the current folder is; that folder stays the child's own.
///
/// What cargo told this very process is taken out of the environment, so that the child builds exactly as it would
/// from the shell.
pub(crate) fn cargo(subcommand: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(subcommand)
        .arg("--manifest-path")
        .arg(workspace_root().join("Cargo.toml"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_")
            || text.starts_with("CARGO_MANIFEST_")
            || text == "CARGO_BIN_NAME"
        {
            command.env_remove(&name);
        }
    }
    command
}

/// Whether `cargo SUBCOMMAND --version` works, that is, whether that tool is installed.
pub(crate) fn has_subcommand(subcommand: &str) -> bool {
    Command::new("cargo")
        .args([subcommand, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The command line as a person would type it, for messages.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program());
    let mut line = program.to_string_lossy().into_owned();
    let mut args = command.get_args();
    while let Some(arg) = args.next() {
        if arg == "--manifest-path" {
            args.next();
            continue;
        }
        line.push(' ');
        line.push_str(&arg.to_string_lossy());
    }
    line
}

/// Runs a command to its end and says whether it succeeded. Fails only if it cannot be started.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool> {
    println!("$ {}", shown(command));
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", shown(command)))?;
    Ok(status.success())
}

/// The part of `cargo metadata` that the commands here read.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
}

/// One package of the dependency graph, the workspace's own included.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    /// An SPDX expression, or the older form with slashes.
    pub(crate) license: Option<String>,
    /// Where it comes from; `None` for a path dependency.
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: PathBuf,
    #[serde(default)]
    pub(crate) targets: Vec<Target>,
}

/// Something cargo builds from a package.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Target {
    pub(crate) kind: Vec<String>,
    pub(crate) name: String,
}

/// The dependency graph over all platforms, exactly as the lock file has it. Without the network if that suffices.
pub(crate) fn metadata() -> Result<Metadata> {
    let mut offline = cargo(&["metadata", "--format-version", "1", "--locked", "--offline"]);
    let mut output = offline
        .stderr(Stdio::null())
        .output()
        .context("cannot start cargo metadata")?;
    if !output.status.success() {
        let mut online = cargo(&["metadata", "--format-version", "1", "--locked"]);
        output = online
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start cargo metadata")?;
    }
    if !output.status.success() {
        bail!(
            "cargo metadata --locked failed; if Cargo.lock is out of date, run cargo check and commit it"
        );
    }
    serde_json::from_slice(&output.stdout).context("cannot read the output of cargo metadata")
}
