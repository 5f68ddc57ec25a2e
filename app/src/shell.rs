//! The window: rail, side panel, tiles, status bar, overlays, and the commands that move them.

use std::collections::VecDeque;
use std::sync::Arc;

use egui::{Align, CentralPanel, Frame, Layout, Margin, Panel, Ui};
use host::{Events, Host, HostError, HostHandle, Intent, SendMessage};
use serde::{Deserialize, Serialize};

use crate::chat::thread_panel::{self, ThreadPanel, ThreadPanelAction};
use crate::chat::view::{ChatAction, ChatContext, ChatView};
use crate::graph::layout_card::LayoutCard;
use crate::graph::{GraphAction, GraphContext, GraphView};
use crate::settings::{SettingsContext, SettingsView};
use crate::theme::{ThemeName, Themes, Tokens};
use crate::widgets::icons::{self, icon_button};

mod banner;
mod caret;
pub mod command;
mod dialogs;
pub mod keymap;
pub mod model;
pub mod notices;
pub mod parts;
pub mod performance;
pub mod picker;
mod run;
mod start;
pub mod status_bar;
mod tiles;
pub mod window_state;

use caret::Caret;
use command::Command;
use dialogs::{FileDialog, Renaming, Saving};
use keymap::Keymap;
use model::{Change, Model};
use notices::Notices;
use parts::Part;
use performance::Performance;
use picker::{Picker, PickerOutcome};
pub use start::{StartOptions, run};
use status_bar::{StatusBar, StatusBarAction};
use tiles::{default_tiles, has_thread};
use window_state::WindowState;

/// Narrowest window that has room for a side panel beside a thread, in points.
const SIDE_PANEL_FROM: f32 = 640.0;
/// What a first run says to the demo table.
const GREETING: &str = "@all Hello! Who are you, and what lies in this folder?";
/// Events taken in at one frame; the rest waits for the next.
const EVENTS_PER_FRAME: usize = 4096;

/// What a tile shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pane {
    /// The open thread.
    Thread,
    /// The settings.
    Settings,
    /// The code graph.
    Graph,
}

/// The window.
pub struct Shell {
    host: Option<Host>,
    handle: HostHandle,
    /// What the host had no room for yet.
    unsent: VecDeque<Intent>,
    caret: Caret,
    saving: Option<Saving>,
    events: Events,
    model: Model,
    tokens: Arc<Tokens>,
    theme: ThemeName,
    themes: Themes,
    forced_theme: Option<ThemeName>,
    keymap: Keymap,
    keymap_problems: Vec<String>,
    window: WindowState,
    saved_window: WindowState,
    tiles: egui_tiles::Tree<Pane>,
    chat: ChatView,
    /// What the person wants in the thread, until the frame's tiles are drawn.
    chat_actions: Vec<ChatAction>,
    settings: SettingsView,
    graph: GraphView,
    target_format: Option<egui_wgpu::wgpu::TextureFormat>,
    layout_card: Option<Arc<LayoutCard>>,
    thread_panel: ThreadPanel,
    notices: Notices,
    picker: Option<Picker>,
    renaming: Option<Renaming>,
    performance: Performance,
    is_software_rendered: bool,
    has_warmed_fonts: bool,
    folder_dialog: Option<FileDialog>,
    /// What F6 goes through, in reading order, as of the last frame.
    parts: Vec<Part>,
    clipboard: Option<String>,
    /// Whether a first run has yet to be greeted by the demo table.
    greets: bool,
}

impl Shell {
    /// A window on a running host. `home` is the data folder, for the keymap.
    pub fn new(ctx: &egui::Context, host: Host, options: StartOptions) -> Self {
        let handle = host.handle();
        let waker = ctx.clone();
        let events = handle.subscribe(move || waker.request_repaint());
        let mut performance = Performance::new(options.started);
        performance.phase("window");
        ctx.set_fonts(options.fonts);
        ctx.options_mut(|o| o.zoom_with_keyboard = false);
        let (keymap, keymap_problems) = Keymap::load(&options.home);
        let theme = options.theme.unwrap_or(ThemeName::Dark);
        let tokens = Arc::new(Tokens::builtin(theme));
        crate::theme::apply(ctx, &tokens);
        performance.phase("style");
        let mut shell = Self {
            host: Some(host),
            handle,
            unsent: VecDeque::new(),
            caret: Caret::default(),
            saving: None,
            events,
            model: Model::default(),
            tokens,
            theme,
            themes: match options.theme {
                Some(_) => Themes::builtin(),
                None => Themes::following(ctx),
            },
            forced_theme: options.theme,
            keymap,
            keymap_problems,
            window: WindowState::default(),
            saved_window: WindowState::default(),
            tiles: default_tiles(),
            chat: ChatView::new(),
            chat_actions: Vec::new(),
            settings: SettingsView::default(),
            graph: GraphView::default(),
            target_format: options.target_format,
            layout_card: options.layout_card,
            thread_panel: ThreadPanel::default(),
            notices: Notices::default(),
            picker: None,
            renaming: None,
            performance,
            is_software_rendered: options.is_software_rendered,
            has_warmed_fonts: false,
            folder_dialog: None,
            parts: Vec::new(),
            clipboard: None,
            greets: options.greets,
        };
        shell.send(Intent::Ready);
        shell
    }

