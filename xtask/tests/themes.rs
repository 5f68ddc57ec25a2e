//! Every theme has the same tokens and can be read: the contrast ratios are those of WCAG 2.2, success criteria 1.4.3
//! and 1.4.6.

use std::collections::BTreeMap;
use std::path::PathBuf;

const THEMES: [&str; 4] = ["light", "dark", "light-high-contrast", "dark-high-contrast"];

/// A colour with straight alpha, each part from 0 to 1.
#[derive(Debug, Clone, Copy)]
struct Colour([f64; 4]);

impl Colour {
    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#')?;
        if !digits.is_ascii() || !matches!(digits.len(), 6 | 8) {
            return None;
        }
        let mut parts = [1.0; 4];
        for (part, at) in parts.iter_mut().zip((0..digits.len()).step_by(2)) {
            *part = f64::from(u8::from_str_radix(&digits[at..at + 2], 16).ok()?) / 255.0;
        }
        Some(Self(parts))
    }

    /// This colour as it looks when laid over an opaque one.
    fn over(self, below: Self) -> Self {
        let alpha = self.0[3];
        let mixed = |at: usize| self.0[at] * alpha + below.0[at] * (1.0 - alpha);
        Self([mixed(0), mixed(1), mixed(2), 1.0])
    }

    /// Relative luminance, as WCAG defines it.
    fn luminance(self) -> f64 {
        let linear = |part: f64| {
            if part <= 0.04045 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        };
        let [red, green, blue, _] = self.0;
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }
}

/// The colours of a theme by dotted name, such as `surface.base`.
struct Theme {
    name: &'static str,
    colours: BTreeMap<String, Colour>,
}

impl Theme {
    fn load(name: &'static str) -> Self {
        let text = std::fs::read_to_string(folder().join(format!("{name}.toml"))).unwrap();
        let table: toml::Table = text
            .parse()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut colours = BTreeMap::new();
        for (key, value) in &table {
            match value {
                toml::Value::Table(group) => {
                    for (token, value) in group {
                        colours.insert(format!("{key}.{token}"), colour(name, token, value));
                    }
                }
                toml::Value::String(_) if !matches!(key.as_str(), "name" | "mode") => {
                    colours.insert(key.clone(), colour(name, key, value));
                }
                _ => {}
            }
        }
        Self { name, colours }
    }

    fn high_contrast(&self) -> bool {
        self.name.ends_with("high-contrast")
    }

    fn get(&self, token: &str) -> Colour {
        *self
            .colours
            .get(token)
            .unwrap_or_else(|| panic!("{}: no token {token}", self.name))
    }

    /// The tokens whose name starts so.
    fn group(&self, start: &str) -> Vec<&str> {
        self.colours
            .keys()
            .map(String::as_str)
            .filter(|token| token.starts_with(start))
            .collect()
    }

    /// Fails unless `token` reaches `ratio` on each surface, itself perhaps under a translucent layer.
    fn assert_reads(&self, token: &str, ratio: f64, surfaces: &[&str], layers: &[&str]) {
        for surface in surfaces {
            let plain = self.get(surface);
            let grounds = layers
                .iter()
                .map(|layer| (*layer, self.get(layer).over(plain)));
            for (layer, ground) in grounds.chain([("nothing", plain)]) {
                let reached = self.get(token).contrast(ground);
                assert!(
                    reached >= ratio,
                    "{}: {token} on {surface} under {layer} reaches {reached:.2}:1, not {ratio}:1",
                    self.name
                );
            }
        }
    }
}

fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("../assets/themes")
}

fn colour(theme: &str, token: &str, value: &toml::Value) -> Colour {
    let text = value
        .as_str()
        .unwrap_or_else(|| panic!("{theme}: {token} is not text"));
    Colour::parse(text).unwrap_or_else(|| panic!("{theme}: {token} is `{text}`, not a colour"))
}

fn themes() -> impl Iterator<Item = Theme> {
    THEMES.into_iter().map(Theme::load)
}

const BASE_AND_RAISED: [&str; 2] = ["surface.base", "surface.raised"];
const ALL_SURFACES: [&str; 3] = ["surface.base", "surface.raised", "surface.overlay"];
const ROW_LAYERS: [&str; 2] = ["surface.hover", "surface.selected"];

