//! Contents filed under their hash: what checkpoints and transactions put back.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::disk::Disk;
use crate::{ContentHash, WorkspaceError};

/// A folder of contents, for the owner only.
#[derive(Debug)]
pub(crate) struct ObjectStore {
    folder: PathBuf,
    disk: Disk,
    /// What was put since the last sync.
    unsynced: Mutex<Vec<PathBuf>>,
}

/// More objects than this are made durable by syncing the whole file system.
const SYNCED_ONE_BY_ONE: usize = 64;

impl ObjectStore {
    pub(crate) fn open(folder: &Path, disk: Disk) -> Result<Self, WorkspaceError> {
        make_private(folder).map_err(WorkspaceError::io("make", folder.display().to_string()))?;
        Ok(Self {
            folder: folder.to_owned(),
            disk,
            unsynced: Mutex::default(),
        })
    }

    fn path_of(&self, hash: &ContentHash) -> PathBuf {
        let name = hash.to_string();
        self.folder.join(&name[..2]).join(&name[2..])
    }

    /// Files bytes. They are durable only after [`ObjectStore::sync`].
    pub(crate) fn put(&self, bytes: &[u8]) -> Result<ContentHash, WorkspaceError> {
        let hash = ContentHash::of(bytes);
        let path = self.path_of(&hash);
        if path.is_file() {
            return Ok(hash);
        }
        self.write(&path, bytes).map_err(|error| {
            WorkspaceError::io("keep a copy for taking back", path.display().to_string())(error)
        })?;
        self.unsynced
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(path);
        Ok(hash)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let shelf = path.parent().unwrap_or(&self.folder);
        if !shelf.is_dir() {
            make_private(shelf)?;
        }
        let temp = shelf.join(format!(".{}.tmp", uuid::Uuid::new_v4().simple()));
        self.disk.before("create object")?;
        let mut file = private(&temp)?;
        let (first, rest) = bytes.split_at(bytes.len() / 2);
        let written = file
            .write_all(first)
            .and_then(|()| self.disk.before("write the rest of object"))
            .and_then(|()| file.write_all(rest))
            .and_then(|()| fs::rename(&temp, path));
        if written.is_err() {
            // A leftover would only take space.
            let _ = fs::remove_file(&temp);
        }
        written
    }

    /// Reads bytes back, and makes sure that they are the same.
    pub(crate) fn get(&self, hash: &ContentHash) -> Result<Vec<u8>, WorkspaceError> {
        let path = self.path_of(hash);
        let shown = path.display().to_string();
        let bytes =
            fs::read(&path).map_err(WorkspaceError::io("read the kept copy", shown.clone()))?;
        if ContentHash::of(&bytes) != *hash {
            let damaged = io::Error::new(io::ErrorKind::InvalidData, "the kept copy is damaged");
            return Err(WorkspaceError::io("read", shown)(damaged));
        }
        Ok(bytes)
    }

    /// Makes everything that was put durable.
    pub(crate) fn sync(&self) -> Result<(), WorkspaceError> {
        let mut unsynced = self.unsynced.lock().unwrap_or_else(PoisonError::into_inner);
        let sync = |objects: &[PathBuf]| -> io::Result<()> {
            if objects.is_empty() {
                return Ok(());
            }
            self.disk.before("sync objects")?;
            #[cfg(target_os = "linux")]
            if objects.len() > SYNCED_ONE_BY_ONE {
                rustix::fs::syncfs(File::open(&self.folder)?)?;
                return Ok(());
            }
            let mut shelves = std::collections::BTreeSet::new();
            for object in objects {
                match File::open(object) {
                    // Forgotten again in the meantime.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    opened => opened?.sync_all()?,
                }
                shelves.extend(object.parent());
            }
            for shelf in shelves {
                File::open(shelf)?.sync_all()?;
            }
            File::open(&self.folder)?.sync_all()
        };
        sync(&unsynced).map_err(WorkspaceError::io(
            "sync",
            self.folder.display().to_string(),
        ))?;
        unsynced.clear();
        Ok(())
    }

    /// Removes what is in no set of the given hashes; returns how many went.
    pub(crate) fn keep_only(
        &self,
        wanted: &std::collections::HashSet<ContentHash>,
    ) -> io::Result<usize> {
        let mut removed = 0;
        for shelf in fs::read_dir(&self.folder)?.flatten() {
            let start = shelf.file_name().to_string_lossy().into_owned();
            for object in fs::read_dir(shelf.path())?.flatten() {
                let name = format!("{start}{}", object.file_name().to_string_lossy());
                if name.parse().is_ok_and(|hash| !wanted.contains(&hash)) {
                    fs::remove_file(object.path())?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }
}

pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Writes a small file of our own as one step, durably.
pub(crate) fn write_record(disk: &Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let temp = folder.join(format!(".{}.tmp", uuid::Uuid::new_v4().simple()));
    disk.before("create record")?;
    let mut file = private(&temp)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| disk.before("sync record"))
        .and_then(|()| file.sync_all())
        .and_then(|()| disk.before("rename record"))
        .and_then(|()| fs::rename(&temp, path));
    if written.is_err() {
        let _ = fs::remove_file(&temp);
        return written;
    }
    File::open(folder)?.sync_all()
}
