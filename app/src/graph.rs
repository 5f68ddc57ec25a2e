//! The graph view: the code graph of the open folder, to look around in and to ask.
//!
//! Modes make a [`scene::Scene`] of the graph; the canvas shows it, finds what is pointed at, and moves the camera.

pub mod camera;
mod canvas;
mod cycles;
mod export;
mod filters;
mod focus;
mod free;
pub mod gpu;
mod inspector;
mod labels;
pub mod layout_card;
mod map;
mod matrix;
mod palette;
pub mod scene;
mod toolbar;

use std::sync::Arc;

use codegraph::graph::{NodeIndex, NodeType};
use codegraph::nested::{Cut, Limits};
use codegraph::query::Answer;
use egui::{Ui, pos2};
use host::{GraphData, GraphState};

use crate::theme::Tokens;
use camera::{Camera, Flight};
pub use export::ExportedFile;
use filters::{Filters, Imports};
use free::FreeLayout;
use layout_card::LayoutCard;
use palette::ColorBy;
use scene::{Scene, Subject};

/// How the graph is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Directories as boxes, nearer shows more.
    #[default]
    Map,
    /// One file, its users and what it uses.
    Focus,
    /// Files that import each other in a ring.
    Cycles,
    /// Which directory depends on which.
    Matrix,
    /// Files drawn together by their imports.
    Free,
}

impl Mode {
    /// All of them, in the order of the toolbar.
    pub const ALL: [Self; 5] = [
        Self::Map,
        Self::Focus,
        Self::Cycles,
        Self::Matrix,
        Self::Free,
    ];

    /// Its name.
    pub fn title(self) -> &'static str {
        match self {
            Self::Map => "Map",
            Self::Focus => "Focus",
            Self::Cycles => "Cycles",
            Self::Matrix => "Matrix",
            Self::Free => "Free",
        }
    }
}

/// What the person wants of the rest of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphAction {
    /// Read the graph of the open folder.
    Show,
    /// Ask the graph; the answer comes with this number.
    Ask(u64, String),
    /// Choose a folder.
    OpenFolder,
    /// Open a file of the folder, given by its path below it.
    OpenFile(String),
    /// Attach a file of the folder to the message being written.
    Attach(String),
    /// Ask where a picture is to be saved, and save it.
    Save(ExportedFile),
    /// Something to tell the person.
    Warn(String),
}

/// What the view is given to show.
pub struct GraphContext<'a> {
    /// How the graph is.
    pub state: &'a GraphState,
    /// The theme.
    pub tokens: &'a Arc<Tokens>,
    /// Format that the graphics card draws into; `None` where it can't be used.
    pub format: Option<egui_wgpu::wgpu::TextureFormat>,
    /// What lays files out beside the processor, where there is a graphics card.
    pub layout_card: Option<&'a Arc<LayoutCard>>,
}

/// What a scene was made of; another one is made when any of it changes.
#[derive(Clone, Debug, Default, PartialEq)]
struct SceneKey {
    version: u64,
    /// Of which version the free layout is.
    laid_out: Option<u64>,
    mode: Mode,
    focus: Option<NodeIndex>,
    color_by: ColorBy,
    search: String,
    filters: Filters,
    theme: String,
    cut: Cut,
}

/// The last question.
struct Asked {
    number: u64,
    question: String,
    /// The answer as text, or why there is none, once it has come.
    answer: Option<Result<String, String>>,
}

/// The state of the view.
#[derive(Default)]
pub struct GraphView {
    mode: Mode,
    color_by: ColorBy,
    search: String,
    wants_search_focus: bool,
    filters: Filters,
    /// What the filters leave out, of the graph of this version.
    hidden: Option<(u64, Filters, Arc<Imports>)>,
    scene: Scene,
    scene_key: SceneKey,
    generation: u64,
    free: FreeLayout,
    camera: Camera,
    flight: Option<Flight>,
    /// For which mode, focus and folder the camera was fitted.
    fitted: Option<(Mode, Option<String>)>,
    /// The size of the view that all was fitted into, until the person moves.
    fitted_into: Option<egui::Vec2>,
    hovered: Option<Subject>,
    /// Paths of the selected files and directories: they outlast the graph's numbers.
    selected: Vec<String>,
    asked: Option<Asked>,
    /// The imports of the path that was asked for last, by their files' paths.
    path: Vec<(String, String)>,
    export: export::Pending,
    last_question: u64,
    has_asked: bool,
}

