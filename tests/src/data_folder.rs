//! A data folder of a test's own, with settings that point at a scripted server.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::ModelServer;

/// A temporary `FOLKMOOT_HOME`, gone with its last use.
#[derive(Debug)]
pub struct DataFolder {
    folder: TempDir,
}

impl DataFolder {
    /// Without settings, except that the subscription proxy is looked for where nobody listens.
    pub fn new() -> Self {
        let home = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        home.write_settings("");
        home
    }

    /// With the seats `ann` (Ann, `model-a`) and `bob` (Bob, `model-b`) at a scripted server.
    pub fn for_server(server: &ModelServer) -> Self {
        Self::for_url(&server.base_url(), "")
    }

    /// As [`Self::for_server`], at any URL and with more settings, which must be whole tables.
    pub fn for_url(url: &str, more: &str) -> Self {
        let home = Self::new();
        home.write_settings(&format!(
            "[[endpoints]]\nid = \"script\"\nurl = \"{url}\"\n\
             [[participants]]\nid = \"ann\"\ndisplay_name = \"Ann\"\nendpoint = \"script\"\nmodel = \"model-a\"\n\
             [[participants]]\nid = \"bob\"\ndisplay_name = \"Bob\"\nendpoint = \"script\"\nmodel = \"model-b\"\n\
             {more}\n"
        ));
        home
    }

    /// Replaces the settings; the table `[sidecar]` is written already.
    pub fn write_settings(&self, text: &str) {
        let text = format!("[sidecar]\nexternal_url = \"http://127.0.0.1:9\"\n{text}");
        std::fs::write(self.settings_path(), text).expect("the settings can be written");
    }

    /// The settings file.
    pub fn settings_path(&self) -> PathBuf {
        self.path().join("settings.toml")
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The file of a thread.
    pub fn thread_path(&self, id: &str) -> PathBuf {
        self.path().join("threads").join(format!("{id}.json"))
    }

    /// Every file in the folder and the folders below it.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)
                .expect("the folder can be listed")
                .flatten()
            {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push(path);
                }
            }
        }
        found
    }
}

impl Default for DataFolder {
    fn default() -> Self {
        Self::new()
    }
}
