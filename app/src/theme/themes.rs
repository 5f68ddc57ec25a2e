//! Where tokens come from: the program itself, and in a debug build the theme files of the source tree, so that a
//! change of a colour is seen as soon as it is saved.

use super::{ThemeName, Tokens};

/// The themes, and whether one of them changed.
pub struct Themes {
    #[cfg(debug_assertions)]
    live: Option<live::LiveFiles>,
}

impl Themes {
    /// The program's own, whatever lies in the source tree.
    pub fn builtin() -> Self {
        Self {
            #[cfg(debug_assertions)]
            live: None,
        }
    }

    /// The program's own; a debug build follows the source tree's files and asks `ctx` for a frame when one changed.
    pub fn following(ctx: &egui::Context) -> Self {
        #[cfg(debug_assertions)]
        return Self {
            live: live::LiveFiles::watch(ctx, live::folder()),
        };
        #[cfg(not(debug_assertions))]
        {
            let _ = ctx;
            Self::builtin()
        }
    }

    /// The tokens of a theme as they are now.
    pub fn tokens(&self, name: ThemeName) -> Tokens {
        #[cfg(debug_assertions)]
        if let Some(tokens) = self.live.as_ref().and_then(|live| live.tokens(name)) {
            return tokens;
        }
        Tokens::builtin(name)
    }

    /// Whether a theme file changed since this was asked last.
    pub fn take_changed(&self) -> bool {
        #[cfg(debug_assertions)]
        return self
            .live
            .as_ref()
            .is_some_and(live::LiveFiles::take_changed);
        #[cfg(not(debug_assertions))]
        false
    }
}

#[cfg(debug_assertions)]
mod live {
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use notify::Watcher as _;

    use crate::theme::{ThemeName, Tokens};

    /// The theme files of the source tree that this program was built from.
    pub(super) fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/themes")
    }

    pub(super) struct LiveFiles {
        folder: PathBuf,
        changed: Arc<AtomicBool>,
        _watcher: notify::RecommendedWatcher,
    }

    impl LiveFiles {
        /// `None` where the source tree is gone or can't be watched.
        pub(super) fn watch(ctx: &egui::Context, folder: PathBuf) -> Option<Self> {
            let changed = Arc::new(AtomicBool::new(false));
            let (flag, ctx) = (changed.clone(), ctx.clone());
            let touched = move |event: notify::Result<notify::Event>| {
                if event.is_ok_and(|event| !event.kind.is_access()) {
                    flag.store(true, Ordering::Relaxed);
                    ctx.request_repaint();
                }
            };
            let mut watcher = notify::recommended_watcher(touched).ok()?;
            watcher
                .watch(&folder, notify::RecursiveMode::NonRecursive)
                .ok()?;
            Some(Self {
                folder,
                changed,
                _watcher: watcher,
            })
        }

        /// The theme as its file has it; `None`, and a word in the log, while that can't be read.
        pub(super) fn tokens(&self, name: ThemeName) -> Option<Tokens> {
            let read = |file: &str| {
                let path = self.folder.join(file);
                std::fs::read_to_string(&path)
                    .map_err(|error| log::warn!("{error}: {}", path.display()))
                    .ok()
            };
            let theme = read(&format!("{}.toml", name.file_stem()))?;
            let metrics = read("metrics.toml")?;
            Tokens::from_toml(&theme, &metrics)
                .map_err(|error| log::warn!("{error}: {}", self.folder.display()))
                .ok()
        }

        pub(super) fn take_changed(&self) -> bool {
            self.changed.swap(false, Ordering::Relaxed)
        }
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_saved_theme_file_is_followed_and_a_broken_one_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(live::folder()).unwrap() {
            let from = file.unwrap().path();
            std::fs::copy(&from, folder.path().join(from.file_name().unwrap())).unwrap();
        }
        let ctx = egui::Context::default();
        let themes = Themes {
            live: live::LiveFiles::watch(&ctx, folder.path().to_owned()),
        };
        let before = themes.tokens(ThemeName::Dark);
        assert_eq!(before.accent, Tokens::builtin(ThemeName::Dark).accent);
        let path = folder.path().join("dark.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        let line = text.lines().find(|l| l.starts_with("accent")).unwrap();
        std::fs::write(&path, text.replace(line, "accent = \"#112233\"")).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while !themes.take_changed() {
            assert!(Instant::now() < deadline, "the change is not noticed");
            std::thread::sleep(Duration::from_millis(5));
        }
        let accent = egui::Color32::from_rgb(0x11, 0x22, 0x33);
        assert_eq!(themes.tokens(ThemeName::Dark).accent, accent);
        std::fs::write(&path, "accent = 7").unwrap();
        let fallback = themes.tokens(ThemeName::Dark).accent;
        assert_eq!(fallback, before.accent);
    }
}
