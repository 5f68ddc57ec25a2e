//! Every change to the disk goes through here: atomic replacement, synced appends, and a hook that lets
//! tests kill the process or refuse the operation at any single step.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A step that is about to change the disk, or to make a change durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A folder is made.
    CreateFolder(&'a Path),
    /// A file is opened for writing, and made if it wasn't there.
    Open(&'a Path),
    /// The first half of some bytes is written.
    Write(&'a Path),
    /// The second half of the same bytes is written.
    WriteRest(&'a Path),
    /// The file is cut to this length.
    Truncate(&'a Path, u64),
    /// The file's bytes are made durable.
    Sync(&'a Path),
    /// A file changes its name.
    Rename {
        /// Its name until now.
        from: &'a Path,
        /// Its name from now on.
        to: &'a Path,
    },
    /// A file is removed.
    Remove(&'a Path),
    /// The names in the folder are made durable.
    SyncFolder(&'a Path),
}

/// Called before each step; an error is returned in its place.
type Hook = dyn Fn(Step<'_>) -> io::Result<()> + Send + Sync;

/// The way to the disk.
#[derive(Clone, Default)]
pub struct Disk {
    hook: Option<Arc<Hook>>,
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk")
            .field("hooked", &self.hook.is_some())
            .finish()
    }
}

impl Disk {
    /// A disk whose every step asks `hook` first.
    pub fn with_hook(hook: impl Fn(Step<'_>) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self {
            hook: Some(Arc::new(hook)),
        }
    }

    fn before(&self, step: Step<'_>) -> io::Result<()> {
        self.hook.as_ref().map_or(Ok(()), |hook| hook(step))
    }

    /// Makes a folder and those above it, for the owner only; durable on return. One that exists keeps its mode.
    pub(crate) fn create_folder(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        if let Some(above) = above {
            self.create_folder(above)?;
        }
        self.before(Step::CreateFolder(path))?;
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        self.sync_folder(above.unwrap_or(Path::new(".")))
    }

    /// Opens a file for writing without cutting it; a new one is for the owner only.
    pub(crate) fn open(&self, path: &Path) -> io::Result<File> {
        self.before(Step::Open(path))?;
        private_options().create(true).truncate(false).open(path)
    }

    /// Writes at the given offset, which must be the end of what is to be kept: anything behind it goes.
    pub(crate) fn append(
        &self,
        file: &mut File,
        path: &Path,
        at: u64,
        bytes: &[u8],
    ) -> io::Result<()> {
        if file.metadata()?.len() > at {
            self.truncate(file, path, at)?;
        }
        file.seek(SeekFrom::Start(at))?;
        HookedFile {
            disk: self,
            file,
            path,
        }
        .write_all(bytes)
    }

    pub(crate) fn truncate(&self, file: &File, path: &Path, len: u64) -> io::Result<()> {
        self.before(Step::Truncate(path, len))?;
        file.set_len(len)
    }

    pub(crate) fn sync(&self, file: &File, path: &Path) -> io::Result<()> {
        self.before(Step::Sync(path))?;
        file.sync_data()
    }

    pub(crate) fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.before(Step::SyncFolder(path))?;
        // Only Unix lets a folder be opened and synced, and there not every file system, nor every folder; elsewhere
        // the rename itself is the best there is.
        #[cfg(unix)]
        match File::open(path).and_then(|folder| folder.sync_all()) {
            Err(error) if !is_beyond_us(error.kind()) => return Err(error),
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.before(Step::Rename { from, to })?;
        fs::rename(from, to)
    }

    /// Removes a file; one that isn't there is fine.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.before(Step::Remove(path))?;
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Moves a file to another folder. A symbolic link moves as a link that still points to its target.
    pub(crate) fn relocate(&self, from: &Path, to: &Path) -> io::Result<()> {
        #[cfg(unix)]
        if fs::read_link(from).is_ok_and(|target| target.is_relative()) {
            let target = fs::canonicalize(from)?;
            let staged = temp_beside(to);
            self.remove(&staged)?;
            std::os::unix::fs::symlink(target, &staged)?;
            self.rename(&staged, to)?;
            return self.remove(from);
        }
        self.rename(from, to)
    }

    /// Replaces a file as one step: whoever opens it sees the old bytes or the new ones. Keeps the mode of a
    /// file that exists and writes through a symbolic link; a new file is for the owner only. With `durable`
    /// the new bytes and the name are on the disk on return.
    pub(crate) fn replace(
        &self,
        path: &Path,
        durable: bool,
        fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let target = if path.is_symlink() {
            fs::canonicalize(path)?
        } else {
            path.to_owned()
        };
        let temp = temp_beside(&target);
        let written = self
            .write_temp(&temp, &target, durable, fill)
            .and_then(|()| self.rename(&temp, &target));
        if let Err(error) = written {
            // The next attempt and the next start sweep it too.
            let _ = self.remove(&temp);
            return Err(error);
        }
        match target.parent() {
            Some(folder) if durable => self.sync_folder(folder),
            _ => Ok(()),
        }
    }

    fn write_temp(
        &self,
        temp: &Path,
        target: &Path,
        durable: bool,
        fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        if temp.symlink_metadata().is_ok() {
            self.remove(temp)?;
        }
        self.before(Step::Open(temp))?;
        let mut file = private_options().create_new(true).open(temp)?;
        if let Ok(old) = fs::metadata(target) {
            file.set_permissions(old.permissions())?;
        }
        let mut buffered = BufWriter::with_capacity(
            256 * 1024,
            HookedFile {
                disk: self,
                file: &mut file,
                path: temp,
            },
        );
        fill(&mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        if durable {
            self.sync(&file, temp)?;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn is_beyond_us(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    matches!(kind, InvalidInput | PermissionDenied | Unsupported)
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn temp_beside(target: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".tmp");
    target.with_file_name(name)
}

/// A file whose writes ask the hook first, and once more in the middle, so that a torn write can be made.
struct HookedFile<'a> {
    disk: &'a Disk,
    file: &'a mut File,
    path: &'a Path,
}

impl Write for HookedFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.disk.hook.is_some() {
            let (first, rest) = bytes.split_at(bytes.len() / 2);
            self.disk.before(Step::Write(self.path))?;
            self.file.write_all(first)?;
            self.disk.before(Step::WriteRest(self.path))?;
            self.file.write_all(rest)?;
            return Ok(bytes.len());
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn replace(path: &Path, text: &str) -> io::Result<()> {
        Disk::default().replace(path, true, &mut |out| out.write_all(text.as_bytes()))
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn replacing_keeps_the_mode_and_a_new_file_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        replace(&path, "1").unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, "2").unwrap();
        assert_eq!(
            (mode(&path), fs::read_to_string(&path).unwrap()),
            (0o640, "2".into())
        );
    }

    #[test]
    fn a_symbolic_link_is_written_through_and_survives_a_move() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("real"), folder.path().join("a.json"));
        fs::write(&target, "1").unwrap();
        symlink("real", &link).unwrap();
        replace(&link, "2").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "2");

        let moved = folder.path().join("below/a.json");
        fs::create_dir(folder.path().join("below")).unwrap();
        Disk::default().relocate(&link, &moved).unwrap();
        assert!(moved.is_symlink() && !link.is_symlink());
        assert_eq!(fs::read_to_string(&moved).unwrap(), "2");
    }

    #[test]
    fn a_refused_replacement_leaves_the_old_bytes_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        replace(&path, "old").unwrap();
        let full = Disk::with_hook(|step| match step {
            Step::WriteRest(_) => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        });
        let error = full
            .replace(&path, true, &mut |out| out.write_all(b"new"))
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