impl GraphView {
    /// Takes in the answer to a question; a path is drawn as well.
    pub fn take_answer(&mut self, number: u64, answer: Result<Arc<Answer>, String>) {
        let Some(asked) = self.asked.as_mut().filter(|asked| asked.number == number) else {
            return;
        };
        if let Ok(Answer::Path {
            hops: Some(hops), ..
        }) = answer.as_deref()
        {
            let ends = hops.iter().map(|hop| (hop.from.clone(), hop.to.clone()));
            self.path = ends.collect();
        }
        asked.answer = Some(answer.map(|answer| answer.to_string()));
    }

    /// What is shown, for tests.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Where the person looks, for tests.
    pub fn camera(&self) -> Camera {
        self.camera
    }

    /// Draws the view; returns what the person wants.
    pub fn graph_ui(&mut self, ui: &mut Ui, context: &GraphContext<'_>) -> Vec<GraphAction> {
        let mut actions = Vec::new();
        if !std::mem::replace(&mut self.has_asked, true) {
            actions.push(GraphAction::Show);
        }
        match context.state {
            GraphState::Ready(data) => self.ready_ui(ui, context, data, &mut actions),
            GraphState::Reading(folder) => {
                notice_ui(
                    ui,
                    context.tokens,
                    &format!("Reading {} …", folder.display()),
                    None,
                );
            }
            GraphState::Closed => {
                let text =
                    "No folder is open. The graph shows how the files of a folder hang together.";
                if notice_ui(ui, context.tokens, text, Some("Open a folder")) {
                    actions.push(GraphAction::OpenFolder);
                }
            }
            GraphState::Failed(error) => {
                if notice_ui(ui, context.tokens, error, Some("Try again")) {
                    actions.push(GraphAction::Show);
                }
            }
        }
        actions
    }

    fn ready_ui(
        &mut self,
        ui: &mut Ui,
        context: &GraphContext<'_>,
        data: &Arc<GraphData>,
        actions: &mut Vec<GraphAction>,
    ) {
        self.toolbar_ui(ui, context, data);
        self.take_screenshot(actions);
        self.inspector_ui(ui, context, data, actions);
        self.canvas_ui(ui, context, data, actions);
    }

    /// The nodes that are selected, in the graph as it is now.
    fn selection(&self, data: &GraphData) -> Vec<NodeIndex> {
        let found = self.selected.iter();
        found.filter_map(|path| data.graph.node_at(path)).collect()
    }

    /// The file or directory that is looked at alone.
    fn focused(&self, data: &GraphData) -> Option<NodeIndex> {
        let first = self.selection(data).into_iter().next_back();
        first.filter(|node| data.graph.nodes[*node as usize].node_type != NodeType::Dir)
    }

    /// Makes the scene anew where anything it shows has changed.
    fn refresh_scene(
        &mut self,
        context: &GraphContext<'_>,
        data: &GraphData,
        view: egui::Rect,
        pixels_per_point: f32,
    ) {
        let tokens = context.tokens;
        let cut = match self.mode {
            Mode::Map => {
                let seen = self.camera.visible(view);
                let visible = codegraph::nested::Box2 {
                    x: seen.left(),
                    y: seen.top(),
                    width: seen.width(),
                    height: seen.height(),
                };
                let limits = Limits {
                    open_from: 90.0 * pixels_per_point,
                    show_from: 2.0 * pixels_per_point,
                    ..Limits::default()
                };
                let scale = self.camera.scale * pixels_per_point;
                data.nested.cut(visible, scale, &limits)
            }
            Mode::Focus | Mode::Cycles | Mode::Matrix | Mode::Free => Cut::default(),
        };
        let key = SceneKey {
            version: data.version,
            laid_out: self.free.version().filter(|_| self.mode == Mode::Free),
            mode: self.mode,
            focus: self.focused(data).filter(|_| self.mode == Mode::Focus),
            color_by: self.color_by,
            search: self.search.clone(),
            filters: self.filters.clone(),
            theme: tokens.name.clone(),
            cut,
        };
        if key == self.scene_key && self.generation > 0 {
            return;
        }
        self.generation += 1;
        let needle = self.search.to_lowercase();
        let hidden = self.hidden(data);
        let filters = &self.filters;
        let is_found = |node: NodeIndex| {
            let is_named =
                || needle.is_empty() || data.graph.path(node).to_lowercase().contains(&needle);
            filters.passes(data, node) && is_named()
        };
        let style = map::MapStyle {
            data,
            color_by: self.color_by,
            is_found: &is_found,
            filters,
            hidden: &hidden,
            tokens,
        };
        self.scene = match self.mode {
            Mode::Map => map::map_scene(&key.cut, &style, self.generation),
            Mode::Free => self.free.scene(&style, self.generation),
            Mode::Focus => match key.focus {
                Some(node) => focus::focus_scene(node, &style, self.generation),
                None => Scene {
                    notice: Some("Choose a file: on the map, or by the search.".to_owned()),
                    ..Scene::default()
                },
            },
            Mode::Cycles => cycles::cycles_scene(data, tokens, self.generation),
            Mode::Matrix => matrix::matrix_scene(data, tokens, self.generation),
        };
        self.scene_key = key;
    }