    /// The graph view, for tests.
    pub fn graph(&self) -> &GraphView {
        &self.graph
    }

    /// What the window shows, for tests.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Frames drawn so far, for tests and benches.
    pub fn frame_count(&self) -> u64 {
        self.performance.frame_count()
    }

    fn send(&mut self, intent: Intent) {
        self.unsent.push_back(intent);
        self.send_what_waits();
    }

    /// Hands the host what it has not taken yet, in order; what it has no room for waits until the next frame.
    fn send_what_waits(&mut self) {
        while let Some(intent) = self.unsent.pop_front() {
            let Err(refusal) = self.handle.offer(intent) else {
                continue;
            };
            match *refusal {
                (intent, HostError::Busy) => return self.unsent.push_front(intent),
                (intent, error) => {
                    if let Intent::Send(message) = intent {
                        self.chat.put_back_message(message);
                    }
                    self.chat.warn(format!("That could not be done: {error}."));
                }
            }
        }
    }

    /// Takes in what the host has published.
    fn take_events(&mut self, ctx: &egui::Context) {
        for event in self.events.drain(EVENTS_PER_FRAME) {
            if let Some(change) = self.model.apply(event) {
                self.take_change(ctx, change);
            }
        }
        self.send_what_waits();
        if !self.events.is_empty() || !self.unsent.is_empty() {
            ctx.request_repaint();
        }
        self.greet();
    }

    /// On a first run with nothing but the demo table, lets it show what a conversation looks like.
    fn greet(&mut self) {
        let model = &self.model;
        if !self.greets || !model.is_ready || model.seats.is_empty() {
            return;
        }
        self.greets = false;
        let is_first_run = model.threads.is_empty() && !model.folder_asks_trust;
        let is_demo = model.seats.iter().all(|view| view.demo_label.is_some());
        if let Some(thread) = model
            .thread_id()
            .filter(|_| is_first_run && is_demo)
            .cloned()
        {
            self.send(Intent::Send(SendMessage::chat(thread, GREETING)));
        }
    }

    fn take_change(&mut self, ctx: &egui::Context, change: Change) {
        match change {
            Change::Window(window) => {
                self.restore_window(ctx, &window);
                self.chat.show_thread(&self.model);
                self.chat.focus_composer();
                self.settings_changed(ctx);
                self.notices.update(&self.model.notices);
                for problem in std::mem::take(&mut self.keymap_problems) {
                    self.chat.warn(problem);
                }
                self.performance.phase("thread");
            }
            Change::Thread => self.chat.show_thread(&self.model),
            Change::Seats => self.chat.seats_changed(&self.model),
            Change::Settings => self.settings_changed(ctx),
            Change::Notices => self.notices.update(&self.model.notices),
            Change::Resync => self.send(Intent::Ready),
            Change::GraphAnswer(number, answer) => self.graph.take_answer(number, answer),
            Change::Ended => ctx.send_viewport_cmd(egui::ViewportCommand::Close),
            other => self.chat.take_change(other, &self.model),
        }
    }

    fn restore_window(&mut self, ctx: &egui::Context, window: &serde_json::Value) {
        self.window = WindowState::from_json(window);
        if let Some(tiles) = self.window.tiles.clone().filter(has_thread) {
            self.tiles = tiles;
        }
        ctx.set_zoom_factor(self.window.zoom);
        self.saved_window = self.window.clone();
    }

    /// Remembers the window's state when it has changed.
    fn save_window(&mut self, ctx: &egui::Context) {
        if !self.model.is_ready {
            return;
        }
        let (rect, maximized) = ctx.input(|i| (i.viewport().inner_rect, i.viewport().maximized));
        self.window.is_maximized = maximized.unwrap_or(false);
        if let Some(rect) = rect.filter(|_| !self.window.is_maximized) {
            self.window.size = Some([rect.width().round(), rect.height().round()]);
        }
        self.window.zoom = ctx.zoom_factor();
        self.window.tiles = Some(self.tiles.clone());
        if self.window != self.saved_window {
            self.saved_window = self.window.clone();
            let state = self.window.to_json();
            self.send(Intent::SaveWindow(state));
        }
    }

