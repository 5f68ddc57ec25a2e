//! Widgets that several views share.

pub mod fenwick;
pub mod icons;
pub mod markdown;
pub mod virtual_list;
