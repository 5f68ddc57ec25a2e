//! How the program and its helper talk: over a socket that is the helper's standard input, in frames of a length and
//! JSON.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Enforcement, Helper, SandboxPolicy};
use crate::runner::shell;

/// Longer frames are refused.
const LONGEST: u32 = 16 * 1024 * 1024;
/// After this long a helper that says nothing is given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the helper is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) policy: SandboxPolicy,
    pub(super) shell: PathBuf,
    pub(super) command: String,
    pub(super) folder: PathBuf,
}

/// What it says before it runs the shell.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The bounds are in force.
    Ready(Enforcement),
    /// They can't be, and nothing runs.
    Refused(String),
}

/// The program's end of the socket. When it is closed, also because the program is gone, the helper ends everything.
pub(crate) type Tether = UnixStream;

pub(super) fn send<T: Serialize>(socket: &mut UnixStream, frame: &T) -> io::Result<()> {
    let bytes = serde_json::to_vec(frame)?;
    let length =
        u32::try_from(bytes.len()).map_err(|_| io::Error::other("a frame that is too long"))?;
    socket.write_all(&length.to_be_bytes())?;
    socket.write_all(&bytes)
}

pub(super) fn receive<T: DeserializeOwned>(socket: &mut UnixStream) -> io::Result<T> {
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > LONGEST {
        return Err(io::Error::other("a frame that is too long"));
    }
    let mut bytes = vec![0; length as usize];
    socket.read_exact(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

pub(crate) fn launch(
    helper: &Helper,
    policy: &SandboxPolicy,
    command: &str,
    folder: &Path,
    environment: BTreeMap<OsString, OsString>,
) -> io::Result<(Child, Enforcement, Tether)> {
    let (mut ours, theirs) = UnixStream::pair()?;
    let mut started = Command::new(&helper.program);
    started
        .args(&helper.arguments)
        .arg("enter")
        .env_clear()
        .envs(environment);
    started
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = started.spawn()?;
    // The command keeps the child's end of the socket; ours must be the only one left here.
    drop(started);
    let order = Order {
        policy: policy.clone(),
        shell: shell().into(),
        command: command.into(),
        folder: folder.to_owned(),
    };
    ours.set_read_timeout(Some(PATIENCE))?;
    // One for each of the two stages.
    let report = send(&mut ours, &order)
        .and_then(|()| send(&mut ours, &order))
        .and_then(|()| receive(&mut ours));
    match report {
        Ok(Report::Ready(enforcement)) => Ok((child, enforcement, ours)),
        Ok(Report::Refused(why)) => {
            child.wait()?;
            Err(io::Error::new(io::ErrorKind::Unsupported, why))
        }
        Err(error) => {
            let _ = child.kill();
            let output = child.wait_with_output()?;
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(io::Error::other(format!(
                "the sandbox's helper failed, {error}: {}",
                told.trim()
            )))
        }
    }
}
