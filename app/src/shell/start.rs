//! Opening the window: the renderer, the fonts, the first size.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use eframe::wgpu;
use host::{Host, HostOptions};

use super::Shell;
use super::window_state::WindowState;
use crate::cli::Failure;
use crate::graph::layout_card::LayoutCard;
use crate::theme::{ThemeName, fonts};

/// Size of the window on the first run, in points.
const FIRST_SIZE: [f32; 2] = [1280.0, 800.0];
/// The window can't be made smaller than this, in points.
const LEAST_SIZE: [f32; 2] = [480.0, 360.0];

/// How a window is made.
pub struct StartOptions {
    /// The data folder.
    pub home: PathBuf,
    /// When the program began.
    pub started: Instant,
    /// The fonts.
    pub fonts: egui::FontDefinitions,
    /// A theme that the settings can't change, for tests.
    pub theme: Option<ThemeName>,
    /// Whether drawing is done by the processor.
    pub is_software_rendered: bool,
    /// Format that the graphics card draws into; `None` where it can't be used, or not yet.
    pub target_format: Option<egui_wgpu::wgpu::TextureFormat>,
    /// What lays the code graph out beside the processor, where there is a graphics card.
    pub layout_card: Option<Arc<LayoutCard>>,
    /// Whether the demo table greets a first run.
    pub greets: bool,
}

impl StartOptions {
    /// The usual options for a data folder.
    pub fn new(home: PathBuf) -> Self {
        Self {
            home,
            started: Instant::now(),
            fonts: fonts::definitions(),
            theme: None,
            is_software_rendered: false,
            target_format: None,
            layout_card: None,
            greets: false,
        }
    }
}

/// Opens the window and returns when it is closed.
///
/// # Errors
/// When there is no display, no way to draw, or the data folder can't be used.
pub fn run(folder: Option<PathBuf>) -> Result<(), Failure> {
    let started = Instant::now();
    let home = crate::cli::home()?;
    if !has_display() {
        return Err(Failure::usage(
            "there is no display to open a window on; `folkmoot ask` works without one",
        ));
    }
    if let Some(folder) = folder.as_deref().filter(|f| !host::is_usable_folder(f)) {
        return Err(Failure::usage(format!(
            "folder can't be opened: {}",
            folder.display()
        )));
    }
    let folder = folder.map(|f| std::fs::canonicalize(&f).unwrap_or(f));
    let window = remembered_window(&home);
    let host = Host::start(HostOptions {
        folder,
        ..HostOptions::new(home.clone())
    })?;
    let options = eframe::NativeOptions {
        viewport: viewport(&window),
        renderer: eframe::Renderer::Wgpu,
        wgpu_options: wgpu_options(),
        persist_window: false,
        ..eframe::NativeOptions::default()
    };
    let create = Box::new(
        move |cc: &eframe::CreationContext<'_>| -> Result<Box<dyn eframe::App>, _> {
            let is_software_rendered = cc.wgpu_render_state.as_ref().is_some_and(|state| {
                let info = state.adapter.get_info();
                log::info!("drawing with {} by {:?}", info.name, info.backend);
                info.device_type == wgpu::DeviceType::Cpu
            });
            let start = StartOptions {
                started,
                is_software_rendered,
                target_format: cc.wgpu_render_state.as_ref().map(|s| s.target_format),
                layout_card: cc
                    .wgpu_render_state
                    .as_ref()
                    .map(|state| Arc::new(LayoutCard::new(state))),
                greets: true,
                ..StartOptions::new(home)
            };
            Ok(Box::new(Shell::new(&cc.egui_ctx, host, start)))
        },
    );
    eframe::run_native("folkmoot", options, create)
        .map_err(|error| Failure::failed(format!("the window could not be opened: {error}")))
}

/// Whether a window can be shown at all; elsewhere than on Unix there always is a display.
fn has_display() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(all(unix, not(target_os = "macos"))) || set("DISPLAY") || set("WAYLAND_DISPLAY")
}

/// How the window was last. The host, which owns the file, says so when it can't be read.
fn remembered_window(home: &std::path::Path) -> WindowState {
    let state = host::ClientState::peek(home).unwrap_or_default();
    WindowState::from_json(&state.window)
}

fn viewport(window: &WindowState) -> egui::ViewportBuilder {
    egui::ViewportBuilder::default()
        .with_title("Folkmoot")
        .with_app_id("folkmoot")
        .with_inner_size(window.size.unwrap_or(FIRST_SIZE))
        .with_min_inner_size(LEAST_SIZE)
        .with_maximized(window.is_maximized)
}

/// One backend and one pass over its adapters: asking every backend costs a second on some machines.
/// `WGPU_BACKEND` chooses another. Processors are accepted as adapters.
fn wgpu_options() -> eframe::egui_wgpu::WgpuConfiguration {
    let mut options = eframe::egui_wgpu::WgpuConfiguration::default();
    if let eframe::egui_wgpu::WgpuSetup::CreateNew(setup) = &mut options.wgpu_setup {
        let chosen = wgpu::Backends::from_env();
        setup.instance_descriptor.backends =
            chosen.unwrap_or(wgpu::Backends::PRIMARY | wgpu::Backends::GL);
    }
    options
}
