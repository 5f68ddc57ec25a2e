//! Widgets that several views share.

pub mod fenwick;
pub mod virtual_list;
