//! Bounds for commands that the system enforces: what may be written, what is hidden, whether there is a network.
//!
//! On Linux a small helper, this program itself under another name, puts itself into the bounds and then runs the
//! shell: namespaces of users, mounts, processes and networks where the kernel lets it, Landlock for files, seccomp
//! for system calls. What is really in force is reported, layer by layer; nothing is claimed that isn't.
//! Elsewhere there are no bounds, and that is what is reported.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod layers;
#[cfg(target_os = "linux")]
mod system_calls;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(target_os = "linux")]
pub use helper::helper_main;

/// As many entries are looked through for repositories.
const MOST_ENTRIES: usize = 200_000;

/// What a command may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    /// The folders it may change.
    pub writable: Vec<PathBuf>,
    /// What in them it may not change.
    pub protected: Vec<PathBuf>,
    /// What it doesn't see.
    pub hidden: Vec<PathBuf>,
    /// Whether it may reach the network.
    pub network: bool,
}

impl SandboxPolicy {
    /// It changes nothing, sees no secrets of the home folder, and reaches no network.
    pub fn read_only() -> Self {
        Self {
            hidden: private_places(),
            ..Self::default()
        }
    }

    /// It may change a folder, but for the repositories in it.
    pub fn workspace_write(folder: &Path) -> Self {
        Self {
            writable: vec![folder.to_owned()],
            protected: protected_places(folder),
            ..Self::read_only()
        }
    }

    /// Hides more: the secrets of the workspace.
    #[must_use]
    pub fn hiding(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.hidden.extend(paths);
        self
    }
}

/// A layer of a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Landlock: files are changed only where it is allowed.
    Files,
    /// Landlock: no signals to, and no abstract sockets of, processes outside.
    Scope,
    /// A mount namespace: repositories can't be changed, secrets aren't there.
    Shields,
    /// A process namespace: no other processes are there, and all of them end with the command.
    Processes,
    /// A network namespace without a network.
    Network,
    /// seccomp: no system calls that lead out.
    SystemCalls,
    /// No capabilities, and no way to more rights.
    Rights,
}

/// A layer that isn't in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Which.
    pub layer: Layer,
    /// Why.
    pub why: String,
}

/// What is in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforcement {
    /// The layers that are.
    pub enforced: Vec<Layer>,
    /// The layers that should be and aren't.
    pub missing: Vec<Missing>,
}

impl Enforcement {
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// Whether a layer is in force.
    pub fn has(&self, layer: Layer) -> bool {
        self.enforced.contains(&layer)
    }

    /// A word or two for the person, which never says more than is true.
    pub fn label(&self) -> &'static str {
        let needed = [Layer::Files, Layer::SystemCalls, Layer::Rights];
        if !needed.iter().all(|layer| self.has(*layer)) {
            return "not sandboxed";
        }
        if self.missing.is_empty() {
            "sandboxed"
        } else {
            "sandboxed in part"
        }
    }
}

/// The program that makes a sandbox: one that calls [`helper_main`] when it is started with these arguments.
#[derive(Clone, Debug)]
pub struct Helper {
    /// The program.
    pub program: PathBuf,
    /// Its first arguments.
    pub arguments: Vec<OsString>,
}

#[cfg(target_os = "linux")]
pub(crate) use wire::{Tether, launch};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{Tether, launch};

/// The repositories in a folder: every `.git`, and what those that are files lead to.
pub fn protected_places(folder: &Path) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let mut todo = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(at) = todo.pop() {
        for entry in fs::read_dir(at).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MOST_ENTRIES {
                return places;
            }
            let path = entry.path();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if entry.file_name() == ".git" {
                if kind.is_file() {
                    places.extend(pointed_at(&path));
                }
                places.push(path);
            } else if entry.file_name() == ".folkmoot" {
                places.push(path);
            } else if kind.is_dir() {
                todo.push(path);
            }
        }
    }
    places
}

/// The folder that a `.git` file names, and the one that it shares with other worktrees.
fn pointed_at(file: &Path) -> Vec<PathBuf> {
    let read = |path: &Path| {
        fs::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_owned())
    };
    let base = file.parent().unwrap_or(file);
    let Some(named) =
        read(file).and_then(|text| Some(text.strip_prefix("gitdir:")?.trim().to_owned()))
    else {
        return Vec::new();
    };
    let folder = base.join(named);
    let shared = read(&folder.join("commondir")).map(|common| folder.join(common));
    [Some(folder), shared].into_iter().flatten().collect()
}

/// Places outside of the workspace that hold keys, or lead to programs with more rights.
fn private_places() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let in_home = [
        ".ssh",
        ".aws",
        ".gnupg",
        ".kube",
        ".docker",
        ".netrc",
        ".git-credentials",
        ".pgpass",
        ".npmrc",
        ".pypirc",
        ".config/gcloud",
        ".config/gh",
        ".azure",
        ".password-store",
        ".local/share/keyrings",
        ".mozilla",
        ".config/google-chrome",
        ".config/chromium",
        ".folkmoot",
        ".cargo/credentials.toml",
        ".bash_history",
    ];
    let mut places: Vec<PathBuf> = home
        .iter()
        .flat_map(|home| in_home.map(|name| home.join(name)))
        .collect();
    places.extend(std::env::var_os("FOLKMOOT_HOME").map(PathBuf::from));
    let system = [
        "/run/docker.sock",
        "/run/podman",
        "/run/dbus",
        "/run/containerd",
        "/run/user",
    ];
    places.extend(system.map(PathBuf::from));
    places
}
