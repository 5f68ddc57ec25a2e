//! The fonts in the repository are what the README there says: licensed, small, and without ligatures.

use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("../assets/fonts")
}

fn fonts(folder: &Path) -> Vec<PathBuf> {
    let mut fonts: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "ttf" || extension == "otf")
        })
        .collect();
    fonts.sort();
    fonts
}

fn all_fonts() -> Vec<PathBuf> {
    [fonts(&folder()), fonts(&folder().join("test"))].concat()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u16_at(bytes, at) << 16 | u16_at(bytes, at + 2)
}

/// The bytes of one table of an OpenType file (OpenType 1.9.1, table directory).
fn table<'a>(font: &'a [u8], tag: &[u8; 4]) -> Option<&'a [u8]> {
    (0..u16_at(font, 4))
        .map(|index| 12 + 16 * index)
        .find(|&record| &font[record..record + 4] == tag)
        .map(|record| {
            let start = u32_at(font, record + 8);
            &font[start..start + u32_at(font, record + 12)]
        })
}

/// The tags of the substitutions a font offers (OpenType 1.9.1, GSUB and feature list).
fn substitutions(font: &[u8]) -> Vec<String> {
    let Some(gsub) = table(font, b"GSUB") else {
        return Vec::new();
    };
    let list = u16_at(gsub, 6);
    (0..u16_at(gsub, list))
        .map(|index| list + 2 + 6 * index)
        .map(|record| String::from_utf8_lossy(&gsub[record..record + 4]).into_owned())
        .collect()
}

/// The tags of a variable font's axes (OpenType 1.9.1, fvar).
fn axes(font: &[u8]) -> Vec<String> {
    let Some(fvar) = table(font, b"fvar") else {
        return Vec::new();
    };
    let (start, count, size) = (u16_at(fvar, 4), u16_at(fvar, 8), u16_at(fvar, 10));
    (0..count)
        .map(|index| start + size * index)
        .map(|record| String::from_utf8_lossy(&fvar[record..record + 4]).into_owned())
        .collect()
}

#[test]
fn no_font_that_code_or_prose_is_set_in_has_ligatures() {
    for path in fonts(&folder()) {
        let font = std::fs::read(&path).unwrap();
        for tag in substitutions(&font) {
            assert!(
                ["ccmp", "locl"].contains(&tag.as_str()),
                "{} substitutes by `{tag}`",
                name(&path)
            );
        }
    }
}

#[test]
fn the_interface_font_keeps_its_weight_and_optical_size() {
    for file in ["InterVariable.ttf", "InterTabular.ttf"] {
        assert_eq!(
            axes(&std::fs::read(folder().join(file)).unwrap()),
            ["opsz", "wght"],
            "{file}"
        );
    }
}

#[test]
fn the_fonts_that_ship_stay_below_two_and_a_half_megabytes() {
    let total: u64 = fonts(&folder())
        .iter()
        .map(|path| path.metadata().unwrap().len())
        .sum();
    assert!(total > 0 && total < 2_500_000, "{total} bytes");
}

#[test]
fn every_font_is_in_the_readme_and_has_its_licence_beside_it() {
    let readme = std::fs::read_to_string(folder().join("README.md")).unwrap();
    for path in all_fonts() {
        let file = name(&path);
        let (stem, _) = file
            .split_once('-')
            .or_else(|| file.split_once('.'))
            .unwrap();
        let family = stem
            .trim_end_matches("Variable")
            .trim_end_matches("Tabular");
        assert!(readme.contains(family), "{file} is not in the README");
        let licensed = std::fs::read_dir(path.parent().unwrap())
            .unwrap()
            .any(|entry| {
                let other = entry.unwrap().file_name().to_string_lossy().into_owned();
                other.starts_with(&format!("{family}-")) && other.ends_with(".txt")
            });
        assert!(licensed, "{file} has no licence beside it");
    }
}
