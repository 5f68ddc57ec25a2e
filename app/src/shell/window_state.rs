//! What the window remembers between runs: its size, zoom, panels and tabs.

use serde::{Deserialize, Serialize};

/// The window's own part of the client state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowState {
    /// Whether the side panel is seen.
    pub shows_side_panel: bool,
    /// Width of the side panel, in points.
    pub side_panel_width: f32,
    /// Zoom, 1 for 100 %.
    pub zoom: f32,
    /// Inner size of the window, in points.
    pub size: Option<[f32; 2]>,
    /// Whether the window is maximized.
    pub is_maximized: bool,
    /// The open tiles.
    pub tiles: Option<egui_tiles::Tree<super::Pane>>,
}

impl Default for WindowState {
    fn default() -> Self {
        Self {
            shows_side_panel: true,
            side_panel_width: 260.0,
            zoom: 1.0,
            size: None,
            is_maximized: false,
            tiles: None,
        }
    }
}

impl WindowState {
    /// Reads what an earlier run left; what can't be understood is as on the first run.
    pub fn from_json(value: &serde_json::Value) -> Self {
        let mut state: Self = serde_json::from_value(value.clone()).unwrap_or_default();
        let sane = |n: f32, low: f32, high: f32, fallback: f32| {
            if n.is_finite() {
                n.clamp(low, high)
            } else {
                fallback
            }
        };
        state.zoom = sane(state.zoom, 0.5, 3.0, 1.0);
        state.side_panel_width = sane(state.side_panel_width, 180.0, 480.0, 260.0);
        state.size = state
            .size
            .filter(|[w, h]| w.is_finite() && h.is_finite() && *w >= 200.0 && *h >= 150.0);
        state
    }

    /// For the client state.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_of_an_earlier_run_does_no_harm() {
        assert_eq!(
            WindowState::from_json(&serde_json::Value::Null),
            WindowState::default()
        );
        let wild = serde_json::json!({"zoom": 900.0, "side_panel_width": -3.0, "size": [1.0, 1.0]});
        let state = WindowState::from_json(&wild);
        assert_eq!(
            (state.zoom, state.side_panel_width, state.size),
            (3.0, 180.0, None)
        );
        assert_eq!(WindowState::from_json(&state.to_json()), state);
    }
}
