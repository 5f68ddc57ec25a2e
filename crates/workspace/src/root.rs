//! A folder held open, and the way to things inside it that can't lead out.
//!
//! A path is walked name by name from the folder's own handle; each step opens relative to the handle before it and
//! follows no link by itself. Links are read and walked the same way, so where the walk ends is inside whatever
//! others do to the tree meanwhile, and its real path is known.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::{RelPath, WorkspaceError};

/// As many links as are followed in one path; the limit of Linux.
const MOST_LINKS: usize = 40;

/// A folder of the workspace.
#[derive(Debug)]
pub(crate) struct Root {
    real: PathBuf,
    dir: OwnedFd,
}

/// Whether the last name of a path is followed if it is a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    Whole,
    ButLast,
}

/// What stands at the end of a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found {
    Missing,
    File(Stat),
    Folder,
    /// Only where the last name isn't followed.
    Link,
    /// A device, a pipe, a socket.
    Other,
}

/// The end of a walk: a handle on the folder, the name in it, and what is there.
#[derive(Debug)]
pub(crate) struct Place {
    /// The folder that holds the thing, or the first that is missing.
    pub(crate) dir: OwnedFd,
    /// The name in that folder; `.` for the root itself.
    pub(crate) name: String,
    /// Names below `name` that are missing with it.
    pub(crate) below: Vec<String>,
    /// The path from the root without links.
    pub(crate) real: RelPath,
    pub(crate) found: Found,
    /// Whether a link was followed.
    pub(crate) through_link: bool,
}

/// A walk on its way: the folders that were entered, each with its name.
struct Walk<'a> {
    root: &'a Root,
    given: &'a RelPath,
    entered: Vec<(OwnedFd, String)>,
    todo: VecDeque<String>,
    links: usize,
}

impl Root {
    pub(crate) fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let shown = path.display().to_string();
        let real =
            std::fs::canonicalize(path).map_err(WorkspaceError::io("open", shown.clone()))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(&real, flags, Mode::empty())
            .map_err(WorkspaceError::os("open", shown))?;
        Ok(Self { real, dir })
    }

    pub(crate) fn real(&self) -> &Path {
        &self.real
    }

    pub(crate) fn dir(&self) -> &OwnedFd {
        &self.dir
    }

    /// Walks to the path.
    pub(crate) fn walk(&self, path: &RelPath, follow: Follow) -> Result<Place, WorkspaceError> {
        let walk = Walk {
            root: self,
            given: path,
            entered: Vec::new(),
            todo: path.names().map(str::to_owned).collect(),
            links: 0,
        };
        walk.run(follow)
    }

    /// Opens a regular file whose path is known to be free of links.
    pub(crate) fn open_plain(&self, path: &RelPath) -> Result<std::fs::File, WorkspaceError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            match rustix::fs::openat2(&self.dir, path.as_str(), flags, Mode::empty(), within) {
                Ok(file) => return Ok(file.into()),
                // A kernel before 5.6, or a filter that doesn't know the call.
                Err(Errno::NOSYS | Errno::PERM) => {}
                Err(errno) => return Err(WorkspaceError::os("open", path.as_str())(errno)),
            }
        }
        let place = self.walk(path, Follow::ButLast)?;
        let opened = rustix::fs::openat(&place.dir, &place.name, flags, Mode::empty());
        let opened = opened.map_err(WorkspaceError::os("open", path.as_str()))?;
        Ok(opened.into())
    }
}

