//! The environment in which drawing is the same on every Linux machine: Mesa's software rasteriser, no compositor.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Holds the private folder that the environment points to; the folder goes when this does.
#[derive(Debug)]
pub(crate) struct SoftwareVulkan {
    manifest: Option<PathBuf>,
    runtime_folder: tempfile::TempDir,
}

impl SoftwareVulkan {
    /// Finds lavapipe's driver manifest and makes the private runtime folder.
    pub(crate) fn new() -> io::Result<Self> {
        // Short, because sockets live in it and their paths end at 108 bytes. `tempdir` makes it private to the user,
        // as the XDG base directory specification wants it.
        let runtime_folder = tempfile::Builder::new().prefix("xdg-").tempdir()?;
        Ok(Self {
            manifest: lavapipe_manifest(&manifest_folders()),
            runtime_folder,
        })
    }

    /// Sets the environment of `command`.
    ///
    /// Naming the one manifest keeps the loader from probing drivers of absent hardware, which costs time and noise.
    pub(crate) fn apply(&self, command: &mut Command) {
        if cfg!(not(target_os = "linux")) {
            return;
        }
        if let Some(manifest) = &self.manifest {
            command.env("VK_DRIVER_FILES", manifest);
            // What loaders before 1.3.207 read.
            command.env("VK_ICD_FILENAMES", manifest);
            command.env("WGPU_BACKEND", "vulkan");
        }
        command.env("LIBGL_ALWAYS_SOFTWARE", "1");
        command.env("XDG_RUNTIME_DIR", self.runtime_folder.path());
        command.env_remove("WAYLAND_DISPLAY");
        command.env_remove("WAYLAND_SOCKET");
        command.env_remove("WINIT_UNIX_BACKEND");
    }

    /// One line that says which renderer the tests will get.
    pub(crate) fn summary(&self) -> String {
        match &self.manifest {
            Some(manifest) => format!("renderer: lavapipe, {}", manifest.display()),
            None => "renderer: whatever the system offers (no lavapipe found)".to_owned(),
        }
    }
}

/// Where the Vulkan loader looks for driver manifests, in its order.
pub(crate) fn manifest_folders() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let user = std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| home.map(|home| home.join(".local/share")));
    let system = ["/etc", "/usr/local/share", "/usr/share"].map(PathBuf::from);
    user.into_iter()
        .chain(system)
        .map(|folder| folder.join("vulkan/icd.d"))
        .collect()
}

/// The driver manifests (`*.json`) in these folders.
pub(crate) fn manifests(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flat_map(|entries| entries.filter_map(Result::ok).map(|entry| entry.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    found.sort();
    found
}

/// Lavapipe's manifest, this machine's architecture first where several are installed.
fn lavapipe_manifest(folders: &[PathBuf]) -> Option<PathBuf> {
    let name_of = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let mut found: Vec<PathBuf> = manifests(folders)
        .into_iter()
        .filter(|path| name_of(path).starts_with("lvp_icd"))
        .collect();
    found.sort_by_key(|path| !name_of(path).contains(std::env::consts::ARCH));
    found.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::write(folder.path().join(name), "{}").unwrap();
        }
        folder
    }

    #[test]
    fn lavapipe_is_picked_among_hardware_drivers() {
        let own = format!("lvp_icd.{}.json", std::env::consts::ARCH);
        let folder = folder_with(&[
            "intel_icd.x86_64.json",
            "lvp_icd.a_foreign.json",
            &own,
            "radeon_icd.json",
        ]);
        let found = lavapipe_manifest(&[folder.path().to_owned()]).unwrap();
        assert_eq!(found, folder.path().join(own));
    }

    #[test]
    fn no_lavapipe_means_no_manifest_rather_than_another_driver() {
        let folder = folder_with(&["intel_icd.x86_64.json"]);
        assert_eq!(
            lavapipe_manifest(&[folder.path().to_owned(), "/nowhere".into()]),
            None
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_environment_pins_the_driver_and_leaves_the_compositor_out() {
        let runtime_folder = tempfile::tempdir().unwrap();
        let runtime_path = runtime_folder.path().to_owned();
        let vulkan = SoftwareVulkan {
            manifest: Some("/icd/lvp_icd.json".into()),
            runtime_folder,
        };
        let mut command = Command::new("true");
        vulkan.apply(&mut command);
        let value = |name: &str| {
            command
                .get_envs()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value)
        };
        assert_eq!(
            value("VK_DRIVER_FILES"),
            Some(Some("/icd/lvp_icd.json".as_ref()))
        );
        assert_eq!(value("WGPU_BACKEND"), Some(Some("vulkan".as_ref())));
        assert_eq!(
            value("XDG_RUNTIME_DIR"),
            Some(Some(runtime_path.as_os_str()))
        );
        assert_eq!(
            value("WAYLAND_DISPLAY"),
            Some(None),
            "removed, not merely unset here"
        );
    }
}