    fn settings_changed(&mut self, ctx: &egui::Context) {
        self.choose_theme(ctx);
    }

    /// Follows the settings, or the system where they say so.
    fn choose_theme(&mut self, ctx: &egui::Context) {
        let system_is_light = ctx.input(|i| i.raw.system_theme) == Some(egui::Theme::Light);
        let wanted = self
            .forced_theme
            .unwrap_or(match self.model.settings.theme.as_str() {
                "light" => ThemeName::Light,
                "dark" => ThemeName::Dark,
                "light-high-contrast" => ThemeName::LightHighContrast,
                "dark-high-contrast" => ThemeName::DarkHighContrast,
                _ if system_is_light => ThemeName::Light,
                _ => ThemeName::Dark,
            });
        let reduced = self.model.settings.reduced_motion;
        let is_edited = self.themes.take_changed();
        if is_edited
            || wanted != self.theme
            || reduced != (self.tokens.metrics.motion.open_ms == 0.0)
        {
            self.theme = wanted;
            let mut tokens = self.themes.tokens(wanted);
            if reduced {
                tokens.metrics.motion.open_ms = 0.0;
            }
            self.tokens = Arc::new(tokens);
            crate::theme::apply(ctx, &self.tokens);
        }
    }

    fn window_ui(&mut self, ui: &mut Ui) {
        let ctx = ui.ctx().clone();
        self.parts.clear();
        self.banner_ui(ui);
        let tokens = Arc::clone(&self.tokens);
        let status_bar = Panel::bottom("status bar")
            .exact_size(tokens.metrics.size.status_bar)
            .frame(bar_frame(&tokens))
            .show(ui, |ui| self.status_bar_ui(ui));
        let rail = Panel::left("rail")
            .exact_size(tokens.metrics.size.rail)
            .resizable(false)
            .frame(
                Frame::new()
                    .fill(tokens.surface.base)
                    .inner_margin(tokens.metrics.space.inside_side_panel()),
            )
            .show(ui, |ui| self.rail_ui(ui));
        self.parts.push(Part::panel(rail.response.rect));
        // The first frame decides how wide it is, so it waits until the last run's width is known.
        let has_room = ui.available_width() >= SIDE_PANEL_FROM;
        if self.window.shows_side_panel && self.model.is_ready && has_room {
            let size = &tokens.metrics.size;
            let panel = Panel::left("side panel")
                .resizable(true)
                .default_size(self.window.side_panel_width)
                .size_range(size.panel_min..=size.panel_max)
                .frame(
                    Frame::new()
                        .fill(tokens.surface.raised)
                        .inner_margin(tokens.metrics.space.inside_side_panel()),
                )
                .show(ui, |ui| self.side_panel_ui(ui));
            let area = panel.response.rect;
            self.window.side_panel_width = area.width();
            let first = thread_panel::filter_id();
            self.parts.push(Part::with_first(area, first));
        }
        if self.performance.is_open {
            Panel::right("performance")
                .default_size(tokens.metrics.size.inspector)
                .frame(
                    Frame::new()
                        .fill(tokens.surface.raised)
                        .inner_margin(tokens.metrics.space.inside_text_panel()),
                )
                .show(ui, |ui| self.performance.performance_ui(ui, &tokens));
        }
        CentralPanel::default()
            .frame(Frame::new().fill(tokens.surface.base))
            .show(ui, |ui| self.tiles_ui(ui));
        self.parts.push(Part::panel(status_bar.response.rect));
        self.overlays_ui(&ctx);
    }

    fn rail_ui(&mut self, ui: &mut Ui) {
        let tokens = Arc::clone(&self.tokens);
        ui.vertical_centered(|ui| {
            let key = self.keymap.label(Command::ShowThreads);
            if icon_button(ui, &tokens, icons::CHAT, "Threads", key.as_deref()).clicked() {
                self.run(ui.ctx(), Command::ToggleSidePanel);
            }
            let key = self.keymap.label(Command::ShowGraph);
            if icon_button(ui, &tokens, icons::GRAPH, "Code graph", key.as_deref()).clicked() {
                self.run(ui.ctx(), Command::ShowGraph);
            }
            ui.with_layout(Layout::bottom_up(Align::Center), |ui| {
                let key = self.keymap.label(Command::OpenSettings);
                if icon_button(ui, &tokens, icons::GEAR, "Settings", key.as_deref()).clicked() {
                    self.run(ui.ctx(), Command::OpenSettings);
                }
            });
        });
    }