    /// The imports that the filters leave out, counted anew when the graph or the filters have changed.
    fn hidden(&mut self, data: &GraphData) -> Arc<Imports> {
        match &self.hidden {
            Some((version, filters, hidden))
                if *version == data.version && *filters == self.filters =>
            {
                Arc::clone(hidden)
            }
            _ => {
                let hidden = Arc::new(self.filters.hidden(&data.graph));
                let made = (data.version, self.filters.clone(), Arc::clone(&hidden));
                self.hidden = Some(made);
                hidden
            }
        }
    }

    /// Fits the camera to the scene when the mode, the folder or what is focused is another one.
    fn fit_when_new(&mut self, data: &GraphData, view: egui::Rect) {
        if self.mode == Mode::Free && self.free.version().is_none() {
            return;
        }
        let focus = match self.mode {
            Mode::Focus => self.selected.last().cloned(),
            Mode::Map | Mode::Cycles | Mode::Matrix | Mode::Free => {
                Some(data.folder.to_string_lossy().into_owned())
            }
        };
        let fits = Some((self.mode, focus));
        let is_resized = self.fitted_into.is_some_and(|size| size != view.size());
        if (self.fitted != fits || is_resized) && view.is_positive() {
            self.fitted = fits;
            self.fitted_into = Some(view.size());
            self.flight = None;
            self.camera = Camera::fitting(self.bounds(), view.size());
        }
    }

    fn bounds(&self) -> egui::Rect {
        match self.mode {
            Mode::Map => map::rect(codegraph::nested::WHOLE),
            Mode::Focus | Mode::Cycles | Mode::Matrix | Mode::Free => self.scene.bounds,
        }
    }

    /// Flies to where all of `area` is seen.
    fn fly_to(&mut self, area: egui::Rect, view: egui::Rect, now: f64, secs: f64) {
        let to = Camera::fitting(area, view.size());
        self.fitted_into = (area == self.bounds()).then(|| view.size());
        self.flight = Some(Flight::new(self.camera, to, now, secs));
    }

    /// Selects a node alone, or changes whether it is selected.
    fn select(&mut self, data: &GraphData, node: NodeIndex, adds: bool) {
        let path = data.graph.path(data.graph.file_of(node));
        if !adds {
            self.selected = vec![path];
        } else if let Some(at) = self.selected.iter().position(|other| *other == path) {
            self.selected.remove(at);
        } else {
            self.selected.push(path);
        }
    }

    fn ask(&mut self, question: String, actions: &mut Vec<GraphAction>) {
        self.path.clear();
        self.last_question += 1;
        self.asked = Some(Asked {
            number: self.last_question,
            question: question.clone(),
            answer: None,
        });
        actions.push(GraphAction::Ask(self.last_question, question));
    }
}

/// A sentence in the middle, with a button below it; returns whether that was clicked.
fn notice_ui(ui: &mut Ui, tokens: &Tokens, text: &str, button: Option<&str>) -> bool {
    let area = ui.available_rect_before_wrap();
    let place = egui::Rect::from_center_size(area.center(), egui::vec2(area.width() * 0.7, 80.0));
    let mut is_clicked = false;
    ui.scope_builder(egui::UiBuilder::new().max_rect(place), |ui| {
        ui.vertical_centered(|ui| {
            ui.label(text);
            if let Some(button) = button {
                ui.add_space(tokens.metrics.space.related);
                is_clicked = ui.button(button).clicked();
            }
        });
    });
    ui.advance_cursor_after_rect(egui::Rect::from_min_max(
        area.min,
        pos2(area.right(), area.bottom()),
    ));
    is_clicked
}
