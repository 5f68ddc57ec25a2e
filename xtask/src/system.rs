//! What the program and its tests need from a Linux system, whether it is there, and how to get it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::software_vulkan::{manifest_folders, manifests};

/// How one can tell that something is there.
#[derive(Debug, Clone, Copy)]
enum Probe {
    /// A shared library that is loaded at run time, by its soname.
    Library(&'static str),
    /// A driver manifest, of any driver, that the Vulkan loader would find.
    VulkanDriver,
    /// The manifest of the driver whose manifests start so.
    VulkanDriverNamed(&'static str),
    /// A program on the PATH; any of these.
    Program(&'static [&'static str]),
    /// An installed font whose file name starts so.
    Font(&'static str),
}

/// One thing that is needed, and the Debian package that has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Need {
    probe: Probe,
    /// The package on Debian and Ubuntu.
    package: &'static str,
    /// What it is for, in a few words.
    purpose: &'static str,
}

const fn need(probe: Probe, package: &'static str, purpose: &'static str) -> Need {
    Need {
        probe,
        package,
        purpose,
    }
}

/// What winit, wgpu and the font search load when a window opens.
const WINDOW: [Need; 11] = [
    need(
        Probe::Library("libvulkan.so.1"),
        "libvulkan1",
        "the Vulkan loader",
    ),
    need(
        Probe::VulkanDriver,
        "mesa-vulkan-drivers",
        "a Vulkan driver",
    ),
    need(
        Probe::Library("libX11.so.6"),
        "libx11-6",
        "windows under X11",
    ),
    need(
        Probe::Library("libX11-xcb.so.1"),
        "libx11-xcb1",
        "windows under X11",
    ),
    need(
        Probe::Library("libXcursor.so.1"),
        "libxcursor1",
        "mouse pointers under X11",
    ),
    need(Probe::Library("libXi.so.6"), "libxi6", "input under X11"),
    need(
        Probe::Library("libXrandr.so.2"),
        "libxrandr2",
        "monitors under X11",
    ),
    need(
        Probe::Library("libxkbcommon.so.0"),
        "libxkbcommon0",
        "keyboard layouts",
    ),
    need(
        Probe::Library("libxkbcommon-x11.so.0"),
        "libxkbcommon-x11-0",
        "keyboard layouts under X11",
    ),
    need(
        Probe::Library("libwayland-client.so.0"),
        "libwayland-client0",
        "windows under Wayland",
    ),
    need(
        Probe::Library("libfontconfig.so.1"),
        "libfontconfig1",
        "the system's fonts",
    ),
];

/// What the tests need besides: a display of their own, a renderer that is the same everywhere, hands and eyes.
const TESTS: [Need; 10] = [
    need(
        Probe::VulkanDriverNamed("lvp_icd"),
        "mesa-vulkan-drivers",
        "the software renderer",
    ),
    need(
        Probe::Program(&["Xvfb"]),
        "xvfb",
        "a display without a screen",
    ),
    need(
        Probe::Program(&["xauth"]),
        "xauth",
        "access to that display",
    ),
    need(
        Probe::Program(&["xdotool"]),
        "xdotool",
        "real keys and clicks",
    ),
    need(
        Probe::Program(&["xclip"]),
        "xclip",
        "the clipboard from outside",
    ),
    need(
        Probe::Program(&["import", "magick"]),
        "imagemagick",
        "screenshots",
    ),
    need(
        Probe::Program(&["openbox"]),
        "openbox",
        "a window manager, for focus",
    ),
    need(
        Probe::Font("DejaVuSans"),
        "fonts-dejavu-core",
        "a system font",
    ),
    need(
        Probe::Font("NotoSansCJK"),
        "fonts-noto-cjk",
        "Chinese, Japanese and Korean",
    ),
    need(
        Probe::Font("NotoColorEmoji"),
        "fonts-noto-color-emoji",
        "emoji",
    ),
];

/// What a window needs.
pub(crate) fn window_needs() -> Vec<Need> {
    WINDOW.to_vec()
}

/// What the whole suite needs, windows included.
pub(crate) fn test_needs() -> Vec<Need> {
    WINDOW.iter().chain(&TESTS).copied().collect()
}

/// What was found on this machine, gathered once.
#[derive(Debug, Default)]
struct Inventory {
    /// Sonames; `None` where they cannot be listed, and then every library counts as there.
    libraries: Option<BTreeSet<String>>,
    vulkan_manifests: Vec<PathBuf>,
    program_folders: Vec<PathBuf>,
    font_files: BTreeSet<String>,
}

impl Inventory {
    fn take() -> Self {
        let mut font_files = BTreeSet::new();
        let home = std::env::var_os("HOME")
            .map(PathBuf::from)
            .unwrap_or_default();
        for folder in [
            "/usr/share/fonts".into(),
            "/usr/local/share/fonts".into(),
            home.join(".local/share/fonts"),
        ] {
            collect_file_names(&folder, &mut font_files);
        }
        Self {
            libraries: list_libraries(),
            vulkan_manifests: manifests(&manifest_folders()),
            program_folders: std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
                .collect(),
            font_files,
        }
    }

