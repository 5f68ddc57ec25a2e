//! Widgets that several views share.

pub mod code_text;
pub mod fenwick;
pub mod highlight;
pub mod icons;
pub mod layout_cache;
pub mod markdown;
pub mod selection;
pub mod shared_text;
pub mod text_field;
pub mod thread_doc;
pub mod virtual_list;

/// A number of bytes as people read it.
pub fn size_label(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
