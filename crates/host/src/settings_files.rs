//! Where settings lie, reading the layers, and being told when a file changes.

use std::path::{Path, PathBuf};

use notify::{RecursiveMode, Watcher};

use crate::client_state::read_small_file;
use crate::settings::{Layer, Settings, SettingsProblem, read_layer};

/// Where a project keeps what is Folkmoot's.
const PROJECT_FOLDER: &str = ".folkmoot";

/// The person's settings file under the data folder.
pub fn settings_path(home: &Path) -> PathBuf {
    home.join("settings.toml")
}

/// A project's settings file.
pub fn project_settings_path(folder: &Path) -> PathBuf {
    folder.join(PROJECT_FOLDER).join("settings.toml")
}

/// Reads defaults < user < project. `project` is the folder of a *trusted* project, or none.
pub fn load_settings(home: &Path, project: Option<&Path>) -> (Settings, Vec<SettingsProblem>) {
    let mut settings = Settings::default();
    let mut problems = Vec::new();
    let user = settings_path(home);
    let project = project.map(project_settings_path);
    let layers = [(Some(user), Layer::User), (project, Layer::Project)];
    for (path, layer) in layers
        .into_iter()
        .filter_map(|(path, layer)| Some((path?, layer)))
    {
        match read_small_file(&path) {
            Ok(text) => problems.extend(read_layer(&mut settings, &text, &path, layer)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => problems.push(SettingsProblem {
                message: format!("settings file could not be read: {error}; using the defaults"),
                path,
                line: None,
                is_fatal: true,
            }),
        }
    }
    (settings, problems)
}

/// Watches the folders that hold settings files, and the open folder for the coming of its own; `changed` is called,
/// from another thread, after anything in them named `settings.toml` or `.folkmoot` was touched. Dropping the result
/// ends the watch.
///
/// # Errors
/// When the system offers no watches; settings are then read at start only.
pub(crate) fn watch(
    home: &Path,
    project: Option<&Path>,
    changed: impl Fn() + Send + 'static,
) -> notify::Result<notify::RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        let is_settings = |path: &PathBuf| {
            let name = path.file_name();
            name.is_some_and(|name| name == "settings.toml" || name == PROJECT_FOLDER)
        };
        if !event.kind.is_access() && event.paths.iter().any(is_settings) {
            changed();
        }
    })?;
    watcher.watch(home, RecursiveMode::NonRecursive)?;
    if let Some(project) = project {
        watcher.watch(project, RecursiveMode::NonRecursive)?;
        let own = project.join(PROJECT_FOLDER);
        if own.is_dir() {
            watcher.watch(&own, RecursiveMode::NonRecursive)?;
        }
    }
    Ok(watcher)
}
