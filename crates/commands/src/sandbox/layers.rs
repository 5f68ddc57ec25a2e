//! The layers that concern files and rights: mounts, capabilities, Landlock.

use std::io;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::StatVfsMountFlags;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::{Enforcement, Layer, Missing, SandboxPolicy};

/// The newest rules that are known here; older kernels enforce what they know.
const NEWEST: ABI = ABI::V6;

fn named(what: &'static str, path: &Path) -> impl FnOnce(rustix::io::Errno) -> io::Error {
    let path = path.display().to_string();
    move |errno| {
        io::Error::new(
            io::Error::from(errno).kind(),
            format!("cannot {what}: {errno}: {path}"),
        )
    }
}

/// Makes what is protected read-only, hides what is hidden, and shows only the processes inside.
pub(super) fn mount_shields(policy: &SandboxPolicy) -> io::Result<()> {
    let root = Path::new("/");
    mount_change(
        root,
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .map_err(named("keep mounts private", root))?;
    for path in &policy.protected {
        // What isn't there needs no protection; a link's target is what matters.
        let Ok(path) = std::fs::canonicalize(path) else {
            continue;
        };
        mount_bind_recursive(&path, &path).map_err(named("protect", &path))?;
        make_read_only(&path)?;
    }
    for path in &policy.hidden {
        let Ok(path) = std::fs::canonicalize(path) else {
            continue;
        };
        if path.is_dir() {
            let flags =
                MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
            mount("tmpfs", &path, "tmpfs", flags, c"size=0,mode=555")
                .map_err(named("hide", &path))?;
        } else {
            mount_bind_recursive("/dev/null", &path).map_err(named("hide", &path))?;
        }
    }
    let proc = Path::new("/proc");
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", proc, "proc", flags, None).map_err(named("show only the processes inside", proc))
}

/// A mount keeps the flags that it came with, or the kernel refuses.
fn make_read_only(path: &Path) -> io::Result<()> {
    let has = rustix::fs::statvfs(path)
        .map_err(named("look at", path))?
        .f_flag;
    let kept = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (have, keep) in kept {
        if has.contains(have) {
            flags |= keep;
        }
    }
    mount_remount(path, flags, c"").map_err(named("protect", path))
}

/// Lets the next stage have the rights over its own namespaces; without this only root would keep them when a program
/// is run.
pub(super) fn keep_rights() -> io::Result<()> {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::SETPCAP;
    let mut have = rustix::thread::capabilities(None)?;
    have.inheritable |= needed;
    rustix::thread::set_capabilities(None, have)?;
    for capability in needed.iter() {
        rustix::thread::configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Gives up every capability, also those that a program run later would get, and every way to other rights.
pub(super) fn drop_rights() -> io::Result<()> {
    // Without the right to it there is nothing in the set that could be gained.
    for capability in CapabilitySet::all().iter() {
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    let _ = rustix::thread::clear_ambient_capability_set();
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none)?;
    rustix::thread::set_no_new_privs(true)?;
    Ok(())
}

/// Lets files be changed only where the policy says, and without it refuses to go on.
pub(super) fn restrict_files(
    policy: &SandboxPolicy,
    enforcement: &mut Enforcement,
) -> io::Result<()> {
    let told = |error: &dyn std::fmt::Display| io::Error::other(format!("Landlock: {error}"));
    let all = AccessFs::from_all(NEWEST);
    let mut rules = Ruleset::default()
        .handle_access(all)
        .map_err(|error| told(&error))?;
    if !policy.network {
        rules = rules
            .handle_access(AccessNet::from_all(NEWEST))
            .map_err(|error| told(&error))?;
    }
    rules = rules
        .scope(Scope::from_all(NEWEST))
        .map_err(|error| told(&error))?;
    let mut created = rules.create().map_err(|error| told(&error))?;
    let mut allow = |path: &Path, access| -> io::Result<()> {
        let Ok(fd) = PathFd::new(path) else {
            return Ok(());
        };
        let access = if path.is_dir() {
            access
        } else {
            access & AccessFs::from_file(NEWEST)
        };
        let rule = PathBeneath::new(fd, access);
        (&mut created)
            .add_rule(rule)
            .map_err(|error| told(&error))?;
        Ok(())
    };
    allow(Path::new("/"), AccessFs::from_read(NEWEST))?;
    for device in [
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
    ] {
        allow(
            Path::new(device),
            AccessFs::from_file(NEWEST) & !AccessFs::Execute,
        )?;
    }
    for folder in &policy.writable {
        allow(folder, all)?;
    }
    let status = created.restrict_self().map_err(|error| told(&error))?;
    match status.ruleset {
        RulesetStatus::NotEnforced => {
            return Err(io::Error::other(
                "the kernel has no Landlock, so nothing would keep files from being changed",
            ));
        }
        RulesetStatus::FullyEnforced => enforcement.enforced.extend([Layer::Files, Layer::Scope]),
        RulesetStatus::PartiallyEnforced => {
            enforcement.enforced.push(Layer::Files);
            enforcement.missing.push(Missing {
                layer: Layer::Scope,
                why: "the kernel's Landlock is older than 6.12's".into(),
            });
        }
    }
    Ok(())
}