impl Walk<'_> {
    fn run(mut self, follow: Follow) -> Result<Place, WorkspaceError> {
        while let Some(name) = self.todo.pop_front() {
            match name.as_str() {
                "" | "." => continue,
                ".." => {
                    if self.entered.pop().is_none() {
                        return Err(self.outside("a link in it leads out"));
                    }
                    continue;
                }
                _ => {}
            }
            let last = self.todo.iter().all(|name| name.is_empty() || name == ".");
            let found = match rustix::fs::statat(self.here(), &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => kind_of(stat),
                Err(Errno::NOENT) => return self.end(name, Found::Missing),
                Err(errno) => return Err(WorkspaceError::os("look at", self.given())(errno)),
            };
            match found {
                Found::Link if last && follow == Follow::ButLast => {
                    return self.end(name, found);
                }
                Found::Link => self.follow(&name)?,
                _ if last => return self.end(name, found),
                Found::Folder => self.enter(name)?,
                _ => {
                    let why = format!("`{name}` in this path is not a folder");
                    return Err(WorkspaceError::input(why, self.given()));
                }
            }
        }
        // Everything was walked into: the root itself, or a link that ended on `..`.
        let Some((_, name)) = self.entered.pop() else {
            return self.end(".".into(), Found::Folder);
        };
        let stat = rustix::fs::statat(self.here(), &name, AtFlags::SYMLINK_NOFOLLOW);
        let stat = stat.map_err(WorkspaceError::os("look at", self.given()))?;
        self.end(name, kind_of(stat))
    }

    fn given(&self) -> String {
        self.given.to_string()
    }

    fn here(&self) -> &OwnedFd {
        self.entered.last().map_or(&self.root.dir, |(dir, _)| dir)
    }

    fn outside(&self, why: &str) -> WorkspaceError {
        WorkspaceError::Outside {
            why: why.into(),
            path: self.given(),
        }
    }

    fn enter(&mut self, name: String) -> Result<(), WorkspaceError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(self.here(), &name, flags, Mode::empty()) {
            Ok(dir) => {
                self.entered.push((dir, name));
                Ok(())
            }
            Err(Errno::LOOP | Errno::NOTDIR) => {
                Err(self.outside("a link took the place of a folder while it was used"))
            }
            Err(errno) => Err(WorkspaceError::os("open", self.given())(errno)),
        }
    }

    fn follow(&mut self, name: &str) -> Result<(), WorkspaceError> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(WorkspaceError::input(
                "the links in this path go round in circles",
                self.given(),
            ));
        }
        let target = rustix::fs::readlinkat(self.here(), name, Vec::new())
            .map_err(WorkspaceError::os("read the link", self.given()))?;
        let Ok(target) = target.into_string() else {
            let why = "a link in it leads to a name that is not UTF-8";
            return Err(WorkspaceError::input(why, self.given()));
        };
        let mut inside = Path::new(&target);
        if inside.is_absolute() {
            // An absolute link may point back inside; that is walked from the root on.
            inside = match inside.strip_prefix(&self.root.real) {
                Ok(inside) => inside,
                Err(_) => return Err(self.outside("a link in it leads out")),
            };
            self.entered.clear();
        }
        let names: Vec<&str> = inside.to_str().unwrap_or_default().split('/').collect();
        for name in names.into_iter().rev() {
            self.todo.push_front(name.to_owned());
        }
        Ok(())
    }

    fn end(mut self, name: String, found: Found) -> Result<Place, WorkspaceError> {
        let below: Vec<String> = self
            .todo
            .into_iter()
            .filter(|name| !name.is_empty() && name != ".")
            .collect();
        if below.iter().any(|name| name == "..") {
            let why = "a link in it leads back out of a folder that is missing";
            return Err(WorkspaceError::input(why, self.given.to_string()));
        }
        let walked = self.entered.iter().map(|(_, name)| name.as_str());
        let own = Some(name.as_str()).filter(|name| *name != ".");
        let real = RelPath::from_names(walked.chain(own).chain(below.iter().map(String::as_str)));
        let dir = match self.entered.pop() {
            Some((dir, _)) => dir,
            None => rustix::io::fcntl_dupfd_cloexec(&self.root.dir, 0)
                .map_err(WorkspaceError::os("open", real.to_string()))?,
        };
        Ok(Place {
            dir,
            name,
            below,
            real,
            found,
            through_link: self.links > 0,
        })
    }
}

pub(crate) fn kind_of(stat: Stat) -> Found {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Found::File(stat),
        FileType::Directory => Found::Folder,
        FileType::Symlink => Found::Link,
        _ => Found::Other,
    }
}

impl Place {
    /// Makes the folders that are missing and steps into them; then `name` is all that may be missing.
    pub(crate) fn make_folders(mut self) -> Result<Self, WorkspaceError> {
        let shown = self.real.to_string();
        for next in std::mem::take(&mut self.below) {
            let missing = std::mem::replace(&mut self.name, next);
            match rustix::fs::mkdirat(&self.dir, &missing, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(WorkspaceError::os("make the folder", shown)(errno)),
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            self.dir = rustix::fs::openat(&self.dir, &missing, flags, Mode::empty())
                .map_err(WorkspaceError::os("open", shown.clone()))?;
        }
        Ok(self)
    }

    /// Makes the last folder of the path.
    pub(crate) fn make_last_folder(&self, shown: &str) -> Result<(), WorkspaceError> {
        rustix::fs::mkdirat(&self.dir, &self.name, Mode::from_raw_mode(0o777))
            .map_err(WorkspaceError::os("make the folder", shown))
    }

    /// Opens the folder that was found.
    pub(crate) fn open_folder(&self, shown: &str) -> Result<OwnedFd, WorkspaceError> {
        open_folder_at(&self.dir, self.name.as_str()).map_err(WorkspaceError::os("open", shown))
    }

    /// Opens the regular file that was found, and no other kind of thing that took its place.
    pub(crate) fn open_file(&self, shown: &str) -> Result<std::fs::File, WorkspaceError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.dir, &self.name, flags, Mode::empty());
        let file = match opened {
            Ok(file) => std::fs::File::from(file),
            Err(Errno::LOOP) => {
                return Err(WorkspaceError::Outside {
                    why: "a link took the place of the file while it was used".into(),
                    path: shown.into(),
                });
            }
            Err(errno) => return Err(WorkspaceError::os("open", shown)(errno)),
        };
        let about = file
            .metadata()
            .map_err(WorkspaceError::io("look at", shown))?;
        if !about.is_file() {
            return Err(not_a_file(shown));
        }
        Ok(file)
    }
}

pub(crate) fn not_a_file(shown: &str) -> WorkspaceError {
    WorkspaceError::input("not a regular file", shown)
}

/// Opens a folder, and nothing that a link leads to.
pub(crate) fn open_folder_at(
    dir: &OwnedFd,
    name: impl rustix::path::Arg,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty())
}
