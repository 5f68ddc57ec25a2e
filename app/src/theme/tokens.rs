//! The design tokens: what the theme files in `assets/themes` say, checked and ready for views.

use std::collections::BTreeMap;

use egui::Color32;
use serde::Deserialize;

use super::{Rgba, SyntaxKind};

/// A theme that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThemeName {
    /// Light text on dark.
    Dark,
    /// Dark text on light.
    Light,
    /// Dark with the strongest contrasts.
    DarkHighContrast,
    /// Light with the strongest contrasts.
    LightHighContrast,
}

impl ThemeName {
    /// Every built-in theme.
    pub const ALL: [Self; 4] = [
        Self::Dark,
        Self::Light,
        Self::DarkHighContrast,
        Self::LightHighContrast,
    ];

    /// The name of its file in `assets/themes`, without the extension.
    #[cfg(debug_assertions)]
    pub(super) fn file_stem(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::DarkHighContrast => "dark-high-contrast",
            Self::LightHighContrast => "light-high-contrast",
        }
    }

    fn source(self) -> &'static str {
        match self {
            Self::Dark => include_str!("../../../assets/themes/dark.toml"),
            Self::Light => include_str!("../../../assets/themes/light.toml"),
            Self::DarkHighContrast => {
                include_str!("../../../assets/themes/dark-high-contrast.toml")
            }
            Self::LightHighContrast => {
                include_str!("../../../assets/themes/light-high-contrast.toml")
            }
        }
    }
}

const METRICS: &str = include_str!("../../../assets/themes/metrics.toml");

/// Why a theme could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// The file is no TOML, or lacks a token, or holds a value of the wrong kind.
    #[error("theme can't be read: {0}")]
    Toml(#[from] toml::de::Error),
    /// A numbered section lacks one of its colours.
    #[error("theme has no colour {section}.{number}")]
    MissingNumber {
        /// `seat` or `role`.
        section: &'static str,
        /// The number that is missing, from 1.
        number: usize,
    },
    /// The `[syntax]` section lacks a class.
    #[error("theme has no colour syntax.{0:?}")]
    MissingSyntax(SyntaxKind),
}

/// Whether a theme is dark or light; decides what "more contrast" means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Light text on dark surfaces.
    Dark,
    /// Dark text on light surfaces.
    Light,
}

/// Everything a view may know about looks: one theme's colours and the sizes all themes share.
#[derive(Clone, Debug, PartialEq)]
pub struct Tokens {
    /// The theme's name as shown in menus.
    pub name: String,
    /// Dark or light.
    pub mode: Mode,
    /// Whether the theme is made for the strongest contrasts.
    pub high_contrast: bool,
    /// Focus ring, links, the one primary action of a view.
    pub accent: Color32,
    /// Text and icons on `accent`.
    pub on_accent: Color32,
    /// What things lie on.
    pub surface: SurfaceTokens,
    /// Lines between things.
    pub border: BorderTokens,
    /// Text, and what marks it.
    pub text: TextTokens,
    /// States; always with an icon or a word beside the colour.
    pub state: StateTokens,
    /// Backgrounds of changed lines.
    pub diff: DiffTokens,
    /// Speakers, in the order they join a table.
    pub seat: [Color32; 8],
    /// Delegates.
    pub role: [Color32; 12],
    /// Code.
    pub syntax: SyntaxTokens,
    /// Sizes, spaces, durations.
    pub metrics: Metrics,
}

