//! How the window looks: design tokens from `assets/themes`, the program's fonts, and egui's style made of both.
//!
//! Views name tokens, never colours or pixel numbers.

mod color;
pub mod fonts;
mod seat;
mod style;
mod syntax;
mod themes;
mod tokens;

pub(crate) use color::mix;
pub use color::{Rgba, contrast_ratio};
pub use seat::{SeatColor, chip_colors, readable_on, seat_color};
pub use style::{apply, egui_style, focus_ring};
pub use syntax::SyntaxKind;
pub use themes::Themes;
pub use tokens::{
    BorderTokens, DiffTokens, Metrics, Mode, MotionMetrics, RadiusMetrics, SizeMetrics,
    SpaceMetrics, StateTokens, SurfaceTokens, SyntaxTokens, TextTokens, ThemeError, ThemeName,
    Tokens, TypeMetrics,
};