    fn side_panel_ui(&mut self, ui: &mut Ui) {
        let Some(current) = self.model.thread_id().cloned() else {
            return;
        };
        let generating = &self.model.generating;
        let actions = self.thread_panel.thread_panel_ui(
            ui,
            &self.tokens,
            &self.model.threads,
            &current,
            &|id| generating.contains(id),
        );
        for action in actions {
            match action {
                ThreadPanelAction::Open(thread) => {
                    self.show_pane(Pane::Thread);
                    self.send(Intent::SwitchThread(thread));
                }
                ThreadPanelAction::New => self.run(ui.ctx(), Command::NewThread),
                ThreadPanelAction::Rename(thread) => self.begin_rename(thread),
                ThreadPanelAction::Archive(thread, archived) => {
                    self.send(Intent::Archive(thread, archived));
                }
                ThreadPanelAction::Delete(thread) => self.delete_thread(thread),
            }
        }
    }

    fn status_bar_ui(&mut self, ui: &mut Ui) {
        let in_use: Vec<String> = self
            .model
            .seats
            .iter()
            .map(|view| view.seat.endpoint.clone())
            .collect();
        let bar = StatusBar {
            endpoints: &self.model.endpoints,
            in_use: &in_use,
            notices: &self.model.notices,
            settings_problems: self.model.settings_problems.len(),
            read_only: self.model.read_only.as_deref(),
            is_software_rendered: self.is_software_rendered,
            frame_ms: self
                .performance
                .last_frame_ms()
                .filter(|_| self.performance.is_open),
        };
        match bar.status_bar_ui(ui, &self.tokens) {
            Some(StatusBarAction::CheckEndpoints) => self.send(Intent::CheckEndpoints(None)),
            Some(StatusBarAction::ShowNotices) => self.notices.is_open = !self.notices.is_open,
            Some(StatusBarAction::ShowSettings) => self.show_pane(Pane::Settings),
            None => {}
        }
    }

    fn pane_ui(&mut self, ui: &mut Ui, pane: Pane) {
        match pane {
            Pane::Thread => {
                let context = ChatContext {
                    model: &self.model,
                    keymap: &self.keymap,
                };
                self.chat_actions = self.chat.chat_ui(ui, &self.tokens, &context);
                self.parts.extend_from_slice(self.chat.parts());
            }
            Pane::Settings => {
                let area = ui.available_rect_before_wrap();
                self.parts.push(Part::panel(area));
                let context = SettingsContext {
                    settings: &self.model.settings,
                    problems: &self.model.settings_problems,
                    path: &self.model.settings_path,
                    seats: &self.model.seats,
                    endpoints: &self.model.endpoints,
                };
                for intent in self.settings.settings_ui(ui, &self.tokens, &context) {
                    self.send(intent);
                }
            }
            Pane::Graph => {
                let area = ui.available_rect_before_wrap();
                self.parts.push(Part::panel(area));
                let context = GraphContext {
                    state: &self.model.graph,
                    tokens: &self.tokens,
                    format: self.target_format,
                    layout_card: self.layout_card.as_ref(),
                };
                for action in self.graph.graph_ui(ui, &context) {
                    match action {
                        GraphAction::Show => self.send(Intent::ShowGraph),
                        GraphAction::Ask(number, question) => {
                            self.send(Intent::AskGraph(number, question));
                        }
                        GraphAction::OpenFolder => self.run(ui.ctx(), Command::OpenFolder),
                        GraphAction::OpenFile(path) => self.open_file(ui.ctx(), &path),
                        GraphAction::Attach(path) => {
                            if let Some(folder) = &self.model.folder {
                                self.attach(folder.join(path));
                            }
                        }
                        GraphAction::Save(file) => self.save_file(ui.ctx(), file),
                        GraphAction::Warn(text) => self.chat.warn(text),
                    }
                }
            }
        }
    }

    fn chat_action(&mut self, ctx: &egui::Context, action: ChatAction) {
        match action {
            ChatAction::Intent(intent) => self.send(*intent),
            ChatAction::Command(command) => self.run(ctx, command),
            ChatAction::Copy(text) => self.clipboard = Some(text),
            ChatAction::OpenUrl(url) => ctx.open_url(egui::OpenUrl::new_tab(url)),
        }
    }