macro_rules! color_section {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        pub struct $name {
            $($(#[$field_doc])* #[serde(deserialize_with = "color")] pub $field: Color32,)*
        }

    };
}

fn color<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Color32, D::Error> {
    Rgba::deserialize(deserializer).map(|color| color.0)
}

color_section! {
    /// What things lie on.
    SurfaceTokens {
        /// Window and editor.
        base,
        /// Side panel, composer, cards, the person's own messages.
        raised,
        /// Palette, menus, tooltips.
        overlay,
        /// Laid over a row under the pointer.
        hover,
        /// Laid over a selected row.
        selected,
        /// The soft shadow under overlays.
        shadow,
    }
}

color_section! {
    /// Lines between things, one physical pixel wide.
    BorderTokens {
        /// Between neighbours.
        subtle,
        /// Around controls.
        strong,
    }
}

color_section! {
    /// Text, and what marks it.
    TextTokens {
        /// Content.
        primary,
        /// What explains content.
        secondary,
        /// What can't be used now.
        disabled,
        /// Behind selected text.
        selection,
        /// Behind what a search found.
        r#match,
    }
}

color_section! {
    /// States; always with an icon or a word beside the colour.
    StateTokens {
        /// Done, healthy.
        ok,
        /// Needs a look.
        warn,
        /// Failed.
        error,
        /// At work.
        busy,
    }
}

color_section! {
    /// Backgrounds of changed lines and, stronger, of the changed part of a line.
    DiffTokens {
        /// A line that was added.
        added,
        /// A line that was removed.
        removed,
        /// The part of a line that was added.
        added_inline,
        /// The part of a line that was removed.
        removed_inline,
    }
}

/// The colour of each class of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxTokens([Color32; SyntaxKind::ALL.len()]);

impl SyntaxTokens {
    /// The colour of `kind`.
    pub fn color(&self, kind: SyntaxKind) -> Color32 {
        self.0[kind as usize]
    }
}

/// Sizes that every theme shares, in points unless a name says otherwise.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Metrics {
    /// Sizes and weights of text.
    #[serde(rename = "type")]
    pub typ: TypeMetrics,
    /// Distances.
    pub space: SpaceMetrics,
    /// Corners.
    pub radius: RadiusMetrics,
    /// Extents of parts of the window.
    pub size: SizeMetrics,
    /// Durations.
    pub motion: MotionMetrics,
}

/// Sizes and weights of text.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TypeMetrics {
    /// Prose and controls.
    pub ui: f32,
    /// What explains: times, models, hints.
    pub secondary: f32,
    /// Headings inside threads.
    pub heading: f32,
    /// The sentence of an empty view.
    pub empty_state: f32,
    /// Code.
    pub code: f32,
    /// Line height of prose as a factor of its size.
    pub prose_line_height: f32,
    /// Line height of code as a factor of its size.
    pub code_line_height: f32,
    /// Longest line of prose, in average characters.
    pub prose_max_chars: f32,
    /// Weight of text.
    pub weight_regular: f32,
    /// Weight of labels and the active tab.
    pub weight_label: f32,
    /// Weight of speakers, headings, strong text.
    pub weight_strong: f32,
}

/// Distances, multiples of 4.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SpaceMetrics {
    /// Inside chips.
    pub inside_chip: f32,
    /// Between related things, and between messages while one speaker goes on.
    pub related: f32,
    /// Inside cards.
    pub inside_card: f32,
    /// Between blocks.
    pub between_blocks: f32,
    /// Between messages of different speakers.
    pub between_speakers: f32,
    /// Above and below what stands in a bar.
    pub inside_bar: f32,
}

impl SpaceMetrics {
    /// The room inside a panel.
    pub fn inside_panel(&self) -> egui::Margin {
        margin(self.between_blocks, self.related)
    }

    /// The room inside a bar above a view.
    pub fn inside_top_bar(&self) -> egui::Margin {
        margin(self.between_blocks, self.inside_bar)
    }

    /// The room inside a narrow panel at the side.
    pub fn inside_side_panel(&self) -> egui::Margin {
        margin(self.related, self.related)
    }

    /// The room inside a card or a panel that holds text.
    pub fn inside_text_panel(&self) -> egui::Margin {
        margin(self.inside_card, self.inside_card)
    }
}

fn margin(x: f32, y: f32) -> egui::Margin {
    egui::Margin::symmetric(x as i8, y as i8)
}

/// Corners.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct RadiusMetrics {
    /// Buttons, fields, chips.
    pub control: f32,
    /// Cards and overlays.
    pub card: f32,
}

