//! The colours of the graph view: by community, by how often a file changes, by its age, by its language.

use egui::Color32;

use crate::theme::Tokens;
pub(super) use crate::theme::mix;

/// What colours tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ColorBy {
    /// Files that hang together.
    #[default]
    Community,
    /// Files that change often.
    Churn,
    /// Files that haven't changed for long.
    Age,
    /// Languages.
    Language,
}

impl ColorBy {
    /// All of them, in the order of the menu.
    pub(super) const ALL: [Self; 4] = [Self::Community, Self::Churn, Self::Age, Self::Language];

    /// Its name in the menu.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Community => "Community",
            Self::Churn => "Churn",
            Self::Age => "Age",
            Self::Language => "Language",
        }
    }
}

/// One of eight colours for a class that has a number.
pub(super) fn class_color(tokens: &Tokens, class: u32) -> Color32 {
    tokens.seat[class as usize % tokens.seat.len()]
}

/// A colour for a value from 0 (nothing to see) to 1 (look here).
pub(super) fn heat_color(tokens: &Tokens, value: f32) -> Color32 {
    mix(
        tokens.text.disabled,
        tokens.state.error,
        value.clamp(0.0, 1.0),
    )
}
