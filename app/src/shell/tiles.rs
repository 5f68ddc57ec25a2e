//! The tiles in the middle of the window.

use egui::{RichText, Ui};

use super::{Pane, Shell};
use crate::theme::fonts::Families;

/// The tiles of a first run: the thread alone.
pub(super) fn default_tiles() -> egui_tiles::Tree<Pane> {
    egui_tiles::Tree::new_tabs(egui::Id::unique("tiles"), vec![Pane::Thread])
}

pub(super) fn has_thread(tiles: &egui_tiles::Tree<Pane>) -> bool {
    tiles.root().is_some() && tiles.tiles.find_pane(&Pane::Thread).is_some()
}

impl Shell {
    pub(super) fn tiles_ui(&mut self, ui: &mut Ui) {
        let mut tiles = std::mem::replace(
            &mut self.tiles,
            egui_tiles::Tree::empty(egui::Id::unique("tiles")),
        );
        let mut behavior = TileBehavior { shell: self };
        tiles.ui(&mut behavior, ui);
        self.tiles = tiles;
        // They may change the tiles, so they wait until those are back.
        for action in std::mem::take(&mut self.chat_actions) {
            self.chat_action(ui.ctx(), action);
        }
    }

    pub(super) fn show_pane(&mut self, pane: Pane) {
        let found = self.tiles.tiles.find_pane(&pane);
        if found.is_none() {
            let id = self.tiles.tiles.insert_pane(pane);
            let children = self.tiles.root().into_iter().chain([id]).collect();
            self.tiles.root = Some(self.tiles.tiles.insert_tab_tile(children));
        }
        self.tiles
            .make_active(|_, tile| matches!(tile, egui_tiles::Tile::Pane(p) if *p == pane));
    }
}

/// What the tiles need to know of the window.
struct TileBehavior<'a> {
    shell: &'a mut Shell,
}

impl egui_tiles::Behavior<Pane> for TileBehavior<'_> {
    fn pane_ui(
        &mut self,
        ui: &mut Ui,
        _tile: egui_tiles::TileId,
        pane: &mut Pane,
    ) -> egui_tiles::UiResponse {
        self.shell.pane_ui(ui, *pane);
        egui_tiles::UiResponse::None
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> egui::WidgetText {
        let title = match pane {
            Pane::Thread => "Thread",
            Pane::Settings => "Settings",
            Pane::Graph => "Code graph",
        };
        RichText::new(title)
            .family(Families::default().medium)
            .into()
    }

    fn is_tab_closable(&self, tiles: &egui_tiles::Tiles<Pane>, tile: egui_tiles::TileId) -> bool {
        !matches!(tiles.get(tile), Some(egui_tiles::Tile::Pane(Pane::Thread)))
    }

    fn simplification_options(&self) -> egui_tiles::SimplificationOptions {
        egui_tiles::SimplificationOptions {
            // A single pane needs no tab bar.
            prune_single_child_tabs: true,
            all_panes_must_have_tabs: false,
            ..egui_tiles::SimplificationOptions::default()
        }
    }

    fn tab_bar_color(&self, _visuals: &egui::Visuals) -> egui::Color32 {
        self.shell.tokens.surface.raised
    }

    fn gap_width(&self, _style: &egui::Style) -> f32 {
        1.0
    }
}
