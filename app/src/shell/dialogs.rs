//! Dialogs: a thread's name, and files and folders chosen through the system.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use host::Intent;

use super::Shell;
use crate::graph::ExportedFile;

/// A person takes longer than this to close a dialog; what comes back sooner was never seen.
const FASTEST_CANCEL: Duration = Duration::from_millis(250);

/// The dialog that names a thread.
pub(super) struct Renaming {
    thread: transcript::ThreadId,
    title: String,
    is_new: bool,
}

/// A file dialog of the system, open on a thread of its own.
pub(super) struct FileDialog {
    purpose: DialogPurpose,
    asked_at: Instant,
    answer: std::sync::mpsc::Receiver<Option<PathBuf>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DialogPurpose {
    OpenFolder,
    Attach,
}

/// A picture on its way to the disk; what became of it.
pub(super) struct Saving {
    outcome: std::sync::mpsc::Receiver<String>,
}

impl Shell {
    pub(super) fn begin_rename(&mut self, thread: transcript::ThreadId) {
        let listed = self.model.threads.iter().find(|t| t.id == thread);
        let title = listed.map(|t| t.title.clone()).unwrap_or_default();
        self.renaming = Some(Renaming {
            thread,
            title,
            is_new: true,
        });
    }

    pub(super) fn rename_ui(&mut self, ctx: &egui::Context) {
        let Some(renaming) = &mut self.renaming else {
            return;
        };
        let mut done = false;
        let mut save = false;
        let modal = egui::Modal::new(egui::Id::unique("rename")).show(ctx, |ui| {
            ui.set_width(360.0);
            ui.heading("Rename the thread");
            let field = ui.add(
                crate::widgets::text_field::text_field(&mut renaming.title)
                    .desired_width(f32::INFINITY),
            );
            field.widget_info(|| {
                egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Thread title")
            });
            if std::mem::take(&mut renaming.is_new) {
                field.request_focus();
            }
            save = field.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
            ui.horizontal(|ui| {
                save |= ui.button("Rename").clicked();
                done |= ui.button("Cancel").clicked();
            });
        });
        done |= modal.should_close();
        if save {
            let (thread, title) = (renaming.thread.clone(), renaming.title.clone());
            self.renaming = None;
            self.send(Intent::Rename(thread, title));
        } else if done {
            self.renaming = None;
        }
    }

    /// Asks the system for a file or folder; the answer arrives later.
    pub(super) fn open_dialog(&mut self, ctx: &egui::Context, purpose: DialogPurpose) {
        let (answer, asked) = std::sync::mpsc::channel();
        let folder = self.model.folder.clone();
        let ctx = ctx.clone();
        std::thread::spawn(move || {
            let mut dialog = rfd::FileDialog::new();
            if let Some(folder) = folder {
                dialog = dialog.set_directory(folder);
            }
            let chosen = match purpose {
                DialogPurpose::OpenFolder => dialog.set_title("Open folder").pick_folder(),
                DialogPurpose::Attach => dialog.set_title("Attach a file").pick_file(),
            };
            // The window may be gone by now.
            let _gone = answer.send(chosen);
            ctx.request_repaint();
        });
        self.folder_dialog = Some(FileDialog {
            purpose,
            asked_at: Instant::now(),
            answer: asked,
        });
    }

    pub(super) fn take_dialog_answer(&mut self) {
        self.take_saving();
        let Some(dialog) = &self.folder_dialog else {
            return;
        };
        let purpose = dialog.purpose;
        match dialog.answer.try_recv() {
            Err(std::sync::mpsc::TryRecvError::Empty) => return,
            Ok(Some(path)) if purpose == DialogPurpose::OpenFolder => {
                self.send(Intent::OpenFolder(Some(path)));
            }
            Ok(Some(path)) => self.attach(path),
            Ok(None) | Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                if dialog.asked_at.elapsed() < FASTEST_CANCEL {
                    let text = "The system opened no file dialog; drop the file or folder onto the window instead.";
                    self.chat.warn(text.to_owned());
                }
            }
        }
        self.folder_dialog = None;
    }

    /// Asks where a picture is to be saved, and saves it, on a thread of its own.
    pub(super) fn save_file(&mut self, ctx: &egui::Context, file: ExportedFile) {
        let (outcome, waited_for) = std::sync::mpsc::channel();
        let ctx = ctx.clone();
        let folder = self.model.folder.clone();
        std::thread::spawn(move || {
            let asked_at = Instant::now();
            let mut dialog = rfd::FileDialog::new().set_title("Save the picture");
            if let Some(folder) = folder {
                dialog = dialog.set_directory(folder);
            }
            let text = match dialog.set_file_name(file.name).save_file() {
                Some(path) => match host::write_atomically(&path, &file.bytes) {
                    Ok(()) => format!("The picture is saved ({}).", path.display()),
                    Err(error) => {
                        format!("The picture was not saved: {error} ({})", path.display())
                    }
                },
                None if asked_at.elapsed() < FASTEST_CANCEL => {
                    "The system opened no file dialog, so the picture was not saved.".to_owned()
                }
                None => return,
            };
            // The window may be gone by now.
            let _gone = outcome.send(text);
            ctx.request_repaint();
        });
        self.saving = Some(Saving {
            outcome: waited_for,
        });
    }

    fn take_saving(&mut self) {
        if let Some(text) = self.saving.as_ref().and_then(|s| s.outcome.try_recv().ok()) {
            self.saving = None;
            self.chat.warn(text);
        }
    }

    /// Opens a file of the folder with the program that the system has for it.
    pub(super) fn open_file(&mut self, ctx: &egui::Context, path: &str) {
        let Some(folder) = &self.model.folder else {
            return;
        };
        match url::Url::from_file_path(folder.join(path)) {
            Ok(url) => ctx.open_url(egui::OpenUrl::new_tab(url)),
            Err(()) => self
                .chat
                .warn(format!("That file can't be opened ({path}).")),
        }
    }

    pub(super) fn attach(&mut self, path: PathBuf) {
        if let Some(thread) = self.model.thread_id().cloned() {
            self.send(Intent::Attach {
                thread,
                path,
                range: None,
            });
        }
    }

    pub(super) fn take_dropped_files(&mut self, ctx: &egui::Context) {
        let dropped = ctx.input(|i| i.raw.dropped_files.clone());
        for path in dropped.iter().map(|file| file.path().to_owned()) {
            if path.is_dir() {
                self.send(Intent::OpenFolder(Some(path)));
            } else {
                self.attach(path);
            }
        }
    }
}
