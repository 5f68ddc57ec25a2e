//! Settings and the open folder: read, watched, edited.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use models::Client;

use super::{Core, Inbound, timeouts};
use crate::client_state::{read_small_file, write_atomically};
use crate::protocol::{Event, Severity};
use crate::seats;
use crate::settings::{SettingsEdit, apply_edit};
use crate::settings_files::{load_settings, project_settings_path, settings_path, watch};

impl Core {
    pub(super) fn watch_settings(&mut self) {
        let core = self.inbox.clone();
        let changed = move || {
            // A full inbox has a touch waiting already, or is about to be read anyway.
            let _full = core.try_send(Inbound::SettingsTouched);
        };
        self.watcher = match watch(&self.home, self.folder.as_deref(), changed) {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                log::warn!(
                    "settings are read at the start only, as they can't be watched: {error}"
                );
                None
            }
        };
    }

    /// Reads the settings again and follows what changed.
    pub(super) async fn reload_settings(&mut self) {
        // The project's folder of settings may have come or gone.
        let asks_trust = self.folder_asks_trust();
        if std::mem::replace(&mut self.asked_trust, asks_trust) != asks_trust {
            self.publish(&Event::Folder(self.folder.clone(), asks_trust));
        }
        let project = self.folder.as_deref().map(project_settings_path);
        let has_settings = project.is_some_and(|path| path.parent().is_some_and(Path::is_dir));
        if std::mem::replace(&mut self.watches_project, has_settings) != has_settings {
            self.watch_settings();
        }
        let (settings, problems) = load_settings(&self.home, self.trusted_folder());
        if settings == *self.settings && problems == self.settings_problems {
            return;
        }
        if problems.iter().any(|problem| problem.is_fatal) {
            // Someone is in the middle of an edit: what was in force stays so until the file can be read again.
            self.settings_problems = problems;
            self.publish_settings();
            return;
        }
        let old = std::mem::replace(&mut self.settings, Arc::new(settings));
        self.settings_problems = problems;
        let times_changed = old.first_byte_timeout != self.settings.first_byte_timeout
            || old.stall_timeout != self.settings.stall_timeout;
        if times_changed {
            match Client::new(timeouts(&self.settings)) {
                Ok(client) => self.client = client,
                Err(error) => drop(self.notice(Severity::Error, error.to_string(), false)),
            }
        }
        self.publish_settings();
        let endpoints_changed = old.sidecar != self.settings.sidecar
            || old.endpoints != self.settings.endpoints
            || old.subscriptions_only != self.settings.subscriptions_only;
        let misses_demo = self.demo.is_none() && seats::needs_demo(&self.settings, &self.endpoints);
        if endpoints_changed
            || misses_demo
            || old.participants.is_empty() != self.settings.participants.is_empty()
        {
            self.load_keys().await;
            self.configure_endpoints().await;
        } else {
            self.resolve_seats();
        }
    }

    fn publish_settings(&mut self) {
        let event = Event::Settings(Arc::clone(&self.settings), self.settings_problems.clone());
        self.publish(&event);
    }

    /// Changes the person's settings file and reads it again at once.
    pub(super) async fn edit_settings(&mut self, edit: &SettingsEdit) {
        let path = settings_path(&self.home);
        let edited = match read_small_file(&path) {
            Ok(text) => apply_edit(&text, edit).map_err(|e| e.to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                apply_edit("", edit).map_err(|e| e.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        let written = edited
            .and_then(|text| write_atomically(&path, text.as_bytes()).map_err(|e| e.to_string()));
        if let Err(error) = written {
            let text = format!(
                "The settings were not changed: {error} ({})",
                path.display()
            );
            self.notice(Severity::Error, text, false);
        } else if let SettingsEdit::RemoveEndpoint(id) = edit {
            self.change_key(id, None).await;
        }
        self.reload_settings().await;
    }

    pub(super) async fn open_folder(&mut self, folder: Option<PathBuf>) {
        self.folder = folder;
        self.publish(&Event::Folder(
            self.folder.clone(),
            self.folder_asks_trust(),
        ));
        if self.graph.is_some() {
            self.open_graph();
        }
        self.watch_settings();
        self.reload_settings().await;
        if self.demo.is_some() {
            // The demo table speaks about the open folder.
            self.configure_endpoints().await;
        }
    }

    pub(super) async fn trust_folder(&mut self, folder: PathBuf) {
        let real = std::fs::canonicalize(&folder).unwrap_or(folder);
        if !self.state.trusted_folders.contains(&real) {
            self.state.trusted_folders.push(real);
            self.state_changed();
        }
        self.publish(&Event::Folder(
            self.folder.clone(),
            self.folder_asks_trust(),
        ));
        self.watch_settings();
        self.reload_settings().await;
    }
}
