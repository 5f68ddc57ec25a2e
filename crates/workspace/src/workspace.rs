//! The open folder: its roots, its policies, and the one gate that every path passes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::AtFlags;

use crate::disk::Disk;
use crate::nearest::nearest_names;
use crate::overlay::{NoBuffers, OpenBuffers};
use crate::root::{Follow, Found, Place, Root};
use crate::{RelPath, SecretPolicy, Trash, WorkspaceError};

/// What is done with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// A folder, or several, that models may work in.
///
/// With one root, paths are relative to it. With several, the first name of a path is the root's own.
pub struct Workspace {
    roots: Vec<(String, Root)>,
    secrets: SecretPolicy,
    buffers: Arc<dyn OpenBuffers>,
    pub(crate) trash: Trash,
    pub(crate) disk: Disk,
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace")
            .field("roots", &self.roots)
            .finish_non_exhaustive()
    }
}

/// A path that passed the gate.
#[derive(Debug)]
pub(crate) struct Located<'a> {
    /// As given, cleaned.
    pub(crate) path: RelPath,
    pub(crate) place: Place,
    /// Under which buffers know the file: the real path, with the root's name if there are several.
    pub(crate) real: RelPath,
    pub(crate) root: &'a Root,
}

impl Workspace {
    /// Opens the folders, with the default policy, no open buffers and the user's own trash.
    ///
    /// # Errors
    /// There is no folder, one can't be opened, one is inside another, or two have the same name.
    pub fn open<P: AsRef<Path>>(folders: &[P]) -> Result<Self, WorkspaceError> {
        let mut roots: Vec<(String, Root)> = Vec::new();
        for folder in folders {
            let root = Root::open(folder.as_ref())?;
            let shown = root.real().display().to_string();
            let name = root.real().file_name().and_then(|name| name.to_str());
            let name = name.unwrap_or("root").to_owned();
            let clash = roots.iter().any(|(other, at)| {
                *other == name
                    || at.real().starts_with(root.real())
                    || root.real().starts_with(at.real())
            });
            if clash {
                let why = "a folder of the workspace is inside another, or has the name of another";
                return Err(WorkspaceError::input(why, shown));
            }
            roots.push((name, root));
        }
        if roots.is_empty() {
            return Err(WorkspaceError::input("a workspace needs a folder", ""));
        }
        Ok(Self {
            roots,
            secrets: SecretPolicy::default(),
            buffers: Arc::new(NoBuffers),
            trash: Trash::of_user(),
            disk: Disk::default(),
        })
    }

    /// With another policy for secrets.
    #[must_use]
    pub fn with_secrets(mut self, secrets: SecretPolicy) -> Self {
        self.secrets = secrets;
        self
    }

    /// With the open buffers of an editor.
    #[must_use]
    pub fn with_buffers(mut self, buffers: Arc<dyn OpenBuffers>) -> Self {
        self.buffers = buffers;
        self
    }

    /// With another place for what is deleted.
    #[must_use]
    pub fn with_trash(mut self, trash: Trash) -> Self {
        self.trash = trash;
        self
    }

    /// With a disk that a test may let fail.
    #[doc(hidden)]
    #[must_use]
    pub fn with_disk(mut self, disk: Disk) -> Self {
        self.disk = disk;
        self
    }

    /// The policy for secrets.
    pub fn secrets(&self) -> &SecretPolicy {
        &self.secrets
    }

    pub(crate) fn buffers(&self) -> &dyn OpenBuffers {
        &*self.buffers
    }

