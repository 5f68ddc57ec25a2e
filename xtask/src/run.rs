//! `cargo xtask run`: the release build, started.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::cargo::{cargo, succeeds};
use crate::system;

/// Builds the program for release and starts it with `args`, one leading `--` dropped.
///
/// The exit code is the program's. Without a display the program is built and not started, which is exit code 2.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let args = args.strip_prefix(&["--".to_owned()]).unwrap_or(args);
    let window = opens_window(args);
    if window {
        system::provide(&system::window_needs());
    }
    if !succeeds(&mut cargo(&["build", "--release", "--package", "folkmoot"]))? {
        return Ok(ExitCode::FAILURE);
    }
    if window && !has_display() {
        eprintln!(
            "no display: neither WAYLAND_DISPLAY nor DISPLAY is set, so no window can open; \
             it works in the terminal too: cargo xtask run -- ask \"...\""
        );
        return Ok(ExitCode::from(2));
    }
    let status = cargo(&["run", "--quiet", "--release", "--package", "folkmoot"])
        .arg("--")
        .args(args)
        .status()?;
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Whether the program opens its window when called so: with nothing, or with a folder.
fn opens_window(args: &[String]) -> bool {
    args.first().is_none_or(|first| Path::new(first).is_dir())
}

fn has_display() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(not(target_os = "linux")) || is_set("WAYLAND_DISPLAY") || is_set("DISPLAY")
}

#[cfg(test)]
mod tests {
    use super::opens_window;

    #[test]
    fn only_a_bare_call_or_a_folder_opens_the_window() {
        let called_with = |args: &[&str]| {
            opens_window(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
        };
        assert!(called_with(&[]));
        assert!(called_with(&[env!("CARGO_MANIFEST_DIR")]));
        assert!(!called_with(&["ask", "hello"]));
        assert!(!called_with(&["--version"]));
    }
}
