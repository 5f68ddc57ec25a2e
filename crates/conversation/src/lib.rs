//! A turn at the table: who speaks, what they are shown, and how the turn proceeds.
