//! The program's own fonts: Inter for text at the weights the design uses, JetBrains Mono for code, Phosphor for icons.

use std::sync::Arc;

use egui::{FontData, FontDefinitions, FontFamily, FontTweak, epaint::text::VariationCoords};

const INTER: &[u8] = include_bytes!("../../../assets/fonts/InterVariable.ttf");
const INTER_TABULAR: &[u8] = include_bytes!("../../../assets/fonts/InterTabular.ttf");
const MONO: &[u8] = include_bytes!("../../../assets/fonts/JetBrainsMono-Regular.ttf");
const MONO_BOLD: &[u8] = include_bytes!("../../../assets/fonts/JetBrainsMono-Bold.ttf");
const ICONS: &[u8] = include_bytes!("../../../assets/fonts/Phosphor.ttf");

/// The families a view may ask for. Cloning one is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Families {
    /// Text, weight 400; also egui's proportional family.
    pub regular: FontFamily,
    /// Labels and the active tab, weight 500.
    pub medium: FontFamily,
    /// Speakers, headings, strong text, weight 600.
    pub semibold: FontFamily,
    /// Weight 700, for strong text inside headings.
    pub bold: FontFamily,
    /// Text whose digits stand in columns, weight 400.
    pub tabular: FontFamily,
    /// Code; also egui's monospace family.
    pub mono: FontFamily,
    /// Strong code.
    pub mono_bold: FontFamily,
    /// Icons only.
    pub icons: FontFamily,
}

impl Default for Families {
    fn default() -> Self {
        let named = |name: &str| FontFamily::Name(Arc::from(name));
        Self {
            regular: FontFamily::Proportional,
            medium: named("ui-medium"),
            semibold: named("ui-semibold"),
            bold: named("ui-bold"),
            tabular: named("ui-tabular"),
            mono: FontFamily::Monospace,
            mono_bold: named("mono-bold"),
            icons: named("icons"),
        }
    }
}

/// The fonts to install with [`egui::Context::set_fonts`].
pub fn definitions() -> FontDefinitions {
    definitions_with_fallbacks(&[])
}

/// Like [`definitions`], with more fonts behind the program's own in every text family: `(name, font file)`.
///
/// Tests put the small fonts of `assets/fonts/test` here, so that they need none of the system's.
pub fn definitions_with_fallbacks(fallbacks: &[(&str, &'static [u8])]) -> FontDefinitions {
    let mut fonts = FontDefinitions::empty();
    let mut add = |name: &str, bytes: &'static [u8], weight: Option<f32>| {
        let coords = weight.map_or_else(VariationCoords::default, |weight| {
            VariationCoords::new([(b"wght", weight)])
        });
        let tweak = FontTweak {
            coords,
            ..FontTweak::default()
        };
        let data = FontData::from_static(bytes).tweak(tweak);
        fonts.font_data.insert(name.to_owned(), Arc::new(data));
    };
    for (name, weight) in [
        ("inter-400", 400.0),
        ("inter-500", 500.0),
        ("inter-600", 600.0),
        ("inter-700", 700.0),
    ] {
        add(name, INTER, Some(weight));
    }
    add("inter-tabular-400", INTER_TABULAR, Some(400.0));
    add("mono", MONO, None);
    add("mono-bold", MONO_BOLD, None);
    add("phosphor", ICONS, None);
    for (name, bytes) in fallbacks {
        add(name, bytes, None);
    }

    let families = Families::default();
    let mut family = |family: FontFamily, faces: &[&str]| {
        let chain = faces
            .iter()
            .copied()
            .chain(fallbacks.iter().map(|(name, _)| *name))
            .map(str::to_owned)
            .collect();
        fonts.families.insert(family, chain);
    };
    // Inter lacks box drawing, which JetBrains Mono has; an icon inside a label comes from Phosphor.
    family(families.regular, &["inter-400", "mono", "phosphor"]);
    family(families.medium, &["inter-500", "mono", "phosphor"]);
    family(families.semibold, &["inter-600", "mono-bold", "phosphor"]);
    family(families.bold, &["inter-700", "mono-bold", "phosphor"]);
    family(
        families.tabular,
        &["inter-tabular-400", "inter-400", "mono", "phosphor"],
    );
    family(families.mono, &["mono", "inter-400", "phosphor"]);
    family(families.mono_bold, &["mono-bold", "inter-700", "phosphor"]);
    family(families.icons, &["phosphor"]);
    fonts
}

/// Fonts for headless tests and benches: the program's own, and the small ones that stand in for the system's.
pub fn definitions_for_tests() -> FontDefinitions {
    definitions_with_fallbacks(&[
        (
            "test-cjk",
            include_bytes!("../../../assets/fonts/test/NotoSansCJK-Test.otf"),
        ),
        (
            "test-emoji",
            include_bytes!("../../../assets/fonts/test/NotoEmoji-Test.ttf"),
        ),
        (
            "test-rtl",
            include_bytes!("../../../assets/fonts/test/DejaVuSans-Test.ttf"),
        ),
    ])
}