/// Extents of parts of the window.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SizeMetrics {
    /// Width of the activity rail.
    pub rail: f32,
    /// Width of the side panel at first.
    pub panel: f32,
    /// Least width of the side panel.
    pub panel_min: f32,
    /// Greatest width of the side panel.
    pub panel_max: f32,
    /// Width of a panel beside a view at first.
    pub inspector: f32,
    /// Height of the status bar.
    pub status_bar: f32,
    /// Least side of anything that can be clicked.
    pub hit_target_min: f32,
    /// Side of an icon.
    pub icon: f32,
    /// Width of the line at a message's left.
    pub seat_line: f32,
    /// Width of borders in physical pixels.
    pub border_px: f32,
    /// Width of the focus ring.
    pub focus_ring: f32,
    /// Distance between the focus ring and what has the focus.
    pub focus_ring_offset: f32,
    /// How much of the thread's height the composer may take.
    pub composer_max_height_fraction: f32,
}

/// Durations.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct MotionMetrics {
    /// Opening of overlays, in milliseconds; zero under reduced motion.
    pub open_ms: f32,
}

#[derive(Deserialize)]
struct ThemeFile {
    name: String,
    mode: Mode,
    high_contrast: bool,
    accent: Rgba,
    on_accent: Rgba,
    surface: SurfaceTokens,
    border: BorderTokens,
    text: TextTokens,
    state: StateTokens,
    diff: DiffTokens,
    seat: BTreeMap<String, Rgba>,
    role: BTreeMap<String, Rgba>,
    syntax: BTreeMap<SyntaxKind, Rgba>,
}

impl Tokens {
    /// The tokens of a theme that comes with the program.
    pub fn builtin(name: ThemeName) -> Self {
        Self::from_toml(name.source(), METRICS).expect("the program's own themes are tested")
    }

    /// Reads a theme file and the sizes beside it. Errors name the first token that is missing or malformed.
    pub fn from_toml(theme: &str, metrics: &str) -> Result<Self, ThemeError> {
        let file: ThemeFile = toml::from_str(theme)?;
        let mut syntax = [Color32::TRANSPARENT; SyntaxKind::ALL.len()];
        for &kind in SyntaxKind::ALL {
            let color = file.syntax.get(&kind);
            syntax[kind as usize] = color.ok_or(ThemeError::MissingSyntax(kind))?.0;
        }
        Ok(Self {
            name: file.name,
            mode: file.mode,
            high_contrast: file.high_contrast,
            accent: file.accent.0,
            on_accent: file.on_accent.0,
            surface: file.surface,
            border: file.border,
            text: file.text,
            state: file.state,
            diff: file.diff,
            seat: numbered("seat", &file.seat)?,
            role: numbered("role", &file.role)?,
            syntax: SyntaxTokens(syntax),
            metrics: toml::from_str(metrics)?,
        })
    }
}

fn numbered<const N: usize>(
    section: &'static str,
    colors: &BTreeMap<String, Rgba>,
) -> Result<[Color32; N], ThemeError> {
    let mut numbered = [Color32::TRANSPARENT; N];
    for (at, slot) in numbered.iter_mut().enumerate() {
        let number = at + 1;
        *slot = colors
            .get(number.to_string().as_str())
            .ok_or(ThemeError::MissingNumber { section, number })?
            .0;
    }
    Ok(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::contrast_ratio;

    #[test]
    fn every_built_in_theme_can_be_read() {
        for name in ThemeName::ALL {
            Tokens::from_toml(name.source(), METRICS).unwrap();
        }
    }

    #[test]
    fn text_can_be_read_on_every_surface() {
        for name in ThemeName::ALL {
            let tokens = Tokens::builtin(name);
            for surface in [tokens.surface.base, tokens.surface.raised] {
                assert!(contrast_ratio(tokens.text.primary, surface) >= 7.0);
                assert!(contrast_ratio(tokens.text.secondary, surface) >= 4.5);
                for &kind in SyntaxKind::ALL {
                    let color = tokens.syntax.color(kind);
                    assert!(
                        contrast_ratio(color, surface) >= 4.5,
                        "{name:?} {kind:?} {}",
                        contrast_ratio(color, surface)
                    );
                }
            }
        }
    }

    #[test]
    fn a_missing_colour_is_named() {
        let theme = ThemeName::Dark.source().replace("\n7 = ", "\n77 = ");
        let error = Tokens::from_toml(&theme, METRICS).unwrap_err();
        assert_eq!(error.to_string(), "theme has no colour seat.7");
    }
}
