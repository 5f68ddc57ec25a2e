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
