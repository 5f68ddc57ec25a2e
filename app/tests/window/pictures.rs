//! What the window looks like.
