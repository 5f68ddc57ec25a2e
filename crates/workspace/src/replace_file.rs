//! Putting bytes into a file: as one step, keeping what belongs to the file and not to its bytes.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, XattrFlags};
use rustix::io::Errno;

use crate::WorkspaceError;
use crate::disk::Disk;
use crate::root::{Found, Place, not_a_file};

/// How the name of a file that is being written ends. No reader shows such files.
pub(crate) const TEMP_SUFFIX: &str = ".folkmoot-tmp";

/// Which permission bits the file gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModeRule {
    /// Those it has; a new file those that the process's mask leaves of `rw` for all. A file that nobody may write
    /// is refused.
    Keep,
    /// These, also for a file that nobody may write: it is put back.
    Exactly(u32),
}

pub(crate) fn temp_name() -> String {
    format!(".{}{TEMP_SUFFIX}", uuid::Uuid::new_v4().simple())
}

/// Writes the bytes to the place as one step: whoever opens it sees the old bytes or the new. Mode, owner and
/// extended attributes stay. A file with several names, or one whose owner we can't keep, is written in place.
/// Durable on return.
pub(crate) fn replace_file(
    disk: &Disk,
    place: &Place,
    bytes: &[u8],
    mode: ModeRule,
    shown: &str,
) -> Result<(), WorkspaceError> {
    let old = match place.found {
        Found::Missing => None,
        Found::File(stat) => Some(stat),
        _ => return Err(not_a_file(shown)),
    };
    if let Some(stat) = old {
        if stat.st_mode & 0o222 == 0 && mode == ModeRule::Keep {
            return Err(WorkspaceError::Protected {
                why: "the file is read-only".into(),
                path: shown.into(),
            });
        }
        if stat.st_nlink > 1 {
            return write_in_place(disk, place, bytes, mode, shown);
        }
    }
    let temp = temp_name();
    let written = fill_temp(disk, place, &temp, bytes, old.as_ref(), mode);
    let moved = match written {
        Ok(true) => check_unchanged(place, old.as_ref(), shown).and_then(|()| {
            let moved = move_over(disk, &place.dir, &temp, &place.name, old.is_some());
            moved.map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => changed(shown),
                _ => WorkspaceError::io("write", shown)(error),
            })
        }),
        Ok(false) => {
            remove_temp(&place.dir, &temp);
            return write_in_place(disk, place, bytes, mode, shown);
        }
        Err(error) => Err(WorkspaceError::io("write", shown)(error)),
    };
    if let Err(error) = moved {
        remove_temp(&place.dir, &temp);
        return Err(error);
    }
    sync_folder(disk, &place.dir).map_err(WorkspaceError::io("sync the folder of", shown))
}

pub(crate) fn remove_temp(dir: &OwnedFd, temp: &str) {
    if let Err(errno) = rustix::fs::unlinkat(dir, temp, AtFlags::empty())
        && errno != Errno::NOENT
    {
        log::warn!("cannot remove a temporary file: {errno}: {temp}");
    }
}

fn changed(shown: &str) -> WorkspaceError {
    WorkspaceError::Stale {
        why: "the file changed while it was written".into(),
        path: shown.into(),
    }
}

/// Whether the place still holds what was found there.
fn check_unchanged(place: &Place, old: Option<&Stat>, shown: &str) -> Result<(), WorkspaceError> {
    let now = rustix::fs::statat(&place.dir, &place.name, AtFlags::SYMLINK_NOFOLLOW);
    match (old, now) {
        (None, Err(Errno::NOENT)) => Ok(()),
        (Some(old), Ok(now)) if version(old) == version(&now) => Ok(()),
        (_, Err(errno)) if errno != Errno::NOENT => {
            Err(WorkspaceError::os("look at", shown)(errno))
        }
        _ => Err(changed(shown)),
    }
}

/// What tells one version of a file from another without reading it.
pub(crate) fn version(stat: &Stat) -> (u64, u64, i64, i64, u64) {
    #[allow(clippy::unnecessary_cast)] // The fields differ from system to system.
    (
        stat.st_dev as u64,
        stat.st_ino as u64,
        stat.st_size as i64,
        stat.st_mtime as i64,
        stat.st_mtime_nsec as u64,
    )
}

