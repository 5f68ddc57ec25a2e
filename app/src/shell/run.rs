//! What each command does.

use host::Intent;
use host::settings::SettingsEdit;
use transcript::{Role, Status, ThreadId};

use super::command::{COMMANDS, Command};
use super::dialogs::DialogPurpose;
use super::parts::focus_next;
use super::picker::{Choice, Item, Picker};
use super::{Pane, Shell};
use crate::chat::thread_panel;

/// Zoom steps, as factors.
const ZOOM_STEP: f32 = 1.1;

impl Shell {
    /// Does what a command says.
    pub(super) fn run(&mut self, ctx: &egui::Context, command: Command) {
        match command {
            Command::OpenPalette => self.picker = Some(self.command_picker()),
            Command::SwitchThread => self.picker = Some(self.thread_picker()),
            Command::OpenOutline => self.picker = self.model.thread.as_ref().map(Picker::outline),
            Command::OpenLink => self.picker = self.model.thread.as_ref().map(Picker::links),
            Command::ChooseTarget => self.picker = Some(self.target_picker()),
            Command::NewThread => {
                self.show_pane(Pane::Thread);
                self.send(Intent::NewThread);
                self.chat.focus_composer();
            }
            Command::OpenFolder => self.open_dialog(ctx, DialogPurpose::OpenFolder),
            Command::AttachFile => self.open_dialog(ctx, DialogPurpose::Attach),
            Command::ToggleSidePanel => {
                self.window.shows_side_panel = !self.window.shows_side_panel;
            }
            Command::ShowThreads => {
                self.window.shows_side_panel = true;
                ctx.memory_mut(|m| m.request_focus(thread_panel::filter_id()));
            }
            Command::OpenSettings => self.show_pane(Pane::Settings),
            Command::ShowGraph => self.show_pane(Pane::Graph),
            Command::OpenSettingsFile => self.open_settings_file(ctx),
            Command::ShowNotices => self.notices.is_open = true,
            Command::CheckEndpoints => self.send(Intent::CheckEndpoints(None)),
            Command::TogglePerformance => self.performance.is_open = !self.performance.is_open,
            Command::ThemeLight => self.set_theme("light"),
            Command::ThemeDark => self.set_theme("dark"),
            Command::ThemeSystem => self.set_theme("system"),
            Command::ThemeHighContrast => {
                let is_light = self.tokens.mode == crate::theme::Mode::Light;
                self.set_theme(if is_light {
                    "light-high-contrast"
                } else {
                    "dark-high-contrast"
                });
            }
            Command::ZoomIn => zoom(ctx, ctx.zoom_factor() * ZOOM_STEP),
            Command::ZoomOut => zoom(ctx, ctx.zoom_factor() / ZOOM_STEP),
            Command::ZoomReset => zoom(ctx, 1.0),
            Command::CloseTab => self.close_tab(),
            Command::Quit => ctx.send_viewport_cmd(egui::ViewportCommand::Close),
            Command::FocusNextPanel => focus_next(ctx, &self.parts, true),
            Command::FocusPreviousPanel => focus_next(ctx, &self.parts, false),
            Command::FocusComposer => {
                self.show_pane(Pane::Thread);
                self.chat.focus_composer();
            }
            Command::FocusThread => {
                self.show_pane(Pane::Thread);
                self.chat.focus_messages(ctx);
            }
            thread_command => self.run_on_thread(thread_command),
        }
    }

    /// Commands that concern the open thread.
    fn run_on_thread(&mut self, command: Command) {
        let Some(id) = self.model.thread_id().cloned() else {
            return;
        };
        match command {
            Command::Send => self.chat_send(),
            Command::Stop => self.send(Intent::Stop(id)),
            Command::RetryLast => self.retry_last(id),
            Command::EditLast => self.chat.edit_last(&self.model),
            Command::InspectLast => {
                if let Some(message) = self.last_reply().map(|m| m.id().clone()) {
                    self.send(Intent::Inspect {
                        thread: id,
                        message,
                    });
                }
            }
            Command::ShowLastReasoning => {
                if let Some(message) = self.last_reply().map(|m| m.id().clone()) {
                    self.send(Intent::ShowReasoning(id, message));
                }
            }
            Command::CopyLastReply => {
                self.clipboard = self
                    .last_reply()
                    .map(|message| message.content().to_owned());
            }
            Command::CopyThread => self.copy_thread(),
            Command::ForkThread => {
                let last_shared = self
                    .model
                    .thread
                    .as_ref()
                    .and_then(|t| t.messages.last())
                    .map(|m| m.seq());
                self.send(Intent::Fork {
                    thread: id,
                    last_shared,
                    resend: None,
                });
            }
            Command::RenameThread => self.begin_rename(id),
            Command::ArchiveThread => {
                let archived = self.model.threads.iter().any(|t| t.id == id && t.archived);
                self.send(Intent::Archive(id, !archived));
            }
            Command::DeleteThread => self.delete_thread(id),
            Command::FindInThread => self.chat.open_find(),
            Command::FindNext => self.chat.step_find(true),
            Command::FindPrevious => self.chat.step_find(false),
            Command::JumpToLatest => self.chat.jump_to_latest(),
            Command::AttachSelection => self.chat.attach_selection(),
            Command::ToggleBonfire => self.chat.toggle_bonfire(),
            _ => {}
        }
    }

