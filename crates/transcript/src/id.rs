//! Identifiers: cheap to clone, compared as text, opaque to everyone.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}

text_id! {
    /// Names a thread; also the stem of its file, so the store accepts only `[A-Za-z0-9_-]`.
    ThreadId
}

text_id! {
    /// Names a message within its thread. A fork keeps the ids of the messages it copies.
    MessageId
}

text_id! {
    /// Names a seat at the table: what a person types after `@`, and what `speaker` holds.
    SeatId
}

impl ThreadId {
    /// A fresh id; ids made later sort later.
    pub fn generate() -> Self {
        uuid::Uuid::now_v7().to_string().into()
    }

    /// Whether the id can be the stem of a file: 1 to 128 characters of `[A-Za-z0-9_-]`.
    pub fn is_file_safe(&self) -> bool {
        !self.0.is_empty()
            && self.0.len() <= 128
            && self
                .0
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    }
}

impl MessageId {
    /// A fresh id; ids made later sort later.
    pub fn generate() -> Self {
        uuid::Uuid::now_v7().to_string().into()
    }
}

impl SeatId {
    /// The speaker of the person's own messages.
    pub const USER: &'static str = "user";
    /// The speaker of thread-level notes.
    pub const SYSTEM: &'static str = "system";
}