    fn has(&self, probe: Probe) -> bool {
        match probe {
            Probe::Library(soname) => self
                .libraries
                .as_ref()
                .is_none_or(|known| known.contains(soname)),
            Probe::VulkanDriver => {
                !self.vulkan_manifests.is_empty()
                    || std::env::var_os("VK_DRIVER_FILES").is_some()
                    || std::env::var_os("VK_ICD_FILENAMES").is_some()
            }
            Probe::VulkanDriverNamed(start) => self.vulkan_manifests.iter().any(|path| {
                path.file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with(start))
            }),
            Probe::Program(names) => names.iter().any(|name| {
                self.program_folders
                    .iter()
                    .any(|folder| folder.join(name).is_file())
            }),
            Probe::Font(start) => self
                .font_files
                .range(start.to_owned()..)
                .next()
                .is_some_and(|name| name.starts_with(start)),
        }
    }

    fn missing(&self, needs: &[Need]) -> Vec<Need> {
        needs
            .iter()
            .filter(|need| !self.has(need.probe))
            .copied()
            .collect()
    }
}

/// The sonames in the loader's cache, or `None` on systems without such a cache.
fn list_libraries() -> Option<BTreeSet<String>> {
    let output = ["ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"]
        .iter()
        .find_map(|program| {
            Command::new(program)
                .arg("-p")
                .output()
                .ok()
                .filter(|output| output.status.success())
        })?;
    Some(sonames(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads the sonames out of `ldconfig -p`.
fn sonames(listing: &str) -> BTreeSet<String> {
    listing
        .lines()
        .filter(|line| line.contains("=>"))
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

fn collect_file_names(folder: &Path, into: &mut BTreeSet<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect_file_names(&entry.path(), into),
            _ => {
                into.insert(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
}

/// Sees to it that everything in `needs` is there, as far as this user may.
///
/// What is missing is named with its Debian package. As root, or where sudo asks for no password, those packages are
/// installed; otherwise the command that installs them is printed. Never fails: a need that was judged wrongly must
/// not stand in the way, and one that was judged rightly is on the screen above the error it causes.
pub(crate) fn provide(needs: &[Need]) {
    if cfg!(not(target_os = "linux")) {
        return;
    }
    let missing = Inventory::take().missing(needs);
    if missing.is_empty() {
        return;
    }
    for need in &missing {
        println!("missing: {} ({})", need.purpose, need.package);
    }
    let packages: BTreeSet<&str> = missing.iter().map(|need| need.package).collect();
    let packages: Vec<&str> = packages.into_iter().collect();
    if !has_apt() {
        println!(
            "install what your distribution calls these Debian packages: {}",
            packages.join(" ")
        );
        return;
    }
    let Some(prefix) = root_prefix() else {
        println!(
            "to install: sudo apt-get update && sudo apt-get install {}",
            packages.join(" ")
        );
        return;
    };
    if !install(&prefix, &packages) {
        println!(
            "could not install all of it; to try by hand: apt-get install {}",
            packages.join(" ")
        );
    }
    for need in Inventory::take().missing(needs) {
        println!("still missing: {} ({})", need.purpose, need.package);
    }
}

fn has_apt() -> bool {
    Path::new("/usr/bin/apt-get").is_file() && Path::new("/etc/debian_version").is_file()
}

/// What to put before a command so that it runs as root without asking, or `None` where that is impossible.
fn root_prefix() -> Option<Vec<&'static str>> {
    let is_root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if is_root {
        return Some(Vec::new());
    }
    let sudo_is_silent = Command::new("sudo")
        .args(["-n", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    sudo_is_silent.then(|| vec!["sudo", "-n"])
}

/// Installs packages one `apt-get update` and one `apt-get install` long.
fn install(prefix: &[&str], packages: &[&str]) -> bool {
    let apt = |args: &[&str]| {
        let line = [
            prefix,
            &[
                "env",
                "DEBIAN_FRONTEND=noninteractive",
                "apt-get",
                "-q",
                "-o",
                "Acquire::Retries=3",
            ],
            args,
        ]
        .concat();
        println!("$ {}", line.join(" "));
        Command::new(line[0])
            .args(&line[1..])
            .stdin(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    // A failed update is no reason to stop: the lists that are there may do.
    apt(&["update"]);
    apt(&[&["install", "-y", "--no-install-recommends"], packages].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "412 libs found in cache `/etc/ld.so.cache'\n\
        \tlibvulkan.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libvulkan.so.1\n\
        \tlibXi.so.6 (libc6,x86-64) => /lib/x86_64-linux-gnu/libXi.so.6\n\
        Cache generated by: ldconfig (Debian GLIBC 2.36-9) stable release version 2.36\n";

    fn packages(missing: &[Need]) -> Vec<&str> {
        missing.iter().map(|need| need.package).collect()
    }

    #[test]
    fn sonames_are_read_from_the_loader_cache_without_its_frame() {
        assert_eq!(
            sonames(LISTING).into_iter().collect::<Vec<_>>(),
            ["libXi.so.6", "libvulkan.so.1"]
        );
    }

    #[test]
    fn a_bare_machine_lacks_every_library_a_program_and_a_font() {
        let bare = Inventory {
            libraries: Some(BTreeSet::new()),
            ..Inventory::default()
        };
        let needs: Vec<Need> = test_needs();
        let missing = bare.missing(&needs);
        for package in ["libvulkan1", "libxkbcommon-x11-0", "xvfb", "fonts-noto-cjk"] {
            assert!(
                packages(&missing).contains(&package),
                "{package} should be missing"
            );
        }
    }

    #[test]
    fn what_is_there_is_not_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("Xvfb"), "").unwrap();
        let inventory = Inventory {
            libraries: Some(sonames(LISTING)),
            vulkan_manifests: vec!["/usr/share/vulkan/icd.d/intel_icd.json".into()],
            program_folders: vec![folder.path().to_owned()],
            font_files: BTreeSet::from(["NotoSansCJK-Regular.ttc".to_owned()]),
        };
        let missing = inventory.missing(&test_needs());
        let missing = packages(&missing);
        for package in ["libvulkan1", "libxi6", "xvfb", "fonts-noto-cjk"] {
            assert!(!missing.contains(&package), "{package} is there");
        }
        assert!(
            missing.contains(&"mesa-vulkan-drivers"),
            "another driver is no software renderer"
        );
        assert!(
            missing.contains(&"fonts-noto-color-emoji"),
            "one font does not stand for another"
        );
    }

    #[test]
    fn a_system_without_a_loader_cache_is_trusted_to_have_its_libraries() {
        let inventory = Inventory {
            vulkan_manifests: vec!["/run/opengl-driver/icd.json".into()],
            ..Inventory::default()
        };
        assert!(inventory.missing(&window_needs()).is_empty());
    }
}
