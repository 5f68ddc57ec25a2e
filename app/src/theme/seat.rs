//! The colour of a seat, readable on every surface a speaker's name appears on.

use egui::Color32;

use super::{Mode, Tokens, color::mix, contrast_ratio};

/// The least contrast a seat's colour has with `surface.base` and `surface.raised`.
///
/// WCAG 2.1, success criterion 1.4.3 (AA) for text of this size.
const MIN_CONTRAST: f32 = 4.5;

/// Where a seat's colour comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeatColor {
    /// The theme's colour for the n-th seat at the table, from 0; the theme's colours repeat when they run out.
    Nth(usize),
    /// A colour the person chose; its hue is kept and its lightness moved until it can be read.
    Chosen(Color32),
}

/// The colour to write a seat's name in, at least 4.5:1 against both surfaces it stands on.
pub fn seat_color(color: SeatColor, tokens: &Tokens) -> Color32 {
    let wanted = match color {
        SeatColor::Nth(n) => tokens.seat[n % tokens.seat.len()],
        SeatColor::Chosen(color) => color.to_opaque(),
    };
    readable(
        wanted,
        pole(tokens),
        &[tokens.surface.base, tokens.surface.raised],
    )
}

/// Text and background of a chip in a colour, on `surface.raised`; the text reads on it with at least 4.5:1.
pub fn chip_colors(color: Color32, tokens: &Tokens) -> (Color32, Color32) {
    /// How much of the colour is in the background.
    const TINT: f32 = 0.18;
    let background = mix(tokens.surface.raised, color.to_opaque(), TINT);
    (readable_on(color, background, tokens), background)
}

/// A colour moved as far as it takes to be read on a surface with at least 4.5:1.
pub fn readable_on(color: Color32, surface: Color32, tokens: &Tokens) -> Color32 {
    readable(color.to_opaque(), pole(tokens), &[surface])
}

/// Where contrast grows towards.
fn pole(tokens: &Tokens) -> Color32 {
    match tokens.mode {
        Mode::Dark => Color32::WHITE,
        Mode::Light => Color32::BLACK,
    }
}

/// Moves `color` towards `pole` by the least step that reads on all `surfaces`.
fn readable(color: Color32, pole: Color32, surfaces: &[Color32]) -> Color32 {
    const STEPS: u8 = 64;
    let reads = |candidate: Color32| {
        surfaces
            .iter()
            .all(|&surface| contrast_ratio(candidate, surface) >= MIN_CONTRAST)
    };
    (0..=STEPS)
        .map(|step| mix(color, pole, f32::from(step) / f32::from(STEPS)))
        .find(|&candidate| reads(candidate))
        .unwrap_or(pole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::ThemeName;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_chosen_colour_can_be_read_in_every_theme(r: u8, g: u8, b: u8) {
            for name in ThemeName::ALL {
                let tokens = Tokens::builtin(name);
                let color = seat_color(SeatColor::Chosen(Color32::from_rgb(r, g, b)), &tokens);
                for surface in [tokens.surface.base, tokens.surface.raised] {
                    prop_assert!(contrast_ratio(color, surface) >= MIN_CONTRAST);
                }
            }
        }
    }

    #[test]
    fn chips_and_warnings_on_buttons_can_be_read_in_every_theme() {
        for name in ThemeName::ALL {
            let tokens = Tokens::builtin(name);
            let others = [tokens.accent, tokens.state.warn, tokens.state.error];
            for color in tokens.seat.iter().copied().chain(others) {
                let (text, background) = chip_colors(color, &tokens);
                let ratio = contrast_ratio(text, background);
                assert!(ratio >= MIN_CONTRAST, "{name:?} {color:?}: {ratio}");
            }
            let visuals = crate::theme::egui_style(&tokens).visuals;
            let fill = visuals.widgets.inactive.weak_bg_fill;
            let stop = readable_on(tokens.state.error, fill, &tokens);
            assert!(contrast_ratio(stop, fill) >= MIN_CONTRAST, "{name:?}");
        }
    }

    #[test]
    fn the_themes_own_seat_colours_stay_as_they_are() {
        for name in ThemeName::ALL {
            let tokens = Tokens::builtin(name);
            for n in 0..tokens.seat.len() {
                assert_eq!(seat_color(SeatColor::Nth(n), &tokens), tokens.seat[n]);
            }
        }
    }
}
