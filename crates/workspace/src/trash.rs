//! The trash: where deleted things go, and from where they come back.
//!
//! On Linux this is the trash of the desktop (freedesktop.org Trash specification 1.0): `files/` holds the things,
//! `info/` where they came from. What lies on another disk than the home folder goes to the trash folder at the
//! top of that disk.

use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::replace_file::rename_to_free_name;

/// A trash folder.
#[derive(Clone, Debug)]
pub struct Trash {
    home: PathBuf,
}

/// Something in the trash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trashed {
    /// Where it lies now.
    pub at: PathBuf,
}

impl Trash {
    /// The user's own: `$XDG_DATA_HOME/Trash`, `~/.local/share/Trash`, or `~/.Trash` on a Mac.
    pub fn of_user() -> Self {
        let var = |name| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let home = var("HOME").unwrap_or_else(std::env::temp_dir);
        let at = if cfg!(target_os = "macos") {
            home.join(".Trash")
        } else {
            let data = var("XDG_DATA_HOME");
            data.unwrap_or_else(|| home.join(".local/share"))
                .join("Trash")
        };
        Self { home: at }
    }

    /// A trash in a folder of its own.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            home: folder.into(),
        }
    }

    /// Moves a thing into the trash: `name` in the folder `dir`, whose real path is `original`.
    pub(crate) fn take(&self, dir: &OwnedFd, name: &str, original: &Path) -> io::Result<Trashed> {
        match take_into(&self.home, dir, name, original) {
            Err(error) if error.raw_os_error() == Some(Errno::XDEV.raw_os_error()) => {
                let user = rustix::process::getuid().as_raw();
                let top = top_of_disk(original)?.join(format!(".Trash-{user}"));
                take_into(&top, dir, name, original)
            }
            other => other,
        }
    }
}

fn take_into(trash: &Path, dir: &OwnedFd, name: &str, original: &Path) -> io::Result<Trashed> {
    let (files, info) = (trash.join("files"), trash.join("info"));
    for folder in [&files, &info] {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let files_dir = rustix::fs::open(&files, flags, Mode::empty())?;
    for attempt in 1..10_000 {
        let own = if attempt == 1 {
            name.to_owned()
        } else {
            format!("{name}.{attempt}")
        };
        let note = info.join(format!("{own}.trashinfo"));
        let mut options = fs::OpenOptions::new();
        let mut file = match options.write(true).create_new(true).mode(0o600).open(&note) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            other => other?,
        };
        let moved = write_note(&mut file, original)
            .and_then(|()| Ok(rename_to_free_name(dir, name, &files_dir, &own)?));
        match moved {
            Ok(()) => {
                return Ok(Trashed {
                    at: files.join(own),
                });
            }
            Err(error) => {
                fs::remove_file(&note)?;
                if error.kind() != io::ErrorKind::AlreadyExists {
                    return Err(error);
                }
            }
        }
    }
    Err(io::Error::other("the trash is full of things of this name"))
}

fn write_note(file: &mut fs::File, original: &Path) -> io::Result<()> {
    let path: String = original
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(percent)
        .collect();
    let date = date_of(SystemTime::now());
    file.write_all(format!("[Trash Info]\nPath={path}\nDeletionDate={date}\n").as_bytes())?;
    file.sync_all()
}

/// As in a URL (RFC 3986, section 2.1).
fn percent(byte: &u8) -> String {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
            char::from(*byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    }
}

/// `YYYY-MM-DDThh:mm:ss` in UTC (the days by Howard Hinnant's `civil_from_days`).
fn date_of(time: SystemTime) -> String {
    let secs = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let days = secs / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (secs / 3_600 % 24, secs / 60 % 60, secs % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// The folder in which the disk of the path begins.
fn top_of_disk(path: &Path) -> io::Result<PathBuf> {
    let parent = path.parent().unwrap_or(path);
    let disk = fs::metadata(parent)?.dev();
    let mut top = parent;
    while let Some(above) = top.parent() {
        if fs::metadata(above)?.dev() != disk {
            break;
        }
        top = above;
    }
    Ok(top.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |secs| date_of(SystemTime::UNIX_EPOCH + Duration::from_secs(secs));
        assert_eq!(at(0), "1970-01-01T00:00:00");
        assert_eq!(at(951_827_696), "2000-02-29T12:34:56");
        assert_eq!(at(1_767_225_599), "2025-12-31T23:59:59");
    }

    #[test]
    fn two_things_of_one_name_lie_beside_each_other_with_where_they_came_from() {
        let folder = tempfile::tempdir().unwrap();
        let trash = Trash::at(folder.path().join("trash"));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let dir = rustix::fs::open(folder.path(), flags, Mode::empty()).unwrap();
        let file = folder.path().join("a b");
        for text in ["1", "2"] {
            fs::write(&file, text).unwrap();
            trash.take(&dir, "a b", &file).unwrap();
        }
        let read = |name: &str| fs::read_to_string(folder.path().join("trash").join(name)).unwrap();
        assert_eq!(
            (read("files/a b"), read("files/a b.2")),
            ("1".into(), "2".into())
        );
        assert!(read("info/a b.2.trashinfo").contains("/a%20b\nDeletionDate=20"));
        assert!(!file.exists());
    }
}