    fn chat_send(&mut self) {
        if let Some(intent) = self.chat.send_intent(&self.model) {
            self.send(intent);
        }
    }

    fn retry_last(&mut self, thread: ThreadId) {
        let messages = self
            .model
            .thread
            .as_ref()
            .map(|t| t.messages.as_slice())
            .unwrap_or_default();
        let failed = messages.iter().rev().find(|m| {
            m.role() == Role::Assistant && matches!(m.status(), Status::Error | Status::Cancelled)
        });
        if let Some(message) = failed.map(|m| m.id().clone()) {
            self.send(Intent::Retry(thread, message));
        }
    }

    fn last_reply(&self) -> Option<&transcript::Message> {
        let messages = self.model.thread.as_ref()?.messages.iter().rev();
        messages
            .map(|m| &**m)
            .find(|m| m.role() == Role::Assistant && m.status() != Status::Deleted)
    }

    fn copy_thread(&mut self) {
        let Some(thread) = &self.model.thread else {
            return;
        };
        let name = |view: &host::SeatView| (view.seat.id.clone(), view.seat.display_name.clone());
        let names = self.model.seats.iter().map(name).collect();
        let mut bytes = Vec::new();
        let written =
            transcript::export_markdown(&thread.title, &thread.messages, &names, &mut bytes);
        match written {
            Ok(()) => self.clipboard = Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) => self
                .chat
                .warn(format!("The thread was not copied: {error}.")),
        }
    }

    pub(super) fn delete_thread(&mut self, thread: ThreadId) {
        let title = self
            .model
            .threads
            .iter()
            .find(|t| t.id == thread)
            .map(|t| t.title.clone());
        self.send(Intent::DeleteThread(thread.clone()));
        self.chat
            .offer_restore(thread, title.as_deref().unwrap_or_default());
    }

    fn set_theme(&mut self, theme: &str) {
        self.send(Intent::EditSettings(SettingsEdit::Theme(theme.to_owned())));
    }

    fn open_settings_file(&mut self, ctx: &egui::Context) {
        let path = self.model.settings_path.clone();
        if !path.exists()
            && let Err(error) = host::write_atomically(
                &path,
                b"# Folkmoot settings. See the README for all keys.\n",
            )
        {
            self.chat.warn(format!(
                "The settings file could not be made: {error} ({})",
                path.display()
            ));
            return;
        }
        ctx.open_url(egui::OpenUrl::new_tab(format!("file://{}", path.display())));
    }

    /// Closes the tab that is shown; the thread stays.
    fn close_tab(&mut self) {
        let active = self.tiles.active_tiles();
        let shown = [Pane::Settings, Pane::Graph].into_iter().find_map(|pane| {
            let tile = self.tiles.tiles.find_pane(&pane)?;
            active.contains(&tile).then_some(tile)
        });
        if let Some(tile) = shown {
            self.tiles.remove_recursively(tile);
            self.show_pane(Pane::Thread);
        }
    }

    fn command_picker(&self) -> Picker {
        let items = COMMANDS
            .iter()
            .map(|info| Item {
                choice: Choice::Command(info.command),
                label: info.title.to_owned(),
                detail: self.keymap.label(info.command).unwrap_or_default(),
            })
            .collect();
        Picker::new("Command palette", "Type a command", items)
    }

    fn thread_picker(&self) -> Picker {
        let items = self
            .model
            .threads
            .iter()
            .map(|thread| Item {
                choice: Choice::Thread(thread.id.clone()),
                label: if thread.title.is_empty() {
                    "New thread".to_owned()
                } else {
                    thread.title.clone()
                },
                detail: thread
                    .updated_at
                    .to_string()
                    .get(..10)
                    .unwrap_or_default()
                    .to_owned(),
            })
            .collect();
        Picker::new("Threads", "Switch to a thread", items)
    }

    fn target_picker(&self) -> Picker {
        let mut items = vec![Item {
            choice: Choice::Target(None),
            label: "Whoever was addressed last".to_owned(),
            detail: String::new(),
        }];
        items.extend(
            self.model
                .seats
                .iter()
                .filter(|view| view.seat.enabled)
                .map(|view| Item {
                    choice: Choice::Target(Some(view.seat.id.clone())),
                    label: view.seat.display_name.clone(),
                    detail: view.seat.model.clone(),
                }),
        );
        Picker::new(
            "Speaking to",
            "Who answers messages without a mention",
            items,
        )
    }

    pub(super) fn choose(&mut self, ctx: &egui::Context, choice: Choice) {
        match choice {
            Choice::Command(command) => self.run(ctx, command),
            Choice::Thread(thread) => {
                self.show_pane(Pane::Thread);
                self.send(Intent::SwitchThread(thread));
            }
            Choice::Link(url) => ctx.open_url(egui::OpenUrl::new_tab(url)),
            Choice::Message(message) => self.chat.jump_to_message(&message),
            Choice::Target(seat) => {
                if let Some(thread) = self.model.thread_id().cloned() {
                    self.send(Intent::SetDefaultTarget { thread, seat });
                }
            }
        }
    }
}

fn zoom(ctx: &egui::Context, factor: f32) {
    ctx.set_zoom_factor(factor.clamp(0.5, 3.0));
}