    /// The real paths of the folders.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.roots
            .iter()
            .map(|(_, root)| root.real().to_owned())
            .collect()
    }

    /// Each root with the path under which it appears: `.`, or its name if there are several.
    pub(crate) fn roots(&self) -> impl Iterator<Item = (RelPath, &Root)> {
        let several = self.roots.len() > 1;
        self.roots.iter().map(move |(name, root)| {
            let at = several.then(|| RelPath::from_names([name.as_str()]));
            (at.unwrap_or_default(), root)
        })
    }

    /// The root of a path, and the rest of the path; none for the top of a workspace of several folders.
    pub(crate) fn split(
        &self,
        path: &RelPath,
    ) -> Result<Option<(RelPath, &Root, RelPath)>, WorkspaceError> {
        if self.roots.len() == 1 {
            return Ok(Some((RelPath::root(), &self.roots[0].1, path.clone())));
        }
        let mut names = path.names();
        let Some(first) = names.next() else {
            return Ok(None);
        };
        let Some((name, root)) = self.roots.iter().find(|(name, _)| name == first) else {
            let nearest = self.roots.iter().map(|(name, _)| name.clone()).collect();
            return Err(WorkspaceError::NotFound {
                path: path.to_string(),
                nearest,
            });
        };
        let prefix = RelPath::from_names([name.as_str()]);
        Ok(Some((prefix, root, RelPath::from_names(names))))
    }

    /// The gate: from a path as given to a handle on the place, or the reason why not.
    pub(crate) fn locate(
        &self,
        given: &str,
        access: Access,
        follow: Follow,
    ) -> Result<Located<'_>, WorkspaceError> {
        let path = RelPath::parse(given)?;
        self.refuse_secret(&path, &path)?;
        if access == Access::Write {
            refuse_protected(&path, &path)?;
        }
        let Some((prefix, root, inside)) = self.split(&path)? else {
            let why = "name one of the folders of the workspace first";
            return Err(WorkspaceError::input(why, given));
        };
        let place = root.walk(&inside, follow)?;
        let real = prefix
            .names()
            .chain(place.real.names())
            .fold(RelPath::root(), |path, name| path.join(name));
        if place.through_link {
            self.refuse_secret(&real, &path)?;
        }
        if access == Access::Write {
            refuse_protected(&real, &path)?;
            self.refuse_bare_repository(root, &place, &path)?;
        }
        Ok(Located {
            path,
            place,
            real,
            root,
        })
    }

    /// As [`Workspace::locate`], for something that must be there.
    pub(crate) fn locate_existing(
        &self,
        given: &str,
        access: Access,
        follow: Follow,
    ) -> Result<Located<'_>, WorkspaceError> {
        let located = self.locate(given, access, follow)?;
        if matches!(located.place.found, Found::Missing) {
            return Err(self.not_found(&located));
        }
        Ok(located)
    }

    pub(crate) fn not_found(&self, located: &Located<'_>) -> WorkspaceError {
        let above = located.path.parent().unwrap_or_default();
        let beside = names_in(&located.place.dir);
        let visible = beside
            .iter()
            .filter(|name| self.secrets.rule_for(&above.join(name)).is_none());
        let near = if located.place.below.is_empty() {
            nearest_names(&located.place.name, visible.map(String::as_str), 3)
        } else {
            Vec::new()
        };
        WorkspaceError::NotFound {
            path: located.path.to_string(),
            nearest: near
                .into_iter()
                .map(|name| above.join(&name).to_string())
                .collect(),
        }
    }

    fn refuse_secret(&self, looked_at: &RelPath, given: &RelPath) -> Result<(), WorkspaceError> {
        match self.secrets.rule_for(looked_at) {
            Some(rule) => Err(WorkspaceError::Secret {
                rule: rule.into(),
                path: given.to_string(),
            }),
            None => Ok(()),
        }
    }

    /// A folder with a repository's own files in it may have any name: worktrees and bare repositories.
    fn refuse_bare_repository(
        &self,
        root: &Root,
        place: &Place,
        given: &RelPath,
    ) -> Result<(), WorkspaceError> {
        let names: Vec<&str> = place.real.names().collect();
        let mut above = RelPath::root();
        for name in names {
            let holds = |name: &str| {
                let path = above.join(name);
                rustix::fs::statat(root.dir(), path.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
            };
            if holds("HEAD") && holds("refs") && (holds("objects") || holds("commondir")) {
                return Err(protected(
                    "it belongs to a Git repository's own files",
                    given,
                ));
            }
            above = above.join(name);
        }
        Ok(())
    }
}

fn names_in(dir: &std::os::fd::OwnedFd) -> Vec<String> {
    let Ok(entries) = rustix::fs::Dir::read_from(dir) else {
        return Vec::new();
    };
    let names = entries.flatten().take(10_000);
    names
        .filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned))
        .collect()
}

/// Git's own files, and the program's settings, are written by no tool. Git takes other spellings for `.git` on
/// file systems that ignore case or shorten names.
fn refuse_protected(looked_at: &RelPath, given: &RelPath) -> Result<(), WorkspaceError> {
    for name in looked_at.names() {
        let plain: String = name
            .trim_end_matches(['.', ' '])
            .chars()
            .filter(|character| !is_ignored_by_hfs(*character))
            .collect::<String>()
            .to_lowercase();
        if plain == ".git" || plain == "git~1" {
            return Err(protected("`.git` is changed by Git alone", given));
        }
        if plain == ".folkmoot" {
            return Err(protected(
                "the settings of the program are the user's",
                given,
            ));
        }
    }
    Ok(())
}

/// Characters that HFS+ leaves out when it compares names: those that Git's `is_hfs_dotgit` skips.
fn is_ignored_by_hfs(character: char) -> bool {
    matches!(character, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

fn protected(why: &str, given: &RelPath) -> WorkspaceError {
    WorkspaceError::Protected {
        why: why.into(),
        path: given.to_string(),
    }
}
