//! Colours as theme files write them, and the contrast between two of them.

use egui::{Color32, Rgba as LinearRgba};
use serde::de::{Deserialize, Deserializer, Error};

/// A colour of a theme file: `#RRGGBB`, or `#RRGGBBAA` where it is laid over a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgba(pub Color32);

impl Rgba {
    /// Reads `#RRGGBB` or `#RRGGBBAA`; alpha is not premultiplied. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#')?;
        if !digits.is_ascii() || !matches!(digits.len(), 6 | 8) {
            return None;
        }
        let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        let alpha = if digits.len() == 8 { byte(6)? } else { 255 };
        Some(Self(Color32::from_rgba_unmultiplied(
            byte(0)?,
            byte(2)?,
            byte(4)?,
            alpha,
        )))
    }
}

impl<'de> Deserialize<'de> for Rgba {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            D::Error::custom(format!("expected #RRGGBB or #RRGGBBAA, found {text:?}"))
        })
    }
}

/// Contrast between two opaque colours, from 1 (none) to 21 (black on white).
///
/// WCAG 2.1, "contrast ratio": <https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio>.
pub fn contrast_ratio(a: Color32, b: Color32) -> f32 {
    let (a, b) = (relative_luminance(a), relative_luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn relative_luminance(color: Color32) -> f32 {
    let linear = LinearRgba::from(color);
    0.2126 * linear.r() + 0.7152 * linear.g() + 0.0722 * linear.b()
}

/// Mixes `a` towards `b` in sRGB; `t` from 0 (all `a`) to 1 (all `b`).
pub(crate) fn mix(a: Color32, b: Color32, t: f32) -> Color32 {
    a.lerp_to_gamma(b, t.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_colours_are_read_with_and_without_alpha() {
        assert_eq!(
            Rgba::parse("#7AA2F7"),
            Some(Rgba(Color32::from_rgb(0x7A, 0xA2, 0xF7)))
        );
        assert_eq!(
            Rgba::parse("#FFFFFF0A"),
            Some(Rgba(Color32::from_rgba_unmultiplied(255, 255, 255, 10)))
        );
    }

    #[test]
    fn what_is_no_colour_is_refused() {
        for text in ["", "#", "7AA2F7", "#7AA2F", "#7AA2F7F", "#GGGGGG", "#ééé"] {
            assert_eq!(Rgba::parse(text), None, "{text}");
        }
    }

    #[test]
    fn black_on_white_has_the_highest_contrast() {
        let ratio = contrast_ratio(Color32::BLACK, Color32::WHITE);
        assert!((ratio - 21.0).abs() < 0.01, "{ratio}");
        assert!((contrast_ratio(Color32::RED, Color32::RED) - 1.0).abs() < 1e-6);
    }
}