#[test]
fn the_reference_ratios_of_the_standard_are_met() {
    let contrast = |a, b| {
        Colour::parse(a)
            .unwrap()
            .contrast(Colour::parse(b).unwrap())
    };
    assert!((contrast("#000000", "#FFFFFF") - 21.0).abs() < 0.001);
    assert!((contrast("#777777", "#FFFFFF") - 4.48).abs() < 0.005);
}

#[test]
fn every_theme_has_the_same_tokens() {
    let reference: Vec<String> = Theme::load("dark").colours.into_keys().collect();
    for theme in themes() {
        let tokens: Vec<String> = theme.colours.into_keys().collect();
        assert_eq!(tokens, reference, "{}", theme.name);
    }
}

#[test]
fn the_numbered_colours_are_complete() {
    for theme in themes() {
        for (group, count) in [("seat", 8), ("role", 12)] {
            assert_eq!(
                theme.group(&format!("{group}.")).len(),
                count,
                "{}",
                theme.name
            );
            for number in 1..=count {
                theme.get(&format!("{group}.{number}"));
            }
        }
    }
}

#[test]
fn text_is_readable_on_every_surface_and_row() {
    for theme in themes() {
        theme.assert_reads("text.primary", 7.0, &ALL_SURFACES, &ROW_LAYERS);
        let secondary = if theme.high_contrast() { 7.0 } else { 4.5 };
        theme.assert_reads("text.secondary", secondary, &BASE_AND_RAISED, &ROW_LAYERS);
        theme.assert_reads("text.secondary", secondary, &["surface.overlay"], &[]);
    }
}

#[test]
fn coloured_words_are_readable_where_they_stand() {
    for theme in themes() {
        let ratio = if theme.high_contrast() { 7.0 } else { 4.5 };
        let mut tokens = vec!["accent"];
        for group in ["state.", "seat.", "role.", "syntax."] {
            tokens.extend(theme.group(group));
        }
        for token in tokens {
            theme.assert_reads(token, ratio, &BASE_AND_RAISED, &[]);
        }
        theme.assert_reads("accent", 4.5, &["surface.overlay"], &[]);
    }
}

#[test]
fn words_stay_readable_under_a_mark() {
    for theme in themes() {
        let marks = [
            "text.selection",
            "text.match",
            "diff.added_inline",
            "diff.removed_inline",
            "diff.added",
            "diff.removed",
        ];
        theme.assert_reads("text.primary", 4.5, &BASE_AND_RAISED, &marks);
        for token in theme.group("syntax.") {
            theme.assert_reads(
                token,
                4.0,
                &["surface.base"],
                &["diff.added", "diff.removed"],
            );
        }
    }
}

#[test]
fn the_primary_action_can_be_read() {
    for theme in themes() {
        let ratio = theme.get("on_accent").contrast(theme.get("accent"));
        assert!(ratio >= 4.5, "{}: {ratio:.2}:1", theme.name);
    }
}

#[test]
fn borders_show_where_high_contrast_is_asked_for() {
    for theme in themes().filter(Theme::high_contrast) {
        for border in ["border.subtle", "border.strong"] {
            theme.assert_reads(border, 3.0, &BASE_AND_RAISED, &[]);
        }
    }
}

#[test]
fn the_shared_sizes_hold_together() {
    let text = std::fs::read_to_string(folder().join("metrics.toml")).unwrap();
    let metrics: toml::Table = text.parse().unwrap();
    let size = |group: &str, name: &str| {
        let value = &metrics[group][name];
        value
            .as_float()
            .or(value.as_integer().map(|whole| whole as f64))
            .unwrap()
    };
    for (name, _) in metrics["space"].as_table().unwrap() {
        assert_eq!(
            size("space", name) % 4.0,
            0.0,
            "space.{name} is off the grid of 4"
        );
    }
    assert!(size("size", "panel_min") <= size("size", "panel"));
    assert!(size("size", "panel") <= size("size", "panel_max"));
    let prose_line = size("type", "ui") * size("type", "prose_line_height");
    assert!(
        prose_line <= size("size", "status_bar"),
        "a line must fit the status bar"
    );
}
