//! Dialogs: a thread's name, and files and folders chosen through the system.

use std::path::PathBuf;

use host::Intent;

use super::Shell;

/// The dialog that names a thread.
pub(super) struct Renaming {
    thread: transcript::ThreadId,
    title: String,
    is_new: bool,
}

/// A file dialog of the system, open on a thread of its own.
pub(super) struct FileDialog {
    purpose: DialogPurpose,
    answer: std::sync::mpsc::Receiver<Option<PathBuf>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DialogPurpose {
    OpenFolder,
    Attach,
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
            answer: asked,
        });
    }

    pub(super) fn take_dialog_answer(&mut self) {
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
            Ok(None) | Err(std::sync::mpsc::TryRecvError::Disconnected) => {}
        }
        self.folder_dialog = None;
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