/// False if the file would lose its owner.
fn fill_temp(
    disk: &Disk,
    place: &Place,
    temp: &str,
    bytes: &[u8],
    old: Option<&Stat>,
    rule: ModeRule,
) -> io::Result<bool> {
    disk.before("create temp")?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let private = old.is_some() || rule != ModeRule::Keep;
    let mode = if private { 0o600 } else { 0o666 };
    let mut file = File::from(rustix::fs::openat(
        &place.dir,
        temp,
        flags,
        Mode::from_raw_mode(mode),
    )?);
    let (first, rest) = bytes.split_at(bytes.len() / 2);
    disk.before("write temp")?;
    file.write_all(first)?;
    disk.before("write the rest of temp")?;
    file.write_all(rest)?;
    if let Some(old) = old {
        if !keep_owner(&file, old) {
            return Ok(false);
        }
        copy_attributes(place, &file);
    }
    match (rule, old) {
        (ModeRule::Exactly(mode), _) => set_mode(&file, mode)?,
        (ModeRule::Keep, Some(old)) => set_mode(&file, old.st_mode & 0o7777)?,
        (ModeRule::Keep, None) => {}
    }
    disk.before("sync temp")?;
    file.sync_all()?;
    Ok(true)
}

fn keep_owner(file: &File, old: &Stat) -> bool {
    let Ok(new) = rustix::fs::fstat(file) else {
        return false;
    };
    if (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid) {
        return true;
    }
    let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
    rustix::fs::fchown(file, Some(owner), Some(group)).is_ok()
}

/// Copies extended attributes; those that the system keeps to itself can't be copied and aren't missed.
fn copy_attributes(place: &Place, to: &File) {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(from) = rustix::fs::openat(&place.dir, &place.name, flags, Mode::empty()) else {
        return;
    };
    let mut names = vec![0; 64 * 1024];
    let Ok(length) = rustix::fs::flistxattr(&from, &mut names[..]) else {
        return;
    };
    for name in names[..length]
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        let mut value = vec![0; 64 * 1024];
        if let Ok(length) = rustix::fs::fgetxattr(&from, name, &mut value[..]) {
            let _ = rustix::fs::fsetxattr(to, name, &value[..length], XattrFlags::empty());
        }
    }
}

fn move_over(disk: &Disk, dir: &OwnedFd, temp: &str, name: &str, over: bool) -> io::Result<()> {
    disk.before("rename temp")?;
    if over {
        return Ok(rustix::fs::renameat(dir, temp, dir, name)?);
    }
    Ok(rename_to_free_name(dir, temp, dir, name)?)
}

/// Renames to a name that must be free, as one step where the system can.
pub(crate) fn rename_to_free_name(
    from_dir: &OwnedFd,
    from: &str,
    to_dir: &OwnedFd,
    to: &str,
) -> Result<(), Errno> {
    match rustix::fs::renameat_with(from_dir, from, to_dir, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => {
            if rustix::fs::statat(to_dir, to, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                return Err(Errno::EXIST);
            }
            rustix::fs::renameat(from_dir, from, to_dir, to)
        }
        other => other,
    }
}

fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(mode))?)
}

fn write_in_place(
    disk: &Disk,
    place: &Place,
    bytes: &[u8],
    mode: ModeRule,
    shown: &str,
) -> Result<(), WorkspaceError> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let write = || -> io::Result<()> {
        disk.before("write in place")?;
        let opened = rustix::fs::openat(&place.dir, &place.name, flags, Mode::empty())?;
        let mut file = File::from(opened);
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        if let ModeRule::Exactly(mode) = mode {
            set_mode(&file, mode)?;
        }
        file.sync_all()
    };
    write().map_err(WorkspaceError::io("write", shown))
}

/// Makes the names in a folder durable, where the file system can.
pub(crate) fn sync_folder(disk: &Disk, dir: impl AsFd) -> io::Result<()> {
    disk.before("sync folder")?;
    match rustix::fs::fsync(dir) {
        Ok(()) | Err(Errno::INVAL | Errno::BADF | Errno::ACCESS | Errno::NOTSUP) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