    fn overlays_ui(&mut self, ctx: &egui::Context) {
        let tokens = Arc::clone(&self.tokens);
        if let Some(picker) = &mut self.picker {
            match picker.picker_ui(ctx, &tokens) {
                PickerOutcome::Open => {}
                PickerOutcome::Closed => {
                    self.picker = None;
                    self.chat.focus_composer();
                }
                PickerOutcome::Chosen(choice) => {
                    self.picker = None;
                    self.chat.focus_composer();
                    self.choose(ctx, choice);
                }
            }
        }
        self.rename_ui(ctx);
        self.chat.inspection_ui(ctx, &tokens);
        for id in self.notices.notices_ui(ctx, &tokens, &self.model.notices) {
            self.send(Intent::DismissNotice(id));
        }
    }

    /// Asks for a glyph that only a system font has, once the first frame is seen, so that the search for
    /// fonts doesn't stop the person in the middle of a word.
    fn warm_fonts(&mut self, ctx: &egui::Context) {
        if !self.has_warmed_fonts && self.performance.frame_count() == 2 {
            self.has_warmed_fonts = true;
            let font = egui::FontId::proportional(self.tokens.metrics.typ.ui);
            ctx.fonts_mut(|fonts| {
                fonts.layout_no_wrap("語".to_owned(), font, egui::Color32::WHITE)
            });
            self.performance.phase("system fonts");
        }
    }
}

impl eframe::App for Shell {
    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        self.take_events(ctx);
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        self.shell_ui(ui);
    }

    fn on_exit(&mut self) {
        if let Some(intent) = self.chat.unsaved_draft() {
            self.send(intent);
        }
        if let Some(host) = self.host.take() {
            host.shutdown();
        }
    }

    fn clear_color(&self, _visuals: &egui::Visuals) -> [f32; 4] {
        self.tokens.surface.base.to_normalized_gamma_f32()
    }
}

impl Shell {
    /// Draws one frame.
    pub fn shell_ui(&mut self, ui: &mut Ui) {
        let ctx = ui.ctx().clone();
        self.performance.begin_frame();
        self.take_dialog_answer();
        self.take_dropped_files(&ctx);
        self.choose_theme(&ctx);
        self.caret.update(&ctx, self.model.settings.reduced_motion);
        self.take_commands(&ctx);
        self.window_ui(ui);
        if let Some(text) = self.clipboard.take() {
            ctx.copy_text(text);
        }
        self.warm_fonts(&ctx);
        self.save_window(&ctx);
        self.set_title(&ctx);
        self.performance
            .end_frame(performance::causes(&ctx.repaint_causes()));
    }

    /// Starts the commands whose keys were pressed, unless an overlay wants the keys for itself.
    fn take_commands(&mut self, ctx: &egui::Context) {
        if self.picker.is_some() || self.renaming.is_some() {
            return;
        }
        let commands = ctx.input_mut(|input| self.keymap.consume(input));
        for command in commands {
            self.run(ctx, command);
        }
        self.take_escape(ctx);
    }

    /// Esc stops the turn, when nothing that is open wants it first.
    fn take_escape(&mut self, ctx: &egui::Context) {
        let is_free =
            !self.chat.wants_escape() && !self.notices.is_open && !egui::Popup::is_any_open(ctx);
        if is_free
            && self.model.turn().is_generating
            && ctx.input_mut(|i| i.consume_key(egui::Modifiers::NONE, egui::Key::Escape))
        {
            self.run(ctx, Command::Stop);
        }
    }

    fn set_title(&self, ctx: &egui::Context) {
        let thread = self
            .model
            .thread
            .as_ref()
            .map(|t| t.title.as_str())
            .filter(|t| !t.is_empty());
        let folder = self
            .model
            .folder
            .as_ref()
            .and_then(|f| f.file_name())
            .map(|n| n.to_string_lossy());
        let parts: Vec<String> = [
            thread.map(str::to_owned),
            folder.map(|f| f.into_owned()),
            Some("Folkmoot".to_owned()),
        ]
        .into_iter()
        .flatten()
        .collect();
        let title = parts.join(" – ");
        let id = egui::Id::unique("window title");
        if ctx.data(|data| data.get_temp::<String>(id)).as_deref() != Some(&title) {
            ctx.data_mut(|data| data.insert_temp(id, title.clone()));
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title));
        }
    }
}

fn bar_frame(tokens: &Tokens) -> Frame {
    Frame::new()
        .fill(tokens.surface.base)
        .inner_margin(Margin::symmetric(tokens.metrics.space.related as i8, 0))
}
